"""How stores are reached: certificates of one's own, a proxy, a connection string."""

import pytest

from .checkpoints import healthy, inspect, put_checkpoint
from .stores import ACCOUNT, ACCOUNT_KEY, KINDS, S3
from .tls import HOST, Proxy, TlsServer, certificates


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    store = S3(tmp_path_factory.mktemp("s3"))
    yield store
    store.stop()


@pytest.fixture(scope="module")
def secure(s3, tmp_path_factory):
    """The S3 server behind TLS, and the file of the authority that speaks for it."""
    authority, certificate = certificates(tmp_path_factory.mktemp("certificates"))
    server = TlsServer(s3.url, certificate)
    yield server, authority
    server.stop()


@pytest.fixture
def proxy(secure):
    made = Proxy(secure[0].port)
    yield made
    made.stop()


def settings(s3, endpoint: str, **more) -> dict:
    return {**s3.settings, "endpoint": endpoint, "allow_http": False, **more}


def test_a_server_is_trusted_by_the_authority_that_is_configured_and_by_no_other(s3, secure):
    server, authority = secure
    location = s3.location(put_checkpoint(s3, healthy()))
    endpoint = f"https://127.0.0.1:{server.port}"
    distrusted = inspect(s3, location, settings(s3, endpoint), timeout="6s")
    assert distrusted.code == 3
    assert "unreachable" in distrusted.err and "certificate" in distrusted.err.lower(), distrusted.err
    trusted = inspect(s3, location, settings(s3, endpoint, ca_file=str(authority)))
    assert (trusted.code, trusted.err) == (0, "")
    assert trusted.json()["newest_committed_batch"] == 2


def test_a_certificate_for_another_host_is_not_trusted(s3, secure):
    server, authority = secure
    location = s3.location(put_checkpoint(s3, healthy()))
    other = settings(s3, f"https://localhost:{server.port}", ca_file=str(authority))
    done = inspect(s3, location, other, timeout="6s")
    assert done.code == 3 and "unreachable" in done.err, done.err


def test_a_file_without_certificates_is_refused_in_words(s3, tmp_path):
    empty = tmp_path / "ca.pem"
    empty.write_text("nothing\n")
    done = inspect(s3, "s3a://lake/cp", settings(s3, "https://127.0.0.1:1", ca_file=str(empty)))
    assert done.code != 0 and f"{empty} cannot be read as certificates" in done.err, done.err


def test_requests_go_through_the_proxy_that_is_configured(s3, secure, proxy):
    server, authority = secure
    location = s3.location(put_checkpoint(s3, healthy()))
    # Nobody resolves this name: what is read was read through the proxy.
    through = settings(s3, f"https://{HOST}:{server.port}", ca_file=str(authority), proxy=proxy.url)
    done = inspect(s3, location, through)
    assert (done.code, done.err) == (0, "")
    assert done.json()["newest_committed_batch"] == 2
    assert set(proxy.seen) == {f"{HOST}:{server.port}"}


def test_a_proxy_that_is_away_is_unreachable_before_the_deadline(s3, secure):
    server, authority = secure
    away = settings(s3, f"https://{HOST}:{server.port}", ca_file=str(authority), proxy="http://127.0.0.1:9")
    done = inspect(s3, "s3a://lake/cp", away, timeout="6s")
    assert done.code == 3 and "unreachable" in done.err, done.err


@pytest.mark.parametrize("in_a_file", [False, True])
def test_azure_is_reached_by_a_connection_string(tmp_path, in_a_file):
    store = KINDS["azure"](tmp_path)
    try:
        location = store.location(put_checkpoint(store, healthy()))
        text = f"AccountName={ACCOUNT};AccountKey={ACCOUNT_KEY};BlobEndpoint={store.url}/{ACCOUNT};"
        said = {"connection_string": text}
        if in_a_file:
            (tmp_path / "connection").write_text(text + "\n")
            said = {"connection_string_file": str(tmp_path / "connection")}
        done = inspect(store, location, {"kind": "azure", "allow_http": True, **said})
    finally:
        store.stop()
    assert (done.code, done.err) == (0, "")
    assert done.json()["newest_committed_batch"] == 2
