"""What happens to topics under a query's feet, with real Kafka, Spark and a daemon that keeps a ledger.

One daemon watches a query for each situation; each test then makes its own happen, and looks at its own query.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer

from . import brinkwatch
from .brinkwatch import Config, Daemon
from .kafka import HOUR_MS, MINUTE_MS, Broker, now_ms
from .waiting import eventually, wait_until

READ, UNREAD = 30, 5
SITUATIONS = ["fewer", "equal", "more", "grown", "purged", "transaction"]


def row(daemon: Daemon, query: str, partition: int = 0) -> dict:
    """What the API says of a partition."""
    [cluster] = daemon.get(f"/api/v1/queries/{query}").json()["clusters"]
    [found] = [one for one in cluster["partitions"] if one["partition"] == partition]
    return found


@dataclass
class Watched:
    """A query that has read 30 records of its topic; five more are not read."""

    name: str
    topic: str
    checkpoint: Path
    broker: Broker
    config: Config
    daemon: Daemon

    def state(self) -> str | None:
        return self.daemon.metrics().one_hot("query_state", "state", query=self.name)

    def wait_for(self, state: str) -> None:
        wait_until(lambda: self.state() == state, 60, f"{self.name} is {state}")

    def number(self, name: str, **labels) -> float | None:
        return self.daemon.metrics().value(name, query=self.name, **labels)

    def lost(self) -> dict[str, float]:
        found = self.daemon.metrics().all("query_topic_offsets_lost_total", query=self.name)
        return {have["certainty"]: value for have, value in found}

    def gaps(self) -> list[tuple]:
        """The records of the ledger: partition, from, to, certainty."""
        listed = brinkwatch.run("gaps", "list", "--config", self.config.write(), "--output", "json").json()["gaps"]
        names = ("partition", "missing_from_offset", "missing_to_offset_exclusive", "certainty")
        return sorted(tuple(gap[name] for name in names) for gap in listed if gap["stream_name"] == self.name)

    def reason(self, partition: int = 0) -> str:
        return row(self.daemon, self.name, partition)["reason"]


@pytest.fixture(scope="module")
def watched(broker, spark, tmp_path_factory):
    """Every situation's query by name. Spark reads all topics side by side; then one daemon watches them."""
    folder = tmp_path_factory.mktemp("watched")
    config = Config(folder / "brinkwatch", broker.bootstrap)
    config.values["state_dir"] = str(folder / "state")
    topics = {name: f"identity-{name}" for name in SITUATIONS}
    running = []
    for name, topic in topics.items():
        broker.create_topic(topic, retention_ms=4 * HOUR_MS)
        broker.produce(topic, READ, timestamp_ms=now_ms() - 30 * MINUTE_MS)
        committed_only = {"kafka.isolation.level": "read_committed"} if name == "transaction" else {}
        running.append(spark.start(broker.bootstrap, folder / name, subscribe=topic, **committed_only))
        own = {"isolation_level": "read_committed"} if name == "transaction" else {}
        config.query(name, folder / name, **own)
    for query in running:
        done = spark.wait(query)
        assert not done.failed, done.text
    for name, topic in topics.items():
        if name != "transaction":
            broker.produce(topic, UNREAD, timestamp_ms=now_ms() - 20 * MINUTE_MS)
    daemon = Daemon.start(config)
    try:
        yield {name: Watched(name, topics[name], folder / name, broker, config, daemon) for name in SITUATIONS}
    finally:
        daemon.stop()
        print(daemon.process.tail(60))


