"""Starts and stops a broker that outlives the command: see tests/testbed/broker."""

import os
import shutil
import signal
import sys
from pathlib import Path

from .kafka import Broker
from .waiting import wait_until

# Heap, compiler and collector as Kafka's own scripts choose them. In the small heap of the tests ten thousand partitions
# leave no room: the broker collects garbage most of the time, and a bench would measure that.
AS_SHIPPED = ["-Xms1g", "-Xmx1g", "-XX:TieredStopAtLevel=4", "-XX:-UseSerialGC", "-XX:+UseG1GC"]
# With a thousand partitions a broker needs half a minute to close them.
PATIENCE = 90


def start(folder: Path) -> None:
    pid = folder / "broker.pid"
    if pid.exists():
        sys.exit(f"{folder} is in use: stop that broker first")
    broker = Broker(folder, jvm=AS_SHIPPED)
    broker.start(outlives=True)
    pid.write_text(str(broker.process.pid))
    print(broker.bootstrap)


def stop(folder: Path) -> None:
    pid = folder / "broker.pid"
    if not pid.exists():
        sys.exit(f"no broker was started in {folder}")
    number = int(pid.read_text())
    if belongs(number, folder):
        os.kill(number, signal.SIGTERM)
        wait_until(lambda: not belongs(number, folder), PATIENCE, f"broker {number} has ended")
    shutil.rmtree(folder)


def belongs(number: int, folder: Path) -> bool:
    """Whether this process is our broker: numbers are used again."""
    try:
        return str(folder).encode() in Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return False


if __name__ == "__main__":
    {"start": start, "stop": stop}[sys.argv[1]](Path(sys.argv[2]).resolve())
