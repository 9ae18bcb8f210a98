//! Every metric, written once: its name, kind, labels, meaning, and which side is the worse one.
//!
//! The exposition is written from this list, `brinkwatch metrics` prints it, and rules and dashboards take their names
//! from it. So a name that changes here changes everywhere, and a name that is spelt wrong does not compile.

mod about;
mod kafka;
mod partition;
mod query;
mod query_topic;
#[cfg(test)]
mod tests;

pub use about::*;
pub use kafka::*;
pub use partition::*;
pub use query::*;
pub use query_topic::*;

/// What all names begin with.
pub const PREFIX: &str = "brinkwatch_";

/// One metric family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The whole name, prefix and suffix included.
    pub name: &'static str,
    /// Gauge or counter.
    pub kind: Kind,
    /// What one unit of the value is.
    pub unit: Unit,
    /// The labels' names, in the order in which they are written.
    pub labels: &'static [&'static str],
    /// The text of `# HELP`.
    pub help: &'static str,
    /// Which of two values is the worse one: rules, pages and replicas fold with it.
    pub worse: Side,
    /// Whether its meaning may still change.
    pub stability: Stability,
}

/// The kinds of Prometheus that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value as it is.
    Gauge,
    /// A count that only grows; its name ends in `_total`.
    Counter,
}

impl Kind {
    /// The word in `# TYPE`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
        }
    }
}

/// What a value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// 0 or 1.
    Flag,
    /// A position in a log, or a distance between two.
    Offsets,
    /// A share, 0 to 1.
    Ratio,
    /// A duration.
    Seconds,
    /// A moment, since the Unix epoch.
    Timestamp,
    /// Bytes.
    Bytes,
    /// Things: partitions, gaps, events, requests.
    Count,
    /// The number of a batch.
    Batch,
}

impl Unit {
    /// The word in the printed catalogue.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Flag => "0 or 1",
            Self::Offsets => "offsets",
            Self::Ratio => "ratio",
            Self::Seconds => "seconds",
            Self::Timestamp => "Unix time",
            Self::Bytes => "bytes",
            Self::Count => "count",
            Self::Batch => "batch id",
        }
    }
}

/// Which of two values of one metric is the worse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The lower.
    Min,
    /// The higher.
    Max,
}

impl Side {
    /// The aggregation of PromQL that keeps the worse one.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Max => "max",
        }
    }
}

/// How much one may build on a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// Changes only with a new major version.
    Stable,
    /// An estimate whose method may still be improved.
    Experimental,
}

impl Stability {
    /// The word in the printed catalogue.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Experimental => "experimental",
        }
    }
}

/// Every metric, group by group. `process_*` stands beside it: that is the standard process collector's.
#[must_use]
pub fn all() -> Vec<&'static Metric> {
    [PARTITION_METRICS, QUERY_TOPIC_METRICS, QUERY_METRICS, KAFKA_METRICS, OWN_METRICS].concat()
}

/// The metric of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Metric> {
    all().into_iter().find(|metric| metric.name == name)
}

/// Writes a group of metrics as constants, and the list of them.
///
/// A row reads: constant, kind, name without prefix, labels, unit, worse side, `polled` (the value is as old as the
/// round it stems from, and HELP says so) or `own` (it is about this process), help.
macro_rules! metrics {
    (
        $(#[$about:meta])* $list:ident;
        $($id:ident = $kind:ident $name:literal $labels:expr, $unit:ident $side:ident $source:ident $($mark:ident)*: $help:literal;)+
    ) => {
        $(
            #[doc = $help]
            pub static $id: Metric = Metric {
                name: concat!("brinkwatch_", $name),
                kind: Kind::$kind,
                unit: Unit::$unit,
                labels: $labels,
                help: metrics!(@help $source $help),
                worse: Side::$side,
                stability: metrics!(@stability $($mark)*),
            };
        )+

        $(#[$about])*
        pub static $list: &[&Metric] = &[$(&$id,)+];
    };
    (@help polled $help:literal) => { concat!($help, " Polled: as of the last finished round.") };
    (@help own $help:literal) => { $help };
    (@stability) => { Stability::Stable };
    (@stability estimate) => { Stability::Experimental };
}
use metrics;
