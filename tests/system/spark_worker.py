"""The process in which Spark lives: reads one command per line (JSON), answers one line per command.

Answers go to a descriptor of their own, named as the first argument, because Spark and its JVM print on the others.
"""

import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path

from pyspark.sql import SparkSession

# Longer than any batch of a test takes; a query that hangs is an error that must come to light.
PATIENCE_SECONDS = 90


def session(folder: str, places: list[str]) -> SparkSession:
    jars = [str(jar) for place in places for jar in sorted(Path(place).glob("*.jar"))]
    return (
        SparkSession.builder.master("local[4]")
        .appName("brinkwatch-tests")
        .config("spark.jars", ",".join(jars))
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.memory", "900m")
        .config("spark.driver.host", "localhost")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.local.dir", f"{folder}/scratch")
        .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        .config("spark.sql.streaming.numRecentProgressUpdates", "1000")
        .config(
            "spark.driver.extraJavaOptions",
            f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Duser.timezone=UTC -Djava.io.tmpdir={folder}/tmp",
        )
        .getOrCreate()
    )


class Worker:
    def __init__(self, spark: SparkSession):
        self.spark = spark
        self.queries = {}

    def start(
        self,
        *,
        name,
        bootstrap,
        checkpoint,
        subscribe=None,
        subscribe_pattern=None,
        assign=None,
        options,
        writer_options,
        trigger,
        raise_in_batch=None,
        kill_in_batch=None,
        hold_in_batch=None,
        gate=None,
        sink=None,
    ):
        reader = self.spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
        chosen = {"subscribe": subscribe, "subscribePattern": subscribe_pattern, "assign": assign, **options}
        for key, value in chosen.items():
            if value is not None:
                reader = reader.option(key, value)
        writer = reader.load().writeStream.option("checkpointLocation", checkpoint).trigger(**trigger)
        writer = writer.options(**writer_options)
        if sink is not None:
            writer = writer.foreachBatch(self.records_sink(Path(sink), name, hold_in_batch, gate))
        elif raise_in_batch is None and kill_in_batch is None:
            writer = writer.format("noop")
        else:
            writer = writer.foreachBatch(self.sink(raise_in_batch, kill_in_batch))
        self.queries[name] = writer.start()

    def records_sink(self, folder, name, hold_in_batch, gate):
        """Writes where each record came from, one file a batch: doing a batch again changes nothing. One batch may be
        held before it is written, until the gate is opened."""
        folder.mkdir(parents=True, exist_ok=True)

        def write(frame, batch):
            rows = frame.select("topic", "partition", "offset").toJSON().collect()
            if batch == hold_in_batch:
                wait_at(Path(gate))
            (folder / f"{name}-{batch}.jsonl").write_text("".join(f"{row}\n" for row in rows))

        return write

    def sql(self, *, statements):
        """Runs them, and returns the rows of the last one as text."""
        for statement in statements:
            answer = self.spark.sql(statement)
        return [[None if value is None else str(value) for value in row] for row in answer.collect()]

    def configure(self, *, settings, hadoop):
        for key, value in settings.items():
            self.spark.conf.set(key, value)
        of_machine = self.spark.sparkContext._jsc.hadoopConfiguration()
        for key, value in hadoop.items():
            of_machine.set(key, value)

    def sink(self, raise_in_batch, kill_in_batch):
        machine = self.spark.sparkContext._gateway.proc.pid

        def write(frame, batch):
            frame.count()
            if batch == raise_in_batch:
                raise RuntimeError(f"told to fail in batch {batch}")
            if batch == kill_in_batch:
                os.kill(machine, signal.SIGKILL)
                os._exit(9)

        return write

    def wait(self, *, name):
        """Until the query ends by itself."""
        query = self.queries[name]
        try:
            if not query.awaitTermination(PATIENCE_SECONDS):
                query.stop()
                raise TimeoutError(f"query {name} is still running")
        except TimeoutError:
            raise
        except Exception:  # noqa: BLE001 - the query's own failure is part of the outcome
            pass
        return self.outcome(name)

    def drain(self, *, name):
        """Until all that is there was read, or until the query fails; then stops it."""
        query = self.queries[name]
        try:
            query.processAllAvailable()
        except Exception:  # noqa: BLE001 - as above
            pass
        query.stop()
        return self.outcome(name)

    def stop(self, *, name):
        self.queries[name].stop()
        return self.outcome(name)

    def outcome(self, name=None):
        query = self.queries[name]
        return {
            "query_id": query.id,
            "active": query.isActive,
            "chain": self.chain(query),
            "progress": [json.loads(progress.json) for progress in query.recentProgress],
        }

    def chain(self, query):
        """The failure and its causes, each with the class of its error condition where Spark names one."""
        failure = query._jsq.exception()
        if failure.isEmpty():
            return []
        found, cause = [], failure.get()
        while cause is not None:
            try:
                condition = cause.getCondition()
            except Exception:  # noqa: BLE001 - not one of Spark's own
                condition = None
            found.append(
                {"class": cause.getClass().getName(), "condition": condition, "message": str(cause.getMessage())}
            )
            cause = cause.getCause()
        return found


def wait_at(gate):
    (gate / "held").touch()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (gate / "open").exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody opened {gate}")
        time.sleep(0.1)


def main():
    answers = os.fdopen(int(sys.argv[1]), "w", buffering=1)
    worker = Worker(session(sys.argv[2], sys.argv[3:]))
    answers.write(json.dumps({"ready": True}) + "\n")
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"result": getattr(worker, command.pop("do"))(**command)}
        except Exception:  # noqa: BLE001 - told to the one who asked
            answer = {"error": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
    worker.spark.stop()


if __name__ == "__main__":
    main()
