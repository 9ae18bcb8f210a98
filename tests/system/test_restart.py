"""What `check` foretells of a restart, beside what Spark does when it is restarted on a copy."""

import pytest

from . import brinkwatch
from .cases import MAKERS, Case
from .spark import Outcome

# Found by an executor, not by the driver that plans.
IN_THE_FIRST_BATCH = "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"


def foretold(config, case: Case, fail_on_data_loss: bool) -> dict:
    path = config.query("q", case.checkpoint, fail_on_data_loss=fail_on_data_loss).write()
    [query] = brinkwatch.check("--config", path, "q").json()["queries"]
    return query["restart"]


@pytest.mark.parametrize("fail_on_data_loss", [True, False])
@pytest.mark.parametrize("name", MAKERS)
def test_check_foretells_what_a_restart_does(cases, spark, broker, config, tmp_path, name, fail_on_data_loss):
    case = cases[name]
    happened = spark.restart_on_copy(
        broker.bootstrap,
        case.checkpoint,
        subscribe=case.topic,
        fail_on_data_loss=fail_on_data_loss,
        copy=tmp_path / "copy",
        **case.reading,
    )
    said = foretold(config, case, fail_on_data_loss)
    assert said["outcome"] == outcome(broker, case, happened), happened.text
    if said["outcome"] == "starts":
        assert said["error_class"] is None
    # A topic that is not there fails with an error of Kafka's client, which has no such class.
    assert happened.data_loss in (said["error_class"], None)


def outcome(broker, case: Case, happened: Outcome) -> str:
    """What Spark did, in the words of `check`."""
    if happened.data_loss == IN_THE_FIRST_BATCH:
        return "starts_then_fails"
    if happened.failed:
        return "fails"
    earliest, latest = broker.earliest(case.topic), broker.latest(case.topic)
    started = (happened.start_offsets or {}).get(case.topic, {})
    skipped = [number for number, start in started.items() if not earliest[number] <= start <= latest[number]]
    return "starts_and_skips" if skipped else "starts"


def grown(broker, topic) -> None:
    broker.add_partitions(topic, 2)


def cut(broker, topic) -> None:
    broker.recreate_topic(topic)
    broker.produce(topic, 5)


@pytest.mark.parametrize("fail_on_data_loss", [True, False])
@pytest.mark.parametrize("meanwhile", [grown, cut])
def test_the_trigger_available_now_does_what_is_foretold_of_any_other(
    spark, broker, config, tmp_path, topic, meanwhile, fail_on_data_loss
):
    """Started again in the middle of a batch. The trigger has checks of its own (MISMATCHED_TOPIC_PARTITIONS_…,
    END_OFFSET_HAS_GREATER_…): they compare two looks of one run, and let alone a batch that an earlier run has planned."""
    broker.create_topic(topic)
    broker.produce(topic, 20)
    how = {"subscribe": topic, "max_offsets": 10}
    stopped = spark.run(broker.bootstrap, tmp_path / "checkpoint", raise_in_batch=1, **how)
    assert "told to fail" in stopped.text
    meanwhile(broker, topic)
    case = Case(topic, tmp_path / "checkpoint", {}, {}, "")
    said = foretold(config, case, fail_on_data_loss)
    happened = spark.run(broker.bootstrap, case.checkpoint, fail_on_data_loss=fail_on_data_loss, **how)
    assert happened.failed == (said["outcome"] in ("fails", "starts_then_fails")), happened.text
    assert happened.data_loss == said["error_class"], happened.text
    assert not [one for one in happened.conditions if "PREFETCHED" in one or "AVAILABLENOW" in one], happened.text
