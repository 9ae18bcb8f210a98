"""What everybody looks at: topics, a query with a checkpoint on each of them, and a consumer group that stands where the
query stands, for those who see nothing else."""

import json
import shutil
from pathlib import Path

import topics
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from contestants import place
from system.kafka import Broker
from system.waiting import wait_until

QUERIES = 100
# Room for the rounds in which every query moves.
FARTHEST = 40


def committed(number: int) -> int:
    """Another place in the log for each partition."""
    return number * 7 % FARTHEST


class Workload:
    """A hundred topics of so many partitions together, each with its query and its group."""

    def __init__(self, folder: Path, broker: Broker, partitions: int):
        self.each = partitions // QUERIES
        self.partitions = self.each * QUERIES
        self.batch = 0
        prefix = f"peers-{partitions}-"
        topics.main(broker.bootstrap, prefix, QUERIES, self.each)
        self.places: dict[str, Path] = {}
        for number in range(QUERIES):
            topic = f"{prefix}{number:04}"
            offsets = {partition: committed(partition) for partition in range(self.each)}
            self.places[topic] = place(folder, topic, offsets)
            stands(broker, topic, [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()])

    def advance(self) -> None:
        """Every query commits a batch of one record from each partition."""
        self.batch += 1
        for topic, folder in self.places.items():
            entry = {topic: {partition: committed(partition) + self.batch for partition in range(self.each)}}
            header = json.dumps({"batchWatermarkMs": 0, "conf": {}})
            written(folder / "offsets", self.batch, f"v1\n{header}\n{json.dumps(entry)}")
            written(folder / "commits", self.batch, 'v1\n{"nextBatchWatermarkMs":0}')

    def clear(self, broker: Broker) -> None:
        """Leaves the broker as it was: whoever sees every group and every topic sees only the next workload."""
        broker.admin.delete_consumer_groups(list(self.places), request_timeout=60)
        for future in broker.admin.delete_topics(list(self.places), operation_timeout=60).values():
            future.result(120)
        for folder in self.places.values():
            shutil.rmtree(folder)


def written(folder: Path, batch: int, text: str) -> None:
    """As Spark does it: whole or not there."""
    unfinished = folder / f".{batch}.tmp"
    unfinished.write_text(text)
    unfinished.rename(folder / str(batch))


def stands(broker: Broker, group: str, places: list[TopicPartition], patience: float = 120) -> None:
    """A consumer group of this name has committed these offsets."""

    def altered() -> bool:
        wanted = [ConsumerGroupTopicPartitions(group, places)]
        [answer] = broker.admin.alter_consumer_group_offsets(wanted, request_timeout=20).values()
        answer.result(30)
        return True

    wait_until(altered, patience, f"group {group} has its offsets")


def first_group(broker: Broker) -> None:
    """Kafka keeps groups in a topic of its own, which is made for the first one: sooner than thousands of others."""
    broker.create_topic("first")
    stands(broker, "first", [TopicPartition("first", 0, 0)])
