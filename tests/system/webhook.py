"""A web server of the tests' own: takes Alertmanager's notifications, and serves pages to be scraped."""

import json
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Notification:
    """One alert as it was delivered."""

    at: float
    status: str
    labels: dict[str, str]
    annotations: dict[str, str]
    starts_at: str
    ends_at: str

    @property
    def name(self) -> str:
        return self.labels["alertname"]


class Webhook:
    """POST to `url` is recorded; GET answers what `pages` holds for the path."""

    def __init__(self):
        self.notifications: list[Notification] = []
        self.pages: dict[str, str] = {}
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer._record(body)
                self.answer(200, "")

            def do_GET(self):
                page = outer.pages.get(self.path)
                self.answer(404 if page is None else 200, page or "")

            def answer(self, status: int, text: str) -> None:
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.address}/hook"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def _record(self, body: dict) -> None:
        now = time.time()
        with self.lock:
            for alert in body["alerts"]:
                self.notifications.append(
                    Notification(
                        now, alert["status"], alert["labels"], alert["annotations"], alert["startsAt"], alert["endsAt"]
                    )
                )

    def find(
        self, name: str | None = None, *, status: str = "firing", since: float = 0, **labels: str
    ) -> list[Notification]:
        """Delivered alerts with this name, status and labels, oldest first; `since` is a Unix time."""
        with self.lock:
            known = list(self.notifications)
        return [
            one
            for one in known
            if name in (None, one.name)
            and one.status == status
            and one.at >= since
            and labels.items() <= one.labels.items()
        ]

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
