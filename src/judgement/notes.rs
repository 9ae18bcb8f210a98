//! What a round notices on its way: events, and ranges lost.

use std::collections::BTreeMap;

use super::states::EventKind;
use super::verdict::{Event, LostRange};
use crate::measures::{Moment, Offset, TopicName, TopicPartition};

/// Collects events by kind and topic, so that a thousand partitions of one topic make one event.
#[derive(Debug, Default)]
pub(super) struct Notes {
    gathered: BTreeMap<(EventKind, Option<TopicName>), Vec<String>>,
    positions: BTreeMap<TopicPartition, Offset>,
    /// Ranges that this round counted.
    pub lost: Vec<LostRange>,
    /// Ranges that were possibly lost, and are lost.
    pub turned: Vec<LostRange>,
}

/// So many details are spelt out; the rest is a number.
const SPELT_OUT: usize = 3;

impl Notes {
    /// Something happened to the whole query.
    pub(super) fn query(&mut self, kind: EventKind, detail: String) {
        self.gathered.entry((kind, None)).or_default().push(detail);
    }

    /// Something happened to a topic.
    pub(super) fn topic(&mut self, kind: EventKind, topic: &TopicName, detail: String) {
        self.gathered.entry((kind, Some(TopicName::clone(topic)))).or_default().push(detail);
    }

    /// Something happened to one partition.
    pub(super) fn partition(&mut self, kind: EventKind, at: &TopicPartition, detail: &str) {
        self.topic(kind, &at.topic, format!("partition {}: {detail}", at.partition));
    }

    /// The positions before a checkpoint was replaced.
    pub(super) fn keep_positions(&mut self, positions: BTreeMap<TopicPartition, Offset>) {
        self.positions = positions;
    }

    /// The events, in a fixed order.
    pub(super) fn events(&mut self, at: Moment) -> Vec<Event> {
        let gathered = std::mem::take(&mut self.gathered);
        let mut positions = std::mem::take(&mut self.positions);
        gathered
            .into_iter()
            .map(|((kind, topic), details)| Event {
                kind,
                at,
                topic,
                detail: in_words(&details),
                positions: if kind == EventKind::CheckpointReplaced {
                    std::mem::take(&mut positions)
                } else {
                    BTreeMap::new()
                },
            })
            .collect()
    }
}

fn in_words(details: &[String]) -> String {
    let mut words = details.iter().take(SPELT_OUT).cloned().collect::<Vec<_>>().join("; ");
    if details.len() > SPELT_OUT {
        words.push_str(&format!("; and {} more", details.len() - SPELT_OUT));
    }
    words
}
