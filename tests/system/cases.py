"""Situations a query can be in, made with real Spark and real Kafka: made once, and only looked at afterwards."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .kafka import HOUR_MS, MINUTE_MS, Broker, now_ms
from .spark import Outcome, Spark
from .waiting import wait_until

TOPIC_NUMBERS = itertools.count(1)


@dataclass
class Case:
    """A query that was stopped, and what Spark said of it."""

    topic: str
    checkpoint: Path
    # As Spark reported the end of the last batch that it completed.
    committed: dict[int, int]
    # The state of each partition, by the rules of the judgement.
    states: dict[int, str]
    query_state: str
    # As Spark reported the end of the batch it ran again; None without an open batch.
    planned: dict[int, int] | None = None
    # The time stamp of the next unread record, which no older record of the log exceeds.
    unread_since_ms: dict[int, int] = field(default_factory=dict)
    # As the source was read, for a restart.
    reading: dict = field(default_factory=dict)


@dataclass
class Maker:
    """What is needed to make a case."""

    broker: Broker
    spark: Spark
    folder: Path
    topic: str

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def run(self, **how) -> Outcome:
        done = self.spark.run(self.broker.bootstrap, self.checkpoint, subscribe=self.topic, **how)
        assert not done.failed or "raise_in_batch" in how, done.text
        return done

    def committed(self, done: Outcome) -> dict[int, int]:
        return done.end_offsets[self.topic]


def healthy(make: Maker) -> Case:
    """One partition is read to its end, the other has five unread records, ten minutes old of an hour."""
    make.broker.create_topic(make.topic, partitions=2, retention_ms=HOUR_MS)
    make.broker.produce(make.topic, 10, partition=0, timestamp_ms=now_ms() - 20 * MINUTE_MS)
    make.broker.produce(make.topic, 10, partition=1, timestamp_ms=now_ms() - 20 * MINUTE_MS)
    committed = make.committed(make.run())
    unread = now_ms() - 10 * MINUTE_MS
    make.broker.produce(make.topic, 5, partition=1, timestamp_ms=unread)
    return Case(
        make.topic, make.checkpoint, committed, {0: "caught_up", 1: "behind"}, "behind", unread_since_ms={1: unread}
    )


def idle(make: Maker) -> Case:
    """Nothing is unread, in a log that does not begin at 0."""
    make.broker.create_topic(make.topic, partitions=2, retention_ms=HOUR_MS)
    for partition in (0, 1):
        make.broker.produce(make.topic, 12, partition=partition)
    committed = make.committed(make.run())
    make.broker.delete_records(make.topic, {0: 7})
    return Case(make.topic, make.checkpoint, committed, {0: "caught_up", 1: "caught_up"}, "idle")


def mid_batch(make: Maker) -> Case:
    """Stopped inside its second batch: planned, and not committed."""
    make.broker.create_topic(make.topic, partitions=2)
    for partition in (0, 1):
        make.broker.produce(make.topic, 20, partition=partition)
    stopped = make.run(max_offsets=20, raise_in_batch=1)
    assert "told to fail" in stopped.text
    again = make.spark.restart_on_copy(
        make.broker.bootstrap,
        make.checkpoint,
        subscribe=make.topic,
        max_offsets=20,
        fail_on_data_loss=True,
        copy=make.folder / "again",
    )
    return Case(
        make.topic,
        make.checkpoint,
        again.start_offsets[make.topic],
        {0: "behind", 1: "behind"},
        "behind",
        planned=again.first_end_offsets[make.topic],
        reading={"max_offsets": 20},
    )


def aged_out(make: Maker) -> Case:
    """Retention by time deleted 40 records that were not read."""
    make.broker.create_topic(make.topic, partitions=2, segment_ms=MINUTE_MS, retention_ms=4 * HOUR_MS)
    old = now_ms() - 50 * MINUTE_MS
    make.broker.produce(make.topic, 60, partition=0, timestamp_ms=old)
    make.broker.produce(make.topic, 60, partition=1)
    committed = make.committed(make.run())
    make.broker.produce(make.topic, 40, partition=0, timestamp_ms=old)
    make.broker.produce(make.topic, 20, partition=0)
    make.broker.alter_config(make.topic, retention_ms=30 * MINUTE_MS)
    make.broker.wait_earliest(make.topic, 0, 100)
    return Case(make.topic, make.checkpoint, committed, {0: "lost", 1: "caught_up"}, "lost")


def aged_out_in_mid_batch(make: Maker) -> Case:
    """Retention deleted what a batch that is still open had planned to read: perhaps it did."""
    make.broker.create_topic(make.topic, segment_ms=MINUTE_MS, retention_ms=4 * HOUR_MS)
    make.broker.produce(make.topic, 100, timestamp_ms=now_ms() - 50 * MINUTE_MS)
    make.run(max_offsets=60, raise_in_batch=1)
    make.broker.produce(make.topic, 20)
    make.broker.alter_config(make.topic, retention_ms=30 * MINUTE_MS)
    make.broker.wait_earliest(make.topic, 0, 100)
    return Case(
        make.topic,
        make.checkpoint,
        {0: 60},
        {0: "unconfirmed"},
        "at_risk",
        planned={0: 100},
        reading={"max_offsets": 60},
    )


def aged_out_by_size(make: Maker) -> Case:
    """Retention by size deleted whole segments behind the query's back."""
    make.broker.create_topic(make.topic, segment_bytes=1_048_576)
    make.broker.produce(make.topic, 400, size=1000)
    committed = make.committed(make.run())
    make.broker.produce(make.topic, 4100, size=1000)
    make.broker.alter_config(make.topic, retention_bytes=1_572_864)
    wait_until(lambda: make.broker.earliest(make.topic)[0] > 400, 30, "the log start passed the committed offset")
    return Case(make.topic, make.checkpoint, committed, {0: "lost"}, "lost")


