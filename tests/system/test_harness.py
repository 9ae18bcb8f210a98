"""The real parts do what the other tests rest on. No brinkwatch here."""

import random
import time

from confluent_kafka import Consumer

from . import ports, web
from .kafka import HOUR_MS, MINUTE_MS, now_ms
from .prometheus import promtool
from .spark import killed_in_batch
from .waiting import wait_until

RULES = """
groups:
  - name: harness
    rules:
      - alert: HarnessLag
        expr: max_over_time(harness_lag_seconds[3s]) > 60
        labels: {severity: critical}
        annotations: {summary: "{{ $value }} seconds behind"}
"""


def test_a_port_is_given_once_though_nobody_listens_there_yet(monkeypatch):
    first, draw = ports.free_port(), random.randint
    again = iter([first, first])
    monkeypatch.setattr(ports.random, "randint", lambda low, high: next(again, None) or draw(low, high))
    assert ports.free_port() != first


def test_retention_by_time_moves_the_log_start_to_the_newer_segment(broker, topic):
    broker.create_topic(topic, segment_ms=MINUTE_MS, retention_ms=4 * HOUR_MS)
    broker.produce(topic, 100, timestamp_ms=now_ms() - 50 * MINUTE_MS)
    broker.produce(topic, 20)
    assert broker.earliest(topic) == {0: 0}
    broker.alter_config(topic, retention_ms=30 * MINUTE_MS)
    broker.wait_earliest(topic, 0, 100)
    assert broker.latest(topic) == {0: 120}
    assert broker.get_offsets(topic, "earliest") == {0: 100}


def test_retention_by_size_deletes_whole_segments(broker, topic):
    broker.create_topic(topic, segment_bytes=1_048_576)
    broker.produce(topic, 4500, size=1000)
    broker.alter_config(topic, retention_bytes=1_572_864)
    wait_until(lambda: broker.earliest(topic)[0] > 0, 30, "a segment is deleted")
    assert 0 < broker.earliest(topic)[0] < broker.latest(topic)[0] == 4500


def test_delete_records_moves_the_log_start_at_once(broker, topic):
    broker.create_topic(topic, partitions=2)
    broker.produce(topic, 30)
    broker.delete_records(topic, {0: 12})
    assert broker.earliest(topic) == {0: 12, 1: 0}


def test_a_recreated_topic_has_another_id(broker, topic):
    broker.create_topic(topic)
    old = broker.topic_id(topic)
    broker.recreate_topic(topic, partitions=3)
    assert broker.topic_id(topic) != old
    assert broker.latest(topic) == {0: 0, 1: 0, 2: 0}


def test_a_killed_broker_comes_back_with_its_records(own_broker, topic):
    broker = own_broker(cluster_id="BBBBBBBBBBBBBBBBBBBBBQ")
    broker.create_topic(topic)
    broker.produce(topic, 7)
    broker.kill()
    broker.start()
    assert broker.latest(topic) == {0: 7}
    assert broker.admin.describe_cluster().result().cluster_id == "BBBBBBBBBBBBBBBBBBBBBQ"


def test_a_group_leaves_traces_on_a_fresh_broker(own_broker, topic):
    """So the test that brinkwatch leaves none can fail."""
    broker = own_broker(properties={"auto.create.topics.enable": "true"})
    assert (broker.topics(), broker.groups()) == (set(), set())
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "trace", "allow.auto.create.topics": True})
    try:
        consumer.list_topics(topic, timeout=10)
        consumer.subscribe([topic])

        def traces() -> tuple[set[str], set[str]]:
            consumer.poll(0.2)
            return broker.topics(), broker.groups()

        wait_until(lambda: traces() == ({topic, "__consumer_offsets"}, {"trace"}), 60, "topics and a group appear")
    finally:
        consumer.close()


