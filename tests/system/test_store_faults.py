"""A store that fails says why, in time, and costs only its own queries."""

import time

import pytest

from . import brinkwatch
from .checkpoints import COMMIT, ENTRY, healthy, inspect, put_checkpoint, put_checkpoints
from .faults import FaultProxy
from .stores import S3, environment
from .waiting import eventually

# What each fault of a store is called, and what the chain of its causes says.
FAULTS = {
    "delay": ("timed_out", "timed out"),
    "throttle": ("unreachable", "SlowDown"),
    "too many": ("unreachable", "429"),
    "fail": ("unreachable", "InternalError"),
    "reset": ("unreachable", "error sending request"),
    "garbage": ("malformed", "the answer makes no sense"),
    "deny": ("denied", "AccessDenied"),
    "redirect": ("unreachable", "another region or at another endpoint"),
    "circle": ("unreachable", "redirect"),
    "truncate": ("unreachable", "the answer broke off"),
}


@pytest.fixture
def proxy(started):
    proxy = FaultProxy(started("s3").url)
    yield proxy
    proxy.stop()


@pytest.mark.parametrize("kind", ["s3", "azure"])
def test_a_bucket_that_is_not_there_is_not_found(started, kind):
    store = started(kind)
    done = inspect(store, store.location("cp", bucket="no-such-bucket"))
    assert done.code == 3
    assert "not_found" in done.err and "no such bucket or container" in done.err


def test_a_missing_right_is_denied_and_no_secret_is_told(tmp_path):
    store = S3(tmp_path)
    try:
        location = store.location(put_checkpoint(store, healthy()))
        nobody = store.check_rights()
        done = inspect(store, location, nobody)
    finally:
        store.stop()
    assert done.code == 3
    assert "denied" in done.err and "metadata" in done.err
    assert nobody["secret_access_key"] not in done.err and "Signature" not in done.err


def test_a_wrong_key_of_azure_is_denied(started):
    store = started("azure")
    location = store.location(put_checkpoint(store, healthy()))
    done = inspect(store, location, {**store.settings, "account_key": "d3Jvbmc="})
    assert done.code == 3
    assert "denied" in done.err and "d3Jvbmc" not in done.err


def test_a_missing_right_on_hdfs_is_denied(started):
    store = started("hdfs")
    key = put_checkpoint(store, healthy())
    store.ask("SETPERMISSION", key, permission="700")
    nobody = {**environment(store.settings), "HADOOP_USER_NAME": "nobody"}
    done = brinkwatch.run("inspect", store.location(key), "--store", "lake", env=nobody)
    assert done.code == 3
    assert "denied" in done.err and "AccessControlException" in done.err and "\n" not in done.err.strip()


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_of_a_store_has_its_reason_before_the_deadline(started, proxy, fault):
    store = started("s3")
    location = store.location(put_checkpoint(store, healthy()))
    proxy.fault = fault
    reason, words = FAULTS[fault]
    began = time.monotonic()
    done = inspect(store, location, {**store.settings, "endpoint": proxy.url}, timeout="6s")
    assert time.monotonic() - began < 6
    assert done.code == 3
    assert f"checkpoint not read: {reason}: {location}" in done.err and words in done.err
    assert "\n" not in done.err.strip()


@pytest.mark.parametrize("fault", ["truncate", "longer"])
def test_half_an_answer_is_never_taken_for_a_whole_one(started, proxy, fault):
    store = started("s3")
    location = store.location(put_checkpoint(store, healthy()))
    proxy.fault = fault
    done = inspect(store, location, {**store.settings, "endpoint": proxy.url}, timeout="6s")
    if done.code == 0:
        # The library asked for the rest of a file; what it put together must be right.
        assert done.json()["problems"] == []
    else:
        assert done.code == 3 and "unreachable" in done.err and "the answer broke off" in done.err


