//! What a Kafka source writes as its offset: `{"orders":{"0":23,"1":45}}`.

use serde::de::IgnoredAny;

pub(super) use super::kafka_map::{KafkaMap, Tally, map};
use super::text::BadFile;

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

/// Reads one offset. Malformed is only a text that opens a JSON value and does not finish it: a file cut short.
pub(super) fn line(text: &str, tally: &mut Tally) -> Result<Line, BadFile> {
    let malformed = |why: &str| BadFile::Malformed(why.to_owned());
    let text = text.trim();
    if text == "-" {
        return Ok(Line::NotYet);
    }
    if text.is_empty() {
        return Err(malformed("an empty line where an offset should be"));
    }
    if let Some(map) = map(text, tally)? {
        return Ok(Line::Kafka(map));
    }
    // IgnoredAny is read without recursion, so that a thousand nested arrays are only another source's offset
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) if text.starts_with('{') && text[1..].trim_start() == "}" => Ok(Line::EmptyMap),
        Ok(_) => Ok(Line::Other),
        Err(_) if text.starts_with(['{', '[']) => Err(malformed("an offset that is cut short or no JSON")),
        Err(_) => Ok(Line::Other),
    }
}

/// Whether two maps are about the same topics.
pub(super) fn same_topics(one: &KafkaMap, other: &KafkaMap) -> bool {
    one.len() == other.len() && one.keys().eq(other.keys())
}

/// Whether the topics of one map are all among those of the other.
pub(super) fn topics_within(one: &KafkaMap, other: &KafkaMap) -> bool {
    one.len() <= other.len() && one.keys().all(|topic| other.contains_key(topic))
}
