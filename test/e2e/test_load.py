"""kube-scheduler chooses nodes by measured load."""

import collections
import contextlib

import client
import pytest
from client import metrics
from metricsapi import CustomMetricsApi, MetricsApi
from nodemode import Live
from objects import AVOID, make_extender
from prometheus import Scripted, by_node, find_metric
from waiting import wait_for

RETRY_AT = "berth.dev/retry-at"


@pytest.fixture
def scripted():
    server = Scripted()
    yield server
    server.stop()


def is_parked(scheduler):
    return scheduler.count_waiting("unschedulable") == 1


def wait_scores(berth, **scores):
    """Waits until nodes have these scores."""

    def look():
        body = {"Pod": {"metadata": {"name": "probe"}}, "NodeNames": list(scores)}
        reply = client.post(berth, "prioritize", body).json()
        return {each["Host"]: each["Score"] for each in reply}

    wait_for(f"the scores {scores}", look, lambda seen: seen == scores)


def marked(cluster):
    """The nodes that berth has annotated, so that kube-scheduler retries unschedulable pods."""
    every = [node["metadata"] for node in cluster.api.get("/api/v1/nodes")["items"]]
    return [each["name"] for each in every if RETRY_AT in each.get("annotations", {})]


HOT = """
metrics:
  - name: load
    prometheus: {query: node_load, nodeLabel: node}
    interval: 1s
    maxAge: 1m
    placements: none
filters:
  - {name: cool, expression: metrics.load < 0.8, reason: node is hot}
scores:
  - {name: idle, expression: 100.0 - 100.0 * metrics.load}
"""


def test_a_hot_node_is_avoided_until_it_cools(cluster, measured):
    exporter, prometheus = measured
    exporter.set("node_load", 0.90, node="one")
    exporter.set("node_load", 0.20, node="two")
    cluster.add_node("one")
    cluster.add_node("two", taints=[AVOID])  # without berth no pod would be placed there
    flags = ["--policy", cluster.write_policy(HOT), "--prometheus", prometheus.url, "--wake-up"]
    berth = cluster.start_berth(*Live().flags(cluster), *flags)
    scheduler = cluster.start_scheduler(make_extender(berth.url))
    wait_scores(berth, one=1, two=8)
    cluster.add_pod("first")
    assert cluster.wait_bound("first") == "two"

    # Both are hot, so the pod is pending, and kube-scheduler does not retry it without a change.
    exporter.set("node_load", 0.90, node="two")
    wait_scores(berth, one=1, two=1)
    cluster.add_pod("second")
    cluster.wait_pending("second", "2 node is hot")
    wait_for("the pod to be parked", lambda: is_parked(scheduler), steady=1.5)
    assert "one" not in marked(cluster)

    # The node has cooled. The annotation is the only change in the cluster, and the pod is placed there.
    exporter.set("node_load", 0.30, node="one")
    assert cluster.wait_bound("second") == "one"
    assert "one" in marked(cluster)
    assert metrics(berth)["berth_wake_ups_total"] >= 1
    cluster.add_pod("third")
    assert cluster.wait_bound("third") == "one"


# --- many pods between two measurements ---

N_PODS = 20
LOADS = {"calm": 0.10, "mild": 0.15, "warm": 0.20, "busy": 0.25}


def by_load(placements):
    return f"""
metrics:
  - name: load
    prometheus: {{query: node_load, nodeLabel: node}}
    interval: 1s
    maxAge: 5m
    placements: {placements}
scores:
  - {{name: calm, expression: 1.0 - metrics.load, normalize: minMax}}
"""


def start_with_loads(cluster, scripted, placements):
    """Starts a berth that has LOADS and binds. No measurement ever includes any of the pods."""
    scripted.set("node_load", by_node(**LOADS))
    for name in LOADS:
        cluster.add_node(name, cpu="64", memory="256Gi")
    policy = cluster.write_policy(by_load(placements))
    berth = cluster.start_binder("--policy", policy, "--bind", "--prometheus", scripted.url)
    wait_for(
        "all loads to be known",
        lambda: find_metric(berth, "load")["nodes"]["covered"],
        lambda n: n == len(LOADS),
    )
    return berth


