"""What may be paged for: nothing without a cause."""

from .truth import Truth

# By alert: what must have happened to its query, or to anybody.
OF_A_QUERY = {
    "SparkStreamDataLost": ("lost",),
    "SparkStreamDataPossiblyLost": ("lost",),
    "SparkStreamGapUnresolved": ("lost",),
    "SparkStreamRunsPastLoss": ("lost",),
    "SparkStreamTopicRecreated": ("recreated",),
    "SparkStreamOffsetBeyondEnd": ("recreated",),
    "SparkStreamPartitionsGone": ("recreated", "flood"),
    "SparkStreamCheckpointNotRestartable": ("torn",),
    "SparkStreamCheckpointReplaced": ("replaced",),
    # A query that goes on over a topic that was made again goes back to low offsets.
    "SparkStreamPositionMovedBack": ("moved_back", "replaced", "recreated"),
}
# Never here: nobody does what they are about.
NEVER_HERE = ("SparkStreamClusterMismatch", "SparkStreamTwoWriters", "SparkTopicRetentionLowered", "BrinkwatchShardMissing")


def without_cause(labels: dict[str, str], truth: Truth) -> bool:
    """Whether nothing that happened explains this alert."""
    name, query = labels["alertname"], labels.get("query", "")
    if name in NEVER_HERE:
        return True
    if name == "BrinkwatchLedgerFailing":
        return not truth.has_cause("ledger")
    if name == "BrinkwatchConfigReloadFailed":
        return not truth.has_cause("reload")
    if query and name in OF_A_QUERY:
        return not any(truth.has_cause(cause, query) for cause in OF_A_QUERY[name])
    if name in ("SparkStreamRetentionRisk", "SparkStreamLossForecast", "SparkStreamLastBatchOld"):
        # Only time takes records away by itself here; and what somebody else deleted has nothing left.
        by_time = any(truth.retention[topic] != float("inf") for topic in truth.reads.get(query, []))
        return not by_time and not truth.has_cause("lost", query)
    return False
