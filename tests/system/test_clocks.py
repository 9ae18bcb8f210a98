"""A broker whose clock runs ahead deletes before a deadline that is reckoned by ours: nothing is proved of what it holds."""

import time

from confluent_kafka.admin import NewTopic

from .brinkwatch import Config
from .kafka import CHANGE, HOUR_MS
from .positions import write_checkpoint
from .waiting import wait_until

AHEAD = 12
# So much is allowed for: less than by default, so that stamps stay in the future for longer.
SKEW = 1
# By its own clock the broker deletes this much earlier than it should by ours.
RETENTION = 17


def test_nothing_is_proved_by_a_clock_that_runs_ahead_until_it_is_right_again(own_cluster, serve, tmp_path):
    cluster = own_cluster(brokers=2, ahead={2: AHEAD})
    settings = {"retention.ms": str(HOUR_MS), "segment.ms": "600000"}
    topics = [
        # Stamped by the leaders, by the producer, and one that the other broker leads and this one holds too.
        NewTopic("stamped", 2, replica_assignment=[[1], [2]], config={**settings, "message.timestamp.type": "LogAppendTime"}),
        NewTopic("plain", 2, replica_assignment=[[1], [2]], config=settings),
        NewTopic("held", 1, replica_assignment=[[1, 2]], config=settings),
        NewTopic("short", 1, replica_assignment=[[2]], config={"retention.ms": str(RETENTION * 1000)}),
    ]
    for made in cluster.admin.create_topics(topics, request_timeout=CHANGE).values():
        made.result(CHANGE)
    sizes = {"stamped": 2, "plain": 2, "held": 1, "short": 1}
    for name, size in sizes.items():
        wait_until(lambda name=name, size=size: len(cluster.earliest(name)) == size, 60, f"{name} has its leaders")
    began = time.time()
    for name, size in sizes.items():
        for partition in range(size):
            cluster.produce(name, 10, partition=partition)

    config = Config(tmp_path / "brinkwatch", cluster.bootstrap)
    positions = {name: dict.fromkeys(range(size), 5) for name, size in sizes.items()}
    config.values["clusters"]["main"]["clock_skew"] = f"{SKEW}s"
    daemon = serve(config.query("q", write_checkpoint(tmp_path / "checkpoint", positions)))

    def proved() -> set[tuple[str, int]]:
        series = daemon.metrics().all("deletion_deadline_timestamp_seconds", query="q")
        return {(labels["topic"], int(labels["partition"])) for labels, _ in series}

    # From the first round on: what the other broker alone holds, and no more.
    others = {("stamped", 0), ("plain", 0)}
    assert proved() == others
    [told] = daemon.get("/api/v1/queries/q").json()["clusters"]
    why = {(one["topic"], one["partition"]): one["unproved"] for one in told["partitions"]}
    assert all(why[at] is None for at in others)
    for at in [("stamped", 1), ("plain", 1), ("held", 0), ("short", 0)]:
        assert why[at]["reason"] == "fast_clock" and "the clock of broker 2 is at least" in why[at]["detail"], at
    assert "the clock of broker 2 is at least" in daemon.get("/queries/q").text
    metrics = daemon.metrics()
    problem = {one["topic"]: value for one, value in metrics.all("query_topic_partition_problems", problem="retention_estimated")}
    assert problem == {"stamped": 1, "plain": 1, "held": 1, "short": 1}
    assert daemon.log().count("the clock of a broker is ahead of ours") == 1

    # It was right not to promise: by our clock that record should have lived longer.
    wait_until(lambda: cluster.earliest("short")[0] > 5, RETENTION, "the clock that runs ahead has deleted")
    assert time.time() < began + RETENTION - 5, "nothing was shown: it went when it should by our clock"

    # Its clock is put right. Once its own stamps are of the past, what it stamps shows it.
    cluster.nodes[2].stop()
    cluster.nodes[2].ahead = 0
    cluster.nodes[2].start()

    def right_again() -> bool:
        cluster.produce("stamped", 1, partition=1)
        return {("stamped", 1), ("plain", 1), ("held", 0)} <= proved()

    wait_until(right_again, 60, "its clock is believed again")
    assert "nothing shows any more that the clock of a broker is ahead of ours" in daemon.log()
