"""What is read off a process, a page and a broker."""

import http.client
import re
import subprocess
import zlib
from pathlib import Path

from system.kafka import JVM, Broker, jars
from system.ports import free_port

GZIP, PLAIN = {"Accept-Encoding": "gzip"}, {"Accept-Encoding": "identity"}
# Kept up between the parts of a broker, whoever asks.
OWN = {"BrokerHeartbeat", "BrokerRegistration", "ControllerRegistration"}


def cpu(pid: int) -> float:
    """Seconds that all threads of a process spent, to the nanosecond; those that ended meanwhile are not in it."""
    spent = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        spent += int((task / "schedstat").read_text().split()[0])
    return spent / 1e9


def memory(pid: int) -> tuple[float, float]:
    """Resident MiB: now, and at most."""
    status = Path(f"/proc/{pid}/status").read_text()
    now, most = (int(re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)[1]) for name in ("VmRSS", "VmHWM"))
    return now / 1024, most / 1024


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


def unpacked(body: bytes) -> bytes:
    """Of several gzip members, as Prometheus reads them."""
    out = b""
    while body[:2] == b"\x1f\x8b":
        member = zlib.decompressobj(31)
        out += member.decompress(body)
        body = member.unused_data
    return out or body


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
