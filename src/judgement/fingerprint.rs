//! Whether a memory differs from the one that a ledger has, without keeping both.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::memory::{PartitionMemory, QueryMemory, TopicMemory};
use crate::measures::TopicName;

impl PartitionMemory {
    /// A number that another memory almost surely does not have; it holds for this process only.
    ///
    /// What moves by itself while nothing happens is left out: a caught-up partition's deadline runs ahead of the
    /// clock, an estimate grows sharper, the window slides, and so do the
    /// times at which records came.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        // Every field is named, so that a new one has to be decided on.
        let Self {
            state,
            committed,
            before_mismatch,
            planned,
            dropped,
            waiting,
            dismissed,
            earliest,
            latest,
            leader_epoch,
            oldest,
            deadline: _,
            oldest_unread: _,
            seen,
            counted,
            problems,
            lost,
            possibly_lost,
            hopeful,
            certain,
            at_risk,
            lagging,
            missing,
            beyond,
            lowest_beyond,
            latch,
            rises,
            jumps,
            batches,
            window: _,
            arrivals: _,
        } = self;
        let mut hasher = DefaultHasher::new();
        (state, committed, before_mismatch, planned, seen, counted).hash(&mut hasher);
        (dropped, waiting, dismissed, at_risk, lagging).hash(&mut hasher);
        (earliest, latest, leader_epoch, oldest).hash(&mut hasher);
        (problems, lost, possibly_lost, hopeful, certain).hash(&mut hasher);
        (missing, beyond, lowest_beyond, latch).hash(&mut hasher);
        (rises, jumps, batches).hash(&mut hasher);
        hasher.finish()
    }
}

impl QueryMemory {
    /// All of it but what is remembered of single partitions.
    #[must_use]
    pub fn without_partitions(&self) -> Self {
        let topic = |topic: &TopicMemory| TopicMemory {
            topic_id: topic.topic_id,
            sane: topic.sane,
            accepted: topic.accepted,
            suspicion: topic.suspicion,
            keeps: topic.keeps,
            lost_total: topic.lost_total.clone(),
            last_loss_at: topic.last_loss_at.clone(),
            partitions: Default::default(),
        };
        Self {
            checkpoint: self.checkpoint.clone(),
            replaced: self.replaced.clone(),
            torn_files: self.torn_files.clone(),
            open_batch: self.open_batch,
            cluster_id: self.cluster_id.clone(),
            mismatch: self.mismatch.clone(),
            state: self.state,
            conditions: self.conditions.clone(),
            last_progress_at: self.last_progress_at,
            unread_since: self.unread_since,
            lag_since: self.lag_since,
            learned_interval_ms: self.learned_interval_ms,
            topics: self.topics.iter().map(|(name, known)| (TopicName::clone(name), topic(known))).collect(),
            event_totals: self.event_totals.clone(),
        }
    }
}
