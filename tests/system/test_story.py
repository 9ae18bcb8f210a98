"""Two stories, told by real Kafka, Spark, Prometheus and Alertmanager: what reaches the person on call, and when.

Rules are what `brinkwatch rules` prints and routing is what `deploy/` shows, with one change to each: a minute of
waiting in a rule is a second here, and no group waits. What is measured, compared and said stays as it is.
"""

import re
import time
from dataclasses import dataclass, field

import pytest

from . import alertmanager as alerting
from . import brinkwatch
from .background import Repeated
from .brinkwatch import Metrics
from .kafka import HOUR_MS, Broker
from .waiting import wait_until
from .webhook import Notification

# Between the critical page and the loss lies a fifth of it, for machines that are busy.
RETENTION = 75
# The log start moves in steps of this length, so a number that was delivered can be held against one of them.
SEGMENT = 8
INTERVAL = 5


class Tale:
    """Tells each step with its time, also when the test passes."""

    def __init__(self, title: str):
        self.began = time.time()
        self.lines = [title]

    def tell(self, what: str, at: float | None = None) -> None:
        self.lines.append(f"  {(at or time.time()) - self.began:6.1f} s  {what}")

    def delivered(self, one: Notification) -> None:
        where = f"{one.labels.get('query', '-')}, {one.labels.get('topic', '-')}"
        self.tell(f"{one.status}: {one.name} {one.labels['severity']} ({where}): {one.annotations['summary']}", one.at)
        self.lines.append(f"            {one.annotations['description']}")


@pytest.fixture
def tale(request, capsys):
    told = Tale(request.node.name.removeprefix("test_").replace("_", " "))
    yield told
    with capsys.disabled():
        print("", *told.lines, sep="\n")


@dataclass
class LogStart:
    """The log start of partition 0 as the broker's own admin answers, with the times before and after each answer."""

    broker: Broker
    topic: str
    seen: list[tuple[float, float, int]] = field(default_factory=list)

    def look(self) -> None:
        asked = time.time()
        earliest = self.broker.earliest(self.topic)[0]
        self.seen.append((asked, time.time(), earliest))

    def safe_until(self, offset: int) -> float:
        """Until this moment at least, the log still held the record at the offset: it was asked for no earlier."""
        return max(asked for asked, _, earliest in self.seen if earliest <= offset)

    def passed(self, offset: int) -> float | None:
        """When an answer first showed that the record was gone."""
        return next((answered for _, answered, earliest in self.seen if earliest > offset), None)

    def missing(self, offset: int, until: float) -> set[int]:
        """What was missing of the records from the offset on, at the times from when some were missing."""
        return {earliest - offset for asked, _, earliest in self.seen if earliest > offset and asked <= until}


def hurried(rules: str) -> str:
    """A minute of `for` and `keep_firing_for` becomes a second: they are fixed, and fit retentions of days."""
    shorter = {"m": "s", "h": "m"}
    pattern = r'^( +(?:for|keep_firing_for): "\d+)([mh])"$'
    hurried, count = re.subn(pattern, lambda found: f'{found[1]}{shorter[found[2]]}"', rules, flags=re.MULTILINE)
    assert count == rules.count("for: "), "a duration of another form"
    return hurried


@pytest.fixture
def watched(serve, prometheus, alertmanager, webhook):
    """Starts the whole chain for a configuration: `watched(config)` gives the daemon and its Prometheus."""

    def start(config):
        config.values["alerts"] = {"window": "5s", "scrape_interval": "1s"}
        rules = brinkwatch.run("rules", "--config", config.write())
        assert rules.code == 0, rules
        manager = alertmanager(webhook=webhook.url, settings=alerting.deployed(webhook.url))
        daemon = serve(config)
        scraper = prometheus(
            targets=[f"127.0.0.1:{daemon.port}"], alertmanager=manager.address, rules=hurried(rules.out)
        )
        wait_until(lambda: scraper.value("brinkwatch_build_info"), 30, "the daemon is scraped")
        return daemon, scraper

    return start


def idle_between_batches(checkpoint) -> bool:
    """A batch was committed within this second: with five from batch to batch, none is open for some time."""

    def newest(log: str) -> int:
        return max((int(path.name) for path in (checkpoint / log).glob("[0-9]*")), default=-1)

    batch = newest("commits")
    fresh = batch >= 2 and time.time() - (checkpoint / "commits" / str(batch)).stat().st_mtime < 1
    return fresh and newest("offsets") == batch


def delivered(webhook, tale, what: str, timeout: float, name: str, **labels) -> Notification:
    one = wait_until(lambda: webhook.find(name, **labels), timeout, what)[0]
    tale.delivered(one)
    return one


def checked(config) -> dict:
    done = brinkwatch.check("--config", config.write(), "orders")
    assert done.code == 1, done.err
    return done.json()["queries"][0]


