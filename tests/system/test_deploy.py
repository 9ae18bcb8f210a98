"""Files that operators install, held against the tools that will read them."""

import re
import socket
import subprocess

import pytest

from .brinkwatch import ROOT, Config, binary, run

UNIT = ROOT / "deploy" / "systemd" / "brinkwatch.service"
INSTALLED = "/usr/bin/brinkwatch"


@pytest.fixture
def unit(tmp_path):
    """The unit with the path of our binary: verify wants to see that it can be run."""
    path = tmp_path / UNIT.name
    text = UNIT.read_text()
    assert f"ExecStart={INSTALLED} run " in text
    path.write_text(text.replace(INSTALLED, str(binary())))
    return path


def systemd_analyze(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run(["systemd-analyze", *map(str, arguments)], capture_output=True, text=True, timeout=60,
                          check=False)


def test_systemd_takes_every_line_of_the_unit(unit):
    """An option that systemd does not know is only a line on stderr; the exit code stays 0."""
    done = systemd_analyze("verify", unit)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_exposes_next_to_nothing(unit):
    done = systemd_analyze("security", "--offline=true", unit)
    level = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert level, done.stdout + done.stderr
    assert float(level[1]) <= 2.0, done.stdout


def test_the_unit_waits_for_readiness_and_does_not_retry_what_cannot_heal():
    lines = UNIT.read_text().splitlines()
    assert "Type=notify" in lines
    assert "RestartPreventExitStatus=2 78" in lines
    done = run("config", "check", "--set", "alerts.risk_warning=7")
    assert done.code == 78, done


def test_the_service_manager_is_told_of_start_and_stop_though_kafka_is_away(serve, tmp_path):
    address = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(address))
        manager.settimeout(10)
        config = Config(tmp_path / "brinkwatch", "127.0.0.1:1")
        daemon = serve(config, env={"NOTIFY_SOCKET": str(address)})
        assert manager.recv(100).decode().strip() == "READY=1"
        assert daemon.stop() == 0
        assert manager.recv(100).decode().strip() == "STOPPING=1"
