"""Checkpoints written by hand, where what counts is a position and not Spark."""

import json
from collections.abc import Mapping
from pathlib import Path


def write_checkpoint(folder: Path, positions: Mapping[str, Mapping[int, int]], batch: int = 0) -> Path:
    """A query that committed `batch` and stands at these offsets, by topic and partition."""
    for part in ("offsets", "commits"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "metadata").write_text('{"id":"943e4fff-ba4f-4018-99d0-a50c4477be0a"}')
    entry = {topic: {str(number): offset for number, offset in of.items()} for topic, of in positions.items()}
    metadata = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {}})
    (folder / "offsets" / str(batch)).write_text(f"v1\n{metadata}\n{json.dumps(entry)}")
    (folder / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return folder
