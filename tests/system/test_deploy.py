"""Files that operators install, held against the tools that will read them."""

import json
import re
import socket
import subprocess
import tomllib

import pytest

from .brinkwatch import ROOT, Config, binary, run

UNIT = ROOT / "deploy" / "systemd" / "brinkwatch.service"
DOCKERFILE = ROOT / "deploy" / "docker" / "Dockerfile"
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


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.M)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line.strip()]


def test_the_image_is_built_by_the_oldest_rust_that_the_manifest_allows_or_a_newer_one():
    wanted = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]["rust-version"]
    used = re.search(r"^ARG RUST_VERSION=([\d.]+)$", DOCKERFILE.read_text(), flags=re.M)[1]
    assert [int(part) for part in used.split(".")] >= [int(part) for part in wanted.split(".")]


def test_the_runtime_image_has_no_root_no_shell_form_and_was_run_once():
    found = instructions()
    runtime = found[max(index for index, (word, _) in enumerate(found) if word == "FROM"):]
    assert "distroless/cc-debian13:nonroot" in runtime[0][1]
    for word, rest in runtime:
        if word in {"RUN", "ENTRYPOINT", "CMD"}:
            assert isinstance(json.loads(rest), list), f"{word} {rest}: there is no shell in this image"
    assert ("RUN", f'["{INSTALLED}", "--version"]') in runtime
    assert dict(runtime)["USER"].split(":")[0].isdigit()
    assert json.loads(dict(runtime)["ENTRYPOINT"]) == [INSTALLED]
    labels = set(re.findall(r"org\.opencontainers\.image\.(\w+)=", dict(runtime)["LABEL"]))
    assert labels >= {"title", "description", "licenses", "version", "revision"}


def test_what_the_build_copies_is_not_ignored():
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert {"Cargo.toml", "Cargo.lock", "src"} <= kept


def test_the_image_answers_where_the_daemon_listens():
    exposed = dict(instructions())["EXPOSE"]
    shown = run("config", "show", "--config", "/dev/null")
    assert shown.code == 0, shown
    assert tomllib.loads(shown.out)["server"]["listen"].endswith(f":{exposed}")
