"""Five incidents, each from the loss to the proof: what `check` foretells, Spark does; the starting offsets it prints are
taken by a real query with a new checkpoint; and `verify` proves its sink, and no longer when one record is removed."""

import shutil

import pytest

from .kafka import MINUTE_MS, now_ms
from .recovery import Incident, Make, findings, way
from .spark import Spark
from .waiting import wait_until

DATA_LOSS = "KAFKA_DATA_LOSS."


@pytest.fixture
def incident(broker, spark, config, tmp_path, topic) -> Make:
    return lambda **how: Incident(broker, spark, config, tmp_path, topic, **how)


def test_aged_out(incident, broker, spark):
    orders = incident()
    broker.create_topic(orders.topic, partitions=2, segment_ms=MINUTE_MS, retention_ms=240 * MINUTE_MS)
    old = now_ms() - 50 * MINUTE_MS
    broker.produce(orders.topic, 60, partition=0, timestamp_ms=old)
    broker.produce(orders.topic, 60, partition=1)
    orders.run()
    broker.produce(orders.topic, 40, partition=0, timestamp_ms=old)
    broker.produce(orders.topic, 20, partition=0)
    broker.produce(orders.topic, 10, partition=1)
    broker.alter_config(orders.topic, retention_ms=30 * MINUTE_MS)
    broker.wait_earliest(orders.topic, 0, 100)

    said = orders.restart_does_what_is_foretold(f"{DATA_LOSS}COULD_NOT_READ_OFFSET_RANGE")
    assert said["restart"]["partition"] == said["partitions"][0]["topic"] + "/0", "the worst comes first"
    assert said["lost_offsets"] == 40
    assert [one["path"] for one in said["recoveries"] if one["fits"]] == ["accept_gap", "new_checkpoint", "backfill"]

    recorded = orders.command("gaps", "record", "orders", "--found", "--evidence", "it's 'INC-4711'", "--by", "anna")
    assert (recorded.code, recorded.out) == (0, f"gap 1: {orders.topic}/0 [60, 100)\n"), recorded
    again = orders.command("gaps", "record", "orders", "--found", "--evidence", "twice", "--by", "anna")
    assert again.out == recorded.out, "one loss is one record"
    assert orders.start_anew("committed") == {orders.topic: {0: 100, 1: 60}}
    orders.is_continuous_and_not_with_one_record_removed(orders.records())

    filled = orders.command("gaps", "backfill", "orders", "--into", "sink", "--from", "archive", "--key", "id")
    assert "At most 40 rows" in filled.out and "offset >= 60 AND offset < 100" in filled.out, filled
    exported = orders.command("gaps", "export", "--output", "sql")
    create, insert = exported.out.strip().removesuffix(";").split(";\n")
    # Delta is a library of its own; the rest of the statement is Spark's.
    create = create.replace("USING DELTA", "USING PARQUET")
    [row] = spark.sql(create, insert, "SELECT * FROM streaming_gaps")
    assert row[1:8] == ["orders", "main", orders.topic, row[4], "0", "60", "100"]
    assert row[-2:] == ["it's 'INC-4711'", "anna"]
    parquet = orders.folder / "streaming_gaps.parquet"
    orders.into(parquet, "gaps", "export", "--output", "parquet")
    assert spark.sql(f"SELECT * FROM parquet.`{parquet}`") == [row], "the same record, column by column"

    # Settled as filled, the sink has to have it.
    settled = ["--path", "backfill", "--status", "backfilled", "--evidence", "MERGE of today", "--by", "anna"]
    assert orders.command("gaps", "resolve", "1", *settled).code == 0
    code, said = orders.verified(orders.records())
    assert (code, findings(said)) == (1, {"hole_inside"})
    filled_in = [(orders.topic, 0, number) for number in range(60, 100)]
    assert orders.verified(orders.records() + filled_in)[0] == 0


