//! What a Kafka source writes as its offset: `{"orders":{"0":23,"1":45}}`.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::IgnoredAny;

use crate::measures::TopicName;

/// Topic to partition to the number that stands there. Numbers may be −1 or −2, which only people write.
pub(super) type KafkaMap = BTreeMap<TopicName, BTreeMap<i32, i64>>;

/// One source's offset in one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// `-`: the source has no offset yet.
    NotYet,
    /// Shaped like Kafka's.
    Kafka(KafkaMap),
    /// `{}`: Kafka's, when an older entry of the source is.
    EmptyMap,
    /// Another source's. Spark's log never looks inside, so anything may stand there.
    Other,
}

/// Reads one offset. An error only for text that opens a JSON value and does not finish it: a file cut short.
pub(super) fn line(text: &str) -> Result<Line, String> {
    let text = text.trim();
    if text == "-" {
        return Ok(Line::NotYet);
    }
    if text.is_empty() {
        return Err("an empty line where an offset should be".to_owned());
    }
    if let Some(map) = map(text) {
        return Ok(Line::Kafka(map));
    }
    // IgnoredAny is read without recursion, so that a thousand nested arrays are only another source's offset
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) if text.starts_with('{') && text[1..].trim_start() == "}" => Ok(Line::EmptyMap),
        Ok(_) => Ok(Line::Other),
        Err(_) if text.starts_with(['{', '[']) => Err("an offset that is cut short or no JSON".to_owned()),
        Err(_) => Ok(Line::Other),
    }
}

/// The map, when the text is shaped like Kafka's: legal topic names, decimal partitions, whole numbers from −2 up.
pub(super) fn map(text: &str) -> Option<KafkaMap> {
    let topics = serde_json::from_str::<BTreeMap<String, BTreeMap<String, i64>>>(text).ok()?;
    if topics.is_empty() {
        return None;
    }
    let mut map = KafkaMap::new();
    for (topic, partitions) in topics {
        if !is_topic_name(&topic) || partitions.is_empty() {
            return None;
        }
        let mut numbers = BTreeMap::new();
        for (partition, number) in partitions {
            if number < -2 || !partition.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            numbers.insert(partition.parse().ok()?, number);
        }
        map.insert(topic.into(), numbers);
    }
    Some(map)
}

/// The topics of a map.
pub(super) fn topics(map: &KafkaMap) -> BTreeSet<&str> {
    map.keys().map(AsRef::as_ref).collect()
}

/// Kafka's rule for names, and MapR's, whose topics are paths with `/` and `:`.
fn is_topic_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:".contains(&byte);
    (1..=249).contains(&name.len()) && name != "." && name != ".." && name.bytes().all(legal)
}
