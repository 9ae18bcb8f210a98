//! What one round leaves to the next. Plain data: a ledger stores it, and a replay carries it along.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::states::{Certainty, Condition, EventKind, PartitionProblem, PartitionState, QueryState};
use crate::checkpoint::Problem;
use crate::measures::{BatchId, Moment, Offset, TopicName};
use crate::retention::{Arrivals, Deadline, Sample, TopicId};

/// All that is remembered of one query on one cluster. The default is a first sight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueryMemory {
    /// The checkpoint as last read.
    pub checkpoint: Option<CheckpointMemory>,
    /// Files that were torn in the last round that read the checkpoint: believed when torn once more.
    pub torn_files: BTreeSet<String>,
    /// The open batch, and when it was first seen open: stands in where the store knows no times.
    pub open_batch: Option<(BatchId, Moment)>,
    /// The id of the cluster on which the positions were found sane.
    pub cluster_id: Option<String>,
    /// Set while the checkpoint is held to belong to another cluster.
    pub mismatch: Option<Latch>,
    /// The query's state in the last round that read both sides.
    pub state: Option<QueryState>,
    /// The query's conditions in that round.
    pub conditions: BTreeSet<Condition>,
    /// When committed offsets last moved.
    pub last_progress_at: Option<Moment>,
    /// Since when something was unread without progress.
    pub unread_since: Option<Moment>,
    /// Since when, in every round that was read, something was unread beyond the floor.
    pub lag_since: Option<Moment>,
    /// The expected interval as last learned, in milliseconds.
    pub learned_interval_ms: Option<u64>,
    /// Each topic.
    pub topics: BTreeMap<TopicName, TopicMemory>,
    /// The checkpoint that stood here before this one, if one was replaced.
    pub replaced: Option<Replaced>,
    /// How often each event was seen, and when last.
    pub event_totals: BTreeMap<EventKind, (u64, Moment)>,
}

/// Where the query stood when its checkpoint was replaced: what a person needs who wants to go on from there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Replaced {
    /// The query id of the checkpoint that is gone.
    pub query_id: Option<String>,
    /// When it was last read.
    pub read_at: Moment,
    /// When a batch last completed in it.
    pub last_commit_at: Option<Moment>,
    /// The committed offsets as last read.
    pub positions: BTreeMap<TopicName, BTreeMap<i32, Offset>>,
}

/// What stays true of a checkpoint while it can not be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckpointMemory {
    /// Out of `metadata`.
    pub query_id: Option<String>,
    /// When it was read.
    pub read_at: Moment,
    /// Highest planned batch.
    pub newest_planned: Option<BatchId>,
    /// Highest committed batch.
    pub newest_committed: Option<BatchId>,
    /// 1 or 2.
    pub offset_log_version: Option<u32>,
    /// Would Spark start from it.
    pub restartable: Option<bool>,
    /// When a batch last completed.
    pub last_commit_at: Option<Moment>,
    /// When the open batch was planned.
    pub open_batch_at: Option<Moment>,
    /// Hashes of the newest entries' positions.
    pub entries: BTreeMap<BatchId, u64>,
    /// Whether a batch was open.
    pub batch_open: bool,
    /// What is wrong or odd with it.
    pub problems: Vec<Problem>,
}

/// What is remembered of one topic of a query.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TopicMemory {
    /// The topic's id when last seen.
    pub topic_id: Option<TopicId>,
    /// Whether the positions were found sane under that id.
    pub sane: bool,
    /// A person accepted the positions: the ages of old records no longer count against them.
    pub accepted: bool,
    /// A suspicion that it was deleted and made again, for want of an id.
    pub suspicion: Option<Doubt>,
    /// retention.ms or the observed retention, as last known.
    pub keeps: Option<Keeps>,
    /// Offsets counted as lost since memory began.
    pub lost_total: BTreeMap<Certainty, u64>,
    /// When loss was last counted.
    pub last_loss_at: BTreeMap<Certainty, Moment>,
    /// Each partition.
    pub partitions: BTreeMap<i32, PartitionMemory>,
}

