"""A cluster of real brokers (KRaft, each a controller too) with an authorizer and a listener for every way to log in."""

import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from .certificates import Authority
from .kafka import CHANGE, CLUSTER_ID, PATIENCE, Broker, Kafka
from .ports import free_port, is_open
from .rights import AUTHORIZER, Rights
from .tokens import AUDIENCE, ISSUER, TokenServer
from .waiting import wait_until

# What each listener is for, and how it speaks. Brokers speak to each other over the first one.
LISTENERS = {
    "PLAINTEXT": "PLAINTEXT",
    "TLS": "SSL",
    # Asks for a client's certificate; its common name is the principal.
    "MTLS": "SSL",
    "SASL": "SASL_PLAINTEXT",
    "SASL_TLS": "SASL_SSL",
    "OAUTH": "SASL_SSL",
    # Shows a certificate for another host.
    "MISNAMED": "SSL",
    # Its certificate can be replaced: see `show_certificate`.
    "BRIEF": "SSL",
    # Advertises an address where nobody listens.
    "ASTRAY": "PLAINTEXT",
}
HOSTS = ("localhost", "127.0.0.1")
# Users of SASL/PLAIN, which brokers keep in their configuration.
PLAIN_USERS = {"anna": "anna-plain", "admin": "admin-plain"}
MODULES = "org.apache.kafka.common.security"
# A token serves a connection so long, then the client has to show a new one.
REAUTHENTICATE_MS = 10_000


