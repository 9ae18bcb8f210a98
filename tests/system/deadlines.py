"""Holds every published deadline against what the broker then really deleted.

Three queries stand still in each partition: at the log's start (full lag), in its middle (half lag), and where the
next record will be (no lag; then records come). Topics are of all kinds that retention by time treats alike or
differently. The log start is asked for many times a second: a record went between the last question whose answer still
had it and the first answer that had not. A deadline between these two is counted as undecided.
"""

import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import NewTopic, OffsetSpec

from .background import Repeated
from .brinkwatch import Config, Daemon
from .positions import write_checkpoint
from .kafka import CHANGE, Broker, now_ms
from .tiers import tiered
from .waiting import wait_until

# Records before the queries are looked at, so many milliseconds of stamped time apart; and for how long more come.
BEFORE = 40
STEP_MS = 100
AFTER_SECONDS = 8
# Allowed beyond retention: what pins a log longest, a segment, checks, a slow machine.
PATIENCE = 60

LAGS = {"full lag": 0, "half lag": BEFORE // 2, "no lag": BEFORE}


@dataclass(frozen=True)
class Kind:
    """One kind of topic: its settings, and how many milliseconds from its time a record is stamped."""

    settings: dict = field(default_factory=dict)
    # From the number of the record and retention in ms to the distance of its stamp.
    shift: Callable[[int, int], int] = lambda number, retention: 0
    # What arrives next may be stamped in the past: then nothing is promised of it before it is there.
    past: bool = False
    trimmed: bool = False
    proved: bool = True


KINDS = {
    "in order": Kind(),
    "out of order by up to half the retention": Kind(
        shift=lambda _, retention: -random.randint(0, retention // 2), past=True
    ),
    "LogAppendTime": Kind({"message_timestamp_type": "LogAppendTime"}),
    "one record 10 s in the future": Kind(shift=lambda number, _: 10_000 if number == BEFORE // 4 else 0),
    "nine of ten stamped old": Kind(
        shift=lambda number, retention: 0 if number % 10 == 0 else 6_000 - retention, past=True
    ),
    "after DeleteRecords": Kind(trimmed=True),
    "one segment only": Kind({"segment_ms": 600_000}),
    "tiered": Kind({"remote_storage_enable": "true", "local_retention_ms": 1_000}),
    "compacted and deleted": Kind({"cleanup_policy": "compact,delete"}, proved=False),
}


@dataclass(frozen=True)
class Place:
    """Where one query stands."""

    topic: str
    partition: int
    kind: str
    retention: int
    lag: str
    offset: int


@dataclass
class Seen:
    """What was published of a place, and when its record went."""

    published: list[tuple[float, float]] = field(default_factory=list)
    there_at: float = 0.0
    gone_at: float | None = None

    def before_it_went(self) -> list[float]:
        """Every deadline that was published while the record was there."""
        return [deadline for said_at, deadline in self.published if said_at < self.gone_at]

    @property
    def last_margin(self) -> float:
        """The last published deadline minus the moment of deletion; negative is early."""
        return self.before_it_went()[-1] - self.gone_at

    @property
    def late(self) -> bool:
        return max(self.before_it_went()) > self.gone_at

    @property
    def undecided(self) -> bool:
        return self.there_at < max(self.before_it_went()) <= self.gone_at


@dataclass
class Run:
    """One broker, its topics, three queries, one daemon."""

    folder: Path
    retentions: list[int]
    partitions: int

    def topics(self) -> dict[str, tuple[str, int]]:
        return {
            f"kind-{number}-{retention}": (kind, retention)
            for number, kind in enumerate(KINDS)
            for retention in self.retentions
        }

    def measure(self) -> dict[Place, Seen]:
        properties = {"log.retention.check.interval.ms": "200", **tiered(self.folder)}
        broker = Broker(self.folder / "broker", properties=properties).start()
        daemon = None
        try:
            create(broker, self.topics(), self.partitions)
            self.fill(broker)
            places = self.places()
            daemon = self.watch(broker, places)
            seen = {place: Seen() for place in places}
            producer = Live(broker, self.topics(), self.partitions)
            until = time.monotonic() + AFTER_SECONDS + max(self.retentions) / 1000 + PATIENCE
            with Repeated(0.02, lambda: look(broker, seen)), Repeated(0.1, producer.go_on):
                while left := [place for place, one in seen.items() if one.gone_at is None]:
                    assert time.monotonic() < until, f"not deleted: {left[:5]} and more, {len(left)} in all"
                    note(daemon.scrape(), seen)
                    time.sleep(0.3)
            return seen
        finally:
            if daemon:
                daemon.stop()
            broker.stop()

    def fill(self, broker: Broker) -> None:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0, "batch.num.messages": 5})
        began = now_ms() - BEFORE * STEP_MS
        for number in range(BEFORE):
            send(producer, self.topics(), self.partitions, number, began + number * STEP_MS)
        assert producer.flush(30) == 0
        for topic, (kind, _) in self.topics().items():
            if KINDS[kind].trimmed:
                broker.delete_records(topic, dict.fromkeys(range(self.partitions), 5))

    def places(self) -> list[Place]:
        return [
            Place(topic, partition, kind, retention, lag, max(offset, 5) if KINDS[kind].trimmed else offset)
            for topic, (kind, retention) in self.topics().items()
            for partition in range(self.partitions)
            for lag, offset in LAGS.items()
            if not (lag == "no lag" and KINDS[kind].past)
        ]

    def watch(self, broker: Broker, places: list[Place]) -> Daemon:
        config = Config(self.folder / "brinkwatch", broker.bootstrap)
        # All clocks are one here: the allowance would only hide a late deadline.
        config.values["clusters"]["main"]["clock_skew"] = "0s"
        for lag in LAGS:
            positions: dict[str, dict[int, int]] = {}
            for place in places:
                if place.lag == lag:
                    positions.setdefault(place.topic, {})[place.partition] = place.offset
            folder = self.folder / lag.replace(" ", "-")
            config.query(lag.replace(" ", "-"), write_checkpoint(folder, positions))
        return Daemon.start(config)


class Live:
    """Two records a second to every partition, for a while."""

    def __init__(self, broker: Broker, topics: dict, partitions: int):
        self.producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
        self.topics, self.partitions = topics, partitions
        self.began = time.monotonic()
        self.sent = 0

    def go_on(self) -> None:
        passed = time.monotonic() - self.began
        if passed < AFTER_SECONDS and passed * 2 >= self.sent:
            send(self.producer, self.topics, self.partitions, BEFORE + self.sent, now_ms())
            self.sent += 1
        self.producer.poll(0)


def create(broker: Broker, topics: dict, partitions: int) -> None:
    asked = []
    for topic, (kind, retention) in topics.items():
        settings = {"segment_ms": 3_000, **KINDS[kind].settings, "retention_ms": retention}
        settings = {key.replace("_", "."): str(value) for key, value in settings.items()}
        asked.append(NewTopic(topic, partitions, 1, config=settings))
    for made in broker.admin.create_topics(asked, request_timeout=CHANGE).values():
        made.result(CHANGE)
    wait_until(lambda: all(len(broker.earliest(topic)) == partitions for topic in topics), 60, "the topics have leaders")


def send(producer: Producer, topics: dict, partitions: int, number: int, at: int) -> None:
    for topic, (kind, retention) in topics.items():
        for partition in range(partitions):
            stamp = at + KINDS[kind].shift(number, retention)
            producer.produce(topic, b"x", key=str(number), partition=partition, timestamp=stamp)


def look(broker: Broker, seen: dict[Place, Seen]) -> None:
    """Asks for the log starts that still matter."""
    waiting = [(place, one) for place, one in seen.items() if one.gone_at is None]
    partitions = {(place.topic, place.partition) for place, _ in waiting}
    asked_at = time.time()
    asked = {TopicPartition(topic, partition): OffsetSpec.earliest() for topic, partition in partitions}
    found = {
        (at.topic, at.partition): future.result().offset
        for at, future in broker.admin.list_offsets(asked, request_timeout=10).items()
    }
    answered_at = time.time()
    for place, one in waiting:
        if found[place.topic, place.partition] > place.offset:
            one.gone_at = answered_at
        else:
            one.there_at = asked_at


SERIES = re.compile(r"^brinkwatch_deletion_deadline_timestamp_seconds\{(.*)\} (\S+)$", re.MULTILINE)
LABEL = re.compile(r'(\w+)="([^"]*)"')


def note(scraped: str, seen: dict[Place, Seen]) -> None:
    """Writes down what is published now."""
    said_at = time.time()
    series = [(dict(LABEL.findall(labels)), float(value)) for labels, value in SERIES.findall(scraped)]
    published = {(of["query"], of["topic"], int(of["partition"])): value for of, value in series}
    for place, one in seen.items():
        deadline = published.get((place.lag.replace(" ", "-"), place.topic, place.partition))
        if deadline is not None and one.gone_at is None:
            one.published.append((said_at, deadline))


def table(seen: dict[Place, Seen]) -> str:
    """The distribution, by kind and lag, of the last published deadline minus the moment of deletion."""
    lines = [
        "published deadline minus moment of deletion, in seconds (negative: early)",
        f"{'':42} {'':9} {'deletions':>9} {'least':>7} {'median':>7} {'most':>7} {'undecided':>9} {'late':>5}",
    ]
    for kind in KINDS:
        for lag in LAGS:
            of = [one for place, one in seen.items() if (place.kind, place.lag) == (kind, lag)]
            told = [one for one in of if one.before_it_went()]
            if told:
                margins = [one.last_margin for one in told]
                numbers = f"{min(margins):7.2f} {statistics.median(margins):7.2f} {max(margins):7.2f}"
                undecided, late = sum(one.undecided for one in told), sum(one.late for one in told)
                lines.append(f"{kind:42} {lag:9} {len(of):9} {numbers} {undecided:9} {late:5}")
            elif of:
                lines.append(f"{kind:42} {lag:9} {len(of):9}   no deadline is published")
    told = [one for one in seen.values() if one.before_it_went()]
    width = statistics.median(one.gone_at - one.there_at for one in seen.values())
    lines.append(
        f"{len(told)} deletions with a published deadline: {sum(one.late for one in told)} late, "
        f"{sum(one.undecided for one in told)} undecided; moments are known to {width:.2f} s"
    )
    return "\n".join(lines)


def main() -> None:
    """At least 200 deletions, over retentions of 20, 40 and 60 s."""
    with tempfile.TemporaryDirectory() as folder:
        seen = Run(Path(folder), [20_000, 40_000, 60_000], 5).measure()
    print(table(seen))
    sys.exit(any(one.late for one in seen.values() if one.before_it_went()))


if __name__ == "__main__":
    main()
