"""What is served: the exposition as Prometheus and promtool see it, and the pages as a browser shows them."""

import gzip
import re

import pytest

from .cases import MAKERS
from .prometheus import promtool
from .waiting import wait_until


def test_promtool_has_nothing_to_say_about_a_real_scrape(fleet):
    done = promtool("check", "metrics", stdin=fleet.scrape())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_exposition_is_text_0_0_4_and_the_same_when_compressed(fleet):
    plain = fleet.get("/metrics")
    assert plain.headers["content-type"].startswith("text/plain; version=0.0.4")
    packed = fleet.get("/metrics", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"

    def families(text: str) -> list[str]:
        return [line for line in text.splitlines() if line.startswith("# TYPE")]

    assert families(gzip.decompress(packed.body).decode()) == families(plain.text)


def test_prometheus_scrapes_what_is_published(fleet, prometheus):
    server = prometheus(targets=[f"127.0.0.1:{fleet.port}"])
    wait_until(lambda: server.value("up") == 1, 20, "the scrape succeeds")
    lost = 'brinkwatch_query_topic_lost_offsets{query="cleared"}'
    wait_until(lambda: server.value(lost) == 5, 20, "the loss is stored")
    assert server.value('brinkwatch_checkpoint_up{query="missing"}') == 0
    assert server.value("scrape_samples_scraped") > 500


def test_no_value_is_nan_and_none_is_infinite_but_limits(fleet):
    limits = ("retention_seconds", "retention_bytes", "deadline_timestamp_seconds", "projected_loss_timestamp_seconds")
    for name, series in fleet.metrics().series.items():
        for labels, value in series:
            assert value == value, f"{name}{labels} is NaN"
            finite = value not in (float("inf"), float("-inf"))
            assert finite or value > 0 and (name.endswith(limits) or labels.get("le") == "+Inf"), f"{name}{labels}"


def test_the_fleet_page_shows_the_worst_first_with_and_without_javascript(fleet, browser):
    for javascript in (True, False):
        chrome = browser(javascript=javascript)
        chrome.open(f"{fleet.url}/")
        text = chrome.text()
        for name in [*MAKERS, "missing"]:
            assert name in text, f"{name} is not on the page (JavaScript: {javascript})"
        order = re.findall(r'href="/?queries/(\w+)"', chrome.source())
        assert order.index("aged_out") < order.index("healthy") < order.index("idle")
        complaints = [entry for entry in chrome.console() if "favicon" not in entry["message"]]
        assert not complaints


def test_a_query_page_names_its_numbers(fleet, browser, cases):
    chrome = browser()
    chrome.open(f"{fleet.url}/queries/cleared")
    text = chrome.text()
    assert cases["cleared"].topic in text
    assert "lost" in text.lower() and "5" in text


def test_no_page_loads_anything_from_another_host(fleet, browser):
    chrome = browser()
    for path in ("/", "/queries/healthy"):
        chrome.open(f"{fleet.url}{path}")
        loaded = chrome.run("return performance.getEntriesByType('resource').map(entry => entry.name)")
        assert all(address.startswith((fleet.url, "data:")) for address in loaded), loaded


@pytest.mark.parametrize("path", ["/-/healthy", "/-/ready"])
def test_health_answers_get_and_head(fleet, path):
    assert fleet.get(path).status == 200
    assert fleet.get(path, method="HEAD").status == 200


def test_unknown_paths_and_queries_are_not_found(fleet):
    assert fleet.get("/nowhere").status == 404
    assert fleet.get("/queries/nobody").status == 404


def test_the_configuration_in_effect_is_shown(cases, config, serve):
    config.query("q", cases["healthy"].checkpoint)
    shown = serve(config).get("/config")
    assert shown.status == 200
    assert config.bootstrap in shown.text and str(cases["healthy"].checkpoint) in shown.text
