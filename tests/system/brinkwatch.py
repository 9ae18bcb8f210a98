"""The program under test, as a black box: the binary, a configuration file, HTTP and exit codes."""

import json
import os
import re
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import tomli_w
from prometheus_client.parser import text_string_to_metric_families

from . import web
from .ports import free_port
from .process import Process
from .waiting import wait_until

ROOT = Path(__file__).parents[2]
PATIENCE = 30


def binary() -> Path:
    """BRINKWATCH_BIN, else what `cargo build` makes. A missing binary is an error and never a skipped test."""
    named = os.environ.get("BRINKWATCH_BIN")
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    path = Path(named) if named else target / "debug" / "brinkwatch"
    if not path.exists():
        raise FileNotFoundError(f"{path}: build it first (cargo build), or start the tests with tests/run")
    return path


class Metrics:
    """One scrape, parsed. A number that was not published is None."""

    def __init__(self, text: str):
        self.text = text
        self.series: dict[str, list[tuple[dict[str, str], float]]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                self.series.setdefault(sample.name, []).append((sample.labels, sample.value))

    def all(self, name: str, **labels) -> list[tuple[dict[str, str], float]]:
        """Every series of this name that carries these labels. Names are given without `brinkwatch_`."""
        wanted = {key: str(value) for key, value in labels.items()}
        found = self.series.get(f"brinkwatch_{name}", [])
        return [(have, value) for have, value in found if wanted.items() <= have.items()]

    def value(self, name: str, **labels) -> float | None:
        found = self.all(name, **labels)
        assert len(found) <= 1, f"brinkwatch_{name}{labels} is not one series: {found}"
        return found[0][1] if found else None

    def one_hot(self, name: str, label: str, **labels) -> str | None:
        """Which value of `label` stands at 1; all others must be 0. None when there is no such series."""
        found = self.all(name, **labels)
        assert {value for _, value in found} <= {0.0, 1.0}, found
        hot = [have[label] for have, value in found if value == 1]
        assert len(hot) == (1 if found else 0), f"brinkwatch_{name}{labels}: {hot} at once"
        return hot[0] if hot else None


@dataclass(frozen=True)
class Finished:
    """A command that ended."""

    code: int
    out: str
    err: str

    def json(self):
        return json.loads(self.out)


def run(*arguments, timeout: float = 60, env: dict[str, str] | None = None, program: Path | None = None) -> Finished:
    """Runs a command of brinkwatch to its end, or another program of the same build. Whatever a command prints as JSON
    has to agree with the schema that is published for it."""
    argv = [str(program or binary()), *map(str, arguments)]
    done = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
    )
    schema = None if program else schema_of([str(argument) for argument in arguments])
    if schema and done.stdout:
        agrees(schema, done.stdout)
    return Finished(done.returncode, done.stdout, done.stderr)


def schema_of(arguments: list[str]) -> Path | None:
    """The published schema of what a command prints, where it prints JSON and there is one."""
    is_json = "--output" in arguments and arguments[arguments.index("--output") + 1] == "json"
    schema = ROOT / "deploy" / "schemas" / f"{arguments[0]}.schema.json" if arguments else None
    return schema if schema and is_json and schema.exists() else None


