"""Strangers (clients without an accepted certificate) do not affect known clients and probes.

Each test attacks and measures in one run, and compares figures with each other, never with wall time. It measures only
how long a client itself was silent, because berth waits a fixed time for it.
"""

import contextlib
import itertools
import os
import pathlib
import select
import socket
import time

import pytest

from authority import Authority
from client import metrics, wait_until
from strangers import BODY, Client, Handshakes, attacking, connect, p99, times_of

MIB = 1024 * 1024

SCHEDULER = "system:kube-scheduler"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls") / "own", "own")


@pytest.fixture
def start_tls(start_berth, authority):
    def start(*flags):
        certificate, key = authority.issue_server()
        return start_berth(
            "--tls-cert", certificate, "--tls-key", key, "--client-ca", authority.certificate, *flags
        )

    return start


def probe(berth, context=None):
    """The status of a probe like a kubelet's: a new connection without a certificate."""
    with contextlib.closing(Client(berth, context)) as client:
        return client.ask("GET", "/livez", None)[0]


GRACE = 0.1  # CONNECTION_GRACE_MSEC: how long berth waits for the next bytes of a client during a flood


def is_answered(berth, context):
    """Whether a probe gets its reply. It must, unless this client itself was silent for longer than berth
    waits, because other programs used the processor."""
    started, silence = time.monotonic(), None
    try:
        client = Client(berth, context)
        started = time.monotonic()
        with contextlib.closing(client):
            client.connection.request("GET", "/livez")
            silence = time.monotonic() - started
            return client.connection.getresponse().status == 200
    except OSError:
        assert (silence or time.monotonic() - started) > GRACE
        return False


# --- connections ---


MANY = [f"127.0.{a}.{b}" for a in range(1, 9) for b in range(1, 120)]


class Flood:
    """Keeps @n unfinished connections, and replaces each that is closed."""

    def __init__(self, berth, n, first_bytes=b"", sources=MANY):
        self.berth, self.n, self.first_bytes = berth, n, first_bytes
        self.sources = itertools.cycle(sources)
        self.socks, self.poll = {}, select.epoll()

    def open(self):
        sock = socket.socket()
        sock.bind((next(self.sources), 0))
        with contextlib.suppress(ConnectionError):
            sock.connect((self.berth.host, self.berth.port))
            sock.sendall(self.first_bytes)
        self.socks[sock.fileno()] = sock
        self.poll.register(sock, select.EPOLLIN)

    def replace(self, seconds=0):
        """Replaces closed connections. Returns the number of new ones."""
        for fd, _ in self.poll.poll(seconds):
            self.poll.unregister(fd)
            self.socks.pop(fd).close()
        n_missing = self.n - len(self.socks)
        for _ in range(n_missing):
            self.open()
        return n_missing

    def run(self, stop, done):
        while not stop.is_set():
            done.value += self.replace(0.01)


def test_probe_finds_a_place_among_silent_strangers(start_berth):
    """When it connects all places are taken, and strangers try to open more connections than places."""
    berth = start_berth("--max-connections", 64)
    scheduler = Client(berth)
    assert scheduler.ask() == (200, False)
    flood = Flood(berth, 96)
    for _ in range(100):
        flood.replace()
        assert probe(berth) == 200
        assert scheduler.ask() == (200, False)
    scheduler.close()
    assert metrics(berth)['berth_refused_total{cause="connections"}'] > 0


@pytest.mark.parametrize("first_bytes", [b"", b"GET /livez HT"], ids=["connections", "half heads"])
@pytest.mark.parametrize("sources", [MANY, ["127.0.0.1"]], ids=["many addresses", "the probe's address"])
@pytest.mark.parametrize("has_tls", [False, True], ids=["plain", "TLS"])
def test_flood_refuses_no_probe(start_berth, start_tls, authority, first_bytes, sources, has_tls):
    """A stranger opens connections faster than berth reads: probes succeed, and no kept connection ends. With TLS
    the same bytes are not a handshake, and get an alert."""
    flags = ["--max-connections", 1024, "--max-connections-per-address", 960]
    berth = start_tls(*flags) if has_tls else start_berth(*flags)
    stranger = authority.context() if has_tls else None
    known = authority.context(authority.issue_client(SCHEDULER)) if has_tls else None
    scheduler = Client(berth, known)
    assert scheduler.ask() == (200, False)
    with attacking(Flood(berth, 1200, first_bytes, sources)) as made:
        wait_until(lambda: made.value > 2000, "connections to be evicted")
        n_answered = 0
        for _ in range(100):
            n_answered += is_answered(berth, stranger)
            assert scheduler.ask() == (200, False)
        assert n_answered > 50
    scheduler.close()


