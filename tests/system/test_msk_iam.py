"""Login by Amazon MSK's IAM, to a real broker that checks the signed token as the service does."""

import re
from pathlib import Path

import pytest

from . import brinkwatch
from .logged_in import SOON, failures, judged, logging_in, ten_records
from .msk import REGION, MskBroker
from .ports import free_port
from .waiting import eventually, wait_until
from .written import checkpoint

# Holds what has to be encoded on its way into the token and into what is signed.
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCY~EXAMPLE"
SESSION = "IQoJb3JpZ2luX2VjE//a+b==~*'(x) y"


@pytest.fixture(scope="module")
def msk(tmp_path_factory):
    made = MskBroker(tmp_path_factory.mktemp("msk"))
    try:
        yield made.start()
    finally:
        made.stop()


@pytest.fixture
def orders(msk, topic):
    """A topic with ten records, of which a query has read four."""
    return ten_records(msk, topic)


@pytest.fixture
def config(msk, orders, tmp_path):
    sasl = {"mechanism": "AWS_MSK_IAM", "aws_region": REGION}
    return logging_in(tmp_path / "brinkwatch", msk, orders, sasl=sasl)


@pytest.mark.parametrize("session", [None, SESSION], ids=["key", "session"])
def test_a_signed_token_logs_in_with_the_rights_of_its_principal(msk, orders, config, tmp_path, serve, session):
    user = "role-session" if session else "role-key"
    variables = msk.key(f"AKIA{user}", user, SECRET, session)
    hidden = msk.create_topic(f"{orders}-hidden")
    msk.grant(user, orders, "DESCRIBE", "DESCRIBE_CONFIGS")
    config.query("hidden", checkpoint(tmp_path / "hidden", {hidden: {0: 0}}), cluster="main")
    daemon = serve(config, env=variables)
    metrics = eventually(lambda: judged(daemon, orders))
    assert metrics.one_hot("query_state", "state", query="hidden") == "unknown"
    assert metrics.value("cluster_missing_rights", kafka_cluster="main", right="describe") == 1
    # The connection lives no longer than the broker lets it, and is told who we are again.
    shown = len(msk.signed(user))
    assert shown >= 1
    wait_until(lambda: len(msk.signed(user)) >= shown + 3, 40, "the token is shown three more times")
    judged(daemon, orders)
    assert failures(daemon) == 0
    done = brinkwatch.run("check", "main", "--config", config.folder / "brinkwatch.toml", env=variables)
    assert done.code == 0, done
    for secret in (SECRET, SESSION):
        assert secret not in daemon.log() + daemon.get("/config").text


def test_a_token_that_is_refused_is_told_within_seconds(msk, config, tmp_path, serve):
    own = msk.key("AKIAwrong", "role-wrong", SECRET, SESSION)
    cases = {
        "secret": ({**own, "AWS_SECRET_ACCESS_KEY": "another"}, "signature"),
        "session": ({**own, "AWS_SESSION_TOKEN": "another"}, "session token"),
        "no_session": ({**own, "AWS_SESSION_TOKEN": ""}, "session token"),
        "key": ({**own, "AWS_ACCESS_KEY_ID": "AKIAnobody"}, "no such key"),
        # Nobody is asked but the machine, which knows of no role.
        "none": ({"AWS_METADATA_ENDPOINT": f"http://127.0.0.1:{free_port()}"}, None),
    }
    for name, (variables, why) in cases.items():
        before = len(msk.told())
        config.folder = tmp_path / name
        daemon = serve(config, env=variables)

        def told() -> str:
            return "\n".join(re.findall(r"^.*the cluster cannot be read.*$", daemon.log(), re.MULTILINE))

        wait_until(told, SOON, f"{name} is told")
        words = "Access denied" if why else "no credentials of AWS"
        assert "reason=denied " in told() and words in told(), (name, told())
        assert "S3" not in told(), told()
        assert daemon.stop() == 0
        refused = {line for line in msk.told()[before:] if line.startswith("refused")}
        assert refused == ({f"refused: {why}"} if why else set()), (name, refused)


def test_a_token_is_renewed_before_it_ends(msk, orders, config, tmp_path, serve):
    variables = msk.key("AKIAlong", "role-long", SECRET)
    msk.grant("role-long", orders, "DESCRIBE", "DESCRIBE_CONFIGS")
    # A token lasts a quarter of an hour and is renewed at four fifths of it: both clocks go on by so much at once.
    clock = tmp_path / "clock"
    clock.write_text("+0s")
    [library] = Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")
    faked = {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    daemon = serve(config, env={**variables, **faked})
    eventually(lambda: judged(daemon, orders))
    failed = failures(daemon)
    try:
        for ahead in (800, 1600):
            known = set(msk.signed("role-long"))
            clock.write_text(f"+{ahead}s")
            msk.set_ahead(ahead)
            wait_until(lambda: set(msk.signed("role-long")) - known, 40, "a newer token is shown")
            newest = max(msk.signed("role-long"))
            assert newest >= max(known) + 700_000, (newest, known)
            judged(daemon, orders)
        # The first one would be refused by now.
        assert max(msk.signed("role-long")) - min(msk.signed("role-long")) > 900_000
        assert failures(daemon) == failed
    finally:
        msk.set_ahead(0)
