//! About ourselves: are the numbers fresh, and what do they cost.

use super::{Kind, Metric, Side, Stability, Unit, metrics};

const NONE: &[&str] = &[];
const CLUSTER: &[&str] = &["kafka_cluster"];
const DISCOVERY: &[&str] = &["discovery"];
const QUERY: &[&str] = &["query", "kafka_cluster"];

metrics! {
    /// About the watcher itself.
    OWN_METRICS;

    BUILD_INFO = Gauge "build_info" &["version", "revision", "rustc"], Flag Max own:
        "1; what this program was built from.";
    CLUSTER_UP = Gauge "cluster_up" CLUSTER, Flag Min own:
        "1 when the last poll of the cluster worked and is not older than stale_after, else 0.";
    CLUSTER_POLLS_TOTAL = Counter "cluster_polls_total" CLUSTER, Count Max own:
        "Polls of the cluster, failed ones included.";
    CLUSTER_POLL_FAILURES_TOTAL = Counter "cluster_poll_failures_total" &["kafka_cluster", "reason"], Count Max own:
        "Polls of the cluster that failed.";
    CLUSTER_POLL_DURATION = Gauge "cluster_poll_duration_seconds" CLUSTER, Seconds Max own:
        "How long the last poll of the cluster took.";
    CLUSTER_POLL_LAST_SUCCESS = Gauge "cluster_poll_last_success_timestamp_seconds" CLUSTER, Timestamp Min own:
        "When a poll of the cluster last worked.";
    CLUSTER_POLL_LAST_ATTEMPT = Gauge "cluster_poll_last_attempt_timestamp_seconds" CLUSTER, Timestamp Min own:
        "When a poll of the cluster was last tried.";
    CLUSTER_MISSING_RIGHTS = Gauge "cluster_missing_rights" &["kafka_cluster", "right"], Count Max own:
        "Watched topics for which this right is missing, as of the last poll that worked.";
    CHECKPOINT_UP = Gauge "checkpoint_up" QUERY, Flag Min own:
        "1 when the last poll of the checkpoint worked and is not older than stale_after, else 0.";
    CHECKPOINT_POLLS_TOTAL = Counter "checkpoint_polls_total" QUERY, Count Max own:
        "Polls of the checkpoint, failed ones included.";
    CHECKPOINT_POLL_FAILURES_TOTAL = Counter "checkpoint_poll_failures_total"
        &["query", "kafka_cluster", "reason"], Count Max own:
        "Polls of the checkpoint that failed.";
    CHECKPOINT_POLL_DURATION = Gauge "checkpoint_poll_duration_seconds" QUERY, Seconds Max own:
        "How long the last poll of the checkpoint took.";
    CHECKPOINT_POLL_LAST_SUCCESS = Gauge "checkpoint_poll_last_success_timestamp_seconds" QUERY, Timestamp Min own:
        "When a poll of the checkpoint last worked.";
    CHECKPOINT_POLL_LAST_ATTEMPT = Gauge "checkpoint_poll_last_attempt_timestamp_seconds" QUERY, Timestamp Min own:
        "When a poll of the checkpoint was last tried.";
    DISCOVERY_UP = Gauge "discovery_up" DISCOVERY, Flag Min own:
        "1 when the last look through the discovery's place worked, else 0; known checkpoints are watched all the same.";
    DISCOVERY_POLLS_TOTAL = Counter "discovery_polls_total" DISCOVERY, Count Max own:
        "Looks through the discovery's place, failed ones included.";
    DISCOVERY_POLL_FAILURES_TOTAL = Counter "discovery_poll_failures_total" &["discovery", "reason"], Count Max own:
        "Looks through the discovery's place that failed, or did not show all of it.";
    DISCOVERY_POLL_DURATION = Gauge "discovery_poll_duration_seconds" DISCOVERY, Seconds Max own:
        "How long the last look through the discovery's place took.";
    DISCOVERY_POLL_LAST_SUCCESS = Gauge "discovery_poll_last_success_timestamp_seconds" DISCOVERY, Timestamp Min own:
        "When a look through the discovery's place last worked.";
    DISCOVERY_POLL_LAST_ATTEMPT = Gauge "discovery_poll_last_attempt_timestamp_seconds" DISCOVERY, Timestamp Min own:
        "When a look through the discovery's place was last tried.";
    DISCOVERY_QUERIES = Gauge "discovery_queries" DISCOVERY, Count Min own:
        "Queries of the discovery that this process watches, superseded ones included.";
    DISCOVERY_REFUSED_CHECKPOINTS = Gauge "discovery_refused_checkpoints" DISCOVERY, Count Max own:
        "Checkpoints that were found and are not watched, because their names are taken; the log names them.";
    DISCOVERY_STORE_REQUESTS_TOTAL = Counter "discovery_store_requests_total" &["discovery", "operation"], Count Max own:
        "Requests of the discovery to its store by operation.";
    KAFKA_REQUESTS_TOTAL = Counter "kafka_requests_total" &["kafka_cluster", "api"], Count Max own:
        "Requests to Kafka by API: calls times leaders, as counted here.";
    STORE_REQUESTS_TOTAL = Counter "store_requests_total" &["query", "kafka_cluster", "operation"], Count Max own:
        "Requests to the checkpoint's store by operation.";
    LEDGER_UP = Gauge "ledger_up" NONE, Flag Min own:
        "1 when the ledger was last written without an error.";
    LEDGER_PERSISTENT = Gauge "ledger_persistent" NONE, Flag Min own:
        "1 when the ledger outlives the process, 0 when it is kept in memory only.";
    QUERY_SERIES_DROPPED = Gauge "query_series_dropped" QUERY, Count Max own:
        "Series per partition that the query's series_limit keeps from being published.";
    CONFIG_LAST_RELOAD_SUCCESSFUL = Gauge "config_last_reload_successful" NONE, Flag Min own:
        "1 when the last reload of the configuration worked, else 0.";
    CONFIG_LAST_RELOAD_SUCCESS = Gauge "config_last_reload_success_timestamp_seconds" NONE, Timestamp Min own:
        "When the configuration was last loaded without a mistake.";
    SHARD_ORDINAL = Gauge "shard_ordinal" NONE, Count Max own:
        "Which shard of the fleet this process is, from 0.";
    SHARDS = Gauge "shards" NONE, Count Max own:
        "How many shards the fleet is cut into.";
}