def agrees(schema: Path, document: str) -> None:
    argv = [str(readings()), "agrees", str(schema)]
    done = subprocess.run(argv, input=document, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{schema.name}: {done.stdout}{done.stderr}\n{document}"


def readings() -> Path:
    """The tests' own program on the library, `readings.rs`; it lies beside the binary."""
    path = binary().parent / "examples" / "readings"
    if not path.exists():
        raise FileNotFoundError(f"{path}: build it first (cargo build --examples), or start the tests with tests/run")
    return path


def inspect(checkpoint: Path | str) -> Finished:
    return run("inspect", checkpoint, "--output", "json")


def check(*arguments) -> Finished:
    return run("check", *arguments, "--output", "json")


def partitions(checked: dict) -> dict[tuple[str, int], dict]:
    """The partitions of one query of `check --output json`, by topic and number."""
    return {(one["topic"], one["partition"]): one for one in checked["partitions"]}


@dataclass
class Config:
    """A configuration for tests: short rounds, doubts confirmed within seconds, everything else as by default."""

    folder: Path
    bootstrap: str
    cluster: str = "main"
    port: int = field(default_factory=free_port)
    values: dict = field(default_factory=dict)

    def __post_init__(self):
        base = {
            "poll_interval": "1s",
            "confirm_polls": 2,
            "confirm_time": "1s",
            "server": {"listen": f"127.0.0.1:{self.port}"},
            "clusters": {self.cluster: {"bootstrap_servers": self.bootstrap}},
            "queries": {},
        }
        self.values = merged(base, self.values)

    def query(self, name: str, checkpoint: Path | str, **settings) -> "Config":
        self.values["queries"][name] = {
            "checkpoint": str(checkpoint),
            "cluster": self.cluster,
            "subscribe": "subscribe",
            # The numbers of single partitions are what these tests compare.
            "partition_metrics": "all",
            **settings,
        }
        return self

    def write(self) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "brinkwatch.toml"
        path.write_text(tomli_w.dumps(self.values))
        return path


def merged(base: dict, over: dict) -> dict:
    """`over` wins, table by table."""
    both = {
        key: merged(base[key], value) if isinstance(value, dict) and isinstance(base.get(key), dict) else value
        for key, value in over.items()
    }
    return {**base, **both}


class Daemon:
    """A running `brinkwatch run` (or another command that serves)."""

    def __init__(self, folder: Path, arguments: list, port: int, *, env: dict[str, str] | None = None):
        folder.mkdir(parents=True, exist_ok=True)
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.process = Process([binary(), *arguments], folder / "brinkwatch.log", env=env)

    @classmethod
    def start(cls, config: Config, **options) -> "Daemon":
        """Starts it and waits until the first round of every target has finished, well or badly."""
        daemon = cls(config.folder, ["run", "--config", config.write()], config.port, **options)
        daemon.wait_ready()
        return daemon

    def wait_ready(self, timeout: float = PATIENCE) -> None:
        def ready() -> bool:
            self.process.check_alive()
            return self.get("/-/ready").status == 200

        try:
            wait_until(ready, timeout, "brinkwatch is ready")
        except TimeoutError as error:
            raise TimeoutError(f"{error}; its log:\n{self.log()}") from error

    def get(self, path: str, **options) -> web.Answer:
        return web.request(f"{self.url}{path}", **options)

    def scrape(self) -> str:
        answer = self.get("/metrics")
        assert answer.status == 200, f"/metrics answered {answer.status}: {answer.text}"
        return answer.text

    def metrics(self) -> Metrics:
        return Metrics(self.scrape())

    def rounds(self, cluster: str) -> float:
        return self.metrics().value("cluster_polls_total", kafka_cluster=cluster) or 0

    def after_a_round(self, cluster: str = "main", timeout: float = PATIENCE) -> Metrics:
        """What is published after a round that began after this call: the second one to finish from now."""
        before = self.rounds(cluster)
        wait_until(lambda: self.rounds(cluster) >= before + 2, timeout, f"two more rounds of {cluster}")
        return self.metrics()

    def log(self) -> str:
        return self.process.output()

    def interrupt(self) -> int:
        """Ctrl-C; returns the exit code."""
        self.process.child.send_signal(signal.SIGINT)
        return self.process.child.wait(PATIENCE)

    def stop(self) -> int:
        return self.process.stop()


def demo(folder: Path) -> Daemon:
    """`brinkwatch demo` on a free port; it prints the address of its page."""
    port = free_port()
    daemon = Daemon(folder, ["demo", "--listen", f"127.0.0.1:{port}"], port)

    def address() -> re.Match | None:
        daemon.process.check_alive()
        return re.search(r"http://127\.0\.0\.1:\d+", daemon.log())

    wait_until(address, PATIENCE, "demo prints the address of its page")
    return daemon
