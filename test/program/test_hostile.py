"""Slow, faulty or hostile clients get a clear error, and other clients are not affected.

Flags make deadlines short. Tests do not assert durations, only that requests with a deadline end.
"""

import contextlib
import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from client import IS_SANITIZED, PATIENCE, metrics, wait_until, write_cluster

MIB = 1024 * 1024
SLACK = PATIENCE

BODY = json.dumps(
    {"Pod": {"metadata": {"name": "a"}}, "NodeNames": ["n1", "n2"], "Nodes": None}
).encode()


# --- small tools ---


def only_berth(path):
    """Skips a test for bench/floor, which has only one reply."""
    if os.path.basename(path) != "berth":
        pytest.skip("not berth")


def connect(berth, receive_buffer=None):
    sock = socket.socket()
    if receive_buffer:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    sock.settimeout(PATIENCE)
    sock.connect((berth.host, berth.port))
    return sock


def head(*lines, method="POST", path="/filter", host="Host: localhost"):
    text = "\r\n".join([f"{method} {path} HTTP/1.1", *([host] if host else []), *lines])
    return text.encode("latin-1") + b"\r\n\r\n"


def good_request(body=BODY, *lines):
    return head(f"Content-Length: {len(body)}", *lines) + body


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body


def read_reply(stream):
    """Reads one reply; None if the connection ended instead."""
    try:
        line = stream.readline()
    except ConnectionError:
        return None
    if not line:
        return None
    status = int(line.split()[1])
    headers = {}
    while (line := stream.readline()) not in (b"\r\n", b""):
        name, _, value = line.partition(b":")
        headers[name.decode().lower()] = value.strip().decode()
    assert "transfer-encoding" not in headers
    if status == 100:
        return Reply(status, headers, b"")
    return Reply(status, headers, stream.read(int(headers["content-length"])))


def exchange(berth, raw):
    """Sends bytes. Returns one reply, and whether the server closed the connection after it."""
    with connect(berth) as sock, sock.makefile("rb") as stream:
        with contextlib.suppress(ConnectionError):
            sock.sendall(raw)
        reply = read_reply(stream)
        return reply, is_closed(sock)


