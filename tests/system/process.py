"""A child process with its output in a file. None outlives the tests, even when they are killed."""

import ctypes
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .waiting import Ended

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def _die_with_parent() -> None:
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """One running program. `log` holds what it printed on both streams."""

    def __init__(
        self, argv: Sequence[str], log: Path, *, outlives: bool = False, env: dict[str, str] | None = None, **options
    ):
        self.argv = [str(word) for word in argv]
        self.log = log
        with log.open("ab") as out:
            self.child = subprocess.Popen(
                self.argv,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                start_new_session=True,
                preexec_fn=None if outlives else _die_with_parent,
                **{"stdin": subprocess.DEVNULL, **options},
            )

    @property
    def pid(self) -> int:
        return self.child.pid

    @property
    def code(self) -> int | None:
        """The exit code, or None while it runs."""
        return self.child.poll()

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def tail(self, lines: int = 30) -> str:
        return "\n".join(self.output().splitlines()[-lines:])

    def check_alive(self) -> None:
        if self.code is not None:
            raise Ended(f"{self.argv[0]} ended with {self.code}:\n{self.tail()}")

    def stop(self, timeout: float = 30) -> int:
        """SIGTERM, and SIGKILL when that is not enough. Returns the exit code."""
        if self.code is None:
            self.child.terminate()
            try:
                self.child.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.child.wait()

    def kill(self) -> None:
        """SIGKILL, at once."""
        if self.code is None:
            self.child.kill()
        self.child.wait()
