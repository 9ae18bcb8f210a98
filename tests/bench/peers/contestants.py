"""Who is measured: how each is started, and what it says of its own rounds."""

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import measured
from system.brinkwatch import Config, Daemon
from system.kafka import jars
from system.ports import free_port
from system.process import Process
from system.waiting import wait_until
from system.written import checkpoint

CLUSTER = "main"


@dataclass
class Contestant:
    """One that runs. `cycles` counts its rounds since it began; `lasted` tells the milliseconds of the newest ones."""

    name: str
    process: Process
    # Of its page, where it has one; how Prometheus would ask for it; and what tells that the page shows every partition.
    port: int | None
    complete: Callable[[], bool]
    cycles: Callable[[], float]
    lasted: Callable[[], list[float]]
    began: float

    @property
    def pid(self) -> int:
        return self.process.pid

    def stop(self) -> None:
        self.process.kill()


def brinkwatch(folder: Path, bootstrap: str, places: dict[str, Path], partitions: int, interval: float) -> Contestant:
    config = Config(folder, bootstrap)
    config.values["poll_interval"] = f"{interval:g}s"
    for name, place in places.items():
        config.query(name, place)
    path = config.write()
    began = time.monotonic()
    daemon = Daemon(folder, ["run", "--config", path], config.port, env=measured.as_shipped())

    def number(name: str) -> float:
        return measured.number(daemon.port, f'brinkwatch_{name}{{kafka_cluster="{CLUSTER}"}}') or 0

    return Contestant(
        "Brinkwatch",
        daemon.process,
        daemon.port,
        lambda: measured.count(daemon.port, "brinkwatch_headroom_offsets{") >= partitions,
        lambda: number("cluster_polls_total"),
        lambda: [number("cluster_poll_duration_seconds") * 1e3],
        began,
    )


def klag_exporter(folder: Path, bootstrap: str, partitions: int, interval: float) -> Contestant:
    port, settings = free_port(), folder / "klag.toml"
    folder.mkdir(parents=True, exist_ok=True)
    settings.write_text(f"""
[exporter]
poll_interval = "{interval:g}s"
http_port = {port}
http_host = "127.0.0.1"
granularity = "partition"

[[clusters]]
name = "{CLUSTER}"
bootstrap_servers = "{bootstrap}"
""")
    began = time.monotonic()
    process = Process([os.environ["KLAG_EXPORTER"], "--config", settings], folder / "klag.log")
    started = time.time()

    def number(name: str) -> float:
        return measured.number(port, f"kafka_lag_exporter_{name}") or 0

    return Contestant(
        "klag-exporter",
        process,
        port,
        lambda: measured.count(port, "kafka_consumergroup_group_lag{") >= partitions,
        # It has no counter, and keeps to its interval.
        lambda: round((number(f'last_update_timestamp_seconds{{cluster_name="{CLUSTER}"}}') - started) / interval),
        lambda: [number("scrape_duration_seconds") * 1e3],
        began,
    )


def franz_go(folder: Path, bootstrap: str, partitions: int, interval: float) -> Contestant:
    return yardstick("franz-go", [os.environ["FRANZ"], bootstrap, f"{interval:g}s"], folder, partitions)


def java_admin(folder: Path, bootstrap: str, partitions: int, interval: float) -> Contestant:
    path = f"{os.environ['ADMIN_CLASSES']}:{jars('BRINKWATCH_KAFKA_JARS')}/*"
    silent = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    argv = ["java", "-Xmx256m", silent, "-cp", path, "Cycle", bootstrap, str(int(interval * 1e3))]
    return yardstick("Kafka's admin client", argv, folder, partitions)


def yardstick(name: str, argv: list[str], folder: Path, partitions: int) -> Contestant:
    """A program without a page: it prints a line for each round."""
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    process = Process(argv, folder / "yardstick.log")

    def rounds() -> list[tuple[float, int]]:
        process.check_alive()
        lines = re.findall(r"^cycle (\S+) ms, \d+ partitions, (\d+) committed$", process.output(), re.MULTILINE)
        return [(float(lasted), int(committed)) for lasted, committed in lines]

    def complete() -> bool:
        return any(committed >= partitions for _, committed in rounds())

    return Contestant(
        name, process, None, complete, lambda: len(rounds()), lambda: [lasted for lasted, _ in rounds()], began
    )


def first_complete(one: Contestant, patience: float) -> float:
    """Seconds from the start until everything is there."""

    def complete() -> bool:
        one.process.check_alive()
        return one.complete()

    wait_until(complete, patience, f"{one.name} shows every partition")
    return time.monotonic() - one.began


def place(folder: Path, topic: str, offsets: dict[int, int]) -> Path:
    """The checkpoint of a query that reads one topic."""
    position = {topic: offsets}
    return checkpoint(folder / topic, position, began_at=position, planned_at=time.time())
