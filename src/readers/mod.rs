//! IO, and only reading: checkpoints out of stores, bounds and identity out of Kafka.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, ready};

use crate::checkpoint::{CheckpointReading, OlderEntry};
use crate::measures::{BatchId, Unread};

mod brokers;
pub mod kafka;
pub mod stores;

pub use brokers::{AgeRequest, BrokerReader, WantedTopic};
pub use stores::RequestCounts;

/// Reads one checkpoint, wherever it lies. The seam that rounds are tested through.
pub trait CheckpointReader: Send + Sync + Debug {
    /// Reads it anew, within the deadline.
    fn read(&self, deadline: Duration) -> BoxFuture<'_, Result<CheckpointReading, Unread>>;

    /// What stands in `offsets/` of these older batches, as far as it is there, makes sense and is read in time.
    fn older(&self, _batches: &[BatchId], _deadline: Duration) -> BoxFuture<'_, BTreeMap<BatchId, OlderEntry>> {
        ready(BTreeMap::new()).boxed()
    }

    /// Where it lies, in words for people.
    fn location(&self) -> &str;

    /// How many requests were made to its store since it was opened.
    fn requests(&self) -> RequestCounts;
}
