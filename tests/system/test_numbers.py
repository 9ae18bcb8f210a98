"""Each number that brinkwatch tells, beside what Spark and Kafka's own tools say.

The query that watches a case carries the case's name.
"""

import time
from dataclasses import dataclass
from datetime import datetime

import pytest

from . import brinkwatch
from .brinkwatch import Metrics
from .cases import Case
from .kafka import HOUR_MS, MINUTE_MS, Broker, now_ms
from .waiting import eventually, wait_until

# The default allowance between the clocks of broker, producer and watcher.
CLOCK_SKEW = 5
ON_THE_BROKER = ["healthy", "idle", "mid_batch", "aged_out", "aged_out_by_size", "compacted", "cleared"]
FINDINGS = {"lost", "beyond_end", "gone"}


@dataclass(frozen=True)
class Truth:
    """What must be told of one partition, from Spark's and Kafka's own words alone."""

    committed: int
    planned: int | None
    earliest: int
    latest: int
    state: str

    @property
    def numbers(self) -> dict[str, int | None]:
        return {
            "committed_offset": self.committed,
            "planned_offset": self.planned,
            "headroom_offsets": self.committed - self.earliest,
            "lag_offsets": self.latest - max(self.committed, self.earliest),
            "lost_offsets": max(0, self.earliest - self.committed),
            "possibly_lost_offsets": 0,
        }


def truth(broker: Broker, case: Case) -> dict[int, Truth]:
    earliest, latest = broker.earliest(case.topic), broker.latest(case.topic)
    assert earliest.keys() == case.committed.keys()
    return {
        number: Truth(
            offset, case.planned and case.planned[number], earliest[number], latest[number], case.states[number]
        )
        for number, offset in case.committed.items()
    }


def told(metrics: Metrics, query: str, topic: str, partition: int, names) -> dict[str, float | None]:
    return {
        name: metrics.value(name, query=query, kafka_cluster="main", topic=topic, partition=partition) for name in names
    }


@pytest.mark.parametrize("name", ON_THE_BROKER)
def test_metrics_say_what_spark_and_kafka_say(cases, broker, fleet, name):
    case = cases[name]
    metrics = fleet.after_a_round()
    for partition, true in truth(broker, case).items():
        assert told(metrics, name, case.topic, partition, true.numbers) == true.numbers, f"partition {partition}"
        where = {"kafka_cluster": "main", "topic": case.topic, "partition": partition}
        assert metrics.value("earliest_offset", **where) == true.earliest
        assert metrics.value("latest_offset", **where) == true.latest
    assert metrics.one_hot("query_state", "state", query=name) == case.query_state


@pytest.mark.parametrize("name", ON_THE_BROKER)
def test_sums_over_a_topic_are_the_sums_of_its_partitions(cases, broker, fleet, name):
    case = cases[name]
    metrics = fleet.after_a_round()
    all_true = truth(broker, case).values()

    def topic(number: str) -> float | None:
        return metrics.value(f"query_topic_{number}", query=name, kafka_cluster="main", topic=case.topic)

    assert topic("committed_offsets") == sum(true.committed for true in all_true)
    for number in ("lag_offsets", "lost_offsets", "possibly_lost_offsets"):
        assert topic(number) == sum(true.numbers[number] for true in all_true), number
    assert topic("headroom_offsets") == min(true.numbers["headroom_offsets"] for true in all_true)
    states = {have["state"]: value for have, value in metrics.all("query_topic_partitions", query=name)}
    assert {state: count for state, count in states.items() if count} == {
        state: list(case.states.values()).count(state) for state in case.states.values()
    }
    worst = max(true.numbers["lag_offsets"] for true in all_true)
    assert metrics.value("query_max_partition_lag_offsets", query=name, kafka_cluster="main") == worst


