//! Lines of a query: its checkpoint's polls, its state, its partitions.

use super::cluster::{PollMetrics, polls};
use super::topic;
use super::writer::{Blocks, Labels};
use crate::judgement::{Condition, Deadline, EventKind, PartitionVerdict, QueryState, QueryVerdict};
use crate::measures::{Moment, Offset};
use crate::metrics::catalogue::{
    CHECKPOINT_POLL_DURATION, CHECKPOINT_POLL_FAILURES_TOTAL, CHECKPOINT_POLL_LAST_ATTEMPT,
    CHECKPOINT_POLL_LAST_SUCCESS, CHECKPOINT_POLLS_TOTAL, CHECKPOINT_UP, COMMITTED_OFFSET, DELETION_DEADLINE,
    HEADROOM_OFFSETS, LAG_OFFSETS, LOST_OFFSETS, OLDEST_UNREAD, PARTITION_PROBLEM, PLANNED_OFFSET,
    POSSIBLY_LOST_OFFSETS, PROJECTED_LOSS, QUERY_CHECKPOINT_PROBLEM, QUERY_CONDITION, QUERY_EVENTS_TOTAL,
    QUERY_EXPECTED_INTERVAL, QUERY_INFO, QUERY_LAST_COMMIT, QUERY_LAST_EVENT, QUERY_LAST_PROGRESS,
    QUERY_MAX_PARTITION_LAG_OFFSETS, QUERY_NEWEST_COMMITTED_BATCH, QUERY_NEWEST_PLANNED_BATCH, QUERY_OPEN_BATCH,
    QUERY_OUTAGE_BUDGET, QUERY_RESTARTABLE, QUERY_SERIES_DROPPED, QUERY_STATE, QUERY_UNREAD_SINCE,
    RETENTION_REMAINING_RATIO, STORE_REQUESTS_TOTAL,
};
use crate::metrics::snapshot::{Granularity, PartitionMetrics, Publishing, QueryRound, problems};

const CHECKPOINT_POLLS: PollMetrics = PollMetrics {
    up: &CHECKPOINT_UP,
    total: &CHECKPOINT_POLLS_TOTAL,
    failures: &CHECKPOINT_POLL_FAILURES_TOTAL,
    duration: &CHECKPOINT_POLL_DURATION,
    last_success: &CHECKPOINT_POLL_LAST_SUCCESS,
    last_attempt: &CHECKPOINT_POLL_LAST_ATTEMPT,
};

pub(super) fn write(blocks: &mut Blocks, cluster: &str, name: &str, query: &QueryRound) {
    let labels = Labels::none().and("query", name).and("kafka_cluster", cluster);
    polls(blocks, &CHECKPOINT_POLLS, &labels, &query.polls);
    for (operation, count) in &query.requests {
        blocks.put(&STORE_REQUESTS_TOTAL, &labels.and("operation", operation), *count);
    }
    blocks.put(&QUERY_OUTAGE_BUDGET, &labels, query.settings.max_outage.as_secs_f64());
    let verdict = query.verdict.as_deref();
    words(blocks, &labels, query.state(), verdict);
    events(blocks, &labels, verdict);
    let series = verdict.map_or(0, |verdict| series_per_partition(verdict, query.publishing));
    let dropped = if series > query.publishing.series_limit { series } else { 0 };
    blocks.put(&QUERY_SERIES_DROPPED, &labels, dropped);
    let Some(verdict) = verdict else { return };
    numbers(blocks, &labels, &query.checkpoint, verdict);
    for (topic_name, folded) in &verdict.topics {
        topic::write(blocks, &labels.and("topic", topic_name), folded, verdict.unread_since);
    }
    for (place, partition) in &verdict.partitions {
        let labels = labels.and("topic", &place.topic).and("partition", &place.partition.to_string());
        for problem in problems(partition) {
            blocks.put(&PARTITION_PROBLEM, &labels.and("problem", problem.label()), true);
        }
        if dropped == 0 {
            each_number(partition, query.publishing, |metric, value| blocks.put(metric, &labels, value));
        }
    }
}

/// State and conditions. Before the first round the query is unknown: it has no healthy state to start from.
fn words(blocks: &mut Blocks, labels: &Labels, state: QueryState, verdict: Option<&QueryVerdict>) {
    for each in QueryState::ALL {
        blocks.put(&QUERY_STATE, &labels.and("state", each.label()), *each == state);
    }
    for each in Condition::ALL {
        let holds = verdict.map_or(*each == Condition::Unknown, |verdict| verdict.conditions.contains(each));
        blocks.put(&QUERY_CONDITION, &labels.and("condition", each.label()), holds);
    }
    let mut kinds: Vec<_> = verdict.iter().flat_map(|verdict| &verdict.problems).map(|problem| problem.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        blocks.put(&QUERY_CHECKPOINT_PROBLEM, &labels.and("problem", kind.label()), true);
    }
}

