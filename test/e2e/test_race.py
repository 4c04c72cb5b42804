"""Pods compete for the last unit of a resource that only berth counts."""

import collections

from client import metrics
from nodemode import Live
from verbs import NOBODY, WaitingBind, ask_bind, ask_filter

SLOT = "example.com/slot"
REASON = "no slot is free"
ONE_SLOT = {SLOT: "1"}
POLICY = f"""
filters:
  - {{name: slots, headroom: {{{SLOT}: 0}}, reason: {REASON}}}
scores:
  - {{name: pack, binPack: {{{SLOT}: 1}}}}
"""
# berth counts this resource, kube-scheduler does not.
MANAGED = [{"name": SLOT, "ignoredByScheduler": True}]


def start_berth(cluster):
    return cluster.start_berth(
        *Live().flags(cluster), "--policy", cluster.write_policy(POLICY), "--bind"
    )


def test_the_second_bind_for_the_last_slot_is_refused(cluster):
    cluster.add_node("only", **ONE_SLOT)
    berth = start_berth(cluster)
    pods = [cluster.add_pod(name, requests=ONE_SLOT, schedulerName=NOBODY) for name in ("a", "b")]

    # Both filters pass: neither pod is bound yet.
    for pod in pods:
        assert ask_filter(berth, pod, ["only"]) == ["only"]
    assert ask_bind(berth, pods[0], "only") == ""
    error = ask_bind(berth, pods[1], "only")

    assert "only would not take the pod any more" in error and REASON in error
    assert cluster.places() == {"a": "only"}
    assert metrics(berth)["berth_bind_refusals_total"] == 1
    # berth counts the first pod at once, even before the watch event.
    assert ask_filter(berth, pods[1], ["only"]) == []
    cluster.assert_cluster_copy_is_true(berth)

    # The first pod is deleted, and the second one gets the slot.
    cluster.delete_pod("a")
    cluster.wait_gone("a")
    cluster.assert_cluster_copy_is_true(berth)
    assert ask_filter(berth, pods[1], ["only"]) == ["only"]
    assert ask_bind(berth, pods[1], "only") == ""
    assert cluster.places() == {"b": "only"}


def test_pod_does_not_count_against_itself(cluster):
    cluster.add_node("only", **ONE_SLOT)
    berth = start_berth(cluster)
    a, b = (cluster.add_pod(name, requests=ONE_SLOT, schedulerName=NOBODY) for name in "ab")
    assert ask_filter(berth, a, ["only"]) == ["only"]

    with cluster.plane.apiserver.halted():
        first = WaitingBind(berth, a, "only")
        cluster.wait_figure(berth, "berth_ledger_pods", 1)
        # kube-scheduler does the same after its timeout.
        assert ask_filter(berth, b, ["only"]) == []
        assert ask_filter(berth, a, ["only"]) == ["only"]
        second = WaitingBind(berth, a, "only")
    assert first.read_error() == second.read_error() == ""
    assert cluster.places() == {"a": "only"}
    cluster.assert_cluster_copy_is_true(berth)


def test_binds_that_arrive_together(cluster):
    """berth is stopped (SIGSTOP) until every request has been sent."""
    n_rounds, n_pods, n_slots = 5, 16, 3
    for i in range(n_rounds):
        cluster.add_node(f"node-{i}", **{SLOT: str(n_slots)})
    berth = start_berth(cluster)

    for i in range(n_rounds):
        node = f"node-{i}"
        pods = [
            cluster.add_pod(f"pod-{i}-{j}", requests=ONE_SLOT, schedulerName=NOBODY)
            for j in range(n_pods)
        ]
        for pod in pods:
            assert ask_filter(berth, pod, [node]) == [node]
        with berth.halted():
            binds = [WaitingBind(berth, pod, node) for pod in pods]
        errors = [bind.read_error() for bind in binds]

        places = collections.Counter(cluster.places().values())
        assert places[node] == errors.count("") == n_slots, (places, errors)
        assert all(REASON in error for error in errors if error), errors

    assert metrics(berth)["berth_bind_refusals_total"] == n_rounds * (n_pods - n_slots)
    cluster.wait_figure(berth, "berth_ledger_pods", 0)
    cluster.assert_cluster_copy_is_true(berth)


def test_as_many_pods_as_slots(cluster):
    n_nodes, n_slots, n_pods = 5, 3, 40
    n_places = n_nodes * n_slots
    for i in range(n_nodes):
        cluster.add_node(f"node-{i}", **{SLOT: str(n_slots)})
    policy = cluster.write_policy(POLICY)
    berth = cluster.start_binder("--policy", policy, "--bind", managedResources=MANAGED)

    names = [f"pod-{i}" for i in range(n_pods)]
    for name in names:
        cluster.add_pod(name, requests=ONE_SLOT)
    places = cluster.wait_places(n_places)
    for name in set(names) - set(places):
        cluster.wait_pending(name, f"0/{n_nodes} nodes are available: {n_nodes} {REASON}")
    assert cluster.places() == places
    assert set(collections.Counter(places.values()).values()) == {n_slots}

    # Three pods are deleted, and three others take their places.
    gone = sorted(places)[:3]
    for name in gone:
        cluster.delete_pod(name)
    for name in gone:
        cluster.wait_gone(name)
    places = cluster.wait_places(n_places)
    assert set(collections.Counter(places.values()).values()) == {n_slots}
    left = min(set(names) - set(places) - set(gone))
    cluster.wait_event(left, "FailedScheduling", REASON)
    assert f"{n_nodes} {REASON}" in cluster.describe_pod(left)
    cluster.wait_figure(berth, "berth_ledger_pods", 0)
    cluster.assert_cluster_copy_is_true(berth)
