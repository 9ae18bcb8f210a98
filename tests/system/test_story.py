"""Two stories, told by real Kafka, Spark, Prometheus and Alertmanager: what reaches the person on call, and when.

Rules are what `brinkwatch rules` prints and routing is what `deploy/` shows; only their patience is shorter.
"""

import re
import time

import pytest

from . import brinkwatch
from .alertmanager import deployed
from .background import Repeated
from .kafka import HOUR_MS, MINUTE_MS, now_ms
from .story import Chain, LogStart, Still, Tale, hurried_rules
from .waiting import eventually, wait_until

# A fifth of it lies between the critical page and the loss: time enough for a busy machine.
RETENTION = 75
# The log start moves in steps of this length, so a number that was delivered can be held against one of them.
SEGMENT = 8
INTERVAL = 5
TOPIC = "orders-placed"


@pytest.fixture
def tale(request, capsys, webhook):
    """Prints all steps and everything that was delivered, in the order of time, also when the test passes."""
    told = Tale()
    yield told
    for one in webhook.notifications:
        told.tell_delivered(one)
    with capsys.disabled():
        print(f"\n\n{request.node.name.removeprefix('test_').replace('_', ' ')}:\n{told.text()}")


@pytest.fixture
def chain(serve, prometheus, alertmanager, webhook):
    """Starts the whole chain for a configuration: `chain(config)`."""

    def start(config) -> Chain:
        config.values["alerts"] = {"window": "5s", "scrape_interval": "1s"}
        manager = alertmanager(webhook=webhook.url, settings=deployed(webhook.url))
        daemon = serve(config)
        scraper = prometheus(targets=[f"127.0.0.1:{daemon.port}"], alertmanager=manager.address)
        wait_until(lambda: scraper.value("brinkwatch_build_info"), 30, "the daemon is scraped")
        # Not before: until the first scrape no Brinkwatch is seen, and to say so is a rule's task.
        scraper.load_rules(hurried_rules(config))
        return Chain(daemon, scraper, manager)

    return start


def test_the_page_comes_before_the_loss_and_then_says_how_much_is_gone(
    broker, spark, config, chain, webhook, tmp_path, tale
):
    checkpoint = tmp_path / "checkpoint"
    broker.create_topic(TOPIC, retention_ms=RETENTION * 1000, segment_ms=SEGMENT * 1000)
    config.values["clusters"]["main"]["clock_skew"] = "1s"
    config.query("orders", checkpoint, expected_batch_interval=f"{INTERVAL}s", max_outage="20s")
    log_start = LogStart(broker, TOPIC)
    with Repeated(0.25, lambda: broker.produce(TOPIC, 5)), Repeated(0.2, log_start.look):
        every = {"processingTime": f"{INTERVAL} seconds"}
        running = spark.start(broker.bootstrap, checkpoint, subscribe=TOPIC, trigger=every)
        wait_until(lambda: (checkpoint / "commits" / "0").exists(), 60, "Spark has committed a batch")
        tale.tell("records are produced all the time, and Spark reads them")
        links = chain(config)
        wait_until(lambda: has_just_committed(checkpoint), 60, "Spark has just committed a batch")
        committed = spark.stop_query(running).end_offsets[TOPIC][0]
        tale.tell(f"Spark is stopped; it has committed {committed}; records keep coming")
        assert links.daemon.after_a_round().value("committed_offset", query="orders", partition=0) == committed
        falling_since = time.time()

        def first(what: str, name: str, severity: str):
            labels = {"query": "orders", "topic": TOPIC, "severity": severity}
            return wait_until(lambda: webhook.find(name, **labels), RETENTION + 2 * SEGMENT, what)[0]

        warning = first("the warning", "SparkStreamRetentionRisk", "warning")
        critical = first("the page", "SparkStreamRetentionRisk", "critical")
        muted = {("SparkStreamRetentionRisk", "warning"), ("SparkStreamOutageBudgetTooSmall", "warning")}
        wait_until(lambda: muted <= links.muted(), 60, f"{muted} fire and are muted")
        passed = wait_until(lambda: log_start.passed(committed), RETENTION, "the log start passes")
        tale.tell("the log start has passed the committed offset, says Kafka's admin", passed)
        lost = first("the loss", "SparkStreamDataLost", "critical")
        # What the page asks for. From here on nothing more is lost, and all can be counted.
        broker.alter_config(TOPIC, retention_ms=HOUR_MS)
        tale.tell("the topic's retention is lengthened to an hour")

        safe_until = log_start.safe_until(committed)
        before = f"{safe_until - warning.at:.1f} s (warning) and {safe_until - critical.at:.1f} s (critical)"
        tale.tell(f"the risk was delivered {before} before the log start passed")
        assert warning.at < critical.at < safe_until < lost.at
        told = int(re.match(r"(\d+) offsets of topic", lost.annotations["description"])[1])
        missing = log_start.missing(committed, lost.at)
        tale.tell(f"missing when the loss was delivered: {told} by its text, {sorted(missing)} by Kafka's admin")
        assert told in missing
        falls(links.prometheus, falling_since, passed, tale)
        restarts(broker, spark, config, checkpoint, committed, links.daemon, tale)
    # A query that is stopped is stalled as well. What the risk explains was muted by it; an old batch may have been told
    # before there was a risk.
    names = {one.name for one in webhook.find()} - {"SparkStreamLastBatchOld"}
    assert names == {"SparkStreamRetentionRisk", "SparkStreamDataLost", "SparkStreamStalled"}