def test_silent_strangers_do_not_evict_a_client_with_a_certificate(start_tls, authority):
    """The client keeps its connection even before its first request."""
    berth = start_tls("--max-connections", 16)
    quiet = Client(berth, authority.context(authority.issue_client(SCHEDULER)))
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(connect(berth))
        assert probe(berth, authority.context()) == 200
        assert quiet.ask() == (200, False)
    quiet.close()


def test_strangers_get_few_of_the_kept_connections(start_tls, authority):
    """Strangers still get replies, and clients with a certificate keep their connections."""
    berth = start_tls("--max-connections", 16)
    context = authority.context(authority.issue_client(SCHEDULER))
    with contextlib.ExitStack() as stack:

        def ask_often(context, **request):
            clients = [
                stack.enter_context(contextlib.closing(Client(berth, context))) for _ in range(6)
            ]
            replies = [client.ask(**request) for client in clients]
            assert {status for status, _ in replies} == {200}
            return sum(not is_last for _, is_last in replies)

        assert ask_often(authority.context(), method="GET", path="/livez", body=None) == 4
        assert ask_often(context) == 6
        assert ask_often(context) == 2  # a quarter of all is for new connections
        assert probe(berth, authority.context()) == 200


# --- memory ---


def announce(size):
    return f"POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode()


def test_one_byte_of_a_large_body_costs_little(start_berth):
    """300 clients announce 100 MB and send one byte."""
    berth = start_berth("--body-grace", 60)
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(connect(berth)).sendall(announce(100_000_000) + b"{")
        held = "berth_request_memory_bytes"
        wait_until(lambda: metrics(berth)[held] >= 300 * 64 * 1024, "all bytes to arrive")
        assert metrics(berth)[held] < 32 * MIB
        with contextlib.closing(Client(berth)) as client:
            assert client.ask()[0] == 200


def test_strangers_leave_memory_to_known_clients(start_berth):
    flags = ["--max-memory", 16 * MIB, "--max-body", 4 * MIB, "--body-grace", 60]
    berth = start_berth(*flags)
    known = Client(berth)
    assert known.ask() == (200, False)
    with contextlib.ExitStack() as stack:
        strangers = [stack.enter_context(connect(berth)) for _ in range(4)]
        for sock in strangers[:3]:
            sock.sendall(announce(4 * MIB) + b" " * (4 * MIB - 1))
        wait_until(lambda: metrics(berth)["berth_request_memory_bytes"] >= 12 * MIB, "the bodies")
        strangers[3].sendall(announce(len(BODY)) + BODY)
        assert b" 503 " in strangers[3].recv(1000)
        assert probe(berth) == 200
        assert known.ask(body=BODY.ljust(3 * MIB)) == (200, False)
    known.close()


# --- handshakes ---


def test_handshakes_do_not_delay_a_client_with_a_certificate(start_tls, authority):
    """Its p99 during an attack with 64 connections is at most 10 times its p99 without, and new clients can
    connect. The attacker uses the same processors, so in rounds without an attack it attacks another berth."""
    berth, other = start_tls(), start_tls()
    scheduler = Client(berth, authority.context(authority.issue_client(SCHEDULER)))
    times_of(scheduler, 50)
    times = {berth: [], other: []}
    for _ in range(5):
        for target in (other, berth):
            with attacking(Handshakes(target, 64)) as done:
                wait_until(lambda: done.value > 100, "handshakes")
                times[target] += times_of(scheduler, 200)
                assert probe(berth, authority.context()) == 200
    scheduler.close()
    quiet, attacked = p99(times[other]), p99(times[berth])
    print(f"p99 {quiet * 1000:.2f} ms, with 64 attacking connections {attacked * 1000:.2f} ms")
    assert attacked <= 10 * quiet


def cpu_seconds(berth):
    """CPU time by thread name."""
    times = {}
    for task in pathlib.Path(f"/proc/{berth.proc.pid}/task").iterdir():
        name, _, rest = (task / "stat").read_text().partition("(")[2].rpartition(")")
        user, system = map(int, rest.split()[11:13])
        times[name] = times.get(name, 0) + (user + system) / os.sysconf("SC_CLK_TCK")
    return times


def test_handshakes_cost_the_workers_little(start_tls):
    """Another thread does the handshakes; a worker only closes the connection."""
    berth = start_tls()
    before = cpu_seconds(berth)
    with attacking(Handshakes(berth, 64)) as done:
        wait_until(lambda: done.value > 1000, "handshakes")
    after = cpu_seconds(berth)
    # A thread without a name had used no CPU yet.
    accepting, working = (after[name] - before.get(name, 0) for name in ("http-accept", "http-worker"))
    print(f"1,000 handshakes: {accepting:.2f} s of the accepting thread, {working:.2f} s of the workers")
    assert accepting > 0
    assert working < accepting / 2
