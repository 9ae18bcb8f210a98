//! Data that is about to go, or lives too short a time.

use std::time::Duration;

use super::{Inputs, KEEP, Share};
use crate::alerts::promql::{Condition, Over, Series, Value};
use crate::alerts::rule::{Rule, Severity, minutes};
use crate::judgement::PartitionProblem;
use crate::metrics::catalogue::{
    Metric, QUERY_EXPECTED_INTERVAL, QUERY_OUTAGE_BUDGET, QUERY_TOPIC_DELETION_DEADLINE, QUERY_TOPIC_LAG_OFFSETS,
    QUERY_TOPIC_OLDEST_UNREAD, QUERY_TOPIC_PARTITION_PROBLEMS, QUERY_TOPIC_RETENTION_REMAINING_RATIO,
    QUERY_TOPIC_RETENTION_SECONDS, TOPIC_RETENTION_BYTES, TOPIC_RETENTION_SECONDS,
};

/// A query is on schedule while its oldest unread record is younger than so many expected intervals.
pub(super) const ON_SCHEDULE: f64 = 1.25;

const RISK: &str = "The oldest record of topic {{ $labels.topic }} on {{ $labels.kafka_cluster }} that query \
    {{ $labels.query }} has not read has {{ $value | humanizePercentage }} of its retention left. At zero Kafka may \
    delete it. Get the query running, or lengthen the topic's retention now: both help only before the deletion. \
    For the deadline of each partition: brinkwatch check {{ $labels.query }}";

pub(in crate::alerts) fn rules(inputs: &Inputs) -> Vec<Rule> {
    let warnings = inputs.split(|thresholds| (thresholds.risk_warning, thresholds.expected_interval));
    let criticals = inputs.split(|thresholds| thresholds.risk_critical);
    let mut rules: Vec<Rule> = warnings.iter().map(|share| risk_warning(inputs, share)).collect();
    rules.extend(criticals.iter().map(|share| risk_critical(inputs, share)));
    rules.extend([outage_budget(inputs), retention_unknown(inputs), retention_lowered(inputs)]);
    rules
}

fn risk_warning(inputs: &Inputs, share: &Share<'_>) -> Rule {
    let low = share_left_below(inputs, share, share.thresholds.risk_warning);
    Rule {
        alert: "SparkStreamRetentionRisk",
        severity: Severity::Warning,
        condition: Condition::Unless(Box::new(low), Box::new(on_schedule(inputs, share))),
        hold: minutes(5),
        keep_firing: KEEP,
        query: share.static_query(),
        summary: "A Spark query is running out of Kafka retention.",
        description: RISK,
    }
}

fn risk_critical(inputs: &Inputs, share: &Share<'_>) -> Rule {
    Rule {
        alert: "SparkStreamRetentionRisk",
        severity: Severity::Critical,
        condition: share_left_below(inputs, share, share.thresholds.risk_critical),
        hold: minutes(1),
        keep_firing: KEEP,
        query: share.static_query(),
        summary: "A Spark query is about to lose unread Kafka records.",
        description: RISK,
    }
}

/// A query that runs at times is not in trouble between its runs.
pub(super) fn on_schedule(inputs: &Inputs, share: &Share<'_>) -> Condition {
    let interval = share.thresholds.expected_interval.as_secs_f64();
    share.of(inputs.newest(&QUERY_TOPIC_OLDEST_UNREAD)).age().at_most(ON_SCHEDULE * interval)
}

/// The ratio as published; and the share that follows from the proved deadline, which goes on shrinking while neither
/// checkpoint nor brokers can be read.
fn share_left_below(inputs: &Inputs, share: &Share<'_>, limit: f64) -> Condition {
    let of = |metric| share.of(inputs.newest(metric));
    let until_deadline = of(&QUERY_TOPIC_DELETION_DEADLINE).left();
    let proved = Value::Share(Box::new(until_deadline), Box::new(of(&QUERY_TOPIC_RETENTION_SECONDS).value()));
    Condition::Any(vec![of(&QUERY_TOPIC_RETENTION_REMAINING_RATIO).value().below(limit), proved.below(limit)])
}

fn outage_budget(inputs: &Inputs) -> Rule {
    let per_query = |metric| inputs.newest(metric).by(&["query", "kafka_cluster"]).value();
    let wanted = Value::Sum(Box::new(per_query(&QUERY_OUTAGE_BUDGET)), Box::new(per_query(&QUERY_EXPECTED_INTERVAL)));
    Rule {
        alert: "SparkStreamOutageBudgetTooSmall",
        severity: Severity::Warning,
        condition: Condition::Any(vec![
            Condition::BelowPerQuery(inputs.newest(&QUERY_TOPIC_RETENTION_SECONDS).value(), wanted),
            Condition::BelowPerQuery(
                inputs.newest(&QUERY_TOPIC_DELETION_DEADLINE).left(),
                per_query(&QUERY_OUTAGE_BUDGET),
            ),
        ]),
        hold: minutes(15),
        keep_firing: KEEP,
        query: None,
        summary: "Kafka retention would not survive an outage of a Spark query.",
        description: "If query {{ $labels.query }} stopped now, unread records of topic {{ $labels.topic }} on \
            {{ $labels.kafka_cluster }} would be safe for only {{ $value | humanizeDuration }}. That is less than the \
            outage it should survive (max_outage). Nothing is lost yet. Lengthen the topic's retention, or lower max_outage \
            if that much is enough.",
    }
}

fn retention_unknown(inputs: &Inputs) -> Rule {
    let problem = inputs
        .newest(&QUERY_TOPIC_PARTITION_PROBLEMS)
        .only("problem", PartitionProblem::RetentionUnknown.label())
        .value()
        .above(0.0);
    let unread = inputs.newest(&QUERY_TOPIC_LAG_OFFSETS).value().above(0.0);
    Rule {
        alert: "SparkStreamRetentionUnknown",
        severity: Severity::Warning,
        condition: Condition::Both(Box::new(problem), Box::new(unread)),
        hold: minutes(60),
        keep_firing: KEEP,
        query: None,
        summary: "Nothing tells how long unread Kafka records will live.",
        description: "{{ printf \"%.0f\" $value }} partitions of topic {{ $labels.topic }} on {{ $labels.kafka_cluster }} \
            hold records that query {{ $labels.query }} has not read, and their retention is not known. No warning can come \
            before a loss. Usually the right to describe the topic's configuration is missing: \
            brinkwatch check {{ $labels.query }}",
    }
}

fn retention_lowered(inputs: &Inputs) -> Rule {
    let lowered = |metric: &'static Metric| {
        let day = Duration::from_secs(24 * 60 * 60);
        let highest = Series { over: Over::Max, window: day, highest: true, ..inputs.newest(metric) };
        Condition::Below(inputs.newest(metric).value(), highest.value())
    };
    Rule {
        alert: "SparkTopicRetentionLowered",
        severity: Severity::Warning,
        condition: Condition::Any(vec![lowered(&TOPIC_RETENTION_SECONDS), lowered(&TOPIC_RETENTION_BYTES)]),
        hold: minutes(0),
        keep_firing: KEEP,
        query: None,
        summary: "The retention of a Kafka topic that Spark reads was lowered.",
        description: "Topic {{ $labels.topic }} on {{ $labels.kafka_cluster }} keeps its records for less time, or fewer of \
            them, than within the last day. Kafka deletes what is now too old at its next check, minutes from now, whether \
            or not Spark has read it. If nobody meant to: set retention.ms and retention.bytes back at once.",
    }
}
