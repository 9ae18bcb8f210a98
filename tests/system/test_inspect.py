"""`brinkwatch inspect` says of a checkpoint what Spark says of it."""

import pytest

from . import brinkwatch
from .cases import MAKERS


@pytest.mark.parametrize("name", MAKERS)
def test_inspect_reads_positions_as_spark_does(cases, name):
    case = cases[name]
    done = brinkwatch.inspect(case.checkpoint)
    assert (done.code, done.err) == (0, "")
    said = done.json()
    assert said["batch_open"] == (case.planned is not None)
    assert said["restartable"] is True
    [source] = said["sources"]
    assert source["kind"] == "kafka"
    positions = source["topics"][case.topic]
    assert {int(number): one["committed"] for number, one in positions.items()} == case.committed
    if case.planned:
        assert {int(number): one["planned"] for number, one in positions.items()} == case.planned


def test_inspect_knows_the_query_by_its_id(cases, spark, broker, tmp_path):
    case = cases["idle"]
    again = spark.restart_on_copy(
        broker.bootstrap, case.checkpoint, subscribe=case.topic, fail_on_data_loss=True, copy=tmp_path / "copy"
    )
    assert brinkwatch.inspect(case.checkpoint).json()["query_id"] == again.query_id


def test_inspect_of_no_checkpoint_exits_with_3(tmp_path):
    done = brinkwatch.inspect(tmp_path / "nothing-here")
    assert done.code == 3
    assert "nothing-here" in done.err
