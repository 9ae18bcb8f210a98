"""Spark itself writes checkpoints to S3 and to HDFS while they are polled without a pause: nothing odd is ever seen.

BRINKWATCH_POLLS sets how many polls (10000 by hand, some hundred in `tests/run`)."""

import json
import os

import pytest

from . import brinkwatch
from .background import Repeated
from .checkpoints import inspect
from .stores import environment
from .waiting import wait_until

POLLS = int(os.environ.get("BRINKWATCH_POLLS", "150"))
PATIENCE = 90
# A poll of a small server takes up to a quarter of a second on a busy machine.
SECONDS = 60 + POLLS

MODES = {
    "micro-batch": {},
    "async": {"asyncProgressTrackingEnabled": "true", "asyncProgressTrackingCheckpointIntervalMs": "300"},
}


def polled(store, location: str) -> list[dict]:
    """POLLS polls; and as many again, where they were so quick that the query had no time to do much."""
    looks: list[dict] = []
    while len(looks) < 20 and sum(look["committed_batches_seen"] - 1 for look in looks) < min(10, POLLS // 50):
        done = brinkwatch.run(
            "poll", location, "--store", "lake", "--polls", POLLS,
            program=brinkwatch.readings(), env=environment(store.settings), timeout=SECONDS,
        )  # fmt: skip
        assert done.code == 0, done.err
        looks.append(done.json())
    return looks


def committed(store, location: str) -> int:
    done = inspect(store, location)
    return (done.json()["newest_committed_batch"] or 0) if done.code == 0 else 0


@pytest.fixture
def forgetful(spark):
    """A Spark whose queries delete old batches all the time, under the eyes of whoever reads."""
    spark.configure({"spark.sql.streaming.minBatchesToRetain": "3"})
    yield spark
    spark.configure({"spark.sql.streaming.minBatchesToRetain": "100"})


@pytest.mark.timeout(SECONDS + 120)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["s3", "hdfs"])
def test_nothing_odd_is_seen_of_a_query_that_writes(started, broker, forgetful, topic, config, serve, kind, mode):
    spark = forgetful
    store = started(kind)
    broker.create_topic(topic, 2)
    broker.produce(topic, 10)
    location = store.location(f"spark/{topic}")
    spark.configure({}, store.hadoop())
    query = spark.start(
        broker.bootstrap,
        location,
        subscribe=topic,
        trigger={"processingTime": "0 seconds"},
        writer=MODES[mode],
    )
    with Repeated(0.2, lambda: broker.produce(topic, 3)):
        # The first batch takes Spark longest.
        wait_until(lambda: committed(store, location) > 1, PATIENCE, "Spark commits")
        config.values["stores"] = {"lake": store.settings}
        # A reading has a third of it, and a small server beside a Spark is slow.
        config.values["poll_interval"] = "8s"
        daemon = serve(config.query("orders", location, store="lake"))
        looks = polled(store, location)
        metrics = daemon.after_a_round()
        # Before it is stopped: a stop in the middle of a write ends some queries with an error.
        outcome = spark.outcome(query)
        spark.stop_query(query)
    assert outcome.active and not outcome.failed, outcome.text
    for said in looks:
        told = json.dumps({**said, "odd": len(said["odd"])})
        print(f"{kind}, {mode}: {told}; Spark ran {len(outcome.progress)} batches")
        assert said["odd"] == []
        # Only where batches are left out on purpose, nothing but the logs' length tells whether they are.
        assert mode == "async" or said["untold"] == 0
        # The first batch that is left out is noticed after some polls, and from then on the logs are listed.
        assert said["late"] <= (POLLS // 10 if mode == "async" else 0)
        assert said["polls"] == POLLS and said["partitions"] == 2
    # It was at work, and what it did was seen.
    assert sum(said["committed_batches_seen"] - 1 for said in looks) >= min(10, POLLS // 50)
    # What the judgement makes of it, over its own slower rounds.
    assert metrics.value("checkpoint_up", query="orders") == 1
    assert not [one for one in metrics.all("checkpoint_poll_failures_total", query="orders") if one[1]]
    assert not [one for one in metrics.all("query_events_total", query="orders") if one[1]]
    assert metrics.one_hot("query_state", "state", query="orders") in ("idle", "behind")
