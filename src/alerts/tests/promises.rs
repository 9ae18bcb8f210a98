//! What every rule keeps to, read off the rules themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{daily, inputs, with_discovery};
use crate::alerts::promql::{Condition, Fold, Matching, Over, Value};
use crate::alerts::render::annotations;
use crate::alerts::{Rule, StaticLabel, groups};
use crate::judgement;
use crate::metrics::catalogue::{self, Kind, Unit};

/// Alerts that name no query: what they are about is the cluster or the watcher.
const NOT_OF_A_QUERY: [&str; 8] = [
    "SparkTopicRetentionLowered",
    "BrinkwatchKafkaUnreachable",
    "BrinkwatchPollStale",
    "BrinkwatchConfigReloadFailed",
    "BrinkwatchLedgerFailing",
    "BrinkwatchShardMissing",
    "BrinkwatchDiscoveryFailing",
    "BrinkwatchDown",
];

fn rules() -> Vec<Rule> {
    let rules: Vec<Rule> = groups(&with_discovery(inputs([("daily", daily())])))
        .into_iter()
        .flat_map(|group| group.rules.into_iter())
        .collect();
    assert!(rules.len() > 20, "only {} rules", rules.len());
    rules
}

/// Fails with the names of all rules that do not hold.
fn each(promise: impl Fn(&Rule) -> bool) {
    let broken: Vec<String> = rules()
        .iter()
        .filter(|rule| !promise(rule))
        .map(|rule| format!("{} ({}): {}", rule.alert, rule.severity.label(), rule.condition))
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_metric_is_in_the_catalogue() {
    each(|rule| {
        rule.condition.series().iter().all(|series| catalogue::find(series.metric.name) == Some(series.metric))
    });
}

#[test]
fn every_label_is_one_of_the_metric() {
    each(|rule| {
        rule.condition.series().iter().all(|series| {
            let named: Vec<&str> = series.matchers.iter().map(|matcher| matcher.label).collect();
            let folded = match &series.fold {
                Fold::Without(labels) | Fold::By(labels) => labels.as_slice(),
                Fold::Each => &[],
            };
            named.iter().chain(folded).all(|label| series.metric.labels.contains(label))
        })
    });
}

#[test]
fn every_bounded_value_is_a_word_of_the_judgement() {
    let known: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::from([
        ("problem", judgement::PartitionProblem::ALL.iter().map(|word| word.label()).collect()),
        ("condition", judgement::Condition::ALL.iter().map(|word| word.label()).collect()),
        ("event", judgement::EventKind::ALL.iter().map(|word| word.label()).collect()),
        ("certainty", judgement::Certainty::ALL.iter().map(|word| word.label()).collect()),
    ]);
    each(|rule| {
        rule.condition.series().iter().flat_map(|series| &series.matchers).all(|matcher| match &matcher.matching {
            Matching::Is(value) if matcher.label != "query" => known[matcher.label].contains(value.as_str()),
            _ => matcher.label == "query",
        })
    });
}

/// A counter may be read at its newest value, never through `rate` or `increase`: one that is first seen at 500 would
/// not have grown.
#[test]
fn flags_alone_are_read_through_their_maximum_and_counters_only_beside_a_time() {
    each(|rule| {
        let counters_have_times = match &rule.condition {
            Condition::Any(all) => all.iter().all(|one| match one {
                Condition::While(Value::Of(series), until) => {
                    series.metric.kind == Kind::Counter
                        && until.series().iter().all(|series| series.metric.unit == Unit::Timestamp)
                }
                other => other.series().iter().all(|series| series.metric.kind == Kind::Gauge),
            }),
            other => other.series().iter().all(|series| series.metric.kind == Kind::Gauge),
        };
        let maxima = rule.condition.series().into_iter().filter(|series| series.over == Over::Max);
        counters_have_times && maxima.into_iter().all(|series| series.metric.unit == Unit::Flag || series.highest)
    });
}

#[test]
fn replicas_are_folded_with_the_worse_side_everywhere_else() {
    each(|rule| {
        rule.condition.series().iter().filter(|series| series.fold != Fold::Each).all(|series| {
            let words = series.to_string();
            words.starts_with(series.metric.worse.word()) != (series.highest && series.metric.worse.word() != "max")
        })
    });
}

/// A process is told of by name; what it says of queries and topics, every replica says.
#[test]
fn only_what_is_about_one_process_is_read_replica_by_replica() {
    each(|rule| {
        rule.condition.series().iter().all(|series| series.fold != Fold::Each || series.metric.labels.is_empty())
    });
}

#[test]
fn all_series_of_one_query_s_rule_are_that_query_s() {
    each(|rule| {
        let own = |label: &StaticLabel| {
            let wanted = match label {
                StaticLabel::Query(query) => Matching::Is(query.clone()),
                StaticLabel::Discovery(_) => Matching::BeginsWith("lake/".to_owned()),
            };
            rule.condition.series().iter().all(|series| {
                series.matchers.iter().any(|matcher| matcher.label == "query" && matcher.matching == wanted)
            })
        };
        rule.query.as_ref().is_none_or(own)
    });
}

#[test]
fn no_fragile_function_is_used() {
    const FRAGILE: [&str; 6] = ["topk", "bottomk", "rate(", "increase(", "offset", "=~"];
    each(|rule| {
        // What a discovery finds is known by how its names begin, and by nothing else.
        let text = rule.condition.to_string().replace("query=~\"lake/.*\"", "");
        // "offset" is part of names; the modifier stands between spaces.
        FRAGILE
            .iter()
            .all(|word| !text.contains(&if *word == "offset" { " offset ".to_owned() } else { (*word).to_owned() }))
    });
}

#[test]
fn the_texts_of_every_alert_are_complete() {
    let inputs = inputs([]);
    each(|rule| {
        let texts: BTreeMap<&str, String> = annotations(&inputs, rule).into_iter().collect();
        let summary = &texts["summary"];
        let whole_sentence =
            summary.starts_with(char::is_uppercase) && summary.ends_with('.') && !summary.contains("{{");
        let names_the_query =
            NOT_OF_A_QUERY.contains(&rule.alert) || texts["description"].contains("{{ $labels.query }}");
        let runbook = format!("https://runbooks.example/{}.md", rule.alert);
        let no_double_space = !texts["description"].contains("  ");
        whole_sentence
            && names_the_query
            && no_double_space
            && texts["runbook_url"] == runbook
            && texts["dashboard_url"].starts_with("https://grafana.example/d/brinkwatch-")
    });
}

#[test]
fn each_alert_leads_to_the_dashboard_of_what_it_is_about() {
    let inputs = inputs([]);
    each(|rule| {
        let texts: BTreeMap<&str, String> = annotations(&inputs, rule).into_iter().collect();
        let dashboard = texts["dashboard_url"].split(['/', '?']).find(|part| part.starts_with("brinkwatch-"));
        dashboard
            == Some(match rule.alert {
                "SparkTopicRetentionLowered" => "brinkwatch-fleet",
                alert if alert.starts_with("Brinkwatch") => "brinkwatch-watcher",
                _ => "brinkwatch-query",
            })
    });
}

/// A label that is not in the result would print as nothing.
#[test]
fn texts_name_only_labels_that_the_condition_leaves() {
    each(|rule| {
        let condition = rule.condition.series();
        let mut named = rule.description.split("$labels.").skip(1).map(|rest| {
            rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or_default()
        });
        named.all(|label| {
            condition.iter().any(|series| match series.fold {
                Fold::Each => label == "instance",
                Fold::Without(_) | Fold::By(_) => series.metric.labels.contains(&label),
            })
        })
    });
}

#[test]
fn critical_is_never_slower_or_laxer_than_its_warning() {
    let rules = rules();
    let pairs = rules.iter().flat_map(|critical| {
        rules
            .iter()
            .filter(|warning| warning.alert == critical.alert && warning.query == critical.query)
            .map(move |warning| (critical, warning))
    });
    for (critical, warning) in pairs.filter(|(a, b)| a.severity < b.severity && a.condition != b.condition) {
        assert!(critical.hold <= warning.hold, "{}", critical.alert);
    }
}

#[test]
fn every_alert_keeps_firing_over_a_restart_of_the_watcher() {
    each(|rule| rule.keep_firing >= Duration::from_secs(600) && rule.keep_firing <= Duration::from_secs(900));
}

#[test]
fn no_two_rules_have_the_same_labels() {
    let rules = rules();
    let distinct: BTreeSet<_> = rules.iter().map(|rule| (rule.alert, rule.severity, rule.query.as_ref())).collect();
    assert_eq!(distinct.len(), rules.len());
}
