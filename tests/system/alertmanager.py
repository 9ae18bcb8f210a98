"""A real Alertmanager that delivers at once, and its tool."""

import json
import subprocess
from pathlib import Path

from . import web
from .ports import free_port
from .process import Process
from .waiting import wait_until

PATIENCE = 60


class Alertmanager:
    """Sends everything to one webhook. `inhibit_rules` as in Alertmanager's own configuration."""

    def __init__(
        self, folder: Path, *, webhook: str, inhibit_rules: list[dict] | None = None, group_by: list[str] | None = None
    ):
        folder.mkdir(parents=True, exist_ok=True)
        self.address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{self.address}"
        self.config = folder / "alertmanager.yml"
        self.config.write_text(
            json.dumps(
                {
                    "route": {
                        "receiver": "hook",
                        "group_by": group_by or ["..."],
                        "group_wait": "0s",
                        "group_interval": "1s",
                        "repeat_interval": "1h",
                    },
                    "receivers": [{"name": "hook", "webhook_configs": [{"url": webhook, "send_resolved": True}]}],
                    "inhibit_rules": inhibit_rules or [],
                },
                indent=2,
            )
        )
        # No address for gossip: one instance, no other port.
        argv = [
            "prometheus-alertmanager",
            f"--config.file={self.config}",
            f"--storage.path={folder / 'data'}",
            f"--web.listen-address={self.address}",
            "--cluster.listen-address=",
        ]
        self.process = Process(argv, folder / "alertmanager.log")
        wait_until(self._ready, PATIENCE, "Alertmanager is ready")

    def _ready(self) -> bool:
        self.process.check_alive()
        return web.request(f"{self.url}/-/ready").status == 200

    def alerts(self) -> list[dict]:
        return web.request(f"{self.url}/api/v2/alerts").json()

    def stop(self) -> None:
        self.process.stop()


def amtool(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(["amtool", *arguments], capture_output=True, text=True, timeout=60, check=False)
