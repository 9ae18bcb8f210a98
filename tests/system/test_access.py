"""Who may ask: a real Prometheus and curl over TLS, with passwords, a token and certificates, right and wrong ones."""

import signal
import ssl
import subprocess

import pytest

from . import web
from .brinkwatch import Config, Daemon, run
from .certificates import Authority
from .waiting import wait_until

PATIENCE = 30
HOST = "127.0.0.1"


def hashed(password: str, cost: int = 6) -> str:
    """A bcrypt hash by the C library."""
    salt = f"$2y${cost:02}$abcdefghijklmnopqrstuu"
    done = subprocess.run(["perl", "-e", "print crypt($ARGV[0], $ARGV[1])", password, salt], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(salt[:-1]), done.stdout
    return done.stdout


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path / "ca")


@pytest.fixture
def guarded(tmp_path):
    """A configuration without clusters: the daemon is ready at once. Only that is open."""
    config = Config(tmp_path / "brinkwatch", "nowhere:1")
    config.values |= {"clusters": {}}
    config.values["server"] |= {"open_paths": ["/-/ready"]}
    return config


@pytest.fixture
def serve_tls():
    """Starts daemons that speak TLS: `serve_tls(config, pair, authority, client=…)`; the rest goes into tls_server_config."""
    made = []

    def start(config: Config, pair, authority: Authority, client: tuple = (), **settings) -> Daemon:
        config.values["server"]["tls_server_config"] = {
            "cert_file": str(pair.certificate),
            "key_file": str(pair.key),
            **settings,
        }
        daemon = Daemon(config.folder, ["run", "--config", config.write()], config.port)
        made.append(daemon)
        daemon.url = f"https://{HOST}:{config.port}"
        wait_until(lambda: curl(daemon, authority, "/-/ready", *client) == 200, PATIENCE, "brinkwatch is ready")
        return daemon

    yield start
    for one in made:
        one.stop()
        print(f"--- log of brinkwatch on port {one.port} ---\n{one.process.tail(60)}")


def curl(daemon: Daemon, authority: Authority, path: str, *options) -> int:
    """The status that curl gets; 0 when it gets none. What is trusted is our authority alone."""
    argv = ["curl", "--silent", "--noproxy", "*", "--max-time", "10", "--output", "/dev/null", "--write-out", "%{http_code}"]
    argv += ["--cacert", str(authority.certificate), *map(str, options), f"{daemon.url}{path}"]
    return int(subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False).stdout or 0)


def test_a_real_prometheus_scrapes_by_tls_with_a_password_or_a_token_and_not_without(
    authority, guarded, serve_tls, prometheus, tmp_path
):
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    guarded.values["server"] |= {
        "bearer_token_file": str(token),
        "basic_auth_users": {"prometheus": hashed("pass:wörd", cost=9)},
    }
    daemon = serve_tls(guarded, authority.issue("own", hosts=(HOST,)), authority)
    trusted = {"scheme": "https", "tls_config": {"ca_file": str(authority.certificate)}}

    def password(word: str, user: str = "prometheus") -> dict:
        return {"basic_auth": {"username": user, "password": word}}

    def bearer(word: str) -> dict:
        return {"authorization": {"type": "Bearer", "credentials": word}}

    jobs = {
        "password": (1, {**trusted, **password("pass:wörd")}),
        "token": (1, {**trusted, **bearer("s3cret")}),
        "wrong_password": (0, {**trusted, **password("password")}),
        "wrong_user": (0, {**trusted, **password("pass:wörd", user="anna")}),
        "wrong_token": (0, {**trusted, **bearer("secret")}),
        "nobody": (0, trusted),
        "stranger": (0, {"scheme": "https", **password("pass:wörd")}),
        "plain": (0, password("pass:wörd")),
    }
    server = prometheus(targets=[f"{HOST}:{daemon.port}"], jobs={name: how for name, (_, how) in jobs.items()})
    for name, (expected, _) in jobs.items():
        wait_until(lambda: server.value(f'up{{job="{name}"}}') is not None, PATIENCE, f"{name} was tried")
        wait_until(lambda: server.value(f'up{{job="{name}"}}') == expected, PATIENCE, f"{name} is {expected}")
    wait_until(lambda: server.value('brinkwatch_build_info{job="password"}') == 1, PATIENCE, "it is stored")
    targets = web.request(f"{server.url}/api/v1/targets").json()["data"]["activeTargets"]
    said = {one["labels"]["job"]: one["lastError"] for one in targets}
    assert "401" in said["wrong_password"] and "401" in said["nobody"] and "400" in said["plain"], said
    assert "unknown authority" in said["stranger"], said
    log = daemon.log()
    assert "s3cret" not in log and "wörd" not in log and "$2y$" not in log


