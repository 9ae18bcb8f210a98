//! Lines of a cluster: its polls, its topics, their partitions.

use std::collections::BTreeSet;

use super::writer::{Blocks, Labels};
use crate::measures::Moment;
use crate::measures::Reason;
use crate::metrics::catalogue::{
    CLUSTER_MISSING_RIGHTS, CLUSTER_POLL_DURATION, CLUSTER_POLL_FAILURES_TOTAL, CLUSTER_POLL_LAST_ATTEMPT,
    CLUSTER_POLL_LAST_SUCCESS, CLUSTER_POLLS_TOTAL, CLUSTER_UP, EARLIEST_OFFSET, KAFKA_REQUESTS_TOTAL, LATEST_OFFSET,
    Metric, STABLE_OFFSET, TOPIC_CLEANUP_POLICY, TOPIC_OLDEST_RECORD, TOPIC_PARTITIONS, TOPIC_RETENTION_BYTES,
    TOPIC_RETENTION_LIMIT, TOPIC_RETENTION_SECONDS,
};
use crate::metrics::snapshot::{ClusterRound, Polls};
use crate::retention::{Limits, Right, TopicReading, TopicSight};

/// The metrics of one kind of target's polls.
pub(super) struct PollMetrics {
    pub(super) up: &'static Metric,
    pub(super) total: &'static Metric,
    pub(super) failures: &'static Metric,
    pub(super) duration: &'static Metric,
    pub(super) last_success: &'static Metric,
    pub(super) last_attempt: &'static Metric,
}

const CLUSTER_POLLS: PollMetrics = PollMetrics {
    up: &CLUSTER_UP,
    total: &CLUSTER_POLLS_TOTAL,
    failures: &CLUSTER_POLL_FAILURES_TOTAL,
    duration: &CLUSTER_POLL_DURATION,
    last_success: &CLUSTER_POLL_LAST_SUCCESS,
    last_attempt: &CLUSTER_POLL_LAST_ATTEMPT,
};

pub(super) fn write(blocks: &mut Blocks, round: &ClusterRound) {
    let labels = Labels::none().and("kafka_cluster", &round.cluster);
    polls(blocks, &CLUSTER_POLLS, &labels, &round.polls);
    // What no broker was asked for is not told to be there.
    for right in Right::ALL.into_iter().filter(|_| round.polls.up) {
        let count = round.reading.missing_rights.get(&right).map_or(0, BTreeSet::len);
        let labels = labels.and("right", &right.label().to_ascii_lowercase());
        blocks.put_some(&CLUSTER_MISSING_RIGHTS, &labels, u64::try_from(count).ok());
    }
    for (api, count) in &round.requests {
        blocks.put(&KAFKA_REQUESTS_TOTAL, &labels.and("api", api), *count);
    }
    for (name, sight) in &round.reading.topics {
        if let TopicSight::Seen(seen) = sight {
            topic(blocks, &labels.and("topic", name), seen, round.size_rules.contains(name));
        }
    }
}

pub(super) fn polls(blocks: &mut Blocks, metrics: &PollMetrics, labels: &Labels, polls: &Polls) {
    blocks.put(metrics.up, labels, polls.up);
    blocks.put(metrics.total, labels, polls.total);
    for reason in Reason::ALL {
        let count = polls.failures.get(&reason).copied().unwrap_or(0);
        blocks.put(metrics.failures, &labels.and("reason", reason.label()), count);
    }
    blocks.put_some(metrics.duration, labels, polls.duration.map(|duration| duration.as_secs_f64()));
    blocks.put_some(metrics.last_success, labels, polls.last_success.map(Moment::seconds));
    blocks.put_some(metrics.last_attempt, labels, polls.last_attempt.map(Moment::seconds));
}

fn topic(blocks: &mut Blocks, labels: &Labels, topic: &TopicReading, size_rules: bool) {
    let limits = topic.limits.as_ref().and_then(|limits| limits.as_ref().ok());
    blocks.put_some(&TOPIC_RETENTION_SECONDS, labels, limits.and_then(retention_seconds));
    blocks.put_some(&TOPIC_RETENTION_BYTES, labels, limits.and_then(|limits| limited(limits.retention_bytes)));
    let limit = limit_at_work(limits, size_rules);
    for each in ["time", "size", "none", "unknown"] {
        blocks.put(&TOPIC_RETENTION_LIMIT, &labels.and("limit", each), each == limit);
    }
    let policy = cleanup_policy(limits);
    for each in ["delete", "compact", "compact_delete", "none", "unknown"] {
        blocks.put(&TOPIC_CLEANUP_POLICY, &labels.and("policy", each), each == policy);
    }
    if topic.partitions.is_empty() {
        return;
    }
    blocks.put_some(&TOPIC_PARTITIONS, labels, u64::try_from(topic.partitions.len()).ok());
    let mut oldest: Option<Moment> = None;
    for (number, partition) in &topic.partitions {
        let Ok(bounds) = partition else { continue };
        let labels = labels.and("partition", &number.to_string());
        blocks.put(&EARLIEST_OFFSET, &labels, bounds.earliest.get());
        blocks.put(&LATEST_OFFSET, &labels, bounds.latest.get());
        blocks.put_some(&STABLE_OFFSET, &labels, bounds.stable.map(|stable| stable.get()));
        if let Some((_, at)) = bounds.oldest {
            oldest = Some(oldest.map_or(at, |known| known.min(at)));
        }
    }
    blocks.put_some(&TOPIC_OLDEST_RECORD, labels, oldest.map(Moment::seconds));
}

/// A limit of the broker: negative is none.
fn limited(limit: Option<i64>) -> Option<f64> {
    let limit = limit?;
    if limit < 0 {
        return Some(f64::INFINITY);
    }
    #[expect(clippy::cast_precision_loss, reason = "a limit in bytes may lose its last bits beyond 8 PiB")]
    let limit = limit as f64;
    Some(limit)
}

fn retention_seconds(limits: &Limits) -> Option<f64> {
    limited(limits.retention_ms).map(|millis| millis / 1000.0)
}

/// What limits retention. Where both limits are set, time counts until size is seen to cut the log.
fn limit_at_work(limits: Option<&Limits>, size_rules: bool) -> &'static str {
    let Some(limits) = limits else { return "unknown" };
    let Some(policy) = limits.cleanup_policy.as_deref() else { return "unknown" };
    if !policy.split(',').any(|word| word.trim() == "delete") {
        return "none";
    }
    match (limits.retention_ms, limits.retention_bytes) {
        (_, Some(bytes)) if bytes >= 0 && size_rules => "size",
        (Some(millis), _) if millis >= 0 => "time",
        (Some(_), Some(bytes)) if bytes >= 0 => "size",
        (Some(_), Some(_)) => "none",
        _ => "unknown",
    }
}

fn cleanup_policy(limits: Option<&Limits>) -> &'static str {
    let Some(policy) = limits.and_then(|limits| limits.cleanup_policy.as_deref()) else { return "unknown" };
    let has = |wanted: &str| policy.split(',').any(|word| word.trim() == wanted);
    match (has("compact"), has("delete")) {
        (true, true) => "compact_delete",
        (true, false) => "compact",
        (false, true) => "delete",
        (false, false) if policy.trim().is_empty() => "none",
        (false, false) => "unknown",
    }
}
