"""`config check --live`: what can be asked is asked, each thing that is wrong is named, and nothing is written. And
what the daemon says of a retention that is too short to be watched."""

import re
import signal

from .brinkwatch import Config, run
from .kafka import HOUR_MS
from .ports import free_port
from .waiting import wait_until
from .written import checkpoint

SHORT = "a retention is shorter than ten poll intervals"


def check_live(config: Config):
    return run("config", "check", "--live", "--timeout", "10s", "--config", config.write())


def lines(out: str) -> list[tuple[str, str, str, str, str]]:
    """Result, query, cluster, topic and finding of each line, in their order."""
    header, *rows = out.split("\n\n", 1)[1].splitlines()
    starts = [match.start() for match in re.finditer(r"\S+", header)]
    assert header.split() == ["RESULT", "QUERY", "CLUSTER", "TOPIC", "FINDING"]
    return [
        tuple(row[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)) for row in rows
    ]


def files(folder) -> dict:
    return {path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes()) for path in folder.rglob("*")}


def test_what_is_well_is_said_and_nothing_is_written(broker, topic, config, tmp_path):
    broker.create_topic(topic, retention_ms=7 * 24 * HOUR_MS)
    broker.produce(topic, 10)
    config.query("orders", checkpoint(tmp_path / "orders", {topic: {0: 4}}))
    config.values["state_dir"] = str(tmp_path / "state")
    # Only a cluster; no query reads it.
    config.values["clusters"]["idle"] = {"bootstrap_servers": broker.bootstrap}
    config.write()
    before = (files(tmp_path), broker.topics(), broker.groups())
    checked = check_live(config)
    assert (checked.code, checked.err) == (0, ""), checked
    assert checked.out.startswith("configuration is valid: 2 clusters, 1 query\n")
    assert sorted(lines(checked.out)) == [
        ("ok", "-", "idle", "-", "it answers; no query reads it"),
        ("ok", "orders", "main", topic, "keeps its records for 7days"),
    ]
    again = (files(tmp_path), broker.topics(), broker.groups())
    # The configuration is written by this test.
    for found in (before, again):
        found[0].pop(config.folder / "brinkwatch.toml")
        found[0].pop(config.folder)
    assert again == before


def test_each_retention_that_is_too_short_is_named(broker, topic, config, tmp_path):
    kept = {
        "brief": {"retention_ms": 9_000},
        "hour": {"retention_ms": HOUR_MS},
        "size": {"retention_ms": -1, "retention_bytes": 2_000_000},
        "compacted": {"cleanup_policy": "compact", "retention_ms": 1_000},
    }
    for name, settings in kept.items():
        broker.create_topic(f"{topic}-{name}", **settings)
        config.query(name, checkpoint(tmp_path / name, {f"{topic}-{name}": {0: 0}}))
    # A short outage is planned for: the hour is enough.
    config.query("patient", checkpoint(tmp_path / "patient", {f"{topic}-hour": {0: 0}}), max_outage="10m")
    checked = check_live(config)
    assert (checked.code, checked.err) == (1, ""), checked
    found = {query: (result, of_topic, finding) for result, query, _, of_topic, finding in lines(checked.out)}
    results = [result for result, *_ in lines(checked.out)]
    assert results == ["wrong", "wrong", "cannot tell", "ok", "ok"], "worst first"
    assert {query: of_topic for query, (_, of_topic, _) in found.items()} == {
        **{name: f"{topic}-{name}" for name in kept},
        "patient": f"{topic}-hour",
    }
    result, _, finding = found["brief"]
    assert result == "wrong"
    assert "for 9s, less than ten poll intervals (10s)" in finding and "max_outage" in finding, finding
    result, _, finding = found["hour"]
    assert result == "wrong" and "ten poll intervals" not in finding, finding
    assert "less than max_outage and one batch interval (1day 10m)" in finding, finding
    assert "set its retention.ms to 87000000 or more" in finding, finding
    assert found["size"][0] == "cannot tell" and "brinkwatch size size" in found["size"][2]
    assert found["compacted"][::2] == ("ok", "keeps its records for ever")
    assert found["patient"][::2] == ("ok", "keeps its records for 1h")