def compacted(make: Maker) -> Case:
    """Holes in the log are no loss: the log start stays where it was."""
    make.broker.create_topic(make.topic, cleanup_policy="compact", segment_ms=1000, min_cleanable_dirty_ratio=0.01)
    old = now_ms() - HOUR_MS
    make.broker.produce(make.topic, 20, keys=20, timestamp_ms=old)
    committed = make.committed(make.run())
    make.broker.produce(make.topic, 72, keys=3, timestamp_ms=old)
    # A record much later closes the segment: only closed ones are compacted.
    make.broker.produce(make.topic, 1, keys=1)
    wait_until(lambda: make.broker.count(make.topic) < 93, 60, "the log was compacted")
    assert make.broker.earliest(make.topic) == {0: 0}
    return Case(make.topic, make.checkpoint, committed, {0: "behind"}, "behind")


def cleared(make: Maker) -> Case:
    """DeleteRecords up to the end: one partition loses 5 unread records, the other none."""
    make.broker.create_topic(make.topic, partitions=2)
    for partition in (0, 1):
        make.broker.produce(make.topic, 65, partition=partition)
    committed = make.committed(make.run())
    make.broker.produce(make.topic, 5, partition=0)
    make.broker.delete_records(make.topic, {0: -1, 1: -1})
    return Case(make.topic, make.checkpoint, committed, {0: "lost", 1: "caught_up"}, "lost")


def beyond_end(make: Maker) -> Case:
    """The topic was made anew and holds fewer records than the query has read. Nobody watched when it happened."""
    make.broker.create_topic(make.topic)
    make.broker.produce(make.topic, 30)
    committed = make.committed(make.run())
    make.broker.recreate_topic(make.topic)
    make.broker.produce(make.topic, 10)
    return Case(make.topic, make.checkpoint, committed, {0: "beyond_end"}, "beyond_end")


def gone(make: Maker) -> Case:
    """The topic was deleted."""
    make.broker.create_topic(make.topic)
    make.broker.produce(make.topic, 10)
    committed = make.committed(make.run())
    make.broker.delete_topic(make.topic)
    return Case(make.topic, make.checkpoint, committed, {0: "gone"}, "gone")


MAKERS: dict[str, Callable[[Maker], Case]] = {
    made.__name__: made
    for made in (
        healthy,
        idle,
        mid_batch,
        aged_out,
        aged_out_in_mid_batch,
        aged_out_by_size,
        compacted,
        cleared,
        beyond_end,
        gone,
    )
}


class Cases:
    """Makes each case when it is first asked for."""

    def __init__(self, broker: Broker, spark: Spark, folder: Path):
        self.broker, self.spark, self.folder = broker, spark, folder
        self.made: dict[str, Case] = {}

    def __getitem__(self, name: str) -> Case:
        if name not in self.made:
            folder = self.folder / name
            topic = f"{name.replace('_', '-')}-{next(TOPIC_NUMBERS)}"
            self.made[name] = MAKERS[name](Maker(self.broker, self.spark, folder, topic))
        return self.made[name]
