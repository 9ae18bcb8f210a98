"""Gaps are settled in a real browser by somebody who logged in, and not by another site's form."""

import subprocess

import pytest

from . import web
from .axe import findings
from .brinkwatch import run
from .test_access import hashed
from .waiting import wait_until

PATIENCE = 30
ANNA = {"Authorization": "Basic YW5uYTph"}


@pytest.fixture
def guarded(cases, config, serve, tmp_path):
    config.values["state_dir"] = str(tmp_path / "state")
    config.values["server"] |= {"open_paths": ["/metrics", "/-/ready"], "basic_auth_users": {"anna": hashed("a")}}
    config.query("cleared", cases["cleared"].checkpoint).query("aged", cases["aged_out"].checkpoint)
    daemon = serve(config)
    wait_until(lambda: len(gaps(daemon)) >= 2, PATIENCE, "the gaps are on record")
    return daemon


def gaps(daemon) -> list[dict]:
    return daemon.get("/api/v1/gaps", headers=ANNA).json()["gaps"]


def of(daemon, query: str) -> list[dict]:
    return [gap for gap in gaps(daemon) if gap["stream_name"] == query]


@pytest.mark.parametrize(("page", "query"), [("/gaps", "cleared"), ("/queries/aged", "aged")])
def test_who_logged_in_settles_gaps_and_the_record_carries_the_name(guarded, config, browser, page, query):
    chrome = browser()
    chrome.look(360)
    chrome.open(f"http://anna:a@127.0.0.1:{guarded.port}{page}")
    form = f"document.querySelector('form.settle[aria-label*=\"{query}\"]')"
    chrome.run(f"{form}.closest('details').open = true")
    assert chrome.run("return document.documentElement.scrollWidth") <= 360
    assert not findings(chrome)
    chrome.run(
        f"const form = {form}; form.path.value = 'new_checkpoint'; form.status.value = 'replayed';"
        "form.evidence.value = \"INC-4711 'quoted' & ü\"; form.querySelector('button').click()"
    )
    wait_until(lambda: {gap["recovery_status"] for gap in of(guarded, query)} == {"replayed"}, PATIENCE, "all are settled")
    for gap in of(guarded, query):
        assert gap["recorded_by"] == "anna" and gap["recovery_path"] == "new_checkpoint", gap
        assert gap["evidence"].endswith("; INC-4711 'quoted' & ü"), gap
    wait_until(lambda: chrome.run("return location.pathname + location.search") == f"/gaps?q={query}", PATIENCE, "it went on")
    guarded.after_a_round()
    assert {value for _, value in guarded.metrics().all("query_topic_gaps_unresolved", query=query)} == {0}
    assert "anna" in run("gaps", "list", "--all", "--config", config.write(), "--output", "csv").out


def test_a_form_of_another_site_settles_nothing_though_the_browser_knows_the_password(guarded, browser, tmp_path):
    chrome = browser()
    chrome.open(f"http://anna:a@127.0.0.1:{guarded.port}/gaps")
    assert "open" in chrome.text()
    number = of(guarded, "cleared")[0]["id"]
    # Another host to the browser, which sends anna's password along.
    page = (
        f'<form method="post" action="http://127.0.0.1:{guarded.port}/gaps/settle"><input name="id" value="{number}">'
        '<input name="path" value="accept_gap"><input name="status" value="accepted"><input name="evidence" value="x">'
        "<button>Win</button></form>"
    )
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "index.html").write_text(page)
    other = subprocess.Popen(
        ["python3", "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(tmp_path / "other")],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )
    try:
        port = other.stdout.readline().split("port ")[1].split()[0]
        chrome.open(f"http://localhost:{port}/")
        chrome.run("document.querySelector('button').click()")
        wait_until(lambda: "another site" in chrome.text(), PATIENCE, "it is refused")
    finally:
        other.kill()
        other.wait()
    assert {gap["recovery_status"] for gap in of(guarded, "cleared")} == {"open"}


def test_without_users_the_page_shows_the_command(cases, config, serve, tmp_path):
    config.values["state_dir"] = str(tmp_path / "state")
    config.query("aged", cases["aged_out"].checkpoint)
    daemon = serve(config)
    text = wait_until(lambda: "<span>resolve</span>" in (page := daemon.get("/gaps").text) and page, PATIENCE, "a gap is on record")
    assert "/gaps/settle" not in text and "done with the command" in text
    answer = web.request(f"{daemon.url}/gaps/settle", method="POST", body=b"id=1", headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.status == 403 and "brinkwatch gaps resolve" in answer.text
