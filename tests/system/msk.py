"""A broker that lets in by IAM as Amazon MSK does: `java/IamTokens.java` checks each token, by keys that a test makes."""

import re
import subprocess
from pathlib import Path

from .brinkwatch import ROOT
from .kafka import PATIENCE, jars
from .rights import LoginBroker

REGION = "eu-west-1"
# A token serves a connection so long, then the client has to show one again.
REAUTHENTICATE_MS = 3_000
CHECKER = ROOT / "tests" / "system" / "java" / "IamTokens.java"


class MskBroker(LoginBroker):
    """A broker and the keys of its account."""

    def __init__(self, folder: Path):
        self.account = folder / "account"
        self.account.mkdir(parents=True)
        self._keys: dict[str, str] = {}
        classes = folder / "classes"
        compiled = subprocess.run(
            # Whatever Java it is that runs the broker.
            ["javac", "--release", "17", "-d", str(classes), "-cp", f"{jars('BRINKWATCH_KAFKA_JARS')}/*", str(CHECKER)],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert compiled.returncode == 0, compiled.stderr
        module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
        super().__init__(
            folder / "broker",
            protocol="SASL_PLAINTEXT",
            mechanism="OAUTHBEARER",
            properties={
                "sasl.jaas.config": f"{module} required;",
                "sasl.server.callback.handler.class": "IamTokens",
                "connections.max.reauth.ms": str(REAUTHENTICATE_MS),
            },
            jvm=[f"-Diam.folder={self.account}", f"-Diam.region={REGION}"],
            classes=classes,
        )

    def key(self, number: str, principal: str, secret: str, session: str | None = None) -> dict[str, str]:
        """Makes a key, of a session if there is one, and gives back the variables of who has it."""
        self._keys |= {f"{number}.principal": principal, f"{number}.secret": secret}
        variables = {"AWS_ACCESS_KEY_ID": number, "AWS_SECRET_ACCESS_KEY": secret}
        if session:
            self._keys[f"{number}.session"] = session
            variables["AWS_SESSION_TOKEN"] = session
        self._write()
        return variables

    def set_ahead(self, seconds: int) -> None:
        """The service's clock is so many seconds ahead of ours from now on."""
        self._keys["ahead"] = str(seconds)
        self._write()

    def told(self) -> list[str]:
        """What the service made of each token."""
        file = self.account / "told"
        return file.read_text().splitlines() if file.exists() else []

    def signed(self, principal: str) -> list[int]:
        """When the tokens were signed with which somebody was let in, in ms."""
        found = (re.fullmatch(rf"accepted {re.escape(principal)} signed (\d+)", line) for line in self.told())
        return [int(match[1]) for match in found if match]

    def _write(self) -> None:
        fresh = self.account / "keys.new"
        fresh.write_text("".join(f"{key}={value}\n" for key, value in self._keys.items()))
        fresh.replace(self.account / "keys")
