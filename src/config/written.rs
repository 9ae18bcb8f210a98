//! The configuration as typed: the shape of the file, key by key. The `Default` of each type is the lowest layer.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::discovery::WrittenDiscovery;
use super::duration;
use super::ledger::WrittenLedger;
use super::secret::{Secret, SecretSource};
use super::security::{WrittenSasl, WrittenTls};
use super::server::WrittenServer;
use super::store::WrittenStore;
use super::valid::{LogFormat, LogLevel, Property, RetentionOverride, SourceKind};
use crate::judgement::{Isolation, Subscribe, Watch};
use crate::metrics::snapshot::{Granularity, PartitionMetrics};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Written {
    pub(super) state_dir: String,
    #[serde(with = "duration::always")]
    pub(super) poll_interval: Duration,
    #[serde(with = "duration::or_empty")]
    pub(super) stale_after: Option<Duration>,
    pub(super) confirm_polls: u32,
    #[serde(with = "duration::always")]
    pub(super) confirm_time: Duration,
    pub(super) server: WrittenServer,
    pub(super) ledger: WrittenLedger,
    pub(super) log: WrittenLog,
    pub(super) alerts: WrittenAlerts,
    pub(super) clusters: BTreeMap<String, WrittenCluster>,
    pub(super) stores: BTreeMap<String, WrittenStore>,
    pub(super) queries: BTreeMap<String, WrittenQuery>,
    pub(super) discovery: BTreeMap<String, WrittenDiscovery>,
}

impl Default for Written {
    fn default() -> Self {
        Self {
            state_dir: String::new(),
            poll_interval: Duration::from_secs(30),
            stale_after: None,
            confirm_polls: 3,
            confirm_time: Duration::from_secs(60),
            server: WrittenServer::default(),
            ledger: WrittenLedger::default(),
            log: WrittenLog::default(),
            alerts: WrittenAlerts::default(),
            clusters: BTreeMap::new(),
            stores: BTreeMap::new(),
            queries: BTreeMap::new(),
            discovery: BTreeMap::new(),
        }
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WrittenLog {
    pub(super) level: LogLevel,
    pub(super) format: LogFormat,
}

impl Default for WrittenLog {
    fn default() -> Self {
        Self { level: LogLevel::Info, format: LogFormat::Logfmt }
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WrittenAlerts {
    pub(super) risk_warning: f64,
    pub(super) risk_critical: f64,
    #[serde(with = "duration::always")]
    pub(super) forecast_warning: Duration,
    #[serde(with = "duration::always")]
    pub(super) forecast_critical: Duration,
    pub(super) stalled_after: u32,
    #[serde(with = "duration::or_empty")]
    pub(super) window: Option<Duration>,
    #[serde(with = "duration::always")]
    pub(super) scrape_interval: Duration,
    pub(super) runbook_base_url: String,
    pub(super) dashboard_base_url: String,
}

impl Default for WrittenAlerts {
    fn default() -> Self {
        Self {
            risk_warning: 0.5,
            risk_critical: 0.2,
            forecast_warning: Duration::from_secs(24 * 3600),
            forecast_critical: Duration::from_secs(4 * 3600),
            stalled_after: 3,
            window: None,
            scrape_interval: Duration::from_secs(30),
            runbook_base_url: String::new(),
            dashboard_base_url: String::new(),
        }
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WrittenCluster {
    pub(super) bootstrap_servers: String,
    #[serde(with = "duration::or_empty")]
    pub(super) poll_interval: Option<Duration>,
    #[serde(with = "duration::always")]
    pub(super) clock_skew: Duration,
    #[serde(skip_serializing_if = "WrittenTls::is_default")]
    pub(super) tls: WrittenTls,
    #[serde(skip_serializing_if = "WrittenSasl::is_default")]
    pub(super) sasl: WrittenSasl,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) librdkafka: BTreeMap<String, Property>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) retention_overrides: BTreeMap<String, RetentionOverride>,
}

impl Default for WrittenCluster {
    fn default() -> Self {
        Self {
            bootstrap_servers: String::new(),
            poll_interval: None,
            clock_skew: Duration::from_secs(5),
            tls: WrittenTls::default(),
            sasl: WrittenSasl::default(),
            librdkafka: BTreeMap::new(),
            retention_overrides: BTreeMap::new(),
        }
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WrittenQuery {
    pub(super) checkpoint: String,
    pub(super) store: String,
    pub(super) cluster: String,
    pub(super) subscribe: Subscribe,
    pub(super) fail_on_data_loss: bool,
    pub(super) isolation_level: Isolation,
    #[serde(with = "duration::or_empty")]
    pub(super) expected_batch_interval: Option<Duration>,
    #[serde(with = "duration::always")]
    pub(super) max_outage: Duration,
    pub(super) lag_floor: u64,
    pub(super) watch: Watch,
    pub(super) granularity: Granularity,
    pub(super) partition_metrics: PartitionMetrics,
    pub(super) series_limit: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) sources: BTreeMap<String, WrittenSource>,
    #[serde(skip_serializing_if = "WrittenQueryAlerts::is_empty")]
    pub(super) alerts: WrittenQueryAlerts,
}

impl Default for WrittenQuery {
    fn default() -> Self {
        Self {
            checkpoint: String::new(),
            store: String::new(),
            cluster: String::new(),
            subscribe: Subscribe::default(),
            fail_on_data_loss: true,
            isolation_level: Isolation::default(),
            expected_batch_interval: None,
            max_outage: Duration::from_secs(24 * 3600),
            lag_floor: 0,
            watch: Watch::default(),
            granularity: Granularity::default(),
            partition_metrics: PartitionMetrics::default(),
            series_limit: 20_000,
            sources: BTreeMap::new(),
            alerts: WrittenQueryAlerts::default(),
        }
    }
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WrittenSource {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<SourceKind>,
    pub(super) cluster: String,
}

/// The keys of `[alerts]` that a query may override; one that is absent is inherited.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WrittenQueryAlerts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) risk_warning: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) risk_critical: Option<f64>,
    #[serde(with = "duration::or_empty", skip_serializing_if = "Option::is_none")]
    pub(super) forecast_warning: Option<Duration>,
    #[serde(with = "duration::or_empty", skip_serializing_if = "Option::is_none")]
    pub(super) forecast_critical: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stalled_after: Option<u32>,
}

impl WrittenQueryAlerts {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Until its name has been looked at, a property may be a secret, so it is one.
impl<'de> Deserialize<'de> for Property {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PropertyText).map(|text| Self::Secret(SecretSource::Given(Secret::new(text))))
    }
}

/// Any kind of value, since a refusal would show it.
impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PropertyText).map(Self::new)
    }
}

impl Serialize for Property {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Plain(text) => serializer.serialize_str(text),
            Self::Secret(SecretSource::Given(secret)) => secret.serialize(serializer),
            Self::Secret(SecretSource::File(path)) => path.serialize(serializer),
        }
    }
}

/// Properties are texts to librdkafka; a person writes numbers and booleans as such.
struct PropertyText;

impl Visitor<'_> for PropertyText {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true or false")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<String, E> {
        Ok(value.to_string())
    }
}

/// A list, or one text with commas, which is how the environment and the command line write a list.
pub(super) fn list_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    deserializer.deserialize_any(ListOrText)
}

struct ListOrText;

impl<'de> Visitor<'de> for ListOrText {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of texts, or one text with commas")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<String>, E> {
        Ok(text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<String>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(list)
    }
}
