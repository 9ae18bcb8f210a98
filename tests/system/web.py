"""Plain HTTP to the loopback address, without any proxy the environment may name."""

import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass

NO_PROXY = urllib.request.ProxyHandler({})
OPENER = urllib.request.build_opener(NO_PROXY)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self):
        return json.loads(self.body)


def request(
    url: str,
    *,
    method: str = "GET",
    body=None,
    headers: dict[str, str] | None = None,
    timeout: float = 10,
    tls: ssl.SSLContext | None = None,
) -> Answer:
    """An answer of any status; only a failed connection raises. A body that is not bytes is sent as JSON."""
    opener = OPENER if tls is None else urllib.request.build_opener(NO_PROXY, urllib.request.HTTPSHandler(context=tls))
    headers = dict(headers or {})
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
        headers.setdefault("Content-Type", "application/json")
    question = urllib.request.Request(url, data=body, headers=headers, method=method)
    try:
        with opener.open(question, timeout=timeout) as answer:
            return Answer(answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read())
    except urllib.error.HTTPError as error:
        return Answer(error.code, {k.lower(): v for k, v in error.headers.items()}, error.read())