def is_closed(sock, seconds=SLACK):
    """Waits for the end of the connection."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sock.settimeout(max(0.01, end - time.monotonic()))
        try:
            if not sock.recv(65536):
                return True
        except ConnectionError:
            return True
        except socket.timeout:
            return False
    return False


def ask_well(berth):
    """The reply to a valid request on a new connection; None if the connection is rejected."""
    with connect(berth) as sock, sock.makefile("rb") as stream:
        with contextlib.suppress(ConnectionError):
            sock.sendall(good_request())
        return read_reply(stream)


def assert_well(berth):
    """The server answers a valid request on a new connection."""
    reply = ask_well(berth)
    assert berth.is_alive()
    assert reply.status == 200
    assert "content-length" in reply.headers


def wait_for_room(berth):
    """Waits until berth has noticed the end of closed connections, and serves a new one."""
    reply = wait_until(lambda: ask_well(berth), "room for one more")
    assert reply.status == 200


def wait_until_held(berth, n_bytes):
    """Waits until sent bytes have arrived: until requests in progress use this much memory."""
    wait_until(
        lambda: metrics(berth)["berth_request_memory_bytes"] >= n_bytes, f"{n_bytes} bytes to be held"
    )


# --- requests rejected by their headers alone ---

AMBIGUOUS = {
    "two lengths": head("Content-Length: 2", "Content-Length: 20") + b"{}",
    "two equal lengths": head("Content-Length: 2", "Content-Length: 2") + b"{}",
    "list of lengths": head("Content-Length: 2, 2") + b"{}",
    "length with sign": head("Content-Length: +2") + b"{}",
    "length with text": head("Content-Length: 2x") + b"{}",
    "empty length": head("Content-Length:") + b"{}",
    "space before colon": head("Content-Length : 2") + b"{}",
    "tab before colon": head("Content-Length\t: 2") + b"{}",
    "NUL in a value": head("X: a\0b", "Content-Length: 2") + b"{}",
    "NUL hides a length": head("X: a\0\0Content-Length: 2"),
    "NUL in a name": head("X\0: a"),
    "NUL in the path": head(path="/filter\0x"),
    "control byte in a value": head("X: a\x01b"),
    "control byte in the path": head(path="/fil\x01ter"),
    "bare CR in a value": head("X: a\rContent-Length: 2"),
    "bare LF": b"POST /filter HTTP/1.1\nHost: a\nContent-Length: 2\n\n{}",
    "bare LF at the end": b"GET /livez HTTP/1.1\r\nHost: a\r\n\n",
    "folded line": head("X: a\r\n b"),
    "folded length": head("Content-Length:\r\n 2") + b"{}",
    "line that begins with a space": b"POST /filter HTTP/1.1\r\n X: a\r\nHost: a\r\n\r\n",
    "empty name": head(": a", "Content-Length: 2") + b"{}",
    "no colon": head("Content-Length 2"),
    "no host": head(host=None),
    "two hosts": head("Host: b"),
    "no version": b"POST /filter\r\nHost: a\r\n\r\n",
    "space in the target": head(path="/filter x"),
    "empty host": head(host="Host:"),
    "malformed host": head(host="Host: [::1].example"),
    "half a bracket in the host": head(host="Host: [evil"),
    "user in the host": head(host="Host: a@localhost"),
    "port above 65,535": head(host="Host: localhost:99999"),
    "list of hosts": head(host="Host: localhost, localhost"),
    "UTF-8 in the path": head(method="GET", path="/\xc3\xa4"),
    "no host in the target": head(method="GET", path="http:///livez"),
    "empty line, LF": b"\nGET /livez HTTP/1.1\r\nHost: a\r\n\r\n",
    "space after the version": b"GET /livez HTTP/1.1 \r\nHost: a\r\n\r\n",
    "space before the method": b" GET /livez HTTP/1.1\r\nHost: a\r\n\r\n",
    "another protocol": b"GET /livez HTTPS/1.1\r\nHost: a\r\n\r\n",
    "DEL in a value": head("X: a\x7f"),
    "vertical tab before a value": head("X:\x0b a"),
    "negative length": head("Content-Length: -2") + b"{}",
    "hexadecimal length": head("Content-Length: 0x2") + b"{}",
    "bare CR instead of CR LF": b"POST /filter HTTP/1.1\rHost: a\r\r",
    "CR CR LF": b"POST /filter HTTP/1.1\r\r\nHost: a\r\n\r\n",
    "HTTP/0.9": b"GET /livez\r\n",
    "two spaces": b"GET  /livez HTTP/1.1\r\nHost: a\r\n\r\n",
    "tab for a space": b"GET\t/livez\tHTTP/1.1\r\nHost: a\r\n\r\n",
    "version in small letters": b"GET /livez http/1.1\r\nHost: a\r\n\r\n",
    "version of two digits": b"GET /livez HTTP/1.10\r\nHost: a\r\n\r\n",
    "fragment": head(method="GET", path="/livez#a"),
    "no path": head(method="GET", path="livez"),
    "asterisk": head(method="GET", path="*"),
    "other scheme": head(method="GET", path="ftp://localhost/livez"),
    "user in the target": head(method="GET", path="http://a@localhost/livez"),
    "words": b"hello world\r\n",
    "two empty lines": b"\r\n\r\nGET /livez HTTP/1.1\r\nHost: a\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}


# kube-scheduler, browsers and berth's own client send Content-Length; berth accepts nothing else.
CODED = {
    "chunked": head("Transfer-Encoding: chunked") + b"2\r\n{}\r\n0\r\n\r\n",
    "length and chunked": head("Content-Length: 5", "Transfer-Encoding: chunked") + b"0\r\n\r\n",
    "chunked and length": head("Transfer-Encoding: chunked", "Content-Length: 5") + b"0\r\n\r\n",
    "chunked twice": head("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
    "gzip, chunked": head("Transfer-Encoding: gzip, chunked"),
    "identity": head("Transfer-Encoding: identity"),
    "chunked in HTTP/1.0": b"POST /filter HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
    "chunked to a page": head("Transfer-Encoding: chunked", method="GET", path="/livez"),
    "bad chunk": head("Transfer-Encoding: chunked") + b"-1\r\nabc\r\n",
}


@pytest.fixture
def server(start_berth):
    return start_berth("--header-timeout", 2, "--body-grace", 1)


@pytest.mark.parametrize("name", CODED)
def test_transfer_encoding_is_refused(server, name):
    """berth never reads the following bytes as a request."""
    with connect(server) as sock, sock.makefile("rb") as stream:
        sock.sendall(CODED[name] + good_request())
        assert read_reply(stream).status == 501
        assert read_reply(stream) is None
    assert_well(server)


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_ambiguous_request_is_refused(server, name):
    reply, closed = exchange(server, AMBIGUOUS[name])
    assert reply.status == 400
    assert closed
    assert_well(server)


@pytest.mark.parametrize("version", ["0.9", "1.2", "2.0", "3.0"])
def test_wrong_version_is_refused(server, version):
    reply, closed = exchange(server, f"POST /filter HTTP/{version}\r\nHost: a\r\n\r\n".encode())
    assert reply.status == 505
    assert closed


def test_http_2_is_refused(server):
    """A client that sends HTTP/2 without ALPN or an upgrade."""
    reply, closed = exchange(server, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    assert reply.status == 505
    assert closed


@pytest.mark.parametrize("raw", [b"hello", b"GET /livez HT", head("Content-Length: 5") + b"{"])
def test_incomplete_request_gets_a_status(server, raw):
    with connect(server) as sock, sock.makefile("rb") as stream:
        sock.sendall(raw)
        sock.shutdown(socket.SHUT_WR)
        assert read_reply(stream).status == 400
        assert is_closed(sock)


def test_long_request_line_is_refused(server):
    reply, closed = exchange(server, b"GET /" + b"a" * 40_000)
    assert reply.status == 414
    assert closed


def test_unknown_expectation_is_refused(server):
    reply, closed = exchange(server, good_request(BODY, "Expect: 200-ok"))
    assert reply.status == 417
    assert closed


@pytest.mark.parametrize(
    "method, path, allow",
    [
        ("PUT", "/filter", "POST"),
        ("GET", "/filter", "POST"),
        ("BREW", "/livez", "GET, HEAD"),
        ("TRACE", "/livez", "GET, HEAD"),
        ("get", "/livez", "GET, HEAD"),
        ("OPTIONS", "/livez", "GET, HEAD"),
        ("OPTIONS", "*", "GET, HEAD, POST"),
        ("CONNECT", "localhost:80", "GET, HEAD, POST"),
    ],
)
def test_other_methods_are_refused(server, berth_path, method, path, allow):
    only_berth(berth_path)
    reply, closed = exchange(server, head(method=method, path=path))
    assert reply.status == 405
    assert reply.headers["allow"] == allow
    assert closed


def test_every_refusal_is_one_reply(server):
    """The reply has one status line, a content type that browsers do not guess, and nothing after the body."""
    for raw in [*AMBIGUOUS.values(), *CODED.values()]:
        with connect(server) as sock, sock.makefile("rb") as stream:
            with contextlib.suppress(ConnectionError):
                sock.sendall(raw)
            reply = read_reply(stream)
            assert reply.headers["content-type"] == "text/plain; charset=utf-8"
            assert b"HTTP/1.1 " not in reply.body
            assert stream.read() == b""


def test_smuggled_request_is_not_answered(server):
    """berth never reads bytes after an ambiguous request as a request."""
    raw = AMBIGUOUS["two lengths"] + good_request()
    with connect(server) as sock, sock.makefile("rb") as stream:
        sock.sendall(raw)
        assert read_reply(stream).status == 400
        assert read_reply(stream) is None


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "identity, gzip"])
def test_content_encoding_is_refused(server, coding):
    reply, closed = exchange(server, good_request(BODY, f"Content-Encoding: {coding}"))
    assert reply.status == 415
    assert closed
    assert_well(server)


def test_identity_encoding_is_fine(server):
    reply, _ = exchange(server, good_request(BODY, "Content-Encoding: identity", "Connection: close"))
    assert reply.status == 200


@pytest.mark.parametrize(
    "lines",
    [["X: " + "a" * 40_000], ["X: " + "a" * 1_000_000], [f"X{i}: a" for i in range(20_000)]],
    ids=["40 kB", "1 MB", "20,000 lines"],
)
def test_huge_header_is_refused(server, lines):
    reply, closed = exchange(server, head(*lines))
    assert reply.status == 431
    assert closed
    assert_well(server)


def test_header_limit_is_a_flag(start_berth):
    server = start_berth("--max-header", 2000)
    reply, _ = exchange(server, good_request(BODY, "X: " + "a" * 1500, "Connection: close"))
    assert reply.status == 200
    reply, closed = exchange(server, good_request(BODY, "X: " + "a" * 2500))
    assert reply.status == 431
    assert closed


def test_memory_of_a_connection_filled_by_headers(server):
    """Header lines and pipelined bytes that fill a connection's memory."""
    for n_lines in range(300, 600, 10):
        raw = good_request(BODY, *["A: b"] * n_lines) + b"GET /" + b"a" * 40_000
        with connect(server) as sock, contextlib.suppress(ConnectionError):
            sock.sendall(raw)
            sock.recv(100)
        assert server.is_alive()
    assert_well(server)


