"""Brokers stop, die, hang and come back; leaders move; topics are made again. What is published stays true."""

import time

import pytest
from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import NewTopic

from .background import Repeated
from .brinkwatch import Config
from .positions import write_checkpoint
from .kafka import CHANGE, HOUR_MS, MINUTE_MS, now_ms
from .kafka_cluster import KafkaCluster
from .ports import free_port
from .story import Still
from .waiting import eventually, wait_until

# Each broker leads one partition of each; the first has no other replica.
ALONE = "alone"
REPLICATED = "replicated"
# Unread records grow older, and where a proof was dropped the estimate of their time is another one. A partition that
# turns unknown is missing among those that are behind.
MOVES = ("retention_remaining_ratio", "oldest_unread_timestamp_seconds", "query_topic_partitions")
PLACES = {ALONE: [[1], [2], [3]], REPLICATED: [[1, 2, 3], [2, 3, 1], [3, 1, 2]]}


@pytest.fixture(scope="module")
def brokers(tmp_path_factory):
    """Three brokers that every test here leaves as it found them: all up."""
    cluster = KafkaCluster(tmp_path_factory.mktemp("brokers"))
    try:
        cluster.start()
        topics = [
            NewTopic(name, len(places), replica_assignment=places, config={"retention.ms": str(HOUR_MS)})
            for name, places in PLACES.items()
        ]
        for made in cluster.admin.create_topics(topics, request_timeout=CHANGE).values():
            made.result(CHANGE)
        for name, places in PLACES.items():
            wait_until(lambda name=name: leaders(cluster, name) == [1, 2, 3], 60, f"{name} has its leaders")
            for partition in range(len(places)):
                cluster.produce(name, 20, partition=partition, timestamp_ms=now_ms() - 10 * MINUTE_MS)
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def watched(brokers, serve, tmp_path):
    """A daemon over both topics: one partition of each topic is read, of the others half."""
    positions = {name: {0: 20, 1: 10, 2: 10} for name in PLACES}
    config = Config(tmp_path / "brinkwatch", brokers.bootstrap)
    config.values["poll_interval"] = "3s"
    config.query("q", write_checkpoint(tmp_path / "checkpoint", positions))
    daemon = serve(config)
    wait_until(lambda: all(one["lag_offsets"] is not None for one in said(daemon).values()), 60, "all is read")
    return daemon


def leaders(cluster: KafkaCluster, topic: str) -> list[int | None]:
    return [cluster.leader(topic, partition) for partition in range(3)]


def back_to_preferred(cluster: KafkaCluster) -> None:
    """Every broker leads again what it led in the beginning."""

    def done() -> bool:
        if leaders(cluster, REPLICATED) == [1, 2, 3]:
            return True
        wanted = [TopicPartition(REPLICATED, partition) for partition in range(3)]
        cluster.admin.elect_leaders(ElectionType.PREFERRED, wanted).result(CHANGE)
        return False

    wait_until(done, 60, "preferred leaders lead")


def said(daemon) -> dict[tuple[str, int], dict]:
    """What is said of each partition."""
    [cluster] = daemon.get("/api/v1/queries/q").json()["clusters"]
    return {(one["topic"], one["partition"]): one for one in cluster["partitions"]}


def unread(daemon) -> dict[tuple[str, int], str]:
    return {at: one["reason"] for at, one in said(daemon).items() if one["state"] == "unknown"}


def test_a_hanging_broker_costs_its_own_partitions_and_says_so(brokers, watched):
    still = Still(watched, but=MOVES)
    with Repeated(0.2, still.look):
        brokers.nodes[2].pause()
        wait_until(lambda: set(unread(watched)) == {(ALONE, 1)}, 60, "only what it alone holds is unknown")
        reason = unread(watched)[ALONE, 1]
        assert any(word in reason for word in ("timed_out", "unreachable")), reason
        assert said(watched)[ALONE, 0]["lag_offsets"] == 0
        assert said(watched)[REPLICATED, 1]["lag_offsets"] == 10
        # Rounds keep their rhythm.
        before = watched.rounds("main")
        wait_until(lambda: watched.rounds("main") >= before + 3, 15, "three rounds")
        brokers.nodes[2].resume()
        eventually(still.check_back, 60)
    assert not still.broken, "\n".join(sorted(still.broken))
    back_to_preferred(brokers)


