//! Series that Prometheus computes once and keeps: what dashboards ask for again and again, and lag under other tools'
//! names.

use super::Inputs;
use super::promql::{Series, Value};
use crate::metrics::catalogue::{
    LAG_OFFSETS, Metric, QUERY_MAX_PARTITION_LAG_OFFSETS, QUERY_TOPIC_COMMITTED_OFFSETS, QUERY_TOPIC_DELETION_DEADLINE,
    QUERY_TOPIC_LAG_OFFSETS, QUERY_TOPIC_OLDEST_UNREAD, QUERY_TOPIC_RETENTION_REMAINING_RATIO,
};

/// The reading pace of the last quarter of an hour, which the estimate of the catch-up divides by.
const PACE: &str = "query_topic:brinkwatch_consumed_offsets:deriv15m";

/// One recording rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Its name: level, metric, operation.
    pub record: &'static str,
    /// What is computed.
    pub expression: String,
}

/// Sums and minima per query, the age of what is unread, and how long a query still needs at its pace.
pub(super) fn for_dashboards(inputs: &Inputs) -> Vec<Recording> {
    let newest = |metric: &'static Metric| Series::newest(metric, inputs.window);
    let of_query = |metric| Series::newest(metric, inputs.window).and_without("topic");
    let lag = newest(&QUERY_TOPIC_LAG_OFFSETS);
    let age = Value::AtLeast(Box::new(newest(&QUERY_TOPIC_OLDEST_UNREAD).age()), 0.0);
    let committed = QUERY_TOPIC_COMMITTED_OFFSETS.name;
    let recording = |record, expression| Recording { record, expression };
    vec![
        recording("query_topic:brinkwatch_lag_offsets:max", lag.to_string()),
        recording("query:brinkwatch_lag_offsets:sum", format!("sum without (topic) ({lag})")),
        recording(
            "query:brinkwatch_retention_remaining_ratio:min",
            of_query(&QUERY_TOPIC_RETENTION_REMAINING_RATIO).to_string(),
        ),
        recording(
            "query:brinkwatch_retention_remaining_seconds:min",
            of_query(&QUERY_TOPIC_DELETION_DEADLINE).left().to_string(),
        ),
        // Nothing unread is no unread age: zero, and not absent, or every idle query would be a hole in a picture.
        recording("query_topic:brinkwatch_unread_age_seconds:max", format!("{age}\nor\n{lag} == 0")),
        recording(PACE, format!("clamp_min(max without (instance, pod) (deriv({committed}[15m])), 0)")),
        recording("query_topic:brinkwatch_catch_up_seconds:estimate", format!("{lag}\n/ ({PACE} > 0)")),
    ]
}

/// Lag as exporters of consumer groups call it, the query standing for the group.
pub(super) fn under_consumer_group_names(inputs: &Inputs) -> Vec<Recording> {
    let renamed = |metric: &'static Metric| {
        let series = Series::newest(metric, inputs.window);
        let grouped = format!("label_replace({series}, \"group\", \"$1\", \"query\", \"(.*)\")");
        format!("label_replace({grouped}, \"cluster_name\", \"$1\", \"kafka_cluster\", \"(.*)\")")
    };
    let recording = |record, metric| Recording { record, expression: renamed(metric) };
    vec![
        recording("kafka_consumergroup_group_lag", &LAG_OFFSETS),
        recording("kafka_consumergroup_group_topic_sum_lag", &QUERY_TOPIC_LAG_OFFSETS),
        recording("kafka_consumergroup_group_max_lag", &QUERY_MAX_PARTITION_LAG_OFFSETS),
    ]
}
