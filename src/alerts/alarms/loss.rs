//! Data that is gone.

use super::{Inputs, KEEP};
use crate::alerts::promql::Condition;
use crate::alerts::rule::{Rule, Severity, minutes};
use crate::judgement::Certainty;
use crate::metrics::catalogue::{
    Metric, QUERY_TOPIC_GAPS_UNRESOLVED, QUERY_TOPIC_LAST_LOSS, QUERY_TOPIC_LOST_OFFSETS,
    QUERY_TOPIC_OFFSETS_LOST_TOTAL, QUERY_TOPIC_POSSIBLY_LOST_OFFSETS,
};

/// A loss is told for so long after it was counted, also when the query has skipped on and nothing shows any more.
const TOLD_FOR_SECONDS: f64 = 3600.0;

pub(in crate::alerts) fn rules(inputs: &Inputs) -> Vec<Rule> {
    vec![
        Rule {
            alert: "SparkStreamDataLost",
            severity: Severity::Critical,
            condition: standing_or_recent(inputs, &QUERY_TOPIC_LOST_OFFSETS, Certainty::Certain),
            hold: minutes(0),
            keep_firing: minutes(15),
            query: None,
            summary: "Kafka deleted records that a Spark query had not read.",
            description: "{{ printf \"%.0f\" $value }} offsets of topic {{ $labels.topic }} on {{ $labels.kafka_cluster }} \
                were deleted before query {{ $labels.query }} had committed them. They cannot be read from Kafka any more. \
                With failOnDataLoss=true the query fails at the missing range, again at each restart; with false it goes on \
                behind it without them. For the partitions, the ranges and what a restart does: \
                brinkwatch check {{ $labels.query }}",
        },
        Rule {
            alert: "SparkStreamDataPossiblyLost",
            severity: Severity::Warning,
            condition: standing_or_recent(inputs, &QUERY_TOPIC_POSSIBLY_LOST_OFFSETS, Certainty::Possible),
            hold: minutes(0),
            keep_firing: minutes(15),
            query: None,
            summary: "Kafka deleted records that a Spark query may not have read in time.",
            description: "{{ printf \"%.0f\" $value }} offsets of topic {{ $labels.topic }} on {{ $labels.kafka_cluster }} \
                were deleted while query {{ $labels.query }} was about to read them. Its batch may have had them already. \
                The driver's log says so if it did not. For the partitions and the open batch: \
                brinkwatch check {{ $labels.query }}",
        },
        Rule {
            alert: "SparkStreamGapUnresolved",
            severity: Severity::Warning,
            condition: inputs.newest(&QUERY_TOPIC_GAPS_UNRESOLVED).value().above(0.0),
            hold: minutes(60),
            keep_firing: KEEP,
            query: None,
            summary: "A loss of Kafka records waits for somebody's decision.",
            description: "{{ printf \"%.0f\" $value }} gap records of query {{ $labels.query }} on topic {{ $labels.topic }} \
                ({{ $labels.kafka_cluster }}) are open: the records are gone, and nobody has written down what became of \
                them. Fill the gap from elsewhere or accept it, then say so: brinkwatch gaps list, \
                brinkwatch gaps resolve",
        },
    ]
}

/// The gauge shows a loss that stands. The counter with its time shows one that was counted and passed over between two
/// scrapes, or before this Prometheus ever saw the series, which `increase()` would miss.
fn standing_or_recent(inputs: &Inputs, standing: &'static Metric, certainty: Certainty) -> Condition {
    let of = |metric| inputs.newest(metric).only("certainty", certainty.label());
    let recent = of(&QUERY_TOPIC_LAST_LOSS).age().below(TOLD_FOR_SECONDS);
    Condition::Any(vec![
        inputs.newest(standing).value().above(0.0),
        Condition::While(of(&QUERY_TOPIC_OFFSETS_LOST_TOTAL).value(), Box::new(recent)),
    ])
}
