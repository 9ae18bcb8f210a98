//! Entries older than those that decide: they tell when a position was reached.

use std::collections::BTreeMap;

use super::kafka::Line;
use super::offset_log;
use crate::measures::{Moment, Offset, TopicPartition};

/// One entry of the offset log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OlderEntry {
    /// Its `batchTimestampMs`.
    pub timestamp: Option<Moment>,
    /// Each Kafka source in it.
    pub sources: Vec<OlderSource>,
}

/// Where one source stood at the end of the batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OlderSource {
    /// Position in the log.
    pub index: usize,
    /// Source id.
    pub id: String,
    /// Exclusive end of the batch in each partition.
    pub positions: BTreeMap<TopicPartition, Offset>,
}

/// Parses such an entry; `None` when it makes no sense. It is help, and nothing depends on it.
#[must_use]
pub fn older_entry(bytes: &[u8]) -> Option<OlderEntry> {
    let entry = offset_log::parse(bytes).ok()?;
    let source = |(index, (id, line)): (usize, &(String, Line))| {
        let Line::Kafka(map) = line else { return None };
        let positions = map.iter().flat_map(|(topic, partitions)| {
            let known =
                |(number, offset): (&i32, &i64)| Some((TopicPartition::new(topic, *number), Offset::new(*offset)?));
            partitions.iter().filter_map(known)
        });
        Some(OlderSource { index, id: id.clone(), positions: positions.collect() })
    };
    let sources = entry.lines.iter().enumerate().filter_map(source).collect();
    Some(OlderEntry { timestamp: entry.batch_timestamp, sources })
}
