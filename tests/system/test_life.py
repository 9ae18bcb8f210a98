"""The life of the process: start, reading the configuration again, stop, and what a service manager hears of it."""

import os
import signal
import socket
import time
from pathlib import Path

import pytest

from . import web
from .brinkwatch import Config, Daemon, binary, run
from .held_ledger import a_round_that_waits
from .ports import free_port
from .process import Process
from .waiting import wait_until

PATIENCE = 30


@pytest.fixture
def black_hole():
    """An address that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def alone(tmp_path):
    """A configuration without clusters."""
    config = Config(tmp_path / "brinkwatch", "nowhere:1")
    config.values["clusters"] = {}
    return config


def hang_up(daemon: Daemon, config: Config) -> None:
    config.write()
    daemon.process.child.send_signal(signal.SIGHUP)


def reloaded(daemon: Daemon) -> tuple[float, float]:
    metrics = daemon.metrics()
    return metrics.value("config_last_reload_successful"), metrics.value("config_last_reload_success_timestamp_seconds")


def reload(daemon: Daemon, config: Config) -> None:
    """Reads the configuration again, and waits until it is in force."""
    before = reloaded(daemon)[1]
    # The time is told to the millisecond.
    time.sleep(0.002)
    hang_up(daemon, config)
    wait_until(lambda: reloaded(daemon)[0] == 1 and reloaded(daemon)[1] > before, PATIENCE, "the configuration was read again")


def ends(daemon: Daemon, within: float, *signals) -> int:
    """The exit code after the signals; with what time it took."""
    began = time.monotonic()
    for number in signals:
        daemon.process.child.send_signal(number)
        time.sleep(0.05)
    code = daemon.process.child.wait(PATIENCE)
    took = time.monotonic() - began
    assert took < within, f"{took:.2f} s:\n{daemon.log()}"
    return code


def test_a_port_that_is_taken_ends_it_with_1_and_the_word(alone):
    with socket.create_server(("127.0.0.1", alone.port)):
        done = run("run", "--config", alone.write())
    assert done.code == 1
    assert f"cannot listen on 127.0.0.1:{alone.port}: Address already in use" in done.err, done.err


def test_http_answers_before_the_first_round_and_is_ready_after_it_though_nothing_could_be_read(tmp_path, black_hole):
    config = Config(tmp_path / "brinkwatch", black_hole, values={"poll_interval": "5s"})
    config.query("orders", tmp_path / "missing")
    daemon = Daemon(config.folder, ["run", "--config", config.write()], config.port)
    try:
        wait_until(lambda: daemon.get("/-/healthy").status == 200, 5, "it answers")
        assert daemon.get("/-/ready").status == 503
        for path in ("/metrics", "/", "/queries/orders", "/api/v1/targets", "/rules"):
            assert daemon.get(path).status == 200, path
        wait_until(lambda: daemon.get("/-/ready").status == 200, PATIENCE, "the first round has ended")
        assert daemon.metrics().value("cluster_up", kafka_cluster="main") == 0
    finally:
        daemon.stop()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_is_done_within_two_seconds_while_broker_and_store_hang(tmp_path, black_hole, stop):
    config = Config(tmp_path / "brinkwatch", black_hole)
    # Whoever opens it for reading waits until somebody writes: a disk that hangs.
    for name in ("local", "other"):
        (tmp_path / name / "offsets").mkdir(parents=True)
        (tmp_path / name / "commits").mkdir()
        os.mkfifo(tmp_path / name / "metadata")
        config.query(name, tmp_path / name)
    config.values["stores"] = {"lake": {"kind": "s3", "endpoint": f"http://{black_hole}", "allow_http": True, "region": "x", "access_key_id": "a", "secret_access_key": "b"}}
    config.query("lake", "s3a://bucket/checkpoint", store="lake")
    daemon = Daemon(config.folder, ["run", "--config", config.write()], config.port)
    wait_until(lambda: daemon.get("/-/healthy").status == 200, 5, "it answers")
    # In the middle of a round, a scraper that says nothing, one that says half.
    silent, half = (socket.create_connection(("127.0.0.1", config.port)) for _ in range(2))
    half.sendall(b"GET /metrics HTTP/1.1\r\nhost: x\r\n")
    assert ends(daemon, 2, stop) == 0
    silent.close()
    half.close()


def test_a_second_signal_ends_it_at_once(cases, config, serve):
    with a_round_that_waits(config, cases["healthy"].checkpoint, serve) as daemon:
        assert ends(daemon, 1, signal.SIGTERM, signal.SIGTERM) == 0
    assert "stopping at once" in daemon.log(), daemon.log()


def test_what_changed_is_changed_and_everything_else_goes_on(cases, config, serve, black_hole, tmp_path):
    config.query("orders", cases["healthy"].checkpoint)
    daemon = serve(config)
    wait_until(lambda: daemon.rounds("main") >= 3, PATIENCE, "three rounds")

    def counted() -> dict[str, float]:
        metrics = daemon.metrics()
        return {
            "rounds": metrics.value("cluster_polls_total", kafka_cluster="main"),
            "reads": metrics.value("checkpoint_polls_total", query="orders"),
            "requests": sum(value for _, value in metrics.all("kafka_requests_total", kafka_cluster="main")),
            "store": sum(value for _, value in metrics.all("store_requests_total", query="orders")),
        }

    def goes_on(before: dict[str, float]) -> None:
        after = counted()
        assert all(after[name] >= before[name] for name in before), (before, after)

    before = counted()
    config.query("second", cases["aged_out"].checkpoint)
    config.values["clusters"]["other"] = {"bootstrap_servers": black_hole}
    config.query("third", tmp_path / "missing", cluster="other")
    config.values["alerts"] = {"risk_warning": 0.77}
    reload(daemon, config)
    goes_on(before)
    wait_until(lambda: daemon.metrics().one_hot("query_state", "state", query="second") == "lost", PATIENCE, "it is watched")
    assert daemon.get("/-/ready").status == 200, "a latch: the new cluster has not been read yet"
    assert daemon.metrics().value("cluster_up", kafka_cluster="other") == 0
    assert "0.77" in daemon.get("/rules").text and "0.77" in daemon.get("/config").text
    assert daemon.get("/queries/third").status == 200

    # Out of step with the rest: only the rounds over `main` change their rhythm.
    before = counted()
    del config.values["queries"]["second"], config.values["queries"]["third"], config.values["clusters"]["other"]
    reload(daemon, config)
    wait_until(lambda: not daemon.metrics().all("cluster_up", kafka_cluster="other"), PATIENCE, "the cluster has left")
    wait_until(lambda: not daemon.metrics().all("query_state", query="second"), PATIENCE, "the query has left")
    goes_on(before)
    assert daemon.get("/queries/second").status == 404

    # The same again is nothing new.
    before = counted()
    reload(daemon, config)
    assert "is the same" in daemon.log()
    goes_on(before)

    # Another client, and the same memory.
    config.values["clusters"]["main"]["librdkafka"] = {"socket_timeout_ms": 20_000}
    rounds = counted()["rounds"]
    reload(daemon, config)
    after = counted()
    assert after["rounds"] >= rounds and after["reads"] >= before["reads"]
    daemon.after_a_round()
    assert daemon.metrics().one_hot("query_state", "state", query="orders") is not None


def test_what_a_discovery_found_stays_when_something_else_changes(cases, config, serve):
    root = Path(cases["healthy"].checkpoint).parent
    config.values["discovery"] = {"lake": {"location": str(root), "cluster": "main", "name": "found/{path}"}}
    daemon = serve(config)

    def found() -> set[str]:
        return {labels["query"] for labels, _ in daemon.metrics().all("query_restartable")}

    wait_until(lambda: any(name.startswith("found/") for name in found()), PATIENCE, "something is found")
    names = found()
    looks = daemon.metrics().value("discovery_polls_total", discovery="lake")
    config.values["alerts"] = {"risk_warning": 0.6}
    config.query("orders", cases["idle"].checkpoint)
    reload(daemon, config)
    assert daemon.metrics().value("discovery_polls_total", discovery="lake") == looks
    daemon.after_a_round()
    assert found() >= names - {f"found/{Path(cases['idle'].checkpoint).name}"} and "orders" in found()
    config.values["discovery"] = {}
    reload(daemon, config)
    wait_until(lambda: found() == {"orders"}, PATIENCE, "what was found has left")
    assert not daemon.metrics().all("discovery_up")


def test_a_bad_file_leaves_the_old_configuration_in_force_and_is_told(cases, config, serve, prometheus):
    config.values["server"]["enable_reload"] = True
    config.query("orders", cases["healthy"].checkpoint)
    daemon = serve(config)
    shown, since = daemon.get("/config").text, reloaded(daemon)[1]

    def post(**headers) -> tuple[int, str]:
        answer = daemon.get("/-/reload", method="POST", body=b"", headers=headers)
        return answer.status, answer.text

    def refuses(*words: str) -> None:
        config.write()
        status, text = post()
        assert status == 500 and all(word in text for word in words), text
        hang_up(daemon, config)
        wait_until(lambda: daemon.log().count(words[-1]) >= 2, PATIENCE, "the log says so twice")
        assert reloaded(daemon) == (0, since)
        assert daemon.get("/config").text == shown

    good = {**config.values, "server": dict(config.values["server"])}
    config.values = {**good, "poll_intervall": "30s", "confirm_polls": 0}
    refuses("confirm_polls: must be 1 or more", "poll_intervall: unknown key; did you mean")
    config.values = {**good, "server": {**good["server"], "listen": f"127.0.0.1:{free_port()}"}, "state_dir": "/tmp/x"}
    refuses("a restart is needed to change server.listen, state_dir")
    config.values = {**good, "server": {**good["server"], "bearer_token_file": "/nowhere/token"}}
    refuses("/nowhere/token cannot be read")
    config.values = {**good, "queries": {"orders": {"checkpoint": "ftp://host/x", "cluster": "main"}}}
    refuses("the configuration asks for what cannot be had", "queries.orders.checkpoint")
    config.folder.joinpath("brinkwatch.toml").write_text("[server\n")
    assert post()[0] == 500
    daemon.after_a_round()

    config.values = good
    config.write()
    assert post() == (200, "the configuration was read again\n")
    now = reloaded(daemon)
    assert now[0] == 1 and now[1] > since
    assert post(**{"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert post(Origin="http://evil.example")[0] == 403
    assert post(Origin=daemon.url)[0] == 200
    assert daemon.get("/-/reload").status == 405


def test_reading_again_by_http_has_to_be_allowed(alone, serve):
    daemon = serve(alone)
    answer = daemon.get("/-/reload", method="POST", body=b"")
    assert answer.status == 403 and "server.enable_reload" in answer.text
    alone.values["server"]["enable_reload"] = True
    reload(daemon, alone)
    assert daemon.get("/-/reload", method="POST", body=b"").status == 200


class Manager:
    """Hears what a service tells its manager."""

    def __init__(self, path: Path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.settimeout(PATIENCE)
        self.path = path

    def next(self) -> list[str]:
        return self.socket.recv(4096).decode().strip().split("\n")

    def next_but_the_watchdogs(self) -> list[str]:
        while (told := self.next()) == ["WATCHDOG=1"]:
            pass
        return told


def test_a_service_manager_hears_of_start_reload_and_stop_and_the_watchdog_of_life(alone, tmp_path):
    manager = Manager(tmp_path / "notify")
    env = {"NOTIFY_SOCKET": str(manager.path), "WATCHDOG_USEC": "400000"}
    # As systemd does it: the watchdog is for this process, and for none that it starts.
    alone.folder.mkdir()
    argv = ["sh", "-c", 'WATCHDOG_PID=$$ exec "$0" "$@"', binary(), "run", "--config", alone.write()]
    process = Process(argv, alone.folder / "brinkwatch.log", env=env)
    assert manager.next() == ["READY=1"]
    assert web.request(f"http://127.0.0.1:{alone.port}/-/healthy").status == 200
    began = time.monotonic()
    assert [manager.next() for _ in range(6)] == [["WATCHDOG=1"]] * 6
    assert 0.9 < time.monotonic() - began < 5, "five times in half of 0.4 s"
    process.child.send_signal(signal.SIGHUP)
    reloading = manager.next_but_the_watchdogs()
    assert reloading[0] == "RELOADING=1" and reloading[1].startswith("MONOTONIC_USEC="), reloading
    assert manager.next_but_the_watchdogs() == ["READY=1"]
    # Held still, it is not alive.
    process.child.send_signal(signal.SIGSTOP)
    manager.socket.settimeout(0)
    with pytest.raises(BlockingIOError):
        while True:
            manager.next()
    manager.socket.settimeout(1)
    with pytest.raises(TimeoutError):
        manager.next()
    process.child.send_signal(signal.SIGCONT)
    manager.socket.settimeout(PATIENCE)
    assert manager.next() == ["WATCHDOG=1"]
    process.child.terminate()
    assert manager.next_but_the_watchdogs() == ["STOPPING=1"]
    assert process.child.wait(PATIENCE) == 0


def test_the_log_s_level_follows_the_configuration_and_its_format_does_not(alone):
    daemon = Daemon.start(alone)
    try:

        def told() -> int:
            return daemon.log().count("the configuration was read again and is in force")

        for level, ratio, lines in [("info", 0.71, 1), ("error", 0.72, 1), ("error", 0.73, 1), ("debug", 0.74, 2)]:
            alone.values |= {"log": {"level": level}, "alerts": {"risk_warning": ratio}}
            reload(daemon, alone)
            assert f"{ratio}" in daemon.get("/config").text
            assert told() == lines, (level, daemon.log())
        alone.values["log"]["format"] = "json"
        hang_up(daemon, alone)
        wait_until(lambda: "a restart is needed to change log.format" in daemon.log(), PATIENCE, "the log says so")
    finally:
        daemon.stop()
