"""What is broken is named, and breaks nothing else."""

import re
import shutil
import socket
import time

import pytest

from . import brinkwatch
from .brinkwatch import Config, Daemon, Metrics
from .ports import free_port
from .waiting import eventually, wait_until


def copied(case, folder):
    return shutil.copytree(case.checkpoint, folder)


def test_a_broken_checkpoint_is_named_and_the_others_go_on(cases, config, serve, tmp_path):
    case = cases["mid_batch"]
    (tmp_path / "empty").mkdir()
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "holiday.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    malformed = copied(case, tmp_path / "malformed")
    for name in ("0", "1"):
        (malformed / "offsets" / name).write_text("v1\n{not json\n{}\n")
    config.query("well", cases["healthy"].checkpoint)
    for name in ("missing", "empty", "foreign", "malformed"):
        config.query(name, tmp_path / name)
    daemon = serve(config)
    # A file that does not parse is taken as still being written, until it is seen so twice.
    daemon.after_a_round()
    metrics = daemon.after_a_round()
    assert metrics.one_hot("query_state", "state", query="well") == "behind"
    assert metrics.value("checkpoint_up", query="well") == 1
    for name, reason, file in (
        ("missing", "not_found", "missing"),
        ("empty", None, "empty"),
        ("foreign", None, "foreign"),
        ("malformed", "malformed", "offsets/1"),
    ):
        assert metrics.value("checkpoint_up", query=name) == 0, name
        assert metrics.one_hot("query_state", "state", query=name) == "unreadable", name
        assert not metrics.all("committed_offset", query=name)
        assert not metrics.all("lag_offsets", query=name)
        page = daemon.get(f"/queries/{name}")
        assert page.status == 200 and file in page.text, name
        assert file in daemon.log(), name
        if reason:
            assert metrics.value("checkpoint_poll_failures_total", query=name, reason=reason) >= 1


