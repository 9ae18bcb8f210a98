"""The daemon, built with `--features gssapi`, against a real broker and a real KDC."""

import re
import shutil
import socket
import time

import pytest

from .. import brinkwatch
from ..brinkwatch import Config
from ..logged_in import SOON, failures, judged, logging_in, ten_records
from ..ports import free_port
from ..rights import LoginBroker
from ..waiting import eventually, wait_until
from ..written import checkpoint
from .kdc import REALM, Kdc

MODULE = "com.sun.security.auth.module.Krb5LoginModule"


@pytest.fixture(scope="session")
def kdc(tmp_path_factory):
    made = Kdc(tmp_path_factory.mktemp("kerberos") / "kdc")
    try:
        yield made.start()
    finally:
        made.stop()


@pytest.fixture(scope="session")
def broker(kdc, tmp_path_factory):
    kdc.add("kafka/127.0.0.1")
    keytab = kdc.keytab("kafka/127.0.0.1", kdc.folder / "kafka.keytab")
    jaas = f'{MODULE} required useKeyTab=true storeKey=true serviceName="kafka" keyTab="{keytab}" principal="kafka/127.0.0.1@{REALM}";'
    made = LoginBroker(
        tmp_path_factory.mktemp("broker"),
        protocol="SASL_PLAINTEXT",
        mechanism="GSSAPI",
        # A connection lives no longer without a new login, whatever the ticket says.
        properties={"sasl.jaas.config": jaas, "connections.max.reauth.ms": "5000"},
        jvm=[f"-Djava.security.krb5.conf={kdc.krb5}"],
    )
    try:
        yield made.start()
    finally:
        made.stop()


@pytest.fixture
def orders(broker, topic):
    """A topic with ten records, of which a query has read four."""
    return ten_records(broker, topic)


@pytest.fixture
def cache(tmp_path):
    """Tickets of one test: they are the process's, whatever the cluster."""
    return {"KRB5CCNAME": f"FILE:{tmp_path}/tickets"}


def by_kinit(keytab, principal: str) -> dict:
    return {"sasl_kerberos_keytab": str(keytab), "sasl_kerberos_principal": principal}


# Without kinit: the library itself looks into the keytab that a variable names.
BY_VARIABLE = {"sasl_kerberos_min_time_before_relogin": "0"}


def variables(keytab) -> dict[str, str]:
    return {"KRB5_CLIENT_KTNAME": str(keytab), "KRB5CCNAME": "MEMORY:brinkwatch", "PATH": "/nowhere"}


def by_kerberos(folder, broker, topic: str, librdkafka: dict) -> Config:
    return logging_in(folder, broker, topic, sasl={"mechanism": "GSSAPI"}, librdkafka=librdkafka)


@pytest.mark.parametrize("way", ["kinit", "variable"])
def test_a_keytab_logs_in_with_the_rights_of_its_principal(kdc, broker, orders, tmp_path, serve, cache, way):
    user = f"anna-{way}"
    kdc.add(user)
    keytab = kdc.keytab(user, tmp_path / "keytab")
    hidden = broker.create_topic(f"{orders}-hidden")
    broker.grant(user, orders, "DESCRIBE", "DESCRIBE_CONFIGS")
    config = by_kerberos(tmp_path / way, broker, orders, by_kinit(keytab, user) if way == "kinit" else BY_VARIABLE)
    config.query("hidden", checkpoint(tmp_path / "hidden", {hidden: {0: 0}}), cluster="main")
    env = {**kdc.env, **(cache if way == "kinit" else variables(keytab))}
    daemon = serve(config, env=env)
    metrics = eventually(lambda: judged(daemon, orders))
    assert kdc.granted(user, f"kafka/127.0.0.1@{REALM}") >= 1
    assert metrics.one_hot("query_state", "state", query="hidden") == "unknown"
    assert metrics.value("cluster_missing_rights", kafka_cluster="main", right="describe") == 1
    assert failures(daemon) == 0
    done = brinkwatch.run("check", "main", "--config", config.folder / "brinkwatch.toml", env=env)
    assert done.code == 0 and orders in done.out, done


