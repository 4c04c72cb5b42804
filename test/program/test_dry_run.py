"""A dry run of filter has the reply of filter and no other effect."""

import pytest

from client import ask, get, metrics, post, write_cluster

POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: limits}
spec:
  filters: [{name: room, maxPods: {limit: 1}}]
  scores: [{name: idle, expression: '100 - node.pods.size()'}]
  narrow: {to: 1}
"""

POD = {"metadata": {"name": "p", "namespace": "default", "uid": "u"}}


def node(name):
    return {"metadata": {"name": name}, "status": {"allocatable": {"cpu": "4", "pods": "110"}}}


@pytest.fixture
def berth(start_berth, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    running = {"metadata": {"name": "r", "namespace": "default", "uid": "r"}, "spec": {"nodeName": "full"}}
    cluster = write_cluster(tmp_path / "c.json", [node("full"), node("free"), node("spare")], [running])
    return start_berth("--policy", policy, "--cluster", cluster)


def names_of(reply):
    reply = reply.json()
    assert reply["Error"] == ""
    return reply["NodeNames"], reply["FailedNodes"]


def test_every_node_that_passes_is_returned(berth):
    """filter would return only one of them."""
    body = {"Pod": POD, "NodeNames": ["full", "free", "spare", "unknown"]}
    passed, failed = names_of(post(berth, "dry-run/filter", body))
    assert passed == ["free", "spare"]
    assert failed.keys() == {"full", "unknown"}
    assert len(names_of(post(berth, "filter", body))[0]) == 1


def test_nodes_that_do_not_exist_yet(berth):
    """berth evaluates Node objects as sent, with the pods of nodes that it has."""
    nodes = [node("full"), node("template-1"), node("template-2")]
    reply = post(berth, "dry-run/filter", {"Pod": POD, "Nodes": {"items": nodes}}).json()
    assert reply["Nodes"]["items"] == nodes[1:]
    assert reply["FailedNodes"].keys() == {"full"}


def test_nothing_is_counted_or_recorded(berth):
    def figures():
        kinds = ("berth_decisions", "berth_late", "berth_narrowed", "berth_no_", "berth_nodes", "berth_p", "berth_rule")
        return {name: value for name, value in metrics(berth).items() if name.startswith(kinds)}

    before = figures()
    for _ in range(3):
        post(berth, "dry-run/filter", {"Pod": POD, "NodeNames": ["free"]})
    assert figures() == before
    assert get(berth, "/api/v1/decisions").json()["decisions"] == []
    assert get(berth, "/api/v1/status").json()["schedulers"] == []
    assert metrics(berth)['berth_requests_total{verb="dry-run",code="200"}'] == 3
    post(berth, "filter", {"Pod": POD, "NodeNames": ["free"]})
    assert figures() != before
    assert len(get(berth, "/api/v1/decisions").json()["decisions"]) == 1


@pytest.mark.parametrize("path", ["/dry-run/filter", "/a/b/dry-run/filter/", "//dry-run//predicate"])
def test_any_prefix(berth, path):
    body = b'{"Pod":{"metadata":{"name":"p"}},"NodeNames":["free","spare"]}'
    assert ask(berth, "POST", path, body).json()["NodeNames"] == ["free", "spare"]


@pytest.mark.parametrize("verb", ["/prioritize", "/preempt", "/bind", ""])
def test_only_filter(berth, verb):
    """Other verbs, such as bind, have no dry run."""
    assert ask(berth, "POST", "/dry-run" + verb, b"{}").status == 404
    assert get(berth, "/dry-run/filter").status == 405


def test_not_for_browsers(berth):
    reply = ask(berth, "POST", "/dry-run/filter", b"{}", {"Origin": "http://a.example"})
    assert reply.status == 403
