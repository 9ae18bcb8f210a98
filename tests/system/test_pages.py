"""The pages in a real browser: how they look, what they say, and whether their pictures tell the API's numbers."""

import re
import shlex
import time
from pathlib import Path

import pytest

from .axe import findings
from .brinkwatch import ROOT, Daemon
from .ports import free_port
from .positions import write_checkpoint
from .waiting import wait_until

SCREENSHOTS = ROOT / "target" / "screenshots"
TAB = "\ue004"
PATIENCE = 90

# 640 is 200 % of zoom on a window of 1280.
LOOKS = {
    "light-1280": (1280, False),
    "dark-1280": (1280, True),
    "light-640": (640, False),
    "light-360": (360, False),
    "dark-360": (360, True),
}


def states(daemon) -> dict[str, str]:
    return {one["query"]: one["state"] for one in daemon.get("/api/v1/queries").json()["queries"]}


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demo ten times as fast, when it has something of each tone to show."""
    port = free_port()
    arguments = ["demo", "--speed", "10", "--listen", f"127.0.0.1:{port}"]
    daemon = Daemon(tmp_path_factory.mktemp("demo"), arguments, port)
    try:
        daemon.wait_ready()
        wanted = {"lost", "at_risk", "behind"}
        wait_until(lambda: wanted <= set(states(daemon).values()), PATIENCE, f"the demo shows {wanted}")
        yield daemon
    finally:
        daemon.stop()


def pages(daemon) -> dict[str, str]:
    """The pages to look at: every kind, and a query of each state."""
    queries = {f"query-{state}": f"/queries/{name}" for name, state in states(daemon).items()}
    return {"fleet": "/", "gaps": "/gaps", "missing": "/queries/nobody", "nothing": "/?q=nobody", **queries}


@pytest.mark.parametrize("look", LOOKS)
def test_each_page_can_be_read_by_everybody(look, demo, browser):
    width, dark = LOOKS[look]
    chrome = browser()
    chrome.look(width, dark=dark)
    for page, path in pages(demo).items():
        chrome.open(f"{demo.url}{path}")
        chrome.whole_page(SCREENSHOTS / f"{page}-{look}.png")
        assert chrome.run("return document.documentElement.scrollWidth") <= width, f"{page} scrolls sideways at {width}"
        for fold in ("shut", "open"):
            chrome.run("document.querySelectorAll('details').forEach(one => one.open = arguments[0])", fold == "open")
            found = findings(chrome)
            assert not found, f"{page}, {look}, folds {fold}: {found}"
        complaints = [entry for entry in chrome.console() if "favicon" not in entry["message"] and "404" not in entry["message"]]
        assert not complaints, f"{page}: {complaints}"


def settled(daemon, path: str, chrome, url: str) -> dict:
    """The page is open in the browser, and this is what the API said before and after: of the same round."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        before = daemon.get(path).json()
        chrome.open(url)
        after = daemon.get(path).json()
        if before["clusters"] == after["clusters"]:
            return after["clusters"][0]
    raise TimeoutError(f"no round lasted as long as a look at {url}")


def labels(chrome, selector: str) -> list[str]:
    return chrome.run("return [...document.querySelectorAll(arguments[0])].map(one => one.getAttribute('aria-label'))", selector)


def number(text: str) -> int:
    return int(text.replace(",", "").replace("\u2212", "-"))


@pytest.mark.parametrize("state", ["lost", "at_risk", "behind"])
def test_the_pictures_tell_the_numbers_of_the_api(state, demo, browser):
    chrome = browser()
    name = next(name for name, found in states(demo).items() if found == state)
    said = settled(demo, f"/api/v1/queries/{name}", chrome, f"{demo.url}/queries/{name}")
    assert said["state"].replace("_", " ") in chrome.text().lower()

    drawn = {number(re.match(r"Partition (\d+)", label)[1]): label for label in labels(chrome, "svg.log")}
    for partition in said["partitions"]:
        label = drawn[partition["partition"]]
        for word in ("earliest", "committed", "latest", "planned"):
            told = re.search(rf"{word} ([\d,]+)", label)
            assert (number(told[1]) if told else None) == partition[word], f"{word} of {label}"

    # Read and unread of the longest log have the widths of headroom and lag.
    widths = chrome.run(
        "return [...document.querySelectorAll('svg.log')].map(one => ['read', 'unread', 'gone'].map(kind => {"
        "const part = one.querySelector('.' + kind); return part ? part.getBoundingClientRect().width : 0 }))"
    )
    by_number = dict(zip(drawn, widths, strict=True))
    for partition in said["partitions"]:
        read, unread, gone = by_number[partition["partition"]]
        assert (gone > 0) == (partition["lost_offsets"] > 0), partition
        headroom, lag = max(partition["headroom_offsets"], 0), partition["lag_offsets"]
        if headroom + lag > 0:
            assert abs(read / (read + unread) - headroom / (headroom + lag)) < 0.02, partition

    points = chrome.run("return document.querySelector('.plot path.line').getAttribute('d')")
    known = [point["headroom_offsets"] for point in said["history"] if point["headroom_offsets"] is not None]
    # A lone reading is drawn as a short dash of two points.
    assert len(known) <= len(re.findall("[ML]", points)) <= 2 * len(known)
    rows = chrome.run("return [...document.querySelectorAll('#history tbody tr')].map(row => row.textContent.trim())")
    newest = said["history"][-1]
    for told in (newest["headroom_offsets"], newest["lag_offsets"]):
        shown = "unknown" if told is None else f"{told:,}".replace("-", "\u2212")
        assert shown in rows[-1], f"{newest} in {rows[-1]}"
    scale = chrome.run(
        "const plot = document.querySelector('.plot'), of = (one, name) => parseFloat(one.getAttribute(name));"
        "const levels = [...plot.querySelectorAll(':scope > line.grid[x1=\"0\"], :scope > line.zero')].map(one => of(one, 'y1'));"
        "return [Math.max(...levels), Math.min(...levels), of(plot.querySelector('circle.pt'), 'cy'), "
        "of(plot.querySelector('line.zero'), 'y1')]"
    )
    bottom, top, end, zero = scale
    assert top <= end <= bottom and (end <= zero + 0.1) == (known[-1] >= 0), scale


