"""A server of HTTPS in front of a server of HTTP, with a certificate of the test's own; and a proxy that leads to it."""

import select
import socket
import ssl
import subprocess
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from .faults import HOP_BY_HOP

# Resolved by nobody: only a proxy can lead there.
HOST = "store.test.invalid"


def certificates(folder: Path) -> tuple[Path, Path]:
    """An authority, and a certificate by it (with its key in the same file)."""
    folder.mkdir(parents=True, exist_ok=True)

    def openssl(*arguments: str) -> None:
        done = subprocess.run(["openssl", *arguments], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    new = ["req", "-newkey", "rsa:2048", "-nodes", "-sha256"]
    openssl(*new, "-x509", "-days", "2", "-subj", "/CN=tests", "-keyout", "ca.key", "-out", "ca.pem")
    openssl(*new, "-subj", f"/CN={HOST}", "-keyout", "server.key", "-out", "server.csr")
    (folder / "names").write_text(f"subjectAltName=DNS:{HOST},IP:127.0.0.1\n")
    openssl(
        "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
        "-sha256", "-extfile", "names", "-out", "server.crt",
    )  # fmt: skip
    (folder / "server.pem").write_text((folder / "server.crt").read_text() + (folder / "server.key").read_text())
    return folder / "ca.pem", folder / "server.pem"


class TlsServer:
    """Passes requests on to `upstream`."""

    def __init__(self, upstream: str, certificate: Path):
        host = urlsplit(upstream).netloc

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self) -> None:
                behind = HTTPConnection(host, timeout=30)
                # By a name the server would take its first word for a bucket.
                kept = {name: value for name, value in self.headers.items() if name.lower() != "host"}
                behind.request(self.command, self.path, headers={**kept, "Host": host})
                answer = behind.getresponse()
                body = answer.read()
                behind.close()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in HOP_BY_HOP:
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_GET = do_HEAD = pass_on

            def log_message(self, *_) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_) -> None:
                # A client that does not trust the certificate hangs up.
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        # The handshake is done by the thread of its connection, so that one client cannot hold up the others.
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Proxy:
    """Leads every CONNECT to one port of this machine, whatever host was asked for, and notes what was."""

    def __init__(self, port: int):
        self.seen: list[str] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_CONNECT(self) -> None:
                proxy.seen.append(self.path)
                with socket.create_connection(("127.0.0.1", port), timeout=30) as behind:
                    self.send_response(200)
                    self.end_headers()
                    both = {self.connection: behind, behind: self.connection}
                    while True:
                        ready, _, _ = select.select(list(both), [], [], 30)
                        for one in ready:
                            data = one.recv(65536)
                            if not data:
                                return
                            both[one].sendall(data)
                        if not ready:
                            return

            def log_message(self, *_) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_) -> None:
                # Either side may hang up at any time.
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
