"""A proxy that harms what passes through it: in front of a store server, for one answer or for all."""

import socket
import threading
import time
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

# Answers that never reach the server behind: status, headers, body.
ANSWERS = {
    "deny": (403, {}, b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"),
    "fail": (500, {}, b"<Error><Code>InternalError</Code></Error>"),
    "throttle": (503, {"Retry-After": "60"}, b"<Error><Code>SlowDown</Code></Error>"),
    "too many": (429, {"Retry-After": "60"}, b""),
    "redirect": (301, {}, b"<Error><Code>PermanentRedirect</Code></Error>"),
    "circle": (307, {"Location": "/around/and/around"}, b""),
    "garbage": (200, {}, b"\x00\xff<html>this is no store"),
}


class FaultProxy:
    """Passes requests on to `upstream`, and notes each as (method, path). `fault` says what happens to the answers:
    pass, delay, reset, truncate, longer, or one of ANSWERS."""

    def __init__(self, upstream: str):
        self.upstream = urlsplit(upstream).netloc
        self.fault = "pass"
        self.delay = 3600.0
        self.seen: list[tuple[str, str]] = []
        self.ended = threading.Event()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self) -> None:
                proxy.seen.append((self.command, self.path))
                proxy.serve(self)

            do_GET = do_HEAD = handle_one

            def log_message(self, *_) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        fault = self.fault
        if fault == "delay":
            self.ended.wait(self.delay)
        if fault == "reset":
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            handler.close_connection = True
            handler.connection.close()
            return
        if fault in ANSWERS:
            status, headers, body = ANSWERS[fault]
            self.answer(handler, status, body, headers)
            return
        status, headers, body = self.fetch(handler, handler.path)
        if fault == "truncate" and body:
            self.answer(handler, status, body[: len(body) // 2], headers, length=len(body))
        elif fault == "longer":
            self.answer(handler, status, body, headers, length=len(body) + 10)
        else:
            self.answer(handler, status, body, headers)

    def fetch(self, handler: BaseHTTPRequestHandler, path: str) -> tuple[int, dict[str, str], bytes]:
        """What the server behind answers."""
        upstream = HTTPConnection(self.upstream, timeout=30)
        # S3's signature covers the name of the host, which was this proxy's; nobody checks it.
        headers = {name: value for name, value in handler.headers.items() if name.lower() != "host"}
        upstream.request(handler.command, path, headers=headers)
        response = upstream.getresponse()
        body = response.read()
        upstream.close()
        headers = {name: value for name, value in response.getheaders() if name.lower() not in HOP_BY_HOP}
        return response.status, headers, body

    def answer(self, handler, status: int, body: bytes, headers: dict | None = None, length: int | None = None) -> None:
        try:
            handler.send_response(status)
            for name, value in (headers or {}).items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(body) if length is None else length))
            handler.end_headers()
            if handler.command != "HEAD":
                handler.wfile.write(body)
            if length is not None:
                handler.wfile.flush()
                handler.close_connection = True
        except OSError:
            # The client has given up.
            handler.close_connection = True

    def requests_during(self, seconds: float) -> list[tuple[str, str]]:
        """What was asked in a stretch of time."""
        before = len(self.seen)
        time.sleep(seconds)
        return self.seen[before:]

    def stop(self) -> None:
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()


HOP_BY_HOP = {"connection", "content-length", "date", "server", "transfer-encoding", "keep-alive"}
