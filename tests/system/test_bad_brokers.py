"""Brokers that cannot be read: within seconds it is said what is wrong with each."""

import http.server
import re
import socket
import threading
import time

import pytest

from . import brinkwatch
from .brinkwatch import Config, Daemon
from .certificates import Authority
from .ports import free_port
from .test_security import in_file, trust, watch
from .tokens import CLIENT, SECRET
from .waiting import wait_until
from .written import checkpoint

# "Within seconds": of a round that may take thirteen.
SOON = 12


@pytest.fixture
def web_server():
    """An HTTP server where a broker is expected."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    server.RequestHandlerClass.log_message = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def silent_server():
    """Accepts connections and says nothing."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def test_each_way_to_be_wrong_is_told_as_what_it_is(cluster, topic, tmp_path, web_server, silent_server):
    cluster.create_topic(topic)
    cluster.set_password("ute", "right")
    foreign = Authority(tmp_path / "foreign", "somebody else")
    nobody = f"127.0.0.1:{free_port()}"
    scram = {"mechanism": "SCRAM-SHA-512", "username": "ute"}
    oauth = {"mechanism": "OAUTHBEARER", "client_id": CLIENT, "client_secret": SECRET}
    tls, off = trust(cluster), {"enabled": False}
    own = {"certificate_file": str(foreign.issue("ute").certificate), "key_file": str(foreign.folder / "ute.key")}
    # By name: who is asked, how, the reason, and what is said.
    cases = {
        "password": ("SASL", {"tls": off, "sasl": {**scram, "password": "wrong"}}, "denied", "invalid credentials"),
        "mechanism": (
            "OAUTH",
            {"tls": tls, "sasl": {**scram, "password": "right"}},
            "denied",
            "Unsupported SASL mechanism|mechanism.*not",
        ),
        "authority": (
            "TLS",
            {"tls": {"ca_file": str(foreign.certificate)}},
            "unreachable",
            r"certificate of 127\.0\.0\.1:\d+ is signed by none of the trusted authorities; its issuer is CN=tests",
        ),
        "host": ("MISNAMED", {"tls": tls}, "unreachable", r"127\.0\.0\.1:\d+ is for another host: elsewhere\.test"),
        "no_certificate": ("MTLS", {"tls": tls}, "denied", "wants a certificate of ours"),
        "our_certificate": ("MTLS", {"tls": tls | own}, "denied", "refuses our certificate"),
        "web": (web_server, {}, "unreachable", "speaks HTTP"),
        "web_by_tls": (web_server, {"tls": tls}, "unreachable", "does not speak TLS"),
        "tls_spoken_to_in_plain_text": ("TLS", {}, "unreachable", "expects TLS or a login"),
        "plain_text_spoken_to_by_tls": ("PLAINTEXT", {"tls": tls}, "unreachable", "does not speak TLS"),
        "login_missing": ("SASL", {}, "unreachable", "expects TLS or a login"),
        "silent": (silent_server, {}, "timed_out", "says nothing"),
        "silent_by_tls": (silent_server, {"tls": tls}, "timed_out", "says nothing"),
        "closed": (nobody, {}, "unreachable", "Connection refused"),
        "no_such_name": ("no-such-host.invalid:9092", {}, "unreachable", "Failed to resolve .*no-such-host.invalid:9092"),
        "advertised": ("ASTRAY", {}, "unreachable", r"broker \d advertises 127\.0\.0\.1:\d+, which cannot be reached"),
        "token_refused": (
            "OAUTH",
            {"tls": tls, "sasl": oauth | {"token_endpoint": cluster.tokens.url, "client_secret": "wrong"}},
            "denied",
            "401 Unauthorized: invalid_client: client or secret is wrong",
        ),
        "token_unreachable": (
            "OAUTH",
            {"tls": tls, "sasl": oauth | {"token_endpoint": f"https://{nobody}/token"}},
            "unreachable",
            f"the token endpoint https://{nobody}/token cannot be asked",
        ),
    }
    config = Config(tmp_path / "brinkwatch", "", values={"poll_interval": "15s"})
    config.values["clusters"].clear()
    before = (cluster.topics(), cluster.groups())
    for name, (where, tables, _, _) in cases.items():
        if ":" in where:
            config.values["clusters"][name] = {"bootstrap_servers": where, **tables}
            config.query(name, checkpoint(tmp_path / "checkpoints" / name, {topic: {0: 0}}), cluster=name)
        else:
            watch(config, cluster, name, where, topic, **tables)
    daemon = Daemon(config.folder, ["run", "--config", config.write()], config.port)
    try:
        began = time.monotonic()
        wait_until(lambda: daemon.get("/-/healthy").status == 200, SOON, "HTTP is up")

        def told(name: str) -> str:
            pattern = rf"^.*the cluster cannot be read.*kafka_cluster={name} .*$"
            return "\n".join(re.findall(pattern, daemon.log(), re.MULTILINE))

        wrong = []
        for name, (_, _, reason, words) in cases.items():
            wait_until(lambda: told(name), SOON, f"{name} is told")
            if not re.search(words, told(name)) or f"reason={reason} " not in told(name):
                wrong.append(f"{name}: expected {reason}, {words}:\n{told(name)}")
        assert not wrong, "\n".join(wrong)
        assert time.monotonic() - began < SOON
        metrics = daemon.metrics()
        for name, (_, _, reason, _) in cases.items():
            assert metrics.value("cluster_up", kafka_cluster=name) == 0, name
            assert metrics.value("cluster_poll_failures_total", kafka_cluster=name, reason=reason) == 1, name
            assert metrics.one_hot("query_state", "state", query=name) == "unknown", name
            assert not metrics.all("cluster_missing_rights", kafka_cluster=name), "nothing is known of rights"
    finally:
        assert daemon.stop() == 0
    for secret in (SECRET, "right"):
        assert f"={secret}" not in daemon.log()
    assert (cluster.topics(), cluster.groups()) == before


