"""What holds for every store, from directories to HDFS: one list, run over each of them."""

import json
import time
import tomllib
from contextlib import contextmanager
from pathlib import Path

import pytest

from .checkpoints import (
    COMMIT,
    ENTRY,
    NAMES,
    Watch,
    healthy,
    inspect,
    inspect_files,
    problems,
    put_checkpoint,
    put_checkpoints,
    read_each,
    rfc3339,
)
from .paging import DIALECTS, PagingProxy
from .stores import ACCOUNT, KINDS

FIXTURES = Path(__file__).parents[1] / "fixtures" / "checkpoints"
CASES = sorted(path.parent for path in FIXTURES.glob("*/expected.json"))
REMOTE = [kind for kind in KINDS if kind != "file"]


@pytest.fixture(params=KINDS)
def store(request, started):
    """Each store in turn."""
    return started(request.param)


@pytest.fixture
def watch(store, tmp_path):
    """Makes readers that remember: `watch(key)`."""
    made = []

    def start(key: str) -> Watch:
        made.append(Watch(store, store.location(key), tmp_path))
        return made[-1]

    yield start
    for one in made:
        one.stop()


def test_a_healthy_checkpoint_is_read(store):
    done = inspect_files(store, healthy())
    assert (done.code, done.err) == (0, "")
    said = done.json()
    assert (said["newest_planned_batch"], said["newest_committed_batch"], said["problems"]) == (2, 2, [])
    positions = said["sources"][0]["topics"]["orders"]
    assert {number: one["committed"] for number, one in positions.items()} == {"0": 5, "1": 7}
    assert abs(time.time() - rfc3339(said["last_commit_at"])) < 60


def test_the_newest_batch_is_the_highest_number_and_strays_are_nothing(store):
    strays = {
        "offsets/.12.0b8c8b3e-9a0f.tmp": b"",
        "offsets/.9.crc": b"crc",
        "offsets/9.bak": b"x",
        "commits/.12.0b8c8b3e-9a0f.tmp": b"",
        "offsets/99/x": b"a directory with a number for a name",
        "state/0/0/1.delta": b"x",
    }
    done = inspect_files(store, {**healthy(range(2, 12), range(2, 12)), **strays})
    assert (done.json()["newest_planned_batch"], problems(done)) == (11, [])


def test_markers_of_directories_are_no_files(store):
    markers = {"offsets_$folder$": b"", "commits_$folder$": b"", "$folder$": b""}
    if store.has_empty_names:
        markers |= {"offsets/": b"", "commits/": b"", "": b""}
    done = inspect_files(store, {**healthy(), **markers})
    assert (done.code, problems(done)) == (0, [])


def test_paths_may_hold_odd_letters(store):
    root = f"odd/{next(NAMES)}/a b%20c+é=d'(1)"
    for name, content in healthy().items():
        store.put(f"{root}/{name}", content)
    done = inspect(store, store.location(root))
    assert (done.code, problems(done)) == (0, [])


def test_an_open_batch_an_empty_file_and_a_lost_log_are_told_alike(store):
    open_batch = inspect_files(store, healthy(range(3), range(2)))
    assert open_batch.json()["batch_open"] is True
    empty = inspect_files(store, {**healthy(range(3), range(2)), "offsets/2": b""})
    assert problems(empty) == ["newest_offsets_empty"]
    lost = inspect_files(store, healthy([], range(3)))
    assert problems(lost) == ["offsets_lost"]


def test_checkpoints_below_a_prefix_are_found(store):
    root = f"tree/{next(NAMES)}"
    for place in ("orders_v1", "orders_v2", "team/clicks", "etl/_checkpoints/a/b/flow/0"):
        for name, content in healthy().items():
            store.put(f"{root}/{place}/{name}", content)
    location = store.location(root)
    done = store.run("discover", location, *store.named())
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


def test_a_file_that_no_checkpoint_holds_is_refused_by_name(store):
    done = inspect_files(store, {**healthy(), "offsets/3": b"x" * (33 * 1024 * 1024)})
    assert done.code == 3
    assert "malformed" in done.err and "offsets/3 holds 34603008 bytes" in done.err


def test_a_query_that_stands_still_costs_two_small_requests_and_no_listing(store, watch):
    watched = watch(put_checkpoint(store, healthy()))
    first = watched.read()
    assert (first["list"], first["read"]["reading"]["newest_committed_batch"]) == (2, 2)
    for _ in range(2):
        again = watched.read()
        assert (again["get"], again["list"], again["read"]) == (2, 0, first["read"])


