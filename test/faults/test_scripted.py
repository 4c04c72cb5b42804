"""Checks that every scripted fault has an effect, because a test with an ineffective fault proves nothing."""

import contextlib
import gzip
import http.client
import json
import socket
import time
import zlib

import faults
import pytest
from apistate import NODES, PODS
from client import wait_until
from live import fill, node, pod

SLACK = 10


def open_to(server, seconds=SLACK):
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=seconds)


def fetch(server, path="/api/v1/nodes", seconds=SLACK):
    with contextlib.closing(open_to(server, seconds)) as connection:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.headers, response.read()


def watch_lines(server, n, path="/api/v1/nodes?watch=1&resourceVersion=%d", during=lambda: None):
    """The first @n lines of a watch; fewer if it ends earlier."""
    with contextlib.closing(open_to(server)) as connection:
        connection.request("GET", path % server.state.number if "%d" in path else path)
        response = connection.getresponse()
        during()
        return [response.readline() for _ in range(n)]


def test_reconnects_after_connection_refused(server):
    server.refuse()
    with pytest.raises(ConnectionRefusedError):
        fetch(server)
    server.listen()
    assert fetch(server)[0] == 200


def test_frozen(server):
    server.freeze()
    with pytest.raises(TimeoutError):
        fetch(server, seconds=0.5)
    server.thaw()
    assert fetch(server)[0] == 200


@pytest.mark.parametrize("how, seen", [("close", b""), ("reset", ConnectionResetError)])
def test_killed(server, how, seen):
    with socket.create_connection(("127.0.0.1", server.port), timeout=SLACK) as sock:
        sock.sendall(b"GET /api/v1/nodes?watch=1 HTTP/1.1\r\nHost: a\r\n\r\n")
        assert sock.recv(4096)
        server.kill(how)
        with pytest.raises(seen) if seen else contextlib.nullcontext():
            while sock.recv(4096):
                pass


def test_status(server):
    server.script(faults.throttle(7), "list nodes")
    status, headers, body = fetch(server)
    assert (status, headers["Retry-After"]) == (429, "7")
    assert json.loads(body)["details"]["retryAfterSeconds"] == 7
    assert fetch(server)[0] == 200


def test_scripts_choose_their_requests(server):
    script = server.script(faults.fail(500), "list pods", times=2, skip=1)
    fine, failed = 200, 500
    assert fetch(server)[0] == fine
    statuses = [fetch(server, "/api/v1/pods")[0] for _ in range(4)]
    assert statuses == [fine, failed, failed, fine]
    assert script.n_hits == 2
    endless = server.script(faults.fail(500), times=None)
    assert [fetch(server)[0] for _ in range(3)] == [failed] * 3
    endless.cancel()
    assert fetch(server)[0] == fine


@pytest.mark.parametrize("n_bytes", [0, 10, 80, 200])
def test_cut(server, n_bytes):
    fill(server)
    server.script(faults.cut_after(n_bytes))
    with socket.create_connection(("127.0.0.1", server.port), timeout=SLACK) as sock:
        sock.sendall(b"GET /api/v1/nodes HTTP/1.1\r\nHost: a\r\n\r\n")
        data = b""
        while piece := sock.recv(4096):
            data += piece
    assert len(data) == n_bytes


def test_slow(server):
    server.script(faults.at_rate(100))
    with pytest.raises(TimeoutError):
        fetch(server, seconds=0.05)
    server.script(faults.after(0.5))
    begin = time.monotonic()
    assert fetch(server)[0] == 200
    assert time.monotonic() - begin >= 0.5


def test_gzip(server):
    fill(server)
    _, _, plain = fetch(server)
    server.script(faults.zipped)
    _, headers, body = fetch(server)
    assert headers["Content-Encoding"] == "gzip"
    assert zlib.decompressobj(wbits=31).decompress(body) == plain
    server.script(faults.zipped)
    _, headers, body = fetch(server, "/api/v1/nodes/n-0001")
    assert headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(body))["kind"] == "Node"


@pytest.mark.parametrize("ending", ["half", "cut"])
def test_streams_that_break_off(server, ending):
    server.script(faults.stream(b"some", ending=ending))
    with pytest.raises(http.client.IncompleteRead):
        fetch(server)


def test_expired_in_two_ways(server):
    server.script(faults.expired)
    assert fetch(server)[0] == 410
    server.script(faults.expired_in_stream)
    status, _, body = fetch(server)
    assert (status, json.loads(body)["object"]["code"]) == (200, 410)


def test_pushed(server):
    def push():
        server.push("nodes", b"anything\n")
        server.push_event("nodes", "DELETED", node("never-was"))
        server.state.put(NODES, node("is"))
        server.push_error("nodes", faults.EXPIRED)

    lines = watch_lines(server, 5, during=push)
    assert lines[0] == b"anything\n"
    assert [json.loads(line)["type"] for line in lines[1:4]] == ["DELETED", "ADDED", "ERROR"]
    assert lines[4] == b""


def test_bookmarks(server):
    server.bookmark_seconds = 0.1
    lines = watch_lines(server, 2, "/api/v1/pods?watch=1&allowWatchBookmarks=true")
    assert [json.loads(line)["type"] for line in lines] == ["BOOKMARK", "BOOKMARK"]


def test_no_bookmarks_without_request(server):
    server.bookmark_seconds = 0.1

    def change():
        time.sleep(0.5)
        server.state.put(PODS, pod("p"))

    lines = watch_lines(server, 1, "/api/v1/pods?watch=1&resourceVersion=%d", during=change)
    assert json.loads(lines[0])["type"] == "ADDED"


@pytest.mark.parametrize(
    "ending", [faults.end_half_chunk, faults.end_without_last_chunk, faults.end_with_reset]
)
def test_watches_that_break_off(server, ending):
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        with contextlib.closing(open_to(server)) as connection:
            connection.request("GET", "/api/v1/nodes?watch=1")
            response = connection.getresponse()
            server.end_watches(ending=ending)
            response.read()


def test_forbidden_calls_are_recorded(server):
    server.allow_only("list nodes")
    assert fetch(server)[0] == 200
    assert fetch(server, "/api/v1/pods")[0] == 403
    assert [request.what for request in server.denied] == ["list pods"]


def test_closed_clients_are_noticed(server):
    connection = open_to(server)
    connection.request("GET", "/api/v1/nodes?watch=1")
    connection.getresponse()
    assert len(server.open_watches("nodes")) == 1
    connection.close()
    wait_until(lambda: not server.open_watches("nodes"), "the end of the watch")
