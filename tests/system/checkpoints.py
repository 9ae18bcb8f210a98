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
    return put_checkpoints(store, [files])[0]


def put_checkpoints(store: Store, checkpoints: list[dict[str, bytes]]) -> list[str]:
    roots = [f"cp/{next(NAMES)}" for _ in checkpoints]
    files = [(f"{root}/{name}", text) for root, cp in zip(roots, checkpoints, strict=True) for name, text in cp.items()]
    with ThreadPoolExecutor(16) as writers:
        list(writers.map(lambda file: store.put(*file), files))
    return roots


def inspect(store: Store, location: str, settings: dict | None = None, timeout: str = "30s") -> brinkwatch.Finished:
    options = [*store.named(), "--output", "json", "--timeout", timeout]
    return store.run("inspect", location, *options, settings=settings)


def inspect_files(store: Store, files: dict[str, bytes]) -> brinkwatch.Finished:
    return inspect(store, store.location(put_checkpoint(store, files)))


def read_each(store: Store, locations: list[str]) -> list[dict]:
    """What each of these says: a reading, or why there is none."""
    how = {"program": brinkwatch.readings(), "timeout": 200, **store.how()}
    done = brinkwatch.run(*store.arguments(), "each", *locations, *store.named(), **how)
    assert done.code == 0, done.err
    return [json.loads(line)["read"] for line in done.out.splitlines()]


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