def test_the_page_comes_before_the_loss_and_then_says_how_much_is_gone(
    broker, spark, config, watched, webhook, topic, tmp_path, tale
):
    checkpoint = tmp_path / "checkpoint"
    broker.create_topic(topic, retention_ms=RETENTION * 1000, segment_ms=SEGMENT * 1000)
    config.values["clusters"]["main"]["clock_skew"] = "1s"
    config.query("orders", checkpoint, expected_batch_interval=f"{INTERVAL}s", max_outage="20s")
    log_start = LogStart(broker, topic)
    with Repeated(0.25, lambda: broker.produce(topic, 5)), Repeated(0.2, log_start.look):
        running = spark.start(
            broker.bootstrap, checkpoint, subscribe=topic, trigger={"processingTime": f"{INTERVAL} seconds"}
        )
        wait_until(lambda: (checkpoint / "commits" / "0").exists(), 60, "Spark has committed a batch")
        daemon, scraper = watched(config)
        wait_until(lambda: idle_between_batches(checkpoint), 60, "Spark has just committed a batch")
        stopped = spark.stop_query(running)
        committed = stopped.end_offsets[topic][0]
        tale.tell(f"Spark is stopped; it has committed {committed}; records keep coming")
        assert daemon.after_a_round().value("committed_offset", query="orders", partition=0) == committed
        falling_since = time.time()

        def ratio() -> float | None:
            return daemon.metrics().value("query_topic_retention_remaining_ratio", query="orders")

        assert ratio() > 0.5
        risk = {"name": "SparkStreamRetentionRisk", "query": "orders", "topic": topic}
        warning = delivered(webhook, tale, "the warning", RETENTION, **risk, severity="warning")
        tale.tell(f"the remaining ratio is {ratio():.2f}")
        critical = delivered(webhook, tale, "the page", RETENTION, **risk, severity="critical")
        tale.tell(f"the remaining ratio is {ratio():.2f}")

        passed = wait_until(lambda: log_start.passed(committed), RETENTION + 2 * SEGMENT, "the log start passes")
        tale.tell("Kafka's admin: the log start has passed the committed offset", passed)
        lost = delivered(webhook, tale, "the loss", 30, "SparkStreamDataLost", query="orders", topic=topic)
        # What the page asks for. From here on nothing more is lost, and all can be counted.
        broker.alter_config(topic, retention_ms=HOUR_MS)
        tale.tell("the topic's retention is lengthened to an hour")

        safe_until = log_start.safe_until(committed)
        tale.tell(f"the page came {safe_until - critical.at:.1f} s before the loss, the warning {safe_until - warning.at:.1f} s")
        assert warning.at < critical.at < safe_until < lost.at
        told = int(re.match(r"(\d+) offsets of topic", lost.annotations["description"])[1])
        missing = log_start.missing(committed, lost.at)
        tale.tell(f"told missing: {told}; by Kafka's admin: {sorted(missing)}")
        assert told in missing
        deadline = scraper.value('max_over_time(brinkwatch_query_topic_deletion_deadline_timestamp_seconds{query="orders"}[3m])')
        tale.tell("the deadline that was proved; the record lived at least so long", deadline)
        assert deadline <= passed
        falls(scraper, falling_since, tale)

        restarts(broker, spark, config, topic, checkpoint, committed, daemon, tale)
    others = {one.name for one in webhook.find()} - {"SparkStreamRetentionRisk", "SparkStreamDataLost"}
    # A query that is stopped is stalled. What the risk explains (the outage budget) is muted by it.
    assert others <= {"SparkStreamStalled"}, others


def falls(scraper, since: float, tale) -> None:
    """The ratio fell all the way, as Prometheus has it; only a better proof may lift it by a little."""
    [series] = scraper.query('brinkwatch_query_topic_retention_remaining_ratio{query="orders"}[3m]')
    fall = [float(value) for at, value in series["values"] if at > since]
    tale.tell(f"the ratio, every 10 s: {' '.join(f'{value:.2f}' for value in fall[::10])}")
    assert len(fall) > RETENTION / 2 and fall[-1] == 0
    assert all(later <= earlier + 0.02 for earlier, later in zip(fall, fall[1:])), fall


def restarts(broker, spark, config, topic, checkpoint, committed, daemon, tale) -> None:
    """What `check` foretells for both values of failOnDataLoss, and what Spark then does, on the very checkpoint."""
    said = wait_until(lambda: counted(config, broker, topic), 30, "check and broker agree on the log start")
    earliest = broker.earliest(topic)[0]
    assert said["state"] == "lost" and said["lost_offsets"] == earliest - committed
    strict, lenient = said["restart"], said["restart_otherwise"]
    tale.tell(f"check, failOnDataLoss=true: {strict['outcome']}, {strict['error_class']}: {strict['detail']}")
    tale.tell(f"check, failOnDataLoss=false: {lenient['outcome']}, skipped {lenient['skipped']}")
    assert (strict["fail_on_data_loss"], lenient["fail_on_data_loss"]) == (True, False)
    assert strict["error_class"] == "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"

    failed = spark.run(broker.bootstrap, checkpoint, subscribe=topic)
    tale.tell(f"Spark, failOnDataLoss=true: failed with {failed.data_loss}")
    assert failed.data_loss == strict["error_class"], failed.text

    # The failed start has left a batch open. It must change nothing in what is foretold.
    assert checked(config)["restart_otherwise"]["skipped"] == lenient["skipped"]
    went_on = spark.run(broker.bootstrap, checkpoint, subscribe=topic, fail_on_data_loss=False)
    assert not went_on.failed, went_on.text
    first = went_on.batches[0]
    start, end = went_on.start_offsets[topic][0], went_on.first_end_offsets[topic][0]
    rows = first["numInputRows"]
    tale.tell(f"Spark, failOnDataLoss=false: first batch from {start} to {end} has {rows} rows: {end - start - rows} skipped")
    [skipped] = lenient["skipped"]
    assert skipped == {"topic": topic, "partition": 0, "from": start, "to": earliest}
    assert rows == end - skipped["to"]

    metrics = daemon.after_a_round()
    assert metrics.one_hot("query_state", "state", query="orders") in ("behind", "idle")
    total = metrics.value("query_topic_offsets_lost_total", query="orders", certainty="certain")
    tale.tell(f"the query reads on; counted as lost for good: {total:.0f}")
    assert total == earliest - committed


def counted(config, broker, topic) -> dict | None:
    """What `check` says once retention has come to rest."""
    before = broker.earliest(topic)[0]
    said = checked(config)
    [partition] = said["partitions"]
    return said if partition["earliest"] == before == broker.earliest(topic)[0] else None
