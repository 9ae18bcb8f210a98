"""`[discovery.x]`: what lies below a place is watched, and no longer when it is gone."""

import shutil
import time
from pathlib import Path

import pytest

from . import brinkwatch
from .faults import FaultProxy
from .stores import KINDS, S3
from .waiting import eventually

FIXTURES = Path(__file__).parents[1] / "fixtures" / "checkpoints"
# Each with its topic, how many partitions that has, the position in each, and the newest batch.
HEALTHY = ("healthy-v1-spark43", "orders-h43", 3, 40, 3)
ONCE = ("once-spark43", "once-43", 1, 10, 1)
MINUTE_MS = 60_000
PATIENCE = 40


def files(case: str) -> dict[str, bytes]:
    """A real checkpoint, without the checksums that Hadoop leaves beside its files."""
    root = FIXTURES / case / "checkpoint"
    found = [path for path in root.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def put(store, root: str, content: dict[str, bytes]) -> None:
    for name, text in content.items():
        store.put(f"{root}/{name}", text)


def remove(store, root: str, content: dict[str, bytes]) -> None:
    if store.kind == "file":
        shutil.rmtree(store.folder / root)
        return
    for name in content:
        store.delete(f"{root}/{name}")


def topic_of(broker, case) -> None:
    """The case's topic, as long as the case needs it."""
    _, topic, partitions, position, _ = case
    if topic not in broker.topics():
        broker.create_topic(topic, partitions=partitions)
        for partition in range(partitions):
            broker.produce(topic, position + 2, partition=partition)


def discover(config, location, name: str = "lake", **settings) -> None:
    """Adds a discovery that looks every second."""
    found = {"location": str(location), "cluster": "main", "interval": "1s", "name": name + "/{path}", **settings}
    found.setdefault("partition_metrics", "all")
    config.values.setdefault("discovery", {})[name] = found


def newest(daemon, query: str, batch: int) -> None:
    assert daemon.metrics().value("query_newest_committed_batch", query=query) == batch


def absent(daemon, query: str) -> None:
    assert f'query="{query}"' not in daemon.scrape()


@pytest.fixture(params=["file", "s3"])
def store(request, tmp_path):
    made = KINDS[request.param](tmp_path / request.param)
    yield made
    made.stop()


def test_a_checkpoint_that_appears_is_watched_and_one_that_vanishes_leaves(store, broker, config, serve):
    for case in (HEALTHY, ONCE):
        topic_of(broker, case)
    put(store, "cp/first", files(HEALTHY[0]))
    if store.settings:
        config.values["stores"] = {"lake": store.settings}
        # A request has a share of the round's time; with one second it would be too short for a busy machine.
        config.values["poll_interval"] = "6s"
    discover(config, store.location("cp"), **({"store": "lake"} if store.settings else {}))
    daemon = serve(config)
    eventually(lambda: newest(daemon, "lake/first", HEALTHY[4]), PATIENCE)
    metrics = daemon.metrics()
    for partition in range(HEALTHY[2]):
        assert metrics.value("committed_offset", query="lake/first", partition=partition) == HEALTHY[3]
        assert metrics.value("lag_offsets", query="lake/first", partition=partition) == 2
    assert metrics.value("discovery_up", discovery="lake") == 1
    assert metrics.value("discovery_queries", discovery="lake") == 1
    absent(daemon, "lake/second")

    put(store, "cp/second", files(ONCE[0]))
    eventually(lambda: newest(daemon, "lake/second", ONCE[4]), PATIENCE)
    assert daemon.get("/queries/lake%2Fsecond").status == 200
    assert daemon.get("/api/v1/queries/lake%2Fsecond").json()["query"] == "lake/second"

    remove(store, "cp/second", files(ONCE[0]))
    eventually(lambda: absent(daemon, "lake/second"), PATIENCE)
    assert daemon.get("/queries/lake%2Fsecond").status == 404
    metrics = daemon.after_a_round()
    assert metrics.value("checkpoint_up", query="lake/first") == 1
    assert metrics.value("discovery_queries", discovery="lake") == 1
    if store.kind == "s3":
        assert metrics.value("discovery_store_requests_total", discovery="lake", operation="list") > 0


def test_a_place_that_shows_nothing_any_more_takes_nothing_off_the_page(broker, config, serve, tmp_path):
    topic_of(broker, ONCE)
    store = KINDS["file"](tmp_path / "place")
    put(store, "cp/only", files(ONCE[0]))
    discover(config, store.location("cp"))
    daemon = serve(config)
    eventually(lambda: newest(daemon, "lake/only", ONCE[4]))
    (tmp_path / "place").rename(tmp_path / "not-mounted")

    def fails_thrice():
        assert daemon.metrics().value("discovery_poll_failures_total", discovery="lake", reason="not_found") >= 3

    eventually(fails_thrice)
    metrics = daemon.after_a_round()
    assert metrics.value("discovery_up", discovery="lake") == 0
    assert metrics.one_hot("query_state", "state", query="lake/only") == "unreadable"
    # A failure that lasts is told once.
    assert daemon.log().count("the place cannot be looked through") == 1
    (tmp_path / "not-mounted").rename(tmp_path / "place")
    eventually(lambda: newest(daemon, "lake/only", ONCE[4]))


def test_a_look_that_hangs_holds_up_no_round(broker, config, serve, tmp_path):
    topic_of(broker, ONCE)
    store = S3(tmp_path / "s3")
    proxy = FaultProxy(store.url)
    try:
        proxy.fault = "delay"
        local = KINDS["file"](tmp_path / "local")
        put(local, "well", files(ONCE[0]))
        config.query("well", local.location("well"))
        config.values["stores"] = {"sick": {**store.settings, "endpoint": proxy.url}}
        discover(config, store.location("cp"), name="sick", store="sick")
        daemon = serve(config)
        before, began = daemon.rounds("main"), time.monotonic()
        eventually(lambda: _at_least(daemon.rounds("main"), before + 4))
        # Rounds are a second apart; a busy machine is given its time.
        assert time.monotonic() - began < 12
        metrics = daemon.metrics()
        assert metrics.value("query_newest_committed_batch", query="well") == ONCE[4]
        assert metrics.value("discovery_up", discovery="sick") == 0
        failures = [value for _, value in metrics.all("discovery_poll_failures_total", discovery="sick") if value]
        assert failures, "every look has failed"
    finally:
        proxy.stop()
        store.stop()


def _at_least(got, wanted) -> None:
    assert got >= wanted


def written(topic: str, position: int, planned_ms: int) -> dict[str, bytes]:
    """A checkpoint of two batches that lie ten minutes apart."""

    def entry(at_ms: int) -> bytes:
        head = f'{{"batchWatermarkMs":0,"batchTimestampMs":{at_ms},"conf":{{}}}}'
        return f'v1\n{head}\n{{"{topic}":{{"0":{position}}}}}'.encode()

    return {
        "metadata": b'{"id":"943e4fff-ba4f-4018-99d0-a50c4477be0a"}',
        "sources/0/0": f'\0v1\n{{"{topic}":{{"0":0}}}}'.encode(),
        "offsets/0": entry(planned_ms - 10 * MINUTE_MS),
        "offsets/1": entry(planned_ms),
        "commits/0": b"v1\n{}",
        "commits/1": b"v1\n{}",
    }


def test_older_versions_are_superseded_and_never_lost(broker, config, serve, tmp_path, topic):
    broker.create_topic(topic)
    broker.produce(topic, 10)
    broker.delete_records(topic, {0: 8})
    store = KINDS["file"](tmp_path / "place")
    now_ms = int(time.time() * 1000)
    flow = "etl/_checkpoints/cat/sch/table/flow"
    delta = "table/_dlt_metadata/checkpoints/flow"
    living = ["orders_v10", f"{flow}/1", f"{delta}/10"]
    superseded = ["orders_v1", "orders_v9", f"{flow}/0", f"{delta}/9"]
    for root in living + superseded:
        put(store, root, written(topic, 5, now_ms))
    # What a source or a state keeps looks like a checkpoint and is none.
    put(store, "orders_v10/sources/1", written(topic, 5, now_ms))
    put(store, "orders_v10/state/0", written(topic, 5, now_ms))
    discover(config, store.location(""), exclude=["**/tmp*"])
    daemon = serve(config)
    eventually(lambda: newest(daemon, f"lake/{living[-1]}", 1))
    metrics = daemon.after_a_round()
    assert metrics.value("discovery_queries", discovery="lake") == len(living + superseded)
    for root in living:
        assert metrics.one_hot("query_state", "state", query=f"lake/{root}") == "lost"
        assert metrics.value("query_topic_lost_offsets", query=f"lake/{root}") == 3
    for root in superseded:
        query = f"lake/{root}"
        assert metrics.one_hot("query_state", "state", query=query) == "superseded"
        assert metrics.one_hot("query_condition", "condition", query=query) == "superseded"
        for name in ("query_topic_lost_offsets", "query_topic_offsets_lost_total", "query_unread_since_timestamp_seconds"):
            assert metrics.all(name, query=query) == []

    # When the newest one goes, the one before it lives again.
    shutil.rmtree(tmp_path / "place" / "orders_v10")

    def lives():
        assert daemon.metrics().one_hot("query_state", "state", query="lake/orders_v9") == "lost"

    eventually(lives)
    assert daemon.metrics().one_hot("query_state", "state", query="lake/orders_v1") == "superseded"
    absent(daemon, "lake/orders_v10")


def test_a_copy_is_told_as_one_and_its_file_times_are_not_believed(broker, config, serve, tmp_path, topic):
    broker.create_topic(topic)
    broker.produce(topic, 10)
    store = KINDS["file"](tmp_path / "place")
    planned_ms = int(time.time() * 1000) - 60 * MINUTE_MS
    put(store, "orders", written(topic, 5, planned_ms))
    discover(config, store.location(""))
    daemon = serve(config)
    eventually(lambda: newest(daemon, "lake/orders", 1))
    metrics = daemon.metrics()
    assert metrics.value("query_checkpoint_problem", query="lake/orders", problem="copied_or_restored") == 1
    # The files were written just now; the batch was not.
    assert abs(metrics.value("query_last_commit_timestamp_seconds", query="lake/orders") - planned_ms / 1000) < 1
    assert metrics.value("query_restartable", query="lake/orders") == 1


def test_names_that_are_taken_are_refused_in_words_and_what_is_configured_is_not_doubled(
    broker, config, serve, tmp_path
):
    topic_of(broker, ONCE)
    store = KINDS["file"](tmp_path / "place")
    for root in ("a/orders", "b/orders", "b/clicks", "b/mine"):
        put(store, root, files(ONCE[0]))
    config.query("mine", store.location("b/mine"))
    discover(config, store.location(""), name="lake")
    config.values["discovery"]["lake"]["name"] = "{name}"
    daemon = serve(config)
    eventually(lambda: newest(daemon, "orders", ONCE[4]))
    before = daemon.metrics().value("discovery_polls_total", discovery="lake")
    eventually(lambda: _at_least(daemon.metrics().value("discovery_polls_total", discovery="lake"), before + 3))
    metrics = daemon.metrics()
    queries = {labels["query"] for labels, _ in metrics.all("checkpoint_up")}
    assert queries == {"clicks", "mine", "orders"}
    [(labels, _)] = metrics.all("query_info", query="orders")
    assert labels["checkpoint"].endswith("/a/orders")
    assert metrics.value("discovery_queries", discovery="lake") == 2
    assert metrics.value("discovery_refused_checkpoints", discovery="lake") == 1
    told = [line for line in daemon.log().splitlines() if "a checkpoint was found and is not watched" in line]
    assert len(told) == 1 and "b/orders" in told[0] and "a/orders has this name" in told[0]


def test_check_finds_a_query_that_is_not_named(broker, config, tmp_path):
    topic_of(broker, ONCE)
    store = KINDS["file"](tmp_path / "place")
    put(store, "orders_v1", files(ONCE[0]))
    put(store, "orders_v2", files(ONCE[0]))
    discover(config, store.location(""))
    path = config.write()
    [query] = brinkwatch.check("--config", path, "lake/orders_v2").json()["queries"]
    assert (query["query"], query["partitions"][0]["committed"]) == ("lake/orders_v2", ONCE[3])
    states = {one["query"]: one["state"] for one in brinkwatch.check("--config", path).json()["queries"]}
    assert states["lake/orders_v1"] == "superseded" != states["lake/orders_v2"]
    unknown = brinkwatch.check("--config", path, "lake/order_v2")
    assert unknown.code == 2 and 'did you mean "lake/orders_v2" or ' in unknown.err
