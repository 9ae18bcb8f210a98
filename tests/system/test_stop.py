"""A stop is heard whatever is being waited for, and told while it lasts."""

import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest

from .brinkwatch import Config, Daemon, binary
from .held_ledger import a_round_that_waits, held
from .waiting import wait_until

PATIENCE = 30


@pytest.fixture
def alone(tmp_path):
    """A configuration without clusters."""
    config = Config(tmp_path / "brinkwatch", "nowhere:1")
    config.values["clusters"] = {}
    return config


def hang(path) -> None:
    """Whoever opens it for reading waits until somebody writes: a disk that hangs."""
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def reader_of(path) -> int | None:
    """A way to write to whoever waits there; None while nobody does."""
    try:
        return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


def ends(daemon: Daemon, within: float = 2) -> None:
    """SIGTERM ends it, with the process's own time to end, as asked."""
    began = time.monotonic()
    daemon.process.child.send_signal(signal.SIGTERM)
    assert daemon.process.child.wait(PATIENCE) == 0, daemon.log()
    took = time.monotonic() - began
    assert took < within, f"{took:.2f} s:\n{daemon.log()}"


def starting(config: Config, **options) -> Daemon:
    path = config.folder / "brinkwatch.toml"
    return Daemon(config.folder, ["run", "--config", path], config.port, **options)


def test_a_stop_is_heard_while_the_configuration_is_waited_for(alone):
    alone.folder.mkdir()
    hang(alone.folder / "brinkwatch.toml")
    daemon = starting(alone)
    # It has taken the signal over once it is about to read.
    handled = re.compile(r"SigCgt:\s*(\w+)")

    def takes_it() -> bool:
        status = open(f"/proc/{daemon.process.child.pid}/status").read()
        return bool(int(handled.search(status)[1], 16) >> (signal.SIGTERM - 1) & 1)

    wait_until(takes_it, PATIENCE, "it has taken the signal over")
    ends(daemon)


def test_a_stop_is_heard_while_the_configuration_is_read_again(alone, serve):
    daemon = serve(alone)
    hang(alone.folder / "brinkwatch.toml")
    daemon.process.child.send_signal(signal.SIGHUP)
    wait_until(lambda: "reading the configuration again" in daemon.log(), PATIENCE, "it reads")
    ends(daemon)
    assert "stopping at once: something else is waited for" in daemon.log()


def test_a_ledger_that_somebody_holds_delays_neither_answers_nor_a_stop(alone, tmp_path):
    alone.values["state_dir"] = str(tmp_path / "state")
    Daemon.start(alone).stop()
    with held(tmp_path / "state"):
        daemon = starting(alone)
        wait_until(lambda: daemon.get("/-/healthy").status == 200, 3, "it answers")
        assert "it does not open within a second" in daemon.log()
        ends(daemon)


def test_while_it_stops_it_is_healthy_and_not_ready(cases, config, serve):
    with a_round_that_waits(config, cases["healthy"].checkpoint, serve) as daemon:
        daemon.process.child.send_signal(signal.SIGTERM)
        wait_until(lambda: daemon.get("/-/ready").status == 503, 1, "it is not ready any more")
        assert daemon.get("/-/ready").text == "stopping\n"
        assert daemon.get("/-/healthy").status == 200
        assert daemon.process.child.wait(PATIENCE) == 0
    assert "not everything ended in time; what is left is dropped" in daemon.log()


def test_a_second_signal_is_heard_as_well_while_a_file_is_waited_for(alone, serve):
    daemon = serve(alone)
    hang(alone.folder / "brinkwatch.toml")
    daemon.process.child.send_signal(signal.SIGHUP)
    wait_until(lambda: "reading the configuration again" in daemon.log(), PATIENCE, "it reads")
    daemon.process.child.send_signal(signal.SIGTERM)
    time.sleep(0.05)
    ends(daemon, within=1)


def test_a_recording_is_written_though_the_signal_comes_in_a_round_that_hangs(tmp_path):
    checkpoint = tmp_path / "checkpoint"
    for log in ("offsets", "commits"):
        (checkpoint / log).mkdir(parents=True)
    hang(checkpoint / "metadata")
    with socket.create_server(("127.0.0.1", 0)) as broker:
        # It takes connections and never answers.
        address = f"127.0.0.1:{broker.getsockname()[1]}"
        config = Config(tmp_path / "brinkwatch", address, values={"poll_interval": "12s"}).query("orders", checkpoint)
        argv = [binary(), "record", "orders", "--for", "1h", "--config", config.write()]
        recording = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # Somebody reads there, so the first round is under way.
        writer = wait_until(lambda: reader_of(checkpoint / "metadata"), PATIENCE, "it reads the checkpoint")
        recording.terminate()
        written, said = recording.communicate(timeout=PATIENCE)
    os.close(writer)
    assert recording.returncode == 0, said
    assert len(json.loads(written)["steps"]) == 1, written


FORMATS = {
    "logfmt": lambda line: dict(re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)', line)),
    "json": json.loads,
    "pretty": lambda line: dict(re.findall(r'(\w+)="?([^" ]+)', re.sub(r"\x1b\[[\d;]*m", "", line))),
}


@pytest.mark.parametrize("form", FORMATS)
def test_the_first_line_of_the_log_tells_version_revision_and_configuration(alone, form):
    # What somebody sets for one run overrides what is configured.
    alone.values["log"] = {"format": form, "level": "error"}
    daemon = Daemon.start(alone, env={"RUST_LOG": "brinkwatch=debug"})
    assert daemon.stop() == 0
    lines = daemon.log().splitlines()
    first = FORMATS[form](lines[0])
    assert "starting" in lines[0] and {"version", "revision", "config"} <= first.keys(), lines[0]
    assert re.fullmatch(r'"?\d+\.\d+\.\d+"?', first["version"]), first
    if form == "json":
        assert all(json.loads(line)["level"] for line in lines), "each line for itself"
    assert "stopped" in lines[-1], lines[-1]
