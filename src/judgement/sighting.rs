//! What one round saw of one query on one cluster.

use std::collections::BTreeMap;

use crate::checkpoint::CheckpointReading;
use crate::measures::{BatchId, Moment, Offset, TopicPartition, Unread};
use crate::retention::ClusterReading;

/// Everything that a judgement is made of, besides settings and memory.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<'a> {
    /// End of the round.
    pub now: Moment,
    /// The checkpoint, with only those sources that read this cluster. An error too where the whole reading says that
    /// it counts as not read ([`CheckpointReading::unread`]).
    pub checkpoint: Result<&'a CheckpointReading, &'a Unread>,
    /// The cluster.
    pub cluster: Result<&'a ClusterReading, &'a Unread>,
    /// Older entries of the checkpoint, ascending, as far as anybody read them; may be empty.
    pub history: &'a [Entry],
    /// Discovery found a newer checkpoint of the same query beside this one.
    pub superseded: bool,
}

/// One committed entry of a checkpoint, with its positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Which batch.
    pub batch: BatchId,
    /// Time of `offsets/N`.
    pub planned_at: Option<Moment>,
    /// Time of `commits/N`.
    pub committed_at: Option<Moment>,
    /// Its `batchTimestampMs`.
    pub timestamp: Option<Moment>,
    /// Exclusive end of the batch in each partition.
    pub positions: BTreeMap<TopicPartition, Offset>,
}
