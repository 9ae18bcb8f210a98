"""`brinkwatch demo`: nothing to install, and what it shows really happens."""

import os

import pytest

from .brinkwatch import Metrics, demo
from .ports import is_open
from .typed import commands, programs, typed, verb
from .waiting import eventually, wait_until

# The promise: seen within two minutes of the start.
PROMISED = 120


@pytest.mark.timeout(PROMISED + 120)
def test_a_loss_and_a_risk_are_seen_within_two_minutes(browser, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    # For the demo alone: a browser's sockets do not fit below so long a path.
    with monkeypatch.context() as environment:
        environment.setenv("TMPDIR", str(scratch))
        daemon = demo(tmp_path / "demo")
    try:
        wait_until(lambda: daemon.get("/").status == 200, 10, "the page is there")
        at_risk, lost = set(), set()

        def both_seen() -> Metrics:
            metrics = daemon.metrics()
            for condition, seen in (("at_risk", at_risk), ("lost", lost)):
                seen.update(
                    labels["query"]
                    for labels, value in metrics.all("query_condition", condition=condition)
                    if value == 1
                )
            # Two different ones: the query that runs out of retention may itself lose data in the end.
            assert lost and at_risk and len(lost | at_risk) >= 2, f"lost: {lost}, at risk: {at_risk}"
            return metrics

        metrics = eventually(both_seen, PROMISED)
        for query in lost:
            assert sum(value for _, value in metrics.all("query_topic_lost_offsets", query=query)) > 0
        states = {labels["query"]: labels["state"] for labels, value in metrics.all("query_state") if value == 1}
        assert set(states.values()) & {"idle", "behind"}, f"none is healthy: {states}"
        assert 0.0 in [value for _, value in metrics.all("query_restartable")], "the torn file goes unnoticed"
        # In another terminal, for as long as the demo lasts.
        told = [line for line in commands(daemon.get(f"/queries/{min(lost)}").text) if verb(line) == "check"]
        checked = typed(told[0], tmp_path, programs(tmp_path / "bin"))
        assert checked.returncode in (0, 1) and min(lost) in checked.stdout, checked
        chrome = browser()
        chrome.open(daemon.url)
        text = chrome.text()
        assert all(query in text for query in states)
        assert "lost" in text.lower()
        # As computed in `run`, of a loss: no deadline, no remaining retention.
        worst = [
            labels for query in lost for labels, value in metrics.all("partition_problem", query=query, problem="lost")
        ]
        assert worst
    finally:
        code = daemon.interrupt() if daemon.process.code is None else daemon.process.code
    assert code == 0
    assert os.listdir(scratch) == [], "Ctrl-C leaves nothing behind"
    assert not is_open(daemon.port)
