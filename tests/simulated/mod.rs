//! Readers that say what a test computes, in the place of a store and of brokers.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use brinkwatch::checkpoint::{BatchTimes, CheckpointReading, Position, SourceKind, SourceReading};
use brinkwatch::judgement::QuerySettings;
use brinkwatch::measures::{BatchId, Moment, Offset, TopicName, TopicPartition, Unread};
use brinkwatch::metrics::snapshot::Publishing;
use brinkwatch::readers::{AgeRequest, BrokerReader, CheckpointReader, FirstSince, RequestCounts, WantedTopic};
use brinkwatch::retention::{Age, ClusterReading, Limits, PartitionReading, TopicId, TopicReading, TopicSight};
use brinkwatch::rounds::{ClusterTarget, QueryTarget, SourceFilter};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};

type Computed<T> = Box<dyn Fn() -> Result<T, Unread> + Send + Sync>;
/// A topic's name, its id, and earliest and latest of each partition.
pub(crate) type Told<'a> = (&'a str, TopicId, &'a [(i64, i64)]);

type Ages = Box<dyn Fn(&AgeRequest) -> Age + Send + Sync>;

/// Brokers whose every answer is computed when they are asked.
pub(crate) struct Brokers {
    cluster: Computed<ClusterReading>,
    ages: Ages,
}

impl Brokers {
    /// What they say of topics, and what their look-ups prove of ages.
    pub(crate) fn new(
        cluster: impl Fn() -> Result<ClusterReading, Unread> + Send + Sync + 'static,
        ages: impl Fn(&AgeRequest) -> Age + Send + Sync + 'static,
    ) -> Self {
        Self { cluster: Box::new(cluster), ages: Box::new(ages) }
    }
}

impl fmt::Debug for Brokers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Brokers")
    }
}

impl BrokerReader for Brokers {
    fn topics(&self, _: &[WantedTopic], _: Moment, _: Duration) -> BoxFuture<'_, Result<ClusterReading, Unread>> {
        ready((self.cluster)()).boxed()
    }

    fn latest(
        &self,
        partitions: &[TopicPartition],
        _: Duration,
    ) -> BoxFuture<'_, BTreeMap<TopicPartition, Result<Offset, Unread>>> {
        let cluster = (self.cluster)();
        let latest = |at: &TopicPartition| {
            let topic = cluster.as_ref().map_err(Unread::clone)?.topics[&at.topic].seen().unwrap();
            topic.partitions[&at.partition].clone().map(|bounds| bounds.latest)
        };
        ready(partitions.iter().map(|at| (at.clone(), latest(at))).collect()).boxed()
    }

    fn first_since(
        &self,
        _: &[(TopicPartition, Moment)],
        _: Duration,
    ) -> BoxFuture<'_, BTreeMap<TopicPartition, FirstSince>> {
        ready(BTreeMap::new()).boxed()
    }

    fn ages(
        &self,
        asked: &[AgeRequest],
        _: Moment,
        _: Duration,
    ) -> BoxFuture<'_, BTreeMap<(TopicPartition, Offset), Age>> {
        let ages = asked.iter().map(|one| ((one.partition.clone(), one.committed), (self.ages)(one)));
        ready(ages.collect()).boxed()
    }

    fn requests(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::new()
    }
}

/// A checkpoint whose every reading is computed.
pub(crate) struct Checkpoint(Computed<CheckpointReading>);

impl Checkpoint {
    pub(crate) fn new(reading: impl Fn() -> Result<CheckpointReading, Unread> + Send + Sync + 'static) -> Self {
        Self(Box::new(reading))
    }
}

impl fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Checkpoint")
    }
}

impl CheckpointReader for Checkpoint {
    fn read(&self, _: Duration) -> BoxFuture<'_, Result<CheckpointReading, Unread>> {
        ready((self.0)()).boxed()
    }

    fn location(&self) -> &str {
        "memory"
    }

    fn requests(&self) -> RequestCounts {
        RequestCounts::default()
    }
}

pub(crate) fn offset(number: i64) -> Offset {
    Offset::new(number).unwrap()
}

/// Bounds of partitions, by topic; each topic with its id and a limit by time.
pub(crate) fn cluster(retention: Duration, topics: &[Told<'_>]) -> ClusterReading {
    let topic = |(name, id, partitions): &Told<'_>| {
        let bounds = |(earliest, latest): &(i64, i64)| PartitionReading {
            earliest: offset(*earliest),
            latest: offset(*latest),
            stable: None,
            leader_epoch: Some(1),
            oldest: None,
        };
        let limits = Limits {
            cleanup_policy: Some("delete".to_owned()),
            retention_ms: Some(i64::try_from(retention.as_millis()).unwrap()),
            retention_bytes: Some(-1),
            ..Limits::default()
        };
        let reading = TopicReading {
            topic_id: Some(*id),
            limits: Some(Ok(limits)),
            partitions: (0..).zip(partitions.iter().map(bounds).map(Ok)).collect(),
        };
        (TopicName::from(*name), TopicSight::Seen(reading))
    };
    ClusterReading {
        cluster_id: Some("K1".to_owned()),
        topics: topics.iter().map(topic).collect(),
        ..ClusterReading::default()
    }
}

/// A checkpoint at rest: its newest batch is committed.
pub(crate) fn checkpoint(batch: u64, committed_at: Moment, topics: &[(&str, &[i64])]) -> CheckpointReading {
    let position = |committed: &i64| Position { committed: Some(offset(*committed)), ..Position::default() };
    let positions = |(name, committed): &(&str, &[i64])| {
        (TopicName::from(*name), (0..).zip(committed.iter().map(position)).collect())
    };
    let source = SourceReading {
        index: 0,
        id: "0".to_owned(),
        kind: SourceKind::Kafka,
        committed_from: Some(format!("offsets/{batch}")),
        planned_from: None,
        topics: topics.iter().map(positions).collect(),
    };
    let planned_at = Some(committed_at.minus(Duration::from_secs(1)));
    CheckpointReading {
        query_id: Some("943e4fff-ba4f-4018-99d0-a50c4477be0a".to_owned()),
        offset_log_version: Some(1),
        newest_planned: Some(BatchId(batch)),
        newest_committed: Some(BatchId(batch)),
        restartable: Some(true),
        last_commit_at: Some(committed_at),
        planned_at,
        batch_timestamp: planned_at,
        batches: vec![BatchTimes { batch: BatchId(batch), planned_at, committed_at: Some(committed_at) }],
        sources: vec![source],
        ..CheckpointReading::default()
    }
}

pub(crate) fn query(name: &str, checkpoint: Checkpoint) -> QueryTarget {
    QueryTarget {
        name: name.to_owned(),
        checkpoint: Arc::new(checkpoint),
        store: None,
        superseded: false,
        sources: SourceFilter::everything(),
        settings: QuerySettings::default(),
        publishing: Publishing::default(),
        risk_critical: 0.2,
    }
}

pub(crate) fn target(brokers: Brokers, queries: Vec<QueryTarget>, poll_interval: Duration) -> ClusterTarget {
    ClusterTarget {
        name: "main".to_owned(),
        brokers: Arc::new(brokers),
        queries,
        poll_interval,
        stale_after: Duration::from_secs(3600 * 24),
    }
}
