"""What is read off a process, a page and a broker."""

import http.client
import re
import subprocess
import time
from pathlib import Path

from system.brinkwatch import ROOT
from system.kafka import JVM, Broker, jars
from system.ports import free_port

GZIP, PLAIN = {"Accept-Encoding": "gzip"}, {"Accept-Encoding": "identity"}
# Kept up between the parts of a broker, whoever asks.
OWN = {"BrokerHeartbeat", "BrokerRegistration", "ControllerRegistration"}


def cpu(pid: int) -> float:
    """Seconds that a process has spent, to the nanosecond; threads that have ended are in it."""
    # The process clock of another process, as clock_getcpuclockid(3) makes it.
    return time.clock_gettime(~pid << 3 | 2)


def status(pid: int, name: str) -> int:
    """A number of /proc/PID/status: kB, where it is memory."""
    text = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name}:"))


def as_shipped() -> dict[str, str]:
    """What the unit sets, for the allocator."""
    unit = (ROOT / "deploy" / "systemd" / "brinkwatch.service").read_text()
    words = [word for line in re.findall(r"^Environment=(.*)$", unit, re.MULTILINE) for word in line.split()]
    return dict(word.split("=", 1) for word in words)


def page(port: int, path: str = "/metrics", *, packed: bool = False, timeout: float = 60) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", path, headers=GZIP if packed else PLAIN)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def text(port: int) -> str:
    """A page's text; empty while nobody listens."""
    try:
        return page(port)[1].decode(errors="replace")
    except OSError:
        return ""


def count(port: int, series: str) -> int:
    return text(port).count(f"\n{series}")


def number(port: int, series: str) -> float | None:
    """The value of one series, whose labels are given as they stand in the text."""
    found = re.search(rf"^{re.escape(series)} (\S+)$", text(port), re.MULTILINE)
    return float(found[1]) if found else None


class Counted(Broker):
    """A broker that tells how many requests of each kind it got."""

    def __init__(self, folder: Path, **options):
        self.jmx = free_port()
        flags = [f"-Dcom.sun.management.jmxremote.{flag}" for flag in (f"port={self.jmx}", "authenticate=false", "ssl=false")]
        flags += ["-Dcom.sun.management.jmxremote.host=127.0.0.1", "-Djava.rmi.server.hostname=127.0.0.1"]
        super().__init__(folder, jvm=["-Xmx1g", *flags], **options)

    def requests(self) -> dict[str, int]:
        argv = ["java", *JVM, "-cp", f"{jars('BRINKWATCH_KAFKA_JARS')}/*", "org.apache.kafka.tools.JmxTool"]
        argv += ["--jmx-url", f"service:jmx:rmi:///jndi/rmi://127.0.0.1:{self.jmx}/jmxrmi", "--one-time", "--attributes", "Count"]
        argv += ["--object-name", "kafka.network:type=RequestMetrics,name=RequestsPerSec,request=*,version=*"]
        argv += ["--report-format", "properties"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
        counts: dict[str, int] = {}
        for kind, value in re.findall(r"request=(\w+),version=\d+:Count=(\d+)", done.stdout):
            counts[kind] = counts.get(kind, 0) + int(value)
        assert counts, f"JmxTool printed: {done.stdout}{done.stderr}"
        return {kind: value for kind, value in counts.items() if kind not in OWN}
