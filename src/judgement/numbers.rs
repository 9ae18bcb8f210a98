//! The numbers of a partition, by its row. Nothing is negative but headroom; what cannot be known is absent.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use super::estimates::{by_time, for_a_share};
use super::memory::PartitionMemory;
use super::needs::{Need, Origin};
use super::partition::Round;
use super::rows::Row;
use super::states::{PartitionProblem, PartitionState};
use super::verdict::PartitionVerdict;
use crate::measures::Offset;
use crate::retention::{
    Age, Deadline, Limit, PartitionReading, Policy, Sample, Standing, Threat, Unproved, forecast, lifetime_by_size,
    ratio, size_at_work,
};

/// Rates are made of so long a past, or of ten intervals if that is longer.
const PAST: Duration = Duration::from_secs(3600);
const INTERVALS: u32 = 10;
/// So many samples describe that past.
const SAMPLES: u32 = 24;

/// What the numbers of one partition are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    pub row: Row,
    pub need: &'a Need,
    pub read: Option<&'a PartitionReading>,
    pub policy: Policy,
    pub age: Option<&'a Age>,
    pub unproved: Option<Unproved>,
}

/// A verdict without any number.
pub(super) fn nothing(state: PartitionState) -> PartitionVerdict {
    PartitionVerdict {
        state,
        reason: Cow::Borrowed(""),
        problems: BTreeSet::new(),
        committed: None,
        planned: None,
        earliest: None,
        latest: None,
        headroom: None,
        lag: None,
        lost: None,
        possibly_lost: None,
        beyond_end: None,
        ratio: None,
        deadline: None,
        forecast: None,
        oldest_unread: None,
        unproved: None,
    }
}

/// The numbers that belong to a row. The memory already holds this round's bounds.
pub(super) fn of(round: &Round<'_>, known: &Known<'_>, one: &mut PartitionMemory) -> PartitionVerdict {
    let Known { row, need, .. } = *known;
    let mut verdict = nothing(row.state());
    verdict.committed = need.committed;
    verdict.planned = need.planned;
    let mut estimated = false;
    if let Some(read) = known.read {
        verdict.earliest = Some(read.earliest);
        verdict.latest = Some(read.latest);
        offsets(round, known, read, &mut verdict);
        estimated = retention(round, known, read, one, &mut verdict);
    }
    verdict.problems = problems(known, &verdict, estimated);
    verdict
}

fn offsets(round: &Round<'_>, known: &Known<'_>, read: &PartitionReading, verdict: &mut PartitionVerdict) {
    let PartitionReading { earliest, latest, .. } = *read;
    let end = round.end(read);
    let needed = known.need.offset().unwrap_or(earliest);
    let open = if round.young { known.need.planned.map_or(needed, |planned| planned.min(earliest)) } else { needed };
    match known.row {
        Row::CaughtUp | Row::Behind => {
            verdict.headroom = Some(needed.minus(earliest));
            verdict.lag = Some(end.above(needed));
            (verdict.lost, verdict.possibly_lost, verdict.beyond_end) = (Some(0), Some(0), Some(0));
        }
        Row::Lost | Row::PossiblyLost => {
            let possibly = open.above(needed);
            verdict.lag = Some(end.above(earliest));
            verdict.possibly_lost = Some(possibly);
            verdict.lost = Some(earliest.above(needed) - possibly);
            // Without a committed offset there is no distance to speak of.
            let known = known.need.committed;
            verdict.headroom = known.map(|committed| committed.minus(earliest));
            verdict.beyond_end = known.map(|_| 0);
        }
        Row::NoPosition { lost } => {
            verdict.lag =
                (known.need.origin != Origin::NotFixed || known.need.planned.is_some()).then(|| end.above(earliest));
            verdict.lost = lost.then(|| earliest.above(Offset::ZERO));
        }
        Row::Starting => verdict.lag = Some(end.above(earliest)),
        Row::Suspected => verdict.lag = Some(end.above(needed.max(earliest))),
        Row::Recreated => {
            verdict.lag = Some(latest.above(earliest));
            verdict.beyond_end = Some(needed.above(latest));
        }
        Row::Beyond { confirmed } => {
            verdict.lag = (!confirmed).then_some(0);
            verdict.beyond_end = Some(needed.above(latest));
        }
        Row::OtherCluster | Row::Missing { .. } | Row::Crossed | Row::PassedByTheEnd | Row::MovedBack => {}
    }
}

