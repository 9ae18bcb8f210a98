//! What is going to be lost, or has been waiting for long.

use super::retention::{ON_SCHEDULE, on_schedule};
use super::{Inputs, KEEP, Share};
use crate::alerts::promql::{Condition, Value};
use crate::alerts::rule::{Rule, Severity, minutes};
use crate::metrics::catalogue::{QUERY_TOPIC_PROJECTED_LOSS, QUERY_TOPIC_RETENTION_SECONDS, QUERY_TOPIC_UNREAD_SINCE};

/// A forecast must also be nearer than this share of retention: on a topic that keeps an hour, every forecast is near.
const WARNING_SHARE: f64 = 0.5;
const CRITICAL_SHARE: f64 = 0.2;
/// What has waited for so much of its retention is old.
const OLD_SHARE: f64 = 0.25;

pub(in crate::alerts) fn rules(inputs: &Inputs) -> Vec<Rule> {
    let warnings = inputs.split(|thresholds| (thresholds.forecast_warning, thresholds.expected_interval));
    let criticals = inputs.split(|thresholds| (thresholds.forecast_critical, thresholds.expected_interval));
    let old = inputs.split(|thresholds| thresholds.expected_interval);
    let mut rules: Vec<Rule> = warnings.iter().map(|share| loss_forecast(inputs, share, Severity::Warning)).collect();
    rules.extend(criticals.iter().map(|share| loss_forecast(inputs, share, Severity::Critical)));
    rules.extend(old.iter().map(|share| last_batch_old(inputs, share)));
    rules
}

fn loss_forecast(inputs: &Inputs, share: &Share<'_>, severity: Severity) -> Rule {
    let (within, part, hold) = match severity {
        Severity::Critical => (share.thresholds.forecast_critical, CRITICAL_SHARE, minutes(5)),
        Severity::Warning | Severity::Info => (share.thresholds.forecast_warning, WARNING_SHARE, minutes(15)),
    };
    let left = || share.of(inputs.newest(&QUERY_TOPIC_PROJECTED_LOSS)).left();
    let retention = share.of(inputs.newest(&QUERY_TOPIC_RETENTION_SECONDS)).value();
    let near = Condition::Both(
        Box::new(left().below(within.as_secs_f64())),
        Box::new(Condition::Below(left(), Value::Times(part, Box::new(retention)))),
    );
    Rule {
        alert: "SparkStreamLossForecast",
        severity,
        condition: Condition::Unless(Box::new(near), Box::new(on_schedule(inputs, share))),
        hold,
        keep_firing: KEEP,
        query: share.static_query(),
        summary: "A Spark query is forecast to lose unread Kafka records.",
        description: "At the pace of the last hours Kafka begins to delete records of topic {{ $labels.topic }} on \
            {{ $labels.kafka_cluster }} that query {{ $labels.query }} has not read in about \
            {{ $value | humanizeDuration }}. This is an estimate: a longer batch or a burst of records moves it. Make the \
            query faster or the topic's retention longer. For the pace of each partition: \
            brinkwatch check {{ $labels.query }}",
    }
}

fn last_batch_old(inputs: &Inputs, share: &Share<'_>) -> Rule {
    let retention = share.of(inputs.newest(&QUERY_TOPIC_RETENTION_SECONDS)).value();
    let part = Value::Times(OLD_SHARE, Box::new(retention));
    let schedule = ON_SCHEDULE * share.thresholds.expected_interval.as_secs_f64();
    Rule {
        alert: "SparkStreamLastBatchOld",
        severity: Severity::Warning,
        condition: Condition::Above(
            share.of(inputs.newest(&QUERY_TOPIC_UNREAD_SINCE)).age(),
            Value::AtLeast(Box::new(part), schedule),
        ),
        hold: minutes(5),
        keep_firing: KEEP,
        query: share.static_query(),
        summary: "A Spark query has let a good part of Kafka retention pass without a batch.",
        description: "Topic {{ $labels.topic }} on {{ $labels.kafka_cluster }} has had records that query \
            {{ $labels.query }} has not read for {{ $value | humanizeDuration }}, without any progress. That is more than a \
            quarter of the time that Kafka keeps them. Nothing is lost yet. Is the query meant to run: \
            brinkwatch check {{ $labels.query }}",
    }
}