/// What is remembered of one partition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartitionMemory {
    /// State of the last round that read it; unknown once the query has passed what was lost then.
    pub state: Option<PartitionState>,
    /// The committed offset as last read.
    pub committed: Option<Offset>,
    /// The committed offset when the query was held to read another cluster: what a later batch has to move.
    pub before_mismatch: Option<Offset>,
    /// The planned offset as last read; absent when no batch was open.
    pub planned: Option<Offset>,
    /// The newest committed entry had left it out.
    pub dropped: bool,
    /// It was on the broker only, so a first position of it is no first sight.
    pub waiting: bool,
    /// A person said that a partition which is gone is no longer of interest.
    pub dismissed: bool,
    /// Log start as last read.
    pub earliest: Option<Offset>,
    /// Log end as last read.
    pub latest: Option<Offset>,
    /// The leader's epoch as last read.
    pub leader_epoch: Option<i32>,
    /// The oldest record as last answered.
    pub oldest: Option<(Offset, Moment)>,
    /// The deadline of the last good round.
    pub deadline: Option<Deadline>,
    /// The estimated time of the next unread record, of the last good round.
    pub oldest_unread: Option<Moment>,
    /// Highest committed offset ever.
    pub seen: Option<Offset>,
    /// Earliest up to which loss was accounted.
    pub counted: Option<Offset>,
    /// The problems of the last good round.
    pub problems: BTreeSet<PartitionProblem>,
    /// Unread and certainly gone, in the last good round, less what the query has passed since.
    pub lost: Option<u64>,
    /// Gone while a batch was open, in the last good round, less what the query has passed since.
    pub possibly_lost: Option<u64>,
    /// Counted as possibly lost while the open batch may still read it: turns certain when that batch grows old.
    pub hopeful: Option<(Offset, Offset)>,
    /// Counted as certainly lost, and not yet passed by a committed batch.
    pub certain: Option<(Offset, Offset)>,
    /// Whether it had little retention left in the last good round.
    pub at_risk: bool,
    /// Whether it had something unread beyond the floor in the last good round.
    pub lagging: bool,
    /// It is missing from the broker's answers.
    pub missing: Option<Doubt>,
    /// Its committed offset lies beyond the end.
    pub beyond: Option<Doubt>,
    /// Lowest end of the log while that doubt stood: where the new history begins.
    pub lowest_beyond: Option<Offset>,
    /// A verdict that numbers alone do not lift.
    pub latch: Option<Latch>,
    /// The last two moments at which earliest rose, oldest first.
    pub rises: Vec<Moment>,
    /// By how much earliest rose from one round to the next, the last few times, oldest first.
    pub jumps: Vec<u64>,
    /// Rises of the committed offset that were observed: how many batches, and the largest for one batch.
    pub batches: (u64, u64),
    /// Bounds over time, thinned: what rates are made of.
    pub window: Vec<Sample>,
    /// When records came, where their own times cannot be looked up.
    #[serde(skip_serializing_if = "Arrivals::is_empty")]
    pub arrivals: Arrivals,
}

/// How long a topic keeps its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keeps {
    /// So many milliseconds.
    Millis(u64),
    /// No limit is at work.
    ForEver,
}

/// A contradiction that waits for confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Doubt {
    /// The first round that showed it.
    pub since: Moment,
    /// In how many rounds running it was seen; more than are needed are not counted.
    pub rounds: u32,
}

