//! What the rules are made from: nothing but numbers, names and links.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use sha2::{Digest, Sha256};

/// Everything that decides what the rule file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    /// Version of the program, for the header.
    pub version: String,
    /// How many queries are configured, for the header.
    pub queries: usize,
    /// How many discoveries are configured, for the header.
    pub discoveries: usize,
    /// For every query without thresholds of its own, also those that are found later.
    pub defaults: Thresholds,
    /// By query.
    pub overrides: BTreeMap<String, Thresholds>,
    /// Discoveries with thresholds of their own, by name.
    pub found: BTreeMap<String, FoundThresholds>,
    /// How far back rules look for a value.
    pub window: Duration,
    /// The longest poll interval of any cluster.
    pub poll_interval: Duration,
    /// Whether lag is also recorded under the names that exporters of consumer groups made common.
    pub consumer_group_names: bool,
    /// Where the runbooks are; `None`: no link.
    pub runbook_base_url: Option<String>,
    /// Where the dashboards are, such as `https://grafana.example/d/`; `None`: no link.
    pub dashboard_base_url: Option<String>,
}

/// When alerts on a query are raised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Remaining share of retention below which there is a warning.
    pub risk_warning: f64,
    /// Remaining share of retention below which somebody is woken.
    pub risk_critical: f64,
    /// A forecast loss nearer than this is a warning …
    pub forecast_warning: Duration,
    /// … and nearer than this wakes somebody.
    pub forecast_critical: Duration,
    /// After how many expected intervals without progress a query counts as stalled.
    pub stalled_after: u32,
    /// How often a batch should complete, as configured.
    pub expected_interval: Duration,
}

/// When alerts on the queries of one discovery are raised. The rules are written before any of them is found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundThresholds {
    /// What the names of its queries begin with, and no other query's does; never empty.
    pub prefix: String,
    /// When alerts are raised.
    pub thresholds: Thresholds,
}

impl Thresholds {
    /// Taken for the expected interval where none is configured: a rule needs a literal, and what the daemon learns
    /// of a query's rhythm is not known when the file is written.
    pub const LEARNED_INTERVAL: Duration = Duration::from_secs(10 * 60);
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            risk_warning: 0.5,
            risk_critical: 0.2,
            forecast_warning: Duration::from_secs(24 * 60 * 60),
            forecast_critical: Duration::from_secs(4 * 60 * 60),
            stalled_after: 3,
            expected_interval: Self::LEARNED_INTERVAL,
        }
    }
}

impl Default for Inputs {
    fn default() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            queries: 0,
            discoveries: 0,
            defaults: Thresholds::default(),
            overrides: BTreeMap::new(),
            found: BTreeMap::new(),
            window: Duration::from_secs(5 * 60),
            poll_interval: Duration::from_secs(30),
            consumer_group_names: false,
            runbook_base_url: None,
            dashboard_base_url: None,
        }
    }
}

impl Inputs {
    /// A hash over all of them, so that two files can be told to stem from one configuration.
    #[must_use]
    pub fn sha256(&self) -> String {
        hex(&Sha256::digest(format!("{self:?}")))
    }

    /// Who shares the default rule and who needs one alone, for a rule that depends on `literals` of the thresholds.
    /// A query whose own thresholds change nothing in this rule stays with the others.
    pub(super) fn split<T: PartialEq>(&self, literals: impl Fn(&Thresholds) -> T) -> Vec<Share<'_>> {
        let usual = literals(&self.defaults);
        let own: Vec<_> = self.overrides.iter().filter(|(_, thresholds)| literals(thresholds) != usual).collect();
        let found: Vec<_> = self.found.iter().filter(|(_, found)| literals(&found.thresholds) != usual).collect();
        let others = Share {
            of: Of::Others {
                queries: own.iter().map(|(query, _)| query.as_str()).collect(),
                prefixes: found.iter().map(|(_, found)| found.prefix.as_str()).collect(),
            },
            thresholds: &self.defaults,
        };
        let alone = own.iter().map(|(query, thresholds)| Share { of: Of::Query(query), thresholds });
        let found = found.iter().map(|(discovery, found)| Share {
            of: Of::Discovery { discovery, prefix: &found.prefix },
            thresholds: &found.thresholds,
        });
        std::iter::once(others).chain(alone).chain(found).collect()
    }
}

/// One rule's part of the queries.
pub(super) struct Share<'a> {
    /// Which queries.
    pub(super) of: Of<'a>,
    /// What counts for this part.
    pub(super) thresholds: &'a Thresholds,
}

/// The queries that share a rule.
pub(super) enum Of<'a> {
    /// One.
    Query(&'a str),
    /// Those of one discovery.
    Discovery { discovery: &'a str, prefix: &'a str },
    /// All but those that have a rule of their own.
    Others { queries: Vec<&'a str>, prefixes: Vec<&'a str> },
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes everything");
        text
    })
}
