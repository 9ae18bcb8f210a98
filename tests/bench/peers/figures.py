"""What each costs, on the same broker, one after the other: see tests/bench/peers/run, which starts this."""

import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import contestants
import measured
from contestants import Contestant
from workload import Workload, first_group

SIZES = [1_000, 10_000]
# Rounds that are looked at; scrapes.
ROUNDS, SCRAPES = 6, 20
PATIENCE = 300


@dataclass
class Figures:
    """Of one contestant. What has no page has no figures of one."""

    name: str
    cycle_ms: float
    cpu_ms: float
    resident: float
    most: float
    requests: float
    kinds: str
    first: float
    scrape_ms: float | None = None
    size: int | None = None

    def row(self) -> str:
        page = "| – | – |" if self.scrape_ms is None else f"| {self.scrape_ms:.2f} | {self.size:,} |"
        return (
            f"| {self.name} | {self.cycle_ms:.1f} | {self.cpu_ms:.1f} | {self.resident:.1f} ({self.most:.1f}) "
            f"| {self.requests:.1f} | {self.first:.2f} {page}"
        )


def interval(partitions: int) -> int:
    """Seconds between two rounds, for all alike: what the slowest of them needs."""
    return 5 if partitions <= 1_000 else 10


def measure(
    broker: measured.Counted, one: Contestant, pause: int, beside: Callable[[], None] | None = None
) -> Figures:
    """`beside` happens once between any two rounds, which are so many seconds apart."""
    try:
        first = contestants.first_complete(one, PATIENCE)
        seen = settled(one, pause)
        lasted = durations(one, pause, beside)
        before, requests, began = measured.cpu(one.pid), broker.requests(), one.cycles()
        with once_a_round(pause, beside):
            time.sleep(ROUNDS * pause)
        spent, rounds = measured.cpu(one.pid) - before, one.cycles() - began
        assert one.cycles() > seen and rounds > 0, f"{one.name} makes no rounds"
        after = broker.requests()
        asked = {kind: (number - requests.get(kind, 0)) / rounds for kind, number in after.items()}
        kinds = ", ".join(f"{kind} {number:.1f}" for kind, number in sorted(asked.items()) if number >= 0.05)
        figures = Figures(
            one.name,
            statistics.median(lasted),
            spent / rounds * 1e3,
            *(measured.status(one.pid, name) / 1024 for name in ("VmRSS", "VmHWM")),
            sum(asked.values()),
            kinds,
            first,
        )
        if one.port:
            figures.scrape_ms, figures.size = scraped(one.port)
        return figures
    finally:
        one.stop()


def settled(one: Contestant, pause: int) -> float:
    """The first rounds learn what later ones know."""
    began = one.cycles()
    time.sleep(2 * pause)
    return began


def durations(one: Contestant, pause: int, beside: Callable[[], None] | None) -> list[float]:
    found = []
    with once_a_round(pause, beside):
        for _ in range(ROUNDS):
            time.sleep(pause)
            found.append(one.lasted()[-1])
    return found


class once_a_round:
    """Does something again and again while a block runs, in step with the rounds."""

    def __init__(self, pause: int, action: Callable[[], None] | None):
        self.pause = pause
        self.action = action
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)

    def work(self) -> None:
        while self.action and not self.over.wait(self.pause):
            self.action()

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_) -> None:
        self.over.set()
        self.thread.join()


def scraped(port: int) -> tuple[float, int]:
    """Milliseconds and bytes of a scrape as Prometheus makes it: with gzip, by whoever can."""
    took = []
    for _ in range(SCRAPES):
        began = time.monotonic()
        status, body = measured.page(port, packed=True)
        took.append(time.monotonic() - began)
        assert status == 200, status
    return statistics.median(took) * 1e3, len(body)


def aims(mine: Figures, moving: Figures, others: list[Figures]) -> list[str]:
    """Ours beside the best of the others in each figure."""

    def beside(what: str, own: float, key: Callable[[Figures], float | None], aim: float) -> str:
        best = min((one for one in others if key(one) is not None), key=key)
        share = own / key(best)
        verdict = "within" if share <= aim else "NOT within"
        return f"{what}: {share:.2f} of the best other ({best.name}), {verdict} the aim of {aim}"

    return [
        beside("round", mine.cycle_ms, lambda one: one.cycle_ms, 0.7),
        beside("round while every query moves", moving.cycle_ms, lambda one: one.cycle_ms, 0.7),
        beside("CPU", mine.cpu_ms, lambda one: one.cpu_ms, 0.7),
        beside("CPU while every query moves", moving.cpu_ms, lambda one: one.cpu_ms, 0.7),
        beside("resident memory", mine.resident, lambda one: one.resident, 0.5),
        beside("scrape", mine.scrape_ms, lambda one: one.scrape_ms, 0.2),
        beside("requests", mine.requests, lambda one: one.requests, 1),
        beside("first complete answer", mine.first, lambda one: one.first, 1),
    ]


def table(folder: Path, broker: measured.Counted, size: int) -> None:
    workload = Workload(folder / "checkpoints", broker, size)
    total, where = workload.partitions, broker.bootstrap
    print(f"\n{total:,} partitions, a hundred queries and groups; load {os.getloadavg()[0]:.1f}\n")
    print("| | round, ms | CPU ms a round | resident MiB (most) | requests a round | first complete, s | scrape, ms | bytes |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    rows, pause = [], interval(size)

    def told(figures: Figures, name: str | None = None) -> Figures:
        figures.name = name or figures.name
        print(figures.row(), flush=True)
        rows.append(figures)
        return figures

    ours = contestants.brinkwatch(folder / "resting", where, workload.places, total, pause)
    mine = told(measure(broker, ours, pause), "Brinkwatch, nothing moves")
    others = [
        told(measure(broker, start(folder / start.__name__, where, total, pause), pause))
        for start in (contestants.klag_exporter, contestants.franz_go, contestants.java_admin)
    ]
    again = contestants.brinkwatch(folder / "moving", where, workload.places, total, pause)
    moving = told(measure(broker, again, pause, workload.advance), "Brinkwatch, every query moves")
    print()
    for one in rows:
        print(f"- requests of {one.name}: {one.kinds}")
    for line in aims(mine, moving, others):
        print(f"- {line}")
    sys.stdout.flush()
    workload.clear(broker)


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    folder = Path(tempfile.mkdtemp(prefix="brinkwatch-peers-"))
    broker = measured.Counted(folder / "broker").start()
    try:
        first_group(broker)
        for size in sizes:
            table(folder / str(size), broker, size)
    finally:
        # Closing thousands of logs takes a minute, for nothing.
        broker.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
