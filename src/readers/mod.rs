//! IO, and only reading: checkpoints out of stores, bounds and identity out of Kafka.

use std::fmt::Debug;
use std::time::Duration;

use futures::future::BoxFuture;

use crate::checkpoint::CheckpointReading;
use crate::measures::Unread;

mod brokers;
pub mod kafka;
pub mod stores;

pub use brokers::{AgeRequest, BrokerReader, FirstSince, WantedTopic};
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
