//! The shapes of the API's answers.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::judgement::{Deadline, PartitionVerdict, QueryVerdict, Restart, TopicVerdict};
use crate::ledger::{Gap, RecoveryPath};
use crate::measures::{Moment, Offset, TopicPartition};
use crate::metrics::snapshot::{ClusterRound, DiscoveryRound, HistoryPoint, Polls, QueryRound, Span};
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
    restart: Option<ToldRestart>,
    gaps_unresolved: Option<u64>,
    problems: Vec<Problem>,
    events: Vec<Event>,
    history_span: &'static str,
    history: Vec<Point>,
    pub(super) partitions: Vec<Partition>,
}

#[derive(Serialize)]
struct ToldRestart {
    outcome: &'static str,
    error_class: Option<&'static str>,
    detail: String,
    skipped_offsets: u64,
}

#[derive(Serialize)]
struct Point {
    at: String,
    headroom_offsets: Option<i64>,
    lag_offsets: Option<u64>,
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

/// One partition.
#[derive(Serialize)]
pub(super) struct Partition {
    pub(super) topic: String,
    pub(super) partition: i32,
    pub(super) state: &'static str,
    reason: String,
    pub(super) committed: Option<i64>,
    pub(super) planned: Option<i64>,
    pub(super) earliest: Option<i64>,
    pub(super) latest: Option<i64>,
    pub(super) headroom_offsets: Option<i64>,
    pub(super) lag_offsets: Option<u64>,
    pub(super) lost_offsets: Option<u64>,
    pub(super) possibly_lost_offsets: Option<u64>,
    pub(super) beyond_end_offsets: Option<u64>,
    pub(super) remaining_ratio: Option<f64>,
    pub(super) deadline: Option<String>,
    pub(super) projected_loss: Option<String>,
    oldest_unread_timestamp: Option<String>,
    unproved: Option<Failure>,
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
    kafka_cluster: Option<String>,
    query: Option<String>,
    discovery: Option<String>,
    up: bool,
    polls: u64,
    last_attempt: Option<String>,
    last_success: Option<String>,
    last_error: Option<Failure>,
    next_poll: Option<String>,
    abilities: Option<BTreeMap<&'static str, bool>>,
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
    pub(super) fn kafka_cluster(&self) -> &str {
        &self.summary.kafka_cluster
    }

    pub(super) fn of(round: &ClusterRound, name: &str, query: &QueryRound, span: Option<Span>, now: Moment) -> Self {
        let verdict = query.verdict.as_deref();
        let span = span.unwrap_or_else(|| query.history.usual_span(now));
        Self {
            summary: QuerySummary::of(round, name, query, now),
            checkpoint: query.checkpoint.clone(),
            cluster_id: round.reading.cluster_id.clone(),
            query_id: verdict.and_then(|verdict| verdict.query_id.clone()),
            offset_log_version: verdict.and_then(|verdict| verdict.offset_log_version),
            unreadable: verdict.and_then(|verdict| verdict.unreadable.as_ref()).map(failure),
            restart: query.restarts.as_ref().map(|restarts| told_restart(&restarts.configured)),
            gaps_unresolved: query.gaps_unresolved.as_ref().map(|gaps| gaps.values().sum()),
            history_span: span.word(),
            history: query.history.points(span, now).map(point).collect(),
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

fn told_restart(restart: &Restart) -> ToldRestart {
    ToldRestart {
        outcome: restart.outcome.label(),
        error_class: restart.error_class,
        detail: restart.detail.clone(),
        skipped_offsets: restart.skipped.iter().map(|range| range.to.above(range.from)).sum(),
    }
}

fn point(point: &HistoryPoint) -> Point {
    Point { at: rfc3339(point.at), headroom_offsets: point.headroom, lag_offsets: point.lag }
}

/// A gap, named as in the table `streaming_gaps`.
#[derive(Serialize)]
pub(super) struct ToldGap {
    id: Option<i64>,
    stream_name: String,
    kafka_cluster: String,
    topic: String,
    topic_id: Option<String>,
    partition: i32,
    missing_from_offset: i64,
    missing_to_offset_exclusive: i64,
    certainty: &'static str,
    detected_at: String,
    estimated_first_missing_at: Option<String>,
    estimated_last_missing_at: Option<String>,
    recovery_path: Option<&'static str>,
    recovery_status: &'static str,
    evidence: String,
    recorded_by: String,
}

impl ToldGap {
    pub(super) fn of(gap: &Gap) -> Self {
        Self {
            id: gap.id,
            stream_name: gap.stream_name.clone(),
            kafka_cluster: gap.kafka_cluster.clone(),
            topic: gap.topic.clone(),
            topic_id: gap.topic_id.clone(),
            partition: gap.partition,
            missing_from_offset: gap.from,
            missing_to_offset_exclusive: gap.to,
            certainty: gap.certainty.label(),
            detected_at: rfc3339(gap.detected_at),
            estimated_first_missing_at: gap.first_missing_at.map(rfc3339),
            estimated_last_missing_at: gap.last_missing_at.map(rfc3339),
            recovery_path: gap.recovery_path.map(RecoveryPath::word),
            recovery_status: gap.recovery_status.word(),
            evidence: gap.evidence.clone(),
            recorded_by: gap.recorded_by.clone(),
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
            unproved: partition.unproved.map(|why| Failure { reason: why.label(), detail: why.to_string() }),
        }
    }
}

/// The cluster of a round, and the checkpoints that its rounds read.
pub(super) fn targets(round: &ClusterRound) -> Vec<Target> {
    let target = |kind, query: Option<&String>, polls: &Polls| Target {
        kafka_cluster: Some(round.cluster.clone()),
        query: query.cloned(),
        ..Target::of(kind, polls, polls.last_attempt.map(|at| at.plus(round.poll_interval)))
    };
    let abilities = round.reading.abilities.known().map(|(ability, shown)| (ability.label(), shown)).collect();
    let mut targets = vec![Target { abilities: Some(abilities), ..target("cluster", None, &round.polls) }];
    targets.extend(round.queries.iter().map(|(name, query)| target("checkpoint", Some(name), &query.polls)));
    targets
}

/// A place that is looked through for checkpoints.
pub(super) fn looked_through(discovery: &DiscoveryRound) -> Target {
    Target {
        discovery: Some(discovery.discovery.clone()),
        ..Target::of("discovery", &discovery.polls, discovery.next_look)
    }
}

impl Target {
    fn of(kind: &'static str, polls: &Polls, next_poll: Option<Moment>) -> Self {
        Self {
            kind,
            kafka_cluster: None,
            query: None,
            discovery: None,
            up: polls.up,
            polls: polls.total,
            last_attempt: polls.last_attempt.map(rfc3339),
            last_success: polls.last_success.map(rfc3339),
            last_error: polls.failure.as_ref().map(failure),
            next_poll: next_poll.map(rfc3339),
            abilities: None,
        }
    }
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
