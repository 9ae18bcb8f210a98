//! The watcher itself.

use super::{Inputs, KEEP, both_severities};
use crate::alerts::promql::{Condition, Over, Series, Value};
use crate::alerts::rule::{Rule, Severity, minutes};
use crate::metrics::catalogue::{
    BUILD_INFO, CHECKPOINT_POLL_LAST_ATTEMPT, CLUSTER_POLL_LAST_ATTEMPT, CLUSTER_UP, CONFIG_LAST_RELOAD_SUCCESSFUL,
    DISCOVERY_REFUSED_CHECKPOINTS, DISCOVERY_UP, LEDGER_UP, Metric, QUERY_SERIES_DROPPED, SHARD_ORDINAL, SHARDS,
};

pub(in crate::alerts) fn rules(inputs: &Inputs) -> Vec<Rule> {
    let mut rules = kafka_unreachable(inputs);
    rules.extend([
        poll_stale(inputs),
        discovery_failing(inputs),
        reload_failed(inputs),
        ledger_failing(inputs),
        series_dropped(inputs),
        shard_missing(inputs),
        down(),
    ]);
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

/// Of one process: which one is what a person has to know.
fn never_in_window(inputs: &Inputs, metric: &'static Metric) -> Condition {
    let flag = Series { over: Over::Max, ..inputs.newest(metric).each() };
    flag.value().equals(0.0)
}

fn reload_failed(inputs: &Inputs) -> Rule {
    Rule {
        alert: "BrinkwatchConfigReloadFailed",
        severity: Severity::Warning,
        condition: never_in_window(inputs, &CONFIG_LAST_RELOAD_SUCCESSFUL),
        hold: minutes(5),
        keep_firing: KEEP,
        query: None,
        summary: "Brinkwatch did not take its new configuration.",
        description: "Brinkwatch on {{ $labels.instance }} was told to read its configuration again and found mistakes. It goes \
            on with the old one: queries that were added since are not watched. For every mistake with its key: \
            brinkwatch config check",
    }
}

fn ledger_failing(inputs: &Inputs) -> Rule {
    Rule {
        alert: "BrinkwatchLedgerFailing",
        severity: Severity::Warning,
        condition: never_in_window(inputs, &LEDGER_UP),
        hold: minutes(5),
        keep_firing: KEEP,
        query: None,
        summary: "Brinkwatch cannot write its ledger.",
        description: "Brinkwatch on {{ $labels.instance }} cannot write down what it has seen. It goes on watching from memory \
            and writes when it can. If it is restarted before, losses that were counted since are forgotten, and a topic \
            that was made again meanwhile is not recognised. Look at its log, then at the disk of state_dir, \
            or at the database of ledger.url.",
    }
}

fn series_dropped(inputs: &Inputs) -> Rule {
    Rule {
        alert: "BrinkwatchSeriesDropped",
        severity: Severity::Warning,
        condition: inputs.newest(&QUERY_SERIES_DROPPED).value().above(0.0),
        hold: minutes(15),
        keep_firing: KEEP,
        query: None,
        summary: "Brinkwatch leaves out the partitions of a Spark query.",
        description: "Query {{ $labels.query }} on {{ $labels.kafka_cluster }} would have {{ printf \"%.0f\" $value }} series more \
            than its limit, so its partitions are not published one by one. Alerts are not touched by that: they read the \
            topic's sums. Raise series_limit, or set granularity to topic.",
    }
}

/// Every shard tells how many there are, so one that is there is enough to miss another.
fn shard_missing(inputs: &Inputs) -> Rule {
    let seen = Value::Distinct(inputs.newest(&SHARD_ORDINAL).each());
    Rule {
        alert: "BrinkwatchShardMissing",
        severity: Severity::Warning,
        condition: Condition::Below(seen, inputs.newest(&SHARDS).by(&[]).value()),
        hold: minutes(10),
        keep_firing: KEEP,
        query: None,
        summary: "A shard of Brinkwatch is missing, and its queries are not watched.",
        description: "Only {{ printf \"%.0f\" $value }} shards of Brinkwatch answer, fewer than there should be. The queries of \
            the missing one are watched by nobody, and their alerts are silent. Get it running: brinkwatch_shard_ordinal \
            shows which ones are there.",
    }
}