# --- bodies ---


def assert_small(server, mib):
    """berth's memory is small. Only measured without a sanitizer, which keeps freed memory of earlier
    requests."""
    if not IS_SANITIZED:
        wait_until(lambda: server.rss_kib() < mib * 1024, f"less than {mib} MiB")


def zeros(size):
    piece = b"0" * MIB
    for _ in range(size // MIB):
        yield piece


def test_huge_body_is_refused(server):
    """300 MiB with the default limit of 128: a client that only reads after it has sent all it can still
    gets the 413."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
    with contextlib.suppress(ConnectionError):
        connection.request(
            "POST", "/filter", zeros(300 * MIB), {"Content-Length": str(300 * MIB)}
        )
    reply = connection.getresponse()
    assert reply.status == 413
    assert reply.getheader("Connection") == "close"
    connection.close()
    assert_small(server, 64)
    assert_well(server)


def test_announced_body_is_refused_before_it_is_sent(server):
    with connect(server) as sock, sock.makefile("rb") as stream:
        sock.sendall(head(f"Content-Length: {300 * MIB}"))
        assert read_reply(stream).status == 413


def test_body_limit_is_a_flag(start_berth):
    server = start_berth("--max-body", 1000)
    body = BODY.ljust(1000)
    assert exchange(server, good_request(body, "Connection: close"))[0].status == 200
    assert exchange(server, good_request(body + b" "))[0].status == 413


def test_absurd_length_is_refused(server):
    reply, closed = exchange(server, head("Content-Length: 99999999999999999999999"))
    assert reply.status in (400, 413)
    assert closed


def test_truncated_bodies(server):
    for raw in (
        head("Content-Length: 100") + b"{}",
        head("Content-Length: 100"),
        head("Content-Length: 3000000") + b"0" * 2_000_000,
    ):
        with connect(server) as sock, sock.makefile("rb") as stream:
            sock.sendall(raw)
            sock.shutdown(socket.SHUT_WR)
            reply = read_reply(stream)
            assert reply is None or reply.status >= 400
        with connect(server) as sock:  # the same, ended by a reset
            sock.sendall(raw)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert_well(server)


PAGES = ["/readyz", "/livez", "/healthz", "/metrics", "/version", "/"]


@pytest.mark.parametrize("path", PAGES)
def test_pages_take_no_body(server, berth_path, path):
    """berth rejects bodies, because it answers pages before it authenticates the client."""
    only_berth(berth_path)
    with connect(server) as sock, sock.makefile("rb") as stream:
        sock.sendall(head(f"Content-Length: {128 * MIB}", method="GET", path=path))  # and none of the body
        reply = read_reply(stream)
        assert reply.status == 413
        assert b"this path accepts no body" in reply.body
        assert is_closed(sock)
    raw = head("Content-Length: 0", "Connection: close", method="GET", path=path)
    assert exchange(server, raw)[0].status == 200


def test_expect_continue(server):
    with connect(server) as sock, sock.makefile("rb") as stream:
        sock.sendall(head(f"Content-Length: {len(BODY)}", "Expect: 100-continue"))
        assert read_reply(stream).status == 100
        sock.sendall(BODY)
        assert read_reply(stream).status == 200


def test_refused_body_gets_no_continue(server):
    raw = head(f"Content-Length: {300 * MIB}", "Expect: 100-continue")
    reply, closed = exchange(server, raw)
    assert reply.status == 413
    assert closed


def wait_until_taken(server, body):
    """Waits until berth has memory for the request."""
    raw = good_request(body, "Connection: close")
    wait_until(lambda: exchange(server, raw)[0].status == 200, "the body to be taken")


def test_memory_budget(start_berth, berth_path):
    """Bodies in progress may use --max-memory together; a body above it gets 503, and after they end there is
    room again. An announced size uses no memory."""
    only_berth(berth_path)
    server = start_berth("--max-memory", 16 * MIB, "--max-body", 16 * MIB, "--body-grace", 30)
    with contextlib.ExitStack() as stack:
        announcers = [stack.enter_context(connect(server)) for _ in range(50)]
        for sock in announcers:
            sock.sendall(head(f"Content-Length: {16 * MIB}"))
        wait_until(
            lambda: metrics(server)["berth_connections"] > len(announcers), "all of them to be counted"
        )
        assert_well(server)

        announcers[0].sendall(b"0" * (12 * MIB))
        wait_until_held(server, 12 * MIB)
        with announcers[1].makefile("rb") as stream:
            with contextlib.suppress(ConnectionError):
                announcers[1].sendall(b"0" * (12 * MIB))
            reply = read_reply(stream)
        assert reply.status == 503
        assert int(reply.headers["retry-after"]) > 0
        assert_well(server)
    wait_until_taken(server, BODY.ljust(12 * MIB))


READY = """
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: ready}
spec:
  filters:
    - {name: ready, nodeReady: true}
