"""Makes COUNT topics of 100 partitions (or of as many as are said) whose names begin with PREFIX, and fills each partition with records that are
spread over the last 25 minutes."""

import sys
import time

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

PARTITIONS = 100
RECORDS = 100
PATIENCE = 180


def main(bootstrap: str, prefix: str, count: int, partitions: int = PARTITIONS) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    names = [f"{prefix}{number:04}" for number in range(count)]
    # A single broker takes a while to make thousands of logs: a few topics at a time.
    for start in range(0, count, 10):
        few = [NewTopic(name, partitions, 1, config={"retention.ms": "7200000"}) for name in names[start : start + 10]]
        for made in admin.create_topics(few, operation_timeout=60).values():
            made.result()
        wait_for_leaders(admin, names[start : start + 10])
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 100, "queue.buffering.max.messages": 1000000})
    now = int(time.time() * 1000)
    for name in names:
        for partition in range(partitions):
            for record in range(RECORDS):
                stamp = now - (RECORDS - record) * 15_000
                producer.produce(name, b"x" * 50, partition=partition, timestamp=stamp)
        producer.poll(0)
    if producer.flush(PATIENCE):
        raise SystemExit("the broker did not take every record")


def wait_for_leaders(admin: AdminClient, names: list[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            topics = admin.list_topics(timeout=10).topics
            if all(
                name in topics and all(one.leader >= 0 for one in topics[name].partitions.values()) for name in names
            ):
                return
        except KafkaException:
            pass
        time.sleep(0.2)
    raise SystemExit("the topics have no leaders")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