def test_a_stop_is_heard_within_a_second_while_a_broker_hangs(brokers, watched):
    brokers.nodes[1].pause()
    try:
        # In the middle of a round that waits for that broker.
        wait_until(lambda: unread(watched), 60, "something is unknown")
        began = time.monotonic()
        watched.process.child.terminate()
        assert watched.process.child.wait(10) == 0
        assert time.monotonic() - began < 1.5
    finally:
        brokers.nodes[1].resume()
    wait_until(lambda: brokers.leader(ALONE, 0) == 1, 60, "it leads again")
    back_to_preferred(brokers)


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_broker_that_goes_and_comes_back_changes_nothing_but_to_unknown(brokers, watched, how):
    still = Still(watched, but=MOVES)
    with Repeated(0.2, still.look):
        getattr(brokers.nodes[3], how)()
        wait_until(lambda: (ALONE, 2) in unread(watched), 60, "what it alone holds is unknown")
        wait_until(lambda: set(unread(watched)) == {(ALONE, 2)}, 60, "the others have leaders")
        brokers.nodes[3].start()
        eventually(still.check_back, 90)
        # Leaders move back: every value stays.
        back_to_preferred(brokers)
        watched.after_a_round(timeout=60)
        eventually(still.check_back, 60)
    assert not still.broken, "\n".join(sorted(still.broken))
    assert not any(name.endswith("lost_offsets") and value for name, value in lost(watched).items())


def lost(daemon) -> dict[str, float]:
    metrics = daemon.metrics()
    return {name: sum(value for _, value in metrics.all(name)) for name in ("lost_offsets", "query_topic_lost_offsets")}


def test_a_topic_made_again_is_recreated_and_nothing_in_between(brokers, serve, topic, tmp_path):
    brokers.create_topic(topic, partitions=3)
    for partition in range(3):
        brokers.produce(topic, 20, partition=partition)
    config = Config(tmp_path / "brinkwatch", brokers.bootstrap)
    config.query("q", write_checkpoint(tmp_path / "checkpoint", {topic: {0: 20, 1: 10, 2: 10}}))
    daemon = serve(config)
    wait_until(lambda: all(one["lag_offsets"] is not None for one in said(daemon).values()), 60, "all is read")
    wrong = []

    def look() -> None:
        for at, one in said(daemon).items():
            if one["lost_offsets"] or one["state"] not in ("caught_up", "behind", "unknown", "unconfirmed", "recreated"):
                wrong.append((at, one["state"], one["reason"], one["lost_offsets"]))

    with Repeated(0.1, look):
        brokers.recreate_topic(topic, partitions=3)
        for partition in range(3):
            brokers.produce(topic, 40, partition=partition)
        wait_until(lambda: {one["state"] for one in said(daemon).values()} == {"recreated"}, 60, "it is recreated")
    assert not wrong, wrong[:5]


def test_clusters_have_rounds_and_health_of_their_own(broker, serve, topic, tmp_path):
    broker.create_topic(topic)
    broker.produce(topic, 5)
    config = Config(tmp_path / "brinkwatch", broker.bootstrap)
    config.query("here", write_checkpoint(tmp_path / "here", {topic: {0: 2}}))
    config.values["clusters"]["away"] = {"bootstrap_servers": f"127.0.0.1:{free_port()}", "poll_interval": "2s"}
    config.query("there", write_checkpoint(tmp_path / "there", {topic: {0: 2}}), cluster="away")
    daemon = serve(config)
    before = daemon.metrics()
    began = time.monotonic()
    wait_until(lambda: daemon.rounds("main") >= before.value("cluster_polls_total", kafka_cluster="main") + 8, 20, "rounds")
    took = time.monotonic() - began
    metrics = daemon.metrics()
    # One a second, whatever the other cluster does.
    assert took < 16, took
    assert metrics.value("cluster_up", kafka_cluster="main") == 1
    assert metrics.value("cluster_up", kafka_cluster="away") == 0
    assert metrics.value("lag_offsets", query="here") == 3
    assert metrics.value("lag_offsets", query="there") is None
    assert metrics.one_hot("query_state", "state", query="there") == "unknown"
    rounds = {name: metrics.value("cluster_polls_total", kafka_cluster=name) for name in ("main", "away")}
    assert rounds["away"] < rounds["main"], rounds
    assert not metrics.all("cluster_poll_failures_total", kafka_cluster="main") or not any(
        value for _, value in metrics.all("cluster_poll_failures_total", kafka_cluster="main")
    )
