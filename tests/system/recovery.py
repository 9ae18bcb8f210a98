"""What the incidents are told with: a query with a sink, in trouble, and the way out of it by the printed commands."""

import csv
import io
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from . import brinkwatch
from .brinkwatch import Config, Finished
from .kafka import Broker
from .spark import Outcome, Spark


@dataclass
class Incident:
    """A query named orders, its sink, and a ledger."""

    broker: Broker
    spark: Spark
    config: Config
    folder: Path
    topic: str
    # How the source is read, in Spark and in the configuration.
    reading: dict = field(default_factory=dict)
    subscribe: str = "subscribe"
    version: int = 1

    def __post_init__(self):
        self.config.values["state_dir"] = str(self.folder / "ledger")
        self.reading = self.reading or {"subscribe": self.topic}
        self.configure()

    @property
    def checkpoint(self) -> Path:
        return self.folder / f"checkpoint-v{self.version}"

    @property
    def sink(self) -> Path:
        return self.folder / "sink"

    def configure(self) -> None:
        self.config.query("orders", self.checkpoint, subscribe=self.subscribe)

    def run(self, **how) -> Outcome:
        """Reads what there is into the sink."""
        how = {"sink": self.sink, **self.reading, **how}
        done = self.spark.run(self.broker.bootstrap, how.pop("checkpoint", self.checkpoint), **how)
        assert not done.failed, done.text
        return done

    def command(self, *arguments) -> Finished:
        return brinkwatch.run(*arguments, "--config", self.config.write())

    def into(self, file: Path, *arguments) -> None:
        """What a command prints goes into a file."""
        with file.open("wb") as out:
            argv = [brinkwatch.binary(), *arguments, "--config", self.config.write()]
            subprocess.run([str(word) for word in argv], stdout=out, check=True, timeout=60)

    def checked(self) -> dict:
        done = self.command("check", "orders", "--output", "json")
        assert done.code in (0, 1, 3), done
        return done.json()["queries"][0]

    def restart_does_what_is_foretold(self, error_class: str | None, **how) -> dict:
        """What `check` says of a restart as it is, and what Spark then does, on a copy."""
        said = self.checked()
        happened = self.spark.restart_on_copy(
            self.broker.bootstrap,
            self.checkpoint,
            fail_on_data_loss=True,
            copy=self.folder / f"copy-{self.version}",
            **{**self.reading, **how},
        )
        assert said["restart"]["error_class"] == error_class, said["restart"]
        assert happened.failed == (error_class is not None), happened.text
        assert happened.data_loss == error_class, happened.text
        assert said["restart"]["outcome"] in (("fails", "starts_then_fails") if error_class else ("starts",))
        return said

    def start_anew(self, at: str, *more, sink: Path | None = None) -> dict:
        """Feeds the printed starting offsets to a new query with a checkpoint of the next version."""
        done = self.command("starting-offsets", "orders", "--at", at, "--spark", "4.3", *more)
        assert done.code == 0, done
        self.version += 1
        self.configure()
        self.run(starting=done.out.strip(), **({"sink": sink} if sink else {}))
        return {topic: {int(key): value for key, value in found.items()} for topic, found in json.loads(done.out).items()}

    # The sink

    def records(self, sink: Path | None = None) -> list[tuple[str, int, int]]:
        lines = [line for file in (sink or self.sink).glob("*.jsonl") for line in file.read_text().splitlines()]
        found = [json.loads(line) for line in lines]
        return sorted((one["topic"], one["partition"], one["offset"]) for one in found)

    def verified(self, records: list[tuple[str, int, int]], *more) -> tuple[int, dict]:
        """What `verify` says of a sink that holds these, and its exit code."""
        file = self.folder / "sink.csv"
        file.write_text(maxima(records))
        done = self.command("verify", "orders", "--sink-offsets", file, "--output", "json", *more)
        assert done.code in (0, 1), done
        return done.code, done.json()

    def is_continuous_and_not_with_one_record_removed(self, records: list[tuple[str, int, int]]) -> None:
        code, said = self.verified(records)
        assert (code, said["continuous"]) == (0, True), said
        partition = max((at for at in records), key=lambda at: at[2])
        code, said = self.verified([one for one in records if one != partition])
        assert (code, findings(said)) == (1, {"hole"}), said
        same = [one for one in records if one[:2] == partition[:2]]
        code, said = self.verified([one for one in records if one != same[len(same) // 2]])
        assert (code, findings(said)) == (1, {"hole_inside"}), said


def maxima(records: list[tuple[str, int, int]]) -> str:
    """What a person would ask the sink for, as CSV."""
    parts: dict[tuple[str, int], list[int]] = {}
    for topic, partition, offset in records:
        parts.setdefault((topic, partition), []).append(offset)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["topic", "partition", "min(offset)", "max(offset)", "count(1)"])
    writer.writerows([*at, min(found), max(found), len(found)] for at, found in parts.items())
    return out.getvalue()


def findings(said: dict) -> set[str]:
    return {finding["finding"] for partition in said["partitions"] for finding in partition["findings"]}


def way(said: dict, path: str) -> dict:
    [found] = [one for one in said["recoveries"] if one["path"] == path]
    return found


Make = Callable[..., Incident]