/// A verdict that stays, however the numbers move, until something heals it.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct Latch {
    /// What it says.
    pub kind: LatchKind,
    /// Why, in words: both ids, or what made it suspected.
    pub detail: String,
    /// When it was set.
    pub set_at: Moment,
    /// Newest planned batch when it was set: a higher one was planned later.
    pub batch: Option<BatchId>,
    /// The committed offset that a later batch has to move. For another cluster, see each partition's.
    pub position: Option<Offset>,
    /// Lowest end of the log seen since.
    pub lowest_latest: Option<Offset>,
    /// What was unread of the log before, at its last sight. For a topic with another id it is counted as lost.
    pub unread: Option<(Offset, Offset)>,
    /// The identity before: coming back to it heals.
    pub before: Option<Identity>,
    /// Of another cluster: the identity that stands there since. With yet another one, all begins anew.
    #[serde(default)]
    pub since: Option<Identity>,
    /// The identity before is back, waiting for confirmation.
    pub back: Option<Doubt>,
}

/// Which verdict is latched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LatchKind {
    /// The checkpoint belongs to another cluster.
    ClusterMismatch,
    /// The topic was deleted and made again.
    Recreated,
    /// The committed offset lay beyond the log's end.
    BeyondEnd,
}

/// What an id was before it changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Identity {
    /// The cluster's id.
    Cluster(String),
    /// The topic's id.
    Topic(TopicId),
    /// The ids of all topics of a query.
    Topics(BTreeMap<TopicName, TopicId>),
}

impl QueryMemory {
    /// The committed offsets as last read.
    #[must_use]
    pub fn positions(&self) -> BTreeMap<TopicName, BTreeMap<i32, Offset>> {
        let of_topic = |topic: &TopicMemory| -> BTreeMap<i32, Offset> {
            topic.partitions.iter().filter_map(|(number, one)| Some((*number, one.committed?))).collect()
        };
        let topics = self.topics.iter().map(|(name, topic)| (TopicName::clone(name), of_topic(topic)));
        topics.filter(|(_, partitions)| !partitions.is_empty()).collect()
    }

    /// A person says that the state of a topic, or of one partition, is known and settled: latches on it are
    /// released, what is gone is dismissed. Without a topic: everything, a cluster mismatch too.
    pub fn acknowledge(&mut self, topic: Option<&str>, partition: Option<i32>) {
        if topic.is_none() && self.mismatch.take().is_some() {
            // What stands there now is accepted: the next round takes its ids as the sane ones.
            self.cluster_id = None;
            for memory in self.topics.values_mut() {
                memory.topic_id = None;
                memory.accepted = true;
                memory.partitions.values_mut().for_each(PartitionMemory::start_anew);
            }
        }
        let chosen = self.topics.iter_mut().filter(|(name, _)| topic.is_none_or(|topic| topic == name.as_ref()));
        for (_, memory) in chosen {
            memory.suspicion = None;
            memory.accepted = true;
            let partitions = memory.partitions.iter_mut();
            for (_, one) in partitions.filter(|(number, _)| partition.is_none_or(|wanted| wanted == **number)) {
                let gone = one.state == Some(PartitionState::Gone);
                match one.latch.take() {
                    Some(Latch { before: Some(Identity::Topic(before)), back: Some(_), unread, .. }) => {
                        // It is the old topic that stands there now, and is accepted.
                        memory.topic_id = Some(before);
                        one.back_in_the_old_log(unread);
                    }
                    Some(_) => one.start_anew(),
                    None => {}
                }
                if gone {
                    one.dismissed = true;
                    (one.lagging, one.at_risk) = (false, false);
                }
            }
        }
    }
}

impl PartitionMemory {
    /// Forgets history and proofs, and takes the committed offset as the new beginning.
    pub(super) fn start_anew(&mut self) {
        *self = Self {
            committed: self.committed,
            planned: self.planned,
            seen: self.committed,
            counted: self.committed,
            lagging: self.lagging,
            ..Self::default()
        };
    }

    /// Forgets the log that stood in the place of the old one. What was unread of the old one was counted as lost, and is
    /// not counted again.
    pub(super) fn back_in_the_old_log(&mut self, unread: Option<(Offset, Offset)>) {
        let (seen, counted) = (self.seen, self.counted);
        self.start_anew();
        self.seen = self.seen.max(seen);
        self.counted = self.counted.max(counted).max(unread.map(|(_, end)| end));
    }
}
