"""If a client certificate expires or is revoked, berth also closes its open connections."""

import http.client
import signal
import ssl
import time

import pytest

from authority import Authority, stamp
from client import PATIENCE, log_lines, metrics, open_connection, pages_of, replace, wait_until
from test_events import listening
from test_tls import BODY, NAME, post


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("clients") / "ca", "own")


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("clients") / "other", "other")


@pytest.fixture
def start(start_logged, authority):
    def run(*flags):
        certificate, key = authority.issue_server()
        return start_logged(
            "--tls-cert", certificate, "--tls-key", key, "--client-ca", authority.certificate, *flags
        )

    return run


class Kept:
    """A connection with at least one request."""

    def __init__(self, berth, context):
        self.connection = http.client.HTTPSConnection(
            berth.host, berth.port, context=context, timeout=PATIENCE
        )
        self.post()
        self.socket = self.connection.sock

    def post(self):
        assert post(None, None, self.connection) == 200

    def is_refused(self):
        """Whether the next request is rejected and the connection closed."""
        self.connection.request("POST", "/filter", BODY)
        reply = self.connection.getresponse()
        reply.read()
        return reply.status == 403 and reply.headers["Connection"] == "close"

    def wait_for_end(self):
        """Waits until berth closes the idle connection, long before its idle timeout."""
        self.socket.settimeout(PATIENCE)
        try:
            return self.socket.recv(1) == b""
        except (ssl.SSLError, ConnectionError):
            return True


def wait_for_end_of(stream):
    deadline = time.monotonic() + PATIENCE
    try:
        while stream.read():
            assert time.monotonic() < deadline, "the stream goes on"
    except (ssl.SSLError, http.client.HTTPException, ConnectionError):
        pass  # berth closes it during the request


# --- expiry ---

LIFETIME_SEC = 10  # seconds: enough for a certificate, a handshake and a request on a busy machine


def test_expiry_ends_kept_connections(start, authority):
    berth = start()
    lasting = authority.context(authority.issue(NAME))
    end = int(time.time()) + LIFETIME_SEC
    short = authority.context(authority.issue(NAME, end=stamp(end)))
    idle, stays = Kept(berth, short), Kept(berth, lasting)
    assert time.time() < end, "this machine is too slow for this test"
    assert idle.wait_for_end()
    assert time.time() > end
    stays.post()
    assert post(berth, short) == 403
    assert post(berth, lasting) == 200


def test_expiry_refuses_the_next_request(start, authority):
    """On a connection that is never idle when berth checks idle connections."""
    berth = start()
    end = int(time.time()) + LIFETIME_SEC
    busy = Kept(berth, authority.context(authority.issue(NAME, end=stamp(end))))
    try:
        while not busy.is_refused():
            assert time.time() < end + PATIENCE
    except (http.client.HTTPException, OSError):
        assert time.time() > end  # closed between two requests


def test_expiry_ends_streams(start, authority):
    berth = start("--pages-listen", "127.0.0.1:0", "--pages-client-name", "reader")
    pages = pages_of(berth)
    end = int(time.time()) + LIFETIME_SEC
    context = authority.context(authority.issue("reader", end=stamp(end)))
    with listening(pages, context=context) as stream:
        wait_for_end_of(stream)
        assert time.time() > end


# --- revocation ---

RELOADED = 'berth_config_reloads_total{config="certificates",result="good"}'
REFUSED = 'berth_config_reloads_total{config="certificates",result="rejected"}'


class RevocationFile:
    def __init__(self, path, text):
        self.path = path
        path.write_text(text)

    def reload(self, berth, context, text, figure=RELOADED):
        """Replaces the file, and waits until berth has read it."""
        before = metrics(berth, context=context)[figure]
        replace(self.path, text)
        berth.proc.send_signal(signal.SIGHUP)
        wait_until(lambda: metrics(berth, context=context)[figure] > before, "a reload")


@pytest.fixture
def crl(authority, tmp_path):
    return RevocationFile(tmp_path / "ca.crl", authority.revoke())


def test_revocation_ends_connections(start, authority, crl):
    berth = start("--client-crl", crl.path)
    bad, good = authority.issue(NAME), authority.issue(NAME)
    bad_context, good_context = authority.context(bad), authority.context(good)
    idle, busy, stays = Kept(berth, bad_context), Kept(berth, bad_context), Kept(berth, good_context)
    assert post(berth, bad_context) == 200

    crl.reload(berth, good_context, authority.revoke(bad))
    assert idle.wait_for_end()
    try:
        assert busy.is_refused()
    except (http.client.HTTPException, ssl.SSLError, ConnectionError):
        pass  # berth had already closed it
    assert post(berth, bad_context) == 403
    stays.post()
    assert post(berth, good_context) == 200

    # The mistake is reverted.
    crl.reload(berth, good_context, authority.revoke())
    assert post(berth, bad_context) == 200
    stays.post()


def test_revocation_ends_streams(start, authority, crl):
    berth = start("--pages-listen", "127.0.0.1:0", "--pages-client-name", "reader", "--client-crl", crl.path)
    pages = pages_of(berth)
    reader, scheduler = authority.issue("reader"), authority.context(authority.issue(NAME))
    with listening(pages, context=authority.context(reader)) as stream:
        assert stream.update()
        replace(crl.path, authority.revoke(reader))
        berth.proc.send_signal(signal.SIGHUP)
        wait_for_end_of(stream)
    assert post(berth, scheduler) == 200
    connection = open_connection(pages, authority.context(reader))
    connection.request("GET", "/metrics")
    assert connection.getresponse().status in (401, 403)
    connection.close()


def test_bad_crl_keeps_the_last_one(start, authority, other, crl):
    bad, good = authority.issue(NAME), authority.context(authority.issue(NAME))
    crl.path.write_text(authority.revoke(bad))
    berth = start("--client-crl", crl.path)
    assert post(berth, authority.context(bad)) == 403
    for text, words in (
        (other.revoke(), "CRL 1 is of an unknown CA: it must be of a CA in "),
        ("", "no list of CRLs in PEM format"),
        (authority.revoke()[:-60], "no list of CRLs in PEM format"),
        (authority.revoke() + other.revoke(), "CRL 2 is of an unknown CA"),
    ):
        crl.reload(berth, good, text, REFUSED)
        assert log_lines(berth, f"last good one stays in force.*client CRL {crl.path}: {words}")
        assert post(berth, authority.context(bad)) == 403
        assert post(berth, good) == 200


def test_overdue_crl_applies_with_a_warning(start, authority, crl):
    bad, good = authority.issue(NAME), authority.context(authority.issue(NAME))
    crl.path.write_text(authority.revoke(bad, end="20210101000000Z"))
    berth = start("--client-crl", crl.path)
    words = f"level=warn .*client CRL has expired.*{crl.path}: a newer one was due at 2021-01-01T00:00:00Z"
    assert len(log_lines(berth, words)) == 1
    assert post(berth, authority.context(bad)) == 403
    assert post(berth, good) == 200
    figures = metrics(berth, context=good)
    assert figures["berth_client_crl_expiry_timestamp_seconds"] == 1609459200

    crl.reload(berth, good, authority.revoke(bad, end=stamp(time.time() + 3)))
    wait_until(lambda: len(log_lines(berth, "client CRL has expired")) == 2, "a second warning")
    assert post(berth, authority.context(bad)) == 403


def test_crl_needs_a_ca(outcome_of, crl):
    code, _, error = outcome_of("serve", "--client-crl", crl.path)
    assert code == 2 and "--client-crl needs --client-ca" in error
