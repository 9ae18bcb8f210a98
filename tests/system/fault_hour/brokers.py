"""Three brokers, each to be reached directly (by the tests), through a wire (by the daemon), and through another wire
under a host name that can be taken away."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..kafka import Broker, Kafka
from ..kafka_cluster import Node, protocols, start_together
from ..ports import free_port
from .proxies import Wire

HOST = "kafka.fault-hour.test"
LISTENERS = ("PLAINTEXT", "WATCHED", "NAMED")


class WiredNode(Node):
    """One of the brokers, and the wires to it."""

    def __init__(self, brokers: "WiredBrokers", number: int):
        self.number = number
        self.ports = {name: free_port() for name in LISTENERS}
        self.controller_port = free_port()
        self.watched, self.named = Wire(self.ports["WATCHED"]), Wire(self.ports["NAMED"])
        # A process ends with the thread that began it: one that stays.
        self.beginner = ThreadPoolExecutor(1)
        # Room for its share of the partitions that appear at once.
        folder = brokers.folder / f"broker-{number}"
        Broker.__init__(self, folder, port=self.ports["PLAINTEXT"], jvm=["-Xmx640m"])

    def launch(self, *, outlives: bool = False) -> None:
        self.beginner.submit(super().launch, outlives=outlives).result()

    def end(self) -> None:
        """Nobody needs its data any more."""
        if self.process:
            self.process.kill()
        self.beginner.shutdown()


class WiredBrokers(Kafka):
    replication = 3

    def __init__(self, folder: Path):
        self.folder = folder
        self.nodes = {number: WiredNode(self, number) for number in (1, 2, 3)}
        for node in self.nodes.values():
            node.extra = self._properties(node)
        self.bootstrap = ",".join(node.bootstrap for node in self.nodes.values())
        self.watched_bootstrap = ",".join(f"127.0.0.1:{node.watched.port}" for node in self.nodes.values())
        self.named_bootstrap = f"{HOST}:{self.nodes[1].named.port}"

    def start(self) -> "WiredBrokers":
        start_together(list(self.nodes.values()))
        return self

    def stop(self) -> None:
        for node in self.nodes.values():
            node.watched.stop()
            node.named.stop()
        with ThreadPoolExecutor() as pool:
            list(pool.map(WiredNode.end, self.nodes.values()))

    def _properties(self, node: WiredNode) -> dict[str, str]:
        own = [f"{name}://127.0.0.1:{port}" for name, port in node.ports.items()]
        advertised = [
            f"PLAINTEXT://{node.bootstrap}",
            f"WATCHED://127.0.0.1:{node.watched.port}",
            f"NAMED://{HOST}:{node.named.port}",
        ]
        voters = [f"{each.number}@127.0.0.1:{each.controller_port}" for each in self.nodes.values()]
        return {
            "node.id": str(node.number),
            "controller.quorum.voters": ",".join(voters),
            "listeners": ",".join([*own, f"CONTROLLER://127.0.0.1:{node.controller_port}"]),
            "advertised.listeners": ",".join(advertised),
            "listener.security.protocol.map": protocols(dict.fromkeys((*LISTENERS, "CONTROLLER"), "PLAINTEXT")),
            "broker.session.timeout.ms": "6000",
            "broker.heartbeat.interval.ms": "1000",
            "num.network.threads": "1",
            "default.replication.factor": "3",
            "offsets.topic.replication.factor": "3",
            # Ten thousand logs are to be made at once.
            "log.index.size.max.bytes": "65536",
        }
