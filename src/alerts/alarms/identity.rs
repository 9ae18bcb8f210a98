//! Positions that belong to another log than the one that is there.

use super::{Inputs, KEEP};
use crate::alerts::promql::Condition;
use crate::alerts::rule::{Rule, Severity, minutes};
use crate::judgement::{Condition as QueryCondition, PartitionProblem};
use crate::metrics::catalogue::{QUERY_CONDITION, QUERY_TOPIC_PARTITION_PROBLEMS};

pub(in crate::alerts) fn rules(inputs: &Inputs) -> Vec<Rule> {
    let some = |problem: PartitionProblem| -> Condition {
        inputs.newest(&QUERY_TOPIC_PARTITION_PROBLEMS).only("problem", problem.label()).value().above(0.0)
    };
    let mismatch =
        inputs.newest(&QUERY_CONDITION).only("condition", QueryCondition::ClusterMismatch.label()).value().equals(1.0);
    let rule = |alert, severity, hold, condition, summary, description| Rule {
        alert,
        severity,
        condition,
        hold: minutes(hold),
        keep_firing: KEEP,
        query: None,
        summary,
        description,
    };
    vec![
        rule(
            "SparkStreamTopicRecreated",
            Severity::Critical,
            1,
            some(PartitionProblem::Recreated),
            "A Kafka topic was deleted and made again under a Spark query.",
            "Topic {{ $labels.topic }} on {{ $labels.kafka_cluster }} is another topic than the one that query \
             {{ $labels.query }} has read. Its offsets mean nothing there. Spark stores no topic id: once the new topic is \
             long enough, a restart goes on in the middle of it without any error, and what lies before is never read. Stop \
             the query before you decide: brinkwatch check {{ $labels.query }}",
        ),
        rule(
            "SparkStreamClusterMismatch",
            Severity::Critical,
            1,
            mismatch,
            "A Spark query's checkpoint belongs to another Kafka cluster.",
            "The brokers of {{ $labels.kafka_cluster }} are not the cluster that query {{ $labels.query }} has read. The \
             offsets in its checkpoint mean nothing there, even where the topics have the same names. Do not restart the \
             query against these brokers: brinkwatch check {{ $labels.query }}",
        ),
        rule(
            "SparkStreamOffsetBeyondEnd",
            Severity::Critical,
            1,
            some(PartitionProblem::BeyondEnd),
            "A Spark query's offsets lie beyond the end of the Kafka log.",
            "{{ printf \"%.0f\" $value }} partitions of topic {{ $labels.topic }} on {{ $labels.kafka_cluster }} end, or ended, \
             below what query {{ $labels.query }} has committed: the log was cut or replaced. With failOnDataLoss=true a \
             restart fails until the log has grown past the offset; after that, new records below it are skipped \
             silently: brinkwatch check {{ $labels.query }}",
        ),
        rule(
            "SparkStreamPartitionsGone",
            Severity::Critical,
            5,
            some(PartitionProblem::Gone),
            "Kafka partitions with unread records are gone.",
            "{{ printf \"%.0f\" $value }} partitions of topic {{ $labels.topic }} that query {{ $labels.query }} had not read to \
             the end are not on {{ $labels.kafka_cluster }} any more. A restart fails, with a subscription to named topics \
             whatever failOnDataLoss says: brinkwatch check {{ $labels.query }}",
        ),
        rule(
            "SparkStreamPartitionsGone",
            Severity::Warning,
            5,
            some(PartitionProblem::GoneCaughtUp),
            "Kafka partitions that a Spark query had read to the end are gone.",
            "{{ printf \"%.0f\" $value }} partitions of topic {{ $labels.topic }} in the checkpoint of query {{ $labels.query }} \
             are not on {{ $labels.kafka_cluster }}. Nothing unread was seen in them. A restart still fails with \
             failOnDataLoss=true: brinkwatch check {{ $labels.query }}",
        ),
    ]
}
