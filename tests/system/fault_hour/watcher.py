"""The daemon in a small world of its own: a host file that can be changed, a small disk for its ledger, a clock that
can be set. It is one process from beginning to end."""

import contextlib
import http.client
import os
import resource
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

from ..brinkwatch import Config, binary
from ..process import Process
from ..waiting import wait_until
from .brokers import HOST
from .exposition import Said
from .truth import Truth

# A write-ahead log alone takes four of them.
DISK = 24 * 1024 * 1024
# What the packages allow.
MEMORY = 512 * 1024 * 1024
# Debian's place for it, whatever the processor.
FAKETIME = "*/faketime/libfaketimeMT.so.1"
NAMES = "127.0.0.1 localhost\n"
SETUP = 'mount --bind "$1" /etc/hosts && mount -t tmpfs -o size="$3",mode=700 state "$2" && shift 3 && exec "$@"'


@dataclass
class Cost:
    """The most that was ever seen of it."""

    resident: int = 0
    files: int = 0
    scrape: float = 0.0
    unanswered: int = 0
    ledger: int = 0
    # Beyond which it is killed.
    limit: int | None = None


@dataclass
class Watcher:
    config: Config
    truth: Truth
    cost: Cost = field(default_factory=Cost)
    groups: list[Path] = field(default_factory=list)

    def __post_init__(self):
        folder = self.config.folder
        folder.mkdir(parents=True, exist_ok=True)
        self.names, self.clock = folder / "hosts", folder / "clock"
        self.state = folder / "state"
        self.state.mkdir(exist_ok=True)
        self.resolve(True)
        self.clock.write_text("+0\n")
        self.config.values["state_dir"] = str(self.state)
        self.file = self.config.write()

    def start(self) -> "Watcher":
        library = next(Path("/usr/lib").glob(FAKETIME), None)
        assert library, "libfaketime is missing: start the tests with tests/run"
        clock = {
            "LD_PRELOAD": library,
            "FAKETIME_TIMESTAMP_FILE": str(self.clock),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }
        own = ["--map-root-user"] if os.getuid() else []
        argv = [
            "unshare", "--mount", *own, "sh", "-c", SETUP, "sh", self.names, self.state, str(DISK),
            "env", *(f"{name}={value}" for name, value in clock.items()), binary(), "run", "--config", self.file,
        ]  # fmt: skip
        self.process = Process(argv, self.config.folder / "brinkwatch.log")
        self.pid = self.process.pid
        self.cost.limit = self.confine()
        wait_until(self.is_ready, 90, "brinkwatch is ready")
        self.began = self._began()
        return self

    def is_ready(self) -> bool:
        self.process.check_alive()
        return self.get("/-/ready")[0] == 200

    # Asked

    def get(self, path: str, timeout: float = 20) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.config.port, timeout=timeout)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def scrape(self) -> Said | None:
        """None when nobody answered."""
        asked = time.time()
        try:
            status, body = self.get("/metrics")
        except OSError:
            self.cost.unanswered += 1
            return None
        answered = time.time()
        assert status == 200, f"/metrics answered {status}"
        self.cost.scrape = max(self.cost.scrape, answered - asked)
        return Said(body.decode(), asked, answered)

    def look(self) -> None:
        """What it costs now; and that it is still the same process."""
        self.process.check_alive()
        assert self._began() == self.began, "another process took its place"
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                self.cost.resident = max(self.cost.resident, int(line.split()[1]) * 1024)
        self.cost.files = max(self.cost.files, self.open_files())
        state = Path(f"/proc/{self.pid}/root{self.state}")
        self.cost.ledger = max(self.cost.ledger, sum(one.stat().st_size for one in state.glob("brinkwatch*")))

    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def _began(self) -> str:
        return Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[19]

    # Its world

    def resolve(self, does: bool) -> None:
        """In place: the file itself is what the daemon sees."""
        with self.names.open("w") as names:
            names.write(NAMES + (f"127.0.0.1 {HOST}\n" if does else ""))

    def set_clock(self, ahead: int) -> None:
        with self.truth.lock:
            self.truth.clock.append((time.time(), float(ahead)))
        aside = self.clock.with_suffix(".new")
        aside.write_text(f"{ahead:+d}\n")
        aside.replace(self.clock)

    def fill_disk(self) -> None:
        """Until nothing more fits."""
        filler = Path(f"/proc/{self.pid}/root{self.state}/filler")
        with filler.open("wb", buffering=0) as out:
            try:
                while True:
                    out.write(b"x" * 4096)
            except OSError:
                # That is what full means.
                pass

    def empty_disk(self) -> None:
        Path(f"/proc/{self.pid}/root{self.state}/filler").unlink(missing_ok=True)

    def limit_files(self, more: int | None) -> None:
        """So many more than are open now; None: as many as in the beginning."""
        soft, hard = resource.prlimit(self.pid, resource.RLIMIT_NOFILE)
        limit = min(hard, 65536) if more is None else self.open_files() + more
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (limit, hard))

    def confine(self) -> int | None:
        """The memory that the packages allow, beyond which the kernel kills; None where no group can be made."""
        for base, limit in ((Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"), (Path("/sys/fs/cgroup"), "memory.max")):
            group = base / f"brinkwatch-{self.pid}"
            try:
                group.mkdir()
                self.groups.append(group)
                # In a folder of another kind they would be made.
                for file, value in ((limit, MEMORY), ("cgroup.procs", self.pid)):
                    with (group / file).open("r+") as written:
                        written.write(str(value))
            except OSError:
                continue
            return MEMORY
        return None

    def stop(self) -> None:
        self.process.stop()
        for group in self.groups:
            # It may be there only in part.
            with contextlib.suppress(OSError):
                group.rmdir()
        shutil.rmtree(self.state, ignore_errors=True)
