"""The three brokers do what the other tests rest on. No brinkwatch here."""

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from .kafka_cluster import PLAIN_USERS
from .tokens import CLIENT, SECRET
from .waiting import wait_until


def topics_seen(cluster, listener: str, **settings) -> set[str]:
    """What a client sees that comes this way; settings are librdkafka's with `_` for `.`."""
    failures = []
    client = AdminClient(
        {
            "bootstrap.servers": cluster.servers(listener),
            "log_level": 0,
            "error_cb": failures.append,
            "ssl.ca.location": str(cluster.authority.certificate),
            **{name.replace("_", "."): str(value) for name, value in settings.items()},
        }
    )
    client.poll(0)
    try:
        return set(client.list_topics(timeout=4).topics)
    except KafkaException as error:
        client.poll(0)
        raise AssertionError(f"{error}: {failures}") from error


def sasl(mechanism: str, user: str, password: str, protocol: str = "SASL_SSL") -> dict:
    return {
        "security_protocol": protocol,
        "sasl_mechanism": mechanism,
        "sasl_username": user,
        "sasl_password": password,
    }


def test_each_way_to_log_in_is_open_and_rights_are_those_of_the_user(cluster, topic):
    cluster.create_topic(topic)
    client = cluster.authority.issue("mara")
    cluster.set_password("anna", "first", "SCRAM-SHA-256")
    cluster.set_password("anna", "second", "SCRAM-SHA-512")
    assert topic in topics_seen(cluster, "PLAINTEXT")
    assert topic in topics_seen(cluster, "TLS", security_protocol="SSL")
    ways = {
        "MTLS": {
            "security_protocol": "SSL",
            "ssl_certificate_location": client.certificate,
            "ssl_key_location": client.key,
        },
        "SASL": sasl("SCRAM-SHA-256", "anna", "first", "SASL_PLAINTEXT"),
        "SASL_TLS": sasl("SCRAM-SHA-512", "anna", "second"),
    }
    for listener, settings in ways.items():
        assert topic not in topics_seen(cluster, listener, **settings), listener
    for user in ("anna", "mara"):
        cluster.grant(user, topic, "DESCRIBE")
    for listener, settings in ways.items():
        wait_until(lambda: topic in topics_seen(cluster, listener, **settings), 20, f"granted by {listener}")
    assert topic in topics_seen(cluster, "SASL_TLS", **sasl("PLAIN", "anna", PLAIN_USERS["anna"]))
    cluster.revoke("anna", topic, "DESCRIBE")
    wait_until(lambda: topic not in topics_seen(cluster, "SASL_TLS", **ways["SASL_TLS"]), 20, "revoked")


def test_a_token_of_ours_is_a_login(cluster, topic):
    cluster.create_topic(topic)
    cluster.grant(CLIENT, topic, "DESCRIBE")
    oidc = {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauthbearer_method": "oidc",
        "sasl_oauthbearer_client_id": CLIENT,
        "sasl_oauthbearer_client_secret": SECRET,
        "sasl_oauthbearer_token_endpoint_url": cluster.tokens.url,
        "https_ca_location": cluster.authority.certificate,
    }
    wait_until(lambda: topic in topics_seen(cluster, "OAUTH", **oidc), 20, "the token is taken")
    assert cluster.tokens.asked


def test_a_wrong_password_and_an_ended_certificate_are_refused(cluster):
    with pytest.raises(AssertionError, match="[Aa]uthentication failed"):
        topics_seen(cluster, "SASL", **sasl("PLAIN", "anna", "wrong", "SASL_PLAINTEXT"))
    with pytest.raises(AssertionError, match="certificate verify failed"):
        topics_seen(cluster, "MISNAMED", security_protocol="SSL")
    tls = {"security_protocol": "SSL"}
    assert topics_seen(cluster, "BRIEF", **tls) is not None
    cluster.show_certificate(-60)

    def refusal() -> str:
        try:
            topics_seen(cluster, "BRIEF", **tls)
        except AssertionError as error:
            return str(error)
        return ""

    # A changed setting reaches each broker a moment later.
    wait_until(lambda: "certificate verify failed" in refusal(), 20, "the ended certificate is shown")
    cluster.show_certificate(3600)


def test_a_client_that_is_connected_to_a_hanging_broker_soon_asks_another_one(cluster):
    node = cluster.nodes[2]
    assert node.topics() is not None
    node.pause()
    try:
        wait_until(lambda: node.topics() is not None, 30, "another broker answers")
    finally:
        node.resume()
    node.wait_ready()


def test_leaders_move_away_from_a_paused_and_a_killed_broker_and_both_come_back(cluster, topic):
    cluster.create_topic(topic, partitions=3)
    cluster.produce(topic, 5)
    first = cluster.leader(topic)
    cluster.nodes[first].pause()
    try:
        wait_until(lambda: cluster.leader(topic) not in (None, first), 60, "another broker leads")
    finally:
        cluster.nodes[first].resume()
    cluster.nodes[first].wait_ready()
    second = cluster.leader(topic)
    cluster.nodes[second].kill()
    wait_until(lambda: cluster.leader(topic) not in (None, second), 60, "another broker leads")
    assert cluster.latest(topic)[0] == 5
    cluster.nodes[second].start()
    assert cluster.latest(topic)[0] == 5
