"""--deadline: a request with slow policies is answered in time, as their onTimeout declares."""

import subprocess

import pytest

from client import PATIENCE, USAGE, get, post, write_cluster

NODES = 2000
LATE = "berth ran out of time to judge the node"

# Compares every pair of labels of a node, combined with the pod's name, so that nothing can be precomputed.
SLOW = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: slow}
spec:
  onTimeout: %s
  filters:
    - {name: known, nodeLabels: {l0: x}, reason: known beforehand}
    - name: slow
      expression: "!node.metadata.labels.exists(a, node.metadata.labels.exists(b, a + b == pod.metadata.name))"
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    labels = {f"l{i}": "x" for i in range(40)}
    nodes = [{"metadata": {"name": f"n{i}", "labels": labels if i else {}}} for i in range(NODES)]
    return write_cluster(tmp_path_factory.mktemp("deadline") / "cluster.json", nodes)


def ask(start_berth, tmp_path, cluster, on_timeout, deadline):
    policy = tmp_path / "policy.yaml"
    policy.write_text(SLOW % on_timeout)
    berth = start_berth("--policy", policy, "--cluster", cluster, "--deadline", deadline)
    pod = {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {}}
    reply = post(berth, "filter", {"Pod": pod, "NodeNames": [f"n{i}" for i in range(NODES)]}).json()
    slots = get(berth, "/api/v1/latency").json()["slots"]  # late nodes are not rejected by a rule
    n_rejected = sum(reason != LATE for reason in reply["FailedNodes"].values())
    assert [slot["rejected"] for slot in slots] == [n_rejected]
    return reply


def test_late_nodes_are_rejected(start_berth, tmp_path, cluster):
    reply = ask(start_berth, tmp_path, cluster, "reject", "1ms")
    late = [name for name, reason in reply["FailedNodes"].items() if reason == LATE]
    assert late and "n0" not in late
    assert reply["FailedNodes"]["n0"] == "known beforehand"
    assert len(reply["NodeNames"]) + len(reply["FailedNodes"]) == NODES


def test_late_nodes_are_allowed(start_berth, tmp_path, cluster):
    reply = ask(start_berth, tmp_path, cluster, "allow", "1ms")
    assert len(reply["NodeNames"]) == NODES - 1
    assert reply["FailedNodes"] == {"n0": "known beforehand"}


def test_nothing_is_late_before_the_deadline(start_berth, tmp_path, cluster):
    reply = ask(start_berth, tmp_path, cluster, "reject", "60s")
    assert len(reply["NodeNames"]) == NODES - 1
    assert reply["FailedNodes"] == {"n0": "known beforehand"}


@pytest.mark.parametrize("value", ["0", "5", "-1s", "999us", "61s", "soon", ""])
def test_values_that_are_no_deadline_are_refused(berth_path, value):
    done = subprocess.run([berth_path, "serve", "--deadline", value], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    assert done.returncode == USAGE and done.stdout == ""
    assert f"--deadline {value}: expected a duration like 100ms, from 0.001s to 60s" in done.stderr
