//! The brokers' part of a step, and the words for what could not be read.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::json::{Node, hint};
use super::mistake::ScenarioError;
use super::scenario::{Change, KafkaChange, Partition, TopicChange};
use crate::measures::{Moment, Offset, Reason, TopicName, Unread};
use crate::retention::{Limits, TopicId, Unproved};

/// Kafka's names of errors, and `no_leader` for the answer that names none.
const KAFKA_ERRORS: [(&str, Reason); 17] = [
    ("no_leader", Reason::Unreachable),
    ("broker_not_available", Reason::Unreachable),
    ("cluster_authorization_failed", Reason::Denied),
    ("coordinator_not_available", Reason::Unreachable),
    ("fenced_leader_epoch", Reason::Unreachable),
    ("invalid_topic_exception", Reason::Malformed),
    ("kafka_storage_error", Reason::Unreachable),
    ("leader_not_available", Reason::Unreachable),
    ("network_exception", Reason::Unreachable),
    ("not_leader_or_follower", Reason::Unreachable),
    ("offset_not_available", Reason::Unreachable),
    ("request_timed_out", Reason::TimedOut),
    ("sasl_authentication_failed", Reason::Denied),
    ("topic_authorization_failed", Reason::Denied),
    ("unknown_leader_epoch", Reason::Unreachable),
    ("unknown_topic_or_partition", Reason::NotFound),
    ("unsupported_version", Reason::Unsupported),
];

/// Reads a reason of the contract, or a name of Kafka's.
pub(super) fn unread(node: &Node<'_>) -> Result<Unread, ScenarioError> {
    let word = node.text()?;
    let lower = word.to_ascii_lowercase();
    let of_contract = Reason::ALL.into_iter().map(|reason| (reason.label(), reason));
    let mut known = of_contract.chain(KAFKA_ERRORS);
    if let Some((_, reason)) = known.find(|(name, _)| *name == lower) {
        return Ok(Unread::new(reason, word));
    }
    let names: Vec<&str> =
        Reason::ALL.into_iter().map(Reason::label).chain(KAFKA_ERRORS.map(|(name, _)| name)).collect();
    Err(node.wrong(format!("{word:?} is neither a reason nor an error of Kafka's{}", hint(&lower, &names))))
}

/// `{"error": …}` in the place of a value.
pub(super) fn error_in(node: &Node<'_>) -> Result<Option<Unread>, ScenarioError> {
    if !node.is_object() || !node.entries()?.iter().any(|(name, _)| name == "error") {
        return Ok(None);
    }
    let mut fields = node.fields()?;
    let error = unread(&fields.need("error")?)?;
    fields.finish()?;
    Ok(Some(error))
}

/// Reads a `kafka` or `kafka_again`.
pub(super) fn change(node: &Node<'_>) -> Result<KafkaChange, ScenarioError> {
    let mut fields = node.fields()?;
    let cluster_id = changed(fields.take("cluster_id"), Node::text)?;
    let mut topics = BTreeMap::new();
    if let Some(node) = fields.take("topics") {
        for (name, node) in node.entries()? {
            let change = if node.is_null() { None } else { Some(topic(&node)?) };
            topics.insert(TopicName::from(name), change);
        }
    }
    fields.finish()?;
    Ok(KafkaChange { cluster_id, topics })
}

fn topic(node: &Node<'_>) -> Result<TopicChange, ScenarioError> {
    if let Some(error) = error_in(node)? {
        return Ok(TopicChange::Unread(error));
    }
    let mut fields = node.fields()?;
    let topic_id = match changed(fields.take("topic_id"), Node::text)? {
        Change::Is(text) => identity(&text).map_or(Change::Silent, Change::Is),
        Change::Silent => Change::Silent,
        Change::Same => Change::Same,
    };
    let limits = changed(fields.take("config"), |node| match error_in(node)? {
        Some(error) => Ok(Err(error)),
        None => limits(node).map(Ok),
    })?;
    let mut partitions = BTreeMap::new();
    if let Some(node) = fields.take("partitions") {
        for (name, node) in node.entries()? {
            let number = name.parse().ok().filter(|number| *number >= 0);
            let number: i32 = number.ok_or_else(|| node.wrong("is no number of a partition"))?;
            let change = if node.is_null() { None } else { Some(partition(&node)?) };
            partitions.insert(number, change);
        }
    }
    fields.finish()?;
    Ok(TopicChange::Seen { topic_id, limits, partitions })
}