def test_the_fleet_page_tells_what_the_api_tells(demo, browser):
    chrome = browser()
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        before = demo.get("/api/v1/queries").json()["queries"]
        chrome.open(f"{demo.url}/?refresh=off")
        if demo.get("/api/v1/queries").json()["queries"] == before:
            break
    rows = chrome.run("return [...document.querySelectorAll('.fleet tbody tr')].map(row => row.innerText)")
    assert len(rows) == len(before)
    for query in before:
        row = next(row for row in rows if query["query"] in row)
        assert query["state"].replace("_", " ") in row
        lags = [topic["lag_offsets"] for topic in query["topics"].values()]
        if None not in lags:
            assert f"{sum(lags):,}" in row, f"lag of {query['query']} in {row}"
    worst = {"critical": 0, "warning": 1, "unknown": 2, "good": 3}
    severity = {query["query"]: worst[query["severity"]] for query in before}
    shown = chrome.run("return [...document.querySelectorAll('.fleet .name')].map(one => one.innerText)")
    assert [severity[name] for name in shown] == sorted(severity.values())


def test_everything_can_be_reached_by_keyboard_and_is_seen_to_have_focus(demo, browser):
    chrome = browser()
    chrome.open(f"{demo.url}/?refresh=off")
    wanted = chrome.run("return document.querySelectorAll('a[href], input:not([type=hidden]), select, button, summary').length")
    reached = []
    for _ in range(wanted):
        chrome.press(TAB)
        focus = chrome.run(
            "const one = document.activeElement, style = getComputedStyle(one);"
            "return [one.tagName, one.innerText || one.id || one.name, style.outlineStyle, parseFloat(style.outlineWidth)]"
        )
        assert focus[2] != "none" and focus[3] >= 1, f"focus is not seen on {focus}"
        reached.append(tuple(focus[:2]))
    assert reached[0] == ("A", "Skip to content")
    assert len(reached) == wanted and ("BUTTON", "Filter") in reached


# A folder can have any of these names, and a page shows the folder. Topics and queries have plain names only: neither
# Kafka nor the configuration takes another.
HOSTILE = [
    "<script>document.title='owned'</script>",
    "quote\"s and 'ticks' \\ back & forth",
    "заказы · 注文 · 🛒",
    "</title></style></svg><img src=x onerror=\"document.title='owned'\">",
    "x" * 249,
]


def test_names_of_all_kinds_stay_names_in_a_browser(config, serve, browser, tmp_path):
    longest = "x" * 249
    for place, name in enumerate(HOSTILE):
        config.query(f"query-{place}", write_checkpoint(tmp_path / name, {longest: {0: 5}}))
    config.query("q" * 249, tmp_path / "missing")
    daemon = serve(config)
    chrome = browser()
    chrome.look(360)
    for place, name in [*enumerate(HOSTILE), (None, "missing")]:
        query = "q" * 249 if place is None else f"query-{place}"
        chrome.open(f"{daemon.url}/queries/{query}")
        assert chrome.run("return document.querySelector('h1 .wrap-any').textContent") == query
        assert chrome.run("return document.scripts.length + document.images.length") == 0
        assert "owned" not in chrome.run("return document.title")
        assert chrome.run("return document.documentElement.scrollWidth") <= 360, query
        answer = daemon.get(f"/api/v1/queries/{query}").json()["clusters"][0]
        assert Path(answer["checkpoint"].removeprefix("file://")) == tmp_path / name
        assert answer["checkpoint"] in chrome.run("return [...document.querySelectorAll('dd')].map(one => one.textContent)")
        command = chrome.run("return document.querySelector('.cmd code').textContent")
        assert shlex.split(command)[0] == "brinkwatch", command
    chrome.open(f"{daemon.url}/?refresh=off")
    assert chrome.run("return document.documentElement.scrollWidth") <= 360
    assert not [entry for entry in chrome.console() if "favicon" not in entry["message"]]
