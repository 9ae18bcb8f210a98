//! The values of this room: what a listing shows, and what a checkpoint says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::measures::{BatchId, Moment, Offset, Reason, TopicName, Unread};

/// What a store lists of one checkpoint, without any file's content. Names are as found, strays included:
/// this room sorts them out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Whether the root holds a regular file `metadata`.
    pub metadata: Option<LogEntry>,
    /// Files directly below `offsets/`.
    pub offsets: Vec<LogEntry>,
    /// Files directly below `commits/`.
    pub commits: Vec<LogEntry>,
    /// Names of the directories directly below `sources/` that hold a file named `0`, with that file.
    pub sources: BTreeMap<String, LogEntry>,
}

/// One regular file of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The file's own name, without its directory.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// When the store says it was written; absent where a store does not say.
    pub modified: Option<Moment>,
}

/// What one checkpoint says, judged by Spark's own restart rule. See `inspect` in README for its JSON.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckpointReading {
    /// The query's id out of `metadata`; it survives restarts and is copied with a copied checkpoint.
    pub query_id: Option<String>,
    /// 1 or 2, of the newest entry that could be read; absent without any.
    pub offset_log_version: Option<u32>,
    /// Highest batch in `offsets/`.
    pub newest_planned: Option<BatchId>,
    /// Highest batch in `commits/` that counts as committed (an empty newest commit does not).
    pub newest_committed: Option<BatchId>,
    /// Whether the newest planned batch is not committed yet.
    pub batch_open: bool,
    /// Would Spark start from here: yes, no, or cannot tell.
    pub restartable: Option<bool>,
    /// When the newest committed batch was committed: time of its file, else the batch's own timestamp.
    pub last_commit_at: Option<Moment>,
    /// When the newest planned batch was planned: time of its file, else its `batchTimestampMs`.
    pub planned_at: Option<Moment>,
    /// `batchTimestampMs` of the newest planned entry: the driver's clock at the trigger.
    pub batch_timestamp: Option<Moment>,
    /// When the initial offsets of the oldest Kafka source were written; absent where no position depends on them.
    pub started_at: Option<Moment>,
    /// Times of every batch that the listing shows, ascending.
    pub batches: Vec<BatchTimes>,
    /// What is wrong or odd with it.
    pub problems: Vec<Problem>,
    /// Each source of the query, in the order of the log.
    pub sources: Vec<SourceReading>,
    /// A hash of the parsed Kafka positions of the two newest readable entries: another hash for a known batch means
    /// that its offsets were rewritten. The same on every machine and in every release.
    pub entries: BTreeMap<BatchId, u64>,
}

impl CheckpointReading {
    /// Why the checkpoint says nothing about positions, though batches are on disk: a format that is not known, or
    /// entries that make no sense. Such a reading counts as not read.
    #[must_use]
    pub fn unread(&self) -> Option<Unread> {
        if self.newest_planned.is_none() || !self.sources.is_empty() {
            return None;
        }
        // The newest entry that is at fault is the one to look at.
        let told = |kinds: &[ProblemKind]| self.problems.iter().rfind(|problem| kinds.contains(&problem.kind));
        let in_words = |problem: &Problem| {
            let file = problem.file.as_deref().unwrap_or("the checkpoint");
            format!("{file}: {}", problem.detail)
        };
        if let Some(problem) = told(&[ProblemKind::UnsupportedVersion]) {
            return Some(Unread::new(Reason::Unsupported, in_words(problem)));
        }
        let newest = told(&[ProblemKind::NewestOffsetsEmpty, ProblemKind::NewestOffsetsMalformed]);
        let problem = newest.or_else(|| told(&[ProblemKind::PredecessorMissing]));
        let detail = problem.map_or_else(|| "no entry of offsets/ makes sense".to_owned(), in_words);
        Some(Unread::new(Reason::Malformed, detail))
    }
}

/// When one batch was planned and committed, as far as the store says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchTimes {
    /// The batch.
    pub batch: BatchId,
    /// Time of `offsets/N`.
    pub planned_at: Option<Moment>,
    /// Time of `commits/N`.
    pub committed_at: Option<Moment>,
}

/// One input of the query.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceReading {
    /// Position in the log (version 1: the line; version 2: order of ids).
    pub index: usize,
    /// Source id: decimal position, or the name given in the query.
    pub id: String,
    /// What kind of source its offset shows it to be.
    pub kind: SourceKind,
    /// The file that the committed offsets come from, such as `offsets/7` or `sources/0/0`; absent when not fixed yet.
    pub committed_from: Option<String>,
    /// The file that the planned offsets come from; absent when no batch is open.
    pub planned_from: Option<String>,
    /// Positions of a Kafka source; empty for the others.
    pub topics: BTreeMap<TopicName, BTreeMap<i32, Position>>,
}

/// What an offset line looks like. Shape only: an Event Hubs connector's offset cannot be told from Kafka's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// Shaped like Kafka's: topic to partition to offset.
    Kafka,
    /// Some other source.
    Other,
    /// No entry has an offset of it yet.
    NoOffsetYet,
}

