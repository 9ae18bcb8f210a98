//! What the readers said, in the words of a scenario; and what of it is new since the step before.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, SecondsFormat};
use serde_json::{Map, Value, json};

use super::anonymous::Names;
use crate::checkpoint::LogEntry;
use crate::measures::{Moment, Offset, TopicName, TopicPartition, Unread};
use crate::readers::stores::CheckpointFiles;
use crate::retention::{Age, ClusterReading, Limits, PartitionReading, TopicReading, TopicSight, Unproved};

/// In place of a file that decided nothing, and so was not fetched.
const NOT_FETCHED: &str = "-";

/// All files of a checkpoint, by path.
pub(super) fn files(found: &CheckpointFiles, names: &mut Names) -> Map<String, Value> {
    let listing = &found.listing;
    let mut entries: Vec<(String, &LogEntry)> = Vec::new();
    entries.extend(listing.metadata.iter().map(|entry| ("metadata".to_owned(), entry)));
    entries.extend(listing.offsets.iter().map(|entry| (format!("offsets/{}", entry.name), entry)));
    entries.extend(listing.commits.iter().map(|entry| (format!("commits/{}", entry.name), entry)));
    entries.extend(listing.sources.iter().map(|(id, entry)| (format!("sources/{}/0", names.source(id)), entry)));
    let contents: BTreeMap<String, &Vec<u8>> =
        found.contents.iter().map(|(path, bytes)| (named(path, names), bytes)).collect();
    let mut files = Map::new();
    for (path, entry) in entries {
        let mut file = Map::new();
        let bytes = match contents.get(&path) {
            Some(bytes) => names.file(&path, bytes),
            None if entry.size == 0 => Vec::new(),
            None => NOT_FETCHED.into(),
        };
        match String::from_utf8(bytes) {
            Ok(text) => file.insert("text".to_owned(), json!(text)),
            Err(error) => file.insert("base64".to_owned(), json!(STANDARD.encode(error.as_bytes()))),
        };
        if let Some(modified) = entry.modified.and_then(rfc3339) {
            file.insert("modified".to_owned(), json!(modified));
        }
        files.insert(path, Value::Object(file));
    }
    files
}

fn named(path: &str, names: &mut Names) -> String {
    match path.strip_prefix("sources/").and_then(|rest| rest.strip_suffix("/0")) {
        Some(id) => format!("sources/{}/0", names.source(id)),
        None => path.to_owned(),
    }
}

fn rfc3339(at: Moment) -> Option<String> {
    DateTime::from_timestamp_millis(at.millis()).map(|time| time.to_rfc3339_opts(SecondsFormat::Millis, true))
}

/// What look-ups by time showed.
type Ages = BTreeMap<(TopicPartition, Offset), Age>;

/// Everything that the brokers said. `now` stands for what a look-up left open.
pub(super) fn kafka(cluster: &ClusterReading, ages: &Ages, now: Moment, names: &mut Names) -> Map<String, Value> {
    let mut topics = Map::new();
    for (name, sight) in &cluster.topics {
        let topic = match sight {
            TopicSight::Absent => continue,
            TopicSight::Unread(unread) => error(unread),
            TopicSight::Seen(reading) => topic(name, reading, ages, &cluster.unproved, now, names),
        };
        topics.insert(names.topic(name), topic);
    }
    let mut kafka = Map::new();
    kafka.insert("cluster_id".to_owned(), json!(cluster.cluster_id.as_deref().map(|id| names.id(id))));
    kafka.insert("topics".to_owned(), Value::Object(topics));
    kafka
}

fn topic(
    name: &TopicName,
    reading: &TopicReading,
    ages: &Ages,
    unproved: &BTreeMap<TopicPartition, Unproved>,
    now: Moment,
    names: &mut Names,
) -> Value {
    let mut partitions = Map::new();
    for (number, read) in &reading.partitions {
        let at = TopicPartition::new(name, *number);
        let of_it = ages.iter().filter(|((other, _), _)| *other == at).map(|((_, committed), age)| (*committed, *age));
        let partition = match read {
            Err(unread) => error(unread),
            Ok(bounds) => partition(bounds, &points(bounds, of_it, now), unproved.get(&at)),
        };
        partitions.insert(number.to_string(), partition);
    }
    let config = match &reading.limits {
        None => Value::Null,
        Some(Err(unread)) => error(unread),
        Some(Ok(limits)) => config(limits),
    };
    json!({
        "topic_id": reading.topic_id.map(|id| names.id(&format!("{id:?}"))),
        "config": config,
        "partitions": partitions,
    })
}