"""


def test_replies_count_for_the_memory_budget(start_berth, berth_path, tmp_path):
    """Replies use memory until the client has read them. If --max-memory is used up by clients that request
    large replies and do not read, further requests get 503, and berth does not run out of memory."""
    only_berth(berth_path)
    policy = tmp_path / "policy.yaml"
    policy.write_text(READY)
    cluster = write_cluster(tmp_path / "cluster.json", [{"metadata": {"name": "a"}}])
    limits = ["--max-memory", 64 * MIB, "--max-body", 2 * MIB, "--write-timeout", 60]
    server = start_berth("--policy", policy, "--cluster", cluster, *limits)
    before = server.rss_kib()
    # Each node is unknown and gets a reason, so ten bytes become a hundred.
    names = [f"{i:x}" for i in range(0x10000, 0x10000 + 206_000)]
    body = {"Pod": {"metadata": {"name": "a"}}, "Nodes": None, "NodeNames": names}
    body = json.dumps(body, separators=(",", ":")).encode()
    statuses = []
    with contextlib.ExitStack() as stack:
        socks = [stack.enter_context(connect(server, receive_buffer=4096)) for _ in range(14)]
        most = 0
        for sock in socks:
            with contextlib.suppress(ConnectionError):
                sock.sendall(good_request(body))
            most = max(most, server.rss_kib())
        time.sleep(1)
        most = max(most, server.rss_kib())
        # The memory in use, plus that of two workers.
        if not IS_SANITIZED:
            assert most - before < (64 + 2 * 24) * 1024
        assert_well(server)
        assert exchange(server, head("Connection: close", method="GET", path="/livez"))[0].status == 200
        for sock in socks:
            with sock.makefile("rb") as stream:
                statuses.append(int(stream.readline().split()[1]))
                if statuses[-1] == 503:
                    headers = stream.read().lower()
                    assert b"retry-after: " in headers and b"connection: close" in headers
    assert set(statuses) == {200, 503}
    wait_until_taken(server, body)


def test_memory_is_released(server):
    body = BODY.ljust(82_000_000)
    for _ in range(3):
        reply, _ = exchange(server, good_request(body, "Connection: close"))
        assert reply.status == 200
    assert_small(server, 32)


# --- time ---


def test_slow_headers_while_others_are_served(start_berth):
    """1,000 clients never finish their headers: another client is served meanwhile, and after the deadline all
    of their connections are closed."""
    server = start_berth(
        "--header-timeout", 2, "--max-connections", 1200, "--max-connections-per-address", 1200
    )
    before = server.rss_kib()
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(connect(server)) for _ in range(1000)]
        start = time.monotonic()
        for i, sock in enumerate(slow):
            with contextlib.suppress(ConnectionError):  # on machines where this takes longer than its deadline
                sock.sendall(b"POST /filter HTTP/1.1\r\nHost: a\r\nX-Slow: "[: 10 + i % 30])
        assert_well(server)
        while time.monotonic() - start < 1.5:
            assert_well(server)
        assert_small(server, before // 1024 + 64)
        for sock in slow:
            assert is_closed(sock)
    assert_well(server)


@pytest.mark.parametrize("raw", [b"POST /filter HTTP/1.1\r\nHost: a\r\n", b"POST /fil", b"hello"])
def test_reports_late_headers(server, raw):
    with connect(server) as sock, sock.makefile("rb") as stream:
        sock.sendall(raw)
        reply = read_reply(stream)
        assert reply.status == 408
        assert is_closed(sock)
    assert_well(server)


def test_dripping_headers_do_not_help(server):
    """Single bytes at intervals do not extend the deadline."""
    with connect(server) as sock:
        start = time.monotonic()
        ended = False
        sock.settimeout(0.2)
        while not ended and time.monotonic() - start < SLACK:
            try:
                sock.sendall(b"X")
                ended = not sock.recv(1000)
            except socket.timeout:
                pass
            except ConnectionError:
                ended = True
        assert ended
    assert_well(server)


def test_next_request_has_a_deadline_too(server):
    """On a kept-alive connection it counts from the next request's first byte."""
    with connect(server) as sock, sock.makefile("rb") as stream:
        sock.sendall(good_request())
        assert read_reply(stream).status == 200
        time.sleep(2.5)  # longer than the header deadline, which starts with the request
        sock.sendall(good_request())
        assert read_reply(stream).status == 200
        time.sleep(0.6)
        sock.sendall(b"POST /filt")
        assert is_closed(sock)
    assert_well(server)


