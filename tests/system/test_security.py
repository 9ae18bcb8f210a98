"""Every way to log in to a real broker; what is rotated, revoked and granted while we run."""

import pytest

from .brinkwatch import Config, run
from .certificates import PASSWORD
from .kafka_cluster import PLAIN_USERS
from .tokens import CLIENT, SECRET
from .waiting import eventually, wait_until
from .written import checkpoint


@pytest.fixture
def orders(cluster, topic):
    """A topic with ten records, of which a query has read four."""
    cluster.create_topic(topic)
    cluster.produce(topic, 10)
    return topic


def watch(config: Config, cluster, name: str, listener: str, topic: str, **tables) -> None:
    """Adds a cluster, reached in one way, and a query of the same name."""
    config.values["clusters"][name] = {"bootstrap_servers": cluster.servers(listener), **tables}
    place = checkpoint(config.folder / "checkpoints" / name, {topic: {0: 4}})
    config.query(name, place, cluster=name)


def trust(cluster, **more) -> dict:
    return {"ca_file": str(cluster.authority.certificate), **more}


@pytest.fixture
def secured(cluster, tmp_path):
    """A configuration whose clusters each test adds."""
    config = Config(tmp_path / "brinkwatch", "", values={"poll_interval": "3s"})
    config.values["clusters"].clear()
    return config


def in_file(folder, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text + "\n")
    return str(path)


def test_every_way_to_log_in_reads_a_position_and_leaves_no_trace(cluster, orders, secured, serve, tmp_path):
    mara = cluster.authority.issue("mara")
    cluster.set_password("anna", "first", "SCRAM-SHA-256")
    cluster.set_password("anna", "second", "SCRAM-SHA-512")
    for user in ("anna", "mara", CLIENT):
        cluster.grant(user, orders, "DESCRIBE", "DESCRIBE_CONFIGS")
    before = (cluster.topics(), cluster.groups())
    password = {"username": "anna", "password_file": in_file(tmp_path, "512", "second")}
    oauth = {
        "mechanism": "OAUTHBEARER",
        "token_endpoint": cluster.tokens.url,
        "client_id": CLIENT,
        "client_secret_file": in_file(tmp_path, "client", SECRET),
        "scope": "kafka",
    }
    pair = {"certificate_file": str(mara.certificate), "key_file": str(mara.locked_key), "key_password": PASSWORD}
    plain = {"mechanism": "PLAIN", "username": "anna", "password": PLAIN_USERS["anna"]}
    off = {"enabled": False}
    ways = {
        "tls": ("TLS", {"tls": trust(cluster)}),
        "any_host": ("MISNAMED", {"tls": trust(cluster, verify_hostname=False)}),
        "certificate": ("MTLS", {"tls": trust(cluster, **pair)}),
        "plain": ("SASL_TLS", {"tls": trust(cluster), "sasl": plain}),
        "plain_open": ("SASL", {"tls": off, "sasl": plain}),
        "scram_256": (
            "SASL_TLS",
            {
                "tls": trust(cluster),
                "sasl": {"mechanism": "SCRAM-SHA-256", "username": "anna", "password": "first"},
            },
        ),
        "scram_512": ("SASL_TLS", {"tls": trust(cluster), "sasl": {"mechanism": "SCRAM-SHA-512", **password}}),
        "scram_open": ("SASL", {"tls": off, "sasl": {"mechanism": "SCRAM-SHA-512", **password}}),
        "token": ("OAUTH", {"tls": trust(cluster), "sasl": oauth}),
        "passed_through": (
            "TLS",
            {"librdkafka": {"security_protocol": "ssl", "ssl_ca_location": str(cluster.authority.certificate)}},
        ),
    }
    for name, (listener, tables) in ways.items():
        watch(secured, cluster, name, listener, orders, **tables)
    # What is named and does not exist: neither a topic nor a group may come of asking for it.
    absent = f"{orders}-absent"
    secured.query("absent", checkpoint(tmp_path / "absent", {absent: {0: 4}}), cluster="tls")
    cluster.tokens.lifetime = 6
    daemon = serve(secured)

    def all_read():
        metrics = daemon.metrics()
        for name in ways:
            assert metrics.value("cluster_up", kafka_cluster=name) == 1, name
            assert metrics.value("headroom_offsets", query=name, topic=orders, partition=0) == 4, name
            assert metrics.value("lag_offsets", query=name, topic=orders, partition=0) == 6, name
            for right in ("describe", "describe_configs"):
                assert metrics.value("cluster_missing_rights", kafka_cluster=name, right=right) == 0, name

    def failures() -> list:
        return [value for _, value in daemon.metrics().all("cluster_poll_failures_total")]

    eventually(all_read, 40)
    # The first round may be too short for a busy machine; those after it are not.
    failed_before = failures()
    assert {one["scope"] for one in cluster.tokens.asked if "scope" in one} == {"kafka"}
    # Tokens are asked for again before they end; the broker wants a newer one then.
    asked = len(cluster.tokens.asked)
    wait_until(lambda: len(cluster.tokens.asked) >= asked + 3, 40, "three more tokens")
    assert failures() == failed_before
    all_read()
    metrics = daemon.metrics()
    assert metrics.one_hot("query_state", "state", query="absent") == "gone"
    cluster.tokens.lifetime = 3600
    assert (cluster.topics(), cluster.groups()) == before
    for secret in ("second", SECRET, PLAIN_USERS["anna"], PASSWORD):
        assert secret not in daemon.log() and secret not in daemon.get("/config").text


