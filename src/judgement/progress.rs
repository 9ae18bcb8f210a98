//! How long a query has had something to read without reading it.

use std::time::Duration;

use super::memory::QueryMemory;
use super::partition::Round;
use super::settings::{QuerySettings, Watch};
use super::verdict::PartitionVerdict;
use crate::checkpoint::CheckpointReading;
use crate::measures::{BatchId, Moment, TopicPartition};

/// Where too few commits are known to learn from.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(600);
/// An interval that was learned is at least so long.
const SHORTEST_LEARNED: Duration = Duration::from_secs(60);
/// So many commits teach an interval.
const COMMITS_TO_LEARN: usize = 5;

/// How often a batch should complete: as configured, else the longest time between two known commits, else as learned
/// before, else a default.
pub(super) fn expected_interval(
    settings: &QuerySettings,
    reading: Option<&CheckpointReading>,
    memory: &mut QueryMemory,
) -> Duration {
    if let Some(learned) = reading.and_then(learn) {
        memory.learned_interval_ms = u64::try_from(learned.as_millis()).ok();
    }
    settings.expected_interval.or(memory.learned_interval_ms.map(Duration::from_millis)).unwrap_or(DEFAULT_INTERVAL)
}

fn learn(reading: &CheckpointReading) -> Option<Duration> {
    let mut commits: Vec<Moment> = reading.batches.iter().filter_map(|batch| batch.committed_at).collect();
    if commits.len() < COMMITS_TO_LEARN {
        return None;
    }
    commits.sort_unstable();
    let longest = commits.windows(2).filter_map(|pair| Some(pair.last()?.since(*pair.first()?))).max()?;
    Some(longest.max(SHORTEST_LEARNED))
}

/// After so long without progress a query is stalled.
pub(super) fn stall_after(settings: &QuerySettings, interval: Duration) -> Duration {
    Duration::try_from_secs_f64(interval.as_secs_f64() * settings.stalled_after).unwrap_or(Duration::MAX)
}

/// When committed offsets last moved, updated by this round.
pub(super) fn last_progress(round: &Round<'_>, first_sight: bool, moved: bool, memory: &mut QueryMemory) {
    let reading = round.reading;
    if reading.newest_committed.is_none() {
        let planned = reading.batches.iter().find(|batch| batch.batch == BatchId(0)).and_then(|batch| batch.planned_at);
        memory.last_progress_at = planned.or(reading.started_at).or(memory.last_progress_at);
        return;
    }
    if !first_sight && !moved && memory.last_progress_at.is_some() {
        return;
    }
    let seen = if first_sight {
        oldest_with_these_positions(round).or(reading.last_commit_at)
    } else {
        reading.last_commit_at.or(Some(round.now))
    };
    memory.last_progress_at = seen.map(|at| at.min(round.now)).or(memory.last_progress_at);
}

/// When the oldest known entry with the newest positions was committed: those after it only repeat them.
fn oldest_with_these_positions(round: &Round<'_>) -> Option<Moment> {
    let newest = round.history.last()?;
    round.history.iter().rev().take_while(|entry| entry.positions == newest.positions).last()?.committed_at
}

/// Since when something was unread without progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waiting {
    /// The later of last progress and the first round with something unread.
    pub unread_since: Option<Moment>,
    /// Too long.
    pub stalled: bool,
}

/// Follows what is unread. A partition that was not read counts as it was when it was read last.
pub(super) fn waiting<'v>(
    round: &Round<'_>,
    first_sight: bool,
    verdicts: impl Iterator<Item = (&'v TopicPartition, &'v PartitionVerdict)>,
    memory: &mut QueryMemory,
) -> Waiting {
    let oldest = oldest_unread(verdicts, memory);
    let lagging = memory.topics.values().any(|topic| topic.partitions.values().any(|one| one.lagging));
    memory.lag_since = match memory.lag_since {
        _ if !lagging => None,
        Some(since) => Some(since),
        None if first_sight => Some(oldest.or(memory.last_progress_at).unwrap_or(round.now).min(round.now)),
        None => Some(round.now),
    };
    if round.settings.watch != Watch::Active {
        return Waiting::default();
    }
    let stall_after = stall_after(round.settings, round.interval);
    let mut unread_since =
        memory.lag_since.map(|since| memory.last_progress_at.map_or(since, |progress| progress.max(since)));
    let stuck = stuck_batch(round, memory, stall_after);
    if let Some(planned) = stuck {
        unread_since = Some(unread_since.map_or(planned, |since| since.min(planned)));
    }
    let stalled = stuck.is_some() || unread_since.is_some_and(|since| round.now.since(since) > stall_after);
    Waiting { unread_since, stalled }
}

/// The estimated time of the oldest unread record; absent when one of the partitions that wait does not tell.
fn oldest_unread<'v>(
    verdicts: impl Iterator<Item = (&'v TopicPartition, &'v PartitionVerdict)>,
    memory: &QueryMemory,
) -> Option<Moment> {
    let lagging = |at: &TopicPartition| {
        memory
            .topics
            .get(&at.topic)
            .and_then(|topic| topic.partitions.get(&at.partition))
            .is_some_and(|one| one.lagging)
    };
    let times: Option<Vec<Moment>> =
        verdicts.filter(|(at, _)| lagging(at)).map(|(_, verdict)| verdict.oldest_unread).collect();
    times?.into_iter().min()
}

/// When the open batch was planned, if it plans something unread and has been open for too long.
fn stuck_batch(round: &Round<'_>, memory: &QueryMemory, stall_after: Duration) -> Option<Moment> {
    let planned_at = memory.checkpoint.as_ref()?.open_batch_at?;
    let plans_unread = round
        .needs
        .values()
        .flat_map(|needs| needs.values())
        .any(|need| matches!((need.planned, need.offset()), (Some(planned), Some(needed)) if planned > needed));
    (plans_unread && round.now.since(planned_at) > stall_after).then_some(planned_at)
}