def test_silent_connection_is_closed(server):
    with connect(server) as sock:
        assert is_closed(sock)


def test_idle_connection_is_closed(start_berth):
    server = start_berth("--idle-timeout", 1)
    with connect(server) as sock, sock.makefile("rb") as stream:
        sock.sendall(good_request())
        assert read_reply(stream).status == 200
        assert is_closed(sock)


def test_reports_slow_body(server):
    """The client sends 1 kB/s; 64 kB/s are required."""
    with connect(server) as sock, sock.makefile("rb") as stream:
        sock.sendall(head("Content-Length: 1000000"))
        done = threading.Event()

        def drip():
            while not done.wait(0.1):
                with contextlib.suppress(OSError):
                    sock.sendall(b"0" * 100)

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            reply = read_reply(stream)
        finally:
            done.set()
            thread.join()
        assert reply.status == 408
        assert is_closed(sock)
    assert_well(server)


def test_body_at_a_fair_rate_is_read(start_berth):
    """A body that takes longer than the grace period, but has the required rate."""
    server = start_berth("--body-grace", 1, "--body-min-rate", 1000)
    body = BODY.ljust(12_000)
    with connect(server) as sock, sock.makefile("rb") as stream:
        sock.sendall(head(f"Content-Length: {len(body)}") + body[:600])
        for at in range(600, len(body), 600):
            time.sleep(0.1)
            sock.sendall(body[at : at + 600])
        assert read_reply(stream).status == 200


