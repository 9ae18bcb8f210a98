//! IO, and only reading: checkpoints out of stores, bounds and identity out of Kafka.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::time::Duration;

use futures::future::BoxFuture;

use crate::checkpoint::CheckpointReading;
use crate::measures::Unread;

mod brokers;
pub mod kafka;
pub mod stores;

pub use brokers::{AgeRequest, BrokerReader, WantedTopic};
pub use stores::RequestCounts;

/// Reads one checkpoint, wherever it lies. The seam that rounds are tested through.
pub trait CheckpointReader: Send + Sync + Debug {
    /// Reads it anew, within the deadline.
    fn read(&self, deadline: Duration) -> BoxFuture<'_, Result<CheckpointReading, Unread>>;

    /// Where it lies, in words for people.
    fn location(&self) -> &str;

    /// How many requests were made to its store since it was opened.
    fn requests(&self) -> RequestCounts;
}

/// Looks through a place for checkpoints. The seam that discovery is tested through.
pub trait CheckpointFinder: Send + Sync + Debug {
    /// Looks through the place, within the deadline. What is `known` for a checkpoint counts as one as long as its
    /// directory is there, and costs no request of its own.
    ///
    /// The error is that of the place itself, or of the look as a whole.
    fn look<'a>(&'a self, known: &'a BTreeSet<String>, deadline: Duration) -> BoxFuture<'a, Result<Looked, Unread>>;

    /// Where a path below the place lies, as a query's configuration wants it.
    fn location_of(&self, path: &str) -> String;

    /// How many requests were made since it was opened.
    fn requests(&self) -> RequestCounts;
}

/// What a look showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// The checkpoints, by their paths below the place.
    pub paths: BTreeSet<String>,
    /// Directories that could not be listed: what lies below them is not known.
    pub unread: Vec<(String, Unread)>,
}
