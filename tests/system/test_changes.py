"""What changes while a command reads is said, never papered over. A proxy lets it happen at the very moment."""

import pytest

from . import brinkwatch
from .kafka_proxy import KafkaProxy, any_bounds, look_up_by_time
from .positions import write_checkpoint

RECORDS, COMMITTED, LATER, KEPT_FROM = 70, 30, 60, 50


@pytest.fixture
def meanwhile(broker):
    """Makes a way to the shared broker on which something happens: `meanwhile(when, then)`."""
    made = []

    def make(when, then) -> KafkaProxy:
        made.append(KafkaProxy(broker.port, when, then))
        return made[-1]

    yield make
    for one in made:
        one.stop()
        assert one.happened, "nothing happened: the proxy saw no such request"


@pytest.fixture
def behind(broker, topic, tmp_path):
    """A query that has not read all of its topic."""
    broker.create_topic(topic)
    broker.produce(topic, RECORDS)
    return write_checkpoint(tmp_path / "checkpoint", {topic: {0: COMMITTED}})


def by_hand(checkpoint, way: KafkaProxy) -> list:
    return ["--checkpoint", checkpoint, "--bootstrap-servers", way.bootstrap, "--subscribe", "subscribe"]


@pytest.mark.parametrize("moves", [True, False])
def test_a_query_that_moved_between_the_two_reads_is_not_called_lost(broker, topic, behind, meanwhile, moves):
    def then() -> None:
        # After its checkpoint was read, and before the brokers answer where the log begins.
        if moves:
            write_checkpoint(behind, {topic: {0: LATER}}, batch=1)
        broker.delete_records(topic, {0: KEPT_FROM})

    done = brinkwatch.check(*by_hand(behind, meanwhile(any_bounds, then)))
    [said] = done.json()["queries"]
    [row] = said["partitions"]
    assert row["earliest"] == KEPT_FROM > COMMITTED, "the loss is there for who looks once"
    if moves:
        assert (done.code, said["state"], said["lost_offsets"], row["committed"]) == (0, "behind", 0, LATER)
    else:
        assert (done.code, said["state"], said["lost_offsets"]) == (1, "lost", KEPT_FROM - COMMITTED)
    assert said["changed"] == [], "bounds move all the time"


def commands(topic: str, tmp_path) -> dict[str, list]:
    sink = tmp_path / "sink.csv"
    sink.write_text(f"topic,partition,max_offset\n{topic},0,{COMMITTED - 1}\n")
    return {
        "check": ["check", "--output", "json"],
        "starting-offsets": ["starting-offsets", "--at", "committed"],
        "verify": ["verify", "--sink-offsets", sink],
    }


@pytest.mark.parametrize("command", ["check", "starting-offsets", "verify"])
def test_partitions_that_changed_between_reading_and_printing_are_said(
    broker, topic, behind, meanwhile, tmp_path, command
):
    way = meanwhile(look_up_by_time, lambda: broker.add_partitions(topic, 2))
    arguments = [*commands(topic, tmp_path)[command], *by_hand(behind, way)]
    done = brinkwatch.run(*arguments)
    words = f"topic {topic} has 2 partitions now, and had 1"
    assert done.code == 3 and words in done.err and "run it again" in done.err, done
    if command == "check":
        [said] = done.json()["queries"]
        assert said["changed"] == [words] and said["recoveries"] == [], "nothing is advised on what is no longer so"
    else:
        assert done.out == ""
    again = brinkwatch.run(*arguments)
    assert again.code == 0 and words not in again.err, again


@pytest.mark.parametrize("command", ["starting-offsets", "verify"])
def test_a_query_that_runs_is_told_to_be_stopped_first(topic, behind, meanwhile, tmp_path, command):
    way = meanwhile(look_up_by_time, lambda: write_checkpoint(behind, {topic: {0: LATER}}, batch=1))
    done = brinkwatch.run(*commands(topic, tmp_path)[command], *by_hand(behind, way))
    assert (done.code, done.out) == (3, ""), done
    assert "the query runs: it has committed batch 1 and planned batch 1, before 0 and 0; stop it first" in done.err


def test_a_topic_that_was_made_again_meanwhile_is_said(broker, topic, behind, meanwhile):
    done = brinkwatch.check(*by_hand(behind, meanwhile(look_up_by_time, lambda: broker.recreate_topic(topic))))
    assert done.code == 3, done
    assert f"topic {topic} was deleted and made again" in done.json()["queries"][0]["changed"]
