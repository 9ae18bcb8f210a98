"""A PostgreSQL server from Debian's packages, on a port of its own. As root it runs as the package's user, since it
refuses to be root."""

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from .ports import free_port
from .process import Process
from .waiting import wait_until

HOST = "127.0.0.1"
USER = "postgres"
PASSWORD = "p@ss word"
PATIENCE = 30


def tool(name: str) -> str:
    """The newest version's program; Debian keeps them out of the path. A missing one is an error and never a skipped
    test."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    path = str(found[-1]) if found else shutil.which(name)
    if not path:
        raise FileNotFoundError(f"{name}: install PostgreSQL (tests/testbed/install)")
    return path


def as_user(*argv: str) -> list[str]:
    if os.geteuid() != 0:
        return list(argv)
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups", "--pdeathsig=KILL", *argv]


class Postgres:
    """`admin` may do everything without a password; `brinkwatch` has one."""

    def __init__(self):
        # Not among the folders of pytest, into which no other user can look.
        self.folder = Path(tempfile.mkdtemp(prefix="brinkwatch-postgres-"))
        self.folder.chmod(0o755)
        self.data = self.folder / "data"
        self.data.mkdir(mode=0o700)
        if os.geteuid() == 0:
            shutil.chown(self.data, USER, USER)
        self.port = free_port()
        self.process: Process | None = None
        self._numbers = itertools.count(1)
        init = [tool("initdb"), "-D", str(self.data), "-U", "admin", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(as_user(*init), check=True, capture_output=True, cwd=self.folder)
        self.write("pg_hba.conf", f"host all admin {HOST}/32 trust\nhost all all {HOST}/32 scram-sha-256\n")
        self.settings = {
            "listen_addresses": HOST,
            "port": str(self.port),
            "unix_socket_directories": str(self.data),
            "fsync": "off",
            "max_connections": "50",
        }

    def write(self, name: str, text: str) -> Path:
        path = self.data / name
        path.write_text(text)
        path.chmod(0o600)
        if os.geteuid() == 0:
            shutil.chown(path, USER, USER)
        return path

    def start(self) -> "Postgres":
        argv = [tool("postgres"), "-D", str(self.data)]
        argv += [word for name, value in self.settings.items() for word in ("-c", f"{name}={value}")]
        self.process = Process(as_user(*argv), self.folder / "postgres.log", cwd=self.folder)

        def answers() -> bool:
            self.process.check_alive()
            return self.sql("SELECT 1") == "1"

        wait_until(answers, PATIENCE, "PostgreSQL answers")
        return self

    def stop(self) -> None:
        """Ends it, and takes it away."""
        self.resume()
        if self.process and self.process.code is None:
            self.process.child.send_signal(signal.SIGINT)
            self.process.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def kill(self) -> None:
        """As a crash does. What it has forked ends by itself."""
        children = self._children()
        self.process.kill()
        wait_until(lambda: not any(_lives(pid) for pid in children), PATIENCE, "its children have ended")

    def pause(self) -> None:
        """Connections are taken by the system, and nobody says anything."""
        # First the one that makes the others.
        os.kill(self.process.pid, signal.SIGSTOP)
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        if self.process and self.process.code is None:
            self._signal(signal.SIGCONT)
            os.kill(self.process.pid, signal.SIGCONT)

    def _signal(self, number: int) -> None:
        """To all that it has made; one may just have ended by itself."""
        for pid in self._children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _children(self) -> list[int]:
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in listed.split()]

    def sql(self, text: str, database: str = "postgres") -> str:
        """As `admin`; one line for each row."""
        argv = ["psql", "-h", HOST, "-p", str(self.port), "-U", "admin", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", text, database]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def database(self) -> str:
        """An empty database of its own for `brinkwatch`, as the README of deploy/ has it made."""
        number = next(self._numbers)
        if number == 1:
            self.sql(f"CREATE ROLE brinkwatch LOGIN PASSWORD '{PASSWORD}'")
        self.sql(f"CREATE DATABASE ledger_{number} OWNER brinkwatch")
        return f"ledger_{number}"

    def url(self, database: str, user: str = "brinkwatch", parameters: str = "") -> str:
        return f"postgres://{user}@{HOST}:{self.port}/{database}{parameters}"

    def end_sessions(self, database: str) -> None:
        self.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
