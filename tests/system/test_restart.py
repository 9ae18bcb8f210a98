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


OTHER_PARTITIONS = "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED"
HIGHER_END = "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_PREFETCHED"


def grown(broker, topic) -> None:
    broker.add_partitions(topic, 2)


def cut(broker, topic) -> None:
    broker.recreate_topic(topic)
    broker.produce(topic, 5)


@pytest.mark.parametrize(
    ("meanwhile", "error_class"), [(None, None), (grown, OTHER_PARTITIONS), (cut, HIGHER_END)], ids=["as it was", "grown", "cut"]
)
@pytest.mark.parametrize("fail_on_data_loss", [True, False])
def test_check_foretells_what_the_trigger_available_now_checks_for_itself(
    spark, broker, config, tmp_path, topic, meanwhile, error_class, fail_on_data_loss
):
    """Started again in the middle of a batch, with that trigger."""
    broker.create_topic(topic)
    broker.produce(topic, 20)
    how = {"subscribe": topic, "max_offsets": 10}
    stopped = spark.run(broker.bootstrap, tmp_path / "checkpoint", raise_in_batch=1, **how)
    assert "told to fail" in stopped.text
    if meanwhile:
        meanwhile(broker, topic)
    path = config.query("q", tmp_path / "checkpoint", fail_on_data_loss=fail_on_data_loss).write()
    [said] = brinkwatch.check("--config", path, "q").json()["queries"]
    happened = spark.run(broker.bootstrap, tmp_path / "checkpoint", fail_on_data_loss=fail_on_data_loss, **how)
    foretold = said["restart_available_now"]
    assert (foretold and foretold["error_class"]) == error_class
    assert happened.failed == (error_class is not None), happened.text
    assert error_class is None or error_class in happened.conditions, happened.text
