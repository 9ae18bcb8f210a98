//! Which older entries of the checkpoint would change what is said.

use super::loss::time_alone;
use super::memory::{PartitionMemory, QueryMemory};
use crate::checkpoint::CheckpointReading;
use crate::measures::{BatchId, Offset};
use crate::retention::{Deadline, PartitionReading, Policy};

/// Spark keeps a hundred batches unless told otherwise.
const MOST: usize = 100;

/// The older batches worth reading. Mostly none: entries cost a request each.
#[derive(Debug)]
pub(super) struct History<'a> {
    checkpoint: &'a CheckpointReading,
    last_look: Option<BatchId>,
    first_sight: bool,
    since_last_look: bool,
    all: bool,
}

impl<'a> History<'a> {
    pub(super) fn of(checkpoint: &'a CheckpointReading, memory: &QueryMemory) -> Self {
        let known = memory.checkpoint.as_ref();
        Self {
            checkpoint,
            last_look: known.and_then(|known| known.newest_committed),
            first_sight: known.is_none(),
            since_last_look: false,
            all: false,
        }
    }

    /// Earliest has passed what was committed since the last look. If the batch that read it was committed by the
    /// deadline known then, nothing is lost; the newest batch alone may be too late to show that.
    pub(super) fn for_loss(
        &mut self,
        one: Option<&PartitionMemory>,
        needed: Offset,
        read: &PartitionReading,
        policy: Policy,
    ) {
        let Some(one) = one else { return };
        let Some(done) = one.seen.max(one.counted) else { return };
        let provable = matches!(one.deadline, Some(Deadline::At(_))) && time_alone(policy);
        self.since_last_look |= provable && done < read.earliest && done < needed;
    }

    /// At first sight the oldest record may be younger than the batch that claims to have read past it. The oldest
    /// batch with that claim decides, and it may be any that is listed.
    pub(super) fn for_suspicion(&mut self, needed: Offset, read: &PartitionReading) {
        let Some((offset, at)) = read.oldest.filter(|_| self.first_sight) else { return };
        let oldest = self.checkpoint.batches.first().and_then(|times| times.planned_at);
        self.all |= offset < needed && oldest.is_none_or(|oldest| at > oldest);
    }

    /// The newest committed batch is known without.
    pub(super) fn batches(&self) -> Vec<BatchId> {
        let Some(newest) = self.checkpoint.newest_committed else { return Vec::new() };
        let wanted = |batch: &BatchId| {
            *batch < newest && (self.all || self.since_last_look && self.last_look.is_none_or(|last| *batch > last))
        };
        let listed = self.checkpoint.batches.iter().map(|times| times.batch);
        let mut batches: Vec<BatchId> = listed.filter(wanted).collect();
        let surplus = batches.len().saturating_sub(MOST);
        batches.drain(..surplus);
        batches
    }
}
