//! Tests of the rules, by subject.

mod promises;
mod shares;
mod written;

use super::{FoundThresholds, Inputs, Thresholds};

/// Inputs with every link, and with these queries' own thresholds.
fn inputs<const N: usize>(overrides: [(&str, Thresholds); N]) -> Inputs {
    Inputs {
        queries: N.max(1),
        overrides: overrides.into_iter().map(|(query, thresholds)| (query.to_owned(), thresholds)).collect(),
        runbook_base_url: Some("https://runbooks.example/".to_owned()),
        dashboard_base_url: Some("https://grafana.example/d/".to_owned()),
        ..Inputs::default()
    }
}

/// With a discovery whose queries run once a day.
fn with_discovery(inputs: Inputs) -> Inputs {
    let found = FoundThresholds { prefix: "lake/".to_owned(), thresholds: daily() };
    Inputs { discoveries: 1, found: [("lake".to_owned(), found)].into(), ..inputs }
}

/// A query that runs once a day.
fn daily() -> Thresholds {
    Thresholds { expected_interval: std::time::Duration::from_secs(24 * 60 * 60), ..Thresholds::default() }
}