def test_spark_resumes_where_its_checkpoint_says(broker, spark, topic, tmp_path):
    broker.create_topic(topic, partitions=2)
    for partition in (0, 1):
        broker.produce(topic, 10, partition=partition)
    first = spark.run(broker.bootstrap, tmp_path / "checkpoint", subscribe=topic)
    assert (first.failed, first.rows, first.end_offsets) == (False, 20, {topic: {0: 10, 1: 10}})
    broker.produce(topic, 5)
    again = spark.run(broker.bootstrap, tmp_path / "checkpoint", subscribe=topic)
    assert (again.start_offsets, again.rows) == ({topic: {0: 10, 1: 10}}, 5)


def test_spark_fails_on_aged_out_records_or_skips_them(broker, spark, topic, tmp_path):
    broker.create_topic(topic, segment_ms=MINUTE_MS, retention_ms=4 * HOUR_MS)
    broker.produce(topic, 100, timestamp_ms=now_ms() - 50 * MINUTE_MS)
    checkpoint = tmp_path / "checkpoint"
    stopped = spark.run(broker.bootstrap, checkpoint, subscribe=topic, max_offsets=60, raise_in_batch=1)
    assert "told to fail in batch 1" in stopped.text
    assert (checkpoint / "offsets" / "1").exists() and not (checkpoint / "commits" / "1").exists()
    broker.produce(topic, 20)
    broker.alter_config(topic, retention_ms=30 * MINUTE_MS)
    broker.wait_earliest(topic, 0, 100)

    def restart(fail_on_data_loss: bool):
        return spark.restart_on_copy(
            broker.bootstrap,
            checkpoint,
            subscribe=topic,
            max_offsets=60,
            fail_on_data_loss=fail_on_data_loss,
            copy=tmp_path / str(fail_on_data_loss),
        )

    assert restart(True).data_loss == "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"
    skipped = restart(False)
    assert (skipped.failed, skipped.start_offsets, skipped.rows) == (False, {topic: {0: 60}}, 20)


def test_a_killed_spark_leaves_an_open_batch(broker, topic, tmp_path):
    broker.create_topic(topic)
    broker.produce(topic, 30)
    checkpoint = tmp_path / "checkpoint"
    killed_in_batch(tmp_path / "spark", 1, broker.bootstrap, checkpoint, subscribe=topic, max_offsets=10)
    assert (checkpoint / "offsets" / "1").exists() and not (checkpoint / "commits" / "1").exists()


def test_an_alert_travels_from_a_page_to_the_webhook_and_is_resolved(webhook, prometheus, alertmanager):
    webhook.pages["/metrics"] = "harness_lag_seconds 90\n"
    manager = alertmanager(webhook=webhook.url)
    server = prometheus(targets=[webhook.address], alertmanager=manager.address, rules=RULES)
    wait_until(lambda: server.value("harness_lag_seconds") == 90, 20, "the page is scraped")
    delivered = wait_until(lambda: webhook.find("HarnessLag"), 30, "the alert is delivered")[0]
    assert delivered.labels["severity"] == "critical"
    assert delivered.annotations["summary"] == "90 seconds behind"
    cleared = time.time()
    webhook.pages["/metrics"] = "harness_lag_seconds 0\n"
    wait_until(lambda: webhook.find("HarnessLag", status="resolved", since=cleared), 30, "the alert is resolved")


def test_promtool_speaks_up_about_a_bad_page():
    """So the test that it is silent on ours can fail."""
    assert promtool("check", "metrics", stdin="# HELP bad-name x\n# TYPE bad-name gauge\nbad-name 1\n").returncode != 0
    assert promtool("check", "metrics", stdin="# TYPE some_total gauge\nsome_total 1\n").returncode != 0


def test_the_browser_shows_a_page_and_runs_its_script(webhook, browser, tmp_path):
    chrome = browser()
    chrome.open("data:text/html,<p id=p>before</p><script>p.textContent='after'</script>")
    assert chrome.text() == "after"
    assert chrome.run("return document.body.children.length") == 2
    assert chrome.screenshot(tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
    webhook.pages["/x"] = "plain"
    assert web.request(f"http://{webhook.address}/x").text == "plain"