def test_recreated_topic(incident, broker):
    orders = incident()
    broker.create_topic(orders.topic)
    broker.produce(orders.topic, 30)
    orders.run()
    broker.recreate_topic(orders.topic)
    broker.produce(orders.topic, 10)

    said = orders.restart_does_what_is_foretold(f"{DATA_LOSS}PARTITION_OFFSET_CHANGED")
    assert not way(said, "accept_gap")["fits"], "it would skip the new records"
    assert way(said, "new_checkpoint")["command"].startswith("brinkwatch starting-offsets orders --at earliest --config ")
    # The offsets begin at 0 once more, so the sink that they go to is another one.
    new_sink = orders.folder / "sink-v2"
    assert orders.start_anew("earliest", sink=new_sink) == {orders.topic: {0: -2}}
    orders.is_continuous_and_not_with_one_record_removed(orders.records(new_sink))
    code, said = orders.verified(orders.records())
    assert (code, findings(said)) == (1, {"overlap", "beyond_end"}), "the old sink belongs to the old log"


def test_partitions_gone(incident, broker, topic):
    kept, deleted = f"{topic}-kept", f"{topic}-deleted"
    orders = incident(reading={"subscribe_pattern": f"{topic}-.*"}, subscribe="pattern")
    for name in (kept, deleted):
        broker.create_topic(name)
        broker.produce(name, 20)
    orders.run()
    broker.produce(kept, 10)
    broker.delete_topic(deleted)

    said = orders.restart_does_what_is_foretold(f"{DATA_LOSS}PARTITIONS_DELETED")
    assert said["partitions"][0]["topic"] == deleted
    assert orders.start_anew("committed") == {kept: {0: 20}}
    left = [one for one in orders.records() if one[0] == kept]
    orders.is_continuous_and_not_with_one_record_removed(left)
    code, said = orders.verified(orders.records())
    assert (code, findings(said)) == (1, {"other_topic"})


def test_wiped_checkpoint(incident, broker, serve):
    orders = incident()
    broker.create_topic(orders.topic, partitions=2)
    for partition in (0, 1):
        broker.produce(orders.topic, 20, partition=partition)
    orders.run()
    daemon = serve(orders.config)
    daemon.after_a_round()
    daemon.stop()
    shutil.rmtree(orders.checkpoint)
    broker.produce(orders.topic, 10, partition=0)

    said = orders.checked()
    assert (said["restart"]["outcome"], said["unread"]["checkpoint"]["reason"]) == ("unknown", "not_found")
    # What Spark does with no checkpoint: it begins where the option says, and by default that is the end.
    skipping = orders.run(checkpoint=orders.folder / "unversioned", starting="latest")
    assert skipping.rows == 0, "ten records are passed over without a word"
    assert orders.command("starting-offsets", "orders", "--at", "committed").code == 3
    assert orders.start_anew("last-known") == {orders.topic: {0: 20, 1: 20}}
    orders.is_continuous_and_not_with_one_record_removed(orders.records())


def test_two_writers(incident, broker, spark):
    orders = incident()
    broker.create_topic(orders.topic)
    broker.produce(orders.topic, 20)
    orders.run()
    # A second driver, with the checkpoint as a backup had it, writes into the same sink.
    zombie = orders.folder / "zombie"
    shutil.copytree(orders.checkpoint, zombie)
    broker.produce(orders.topic, 10)
    orders.run()
    orders.run(checkpoint=zombie)

    said = orders.restart_does_what_is_foretold(None)
    assert way(said, "none_needed")["fits"] and "as it is" in way(said, "none_needed")["why"]
    assert not way(said, "new_checkpoint")["fits"]
    code, said = orders.verified(orders.records())
    assert (code, findings(said)) == (1, {"too_many"}), "the ten records are there twice"
    assert orders.start_anew("committed") == {orders.topic: {0: 30}}
    broker.produce(orders.topic, 5)
    orders.run()
    orders.is_continuous_and_not_with_one_record_removed(sorted(set(orders.records())))


