//! Thresholds of single queries, and the thresholds in the expressions.

use std::time::Duration;

use super::{daily, inputs, with_discovery};
use crate::alerts::{Inputs, Rule, Severity, Thresholds, groups};

fn found(inputs: &Inputs, alert: &str, severity: Severity) -> Vec<Rule> {
    let rules = groups(inputs).into_iter().flat_map(|group| group.rules.into_iter());
    rules.filter(|rule| rule.alert == alert && rule.severity == severity).collect()
}

/// Which rules an alert has: the static query, and whether the expression holds each of these.
fn check(inputs: &Inputs, alert: &str, severity: Severity, expected: &[(Option<&str>, &[&str])]) {
    let rules = found(inputs, alert, severity);
    let queries: Vec<Option<&str>> = rules.iter().map(|rule| rule.query.as_ref().map(|label| label.pair().1)).collect();
    assert_eq!(queries, expected.iter().map(|(query, _)| *query).collect::<Vec<_>>(), "{alert}");
    for (rule, (_, parts)) in rules.iter().zip(expected) {
        let text = rule.condition.to_string();
        for part in *parts {
            assert!(text.contains(part), "{alert} lacks {part}:\n{text}");
        }
    }
}

#[test]
fn without_overrides_one_rule_holds_for_all_queries() {
    let none = inputs([]);
    check(&none, "SparkStreamRetentionRisk", Severity::Warning, &[(None, &["ratio[5m])) < 0.5", "<= 750"])]);
    check(&none, "SparkStreamRetentionRisk", Severity::Critical, &[(None, &["ratio[5m])) < 0.2"])]);
    check(&none, "SparkStreamStalled", Severity::Warning, &[(None, &["> 1800"])]);
    check(&none, "SparkStreamStalled", Severity::Critical, &[(None, &["> 10800"])]);
}

#[test]
fn a_query_gets_its_own_rule_only_where_its_thresholds_change_it() {
    let one = inputs([("daily", daily())]);
    let excluded = "{query!=\"daily\"}";
    let only = "{query=\"daily\"}";
    check(
        &one,
        "SparkStreamRetentionRisk",
        Severity::Warning,
        &[(None, &[excluded]), (Some("daily"), &[only, "<= 108000"])],
    );
    check(
        &one,
        "SparkStreamStalled",
        Severity::Critical,
        &[(None, &[excluded]), (Some("daily"), &[only, "> 1555200"])],
    );
    // The critical ratio is the same for all, and loss has no threshold.
    check(&one, "SparkStreamRetentionRisk", Severity::Critical, &[(None, &["ratio[5m])) < 0.2"])]);
    check(&one, "SparkStreamDataLost", Severity::Critical, &[(None, &["lost_offsets[5m])) > 0"])]);
}

#[test]
fn an_override_that_overrides_nothing_makes_no_rule() {
    let same = inputs([("same", Thresholds::default())]);
    check(&same, "SparkStreamRetentionRisk", Severity::Warning, &[(None, &["ratio[5m])) < 0.5"])]);
}

#[test]
fn several_queries_are_excluded_by_one_escaped_pattern() {
    let two = inputs([("a.b", daily()), ("c|d", daily())]);
    let excluded = r#"{query!~"a\\.b|c\\|d"}"#;
    check(
        &two,
        "SparkStreamStalled",
        Severity::Warning,
        &[(None, &[excluded]), (Some("a.b"), &[r#"{query="a.b"}"#]), (Some("c|d"), &[r#"{query="c|d"}"#])],
    );
}

#[test]
fn what_a_discovery_finds_later_is_known_by_how_its_names_begin() {
    let found = with_discovery(inputs([("q", daily())]));
    check(
        &found,
        "SparkStreamStalled",
        Severity::Warning,
        &[
            (None, &[r#"{query!="q", query!~"lake/.*"}"#]),
            (Some("q"), &[r#"{query="q"}"#]),
            (Some("lake"), &[r#"{query=~"lake/.*"}"#, "> 259200"]),
        ],
    );
    // where its thresholds change nothing, there is one rule for all
    let one = with_discovery(inputs([]));
    check(&one, "SparkStreamRetentionRisk", Severity::Critical, &[(None, &["ratio[5m])) < 0.2"])]);
}

#[test]
fn the_beginning_of_names_is_escaped() {
    let mut one = with_discovery(inputs([]));
    one.found.get_mut("lake").unwrap().prefix = "a.b|\"".to_owned();
    let other = crate::alerts::FoundThresholds { prefix: "etl/".to_owned(), thresholds: daily() };
    one.found.insert("etl".to_owned(), other);
    check(
        &one,
        "SparkStreamStalled",
        Severity::Warning,
        &[
            (None, &[r#"{query!~"etl/.*|a\\.b\\|\".*"}"#]),
            (Some("etl"), &[r#"{query=~"etl/.*"}"#]),
            (Some("lake"), &[r#"{query=~"a\\.b\\|\".*"}"#]),
        ],
    );
}

#[test]
fn names_are_escaped_as_strings_of_promql() {
    let hostile = "a\"b\\c{d}\n\u{85}ü";
    let one = inputs([(hostile, daily())]);
    check(
        &one,
        "SparkStreamStalled",
        Severity::Warning,
        &[
            (None, &[r#"{query!="a\"b\\c{d}\n\U00000085ü"}"#]),
            (Some(hostile), &[r#"{query="a\"b\\c{d}\n\U00000085ü"}"#]),
        ],
    );
}

#[test]
fn a_query_counts_as_stalled_only_when_the_window_has_passed() {
    let quick = Thresholds { expected_interval: Duration::from_secs(10), ..Thresholds::default() };
    let one = inputs([("quick", quick)]);
    check(&one, "SparkStreamStalled", Severity::Warning, &[(None, &["> 1800"]), (Some("quick"), &["> 300"])]);
}

#[test]
fn slow_polls_widen_the_window_and_the_wait_for_a_poll() {
    let slow = Inputs { window: Duration::from_secs(1260), poll_interval: Duration::from_secs(600), ..inputs([]) };
    check(&slow, "BrinkwatchPollStale", Severity::Warning, &[(None, &["[21m]", "> 1800"])]);
    check(&inputs([]), "BrinkwatchPollStale", Severity::Warning, &[(None, &["[5m]", "> 300"])]);
}
