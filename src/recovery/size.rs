//! Whether retention survives an outage, and which retention would.
//!
//! Time deletes a segment when its youngest record is older than `retention.ms`, so a record lives at least so long.
//! Size deletes the oldest segments while the rest is still at least `retention.bytes`, so at least so much is kept. How
//! much time that is depends on the rate at which records arrive, which is observed.

use std::time::Duration;

use crate::measures::{Moment, Offset};
use crate::retention::{Deadline, Limit, Policy, Ruling, float};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outage {
    /// So long the query is down.
    pub length: Duration,
    /// A batch that was just to be committed is read again, and was planned so long ago.
    pub interval: Duration,
    /// How far clocks may be apart.
    pub clock_skew: Duration,
    /// Bytes that a record takes on disk, where somebody knows.
    pub record_bytes: Option<u64>,
}

/// What is observed of one partition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// Log start.
    pub earliest: Offset,
    /// Log end.
    pub latest: Offset,
    /// When the oldest record was written.
    pub oldest: Option<Moment>,
    /// The first record at or after a moment, and that moment: what came since is the rate.
    pub since: Option<(Offset, Moment)>,
}

/// How long a limit lets records live.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keeps {
    /// For ever.
    ForEver,
    /// For this time.
    For(Duration),
    /// For this time at least: the limit was never seen at work.
    AtLeast(Duration),
    /// It cannot be told.
    Unknown,
}

/// The answer for one topic.
#[derive(Clone, Debug, PartialEq)]
pub struct Sized {
    /// Offsets a second, over all partitions.
    pub rate: Option<f64>,
    /// What `retention.ms` lets live.
    pub by_time: Keeps,
    /// What `retention.bytes` lets live, in the partition where that is least.
    pub by_size: Keeps,
    /// The limit that is more restrictive.
    pub ruling: Ruling,
    /// Whether what is there survives; absent: cannot tell.
    pub survives: Option<bool>,
    /// The lowest `retention.ms` that would; absent where time does not limit.
    pub needs_ms: Option<u64>,
    /// The lowest `retention.bytes` that would; absent where size does not limit, or nothing tells how large records are.
    pub needs_bytes: Option<u64>,
}

/// Reckons it.
#[must_use]
pub fn size(policy: Policy, partitions: &[Observed], outage: &Outage, now: Moment) -> Sized {
    let needed = outage.length + outage.interval + outage.clock_skew;
    let by_time = match policy.time {
        Limit::Unknown => Keeps::Unknown,
        Limit::Unlimited => Keeps::ForEver,
        Limit::At(retention) => Keeps::For(retention),
    };
    let kept: Vec<(Keeps, Option<u64>)> =
        partitions.iter().map(|partition| kept_by_size(policy, partition, outage, needed, now)).collect();
    let by_size = match policy.size {
        Limit::Unknown => Keeps::Unknown,
        Limit::Unlimited => Keeps::ForEver,
        Limit::At(_) => kept.iter().map(|(keeps, _)| *keeps).reduce(shorter).unwrap_or(Keeps::Unknown),
    };
    Sized {
        rate: rate(partitions, now),
        by_time,
        by_size,
        ruling: ruling(by_time, by_size),
        survives: both(survives(by_time, needed), survives(by_size, needed)),
        needs_ms: matches!(by_time, Keeps::For(_)).then(|| whole_minutes(needed)),
        needs_bytes: kept.iter().map(|(_, bytes)| *bytes).reduce(|one, other| Some(one?.max(other?))).flatten(),
    }
}

/// How long it could be down from now: until the proved deadline of what is unread, or as far as is known.
#[must_use]
pub fn could_be_down(deadline: Option<Deadline>, now: Moment) -> Option<Keeps> {
    match deadline? {
        Deadline::Never => Some(Keeps::ForEver),
        Deadline::At(at) => Some(Keeps::For(at.since(now))),
    }
}