fn changed<'a, T>(
    node: Option<Node<'a>>,
    read: impl FnOnce(&Node<'a>) -> Result<T, ScenarioError>,
) -> Result<Change<T>, ScenarioError> {
    match node {
        None => Ok(Change::Same),
        Some(node) if node.is_null() => Ok(Change::Silent),
        Some(node) => read(&node).map(Change::Is),
    }
}

/// Any text stands for an id: only whether two are the same matters. Kafka's zero id counts as none.
fn identity(text: &str) -> Option<TopicId> {
    let is_zero = !text.is_empty() && text.chars().all(|letter| matches!(letter, '0' | '-'));
    if is_zero || text == "AAAAAAAAAAAAAAAAAAAAAA" {
        return None;
    }
    let hash = Sha256::digest(text.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(hash.get(..16)?);
    Some(TopicId(bytes))
}

/// A topic's settings; those that decide nothing here are allowed and left aside.
fn limits(node: &Node<'_>) -> Result<Limits, ScenarioError> {
    let mut limits = Limits::default();
    for (name, node) in node.entries()? {
        let text = node.text()?;
        let number = || text.parse().map_err(|_| node.wrong("must be a whole number, as a text"));
        match name.as_str() {
            "cleanup.policy" => limits.cleanup_policy = Some(text),
            "retention.ms" => limits.retention_ms = Some(number()?),
            "retention.bytes" => limits.retention_bytes = Some(number()?),
            "message.timestamp.type" => limits.log_append_time = Some(text == "LogAppendTime"),
            "remote.storage.enable" => limits.tiered = Some(text == "true"),
            _ => {}
        }
    }
    Ok(limits)
}

fn partition(node: &Node<'_>) -> Result<Result<Partition, Unread>, ScenarioError> {
    if let Some(error) = error_in(node)? {
        return Ok(Err(error));
    }
    let mut fields = node.fields()?;
    let earliest = fields.need("earliest")?.whole()?;
    let latest = fields.need("latest")?.whole()?;
    let stable = fields.take("stable").filter(|node| !node.is_null()).map(|node| node.whole()).transpose()?;
    let epoch = fields.take("leader_epoch").filter(|node| !node.is_null()).map(|node| node.small()).transpose()?;
    let unproved = fields.take("unproved").filter(|node| !node.is_null()).map(|node| unproved(&node)).transpose()?;
    let records = fields.take("records").filter(|node| !node.is_null()).map(|node| records(&node)).transpose()?;
    fields.finish()?;
    let (Some(earliest), Some(latest)) = (Offset::new(earliest), Offset::new(latest)) else {
        return Ok(Err(Unread::new(Reason::Malformed, "the broker answered a negative offset")));
    };
    Ok(Ok(Partition {
        earliest,
        latest,
        stable: stable.and_then(Offset::new),
        leader_epoch: epoch,
        records: records.unwrap_or_default(),
        unproved,
    }))
}

/// Why nothing is proved from time: a word, or for a clock that runs ahead an object with the broker and by how much.
fn unproved(node: &Node<'_>) -> Result<Unproved, ScenarioError> {
    serde_json::from_str(node.raw()).map_err(|error| node.wrong(format!("is no reason why nothing is proved: {error}")))
}

fn records(node: &Node<'_>) -> Result<Vec<(Offset, Moment)>, ScenarioError> {
    let mut records: Vec<(Offset, Moment)> = Vec::new();
    for node in node.items()? {
        let (offset, timestamp) = node.point()?;
        let offset = Offset::new(offset).ok_or_else(|| node.wrong("an offset is zero or more"))?;
        if records.last().is_some_and(|(before, _)| *before >= offset) {
            return Err(node.wrong("offsets must ascend, each once"));
        }
        records.push((offset, Moment::from_millis(timestamp)));
    }
    Ok(records)
}