def test_every_fault_is_counted_and_logged_and_costs_only_its_own_query(started, config, serve):
    """One store after another falls sick, in every way there is, all of them at once."""
    store = started("s3")
    # So few batches that both logs are listed each time.
    well, *keys = put_checkpoints(store, [healthy(range(2), range(2))] * (1 + len(FAULTS)))
    locations = [store.location(key) for key in keys]
    proxies = {fault: FaultProxy(store.url) for fault in FAULTS}
    config.values["stores"] = {"lake": store.settings}
    # A reading has a third of it, and asks three times: one that hangs is given up before a busy machine is.
    config.values["poll_interval"] = "8s"
    config.query("well", store.location(well), store="lake")
    for number, (proxy, location) in enumerate(zip(proxies.values(), locations, strict=True)):
        config.values["stores"][f"lake{number}"] = {**store.settings, "endpoint": proxy.url}
        config.query(f"query{number}", location, store=f"lake{number}")
    try:
        daemon = serve(config)

        def failures(number: int | str) -> dict[str, float]:
            name = f"query{number}" if number != "well" else "well"
            found = daemon.metrics().all("checkpoint_poll_failures_total", query=name)
            return {labels["reason"]: count for labels, count in found}

        def all_up() -> None:
            ups = [value for _, value in daemon.metrics().all("checkpoint_up")]
            assert ups == [1] * (1 + len(FAULTS))

        eventually(all_up, 60)
        # A busy machine may have been too slow for the first rounds.
        before = {name: failures(name) for name in ("well", *range(len(FAULTS)))}
        logged = len(daemon.log())
        for fault, proxy in proxies.items():
            proxy.fault = fault

        def all_told() -> None:
            log = daemon.log()[logged:]
            for number, (reason, words) in enumerate(FAULTS.values()):
                now = failures(number)
                assert {one for one in now if now[one] > before[number].get(one, 0)} == {reason}, number
                lines = [line for line in log.splitlines() if f"query=query{number} " in line]
                assert len(lines) == 1 and "cannot be read" in lines[0], lines
                assert f"reason={reason} " in lines[0] and words in lines[0] and locations[number] in lines[0]

        eventually(all_told, 40)
        # Rests and trials are no news: the log says no more.
        daemon.after_a_round()
        all_told()
        assert failures("well") == before["well"]
        # They come back by themselves; but for those that asked for a minute.
        for proxy in proxies.values():
            proxy.fault = "pass"
        patient = [number for number, fault in enumerate(FAULTS) if fault in ("throttle", "too many")]

        def back() -> None:
            now = daemon.metrics()
            for number in range(len(proxies)):
                assert now.value("checkpoint_up", query=f"query{number}") == (number not in patient), number

        eventually(back, 60)
        # Told once, as the beginning was.
        for number in set(range(len(proxies))) - set(patient):
            lines = [line for line in daemon.log()[logged:].splitlines() if f"query=query{number} " in line]
            assert len(lines) == 2 and "level=info" in lines[1] and "the checkpoint can be read" in lines[1], lines
    finally:
        for proxy in proxies.values():
            proxy.stop()


def test_a_query_that_stands_still_costs_two_small_requests_and_hardly_a_listing(started, proxy, config, serve):
    store = started("s3")
    key = put_checkpoint(store, healthy())
    config.values["stores"] = {"lake": {**store.settings, "endpoint": proxy.url}}
    # A reading has a share of the round's time; with one second it would be too short for a busy machine.
    config.values["poll_interval"] = "2s"
    daemon = serve(config.query("orders", store.location(key), store="lake"))
    eventually(lambda: _equal(daemon.metrics().value("query_newest_committed_batch", query="orders"), 2))
    before = daemon.rounds("main")
    asked = proxy.requests_during(9)
    rounds = daemon.rounds("main") - before
    assert rounds >= 3
    # Both logs are listed again after two quiet readings, after four more, and then more and more rarely.
    listings = len([path for _, path in asked if "list-type" in path])
    assert listings <= 4
    assert abs(len(asked) - listings - 2 * rounds) <= 2 + listings // 2
    for batch in (3, 4):
        store.put(f"{key}/offsets/{batch}", ENTRY)
        store.put(f"{key}/commits/{batch}", COMMIT)
    eventually(lambda: _equal(daemon.metrics().value("query_newest_committed_batch", query="orders"), 4))


def _equal(got, wanted) -> None:
    assert got == wanted


def test_a_sick_store_costs_its_own_queries_only(started, proxy, config, serve):
    store = started("s3")
    proxy.fault = "delay"
    config.values["stores"] = {"lake": store.settings, "sick": {**store.settings, "endpoint": proxy.url}}
    config.query("well", store.location(put_checkpoint(store, healthy())), store="lake")
    for number in range(40):
        config.query(f"sick{number}", f"s3a://lake/sick/{number}", store="sick")
    daemon = serve(config)
    metrics = daemon.after_a_round()
    assert metrics.value("query_newest_committed_batch", query="well") == 2
    assert metrics.value("query_newest_committed_batch", query="sick7") is None