/// Answers whether how long the next unread record will live is an estimate.
fn retention(
    round: &Round<'_>,
    known: &Known<'_>,
    read: &PartitionReading,
    one: &mut PartitionMemory,
    verdict: &mut PartitionVerdict,
) -> bool {
    let needed = match known.row {
        Row::Lost | Row::PossiblyLost | Row::NoPosition { lost: true } => {
            verdict.ratio = Some(0.0);
            return false;
        }
        Row::CaughtUp | Row::Behind | Row::Starting => known.need.offset(),
        Row::NoPosition { .. } if round.reads_new_partitions() && known.need.origin == Origin::BrokerOnly => {
            Some(read.earliest)
        }
        _ => None,
    };
    let Some(needed) = needed else { return false };
    let policy = known.policy;
    let unread = needed < read.latest;
    let time = by_time(round, known, read, needed, one);
    let standing = Standing {
        needed,
        earliest: read.earliest,
        latest: read.latest,
        moving: moving(round, one),
        oldest: read.oldest.map(|(_, at)| at.min(round.now)),
        deadline: for_a_share(round, known, unread, &time),
    };
    verdict.ratio = ratio(policy, &standing, round.now);
    verdict.deadline = time.proved;
    verdict.oldest_unread = time.oldest_unread;
    verdict.unproved = time.unproved;
    if known.need.committed.is_some() {
        sample(round, read, needed, time.proved.or(time.estimated), one);
        verdict.forecast = projected(round, policy, &standing, one);
    }
    unread && time.estimated.is_some()
}

fn past(round: &Round<'_>) -> Duration {
    PAST.max(round.interval.saturating_mul(INTERVALS))
}

/// Earliest rose in at least two rounds of the recent past.
fn moving(round: &Round<'_>, one: &PartitionMemory) -> bool {
    matches!(one.rises.as_slice(), [first, _] if round.now.since(*first) <= past(round))
}

/// Adds this round to the window. Samples that stand close make room for newer ones, so that the window stays short.
fn sample(
    round: &Round<'_>,
    read: &PartitionReading,
    committed: Offset,
    deadline: Option<Deadline>,
    one: &mut PartitionMemory,
) {
    let now = Sample { at: round.now, earliest: read.earliest, latest: read.latest, committed, deadline };
    let oldest = round.now.minus(past(round));
    one.window.retain(|sample| sample.at >= oldest && sample.committed <= committed);
    let close =
        |pair: &[Sample]| matches!(pair, [.., before, last] if last.at.since(before.at) < past(round) / SAMPLES);
    if close(&one.window) {
        one.window.pop();
    }
    one.window.push(now);
}

fn projected(round: &Round<'_>, policy: Policy, standing: &Standing, one: &PartitionMemory) -> Option<Deadline> {
    if matches!((policy.time, policy.size), (Limit::Unlimited, Limit::Unlimited)) {
        return Some(Deadline::Never);
    }
    let threat = if size_at_work(policy, standing, round.now) {
        Threat::Size
    } else if matches!(policy.time, Limit::At(_)) && policy.proves_by_time() {
        Threat::Time
    } else {
        return None;
    };
    forecast(threat, &one.window, &one.jumps, round.interval)
}

