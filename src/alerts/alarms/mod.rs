//! The alerts, by what they are about.
//!
//! Texts speak to somebody who was just woken: what is so, what Spark will do, which command to run. Numbers that a
//! person compares with Spark's own messages are printed in full, never as 1.2e+06.

pub(super) mod loss;
pub(super) mod retention;
pub(super) mod identity;
pub(super) mod checkpoint;
pub(super) mod events;
pub(super) mod forecast;
pub(super) mod own;

use super::inputs::{Inputs, Of, Share};
use super::promql::{Matcher, Matching, Series};
use super::rule::{Rule, Severity, StaticLabel, minutes};
use crate::metrics::catalogue::Metric;

/// Most alerts go on for so long after their condition was last seen, so that a restart of the watcher is no all-clear.
const KEEP: std::time::Duration = minutes(10);

impl Inputs {
    fn newest(&self, metric: &'static Metric) -> Series {
        Series::newest(metric, self.window)
    }
}

impl Share<'_> {
    /// The series of this part's queries.
    fn of(&self, mut series: Series) -> Series {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let matching = match &self.of {
            Of::Query(query) => vec![Matching::Is((*query).to_owned())],
            Of::Discovery { prefix, .. } => vec![Matching::BeginsWith((*prefix).to_owned())],
            Of::Others { queries, prefixes } => {
                let queries = (!queries.is_empty()).then(|| Matching::NoneOf(owned(queries)));
                let prefixes = (!prefixes.is_empty()).then(|| Matching::NoneBegins(owned(prefixes)));
                queries.into_iter().chain(prefixes).collect()
            }
        };
        let matchers = matching.into_iter().map(|matching| Matcher { label: "query", matching });
        series.matchers.splice(0..0, matchers);
        series
    }

    fn static_query(&self) -> Option<StaticLabel> {
        match self.of {
            Of::Query(query) => Some(StaticLabel::Query(query.to_owned())),
            Of::Discovery { discovery, .. } => Some(StaticLabel::Discovery(discovery.to_owned())),
            Of::Others { .. } => None,
        }
    }
}

/// A critical rule and its warning share condition and texts and differ in how long they wait.
fn both_severities(warning: Rule, critical_after: std::time::Duration) -> Vec<Rule> {
    let critical = Rule { severity: Severity::Critical, hold: critical_after, ..warning.clone() };
    vec![warning, critical]
}
