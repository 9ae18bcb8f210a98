//! The seam to Kafka: what a round asks of a cluster.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use futures::future::BoxFuture;

use crate::measures::{Moment, Offset, TopicName, TopicPartition, Unread};
use crate::retention::{Age, ClusterReading, PartitionReading, TopicId};

/// Reads one Kafka cluster. Never writes to it: creates no topic and no group, and fetches no record.
///
/// Each call ends at its deadline at the latest, with what was read by then. Calls of one reader take turns.
pub trait BrokerReader: Send + Sync + Debug {
    /// Existence, identity, limits and bounds of topics, in this order: topics, earliest, latest. An error is for the
    /// cluster that can not be reached at all; anything less is an error of the topic or partition that has it.
    ///
    /// `now` is what our clock shows as the pass begins: brokers whose clocks run ahead of it are told by their stamps.
    fn topics(
        &self,
        wanted: &[WantedTopic],
        now: Moment,
        deadline: Duration,
    ) -> BoxFuture<'_, Result<ClusterReading, Unread>>;

    /// The latest offset once more, for partitions of topics that the newest pass has seen.
    fn latest(
        &self,
        partitions: &[TopicPartition],
        deadline: Duration,
    ) -> BoxFuture<'_, BTreeMap<TopicPartition, Result<Offset, Unread>>>;

    /// The first record at or after a time, for partitions of topics that the newest pass has seen: its offset and its
    /// timestamp, or none where no record is that young. Each partition is asked for once, at the last time named for it.
    fn first_since(
        &self,
        asked: &[(TopicPartition, Moment)],
        deadline: Duration,
    ) -> BoxFuture<'_, BTreeMap<TopicPartition, FirstSince>>;

    /// How old the records up to a committed offset are, by look-ups by time. Every request has its answer; one of
    /// which nothing could be proved says so by what is absent in it.
    fn ages(
        &self,
        asked: &[AgeRequest],
        now: Moment,
        deadline: Duration,
    ) -> BoxFuture<'_, BTreeMap<(TopicPartition, Offset), Age>>;

    /// How many requests were sent since the start, by API: one for each call and broker it went to.
    fn requests(&self) -> BTreeMap<&'static str, u64>;
}

/// What a look-up by time answered for one partition.
pub type FirstSince = Result<Option<(Offset, Moment)>, Unread>;

/// One topic that somebody reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedTopic {
    /// Its name.
    pub name: TopicName,
    /// Whether the last stable offset is wanted too: somebody reads committed records only.
    pub stable: bool,
}

/// A committed offset whose next record's age is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct AgeRequest {
    /// Where.
    pub partition: TopicPartition,
    /// The next offset that is to be read.
    pub committed: Offset,
    /// The topic's identity in this round.
    pub topic_id: Option<TopicId>,
    /// The partition's bounds in this round.
    pub bounds: PartitionReading,
    /// The topic's limit by time; absent without one.
    pub retention: Option<Duration>,
}

impl AgeRequest {
    /// For an offset of a partition whose bounds were read, with what was read of its topic; absent when they were not.
    #[must_use]
    pub fn of(cluster: &ClusterReading, partition: TopicPartition, committed: Offset) -> Option<Self> {
        let topic = cluster.topics.get(&partition.topic)?.seen()?;
        let bounds = *topic.partitions.get(&partition.partition)?.as_ref().ok()?;
        let limits = topic.limits.as_ref().and_then(|limits| limits.as_ref().ok());
        let retention_ms = limits.and_then(|limits| limits.retention_ms);
        let retention = retention_ms.and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis);
        Some(Self { partition, committed, topic_id: topic.topic_id, bounds, retention })
    }
}
