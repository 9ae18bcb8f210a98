"""Scrapes the released daemon over HTTP, and klag-exporter beside it: see tests/bench/scrape, which starts this."""

import http.client
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

import topics
from confluent_kafka import TopicPartition
from contestants import Contestant, first_complete, klag_exporter
from measured import GZIP, PLAIN, cpu
from system.brinkwatch import Config, Daemon
from system.kafka import Broker
from system.waiting import wait_until
from system.written import checkpoint
from workload import first_group, stands

SIZES = [1_000, 10_000, 100_000]
# More than this no single broker on one machine holds.
REAL = 10_000
PARTITIONS = 100
PATIENCE = 600
# What is aimed at: CPU of the daemon for one scrape with gzip of 10,000 partitions, and its time beside the peer's.
AIM_MS, AIM_SHARE = 10, 0.1


# One scrape, and many


@dataclass
class Scrape:
    began: float
    took: float
    body: bytes


class Scraper:
    """A client that keeps its connection, as Prometheus does."""

    def __init__(self, port: int, headers: dict[str, str]):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.headers = headers

    def scrape(self) -> Scrape:
        began, at = time.monotonic(), time.time()
        self.connection.request("GET", "/metrics", headers=self.headers)
        answer = self.connection.getresponse()
        body = answer.read()
        took = time.monotonic() - began
        assert answer.status == 200, answer.status
        return Scrape(at, took, body)


def medians(port: int, pid: int, headers: dict, count: int) -> tuple[float, float, int]:
    """Milliseconds of a scrape as the client sees it, and of the process' CPU; bytes of the answer. What the process
    does beside is measured in the same length of time, and taken off."""
    scraper = Scraper(port, headers)
    scraper.scrape()
    before, began = cpu(pid), time.monotonic()
    scrapes = [scraper.scrape() for _ in range(count)]
    spent, lasted = cpu(pid) - before, time.monotonic() - began
    before, began = cpu(pid), time.monotonic()
    time.sleep(lasted)
    beside = (cpu(pid) - before) / (time.monotonic() - began) * lasted
    took = statistics.median(one.took for one in scrapes)
    return took * 1e3, max(spent - beside, 0) / count * 1e3, len(scrapes[-1].body)


def during_rounds(port: int, seconds: float) -> tuple[list[Scrape], int]:
    """Scrapes that overlap a round, by what the rounds say of themselves; and how many did not."""
    scraper, scrapes = Scraper(port, GZIP), []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        scrapes.append(scraper.scrape())
        time.sleep(0.02)
    rounds = {one for one in map(last_round, scrapes) if one}
    inside = [one for one in scrapes if any(one.began < end and begin < one.began + one.took for begin, end in rounds)]
    return inside, len(scrapes) - len(inside)


def last_round(scrape: Scrape) -> tuple[float, float] | None:
    # What polls say of themselves stands near the beginning.
    text = zlib.decompressobj(31).decompress(scrape.body, 4 << 20).decode(errors="ignore")

    def value(name: str) -> float | None:
        found = re.search(rf'^brinkwatch_cluster_poll_{name}{{kafka_cluster="main"}} (\S+)$', text, re.MULTILINE)
        return float(found[1]) if found else None

    begin, lasted = value("last_attempt_timestamp_seconds"), value("duration_seconds")
    return None if begin is None or lasted is None else (begin, begin + lasted)


# Brokers and queries


