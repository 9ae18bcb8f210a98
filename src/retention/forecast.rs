//! When earliest will meet the committed offset, if both go on as observed: an estimate, and named so.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::deadline::Deadline;
use super::ratio::float;
use crate::measures::{Moment, Offset};

/// Bounds of one partition in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// End of the round.
    pub at: Moment,
    /// Log start.
    pub earliest: Offset,
    /// Log end.
    pub latest: Offset,
    /// The committed offset.
    pub committed: Offset,
    /// The deadline for the committed offset: proved, or estimated where nothing is proved.
    pub deadline: Option<Deadline>,
}

/// What deletes records here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threat {
    /// Size: earliest moves as fast as latest grows.
    Size,
    /// Time only.
    Time,
}

/// Where the two will meet. `jumps` are the last rises of earliest, each from one round to the next. `None` with too
/// little history: at least two expected intervals and two samples.
#[must_use]
pub fn forecast(threat: Threat, window: &[Sample], jumps: &[u64], interval: Duration) -> Option<Deadline> {
    let last = window.last()?;
    let first = match threat {
        Threat::Size => window.first()?,
        // What was not known at first may be known by now.
        Threat::Time => window.iter().find(|sample| sample.deadline.is_some())?,
    };
    let span = last.at.since(first.at);
    if span.is_zero() || span < interval * 2 {
        return None;
    }
    match threat {
        Threat::Size => by_size(window, jumps, span),
        Threat::Time => by_time(first, last, span),
    }
}

/// How long a record lives in a log that size cuts and whose records' times are not known: as long as latest takes to
/// grow by what the log holds.
#[must_use]
pub fn lifetime_by_size(window: &[Sample]) -> Option<Duration> {
    let (first, last) = (window.first()?, window.last()?);
    let grown = last.latest.above(first.latest);
    if grown == 0 {
        return None;
    }
    let held = float(last.latest.above(last.earliest));
    Duration::try_from_secs_f64(held / float(grown) * last.at.since(first.at).as_secs_f64()).ok()
}

/// Earliest jumps by whole segments, so one typical jump may come at any moment. From then on it follows latest, and
/// the committed offset runs ahead of it at its own pace.
fn by_size(window: &[Sample], jumps: &[u64], span: Duration) -> Option<Deadline> {
    let (first, last) = (window.first()?, window.last()?);
    let grown = last.latest.above(first.latest);
    let read = last.committed.above(first.committed);
    // A query moves by whole batches: one that is just not committed yet does not make it slow.
    if grown.saturating_sub(read) <= largest_step(window) {
        return Some(Deadline::Never);
    }
    let headroom = last.committed.above(last.earliest);
    let ahead = float(headroom.saturating_sub(typical(jumps)));
    let closing = float(grown - read) / span.as_secs_f64();
    Some(later(last.at, ahead / closing))
}

fn largest_step(window: &[Sample]) -> u64 {
    let steps = window.windows(2).filter_map(|pair| match pair {
        [before, after] => Some(after.committed.above(before.committed)),
        _ => None,
    });
    steps.max().unwrap_or(0)
}

fn typical(jumps: &[u64]) -> u64 {
    let mut jumps = jumps.to_vec();
    jumps.sort_unstable();
    jumps.get(jumps.len() / 2).copied().unwrap_or(0)
}

/// Time eats the deadline at one second a second, and reading moves the deadline on. Where the deadline moves slower
/// than the clock, the two meet; never before the deadline that is proved already.
fn by_time(first: &Sample, last: &Sample, span: Duration) -> Option<Deadline> {
    let (Deadline::At(before), Deadline::At(proved)) = (first.deadline?, last.deadline?) else {
        return Some(Deadline::Never);
    };
    let pace = proved.since(before).as_secs_f64() / span.as_secs_f64();
    if pace >= 1.0 || last.committed >= last.latest {
        return Some(Deadline::Never);
    }
    let left = proved.since(last.at).as_secs_f64();
    Some(later(last.at, left / (1.0 - pace)).max(Deadline::At(proved)))
}

/// So many seconds later; beyond a thousand years it never comes.
fn later(at: Moment, seconds: f64) -> Deadline {
    const THOUSAND_YEARS: f64 = 3.2e10;
    match Duration::try_from_secs_f64(seconds) {
        Ok(by) if seconds < THOUSAND_YEARS => Deadline::At(at.plus(by)),
        _ => Deadline::Never,
    }
}