@pytest.mark.parametrize("name", ON_THE_BROKER)
def test_check_says_what_spark_and_kafka_say(cases, broker, config, name):
    case = cases[name]
    done = brinkwatch.check("--config", config.query("q", case.checkpoint).write(), "q")
    all_true = truth(broker, case)
    assert done.code == (1 if case.query_state in FINDINGS else 0), done.err
    said = done.json()
    assert said["version"] == 1
    [query] = said["queries"]
    assert (query["query"], query["kafka_cluster"], query["state"]) == ("q", "main", case.query_state)
    assert query["cluster_id"] == broker.cluster_id
    assert query["lost_offsets"] == sum(true.numbers["lost_offsets"] for true in all_true.values())
    found = brinkwatch.partitions(query)
    assert found.keys() == {(case.topic, number) for number in all_true}
    for number, true in all_true.items():
        numbers = {
            "committed": true.committed,
            "planned": true.planned,
            "earliest": true.earliest,
            "latest": true.latest,
            "state": true.state,
            "beyond_end_offsets": 0,
            **{key: value for key, value in true.numbers.items() if key not in ("committed_offset", "planned_offset")},
        }
        one = found[(case.topic, number)]
        assert {key: one[key] for key in numbers} == numbers


def test_check_needs_no_configuration(cases, broker):
    case = cases["cleared"]
    done = brinkwatch.check("--checkpoint", case.checkpoint, "--bootstrap-servers", broker.bootstrap)
    assert done.code == 1, done.err
    [query] = done.json()["queries"]
    assert (query["state"], query["lost_offsets"]) == ("lost", 5)


def test_check_prints_a_table_that_names_partitions_and_states(cases, config):
    case = cases["aged_out"]
    done = brinkwatch.run("check", "--config", config.query("q", case.checkpoint).write())
    assert done.code == 1
    [row] = [line for line in done.out.splitlines() if "lost" in line and case.topic in line][:1]
    assert "40" in row and "60" in row


def test_bounds_are_those_of_kafkas_own_tool(cases, broker, fleet):
    case = cases["aged_out"]
    metrics = fleet.after_a_round()
    for name, time_spec in (("earliest_offset", "earliest"), ("latest_offset", "latest")):
        found = {int(have["partition"]): value for have, value in metrics.all(name, topic=case.topic)}
        assert found == broker.get_offsets(case.topic, time_spec)


def test_batches_and_commit_times_are_those_of_the_checkpoint(cases, fleet):
    case = cases["mid_batch"]
    metrics = fleet.after_a_round()

    def query(name: str) -> float | None:
        return metrics.value(f"query_{name}", query="mid_batch", kafka_cluster="main")

    assert (query("newest_planned_batch"), query("newest_committed_batch")) == (1, 0)
    committed_at = (case.checkpoint / "commits" / "0").stat().st_mtime
    planned_at = (case.checkpoint / "offsets" / "1").stat().st_mtime
    assert query("last_commit_timestamp_seconds") == pytest.approx(committed_at, abs=0.01)
    assert query("open_batch_timestamp_seconds") == pytest.approx(planned_at, abs=0.01)
    assert query("restartable") == 1


def test_an_open_batch_that_may_have_read_in_time_is_a_possible_loss(cases, broker, fleet):
    case = cases["aged_out_in_mid_batch"]
    metrics = fleet.after_a_round()
    expected = {
        "committed_offset": 60,
        "planned_offset": 100,
        "headroom_offsets": -40,
        "lag_offsets": 20,
        "lost_offsets": 0,
        "possibly_lost_offsets": 40,
        "retention_remaining_ratio": 0,
        "deletion_deadline_timestamp_seconds": None,
    }
    assert told(metrics, "aged_out_in_mid_batch", case.topic, 0, expected) == expected
    assert broker.earliest(case.topic) == {0: 100}
    assert metrics.value("query_topic_partitions", query="aged_out_in_mid_batch", state="unconfirmed") == 1
    assert metrics.value("partition_problem", query="aged_out_in_mid_batch", problem="possibly_lost") == 1


