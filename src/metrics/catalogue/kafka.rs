//! Per topic of a cluster, whoever reads it.

use super::{Kind, Metric, Side, Stability, Unit, metrics};

const TOPIC: &[&str] = &["kafka_cluster", "topic"];
const PARTITION: &[&str] = &["kafka_cluster", "topic", "partition"];

metrics! {
    /// Per topic of a cluster and per partition of a topic.
    KAFKA_METRICS;

    TOPIC_RETENTION_SECONDS = Gauge "topic_retention_seconds" TOPIC, Seconds Min polled:
        "retention.ms of the topic; +Inf for no limit.";
    TOPIC_RETENTION_BYTES = Gauge "topic_retention_bytes" TOPIC, Bytes Min polled:
        "retention.bytes of a partition of the topic; +Inf for no limit.";
    TOPIC_OLDEST_RECORD = Gauge "topic_oldest_record_timestamp_seconds" TOPIC, Timestamp Min polled:
        "Timestamp of the oldest record that is still there.";
    TOPIC_RETENTION_LIMIT = Gauge "topic_retention_limit" &["kafka_cluster", "topic", "limit"], Flag Max polled:
        "1 for what limits retention, 0 for every other.";
    TOPIC_CLEANUP_POLICY = Gauge "topic_cleanup_policy" &["kafka_cluster", "topic", "policy"], Flag Max polled:
        "1 for the cleanup policy in force, 0 for every other.";
    TOPIC_PARTITIONS = Gauge "topic_partitions" TOPIC, Count Min polled:
        "Partitions of the topic.";
    EARLIEST_OFFSET = Gauge "earliest_offset" PARTITION, Offsets Max polled:
        "Log start offset: the first offset that can still be read.";
    LATEST_OFFSET = Gauge "latest_offset" PARTITION, Offsets Max polled:
        "Log end offset: the offset of the next record.";
    STABLE_OFFSET = Gauge "stable_offset" PARTITION, Offsets Max polled:
        "Last stable offset; only where a query reads committed records only.";
}