def has_just_committed(checkpoint) -> bool:
    """A batch was committed within this second: with five from batch to batch, none is open for some time."""

    def newest(log: str) -> int:
        return max((int(path.name) for path in (checkpoint / log).glob("[0-9]*")), default=-1)

    batch = newest("commits")
    fresh = batch >= 1 and time.time() - (checkpoint / "commits" / str(batch)).stat().st_mtime < 1
    return fresh and newest("offsets") == batch


def falls(prometheus, since: float, passed: float, tale) -> None:
    """The ratio fell all the way, and the deadline was kept, as Prometheus remembers them."""

    def past(metric: str) -> list[float]:
        [series] = prometheus.query(f'brinkwatch_query_topic_{metric}{{query="orders"}}[5m]')
        return [float(value) for at, value in series["values"] if at > since]

    ratios = past("retention_remaining_ratio")
    tale.tell(f"the remaining ratio, every 10 s since the stop: {' '.join(f'{ratio:.2f}' for ratio in ratios[::10])}")
    assert ratios[0] > 0.6 and ratios[-1] == 0 and len(ratios) > RETENTION / 2
    # A better proof may lift it by a little.
    assert all(later <= earlier + 0.04 for earlier, later in zip(ratios, ratios[1:])), ratios
    deadline = max(past("deletion_deadline_timestamp_seconds"))
    tale.tell("the deadline that was proved: so long at least the next unread record would live", deadline)
    assert deadline <= passed


