//! Per query.

use super::{Kind, Metric, Side, Stability, Unit, metrics};

const LABELS: &[&str] = &["query", "kafka_cluster"];
const BY_EVENT: &[&str] = &["query", "kafka_cluster", "event"];

metrics! {
    /// Per query.
    QUERY_METRICS;

    QUERY_STATE = Gauge "query_state" &["query", "kafka_cluster", "state"], Flag Max polled:
        "1 for the state of the query, 0 for every other; for pages and tables.";
    QUERY_CONDITION = Gauge "query_condition" &["query", "kafka_cluster", "condition"], Flag Max polled:
        "1 for each condition that holds, whatever the state; for alerts, since a worse state hides no condition.";
    QUERY_MAX_PARTITION_LAG_OFFSETS = Gauge "query_max_partition_lag_offsets" LABELS, Offsets Max polled:
        "Unread offsets of the partition that has most of them.";
    QUERY_NEWEST_PLANNED_BATCH = Gauge "query_newest_planned_batch" LABELS, Batch Min polled:
        "Highest batch that was planned.";
    QUERY_NEWEST_COMMITTED_BATCH = Gauge "query_newest_committed_batch" LABELS, Batch Min polled:
        "Highest batch that was committed.";
    QUERY_LAST_COMMIT = Gauge "query_last_commit_timestamp_seconds" LABELS, Timestamp Min polled:
        "When a batch last completed.";
    QUERY_LAST_PROGRESS = Gauge "query_last_progress_timestamp_seconds" LABELS, Timestamp Min polled:
        "When committed offsets last moved, as observed.";
    QUERY_UNREAD_SINCE = Gauge "query_unread_since_timestamp_seconds" LABELS, Timestamp Min polled:
        "Since when something is unread without progress; absent when nothing is, or the query is parked or over.";
    QUERY_OPEN_BATCH = Gauge "query_open_batch_timestamp_seconds" LABELS, Timestamp Min polled:
        "When the open batch was planned; absent without one.";
    QUERY_RESTARTABLE = Gauge "query_restartable" LABELS, Flag Min polled:
        "1 when Spark would start from this checkpoint, 0 when not, absent when that cannot be told.";
    QUERY_CHECKPOINT_PROBLEM = Gauge "query_checkpoint_problem" &["query", "kafka_cluster", "problem"], Flag Max polled:
        "1 while the checkpoint has this problem, absent otherwise.";
    QUERY_EXPECTED_INTERVAL = Gauge "query_expected_interval_seconds" LABELS, Seconds Max polled:
        "How often a batch should complete: as configured, else as learned.";
    QUERY_OUTAGE_BUDGET = Gauge "query_outage_budget_seconds" LABELS, Seconds Max own:
        "How long an outage of the query retention is asked to survive: max_outage as configured.";
    QUERY_LAST_EVENT = Gauge "query_last_event_timestamp_seconds" BY_EVENT, Timestamp Max polled:
        "When the event was last seen; absent when it never was.";
    QUERY_EVENTS_TOTAL = Counter "query_events_total" BY_EVENT, Count Max polled:
        "How often the event was seen.";
    QUERY_INFO = Gauge "query_info"
        &["query", "kafka_cluster", "query_id", "checkpoint", "offset_log_version"], Flag Max polled:
        "1; what changes seldom about the query.";
}
