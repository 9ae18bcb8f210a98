//! The shapes of the API's answers.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::judgement::{Deadline, PartitionVerdict, QueryVerdict, TopicVerdict};
use crate::measures::{Moment, Offset, TopicPartition};
use crate::metrics::snapshot::{ClusterRound, Polls, QueryRound};
use crate::web::pages::tone;
use crate::web::words::rfc3339;

/// A row of the fleet page.
#[derive(Serialize)]
pub(super) struct QuerySummary {
    query: String,
    kafka_cluster: String,
    state: &'static str,
    severity: &'static str,
    reason: Option<String>,
    conditions: Vec<&'static str>,
    checked_at: Option<String>,
    restartable: Option<bool>,
    newest_planned_batch: Option<u64>,
    newest_committed_batch: Option<u64>,
    last_commit_at: Option<String>,
    last_progress_at: Option<String>,
    unread_since: Option<String>,
    open_batch_at: Option<String>,
    topics: BTreeMap<String, Topic>,
}

#[derive(Serialize)]
struct Topic {
    lag_offsets: Option<u64>,
    lost_offsets: Option<u64>,
    possibly_lost_offsets: Option<u64>,
    headroom_offsets: Option<i64>,
    remaining_ratio: Option<f64>,
    deadline: Option<String>,
    projected_loss: Option<String>,
    oldest_unread_timestamp: Option<String>,
    states: BTreeMap<&'static str, u64>,
}

/// A query with its partitions.
#[derive(Serialize)]
pub(super) struct QueryDetail {
    #[serde(flatten)]
    summary: QuerySummary,
    checkpoint: String,
    cluster_id: Option<String>,
    query_id: Option<String>,
    offset_log_version: Option<u32>,
    unreadable: Option<Failure>,
    problems: Vec<Problem>,
    events: Vec<Event>,
    partitions: Vec<Partition>,
}

#[derive(Serialize)]
struct Problem {
    problem: &'static str,
    file: Option<String>,
    detail: String,
}

#[derive(Serialize)]
struct Event {
    event: &'static str,
    at: String,
    topic: Option<String>,
    detail: String,
}

#[derive(Serialize)]
struct Partition {
    topic: String,
    partition: i32,
    state: &'static str,
    reason: String,
    committed: Option<i64>,
    planned: Option<i64>,
    earliest: Option<i64>,
    latest: Option<i64>,
    headroom_offsets: Option<i64>,
    lag_offsets: Option<u64>,
    lost_offsets: Option<u64>,
    possibly_lost_offsets: Option<u64>,
    beyond_end_offsets: Option<u64>,
    remaining_ratio: Option<f64>,
    deadline: Option<String>,
    projected_loss: Option<String>,
    oldest_unread_timestamp: Option<String>,
}

#[derive(Serialize)]
struct Failure {
    reason: &'static str,
    detail: String,
}

/// Something that is polled.
#[derive(Serialize)]
pub(super) struct Target {
    kind: &'static str,
    kafka_cluster: String,
    query: Option<String>,
    up: bool,
    polls: u64,
    last_attempt: Option<String>,
    last_success: Option<String>,
    last_error: Option<Failure>,
    next_poll: Option<String>,
}

impl QuerySummary {
    pub(super) fn of(round: &ClusterRound, name: &str, query: &QueryRound, now: Moment) -> Self {
        let verdict = query.verdict.as_deref();
        let time = |time: fn(&QueryVerdict) -> Option<Moment>| verdict.and_then(time).map(rfc3339);
        Self {
            query: name.to_owned(),
            kafka_cluster: round.cluster.clone(),
            state: query.state().label(),
            severity: tone(query, now).word(),
            reason: verdict.map(|verdict| verdict.reason.to_string()),
            conditions: verdict.iter().flat_map(|verdict| &verdict.conditions).map(|each| each.label()).collect(),
            checked_at: round.finished_at.map(rfc3339),
            restartable: verdict.and_then(|verdict| verdict.restartable),
            newest_planned_batch: verdict.and_then(|verdict| verdict.newest_planned).map(|batch| batch.0),
            newest_committed_batch: verdict.and_then(|verdict| verdict.newest_committed).map(|batch| batch.0),
            last_commit_at: time(|verdict| verdict.last_commit_at),
            last_progress_at: time(|verdict| verdict.last_progress_at),
            unread_since: time(|verdict| verdict.unread_since),
            open_batch_at: time(|verdict| verdict.open_batch_at),
            topics: verdict
                .iter()
                .flat_map(|verdict| &verdict.topics)
                .map(|(name, topic)| (name.to_string(), Topic::of(topic)))
                .collect(),
        }
    }
}