def test_a_lost_partition_says_so_and_proves_no_deadline(cases, fleet):
    case = cases["aged_out"]
    metrics = fleet.after_a_round()
    expected = {"retention_remaining_ratio": 0, "deletion_deadline_timestamp_seconds": None}
    assert told(metrics, "aged_out", case.topic, 0, expected) == expected
    assert metrics.value("partition_problem", query="aged_out", partition=0, problem="lost") == 1
    assert metrics.value("partition_problem", query="aged_out", partition=1, problem="lost") is None
    assert metrics.value("query_condition", query="aged_out", condition="lost") == 1


def test_the_deadline_lies_under_what_retention_will_do_and_within_a_hundredth(cases, fleet):
    """Retention deletes the next unread record no sooner than its stamp plus an hour."""
    case = cases["healthy"]
    before = time.time()
    metrics = fleet.after_a_round()
    after = time.time()
    names = ("deletion_deadline_timestamp_seconds", "retention_remaining_ratio", "oldest_unread_timestamp_seconds")
    deadline, ratio, oldest = told(metrics, "healthy", case.topic, 1, names).values()
    stamp = case.unread_since_ms[1] / 1000
    latest_possible = stamp + HOUR_MS / 1000 - CLOCK_SKEW
    assert latest_possible - HOUR_MS / 1000 * 0.01 <= deadline <= latest_possible
    assert (deadline - after) / 3600 <= ratio <= (deadline - before) / 3600
    age = before - stamp
    assert stamp <= oldest <= stamp + max(1, 0.05 * age) + (after - before)


def test_nothing_unread_has_all_of_retention_ahead(cases, fleet):
    case = cases["idle"]
    before = time.time()
    metrics = fleet.after_a_round()
    names = ("deletion_deadline_timestamp_seconds", "retention_remaining_ratio", "oldest_unread_timestamp_seconds")
    deadline, ratio, oldest = told(metrics, "idle", case.topic, 0, names).values()
    assert (ratio, oldest) == (1, None)
    assert before <= deadline - HOUR_MS / 1000 + CLOCK_SKEW <= time.time()


def test_a_compacted_topic_has_no_deadline_and_loses_nothing(cases, fleet):
    case = cases["compacted"]
    metrics = fleet.after_a_round()
    assert metrics.one_hot("topic_cleanup_policy", "policy", topic=case.topic) == "compact"
    assert metrics.value("retention_remaining_ratio", query="compacted", partition=0) == 1
    assert metrics.value("deletion_deadline_timestamp_seconds", query="compacted", partition=0) == float("inf")


def test_retention_is_what_the_topic_is_set_to(cases, broker, fleet):
    case = cases["aged_out_by_size"]
    metrics = fleet.after_a_round()
    told_by_kafka = broker.config(case.topic)
    where = {"kafka_cluster": "main", "topic": case.topic}
    assert metrics.value("topic_retention_seconds", **where) * 1000 == int(told_by_kafka["retention.ms"])
    assert metrics.value("topic_retention_bytes", **where) == int(told_by_kafka["retention.bytes"])
    assert metrics.one_hot("topic_cleanup_policy", "policy", **where) == told_by_kafka["cleanup.policy"]
    assert metrics.value("topic_partitions", **where) == 1


def test_a_topic_limited_by_size_shows_the_share_that_is_left(broker, spark, config, serve, topic, tmp_path):
    broker.create_topic(topic, segment_bytes=1_048_576, retention_bytes=4 * 1_048_576, retention_ms=-1)
    broker.produce(topic, 7000, size=1000)
    wait_until(lambda: broker.earliest(topic)[0] > 0, 30, "retention by size is at work")
    done = spark.run(broker.bootstrap, tmp_path / "checkpoint", subscribe=topic)
    committed = done.end_offsets[topic][0]
    daemon = serve(config.query("q", tmp_path / "checkpoint"))
    daemon.after_a_round()
    # Only a log start that is seen to move shows that size rules.
    for _ in range(2):
        before = broker.earliest(topic)
        broker.produce(topic, 1100, size=1000)
        wait_until(lambda old=before: broker.earliest(topic) != old, 30, "another segment is deleted")
        metrics = daemon.after_a_round()
    earliest, latest = broker.earliest(topic)[0], broker.latest(topic)[0]
    assert earliest < committed < latest
    ratio = metrics.value("retention_remaining_ratio", query="q", partition=0)
    assert ratio == pytest.approx((committed - earliest) / (latest - earliest), abs=1e-6)
    assert metrics.value("deletion_deadline_timestamp_seconds", query="q", partition=0) == float("inf")
    assert metrics.one_hot("topic_retention_limit", "limit", topic=topic) == "size"


