"""filter and prioritize decide on which node a pod runs, and users see the reasons."""

import pytest
from client import metrics
from controlplane import MINOR
from objects import AVOID

POOL = "example.com/pool"
ZONE = "topology.kubernetes.io/zone"

PREFER_ZONE_B = """
filters:
  - {name: pool, nodeLabels: {example.com/pool: blue}, reason: node is not in the pool}
scores:
  - {name: zone, nodeLabelPreference: {key: topology.kubernetes.io/zone, values: {b: 100}}}
"""


def count_requests(berth, verb):
    return metrics(berth).get(f'berth_requests_total{{verb="{verb}",code="200"}}', 0)


@pytest.mark.compat("filter", "prioritize")
def test_berth_chooses_the_node(cluster, mode):
    cluster.add_node("red", {POOL: "red", ZONE: "b"})
    cluster.add_node("blue-a", {POOL: "blue", ZONE: "a"})
    cluster.add_node("blue-b", {POOL: "blue", ZONE: "b"}, taints=[AVOID])
    berth = cluster.start(mode, "--policy", cluster.write_policy(PREFER_ZONE_B))

    for name in ("one", "two", "three"):
        cluster.add_pod(name, cpu="1")
        assert cluster.wait_bound(name) == "blue-b"

    assert count_requests(berth, "filter") == 3
    assert count_requests(berth, "prioritize") == 3
    cluster.wait_event("one", "Scheduled", "to blue-b")
    assert "to blue-b" in cluster.describe_pod("one")


@pytest.mark.compat("filter")
def test_reasons_are_grouped(cluster, mode):
    cluster.add_node("red-1", {POOL: "red"})
    cluster.add_node("red-2", {POOL: "red"})
    cluster.add_node("blue-small", {POOL: "blue"}, cpu="1")
    taint = {"key": "example.com/broken", "effect": "NoSchedule"}
    cluster.add_node("blue-broken", {POOL: "blue"}, taints=[taint])
    policy = cluster.write_policy("""
filters:
  - {name: pool, nodeLabels: {example.com/pool: blue}, reason: node is not in the pool}
  - {name: room, headroom: {cpu: 500m}, reason: node has too little cpu left}
""")
    cluster.start(mode, "--policy", policy)

    cluster.add_pod("waits", cpu="900m")
    condition = cluster.wait_pending("waits", "0/4 nodes are available")
    assert condition["reason"] == "Unschedulable"
    cluster.wait_event("waits", "FailedScheduling", "0/4 nodes are available")
    shown = cluster.describe_pod("waits")
    for reason in (
        "2 node is not in the pool",
        "1 node has too little cpu left",
        "1 node(s) had untolerated taint",
    ):
        assert reason in condition["message"]
        assert reason in shown


@pytest.mark.compat("unresolvable")
@pytest.mark.parametrize(
    "unresolvable, verdict",
    [
        ("true", "2 Preemption is not helpful for scheduling"),
        ("false", "2 No preemption victims found for incoming pod"),
    ],
    ids=["unresolvable", "resolvable"],
)
def test_preemption_skips_unresolvable_nodes(cluster, mode, unresolvable, verdict):
    cluster.add_node("red-1", {POOL: "red"})
    cluster.add_node("red-2", {POOL: "red"})
    policy = cluster.write_policy(f"""
filters:
  - {{name: pool, nodeLabels: {{example.com/pool: blue}}, reason: node is not in the pool,
     unresolvable: {unresolvable}}}
""")
    cluster.start(mode, "--policy", policy)

    cluster.add_pod("waits")
    condition = cluster.wait_pending("waits", "2 node is not in the pool")
    assert f"preemption: 0/2 nodes are available: {verdict}" in condition["message"]
    cluster.wait_event("waits", "FailedScheduling", verdict)
    assert verdict in cluster.describe_pod("waits")


@pytest.mark.compat("managedResources")
def test_only_pods_that_ask_for_the_resource(cluster, mode):
    gpu = "example.com/gpu"
    cluster.add_node("red", {POOL: "red"}, **{gpu: "8"})
    cluster.add_node("blue-a", {POOL: "blue"}, **{gpu: "8"})
    cluster.add_node("blue-b", {POOL: "blue", ZONE: "b"}, taints=[AVOID], **{gpu: "8"})
    policy = cluster.write_policy(PREFER_ZONE_B)
    berth = cluster.start(mode, "--policy", policy, managedResources=[{"name": gpu}])

    # On a node that berth would reject if kube-scheduler called it.
    cluster.add_pod("plain", nodeSelector={POOL: "red"})
    assert cluster.wait_bound("plain") == "red"
    assert count_requests(berth, "filter") == 0

    cluster.add_pod("asks", requests={gpu: "1"})
    assert cluster.wait_bound("asks") == "blue-b"
    assert count_requests(berth, "filter") == 1


@pytest.mark.compat("ignorable")
def test_pods_are_pending_while_berth_is_down(cluster, mode):
    cluster.add_node("red", {POOL: "red"})
    cluster.add_node("blue", {POOL: "blue"}, taints=[AVOID])
    policy = cluster.write_policy(PREFER_ZONE_B)
    berth = cluster.start(mode, "--policy", policy, ignorable=False)
    berth.stop()

    cluster.add_pod("waits")
    condition = cluster.wait_pending("waits", "connection refused")
    assert condition["reason"] == "SchedulerError"
    cluster.wait_event("waits", "FailedScheduling", "connection refused")
    assert f'Post "{berth.url}/filter"' in cluster.describe_pod("waits")

    flags = [*mode.flags(cluster), "--policy", policy]
    cluster.start_berth(*flags, port=berth.port)
    if MINOR < 29:  # kube-scheduler retries it only after a change
        labels = {"example.com/changed": "yes"}
        cluster.api.patch("/api/v1/nodes/blue", {"metadata": {"labels": labels}})
    assert cluster.wait_bound("waits") == "blue"


@pytest.mark.compat("ignorable")
def test_pods_are_bound_without_an_ignorable_berth(cluster, mode):
    cluster.add_node("red", {POOL: "red"})
    policy = cluster.write_policy(PREFER_ZONE_B)
    berth = cluster.start(mode, "--policy", policy, ignorable=True)
    cluster.add_pod("waits")
    cluster.wait_pending("waits", "1 node is not in the pool")

    berth.stop()
    cluster.add_pod("goes")
    assert cluster.wait_bound("goes") == "red"