def test_what_a_query_does_is_seen_at_the_next_poll(store, watch):
    key = put_checkpoint(store, healthy())
    watched = watch(key)
    watched.read()

    def seen() -> tuple:
        said = watched.read()["read"]["reading"]
        return said["newest_planned_batch"], said["newest_committed_batch"], said["problems"]

    store.put(f"{key}/offsets/3", ENTRY)
    assert seen() == (3, 2, [])
    store.put(f"{key}/commits/3", COMMIT)
    assert seen() == (3, 3, [])
    store.put(f"{key}/offsets/4", ENTRY)
    store.put(f"{key}/commits/4", COMMIT)
    store.delete(f"{key}/offsets/0")
    store.delete(f"{key}/commits/0")
    assert seen() == (4, 4, [])


def test_files_that_were_rewritten_or_taken_away_are_noticed(store, watch):
    key = put_checkpoint(store, healthy())
    watched = watch(key)

    def committed() -> tuple:
        said = watched.read()["read"]["reading"]
        return said["newest_committed_batch"], said["sources"][0]["topics"]["orders"]["0"]["committed"]

    assert (committed(), committed()) == ((2, 5), (2, 5))
    # Edited in place, to as many letters. The two files that count are looked at in turn.
    store.put(f"{key}/offsets/2", ENTRY.replace(b"5", b"6"))
    assert (committed(), committed())[1] == (2, 6)
    # A query that was set back by hand: the newest batch is gone, and the one before has other offsets of equal length.
    store.put(f"{key}/offsets/1", ENTRY.replace(b"5", b"3"))
    store.delete(f"{key}/commits/2")
    assert committed() == (1, 3)
    store.put(f"{key}/offsets/1", ENTRY.replace(b"5", b"4"))
    store.delete(f"{key}/offsets/2")
    assert committed() == (1, 4)


@contextmanager
def in_pages(store):
    """The store's settings, and how its pages are counted. Those of moto hold a thousand names; others are cut here."""
    if store.kind not in DIALECTS:
        yield store.settings, None
        return
    proxy = PagingProxy(store.url, store.kind, 5)
    endpoint = f"{proxy.url}/{ACCOUNT}" if store.kind == "azure" else proxy.url
    try:
        yield {**store.settings, "endpoint": endpoint}, proxy
    finally:
        proxy.stop()


def test_more_batches_than_a_page_of_a_listing_are_all_seen(store):
    location = store.location(put_checkpoint(store, healthy(range(12), range(12))))
    with in_pages(store) as (settings, proxy):
        done = inspect(store, location, settings)
    assert (done.json()["newest_committed_batch"], problems(done)) == (11, [])
    # Twelve names in pages of five, in each of both logs.
    assert proxy is None or len(proxy.listings) == 6


@pytest.mark.parametrize("kind", ["file", "memory", "s3"])
def test_more_batches_than_a_page_of_a_listing_has_are_all_seen_without_help(started, kind):
    store = started(kind)
    done = inspect_files(store, healthy(range(1102), range(1102)))
    assert (done.json()["newest_committed_batch"], problems(done)) == (1101, [])


@pytest.fixture(scope="module")
def real():
    """Every real checkpoint there is, by name: its files."""
    names = {case: json.loads((case / "expected.json").read_text())["file_times"] for case in CASES}
    assert len(names) > 60
    return {case.name: {name: (case / "checkpoint" / name).read_bytes() for name in names[case]} for case in CASES}


@pytest.fixture(scope="module")
def here(started, real):
    """What they say on this machine, and when they were written there."""
    return uploaded(started("file"), real)


def uploaded(store, real) -> tuple[float, list[dict]]:
    written = time.time()
    return written, read_each(store, [store.location(key) for key in put_checkpoints(store, list(real.values()))])


@pytest.mark.parametrize("kind", REMOTE)
def test_every_real_checkpoint_is_read_alike(started, real, here, kind):
    there = uploaded(started(kind), real)
    shift, took = there[0] - here[0], time.time() - there[0]
    readings = zip(real, here[1], there[1], strict=True)
    different = [(name, one, other) for name, one, other in readings if not alike(one, other, shift, took)]
    assert different == []


def alike(here: dict, there: dict, shift: float, took: float) -> bool:
    """Whether two readings are equal, but for the location and for what the moment of the upload itself decides."""
    if "reading" not in here or "reading" not in there:
        return here.get("reason") == there.get("reason")
    one, other = dict(here["reading"]), dict(there["reading"])
    for name in ("last_commit_at", "planned_at"):
        times = one.pop(name), other.pop(name)
        if None in times:
            if times != (None, None):
                return False
            continue
        apart = rfc3339(times[1]) - rfc3339(times[0])
        # Out of the entries, or of the files: these are as much younger as the upload is. Object stores tell seconds.
        if apart != 0 and not -2 < apart - shift < took + 2:
            return False
    del one["checkpoint"], other["checkpoint"]
    return one == other
