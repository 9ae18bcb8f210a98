//! The configuration that the other rooms see: checked, complete, nothing optional that has a default.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::discovery::Discovery;
use super::ledger::LedgerServer;
use super::secret::{Secret, SecretError, SecretSource};
use super::security::{Sasl, Tls};
use super::server::Server;
use super::store::Store;
use crate::judgement::{Isolation, Subscribe, Watch};
use crate::metrics::snapshot::{Granularity, PartitionMetrics};

/// Everything the operator asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where memory is kept over a restart; `None`: in the process only.
    pub state_dir: Option<PathBuf>,
    /// Time from the start of one round to the start of the next, where a cluster does not say otherwise.
    pub poll_interval: Duration,
    /// Age at which measured values are withdrawn, for a cluster with the global poll interval. Each cluster carries
    /// its own.
    pub stale_after: Duration,
    /// In how many rounds running a contradiction must be seen before it is claimed.
    pub confirm_polls: u32,
    /// For how long it must have been seen, at least.
    pub confirm_time: Duration,
    /// The web server.
    pub server: Server,
    /// A database for the ledger, which counts before `state_dir`; `None`: it is kept there.
    pub ledger: Option<LedgerServer>,
    /// Our own log.
    pub log: Log,
    /// What alerts are made of.
    pub alerts: AlertSettings,
    /// The Kafka clusters, by name.
    pub clusters: BTreeMap<String, Cluster>,
    /// Settings of stores, by name.
    pub stores: BTreeMap<String, Store>,
    /// The watched queries, by name.
    pub queries: BTreeMap<String, Query>,
    /// Places whose checkpoints are watched without being named, by name.
    pub discoveries: BTreeMap<String, Discovery>,
}

impl Config {
    /// Whether what is remembered outlives the process.
    #[must_use]
    pub fn keeps_ledger(&self) -> bool {
        self.ledger.is_some() || self.state_dir.is_some()
    }
}

/// Our own log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log {
    /// The least severe level that is written; `RUST_LOG` overrides it.
    pub level: LogLevel,
    /// How a line looks.
    pub format: LogFormat,
}

/// Severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Something does not work.
    Error,
    /// Something is not as it should be.
    Warn,
    /// What happens.
    Info,
    /// What happens, in detail.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    /// The level as a filter directive.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// `key=value` pairs.
    Logfmt,
    /// One JSON object a line.
    Json,
    /// For people at a terminal.
    Pretty,
}

/// What alerts are made of.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertSettings {
    /// When alerts are raised, for queries that do not say otherwise.
    pub thresholds: Thresholds,
    /// How far back rules look for a value, so that a missed scrape or poll neither raises nor ends an alert.
    pub window: Duration,
    /// How often the Prometheus that reads us does so.
    pub scrape_interval: Duration,
    /// Where the runbooks are, with a slash at the end; `None`: alerts link to no runbook.
    pub runbook_base_url: Option<String>,
    /// Where the dashboards are, with a slash at the end; `None`: alerts link to no dashboard.
    pub dashboard_base_url: Option<String>,
}

/// When alerts are raised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Remaining share of retention below which there is a warning: above `risk_critical`, at most 1.
    pub risk_warning: f64,
    /// Remaining share of retention below which somebody is woken: 0 to 1.
    pub risk_critical: f64,
    /// Time to the forecast loss below which there is a warning.
    pub forecast_warning: Duration,
    /// Time to the forecast loss below which somebody is woken; at most `forecast_warning`.
    pub forecast_critical: Duration,
    /// After how many expected intervals without progress a query counts as stalled.
    pub stalled_after: u32,
}

/// One of the [`Thresholds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Threshold {
    /// [`Thresholds::risk_warning`].
    RiskWarning,
    /// [`Thresholds::risk_critical`].
    RiskCritical,
    /// [`Thresholds::forecast_warning`].
    ForecastWarning,
    /// [`Thresholds::forecast_critical`].
    ForecastCritical,
    /// [`Thresholds::stalled_after`].
    StalledAfter,
}

/// When alerts on one query are raised.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryAlerts {
    /// What counts for this query: its own where it has some, else the global ones.
    pub thresholds: Thresholds,
    /// Which of them are the query's own.
    pub overridden: BTreeSet<Threshold>,
}