def test_curl_gets_what_is_open_and_the_rest_with_the_right_words_only(authority, guarded, serve_tls):
    guarded.values["server"] |= {"open_paths": ["/metrics", "/-/ready"], "basic_auth_users": {"anna": hashed("a")}}
    daemon = serve_tls(guarded, authority.issue("own", hosts=(HOST,)), authority)
    anna = ("--user", "anna:a")
    for path, options, expected in [
        ("/metrics", (), 200),
        ("/", (), 401),
        ("/", anna, 200),
        ("/", ("--user", "anna:b"), 401),
        ("/", ("--user", "bert:a"), 401),
        ("/", ("--oauth2-bearer", "a"), 401),
        ("/config", (), 401),
        ("/config", anna, 200),
        ("/api/v1/queries", (), 401),
        ("/nothing", (), 401),
        ("/nothing", anna, 404),
        ("/", (*anna, "--tls-max", "1.2"), 200),
        ("/", (*anna, "--tls-max", "1.1"), 0),
        ("/metrics", ("--header", f"x: {'x' * 10_000}"), 200),
    ]:
        assert curl(daemon, authority, path, *options) == expected, (path, str(options)[:80])
    # Refused while it still speaks: the answer may be lost with the connection.
    assert curl(daemon, authority, "/metrics", "--header", f"x: {'x' * 120_000}") in (431, 0)
    shown = web.request(f"{daemon.url}/config", headers={"Authorization": "Basic YW5uYTph"}, tls=trusting(authority)).text
    assert "$2y$" not in shown and 'anna = "<secret>"' in shown, shown


def trusting(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(authority.certificate))


def test_only_clients_with_a_certificate_of_the_authority_are_served(authority, guarded, serve_tls, prometheus, tmp_path):
    own, client = authority.issue("own", hosts=(HOST,)), authority.issue("prometheus", hosts=(HOST,))
    stranger = Authority(tmp_path / "other").issue("prometheus", hosts=(HOST,))
    shown = ("--cert", client.certificate, "--key", client.key)
    daemon = serve_tls(guarded, own, authority, client=shown, client_ca_file=str(authority.certificate))
    assert curl(daemon, authority, "/-/ready", *shown) == 200
    assert curl(daemon, authority, "/-/ready") == 0
    assert curl(daemon, authority, "/-/ready", "--cert", stranger.certificate, "--key", stranger.key) == 0

    def job(pair=None) -> dict:
        files = {"cert_file": str(pair.certificate), "key_file": str(pair.key)} if pair else {}
        return {"scheme": "https", "tls_config": {"ca_file": str(authority.certificate), **files}}

    jobs = {"client": job(client), "stranger": job(stranger), "nobody": job()}
    server = prometheus(targets=[f"{HOST}:{daemon.port}"], jobs=jobs)
    for name, expected in {"client": 1, "stranger": 0, "nobody": 0}.items():
        wait_until(lambda: server.value(f'up{{job="{name}"}}') == expected, PATIENCE, f"{name} is {expected}")


