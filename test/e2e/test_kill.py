"""Processes are killed while berth binds."""

import collections
import random
import signal

from nodemode import Live
from objects import make_extender
from process import pick_port
from verbs import NOBODY, WaitingBind, ask_bind, ask_filter

SLOT = "example.com/slot"
POLICY = f"""
filters:
  - {{name: slots, headroom: {{{SLOT}: 0}}, reason: no slot is free}}
scores:
  - {{name: pack, binPack: {{{SLOT}: 1}}}}
"""
MANAGED = [{"name": SLOT, "ignoredByScheduler": True}]
N_ROUNDS, N_BATCH = 6, 30  # few are bound before the first check
N_NODES, N_SLOTS = 13, 15


def add_pods(cluster, berth, first, n):
    """Adds pods while berth is stopped, so that all are pending at once."""
    with berth.halted():
        for i in range(first, first + n):
            cluster.add_pod(f"pod-{i}", requests={SLOT: "1"})


def test_every_pod_is_bound_once(cluster):
    dice = random.Random(20)
    for i in range(N_NODES):
        cluster.add_node(f"node-{i}", **{SLOT: str(N_SLOTS)})
    flags = [*Live().flags(cluster), "--policy", cluster.write_policy(POLICY), "--bind"]
    berth = cluster.start_berth(*flags, port=pick_port())
    cluster.start_scheduler(make_extender(berth.url, bindVerb="bind", managedResources=MANAGED))
    version = cluster.api.get(cluster.pods_path)["metadata"]["resourceVersion"]

    n_interrupted = 0
    for i in range(N_ROUNDS):
        n_before = i * N_BATCH
        add_pods(cluster, berth, n_before, N_BATCH)
        # At varying points within the batch.
        cluster.wait_places(n_before + dice.randrange(N_BATCH // 2))
        berth.stop(signal.SIGKILL)
        n_interrupted += len(cluster.places()) < n_before + N_BATCH
        berth = cluster.start_berth(*flags, port=berth.port)
        cluster.wait_places(n_before + N_BATCH)

    assert n_interrupted > 0, "berth was never killed while pods waited: this shows nothing"
    places = cluster.places()
    assert len(places) == N_ROUNDS * N_BATCH
    assert max(collections.Counter(places.values()).values()) <= N_SLOTS
    assert find_moves(cluster.changes_since(version)) == {}
    cluster.assert_cluster_copy_is_true(berth)


def test_the_api_server_crashes_while_berth_binds(cluster):
    n_pods = N_NODES * N_SLOTS
    for i in range(N_NODES):
        cluster.add_node(f"node-{i}", **{SLOT: str(N_SLOTS)})
    policy = cluster.write_policy(POLICY)
    berth = cluster.start_binder("--policy", policy, "--bind", managedResources=MANAGED)

    add_pods(cluster, berth, 0, n_pods)
    places = cluster.wait_places(n_pods // 8)
    assert len(places) < n_pods, "it crashes after the last bind: this shows nothing"
    cluster.plane.stop_apiserver(signal.SIGKILL)
    cluster.plane.start_apiserver()

    places = cluster.wait_places(n_pods)
    assert set(collections.Counter(places.values()).values()) == {N_SLOTS}
    cluster.wait_figure(berth, "berth_ledger_pods", 0)
    cluster.assert_cluster_copy_is_true(berth)


def test_lost_bind_answers_are_resolved(cluster):
    """They get no reply when the API server crashes, which has no roles loaded after its restart."""
    n_pods = 6
    cluster.add_node("node", **{SLOT: str(n_pods)})
    flags = [*Live().flags(cluster), "--policy", cluster.write_policy(POLICY), "--bind"]
    berth = cluster.start_berth(*flags)
    pods = [
        cluster.add_pod(f"pod-{i}", requests={SLOT: "1"}, schedulerName=NOBODY) for i in range(n_pods)
    ]
    for pod in pods:
        assert ask_filter(berth, pod, ["node"]) == ["node"]

    with cluster.plane.apiserver.halted():
        binds = [WaitingBind(berth, pod, "node") for pod in pods]
        cluster.wait_figure(berth, "berth_ledger_pods", n_pods)
        cluster.plane.stop_apiserver(signal.SIGKILL)
    cluster.plane.start_apiserver()

    for error in [bind.read_error() for bind in binds]:
        assert "the pod was not bound" in error
    cluster.wait_figure(berth, "berth_ledger_pods", 0)
    assert [ask_bind(berth, pod, "node") for pod in pods] == [""] * n_pods
    assert len(cluster.places()) == n_pods


def find_moves(changes):
    """{pod: nodes} of pods that were ever on more than one node, or created more than once."""
    seen = collections.defaultdict(set)
    for _, pod in changes:
        metadata = pod["metadata"]
        seen[metadata["name"]].add((metadata["uid"], pod["spec"].get("nodeName")))
    places = {name: {place for place in places if place[1]} for name, places in seen.items()}
    assert len(places) == N_ROUNDS * N_BATCH, "the watch has not shown all pods"
    return {name: found for name, found in places.items() if len(found) != 1}
