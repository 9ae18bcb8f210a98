"""What a page tells people to type is typed: each command goes through a shell, to the real brokers and checkpoints.

The checkpoints and the configuration lie in folders whose names a careless command would break on.
"""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from . import brinkwatch
from .brinkwatch import Config, Daemon
from .kafka import HOUR_MS, MINUTE_MS, Broker, now_ms
from .positions import write_checkpoint
from .typed import commands, programs, typed, verb
from .waiting import eventually, wait_until

HOSTILE = "it's a \"place\"  with $HOME; & more"
READ = 30

# What each page tells, in this order, and how it ends; 0 done, 1 a finding, 3 not read.
EXPECTED = {
    "healthy": [("check", 0), ("size", 0)],
    "at-risk": [("check", 1), ("kafka-configs.sh", 0), ("size", 1)],
    "lost": [
        ("kafka-configs.sh", 0),
        ("check", 1),
        ("gaps show", 0),
        ("starting-offsets", 0),
        ("gaps record", 0),
        ("gaps backfill", 0),
        ("verify", 0),
        ("gaps resolve", 0),
        ("size", 0),
    ],
    "recreated": [
        ("check", 1),
        ("gaps show", 0),
        ("starting-offsets", 0),
        ("verify", 1),
        ("gaps acknowledge", 0),
    ],
    "gone": [("check", 1), ("starting-offsets", 0), ("verify", 1), ("gaps acknowledge", 0)],
    "wiped": [("inspect", 3), ("starting-offsets", 0), ("verify", 3)],
    "two-writers": [("inspect", 0), ("check", 0), ("verify", 0), ("starting-offsets", 0)],
    "unreadable": [("inspect", 3), ("check", 3)],
}


@dataclass
class Watched:
    """One daemon and a query for each state."""

    config: Config
    daemon: Daemon
    folder: Path
    topics: dict[str, str]

    def commands(self, query: str) -> list[str]:
        return commands(self.daemon.get(f"/queries/{query}").text)

    def typed(self, line: str, folder: Path) -> subprocess.CompletedProcess:
        return typed(line, folder, self.folder / "bin")


def make(broker: Broker, topics: dict[str, str], checkpoints: Path) -> None:
    """Every query has read 30 records of its topic; what else is so differs."""
    old = now_ms() - 40 * MINUTE_MS
    for name, topic in topics.items():
        broker.create_topic(topic, **({"retention_ms": HOUR_MS} if name == "at-risk" else {}))
        broker.produce(topic, READ, timestamp_ms=old)
        write_checkpoint(checkpoints / name, {topic: {0: READ}})
    broker.produce(topics["at-risk"], 5, timestamp_ms=old)
    broker.produce(topics["lost"], 20)
    broker.delete_records(topics["lost"], {0: READ + 10})
    broker.produce(topics["recreated"], 5)
    both = {topics["gone"]: {0: READ}, topics["gone-too"]: {0: READ}}
    write_checkpoint(checkpoints / "gone", both)
    write_checkpoint(checkpoints / "two-writers", {topics["two-writers"]: {0: READ - 5}}, batch=1)
    (checkpoints / "two-writers/commits/1").unlink()
    write_checkpoint(checkpoints / "two-writers", {topics["two-writers"]: {0: READ - 10}})
    (checkpoints / "unreadable/offsets/0").write_text("v7\nnobody knows\n")


def harm(broker: Broker, topics: dict[str, str], checkpoints: Path) -> None:
    """What a daemon has to see happen."""
    broker.recreate_topic(topics["recreated"])
    broker.produce(topics["recreated"], 10)
    broker.delete_topic(topics["gone-too"])
    shutil.rmtree(checkpoints / "wiped")
    entry = checkpoints / "two-writers/offsets/1"
    entry.write_text(entry.read_text().replace(str(READ - 5), str(READ - 3)))


