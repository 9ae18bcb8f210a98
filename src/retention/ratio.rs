//! The share of retention that is still ahead of the next unread record, 0 to 1.

use std::time::Duration;

use super::deadline::Deadline;
use super::policy::{Cleanup, Limit, Policy};
use crate::measures::{Moment, Offset};

/// What the ratio of one partition is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// The next offset that is needed, at or above earliest.
    pub needed: Offset,
    /// Log start.
    pub earliest: Offset,
    /// Log end.
    pub latest: Offset,
    /// Whether earliest was seen to rise, more than once and lately.
    pub moving: bool,
    /// When the oldest record was written, where a look-up said it.
    pub oldest: Option<Moment>,
    /// The time limit's deadline for the needed offset, proved or (where records are compacted too) estimated.
    pub deadline: Option<Deadline>,
}

/// The remaining ratio; `None` where nothing is known of how long the next unread record lives.
#[must_use]
pub fn ratio(policy: Policy, standing: &Standing, now: Moment) -> Option<f64> {
    if matches!(policy.cleanup, Cleanup::Compact | Cleanup::Nothing) {
        return Some(1.0);
    }
    if matches!((policy.time, policy.size), (Limit::Unknown, Limit::Unknown)) {
        return None;
    }
    if standing.needed >= standing.latest {
        return Some(1.0);
    }
    let size = size_at_work(policy, standing, now).then(|| size_part(standing));
    let time = match policy.time {
        Limit::Unknown => None,
        Limit::Unlimited if matches!(policy.size, Limit::At(_)) => None,
        Limit::Unlimited => Some(1.0),
        Limit::At(retention) => time_part(retention, standing.deadline, now),
    };
    match (time, size) {
        (Some(time), Some(size)) => Some(time.min(size)),
        (known, None) | (None, known) => known,
    }
}

/// Whether the size limit is seen to decide: earliest moves although time alone would not move it. Before the first
/// deletion by size nothing shows it.
#[must_use]
pub fn size_at_work(policy: Policy, standing: &Standing, now: Moment) -> bool {
    let limited = matches!(policy.size, Limit::At(_)) && standing.earliest > Offset::ZERO && standing.moving;
    limited
        && match policy.time {
            Limit::Unlimited | Limit::Unknown => true,
            Limit::At(retention) => standing.oldest.is_some_and(|oldest| now.since(oldest) < retention.mul_f64(0.9)),
        }
}

fn time_part(retention: Duration, deadline: Option<Deadline>, now: Moment) -> Option<f64> {
    let left = match deadline? {
        Deadline::Never => return Some(1.0),
        Deadline::At(deadline) => deadline.since(now),
    };
    if retention.is_zero() {
        return Some(0.0);
    }
    Some((left.as_secs_f64() / retention.as_secs_f64()).clamp(0.0, 1.0))
}

fn size_part(standing: &Standing) -> f64 {
    let kept = standing.latest.above(standing.earliest);
    if kept == 0 { 1.0 } else { (float(standing.needed.above(standing.earliest)) / float(kept)).clamp(0.0, 1.0) }
}

/// A count as a floating number: exact up to 2^53, and close enough beyond for a share.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a share of two counts needs no more than 53 bits")]
pub fn float(count: u64) -> f64 {
    count as f64
}
