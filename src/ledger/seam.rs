//! The seam to the rounds: what they ask of a ledger.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use futures::future::BoxFuture;

use super::desk::{DeskError, Settlement};
use super::gap::Gap;
use super::pieces::Piece;
use crate::judgement::{Event, QueryMemory};
use crate::measures::{Moment, TopicName};

/// Keeps what one round leaves to the next, and to the next process.
///
/// No method fails: a ledger that cannot write says so in its [`Health`] and keeps what it was told.
pub trait Ledger: Send + Sync + Debug {
    /// Whether memories are worth writing down. A ledger that does not outlive the process has no use for them.
    fn keeps_memories(&self) -> bool {
        true
    }

    /// Where it lies, in words for a person; absent where it ends with the process.
    fn lies_at(&self) -> Option<String> {
        None
    }

    /// What is remembered of a cluster. Asked before its first round, and once more as long as it is not known.
    fn load(&self, cluster: &str) -> BoxFuture<'_, Loaded>;

    /// What people acknowledged and no round has heard of yet. Asked at the beginning of each round.
    fn acknowledgements(&self, cluster: &str) -> BoxFuture<'_, Vec<Acknowledgement>>;

    /// Every gap, the newest record first, for a page; absent while the ledger does not answer. A round never waits for
    /// it.
    fn gaps(&self) -> BoxFuture<'_, Option<Vec<Gap>>>;

    /// Writes down what became of a gap, for a person at a page: what the command does.
    fn settle(&self, id: i64, settlement: Settlement) -> BoxFuture<'_, Result<Gap, DeskError>>;

    /// Remembers a round, whole or not at all.
    fn remember(&self, round: RoundNotes) -> BoxFuture<'_, Remembered>;
}

/// How the ledger does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    /// Whether it outlives the process.
    pub persistent: bool,
    /// Whether it was last written without an error.
    pub up: bool,
}

/// What is remembered of a cluster.
#[derive(Debug)]
pub struct Loaded {
    /// Whether the ledger was read. What cannot be read may be there all the same.
    pub is_known: bool,
    /// By query.
    pub memories: BTreeMap<String, QueryMemory>,
    /// Queries whose memory is another daemon's: nothing of it is written under our own name.
    pub adopted: BTreeSet<String>,
    /// Acknowledgements that these memories have heard already, by query.
    pub heard: BTreeMap<String, BTreeSet<i64>>,
    /// How the ledger does, and the gaps that nobody has settled.
    pub remembered: Remembered,
}

impl Loaded {
    /// Of a ledger that remembers nothing but its gaps.
    #[must_use]
    pub fn nothing(is_known: bool, remembered: Remembered) -> Self {
        let (memories, adopted, heard) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        Self { is_known, memories, adopted, heard, remembered }
    }
}

/// A person says that a state is known and settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Number of the record: handed back with the round that heard of it.
    pub id: i64,
    /// The query's name.
    pub query: String,
    /// The topic; absent: all of them.
    pub topic: Option<String>,
    /// The partition; absent: all of them.
    pub partition: Option<i32>,
}

/// What one round leaves behind.
#[derive(Clone, Debug)]
pub struct RoundNotes {
    /// The cluster's name.
    pub cluster: String,
    /// When the round ended.
    pub at: Moment,
    /// What of the judgement's memory differs from what the ledger has.
    pub memories: Vec<Piece>,
    /// What was found lost, in the order it was found.
    pub findings: Vec<Finding>,
    /// What happened.
    pub events: Vec<NotedEvent>,
    /// The acknowledgements that the round heard of.
    pub acknowledged: Vec<i64>,
}

/// Something that happened to a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotedEvent {
    /// The query's name.
    pub query: String,
    /// The cluster's name.
    pub kafka_cluster: String,
    /// What, when, and in words.
    pub event: Event,
}

/// A range that was found lost.
pub type Finding = Gap;

/// What the ledger says after a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// How it does.
    pub health: Health,
    /// How many gaps of a query nobody has settled, by query and topic: what is not in it has none. Absent while the
    /// ledger does not answer.
    pub unresolved: Option<BTreeMap<String, BTreeMap<TopicName, u64>>>,
    /// How often the ledger was opened. Whoever keeps account of what it holds begins anew when this changes: it may be
    /// another file, or a server that was restored from a copy.
    pub opened: u64,
}

impl Remembered {
    /// Of a writer that does not answer.
    pub(super) const SILENT: Self =
        Self { health: Health { persistent: false, up: false }, unresolved: None, opened: 0 };
}