/// Counters of events stand at zero from the start: a counter that is first seen at 1 never rises.
fn events(blocks: &mut Blocks, labels: &Labels, verdict: Option<&QueryVerdict>) {
    for kind in EventKind::ALL {
        let labels = labels.and("event", kind.label());
        let seen = verdict.and_then(|verdict| verdict.event_totals.get(kind));
        blocks.put(&QUERY_EVENTS_TOTAL, &labels, seen.map_or(0, |(count, _)| *count));
        blocks.put_some(&QUERY_LAST_EVENT, &labels, seen.map(|(_, at)| at.seconds()));
    }
}

fn numbers(blocks: &mut Blocks, labels: &Labels, checkpoint: &str, verdict: &QueryVerdict) {
    let most_lag = verdict.partitions.values().filter_map(|partition| partition.lag).max();
    blocks.put_some(&QUERY_MAX_PARTITION_LAG_OFFSETS, labels, most_lag);
    blocks.put_some(&QUERY_NEWEST_PLANNED_BATCH, labels, verdict.newest_planned.map(|batch| batch.0));
    blocks.put_some(&QUERY_NEWEST_COMMITTED_BATCH, labels, verdict.newest_committed.map(|batch| batch.0));
    blocks.put_some(&QUERY_LAST_COMMIT, labels, verdict.last_commit_at.map(Moment::seconds));
    blocks.put_some(&QUERY_LAST_PROGRESS, labels, verdict.last_progress_at.map(Moment::seconds));
    blocks.put_some(&QUERY_UNREAD_SINCE, labels, verdict.unread_since.map(Moment::seconds));
    blocks.put_some(&QUERY_OPEN_BATCH, labels, verdict.open_batch_at.map(Moment::seconds));
    blocks.put_some(&QUERY_RESTARTABLE, labels, verdict.restartable);
    blocks.put(&QUERY_EXPECTED_INTERVAL, labels, verdict.expected_interval.as_secs_f64());
    let version = verdict.offset_log_version.map_or_else(String::new, |version| version.to_string());
    let info = labels
        .and("query_id", verdict.query_id.as_deref().unwrap_or_default())
        .and("checkpoint", checkpoint)
        .and("offset_log_version", &version);
    blocks.put(&QUERY_INFO, &info, true);
}

/// How many series per partition the query would have, problems left aside: those are few, or worth their price.
fn series_per_partition(verdict: &QueryVerdict, publishing: Publishing) -> u64 {
    let mut count = 0;
    for partition in verdict.partitions.values() {
        each_number(partition, publishing, |_, _| count += 1);
    }
    count
}

/// Hands each published number of a partition to `take`.
fn each_number(
    partition: &PartitionVerdict,
    publishing: Publishing,
    mut take: impl FnMut(&'static crate::metrics::catalogue::Metric, super::Sample),
) {
    if publishing.granularity == Granularity::Topic {
        return;
    }
    let mut take = |metric, value: Option<super::Sample>| {
        if let Some(value) = value {
            take(metric, value);
        }
    };
    let offset = |offset: Option<Offset>| offset.map(|offset| offset.get().into());
    let deadline = |deadline: Option<Deadline>| deadline.map(|deadline| deadline.seconds().into());
    take(&COMMITTED_OFFSET, offset(partition.committed));
    take(&HEADROOM_OFFSETS, partition.headroom.map(Into::into));
    take(&LAG_OFFSETS, partition.lag.map(Into::into));
    take(&DELETION_DEADLINE, deadline(partition.deadline));
    if publishing.partition_metrics == PartitionMetrics::Default {
        return;
    }
    take(&PLANNED_OFFSET, offset(partition.planned));
    take(&LOST_OFFSETS, partition.lost.map(Into::into));
    take(&POSSIBLY_LOST_OFFSETS, partition.possibly_lost.map(Into::into));
    take(&OLDEST_UNREAD, partition.oldest_unread.map(|at| at.seconds().into()));
    take(&RETENTION_REMAINING_RATIO, partition.ratio.map(Into::into));
    take(&PROJECTED_LOSS, deadline(partition.forecast));
}
