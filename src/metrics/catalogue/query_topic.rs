//! Per topic of a query: always published, and what rules use.

use super::{Kind, Metric, Side, Stability, Unit, metrics};

const LABELS: &[&str] = &["query", "kafka_cluster", "topic"];
const BY_CERTAINTY: &[&str] = &["query", "kafka_cluster", "topic", "certainty"];

metrics! {
    /// Per topic of a query: always there, what rules use.
    QUERY_TOPIC_METRICS;

    QUERY_TOPIC_LAG_OFFSETS = Gauge "query_topic_lag_offsets" LABELS, Offsets Max polled:
        "Sum over partitions of unread offsets that are still there; absent while a partition is unknown.";
    QUERY_TOPIC_LOST_OFFSETS = Gauge "query_topic_lost_offsets" LABELS, Offsets Max polled:
        "Sum over partitions of unread offsets that are certainly gone.";
    QUERY_TOPIC_POSSIBLY_LOST_OFFSETS = Gauge "query_topic_possibly_lost_offsets" LABELS, Offsets Max polled:
        "Sum over partitions of offsets that are gone while a young open batch may still be reading them.";
    QUERY_TOPIC_COMMITTED_OFFSETS = Gauge "query_topic_committed_offsets" LABELS, Offsets Min polled:
        "Sum of committed offsets; its rate is the reading speed; absent while a partition is unknown.";
    QUERY_TOPIC_HEADROOM_OFFSETS = Gauge "query_topic_headroom_offsets" LABELS, Offsets Min polled:
        "Committed minus earliest offset of the worst partition.";
    QUERY_TOPIC_RETENTION_REMAINING_RATIO = Gauge "query_topic_retention_remaining_ratio" LABELS, Ratio Min polled:
        "Share of retention ahead of the next unread record, worst partition, lost ones left out.";
    QUERY_TOPIC_DELETION_DEADLINE = Gauge "query_topic_deletion_deadline_timestamp_seconds" LABELS, Timestamp Min polled:
        "Proved: time retention deletes no unread record before this; +Inf without a time limit.";
    QUERY_TOPIC_OLDEST_UNREAD = Gauge "query_topic_oldest_unread_timestamp_seconds" LABELS, Timestamp Min polled estimate:
        "Estimated time of the oldest unread record; its age is never overstated.";
    QUERY_TOPIC_PROJECTED_LOSS = Gauge "query_topic_projected_loss_timestamp_seconds" LABELS, Timestamp Min polled estimate:
        "Forecast: when unread data starts to go, worst partition; +Inf for never.";
    QUERY_TOPIC_RETENTION_SECONDS = Gauge "query_topic_retention_seconds" LABELS, Seconds Min polled:
        "Time that data lives: retention.ms, or what was observed where a size limit rules; +Inf without a limit.";
    QUERY_TOPIC_UNREAD_SINCE = Gauge "query_topic_unread_since_timestamp_seconds" LABELS, Timestamp Min polled:
        "Since when this topic has unread data without progress of the query; absent when nothing is unread.";
    QUERY_TOPIC_OFFSETS_LOST_TOTAL = Counter "query_topic_offsets_lost_total" BY_CERTAINTY, Offsets Max polled:
        "Offsets counted as lost, each once.";
    QUERY_TOPIC_LAST_LOSS = Gauge "query_topic_last_loss_timestamp_seconds" BY_CERTAINTY, Timestamp Max polled:
        "When loss was last counted; absent when none ever was.";
    QUERY_TOPIC_GAPS_UNRESOLVED = Gauge "query_topic_gaps_unresolved" LABELS, Count Max polled:
        "Gap records that nobody has resolved.";
    QUERY_TOPIC_PARTITIONS = Gauge "query_topic_partitions"
        &["query", "kafka_cluster", "topic", "state"], Count Max polled:
        "Partitions in each state; every state is present.";
    QUERY_TOPIC_PARTITION_PROBLEMS = Gauge "query_topic_partition_problems"
        &["query", "kafka_cluster", "topic", "problem"], Count Max polled:
        "Partitions with each problem; every problem is present.";
}