def test_what_the_linked_client_cannot_do_is_refused_before_anything_starts(cluster, topic, tmp_path):
    password = in_file(tmp_path, "password", "x")
    (tmp_path / "broken.pem").write_text("no certificate\n")
    cases = {
        "gssapi": ({"sasl": {"mechanism": "GSSAPI"}}, "this build cannot do GSSAPI; build Brinkwatch with"),
        "property": ({"librdkafka": {"no_such_property": "1"}}, "no.such.property"),
        "value": ({"librdkafka": {"socket_timeout_ms": "soon"}}, "socket.timeout.ms"),
        "certificate": ({"tls": {"ca_file": str(tmp_path / "broken.pem")}}, "ssl.ca.location"),
    }
    for name, (tables, words) in cases.items():
        config = Config(tmp_path / name, "127.0.0.1:1")
        config.values["clusters"]["main"] |= tables
        config.query("q", checkpoint(tmp_path / name / "q", {topic: {0: 0}}))
        for command in (["config", "check"], ["run"]):
            done = brinkwatch.run(*command, "--config", config.write())
            assert done.code == 78, (name, command, done)
            assert "clusters.main" in done.err and words in done.err, (name, command, done.err)
    # A file that is only where the daemon runs is no mistake of the configuration; it ends the daemon's start.
    config = Config(tmp_path / "elsewhere", "127.0.0.1:1")
    sasl = {"mechanism": "PLAIN", "username": "anna", "password_file": f"{password}-elsewhere"}
    config.values["clusters"]["main"] |= {"sasl": sasl}
    config.query("q", checkpoint(tmp_path / "elsewhere" / "q", {topic: {0: 0}}))
    done = brinkwatch.run("config", "check", "--config", config.write())
    assert done.code == 0 and "not tried here: clusters.main.sasl.password" in done.err, done
    done = brinkwatch.run("run", "--config", config.write())
    assert done.code == 78 and "clusters.main.sasl.password" in done.err, done
