"""Who may do what on a broker with an authorizer, and a single broker with one way to log in."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from .kafka import CHANGE, Broker
from .ports import free_port

# Who comes without a login may do anything.
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:admin",
}


class Rights:
    """For what has the `admin` of a cluster."""

    def grant(self, user: str, topic: str, *operations: str) -> None:
        """`grant("anna", "orders", "DESCRIBE")`; the topic `*` is all topics."""
        made = self.admin.create_acls([self._acl(user, topic, operation) for operation in operations], request_timeout=CHANGE)
        for future in made.values():
            future.result(CHANGE)

    def revoke(self, user: str, topic: str, *operations: str) -> None:
        filters = [self._acl(user, topic, operation, AclBindingFilter) for operation in operations]
        for future in self.admin.delete_acls(filters, request_timeout=CHANGE).values():
            assert future.result(CHANGE), "there was no such right"

    def _acl(self, user: str, topic: str, operation: str, kind=AclBinding):
        return kind(
            ResourceType.TOPIC,
            topic,
            ResourcePatternType.LITERAL,
            f"User:{user}",
            "*",
            AclOperation[operation],
            AclPermissionType.ALLOW,
        )


class LoginBroker(Rights, Broker):
    """A broker with a listener LOGIN beside the plain one. `properties` are those of the listener, without its prefix."""

    def __init__(
        self,
        folder: Path,
        *,
        protocol: str,
        mechanism: str,
        properties: Mapping[str, str],
        jvm: Sequence[str] = (),
        classes: Path | None = None,
    ):
        super().__init__(folder, jvm=jvm, classes=classes)
        self.login_port = free_port()
        controller = free_port()
        prefix = f"listener.name.login.{mechanism.lower()}"
        self.extra = {
            **AUTHORIZER,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},LOGIN://127.0.0.1:{self.login_port},"
            f"CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap},LOGIN://127.0.0.1:{self.login_port}",
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,LOGIN:{protocol},CONTROLLER:PLAINTEXT",
            "listener.name.login.sasl.enabled.mechanisms": mechanism,
            **{f"{prefix}.{key}": value for key, value in properties.items()},
        }

    def servers(self, listener: str = "LOGIN") -> str:
        """As a cluster says it."""
        return {"LOGIN": f"127.0.0.1:{self.login_port}", "PLAINTEXT": self.bootstrap}[listener]