STOPPED_CLIENT = """
    import os, signal, socket, sys
    sock = socket.create_connection((sys.argv[1], int(sys.argv[2])))
    sock.sendall(b"POST /filter HTTP/1.1\\r\\nHost: a\\r\\nContent-Length: 1000000\\r\\n\\r\\n" + b"0" * 500)
    print("sent", flush=True)
    sock.sendall(b"0" * int(sys.argv[3]))
    os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_stopped_clients(start_berth):
    """After SIGSTOP during a body the client's kernel keeps the connection, but berth closes it."""
    server = start_berth("--header-timeout", 2, "--body-grace", 1, "--max-connections", 20)
    code = textwrap.dedent(STOPPED_CLIENT)
    clients = [
        subprocess.Popen(
            [sys.executable, "-c", code, server.host, str(server.port), "100000"],
            stdout=subprocess.PIPE,
        )
        for _ in range(5)
    ]
    try:
        for client in clients:
            assert client.stdout.readline() == b"sent\n"
            os.waitpid(client.pid, os.WUNTRACED)
        assert_well(server)
        end = time.monotonic() + SLACK
        while connections_from(server) > 0 and time.monotonic() < end:
            assert_well(server)
            time.sleep(0.2)
        assert connections_from(server) == 0
    finally:
        for client in clients:
            client.send_signal(signal.SIGKILL)
            client.wait()
            client.stdout.close()


