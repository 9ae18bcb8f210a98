//! What the judgement says. Every number that is absent was not read, or cannot be known.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::states::{Certainty, Condition, EventKind, PartitionProblem, PartitionState, QueryState};
use crate::checkpoint::Problem;
use crate::measures::{BatchId, Moment, Offset, TopicName, TopicPartition, Unread};
use crate::retention::{Deadline, Unproved};

/// The verdict on one query on one cluster, of one round.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryVerdict {
    /// The worst that stands.
    pub state: QueryState,
    /// Why, in words.
    pub reason: Cow<'static, str>,
    /// Each condition that holds, whatever the state.
    pub conditions: BTreeSet<Condition>,
    /// Each partition.
    pub partitions: BTreeMap<TopicPartition, PartitionVerdict>,
    /// Each topic, folded from its partitions.
    pub topics: BTreeMap<TopicName, TopicVerdict>,
    /// Why the checkpoint was not read; absent when it was.
    pub unreadable: Option<Unread>,
    /// What is wrong or odd with the checkpoint (that of the last good reading while it cannot be read).
    pub problems: Vec<Problem>,
    /// Out of `metadata`.
    pub query_id: Option<String>,
    /// 1 or 2.
    pub offset_log_version: Option<u32>,
    /// Highest planned batch.
    pub newest_planned: Option<BatchId>,
    /// Highest committed batch.
    pub newest_committed: Option<BatchId>,
    /// Would Spark start from this checkpoint; absent: cannot tell.
    pub restartable: Option<bool>,
    /// When a batch last completed.
    pub last_commit_at: Option<Moment>,
    /// When committed offsets last moved.
    pub last_progress_at: Option<Moment>,
    /// Since when something was unread without progress; absent when nothing is.
    pub unread_since: Option<Moment>,
    /// When the open batch was planned; absent without one.
    pub open_batch_at: Option<Moment>,
    /// How often a batch should complete: configured, learned, or the default.
    pub expected_interval: Duration,
    /// What this round noticed for the first time.
    pub events: Vec<Event>,
    /// Offsets that this round counted as lost, each once.
    pub newly_lost: Vec<LostRange>,
    /// Ranges counted as possibly lost before, and now known to be lost: their records change, the totals do not.
    pub turned_certain: Vec<LostRange>,
    /// How often each event was seen, and when last, since memory began.
    pub event_totals: BTreeMap<EventKind, (u64, Moment)>,
}

/// The verdict on one partition.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionVerdict {
    /// What stands.
    pub state: PartitionState,
    /// Why, in words.
    pub reason: Cow<'static, str>,
    /// Every problem that stands, those that follow from the state included.
    pub problems: BTreeSet<PartitionProblem>,
    /// The next offset that a restart reads, or the last one known.
    pub committed: Option<Offset>,
    /// Exclusive end of the open batch.
    pub planned: Option<Offset>,
    /// Log start, as read this round.
    pub earliest: Option<Offset>,
    /// Log end, as read this round.
    pub latest: Option<Offset>,
    /// committed − earliest; negative is what is gone.
    pub headroom: Option<i64>,
    /// Unread and still readable.
    pub lag: Option<u64>,
    /// Unread and certainly gone.
    pub lost: Option<u64>,
    /// Gone, while a young open batch may still be reading it.
    pub possibly_lost: Option<u64>,
    /// How far the committed offset lies beyond the end.
    pub beyond_end: Option<u64>,
    /// Share of retention ahead of the next unread record, 0 to 1.
    pub ratio: Option<f64>,
    /// Proved: not deleted by time before this.
    pub deadline: Option<Deadline>,
    /// Estimated: when earliest meets committed if both go on as observed.
    pub forecast: Option<Deadline>,
    /// Estimated time of the next unread record, its younger end.
    pub oldest_unread: Option<Moment>,
    /// Why nothing is proved from time, where that is known: forecast and oldest unread time are then estimates by what
    /// was seen of the log from round to round, or by a clock that is wrong.
    pub unproved: Option<Unproved>,
}

/// What section 2 of the metrics tells of one topic of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicVerdict {
    /// Sum; absent while a partition is unknown.
    pub lag: Option<u64>,
    /// Sum; absent while a partition is unknown.
    pub committed: Option<u64>,
    /// Sum over the partitions that have one.
    pub lost: Option<u64>,
    /// Sum over the partitions that have one.
    pub possibly_lost: Option<u64>,
    /// The lowest.
    pub headroom: Option<i64>,
    /// The lowest, lost partitions left out.
    pub ratio: Option<f64>,
    /// The earliest.
    pub deadline: Option<Deadline>,
    /// The earliest.
    pub forecast: Option<Deadline>,
    /// The oldest.
    pub oldest_unread: Option<Moment>,
    /// retention.ms, or the retention that was observed where size rules, in seconds; infinite without a limit.
    pub retention_seconds: Option<f64>,
    /// How many partitions have each state; every state is there.
    pub states: BTreeMap<PartitionState, u64>,
    /// How many partitions have each problem; every problem is there.
    pub problems: BTreeMap<PartitionProblem, u64>,
    /// Offsets counted as lost since memory began.
    pub lost_total: BTreeMap<Certainty, u64>,
    /// When loss was last counted.
    pub last_loss_at: BTreeMap<Certainty, Moment>,
}

/// A range of offsets that Kafka deleted before the query had committed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostRange {
    /// Where.
    pub partition: TopicPartition,
    /// First offset of the range.
    pub from: Offset,
    /// Exclusive end.
    pub to: Offset,
    /// How sure.
    pub certainty: Certainty,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What.
    pub kind: EventKind,
    /// When it was seen.
    pub at: Moment,
    /// Where, if it concerns one topic.
    pub topic: Option<TopicName>,
    /// In words, with the numbers.
    pub detail: String,
    /// The last positions before a checkpoint was replaced; empty for other events.
    pub positions: BTreeMap<TopicPartition, Offset>,
}
