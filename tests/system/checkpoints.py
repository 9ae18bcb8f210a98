"""Checkpoints made by hand in any store, and how they are looked at."""

import itertools
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from . import brinkwatch
from .process import Process
from .stores import Store
from .waiting import wait_until

ENTRY = b'v1\n\n{"orders":{"0":5,"1":7}}'
COMMIT = b"v1\n{}"
NAMES = itertools.count(1)
PATIENCE = 60


def healthy(planned=range(3), committed=range(3)) -> dict[str, bytes]:
    return {
        "metadata": b'{"id":"943e4fff-ba4f-4018-99d0-a50c4477be0a"}',
        "sources/0/0": b'\0v1\n{"orders":{"0":0,"1":0}}',
        **{f"offsets/{batch}": ENTRY for batch in planned},
        **{f"commits/{batch}": COMMIT for batch in committed},
    }


def put_checkpoint(store: Store, files: dict[str, bytes]) -> str:
    """Writes files of a checkpoint, and returns its key."""
    root = f"cp/{next(NAMES)}"
    with ThreadPoolExecutor(16) as writers:
        list(writers.map(lambda file: store.put(f"{root}/{file[0]}", file[1]), files.items()))
    return root


def inspect(store: Store, location: str, settings: dict | None = None, timeout: str = "30s") -> brinkwatch.Finished:
    options = [*store.named(), "--output", "json", "--timeout", timeout]
    return store.command("inspect", location, *options, settings=settings)


def inspect_files(store: Store, files: dict[str, bytes]) -> brinkwatch.Finished:
    return inspect(store, store.location(put_checkpoint(store, files)))


def problems(done: brinkwatch.Finished) -> list[str]:
    return [one["problem"] for one in done.json()["problems"]]


def rfc3339(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


class Watch:
    """One reader that remembers, as a daemon has for each query. Every `read` is a poll."""

    def __init__(self, store: Store, location: str, folder):
        argv = [brinkwatch.readings(), *store.arguments(), "watch", location, *store.named()]
        self.log = folder / "watch.log"
        self.process = Process(argv, self.log, stdin=subprocess.PIPE, **store.how())
        self.told = 0

    def read(self) -> dict:
        self.process.child.stdin.write(b"\n")
        self.process.child.stdin.flush()
        self.told += 1
        wait_until(self.answered, PATIENCE, f"answer {self.told}")
        return json.loads(self.process.output().splitlines()[self.told - 1])

    def answered(self) -> bool:
        self.process.check_alive()
        return self.process.output().count("\n") >= self.told

    def stop(self) -> None:
        self.process.child.stdin.close()
        self.process.stop()
