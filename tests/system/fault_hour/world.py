"""What is watched, and what happens there: queries read, records come and go."""

import contextlib
import random
import threading
import time
from pathlib import Path

from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import NewPartitions, NewTopic, OffsetSpec

from .. import written
from ..kafka import CHANGE
from ..stores import S3
from .brokers import WiredBrokers
from .checkpoint import Bucket, Checkpoint, Disk
from .proxies import StoreWire
from .topics import (
    GROWING, IN_THE_LAKE, MOST_PARTITIONS, NAMED, NEVER, ON_DISK, PLAIN, REBORN, TIMED, TIMED_PARTITIONS, Still, pace,
    settings,
)  # fmt: skip
from .truth import Log, Sight, Truth


class World:
    def __init__(self, folder: Path, seed: int):
        self.folder, self.truth = folder, Truth()
        self.random = random.Random(seed)
        self.brokers = WiredBrokers(folder / "brokers")
        self.checkpoints: dict[str, Checkpoint] = {}
        self.over, self.frozen = threading.Event(), threading.Event()
        # One step at a time: a step of a query, or what a fault does to it.
        self.turn = threading.RLock()
        self.leaders: dict[tuple[str, int], int] = {}
        self.leader_changes = 0
        self.failures: list[str] = []
        # The longest time without an answer to our own questions.
        self.blind, self.seen_at = 0.0, time.time()
        self.flood: str | None = None
        self.lives = 0
        # Whether the daemon was seen to know that the topic is another one.
        self.latched = False
        self.healing = False

    def start(self) -> "World":
        self.lake = S3(self.folder / "s3")
        self.brokers.start()
        self.store_wire = StoreWire(self.lake.url)
        self.producer = Producer(
            {"bootstrap.servers": self.brokers.bootstrap, "linger.ms": 5, "enable.idempotence": True, "log_level": 0}
        )
        self._make_topics()
        for topic, partitions in self._sizes.items():
            self._produce({(topic, partition): 40 for partition in range(partitions)})
        self.producer.flush(60)
        self._observe()
        self._make_queries()
        for step, pause in ((self._observe, 0.2), (self._see_leaders, 2.0), (self._step, 0.08)):
            threading.Thread(target=self._again, args=(step, pause), daemon=True).start()
        return self

    def stop(self) -> None:
        self.over.set()
        self.store_wire.stop()
        self.lake.stop()
        self.brokers.stop()

    # The beginning

    def _make_topics(self) -> None:
        self._sizes = {**PLAIN, **dict.fromkeys(TIMED, TIMED_PARTITIONS), REBORN: 2, GROWING: 2}
        asked = []
        for topic, partitions in self._sizes.items():
            self.truth.retention[topic] = float(TIMED.get(topic, NEVER))
            asked.append(NewTopic(topic, partitions, 3, config=settings(topic)))
        for made in self.brokers.admin.create_topics(asked, request_timeout=CHANGE).values():
            made.result(CHANGE)
        for topic, partitions in self._sizes.items():
            self._wait_for(topic, partitions)

    def _wait_for(self, topic: str, partitions: int) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with contextlib.suppress(KafkaException):
                if len(self.brokers.earliest(topic)) == partitions:
                    return
            time.sleep(0.1)
        raise TimeoutError(f"topic {topic} has no leaders")

    def _make_queries(self) -> None:
        disk, lake = self.folder / "checkpoints", self.lake
        for number in range(ON_DISK):
            self._begin(f"disk-{number}", "main", Disk(disk / f"disk-{number}"), self._some_topics())
        for number in range(IN_THE_LAKE):
            self._begin(f"lake-{number}", "main", Bucket(lake, f"cp/lake-{number}"), self._some_topics())
        for number in range(NAMED):
            self._begin(f"named-{number}", "named", Disk(disk / f"named-{number}"), self._some_topics())
        self._begin("reborn", "main", Disk(disk / "reborn"), [REBORN])
        self._begin("growing", "main", Disk(disk / "growing"), [GROWING])
        self._begin("guest", "main", Disk(disk / "guest"), ["plain-0"])
        written.checkpoint(disk / "nowhere", {"orders": {"0": 7}})
        # Found by a discovery: the second version takes the place of the first.
        for version in (1, 2):
            self._begin(f"found/app_v{version}", "main", Disk(self.folder / "found" / f"app_v{version}"), ["plain-1"])
        self.truth.cause("superseded", "found/app_v1")

    def _some_topics(self) -> list[str]:
        topics = [self.random.choice(list(PLAIN))]
        if self.random.random() < 0.5:
            topics.append(self.random.choice(list(TIMED)))
        return topics

    def _begin(self, name: str, cluster: str, place, topics: list[str]) -> None:
        one = Checkpoint(name, place, self.truth)
        self.truth.clusters[name], self.truth.reads[name] = cluster, topics
        one.begin(self._positions(topics, lambda sight: self.random.randint(sight.earliest, sight.latest)))
        self.checkpoints[name] = one

    # What goes on

    def _again(self, step, pause: float) -> None:
        while not self.over.is_set():
            try:
                step()
            except KafkaException:
                # A broker that a fault has hit; the next time it may be well.
                pass
            except Exception as error:  # noqa: BLE001 - told at the end, in the main thread
                if not self.over.is_set():
                    self.failures.append(f"{step.__name__}: {error!r}")
            self.over.wait(pause)

    def _observe(self) -> None:
        """Asks the brokers themselves for every log's start and end."""
        with self.truth.lock:
            places = [
                (topic, partition) for topic, count in self._sizes.items() for partition in range(count)
            ]
        asked = time.time()
        earliest, latest = (self._offsets(places, spec) for spec in (OffsetSpec.earliest(), OffsetSpec.latest()))
        answered = time.time()
        with self.truth.lock:
            self.blind = max(self.blind, answered - self.seen_at)
            self.seen_at = answered
            for at in earliest.keys() & latest.keys():
                if self._sizes.get(at[0], 0) > at[1] and not self.truth.is_disturbed(at[0], asked, answered):
                    self.truth.see(at, Sight(asked, answered, earliest[at], latest[at]))

    def _offsets(self, places: list[tuple[str, int]], spec) -> dict[tuple[str, int], int]:
        wanted = {TopicPartition(*at): spec for at in places}
        found = {}
        for at, future in self.brokers.admin.list_offsets(wanted, request_timeout=2).items():
            with contextlib.suppress(KafkaException):
                offset = future.result().offset
                # A partition without a leader may be told of by a number below zero.
                if offset >= 0:
                    found[at.topic, at.partition] = offset
        return found

    def _see_leaders(self) -> None:
        topics = self.brokers.admin.list_topics(timeout=5).topics
        now = {(name, part): about.leader for name in self._sizes for part, about in topics[name].partitions.items()}
        self.leader_changes += sum(1 for at, leader in now.items() if self.leaders.get(at, leader) != leader)
        self.leaders = now

    def _step(self) -> None:
        self.producer.poll(0)
        if self.frozen.is_set():
            return
        with self.turn:
            if self.frozen.is_set():
                return
            if self.random.random() < 0.25:
                topic = self.random.choice([*PLAIN, *TIMED, *TIMED, GROWING])
                partition = self.random.randrange(self._sizes[topic])
                self._produce({(topic, partition): self.random.randint(1, 30)})
            elif self.random.random() < 0.02:
                self._delete_records()
            else:
                self._read_on()

    def _produce(self, counts: dict[tuple[str, int], int]) -> None:
        def written(error, message) -> None:
            if error is None:
                log = self.truth.logs.setdefault((message.topic(), message.partition()), Log())
                log.stamps[message.offset()] = message.timestamp()[1] / 1000

        for (topic, partition), count in counts.items():
            stamp = time.time_ns() // 1_000_000
            for _ in range(count):
                self.producer.produce(topic, b"x" * 20, partition=partition, timestamp=stamp, on_delivery=written)
        self.producer.poll(0)

    def _delete_records(self) -> None:
        topic = self.random.choice(list(PLAIN))
        partition = self.random.randrange(PLAIN[topic])
        sight = self.truth.logs[topic, partition].sights[-1]
        if sight.latest > sight.earliest:
            upto = self.random.randint(sight.earliest + 1, sight.latest)
            wanted = [TopicPartition(topic, partition, upto)]
            began = time.time()
            try:
                for future in self.brokers.admin.delete_records(wanted, request_timeout=5).values():
                    future.result(6)
            finally:
                self.truth.wish((topic, partition), began, time.time(), upto)

    def _read_on(self) -> None:
        # Some read eagerly, some hardly ever: those fall behind and lose.
        still = {"flood", "found/app_v1", *(["reborn"] if self.astray_topics() and not self.latched else [])}
        names = [name for name in self.checkpoints if name not in still]
        one = self.checkpoints[self.random.choices(names, [pace(name) for name in names])[0]]
        if not one.is_whole:
            return
        if one.is_open:
            one.commit()
            if one.name == "reborn":
                if self.healing:
                    self.truth.astray["reborn", REBORN] = time.time()
                self.healing = False
            return
        positions = self._next(one)
        if positions != one.view.committed:
            one.plan(positions)
            # A batch over the new log, planned after everyone knew of it: the query is no more astray.
            self.healing = self.healing or one.name == "reborn" and self.latched

    def _next(self, one: Checkpoint) -> dict[tuple[str, int], int]:
        topics = self.truth.reads[one.name]
        return self._positions(topics, lambda sight: sight.latest, one.view.committed)

    def _positions(self, topics: list[str], choose, before: dict | None = None) -> dict[tuple[str, int], int]:
        positions = dict(before or {})
        with self.truth.lock:
            for topic in topics:
                if self.truth.is_disturbed(topic, time.time(), time.time()):
                    continue
                for partition in range(self._sizes[topic]):
                    log = self.truth.logs.get((topic, partition))
                    if log and log.sights:
                        sight = log.sights[-1]
                        if before and topic != REBORN and self.random.random() < 0.3 and (topic, partition) in positions:
                            # A batch takes some partitions further than others.
                            continue
                        positions[topic, partition] = choose(sight)
        return positions

    # What faults do

    def tear(self, kind: str) -> Checkpoint | None:
        with self.turn:
            one = self._pick(lambda one: one.is_whole and not one.is_open)
            if one:
                one.tear(self._next(one), kind)
            return one

    def mend(self, one: Checkpoint) -> None:
        with self.turn:
            one.mend()

    def hide(self) -> Checkpoint | None:
        with self.turn:
            one = self._pick(lambda one: one.is_whole and one.is_on_disk)
            if one:
                one.hide()
            return one

    def show(self, one: Checkpoint) -> None:
        with self.turn:
            one.show()

    def replace(self) -> None:
        with self.turn:
            one = self._pick(lambda one: one.is_whole and one.is_on_disk and not one.name.startswith("named"))
            if one:
                one.replace(self._positions(self.truth.reads[one.name], lambda sight: sight.latest))

    def step_back(self) -> None:
        with self.turn:
            one = self._pick(lambda one: one.is_whole and one.is_on_disk and not one.is_open and one.before is not None)
            if one:
                one.step_back()

    def _pick(self, fits) -> Checkpoint | None:
        found = [
            one
            for name, one in sorted(self.checkpoints.items())
            if name.startswith(("disk", "lake", "named")) and fits(one)
        ]
        return self.random.choice(found) if found else None

    def recreate(self) -> None:
        """Deleted and made again, however long a fault of the brokers keeps it from that."""
        if REBORN in self.astray_topics():
            # One at a time: first the query gets over the last one.
            return
        began = time.time()
        with self.turn, self.truth.lock:
            gap = (REBORN, began, NEVER)
            self.truth.disturbed.append(gap)
            size = self._sizes.pop(REBORN)
            self.truth.astray["reborn", REBORN] = NEVER
            self.truth.cause("recreated", "reborn")
            self.lives += 1
            # A batch that is open now was planned over the old log.
            self.latched = self.healing = False
        self._insist(lambda: self._have_not(REBORN))
        # Never as many as before: a position that happens to be the same would not show that the query went on.
        self._insist(lambda: self._have_filled(REBORN, size, 10 + 7 * self.lives))
        with self.truth.lock:
            self.truth.disturbed.remove(gap)
            self.truth.forget_log(REBORN, began, time.time())
            self._sizes[REBORN] = size

    def _have_filled(self, topic: str, partitions: int, count: int) -> None:
        """A topic with so many records in each partition, or some more. A broker that hung may take it away again: it does
        late what it was told. A producer of its own: one that counts its records, as ours does, goes on counting where it
        stood in the topic of the same name, and the new one refuses that."""
        self._have(NewTopic(topic, partitions, 3, config=settings(topic)), partitions)
        for partition, there in self.brokers.latest(topic).items():
            if there < count:
                try:
                    self.brokers.produce(topic, count - there, partition=partition)
                except AssertionError as error:
                    raise TimeoutError(topic) from error
        if min(self.brokers.latest(topic).values(), default=0) < count:
            raise TimeoutError(topic)

    def astray_topics(self) -> set[str]:
        return {topic for (_, topic), until in self.truth.astray.items() if until == NEVER}

    def _insist(self, act) -> None:
        """However long the brokers keep it from coming about."""
        while not self.over.is_set():
            try:
                return act()
            except (KafkaException, TimeoutError):
                time.sleep(0.5)

    def _have_not(self, topic: str) -> None:
        try:
            self.brokers.delete_topic(topic)
        except KafkaException as error:
            if error.args[0].name() != "UNKNOWN_TOPIC_OR_PART":
                raise

    def _have(self, topic: NewTopic, partitions: int) -> None:
        """Makes it, unless an earlier try has, and fails as long as some partition has no leader."""
        with contextlib.suppress(KafkaException):
            self.brokers.admin.create_topics([topic], operation_timeout=60, request_timeout=120)[topic.topic].result(120)
        if len(self.brokers.earliest(topic.topic)) != partitions:
            raise TimeoutError(topic.topic)

    def _grow(self, topic: str, partitions: int) -> None:
        with contextlib.suppress(KafkaException):
            self.brokers.admin.create_partitions([NewPartitions(topic, partitions)], request_timeout=CHANGE)[topic].result(CHANGE)
        if len(self.brokers.earliest(topic)) != partitions:
            raise TimeoutError(topic)

    def add_partition(self) -> None:
        size = self._sizes[GROWING]
        if size >= MOST_PARTITIONS:
            return
        began = time.time()
        gap = (GROWING, began, NEVER)
        self.truth.disturbed.append(gap)
        self._insist(lambda: self._grow(GROWING, size + 1))
        with self.truth.lock:
            self.truth.disturbed.remove(gap)
            self.truth.disturb(GROWING, began, time.time())
            self._sizes[GROWING] = size + 1

    def begin_flood(self, partitions: int) -> str:
        """A topic of so many partitions appears, and a query that reads them all."""
        topic = f"flood-{int(time.time())}"
        self.truth.retention[topic] = NEVER
        made = NewTopic(topic, partitions, 1, config={"retention.ms": "-1"})
        self._insist(lambda: self._have(made, partitions))
        with self.turn, self.truth.lock:
            for partition in range(partitions):
                self.truth.logs[topic, partition] = Still()
            name = "flood"
            self.truth.clusters[name], self.truth.reads[name] = "flood", [topic]
            one = self.checkpoints.setdefault(name, Checkpoint(name, Disk(self.folder / "checkpoints" / name), self.truth))
            positions = {(topic, partition): 0 for partition in range(partitions)}
            one.begin(positions)
            self.flood = topic
        return topic

    def end_flood(self, topic: str) -> None:
        self.truth.ended.add(topic)
        with self.turn:
            self.checkpoints["flood"].hide()
            self.checkpoints["flood"].place.drop_hidden()
            self.flood = None
        self._insist(lambda: self._have_not(topic))
        with self.truth.lock:
            for at in [at for at in self.truth.logs if at[0] == topic]:
                del self.truth.logs[at]
            self.truth.disturb(topic, time.time() - 30, NEVER)
