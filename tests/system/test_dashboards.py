"""Every query of every dashboard, on a real Prometheus that scrapes a real Brinkwatch."""

import json
import re
import time

import pytest

from .brinkwatch import ROOT
from .waiting import wait_until
from .written import checkpoint

DASHBOARDS = sorted((ROOT / "dashboards").glob("*.json"))
PATIENCE = 60

# Panels that show nothing while all is well, each with the reason. Their queries are run all the same.
EMPTY_WHEN_HEALTHY = {
    "Time since the open batch was planned": "no batch is open",
    "Problems of the checkpoint": "the checkpoint has none",
}


def panels(dashboard: dict) -> list[dict]:
    """All but rows; those inside collapsed rows too."""
    found = [inner for panel in dashboard["panels"] for inner in [panel, *panel.get("panels", [])]]
    return [panel for panel in found if panel["type"] != "row"]


def filled_in(expression: str) -> str:
    """With the variables as Grafana fills them in when "All" is chosen."""
    expression = expression.replace("$__rate_interval", "1m")
    expression = re.sub(r'"\$\w+"', '".+"', expression)
    assert "$" not in expression, f"a variable is left in {expression}"
    return expression


def test_the_list_of_empty_panels_names_panels_that_exist():
    titles = {panel["title"] for path in DASHBOARDS for panel in panels(json.loads(path.read_text()))}
    assert EMPTY_WHEN_HEALTHY.keys() <= titles


def check_dashboard(dashboard: dict, prometheus) -> None:
    """Fails on an error and on an empty answer: a misspelt label is no error, it is just never there."""
    for panel in panels(dashboard):
        for target in panel["targets"]:
            expression = filled_in(target["expr"])
            if panel["title"] in EMPTY_WHEN_HEALTHY:
                prometheus.query(expression)
                continue
            wait_until(lambda: prometheus.query(expression), PATIENCE, f"{panel['title']}: {expression} has an answer")
    for variable in dashboard["templating"]["list"]:
        if variable["type"] != "query":
            continue
        selector, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["definition"]).groups()
        found = prometheus.query(filled_in(selector))
        assert found and all(label in series["metric"] for series in found), variable["definition"]


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_every_panel_has_an_answer(path, broker, topic, config, serve, prometheus, tmp_path):
    broker.create_topic(topic)
    broker.produce(topic, 20)
    config.query("orders", checkpoint(tmp_path / "checkpoint", {topic: {0: 5}}, began_at={topic: {0: 0}}, planned_at=time.time()))
    daemon = serve(config)
    check_dashboard(json.loads(path.read_text()), prometheus(targets=[f"127.0.0.1:{daemon.port}"]))
