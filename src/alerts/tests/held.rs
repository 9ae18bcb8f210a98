//! What a replay says holds, beside the rules that Prometheus evaluates.

use std::collections::{BTreeMap, BTreeSet};

use crate::alerts::{Inputs, Severity, groups};

const HOLDING: &str = include_str!("../holding.rs");
/// About the watcher: a replay has none.
const OWN: &str = "brinkwatch-self";

/// Names in `holding.rs`, each with the severities that stand behind it.
fn held() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut held: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (at, _) in HOLDING.match_indices("\"Spark").chain(HOLDING.match_indices("\"Brinkwatch")) {
        let text = &HOLDING[at + 1..];
        let (name, rest) = text.split_once('"').unwrap();
        let severity = rest.split_once(')').unwrap().0.split_once("Severity::").map(|(_, word)| word);
        let known = held.entry(name).or_default();
        known.extend(severity.map(|word| word.trim_end_matches([',', ' ', '\n'])));
    }
    held
}

#[test]
fn every_alert_that_a_replay_names_is_a_rule_of_that_severity() {
    let mut rules: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut of_queries: BTreeSet<&str> = BTreeSet::new();
    for group in groups(&Inputs::default()) {
        for rule in group.rules {
            let severity = match rule.severity {
                Severity::Critical => "Critical",
                Severity::Warning => "Warning",
                Severity::Info => "Info",
            };
            rules.entry(rule.alert).or_default().insert(severity.to_owned());
            if group.name != OWN {
                of_queries.insert(rule.alert);
            }
        }
    }
    let held = held();
    for (name, severities) in &held {
        let known = rules.get(name).unwrap_or_else(|| panic!("no rule is called {name}"));
        assert!(severities.iter().all(|one| known.contains(*one)), "{name}: {severities:?}, the rules say {known:?}");
    }
    let missing: Vec<_> = of_queries.iter().filter(|name| !held.contains_key(*name)).collect();
    assert!(missing.is_empty(), "no replay ever says that these hold: {missing:?}");
    assert!(held.values().any(|severities| severities.len() == 2), "the severities were found");
}
