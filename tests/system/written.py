"""Checkpoints written by hand, for tests in which it does not matter who wrote them."""

import json
import uuid
from pathlib import Path


def checkpoint(folder: Path, offsets: dict, *, began_at: dict | None = None, planned_at: float | None = None) -> Path:
    """One committed batch that ends at these offsets, as Spark lays it out; where the query began, and when it planned
    the batch (in seconds), if that counts."""
    planned = {} if planned_at is None else {"batchTimestampMs": int(planned_at * 1000)}
    header = json.dumps({"batchWatermarkMs": 0, **planned, "conf": {}})
    files = {
        "metadata": json.dumps({"id": str(uuid.uuid4())}),
        "offsets/0": "\n".join(["v1", header, json.dumps(offsets)]),
        "commits/0": 'v1\n{"nextBatchWatermarkMs":0}',
    }
    if began_at is not None:
        files["sources/0/0"] = "\0v1\n" + json.dumps(began_at)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
