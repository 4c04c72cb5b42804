"""Usage of nodes and pods from metrics.k8s.io is available, missing, forbidden, invalid, and available
again."""

import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

import faults
import pytest
from apistate import NODES, PODS
from client import wait_until
from live import node, pod

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

from prometheus import find_metric  # noqa: E402

VERSION = "metrics.k8s.io/v1beta1"
OF_NODES, OF_PODS = f"/apis/{VERSION}/nodes", f"/apis/{VERSION}/pods"
READ = [f"{verb} {resource}" for verb in ("get", "list", "watch") for resource in ("nodes", "pods")]
NAMES = ["n1", "n2", "n3"]
POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: usage}
spec:
  metrics:
    - {name: used, resourceMetrics: cpu, interval: 1s, maxAge: 2s, placements: none}
    - name: memory
      resourceMetrics: memory
      pods: {aggregate: max, workload: max}
      interval: 1s
      maxAge: 2s
  filters:
    - name: idle
      expression: metrics.used < 4.0
      reason: node is busy
      onMissing: reject
    - name: heavy
      expression: "workload.metrics.memory < 1000.0 * 1024.0 * 1024.0 || metrics.used < 1.0"
      reason: the pod is heavy, and the node is not idle
      onMissing: allow
"""


def now():
    return datetime.fromtimestamp(time.time(), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def make_list(kind, items):
    return {"kind": f"{kind}MetricsList", "apiVersion": VERSION, "metadata": {}, "items": items}


def set_nodes(server, **cpus):
    server.documents[OF_NODES] = make_list(
        "Node",
        [
            {
                "metadata": {"name": name},
                "timestamp": now(),
                "window": "20s",
                "usage": {"cpu": cpu, "memory": "1Gi"},
            }
            for name, cpu in cpus.items()
        ],
    )


def set_pods(server, **memories):
    """Sets the usage of pods with two containers each."""
    server.documents[OF_PODS] = make_list(
        "Pod",
        [
            {
                "metadata": {"name": name, "namespace": "default"},
                "timestamp": now(),
                "window": "20s",
                "containers": [
                    {"name": f"c{i}", "usage": {"cpu": "1m", "memory": memory}}
                    for i, memory in enumerate(both)
                ],
            }
            for name, both in memories.items()
        ],
    )


def owned(name, **fields):
    owner = {"kind": "StatefulSet", "apiVersion": "apps/v1", "name": "db", "uid": "db"}
    return pod(name, ownerReferences=[{**owner, "controller": True}], **fields)


def start(server, start_live, folder):
    for name in NAMES:
        server.state.put(NODES, node(name))
    server.state.put(PODS, owned("db-0", on="n1"))
    path = folder / "usage.yaml"
    path.write_text(POLICY)
    return start_live("--policy", path)


def wait_passed(berth, names, of=None):
    def passed():
        return berth.filter(NAMES, of).json()["NodeNames"]

    wait_until(lambda: passed() == names, f"only {names} to pass")


def test_usage_decides(server, start_live, tmp_path):
    set_nodes(server, n1="3900m", n2="4100000000n", n3="500000u")
    set_pods(server, **{"db-0": ("600Mi", "600Mi")})
    berth = start(server, start_live, tmp_path)
    wait_passed(berth, ["n1", "n3"])
    wait_passed(berth, ["n3"], owned("db-1"))  # pods of the same workload use 1200 MiB
    set_nodes(server, n1="5", n2="1", n3="4")
    wait_passed(berth, ["n2"])
    # One list has cpu and memory.
    assert find_metric(berth, "used")["nodes"] == {"covered": 3, "of": 3}
    assert find_metric(berth, "memory")["workloads"] == 1


def test_no_metrics_server_yet(server, start_live, tmp_path):
    berth = start(server, start_live, tmp_path)
    wait_until(lambda: "metrics-server" in find_metric(berth, "used")["error"], "the reason")
    assert find_metric(berth, "used")["state"] == "failing"
    wait_passed(berth, [])
    assert berth.is_ready()
    set_nodes(server, n1="100m", n2="6")
    wait_passed(berth, ["n1"])


def fails(server):
    return server.script(faults.fail(503), f"get {OF_NODES}", times=None).cancel


def is_forbidden(server):
    server.allow_only(*READ)
    return lambda: server.allow_only(*READ, f"get {OF_NODES}")


def sends_nonsense(server):
    table = faults.say(b'{"kind":"Table","rows":[]}')
    return server.script(table, f"get {OF_NODES}", times=None).cancel


OUTAGES = {
    "unavailable": (fails, "503"),
    "forbidden": (is_forbidden, "right"),
    "nonsense": (sends_nonsense, " "),
}


def come_and_go(server, start_live, name):
    begin, error = OUTAGES[name]
    set_nodes(server, n1="100m", n2="6", n3="6")
    server.allow_only(*READ, f"get {OF_NODES}", f"get {OF_PODS}")
    with tempfile.TemporaryDirectory() as folder:
        berth = start(server, start_live, Path(folder))
        wait_passed(berth, ["n1"])
        end = begin(server)
        wait_passed(berth, [])
        assert error in find_metric(berth, "used")["error"]
        end()
        wait_passed(berth, ["n1"])
        server.state.put(NODES, node("n4"))
        berth.wait_true(server)


@pytest.mark.parametrize("name", OUTAGES)
def test_metrics_api_comes_and_goes(together, name):
    """berth decides meanwhile, and continues to watch nodes and pods."""
    together(come_and_go)
