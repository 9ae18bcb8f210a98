//! What Spark would do if the query were started again now.
//!
//! The driver compares the positions of the checkpoint with the end it plans, and an executor finds out in the first
//! batch what the log has no more. Both ask `failOnDataLoss`: true stops the query with an error class, false goes on
//! and skips. The driver never compares positions with earliest.

use std::collections::BTreeMap;
use std::time::Duration;

use super::settings::{Isolation, QuerySettings, Subscribe};
use crate::checkpoint::{CheckpointReading, Position, ProblemKind, SourceKind, SourceReading};
use crate::measures::{Offset, TopicName, TopicPartition, Unread};
use crate::retention::{ClusterReading, PartitionReading, TopicSight};

/// What a restart would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restart {
    /// In a word.
    pub outcome: Outcome,
    /// The error class that Spark 4 and later name (before that, the text is similar and the class is Java's).
    pub error_class: Option<&'static str>,
    /// The first partition that decides.
    pub partition: Option<TopicPartition>,
    /// In words, with the numbers.
    pub detail: String,
    /// What would be passed over unread.
    pub skipped: Vec<SkippedRange>,
}

impl Restart {
    /// An answer that cannot be given, and why.
    #[must_use]
    pub fn unknown(detail: String) -> Self {
        Self { detail, ..nothing_of(Outcome::Unknown) }
    }
}

/// A range of offsets that a restart passes over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedRange {
    /// Where.
    pub partition: TopicPartition,
    /// First offset of the range.
    pub from: Offset,
    /// Exclusive end.
    pub to: Offset,
}

/// What becomes of a restart. From the least to the most certain to go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It starts and reads on.
    Starts,
    /// It starts, and passes over what is gone.
    StartsAndSkips,
    /// Not enough is known.
    Unknown,
    /// It starts, and an executor finds the loss in the first batch.
    StartsThenFails,
    /// It does not get as far as a batch.
    Fails,
}

impl Outcome {
    /// The outcome's text.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Starts => "starts",
            Self::StartsAndSkips => "starts_and_skips",
            Self::Unknown => "unknown",
            Self::StartsThenFails => "starts_then_fails",
            Self::Fails => "fails",
        }
    }
}

const INITIAL_NOT_FOUND: &str = "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS";
const ADDED_NOT_AT_ZERO: &str = "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO";
const DELETED: &str = "KAFKA_DATA_LOSS.PARTITIONS_DELETED";
const CHANGED: &str = "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED";
const COULD_NOT_READ: &str = "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE";
const UNKNOWN_TOPIC: &str = "org.apache.kafka.common.errors.UnknownTopicOrPartitionException";
const OUT_OF_RANGE: &str = "org.apache.kafka.clients.consumer.OffsetOutOfRangeException";

/// Predicts what a restart would do. With a subscribed pattern every topic of `cluster` counts as matched.
#[must_use]
pub fn predict(
    reading: &CheckpointReading,
    cluster: &ClusterReading,
    settings: &QuerySettings,
    fail_on_data_loss: bool,
) -> Restart {
    if reading.restartable == Some(false) {
        let detail = format!("the checkpoint is not restartable: {}", in_words(reading, &[]));
        return Restart { detail, ..nothing_of(Outcome::Fails) };
    }
    let plan = Plan {
        cluster,
        settings,
        strict: fail_on_data_loss,
        open: reading.batch_open,
        real_time: looks_real_time(reading),
    };
    let mut findings: Vec<Restart> = undecided(reading).into_iter().collect();
    for source in reading.sources.iter().filter(|source| source.kind == SourceKind::Kafka) {
        plan.source(source, &mut findings);
    }
    worst(findings)
}

/// The finding that comes first where it goes wrong most, with everything that is skipped on the way.
fn worst(findings: Vec<Restart>) -> Restart {
    let skipped = findings.iter().flat_map(|finding| finding.skipped.iter().cloned()).collect();
    let Some(outcome) = findings.iter().map(|finding| finding.outcome).max() else {
        return Restart { detail: "it starts and reads on".to_owned(), ..nothing_of(Outcome::Starts) };
    };
    let first = findings.into_iter().find(|finding| finding.outcome == outcome);
    let goes_on = matches!(outcome, Outcome::Starts | Outcome::StartsAndSkips);
    first.map_or_else(
        || nothing_of(outcome),
        |first| Restart { skipped: if goes_on { skipped } else { Vec::new() }, ..first },
    )
}

fn nothing_of(outcome: Outcome) -> Restart {
    Restart { outcome, error_class: None, partition: None, detail: String::new(), skipped: Vec::new() }
}

