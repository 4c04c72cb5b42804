"""The event stream: updates at most once a second, until the client or berth ends it."""

import contextlib
import json
import signal
import socket
import time

from client import PATIENCE, get, open_connection, pages_of, post, wait_until
from test_pages import SECRET, authority, bearer, tls, token_file  # noqa: F401

PATH = "/api/v1/events"
STREAMS_MAX = 16
FILTER = {
    "Pod": {"metadata": {"namespace": "shop", "name": "web-1", "uid": "u"}},
    "Nodes": {"items": [{"metadata": {"name": "n1"}}, {"metadata": {"name": "n2"}}]},
}


class Stream:
    """A minimal EventSource."""

    def __init__(self, berth, headers=(), context=None):
        self.connection = open_connection(berth, context)
        self.connection.request("GET", PATH, headers=dict(headers))
        self.response = self.connection.getresponse()

    def read(self):
        """The fields of the next event; None: the stream has ended."""
        event = {}
        for line in iter(self.response.readline, b""):
            if line == b"\n":
                return event
            name, _, value = line.decode().rstrip("\n").partition(": ")
            assert name not in event
            event[name] = value
        return None

    def update(self):
        event = self.read()
        while event.keys() == {"retry"}:
            event = self.read()
        assert list(event) == ["event", "id", "data"] and event["event"] == "update"
        return {**json.loads(event["data"]), "number": int(event["id"])}

    def close(self):
        self.response.close()  # the response has the socket, because no other request follows
        self.connection.close()


@contextlib.contextmanager
def listening(berth, **options):
    stream = Stream(berth, **options)
    try:
        yield stream
    finally:
        stream.close()


def test_streams_updates(start_berth):
    berth = start_berth()
    before = time.monotonic()
    with listening(berth) as stream:
        assert stream.response.status == 200
        assert stream.response.headers["Content-Type"] == "text/event-stream"
        assert stream.response.headers["Cache-Control"] == "no-store"
        first = stream.update()
        assert first["sentence"]["health"] == "healthy" and first["sentence"]["reasons"] == []
        assert first["requests"] == {"filter": 0, "prioritize": 0, "preempt": 0, "bind": 0}
        assert first["decisions"] == [] and first["newest"] == 0
        assert len(first["policyDigest"]) == 12
        for key in ("errorRate", "p99Seconds", "clusterAgeSeconds", "metricsAgeSeconds", "nodes"):
            assert key in first
        assert first["waiting"] == first["bypassed"] == first["rejectedNodes"] == 0
        post(berth, "filter", FILTER)
        second = stream.update()
        while second["newest"] == 0:
            second = stream.update()
        (decision,) = second["decisions"]
        assert decision["id"] == second["newest"] == 1
        assert (decision["verb"], decision["namespace"], decision["name"]) == (
            "filter", "shop", "web-1",
        )  # fmt: skip
        assert decision["asked"] == decision["passed"] == 2
        assert second["requests"]["filter"] == 1
        third = stream.update()
        assert third["decisions"] == [] and third["newest"] == 1
        # At most one per second, independent of delays to this client.
        assert third["number"] - first["number"] <= time.monotonic() - before + 1


def test_many_decisions(start_berth):
    """An update has at most the 20 newest decisions, newest first; clients can request the others."""
    berth = start_berth()
    with listening(berth) as stream:
        stream.update()
        for _ in range(45):
            post(berth, "filter", FILTER)
        newest = before = 0
        while newest < 45:
            update = stream.update()
            ids = [decision["id"] for decision in update["decisions"]]
            newest = update["newest"]
            assert ids == list(range(newest, max(before, newest - 20), -1))
            before = newest


def test_all_clients_receive_the_same_updates(start_berth):
    berth = start_berth()
    with listening(berth) as one, listening(berth) as other:
        mine, yours = one.update(), other.update()
        while mine["number"] < yours["number"]:
            mine = one.update()
        while yours["number"] < mine["number"]:
            yours = other.update()
        assert mine == yours


def test_it_ends_with_berth(start_berth):
    berth = start_berth("--pages-listen", "127.0.0.1:0")
    with listening(berth) as one, listening(pages_of(berth)) as other:
        one.update()
        other.update()
        berth.proc.send_signal(signal.SIGTERM)
        for stream in (one, other):
            while stream.read():
                pass
        assert berth.proc.wait(PATIENCE) == 0


def test_limits_the_number_of_streams(start_berth):
    berth = start_berth()
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(listening(berth)) for _ in range(STREAMS_MAX)]
        assert {stream.response.status for stream in streams} == {200}
        reply = get(berth, PATH)
        assert reply.status == 503 and reply.headers["Retry-After"] == "1"
        assert get(berth, "/metrics").status == 200

    def there_is_room():  # berth notices with the next update that they have gone
        with listening(berth) as stream:
            return stream.response.status == 200

    wait_until(there_is_room, "room for one more")


def test_slow_reader_does_not_block_others(start_berth):
    berth = start_berth()
    with socket.socket() as deaf, listening(berth) as stream:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        deaf.connect((berth.host, berth.port))
        deaf.sendall(f"GET {PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        stream.update()
        assert stream.update()["number"] > 1
        assert post(berth, "filter", FILTER).status == 200


def test_over_tls_with_the_token(start_berth, authority, tls, token_file):  # noqa: F811
    berth = start_berth(
        *tls, "--pages-listen", "127.0.0.1:0", "--pages-token-file", token_file
    )
    pages = pages_of(berth)
    context = authority.context()
    with listening(pages, context=context) as stream:
        assert stream.response.status == 401
    with listening(pages, headers=bearer(SECRET), context=context) as stream:
        assert stream.update()["number"] < stream.update()["number"]