@pytest.mark.parametrize(("name", "records"), [("fewer", 10), ("equal", READ + UNREAD), ("more", 100)])
def test_a_topic_that_was_made_anew_is_found_however_many_records_it_holds(watched, name, records):
    one = watched[name]
    one.wait_for("behind")
    before = one.broker.topic_id(one.topic)
    one.broker.recreate_topic(one.topic)
    one.broker.produce(one.topic, records)
    one.wait_for("recreated")
    metrics = one.daemon.after_a_round()
    # What was unread of the old topic is gone for good; of the new one all is unread.
    assert one.lost() == {"certain": UNREAD, "possible": 0}
    assert one.gaps() == [(0, READ, READ + UNREAD, "certain")]
    where = {"query": name, "partition": 0}
    assert metrics.value("lag_offsets", **where) == records
    assert row(one.daemon, name)["beyond_end_offsets"] == max(0, READ - records)
    assert metrics.value("headroom_offsets", **where) is None
    assert metrics.value("partition_problem", problem="recreated", **where) == 1
    skipped = min(READ, records)
    assert f"a restart would skip {skipped} offsets" in one.reason()
    assert before != one.broker.topic_id(one.topic)
    # A log that grows past the position heals nothing.
    one.broker.produce(one.topic, READ)
    one.daemon.after_a_round()
    assert one.state() == "recreated"
    assert one.lost()["certain"] == UNREAD


def test_added_partitions_wait_and_lose_their_beginning_when_it_is_deleted(watched):
    one = watched["grown"]
    one.wait_for("behind")
    one.broker.add_partitions(one.topic, 2)
    wait_until(
        lambda: one.number("query_topic_partitions", state="pending") == 1, 60, "the new partition waits"
    )
    one.broker.produce(one.topic, 12, partition=1)
    metrics = one.daemon.after_a_round()
    assert metrics.value("lag_offsets", query="grown", partition=1) == 12
    assert metrics.value("query_topic_lost_offsets", query="grown") == 0
    one.broker.delete_records(one.topic, {1: 7})
    one.wait_for("lost")
    assert one.lost() == {"certain": 7, "possible": 0}
    assert one.gaps() == [(1, 0, 7, "certain")]


def test_deleted_records_are_lost_and_stay_counted_when_spark_goes_on_without_them(watched, spark):
    one = watched["purged"]
    one.wait_for("behind")
    one.broker.delete_records(one.topic, {0: READ + 3})
    one.wait_for("lost")
    assert one.number("lost_offsets", partition=0) == 3
    assert one.gaps() == [(0, READ, READ + 3, "certain")]
    done = spark.run(one.broker.bootstrap, one.checkpoint, subscribe=one.topic, fail_on_data_loss=False)
    assert not done.failed and done.rows == UNREAD - 3, done.text
    one.wait_for("idle")
    metrics = one.daemon.after_a_round()
    assert metrics.value("query_events_total", query="purged", event="continued_past_loss") == 1
    assert metrics.value("lost_offsets", query="purged", partition=0) == 0
    assert one.lost() == {"certain": 3, "possible": 0}
    assert metrics.value("query_topic_gaps_unresolved", query="purged") == 1
    assert one.gaps() == [(0, READ, READ + 3, "certain")]


def test_a_transaction_that_is_left_open_is_nothing_unread_and_no_stall(watched):
    one = watched["transaction"]
    one.wait_for("idle")
    producer = Producer({"bootstrap.servers": one.broker.bootstrap, "transactional.id": one.topic, "log_level": 0})
    producer.init_transactions(60)
    producer.begin_transaction()
    for _ in range(8):
        producer.produce(one.topic, b"open", partition=0)
    producer.flush(30)
    try:
        wait_until(lambda: one.number("lag_offsets", partition=0) == 0 and "open transaction" in one.reason(), 60, "seen")
        assert "8 offsets wait" in one.reason()
        metrics = one.daemon.after_a_round()
        assert metrics.value("stable_offset", topic=one.topic, partition=0) == READ
        assert metrics.value("latest_offset", topic=one.topic, partition=0) == READ + 8
        assert one.state() == "idle"
        # The records that wait are held to be unread where time counts against them.
        assert metrics.value("retention_remaining_ratio", query="transaction", partition=0) <= 1
        assert metrics.value("query_unread_since_timestamp_seconds", query="transaction") is None
    finally:
        producer.commit_transaction(30)
    # The marker of the commit takes an offset, too.
    wait_until(lambda: one.number("lag_offsets", partition=0) == 9, 60, "the records can be read")
    one.wait_for("behind")


