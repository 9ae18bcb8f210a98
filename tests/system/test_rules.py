"""Rules as `brinkwatch rules` prints them, held against Prometheus' and Alertmanager's own tools."""

import json
import re
import shutil
from pathlib import Path

import pytest
import tomli_w
import yaml

from . import web
from .alertmanager import amtool
from .brinkwatch import ROOT, run
from .prometheus import promtool
from .waiting import wait_until

RULE_TESTS = ROOT / "tests" / "rules"
HOSTILE = {
    "quotes": 'a "b" \'c\'',
    "backslashes": "a\\b\\\\c\\",
    "braces": "{a}{{ $labels.query }}{{",
    "pattern": "^a.*|b+(c)[d]$",
    "lines": "a\nb\tc\u2028d",
    "yaml": "- a: #b !c &d *e",
    "letters": "bestellungen-größe-注文",
}


def written(
    folder: Path, *, queries: dict | None = None, alerts: dict | None = None, discovery: dict | None = None
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "brinkwatch.toml"
    path.write_text(tomli_w.dumps({
        "alerts": alerts or {},
        "clusters": {"main": {"bootstrap_servers": "127.0.0.1:1"}},
        "queries": {name: {"checkpoint": f"/none/{name}", "cluster": "main", **settings}
                    for name, settings in (queries or {}).items()},
        "discovery": {name: {"location": f"/none/{name}", "name": name + "/{path}", **settings}
                      for name, settings in (discovery or {}).items()},
    }))
    return path


def rules(path: Path, *options: str) -> str:
    done = run("rules", "--config", path, *options)
    assert done.code == 0 and not done.err, done
    return done.out


def lint(folder: Path, text: str) -> None:
    path = folder / "linted.yml"
    path.write_text(text)
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", str(path))
    assert done.returncode == 0, done.stdout + done.stderr


def every_rule(text: str) -> list[dict]:
    """The alerts; recordings apart."""
    return [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"] if "alert" in rule]


def without_texts(text: str) -> str:
    read = yaml.safe_load(text)
    for group in read["groups"]:
        for rule in group["rules"]:
            rule.pop("annotations", None)
    return yaml.safe_dump(read, allow_unicode=True, width=10_000)


def run_rule_test(folder: Path, test: Path, text: str) -> None:
    (folder / "rules.yml").write_text(text)
    shutil.copy(test, folder)
    done = promtool("test", "rules", str(folder / test.name))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def daily(tmp_path) -> Path:
    """What the rule tests are written for: one query with a rhythm of its own, and one discovery of such queries."""
    links = {"runbook_base_url": "https://runbooks.example/", "dashboard_base_url": "https://grafana.example/d/"}
    return written(tmp_path, alerts=links, queries={"payments": {"expected_batch_interval": "24h"}},
                   discovery={"nightly": {"expected_batch_interval": "24h"}})


@pytest.mark.parametrize("test", sorted(RULE_TESTS.glob("*.test.yml")), ids=lambda path: path.name.split(".")[0])
def test_alerts_fire_when_they_should_and_only_then(test, daily, tmp_path):
    text = rules(daily, "--consumer-group-names")
    lint(tmp_path, text)
    run_rule_test(tmp_path, test, text if test.name == "texts.test.yml" else without_texts(text))


def test_every_alert_has_a_rule_test_that_fires_and_one_that_resolves(daily):
    cases = [case for path in RULE_TESTS.glob("*.test.yml")
             for test in yaml.safe_load(path.read_text())["tests"] for case in test.get("alert_rule_test", [])]
    for rule in every_rule(rules(daily)):
        of_this = [case for case in cases if case["alertname"] == rule["alert"]]
        severities = {alert["exp_labels"]["severity"] for case in of_this for alert in case["exp_alerts"]}
        assert rule["labels"]["severity"] in severities, f"{rule['alert']} {rule['labels']} never fires in a test"
        assert any(not case["exp_alerts"] for case in of_this), f"{rule['alert']} is never silent in a test"


def test_every_alert_has_a_rule_test_through_a_failed_scrape(daily):
    """A stale marker, as a failed scrape leaves it, in a test in which the alert fires all the same."""
    survives = set()
    for path in RULE_TESTS.glob("*.test.yml"):
        for test in yaml.safe_load(path.read_text())["tests"]:
            if any("stale" in str(series["values"]).split() for series in test["input_series"]):
                survives |= {case["alertname"] for case in test.get("alert_rule_test", []) if case["exp_alerts"]}
    assert {rule["alert"] for rule in every_rule(rules(daily))} <= survives


def test_names_of_consumer_group_exporters_are_recorded_only_when_asked_for(daily):
    assert "kafka_consumergroup" not in rules(daily)
    assert "record: kafka_consumergroup_group_lag\n" in rules(daily, "--consumer-group-names")


def test_without_any_query_the_rules_are_valid_and_say_so(tmp_path):
    text = rules(written(tmp_path))
    assert "# No query is configured." in text
    lint(tmp_path, text)


def test_equal_configurations_give_equal_files(daily):
    assert rules(daily) == rules(daily)
    assert rules(daily).startswith("# Written by brinkwatch rules, version ")


def test_a_rule_resource_carries_the_same_groups_under_the_asked_name(daily):
    resource = yaml.safe_load(rules(daily, "--format", "prometheusrule", "--name", "spark", "--namespace", "watch",
                                    "--label", "release=prometheus"))
    assert resource["apiVersion"] == "monitoring.coreos.com/v1" and resource["kind"] == "PrometheusRule"
    assert resource["metadata"]["name"] == "spark" and resource["metadata"]["namespace"] == "watch"
    assert resource["metadata"]["labels"]["release"] == "prometheus"
    assert resource["spec"]["groups"] == yaml.safe_load(rules(daily))["groups"]
    texts = [text for group in resource["spec"]["groups"] for rule in group["rules"]
             for text in [*rule.get("annotations", {}).values(), *rule.get("labels", {}).values()]]
    assert all(isinstance(text, str) for text in texts)


@pytest.mark.parametrize("alerts, queries, key", [
    ({"risk_warning": 1.5}, {}, "alerts.risk_warning"),
    ({"risk_critical": -0.1}, {}, "alerts.risk_critical"),
    ({"risk_warning": 0.2, "risk_critical": 0.5}, {}, "alerts.risk_critical"),
    ({"stalled_after": 0}, {}, "alerts.stalled_after"),
    ({"window": "soon"}, {}, "alerts.window"),
    ({}, {"q": {"alerts": {"risk_warning": 0.1}}}, "queries.q.alerts.risk_warning"),
], ids=lambda value: value if isinstance(value, str) else None)
def test_thresholds_that_make_no_sense_are_refused_with_their_key(tmp_path, alerts, queries, key):
    done = run("rules", "--config", written(tmp_path, alerts=alerts, queries=queries))
    assert done.code == 78 and not done.out, done
    assert key in done.err


def hostile_case(kind: str, name: str) -> dict:
    """A query or a topic with an odd name loses data, runs out of retention, and stalls."""
    labels = {"query": name if kind == "query" else "q", "kafka_cluster": "k"}
    topic = {**labels, "topic": name if kind == "topic" else "t"}

    def series(metric: str, of: dict) -> str:
        # PromQL takes JSON's escapes, all but those for what lies beyond 16 bits.
        return f"brinkwatch_{metric}{{{','.join(f'{key}={json.dumps(value)}' for key, value in of.items())}}}"

    def fires(alert: str, of: dict, severity: str) -> dict:
        return {"eval_time": "60m", "alertname": alert, "exp_alerts": [{"exp_labels": {"severity": severity, **of}}]}

    return {
        "interval": "1m",
        "input_series": [
            {"series": series("query_topic_lost_offsets", topic), "values": "7x100"},
            {"series": series("query_topic_retention_remaining_ratio", topic), "values": "0.3x100"},
            {"series": series("query_topic_oldest_unread_timestamp_seconds", topic), "values": "-900000x100"},
            {"series": series("query_unread_since_timestamp_seconds", labels), "values": "0x100"},
        ],
        "alert_rule_test": [
            fires("SparkStreamDataLost", topic, "critical"),
            fires("SparkStreamRetentionRisk", topic, "warning"),
            fires("SparkStreamStalled", labels, "warning"),
        ],
    }


@pytest.mark.parametrize("kind", ["query", "topic"])
@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
def test_rules_parse_and_match_whatever_a_query_or_a_topic_is_called(kind, name, daily, tmp_path):
    text = rules(daily)
    lint(tmp_path, text)
    test = tmp_path / "hostile.yml"
    test.write_text(yaml.safe_dump({"rule_files": ["rules.yml"], "evaluation_interval": "1m",
                                    "tests": [hostile_case(kind, name)]}))
    (tmp_path / "rules.yml").write_text(without_texts(text))
    done = promtool("test", "rules", str(test))
    assert done.returncode == 0, done.stdout + done.stderr


def test_queries_with_thresholds_of_their_own_are_judged_by_them_alone(tmp_path):
    text = rules(written(tmp_path, queries={
        "early-bird": {"alerts": {"risk_warning": 0.9}},
        "night_owl": {"alerts": {"risk_warning": 0.3, "risk_critical": 0.1}},
        "ordinary": {},
    }))
    lint(tmp_path, text)
    topic = {"kafka_cluster": "k", "topic": "t"}
    ratios = {"early-bird": 0.8, "night_owl": 0.4, "ordinary": 0.4}
    series = [(f'brinkwatch_query_topic_retention_remaining_ratio{{query="{query}",kafka_cluster="k",topic="t"}}', ratio)
              for query, ratio in ratios.items()]
    fires = [{"exp_labels": {"severity": "warning", "query": query, **topic}} for query in ("early-bird", "ordinary")]
    test = tmp_path / "own.yml"
    test.write_text(yaml.safe_dump({"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": [{
        "interval": "1m",
        "input_series": [{"series": name, "values": f"{ratio}x20"} for name, ratio in series],
        "alert_rule_test": [{"eval_time": "15m", "alertname": "SparkStreamRetentionRisk", "exp_alerts": fires}],
    }]}))
    (tmp_path / "rules.yml").write_text(without_texts(text))
    done = promtool("test", "rules", str(test))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_daemon_serves_what_the_command_prints(config, serve, prometheus):
    path = config.query("orders", "/none", expected_batch_interval="24h").write()
    daemon = serve(config)
    assert daemon.get("/rules").text == rules(path)
    assert daemon.get("/rules?format=prometheusrule").text == rules(path, "--format", "prometheusrule")
    loaded = prometheus(targets=[f"127.0.0.1:{daemon.port}"], rules=rules(path))
    groups = wait_until(lambda: evaluated(loaded), 60, "every rule was evaluated")
    assert all(rule["health"] == "ok" for group in groups for rule in group["rules"]), groups


def evaluated(prometheus) -> list[dict] | None:
    """The groups that Prometheus has loaded, once each rule was evaluated."""
    groups = web.request(f"{prometheus.url}/api/v1/rules").json()["data"]["groups"]
    return groups if groups and all(rule["health"] != "unknown" for group in groups for rule in group["rules"]) else None


def test_names_of_configured_queries_cannot_be_hostile(tmp_path):
    for name in HOSTILE.values():
        done = run("rules", "--config", written(tmp_path, queries={name: {"expected_batch_interval": "24h"}}))
        assert done.code == 78, f"{name!r}: {done}"


# Alertmanager


def alertmanager_config() -> Path:
    return ROOT / "deploy" / "alertmanager" / "alertmanager.yml"


def test_the_alertmanager_example_is_valid():
    done = amtool("check-config", str(alertmanager_config()))
    assert done.returncode == 0, done.stdout + done.stderr


def test_inhibitions_name_existing_alerts_and_labels_that_both_sides_have(daily):
    """If a label of `equal` is missing on both sides Alertmanager takes it as equal, so one must always be there."""
    alerts = {rule["alert"] for rule in every_rule(rules(daily))}
    inhibitions = yaml.safe_load(alertmanager_config().read_text())["inhibit_rules"]
    assert inhibitions
    never_muted = {"SparkStreamDataLost", "SparkStreamRetentionRisk"}
    for inhibition in inhibitions:
        matchers = {side: [re.fullmatch(r'(\w+)(=~|=)"(.*)"', matcher).groups() for matcher in inhibition[side]]
                    for side in ("source_matchers", "target_matchers")}
        named = {side: {alert for alert in alerts for label, how, wanted in found if label == "alertname"
                        and (re.fullmatch(wanted, alert) if how == "=~" else wanted == alert)}
                 for side, found in matchers.items()}
        for found in matchers.values():
            for label, how, wanted in found:
                assert label in {"alertname", "severity"}, inhibition
                for alternative in alternatives(wanted) if label == "alertname" else []:
                    assert any(re.fullmatch(alternative, alert) for alert in alerts), f"{alternative} is no alert"
        assert inhibition["equal"] and set(inhibition["equal"]) <= {"alertname", "kafka_cluster", "query", "topic"}
        if any(alert.startswith("Brinkwatch") for alert in named["source_matchers"]) and "alertname" not in inhibition["equal"]:
            assert not named["target_matchers"] & never_muted, "a blind watcher must not mute a loss"
        if named["source_matchers"] != alerts:
            assert "SparkStreamDataLost" not in named["target_matchers"], inhibition


def alternatives(pattern: str) -> list[str]:
    """`A(B|C)D|E` as `ABD`, `ACD`, `E`."""
    if group := re.search(r"\(([^()]*)\)", pattern):
        spread = [pattern[:group.start()] + part + pattern[group.end():] for part in group[1].split("|")]
        return [one for part in spread for one in alternatives(part)]
    return pattern.split("|")


# Prometheus


def test_the_prometheus_example_is_valid_with_the_rules_beside_it(tmp_path):
    example = ROOT / "deploy" / "prometheus"
    for file in example.iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "brinkwatch.rules.yml").write_text(rules(written(tmp_path / "config")))
    done = promtool("check", "config", str(tmp_path / "prometheus.yml"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "brinkwatch.rules.yml" in done.stdout, "the example loads no rules"
