"""Checkpoints in object stores are read as those in directories are; a store that fails says why, and in time."""

import itertools
import json
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import pytest

from . import brinkwatch
from .faults import FaultProxy
from .stores import KINDS, S3, environment
from .waiting import eventually

FIXTURES = Path(__file__).parents[1] / "fixtures" / "checkpoints"
CASES = sorted(path.parent for path in FIXTURES.glob("*/expected.json"))
ENTRY = b'v1\n\n{"orders":{"0":5,"1":7}}'
NAMES = itertools.count(1)
REMOTE = [kind for kind in KINDS if kind != "file"]


@pytest.fixture(scope="session")
def started(tmp_path_factory):
    made = {}

    def get(kind: str):
        if kind not in made:
            made[kind] = KINDS[kind](tmp_path_factory.mktemp(kind))
        return made[kind]

    yield get
    for one in made.values():
        one.stop()


@pytest.fixture(params=KINDS)
def store(request, started):
    """Each store in turn."""
    return started(request.param)


def inspect(store, location: str, settings: dict | None = None, timeout: str = "30s") -> brinkwatch.Finished:
    settings = store.settings if settings is None else settings
    named = ["--store", "lake"] if settings else []
    return brinkwatch.run(
        "inspect", location, *named, "--output", "json", "--timeout", timeout, env=environment(settings)
    )


def put_checkpoint(store, files: dict[str, bytes]) -> str:
    """Writes files of a checkpoint, and returns where it lies."""
    root = f"cp/{next(NAMES)}"
    with ThreadPoolExecutor(16) as writers:
        list(writers.map(lambda file: store.put(f"{root}/{file[0]}", file[1]), files.items()))
    return store.location(root)


def healthy(planned=range(3), committed=range(3)) -> dict[str, bytes]:
    return {
        "metadata": b'{"id":"943e4fff-ba4f-4018-99d0-a50c4477be0a"}',
        "sources/0/0": b'\0v1\n{"orders":{"0":0,"1":0}}',
        **{f"offsets/{batch}": ENTRY for batch in planned},
        **{f"commits/{batch}": b"v1\n{}" for batch in committed},
    }


def problems(done: brinkwatch.Finished) -> list[str]:
    return [one["problem"] for one in done.json()["problems"]]


def test_a_healthy_checkpoint_is_read(store):
    done = inspect(store, put_checkpoint(store, healthy()))
    assert (done.code, done.err) == (0, "")
    said = done.json()
    assert (said["newest_planned_batch"], said["newest_committed_batch"], said["problems"]) == (2, 2, [])
    positions = said["sources"][0]["topics"]["orders"]
    assert {number: one["committed"] for number, one in positions.items()} == {"0": 5, "1": 7}
    assert abs(time.time() - rfc3339(said["last_commit_at"])) < 60