def restarts(broker, spark, config, checkpoint, committed, daemon, tale) -> None:
    """What `check` foretells for both values of failOnDataLoss, and what Spark then does, on the very checkpoint."""
    said = wait_until(lambda: checked_at_rest(config, broker), 30, "check and broker agree on the log start")
    earliest = broker.earliest(TOPIC)[0]
    assert (said["state"], said["lost_offsets"]) == ("lost", earliest - committed)
    strict, lenient = said["restart"], said["restart_otherwise"]
    for one in (strict, lenient):
        value = str(one["fail_on_data_loss"]).lower()
        ranges = ", ".join(f"[{skipped['from']}, {skipped['to']})" for skipped in one["skipped"]) or "nothing"
        what = f"{one['outcome']}, {one['error_class'] or 'no error'}, skips {ranges}: {one['detail']}"
        tale.tell(f"check, failOnDataLoss={value}: {what}")
    assert (strict["fail_on_data_loss"], lenient["fail_on_data_loss"]) == (True, False)
    assert strict["error_class"] == "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"

    failed = spark.run(broker.bootstrap, checkpoint, subscribe=TOPIC)
    tale.tell(f"Spark, failOnDataLoss=true: fails with {failed.data_loss}")
    assert failed.data_loss == strict["error_class"], failed.text

    # The failed start has left a batch open. That changes nothing of what is foretold.
    again = checked(config)
    assert again["partitions"][0]["planned"] > committed
    assert again["restart_otherwise"]["skipped"] == lenient["skipped"]
    went_on = spark.run(broker.bootstrap, checkpoint, subscribe=TOPIC, fail_on_data_loss=False)
    assert not went_on.failed, went_on.text
    start, end = went_on.start_offsets[TOPIC][0], went_on.first_end_offsets[TOPIC][0]
    rows = went_on.batches[0]["numInputRows"]
    tale.tell(f"Spark, failOnDataLoss=false: goes on; its first batch is [{start}, {end}) and has {rows} rows")
    [skipped] = lenient["skipped"]
    assert skipped == {"topic": TOPIC, "partition": 0, "from": start, "to": earliest}
    assert rows == end - skipped["to"]

    metrics = daemon.after_a_round()
    assert metrics.one_hot("query_state", "state", query="orders") in ("behind", "idle")
    total = metrics.value("query_topic_offsets_lost_total", query="orders", certainty="certain")
    tale.tell(f"the query reads on; {total:.0f} offsets are counted as lost for good")
    assert total == earliest - committed


def checked(config) -> dict:
    done = brinkwatch.check("--config", config.write(), "orders")
    assert done.code == 1, done
    return done.json()["queries"][0]


def checked_at_rest(config, broker) -> dict | None:
    """What `check` says once the longer retention is at work."""
    before = broker.earliest(TOPIC)[0]
    said = checked(config)
    [partition] = said["partitions"]
    return said if partition["earliest"] == before == broker.earliest(TOPIC)[0] else None


def test_a_broker_that_dies_while_all_is_well_raises_no_alert_but_the_watchers_own(
    own_broker, spark, chain, webhook, tmp_path, tale
):
    broker = own_broker()
    broker.create_topic(TOPIC, partitions=2, retention_ms=HOUR_MS)
    for partition in (0, 1):
        broker.produce(TOPIC, 20, partition=partition, timestamp_ms=now_ms() - 10 * MINUTE_MS)
    broker.delete_records(TOPIC, {0: 4})
    spark.run(broker.bootstrap, tmp_path / "checkpoint", subscribe=TOPIC)
    config = brinkwatch.Config(tmp_path / "brinkwatch", broker.bootstrap)
    config.query("orders", tmp_path / "checkpoint", expected_batch_interval=f"{INTERVAL}s", max_outage="20m")
    # A client gives up on a silent broker within some rounds of this test.
    config.values["clusters"]["main"]["librdkafka"] = {"socket_timeout_ms": "2000"}
    links = chain(config)
    still = Still(links.daemon)
    tale.tell(f"all is read, {len(still.before)} published values rest")
    with Repeated(0.2, still.look):
        broker.kill()
        tale.tell("the broker is killed")
        unreachable = {"name": "BrinkwatchKafkaUnreachable", "kafka_cluster": "main"}
        wait_until(lambda: webhook.find(**unreachable, severity="warning"), 60, "the watcher's own alert")
        broker.start()
        tale.tell("the broker is back")
        eventually(still.check_back, 60)
        tale.tell(f"all values are as before; {len(still.absent)} of them were absent in between")
        wait_until(lambda: webhook.find(**unreachable, status="resolved"), 90, "the alert is resolved")
    assert not still.broken, "\n".join(sorted(still.broken))
    assert {name for name, _ in still.absent} >= {"brinkwatch_lag_offsets", "brinkwatch_query_topic_lost_offsets"}
    assert {one.name for one in webhook.find()} <= {"BrinkwatchKafkaUnreachable", "BrinkwatchPollStale"}
