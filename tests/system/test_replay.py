"""What was recorded of a real broker and a real checkpoint, judged again: the verdicts that the daemon gave."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from . import brinkwatch
from .waiting import wait_until

READ, UNREAD = 20, 10
# Others are of one round that caught something in between, and depend on when that came.
SETTLED = {"behind", "caught_up", "lost", "recreated"}


def without_repeats(told: list) -> list:
    told = [one for one in told if one]
    return [one for number, one in enumerate(told) if number == 0 or told[number - 1] != one]


@pytest.fixture
def recorder():
    """Starts the command with its output in a file; no recording outlives its test."""
    started = []

    def start(output: Path, *arguments) -> subprocess.Popen:
        with output.open("wb") as out:
            started.append(subprocess.Popen([str(brinkwatch.binary()), *map(str, arguments)], stdout=out))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.wait()


def test_a_recording_says_what_the_daemon_said(broker, spark, config, serve, recorder, topic, tmp_path):
    broker.create_topic(topic)
    broker.produce(topic, READ)
    spark.run(broker.bootstrap, tmp_path / "checkpoint", subscribe=topic)
    broker.produce(topic, UNREAD)
    config.values["state_dir"] = str(tmp_path / "state")
    config.query("orders", tmp_path / "checkpoint")
    daemon = serve(config)
    written = config.write()
    recording = recorder(tmp_path / "recording", "record", "orders", "--for", "5m", "--config", written)
    said = []

    def look() -> tuple | None:
        metrics = daemon.metrics()
        labels = {"query": "orders", "kafka_cluster": "main"}
        state = metrics.one_hot("query_state", "state", **labels)
        lost = metrics.value("query_topic_offsets_lost_total", topic=topic, certainty="certain", **labels)
        partitions = metrics.all("query_topic_partitions", **labels)
        settled = {have["state"] for have, count in partitions if count} <= SETTLED
        said.append((state, lost) if settled else None)
        return said[-1]

    def wait_for(state: str, lost: int) -> None:
        wait_until(lambda: look() == (state, lost), 60, f"{state}, with {lost} lost")
        # The recording goes its own way, and has to see it, too.
        daemon.after_a_round()
        daemon.after_a_round()

    wait_for("behind", 0)
    broker.delete_records(topic, {0: READ + 4})
    wait_for("lost", 4)
    spark.run(broker.bootstrap, tmp_path / "checkpoint", subscribe=topic, fail_on_data_loss=False)
    wait_for("idle", 4)
    broker.produce(topic, 3)
    wait_for("behind", 4)
    broker.recreate_topic(topic)
    broker.produce(topic, 100)
    wait_for("recreated", 7)

    recording.send_signal(signal.SIGINT)
    assert recording.wait(30) == 0
    replayed = brinkwatch.run("replay", tmp_path / "recording", "--output", "json")
    assert replayed.code == 0, replayed.err
    steps = replayed.json()
    again = [
        (step["query_state"], step["lost_offsets_total"]["certain"])
        for step in steps
        if {one["state"] for one in step["partitions"].values()} <= SETTLED
    ]
    assert without_repeats(again) == without_repeats(said)
    listed = brinkwatch.run("gaps", "list", "--config", written, "--output", "json").json()["gaps"]
    names = ("topic", "partition", "missing_from_offset", "missing_to_offset_exclusive", "certainty")
    replayed_gaps = [tuple(gap[name] for name in ("topic", "partition", "from", "to", "certainty")) for gap in steps[-1]["gaps"]]
    assert replayed_gaps == [tuple(gap[name] for name in names) for gap in listed]
    # The same numbers at the end, as the page has them.
    [cluster] = daemon.get("/api/v1/queries/orders").json()["clusters"]
    [row] = cluster["partitions"]
    last = steps[-1]["partitions"][f"{topic}/0"]
    for name in ("state", "committed", "lag_offsets", "lost_offsets"):
        assert last[name] == row[name], (name, json.dumps(row))