def rfc3339(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def test_the_newest_batch_is_the_highest_number_and_strays_are_nothing(store):
    strays = {
        "offsets/.12.0b8c8b3e-9a0f.tmp": b"",
        "offsets/.9.crc": b"crc",
        "offsets/9.bak": b"x",
        "commits/.12.0b8c8b3e-9a0f.tmp": b"",
        "offsets/99/x": b"a directory with a number for a name",
        "state/0/0/1.delta": b"x",
    }
    done = inspect(store, put_checkpoint(store, {**healthy(range(2, 12), range(2, 12)), **strays}))
    assert (done.json()["newest_planned_batch"], problems(done)) == (11, [])


@pytest.mark.parametrize("kind", REMOTE)
def test_markers_of_directories_are_no_files(started, kind):
    store = started(kind)
    markers = {"offsets_$folder$": b"", "commits_$folder$": b"", "$folder$": b""}
    if kind == "s3":
        # Only here do names end with a slash.
        markers |= {"offsets/": b"", "commits/": b"", "": b""}
    done = inspect(store, put_checkpoint(store, {**healthy(), **markers}))
    assert (done.code, problems(done)) == (0, [])


def test_paths_may_hold_odd_letters(store):
    root = f"odd/{next(NAMES)}/a b%20c+é=d'(1)"
    for name, content in healthy().items():
        store.put(f"{root}/{name}", content)
    done = inspect(store, store.location(root))
    assert (done.code, problems(done)) == (0, [])


def test_an_open_batch_an_empty_file_and_a_lost_log_are_told_alike(store):
    open_batch = inspect(store, put_checkpoint(store, healthy(range(3), range(2))))
    assert open_batch.json()["batch_open"] is True
    empty = inspect(store, put_checkpoint(store, {**healthy(range(3), range(2)), "offsets/2": b""}))
    assert problems(empty) == ["newest_offsets_empty"]
    lost = inspect(store, put_checkpoint(store, healthy([], range(3))))
    assert problems(lost) == ["offsets_lost"]


def test_checkpoints_below_a_prefix_are_found(store):
    root = f"tree/{next(NAMES)}"
    for place in ("orders_v1", "orders_v2", "team/clicks", "etl/_checkpoints/a/b/flow/0"):
        for name, content in healthy().items():
            store.put(f"{root}/{place}/{name}", content)
    named = ["--store", "lake"] if store.settings else []
    location = store.location(root)
    done = brinkwatch.run("discover", location, *named, env=environment(store.settings))
    assert (done.code, done.err) == (0, "")
    found = {name: query["checkpoint"] for name, query in tomllib.loads(done.out)["queries"].items()}
    shown = f"file://{location}" if store.kind == "file" else location
    assert found == {
        "etl_checkpoints_a_b_flow": f"{shown}/etl/_checkpoints/a/b/flow/0",
        "orders": f"{shown}/orders_v2",
        "team_clicks": f"{shown}/team/clicks",
    }


def test_what_is_not_there_is_not_found(store):
    done = inspect(store, store.location(f"nothing/{next(NAMES)}"))
    assert done.code == 3
    assert "not_found" in done.err and "no checkpoint here" in done.err


@pytest.mark.parametrize("kind", ["s3", "azure"])
def test_a_bucket_that_is_not_there_is_not_found(started, kind):
    store = started(kind)
    done = inspect(store, store.location("cp", bucket="no-such-bucket"))
    assert done.code == 3
    assert "not_found" in done.err and "no such bucket or container" in done.err


def test_a_file_that_no_checkpoint_holds_is_refused_by_name(store):
    location = put_checkpoint(store, {**healthy(), "offsets/3": b"x" * (33 * 1024 * 1024)})
    done = inspect(store, location)
    assert done.code == 3
    assert "malformed" in done.err and "offsets/3 holds 34603008 bytes" in done.err


# HDFS pages as well, but takes a second for ten files.
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "hdfs"])
def test_more_batches_than_a_page_of_a_listing_are_all_seen(started, kind):
    store = started(kind)
    location = put_checkpoint(store, healthy(range(1102), range(1102)))
    done = inspect(store, location)
    assert (done.json()["newest_committed_batch"], problems(done)) == (1101, [])


@pytest.mark.parametrize("kind", REMOTE)
def test_every_real_checkpoint_is_read_alike(started, kind):
    local, remote = started("file"), started(kind)
    different = []
    for case in CASES:
        names = json.loads((case / "expected.json").read_text())["file_times"]
        files = {name: (case / "checkpoint" / name).read_bytes() for name in names}
        here, there = (without_times(inspect(one, put_checkpoint(one, files))) for one in (local, remote))
        if here != there:
            different.append((case.name, here, there))
    assert len(CASES) > 60
    assert different == []


def without_times(done: brinkwatch.Finished) -> tuple:
    """What a command said, but for what the upload itself decides."""
    said = json.loads(done.out) if done.out else {}
    for name in ("checkpoint", "last_commit_at", "planned_at"):
        said.pop(name, None)
    said["problems"] = [(one["problem"], one["file"]) for one in said.get("problems", [])]
    return done.code, said


def test_a_missing_right_is_denied_and_no_secret_is_told(tmp_path):
    store = S3(tmp_path)
    try:
        location = put_checkpoint(store, healthy())
        nobody = store.check_rights()
        done = inspect(store, location, nobody)
    finally:
        store.stop()
    assert done.code == 3
    assert "denied" in done.err and "metadata" in done.err
    assert nobody["secret_access_key"] not in done.err and "Signature" not in done.err


