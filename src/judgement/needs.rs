//! The needed offset of each partition: where a restart of the query would begin to read.

use std::collections::BTreeMap;

use super::memory::QueryMemory;
use crate::checkpoint::{CheckpointReading, Position, SourceReading, Start};
use crate::measures::{Offset, TopicName};

/// Where a query stands in one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    /// How the position is known.
    pub origin: Origin,
    /// The next offset that a restart reads; absent unless a committed entry names it.
    pub committed: Option<Offset>,
    /// Exclusive end of the open batch.
    pub planned: Option<Offset>,
}

/// How a position is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The entry that Spark resumes from names it.
    Entry,
    /// An older entry or memory names it; the newest committed entry does not.
    Dropped,
    /// Only the open batch names it: everything from offset 0 is needed.
    OpenBatch,
    /// Spark will ask the broker when it starts: nothing is fixed yet.
    NotFixed,
    /// The broker has it and the checkpoint does not.
    BrokerOnly,
}

/// The needs of every partition, by topic.
pub(super) type Needs = BTreeMap<TopicName, BTreeMap<i32, Need>>;

impl Need {
    /// A partition that only the broker knows.
    pub(super) const BROKER_ONLY: Self = Self { origin: Origin::BrokerOnly, committed: None, planned: None };

    /// The offset that the tables call C.
    pub(super) fn offset(&self) -> Option<Offset> {
        match self.origin {
            Origin::Entry | Origin::Dropped => self.committed,
            Origin::OpenBatch => Some(Offset::ZERO),
            Origin::NotFixed | Origin::BrokerOnly => None,
        }
    }
}

/// Folds the sources of a checkpoint, and adds what only memory knows. Where a topic stands on several lines, the line
/// that is furthest behind counts.
pub(super) fn needs(reading: &CheckpointReading, memory: &QueryMemory) -> Needs {
    let mut needs = Needs::new();
    for source in &reading.sources {
        for (topic, positions) in &source.topics {
            let folded = needs.entry(TopicName::clone(topic)).or_default();
            for (partition, position) in positions {
                let need = of(source, position);
                folded.entry(*partition).and_modify(|known| *known = further_behind(*known, need)).or_insert(need);
            }
        }
    }
    for (topic, known) in &memory.topics {
        let folded = needs.entry(TopicName::clone(topic)).or_default();
        for (partition, memory) in &known.partitions {
            folded.entry(*partition).or_insert_with(|| match memory.committed {
                Some(_) => Need { origin: Origin::Dropped, committed: memory.committed, planned: None },
                None => Need::BROKER_ONLY,
            });
        }
    }
    needs
}

fn of(source: &SourceReading, position: &Position) -> Need {
    let origin = match (position.committed, position.start) {
        (Some(_), _) if position.dropped => Origin::Dropped,
        (Some(_), _) => Origin::Entry,
        (None, Some(Start::Latest)) => Origin::NotFixed,
        (None, _) if position.planned.is_some() && source.committed_from.is_some() => Origin::OpenBatch,
        (None, _) => Origin::NotFixed,
    };
    Need { origin, committed: position.committed, planned: position.planned }
}

fn further_behind(one: Need, other: Need) -> Need {
    let key = |need: &Need| need.offset().map_or(i64::MAX, Offset::get);
    if key(&other) < key(&one) { other } else { one }
}