class Node(Broker):
    """One broker of a cluster. `stop`, `kill` and `start` as those of a single broker; `pause` and `resume` besides."""

    def __init__(self, cluster: "KafkaCluster", number: int):
        self.number = number
        self.ports = {name: free_port() for name in LISTENERS}
        self.controller_port = free_port()
        super().__init__(
            cluster.folder / f"broker-{number}",
            cluster_id=cluster.cluster_id,
            port=self.ports["PLAINTEXT"],
            jvm=[f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={cluster.tokens.keys.as_uri()}"],
        )

    def wait_ready(self) -> None:
        def answers() -> bool:
            self.process.check_alive()
            nodes = self.admin.describe_cluster(request_timeout=5).result().nodes if is_open(self.port) else []
            return any(node.id == self.number for node in nodes)

        wait_until(answers, PATIENCE, f"broker {self.number} is part of its cluster")

    def pause(self) -> None:
        """SIGSTOP: its connections stay open, and nothing answers."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    def stop(self) -> None:
        # A paused process hears no SIGTERM.
        if self.process and self.process.code is None:
            self.resume()
        super().stop()


def start_together(nodes: Sequence[Node]) -> None:
    """None of them is ready before most of them run."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(Node.format, nodes))
    for node in nodes:
        node.launch()
    for node in nodes:
        node.wait_ready()


class KafkaCluster(Rights, Kafka):
    """Brokers by number, from 1 on: `cluster.nodes[2].kill()`. Who comes without a login may do anything."""

    def __init__(
        self,
        folder: Path,
        *,
        brokers: int = 3,
        cluster_id: str = CLUSTER_ID,
        properties: Mapping[str, str] | None = None,
        ahead: Mapping[int, int] | None = None,
    ):
        self.folder = folder
        self.cluster_id = cluster_id
        self.replication = brokers
        self.authority = Authority(folder / "certificates")
        self.certificate = self.authority.issue("broker", hosts=HOSTS)
        self.brief = self.authority.issue("broker", hosts=HOSTS, file="brief")
        self.misnamed = self.authority.issue("broker", hosts=("elsewhere.test",), file="misnamed")
        # Tokens are asked for by HTTPS; the authority is the brokers'.
        self.tokens = TokenServer(folder / "tokens", certificate=self.certificate)
        self.nodes = {number: Node(self, number) for number in range(1, brokers + 1)}
        for number, seconds in (ahead or {}).items():
            self.nodes[number].ahead = seconds
        for node in self.nodes.values():
            node.extra = {**self._properties(node), **(properties or {})}
        self.bootstrap = self.servers("PLAINTEXT")

    def servers(self, listener: str) -> str:
        """Bootstrap servers of one listener."""
        return ",".join(f"127.0.0.1:{node.ports[listener]}" for node in self.nodes.values())

    # Life

    def start(self) -> "KafkaCluster":
        start_together(list(self.nodes.values()))
        return self

    def stop(self) -> None:
        with ThreadPoolExecutor() as pool:
            list(pool.map(Node.stop, self.nodes.values()))
        self.tokens.stop()

    # Where partitions are

    def leader(self, topic: str, partition: int = 0) -> int | None:
        """The number of the leading broker, if there is one."""
        leader = self.admin.list_topics(topic, timeout=10).topics[topic].partitions[partition].leader
        return leader if leader > 0 else None

    def partitions_of(self, topic: str, number: int) -> set[int]:
        """Partitions that this broker leads."""
        partitions = self.admin.list_topics(topic, timeout=10).topics[topic].partitions
        return {partition for partition, about in partitions.items() if about.leader == number}

    # Who may do what

    def set_password(self, user: str, password: str, mechanism: str = "SCRAM-SHA-512") -> None:
        """Makes a user of SCRAM, or gives it another password."""
        credential = ScramCredentialInfo(SCRAM[mechanism], 4096)
        self._alter_user(user, UserScramCredentialUpsertion(user, credential, password.encode()))

    def remove_password(self, user: str, mechanism: str = "SCRAM-SHA-512") -> None:
        self._alter_user(user, UserScramCredentialDeletion(user, SCRAM[mechanism]))

    def show_certificate(self, seconds: int) -> None:
        """The listener BRIEF shows a certificate from now on that ends so many seconds from now."""
        pair = self.authority.issue("broker", hosts=HOSTS, seconds=seconds, file=f"brief-{seconds}")
        for node in self.nodes.values():
            place = ConfigEntry(
                "listener.name.brief.ssl.keystore.location",
                str(pair.both),
                incremental_operation=AlterConfigOpType.SET,
            )
            resource = ConfigResource(ResourceType.BROKER, str(node.number), incremental_configs=[place])
            self.alter_configs(resource)

    # Within

    def _alter_user(self, user: str, alteration) -> None:
        self.admin.alter_user_scram_credentials([alteration], request_timeout=CHANGE)[user].result(CHANGE)

    def _properties(self, node: Node) -> dict[str, str]:
        own = {name: f"{name}://127.0.0.1:{port}" for name, port in node.ports.items()}
        advertised = own | {"ASTRAY": f"ASTRAY://127.0.0.1:{free_port()}"}
        voters = [f"{each.number}@127.0.0.1:{each.controller_port}" for each in self.nodes.values()]
        count = str(len(self.nodes))
        return {
            "node.id": str(node.number),
            "controller.quorum.voters": ",".join(voters),
            "listeners": ",".join([*own.values(), f"CONTROLLER://127.0.0.1:{node.controller_port}"]),
            "advertised.listeners": ",".join(advertised.values()),
            "listener.security.protocol.map": protocols({**LISTENERS, "CONTROLLER": "PLAINTEXT"}),
            # A stopped broker loses its leaderships within seconds, also on a busy machine.
            "broker.session.timeout.ms": "6000",
            "broker.heartbeat.interval.ms": "1000",
            "num.network.threads": "1",
            "default.replication.factor": count,
            "offsets.topic.replication.factor": count,
            **AUTHORIZER,
            **self._tls(),
            **self._sasl(),
        }

    def _tls(self) -> dict[str, str]:
        properties = {
            "ssl.keystore.type": "PEM",
            "ssl.truststore.type": "PEM",
            "ssl.keystore.location": str(self.certificate.both),
            "ssl.truststore.location": str(self.authority.certificate),
            "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
            "listener.name.mtls.ssl.client.auth": "required",
            "listener.name.misnamed.ssl.keystore.location": str(self.misnamed.both),
            "listener.name.brief.ssl.keystore.location": str(self.brief.both),
        }
        # Settings of a listener count as a set: with a place alone the type would be Java's own.
        for listener in ("misnamed", "brief"):
            properties[f"listener.name.{listener}.ssl.keystore.type"] = "PEM"
        return properties

    def _sasl(self) -> dict[str, str]:
        users = " ".join(f'user_{user}="{password}"' for user, password in PLAIN_USERS.items())
        scram = f"{MODULES}.scram.ScramLoginModule required;"
        properties = {}
        for listener in ("sasl", "sasl_tls"):
            prefix = f"listener.name.{listener}"
            properties |= {
                f"{prefix}.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
                f"{prefix}.plain.sasl.jaas.config": f"{MODULES}.plain.PlainLoginModule required {users};",
                f"{prefix}.scram-sha-256.sasl.jaas.config": scram,
                f"{prefix}.scram-sha-512.sasl.jaas.config": scram,
            }
        oauth = "listener.name.oauth.oauthbearer"
        return properties | {
            "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{oauth}.sasl.jaas.config": f"{MODULES}.oauthbearer.OAuthBearerLoginModule required;",
            f"{oauth}.sasl.server.callback.handler.class": f"{MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler",
            f"{oauth}.connections.max.reauth.ms": str(REAUTHENTICATE_MS),
            "sasl.oauthbearer.jwks.endpoint.url": self.tokens.keys.as_uri(),
            "sasl.oauthbearer.expected.audience": AUDIENCE,
            "sasl.oauthbearer.expected.issuer": ISSUER,
        }


SCRAM = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}


def protocols(listeners: Mapping[str, str]) -> str:
    pairs: Iterable[str] = (f"{name}:{protocol}" for name, protocol in listeners.items())
    return ",".join(pairs)