def connections_from(server):
    """Established connections on the server's side."""
    port = f"{server.port:04X}"
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    return sum(row[1].endswith(":" + port) and row[3] == "01" for row in rows)


def large_reply_request():
    """A request whose reply is about as large as the request, and larger than kernel buffers."""
    node = {"metadata": {"name": "", "annotations": {"a": "x" * 16_000}}}
    nodes = []
    for i in range(2000):
        node["metadata"]["name"] = f"n{i}"
        nodes.append(json.dumps(node))
    body = (
        '{"Pod":{"metadata":{"name":"a"}},"NodeNames":null,"Nodes":{"items":[%s]}}'
        % ",".join(nodes)
    ).encode()
    return good_request(body)


def test_client_that_never_reads(start_berth):
    server = start_berth("--write-timeout", 1)
    raw = large_reply_request()
    with connect(server, receive_buffer=4096) as sock:
        sock.sendall(raw)
        end = time.monotonic() + SLACK
        while connections_from(server) > 0 and time.monotonic() < end:
            assert_well(server)
            time.sleep(0.2)
        assert connections_from(server) == 0
    assert_small(server, 64)
    assert_well(server)


# --- numbers of connections ---


def count_open(socks):
    n_open = 0
    for sock in socks:
        sock.setblocking(False)
        try:
            if sock.recv(1):
                n_open += 1
        except BlockingIOError:
            n_open += 1
        except ConnectionError:
            pass
    return n_open


@pytest.mark.parametrize("flag", ["--max-connections", "--max-connections-per-address"])
def test_connection_caps(start_berth, flag):
    server = start_berth(flag, 10)
    with contextlib.ExitStack() as stack:
        socks = [stack.enter_context(connect(server)) for _ in range(40)]
        wait_until(lambda: count_open(socks) == 10, "the others to be turned away")
    wait_for_room(server)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_all_allowed_connections_are_served(start_berth, workers):
    server = start_berth("--max-connections", 50, "--workers", workers)
    with contextlib.ExitStack() as stack:
        socks = [stack.enter_context(connect(server)) for _ in range(50)]
        for sock in socks:
            stream = stack.enter_context(sock.makefile("rb"))
            sock.sendall(good_request())
            assert read_reply(stream).status == 200


def test_longest_idle_connection_makes_room_for_a_new_one(start_berth):
    """berth closes the connections with the longest idle time."""
    server = start_berth("--max-connections", 10, "--header-timeout", 60)
    with contextlib.ExitStack() as stack:
        socks = [stack.enter_context(connect(server)) for _ in range(10)]
        wait_for_room(server)
        wait_for_room(server)
        assert count_open(socks) >= 8


# --- unusual but valid requests ---


def test_keep_alive_is_used(server):
    with connect(server) as sock, sock.makefile("rb") as stream:
        for _ in range(50):
            sock.sendall(good_request())
            assert read_reply(stream).status == 200


def test_pipelining(server):
    with connect(server) as sock, sock.makefile("rb") as stream:
        sock.sendall(good_request() * 20)
        for _ in range(20):
            assert read_reply(stream).status == 200


def test_byte_by_byte(server):
    with connect(server) as sock, sock.makefile("rb") as stream:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(len(raw := good_request())):
            sock.sendall(raw[i : i + 1])
        assert read_reply(stream).status == 200


@pytest.mark.parametrize(
    "raw",
    [
        good_request(BODY).replace(b"Content-Length: ", b"Content-Length:\t  ").replace(b"\r\n\r\n", b" \t\r\n\r\n"),
        head(f"Content-Length: {len(BODY)}", host="Host:localhost") + BODY,
        head(f"Content-Length: {len(BODY)}", host="Host: localhost:") + BODY,
        head(f"Content-Length: {len(BODY)}", host="Host: [::1]:80") + BODY,
        head(f"Content-Length: {len(BODY)}", path="http://localhost/filter") + BODY,
        head(f"Content-Length: {len(BODY)}", "Upgrade: h2c", "Connection: Upgrade") + BODY,
        head(f"Content-Length: {len(BODY)}", "Connection: keep-alive", "X:", "Y: \xe9") + BODY,
        head(f"Content-Length: 000{len(BODY)}") + BODY,
        head(f"Content-Length: {len(BODY)}", "Expect: 100-Continue") + BODY,
        head(f"Content-Length: {len(BODY)}", "Range: bytes=0-1", "TE: trailers") + BODY,
        b"\r\n" + good_request(),
    ],
    ids=["blanks", "no blank", "empty port", "IPv6", "absolute", "upgrade", "odd lines", "zeros", "expect",
         "range", "empty line"],
)  # fmt: skip
def test_unusual_but_valid_requests_are_answered(server, raw):
    """A second request on the same connection is answered, too."""
    with connect(server) as sock, sock.makefile("rb") as stream:
        sock.sendall(raw * 2)
        assert read_reply(stream).status == 200
        assert read_reply(stream).status == 200


