"""The API server is stopped and restarted."""

import signal

import client
import pytest
from cluster import get_health
from nodemode import Live
from objects import AVOID
from verbs import NOBODY, ask_bind, ask_filter
from waiting import wait_for

POOL = "example.com/pool"
POLICY = """
filters:
  - {name: pool, nodeLabels: {example.com/pool: blue}, reason: node is not in the pool}
  - {name: room, headroom: {cpu: 0}, reason: node has too little cpu left}
"""
NODES = ["red", "blue", "azure"]
HOW = pytest.mark.parametrize(
    "how", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "crashed"]
)


@pytest.mark.compat("watch")
@HOW
def test_decisions_go_on(cluster, names_mode, how):
    cluster.add_node("red", {POOL: "red"})
    cluster.add_node("blue", {POOL: "blue"}, taints=[AVOID])
    cluster.start(names_mode, "--policy", cluster.write_policy(POLICY))
    cluster.add_pod("before")
    assert cluster.wait_bound("before") == "blue"

    cluster.plane.restart_apiserver(how=how)

    cluster.add_pod("after")
    assert cluster.wait_bound("after") == "blue"


def test_berth_starts_before_the_api_server(cluster):
    cluster.add_node("red", {POOL: "red"})
    cluster.add_node("blue", {POOL: "blue"})
    pod = cluster.add_pod("asks", schedulerName=NOBODY)
    flags = [*Live().flags(cluster), "--policy", cluster.write_policy(POLICY)]
    cluster.plane.stop_apiserver(signal.SIGKILL)

    # It answers with an error instead of guessing.
    berth = cluster.start_berth(*flags, until_ready=False)
    status, text = get_health(berth)
    assert status == 500
    assert "[-]sync failed: nodes: not listed yet" in text
    body = {"Pod": pod, "Nodes": None, "NodeNames": ["red", "blue"]}
    reply = client.post(berth, "filter", body)
    assert reply.status == 200
    assert reply.json()["Error"] != ""
    assert client.get(berth, "/livez").status == 200

    cluster.plane.start_apiserver()
    wait_for("berth to be ready", lambda: get_health(berth)[0] == 200)
    assert ask_filter(berth, pod, ["red", "blue"]) == ["blue"]
    cluster.delete_pod("asks")  # before the bind it is expected on blue
    cluster.assert_cluster_copy_is_true(berth)


def wait_sync(berth, is_connected):
    """Waits until /readyz reports this for both kinds. berth must be ready all the time."""

    def look():
        status, text = get_health(berth)
        assert status == 200, text
        return text

    return wait_for(
        f"berth to be {'' if is_connected else 'dis'}connected",
        look,
        lambda text: text.count("disconnected") == (0 if is_connected else 2),
    )


@HOW
def test_answers_from_the_last_snapshot(cluster, how):
    cluster.add_node("red", {POOL: "red"})
    for name in ("blue", "azure"):
        cluster.add_node(name, {POOL: "blue"}, cpu="4")
    cluster.add_pod("fills", cpu="4", nodeName="blue")
    flags = [*Live().flags(cluster), "--policy", cluster.write_policy(POLICY), "--bind"]
    berth = cluster.start_berth(*flags)
    pod = cluster.add_pod("asks", schedulerName=NOBODY)
    assert ask_filter(berth, pod, NODES) == ["azure"]

    cluster.plane.stop_apiserver(how)
    text = wait_sync(berth, is_connected=False)
    assert "nodes: 3, disconnected, last update" in text
    figures = client.metrics(berth)
    for kind in ("nodes", "pods"):
        assert figures[f'berth_cluster_connected{{resource="{kind}"}}'] == 0
        assert figures[f'berth_cluster_synced{{resource="{kind}"}}'] == 1
    assert ask_filter(berth, pod, NODES) == ["azure"]
    error = ask_bind(berth, pod, "azure")
    assert error.startswith("berth: ") or "the pod was not bound" in error, error

    # Many changes right after the restart.
    cluster.plane.start_apiserver()
    cluster.delete_pod("fills")
    cluster.api.patch("/api/v1/nodes/azure", {"metadata": {"labels": {POOL: "red"}}})
    cluster.api.delete("/api/v1/nodes/red")
    cluster.add_node("sky", {POOL: "blue"})
    # The same name, but another node.
    cluster.add_node("red", {POOL: "blue"})

    wait_for(
        "berth to have caught up",
        lambda: ask_filter(berth, pod, [*NODES, "sky"]),
        lambda passed: passed == ["red", "blue", "sky"],
    )
    wait_sync(berth, is_connected=True)
    cluster.assert_cluster_copy_is_true(berth)
    assert ask_bind(berth, pod, "blue") == ""
    assert cluster.places() == {"asks": "blue"}
