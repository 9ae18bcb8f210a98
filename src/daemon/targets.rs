//! From the configuration to what the rounds go over.

use std::collections::BTreeMap;
use std::sync::Arc;

use thiserror::Error;

use super::fleet::Fleet;
use super::stores::StoreSecretError;
use crate::config::{Cluster, Config, Query, SecretError, SourceKind};
use crate::judgement::QuerySettings;
use crate::measures::TopicName;
use crate::metrics::snapshot::Publishing;
use crate::readers::kafka::{KafkaOptions, KafkaReader, OpenError};
use crate::readers::stores::StoreError;
use crate::readers::{BrokerReader, CheckpointReader};
use crate::retention::Limits;
use crate::rounds::{ClusterTarget, QueryTarget, SourceFilter};

/// What the configuration asks for and cannot be built.
#[derive(Debug, Error)]
pub enum TargetError {
    /// A checkpoint's location.
    #[error("queries.{query}.checkpoint")]
    Checkpoint {
        /// The query's name.
        query: String,
        /// What is wrong with it.
        #[source]
        cause: StoreError,
    },
    /// A place to look for checkpoints.
    #[error("discovery.{discovery}.location")]
    Location {
        /// The discovery's name.
        discovery: String,
        /// What is wrong with it.
        #[source]
        cause: StoreError,
    },
    /// A secret of a store.
    #[error(transparent)]
    StoreSecret(#[from] StoreSecretError),
    /// A property that the Kafka client does not take.
    #[error("clusters.{cluster}.librdkafka")]
    Client {
        /// The cluster's name.
        cluster: String,
        /// What the client said.
        #[source]
        cause: OpenError,
    },
    /// A secret's file.
    #[error("clusters.{cluster}.librdkafka.{property}")]
    Secret {
        /// The cluster's name.
        cluster: String,
        /// The property's name.
        property: String,
        /// Why it was not read.
        #[source]
        cause: SecretError,
    },
}

/// One target per cluster, in the order of their names, each with the configured queries that have a source there.
///
/// # Errors
/// At the first thing that cannot be built.
pub fn cluster_targets(config: &Config) -> Result<Vec<ClusterTarget>, TargetError> {
    Fleet::new(config.clone()).map(Fleet::into_targets)
}

/// A query as seen from one of the configured clusters.
pub(super) fn query_target(
    config: &Config,
    cluster: &str,
    name: &str,
    query: &Query,
    checkpoint: Arc<dyn CheckpointReader>,
) -> QueryTarget {
    QueryTarget {
        name: name.to_owned(),
        checkpoint,
        sources: source_filter(query, cluster),
        superseded: false,
        settings: query_settings(config, query, &config.clusters[cluster]),
        publishing: publishing(query),
        risk_critical: query.alerts.thresholds.risk_critical,
    }
}

/// The reader of one cluster.
///
/// # Errors
/// When a property or a secret's file is refused.
pub fn cluster_reader(name: &str, cluster: &Cluster) -> Result<Arc<dyn BrokerReader>, TargetError> {
    let mut properties = BTreeMap::new();
    for (property, value) in &cluster.librdkafka {
        let value = value.read().map_err(|cause| TargetError::Secret {
            cluster: name.to_owned(),
            property: property.clone(),
            cause,
        })?;
        properties.insert(property.clone(), value.expose().to_owned());
    }
    let overrides = cluster.retention_overrides.iter().map(|(topic, given)| {
        let limits = Limits {
            cleanup_policy: given.cleanup_policy.map(|policy| policy.label().to_owned()),
            retention_ms: given.retention_ms,
            retention_bytes: given.retention_bytes,
            ..Limits::default()
        };
        (TopicName::from(topic.as_str()), limits)
    });
    let options = KafkaOptions {
        cluster: name.to_owned(),
        bootstrap_servers: cluster.bootstrap_servers.clone(),
        properties,
        retention_overrides: overrides.collect(),
    };
    let reader = KafkaReader::open(options).map_err(|cause| TargetError::Client { cluster: name.to_owned(), cause })?;
    Ok(Arc::new(reader))
}

pub(super) fn reads(query: &Query, cluster: &str) -> bool {
    query.cluster == cluster || query.sources.values().any(|source| source.cluster == cluster)
}

/// Which sources of a query belong to a cluster.
#[must_use]
pub fn source_filter(query: &Query, cluster: &str) -> SourceFilter {
    let exceptions = query
        .sources
        .iter()
        .map(|(source, setting)| {
            (source.clone(), setting.kind != Some(SourceKind::Ignore) && setting.cluster == cluster)
        })
        .collect();
    SourceFilter { by_default: query.cluster == cluster, exceptions }
}

/// What the judgement is told of a query.
#[must_use]
pub fn query_settings(config: &Config, query: &Query, cluster: &Cluster) -> QuerySettings {
    QuerySettings {
        subscribe: query.subscribe,
        isolation: query.isolation_level,
        fail_on_data_loss: query.fail_on_data_loss,
        expected_interval: query.expected_batch_interval,
        max_outage: query.max_outage,
        lag_floor: query.lag_floor,
        watch: query.watch,
        confirm_polls: config.confirm_polls,
        confirm_time: config.confirm_time,
        clock_skew: cluster.clock_skew,
        stalled_after: f64::from(query.alerts.thresholds.stalled_after),
        risk_warning: query.alerts.thresholds.risk_warning,
        forecast_warning: query.alerts.thresholds.forecast_warning,
    }
}

fn publishing(query: &Query) -> Publishing {
    Publishing {
        granularity: query.granularity,
        partition_metrics: query.partition_metrics,
        series_limit: query.series_limit,
    }
}