def test_bytes_after_a_body_are_the_next_request(server):
    with connect(server) as sock, sock.makefile("rb") as stream:
        sock.sendall(good_request() + b"{}\r\n\r\n")
        assert read_reply(stream).status == 200
        assert read_reply(stream).status == 400
        assert read_reply(stream) is None


def test_half_closed_client_gets_its_reply(server):
    with connect(server) as sock, sock.makefile("rb") as stream:
        sock.sendall(good_request())
        sock.shutdown(socket.SHUT_WR)
        assert read_reply(stream).status == 200
    assert_well(server)


def test_http_1_0(server):
    raw = f"POST /filter HTTP/1.0\r\nContent-Length: {len(BODY)}\r\n\r\n".encode() + BODY
    reply, closed = exchange(server, raw)
    assert reply.status == 200
    assert closed


# --- the end ---


def test_sigterm_lets_requests_finish(start_logged, berth_path):
    """On SIGTERM berth answers requests in progress, closes idle connections and rejects new ones. It ends
    right after that, not only at the timeout."""
    only_berth(berth_path)
    server = start_logged()
    body = BODY.ljust(200_000)
    with contextlib.ExitStack() as stack:
        idle = stack.enter_context(connect(server))
        idle_stream = stack.enter_context(idle.makefile("rb"))
        idle.sendall(good_request())
        assert read_reply(idle_stream).status == 200
        busy = stack.enter_context(connect(server))
        busy_stream = stack.enter_context(busy.makefile("rb"))
        busy.sendall(head(f"Content-Length: {len(body)}") + body[:100_000])
        wait_until_held(server, 100_000)

        server.proc.send_signal(signal.SIGTERM)
        wait_until(lambda: not takes_requests(server), "new connections to be closed")
        busy.sendall(body[100_000:])
        reply = read_reply(busy_stream)
        assert reply.status == 200
        assert reply.headers.get("connection", "").lower() == "close"
        assert is_closed(idle)
        assert server.proc.wait(SLACK) == 0
        assert "connections cut" not in server.log.read_text()


def takes_requests(server):
    try:
        return ask_well(server) is not None
    except OSError:
        return False


def test_sigterm_with_clients_that_stay(start_berth, berth_path):
    """berth does not wait for the deadlines of clients that do not finish their requests."""
    only_berth(berth_path)
    server = start_berth("--body-grace", 600, "--header-timeout", 600)
    with contextlib.ExitStack() as stack:
        for raw in (b"", b"POST /fil", head("Content-Length: 1000") + b"{"):
            sock = stack.enter_context(connect(server))
            sock.sendall(raw)
        wait_until(lambda: metrics(server)["berth_connections"] == 4, "them and us")
        assert server.stop() == 0


def test_busy_clients_lose_nothing_at_sigterm(start_berth):
    """With clients that reconnect after Connection: close, every sent request is answered."""
    server = start_berth()
    stop = threading.Event()
    lost, answered = [], []

    def client():
        while not stop.is_set():
            try:
                sock = connect(server)
            except OSError:
                return
            with sock, sock.makefile("rb") as stream:
                for i in range(1000):
                    try:
                        sock.sendall(good_request())
                        reply = read_reply(stream)
                    except OSError:
                        reply = None
                    if reply is None:
                        if i > 0:  # a queued connection may be rejected
                            lost.append(i)
                        return
                    answered.append(i)
                    if reply.headers.get("connection", "").lower() == "close":
                        break

    threads = [threading.Thread(target=client) for _ in range(4)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(answered) > 100, "replies")
    assert server.stop() == 0
    stop.set()
    for thread in threads:
        thread.join()
    assert lost == []
