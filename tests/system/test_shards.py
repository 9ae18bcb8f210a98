"""A fleet in three shards, two replicas of each, one configuration, one Prometheus: nothing is missing, nothing is told twice."""

import hashlib
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from . import brinkwatch
from .alertmanager import Alertmanager
from .brinkwatch import Config, Daemon, Metrics
from .kafka import HOUR_MS, Broker
from .ports import free_port
from .prometheus import Prometheus
from .story import hurried_rules
from .waiting import wait_until
from .webhook import Webhook
from .written import checkpoint

SHARDS, REPLICAS = 3, "ab"
PATIENCE = 90
READ, LOST = 20, 5


def holder(name: str) -> int:
    """Which shard watches a query: worked out here once more, from the words of the manual."""
    return max(range(SHARDS), key=lambda ordinal: hashlib.sha256(f"{ordinal}/{name}".encode()).digest())


def named(prefix: str, shard: int) -> str:
    """The first name of this kind that the shard holds."""
    return next(name for name in (f"{prefix}-{number}" for number in range(100)) if holder(name) == shard)


# Queries that will lose records, the last of them late, when shard GONE is no more; `far` is read by a single one.
GONE = 2
LOSERS = [named("loser", 0), named("loser", 1), named("late", 0)]
FAR = named("far", 1)
CONFIGURED = [*LOSERS, FAR, *(f"orders-{number}" for number in range(8))]
FOUND = [f"team/stream-{number}" for number in range(8)]
LATER = named("later", 0)


@dataclass
class Fleet:
    broker: Broker
    config: Config
    daemons: dict[tuple[int, str], Daemon]
    prometheus: Prometheus
    hook: Webhook

    def metrics(self) -> dict[tuple[int, str], Metrics]:
        return {which: daemon.metrics() for which, daemon in self.daemons.items()}

    def lose(self, query: str) -> None:
        """Kafka deletes what the query has not read."""
        self.broker.produce(query, 2 * LOST)
        self.broker.delete_records(query, {0: READ + LOST})

    def delivered(self) -> list[tuple[str, str | None]]:
        return sorted((one.name, one.labels.get("query")) for one in self.hook.find())


