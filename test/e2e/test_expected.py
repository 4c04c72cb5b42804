"""Without bind, a filtered pod counts on its only eligible node, or on a guessed one, before kube-scheduler binds it."""

import collections
import json

import client
import pytest
from nodemode import Live
from verbs import NOBODY, ask_filter
from waiting import wait_for

REASON = "node has its pods"
LIMIT_FOUR = f"""
filters: [{{name: limit, maxPods: {{limit: 4}}, reason: {REASON}}}]
scores: [{{name: idle, expression: '100 - node.pods.size()'}}]
narrow: {{to: 1}}
"""
LIMIT_ONE = LIMIT_FOUR.replace("limit: 4", "limit: 1").replace("narrow: {to: 1}", "")


def test_burst_keeps_the_limit(cluster):
    """kube-scheduler finds 50 pods at its start. Without expected pods, berth would see each placement only in its watch."""
    for i in range(5):
        cluster.add_node(f"node-{i}")
    names = [f"pod-{i}" for i in range(50)]
    for name in names:
        cluster.add_pod(name)
    berth = cluster.start(Live(), "--policy", cluster.write_policy(LIMIT_FOUR))

    places = cluster.wait_places(20)
    for name in set(names) - set(places):
        cluster.wait_pending(name, f"0/5 nodes are available: 5 {REASON}")
    assert collections.Counter(cluster.places().values()) == {f"node-{i}": 4 for i in range(5)}
    cluster.wait_figure(berth, "berth_ledger_pods", 0)
    cluster.assert_cluster_copy_is_true(berth)

    # Two pods are deleted, and two others take their places.
    gone = sorted(places)[:2]
    for name in gone:
        cluster.delete_pod(name)
    for name in gone:
        cluster.wait_gone(name)
    places = cluster.wait_places(20)
    assert set(collections.Counter(places.values()).values()) == {4}


@pytest.fixture
def berth(cluster):
    for name in ("one", "two"):
        cluster.add_node(name)
    return cluster.start_berth(*Live().flags(cluster), "--policy", cluster.write_policy(LIMIT_ONE))


def add_pods(cluster, *names):
    return [cluster.add_pod(name, schedulerName=NOBODY) for name in names]


def test_place_is_taken_by_the_reply(cluster, berth):
    a, b = add_pods(cluster, "a", "b")
    assert ask_filter(berth, a, ["one"]) == ["one"]
    assert ask_filter(berth, b, ["one"]) == []
    assert ask_filter(berth, a, ["one"]) == ["one"]  # a pod does not count against itself
    assert ask_filter(berth, b, ["one", "two"]) == ["two"]
    assert ask_filter(berth, a, ["one", "two"]) == ["one"]


def test_pod_that_goes_elsewhere_frees_its_place(cluster, berth):
    a, b, c = add_pods(cluster, "a", "b", "c")
    assert ask_filter(berth, a, ["one"]) == ["one"]
    assert ask_filter(berth, a, ["two"]) == ["two"]
    assert ask_filter(berth, b, ["one"]) == ["one"]
    assert ask_filter(berth, c, ["one", "two"]) == []
    # With two free nodes it counts on the first one, which is a guess.
    cluster.delete_pod("b")
    cluster.wait_gone("b")
    wait_for("the place of b", lambda: ask_filter(berth, a, ["one", "two"]) == ["one", "two"])
    wait_for("the place of a", lambda: ask_filter(berth, c, ["two"]) == ["two"])


def test_guessed_pod_takes_a_place(cluster, berth):
    a, b, c = add_pods(cluster, "a", "b", "c")
    assert ask_filter(berth, a, ["one", "two"]) == ["one", "two"]
    assert ask_filter(berth, b, ["one", "two"]) == ["two"]
    assert ask_filter(berth, c, ["one", "two"]) == []
    # kube-scheduler has chosen the other node, and another one for b.
    target = {"apiVersion": "v1", "kind": "Node", "name": "two"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"}, "target": target}
    cluster.api.create(f"{cluster.pods_path}/a/binding", binding)
    wait_for("the truth about a", lambda: client.metrics(berth)['berth_guesses_total{result="wrong"}'], lambda n: n == 1)
    assert ask_filter(berth, b, ["one", "two"]) == ["one"]
    assert ask_filter(berth, c, ["one", "two"]) == []


def test_guess_that_never_comes_true_frees_its_place(cluster, berth):
    """After 15 s, without a log line."""
    a, b = add_pods(cluster, "a", "b")
    assert ask_filter(berth, a, ["one", "two"]) == ["one", "two"]
    assert ask_filter(berth, b, ["one"]) == []
    wait_for("the place of a", lambda: ask_filter(berth, b, ["one"]) == ["one"])
    assert client.metrics(berth)["berth_ledger_expired_total"] == 0


def test_pod_that_is_deleted_frees_its_place(cluster, berth):
    a, b = add_pods(cluster, "a", "b")
    assert ask_filter(berth, a, ["one"]) == ["one"]
    assert ask_filter(berth, b, ["one"]) == []
    cluster.delete_pod("a")
    cluster.wait_gone("a")
    wait_for("the place of a", lambda: ask_filter(berth, b, ["one"]) == ["one"])


def ask_at_once(berth, pods, nodes):
    """The replies to filters that are all sent while berth is stopped."""
    connections = [client.open_connection(berth) for _ in pods]
    with berth.halted():
        for pod, connection in zip(pods, connections):
            body = json.dumps({"Pod": pod, "NodeNames": nodes})
            connection.request("POST", "/filter", body, {"Content-Type": "application/json"})
    replies = []
    for connection in connections:
        response = connection.getresponse()
        assert response.status == 200
        replies.append(json.loads(response.read()))
        connection.close()
    return replies


def test_filters_that_arrive_together(cluster, berth):
    """Requests that were evaluated before the first pod counted are evaluated again."""
    replies = ask_at_once(berth, add_pods(cluster, *(f"pod-{i}" for i in range(8))), ["one"])
    assert [reply["Error"] for reply in replies] == [""] * 8
    assert [reply["FailedNodes"] for reply in replies if not reply["NodeNames"]] == [{"one": REASON}] * 7


def test_narrowed_filters_that_arrive_together(cluster):
    """Each of the four places is used once, although requests are evaluated in parallel."""
    for name in ("one", "two"):
        cluster.add_node(name)
    policy = cluster.write_policy(LIMIT_FOUR.replace("limit: 4", "limit: 2"))
    berth = cluster.start_berth(*Live().flags(cluster), "--policy", policy)
    replies = ask_at_once(berth, add_pods(cluster, *(f"pod-{i}" for i in range(8))), ["one", "two"])
    places = collections.Counter(tuple(reply["NodeNames"]) for reply in replies)
    assert places == {("one",): 2, ("two",): 2, (): 4}


def test_pod_that_never_comes_frees_its_place(cluster, berth):
    """After 15 s, also without watch events."""
    a, b = add_pods(cluster, "a", "b")
    assert ask_filter(berth, a, ["one"]) == ["one"]
    assert ask_filter(berth, b, ["one"]) == []
    wait_for("the place of a", lambda: ask_filter(berth, b, ["one"]) == ["one"])
