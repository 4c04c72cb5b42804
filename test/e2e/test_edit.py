"""Policies are edited while pods are scheduled."""

import time

import client
import pytest
from client import metrics
from cluster import get_health
from nodemode import Live
from objects import make_extender
from waiting import wait_for

RETRY_AT = "berth.dev/retry-at"
GOOD = 'berth_config_reloads_total{config="policy",result="good"}'
IS_GOOD = 'berth_config_last_reload_success{config="policy"}'


def pool(colour):
    return f"""
filters:
  - {{name: pool, nodeLabels: {{example.com/pool: {colour}}}, reason: node is not in the pool}}
"""


def add_nodes(cluster):
    for colour in ("green", "blue", "red"):
        cluster.add_node(colour, {"example.com/pool": colour})


def wait_bound_all(cluster, names):
    return {cluster.wait_bound(name) for name in names}


def test_edit_switches_policy_between_requests(cluster, names_mode):
    add_nodes(cluster)
    berth = cluster.start(names_mode, "--policy", cluster.write_policy(pool("blue")))
    n_added = 0

    def add(n):
        nonlocal n_added
        names = [f"pod-{i}" for i in range(n_added, n_added + n)]
        n_added += n
        for name in names:
            cluster.add_pod(name, cpu="1m", memory="1Mi")
        return names

    assert wait_bound_all(cluster, add(5)) == {"blue"}

    # Pods are created meanwhile; each decision follows one of the two versions.
    between = add(5)
    cluster.write_policy(pool("red"))
    while metrics(berth)[GOOD] < 2:
        between += add(1)
        time.sleep(0.05)
    assert wait_bound_all(cluster, between) <= {"blue", "red"}
    assert wait_bound_all(cluster, add(5)) == {"red"}

    # A mistake has no effect, and is reported.
    cluster.edit_policy(berth, "filters: [{name: pool, nodeLabel: {a: b}}]", "rejected")
    assert wait_bound_all(cluster, add(5)) == {"red"}
    status, text = get_health(berth)
    assert status == 200
    assert "[+]policy ok: degraded: the newest was rejected" in text
    assert "nodeLabel" in text
    assert metrics(berth)[IS_GOOD] == 0

    cluster.edit_policy(berth, pool("blue"))
    assert wait_bound_all(cluster, add(5)) == {"blue"}
    assert metrics(berth)[IS_GOOD] == 1
    assert "degraded" not in get_health(berth)[1]


def start_live(cluster, *flags):
    """Starts a berth that watches and a kube-scheduler. Returns both."""
    policy = cluster.write_policy(pool("nowhere"))
    berth = cluster.start_berth(*Live().flags(cluster), "--policy", policy, *flags)
    return berth, cluster.start_scheduler(make_extender(berth.url))


def add_parked_pod(cluster, scheduler, name):
    """Adds an unschedulable pod, which kube-scheduler retries only after a change."""

    def look():
        return scheduler.count_waiting("unschedulable")

    cluster.add_pod(name)
    cluster.wait_pending(name, "3 node is not in the pool")
    wait_for("the pod to be parked", look, lambda n: n == 1, steady=1.5)


def retries_asked(cluster):
    """{node: time} of the nodes that berth has annotated."""
    every = [node["metadata"] for node in cluster.api.get("/api/v1/nodes")["items"]]
    found = {each["name"]: each.get("annotations", {}).get(RETRY_AT) for each in every}
    return {name: when for name, when in found.items() if when}


@pytest.mark.compat("wake-up", since=30)
def test_parked_pods_are_woken(cluster):
    add_nodes(cluster)
    berth, scheduler = start_live(cluster, "--wake-up")
    add_parked_pod(cluster, scheduler, "waits")
    assert retries_asked(cluster) == {}

    cluster.write_policy(pool("blue"))
    assert cluster.wait_bound("waits") == "blue"
    assert len(retries_asked(cluster)) == 1
    cluster.wait_figure(berth, "berth_wake_ups_total", 1)
    cluster.assert_cluster_copy_is_true(berth)


def test_a_node_that_has_room_again_is_marked(cluster):
    for name in ("here", "there"):
        cluster.add_node(name)
        cluster.add_pod(f"on-{name}", nodeName=name)
    policy = cluster.write_policy("filters: [{name: few, maxPods: 1, reason: node is full}]")
    cluster.start(Live(), "--policy", policy, "--wake-up")
    cluster.add_pod("waits")
    cluster.wait_pending("waits", "2 node is full")
    assert retries_asked(cluster) == {}

    cluster.delete_pod("on-there")
    assert cluster.wait_bound("waits") == "there"
    wait_for("the node to be marked", lambda: list(retries_asked(cluster)) == ["there"])


def test_without_the_right_to_wake_pods(cluster):
    add_nodes(cluster)
    kubeconfig = cluster.plane.make_berth_identity("berth-reads", "berth-decide")
    # The last flag counts.
    berth, scheduler = start_live(cluster, "--wake-up", "--kubeconfig", kubeconfig)
    cluster.expect_denials("berth-reads: patch nodes")
    add_parked_pod(cluster, scheduler, "waits")

    cluster.edit_policy(berth, pool("blue"))
    wait_for(
        "the log to tell which right is missing",
        lambda: "needs the right patch on nodes" in berth.log.read_text(),
    )
    assert retries_asked(cluster) == {}
    assert metrics(berth)["berth_wake_ups_total"] == 0

    # All else works: new pods are placed, and parked pods after a change in the cluster.
    cluster.add_pod("goes")
    assert cluster.wait_bound("goes") == "blue"
    cluster.api.patch("/api/v1/nodes/red", {"metadata": {"annotations": {"example.com/a": "b"}}})
    assert cluster.wait_bound("waits") == "blue"
    assert client.get(berth, "/readyz").status == 200
    cluster.assert_cluster_copy_is_true(berth)