/// A Kafka cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// First brokers to ask, with commas between them.
    pub bootstrap_servers: String,
    /// Time from the start of one round to the start of the next.
    pub poll_interval: Duration,
    /// Age at which values measured on this cluster are withdrawn.
    pub stale_after: Duration,
    /// How far the clocks of brokers, producers and ours may be apart.
    pub clock_skew: Duration,
    /// Encryption; `None`: plain text.
    pub tls: Option<Tls>,
    /// Login; `None`: none, or by a certificate.
    pub sasl: Option<Sasl>,
    /// Further properties of the Kafka client, by their real names (with dots).
    pub librdkafka: BTreeMap<String, Property>,
    /// Retention by topic, for what the broker does not tell.
    pub retention_overrides: BTreeMap<String, RetentionOverride>,
}

/// The value of a property of the Kafka client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Property {
    /// One that anybody may see.
    Plain(String),
    /// One that nobody may see.
    Secret(SecretSource),
}

impl Property {
    /// The value to hand to the client; a secret's file is read at each call.
    ///
    /// # Errors
    /// When the secret's file does not yield it.
    pub fn read(&self) -> Result<Secret, SecretError> {
        match self {
            Self::Plain(text) => Ok(Secret::new(text)),
            Self::Secret(source) => source.read(),
        }
    }
}

/// What limits a topic's retention, where the broker does not tell. A field is absent when it was not given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetentionOverride {
    /// `cleanup.policy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleanup_policy: Option<CleanupPolicy>,
    /// `retention.ms`; -1 is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention_ms: Option<i64>,
    /// `retention.bytes`, of one partition; -1 is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention_bytes: Option<i64>,
}

/// A topic's `cleanup.policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CleanupPolicy {
    /// Old records are deleted.
    #[serde(rename = "delete")]
    Delete,
    /// All but the last record of each key are deleted.
    #[serde(rename = "compact")]
    Compact,
    /// Both.
    #[serde(rename = "compact,delete", alias = "delete,compact")]
    CompactDelete,
}

impl CleanupPolicy {
    /// The policy as Kafka writes it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Compact => "compact",
            Self::CompactDelete => "compact,delete",
        }
    }
}

/// A watched query.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The checkpoint's location: a path or a URL.
    pub checkpoint: String,
    /// The settings of its store, always one of [`Config::stores`]; `None`: what the environment says.
    pub store: Option<String>,
    /// The cluster that its sources read; always one of [`Config::clusters`].
    pub cluster: String,
    /// How its Kafka source chooses partitions.
    pub subscribe: Subscribe,
    /// Whether the job fails (Spark's default) or goes on when records are gone.
    pub fail_on_data_loss: bool,
    /// Which records the job reads.
    pub isolation_level: Isolation,
    /// How often a batch should complete while data arrives; `None`: learned.
    pub expected_batch_interval: Option<Duration>,
    /// How long the query may be down without loss.
    pub max_outage: Duration,
    /// Lag up to this is none.
    pub lag_floor: u64,
    /// How closely it is watched.
    pub watch: Watch,
    /// Down to what the metrics go.
    pub granularity: Granularity,
    /// How many metrics there are of a partition.
    pub partition_metrics: PartitionMetrics,
    /// With more series than this, the query is published by topic.
    pub series_limit: u64,
    /// Settings of single sources, by position or by source id.
    pub sources: BTreeMap<String, SourceSetting>,
    /// When alerts are raised.
    pub alerts: QueryAlerts,
}

/// Settings of one source of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceSetting {
    /// What it is; `None`: told from its offsets.
    pub kind: Option<SourceKind>,
    /// The cluster it reads; always one of [`Config::clusters`].
    pub cluster: String,
}

/// What a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// Kafka's.
    Kafka,
    /// Not to be looked at.
    Ignore,
}

impl Threshold {
    /// The key in the configuration.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::RiskWarning => "risk_warning",
            Self::RiskCritical => "risk_critical",
            Self::ForecastWarning => "forecast_warning",
            Self::ForecastCritical => "forecast_critical",
            Self::StalledAfter => "stalled_after",
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}
