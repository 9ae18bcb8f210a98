//! What the driver sees when it plans: topics and partitions that are new or gone.

use super::range::{Bounds, check_next, check_open, check_streaming};
use super::{Finding, Stage};
use crate::checkpoint::{CheckpointReading, Position, SourceReading, Start};
use crate::judgement::settings::{Isolation, QuerySettings, Subscribe};
use crate::measures::{Offset, TopicName, TopicPartition};
use crate::retention::{ClusterReading, TopicReading, TopicSight};

/// How the query executes, as far as its files betray it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Batches that are planned and then read.
    MicroBatch,
    /// Real-time mode: an entry is written when its interval has ended.
    RealTime,
    /// Continuous processing.
    Continuous,
}

/// Real-time mode's shortest interval is 5 s; a micro-batch is planned within milliseconds of its trigger.
const REAL_TIME_MILLIS: i64 = 4_000;
/// An interval is committed at once when it has been written.
const COMMIT_MILLIS: i64 = 1_500;

pub(super) fn mode(reading: &CheckpointReading) -> Mode {
    let (Some(planned_at), Some(_)) = (reading.planned_at, reading.newest_planned) else { return Mode::MicroBatch };
    let Some(triggered_at) = reading.batch_timestamp else {
        // Continuous processing always leaves the entry's second line empty.
        return if reading.offset_log_version == Some(1) { Mode::Continuous } else { Mode::MicroBatch };
    };
    let waited = planned_at.millis().saturating_sub(triggered_at.millis());
    let committed = reading.last_commit_at.map(|at| at.millis().saturating_sub(planned_at.millis()));
    let at_once = committed.is_some_and(|took| (0..COMMIT_MILLIS).contains(&took));
    if waited >= REAL_TIME_MILLIS && at_once && !reading.batch_open { Mode::RealTime } else { Mode::MicroBatch }
}

pub(super) fn of_source(
    source: &SourceReading,
    cluster: &ClusterReading,
    settings: &QuerySettings,
    mode: Mode,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (topic, positions) in &source.topics {
        match cluster.topics.get(topic) {
            Some(TopicSight::Seen(seen)) => {
                for (partition, position) in positions {
                    let at = TopicPartition::new(topic, *partition);
                    findings.extend(of_partition(at, position, seen, settings, mode));
                }
                let added = seen.partitions.keys().filter(|partition| !positions.contains_key(partition));
                for partition in added {
                    let at = TopicPartition::new(topic, *partition);
                    findings.extend(new_partition(at, seen, settings));
                }
            }
            Some(TopicSight::Absent) => findings.push(topic_gone(topic, positions.values(), settings)),
            Some(TopicSight::Unread(unread)) => findings.push(unsure(None, format!("topic {topic}: {unread}"))),
            None => findings.push(unsure(None, format!("topic {topic} was not asked for"))),
        }
    }
    findings
}

fn of_partition(
    at: TopicPartition,
    position: &Position,
    seen: &TopicReading,
    settings: &QuerySettings,
    mode: Mode,
) -> Vec<Finding> {
    if position.start == Some(Start::Latest) {
        return Vec::new();
    }
    // In neither the entry that Spark resumes from: it starts at earliest, and must start at 0 there.
    if position.committed.is_none() || position.dropped {
        return match (position.start, position.planned) {
            (_, Some(_)) | (Some(Start::Earliest), None) => new_partition(at, seen, settings).into_iter().collect(),
            (_, None) => vec![unsure(Some(at), "where it starts is not fixed yet".to_owned())],
        };
    }
    let bounds = match seen.partitions.get(&at.partition) {
        None => return vec![partition_gone(at, position)],
        Some(Err(unread)) => return vec![unsure(Some(at), unread.to_string())],
        Some(Ok(read)) => {
            let end = match settings.isolation {
                Isolation::ReadCommitted => read.stable.unwrap_or(read.latest),
                Isolation::ReadUncommitted => read.latest,
            };
            Bounds { earliest: read.earliest, end }
        }
    };
    let committed = position.committed.unwrap_or(Offset::ZERO);
    if mode != Mode::MicroBatch {
        // What was written and not committed is deleted at the start.
        return check_streaming(at, committed, bounds, mode == Mode::RealTime).into_iter().collect();
    }
    let open = position.planned.and_then(|planned| check_open(&at, committed, planned, bounds));
    match open {
        Some(finding) => vec![finding],
        None => check_next(at, position.planned.unwrap_or(committed), bounds).into_iter().collect(),
    }
}

fn new_partition(at: TopicPartition, seen: &TopicReading, settings: &QuerySettings) -> Option<Finding> {
    if settings.subscribe == Subscribe::Assign {
        return None;
    }
    let earliest = match seen.partitions.get(&at.partition) {
        None => {
            return Some(Finding {
                stage: Stage::Driver,
                class: Some("KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS"),
                what: format!("{at} is in the open batch only, and Kafka does not have it"),
                partition: Some(at),
                skips: 0,
                always: false,
            });
        }
        Some(Err(unread)) => return Some(unsure(Some(at), unread.to_string())),
        Some(Ok(read)) => read.earliest,
    };
    if earliest == Offset::ZERO {
        return None;
    }
    let what = format!("{at} is new to the query and begins at offset {earliest}: what was before it is gone");
    if settings.subscribe == Subscribe::Unknown {
        return Some(unsure(Some(at), format!("{what}, if the query reads it; set `subscribe` to tell")));
    }
    Some(Finding {
        stage: Stage::Driver,
        class: Some("KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO"),
        partition: Some(at),
        what,
        skips: earliest.above(Offset::ZERO),
        always: false,
    })
}

fn partition_gone(at: TopicPartition, position: &Position) -> Finding {
    let planned = position.planned.is_some_and(|planned| Some(planned) > position.committed);
    Finding {
        // A range that is planned already is given to an executor, which looks for the partition in vain.
        stage: if planned { Stage::Executor } else { Stage::Driver },
        class: (!planned).then_some("KAFKA_DATA_LOSS.PARTITIONS_DELETED"),
        what: format!("Kafka no longer has {at}"),
        partition: Some(at),
        skips: 0,
        always: planned,
    }
}

fn topic_gone<'a>(
    topic: &TopicName,
    positions: impl Iterator<Item = &'a Position>,
    settings: &QuerySettings,
) -> Finding {
    if settings.subscribe == Subscribe::Pattern {
        return Finding {
            stage: Stage::Driver,
            class: Some("KAFKA_DATA_LOSS.PARTITIONS_DELETED"),
            partition: None,
            what: format!("Kafka no longer has topic {topic}, with its {} partitions", positions.count()),
            skips: 0,
            always: false,
        };
    }
    Finding {
        stage: Stage::Driver,
        class: Some("UnknownTopicOrPartitionException"),
        partition: None,
        what: format!("Kafka does not have topic {topic}, and a query that names its topics cannot start without it"),
        skips: 0,
        always: true,
    }
}

fn unsure(partition: Option<TopicPartition>, why: String) -> Finding {
    let what = partition.as_ref().map_or_else(|| why.clone(), |at| format!("{at}: {why}"));
    Finding { stage: Stage::Unsure, class: None, partition, what, skips: 0, always: false }
}