def test_a_wrong_key_of_azure_is_denied(started):
    store = started("azure")
    done = inspect(store, put_checkpoint(store, healthy()), {**store.settings, "account_key": "d3Jvbmc="})
    assert done.code == 3
    assert "denied" in done.err and "d3Jvbmc" not in done.err


def test_a_missing_right_on_hdfs_is_denied(started):
    store = started("hdfs")
    location = put_checkpoint(store, healthy())
    store.ask("SETPERMISSION", location.split("/lake/")[1], permission="700")
    nobody = {**environment(store.settings), "HADOOP_USER_NAME": "nobody"}
    done = brinkwatch.run("inspect", location, "--store", "lake", env=nobody)
    assert done.code == 3
    assert "denied" in done.err and "AccessControlException" in done.err and "\n" not in done.err.strip()


@pytest.fixture
def proxy(started):
    proxy = FaultProxy(started("s3").url)
    yield proxy
    proxy.stop()


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("delay", "timed_out"),
        ("throttle", "unreachable"),
        ("fail", "unreachable"),
        ("reset", "unreachable"),
        ("garbage", "malformed"),
    ],
)
def test_each_fault_of_a_store_has_its_reason_before_the_deadline(started, proxy, fault, reason):
    store = started("s3")
    location = put_checkpoint(store, healthy())
    proxy.fault = fault
    began = time.monotonic()
    done = inspect(store, location, {**store.settings, "endpoint": proxy.url}, timeout="6s")
    assert time.monotonic() - began < 6
    assert done.code == 3
    assert f"checkpoint not read: {reason}: {location}" in done.err
    assert "\n" not in done.err.strip()


@pytest.mark.parametrize("fault", ["truncate", "longer"])
def test_half_an_answer_is_never_taken_for_a_whole_one(started, proxy, fault):
    store = started("s3")
    location = put_checkpoint(store, healthy())
    proxy.fault = fault
    done = inspect(store, location, {**store.settings, "endpoint": proxy.url}, timeout="6s")
    if done.code == 0:
        # The library asked for the rest of a file; what it put together must be right.
        assert done.json()["problems"] == []
    else:
        assert done.code == 3 and "unreachable" in done.err and "the answer broke off" in done.err


def test_a_query_that_stands_still_costs_two_small_requests_and_no_listing(started, proxy, config, serve):
    store = started("s3")
    location = put_checkpoint(store, healthy())
    config.values["stores"] = {"lake": {**store.settings, "endpoint": proxy.url}}
    # A reading has a share of the round's time; with one second it would be too short for a busy machine.
    config.values["poll_interval"] = "2s"
    daemon = serve(config.query("orders", location, store="lake"))
    eventually(lambda: _equal(daemon.metrics().value("query_newest_committed_batch", query="orders"), 2))
    before = daemon.rounds("main")
    asked = proxy.requests_during(9)
    rounds = daemon.rounds("main") - before
    assert rounds >= 3
    assert not [path for _, path in asked if "list-type" in path]
    assert abs(len(asked) - 2 * rounds) <= 2
    key = location.removeprefix("s3a://lake/")
    for batch in (3, 4):
        store.put(f"{key}/offsets/{batch}", ENTRY)
        store.put(f"{key}/commits/{batch}", b"v1\n{}")
    eventually(lambda: _equal(daemon.metrics().value("query_newest_committed_batch", query="orders"), 4))


def _equal(got, wanted) -> None:
    assert got == wanted


def test_a_sick_store_costs_its_own_queries_only(started, proxy, config, serve):
    store = started("s3")
    proxy.fault = "delay"
    config.values["stores"] = {"lake": store.settings, "sick": {**store.settings, "endpoint": proxy.url}}
    location = put_checkpoint(store, healthy())
    config.query("well", location, store="lake")
    for number in range(40):
        config.query(f"sick{number}", f"s3a://lake/sick/{number}", store="sick")
    daemon = serve(config)
    metrics = daemon.after_a_round()
    assert metrics.value("query_newest_committed_batch", query="well") == 2
    assert metrics.value("query_newest_committed_batch", query="sick7") is None
