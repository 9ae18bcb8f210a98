//! What a round should still ask before it judges: a doubt is checked before it is spoken.

use super::memory::QueryMemory;
use super::settings::QuerySettings;
use crate::checkpoint::CheckpointReading;
use crate::measures::{Moment, Offset, TopicPartition};
use crate::retention::ClusterReading;

/// What to ask once more, or in addition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Questions {
    /// Read the checkpoint again: the query may have moved on between the two reads.
    pub reread_checkpoint: bool,
    /// Ask the log's end of these once more.
    pub latest_again: Vec<TopicPartition>,
    /// Look up how old the next unread record is, at this needed offset.
    pub ages: Vec<(TopicPartition, Offset)>,
    /// The oldest record (look-up of timestamp 0) of these matters.
    pub oldest: Vec<TopicPartition>,
    /// Older entries of the checkpoint would sharpen the verdict.
    pub history: bool,
}

/// Names what is worth asking before this round is judged.
#[must_use]
pub fn questions(
    _settings: &QuerySettings,
    _checkpoint: &CheckpointReading,
    _cluster: &ClusterReading,
    _memory: &QueryMemory,
    _now: Moment,
) -> Questions {
    todo!("shape only")
}
