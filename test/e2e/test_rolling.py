"""Two berths behind a Service are restarted alternately under load, and no request fails."""

import re
import signal
import threading
import time

import pytest
from authority import Authority
from balancer import Balancer
from cluster import get_health
from nodemode import Live
from objects import make_extender, make_pod
from process import pick_port
from waiting import wait_for

POLICY = """
filters:
  - {name: pool, nodeLabels: {pool: blue}, reason: node is not in the pool}
scores:
  - {name: pack, binPack: {cpu: 1}}
"""
PODS_PER_SECOND = 20
DELAY = 3  # seconds; the balancer needs one
DOWN = 0.5  # seconds before the next one starts


class Arrivals:
    """Creates pods steadily, from a thread with its own connection."""

    def __init__(self, cluster):
        self.api, self.path = cluster.plane.connect("admin", "system:masters"), cluster.pods_path
        self.n, self.is_ending = 0, False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.is_ending:
            self.api.create(self.path, make_pod(f"pod-{self.n}", cpu="10m"))
            self.n += 1
            time.sleep(1 / PODS_PER_SECOND)

    def end(self):
        """Ends it and returns the number of created pods."""
        self.is_ending = True
        self.thread.join()
        self.api.close()
        return self.n


class Replicas:
    """Two berths over mutual TLS, and a kube-scheduler that only calls the Service."""

    def __init__(self, cluster, delay):
        self.cluster, self.processes, self.all = cluster, {}, []
        authority = Authority(cluster.folder / "ca", "rolling")
        server, client = authority.issue_server(), authority.issue_client("system:kube-scheduler")
        self.flags = [
            *Live().flags(cluster), "--policy", cluster.write_policy(POLICY),
            "--tls-cert", server.certificate, "--tls-key", server.key,
            "--client-ca", authority.certificate, "--drain-delay", delay, "--log-level", "debug",
        ]  # fmt: skip
        self.ports = [pick_port(), pick_port()]
        for port in self.ports:
            self.start(port)
        self.balancer = Balancer(self.ports, self.is_ready)
        self.wait_ready(*self.ports)
        tls = {
            "caFile": str(authority.certificate),
            "certFile": str(client.certificate),
            "keyFile": str(client.key),
        }
        url = f"https://127.0.0.1:{self.balancer.port}"
        cluster.start_scheduler(make_extender(url, enableHTTPS=True, tlsConfig=tls))

    def start(self, port):
        self.processes[port] = self.cluster.start_berth(*self.flags, port=port)
        self.all.append(self.processes[port])

    def is_ready(self, port):
        """Checks readiness like a kubelet."""
        try:
            return get_health(self.processes[port])[0] == 200
        except OSError:
            return False

    def wait_ready(self, *ports):
        wait_for("endpoints", lambda: self.balancer.ready, lambda ready: ready >= set(ports))

    def restart(self, port):
        """Restarts a berth. Existing connections stay until it closes them, and new ones arrive."""
        self.balancer.favourite = port
        time.sleep(0.2)
        assert self.processes[port].stop() == 0
        time.sleep(DOWN)
        self.start(port)
        self.wait_ready(port)

    def count(self, verb):
        """The number of answered requests, of all berths so far."""
        logs = "".join(each.log.read_text() for each in self.all)
        return len(re.findall(rf"verb={verb} ", logs))

    def failures(self):
        path = f"/api/v1/namespaces/{self.cluster.namespace}/events"
        found = self.cluster.api.get(path, fieldSelector="reason=FailedScheduling")["items"]
        return [each["message"] for each in found]


@pytest.fixture
def start(cluster):
    for i in range(8):
        cluster.add_node(f"node-{i}", {"pool": "blue"})
    started = []

    def start(delay):
        started.append(Replicas(cluster, delay))
        return started[0]

    yield start
    started[0].balancer.stop()
    for process in started[0].processes.values():
        process.popen.send_signal(signal.SIGTERM)  # another one ends the delay


def test_restarts_in_turns(cluster, start):
    replicas = start(DELAY)
    arrivals = Arrivals(cluster)
    for port in replicas.ports * 2:
        replicas.restart(port)
    n = arrivals.end()
    cluster.wait_places(n)
    print(f"\nmeasured: {n} pods, {len(replicas.all) - 2} restarts, no request failed")
    assert replicas.failures() == []
    assert replicas.balancer.n_refused == 0
    # No pod was retried, and no prioritize call was lost, which kube-scheduler would not report.
    wait_for(
        "all requests in the logs",
        lambda: (replicas.count("filter"), replicas.count("prioritize")),
        lambda seen: seen == (n, n),
    )


def test_without_the_delay_requests_fail(cluster, start):
    """A precondition of the scenario before."""
    replicas = start(0)
    arrivals = Arrivals(cluster)

    def look():
        # The balancer may by chance check right after one has ended; then no connection is refused.
        replicas.restart(replicas.ports[0])
        return replicas.balancer.n_refused

    wait_for("a connection to be refused", look)
    cluster.wait_places(arrivals.end())
    wait_for("an Event about it", replicas.failures)
