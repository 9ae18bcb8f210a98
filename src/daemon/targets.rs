//! From the configuration to what the rounds go over.

use std::sync::Arc;

use thiserror::Error;

use super::access::access_source;
use super::fleet::Fleet;
use super::stores::StoreSecretError;
use crate::config::{Cluster, Config, Query, SourceKind};
use crate::judgement::QuerySettings;
use crate::measures::TopicName;
use crate::metrics::snapshot::Publishing;
use crate::readers::kafka::{AccessError, KafkaOptions, KafkaReader, OpenError, check_access};
use crate::readers::stores::StoreError;
use crate::readers::{BrokerReader, CheckpointReader};
use crate::retention::{Limits, SetBy};
use crate::rounds::{ClusterTarget, QueryTarget, SourceFilter};
use crate::shard::Shard;

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
    /// Settings that the Kafka client does not take, or a secret of it.
    #[error("clusters.{cluster}")]
    Client {
        /// The cluster's name.
        cluster: String,
        /// What the client said.
        #[source]
        cause: OpenError,
    },
}

/// One target per cluster, in the order of their names, each with the configured queries that have a source there.
///
/// # Errors
/// At the first thing that cannot be built.
pub fn cluster_targets(config: &Config) -> Result<Vec<ClusterTarget>, TargetError> {
    Fleet::new(config.clone(), Shard::whole()).map(|fleet| fleet.targets())
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
        store: query.store.clone(),
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
/// When a setting or a secret's file is refused.
pub fn cluster_reader(name: &str, cluster: &Cluster) -> Result<Arc<dyn BrokerReader>, TargetError> {
    let overrides = cluster.retention_overrides.iter().map(|(topic, given)| {
        let limits = Limits {
            cleanup_policy: given.cleanup_policy.map(|policy| policy.label().to_owned()),
            retention_ms: given.retention_ms,
            retention_ms_set_by: given.retention_ms.map(|_| SetBy::Hand),
            retention_bytes: given.retention_bytes,
            retention_bytes_set_by: given.retention_bytes.map(|_| SetBy::Hand),
            ..Limits::default()
        };
        (TopicName::from(topic.as_str()), limits)
    });
    let options = KafkaOptions {
        cluster: name.to_owned(),
        bootstrap_servers: cluster.bootstrap_servers.clone(),
        access: access_source(name, cluster),
        retention_overrides: overrides.collect(),
        clock_skew: cluster.clock_skew,
    };
    let reader = KafkaReader::open(options).map_err(|cause| TargetError::Client { cluster: name.to_owned(), cause })?;
    Ok(Arc::new(reader))
}

/// Whether the settings of each cluster's client can be served by what is linked in. Asks no broker.
///
/// # Errors
/// At the first cluster whose settings cannot; a secret's file that cannot be read is no such thing, as it may be there
/// only where the daemon runs: it is told instead.
pub fn check_clients(config: &Config) -> Result<Vec<AccessError>, TargetError> {
    let mut unreadable = Vec::new();
    for (name, cluster) in &config.clusters {
        match check_access(&access_source(name, cluster)) {
            Ok(()) => {}
            Err(OpenError::Unreadable(error)) => unreadable.push(error),
            Err(cause) => return Err(TargetError::Client { cluster: name.clone(), cause }),
        }
    }
    Ok(unreadable)
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