@pytest.fixture(scope="module")
def fleet(tmp_path_factory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("shards")
    with ExitStack() as stack:

        def kept(part):
            stack.callback(part.stop)
            return part

        broker, hook = kept(Broker(folder / "broker")).start(), kept(Webhook())
        config = configuration(folder, broker)
        daemons = {
            (shard, replica): kept(started(folder / f"{shard}{replica}", config, shard))
            for shard in range(SHARDS)
            for replica in REPLICAS
        }
        manager = kept(Alertmanager(folder / "alertmanager", webhook=hook.url))
        targets = [f"127.0.0.1:{daemon.port}" for daemon in daemons.values()]
        prometheus = kept(Prometheus(folder / "prometheus", targets=targets, alertmanager=manager.address))
        for daemon in daemons.values():
            daemon.wait_ready()
        wait_until(
            lambda: prometheus.value("count(brinkwatch_shards)") == len(daemons), PATIENCE, "every process is scraped"
        )
        yield Fleet(broker, config, daemons, prometheus, hook)


def configuration(folder: Path, broker: Broker) -> Config:
    """Every query has read all of its topic, which has one partition."""
    config = Config(folder / "brinkwatch", broker.bootstrap)
    for cluster in ("far", "lake"):
        config.values["clusters"][cluster] = {"bootstrap_servers": broker.bootstrap}
    config.values["alerts"] = {"window": "5s", "scrape_interval": "1s"}
    config.values["discovery"] = {"lake": {"location": str(folder / "lake"), "cluster": "lake"}}
    for topic in ["shared", *LOSERS]:
        broker.create_topic(topic, retention_ms=14 * 24 * HOUR_MS)
        broker.produce(topic, READ)
    for query in CONFIGURED:
        place = checkpoint(folder / "own" / query, {query if query in LOSERS else "shared": {0: READ}})
        config.query(query, place, expected_batch_interval="1h")
    config.values["queries"][FAR]["cluster"] = "far"
    for path in FOUND:
        checkpoint(folder / "lake" / path, {"shared": {0: READ}})
    checkpoint(folder / "own" / LATER, {"shared": {0: READ}})
    config.write()
    return config


def started(folder: Path, config: Config, shard: int) -> Daemon:
    """As the container of a pod whose name ends with its ordinal."""
    folder.mkdir()
    port = free_port()
    arguments = ["run", "--config", config.folder / "brinkwatch.toml", "--shard", f"brinkwatch-{shard}/{SHARDS}"]
    own = {"BRINKWATCH__STATE_DIR": str(folder / "state")}
    return Daemon(folder, [*arguments, "--listen", f"127.0.0.1:{port}"], port, env=own)


def queries(metrics: Metrics) -> set[str]:
    return {labels["query"] for labels, _ in metrics.all("checkpoint_up")}


def whole(names: list[str]) -> dict[int, set[str]]:
    return {shard: {name for name in names if holder(name) == shard} for shard in range(SHARDS)}


def test_the_shards_watch_everything_once_and_replicas_the_same(fleet):
    expected = whole(CONFIGURED + FOUND)
    assert all(whole(CONFIGURED).values()) and all(whole(FOUND).values()), "or nothing is shown"
    for (shard, replica), metrics in fleet.metrics().items():
        assert queries(metrics) == expected[shard], (shard, replica)
        assert (metrics.value("shard_ordinal"), metrics.value("shards")) == (shard, SHARDS)
        assert metrics.value("discovery_queries", discovery="lake") == len(expected[shard] & set(FOUND))
        assert {value for _, value in metrics.all("checkpoint_up")} == {1}
    # What Prometheus makes of it: no query by two shards, and none by one replica only.
    seen = "count by (query) (brinkwatch_checkpoint_up)"
    assert {one["metric"]["query"]: one["value"][1] for one in fleet.prometheus.query(seen)} == {
        name: str(len(REPLICAS)) for name in CONFIGURED + FOUND
    }


def test_replicas_tell_the_same_numbers(fleet):
    for shard in range(SHARDS):
        one, other = (fleet.daemons[shard, replica].metrics() for replica in REPLICAS)
        for name in ("query_topic_lag_offsets", "query_topic_headroom_offsets", "query_topic_committed_offsets", "query_state"):
            assert sorted(one.all(name), key=str) == sorted(other.all(name), key=str), (shard, name)
        assert one.all("query_topic_headroom_offsets"), shard


def test_a_cluster_is_asked_by_those_only_who_have_a_query_there(fleet):
    """Nothing that is configured reads the lake's: it is asked since queries were found that do."""
    for (shard, _), metrics in fleet.metrics().items():
        clusters = {labels["kafka_cluster"] for labels, _ in metrics.all("cluster_up")}
        assert clusters == {"main", "lake", *(["far"] if shard == holder(FAR) else [])}, shard


def test_pages_and_api_tell_of_their_own_shard_and_rules_of_all(fleet):
    rules = {fleet.daemons[which].get("/rules").text for which in fleet.daemons}
    [text] = rules
    assert text == brinkwatch.run("rules", "--config", fleet.config.folder / "brinkwatch.toml").out
    for (shard, _), daemon in fleet.daemons.items():
        own = whole(CONFIGURED + FOUND)[shard]
        assert {one["query"] for one in daemon.get("/api/v1/queries").json()["queries"]} == own
        targets = daemon.get("/api/v1/targets").json()["targets"]
        assert {one["query"] for one in targets if one.get("query")} == own
        assert f"Shard {shard} of {SHARDS}, counted from 0" in daemon.get("/").text
        for loser in LOSERS:
            page = daemon.get(f"/queries/{loser}")
            assert page.status == (200 if loser in own else 404)
            assert loser in own or f"shard {holder(loser)} watches it" in page.text


def test_commands_by_hand_see_the_whole_fleet(fleet):
    checked = brinkwatch.check("--config", fleet.config.folder / "brinkwatch.toml").json()
    assert {one["query"] for one in checked["queries"]} == {*CONFIGURED, *FOUND}


def test_a_query_that_is_added_goes_to_one_shard(fleet):
    place = Path(fleet.config.values["queries"][FAR]["checkpoint"]).with_name(LATER)
    fleet.config.query(LATER, place, expected_batch_interval="1h").write()
    for daemon in fleet.daemons.values():
        os.kill(daemon.process.pid, signal.SIGHUP)
    watchers = {(holder(LATER), replica) for replica in REPLICAS}

    def taken() -> bool:
        return {which for which, metrics in fleet.metrics().items() if LATER in queries(metrics)} == watchers

    wait_until(taken, PATIENCE, f"both replicas of one shard watch {LATER}")
    metrics = fleet.metrics()
    assert {one.value("config_last_reload_successful") for one in metrics.values()} == {1}
    expected = whole([*CONFIGURED, *FOUND, LATER])
    assert {which: queries(one) for which, one in metrics.items()} == {which: expected[which[0]] for which in metrics}


def test_one_page_for_each_problem_and_for_a_shard_that_is_gone(fleet):
    """Told in order, since each step goes on from the one before."""
    first, second, late = LOSERS
    told = [("SparkStreamDataLost", first), ("SparkStreamDataLost", second)]
    fleet.daemons[GONE, "a"].process.kill()
    # Only now: before the first scrape they say that nobody is there.
    fleet.prometheus.load_rules(hurried_rules(fleet.config))
    fleet.lose(first)
    fleet.lose(second)
    wait_until(lambda: set(told) <= set(fleet.delivered()), PATIENCE, "both losses are delivered")
    lost = 'count by (query) (brinkwatch_query_topic_lost_offsets{query=~"loser.*"} > 0)'
    both = {query: str(len(REPLICAS)) for query in (first, second)}
    wait_until(
        lambda: {one["metric"]["query"]: one["value"][1] for one in fleet.prometheus.query(lost)} == both,
        PATIENCE,
        "both replicas tell the loss",
    )
    # One replica less: longer ago than the rules look back, and nobody is told of a shard.
    here = "count(last_over_time(brinkwatch_shard_ordinal[5s]))"
    left = SHARDS * len(REPLICAS) - 1
    wait_until(lambda: fleet.prometheus.value(here) == left, PATIENCE, "the replica is out of the window")
    shards = 'count(count_values("shard", last_over_time(brinkwatch_shard_ordinal[5s])))'
    assert fleet.prometheus.value(shards) == SHARDS
    assert [one for one in fleet.prometheus.alerts() if one["labels"]["alertname"] == "BrinkwatchShardMissing"] == []

    fleet.daemons[GONE, "b"].process.kill()
    told.append(("BrinkwatchShardMissing", None))
    wait_until(lambda: set(told) <= set(fleet.delivered()), PATIENCE, "the missing shard is delivered")
    assert fleet.prometheus.value(shards) == SHARDS - 1
    # The others go on.
    fleet.lose(late)
    told.append(("SparkStreamDataLost", late))
    wait_until(lambda: set(told) <= set(fleet.delivered()), PATIENCE, "a loss of another shard is delivered")
    assert fleet.delivered() == sorted(told), "nothing twice, and nothing else"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("3/3", "ordinals count from 0: there is no shard 3 of 3, and the last one is 2/3"),
        ("$(POD_NAME)/3", 'the ordinal "$(POD_NAME)" is no number'),
        ("1", "write ORDINAL/SHARDS"),
    ],
)
def test_what_is_no_shard_is_wrong_usage(text, words):
    done = brinkwatch.run("run", "--config", "/dev/null", "--shard", text)
    assert done.code == 2
    assert words in done.err
