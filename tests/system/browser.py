"""A real browser (Chromium), spoken to by WebDriver: the four calls that tests need."""

import base64
import os
from pathlib import Path

from . import web
from .ports import free_port
from .process import Process
from .waiting import wait_until

PATIENCE = 60


class Browser:
    def __init__(self, folder: Path, *, width: int = 1280, height: int = 900, javascript: bool = True):
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.session = None
        self.process = Process(["chromedriver", f"--port={port}"], folder / "chromedriver.log")
        wait_until(self._ready, PATIENCE, "chromedriver is ready")
        arguments = [
            "--headless=new",
            f"--window-size={width},{height}",
            f"--user-data-dir={folder / 'profile'}",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-proxy-server",
        ]
        if os.getuid() == 0:
            # Chromium refuses to build its sandbox as root.
            arguments.append("--no-sandbox")
        options = {"args": arguments}
        if not javascript:
            options["prefs"] = {"profile.managed_default_content_settings.javascript": 2}
        wanted = {
            "alwaysMatch": {
                "browserName": "chrome",
                "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL"},
            }
        }
        opened = self._call("POST", "/session", {"capabilities": wanted})
        self.session = opened["sessionId"]

    def _ready(self) -> bool:
        self.process.check_alive()
        return web.request(f"{self.url}/status").json()["value"]["ready"]

    def open(self, url: str) -> None:
        """Returns when the page has loaded."""
        self._call("POST", "/url", {"url": url})

    def run(self, script: str, *arguments):
        """Runs JavaScript in the page and returns what it `return`s."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script: str, *arguments):
        """Runs JavaScript that calls its last argument when it is done."""
        return self._call("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def text(self) -> str:
        """What a person can read on the page."""
        found = self._call("POST", "/element", {"using": "css selector", "value": "body"})
        return self._call("GET", f"/element/{next(iter(found.values()))}/text")

    def source(self) -> str:
        return self._call("GET", "/source")

    def screenshot(self, path: Path) -> Path:
        path.write_bytes(base64.b64decode(self._call("GET", "/screenshot")))
        return path

    def look(self, width: int, *, dark: bool = False) -> None:
        """The page as wide as this, in the light or the dark. 640 is what 200 % of zoom makes of 1280."""
        scheme = "dark" if dark else "light"
        self._devtools("Emulation.setScrollbarsHidden", hidden=True)
        self._devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False
        )

    def whole_page(self, path: Path) -> Path:
        """A picture of all of the page, also of what lies below the window."""
        size = self._devtools("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        picture = self._devtools("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(picture["data"]))
        return path

    def press(self, key: str) -> None:
        """One key, down and up."""
        keys = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": keys}]})

    def _devtools(self, command: str, **parameters):
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def resize(self, width: int, height: int) -> None:
        self._call("POST", "/window/rect", {"width": width, "height": height})

    def console(self) -> list[dict]:
        """What the page and the browser complained of since the last call."""
        return self._call("POST", "/se/log", {"type": "browser"})

    def stop(self) -> None:
        if self.session:
            self._call("DELETE", "", None)
            self.session = None
        self.process.stop()

    def _call(self, method: str, path: str, body=None):
        base = f"{self.url}/session/{self.session}" if self.session else self.url
        answer = web.request(f"{base}{path}", method=method, body=body, timeout=PATIENCE)
        value = answer.json()["value"]
        if answer.status != 200:
            raise RuntimeError(f"WebDriver {method} {path}: {value}")
        return value
