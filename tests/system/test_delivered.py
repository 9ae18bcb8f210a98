"""What reaches a person, word for word: six alerts of one fleet, delivered by the real Prometheus and Alertmanager.

One broker, five queries whose checkpoints Spark wrote, one daemon. Rules and routing are those of the product; only their patience
is shorter. Numbers that follow the clock are left out of the comparison.
"""

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import PurePosixPath

import pytest

from . import brinkwatch
from .alertmanager import Alertmanager, deployed
from .brinkwatch import ROOT, Config, Daemon
from .kafka import HOUR_MS, MINUTE_MS, Broker, now_ms
from .prometheus import Prometheus
from .story import hurried_rules
from .waiting import wait_until
from .webhook import Notification, Webhook

PATIENCE = 90
READ = 30
LINKS = {"runbook_base_url": "https://runbooks.example", "dashboard_base_url": "https://grafana.example/d"}
QUERY_DASHBOARD = "https://grafana.example/d/brinkwatch-query?orgId=1&var-kafka_cluster=main&var-query="


@dataclass(frozen=True)
class Told:
    """What one alert has to say. Its labels, but for those that all have."""

    alert: str
    labels: dict[str, str]
    summary: str
    description: str
    dashboard: str


def of_query(alert: str, severity: str, query: str, summary: str, description: str, *, topic: bool = True) -> Told:
    labels = {"severity": severity, "query": query, "kafka_cluster": "main", **({"topic": topic_of(query)} if topic else {})}
    return Told(alert, labels, summary, description, QUERY_DASHBOARD + query)


def topic_of(query: str) -> str:
    return f"{query}-placed"


ALERTS = {
    "retention risk": of_query(
        "SparkStreamRetentionRisk", "critical", "orders",
        "A Spark query is about to lose unread Kafka records.",
        "The oldest record of topic orders-placed on main that query orders has not read has N% of its retention left. At"
        " zero Kafka may delete it. Get the query running, or lengthen the topic's retention now: both help only before the"
        " deletion. For the deadline of each partition: brinkwatch check orders",
    ),
    "loss": of_query(
        "SparkStreamDataLost", "critical", "payments",
        "Kafka deleted records that a Spark query had not read.",
        "3 offsets of topic payments-placed on main were deleted before query payments had committed them. They cannot be"
        " read from Kafka any more. With failOnDataLoss=true the query fails at the missing range, again at each restart;"
        " with false it goes on behind it without them. For the partitions, the ranges and what a restart does:"
        " brinkwatch check payments",
    ),
    "recreated topic": of_query(
        "SparkStreamTopicRecreated", "critical", "clicks",
        "A Kafka topic was deleted and made again under a Spark query.",
        "Topic clicks-placed on main is another topic than the one that query clicks has read. Its offsets mean nothing"
        " there. Spark stores no topic id: once the new topic is long enough, a restart goes on in the middle of it without"
        " any error, and what lies before is never read. Stop the query before you decide: brinkwatch check clicks",
    ),
    "stalled query": of_query(
        "SparkStreamStalled", "warning", "stock",
        "A Spark query has unread records and does not move.",
        "Query stock has had unread records on main for SOME TIME and has committed none. It is stopped, failing at each"
        " start, or stuck in one batch: brinkwatch check stock says which, and how long its data will live.",
        topic=False,
    ),
    "unreadable checkpoint": of_query(
        "SparkStreamCheckpointUnreadable", "warning", "returns",
        "A Spark query's checkpoint cannot be read.",
        "Brinkwatch cannot read the checkpoint of query returns, so it does not see whether the query moves. This is no loss,"
        " but a loss would be seen late. For the reason: brinkwatch check returns, or the label reason of"
        " brinkwatch_checkpoint_poll_failures_total.",
        topic=False,
    ),
    "dead broker": Told(
        "BrinkwatchKafkaUnreachable", {"severity": "warning", "kafka_cluster": "main"},
        "Brinkwatch cannot read a Kafka cluster.",
        "No poll of main works. Lag and headroom of its queries are not known; deadlines that were proved before go on"
        " counting down. For the reason: the label reason of brinkwatch_cluster_poll_failures_total, and Brinkwatch's log.",
        "https://grafana.example/d/brinkwatch-watcher?orgId=1&var-kafka_cluster=main",
    ),
}
QUERIES = [told.labels["query"] for told in ALERTS.values() if "query" in told.labels]
# The other two may come in any order.
NEED_THE_BROKER = {told.alert for told in ALERTS.values()} - {"SparkStreamCheckpointUnreadable", "BrinkwatchKafkaUnreachable"}


@dataclass(frozen=True)
class Delivered:
    """Everything that came to the webhook, and what `check` said of each query while the broker lived."""

    notifications: list[Notification]
    checked: dict[str, dict]
    killed_at: float

    def of(self, told: Told) -> list[Notification]:
        """Labels are compared whole: one more would be another alert, and would route and mute otherwise."""
        labels = {"alertname": told.alert, "job": "brinkwatch", **told.labels}
        return [one for one in self.notifications if one.status == "firing" and one.labels == labels]