def test_a_password_is_rotated_without_a_restart(cluster, orders, secured, serve, tmp_path):
    cluster.set_password("rosa", "old")
    cluster.grant("rosa", orders, "DESCRIBE", "DESCRIBE_CONFIGS")
    password = tmp_path / "password"
    password.write_text("old")
    sasl = {"mechanism": "SCRAM-SHA-512", "username": "rosa", "password_file": str(password)}
    watch(secured, cluster, "main", "SASL_TLS", orders, tls=trust(cluster), sasl=sasl)
    daemon = serve(secured)

    def is_up(up: int):
        metrics = daemon.metrics()
        assert metrics.value("cluster_up", kafka_cluster="main") == up, daemon.process.tail()
        return metrics

    eventually(lambda: is_up(1))
    cluster.set_password("rosa", "new")
    password.write_text("new")
    wait_until(lambda: "a new client is made" in daemon.log(), 10, "the new password is seen")
    metrics = daemon.after_a_round()
    assert metrics.value("cluster_poll_failures_total", kafka_cluster="main", reason="denied") == 0
    assert metrics.value("lag_offsets", query="main", topic=orders, partition=0) == 6
    # A wrong one is tried as well, and told; so this test can fail.
    password.write_text("wrong")
    eventually(lambda: is_up(0))

    def is_denied() -> None:
        assert daemon.metrics().value("cluster_poll_failures_total", kafka_cluster="main", reason="denied") > 0

    eventually(is_denied)
    metrics = is_up(0)
    assert metrics.one_hot("query_state", "state", query="main") == "unknown"
    assert "Authentication failed" in daemon.log()
    # A file that is away for a moment changes nothing by itself.
    password.unlink()
    wait_until(lambda: "the client stays as it was" in daemon.log(), 10, "the missing file is told")
    password.write_text("new")
    eventually(lambda: is_up(1))
    assert daemon.after_a_round().value("lag_offsets", query="main", topic=orders, partition=0) == 6


def test_each_missing_right_takes_away_what_needs_it_and_comes_back(cluster, topic, secured, serve):
    held, hidden = (cluster.create_topic(f"{topic}-{name}") for name in ("held", "hidden"))
    for one in (held, hidden):
        cluster.produce(one, 10)
    cluster.set_password("otto", "secret")
    cluster.grant("otto", held, "DESCRIBE")
    sasl = {"mechanism": "SCRAM-SHA-512", "username": "otto", "password": "secret"}
    watch(secured, cluster, "main", "SASL", held, tls={"enabled": False}, sasl=sasl)
    secured.query("other", checkpoint(secured.folder / "other", {hidden: {0: 4}}), cluster="main")
    daemon = serve(secured)

    def missing(describe: int, describe_configs: int):
        metrics = daemon.metrics()
        assert metrics.value("cluster_up", kafka_cluster="main") == 1
        found = [
            metrics.value("cluster_missing_rights", kafka_cluster="main", right=right)
            for right in ("describe", "describe_configs")
        ]
        assert found == [describe, describe_configs]
        return metrics

    metrics = eventually(lambda: missing(1, 1))
    # The position is read all the same; only what limits retention is unknown.
    assert metrics.value("lag_offsets", query="main", topic=held, partition=0) == 6
    assert metrics.value("query_topic_retention_seconds", query="main", topic=held) is None
    assert metrics.one_hot("topic_retention_limit", "limit", topic=held) == "unknown"
    assert metrics.one_hot("query_state", "state", query="other") == "unknown"
    assert not metrics.all("lag_offsets", query="other")
    assert f"DESCRIBE_CONFIGS on topic {held} is missing" in daemon.get("/queries/main").text
    assert f"DESCRIBE on topic {hidden} is missing" in daemon.get("/queries/other").text
    daemon.after_a_round()
    told = [line for line in daemon.log().splitlines() if "a right is missing;" in line]
    assert len(told) == 2, told
    assert any(f'DESCRIBE" topics={hidden}' in line or f"right=DESCRIBE topics={hidden}" in line for line in told), told

    cluster.grant("otto", held, "DESCRIBE_CONFIGS")
    cluster.grant("otto", hidden, "DESCRIBE", "DESCRIBE_CONFIGS")
    metrics = eventually(lambda: missing(0, 0))
    metrics = daemon.after_a_round()
    assert metrics.one_hot("topic_retention_limit", "limit", topic=held) == "time"
    assert metrics.value("lag_offsets", query="other", topic=hidden, partition=0) == 6
    assert "is missing" not in daemon.get("/queries/main").text
    assert "a right is missing no more" in daemon.log()

    cluster.revoke("otto", hidden, "DESCRIBE", "DESCRIBE_CONFIGS")
    metrics = eventually(lambda: missing(1, 0))
    assert metrics.value("lag_offsets", query="other", topic=hidden, partition=0) is None
    # Nothing is claimed to be lost or gone for want of a right.
    assert metrics.one_hot("query_state", "state", query="other") == "unknown"
    assert metrics.value("lag_offsets", query="main", topic=held, partition=0) == 6


