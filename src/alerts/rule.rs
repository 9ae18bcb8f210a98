//! One alert, and a group of them.

use std::time::Duration;

use super::promql::Condition;
use super::recordings::Recording;

/// How loud an alert is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Wakes somebody.
    Critical,
    /// A ticket for the day.
    Warning,
    /// Something to know.
    Info,
}

impl Severity {
    /// The label's value.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// One alert rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Its name; several rules share it when they differ in severity or query.
    pub alert: &'static str,
    /// How loud.
    pub severity: Severity,
    /// What must hold.
    pub condition: Condition,
    /// … and for how long.
    pub hold: Duration,
    /// How long it goes on firing after the condition was last seen: longer than one restart of the watcher.
    pub keep_firing: Duration,
    /// The one query, or the one discovery's queries, that this rule is about: without a label the rule would count as
    /// a double of the default one.
    pub query: Option<StaticLabel>,
    /// One sentence, without values.
    pub summary: &'static str,
    /// What to know and what to run, as a template of Prometheus.
    pub description: &'static str,
}

/// A label that a rule gives to its alerts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StaticLabel {
    /// The query's name.
    Query(String),
    /// The name of the discovery that found the queries; each alert has its own query's name besides.
    Discovery(String),
}

impl StaticLabel {
    /// The label and its value.
    #[must_use]
    pub fn pair(&self) -> (&'static str, &str) {
        match self {
            Self::Query(query) => ("query", query),
            Self::Discovery(discovery) => ("discovery", discovery),
        }
    }
}

/// Rules that are evaluated together. They carry no interval of their own: how often is Prometheus' business.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Unique in the file.
    pub name: &'static str,
    /// In order.
    pub rules: Vec<Rule>,
    /// Series that Prometheus is to keep, in order: one may read those before it.
    pub recordings: Vec<Recording>,
}

pub(super) const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes * 60)
}
