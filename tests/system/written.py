"""Checkpoints written by hand, for tests in which it does not matter who wrote them."""

import json
import uuid
from pathlib import Path


def checkpoint(folder: Path, offsets: dict[str, dict[int, int]]) -> Path:
    """One committed batch that ends at these offsets, as Spark lays it out."""
    files = {
        "metadata": json.dumps({"id": str(uuid.uuid4())}),
        "offsets/0": "\n".join(["v1", json.dumps({"batchWatermarkMs": 0, "conf": {}}), json.dumps(offsets)]),
        "commits/0": 'v1\n{"nextBatchWatermarkMs":0}',
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