@pytest.fixture
def silent_server():
    """Accepts connections and says nothing."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        yield listening.getsockname()[1]


def test_each_way_to_be_wrong_is_told_as_what_it_is(kdc, broker, orders, tmp_path, serve, silent_server):
    for user in ("right", "gone", "turned"):
        kdc.add(user)
    right, gone, turned = (kdc.keytab(user, tmp_path / f"{user}.keytab") for user in ("right", "gone", "turned"))
    kdc.remove("gone")
    kdc.keytab("turned", tmp_path / "newer.keytab")
    away, silent = tmp_path / "away.conf", tmp_path / "silent.conf"
    kdc.write_krb5(away, free_port())
    kdc.write_krb5(silent, silent_server)
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("sh", "timeout"):
        (tools / tool).symlink_to(shutil.which(tool))
    # By name: how one logs in, with which variables, the reason, and what is said.
    cases = {
        "gone": (by_kinit(gone, "gone"), {}, "denied", f"Client 'gone@{REALM}' not found in Kerberos database"),
        "turned": (by_kinit(turned, "turned"), {}, "denied", "Password incorrect|Preauthentication failed"),
        "other": (by_kinit(right, "other"), {}, "denied", f"Keytab contains no suitable keys for other@{REALM}"),
        "no_file": (by_kinit("/nowhere", "right"), {}, "denied", "Key table file '/nowhere' not found"),
        "away": (by_kinit(right, "right"), {"KRB5_CONFIG": str(away)}, "unreachable", "Cannot contact any KDC"),
        "silent": (by_kinit(right, "right"), {"KRB5_CONFIG": str(silent)}, "timed_out", "the KDC does not answer"),
        "service": (
            {**by_kinit(right, "right"), "sasl_kerberos_service_name": "x"},
            {},
            "denied",
            f"Server x/127.0.0.1@{REALM} not found in Kerberos database",
        ),
        "no_kinit": (by_kinit(right, "right"), {"PATH": str(tools)}, "denied", "kinit.: No such file"),
        "no_shell": (by_kinit(right, "right"), {"PATH": "/nowhere"}, "denied", "no shell for kinit"),
        "variable": (BY_VARIABLE, variables("/nowhere"), "denied", "No Kerberos credentials available"),
        "variable_away": (
            BY_VARIABLE,
            {**variables(right), "KRB5_CONFIG": str(away)},
            "unreachable",
            "Cannot contact any KDC",
        ),
    }
    wrong = []
    for name, (librdkafka, variables_of, reason, words) in cases.items():
        config = by_kerberos(tmp_path / name, broker, orders, librdkafka)
        env = {**kdc.env, "KRB5CCNAME": f"FILE:{tmp_path}/{name}.tickets", **variables_of}
        daemon = serve(config, env=env)

        def told() -> str:
            lines = re.findall(r"^.*the cluster cannot be read.*$", daemon.log(), re.MULTILINE)
            return "\n".join(lines).replace("\\'", "'")

        wait_until(told, SOON, f"{name} is told")
        if not re.search(words, told()) or f"reason={reason} " not in told():
            wrong.append(f"{name}: expected {reason}, {words}:\n{told()}")
        assert daemon.stop() == 0
        began = time.monotonic()
        done = brinkwatch.run("check", "main", "--config", config.folder / "brinkwatch.toml", env=env)
        assert time.monotonic() - began < SOON, name
        if not re.search(words, done.out + done.err):
            wrong.append(f"{name}: check says {done}")
    assert not wrong, "\n".join(wrong)


def test_a_keytab_is_replaced_without_a_restart(kdc, broker, orders, tmp_path, serve, cache):
    kdc.add("rosa", life="10 seconds")
    keytab = kdc.keytab("rosa", tmp_path / "keytab")
    broker.grant("rosa", orders, "DESCRIBE", "DESCRIBE_CONFIGS")
    librdkafka = {**by_kinit(keytab, "rosa"), "sasl_kerberos_min_time_before_relogin": "3000"}
    daemon = serve(by_kerberos(tmp_path / "b", broker, orders, librdkafka), env={**kdc.env, **cache})
    eventually(lambda: judged(daemon, orders))
    newer = kdc.keytab("rosa", tmp_path / "newer")
    # The old keys are good for nothing any more, and the ticket ends.
    wait_until(lambda: failures(daemon) > 0, 40, "the ticket has ended")
    assert re.search("Password incorrect|Preauthentication failed", daemon.log()), daemon.process.tail()
    newer.replace(keytab)
    wait_until(lambda: "a new client is made" in daemon.log(), SOON, "the new keytab is seen")
    eventually(lambda: judged(daemon, orders), SOON)


@pytest.mark.parametrize("way", ["kinit", "variable"])
def test_tickets_end_and_polls_go_on(kdc, broker, orders, tmp_path, serve, cache, way):
    user = f"tess-{way}"
    kdc.add(user, life="10 seconds")
    keytab = kdc.keytab(user, tmp_path / "keytab")
    broker.grant(user, orders, "DESCRIBE", "DESCRIBE_CONFIGS")
    own = tmp_path / "krb5.conf"
    kdc.write_krb5(own, kdc.port)
    by_command = {**by_kinit(keytab, user), "sasl_kerberos_min_time_before_relogin": "3000"}
    env = {**kdc.env, **(cache if way == "kinit" else variables(keytab)), "KRB5_CONFIG": str(own)}
    librdkafka = by_command if way == "kinit" else BY_VARIABLE
    daemon = serve(by_kerberos(tmp_path / "b", broker, orders, librdkafka), env=env)
    eventually(lambda: judged(daemon, orders))
    failed = failures(daemon)
    begun = kdc.granted(user, f"krbtgt/{REALM}@{REALM}")
    wait_until(lambda: kdc.granted(user, f"krbtgt/{REALM}@{REALM}") >= begun + 4, 60, "four more tickets")
    judged(daemon, orders)
    assert failures(daemon) == failed
    # The last ticket is of use until it ends; then the KDC is told to be away, and found again when it is back.
    kdc.write_krb5(own, free_port())

    # What stands in the way of a newer ticket the library itself does not say.
    reason, words = ("unreachable", "Cannot contact any KDC") if way == "kinit" else ("denied", "Ticket expired")

    def ended() -> None:
        assert daemon.metrics().value("cluster_poll_failures_total", kafka_cluster="main", reason=reason) > 0

    eventually(ended, 40)
    assert f"no ticket of Kerberos: {words}" in daemon.log().replace("kinit: ", ""), daemon.process.tail()
    kdc.write_krb5(own, kdc.port)
    eventually(lambda: judged(daemon, orders), 30)