class Mock:
    """librdkafka's mock cluster in a process of its own: its logs are empty."""

    def __init__(self, partitions: int):
        environment = {**os.environ, "SERVE": str(partitions)}
        program = os.environ["BRINKWATCH_RENDERING"]
        self.child = subprocess.Popen([program], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.bootstrap = self.child.stdout.readline().strip()
        self.pid = self.child.pid

    def stop(self) -> None:
        self.child.stdin.close()
        self.child.wait(60)


def committed(number: int) -> int:
    """Another place in the log for each partition."""
    return number * 7 % topics.RECORDS


def daemon_over(folder: Path, bootstrap: str, names: list[str], position, interval: str) -> Daemon:
    config = Config(folder / f"every-{interval}", bootstrap)
    config.values["poll_interval"] = interval
    cluster = config.values["clusters"]["main"]
    # A client gives up on a broker that hangs within some rounds.
    cluster["librdkafka"] = {"socket_timeout_ms": "2000"}
    if position is at_zero:
        # The mock cluster does not tell what limits retention.
        limits = {"cleanup_policy": "delete", "retention_ms": 604_800_000, "retention_bytes": -1}
        cluster["retention_overrides"] = {name: limits for name in names}
    # Ten topics a query where there are many.
    size = max(1, len(names) // 100)
    for number, start in enumerate(range(0, len(names), size)):
        own = names[start : start + size]
        offsets = {name: {partition: position(partition) for partition in range(PARTITIONS)} for name in own}
        place = checkpoint(folder / f"query-{number}", offsets, began_at=offsets, planned_at=time.time())
        config.query(f"query-{number}", place, partition_metrics="default")
    daemon = Daemon(config.folder, ["run", "--config", config.write()], config.port)
    daemon.wait_ready(PATIENCE)
    return daemon


def at_zero(_: int) -> int:
    return 0


# The peer


def peer_beside(folder: Path, broker: Broker, names: list[str]) -> Contestant | None:
    """klag-exporter over the same topics, each with a consumer group that stands where the query stands."""
    if not os.environ.get("KLAG_EXPORTER"):
        return None
    for name in names:
        stands(broker, name, [TopicPartition(name, number, committed(number)) for number in range(PARTITIONS)])
    peer = klag_exporter(folder / "peer", broker.bootstrap, len(names) * PARTITIONS, 120)
    first_complete(peer, PATIENCE)
    return peer


def compare(daemon: Daemon, peer: Contestant) -> str:
    """Pairs of scrapes in turn, each side as its client would ask."""
    ours, theirs = Scraper(daemon.port, GZIP), Scraper(peer.port, PLAIN)
    before = cpu(peer.pid)
    pairs = [(ours.scrape(), theirs.scrape()) for _ in range(20)]
    spent = (cpu(peer.pid) - before) / len(pairs) * 1e3
    mine, its = (statistics.median(pair[side].took for pair in pairs) * 1e3 for side in (0, 1))
    verdict = "within" if mine <= AIM_SHARE * its else "NOT within"
    return (
        f"klag-exporter beside it, in turn: {its:.1f} ms, {spent:.1f} ms of its CPU, {len(pairs[-1][1].body):,} bytes;"
        f" Brinkwatch {mine:.2f} ms: {mine / its:.3f} of it ({verdict} the aim of {AIM_SHARE})"
    )


# The table


def measure(folder: Path, brokers, names: list[str], position, pid: int, *, compared: bool = False) -> None:
    size = len(names) * PARTITIONS
    daemon = daemon_over(folder, brokers.bootstrap, names, position, "120s")
    notes = []
    try:
        took, spent, packed = medians(daemon.port, daemon.process.pid, GZIP, 100)
        plain_took, plain_spent, whole = medians(daemon.port, daemon.process.pid, PLAIN, 20)
        if size == REAL:
            verdict = "within" if spent < AIM_MS else "NOT within"
            notes.append(f"{size:,} partitions with gzip: {spent:.2f} ms of CPU ({verdict} the aim of {AIM_MS} ms)")
        peer = peer_beside(folder, brokers, names) if compared else None
        if peer:
            try:
                notes.append(compare(daemon, peer))
            finally:
                peer.stop()
    finally:
        daemon.stop()
    daemon = daemon_over(folder, brokers.bootstrap, names, position, "1s")
    try:
        inside, outside = during_rounds(daemon.port, 20)
        slow = statistics.quantiles([one.took * 1e3 for one in inside], n=10)
        os.kill(pid, signal.SIGSTOP)
        try:
            down = 'brinkwatch_cluster_up{kafka_cluster="main"} 0\n'
            wait_until(lambda: down in daemon.scrape(), PATIENCE, "the broker is seen to hang")
            hung_took, hung_spent, hung_packed = medians(daemon.port, daemon.process.pid, GZIP, 50)
        finally:
            os.kill(pid, signal.SIGCONT)
    finally:
        daemon.stop()
    print(
        f"| {size:,} | {whole:,} | {packed:,} | {took:.2f} | {spent:.2f} | {plain_took:.2f} | {plain_spent:.2f} "
        f"| {slow[4]:.2f} ({slow[0]:.2f}–{slow[8]:.2f}), {len(inside)} of {len(inside) + outside} "
        f"| {hung_took:.2f} | {hung_spent:.2f} | {hung_packed:,} |"
    )
    for note in notes:
        print(f"<!-- {note} -->")
    sys.stdout.flush()


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start", flush=True)
    print("| partitions | text, bytes | gzip, bytes | gzip ms | CPU ms | plain ms | CPU ms | during rounds, gzip ms (10 %–90 %), scrapes | broker hung, gzip ms | CPU ms | bytes |")
    print("|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="brinkwatch-scrapes-"))
    try:
        real = [size for size in sizes if size <= REAL]
        if real:
            broker = Broker(folder / "broker", jvm=["-Xmx1g"]).start()
            try:
                first_group(broker)
                topics.main(broker.bootstrap, "bench-", max(real) // PARTITIONS)
                for size in real:
                    names = [f"bench-{number:04}" for number in range(size // PARTITIONS)]
                    at = folder / str(size)
                    measure(at, broker, names, committed, broker.process.pid, compared=size == max(real))
            finally:
                # Closing thousands of logs takes a minute, for nothing.
                broker.kill()
        for size in [size for size in sizes if size > REAL]:
            mock = Mock(size)
            try:
                names = [f"bench-{number:04}" for number in range(size // PARTITIONS)]
                measure(folder / str(size), mock, names, at_zero, mock.pid)
            finally:
                mock.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
