//! Per partition of a query.

use super::{Kind, Metric, Side, Stability, Unit, metrics};

const LABELS: &[&str] = &["query", "kafka_cluster", "topic", "partition"];

metrics! {
    /// Per partition of a query: the first five by default, the others with `partition_metrics = "all"`.
    PARTITION_METRICS;

    COMMITTED_OFFSET = Gauge "committed_offset" LABELS, Offsets Min polled:
        "Next offset that a restart of the query reads.";
    HEADROOM_OFFSETS = Gauge "headroom_offsets" LABELS, Offsets Min polled:
        "Committed offset minus earliest offset; negative is how many unread offsets are gone.";
    LAG_OFFSETS = Gauge "lag_offsets" LABELS, Offsets Max polled:
        "Offsets that are unread and still there: an upper bound of records.";
    DELETION_DEADLINE = Gauge "deletion_deadline_timestamp_seconds" LABELS, Timestamp Min polled:
        "Proved: time retention cannot delete the next unread record before this; +Inf without a time limit.";
    PARTITION_PROBLEM = Gauge "partition_problem"
        &["query", "kafka_cluster", "topic", "partition", "problem"], Flag Max polled:
        "1 while the problem stands, absent otherwise; for drill-down, not for alerts.";
    PLANNED_OFFSET = Gauge "planned_offset" LABELS, Offsets Min polled:
        "Exclusive end of the open batch.";
    LOST_OFFSETS = Gauge "lost_offsets" LABELS, Offsets Max polled:
        "Unread offsets that are certainly gone.";
    POSSIBLY_LOST_OFFSETS = Gauge "possibly_lost_offsets" LABELS, Offsets Max polled:
        "Offsets that are gone while a young open batch may still be reading them.";
    OLDEST_UNREAD = Gauge "oldest_unread_timestamp_seconds" LABELS, Timestamp Min polled estimate:
        "Estimated time of the next unread record; its age is never overstated.";
    RETENTION_REMAINING_RATIO = Gauge "retention_remaining_ratio" LABELS, Ratio Min polled:
        "Share of retention that is still ahead of the next unread record.";
    PROJECTED_LOSS = Gauge "projected_loss_timestamp_seconds" LABELS, Timestamp Min polled estimate:
        "Forecast: when unread data starts to go if reading and deletion go on as observed; +Inf for never.";
}