def test_a_half_written_newest_file_leaves_the_position_and_is_not_restartable(cases, config, serve, tmp_path):
    case = cases["mid_batch"]
    torn = copied(case, tmp_path / "torn")
    whole = (torn / "offsets" / "1").read_bytes()
    (torn / "offsets" / "1").write_bytes(whole[: len(whole) // 2])
    daemon = serve(config.query("torn", torn))

    def is_believed() -> Metrics:
        metrics = daemon.metrics()
        assert metrics.value("query_restartable", query="torn") == 0
        return metrics

    metrics = eventually(is_believed)
    assert metrics.value("checkpoint_up", query="torn") == 1
    assert metrics.value("query_checkpoint_problem", query="torn", problem="newest_offsets_malformed") == 1
    for partition, committed in case.committed.items():
        assert metrics.value("committed_offset", query="torn", partition=partition) == committed


def test_check_of_a_half_written_checkpoint_is_a_finding(cases, config, tmp_path):
    torn = copied(cases["mid_batch"], tmp_path / "torn")
    (torn / "offsets" / "1").write_text("")
    done = brinkwatch.check("--config", config.query("torn", torn).write())
    assert done.code == 1, done.err
    [query] = done.json()["queries"]
    assert "newest_offsets_empty" in [one["problem"] for one in query["problems"]]


def test_a_checkpoint_that_vanishes_keeps_its_last_good_position(cases, config, serve, tmp_path):
    case = cases["healthy"]
    checkpoint = copied(case, tmp_path / "moving")
    daemon = serve(config.query("q", checkpoint))
    before = daemon.after_a_round()
    checkpoint.rename(tmp_path / "moved")
    after = daemon.after_a_round()
    assert after.value("checkpoint_up", query="q") == 0
    assert after.one_hot("query_state", "state", query="q") == "unreadable"
    for partition, committed in case.committed.items():
        headroom = after.value("headroom_offsets", query="q", partition=partition)
        assert headroom == before.value("headroom_offsets", query="q", partition=partition) is not None
        # Not moved on by rounds that could not be read.
        deadline = after.value("deletion_deadline_timestamp_seconds", query="q", partition=partition)
        assert deadline is not None
        assert deadline == daemon.after_a_round().value(
            "deletion_deadline_timestamp_seconds", query="q", partition=partition
        )
        assert after.value("committed_offset", query="q", partition=partition) == committed
        assert after.value("lag_offsets", query="q", partition=partition) is None
        assert after.value("retention_remaining_ratio", query="q", partition=partition) is None
    assert after.value("query_topic_lag_offsets", query="q") is None
    (tmp_path / "moved").rename(checkpoint)
    back = daemon.after_a_round()
    assert back.value("checkpoint_up", query="q") == 1
    assert back.one_hot("query_state", "state", query="q") == "behind"


def test_kafka_away_at_start_delays_no_answer(cases, tmp_path):
    nobody = f"127.0.0.1:{free_port()}"
    config = Config(tmp_path / "b", nobody).query("q", cases["healthy"].checkpoint)
    began = time.monotonic()
    daemon = Daemon(config.folder, ["run", "--config", config.write()], config.port)
    try:
        wait_until(lambda: daemon.get("/-/healthy").status == 200, 5, "HTTP is up")
        assert daemon.get("/metrics").status == 200
        assert time.monotonic() - began < 5
        daemon.wait_ready(60)
        metrics = daemon.metrics()
        assert metrics.value("cluster_up", kafka_cluster="main") == 0
        assert metrics.value("checkpoint_up", query="q") == 1
        assert metrics.value("cluster_poll_failures_total", kafka_cluster="main", reason="unreachable") >= 1
        assert not metrics.all("lag_offsets") and not metrics.all("lost_offsets")
        assert metrics.one_hot("query_state", "state", query="q") == "unknown"
        assert nobody in daemon.get("/queries/q").text or "unreachable" in daemon.get("/queries/q").text
    finally:
        assert daemon.stop() == 0


def test_a_broker_restart_changes_no_value_but_to_unknown(own_broker, spark, serve, topic, tmp_path):
    broker = own_broker()
    broker.create_topic(topic, partitions=2)
    broker.produce(topic, 20, partition=0)
    broker.produce(topic, 20, partition=1)
    broker.delete_records(topic, {0: 4})
    spark.run(broker.bootstrap, tmp_path / "checkpoint", subscribe=topic)
    broker.produce(topic, 3, partition=1)
    config = Config(tmp_path / "b", broker.bootstrap).query("q", tmp_path / "checkpoint")
    # A client gives up on a silent broker within one round of this test.
    config.values["clusters"]["main"]["librdkafka"] = {"socket_timeout_ms": "2000"}
    daemon = serve(config)
    names = (
        "committed_offset",
        "headroom_offsets",
        "lag_offsets",
        "lost_offsets",
        "earliest_offset",
        "latest_offset",
        "topic_partitions",
        "query_topic_lost_offsets",
        "query_topic_lag_offsets",
    )

    def values(metrics: Metrics) -> dict[tuple, float]:
        return {(name, tuple(sorted(labels.items()))): value for name in names for labels, value in metrics.all(name)}

    settled = values(daemon.after_a_round())
    assert len(settled) > 12

    def watch_until(what: str, timeout: float, done) -> None:
        def look() -> bool:
            metrics = daemon.metrics()
            now = values(metrics)
            changed = {key: (settled.get(key), value) for key, value in now.items() if settled.get(key) != value}
            nonlocal broken
            broken = broken or changed
            return bool(broken) or done(metrics)

        broken = {}
        wait_until(look, timeout, what)
        assert not broken, f"changed while waiting until {what}: {broken}"

    broker.kill()
    watch_until("cluster_up is 0", 30, lambda metrics: metrics.value("cluster_up", kafka_cluster="main") == 0)
    away = daemon.metrics()
    assert away.one_hot("query_state", "state", query="q") == "unknown"
    assert away.value("lag_offsets", query="q", partition=0) is None
    assert away.value("deletion_deadline_timestamp_seconds", query="q", partition=1) is not None
    broker.start()
    watch_until("all is back", 60, lambda metrics: values(metrics) == settled)
    assert daemon.after_a_round().value("cluster_up", kafka_cluster="main") == 1


def test_a_port_that_is_taken_ends_with_1_and_says_so(cases, config):
    path = config.query("q", cases["healthy"].checkpoint).write()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", config.port))
        taken.listen()
        done = brinkwatch.run("run", "--config", path)
    assert done.code == 1
    assert "in use" in done.err and str(config.port) in done.err


def test_every_mistake_of_a_configuration_is_told_at_once(tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text("""
poll_intervall = "30s"
confirm_time = "soon"
[server]
listen = "not an address"
[clusters.main]
bootstrap_servers = "127.0.0.1:1"
[queries.orders]
checkpoint = "/tmp/nowhere"
cluster = "mian"
subscribe = "maybe"
""")
    for command in (["run"], ["config", "check"], ["check"]):
        done = brinkwatch.run(*command, "--config", path)
        assert done.code == 78, command
        for key in (
            "poll_intervall",
            "confirm_time",
            "server.listen",
            "queries.orders.cluster",
            "queries.orders.subscribe",
        ):
            assert key in done.err, f"{command} does not name {key}:\n{done.err}"
        assert "poll_interval" in re.sub("poll_intervall", "", done.err), "the nearest known key"


def test_a_mistake_in_the_environment_is_told_with_its_layer(cases, config):
    path = config.query("q", cases["healthy"].checkpoint).write()
    done = brinkwatch.run("config", "check", "--config", path, env={"BRINKWATCH__POLL_INTERVALL": "5s"})
    assert done.code == 78
    assert "environment" in done.err and "poll_interval" in done.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["check", "--no-such-option"], 2), (["no-such-command"], 2), (["--version"], 0), (["--help"], 0)],
)
def test_usage_has_its_own_exit_code(arguments, code):
    assert brinkwatch.run(*arguments).code == code


def test_check_exits_with_3_when_kafka_cannot_be_read(cases):
    case = cases["healthy"]
    done = brinkwatch.check("--checkpoint", case.checkpoint, "--bootstrap-servers", f"127.0.0.1:{free_port()}")
    assert done.code == 3
    assert done.err


def test_check_exits_with_3_when_a_checkpoint_cannot_be_read_even_beside_findings(cases, config, tmp_path):
    config.query("lost", cases["aged_out"].checkpoint).query("missing", tmp_path / "missing")
    done = brinkwatch.check("--config", config.write())
    assert done.code == 3
    states = {one["query"]: one["state"] for one in done.json()["queries"]}
    assert states == {"lost": "lost", "missing": "unreadable"}


def test_check_refuses_a_query_that_is_not_configured(cases, config):
    done = brinkwatch.check("--config", config.query("orders", cases["healthy"].checkpoint).write(), "ordres")
    assert done.code in (2, 78)
    assert "ordres" in done.err and "orders" in done.err


def test_a_stop_signal_ends_with_0_even_while_kafka_is_away(cases, tmp_path):
    config = Config(tmp_path / "b", f"127.0.0.1:{free_port()}").query("q", cases["healthy"].checkpoint)
    daemon = Daemon(config.folder, ["run", "--config", config.write()], config.port)
    wait_until(lambda: daemon.get("/-/healthy").status == 200, 10, "HTTP is up")
    began = time.monotonic()
    assert daemon.stop() == 0
    assert time.monotonic() - began < 5
