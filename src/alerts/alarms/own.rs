//! The watcher itself.

use super::{Inputs, KEEP, both_severities};
use crate::alerts::promql::{Condition, Over};
use crate::alerts::rule::{Rule, Severity, minutes};
use crate::metrics::catalogue::{
    BUILD_INFO, CHECKPOINT_POLL_LAST_ATTEMPT, CLUSTER_POLL_LAST_ATTEMPT, CLUSTER_UP, DISCOVERY_REFUSED_CHECKPOINTS,
    DISCOVERY_UP,
};

pub(in crate::alerts) fn rules(inputs: &Inputs) -> Vec<Rule> {
    let mut rules = kafka_unreachable(inputs);
    rules.extend([poll_stale(inputs), discovery_failing(inputs), down()]);
    rules
}

fn kafka_unreachable(inputs: &Inputs) -> Vec<Rule> {
    let mut up = inputs.newest(&CLUSTER_UP);
    // One good poll in the window is good enough.
    up.over = Over::Max;
    let warning = Rule {
        alert: "BrinkwatchKafkaUnreachable",
        severity: Severity::Warning,
        condition: up.value().equals(0.0),
        hold: minutes(5),
        keep_firing: KEEP,
        query: None,
        summary: "Brinkwatch cannot read a Kafka cluster.",
        description: "No poll of {{ $labels.kafka_cluster }} works. Lag and headroom of its queries are not known; deadlines \
            that were proved before go on counting down. For the reason: the label reason of \
            brinkwatch_cluster_poll_failures_total, and Brinkwatch's log.",
    };
    both_severities(warning, minutes(60))
}

/// Polls that fail are told by `*_up`; this one is about polls that are not even tried.
fn poll_stale(inputs: &Inputs) -> Rule {
    let longest = inputs.poll_interval.saturating_mul(3).max(minutes(5)).as_secs_f64();
    let overdue = |metric| inputs.newest(metric).age().above(longest);
    Rule {
        alert: "BrinkwatchPollStale",
        severity: Severity::Warning,
        condition: Condition::Any(vec![overdue(&CLUSTER_POLL_LAST_ATTEMPT), overdue(&CHECKPOINT_POLL_LAST_ATTEMPT)]),
        hold: minutes(5),
        keep_firing: KEEP,
        query: None,
        summary: "Brinkwatch has stopped polling.",
        description: "Brinkwatch has not polled {{ with $labels.query }}the checkpoint of query {{ . }} on {{ end }}\
            {{ $labels.kafka_cluster }} for {{ $value | humanizeDuration }}, though it still answers. What it publishes is \
            that old. Look at its log, then restart it.",
    }
}

/// What is not watched raises no other alert.
fn discovery_failing(inputs: &Inputs) -> Rule {
    let mut up = inputs.newest(&DISCOVERY_UP);
    up.over = Over::Max;
    let refused = inputs.newest(&DISCOVERY_REFUSED_CHECKPOINTS).value().above(0.0);
    Rule {
        alert: "BrinkwatchDiscoveryFailing",
        severity: Severity::Warning,
        condition: Condition::Any(vec![up.value().equals(0.0), refused]),
        hold: minutes(15),
        keep_firing: KEEP,
        query: None,
        summary: "Brinkwatch does not watch every checkpoint that it should find.",
        description: "Discovery {{ $labels.discovery }} cannot look through all of its place, or found checkpoints whose names \
            other queries have: queries that are new there are not watched. Known ones go on being watched. For the \
            reason: the label reason of brinkwatch_discovery_poll_failures_total, and Brinkwatch's log.",
    }
}

/// Bare, because `absent` over a window would wait for the whole window first; `for` bridges a failed scrape.
fn down() -> Rule {
    Rule {
        alert: "BrinkwatchDown",
        severity: Severity::Warning,
        condition: Condition::Absent(&BUILD_INFO),
        hold: minutes(5),
        keep_firing: KEEP,
        query: None,
        summary: "Prometheus sees no Brinkwatch.",
        description: "No running Brinkwatch is scraped: no Spark query is being watched, and no other alert of Brinkwatch can \
            fire. Look at Prometheus' targets, then at the service and its log.",
    }
}
