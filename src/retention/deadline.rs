//! The moment before which time retention cannot delete the next unread record: proved, never guessed.
//!
//! A segment goes when its highest timestamp is older than `retention.ms`, and no segment goes before all older ones
//! have gone. So every record from the log start up to the committed offset protects the committed offset, and the
//! highest timestamp among them, M(C), plus `retention.ms` is a lower bound. Look-ups by time prove how high M(C) is
//! at least.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::policy::{Limit, Policy};
use super::reading::Age;
use crate::measures::{Moment, Offset};

/// A moment that may never come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deadline {
    /// At this moment.
    At(Moment),
    /// No limit is at work.
    Never,
}

impl Deadline {
    /// Seconds since the Unix epoch; infinite for never.
    #[must_use]
    pub fn seconds(self) -> f64 {
        match self {
            Self::At(moment) => moment.seconds(),
            Self::Never => f64::INFINITY,
        }
    }
}

/// The deadline of a position, `None` where nothing is proved.
///
/// `unread` tells whether a record waits at the position; without one the deadline is that of whatever arrives next.
#[must_use]
pub fn deadline(
    policy: Policy,
    unread: bool,
    age: Option<&Age>,
    now: Moment,
    clock_skew: Duration,
) -> Option<Deadline> {
    if !policy.proves_by_time() {
        return None;
    }
    let retention = match policy.time {
        Limit::Unknown => return None,
        Limit::Unlimited => return Some(Deadline::Never),
        Limit::At(retention) => retention,
    };
    let youngest = if unread { age?.proved?.1.min(now) } else { now };
    Some(Deadline::At(youngest.plus(retention).minus(clock_skew)))
}

/// Estimate of the time of the record at `position`: the younger end of what look-ups left open, so that its age is
/// never overstated. Where the oldest record of all stands at or behind the position (compaction and transactions leave
/// holes), it is the next one, and nothing is left open. Stamps in the future count as now.
#[must_use]
pub fn oldest_unread(
    age: Option<&Age>,
    oldest: Option<(Offset, Moment)>,
    position: Offset,
    now: Moment,
) -> Option<Moment> {
    if let Some((_, at)) = oldest.filter(|(offset, _)| *offset >= position) {
        return Some(at.min(now));
    }
    let age = age?;
    match age.proved {
        Some((offset, at)) if offset == position => Some(at.min(now)),
        _ => age.below.map(|below| below.min(now)),
    }
}