/// What makes it impossible to tell from the checkpoint alone. An open batch that ends before it starts is none of it:
/// what happens then is said by `failOnDataLoss`.
fn undecided(reading: &CheckpointReading) -> Option<Restart> {
    const OPEN: [ProblemKind; 4] = [
        ProblemKind::GapInBatches,
        ProblemKind::MetadataMissing,
        ProblemKind::OffsetsLost,
        ProblemKind::SourceCountChanged,
    ];
    let told = |kinds: &[ProblemKind]| reading.problems.iter().any(|problem| kinds.contains(&problem.kind));
    if reading.restartable.is_some() || (told(&[ProblemKind::PlannedBelowCommitted]) && !told(&OPEN)) {
        return None;
    }
    let detail = format!("whether Spark would start from this checkpoint cannot be told: {}", in_words(reading, &OPEN));
    Some(unknown(detail))
}

fn in_words(reading: &CheckpointReading, kinds: &[ProblemKind]) -> String {
    let told = reading.problems.iter().filter(|problem| kinds.is_empty() || kinds.contains(&problem.kind));
    told.map(|problem| problem.detail.as_str()).collect::<Vec<_>>().join("; ")
}

/// In real-time mode an entry is written at the end of its interval, with the stamp of its beginning, and committed at
/// once. A micro-batch is stamped and planned in the same moment.
fn looks_real_time(reading: &CheckpointReading) -> bool {
    const SHORTEST_INTERVAL: Duration = Duration::from_millis(4500);
    const COMMIT: Duration = Duration::from_secs(1);
    let newest = reading.batches.iter().rev().find(|times| Some(times.batch) == reading.newest_committed);
    let (Some(stamped), Some(planned)) = (reading.batch_timestamp, newest.and_then(|times| times.planned_at)) else {
        return false;
    };
    let committed_at_once = newest.and_then(|times| times.committed_at).is_some_and(|at| at.since(planned) < COMMIT);
    !reading.batch_open && committed_at_once && planned.since(stamped) >= SHORTEST_INTERVAL
}

struct Plan<'a> {
    cluster: &'a ClusterReading,
    settings: &'a QuerySettings,
    strict: bool,
    open: bool,
    real_time: bool,
}