@pytest.fixture(scope="module")
def delivered(spark, tmp_path_factory) -> Iterator[Delivered]:
    folder = tmp_path_factory.mktemp("delivered")
    with ExitStack() as stack:

        def kept(part):
            stack.callback(part.stop)
            return part

        broker, hook = kept(Broker(folder / "broker")).start(), kept(Webhook())
        config = watched(broker, spark, folder)
        daemon = kept(Daemon.start(config))
        manager = kept(Alertmanager(folder / "alertmanager", webhook=hook.url, settings=deployed(hook.url)))
        target = f"127.0.0.1:{daemon.port}"
        scraper = kept(Prometheus(folder / "prometheus", targets=[target], alertmanager=manager.address))
        wait_until(lambda: scraper.value("brinkwatch_build_info"), PATIENCE, "the daemon is scraped")
        scraper.load_rules(hurried_rules(config))
        daemon.after_a_round()
        (folder / "returns").rename(folder / "moved-away")
        go_wrong(broker)
        arrive(hook, NEED_THE_BROKER)
        checked = {query: brinkwatch.check("--config", config.write(), query).json()["queries"][0] for query in QUERIES}
        killed_at = time.time()
        broker.kill()
        arrive(hook, {told.alert for told in ALERTS.values()})
        result = Delivered(list(hook.notifications), checked, killed_at)
    yield result


def watched(broker: Broker, spark, folder) -> Config:
    """Spark has read 30 records of each topic, and nothing is unread."""
    config = Config(folder / "brinkwatch", broker.bootstrap)
    config.values["state_dir"] = str(folder / "state")
    config.values["alerts"] = {"window": "5s", "scrape_interval": "1s", **LINKS}
    # A client gives up on a silent broker within some rounds of this test.
    config.values["clusters"]["main"]["librdkafka"] = {"socket_timeout_ms": "2000"}
    running = []
    for query in QUERIES:
        broker.create_topic(topic_of(query), retention_ms=2 * HOUR_MS)
        broker.produce(topic_of(query), READ, timestamp_ms=now_ms() - 110 * MINUTE_MS)
        running.append(spark.start(broker.bootstrap, folder / query, subscribe=topic_of(query)))
        interval = "2s" if query == "stock" else "1h"
        config.query(query, folder / query, expected_batch_interval=interval, max_outage="5m")
    for one in running:
        done = spark.wait(one)
        assert not done.failed, done.text
    return config


def go_wrong(broker: Broker) -> None:
    """Records come that nobody reads: of orders 100 minutes old of 120. Some of payments are deleted; clicks is made anew."""
    broker.produce(topic_of("orders"), 5, timestamp_ms=now_ms() - 100 * MINUTE_MS)
    broker.produce(topic_of("stock"), 5)
    broker.produce(topic_of("payments"), 5)
    broker.delete_records(topic_of("payments"), {0: READ + 3})
    broker.recreate_topic(topic_of("clicks"))
    broker.produce(topic_of("clicks"), READ + 10)


def arrive(hook: Webhook, names: set[str]) -> None:
    def missing() -> set[str]:
        return names - {one.name for one in hook.find()}

    wait_until(lambda: not missing(), PATIENCE, f"all of {names} are delivered")


def without_the_clock(text: str) -> str:
    """Shares of retention and lengths of time differ from run to run."""
    text = re.sub(r"\d+(\.\d+)?% of", "N% of", text)
    return re.sub(r"\bfor (\d+m )?\d+(\.\d+)?s\b", "for SOME TIME", text)


@pytest.mark.parametrize("about", ALERTS, ids=lambda about: about.replace(" ", "-"))
def test_what_reaches_a_person_is_told_in_these_words(about, delivered):
    told = ALERTS[about]
    found = delivered.of(told)
    assert found, [one.labels for one in delivered.notifications]
    assert {**found[0].annotations, "description": without_the_clock(found[0].annotations["description"])} == {
        "summary": told.summary,
        "description": told.description,
        "runbook_url": f"https://runbooks.example/{told.alert}.md",
        "dashboard_url": told.dashboard,
    }
    runbook = ROOT / "deploy" / "runbooks" / PurePosixPath(found[0].annotations["runbook_url"]).name
    assert "## Mitigation" in runbook.read_text()
    dashboards = "".join(path.read_text() for path in (ROOT / "dashboards").glob("*.json"))
    assert f'"uid": "{told.dashboard.split("/d/")[1].split("?")[0]}"' in dashboards


def test_numbers_in_the_texts_are_those_of_the_moment(delivered):
    [risk] = delivered.of(ALERTS["retention risk"])
    share = float(re.search(r"has ([\d.]+)% of its retention left", risk.annotations["description"])[1])
    # 20 of 120 minutes when the records were written.
    assert 14 < share < 16.7
    [stalled] = delivered.of(ALERTS["stalled query"])
    seconds = float(re.search(r"for ([\d.]+)s and has", stalled.annotations["description"])[1])
    assert 6 < seconds < 36


def test_the_command_that_an_alert_names_tells_the_same(delivered):
    states = {query: said["state"] for query, said in delivered.checked.items()}
    assert states == {
        "orders": "at_risk", "payments": "lost", "clicks": "recreated", "stock": "stalled", "returns": "unreadable",
    }
    assert delivered.checked["payments"]["lost_offsets"] == 3


def test_a_dead_broker_makes_one_notification_and_resolves_nothing(delivered):
    after = [one for one in delivered.notifications if one.at >= delivered.killed_at]
    # A stall that goes on becomes a page, and a checkpoint stays unreadable, whoever else is away.
    own = {"SparkStreamStalled", "SparkStreamCheckpointUnreadable"}
    assert [one.name for one in after if one.name not in own] == ["BrinkwatchKafkaUnreachable"], after
    assert not [one.name for one in after if one.status == "resolved"]


def test_nothing_else_is_told(delivered):
    assert {one.name for one in delivered.notifications} == {told.alert for told in ALERTS.values()}
