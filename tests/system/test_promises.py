"""Brinkwatch only reads: no checkpoint is written to, nothing appears on a broker."""

import os
import shutil
import stat
from concurrent.futures import ThreadPoolExecutor

from . import brinkwatch
from .brinkwatch import Config
from .positions import write_checkpoint


def picture(folder) -> dict[str, tuple]:
    """Every file and directory with its bytes, its mode and the times that a write would change."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        seen = path.lstat()
        content = path.read_bytes() if path.is_file() else None
        found[str(path)] = (content, seen.st_mode, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_nlink, seen.st_ino)
    return found


def test_a_checkpoint_is_never_written_to(cases, broker, tmp_path):
    case = cases["mid_batch"]
    checkpoint = shutil.copytree(case.checkpoint, tmp_path / "checkpoint")
    for path in [checkpoint, *checkpoint.rglob("*")]:
        path.chmod(stat.S_IRUSR | (stat.S_IXUSR if path.is_dir() else 0))
    config = Config(tmp_path / "config", broker.bootstrap).query("q", checkpoint)
    path = config.write()
    before = picture(tmp_path / "checkpoint"), sorted(os.listdir(tmp_path))
    daemon = brinkwatch.Daemon.start(config)
    try:
        metrics = daemon.after_a_round()
        assert metrics.value("committed_offset", query="q", partition=0) == case.committed[0]
        assert daemon.get("/queries/q").status == 200
        assert brinkwatch.inspect(checkpoint).code == 0
        assert brinkwatch.check("--config", path).code == 0
        assert daemon.stop() == 0
        # Neither in it nor beside it, and no time of any directory moved.
        assert (picture(checkpoint), sorted(os.listdir(tmp_path))) == before
    finally:
        daemon.stop()
        for path in [checkpoint, *checkpoint.rglob("*")]:
            path.chmod(path.stat().st_mode | stat.S_IWUSR)


def ask_everything(config, bootstrap: str, checkpoint, folder) -> None:
    """Every command that asks brokers, about topics that they do not have, and about names that nobody has."""
    nobody = "no-such-topic"
    sink = folder / "sink.csv"
    sink.write_text(f"topic,partition,max_offset\n{nobody},0,5\n")
    here = ["--checkpoint", checkpoint, "--bootstrap-servers", bootstrap]
    astray = write_checkpoint(folder / "astray", {nobody: {0: 5}})
    there = ["--checkpoint", astray, "--bootstrap-servers", bootstrap]
    commands = (
        ["check"],
        ["starting-offsets", "--at", "committed"],
        ["starting-offsets", "--at", "earliest", "--topic", nobody],
        ["starting-offsets", "--at", "10min ago", "--by-timestamp"],
        ["verify", "--sink-offsets", sink],
        ["size", "--outage", "72h"],
        ["size", "--topic", nobody],
    )
    asked = [[*command, *query] for query in (["--config", config, "missing"], here, there) for command in commands]
    with ThreadPoolExecutor() as pool:
        for arguments, done in zip(asked, pool.map(lambda arguments: brinkwatch.run(*arguments), asked), strict=True):
            # Whatever it answers: it understood the question, or knows the topics and has not this one among them.
            assert done.code in (0, 1, 3) or nobody in done.err, f"{arguments}: {done}"
    brinkwatch.run("config", "check", "--live", "--config", config)


def test_nothing_appears_on_a_fresh_broker(cases, own_broker, tmp_path):
    """The broker would create a topic for whoever asks, and its own topics at the first group."""
    present, missing = cases["healthy"], cases["compacted"]
    fresh = own_broker(properties={"auto.create.topics.enable": "true"}, cluster_id="CCCCCCCCCCCCCCCCCCCCCQ")
    fresh.create_topic(present.topic, partitions=2)
    fresh.produce(present.topic, 20)
    fresh.produce(present.topic, 20, partition=1)
    config = Config(tmp_path / "b", fresh.bootstrap)
    config.query("present", present.checkpoint).query("missing", missing.checkpoint)
    config.query("committed", shutil.copytree(present.checkpoint, tmp_path / "committed"), isolation_level="read_committed")
    before = fresh.topics(), fresh.groups()
    assert before == ({present.topic}, set())
    daemon = brinkwatch.Daemon.start(config)
    try:
        for _ in range(3):
            metrics = daemon.after_a_round()
        assert metrics.value("latest_offset", topic=present.topic, partition=0) == 20
        brinkwatch.check("--config", config.write())
        ask_everything(config.write(), fresh.bootstrap, missing.checkpoint, tmp_path)
        assert (fresh.topics(), fresh.groups()) == before
    finally:
        daemon.stop()
    assert (fresh.topics(), fresh.groups()) == before
