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
