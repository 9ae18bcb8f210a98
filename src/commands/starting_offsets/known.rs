//! Where a query stands, or stood: out of its checkpoint, or out of the daemon's ledger.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, anyhow};

use super::StartingOffsetsArgs;
use crate::checkpoint::{CheckpointReading, SourceKind, SourceReading};
use crate::commands::Ended;
use crate::judgement::QueryMemory;
use crate::ledger::{Desk, DeskError, Place};
use crate::measures::{Moment, Offset, TopicName, TopicPartition, Unread};
use crate::process::exit_code::ExitCode;
use crate::rounds::Found;

/// What is known of a query's positions.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) topics: BTreeSet<TopicName>,
    pub(super) positions: BTreeMap<TopicPartition, Offset>,
    /// When the last committed batch was planned.
    pub(super) last_batch: Option<Moment>,
    /// Where this was taken from, in words.
    pub(super) from: String,
}

impl Known {
    /// # Errors
    /// When nothing is known that the answer could be made from.
    pub(super) fn of(args: &StartingOffsetsArgs, found: &Found, memory: Option<&QueryMemory>) -> anyhow::Result<Self> {
        let poll = found.checkpoints.first().context("a look has a poll for each query")?;
        if args.at == "last-known" {
            return last_known(memory, poll.outcome.as_ref().ok());
        }
        match &poll.outcome {
            Ok(reading) => of_reading(reading, args.kafka_source.as_deref()),
            Err(_) if !args.topics.is_empty() && args.at != "committed" && args.at != "last-batch" => {
                Ok(Self { from: "the topics given by hand; the checkpoint was not read".to_owned(), ..Self::default() })
            }
            Err(unread) => Err(unreadable(unread)),
        }
    }
}

fn unreadable(unread: &Unread) -> anyhow::Error {
    anyhow!("{unread}; --at last-known asks the daemon's ledger, and earliest, latest or a time need --topic")
        .context(Ended::with(ExitCode::NotRead, "the checkpoint could not be read"))
}

fn of_reading(reading: &CheckpointReading, wanted: Option<&str>) -> anyhow::Result<Known> {
    let sources: Vec<&SourceReading> =
        reading.sources.iter().filter(|source| source.kind == SourceKind::Kafka).collect();
    let source = match (wanted, sources.as_slice()) {
        (Some(id), _) => sources.iter().copied().find(|source| source.id == id),
        (None, [source]) => Some(*source),
        (None, []) => {
            return Ok(Known { from: "the checkpoint, which has no position yet".to_owned(), ..Known::default() });
        }
        (None, _) => None,
    };
    let Some(source) = source else {
        let ids: Vec<&str> = sources.iter().map(|source| source.id.as_str()).collect();
        return Err(anyhow!("it has {}: each is started by an option of its own", ids.join(", "))
            .context(Ended::with(ExitCode::Usage, "choose a source with --kafka-source")));
    };
    let positions = source.topics.iter().flat_map(|(topic, partitions)| {
        let known = partitions.iter().filter_map(|(number, position)| Some((*number, position.committed?)));
        known.map(|(number, offset)| (TopicPartition::new(topic, number), offset))
    });
    Ok(Known {
        topics: source.topics.keys().cloned().collect(),
        positions: positions.collect(),
        last_batch: last_batch(reading),
        from: source.committed_from.clone().unwrap_or_else(|| "the checkpoint".to_owned()),
    })
}

/// When the newest committed batch was planned: what it read was written before.
fn last_batch(reading: &CheckpointReading) -> Option<Moment> {
    let newest = reading.batches.iter().find(|times| Some(times.batch) == reading.newest_committed)?;
    let stamp = reading.batch_timestamp.filter(|_| !reading.batch_open);
    match (stamp, newest.planned_at) {
        (Some(stamp), Some(planned)) => Some(stamp.min(planned)),
        (one, other) => one.or(other),
    }
}

/// Where the query stood before its checkpoint was wiped. A checkpoint that is there and is not the one that the ledger
/// remembers, or none at all, means that the memory is of the one before. Else the ledger has seen the change itself.
fn last_known(memory: Option<&QueryMemory>, reading: Option<&CheckpointReading>) -> anyhow::Result<Known> {
    let none = |what: &str| anyhow!("{what}").context(Ended::with(ExitCode::NotRead, "no last known position"));
    let memory = memory.ok_or_else(|| none("the daemon's ledger does not know the query"))?;
    let remembered = memory.checkpoint.as_ref();
    let now = reading.and_then(|reading| reading.query_id.as_ref());
    let same = now.is_some() && now == remembered.and_then(|remembered| remembered.query_id.as_ref());
    let (positions, at, id) = match (&memory.replaced, same) {
        (Some(replaced), true) => (replaced.positions.clone(), replaced.last_commit_at, replaced.query_id.clone()),
        (None, true) => {
            return Err(none("the checkpoint is the one that the ledger has always known: use --at committed"));
        }
        (_, false) => {
            let checkpoint = remembered.cloned().unwrap_or_default();
            (memory.positions(), checkpoint.last_commit_at, checkpoint.query_id)
        }
    };
    if positions.is_empty() {
        return Err(none("the ledger holds no position of an earlier checkpoint"));
    }
    let id = id.unwrap_or_else(|| "unknown".to_owned());
    Ok(Known {
        topics: positions.keys().cloned().collect(),
        positions: positions
            .iter()
            .flat_map(|(topic, partitions)| {
                partitions.iter().map(|(number, offset)| (TopicPartition::new(topic, *number), *offset))
            })
            .collect(),
        last_batch: at,
        from: format!("the daemon's ledger, of the checkpoint with query id {id}"),
    })
}

/// What the daemon remembers of the query on this cluster. Only who asks for it must have it.
pub(super) async fn remembered(
    place: Option<&Place>,
    query: &str,
    cluster: &str,
    needed: bool,
) -> anyhow::Result<Option<QueryMemory>> {
    let nothing = || Ended::with(ExitCode::NotRead, "the daemon's ledger does not tell");
    let Some(place) = place else {
        if needed {
            return Err(anyhow!("state_dir is empty, so the daemon keeps its memory in its process only"))
                .context(nothing());
        }
        return Ok(None);
    };
    let read = async { Desk::open_to_read(place).await?.remembered(query).await };
    match read.await {
        Ok(mut memories) => Ok(memories.remove(cluster)),
        Err(DeskError::NotThere { .. } | DeskError::NoQuery { .. }) if !needed => Ok(None),
        Err(error) => Err(error).context(nothing()),
    }
}
