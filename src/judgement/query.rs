//! The state of a query: the worst that stands, and each condition for itself.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::memory::QueryMemory;
use super::settings::{QuerySettings, Watch};
use super::states::{Condition, PartitionState, QueryState};
use super::verdict::PartitionVerdict;
use crate::measures::{BatchId, TopicPartition, Unread};
use crate::retention::Deadline;

/// What the query as a whole contributes, besides its partitions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Whole<'a> {
    /// Why the checkpoint was not read.
    pub unreadable: Option<&'a Unread>,
    /// The whole round told nothing of the partitions: the last state may not get better.
    pub blind: bool,
    /// No progress for too long.
    pub stalled: bool,
}

/// The state, its reason, and every condition.
pub(super) fn state(
    settings: &QuerySettings,
    whole: Whole<'_>,
    partitions: &BTreeMap<TopicPartition, PartitionVerdict>,
    memory: &QueryMemory,
) -> (QueryState, Cow<'static, str>, BTreeSet<Condition>) {
    let mut conditions = conditions(settings, whole, partitions, memory);
    // Whether a query stalls is told by its checkpoint, and by what was remembered of one that was not read.
    let outlasts = |last: QueryState| !matches!(last, QueryState::Superseded | QueryState::Stalled);
    if whole.blind && memory.state.is_some_and(outlasts) {
        // The query may have passed all that was lost: that its checkpoint tells, which was read.
        let passed = whole.unreadable.is_none() && !conditions.contains(&Condition::Lost);
        let stands = |condition: &Condition| keeps(*condition) && !(passed && *condition == Condition::Lost);
        conditions.extend(memory.conditions.iter().copied().filter(stands));
    }
    let lag = partitions.values().any(|verdict| verdict.lag.is_some_and(|lag| lag > 0));
    let state = conditions.iter().filter_map(|condition| of(*condition)).min().unwrap_or(if lag {
        QueryState::Behind
    } else {
        QueryState::Idle
    });
    let reason = reason(state, whole, partitions, memory);
    (state, reason, conditions)
}

fn conditions(
    settings: &QuerySettings,
    whole: Whole<'_>,
    partitions: &BTreeMap<TopicPartition, PartitionVerdict>,
    memory: &QueryMemory,
) -> BTreeSet<Condition> {
    let mut conditions: BTreeSet<Condition> =
        partitions.values().filter_map(|verdict| of_partition(verdict.state)).collect();
    let at_risk =
        memory.topics.values().any(|topic| topic.partitions.values().any(|one| one.at_risk && !one.dismissed));
    let not_started = memory.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.newest_planned.is_none());
    let of_the_whole = [
        (memory.mismatch.is_some(), Condition::ClusterMismatch),
        (whole.unreadable.is_some(), Condition::Unreadable),
        (at_risk, Condition::AtRisk),
        (whole.stalled && settings.watch == Watch::Active, Condition::Stalled),
        (whole.blind && whole.unreadable.is_none(), Condition::Unknown),
        (not_started, Condition::NotStarted),
        (settings.watch == Watch::Parked, Condition::Parked),
    ];
    conditions.extend(of_the_whole.into_iter().filter(|(holds, _)| *holds).map(|(_, condition)| condition));
    conditions
}

/// Conditions that a blind round cannot end.
const fn keeps(condition: Condition) -> bool {
    !matches!(
        condition,
        Condition::Unreadable | Condition::Unknown | Condition::Parked | Condition::Superseded | Condition::Stalled
    )
}

const fn of_partition(state: PartitionState) -> Option<Condition> {
    match state {
        PartitionState::Unknown => Some(Condition::Unknown),
        PartitionState::Gone => Some(Condition::Gone),
        PartitionState::Recreated => Some(Condition::Recreated),
        PartitionState::BeyondEnd => Some(Condition::BeyondEnd),
        PartitionState::Unverified => Some(Condition::Unverified),
        PartitionState::Lost => Some(Condition::Lost),
        PartitionState::Unconfirmed | PartitionState::Pending | PartitionState::CaughtUp | PartitionState::Behind => {
            None
        }
    }
}

const fn of(condition: Condition) -> Option<QueryState> {
    match condition {
        Condition::ClusterMismatch => Some(QueryState::ClusterMismatch),
        Condition::Recreated => Some(QueryState::Recreated),
        Condition::Lost => Some(QueryState::Lost),
        Condition::BeyondEnd => Some(QueryState::BeyondEnd),
        Condition::Gone => Some(QueryState::Gone),
        Condition::Unreadable => Some(QueryState::Unreadable),
        Condition::AtRisk => Some(QueryState::AtRisk),
        Condition::Stalled => Some(QueryState::Stalled),
        Condition::Unverified => Some(QueryState::Unverified),
        Condition::Unknown => Some(QueryState::Unknown),
        Condition::NotStarted => Some(QueryState::NotStarted),
        Condition::Parked | Condition::Superseded => None,
    }
}

