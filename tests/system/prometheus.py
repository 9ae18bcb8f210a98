"""A real Prometheus that scrapes and evaluates every second, and its tool."""

import json
import subprocess
import urllib.parse
from pathlib import Path

from . import web
from .ports import free_port
from .process import Process
from .waiting import wait_until

PATIENCE = 60


class Prometheus:
    def __init__(
        self,
        folder: Path,
        *,
        targets: list[str],
        alertmanager: str | None = None,
        rules: str = "",
        scrape_interval: str = "1s",
        jobs: dict[str, dict] | None = None,
    ):
        """`jobs`: further ways to scrape the same targets, by name."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.alertmanager = alertmanager
        self.address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{self.address}"
        # JSON is YAML.
        self.config = folder / "prometheus.yml"
        self.rules = folder / "rules.yml"
        self.rules.write_text(rules or "groups: []\n")
        settings = {
            "global": {"scrape_interval": scrape_interval, "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(self.rules)],
            "scrape_configs": [
                {"job_name": name, "static_configs": [{"targets": targets}], **how}
                for name, how in (jobs or {"brinkwatch": {}}).items()
            ],
        }
        if alertmanager:
            settings["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [alertmanager]}]}]}
        self.config.write_text(json.dumps(settings, indent=2))
        argv = [
            "prometheus",
            f"--config.file={self.config}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={self.address}",
            "--web.enable-lifecycle",
        ]
        self.process = Process(argv, folder / "prometheus.log")
        wait_until(self._ready, PATIENCE, "Prometheus is ready")

    def _ready(self) -> bool:
        self.process.check_alive()
        return web.request(f"{self.url}/-/ready").status == 200

    def query(self, expression: str) -> list[dict]:
        """An instant query. Each result has `metric` and `value` (time, text)."""
        answer = web.request(f"{self.url}/api/v1/query?{urllib.parse.urlencode({'query': expression})}").json()
        assert answer["status"] == "success", f"{expression}: {answer}"
        return answer["data"]["result"]

    def value(self, expression: str) -> float | None:
        """The one value of an expression, None when it has none."""
        found = self.query(expression)
        assert len(found) <= 1, f"{expression} has {len(found)} series"
        return float(found[0]["value"][1]) if found else None

    def alerts(self) -> list[dict]:
        """Pending and firing alerts."""
        return web.request(f"{self.url}/api/v1/alerts").json()["data"]["alerts"]

    def load_rules(self, text: str) -> None:
        """A reload forgets the Alertmanagers for some seconds. What begins to fire meanwhile is sent to nobody, and again
        only a minute later; so they are waited for."""
        self.rules.write_text(text)
        answer = web.request(f"{self.url}/-/reload", method="POST", body=b"")
        assert answer.status == 200, answer.text
        if self.alertmanager:
            wait_until(self._knows_alertmanager, PATIENCE, "Prometheus has found its Alertmanager")

    def _knows_alertmanager(self) -> bool:
        found = web.request(f"{self.url}/api/v1/alertmanagers").json()["data"]["activeAlertmanagers"]
        return any(self.alertmanager in one["url"] for one in found)

    def stop(self) -> None:
        self.process.stop()


def promtool(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess:
    """Runs `promtool`; the caller looks at the exit code and at both streams."""
    return subprocess.run(
        ["promtool", *arguments], input=stdin, capture_output=True, text=True, timeout=300, check=False
    )