def test_two_drivers_on_one_checkpoint(incident, broker, spark, tmp_path):
    """A job is started again while its old driver still lives, in a Spark of its own: within one Spark, the second start
    stops the first. Spark notices when both commit one batch, and by then the sink has it twice."""
    orders = incident()
    broker.create_topic(orders.topic)
    broker.produce(orders.topic, 20)
    orders.run()
    broker.produce(orders.topic, 10)
    gate = tmp_path / "gate"
    gate.mkdir()
    both = {"sink": orders.sink, **orders.reading}
    old = spark.start(broker.bootstrap, orders.checkpoint, hold_in_batch=1, gate=gate, **both)
    wait_until((gate / "held").exists, 60, "the old driver is in its batch")
    second = Spark(tmp_path / "second")
    try:
        done = second.run(broker.bootstrap, orders.checkpoint, **both)
    finally:
        second.stop()
    assert not done.failed and done.rows == 10, done.text
    (gate / "open").touch()
    ended = spark.wait(old)
    assert "CONCURRENT_STREAM_LOG_UPDATE" in ended.text, ended.text

    said = orders.restart_does_what_is_foretold(None)
    assert way(said, "none_needed")["fits"] and said["lost_offsets"] == 0
    code, said = orders.verified(orders.records())
    assert (code, findings(said)) == (1, {"too_many"}), "the ten records are there twice"
    assert orders.start_anew("committed") == {orders.topic: {0: 30}}
    orders.is_continuous_and_not_with_one_record_removed(sorted(set(orders.records())))


def test_starting_offsets_by_time_are_what_spark_takes(incident, broker, spark):
    """Each form, to a real query; what the report says is skipped and read twice, it skips and reads twice."""
    orders = incident()
    broker.create_topic(orders.topic, partitions=2)
    then = now_ms() - 60 * MINUTE_MS
    broker.produce(orders.topic, 10, partition=0, timestamp_ms=then)
    broker.produce(orders.topic, 10, partition=0)
    broker.produce(orders.topic, 10, partition=1, timestamp_ms=then)
    orders.run()
    forms = {"": "startingOffsets", "--by-timestamp": "startingOffsetsByTimestamp", "--timestamp": "startingTimestamp"}
    for flag, option in forms.items():
        done = orders.command(
            "starting-offsets", "orders", "--at", "30min ago", "--spark", "4.3", *([flag] if flag else [])
        )
        assert done.code == 0, done
        assert "read twice: at most 10 records" in done.err and f"option {option}" in done.err, done.err
        beside = {"startingOffsetsByTimestampStrategy": "latest"} if flag else {}
        how = {"starting": done.out.strip()} if not flag else {"starting": None, option: done.out.strip(), **beside}
        again = orders.run(checkpoint=orders.folder / f"by{flag}", sink=orders.folder / f"sink{flag}", **how)
        assert again.rows == 10, f"{option}: {done.out}"
    refused = orders.command("starting-offsets", "orders", "--at", "2100-01-01T00:00:00Z")
    assert refused.code == 2 and "in the future" in refused.err
    nobody = orders.command("starting-offsets", "order", "--at", "committed")
    assert nobody.code == 2 and 'did you mean "orders"' in nobody.err


def test_size_tells_what_survives(incident, broker):
    orders = incident()
    broker.create_topic(orders.topic, retention_ms=60 * MINUTE_MS)
    broker.produce(orders.topic, 20)
    orders.run()
    done = orders.command("size", "orders", "--outage", "72h", "--output", "json")
    [said] = done.json()["topics"]
    assert (done.code, said["survives"], said["limit"]) == (1, False, "time")
    assert (said["retention_ms_set_by"], said["retention_bytes_set_by"]) == ("topic", "default")
    assert said["needs_retention_ms"] >= 72 * 60 * MINUTE_MS
    shutil.copytree(orders.checkpoint, orders.folder / "again")
    orders.config.query("orders-again", orders.folder / "again")
    fleet = orders.command("size", "--outage", "72h", "--output", "json").json()["topics"]
    assert sorted(one["query"] for one in fleet) == ["orders", "orders-again"]
    of_topic = orders.command("size", "--topic", orders.topic, "--output", "json").json()["topics"]
    assert {one["topic"] for one in of_topic} == {orders.topic} and len(of_topic) == 2
    mistyped = orders.command("size", "--topic", f"{orders.topic}s")
    assert (mistyped.code, mistyped.out) == (2, "") and f'did you mean "{orders.topic}"' in mistyped.err, mistyped
    broker.alter_config(orders.topic, retention_ms=said["needs_retention_ms"])
    longer = wait_until(lambda: orders.command("size", "orders", "--outage", "72h").code == 0, 30, "it survives")
    assert longer
