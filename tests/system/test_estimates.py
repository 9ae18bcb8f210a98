"""Brokers that do not find records by time: what was seen from round to round serves, as an estimate that is named so."""

import time

import pytest

from . import brinkwatch
from .brinkwatch import Config, partitions
from .kafka_proxy import Forgetful
from .positions import write_checkpoint
from .waiting import wait_until

UNSUPPORTED_VERSION = 35
RETENTION = 30
SKEW = 5
# A record came between two rounds, each a second after the other, and a round takes a moment.
CLOSE = 4

SPOILT = {
    "look_ups_refused": lambda error, timestamp, offset: (UNSUPPORTED_VERSION, -1, -1),
    "nothing_found": lambda error, timestamp, offset: (error, -1, -1),
    "no_timestamps": lambda error, timestamp, offset: (error, -1, offset),
}


@pytest.fixture
def forgetful(broker):
    """One way to the broker for each way in which look-ups by time may tell nothing."""
    ways = {reason: Forgetful(broker.port, spoil) for reason, spoil in SPOILT.items()}
    yield {reason: way.bootstrap for reason, way in ways.items()}
    for way in ways.values():
        way.stop()


def test_what_was_seen_to_come_is_an_estimate_and_named_so(broker, forgetful, serve, topic, tmp_path):
    broker.create_topic(topic, retention_ms=RETENTION * 1000, segment_ms=600_000)
    broker.produce(topic, 10)
    config = Config(tmp_path / "brinkwatch", broker.bootstrap)
    config.values["clusters"] = {reason: {"bootstrap_servers": bootstrap} for reason, bootstrap in forgetful.items()}
    for reason in SPOILT:
        checkpoint = write_checkpoint(tmp_path / reason, {topic: {0: 10}})
        config.query(reason, checkpoint, cluster=reason, expected_batch_interval="1s")
    daemon = serve(config)
    for reason in SPOILT:
        daemon.after_a_round(reason)
    came = time.time()
    due = came + RETENTION - SKEW
    broker.produce(topic, 10)

    def value(name: str, reason: str, **labels) -> float | None:
        return daemon.metrics().value(name, query=reason, topic=topic, **labels)

    def estimated(reason: str) -> bool:
        found = value("query_topic_partition_problems", reason, problem="retention_estimated")
        return found == 1 and value("projected_loss_timestamp_seconds", reason, partition=0) is not None

    wait_until(lambda: all(estimated(reason) for reason in SPOILT), 30, "there are estimates")
    for reason in SPOILT:
        # A forecast: it hopes for a while that the query goes on as it did before.
        assert value("projected_loss_timestamp_seconds", reason, partition=0) > due - CLOSE
        assert value("oldest_unread_timestamp_seconds", reason, partition=0) == pytest.approx(came, abs=CLOSE)
        # Never as a proof, and never as a share that pages somebody.
        for name in ("deletion_deadline_timestamp_seconds", "retention_remaining_ratio"):
            assert value(name, reason, partition=0) is None
            assert value(f"query_topic_{name}", reason) is None
        assert value("query_topic_partition_problems", reason, problem="retention_unknown") == 0
        told_in_words(daemon, reason)

    # Half of the retention later the forecast says that it is a risk.
    wait_until(lambda: state(daemon) == "at_risk", RETENTION, "the estimate has made it a risk")
    assert value("projected_loss_timestamp_seconds", "look_ups_refused", partition=0) == pytest.approx(due, abs=2 * CLOSE)
    assert "by estimate unread data can be deleted in" in daemon.get("/queries/look_ups_refused").text

    # What is known not to be answered is not asked: earliest and latest of one leader in each round, and nothing else.
    for reason in SPOILT:
        before, rounds = requests(daemon, reason), daemon.rounds(reason)
        daemon.after_a_round(reason)
        assert requests(daemon, reason) - before <= 2 * (daemon.rounds(reason) - rounds + 1)
    # A single look has seen nothing come.
    [once] = brinkwatch.check("--config", config.write(), "look_ups_refused").json()["queries"]
    [one] = partitions(once).values()
    assert one["deadline"] is None and one["projected_loss"] is None and one["remaining_ratio"] is None
    assert one["unproved"]["reason"] == "look_ups_refused"


def told_in_words(daemon, reason: str) -> None:
    """On the page, in the API, once in the log."""
    [cluster] = daemon.get(f"/api/v1/queries/{reason}").json()["clusters"]
    [told] = cluster["partitions"]
    assert told["unproved"]["reason"] == reason and told["deadline"] is None and told["remaining_ratio"] is None
    assert told["projected_loss"] is not None
    page = daemon.get(f"/queries/{reason}").text
    assert told["unproved"]["detail"] in page and "estimates that go by when records were seen to come" in page
    assert "no proved time" in page
    targets = daemon.get("/api/v1/targets").json()["targets"]
    [target] = [one for one in targets if one["kind"] == "cluster" and one["kafka_cluster"] == reason]
    can = {"cluster_id": True, "topic_ids": True, "topic_settings": True}
    assert target["abilities"] == {**can, "look_ups_by_time": False}
    assert daemon.log().count(f"cluster={reason} can=") <= 2


def state(daemon) -> str | None:
    return daemon.metrics().one_hot("query_state", "state", query="look_ups_refused")


def requests(daemon, cluster: str) -> float:
    return daemon.metrics().value("kafka_requests_total", kafka_cluster=cluster, api="list_offsets")
