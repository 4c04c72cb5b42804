"""The main reason of a decision is that of the nodes closest to eligible; and pods that policies keep pending."""

import json
import os
import subprocess

import pytest

from client import PATIENCE, REPOSITORY, get, metrics, post, wait_until, write_cluster
from dashboard_page import read

BERTH = os.environ.get("BERTH", str(REPOSITORY / "build" / "berth"))

POLICIES = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: gpu}
spec:
  filters:
    - {name: pool, nodeLabels: {pool: gpu}, reason: node is not in the gpu pool}
    - {name: devices, headroom: {nvidia.com/gpu: 0}, reason: node has no free GPU}
---
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: taints}
spec:
  filters:
    - {name: tolerated, tolerations: true, reason: pod does not tolerate the node's taints}
"""

N_GPU, N_OTHERS = 3, 17
NAMES = [f"gpu-{i}" for i in range(N_GPU)] + [f"web-{i}" for i in range(N_OTHERS)]
TEXT = "3 nodes: node has no free GPU · 17 nodes: node is not in the gpu pool"


def node(name):
    is_gpu = name.startswith("gpu")
    offers = {"cpu": "8", "memory": "8Gi", "pods": "110", **({"nvidia.com/gpu": "1"} if is_gpu else {})}
    return {
        "metadata": {"name": name, "labels": {"pool": "gpu" if is_gpu else "web"}},
        "status": {"allocatable": offers, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def used(name):
    spec = {"nodeName": name, "containers": [{"name": "c", "resources": {"requests": {"nvidia.com/gpu": "1"}}}]}
    return {"metadata": {"name": f"on-{name}", "namespace": "ml", "uid": f"on-{name}"}, "spec": spec}


def request(name, amount="1"):
    containers = [{"name": "c", "resources": {"requests": {"nvidia.com/gpu": amount}}}]
    return {
        "Pod": {"metadata": {"namespace": "ml", "name": name, "uid": name}, "spec": {"containers": containers}},
        "NodeNames": NAMES,
    }


@pytest.fixture
def full(start_berth, tmp_path):
    """A berth with a cluster whose GPUs are all used; accepts more flags. A busy machine does not degrade its health."""

    def start(*flags):
        policy, cluster = tmp_path / "policy.yaml", tmp_path / "cluster.json"
        policy.write_text(POLICIES)
        write_cluster(cluster, map(node, NAMES), map(used, NAMES[:N_GPU]))
        return start_berth("--policy", policy, "--cluster", cluster, "--deadline", "30s", *flags)

    return start


def find_reason(berth, pod):
    """Waits for the main reason, which berth computes after the reply."""

    def look():
        (decision,) = get(berth, f"/api/v1/decisions?pod=ml/{pod}&limit=1").json()["decisions"]
        return decision.get("mainReason")

    return wait_until(look, "the main reason")


def test_reason_of_the_closest_nodes(full):
    berth = full()
    reply = post(berth, "filter", request("train")).json()
    grouped = {*reply["FailedNodes"].values()}
    assert grouped == {"node has no free GPU", "node is not in the gpu pool"}  # kube-scheduler's text does not change
    reason = find_reason(berth, "train")
    assert reason["text"] == TEXT
    assert (reason["rule"], reason["nodes"]) == ("devices", N_GPU)
    assert (reason["never"]["rule"], reason["never"]["nodes"]) == ("pool", N_OTHERS)
    for path in ("/", "/pods", "/pods?state=pending"):
        assert TEXT in read(berth, path).main
    suggested = read(berth, "/pod?namespace=ml&name=train").text("suggestions")
    assert "1 more nvidia.com/gpu free on the node: then gpu-" in suggested and "web-" not in suggested


def test_nodes_that_are_too_small_never_take_the_pod(full):
    berth = full()
    post(berth, "filter", request("huge", "2"))
    reason = find_reason(berth, "huge")
    assert reason["rule"] == "devices" and reason["nodes"] == N_GPU
    assert reason["never"]["rule"] == "pool"


def test_top_shows_main_reason_and_health(full):
    berth = full()
    post(berth, "filter", request("train"))
    find_reason(berth, "train")
    command = [BERTH, "top", "--once", "--server", f"http://127.0.0.1:{berth.port}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert "degraded because policies keep 1 pod pending" in done.stdout
    assert "3 nodes: node has no free GPU" in done.stdout


def test_explain_shows_main_reason(full):
    berth = full()
    post(berth, "filter", request("train"))
    find_reason(berth, "train")
    command = [BERTH, "explain", "--last", "ml/train", "--server", f"http://127.0.0.1:{berth.port}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert f"0 of 20 nodes passed\n  main reason: {TEXT}\n" in done.stdout


def test_policy_that_frees_no_node_is_no_blocker(full):
    """Without the pool's rule there would still be no eligible node, because no GPU is free."""
    berth = full()
    post(berth, "filter", request("train"))
    policies = {each["name"]: each for each in get(berth, "/api/v1/policies").json()["policies"]}
    assert policies["gpu"]["onlyBlocker"] == 0


def test_pending_pods_in_metrics_and_health(full):
    berth = full()
    assert metrics(berth)['berth_pending_pods{policy="gpu"}'] == 0
    assert get(berth, "/api/v1/status").json()["health"]["text"] == "healthy"
    for name in ("a", "b", "a"):
        post(berth, "filter", request(name))
    figures = metrics(berth)
    assert figures['berth_pending_pods{policy="gpu"}'] == 2
    assert figures['berth_pending_pods{policy="taints"}'] == 0
    assert figures["berth_no_eligible_node_total"] == 3
    assert figures['berth_policy_no_eligible_node_total{policy="gpu"}'] == 3
    assert figures['berth_policy_no_eligible_node_total{policy="taints"}'] == 0
    assert figures["berth_pending_pod_age_seconds"] >= 0
    health = get(berth, "/api/v1/status").json()["health"]
    assert health == {
        "health": "degraded",
        "text": "degraded because policies keep 2 pods pending",
        "reasons": ["policies keep 2 pods pending"],
    }
    assert read(berth, "/policies").text("health-summary").startswith("‼ berth is " + health["text"] + " Show")


@pytest.mark.parametrize(("limit", "wanted"), [("0", "healthy"), ("3", "healthy"), ("2", "degraded")])
def test_pending_limit(full, limit, wanted):
    berth = full("--health-pending", limit)
    for name in ("a", "b"):
        post(berth, "filter", request(name))
    assert get(berth, "/api/v1/status").json()["health"]["health"] == wanted


def test_limits_are_checked():
    command = [BERTH, "serve", "--health-errors", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2 and "--health-errors" in done.stderr


def test_explain_begins_with_the_main_reason(tmp_path):
    """If some node passes, rules are in the order of the policies."""
    (tmp_path / "policy.yaml").write_text(POLICIES)
    (tmp_path / "pod.json").write_text(json.dumps({"kind": "Pod", **request("train")["Pod"]}))
    write_cluster(tmp_path / "cluster.json", [node(name) for name in NAMES], [used(name) for name in NAMES[:N_GPU]])
    command = [BERTH, "explain", "--policy", tmp_path / "policy.yaml", "--cluster", tmp_path / "cluster.json",
               "--pod", tmp_path / "pod.json"]  # fmt: skip
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    groups = [line.strip() for line in lines if "gpu/" in line]
    assert groups == ["3  gpu/devices: node has no free GPU", "17  gpu/pool: node is not in the gpu pool"]
    write_cluster(tmp_path / "cluster.json", [node(name) for name in NAMES], [used(name) for name in NAMES[1:N_GPU]])
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    groups = [line.strip() for line in lines if "gpu/" in line]
    assert groups == ["17  gpu/pool: node is not in the gpu pool", "2  gpu/devices: node has no free GPU"]
