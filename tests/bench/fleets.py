"""What one daemon spends on a fleet: CPU, memory, requests, series, bytes. See tests/bench/scale, which starts this."""

import gzip
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import topics
from measured import as_shipped, cpu, status
from system import web
from system.brinkwatch import Config, Daemon, Metrics
from system.kafka import Broker
from system.waiting import wait_until
from system.written import checkpoint

QUERIES = int(os.environ.get("QUERIES", "1000"))
ROUNDS = int(os.environ.get("ROUNDS", "6"))
PARTITIONS, CLUSTERS, SHARDS = 10, 100, 4
# What every query has read of the hundred records in each partition: it lags, and has room to move.
BEGIN = 20
INTERVAL = 10
PATIENCE = 600


class Writer:
    """Commits batches for every query, as Spark lays them out; each reads one record more of each partition."""

    def __init__(self, folder: Path):
        self.places = {f"bench-{number:04}": folder / f"bench-{number:04}" for number in range(QUERIES)}
        self.batch = 0
        for topic, place in self.places.items():
            offsets = self.offsets(topic)
            checkpoint(place, offsets, began_at=offsets, planned_at=time.time())
        # One of fewer than three batches is listed at every poll, and no fleet stays like that.
        self.commit()
        self.commit()

    def offsets(self, topic: str) -> dict:
        return {topic: {partition: BEGIN + self.batch for partition in range(PARTITIONS)}}

    def commit(self) -> None:
        self.batch += 1
        for topic, place in self.places.items():
            # A folder of its own first: what is half written is never seen.
            half = checkpoint(place / "half", self.offsets(topic), planned_at=time.time())
            for log in ("offsets", "commits"):
                (half / log / "0").rename(place / log / str(self.batch))
            shutil.rmtree(half)


@dataclass
class Reading:
    """One look at the process and at what it publishes."""

    cpu: float
    rounds: float
    kafka: float
    store: float

    @classmethod
    def of(cls, daemon: Daemon, *, ends: bool = False) -> "Reading":
        """The look itself is not counted: it lies before what is measured, or behind it."""
        spent = cpu(daemon.process.pid)
        metrics = daemon.metrics()
        clusters = len(metrics.all("cluster_up"))
        return cls(
            spent if ends else cpu(daemon.process.pid),
            total(metrics, "cluster_polls_total") / clusters,
            total(metrics, "kafka_requests_total"),
            total(metrics, "store_requests_total"),
        )


def total(metrics: Metrics, name: str) -> float:
    return sum(value for _, value in metrics.all(name))


def settled(daemon: Daemon, rounds: int) -> Reading:
    """Once every cluster has had so many more rounds."""
    goal = Reading.of(daemon).rounds + rounds
    wait_until(lambda: Reading.of(daemon).rounds >= goal, PATIENCE, f"{rounds} rounds")
    return Reading.of(daemon)


def spent(before: Reading, after: Reading) -> str:
    """Of one round over everything."""
    rounds = after.rounds - before.rounds
    each = [(now - then) / rounds for now, then in ((after.cpu, before.cpu), (after.kafka, before.kafka), (after.store, before.store))]
    return f"{each[0] * 1e3:,.0f} | {each[1]:,.0f} | {each[2]:,.0f}"


def watched(folder: Path, broker: Broker, writer: Writer, clusters: int, granularity: str) -> Config:
    """Every cluster of the configuration is the same broker, each with a client of its own."""
    names = [f"cluster-{number:02}" for number in range(clusters)]
    config = Config(folder, broker.bootstrap, cluster=names[0])
    config.values |= {"poll_interval": f"{INTERVAL}s", "state_dir": str(folder / "state")}
    config.values["clusters"] = {name: {"bootstrap_servers": broker.bootstrap} for name in names}
    for number, (query, place) in enumerate(writer.places.items()):
        config.query(query, place, partition_metrics="default", granularity=granularity)
        config.values["queries"][query]["cluster"] = names[number % clusters]
    return config


def measure(folder: Path, broker: Broker, clusters: int, *, shard: str = "", granularity: str = "partition") -> None:
    writer = Writer(folder / "checkpoints")
    config = watched(folder / "daemon", broker, writer, clusters, granularity)
    only = ["--shard", shard] if shard else []
    daemon = Daemon(config.folder, ["run", "--config", config.write(), *only], config.port, env=as_shipped())
    pid = daemon.process.pid
    try:
        daemon.wait_ready(PATIENCE)
        settled(daemon, 3)
        before = Reading.of(daemon)
        time.sleep(INTERVAL * ROUNDS)
        after = Reading.of(daemon, ends=True)
        idle, resident = spent(before, after), status(pid, "VmRSS")
        before, began = Reading.of(daemon), time.monotonic()
        for number in range(1, ROUNDS + 1):
            writer.commit()
            time.sleep(max(began + number * INTERVAL - time.monotonic(), 0))
        moving = spent(before, Reading.of(daemon, ends=True))
        metrics = daemon.metrics()
        up = metrics.all("checkpoint_up")
        # On a busy machine a broker may answer late: how often is part of the result.
        failed = total(metrics, "cluster_poll_failures_total") + total(metrics, "checkpoint_poll_failures_total")
        text = web.request(f"{daemon.url}/metrics", headers={"Accept-Encoding": "identity"}).text
        series = sum(1 for line in text.splitlines() if line and not line.startswith("#"))
        print(
            f"| {len(up):,} on {len(metrics.all('cluster_up'))}, by {granularity} | {idle} | {moving} | {resident / 1024:.0f} "
            f"| {status(pid, 'VmRSS') / 1024:.0f} | {status(pid, 'VmHWM') / 1024:.0f} | {status(pid, 'Threads')} "
            f"| {series:,} | {len(text.encode()):,} | {len(gzip.compress(text.encode(), 6)):,} | {failed:.0f} |",
            flush=True,
        )
    finally:
        daemon.stop()


FLEETS = {
    "one": {"clusters": 1},
    "many": {"clusters": CLUSTERS},
    "topics": {"clusters": CLUSTERS, "granularity": "topic"},
    "shard": {"clusters": CLUSTERS, "shard": f"0/{SHARDS}"},
}


def main() -> None:
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start; {ROUNDS} rounds of each kind", flush=True)
    print("| queries, clusters, granularity | idle: CPU ms | Kafka requests | file reads | moving: CPU ms | Kafka requests | file reads | resident MiB, idle | moving | at most | threads | series | text, bytes | gzip, bytes | failed polls |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="brinkwatch-fleets-"))
    broker = Broker(folder / "broker", jvm=["-Xmx1g"]).start()
    try:
        topics.main(broker.bootstrap, "bench-", QUERIES, PARTITIONS)
        for name in sys.argv[1:] or FLEETS:
            measure(folder / name, broker, **FLEETS[name])
    finally:
        # Closing thousands of logs takes a minute, for nothing.
        broker.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