def test_burst_goes_to_one_node_when_placements_do_not_count(cluster, scripted):
    start_with_loads(cluster, scripted, "none")
    for i in range(N_PODS):
        cluster.add_pod(f"pod-{i}", cpu="1")
    assert collections.Counter(cluster.wait_places(N_PODS).values()) == {"calm": N_PODS}


def test_pods_spread_when_placements_count(cluster, scripted):
    """Each pod adds one of 64 cores to the load of its node, and the next pod goes to the node with the lowest
    sum. Creates one pod at a time: berth counts a pod before it sends the Binding, but kube-scheduler may filter
    the next pods before it calls bind for this one."""
    berth = start_with_loads(cluster, scripted, "{resource: cpu, unit: fraction, settle: 1h}")
    for i in range(N_PODS):
        cluster.add_pod(f"pod-{i}", cpu="1")
        cluster.wait_bound(f"pod-{i}")
    assert collections.Counter(cluster.places().values()) == {"calm": 10, "mild": 7, "warm": 3}
    assert metrics(berth)["berth_bind_refusals_total"] == 0


# --- metrics.k8s.io ---

USED = """
metrics:
  - {name: used, resourceMetrics: cpu, interval: 1s, maxAge: 1m, placements: none}
filters:
  - name: idle
    expression: metrics.used < 0.5 * node.allocatable.cpu
    reason: node is busy
scores:
  - {name: idlest, expression: 100.0 - 100.0 * metrics.used / node.allocatable.cpu}
"""


def test_values_match_kubectl_top(cluster):
    """The metrics come through the API server, as from metrics-server."""
    cluster.add_node("one")
    cluster.add_node("two", taints=[AVOID])
    with contextlib.closing(MetricsApi(cluster.plane)) as server:
        server.set_nodes(one=("6400m", "1Gi"), two=("800m", "1Gi"))
        server.register("berth")
        assert "6400m" in cluster.plane.kubectl("top", "nodes", "--no-headers")
        berth = cluster.start(Live(), "--policy", cluster.write_policy(USED))
        wait_scores(berth, one=2, two=9)
        cluster.add_pod("first")
        assert cluster.wait_bound("first") == "two"

        server.set_nodes(one=("800m", "1Gi"), two=("6400m", "1Gi"))
        wait_scores(berth, one=9, two=2)
        cluster.add_pod("second")
        assert cluster.wait_bound("second") == "one"


# --- custom.metrics.k8s.io ---

WARM = """
metrics:
  - {name: temperature, customMetrics: temperature, interval: 1s, maxAge: 1m}
filters:
  - {name: warm, metricLimit: {metric: temperature, max: 80}, reason: node is too warm, onMissing: allow}
scores:
  - {name: cool, expression: 100.0 - metrics.temperature, onMissing: 0}
"""


def test_custom_metrics_of_an_adapter(cluster):
    """The metrics come through the API server, as from prometheus-adapter."""
    cluster.add_node("one")
    cluster.add_node("two", taints=[AVOID])
    with contextlib.closing(CustomMetricsApi(cluster.plane)) as server:
        server.set_nodes("temperature", one="81500m", two="30")
        server.register("temperature", "berth")
        berth = cluster.start(Live(), "--policy", cluster.write_policy(WARM))
        wait_scores(berth, one=2, two=7)
        cluster.add_pod("first")
        assert cluster.wait_bound("first") == "two"

        server.set_nodes("temperature", one="20", two="80500m")
        wait_scores(berth, one=8, two=2)
        cluster.add_pod("second")
        assert cluster.wait_bound("second") == "one"
