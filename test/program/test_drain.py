"""Shutdown: --drain-delay, and a rolling restart of two berths under load."""

import http.client
import json
import select
import signal
import subprocess
import threading
import time

import pytest

from client import PATIENCE, get, open_connection, pages_of, post, wait_until

BODY = {"Pod": {"metadata": {"name": "p"}}, "Nodes": {"items": [{"metadata": {"name": "n1"}}]}}
POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: all}
spec: {filters: [{name: all, expression: 'true', reason: none}]}
"""
CLIENTS = 4
RATE = 50  # requests per second of each caller
LAG = 0.3  # seconds until endpoints reflect readiness


def test_drain_turns_unready_and_still_answers(start_berth):
    berth = start_berth("--drain-delay", 300, "--pages-listen", "127.0.0.1:0")
    pages = pages_of(berth)
    kept = open_connection(berth)
    assert post(berth, "filter", BODY, connection=kept).headers["Connection"] != "close"
    idle = open_connection(berth)
    idle.connect()
    berth.proc.send_signal(signal.SIGTERM)
    wait_until(lambda: get(berth, "/readyz").status == 500, "readiness to go")
    for listener in (berth, pages):
        assert "[-]shutdown failed: draining" in get(listener, "/readyz").text
        assert get(listener, "/livez").status == 200
        assert get(listener, "/metrics").headers["Connection"] == "close"
    reply = post(berth, "filter", BODY, connection=kept)  # the reply was complete
    assert reply.status == 200 and reply.headers["Connection"] == "close"
    reply = post(berth, "filter", BODY, connection=idle)  # and so was this one
    assert reply.status == 200 and reply.headers["Connection"] == "close"
    assert post(berth, "filter", BODY).status == 200  # and new connections are accepted
    berth.proc.send_signal(signal.SIGTERM)


def test_it_ends_by_itself_when_the_delay_is_over(start_berth):
    berth = start_berth("--drain-delay", 2)
    begin = time.monotonic()
    berth.proc.send_signal(signal.SIGTERM)
    assert berth.proc.wait(PATIENCE) == 0
    assert time.monotonic() - begin > 1.9  # not earlier, also on a busy machine


@pytest.mark.parametrize("again", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_the_delay(start_berth, again):
    berth = start_berth("--drain-delay", 300)
    berth.proc.send_signal(signal.SIGTERM)
    wait_until(lambda: get(berth, "/readyz").status == 500, "readiness to go")
    berth.proc.send_signal(again)
    assert berth.proc.wait(PATIENCE) == 0


def test_files_are_still_followed(start_berth, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    berth = start_berth("--drain-delay", 300, "--policy", policy)
    berth.proc.send_signal(signal.SIGTERM)
    wait_until(lambda: get(berth, "/readyz").status == 500, "readiness to go")
    policy.write_text("nonsense: 1\n")
    wait_until(lambda: "was rejected" in get(berth, "/readyz?verbose").text, "the reload")
    berth.proc.send_signal(signal.SIGTERM)


@pytest.mark.parametrize("value", ["301", "-1", "x"])
def test_rejects_invalid_drain_delays(berth_path, value):
    done = subprocess.run(
        [berth_path, "serve", "--drain-delay", value], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 2 and "drain-delay" in done.stderr


# --- a rolling restart ---


class Endpoints:
    """The ready berths as a Service knows them, with a delay."""

    def __init__(self, berths):
        self.berths = list(berths)
        self.ready = list(berths)
        self.n_taken = 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.follow)
        self.thread.start()

    def follow(self):
        while not self.is_over.wait(LAG):
            self.ready = [berth for berth in self.berths if is_ready(berth)] or self.ready

    def take(self):
        self.n_taken += 1
        ready = self.ready
        return ready[self.n_taken % len(ready)]

    def stop(self):
        self.is_over.set()
        self.thread.join()


def is_ready(berth):
    try:
        return get(berth, "/readyz").status == 200
    except (OSError, http.client.HTTPException):
        return False


class Caller(threading.Thread):
    """A client like kube-scheduler's: it keeps a connection until the server announces its end, or it is
    closed before the next request; it never sends a request twice."""

    def __init__(self, endpoints, pause):
        super().__init__()
        self.endpoints, self.pause = endpoints, pause
        self.connection = None
        self.failures, self.n_fine = [], 0
        self.is_over = threading.Event()

    def connect(self):
        if self.connection and select.select([self.connection.sock], [], [], 0)[0]:
            self.connection.close()  # no reply is expected, so this is the end of the connection
            self.connection = None
        if not self.connection:
            self.connection = open_connection(self.endpoints.take())
            self.connection.connect()

    def call(self):
        self.connect()
        self.connection.request("POST", "/filter", json.dumps(BODY))
        reply = self.connection.getresponse()
        reply.read()
        assert reply.status == 200
        if reply.will_close:
            self.connection.close()
            self.connection = None

    def run(self):
        while not self.is_over.wait(self.pause):
            try:
                self.call()
                self.n_fine += 1
            except Exception as problem:  # any error means that the request is lost
                self.failures.append(repr(problem))
                self.connection = None
        if self.connection:
            self.connection.close()


def restart(berth, start, endpoints, flags):
    """Restarts on the same port, because a Service has a fixed address."""
    berth.proc.send_signal(signal.SIGTERM)
    assert berth.proc.wait(PATIENCE) == 0
    new = start("--listen", f"{berth.host}:{berth.port}", *flags)
    endpoints.berths[endpoints.berths.index(berth)] = new
    wait_until(lambda: new in endpoints.ready, "the new one to be asked")


def test_a_rolling_restart_loses_no_request(start_berth):
    flags = ["--drain-delay", 4]  # much more than LAG: too short only on a very busy machine
    endpoints = Endpoints([start_berth(*flags), start_berth(*flags)])
    callers = [Caller(endpoints, 1 / RATE) for _ in range(CLIENTS)]
    callers += [Caller(endpoints, pause) for pause in (0.7, 1.1, 3.0)]  # and some idle connections
    for caller in callers:
        caller.start()
    try:
        for berth in list(endpoints.berths):
            restart(berth, start_berth, endpoints, flags)
    finally:
        for caller in callers:
            caller.is_over.set()
        for caller in callers:
            caller.join()
        endpoints.stop()
    for berth in endpoints.berths:
        berth.proc.send_signal(signal.SIGTERM)  # the next SIGTERM, at the end of the test, ends the delay
    assert [caller.failures for caller in callers] == [[] for _ in callers]
    assert sum(caller.n_fine for caller in callers) > 200