def stopped_query(broker, spark, topic, checkpoint) -> None:
    """What is unread is 20 minutes old, of four hours."""
    broker.create_topic(topic, retention_ms=4 * HOUR_MS)
    broker.produce(topic, READ, timestamp_ms=now_ms() - 30 * MINUTE_MS)
    done = spark.run(broker.bootstrap, checkpoint, subscribe=topic)
    assert not done.failed, done.text
    broker.produce(topic, UNREAD, timestamp_ms=now_ms() - 20 * MINUTE_MS)


def test_retention_that_is_lowered_by_hand_is_a_risk_and_nothing_remembered_hides_it(
    broker, spark, config, serve, topic, tmp_path
):
    stopped_query(broker, spark, topic, tmp_path / "checkpoint")
    config.values["state_dir"] = str(tmp_path / "state")
    config.query("orders", tmp_path / "checkpoint")
    first = serve(config)
    before = first.after_a_round()
    where = {"query": "orders", "partition": 0}
    assert before.value("retention_remaining_ratio", **where) > 0.85
    # A daemon reads configurations every five minutes, and the first time when it starts.
    first.stop()
    broker.alter_config(topic, retention_ms=31 * MINUTE_MS)
    second = serve(config)
    wait_until(
        lambda: second.metrics().one_hot("query_state", "state", query="orders") == "at_risk", 60, "it is at risk"
    )
    after = second.metrics()
    assert after.value("retention_remaining_ratio", **where) < 0.4
    deadline = "deletion_deadline_timestamp_seconds"
    fallen = before.value(deadline, **where) - after.value(deadline, **where)
    assert fallen == pytest.approx((4 * HOUR_MS - 31 * MINUTE_MS) / 1000, abs=150)
    assert after.value("topic_retention_seconds", topic=topic) == 31 * 60
    assert after.value("query_topic_offsets_lost_total", query="orders", certainty="certain") == 0


def test_a_topic_that_is_made_anew_while_nobody_watches_is_found_by_what_is_remembered(
    broker, spark, config, serve, topic, tmp_path
):
    stopped_query(broker, spark, topic, tmp_path / "checkpoint")
    config.values["state_dir"] = str(tmp_path / "state")
    config.query("orders", tmp_path / "checkpoint")
    first = serve(config)
    assert first.after_a_round().one_hot("query_state", "state", query="orders") == "behind"
    assert first.stop() == 0
    broker.recreate_topic(topic)
    broker.produce(topic, 80)
    # Without a memory the numbers look healthy; the command reads the ledger, too.
    said = brinkwatch.check("--config", config.write(), "orders").json()["queries"][0]
    assert said["state"] == "recreated", said
    second = serve(config)
    metrics = second.after_a_round()
    assert metrics.one_hot("query_state", "state", query="orders") == "recreated"
    lost = metrics.value("query_topic_offsets_lost_total", query="orders", certainty="certain")
    assert lost == UNREAD


def test_a_query_that_moved_to_another_cluster_is_told_from_topics_that_were_made_anew(
    broker, own_broker, spark, config, serve, topic, tmp_path
):
    stopped_query(broker, spark, topic, tmp_path / "checkpoint")
    config.values["state_dir"] = str(tmp_path / "state")
    config.query("orders", tmp_path / "checkpoint")
    first = serve(config)
    assert first.after_a_round().one_hot("query_state", "state", query="orders") == "behind"
    first.stop()
    other = own_broker(cluster_id="BBBBBBBBBBBBBBBBBBBBBQ")
    other.create_topic(topic, retention_ms=4 * HOUR_MS)
    other.produce(topic, 50)
    config.values["clusters"]["main"]["bootstrap_servers"] = other.bootstrap
    second = serve(config)

    def mismatch():
        metrics = second.metrics()
        assert metrics.one_hot("query_state", "state", query="orders") == "cluster_mismatch"
        assert metrics.value("query_events_total", query="orders", event="cluster_changed") == 1
        assert metrics.value("query_events_total", query="orders", event="topic_recreated") == 0
        assert metrics.value("query_topic_offsets_lost_total", query="orders", certainty="certain") == 0

    eventually(mismatch, 60)
    reason = row(second, "orders")["reason"]
    assert broker.cluster_id in reason and other.cluster_id in reason, reason
