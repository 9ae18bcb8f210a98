"""An authorization server of the tests' own: signed tokens for client credentials, and the key to check them with."""

import base64
import json
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

from .certificates import Pair, openssl

CLIENT, SECRET, AUDIENCE, ISSUER = "brinkwatch", "client-secret", "kafka", "https://issuer.test"


def unpadded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class TokenServer:
    """Answers POST /token. What it was asked stands in `asked`; the next answers can be made to fail by `status`."""

    def __init__(self, folder: Path, *, certificate: Pair | None = None):
        self.folder = folder
        folder.mkdir(parents=True)
        self.secret = SECRET
        self.lifetime = 3600
        self.subject = CLIENT
        self.status = 200
        self.asked: list[dict[str, str]] = []
        openssl("genrsa", "-out", "signing.key", "2048", folder=folder)
        modulus = openssl("rsa", "-in", "signing.key", "-modulus", "-noout", folder=folder).decode().split("=")[1]
        key = {"kty": "RSA", "kid": "tests", "use": "sig", "alg": "RS256", "e": "AQAB"}
        self.keys = folder / "jwks.json"
        self.keys.write_text(json.dumps({"keys": [{**key, "n": unpadded(bytes.fromhex(modulus.strip()))}]}))
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                form = {name: values[0] for name, values in parse_qs(body).items()}
                status, answer = server.answer(form, self.headers.get("Authorization", ""))
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate.certificate, certificate.key)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        scheme = "https" if certificate else "http"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_address[1]}/token"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, form: dict[str, str], authorization: str) -> tuple[int, dict]:
        self.asked.append(form)
        if self.status != 200:
            return self.status, {"error": "server_error"}
        wanted = "Basic " + base64.b64encode(f"{CLIENT}:{self.secret}".encode()).decode()
        if authorization != wanted:
            return 401, {"error": "invalid_client", "error_description": "client or secret is wrong"}
        if form.get("grant_type") != "client_credentials":
            return 400, {"error": "unsupported_grant_type"}
        return 200, {
            "access_token": self.token(scope=form.get("scope", "")),
            "token_type": "Bearer",
            "expires_in": self.lifetime,
        }

    def token(self, *, scope: str = "") -> str:
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": self.subject, "iat": now, "exp": now + self.lifetime}
        claims |= {"scope": scope} if scope else {}
        parts = [{"alg": "RS256", "kid": "tests", "typ": "JWT"}, claims]
        signed = ".".join(unpadded(json.dumps(part).encode()) for part in parts)
        signature = openssl("dgst", "-sha256", "-sign", "signing.key", folder=self.folder, stdin=signed.encode())
        return f"{signed}.{unpadded(signature)}"

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
