//! Whether what was read is still so when the answer is about to be printed.

use std::collections::BTreeSet;

use crate::checkpoint::CheckpointReading;
use crate::measures::BatchId;
use crate::retention::{ClusterReading, TopicReading, TopicSight};

/// What changed between two readings and makes an answer made of the first one wrong: topics that came or went, other
/// topic ids, other partitions. Bounds move all the time and are none of it.
#[must_use]
pub fn changes(before: &ClusterReading, after: &ClusterReading) -> Vec<String> {
    let mut found = Vec::new();
    if let (Some(one), Some(other)) = (&before.cluster_id, &after.cluster_id)
        && one != other
    {
        found.push(format!("another cluster answers: {other}, before {one}"));
    }
    for (name, sight) in &before.topics {
        match (sight, after.topics.get(name)) {
            (TopicSight::Seen(one), Some(TopicSight::Seen(other))) => found.extend(topic_changes(name, one, other)),
            (TopicSight::Seen(_), Some(TopicSight::Absent)) => found.push(format!("topic {name} was deleted")),
            (TopicSight::Absent, Some(TopicSight::Seen(_))) => found.push(format!("topic {name} was made")),
            (TopicSight::Seen(_), Some(TopicSight::Unread(unread))) => {
                found.push(format!("topic {name} could not be read again: {unread}"));
            }
            _ => {}
        }
    }
    found
}

/// What a query did between two readings of its checkpoint that makes an answer made of the first one wrong.
#[must_use]
pub fn moved(before: &CheckpointReading, after: &CheckpointReading) -> Option<String> {
    if before.query_id != after.query_id {
        return Some("another checkpoint lies in its place".to_owned());
    }
    if before.newest_committed == after.newest_committed && before.newest_planned == after.newest_planned {
        return None;
    }
    let batch = |newest: Option<BatchId>| newest.map_or_else(|| "none".to_owned(), |batch| batch.to_string());
    Some(format!(
        "the query runs: it has committed batch {} and planned batch {}, before {} and {}; stop it first",
        batch(after.newest_committed),
        batch(after.newest_planned),
        batch(before.newest_committed),
        batch(before.newest_planned),
    ))
}

fn topic_changes(name: &str, before: &TopicReading, after: &TopicReading) -> Vec<String> {
    let mut found = Vec::new();
    if let (Some(one), Some(other)) = (before.topic_id, after.topic_id)
        && one != other
    {
        found.push(format!("topic {name} was deleted and made again"));
    }
    let numbers = |reading: &TopicReading| reading.partitions.keys().copied().collect::<BTreeSet<i32>>();
    let (one, other) = (numbers(before), numbers(after));
    if one != other {
        found.push(format!("topic {name} has {} partitions now, and had {}", other.len(), one.len()));
    }
    found
}
