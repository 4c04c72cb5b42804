"""berth is killed while it binds, again and again."""

import collections
import random
import signal

from nodemode import Live
from objects import make_extender
from process import pick_port
from waiting import wait_for

SLOT = "example.com/slot"
POLICY = f"""
filters:
  - {{name: slots, headroom: {{{SLOT}: 0}}, reason: no slot is free}}
scores:
  - {{name: pack, binPack: {{{SLOT}: 1}}}}
"""
N_ROUNDS, N_BATCH = 6, 12
N_NODES, N_SLOTS = 5, 15


def test_every_pod_is_bound_once(cluster):
    dice = random.Random(20)
    for i in range(N_NODES):
        cluster.add_node(f"node-{i}", **{SLOT: str(N_SLOTS)})
    flags = [*Live().flags(cluster), "--policy", cluster.write_policy(POLICY), "--bind"]
    berth = cluster.start_berth(*flags, port=pick_port())
    managed = [{"name": SLOT, "ignoredByScheduler": True}]
    cluster.start_scheduler(make_extender(berth.url, bindVerb="bind", managedResources=managed))
    version = cluster.api.get(cluster.pods_path)["metadata"]["resourceVersion"]

    n_interrupted = 0
    for i in range(N_ROUNDS):
        for j in range(N_BATCH):
            cluster.add_pod(f"pod-{i}-{j}", asks={SLOT: "1"})
        # In the midst of the batch, now earlier and now later.
        n_before = i * N_BATCH
        n_wanted = n_before + dice.randrange(N_BATCH - 3)
        wait_for("pods to be bound", lambda: len(cluster.places()) >= n_wanted)
        berth.stop(signal.SIGKILL)
        n_interrupted += len(cluster.places()) < n_before + N_BATCH
        berth = cluster.start_berth(*flags, port=berth.port)
        cluster.wait_places(n_before + N_BATCH)

    assert n_interrupted > 0, "berth was never killed while pods waited: the test shows nothing"
    places = cluster.places()
    assert len(places) == N_ROUNDS * N_BATCH
    assert max(collections.Counter(places.values()).values()) <= N_SLOTS
    assert find_moves(cluster.changes_since(version)) == {}
    cluster.assert_mirror_is_true(berth)


def find_moves(changes):
    """{pod: nodes} of those that were ever seen on more than one node, or made more than once."""
    seen = collections.defaultdict(set)
    for _, pod in changes:
        metadata = pod["metadata"]
        seen[metadata["name"]].add((metadata["uid"], pod["spec"].get("nodeName")))
    places = {name: {place for place in places if place[1]} for name, places in seen.items()}
    assert len(places) == N_ROUNDS * N_BATCH, "the watch has not shown all pods"
    return {name: found for name, found in places.items() if len(found) != 1}
