"""What tests share. Every part starts when the first test asks for it, and is stopped whatever happens."""

import itertools

import pytest

from .alertmanager import Alertmanager
from .brinkwatch import Config, Daemon
from .browser import Browser
from .cases import MAKERS, Cases
from .kafka import Broker
from .kafka_cluster import KafkaCluster
from .postgres import Postgres
from .prometheus import Prometheus
from .spark import Spark
from .stores import KINDS
from .waiting import wait_until
from .webhook import Webhook

TOPIC_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    """The broker that tests share. Each works on topics of its own and never stops it."""
    shared = Broker(tmp_path_factory.mktemp("broker"))
    try:
        yield shared.start()
    finally:
        shared.stop()


@pytest.fixture
def own_broker(tmp_path):
    """Makes brokers that one test may break: `own_broker(cluster_id=…, properties=…)`, started."""
    made = []

    def make(**how) -> Broker:
        made.append(Broker(tmp_path / f"broker-{len(made)}", **how))
        return made[-1].start()

    yield make
    for one in made:
        one.stop()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """Three brokers with every way to log in, for tests that stop none of them. Users and topics are the test's own."""
    shared = KafkaCluster(tmp_path_factory.mktemp("cluster"))
    try:
        yield shared.start()
    finally:
        shared.stop()


@pytest.fixture
def own_cluster(tmp_path):
    """Makes clusters whose brokers one test may break: `own_cluster(brokers=…)`, started."""
    made = []

    def make(**how) -> KafkaCluster:
        made.append(KafkaCluster(tmp_path / f"cluster-{len(made)}", **how))
        return made[-1].start()

    yield make
    for one in made:
        one.stop()


@pytest.fixture(scope="session")
def postgres():
    """The PostgreSQL that tests share. Each has a database of its own, and leaves the server running."""
    shared = Postgres()
    try:
        yield shared.start()
    finally:
        shared.stop()


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """The Spark that tests share."""
    shared = Spark(tmp_path_factory.mktemp("spark"))
    yield shared
    shared.stop()


@pytest.fixture(scope="session")
def cases(broker, spark, tmp_path_factory):
    """The situations of cases.py, each made once: `cases["aged_out"]`. They are for looking at only."""
    return Cases(broker, spark, tmp_path_factory.mktemp("cases"))


@pytest.fixture(scope="session")
def started(tmp_path_factory):
    """The stores that tests share, each started when it is first asked for: `started("s3")`."""
    made = {}

    def get(kind: str):
        if kind not in made:
            made[kind] = KINDS[kind](tmp_path_factory.mktemp(kind))
        return made[kind]

    yield get
    for one in made.values():
        one.stop()


@pytest.fixture
def webhook():
    hook = Webhook()
    yield hook
    hook.stop()


@pytest.fixture
def prometheus(tmp_path):
    """Makes a Prometheus: `prometheus(targets=[…], alertmanager=…, rules=…)`."""
    yield from _makes(lambda number, **how: Prometheus(tmp_path / f"prometheus-{number}", **how))


@pytest.fixture
def alertmanager(tmp_path):
    """Makes an Alertmanager: `alertmanager(webhook=…, settings=…)`."""
    yield from _makes(lambda number, **how: Alertmanager(tmp_path / f"alertmanager-{number}", **how))


@pytest.fixture
def browser(tmp_path):
    """Makes a browser: `browser(width=…, height=…, javascript=…)`."""
    yield from _makes(lambda number, **how: Browser(tmp_path / f"browser-{number}", **how))


@pytest.fixture
def topic(request):
    """A topic name that no other test uses."""
    return f"{request.node.name.removeprefix('test_')[:60]}-{next(TOPIC_NUMBERS)}".replace("[", "-").replace("]", "")


@pytest.fixture
def config(broker, tmp_path):
    """A configuration that watches the shared broker; tests add their queries."""
    return Config(tmp_path / "brinkwatch", broker.bootstrap)


@pytest.fixture(scope="session")
def fleet(cases, broker, tmp_path_factory):
    """One daemon that watches every case under the case's name, and one query whose checkpoint is missing."""
    config = Config(tmp_path_factory.mktemp("fleet"), broker.bootstrap)
    for name in MAKERS:
        config.query(name, cases[name].checkpoint)
    config.query("missing", config.folder / "missing")
    daemon = Daemon.start(config)
    try:
        # What contradicts itself is claimed after several rounds and some seconds.
        wait_until(
            lambda: daemon.metrics().one_hot("query_state", "state", query="gone") == "gone", 30, "all is settled"
        )
        yield daemon
    finally:
        daemon.stop()


@pytest.fixture
def serve():
    """Starts daemons: `serve(config)`. When a test fails its log is part of the report."""
    made = []

    def start(config: Config, **options) -> Daemon:
        made.append(Daemon.start(config, **options))
        return made[-1]

    yield start
    for one in made:
        one.stop()
        print(f"--- log of brinkwatch on port {one.port} ---\n{one.process.tail(60)}")


def _makes(factory):
    made = []

    def make(**how):
        made.append(factory(len(made), **how))
        return made[-1]

    yield make
    for one in made:
        one.stop()