impl Plan<'_> {
    fn source(&self, source: &SourceReading, findings: &mut Vec<Restart>) {
        for (name, positions) in &source.topics {
            match self.cluster.topics.get(name) {
                Some(TopicSight::Seen(reading)) => {
                    if source.committed_from.is_some()
                        || positions.values().any(|position| position.committed.is_some())
                    {
                        self.topic(name, positions, &reading.partitions, findings);
                    }
                }
                Some(TopicSight::Absent) if self.settings.subscribe == Subscribe::Pattern => {
                    self.topic(name, positions, &BTreeMap::new(), findings);
                }
                Some(TopicSight::Absent) => findings.push(Restart {
                    error_class: Some(UNKNOWN_TOPIC),
                    detail: format!("topic {name} does not exist, whatever failOnDataLoss says"),
                    ..nothing_of(Outcome::Fails)
                }),
                Some(TopicSight::Unread(unread)) => findings.push(unknown(format!("topic {name}: {unread}"))),
                None => findings.push(unknown(format!("topic {name} was not asked for"))),
            }
        }
        if self.settings.subscribe == Subscribe::Pattern && !self.open {
            self.matched_anew(source, findings);
        }
    }

    /// Topics that the pattern matches and the checkpoint does not know: all their partitions are new.
    fn matched_anew(&self, source: &SourceReading, findings: &mut Vec<Restart>) {
        for (name, sight) in self.cluster.topics.iter().filter(|(name, _)| !source.topics.contains_key(*name)) {
            if let TopicSight::Seen(reading) = sight {
                self.topic(name, &BTreeMap::new(), &reading.partitions, findings);
            }
        }
    }

    fn topic(
        &self,
        name: &TopicName,
        positions: &BTreeMap<i32, Position>,
        broker: &BTreeMap<i32, Result<PartitionReading, Unread>>,
        findings: &mut Vec<Restart>,
    ) {
        let named = positions.iter().filter(|(number, position)| !self.reads_on(position, broker.get(number)));
        findings.extend(named.filter_map(|(number, position)| self.partition(name, *number, position, broker)));
        if self.settings.subscribe != Subscribe::Assign && !self.open {
            let unnamed = Position::default();
            let new = broker.keys().filter(|number| !positions.contains_key(number));
            findings.extend(new.filter_map(|number| self.partition(name, *number, &unnamed, broker)));
        }
    }

    /// Whether nothing can come of this partition: it is asked for every partition of every round.
    fn reads_on(&self, position: &Position, broker: Option<&Result<PartitionReading, Unread>>) -> bool {
        let (Some(Ok(bounds)), Some(start)) = (broker, position.committed) else { return false };
        let closed = !self.open && !position.dropped && self.settings.isolation == Isolation::ReadUncommitted;
        closed && (bounds.earliest..=bounds.latest).contains(&start)
    }

    fn partition(
        &self,
        name: &TopicName,
        number: i32,
        position: &Position,
        broker: &BTreeMap<i32, Result<PartitionReading, Unread>>,
    ) -> Option<Restart> {
        let at = TopicPartition::new(name, number);
        let start = position.committed.filter(|_| !position.dropped);
        match (start, broker.get(&number)) {
            (_, Some(Err(unread))) => Some(unknown(format!("{at}: {unread}"))),
            (Some(start), None) => Some(self.missing(at, start, position)),
            (Some(start), Some(Ok(bounds))) => self.known(at, start, position, bounds),
            (None, None) => position.planned.map(|_| self.planned_and_missing(at)),
            (None, Some(Ok(bounds))) => self.added(at, bounds),
        }
    }

    fn goes_wrong(
        &self,
        at: TopicPartition,
        outcome: Outcome,
        class: &'static str,
        detail: String,
        skipped: Option<(Offset, Offset)>,
    ) -> Restart {
        if self.strict {
            return Restart { outcome, error_class: Some(class), partition: Some(at), detail, skipped: Vec::new() };
        }
        let range = skipped.filter(|(from, to)| from < to);
        let skipped = range.map(|(from, to)| SkippedRange { partition: at.clone(), from, to }).into_iter().collect();
        Restart { outcome: Outcome::StartsAndSkips, error_class: None, partition: Some(at), detail, skipped }
    }

    fn planned_and_missing(&self, at: TopicPartition) -> Restart {
        let detail = format!("{at} is planned, and the broker does not have it");
        self.goes_wrong(at, Outcome::Fails, INITIAL_NOT_FOUND, detail, None)
    }

    /// A partition that Spark holds to be new starts at earliest, and Spark calls it loss unless that is zero.
    fn added(&self, at: TopicPartition, bounds: &PartitionReading) -> Option<Restart> {
        if bounds.earliest == Offset::ZERO {
            return None;
        }
        let detail = format!("{at} is new to the query, and its log starts at {} already", bounds.earliest);
        Some(self.goes_wrong(at, Outcome::Fails, ADDED_NOT_AT_ZERO, detail, Some((Offset::ZERO, bounds.earliest))))
    }

    fn missing(&self, at: TopicPartition, start: Offset, position: &Position) -> Restart {
        if self.open && position.planned.is_some_and(|planned| planned > start) {
            let detail = format!("{at} is to be read from {start}, and the broker does not have it: no executor can");
            return Restart { detail, partition: Some(at), ..nothing_of(Outcome::StartsThenFails) };
        }
        let detail = format!("{at} stands at {start} in the checkpoint, and the broker does not have it");
        self.goes_wrong(at, Outcome::Fails, DELETED, detail, None)
    }

    fn known(
        &self,
        at: TopicPartition,
        start: Offset,
        position: &Position,
        bounds: &PartitionReading,
    ) -> Option<Restart> {
        let PartitionReading { earliest, latest, .. } = *bounds;
        let end = match (self.open, position.planned, self.settings.isolation, bounds.stable) {
            (true, Some(planned), _, _) => planned,
            (true, None, _, _) => {
                let detail = format!("{at} stands at {start}, and the open batch leaves it out");
                return Some(self.goes_wrong(at, Outcome::Fails, DELETED, detail, None));
            }
            (false, _, Isolation::ReadCommitted, Some(stable)) => stable.min(latest),
            (false, ..) => latest,
        };
        if self.real_time && !(earliest..=latest).contains(&start) {
            let detail = format!(
                "{at} is to be read from {start}, outside [{earliest}, {latest}]: in real-time mode failOnDataLoss does not matter"
            );
            return Some(Restart {
                error_class: Some(OUT_OF_RANGE),
                partition: Some(at),
                detail,
                ..nothing_of(Outcome::StartsThenFails)
            });
        }
        if end < start {
            let detail = format!(
                "{at} stands at {start}, and ends at {end}: Spark writes the lower number first, so every further start meets the same"
            );
            return Some(self.goes_wrong(at, Outcome::Fails, CHANGED, detail, Some((earliest, end))));
        }
        if start < earliest {
            let detail = format!("{at} is to be read from {start}, and its log starts at {earliest}");
            let to = if self.open && end > start { earliest.min(end) } else { earliest };
            return Some(self.goes_wrong(at, Outcome::StartsThenFails, COULD_NOT_READ, detail, Some((start, to))));
        }
        if end > latest && end > start {
            let detail = format!("{at} is planned up to {end}, and its log ends at {latest}");
            return Some(self.goes_wrong(
                at,
                Outcome::StartsThenFails,
                COULD_NOT_READ,
                detail,
                Some((start.max(latest), end)),
            ));
        }
        None
    }
}

fn unknown(detail: String) -> Restart {
    Restart::unknown(detail)
}

#[cfg(test)]
mod tests;