fn problems(known: &Known<'_>, verdict: &PartitionVerdict, estimated: bool) -> BTreeSet<PartitionProblem> {
    let mut problems = BTreeSet::new();
    let from_the_row = match known.row {
        Row::Recreated => Some(PartitionProblem::Recreated),
        Row::Beyond { confirmed: true } => Some(PartitionProblem::BeyondEnd),
        Row::OtherCluster | Row::PassedByTheEnd | Row::MovedBack => Some(PartitionProblem::Unverified),
        Row::NoPosition { lost: false } | Row::Starting => Some(PartitionProblem::Pending),
        Row::Crossed
        | Row::Suspected
        | Row::PossiblyLost
        | Row::Missing { confirmed: false }
        | Row::Beyond { confirmed: false } => Some(PartitionProblem::Unconfirmed),
        Row::Missing { confirmed: true } | Row::NoPosition { lost: true } | Row::Lost | Row::CaughtUp | Row::Behind => {
            None
        }
    };
    problems.extend(from_the_row);
    if known.row == Row::PassedByTheEnd {
        problems.insert(PartitionProblem::BeyondEnd);
    }
    if verdict.lost.is_some_and(|lost| lost > 0) {
        problems.insert(PartitionProblem::Lost);
    }
    if verdict.possibly_lost.is_some_and(|lost| lost > 0) {
        problems.insert(PartitionProblem::PossiblyLost);
    }
    let unread = known.read.is_some_and(|read| known.need.offset().is_some_and(|needed| needed < read.latest));
    if matches!(known.row, Row::CaughtUp | Row::Behind | Row::Starting) && unread {
        if estimated {
            problems.insert(PartitionProblem::RetentionEstimated);
        } else if verdict.ratio.is_none() {
            problems.insert(PartitionProblem::RetentionUnknown);
        }
    }
    problems
}

/// Whether little retention is left, or will be soon.
pub(super) fn at_risk(
    round: &Round<'_>,
    (row, policy): (Row, Policy),
    verdict: &PartitionVerdict,
    retention: Option<Duration>,
    before: bool,
) -> bool {
    if matches!(row, Row::Lost | Row::NoPosition { lost: true }) {
        return false;
    }
    // The same record waits, and how long it has left was not told this time: that is no better than before.
    let untold = matches!((policy.time, policy.size), (Limit::At(_), _) | (Limit::Unknown, Limit::Unknown));
    if before && untold && verdict.ratio.is_none() && matches!(row, Row::Behind | Row::Starting) {
        return true;
    }
    let horizon = round.settings.forecast_warning.min(retention.map_or(Duration::MAX, |retention| retention / 2));
    let soon = |forecast: Deadline| matches!(forecast, Deadline::At(at) if at.since(round.now) < horizon);
    verdict.ratio.is_some_and(|ratio| ratio < round.settings.risk_warning) || verdict.forecast.is_some_and(soon)
}

/// How long a record lives in this partition: `retention.ms`, or as observed where size cuts the log.
pub(super) fn retention_here(
    round: &Round<'_>,
    policy: Policy,
    read: Option<&PartitionReading>,
    one: &PartitionMemory,
) -> Option<Duration> {
    let observed = read.and_then(|read| observed_retention(policy, read, one, round));
    match policy.time {
        _ if observed.is_some() => observed,
        Limit::At(retention) => Some(retention),
        Limit::Unlimited | Limit::Unknown if matches!(policy.size, Limit::At(_)) && moving(round, one) => {
            lifetime_by_size(&one.window)
        }
        Limit::Unlimited | Limit::Unknown => None,
    }
}

/// Since when the oldest record lies in a log that size cuts: the retention that was observed.
fn observed_retention(
    policy: Policy,
    read: &PartitionReading,
    one: &PartitionMemory,
    round: &Round<'_>,
) -> Option<Duration> {
    let standing = Standing {
        needed: read.latest,
        earliest: read.earliest,
        latest: read.latest,
        moving: moving(round, one),
        oldest: read.oldest.map(|(_, at)| at.min(round.now)),
        deadline: None,
    };
    let oldest = standing.oldest?;
    size_at_work(policy, &standing, round.now).then(|| round.now.since(oldest))
}
