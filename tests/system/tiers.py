"""Tiered storage for a broker: its remote part lies in a directory, by the class that Kafka's own tests use."""

import zipfile
from pathlib import Path

from .kafka import jars

# The class is older than the broker. This one of its time has moved since.
MOVED = "org/apache/kafka/common/utils/LogContext"


def tiered(folder: Path) -> dict[str, str]:
    """Properties of a broker that can tier topics; the remote part lies in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    [storage] = jars("BRINKWATCH_TIERS_JARS").glob("kafka-storage-*.jar")
    [clients] = jars("BRINKWATCH_TIERS_JARS").glob("kafka-clients-*.jar")
    moved = folder / "moved.jar"
    with zipfile.ZipFile(clients) as whole, zipfile.ZipFile(moved, "w") as part:
        for name in whole.namelist():
            if name.startswith(MOVED):
                part.writestr(name, whole.read(name))
    return {
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.manager.class.name": "org.apache.kafka.server.log.remote.storage.LocalTieredStorage",
        "remote.log.storage.manager.class.path": f"{storage}:{moved}",
        "remote.log.storage.manager.impl.prefix": "rsm.config.",
        "rsm.config.dir": str(folder / "tier"),
        "remote.log.manager.task.interval.ms": "500",
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        "remote.log.metadata.manager.impl.prefix": "rlmm.config.",
        "rlmm.config.remote.log.metadata.topic.replication.factor": "1",
        "rlmm.config.remote.log.metadata.topic.num.partitions": "1",
        "rlmm.config.remote.log.metadata.initialization.retry.interval.ms": "300",
    }
