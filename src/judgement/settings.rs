//! What the operator said of a query, as far as the judgement needs it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Everything that is configured and not observed.
#[derive(Clone, Debug, PartialEq)]
pub struct QuerySettings {
    /// How the query names its topics: decides whether a partition that the checkpoint lacks is its business.
    pub subscribe: Subscribe,
    /// Which records the query reads.
    pub isolation: Isolation,
    /// What the job sets; the checkpoint does not tell.
    pub fail_on_data_loss: bool,
    /// How often a batch should complete while data arrives; absent: learned.
    pub expected_interval: Option<Duration>,
    /// Retention should survive the query being down for so long.
    pub max_outage: Duration,
    /// Lag up to this many offsets is nothing (transaction markers).
    pub lag_floor: u64,
    /// How much is asked of the query.
    pub watch: Watch,
    /// A contradiction is claimed after so many rounds running …
    pub confirm_polls: u32,
    /// … and at least so long after it was first seen.
    pub confirm_time: Duration,
    /// Allowance between the clocks of broker, producer and ours.
    pub clock_skew: Duration,
    /// After so many expected intervals without progress a query is stalled.
    pub stalled_after: f64,
    /// Remaining ratio below which a query is at risk.
    pub risk_warning: f64,
    /// A forecast nearer than this makes a query at risk.
    pub forecast_warning: Duration,
}

impl Default for QuerySettings {
    fn default() -> Self {
        Self {
            subscribe: Subscribe::Unknown,
            isolation: Isolation::ReadUncommitted,
            fail_on_data_loss: true,
            expected_interval: None,
            max_outage: Duration::from_secs(24 * 3600),
            lag_floor: 0,
            watch: Watch::Active,
            confirm_polls: 3,
            confirm_time: Duration::from_secs(60),
            clock_skew: Duration::from_secs(5),
            stalled_after: 3.0,
            risk_warning: 0.5,
            forecast_warning: Duration::from_secs(24 * 3600),
        }
    }
}

/// How a query names its topics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subscribe {
    /// Nobody said.
    #[default]
    Unknown,
    /// `subscribe`: every partition of the topics it knows.
    Subscribe,
    /// `subscribePattern`: the same, and topics may come and go.
    Pattern,
    /// `assign`: only the partitions it names.
    Assign,
}

impl Subscribe {
    /// Whether a partition that appears on the broker will be read by the query.
    #[must_use]
    pub const fn reads_new_partitions(self) -> bool {
        matches!(self, Self::Subscribe | Self::Pattern)
    }
}

/// Which records a query reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Every record, up to the high watermark.
    #[default]
    ReadUncommitted,
    /// Only records of committed transactions, up to the last stable offset.
    ReadCommitted,
}

/// How much is asked of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Watch {
    /// Everything.
    #[default]
    Active,
    /// Stopped on purpose: never stalled, retention still counts.
    Parked,
    /// Over for good: a row on the page and nothing else.
    Retired,
}
