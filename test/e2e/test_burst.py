"""A limit during bursts of pods, with each way to enforce it. `bench/burst` prints the table of docs/bind-and-replicas.md."""

import collections
import os

import client
import pytest
from nodemode import Live
from waiting import wait_for

LIMIT, N_PODS = 4, 50
BURSTS = int(os.environ.get("BURSTS", "10"))
NODES = [f"node-{i}" for i in range(5)]
FILTER = f"filters: [{{name: limit, maxPods: {LIMIT}, reason: full}}]"
SLOTS = "berth.dev/slots.e2e"

# Maximum of pods over the limit in one burst, for all nodes together.
OVER_MAX = {"filter only": 2, "narrow: {to: 1}": 0, "bind": 0, "publish: slots, no extender": 0}


def start(cluster, wiring):
    policy = FILTER
    if "narrow" in wiring:
        policy += f"\n{wiring}"
    elif "slots" in wiring:
        policy = FILTER.replace(", reason", ", publish: slots, reason")
    flags = ["--policy", cluster.write_policy(policy)]
    if wiring == "bind":
        return cluster.start_binder("--bind", *flags)
    if "slots" not in wiring:
        return cluster.start(Live(), "--wake-up", *flags)
    berth = cluster.start_berth(*Live().flags(cluster), "--publish", *flags)

    def is_offered():
        nodes = cluster.api.get("/api/v1/nodes")["items"]
        return all(SLOTS in node["status"]["allocatable"] for node in nodes)

    wait_for("the slots of nodes", is_offered)
    cluster.start_scheduler()
    return berth


def count_pods(cluster):
    """{node: pods}, and whether kube-scheduler has tried every pending pod."""
    pods = cluster.pods()
    is_tried = all(pod["status"].get("conditions") for pod in pods)
    return collections.Counter(pod["spec"].get("nodeName") for pod in pods), is_tried


def run_burst(cluster, number, requests):
    """Returns the pods over the limit, once every node is full and the other pods are pending."""
    names = [f"pod-{number}-{i}" for i in range(N_PODS)]
    for name in names:
        cluster.add_pod(name, cpu="10m", memory="1Mi", requests=requests)
    counts, _ = wait_for(
        "every node to be full",
        lambda: count_pods(cluster),
        lambda seen: seen[1] and min(seen[0][name] for name in NODES) >= LIMIT,
    )
    for name in names:
        cluster.delete_pod(name)
    wait_for("the pods to be gone", lambda: not cluster.pods())
    return sum(counts[name] - LIMIT for name in NODES)


@pytest.mark.parametrize("wiring", OVER_MAX)
def test_limit_in_bursts(cluster, wiring, capsys):
    for name in NODES:
        cluster.add_node(name)
    berth = start(cluster, wiring)
    requests = {SLOTS: "1"} if "slots" in wiring else {}
    over = sorted(run_burst(cluster, burst, requests) for burst in range(BURSTS))
    figures = client.metrics(berth)
    guesses = [int(figures[f'berth_guesses_total{{result="{each}"}}']) for each in ("right", "wrong")]
    with capsys.disabled():
        print(f"\n| {wiring} | {', '.join(map(str, over))} | {guesses[0]} of {sum(guesses)} |")
    assert over[-1] <= OVER_MAX[wiring]
    assert (sum(guesses) > 0) == (wiring == "filter only")
