"""What is asked of a daemon that logs in to a broker of one way to log in, whichever that is."""

from pathlib import Path

from .brinkwatch import Config
from .test_security import watch

# "Within seconds": of a round that may take thirteen.
SOON = 12


def ten_records(broker, topic: str) -> str:
    """Of which the query of `logging_in` has read four."""
    broker.create_topic(topic)
    broker.produce(topic, 10)
    return topic


def logging_in(folder: Path, broker, topic: str, **tables) -> Config:
    """One cluster, one query; `tables` are those of the cluster."""
    config = Config(folder, "", values={"poll_interval": "2s"})
    config.values["clusters"].clear()
    watch(config, broker, "main", "LOGIN", topic, tls={"enabled": False}, **tables)
    return config


def judged(daemon, topic: str):
    metrics = daemon.metrics()
    assert metrics.value("cluster_up", kafka_cluster="main") == 1, daemon.process.tail()
    assert metrics.value("lag_offsets", query="main", topic=topic, partition=0) == 6
    return metrics


def failures(daemon) -> float:
    return sum(value for _, value in daemon.metrics().all("cluster_poll_failures_total"))
