"""A real Kafka broker (KRaft, one node), and the admin calls that tests need."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from .ports import free_port, is_open
from .process import Process
from .waiting import PAUSE, wait_until

CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAABQ"
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
# Several times what an idle machine needs.
PATIENCE = 90
# A client goes on asking a broker that hangs until it gives the connection up; only then it asks another one.
HANGING_MS = 8_000
# What a broker may take to change something.
CHANGE = 60
# For an answer that comes at once, or not at all.
ASK = 4
# Errors that pass once everyone has heard who leads.
MOVING = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
}

JVM = ["-Xms96m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true"]

# Small and quick: retention is looked at twice a second, a deleted segment goes a second later.
PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "num.partitions": "1",
    "default.replication.factor": "1",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "auto.create.topics.enable": "false",
    "num.network.threads": "2",
    "num.io.threads": "2",
    "num.replica.fetchers": "1",
    "background.threads": "2",
    "num.recovery.threads.per.data.dir": "1",
    "log.cleaner.threads": "1",
    "log.cleaner.dedupe.buffer.size": "2097152",
    "log.cleaner.backoff.ms": "1000",
    "log.initial.task.delay.ms": "200",
    "log.retention.check.interval.ms": "500",
    "log.segment.delete.delay.ms": "1000",
    "log.segment.bytes": "1048576",
    "log.flush.offset.checkpoint.interval.ms": "1000",
    "log.flush.start.offset.checkpoint.interval.ms": "1000",
    "controlled.shutdown.enable": "false",
}


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def jars(variable: str) -> Path:
    """A directory of jars that `tests/testbed/install` made and `tests/run` named."""
    folder = os.environ.get(variable)
    if not folder or not any(Path(folder).glob("*.jar")):
        raise RuntimeError(f"{variable} names no directory with jars: start the tests with tests/run")
    return Path(folder)


class Kafka:
    """Topics and records of one cluster, by the clients of others. Who has `bootstrap` and `folder` is one."""

    bootstrap: str
    folder: Path
    # Of topics that are created.
    replication = 1
    _admin: AdminClient | None = None

    # Topics and records

    @property
    def admin(self) -> AdminClient:
        if self._admin is None:
            self._admin = AdminClient(
                {"bootstrap.servers": self.bootstrap, "socket.timeout.ms": HANGING_MS, "log_level": 0}
            )
        return self._admin

    def create_topic(self, topic: str, partitions: int = 1, **config) -> str:
        """Creates a topic and waits until each partition has a leader. Settings are written with `_` for `.`."""
        settings = {key.replace("_", "."): str(value) for key, value in config.items()}

        def created() -> bool:
            try:
                new = NewTopic(topic, partitions, self.replication, config=settings)
                self.admin.create_topics([new], request_timeout=CHANGE)[topic].result(CHANGE)
            except KafkaException as error:
                # The deleted namesake is still being cleared away.
                if error.args[0].name() != "TOPIC_ALREADY_EXISTS":
                    raise
                return False
            return True

        wait_until(created, 30, f"topic {topic} created")
        wait_until(lambda: len(self.earliest(topic)) == partitions, 60, f"topic {topic} has its leaders")
        return topic

    def add_partitions(self, topic: str, total: int) -> None:
        wanted = [NewPartitions(topic, total)]
        self.admin.create_partitions(wanted, request_timeout=CHANGE)[topic].result(CHANGE)
        wait_until(lambda: len(self.earliest(topic)) == total, 60, f"topic {topic} has {total} partitions")

    def delete_topic(self, topic: str) -> None:
        self.admin.delete_topics([topic], request_timeout=CHANGE)[topic].result(CHANGE)
        wait_until(lambda: topic not in self.topics(), 30, f"topic {topic} is gone")

    def recreate_topic(self, topic: str, partitions: int = 1, **config) -> None:
        self.delete_topic(topic)
        self.create_topic(topic, partitions, **config)

    def produce(
        self,
        topic: str,
        count: int,
        *,
        partition: int = 0,
        timestamp_ms: int | None = None,
        size: int = 10,
        keys: int = 0,
    ) -> None:
        """Appends `count` records of `size` bytes to one partition, with one timestamp and `keys` different keys."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5, "log_level": 0})
        stamp = now_ms() if timestamp_ms is None else timestamp_ms
        failures = []

        def delivered(error, _message) -> None:
            if error is not None:
                failures.append(error)

        for number in range(count):
            key = f"key-{number % keys}" if keys else None
            producer.produce(topic, b"x" * size, key=key, partition=partition, timestamp=stamp, on_delivery=delivered)
            producer.poll(0)
        left = producer.flush(60)
        assert not failures and left == 0, f"{len(failures)} refused ({failures[:1]}), {left} not delivered"

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        """DeleteRecords: moves the log start of each partition to the given offset; -1 is the end."""
        wanted = [TopicPartition(topic, partition, offset) for partition, offset in before.items()]
        for future in self.admin.delete_records(wanted, request_timeout=CHANGE).values():
            future.result(CHANGE)

    def alter_config(self, topic: str, **config) -> None:
        entries = [
            ConfigEntry(key.replace("_", "."), str(value), incremental_operation=AlterConfigOpType.SET)
            for key, value in config.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        self.alter_configs(resource)

    # What Kafka itself says

    def earliest(self, topic: str) -> dict[int, int]:
        return self._offsets(topic, OffsetSpec.earliest())

    def latest(self, topic: str) -> dict[int, int]:
        return self._offsets(topic, OffsetSpec.latest())

    def wait_earliest(self, topic: str, partition: int, offset: int, timeout: float = 30) -> None:
        wait_until(
            lambda: self.earliest(topic)[partition] == offset, timeout, f"log start of {topic}/{partition} is {offset}"
        )

    def count(self, topic: str, partition: int = 0) -> int:
        """How many records a partition really holds, by reading them all."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "unused",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "log_level": 0,
            }
        )
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
        found = 0
        try:
            while True:
                message = consumer.poll(10)
                assert message is not None, f"{topic}/{partition} does not end"
                if message.error() and message.error().code() == KafkaError._PARTITION_EOF:
                    return found
                assert not message.error(), message.error()
                found += 1
        finally:
            consumer.close()

    def topics(self) -> set[str]:
        """Every topic, the internal ones too."""
        return set(self.admin.list_topics(timeout=10).topics)

    def groups(self) -> set[str]:
        listing = self.admin.list_consumer_groups(request_timeout=10).result()
        assert not listing.errors, listing.errors
        return {group.group_id for group in listing.valid}

    def topic_id(self, topic: str) -> str:
        described = self.admin.describe_topics(TopicCollection([topic]), request_timeout=10)
        return str(described[topic].result().topic_id)

    def config(self, topic: str) -> dict[str, str]:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        entries = self.admin.describe_configs([resource], request_timeout=CHANGE)[resource].result(CHANGE)
        return {name: entry.value for name, entry in entries.items()}

    def get_offsets(self, topic: str, time_spec: str) -> dict[int, int]:
        """What Kafka's own command-line tool (kafka-get-offsets) prints: `earliest`, `latest` or a time in ms."""
        printed = self._java(
            "org.apache.kafka.tools.GetOffsetShell",
            "--bootstrap-server",
            self.bootstrap,
            "--topic",
            topic,
            "--time",
            time_spec,
        )
        found = re.findall(rf"^{re.escape(topic)}:(\d+):(\d*)$", printed, re.MULTILINE)
        assert found, f"kafka-get-offsets printed:\n{printed}"
        return {int(partition): int(offset) for partition, offset in found if offset}

    # Within

    def alter_configs(self, resource: ConfigResource) -> None:
        """Asks until it is answered: an answer may get lost, and to set the same twice changes nothing."""

        def altered() -> bool:
            try:
                self.admin.incremental_alter_configs([resource], request_timeout=ASK)[resource].result(2 * ASK)
            except (KafkaException, TimeoutError):
                # Another client has connections of its own.
                self._admin = None
                raise
            return True

        wait_until(altered, CHANGE, f"{resource} is altered")

    def _offsets(self, topic: str, spec: OffsetSpec) -> dict[int, int]:
        described = self.admin.describe_topics(TopicCollection([topic]), request_timeout=10)[topic].result()
        wanted = {TopicPartition(topic, partition.id): spec for partition in described.partitions}
        deadline = time.monotonic() + ASK
        while True:
            found = self.admin.list_offsets(wanted, request_timeout=10)
            try:
                return {where.partition: future.result().offset for where, future in found.items()}
            except KafkaException as error:
                if error.args[0].code() not in MOVING or time.monotonic() > deadline:
                    raise
            time.sleep(PAUSE)

    def _java(self, main: str, *arguments: str) -> str:
        argv = ["java", *JVM, *self._logging, "-cp", self._classpath, main, *arguments]
        done = subprocess.run(argv, cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, f"{main} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        return done.stdout

    @property
    def _logging(self) -> list[str]:
        log = self.folder / "slf4j.log"
        return ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", f"-Dorg.slf4j.simpleLogger.logFile={log}"]

    @property
    def _classpath(self) -> str:
        return f"{jars('BRINKWATCH_KAFKA_JARS')}/*"


class Broker(Kafka):
    """A broker on ports and a directory of its own. Both survive `stop` and `kill`; `start` goes on there."""

    def __init__(
        self,
        folder: Path,
        *,
        cluster_id: str = CLUSTER_ID,
        properties: Mapping[str, str] | None = None,
        port: int | None = None,
        jvm: Sequence[str] = (),
        ahead: int = 0,
        classes: Path | None = None,
    ):
        self.folder = folder
        self.cluster_id = cluster_id
        self.port = port or free_port()
        self.bootstrap = f"127.0.0.1:{self.port}"
        self.extra = dict(properties or {})
        self.jvm = list(jvm)
        # Compiled classes that it may name in its properties.
        self.classes = classes
        # Its clock is so many seconds ahead of ours from the next start on.
        self.ahead = ahead
        self.process: Process | None = None

    # Life

    def format(self) -> None:
        """Lays out an empty data directory under the cluster id; what was there before is gone."""
        shutil.rmtree(self.folder / "data", ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        controller = free_port()
        properties = {
            **PROPERTIES,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
            "log.dirs": str(self.folder / "data"),
            **self.extra,
        }
        self._settings.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        self._java("kafka.tools.StorageTool", "format", "-t", self.cluster_id, "-c", str(self._settings))

    def start(self, *, outlives: bool = False) -> "Broker":
        if not self._settings.exists():
            self.format()
        self.launch(outlives=outlives)
        self.wait_ready()
        return self

    def launch(self, *, outlives: bool = False) -> None:
        """Starts the process, and waits for nothing."""
        path = f"{self._classpath}:{self.classes}" if self.classes else self._classpath
        argv = ["java", *JVM, *self.jvm, *self._logging, "-cp", path, "kafka.Kafka", str(self._settings)]
        self.process = Process(argv, self.folder / "broker.out", outlives=outlives, cwd=self.folder, env=self._clock)

    def wait_ready(self) -> None:
        def answers() -> bool:
            self.process.check_alive()
            return is_open(self.port) and bool(self.admin.describe_cluster(request_timeout=5).result().nodes)

        wait_until(answers, PATIENCE, "the broker answers DescribeCluster")

    def stop(self) -> None:
        if self.process:
            self.process.stop()

    def kill(self) -> None:
        """As a power cut: SIGKILL."""
        self.process.kill()

    @property
    def _clock(self) -> dict[str, str]:
        if not self.ahead:
            return {}
        [library] = Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")
        return {
            "LD_PRELOAD": str(library),
            "FAKETIME": f"+{self.ahead}s",
            # Java waits by the other clock, and would wait for ever.
            "DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
        }

    @property
    def _settings(self) -> Path:
        return self.folder / "server.properties"