def test_what_cannot_be_reached_never_passes_as_fine(broker, topic, config, tmp_path):
    broker.create_topic(topic, retention_ms=7 * 24 * HOUR_MS)
    config.query("orders", checkpoint(tmp_path / "orders", {topic: {0: 0}}))
    # A finding stands beside what was not read, and does not hide it.
    absent = f"{topic}-absent"
    config.query("absent", checkpoint(tmp_path / "absent", {absent: {0: 4}}))
    assert check_live(config).code == 1
    port = free_port()
    config.values["clusters"]["away"] = {"bootstrap_servers": f"127.0.0.1:{port}"}
    config.query("elsewhere", checkpoint(tmp_path / "elsewhere", {topic: {0: 0}}), cluster="away")
    config.query("missing", tmp_path / "missing")
    config.values["stores"] = {
        "away": {"kind": "s3", "endpoint": f"http://127.0.0.1:{free_port()}", "allow_http": True, "region": "x"}
        | {"access_key_id": "a", "secret_access_key": "b"}
    }
    config.query("unreachable", "s3://bucket/checkpoints", store="away")
    config.values["discovery"] = {
        "lake": {"location": "s3://bucket/lake/", "store": "away", "cluster": "main"},
        "nothing": {"location": str(tmp_path / "nothing"), "cluster": "main"},
    }
    checked = check_live(config)
    assert checked.code == 3, checked
    found = lines(checked.out)
    grades = [result for result, *_ in found]
    assert grades == ["not read"] * 5 + ["wrong", "wrong", "ok"], "worst first"
    said = {(query, cluster): finding for _, query, cluster, _, finding in found}
    assert "the cluster was not read: unreachable" in said["-", "away"]
    assert f"names {topic}; the cluster was not read" in said["elsewhere", "away"]
    assert f"there is no checkpoint at file://{tmp_path / 'missing'}" in said["missing", "main"]
    assert "the checkpoint at s3://bucket/checkpoints was not read: " in said["unreachable", "main"]
    assert "discovery.lake.location was not looked through" in found[0][4], "it is told first"
    assert "below discovery.nothing.location there is no checkpoint" in said["-", "-"]
    assert "the cluster has no such topic" in said["absent", "main"]
    assert said["orders", "main"] == "keeps its records for 7days"
    # Without the option nobody is asked.
    assert run("config", "check", "--config", config.write()).code == 0


def test_the_daemon_names_a_short_retention_once_and_again_when_it_is_back(broker, topic, config, serve, tmp_path):
    broker.create_topic(topic, retention_ms=30_000)
    config.query("orders", checkpoint(tmp_path / "orders", {topic: {0: 0}}))
    config.query("same", checkpoint(tmp_path / "same", {topic: {0: 0}}))
    daemon = serve(config)
    daemon.after_a_round()
    assert SHORT not in daemon.log()

    def poll_every(interval: str) -> None:
        config.values["poll_interval"] = interval
        config.write()
        daemon.process.child.send_signal(signal.SIGHUP)

    def told() -> list[str]:
        return [line for line in daemon.log().splitlines() if f"{SHORT}:" in line]

    poll_every("4s")
    wait_until(told, 20, "the short retention is named")
    daemon.after_a_round()
    [line] = told()
    assert f"{topic} (30 s)" in line and "ten_polls=40s" in line and "kafka_cluster=main" in line, line
    poll_every("1s")
    wait_until(lambda: f"{SHORT} no more" in daemon.log(), 20, "it is said to be over")
    daemon.after_a_round()
    assert len(told()) == 1
    poll_every("4s")
    wait_until(lambda: len(told()) == 2, 20, "it is named again")
