//! From a scenario's configuration to what a replay needs, through the checks of every other configuration.

use std::collections::BTreeMap;

use super::super::rules::thresholds;
use crate::alerts::Inputs;
use crate::config::{self, AlertSettings, ConfigFile};
use crate::daemon::{query_settings, source_filter};
use crate::replay::{Scenario, ScenarioError, Setting, Setup};

/// The names under which a scenario's one cluster and query are configured.
const NAME: &str = "replay";
const TOP_LEVEL: [&str; 5] = ["state_dir", "poll_interval", "stale_after", "confirm_polls", "confirm_time"];
const ALERTS: [&str; 9] = [
    "risk_warning",
    "risk_critical",
    "forecast_warning",
    "forecast_critical",
    "stalled_after",
    "window",
    "scrape_interval",
    "runbook_base_url",
    "dashboard_base_url",
];
/// Given by the scenario itself.
const NOT_HERE: [&str; 2] = ["checkpoint", "cluster"];

/// Takes any key of `[queries.x]`, `[alerts]` and the top level, and `clock_skew`.
///
/// # Errors
/// The first key that is none, or whose value does not fit.
pub fn setup(scenario: &Scenario) -> Result<Setup, ScenarioError> {
    let mut overrides = vec![
        (format!("clusters.{NAME}.bootstrap_servers"), "scenario:9092".to_owned()),
        (format!("queries.{NAME}.checkpoint"), "/scenario".to_owned()),
        (format!("queries.{NAME}.cluster"), NAME.to_owned()),
    ];
    for setting in &scenario.configuration {
        if NOT_HERE.contains(&setting.key.as_str()) {
            return Err(mistake(setting, "unknown key"));
        }
        overrides.push((full_key(&setting.key), setting.value.clone()));
    }
    let config = config::load(ConfigFile::Absent, BTreeMap::new(), &overrides).map_err(|error| {
        let first = error.mistakes().first();
        let key = first.map(|mistake| mistake.key.to_string()).unwrap_or_default();
        let reason = first.map_or_else(|| error.to_string(), |mistake| mistake.problem.clone());
        let at = scenario.configuration.iter().find(|setting| full_key(&setting.key) == key);
        match at {
            Some(setting) => mistake(setting, &reason),
            None => ScenarioError { line: 1, key: format!("configuration.{key}"), reason },
        }
    })?;
    let (Some(query), Some(cluster)) = (config.queries.get(NAME), config.clusters.get(NAME)) else {
        return Err(ScenarioError { line: 1, key: "configuration".to_owned(), reason: "names no query".to_owned() });
    };
    let AlertSettings { window, .. } = config.alerts;
    Ok(Setup {
        settings: query_settings(&config, query, cluster),
        sources: source_filter(query, NAME),
        thresholds: thresholds(&query.alerts.thresholds, query.expected_batch_interval),
        window: window.max(Inputs::default().window),
        poll_interval: cluster.poll_interval,
        stale_after: cluster.stale_after,
    })
}

fn full_key(key: &str) -> String {
    match key {
        "clock_skew" => format!("clusters.{NAME}.{key}"),
        _ if TOP_LEVEL.contains(&key) => key.to_owned(),
        _ if ALERTS.contains(&key) => format!("alerts.{key}"),
        _ => format!("queries.{NAME}.{key}"),
    }
}

fn mistake(setting: &Setting, reason: &str) -> ScenarioError {
    ScenarioError { line: setting.line, key: format!("configuration.{}", setting.key), reason: reason.to_owned() }
}
