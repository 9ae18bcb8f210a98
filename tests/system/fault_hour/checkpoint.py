"""A checkpoint that the tests write as Spark does, file by file; each step is told to the truth."""

import json
import os
import shutil
import time
import uuid
from pathlib import Path

from ..stores import Store
from .truth import At, Truth, View

# So many batches are kept behind the newest one.
KEPT = 12
COMMIT = b'v1\n{"nextBatchWatermarkMs":0}'


def entry(positions: dict[At, int]) -> bytes:
    by_topic: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(positions.items()):
        by_topic.setdefault(topic, {})[str(partition)] = offset
    header = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": int(time.time() * 1000), "conf": {}})
    return f"v1\n{header}\n{json.dumps(by_topic)}".encode()


class Disk:
    """Files appear whole, as by Hadoop's rename."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.aside = folder.parent / f".{folder.name}.aside"

    def put(self, name: str, content: bytes) -> float:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self.aside.mkdir(exist_ok=True)
        whole = self.aside / "whole"
        whole.write_bytes(content)
        written_at = whole.stat().st_mtime
        os.replace(whole, path)
        return written_at

    def put_in_place(self, name: str, content: bytes) -> None:
        (self.folder / name).write_bytes(content)

    def put_all(self, files: dict[str, bytes]) -> float:
        """A whole directory at once. Returns when its last file was written."""
        new = self.aside / "new"
        for name, content in files.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(content)
            at = (new / name).stat().st_mtime
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        os.rename(new, self.folder)
        return at

    def delete(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def hide(self) -> None:
        os.rename(self.folder, self.aside / "hidden")

    def show(self) -> None:
        os.rename(self.aside / "hidden", self.folder)

    def drop_hidden(self) -> None:
        shutil.rmtree(self.aside / "hidden", ignore_errors=True)


class Bucket:
    """Objects below a key."""

    def __init__(self, store: Store, key: str):
        self.store, self.key = store, key

    def put(self, name: str, content: bytes) -> None:
        # Its times are told to the second only: nothing is compared with them.
        self.store.put(f"{self.key}/{name}", content)

    put_in_place = put

    def put_all(self, files: dict[str, bytes]) -> None:
        """One after the other: nobody may look meanwhile."""
        for name, content in files.items():
            self.put(name, content)

    def delete(self, name: str) -> None:
        self.store.delete(f"{self.key}/{name}")


class Checkpoint:
    """One query's. A method is a step of the query, or of somebody's hand."""

    def __init__(self, name: str, place: Disk | Bucket, truth: Truth):
        self.name, self.place, self.truth = name, place, truth
        self.batch = -1
        self.view: View | None = None
        # What was committed before the newest batch, as long as that can be had back.
        self.before: dict[At, int] | None = None
        self.torn: bytes | None = None

    @property
    def is_whole(self) -> bool:
        return self.view is not None and self.view.readable and self.torn is None

    @property
    def is_open(self) -> bool:
        return self.view.planned is not None

    @property
    def is_on_disk(self) -> bool:
        return isinstance(self.place, Disk)

    def begin(self, positions: dict[At, int]) -> None:
        """The first batch, committed."""
        began = time.time()
        self.batch = 0
        query_id = str(uuid.uuid4())
        metadata = json.dumps({"id": query_id}).encode()
        at = self.place.put_all({"metadata": metadata, "offsets/0": entry(positions), "commits/0": COMMIT})
        self._tell(began, View(dict(positions), None, 0, 0, at, query_id))

    def plan(self, positions: dict[At, int]) -> None:
        self.batch += 1
        began = time.time()
        self.place.put(f"offsets/{self.batch}", entry(positions))
        view = self.view.but(planned=dict(positions), newest_planned=self.batch)
        if any(offset < view.committed.get(at, 0) for at, offset in positions.items()):
            # Over a log that began anew: whether Spark goes on is up to an option that the files do not tell.
            view = view.but(restartable=frozenset({1.0, None}), problem="planned_below_committed")
        self._tell(began, view)

    def commit(self) -> None:
        began = time.time()
        at = self.place.put(f"commits/{self.batch}", COMMIT)
        planned, self.before = self.view.planned, self.view.committed
        sound = {"restartable": frozenset({1.0}), "problem": None}
        view = self.view.but(committed=planned, planned=None, newest_committed=self.batch, committed_at=at, **sound)
        self._tell(began, view)
        for old in range(max(self.batch - KEPT - 1, 0), self.batch - KEPT):
            self.place.delete(f"offsets/{old}")
            self.place.delete(f"commits/{old}")

    def tear(self, positions: dict[At, int], kind: str) -> None:
        """The next batch's file is half there (or holds nothing, or is of an unknown version)."""
        self.torn = entry(positions)
        self.batch += 1
        cut = {"half": self.torn[: len(self.torn) // 2], "empty": b"", "unsupported": b"v99\n" + self.torn[3:]}[kind]
        began = time.time()
        self.place.put_in_place(f"offsets/{self.batch}", cut)
        self.torn_positions = dict(positions)
        problem = {"half": "newest_offsets_malformed", "empty": "newest_offsets_empty"}.get(kind)
        view = self.view.but(newest_planned=self.batch, restartable=frozenset({0.0, None}), problem=problem)
        self._tell(began, view.but(readable=problem is not None))

    def mend(self) -> None:
        began = time.time()
        self.place.put(f"offsets/{self.batch}", self.torn)
        self.torn = None
        view = self.view.but(planned=self.torn_positions, restartable=frozenset({1.0}), problem=None, readable=True)
        self._tell(began, view)

    def step_back(self) -> None:
        """Somebody takes away the newest commit: its batch is to be done again."""
        before, self.before = self.before, None
        began = time.time()
        self.place.delete(f"commits/{self.batch}")
        view = self.view.but(
            committed=before, planned=self.view.committed, newest_committed=self.batch - 1, committed_at=None
        )
        self._tell(began, view, by_hand=True)
        self.truth.cause("moved_back", self.name)

    def hide(self) -> None:
        began = time.time()
        self.place.hide()
        self._tell(began, self.view.but(readable=False))

    def show(self) -> None:
        began = time.time()
        self.place.show()
        self._tell(began, self.view.but(readable=True))

    def replace(self, positions: dict[At, int]) -> None:
        """Another checkpoint in its place."""
        self.hide()
        self.place.drop_hidden()
        self.torn = self.before = None
        self.truth.cause("replaced", self.name)
        self.begin(positions)

    def _tell(self, began: float, view: View, by_hand: bool = False) -> None:
        self.view = view
        self.truth.write(self.name, began, time.time(), view, by_hand)
