"""A real Spark with its Kafka connector, in one long-lived process that runs one query after another."""

import itertools
import json
import os
import select
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .kafka import jars
from .process import Process

PATIENCE = 180

AVAILABLE_NOW = {"availableNow": True}
NAMES = itertools.count()


@dataclass(frozen=True)
class Outcome:
    """How a query ended, by Spark's own account."""

    query_id: str
    active: bool
    chain: list[dict]
    progress: list[dict]

    @property
    def failed(self) -> bool:
        return bool(self.chain)

    @property
    def conditions(self) -> list[str]:
        """The error classes along the chain of causes, such as `KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE`."""
        return [link["condition"] for link in self.chain if link["condition"]]

    @property
    def data_loss(self) -> str | None:
        return next((name for name in self.conditions if name.startswith("KAFKA_DATA_LOSS.")), None)

    @property
    def text(self) -> str:
        return "\n".join(f"{link['class']} [{link['condition']}]: {link['message']}" for link in self.chain)

    @property
    def batches(self) -> list[dict]:
        """Progress of the batches that read something or planned to."""
        return [one for one in self.progress if one["sources"] and one["sources"][0]["endOffset"] is not None]

    @property
    def start_offsets(self) -> dict[str, dict[int, int]] | None:
        """Where Spark says it went on; None when no batch was finished, or when it was the very first one."""
        return offsets(self.batches[0]["sources"][0]["startOffset"]) if self.batches else None

    @property
    def first_end_offsets(self) -> dict[str, dict[int, int]] | None:
        return offsets(self.batches[0]["sources"][0]["endOffset"]) if self.batches else None

    @property
    def end_offsets(self) -> dict[str, dict[int, int]] | None:
        return offsets(self.batches[-1]["sources"][0]["endOffset"]) if self.batches else None

    @property
    def rows(self) -> int:
        return sum(one["numInputRows"] for one in self.progress)


def offsets(found) -> dict[str, dict[int, int]] | None:
    """Offsets of a progress report: JSON inside JSON in some versions of Spark, a plain object in others."""
    if isinstance(found, str):
        found = json.loads(found)
    if found is None:
        return None
    return {topic: {int(number): offset for number, offset in parts.items()} for topic, parts in found.items()}


class SparkDied(RuntimeError):
    """The process is gone, as it should be when a query was told to kill it."""


class Spark:
    def __init__(self, folder: Path):
        self.folder = folder
        (folder / "tmp").mkdir(parents=True, exist_ok=True)
        answers, theirs = os.pipe()
        argv = [
            sys.executable,
            str(Path(__file__).with_name("spark_worker.py")),
            str(theirs),
            str(folder),
            str(jars("BRINKWATCH_SPARK_JARS")),
            str(jars("BRINKWATCH_S3A_JARS")),
        ]
        self.process = Process(argv, folder / "spark.log", stdin=subprocess.PIPE, pass_fds=[theirs], cwd=folder)
        os.close(theirs)
        self.answers = os.fdopen(answers)
        assert self._answer(PATIENCE) == {"ready": True}

    # Queries

    def start(
        self,
        bootstrap: str,
        checkpoint: Path | str,
        *,
        subscribe: str | None = None,
        writer: dict | None = None,
        trigger: dict | None = None,
        fail_on_data_loss: bool = True,
        max_offsets: int | None = None,
        raise_in_batch: int | None = None,
        kill_in_batch: int | None = None,
        hold_in_batch: int | None = None,
        gate: Path | None = None,
        starting: str | None = "earliest",
        subscribe_pattern: str | None = None,
        assign: dict | None = None,
        sink: Path | None = None,
        **options,
    ) -> str:
        """Starts a query and returns the name under which it is known here. `writer` are options of the sink's side;
        other options go to the source. A batch that is held makes `gate/held`, and waits for `gate/open`."""
        name = f"q{next(NAMES)}"
        source = {"startingOffsets": starting, "failOnDataLoss": str(fail_on_data_loss).lower(), **options}
        if max_offsets is not None:
            source["maxOffsetsPerTrigger"] = str(max_offsets)
        self._ask(
            "start",
            name=name,
            bootstrap=bootstrap,
            checkpoint=str(checkpoint),
            subscribe=subscribe,
            subscribe_pattern=subscribe_pattern,
            assign=json.dumps(assign) if assign else None,
            options=source,
            writer_options=writer or {},
            trigger=trigger or AVAILABLE_NOW,
            raise_in_batch=raise_in_batch,
            kill_in_batch=kill_in_batch,
            hold_in_batch=hold_in_batch,
            gate=str(gate) if gate else None,
            sink=str(sink) if sink else None,
        )
        return name

    def configure(self, settings: dict, hadoop: dict | None = None) -> None:
        """Settings of the session and of Hadoop's file systems, for queries that start from now on."""
        self._ask("configure", settings=settings, hadoop=hadoop or {})

    def wait(self, name: str) -> Outcome:
        return Outcome(**self._ask("wait", name=name))

    def outcome(self, name: str) -> Outcome:
        return Outcome(**self._ask("outcome", name=name))

    def stop_query(self, name: str) -> Outcome:
        return Outcome(**self._ask("stop", name=name))

    def run(self, bootstrap: str, checkpoint: Path, **how) -> Outcome:
        """Reads what is there (availableNow) and ends."""
        return self.wait(self.start(bootstrap, checkpoint, **how))

    def sql(self, *statements: str) -> list[list[str | None]]:
        return self._ask("sql", statements=list(statements))

    def restart_on_copy(
        self, bootstrap: str, checkpoint: Path, *, fail_on_data_loss: bool, copy: Path, **how
    ) -> Outcome:
        """What Spark does when it is started again from this checkpoint, tried on a copy of it."""
        if copy.exists():
            raise ValueError(f"{copy} was used: two restarts into one copy disturb each other")
        shutil.copytree(checkpoint, copy)
        how = {"trigger": {"processingTime": "0 seconds"}, **how}
        name = self.start(bootstrap, copy, fail_on_data_loss=fail_on_data_loss, **how)
        return Outcome(**self._ask("drain", name=name))

    # Life

    def stop(self) -> None:
        if self.process.code is None:
            self.process.child.stdin.close()
            try:
                self.process.child.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.answers.close()

    def _ask(self, what: str, **details):
        try:
            self.process.child.stdin.write((json.dumps({"do": what, **details}) + "\n").encode())
            self.process.child.stdin.flush()
        except BrokenPipeError as error:
            raise SparkDied(self.process.tail()) from error
        answer = self._answer(PATIENCE)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]

    def _answer(self, timeout: float) -> dict:
        ready, _, _ = select.select([self.answers], [], [], timeout)
        if not ready:
            raise TimeoutError(f"Spark did not answer within {timeout} s:\n{self.process.tail()}")
        line = self.answers.readline()
        if not line:
            self.process.child.wait()
            raise SparkDied(self.process.tail())
        return json.loads(line)


def killed_in_batch(folder: Path, batch: int, bootstrap: str, checkpoint: Path, **how) -> None:
    """Runs a query in a Spark of its own whose JVM gets SIGKILL inside the batch, after its records were read."""
    spark = Spark(folder)
    try:
        spark.wait(spark.start(bootstrap, checkpoint, kill_in_batch=batch, **how))
    except SparkDied:
        return
    finally:
        spark.stop()
    raise AssertionError("Spark was to be killed and lives")