def test_renewed_certificates_and_tokens_count_without_a_restart(authority, guarded, serve_tls, prometheus, tmp_path):
    token = tmp_path / "token"
    token.write_text("first")
    guarded.values["server"]["bearer_token_file"] = str(token)
    own, renewed = authority.issue("own", hosts=(HOST,)), authority.issue("own", hosts=(HOST,), file="renewed")
    daemon = serve_tls(guarded, own, authority)
    how = {"scheme": "https", "tls_config": {"ca_file": str(authority.certificate)}, "authorization": {"credentials_file": str(token)}}
    server = prometheus(targets=[f"{HOST}:{daemon.port}"], jobs={"brinkwatch": how})
    wait_until(lambda: server.value("up") == 1, PATIENCE, "the scrape succeeds")

    def shows() -> str:
        return ssl.get_server_certificate((HOST, daemon.port), ca_certs=str(authority.certificate))

    def in_file(pair) -> str:
        text = pair.certificate.read_text()
        return text[text.index("-----BEGIN") :]

    before = in_file(own)
    assert shows().split() == before.split()
    # Half of a renewal: the key is not this certificate's. Nobody is turned away.
    own.certificate.write_text(renewed.certificate.read_text())
    wait_until(lambda: shows() and "files that changed are not used" in daemon.log(), PATIENCE, "the half is told")
    assert shows().split() == before.split()
    renewed.copy_to(own)
    wait_until(lambda: shows().split() == in_file(renewed).split(), PATIENCE, "the new certificate is shown")

    def with_token(word: str) -> int:
        return curl(daemon, authority, "/", "--header", f"Authorization: Bearer {word}")

    assert with_token("first") == 200
    token.write_text("second\n")
    wait_until(lambda: with_token("second") == 200, PATIENCE, "the new token counts")
    assert with_token("first") == 401
    token.write_text("")
    wait_until(lambda: with_token("second") == 200 and "it is empty" in daemon.log(), PATIENCE, "an empty one is told")
    assert with_token("") == 401
    token.write_text("second\n")
    wait_until(lambda: server.value("up") == 1, PATIENCE, "the scrape succeeds")
    assert server.value("count_over_time(up[1m]) - sum_over_time(up[1m])") <= 4


def test_who_may_ask_is_what_the_configuration_says_once_it_is_read_again(authority, guarded, serve_tls):
    def users(password: str, *open_paths: str) -> None:
        guarded.values["server"] |= {"basic_auth_users": {"anna": hashed(password)}, "open_paths": ["/-/ready", *open_paths]}

    def asks(path: str, password: str | None = None) -> int:
        return curl(daemon, authority, path, *(["--user", f"anna:{password}"] if password else []))

    users("old")
    daemon = serve_tls(guarded, authority.issue("own", hosts=(HOST,)), authority)
    assert [asks("/", "old"), asks("/", "new"), asks("/metrics")] == [200, 401, 401]
    users("new", "/metrics")
    guarded.write()
    daemon.process.child.send_signal(signal.SIGHUP)
    wait_until(lambda: asks("/", "new") == 200, PATIENCE, "the new password counts")
    assert [asks("/", "old"), asks("/metrics"), asks("/")] == [401, 200, 401]


def test_a_renewed_authority_of_clients_counts_without_a_restart(authority, guarded, serve_tls, tmp_path):
    other = Authority(tmp_path / "other")
    trusted = tmp_path / "clients.pem"
    trusted.write_text(authority.certificate.read_text())
    known, stranger = authority.issue("known", hosts=(HOST,)), other.issue("stranger", hosts=(HOST,))

    def shows(pair) -> list:
        return ["--cert", pair.certificate, "--key", pair.key]

    daemon = serve_tls(guarded, authority.issue("own", hosts=(HOST,)), authority, shows(known), client_ca_file=str(trusted))
    assert curl(daemon, authority, "/", *shows(stranger)) == 0
    trusted.write_text(other.certificate.read_text())
    wait_until(lambda: curl(daemon, authority, "/", *shows(stranger)) == 200, PATIENCE, "the other authority counts")
    assert curl(daemon, authority, "/", *shows(known)) == 0


def test_a_certificate_that_cannot_be_used_is_told_before_anything_is_served(authority, guarded):
    own, other = authority.issue("own", hosts=(HOST,)), authority.issue("other")
    files = {"cert_file": str(own.certificate), "key_file": str(other.key)}
    guarded.values["server"]["tls_server_config"] = files
    for command in ("config check", "run"):
        done = run(*command.split(), "--config", guarded.write())
        assert done.code == 78 and f"{other.key} cannot be used" in done.err, done
    files["key_file"] = "/nowhere/missing.key"
    assert run("run", "--config", guarded.write()).code == 78
    done = run("config", "check", "--config", guarded.write())
    assert done.code == 0 and "not tried here" in done.err and "missing.key cannot be read" in done.err, done
