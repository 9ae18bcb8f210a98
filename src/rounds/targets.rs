//! What a cluster's rounds go over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::checkpoint::CheckpointReading;
use crate::judgement::QuerySettings;
use crate::metrics::snapshot::Publishing;
use crate::readers::{BrokerReader, CheckpointReader};

/// One Kafka cluster and the queries that read it.
#[derive(Clone, Debug)]
pub struct ClusterTarget {
    /// The name under which the configuration knows it.
    pub name: String,
    /// Asks its brokers.
    pub brokers: Arc<dyn BrokerReader>,
    /// Each query with a source on this cluster.
    pub queries: Vec<QueryTarget>,
    /// From the start of one round to the start of the next.
    pub poll_interval: Duration,
    /// After so long without a finished round, what was measured is no longer told.
    pub stale_after: Duration,
}

impl ClusterTarget {
    /// Whether rounds over the other would be the same, down to what reads.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
            && Arc::ptr_eq(&self.brokers, &other.brokers)
            && (self.poll_interval, self.stale_after) == (other.poll_interval, other.stale_after)
            && self.queries.len() == other.queries.len()
            && self.queries.iter().zip(&other.queries).all(|(one, other)| one.is_same(other))
    }
}

impl QueryTarget {
    /// A query of which the configuration says nothing but its name and its checkpoint.
    #[must_use]
    pub fn new(name: &str, checkpoint: Arc<dyn CheckpointReader>) -> Self {
        Self {
            name: name.to_owned(),
            checkpoint,
            store: None,
            sources: SourceFilter::everything(),
            superseded: false,
            settings: QuerySettings::default(),
            publishing: Publishing::default(),
            risk_critical: 0.2,
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
            && Arc::ptr_eq(&self.checkpoint, &other.checkpoint)
            && self.sources == other.sources
            && self.superseded == other.superseded
            && self.settings == other.settings
            && self.publishing == other.publishing
            && self.risk_critical == other.risk_critical
    }
}

/// One query, as seen from one cluster.
#[derive(Clone, Debug)]
pub struct QueryTarget {
    /// The name under which the configuration knows it.
    pub name: String,
    /// Reads its checkpoint.
    pub checkpoint: Arc<dyn CheckpointReader>,
    /// The `[stores.NAME]` that its checkpoint is read with; none: the environment tells the credentials.
    pub store: Option<String>,
    /// Which of its sources belong to this cluster.
    pub sources: SourceFilter,
    /// Discovery found a newer checkpoint of the same query beside this one.
    pub superseded: bool,
    /// What was configured, for the judgement.
    pub settings: QuerySettings,
    /// How much of it is published.
    pub publishing: Publishing,
    /// Remaining ratio below which its risk is critical.
    pub risk_critical: f64,
}

/// Which sources of a query belong to one cluster. A checkpoint does not name the cluster it was made against, and an
/// Event Hubs connector's offsets look like Kafka's, so only the configuration can tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFilter {
    /// For a source that no exception names.
    pub by_default: bool,
    /// By source id, or by position: whether the source belongs here.
    pub exceptions: BTreeMap<String, bool>,
}

impl SourceFilter {
    /// A filter that takes every source.
    #[must_use]
    pub const fn everything() -> Self {
        Self { by_default: true, exceptions: BTreeMap::new() }
    }

    /// The reading with only those sources that belong to this cluster.
    #[must_use]
    pub fn apply(&self, mut reading: CheckpointReading) -> CheckpointReading {
        let ids: BTreeSet<String> = reading.sources.iter().map(|source| source.id.clone()).collect();
        reading.sources.retain(|source| self.keeps(&source.id, source.index, &ids));
        reading
    }

    /// Whether the source with this id, at this place in a log that has sources with these `ids`, belongs to this
    /// cluster. A number means the source with that id, and only where there is none the source at that position: ids
    /// are numbers as well, and not always those of the positions.
    #[must_use]
    pub fn keeps(&self, id: &str, index: usize, ids: &BTreeSet<String>) -> bool {
        let position = Some(index.to_string()).filter(|position| !ids.contains(position));
        let by_position = || self.exceptions.get(&position?);
        *self.exceptions.get(id).or_else(by_position).unwrap_or(&self.by_default)
    }
}
