"""The Alertmanager example on the real one: what mutes what, and what is never muted."""

from datetime import UTC, datetime, timedelta

import pytest

from . import web
from .alertmanager import Alertmanager, deployed
from .waiting import wait_until

PATIENCE = 60
TOPIC = {"kafka_cluster": "k", "query": "q", "topic": "t"}
QUERY = {"kafka_cluster": "k", "query": "q"}
CLUSTER = {"kafka_cluster": "k"}
CRITICAL, WARNING = {"severity": "critical"}, {"severity": "warning"}


def spark(name: str, severity: dict, labels: dict = TOPIC) -> dict:
    return {"alertname": f"SparkStream{name}", **severity, **labels}


def own(name: str, severity: dict, labels: dict) -> dict:
    return {"alertname": f"Brinkwatch{name}", **severity, **labels}


LOST, RISK = spark("DataLost", CRITICAL), spark("RetentionRisk", CRITICAL)
MISMATCH = spark("ClusterMismatch", CRITICAL, QUERY)
RECREATED = spark("TopicRecreated", CRITICAL)
DEAD = own("KafkaUnreachable", CRITICAL, CLUSTER)
FORECAST = spark("LossForecast", WARNING)
SHORT = spark("OutageBudgetTooSmall", WARNING)
OLD = spark("LastBatchOld", WARNING)

MUTED = [
    ("critical mutes its own warning", RISK, spark("RetentionRisk", WARNING)),
    ("also where there is no topic", spark("Stalled", CRITICAL, QUERY), spark("Stalled", WARNING, QUERY)),
    ("another cluster explains a topic that was made again", MISMATCH, RECREATED),
    ("and every word on positions", MISMATCH, spark("OffsetBeyondEnd", CRITICAL)),
    ("and a stall", MISMATCH, spark("Stalled", CRITICAL, QUERY)),
    ("a new topic explains offsets beyond its end", RECREATED, spark("OffsetBeyondEnd", CRITICAL)),
    ("and partitions that are gone", RECREATED, spark("PartitionsGone", CRITICAL)),
    ("a loss goes before the risk to the rest", LOST, RISK),
    ("and before its own gap record", LOST, spark("GapUnresolved", WARNING)),
    ("a risk goes before its forecast", RISK, spark("LossForecast", CRITICAL)),
    ("and before a lack of reserve", spark("RetentionRisk", WARNING), SHORT),
    ("a forecast goes before an old batch", FORECAST, OLD),
    ("and before a lack of reserve", FORECAST, SHORT),
    ("what cannot be read is not called stalled", spark("CheckpointUnreadable", WARNING, QUERY), spark("Stalled", CRITICAL, QUERY)),
    ("what cannot start is not called stalled", spark("CheckpointNotRestartable", CRITICAL, QUERY), OLD),
    ("dead brokers explain stale polls", DEAD, own("PollStale", WARNING, CLUSTER)),
    ("and retention that cannot be read", DEAD, spark("RetentionUnknown", WARNING)),
]

HEARD = [
    ("dead brokers never mute a loss", DEAD, LOST),
    ("nor a risk", DEAD, RISK),
    ("nor a forecast", DEAD, FORECAST),
    ("nor a stall", DEAD, spark("Stalled", CRITICAL, QUERY)),
    ("an absent watcher mutes nothing", own("Down", WARNING, {}), LOST),
    ("another cluster mutes no loss that was counted", MISMATCH, LOST),
    ("a new topic mutes no loss that was counted", RECREATED, LOST),
    ("a ticket mutes no page", spark("RetentionRisk", WARNING), spark("LossForecast", CRITICAL)),
    ("one topic's loss does not mute another topic's risk", LOST, {**RISK, "topic": "u"}),
    ("one query's loss does not mute another query's risk", LOST, {**RISK, "query": "r"}),
    ("one cluster's outage does not mute another's", DEAD, own("PollStale", WARNING, {"kafka_cluster": "l"})),
]


@pytest.fixture(scope="module")
def manager(tmp_path_factory):
    # Nobody listens there: what is told of each alert is asked for, not waited for.
    manager = Alertmanager(tmp_path_factory.mktemp("inhibitions"), webhook="", settings=deployed("http://127.0.0.1:9/"))
    yield manager
    manager.stop()


@pytest.fixture(scope="module")
def told(manager) -> dict[str, dict]:
    """Every pair posted at once, each under a cluster's name of its own, and what Alertmanager says of each alert."""
    pairs = MUTED + HEARD
    posted = []
    for number, (_, source, target) in enumerate(pairs):
        for role, alert in (("source", source), ("target", target)):
            named = {key: f"{value}{number}" if key == "kafka_cluster" else value for key, value in alert.items()}
            posted.append({"labels": {**named, "pair": str(number), "role": role}})
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    body = [{**alert, "endsAt": until} for alert in posted]
    answer = web.request(f"{manager.url}/api/v2/alerts", method="POST", body=body)
    assert answer.status == 200, answer

    def settled():
        alerts = manager.alerts()
        inhibited = sum(1 for alert in alerts if alert["status"]["inhibitedBy"])
        return alerts if len(alerts) == len(posted) and inhibited >= len(MUTED) else None

    alerts = wait_until(settled, PATIENCE, "Alertmanager has judged every alert")
    return {f"{alert['labels']['pair']} {alert['labels']['role']}": alert for alert in alerts}


@pytest.mark.parametrize("number", range(len(MUTED)), ids=[about.replace(" ", "-") for about, _, _ in MUTED])
def test_one_story_is_told_once(told, number):
    source, target = told[f"{number} source"], told[f"{number} target"]
    assert target["status"]["inhibitedBy"] == [source["fingerprint"]]
    assert source["status"]["inhibitedBy"] == []


@pytest.mark.parametrize("number", range(len(MUTED), len(MUTED) + len(HEARD)), ids=[about.replace(" ", "-") for about, _, _ in HEARD])
def test_what_matters_is_never_muted(told, number):
    assert told[f"{number} target"]["status"]["inhibitedBy"] == []


def test_dead_brokers_make_one_notification_and_not_one_per_query(tmp_path, webhook):
    manager = Alertmanager(tmp_path, webhook=webhook.url, settings=deployed(webhook.url))
    queries = [spark("RetentionUnknown", WARNING, {**TOPIC, "query": f"q{number}"}) for number in range(20)]
    lost = {**LOST, "query": "q7"}
    alerts = [{**DEAD, **WARNING}, *queries, lost]
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    body = [{"labels": alert, "endsAt": until} for alert in alerts]
    try:
        web.request(f"{manager.url}/api/v2/alerts", method="POST", body=body)
        wait_until(lambda: {told.name for told in webhook.notifications} >= {DEAD["alertname"], LOST["alertname"]}, PATIENCE,
                   "the outage and the loss were told")
        muted = [alert for alert in manager.alerts() if alert["status"]["inhibitedBy"]]
        assert len(muted) == len(queries)
        assert sorted(told.name for told in webhook.notifications) == sorted([DEAD["alertname"], LOST["alertname"]])
    finally:
        manager.stop()