@pytest.mark.parametrize(("unread", "problem"), [(3, "gone"), (0, "gone_caught_up")])
def test_a_topic_that_vanishes_is_gone_once_confirmed(broker, spark, config, serve, topic, tmp_path, unread, problem):
    broker.create_topic(topic)
    broker.produce(topic, 10)
    spark.run(broker.bootstrap, tmp_path / "checkpoint", subscribe=topic)
    if unread:
        broker.produce(topic, unread)
    daemon = serve(config.query("q", tmp_path / "checkpoint"))
    assert daemon.after_a_round().value("lag_offsets", query="q", partition=0) == unread
    broker.delete_topic(topic)

    def is_gone() -> Metrics:
        metrics = daemon.metrics()
        assert metrics.value("query_topic_partitions", query="q", topic=topic, state="gone") == 1
        return metrics

    metrics = eventually(is_gone)
    assert metrics.one_hot("query_state", "state", query="q") == "gone"
    assert metrics.value("partition_problem", query="q", problem=problem) == 1
    expected = {
        "committed_offset": 10,
        "headroom_offsets": None,
        "lag_offsets": None,
        "lost_offsets": None,
        "deletion_deadline_timestamp_seconds": None,
        "retention_remaining_ratio": None,
    }
    assert told(metrics, "q", topic, 0, expected) == expected


def test_offsets_beyond_the_end_are_a_finding_once_confirmed(fleet):
    def is_beyond() -> Metrics:
        metrics = fleet.metrics()
        state = metrics.one_hot("query_state", "state", query="beyond_end")
        # A first sight cannot know whether the log was cut or the topic made anew.
        assert state in ("beyond_end", "recreated")
        return metrics

    metrics = eventually(is_beyond)
    assert metrics.value("committed_offset", query="beyond_end", partition=0) == 30
    assert metrics.value("headroom_offsets", query="beyond_end", partition=0) is None


def test_numbers_follow_the_query_and_the_producer(broker, spark, config, serve, topic, tmp_path):
    """What is published changes with the next rounds, without a restart."""
    broker.create_topic(topic)
    broker.produce(topic, 10)
    checkpoint = tmp_path / "checkpoint"
    spark.run(broker.bootstrap, checkpoint, subscribe=topic)
    daemon = serve(config.query("q", checkpoint))

    def numbers():
        metrics = daemon.after_a_round()
        return tuple(
            told(
                metrics, "q", topic, 0, ("committed_offset", "lag_offsets", "headroom_offsets", "lost_offsets")
            ).values()
        )

    assert numbers() == (10, 0, 10, 0)
    broker.produce(topic, 8)
    assert numbers() == (10, 8, 10, 0)
    spark.run(broker.bootstrap, checkpoint, subscribe=topic)
    assert numbers() == (18, 0, 18, 0)
    broker.produce(topic, 6)
    broker.delete_records(topic, {0: 22})
    assert numbers() == (18, 2, -4, 4)


def test_times_in_check_are_rfc_3339(cases, config):
    case = cases["healthy"]
    done = brinkwatch.check("--config", config.query("q", case.checkpoint).write())
    [query] = done.json()["queries"]
    assert abs(datetime.fromisoformat(query["checked_at"]).timestamp() - time.time()) < 60
    deadline = brinkwatch.partitions(query)[(case.topic, 1)]["deadline"]
    assert abs(datetime.fromisoformat(deadline).timestamp() * 1000 - (case.unread_since_ms[1] + HOUR_MS)) < MINUTE_MS
    assert datetime.fromisoformat(deadline).timestamp() * 1000 > now_ms()