/// Points of the log that let a search find what the real one found: the oldest record, the youngest known one up to
/// the committed offset, and behind it the moment that all up to it are known to be older than.
fn points(
    bounds: &PartitionReading,
    ages: impl Iterator<Item = (Offset, Age)>,
    now: Moment,
) -> BTreeMap<Offset, Moment> {
    let mut points: BTreeMap<Offset, Moment> = bounds.oldest.into_iter().collect();
    for (committed, age) in ages {
        points.extend(age.proved);
        let next = committed.get().checked_add(1).and_then(Offset::new).filter(|next| *next < bounds.latest);
        if let (Some(next), Some(below)) = (next, age.below.filter(|below| *below < now)) {
            points.entry(next).or_insert(below);
        }
    }
    points
}

fn partition(bounds: &PartitionReading, points: &BTreeMap<Offset, Moment>, unproved: Option<&Unproved>) -> Value {
    let mut told = json!({"earliest": bounds.earliest, "latest": bounds.latest});
    let fields = [
        ("stable", bounds.stable.map(|stable| json!(stable))),
        ("leader_epoch", bounds.leader_epoch.map(|epoch| json!(epoch))),
        ("unproved", unproved.map(|why| json!(why))),
        ("records", (!points.is_empty()).then(|| json!(points.iter().collect::<Vec<_>>()))),
    ];
    if let Some(told) = told.as_object_mut() {
        told.extend(fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    }
    told
}

fn config(limits: &Limits) -> Value {
    let kind = limits.log_append_time.map(|append| if append { "LogAppendTime" } else { "CreateTime" }.to_owned());
    let settings = [
        ("cleanup.policy", limits.cleanup_policy.clone()),
        ("retention.ms", limits.retention_ms.map(|number| number.to_string())),
        ("retention.bytes", limits.retention_bytes.map(|number| number.to_string())),
        ("message.timestamp.type", kind),
        ("remote.storage.enable", limits.tiered.map(|tiered| tiered.to_string())),
    ];
    settings.into_iter().filter_map(|(key, value)| Some((key.to_owned(), json!(value?)))).collect::<Map<_, _>>().into()
}

fn error(unread: &Unread) -> Value {
    json!({"error": unread.reason.label()})
}

/// What the second look saw otherwise.
pub(super) fn kafka_again(
    cluster: &ClusterReading,
    latest: &BTreeMap<TopicPartition, Result<Offset, Unread>>,
    names: &mut Names,
) -> Map<String, Value> {
    let mut topics: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for (at, answer) in latest {
        let reading = cluster.topics.get(&at.topic).and_then(TopicSight::seen);
        let bounds = reading.and_then(|reading| reading.partitions.get(&at.partition)?.as_ref().ok());
        let told = match (bounds, answer) {
            (Some(bounds), Ok(latest)) if bounds.latest == *latest => continue,
            (Some(bounds), Ok(latest)) => {
                partition(&PartitionReading { latest: *latest, ..*bounds }, &BTreeMap::new(), None)
            }
            (_, Err(unread)) => error(unread),
            (None, Ok(_)) => continue,
        };
        topics.entry(names.topic(&at.topic)).or_default().insert(at.partition.to_string(), told);
    }
    if topics.is_empty() {
        return Map::new();
    }
    let topics: Map<String, Value> =
        topics.into_iter().map(|(name, partitions)| (name, json!({"partitions": partitions}))).collect();
    Map::from_iter([("topics".to_owned(), Value::Object(topics))])
}

/// What is new, other, or gone (null).
pub(super) fn difference(before: &Map<String, Value>, now: &Map<String, Value>) -> Map<String, Value> {
    let changed = now.iter().filter(|(key, value)| before.get(*key) != Some(*value));
    let gone = before.keys().filter(|key| !now.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    changed.map(|(key, value)| (key.clone(), value.clone())).chain(gone).collect()
}

/// The same for what brokers say: topics and partitions each for themselves.
pub(super) fn kafka_difference(before: &Map<String, Value>, now: &Map<String, Value>) -> Map<String, Value> {
    let within = |before: &Value, now: &Value, deeper: &dyn Fn(&Map<_, _>, &Map<_, _>) -> Map<String, Value>| {
        match (before.as_object(), now.as_object()) {
            // One that could not be read and one that was have nothing in common.
            (Some(before), Some(now)) if before.contains_key("error") == now.contains_key("error") => {
                Value::Object(deeper(before, now))
            }
            _ => now.clone(),
        }
    };
    let topic = |before: &Map<String, Value>, now: &Map<String, Value>| {
        let mut changed = difference(before, now);
        if let (Some(told), Some(old)) = (changed.get_mut("partitions"), before.get("partitions")) {
            *told = within(old, told, &difference);
        }
        changed
    };
    let topics = |before: &Map<String, Value>, now: &Map<String, Value>| {
        let mut changed = difference(before, now);
        for (name, told) in &mut changed {
            if let Some(old) = before.get(name).filter(|_| !told.is_null()) {
                *told = within(old, told, &topic);
            }
        }
        changed
    };
    let mut changed = difference(before, now);
    if let (Some(told), Some(old)) = (changed.get_mut("topics"), before.get("topics")) {
        *told = within(old, told, &topics);
    }
    changed
}
