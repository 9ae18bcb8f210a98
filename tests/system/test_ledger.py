"""The ledger in PostgreSQL: the ledger's own tests on a real server, and what daemons that share one tell of a loss."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .brinkwatch import ROOT, Config, Daemon, run
from .certificates import Authority
from .positions import write_checkpoint
from .postgres import PASSWORD
from .waiting import wait_until

PATIENCE = 30


def built(*target: str) -> str:
    """The program of Rust tests that `cargo build --tests` has built."""
    argv = ["cargo", "test", "--locked", "--no-run", "--message-format=json", *target]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=900, check=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    [program] = [one["executable"] for one in messages if one.get("executable") and one["profile"]["test"]]
    return program


def test_all_that_holds_in_a_file_holds_in_postgresql(postgres):
    url = postgres.url(postgres.database(), user="admin")
    argv = [built("--lib"), *(f"ledger::tests::{part}::" for part in ("file", "sharing", "versions")), "--nocapture"]
    env = {**os.environ, "BRINKWATCH_TEST_POSTGRES": url}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    sources = (ROOT / "src" / "ledger" / "tests").glob("*.rs")
    written = sum(source.read_text().count("    everywhere(async |place| {") for source in sources)
    ran = set(re.findall(r"on PostgreSQL too: (\S+)", done.stdout))
    assert len(ran) == written >= 18, done.stdout


def test_after_a_kill_at_any_moment_every_gap_that_was_visible_is_in_postgresql_once(postgres):
    url = postgres.url(postgres.database(), user="admin")
    env = {**os.environ, "BRINKWATCH_TEST_POSTGRES": url}
    argv = [built("--test", "ledger_kill")]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{url}: " in done.stdout, "it did not run over the server"


class Fleet:
    """Daemons on one database."""

    def __init__(self, postgres, broker, serve, folder: Path):
        self.postgres, self.broker, self.serve, self.folder = postgres, broker, serve, folder
        self.database = postgres.database()
        self.password = folder / "password"
        self.password.write_text(PASSWORD + "\n")

    def config(self, name: str) -> Config:
        config = Config(self.folder / name, self.broker.bootstrap)
        config.values["ledger"] = {
            "url": self.postgres.url(self.database),
            "password_file": str(self.password),
        }
        return config

    def rows(self, columns: str = "id, missing_from_offset, missing_to_offset_exclusive, recovery_status") -> list[str]:
        # The way that the README of deploy/ gives for runbooks.
        return self.postgres.sql(f"SELECT {columns} FROM streaming_gaps ORDER BY id", self.database).splitlines()


@pytest.fixture
def fleet_of(postgres, broker, serve, tmp_path):
    return Fleet(postgres, broker, serve, tmp_path)


def health(daemon: Daemon) -> tuple:
    metrics = daemon.metrics()
    return metrics.value("ledger_up"), metrics.value("ledger_persistent")


def lost(daemon: Daemon, query: str) -> float:
    found = daemon.metrics().all("query_topic_offsets_lost_total", query=query, certainty="certain")
    return sum(value for _, value in found)


def unresolved(daemon: Daemon, query: str) -> float | None:
    found = daemon.metrics().all("query_topic_gaps_unresolved", query=query)
    return sum(value for _, value in found) if found else None


def state(daemon: Daemon, query: str) -> str | None:
    return daemon.metrics().one_hot("query_state", "state", query=query)


def gaps(daemon: Daemon, query: str) -> list[tuple]:
    listed = daemon.get("/api/v1/gaps").json()["gaps"]
    return [
        (gap["id"], gap["missing_from_offset"], gap["missing_to_offset_exclusive"], gap["recovery_status"])
        for gap in listed
        if gap["stream_name"] == query
    ]


def test_replicas_and_shards_share_one_record_of_each_loss_and_hear_what_people_say(fleet_of, broker, serve, topic, tmp_path):
    other = f"{topic}-other"
    for name in (topic, other):
        broker.create_topic(name)
        broker.produce(name, 20)
    orders = write_checkpoint(tmp_path / "orders", {topic: {0: 5}})
    returns = write_checkpoint(tmp_path / "returns", {other: {0: 3}})
    configs = [fleet_of.config(name).query("orders", orders) for name in ("one", "two")]
    configs.append(fleet_of.config("three").query("returns", returns))
    *replicas, shard = daemons = [serve(config) for config in configs]
    wait_until(lambda: all(health(daemon) == (1, 1) for daemon in daemons), PATIENCE, "all keep their ledger")

    # A real loss, which both replicas find, and one that only the third sees.
    broker.delete_records(topic, {0: 12})
    broker.delete_records(other, {0: 4})
    wait_until(lambda: all(lost(one, "orders") == 7 for one in replicas) and lost(shard, "returns") == 1, PATIENCE, "it is seen")
    for daemon in daemons:
        wait_until(lambda: len(gaps(daemon, "orders")) == len(gaps(daemon, "returns")) == 1, PATIENCE, "all show it")
        page = daemon.get("/gaps").text
        assert "orders" in page and "returns" in page and fleet_of.postgres.url(fleet_of.database) in page
    [mine] = gaps(shard, "orders")
    assert mine[1:] == (5, 12, "open")

    # The server crashes; the loss goes on meanwhile.
    fleet_of.postgres.kill()
    broker.delete_records(topic, {0: 15})
    wait_until(lambda: all(health(one) == (0, 0) and lost(one, "orders") == 10 for one in replicas), PATIENCE, "they watch on")
    away = run("gaps", "list", "--config", configs[0].write())
    assert away.code == 3 and fleet_of.postgres.url(fleet_of.database) in away.err, away.err
    for daemon in replicas:
        assert "cannot be read" in daemon.get("/gaps").text
    fleet_of.postgres.start()
    wait_until(lambda: all(health(daemon) == (1, 1) for daemon in daemons), PATIENCE, "it is back")
    wait_until(lambda: [gaps(one, "orders")[0][1:3] for one in replicas] == [(5, 15)] * 2, PATIENCE, "what was found is on record")
    assert len(fleet_of.rows()) == 2, fleet_of.rows()
    assert [unresolved(one, "orders") for one in replicas] == [1, 1]

    # A person settles it, beside them.
    words = ("--path", "accept_gap", "--status", "accepted", "--evidence", "INC-1", "--by", "anna")
    settled = run("gaps", "resolve", mine[0], *words, "--config", configs[2].write())
    assert settled.out == f"gap {mine[0]} is accepted\n", settled.err
    wait_until(lambda: all(unresolved(one, "orders") == 0 for one in replicas), PATIENCE, "both have heard of it")
    for daemon in daemons:
        assert gaps(daemon, "orders") == [(mine[0], 5, 15, "accepted")]

    # A state that only a person lifts: every replica hears.
    broker.recreate_topic(topic)
    broker.produce(topic, 20)
    wait_until(lambda: all(state(one, "orders") == "recreated" for one in replicas), PATIENCE, "both see it")
    said = run("gaps", "acknowledge", "orders", "--evidence", "INC-2", "--by", "anna", "--config", configs[0].write())
    assert said.code == 0, said.err
    wait_until(lambda: all(state(one, "orders") != "recreated" for one in replicas), PATIENCE, "both have heard")

    # Another daemon takes a query over, and knows what was lost before it was there.
    replicas[1].stop()
    moved = serve(fleet_of.config("four").query("orders", orders))
    wait_until(lambda: lost(moved, "orders") == lost(replicas[0], "orders") >= 10, PATIENCE, "it goes on from there")
    for daemon in (replicas[0], shard, moved):
        assert PASSWORD not in daemon.log() + daemon.get("/config").text + daemon.get("/gaps").text


def test_a_daemon_says_once_what_is_wrong_with_the_server_and_goes_on(fleet_of, broker, serve, topic, tmp_path):
    broker.create_topic(topic)
    broker.produce(topic, 20)
    config = fleet_of.config("one").query("orders", write_checkpoint(tmp_path / "orders", {topic: {0: 5}}))
    broker.delete_records(topic, {0: 6})

    def told(words: str) -> int:
        return sum(words in line for line in daemon.log().splitlines() if "level=error" in line)

    def trouble(words: str) -> None:
        wait_until(lambda: health(daemon) == (0, 0), PATIENCE, words)
        daemon.after_a_round()
        assert told(words) == 1, daemon.log()

    def mended() -> None:
        wait_until(lambda: health(daemon) == (1, 1), PATIENCE, "it is written again")

    # A password that is wrong, until its file is changed.
    fleet_of.password.write_text("wrong")
    daemon = serve(config)
    trouble("password authentication failed")
    assert lost(daemon, "orders") == 1
    fleet_of.password.write_text(PASSWORD)
    mended()
    assert [row.split("|")[1:3] for row in fleet_of.rows()] == [["5", "6"]]

    # A session that is ended from the other side is no trouble: the next one works.
    fleet_of.postgres.end_sessions(fleet_of.database)
    daemon.after_a_round()
    assert health(daemon) == (1, 1)
    assert told("cannot be written") == 1, daemon.log()

    # A server that takes no writes.
    fleet_of.postgres.sql(f"ALTER DATABASE {fleet_of.database} SET default_transaction_read_only = on")
    fleet_of.postgres.end_sessions(fleet_of.database)
    broker.delete_records(topic, {0: 8})
    trouble("the server takes no writes")
    assert lost(daemon, "orders") == 3
    assert gaps(daemon, "orders")[0][1:3] == (5, 6), "what is there can be read"
    fleet_of.postgres.sql(f"ALTER DATABASE {fleet_of.database} RESET default_transaction_read_only")
    mended()
    wait_until(lambda: gaps(daemon, "orders")[0][1:3] == (5, 8), PATIENCE, "it is on record")

    # A server that hangs holds up neither rounds nor the end.
    fleet_of.postgres.pause()
    try:
        trouble("did not answer within")
        broker.delete_records(topic, {0: 9})
        wait_until(lambda: lost(daemon, "orders") == 4, PATIENCE, "it watches on")
        began = time.monotonic()
        daemon.process.child.send_signal(signal.SIGTERM)
        assert daemon.process.child.wait(PATIENCE) == 0, daemon.log()
        assert time.monotonic() - began < 2.0, daemon.log()

        # One that starts now answers at once, and knows what it remembers when the server wakes up.
        began = time.monotonic()
        daemon = serve(config)
        assert time.monotonic() - began < 15
        wait_until(lambda: health(daemon) == (0, 0) and lost(daemon, "orders") >= 1, PATIENCE, "it watches")
    finally:
        fleet_of.postgres.resume()
    mended()
    wait_until(lambda: lost(daemon, "orders") == 4, PATIENCE, "it knows what was lost before")
    wait_until(lambda: gaps(daemon, "orders")[0][1:3] == (5, 9), PATIENCE, "it is on record")
    assert len(fleet_of.rows()) == 1


def test_a_ledger_that_cannot_be_had_is_told_in_the_right_words(fleet_of, serve, tmp_path):
    config = fleet_of.config("one")
    config.values["ledger"]["password_file"] = str(tmp_path / "nowhere")
    for command in (("run",), ("config", "check"), ("gaps", "list")):
        refused = run(*command, "--config", config.write())
        assert refused.code == 78 and "nowhere cannot be read" in refused.err, refused.err
    config.values["ledger"] = {"url": fleet_of.postgres.url("no_such_database"), "password": PASSWORD}
    refused = run("gaps", "list", "--config", config.write())
    assert refused.code == 3 and 'database "no_such_database" does not exist' in refused.err, refused.err
    config.values["ledger"] = {"url": fleet_of.postgres.url(fleet_of.database).replace("@", ":p%40ss%20word@")}
    empty = run("gaps", "list", "--config", config.write())
    url = fleet_of.postgres.url(fleet_of.database)
    assert empty.code == 3 and f"there is no ledger at {url}" in empty.err, empty.err
    shown = run("config", "show", "--config", config.write()).out
    assert f'url = "{url}"' in shown and 'password = "<secret>"' in shown and "p%40ss" not in shown


def test_a_server_is_believed_by_its_certificate_as_the_url_says(fleet_of, tmp_path):
    """Last, since the server that tests share speaks TLS from here on."""
    postgres, (ours, others) = fleet_of.postgres, (Authority(tmp_path / name) for name in ("ours", "others"))
    config = fleet_of.config("one")

    def said(parameters: str) -> str:
        config.values["ledger"]["url"] = postgres.url(fleet_of.database, parameters=parameters)
        done = run("gaps", "list", "--config", config.write())
        assert done.code == 3
        return done.err

    believed = "there is no ledger at"
    assert "server does not support TLS" in said("?sslmode=require")
    assert believed in said("?sslmode=prefer")
    pair = ours.issue("postgres", hosts=("127.0.0.1",))
    postgres.write("server.crt", pair.certificate.read_text())
    postgres.write("server.key", pair.key.read_text())
    postgres.sql("ALTER SYSTEM SET ssl = on")
    postgres.sql("SELECT pg_reload_conf()")
    wait_until(lambda: believed in said("?sslmode=require"), PATIENCE, "the server speaks TLS")
    assert believed in said(f"?sslmode=verify-full&sslrootcert={ours.certificate}")
    assert "certificate" in said(f"?sslmode=verify-full&sslrootcert={others.certificate}")
    assert "certificate" in said("?sslmode=verify-full")
