"""A proxy that harms what passes through it: in front of a store server, for one answer or for all."""

import socket
import threading
import time
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class FaultProxy:
    """Passes requests on to `upstream`, and notes each as (method, path). `fault` says what happens to the answers:
    pass, delay, throttle, fail, reset, truncate, longer, garbage."""

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
                proxy.serve(self)

            do_GET = do_HEAD = handle_one

            def log_message(self, *_) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        self.seen.append((handler.command, handler.path))
        fault = self.fault
        if fault == "delay":
            self.ended.wait(self.delay)
        if fault == "reset":
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            handler.close_connection = True
            handler.connection.close()
            return
        if fault in ("throttle", "fail"):
            self.answer(handler, 503 if fault == "throttle" else 500, b"<Error><Code>Busy</Code></Error>")
            return
        if fault == "garbage":
            self.answer(handler, 200, b"\x00\xff<html>this is no store")
            return
        upstream = HTTPConnection(self.upstream, timeout=30)
        # The signature covers the name of the host, which is this proxy's; nobody checks it.
        upstream.request(handler.command, handler.path, headers=dict(handler.headers))
        response = upstream.getresponse()
        body = response.read()
        upstream.close()
        headers = {name: value for name, value in response.getheaders() if name.lower() not in HOP_BY_HOP}
        if fault == "truncate" and body:
            self.answer(handler, response.status, body[: len(body) // 2], headers, length=len(body))
        elif fault == "longer":
            self.answer(handler, response.status, body, headers, length=len(body) + 10)
        else:
            self.answer(handler, response.status, body, headers)

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