def test_config_check_live_names_each_missing_right(cluster, topic, secured):
    held, hidden = (cluster.create_topic(f"{topic}-{name}") for name in ("held", "hidden"))
    cluster.set_password("olga", "secret")
    cluster.grant("olga", held, "DESCRIBE")
    sasl = {"mechanism": "SCRAM-SHA-512", "username": "olga", "password": "secret"}
    watch(secured, cluster, "main", "SASL", held, tls={"enabled": False}, sasl=sasl)
    secured.query("other", checkpoint(secured.folder / "other", {hidden: {0: 4}}), cluster="main")
    live = ("config", "check", "--live", "--config", secured.write())
    checked = run(*live)
    assert checked.code == 3, checked
    said = {line.split()[4]: line for line in checked.out.splitlines() if line.startswith("not read")}
    assert set(said) == {held, hidden}, checked.out
    assert "the right DESCRIBE_CONFIGS is missing" in said[held] and "retention_overrides" in said[held]
    assert "the right DESCRIBE is missing" in said[hidden]
    assert "secret" not in checked.out + checked.err

    cluster.grant("olga", held, "DESCRIBE_CONFIGS")
    cluster.grant("olga", hidden, "DESCRIBE", "DESCRIBE_CONFIGS")

    def all_is_well() -> None:
        checked = run(*live)
        assert checked.code == 0 and checked.out.count("keeps its records for 7days") == 2, checked

    eventually(all_is_well)
    sasl["password"] = "wrong"
    secured.write()
    checked = run(*live)
    assert checked.code == 3, checked
    assert "the cluster was not read: denied" in checked.out and "keeps its records" not in checked.out


def short_lived(secured) -> None:
    """Connections are opened anew all the time, as a broker that restarts would make us do."""
    secured.values["poll_interval"] = "3s"
    for one in secured.values["clusters"].values():
        one["librdkafka"] = {"connections_max_idle_ms": "1000"}


def test_a_certificate_that_ends_while_we_run_is_told_and_replaced(cluster, orders, secured, serve):
    cluster.grant("mara", orders, "DESCRIBE", "DESCRIBE_CONFIGS")
    # Long enough for brokers that are asked twice.
    cluster.show_certificate(25)
    ours = cluster.authority.issue("mara", seconds=15, file="ending")
    pair = {"certificate_file": str(ours.certificate), "key_file": str(ours.key)}
    watch(secured, cluster, "ours", "MTLS", orders, tls=trust(cluster, **pair))
    watch(secured, cluster, "theirs", "BRIEF", orders, tls=trust(cluster))
    short_lived(secured)
    daemon = serve(secured)

    def up(name: str, up: int) -> None:
        assert daemon.metrics().value("cluster_up", kafka_cluster=name) == up, name

    for name in ("ours", "theirs"):
        eventually(lambda: up(name, 1), 10)
    for name in ("ours", "theirs"):
        eventually(lambda: up(name, 0), 40)
    eventually(lambda: said(daemon, "our own certificate has expired"))
    for node in cluster.nodes.values():
        if f"the certificate of 127.0.0.1:{node.ports['BRIEF']} has expired" in daemon.log():
            break
    else:
        raise AssertionError(daemon.log())
    cluster.authority.issue("mara", file="newer").copy_to(ours)
    cluster.show_certificate(3600)
    for name in ("ours", "theirs"):
        eventually(lambda: up(name, 1), 30)


def said(daemon, words: str) -> None:
    assert words in daemon.log(), daemon.process.tail(60)
