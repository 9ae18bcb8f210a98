"""What each says while the world misbehaves, side by side on one broker: see tests/bench/peers/run, which starts this.
Every cell is what was read off the page, the health paths and the process."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import contestants
import measured
from confluent_kafka import TopicPartition
from contestants import Contestant
from system.kafka import Broker
from system.ports import free_port
from system.waiting import wait_until
from workload import first_group, stands

TOPIC = "orders"
RECORDS, COMMITTED = 100, 40
# Seconds between two rounds; how long a state is watched; how long an answer is waited for.
INTERVAL, WATCHED, PATIENCE = 2, 30, 45

# What is read off a page of either kind, by what it means.
NAMES = {
    "Brinkwatch": {
        "up": "brinkwatch_cluster_up{",
        "lag": "brinkwatch_lag_offsets{",
        "lost": "brinkwatch_query_topic_lost_offsets{",
        "left of retention": "brinkwatch_query_topic_retention_remaining_ratio{",
    },
    "klag-exporter": {
        "up": "kafka_lag_exporter_up ",
        "lag": "kafka_consumergroup_group_lag{",
        "lost": "kafka_consumergroup_group_messages_lost{",
        "retention used, %": "kafka_consumergroup_group_lag_retention_ratio{",
    },
}
HEALTH = {"Brinkwatch": ("/-/healthy", "/-/ready"), "klag-exporter": ("/health", "/ready")}


def both(folder: Path, bootstrap: str, place: Path) -> list[Contestant]:
    return [
        contestants.brinkwatch(folder / "brinkwatch", bootstrap, {TOPIC: place}, 1, INTERVAL),
        contestants.klag_exporter(folder / "klag", bootstrap, 1, INTERVAL),
    ]


# What is seen


def read(one: Contestant, text: str | None = None) -> dict[str, str]:
    """The numbers of the one partition there is; what is not on the page is absent here."""
    text = measured.text(one.port) if text is None else text
    found = {}
    for meaning, name in NAMES[one.name].items():
        # Group and query bear the topic's name; whatever else the broker holds is another's.
        lines = [line for line in text.splitlines() if line.startswith(name) and (meaning == "up" or f'"{TOPIC}"' in line)]
        if lines:
            # What is left of retention moves with time: two digits say enough.
            found[meaning] = f"{round(float(lines[0].split()[-1]), 2):g}"
    state = re.search(r'^brinkwatch_query_state\{[^\n]*state="(\w+)"[^\n]* 1$', text, re.MULTILINE)
    if state:
        found["state"] = state[1]
    return found


def words(seen: dict[str, str]) -> str:
    return ", ".join(f"{meaning} {value}" for meaning, value in seen.items()) or "nothing"


def health(one: Contestant) -> str:
    def code(path: str) -> str:
        try:
            return str(measured.page(one.port, path, timeout=5)[0])
        except OSError:
            return "no answer"

    return ", ".join(f"{path} {code(path)}" for path in HEALTH[one.name])


def watched(one: Contestant, seconds: float) -> tuple[list[dict[str, str]], float]:
    """Every state that the page went through, each once, and the longest time that it took to answer."""
    seen, longest, until = [], 0.0, time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.monotonic()
        text = measured.text(one.port)
        longest = max(longest, time.monotonic() - began)
        now = read(one, text)
        if not seen or seen[-1] != now:
            seen.append(now)
        time.sleep(0.1)
    return seen, longest


# What happens


def away_at_start(folder: Path, broker: Broker, place: Path) -> tuple[str, list[str]]:
    cells = []
    for one in both(folder, f"127.0.0.1:{free_port()}", place):
        try:
            wait_until(lambda one=one: measured.text(one.port) or one.process.code is not None, PATIENCE, "an answer")
            first = time.monotonic() - one.began
            time.sleep(3 * INTERVAL)
            ended = one.process.code
            said = f"answers after {first:.1f} s: {words(read(one))}; {health(one)}"
            cells.append(f"ended with {ended}" if ended is not None else said)
        except TimeoutError:
            cells.append(f"no answer within {PATIENCE} s")
        finally:
            one.stop()
    return "nobody can know anything; up 0", cells


def port_taken(folder: Path, broker: Broker, place: Path) -> tuple[str, list[str]]:
    cells = []
    for one in both(folder, broker.bootstrap, place):
        contestants.first_complete(one, PATIENCE)
        second = subprocess.Popen(one.process.argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            cells.append(f"ends with {second.wait(10)}")
        except subprocess.TimeoutExpired:
            cells.append("runs on without a page")
        finally:
            second.kill()
            one.stop()
    return "the second must not seem to run", cells


def hung(folder: Path, broker: Broker, place: Path) -> tuple[str, list[str]]:
    ones, cells = both(folder, broker.bootstrap, place), []
    for one in ones:
        contestants.first_complete(one, PATIENCE)
    os.kill(broker.process.pid, signal.SIGSTOP)
    try:
        time.sleep(WATCHED)
        for one in ones:
            seen, longest = watched(one, 2)
            said = f"{words(seen[-1])}; {health(one)}; answers within {longest:.1f} s"
            began = time.monotonic()
            one.process.child.terminate()
            try:
                one.process.child.wait(20)
                cells.append(f"{said}; SIGTERM ends it in {time.monotonic() - began:.1f} s")
            except subprocess.TimeoutExpired:
                cells.append(f"{said}; still there 20 s after SIGTERM")
    finally:
        os.kill(broker.process.pid, signal.SIGCONT)
        for one in ones:
            one.stop()
    return f"unknown for {WATCHED} s now; up 0", cells


def restarted(folder: Path, broker: Broker, place: Path) -> tuple[str, list[str]]:
    ones = both(folder, broker.bootstrap, place)
    cells: dict[str, list[dict[str, str]]] = {}
    try:
        for one in ones:
            contestants.first_complete(one, PATIENCE)
        broker.kill()
        broker.launch()
        until = time.monotonic() + WATCHED
        while time.monotonic() < until:
            for one in ones:
                seen, _ = watched(one, 0.2)
                for now in seen:
                    if now not in cells.setdefault(one.name, []):
                        cells[one.name].append(now)
        broker.wait_ready()
    finally:
        for one in ones:
            one.stop()
    truth = f"lag {RECORDS - COMMITTED}, nothing lost, before and after"
    return truth, [f"in turn: {'; '.join(map(words, cells[one.name]))}" for one in ones]


def changed(folder: Path, broker: Broker, place: Path, change: Callable[[], None]) -> list[str]:
    ones = both(folder, broker.bootstrap, place)
    try:
        for one in ones:
            contestants.first_complete(one, PATIENCE)
        change()
        # Several rounds, and what either takes to be sure.
        time.sleep(10 * INTERVAL)
        return [words(read(one)) for one in ones]
    finally:
        for one in ones:
            one.stop()


def aged_out(folder: Path, broker: Broker, place: Path) -> tuple[str, list[str]]:
    cells = changed(folder, broker, place, lambda: broker.delete_records(TOPIC, {0: -1}))
    return f"{RECORDS - COMMITTED} lost, none left to read", cells


def recreated(folder: Path, broker: Broker, place: Path) -> tuple[str, list[str]]:
    def change() -> None:
        broker.recreate_topic(TOPIC, retention_ms=7_200_000)
        broker.produce(TOPIC, 5)

    cells = changed(folder, broker, place, change)
    return "another topic of the same name with 5 records; the position means nothing in it", cells


FAULTS = {
    "no broker at the start": away_at_start,
    "the port is taken": port_taken,
    "broker hangs": hung,
    "broker killed and restarted, idle": restarted,
    "everything unread ages out": aged_out,
    "topic recreated": recreated,
}


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="brinkwatch-faults-"))
    print("\n| what happens | the truth | Brinkwatch | klag-exporter |\n|---|---|---|---|", flush=True)
    try:
        for name, fault in FAULTS.items():
            # One of its own: what one fault leaves behind is no part of the next.
            at = folder / fault.__name__
            broker = Broker(at / "broker").start()
            try:
                first_group(broker)
                broker.create_topic(TOPIC, retention_ms=7_200_000)
                broker.produce(TOPIC, RECORDS)
                stands(broker, TOPIC, [TopicPartition(TOPIC, 0, COMMITTED)])
                place = contestants.place(at / "place", TOPIC, {0: COMMITTED})
                truth, cells = fault(at, broker, place)
            finally:
                broker.kill()
            print(f"| {name} | {truth} | {' | '.join(cells)} |", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