/// Where a query stands in one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The next offset that a restart reads; absent for a partition that only the open batch knows.
    pub committed: Option<Offset>,
    /// What Spark does in place of a number (a new or dropped partition, or one edited by hand).
    pub start: Option<Start>,
    /// Exclusive end of the open batch.
    pub planned: Option<Offset>,
    /// The number stems from an older entry: the newest committed one left this partition out.
    pub dropped: bool,
}

/// Where Spark starts a partition for which it has no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At the log's start; Spark itself calls it data loss unless that is offset 0.
    Earliest,
    /// At the log's end.
    Latest,
}

/// Something wrong or odd with a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Which of the bounded list.
    pub kind: ProblemKind,
    /// The file it was seen in, relative to the checkpoint.
    pub file: Option<String>,
    /// What was seen, and what it means, in words.
    pub detail: String,
}

/// The bounded list of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ProblemKind {
    /// The newest commit is older than the batch before the newest planned one.
    CommitLogLags,
    /// A commit exists for a batch that was never planned.
    CommitLogAhead,
    /// Batches were planned, but there is no commit log.
    CommitsMissing,
    /// Commits exist, but no planned batch.
    OffsetsLost,
    /// The entry before the newest one is missing, and Spark needs it to start.
    PredecessorMissing,
    /// Ids are not contiguous, and nothing tells asynchronous progress from damage.
    GapInBatches,
    /// The newest offsets file has no byte.
    NewestOffsetsEmpty,
    /// The newest offsets file does not parse.
    NewestOffsetsMalformed,
    /// The newest commit file has no byte.
    NewestCommitEmpty,
    /// A format or version that is not known, or more in it than any query has.
    UnsupportedVersion,
    /// `metadata` is missing.
    MetadataMissing,
    /// `metadata` does not parse.
    MetadataMalformed,
    /// A Kafka source's offset is `{}`.
    EmptyOffsetMap,
    /// Partitions that an older entry had are missing from the newest committed one.
    PartitionsDropped,
    /// The open batch ends before it starts.
    PlannedBelowCommitted,
    /// An offset is negative.
    NegativeOffset,
    /// A file name that Spark would take for a batch and then not find.
    NoncanonicalBatchName,
    /// `sources/<id>/0` does not parse.
    InitialOffsetsMalformed,
    /// Two entries differ in their number of sources.
    SourceCountChanged,
    /// File times say that the directory was copied or restored.
    CopiedOrRestored,
    /// No source is shaped like Kafka's.
    NoKafkaSource,
    /// A newer version of this checkpoint lives beside it.
    Superseded,
}

impl ProblemKind {
    /// Every problem, in the order in which they are published.
    pub const ALL: [Self; 22] = [
        Self::CommitLogLags,
        Self::CommitLogAhead,
        Self::CommitsMissing,
        Self::OffsetsLost,
        Self::PredecessorMissing,
        Self::GapInBatches,
        Self::NewestOffsetsEmpty,
        Self::NewestOffsetsMalformed,
        Self::NewestCommitEmpty,
        Self::UnsupportedVersion,
        Self::MetadataMissing,
        Self::MetadataMalformed,
        Self::EmptyOffsetMap,
        Self::PartitionsDropped,
        Self::PlannedBelowCommitted,
        Self::NegativeOffset,
        Self::NoncanonicalBatchName,
        Self::InitialOffsetsMalformed,
        Self::SourceCountChanged,
        Self::CopiedOrRestored,
        Self::NoKafkaSource,
        Self::Superseded,
    ];

    /// The label's text.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::CommitLogLags => "commit_log_lags",
            Self::CommitLogAhead => "commit_log_ahead",
            Self::CommitsMissing => "commits_missing",
            Self::OffsetsLost => "offsets_lost",
            Self::PredecessorMissing => "predecessor_missing",
            Self::GapInBatches => "gap_in_batches",
            Self::NewestOffsetsEmpty => "newest_offsets_empty",
            Self::NewestOffsetsMalformed => "newest_offsets_malformed",
            Self::NewestCommitEmpty => "newest_commit_empty",
            Self::UnsupportedVersion => "unsupported_version",
            Self::MetadataMissing => "metadata_missing",
            Self::MetadataMalformed => "metadata_malformed",
            Self::EmptyOffsetMap => "empty_offset_map",
            Self::PartitionsDropped => "partitions_dropped",
            Self::PlannedBelowCommitted => "planned_below_committed",
            Self::NegativeOffset => "negative_offset",
            Self::NoncanonicalBatchName => "noncanonical_batch_name",
            Self::InitialOffsetsMalformed => "initial_offsets_malformed",
            Self::SourceCountChanged => "source_count_changed",
            Self::CopiedOrRestored => "copied_or_restored",
            Self::NoKafkaSource => "no_kafka_source",
            Self::Superseded => "superseded",
        }
    }
}