@pytest.fixture(scope="module")
def watched(broker, tmp_path_factory):
    folder = tmp_path_factory.mktemp("steps")
    programs(folder / "bin")
    config = Config(folder / HOSTILE, broker.bootstrap)
    config.values["state_dir"] = str(folder / "state")
    topics = {name: f"steps-{name}" for name in [*EXPECTED, "gone-too"]}
    topics["gone-too"] = f"{topics['gone']}-too"
    checkpoints = folder / f"checkpoints of {HOSTILE}"
    make(broker, topics, checkpoints)
    for name in EXPECTED:
        config.query(name, checkpoints / name, **({"subscribe": "pattern"} if name == "gone" else {}))
    daemon = Daemon.start(config)
    try:
        daemon.after_a_round()
        harm(broker, topics, checkpoints)
        states = {"healthy": "idle", "two-writers": "behind", "wiped": "unreadable"}
        for name in EXPECTED:
            state = states.get(name, name.replace("-", "_"))
            wait_until(lambda name=name: state_of(daemon, name), 60, f"{name} has a state")
            eventually(lambda name=name, state=state: expect(state_of(daemon, name), state, name), 60)
        yield Watched(config, daemon, folder, topics)
    finally:
        daemon.stop()
        print(daemon.process.tail(60))


def state_of(daemon: Daemon, query: str) -> str | None:
    return daemon.metrics().one_hot("query_state", "state", query=query)


def expect(found, wanted, what) -> None:
    assert found == wanted, f"{what} is {found}, not {wanted}"


@pytest.mark.parametrize("query", EXPECTED)
def test_every_command_of_a_page_runs_and_ends_as_it_should(watched, tmp_path, query):
    topic = watched.topics[query]
    (tmp_path / "sink.csv").write_text(f"topic,partition,min_offset,max_offset,count\n{topic},0,0,{READ - 1},{READ}\n")
    if query == "two-writers":
        (tmp_path / "sink.csv").write_text(f"topic,partition,max_offset\n{topic},0,{READ - 11}\n")
    lines = watched.commands(query)
    assert [verb(line) for line in lines] == [each for each, _ in EXPECTED[query]], lines
    for line, (_, code) in zip(lines, EXPECTED[query], strict=True):
        done = watched.typed(line, tmp_path)
        assert done.returncode == code, f"{line}\n{done.stdout}{done.stderr}"
    if printed := [line for line in lines if line.endswith("> starting-offsets.json")]:
        offsets = json.loads((tmp_path / "starting-offsets.json").read_text())
        assert list(offsets) == [topic], f"{printed} wrote {offsets}"


def test_the_longer_retention_is_the_one_that_the_page_names(watched, broker, tmp_path):
    [line] = [line for line in watched.commands("at-risk") if line.startswith("kafka-configs.sh")]
    assert watched.typed(line, tmp_path).returncode == 0
    assert line.endswith(f"retention.ms={2 * HOUR_MS}")
    assert broker.config(watched.topics["at-risk"])["retention.ms"] == str(2 * HOUR_MS)


def test_no_state_is_released_for_a_topic_that_the_query_does_not_read(watched):
    said = ["--evidence", "INC-1", "--by", "anna", "--config", watched.config.write()]
    done = brinkwatch.run("gaps", "acknowledge", "healthy", "--topic", "steps-helthy", *said)
    assert done.code == 2 and 'did you mean "steps-healthy"' in done.err, done


@pytest.mark.parametrize("given", ["by name", "by hand"])
def test_every_command_that_check_tells_runs(watched, broker, tmp_path, given):
    checkpoint = watched.config.values["queries"]["lost"]["checkpoint"]
    by_hand = ["--checkpoint", checkpoint, "--bootstrap-servers", broker.bootstrap, "--subscribe", "subscribe"]
    by_name = ["lost", "--config", watched.config.write()]
    said = brinkwatch.run("check", *(by_hand if given == "by hand" else by_name))
    lines = [line.strip().removeprefix("$ ") for line in said.out.splitlines() if line.strip().startswith("$ ")]
    told = ["check", "starting-offsets", "check"] if given == "by hand" else ["gaps record", "starting-offsets", "gaps backfill"]
    assert [verb(line) for line in lines] == told, said.out
    for line in lines:
        done = watched.typed(line, tmp_path)
        assert done.returncode == (1 if verb(line) == "check" else 0), f"{line}\n{done.stdout}{done.stderr}"