fn reason(
    state: QueryState,
    whole: Whole<'_>,
    partitions: &BTreeMap<TopicPartition, PartitionVerdict>,
    memory: &QueryMemory,
) -> Cow<'static, str> {
    let first = |wanted: PartitionState| {
        let mut of_it = partitions.iter().filter(|(_, verdict)| verdict.state == wanted);
        let (at, verdict) = of_it.next()?;
        let more = of_it.count();
        let others = if more == 0 { String::new() } else { format!(" (and {more} more partitions)") };
        Some(Cow::Owned(format!("{at}: {}{others}", verdict.reason)))
    };
    let told = match state {
        QueryState::ClusterMismatch => memory.mismatch.as_ref().map(|latch| Cow::Owned(latch.detail.clone())),
        QueryState::Recreated => first(PartitionState::Recreated),
        QueryState::Lost => first(PartitionState::Lost),
        QueryState::BeyondEnd => first(PartitionState::BeyondEnd),
        QueryState::Gone => first(PartitionState::Gone),
        QueryState::Unverified => first(PartitionState::Unverified),
        QueryState::Unknown => first(PartitionState::Unknown),
        QueryState::Unreadable => whole.unreadable.map(|unread| Cow::Owned(unread.to_string())),
        QueryState::AtRisk => riskiest(partitions, memory),
        QueryState::Stalled => Some(stalled(memory)),
        QueryState::NotStarted => Some(Cow::Borrowed("no batch planned yet")),
        QueryState::Behind => Some(Cow::Borrowed("unread data, all of it still there")),
        QueryState::Idle => Some(Cow::Borrowed("nothing unread")),
        QueryState::Superseded => Some(Cow::Borrowed("a newer checkpoint took its place")),
    };
    told.unwrap_or(Cow::Borrowed("as when last read"))
}

fn open_batch(memory: &QueryMemory) -> Option<BatchId> {
    memory.checkpoint.as_ref().filter(|checkpoint| checkpoint.batch_open)?.newest_planned
}

fn stalled(memory: &QueryMemory) -> Cow<'static, str> {
    match open_batch(memory) {
        Some(batch) => Cow::Owned(format!("unread data and no progress; batch {batch} is open")),
        None => Cow::Borrowed("unread data and no progress, no batch is open; a restart may be failing"),
    }
}

/// Names the open batch too: with a retention as short as a batch is long, the batch is the cause.
fn riskiest(
    partitions: &BTreeMap<TopicPartition, PartitionVerdict>,
    memory: &QueryMemory,
) -> Option<Cow<'static, str>> {
    let candidates = at_risk(partitions, memory).filter(|(_, verdict)| verdict.state != PartitionState::Lost);
    let lowest = candidates
        .filter_map(|(at, verdict)| Some((at, verdict.ratio?)))
        .min_by(|(_, one), (_, other)| one.total_cmp(other));
    let Some((at, ratio)) = lowest else { return soonest(partitions, memory) };
    let open = open_batch(memory).map_or_else(String::new, |batch| format!("; batch {batch} is open"));
    let left = ratio * 100.0;
    Some(Cow::Owned(format!("{at}: {left:.0} % of retention is left before unread data can be deleted{open}")))
}

/// The partitions that make it a risk: one that is safe explains nothing.
fn at_risk<'a>(
    partitions: &'a BTreeMap<TopicPartition, PartitionVerdict>,
    memory: &'a QueryMemory,
) -> impl Iterator<Item = (&'a TopicPartition, &'a PartitionVerdict)> {
    partitions.iter().filter(|(at, _)| {
        let known = memory.topics.get(&at.topic).and_then(|topic| topic.partitions.get(&at.partition));
        known.is_some_and(|one| one.at_risk && !one.dismissed)
    })
}

/// Where no share is known, a forecast is what made it a risk.
fn soonest(partitions: &BTreeMap<TopicPartition, PartitionVerdict>, memory: &QueryMemory) -> Option<Cow<'static, str>> {
    let at = |verdict: &PartitionVerdict| match verdict.forecast? {
        Deadline::At(at) => Some(at),
        Deadline::Never => None,
    };
    let known = at_risk(partitions, memory).filter_map(|(place, verdict)| Some((place, verdict, at(verdict)?)));
    let (place, verdict, at) = known.min_by_key(|(_, _, at)| *at)?;
    let left = at.since(memory.checkpoint.as_ref()?.read_at).as_secs();
    let why = verdict.unproved.map_or_else(String::new, |unproved| format!("; {unproved}"));
    Some(Cow::Owned(format!("{place}: by estimate unread data can be deleted in {left} s{why}")))
}