impl Topic {
    fn of(topic: &TopicVerdict) -> Self {
        Self {
            lag_offsets: topic.lag,
            lost_offsets: topic.lost,
            possibly_lost_offsets: topic.possibly_lost,
            headroom_offsets: topic.headroom,
            remaining_ratio: topic.ratio,
            deadline: topic.deadline.map(limit),
            projected_loss: topic.forecast.map(limit),
            oldest_unread_timestamp: topic.oldest_unread.map(rfc3339),
            states: topic.states.iter().map(|(state, count)| (state.label(), *count)).collect(),
        }
    }
}

impl QueryDetail {
    pub(super) fn of(round: &ClusterRound, name: &str, query: &QueryRound, now: Moment) -> Self {
        let verdict = query.verdict.as_deref();
        Self {
            summary: QuerySummary::of(round, name, query, now),
            checkpoint: query.checkpoint.clone(),
            cluster_id: round.reading.cluster_id.clone(),
            query_id: verdict.and_then(|verdict| verdict.query_id.clone()),
            offset_log_version: verdict.and_then(|verdict| verdict.offset_log_version),
            unreadable: verdict.and_then(|verdict| verdict.unreadable.as_ref()).map(failure),
            problems: verdict
                .iter()
                .flat_map(|verdict| &verdict.problems)
                .map(|problem| Problem {
                    problem: problem.kind.label(),
                    file: problem.file.clone(),
                    detail: problem.detail.clone(),
                })
                .collect(),
            events: verdict
                .iter()
                .flat_map(|verdict| &verdict.events)
                .map(|event| Event {
                    event: event.kind.label(),
                    at: rfc3339(event.at),
                    topic: event.topic.as_deref().map(str::to_owned),
                    detail: event.detail.clone(),
                })
                .collect(),
            partitions: verdict
                .iter()
                .flat_map(|verdict| &verdict.partitions)
                .map(|(place, partition)| Partition::of(place, partition))
                .collect(),
        }
    }
}

impl Partition {
    fn of(place: &TopicPartition, partition: &PartitionVerdict) -> Self {
        Self {
            topic: place.topic.to_string(),
            partition: place.partition,
            state: partition.state.label(),
            reason: partition.reason.to_string(),
            committed: partition.committed.map(Offset::get),
            planned: partition.planned.map(Offset::get),
            earliest: partition.earliest.map(Offset::get),
            latest: partition.latest.map(Offset::get),
            headroom_offsets: partition.headroom,
            lag_offsets: partition.lag,
            lost_offsets: partition.lost,
            possibly_lost_offsets: partition.possibly_lost,
            beyond_end_offsets: partition.beyond_end,
            remaining_ratio: partition.ratio,
            deadline: partition.deadline.map(limit),
            projected_loss: partition.forecast.map(limit),
            oldest_unread_timestamp: partition.oldest_unread.map(rfc3339),
        }
    }
}

/// The cluster of a round, and the checkpoints that its rounds read.
pub(super) fn targets(round: &ClusterRound) -> Vec<Target> {
    let target = |kind, query: Option<&String>, polls: &Polls| Target {
        kind,
        kafka_cluster: round.cluster.clone(),
        query: query.cloned(),
        up: polls.up,
        polls: polls.total,
        last_attempt: polls.last_attempt.map(rfc3339),
        last_success: polls.last_success.map(rfc3339),
        last_error: polls.failure.as_ref().map(failure),
        next_poll: polls.last_attempt.map(|at| rfc3339(at.plus(round.poll_interval))),
    };
    let mut targets = vec![target("cluster", None, &round.polls)];
    targets.extend(round.queries.iter().map(|(name, query)| target("checkpoint", Some(name), &query.polls)));
    targets
}

fn failure(unread: &crate::measures::Unread) -> Failure {
    Failure { reason: unread.reason.label(), detail: unread.detail.clone() }
}

fn limit(deadline: Deadline) -> String {
    match deadline {
        Deadline::At(moment) => rfc3339(moment),
        Deadline::Never => "never".to_owned(),
    }
}