/// Offsets a second of one partition. A log that holds records and shows none to any look-up by time does not tell when
/// they came: "nothing since then" is no answer there.
fn rate_of(partition: &Observed, now: Moment) -> Option<f64> {
    if partition.latest > partition.earliest && partition.oldest.is_none() {
        return None;
    }
    let (offset, at) = partition.since?;
    let span = now.since(at).as_secs_f64();
    (span > 0.0).then(|| float(partition.latest.above(offset)) / span)
}

fn rate(partitions: &[Observed], now: Moment) -> Option<f64> {
    partitions.iter().map(|partition| rate_of(partition, now)).try_fold(0.0, |sum, rate| Some(sum + rate?))
}

/// How long size lets records of the partition live, and how many bytes would be enough.
fn kept_by_size(
    policy: Policy,
    partition: &Observed,
    outage: &Outage,
    needed: Duration,
    now: Moment,
) -> (Keeps, Option<u64>) {
    let Limit::At(limit) = policy.size else { return (Keeps::Unknown, None) };
    if let (Some(bytes), Some(rate)) = (outage.record_bytes, rate_of(partition, now)) {
        let a_second = rate * float(bytes);
        if a_second <= 0.0 {
            return (Keeps::ForEver, Some(0));
        }
        let keeps = Duration::try_from_secs_f64(float(limit) / a_second).map_or(Keeps::ForEver, Keeps::For);
        return (keeps, whole_mebibytes(a_second * needed.as_secs_f64()));
    }
    let Some(oldest) = partition.oldest else { return (Keeps::Unknown, None) };
    let age = now.since(oldest);
    if !cut_by_size(policy, partition, age) {
        return (Keeps::AtLeast(age), None);
    }
    if age.is_zero() {
        return (Keeps::For(age), None);
    }
    // The log holds what the limit lets it hold, and that is as old as its oldest record.
    let bytes = float(limit) * needed.as_secs_f64() / age.as_secs_f64();
    (Keeps::For(age), whole_mebibytes(bytes))
}

/// Records are gone that time alone would have spared.
fn cut_by_size(policy: Policy, partition: &Observed, age: Duration) -> bool {
    partition.earliest > Offset::ZERO
        && match policy.time {
            Limit::At(retention) => age < retention.mul_f64(0.9),
            Limit::Unlimited | Limit::Unknown => true,
        }
}

fn shorter(one: Keeps, other: Keeps) -> Keeps {
    if length(one) <= length(other) { one } else { other }
}

/// What is not known may be nothing.
const fn length(keeps: Keeps) -> Duration {
    match keeps {
        Keeps::Unknown => Duration::ZERO,
        Keeps::For(length) | Keeps::AtLeast(length) => length,
        Keeps::ForEver => Duration::MAX,
    }
}

fn ruling(by_time: Keeps, by_size: Keeps) -> Ruling {
    match (by_time, by_size) {
        (Keeps::ForEver, Keeps::ForEver) => Ruling::None,
        // A size limit that was never seen at work does not show which of the two is the shorter one.
        (Keeps::For(time), Keeps::AtLeast(size)) if size < time => Ruling::Unknown,
        (Keeps::Unknown, _) | (_, Keeps::Unknown) => Ruling::Unknown,
        _ if length(by_size) < length(by_time) => Ruling::Size,
        _ => Ruling::Time,
    }
}

fn survives(keeps: Keeps, needed: Duration) -> Option<bool> {
    match keeps {
        Keeps::ForEver => Some(true),
        Keeps::For(length) => Some(length >= needed),
        Keeps::AtLeast(length) => (length >= needed).then_some(true),
        Keeps::Unknown => None,
    }
}

/// One limit that is too tight is enough to lose by; both have to be known to survive.
fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn whole_minutes(length: Duration) -> u64 {
    length.as_secs().div_ceil(60).saturating_mul(60_000)
}

fn whole_mebibytes(bytes: f64) -> Option<u64> {
    const MEBIBYTE: f64 = 1_048_576.0;
    let mebibytes = (bytes / MEBIBYTE).ceil();
    format!("{mebibytes:.0}").parse::<u64>().ok()?.checked_mul(1_048_576)
}
