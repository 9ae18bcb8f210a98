"""A tiered topic: what counts is where the whole log starts, not where the local copy does."""

import pytest

from . import brinkwatch
from .brinkwatch import Config
from .kafka import HOUR_MS, Broker
from .positions import write_checkpoint
from .spark import Spark
from .tiers import tiered
from .waiting import wait_until

RECORDS = 120


@pytest.fixture(scope="module")
def tiers(tmp_path_factory):
    """A broker with a topic of which the newest part alone lies on its own disk."""
    folder = tmp_path_factory.mktemp("tiers")
    broker = Broker(folder / "broker", properties=tiered(folder))
    try:
        broker.start()
        broker.create_topic("tiered", remote_storage_enable="true", retention_ms=HOUR_MS, local_retention_ms=1_000, segment_ms=500)
        broker.produce("tiered", RECORDS // 2)
        # A new segment begins with a record that comes later, and the old one is carried away.
        wait_until(lambda: later(broker) and local_start(broker) > 0, 60, "the local copy has lost its beginning")
        yield broker
    finally:
        broker.stop()


def later(broker: Broker) -> bool:
    if broker.latest("tiered")[0] < RECORDS:
        broker.produce("tiered", 10)
    return True


def local_start(broker: Broker) -> int:
    """ListOffsets of -4: the earliest offset on the leader's own disk."""
    return broker.get_offsets("tiered", "-4").get(0, 0)


def test_headroom_counts_from_the_start_of_the_remote_part(tiers, serve, tmp_path):
    local = local_start(tiers)
    assert tiers.get_offsets("tiered", "-2") == {0: 0} and local > 10
    # Below what is on the broker's own disk, and above where the log starts.
    config = Config(tmp_path / "brinkwatch", tiers.bootstrap)
    config.query("q", write_checkpoint(tmp_path / "checkpoint", {"tiered": {0: 10}}))
    daemon = serve(config)
    metrics = daemon.after_a_round()
    latest = tiers.latest("tiered")[0]
    assert metrics.value("earliest_offset", topic="tiered", partition=0) == 0
    assert metrics.value("headroom_offsets", query="q", partition=0) == 10
    assert metrics.value("lag_offsets", query="q", partition=0) == latest - 10
    assert metrics.value("lost_offsets", query="q", partition=0) == 0
    assert metrics.one_hot("query_state", "state", query="q") == "behind"
    # What limits the whole log counts, not what limits the local copy.
    assert metrics.value("topic_retention_seconds", topic="tiered") == HOUR_MS / 1000
    assert metrics.value("retention_remaining_ratio", query="q", partition=0) > 0.9
    assert metrics.value("deletion_deadline_timestamp_seconds", query="q", partition=0) is not None
    answer = brinkwatch.check("--config", config.write()).json()
    assert answer["queries"][0]["restart"]["outcome"] == "starts"


def test_spark_reads_on_in_the_remote_part(tiers, spark: Spark, tmp_path):
    first = spark.run(tiers.bootstrap, tmp_path / "checkpoint", subscribe="tiered", raise_in_batch=1, max_offsets=10)
    assert first.end_offsets == {"tiered": {0: 10}} and local_start(tiers) > 10
    config = Config(tmp_path / "brinkwatch", tiers.bootstrap).query("q", tmp_path / "checkpoint")
    [answer] = brinkwatch.check("--config", config.write()).json()["queries"]
    assert answer["restart"]["outcome"] == "starts"
    again = spark.run(tiers.bootstrap, tmp_path / "checkpoint", subscribe="tiered")
    assert not again.failed, again.text
    assert again.end_offsets["tiered"] == tiers.latest("tiered")
