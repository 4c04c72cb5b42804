"""The API server vanishes without closing its connections. F6.

With the scripted API server of test/faults. It is here because it takes a minute: it measures the documented
time after which berth notices.
"""

import contextlib
import pathlib
import re
import shutil
import signal
import socket
import sys
import threading
import time

import pytest
from network import FAR, make_cable

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "faults"))

from apiserver import ApiServer  # noqa: E402
from apistate import NODES, PODS  # noqa: E402
from client import get, wait_until  # noqa: E402
from live import POLICY, Live, fill, node, pod  # noqa: E402

NOTICED_WITHIN = 45  # seconds, as in docs/flags.md
BUSY = 15  # more, for a busy machine
RESOURCES = ("nodes", "pods")


class FarServer(ApiServer):
    """Listens at the far end of a link."""

    def __init__(self, cable):
        self.cable = cable
        super().__init__()
        self.url = f"http://{FAR}:{self.port}"

    def listen(self):
        with self.cable.far.entered():
            self.listener = socket.create_server((FAR, self.port), backlog=64)
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()


@pytest.fixture
def cable():
    if not shutil.which("ip"):
        pytest.skip("needs the program ip, of the package iproute2")
    with contextlib.ExitStack() as stack:
        try:
            cable = stack.enter_context(make_cable())
        except PermissionError as error:
            pytest.skip(f"needs root, to make network namespaces ({error})")
        yield cable


@pytest.fixture
def server(cable):
    server = FarServer(cable)
    yield server
    server.stop()


@pytest.fixture
def near(cable):
    """Runs the test and its processes at the near end of the link."""
    with cable.near.entered():
        yield


@pytest.fixture
def berth(near, server, berth_path, tmp_path, monkeypatch):
    # Like Ctrl-C, so that fixtures end the processes.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    monkeypatch.setenv("NO_PROXY", FAR)
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    fill(server)
    kubeconfig = server.write_kubeconfig(tmp_path / "kubeconfig")
    berth = Live(berth_path, tmp_path / "berth", kubeconfig, ["--policy", policy])
    try:
        wait_until(berth.is_ready, "berth to be ready")
        yield berth
    finally:
        is_well = berth.stop()
    assert is_well, "berth did not end well:\n" + berth.tail(40)


def change(server, step):
    server.state.put(NODES, node(f"new-{step}"))
    server.state.put(PODS, pod(f"new-{step}", on="n-0002", cpu="1"))
    server.state.delete(PODS, f"default/p-{step:04}-1", grace=0)


def ask_until(is_over, berth, names, answer):
    """Sends filter requests meanwhile; every reply must be exactly @answer."""
    while not is_over():
        reply = berth.filter(names)
        assert (reply.status, reply.body) == (200, answer.body)
        time.sleep(0.1)


def measure_notice(berth, names, answer, since):
    """{resource: seconds from @since until berth reported that it is disconnected}"""
    noticed = {}

    def is_over():
        seconds = time.monotonic() - since
        for resource in RESOURCES:
            if not berth.is_connected(resource):
                noticed.setdefault(resource, seconds)
        assert seconds <= NOTICED_WITHIN + BUSY, f"only {noticed}\n{berth.tail()}"
        return len(noticed) == len(RESOURCES)

    ask_until(is_over, berth, names, answer)
    return noticed


def wait_for_tries(berth, names, answer):
    def count():
        return [berth.figure("berth_cluster_failures_total", resource) for resource in RESOURCES]

    before = count()
    ask_until(lambda: all(n > m for n, m in zip(count(), before)), berth, names, answer)


def health_summary(berth):
    """The health in the header of the dashboard: "healthy" or "degraded because …"."""
    page = get(berth, "/", headers={"Accept": "text/html"})
    return re.search(r'class="health-summary [^>]*>(.*?)</p>', page.text, re.S)[1]


def test_a_vanished_api_server_is_noticed(cable, server, berth, capsys):
    names = [*server.state.objects["nodes"], "new-0", "new-1", "new-2"]
    # Both connections have just received data, so detection takes longest from here.
    change(server, 0)
    berth.wait_true(server)
    answer = berth.filter(names)
    ports = cable.open_ports()
    assert len(ports) >= len(RESOURCES)

    since = time.monotonic()
    cable.cut()
    change(server, 1)  # sent, and lost on the way
    noticed = measure_notice(berth, names, answer, since)
    with capsys.disabled():
        print("\nnoticed after", *(f"{noticed[name]:.1f} s ({name})" for name in RESOURCES))
    # Because of silence: the log has other texts for the end or reset of a connection.
    assert berth.tail(100).count("Connection timed out") == len(RESOURCES), berth.tail()
    assert not ports & cable.open_ports()
    assert "disconnected" in berth.health()
    assert "degraded because no update from the API server for" in health_summary(berth)
    assert berth.is_ready()  # the last snapshot is good enough

    change(server, 2)
    wait_for_tries(berth, names, answer)
    cable.restore()
    berth.wait_true(server)
    wait_until(berth.is_connected, "berth to say that all is well")
    assert "healthy" in health_summary(berth)
    assert berth.filter(names).body != answer.body
    # The watches continued without a new list.
    for resource in RESOURCES:
        assert len(server.relists(resource)) == 1, server.relists(resource)
        assert server.resumes(resource), server.requests
