"""Expressions, and rules that read the whole cluster, with a real kube-scheduler."""

import time

import client
import pytest
from client import metrics
from cluster import find_condition, get_health
from nodemode import Live
from objects import AVOID, make_pod
from waiting import wait_for

ZONE = "topology.kubernetes.io/zone"
CLASS = "example.com/class"
RANK = "example.com/rank"

EXPRESSIONS = """
params: {minCores: 4.0}
variables:
  - {name: class, expression: "pod.metadata.labels[?'class'].orValue('standard')"}
filters:
  - name: class
    expression: "node.metadata.labels[?'example.com/class'].orValue('standard') == variables.class"
    reason: node is of another class
  - name: large
    expression: "node.allocatable.cpu >= params.minCores"
    reason: node is too small
    messageExpression: "'it has ' + string(node.allocatable.cpu) + ' cores'"
    unresolvable: true
scores:
  - {name: memory, expression: node.allocatable.memory, normalize: minMax}
"""


def count_requests(berth, verb):
    return metrics(berth).get(f'berth_requests_total{{verb="{verb}",code="200"}}', 0)


BY_NAMESPACE = """
match: {namespaceSelector: {matchLabels: {example.com/tier: gold}}}
filters:
  - name: pool
    expression: "node.metadata.labels[?'example.com/pool'].orValue('') == namespace.metadata.annotations['example.com/pool']"
    reason: the pool of another team
"""


def test_policy_by_namespace(cluster):
    """berth watches namespaces only while a policy reads them, also after a reload, with the shipped rights."""
    path = f"/api/v1/namespaces/{cluster.namespace}"
    label, pool = {"example.com/tier": "gold"}, {"example.com/pool": "red"}
    cluster.api.patch(path, {"metadata": {"labels": label, "annotations": pool}})
    cluster.add_node("red", {"example.com/pool": "red"}, taints=[AVOID])
    cluster.add_node("blue", {"example.com/pool": "blue"})
    nothing = "filters: [{name: ready, nodeReady: true}]"
    berth = cluster.start(Live(), "--policy", cluster.write_policy(nothing))
    assert client.get(berth, "/api/v1/status").json()["cluster"]["watches"] == []
    cluster.add_pod("before")
    assert cluster.wait_bound("before") == "blue"

    cluster.edit_policy(berth, BY_NAMESPACE)
    cluster.add_pod("gold")
    assert cluster.wait_bound("gold") == "red"
    cluster.api.patch(path, {"metadata": {"labels": {"example.com/tier": "iron"}}})

    def matched():
        return client.get(berth, "/api/v1/status").json()["policy"]["list"][0]["matched"]

    cluster.wait_figure(berth, 'berth_cluster_events_total{resource="namespaces",type="modified"}', 1)
    before = matched()
    cluster.add_pod("iron")
    assert cluster.wait_bound("iron") == "blue"
    assert matched() == before


BY_VOLUME = """
filters:
  - {name: volume, expression: "pod.claims.all(c, c.selects(node) && 'z2' in c.zones)", reason: cannot reach its volume}
"""


def test_policy_by_claims(cluster):
    """A claim that is bound to a volume of one zone, from the watch."""
    for name, zone in (("near", "z2"), ("far", "z1")):
        cluster.add_node(name, {ZONE: zone})
    berth = cluster.start_berth(*Live().flags(cluster), "--policy", cluster.write_policy(BY_VOLUME))
    claims = f"/api/v1/namespaces/{cluster.namespace}/persistentvolumeclaims"
    spec = {
        "accessModes": ["ReadWriteOnce"], "storageClassName": "none", "volumeName": f"pv-{cluster.namespace}",
        "resources": {"requests": {"storage": "1Gi"}},
    }  # fmt: skip
    condition = {"key": ZONE, "operator": "In", "values": ["z2"]}
    volume = {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": spec["volumeName"]},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "none",
            "local": {"path": "/data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [condition]}]}},
        },
    }  # fmt: skip
    cluster.api.create("/api/v1/persistentvolumes", volume)
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": spec}
    cluster.api.create(claims, claim)
    pod = make_pod("new")
    pod["metadata"]["namespace"] = cluster.namespace
    pod["spec"]["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]

    def look():
        reply = client.post(berth, "filter", {"Pod": pod, "NodeNames": ["near", "far"]}).json()
        return reply["NodeNames"]

    wait_for("the claim and its volume", look, lambda seen: seen == ["near"])
    watches = client.get(berth, "/api/v1/status").json()["cluster"]["watches"]
    assert [(each["resource"], each["synced"]) for each in watches] == [
        ("persistentvolumeclaims", True), ("persistentvolumes", True),
    ]  # fmt: skip


def test_expressions_choose_the_node(cluster, mode):
    cluster.add_node("small", cpu="2", memory="256Gi")
    cluster.add_node("standard", memory="32Gi")
    cluster.add_node("standard-best", memory="64Gi", taints=[AVOID])
    cluster.add_node("fast", {CLASS: "fast"}, memory="128Gi")
    cluster.start(mode, "--policy", cluster.write_policy(EXPRESSIONS))

    for name in ("one", "two"):
        cluster.add_pod(name)
        assert cluster.wait_bound(name) == "standard-best"
    cluster.add_pod("hurries", {"class": "fast"})
    assert cluster.wait_bound("hurries") == "fast"

    # Users see the reasons, which are constant texts.
    cluster.add_pod("waits", {"class": "none"})
    message = cluster.wait_pending("waits", "0/4 nodes are available")["message"]
    cluster.wait_event("waits", "FailedScheduling", "0/4 nodes are available")
    for reason in ("3 node is of another class", "1 node is too small"):
        assert reason in message
        assert reason in cluster.describe_pod("waits")
    assert "1 Preemption is not helpful for scheduling" in message
    assert "cores" not in message  # only explain shows this, because it may differ each time


def decided_nodes(cluster, berth, pod):
    """{node: (outcome, rank)} of the last filter request for a pod."""
    path = "/api/v1/decisions"
    query = f"?pod={cluster.namespace}/{pod}&verb=filter&limit=1"
    (decision,) = client.get(berth, path + query).json()["decisions"]
    nodes = client.get(berth, f"{path}/{decision['id']}").json()["nodes"]
    return {node["node"]: (node["outcome"], node.get("rank")) for node in nodes}


@pytest.mark.compat("narrowing")
def test_narrowing(cluster, mode):
    """kube-scheduler gets only the node with berth's best score."""
    for name, rank, taints in (
        ("third", 10, []),
        ("best", 90, [AVOID]),
        ("second", 50, []),
        ("never", 99, []),
    ):
        cluster.add_node(name, {RANK: str(rank)}, cpu="2", taints=taints)
    policy = cluster.write_policy("""
narrow: {to: 1}
filters: [{name: not-that, expression: "node.metadata.name != 'never'", reason: never there}]
scores: [{name: rank, expression: "int(node.metadata.labels['example.com/rank'])"}]
""")
    berth = cluster.start(mode, "--policy", policy)

    cluster.add_pod("first", cpu="1500m")
    assert cluster.wait_bound("first") == "best"
    assert decided_nodes(cluster, berth, "first") == {
        "best": ("passed", 1),
        "second": ("narrowed", 2),
        "third": ("narrowed", 3),
        "never": ("rejected", None),
    }
    assert count_requests(berth, "prioritize") == 0  # with one node kube-scheduler does not call prioritize
    assert metrics(berth)["berth_narrowed_nodes_total"] == 2

    # kube-scheduler does not send a full node; the others are narrowed.
    cluster.add_pod("next", cpu="1500m")
    assert cluster.wait_bound("next") == "second"
    seen = decided_nodes(cluster, berth, "next")
    assert seen == {
        "second": ("passed", 1),
        "third": ("narrowed", 2),
        "never": ("rejected", None),
    }


def wake(cluster, node):
    """Changes a node, which makes kube-scheduler retry pods; time alone does not."""
    annotations = {"example.com/changed": str(time.monotonic())}
    cluster.api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": annotations}})


def test_fresh_pods_and_owners(cluster):
    """Bound pods count at once, by age and by owner."""
    for name in ("here", "there"):
        cluster.add_node(name)
    policy = cluster.write_policy("""
filters:
  - {name: starting, maxFreshPods: {limit: 1, youngerThan: 12s}, reason: a pod is starting here}
  - {name: apart, maxPods: {limit: 1, per: owner}, reason: node has a pod of this owner}
""")
    cluster.start_binder("--policy", policy, "--bind")

    for name in ("one", "two", "three"):
        cluster.add_pod(name, owner="set-a")
    places = cluster.wait_places(2)
    assert sorted(places.values()) == ["here", "there"]
    (last,) = {"one", "two", "three"} - set(places)
    cluster.wait_pending(last, "2 a pod is starting here")

    # The others are no longer fresh, and a pod of another owner fits where this one does not.
    cluster.add_pod("other", owner="set-b")
    cluster.wait_pending("other", "2 a pod is starting here")

    def look():
        wake(cluster, "here")
        wake(cluster, "there")
        return cluster.pod("other")["spec"].get("nodeName")

    wait_for("the other pod to get a node", look)

    def reason():  # the second node may have a fresh pod a moment longer
        wake(cluster, "there")
        return find_condition(cluster.pod(last), "PodScheduled")["message"]

    wait_for("the owner to be the reason", reason, lambda message: "node has a pod of this owner" in message)


def zones_of(cluster, names):
    nodes = {node["metadata"]["name"]: node for node in cluster.api.get("/api/v1/nodes")["items"]}
    places = [cluster.wait_bound(name) for name in names]
    return sorted(nodes[place]["metadata"]["labels"][ZONE] for place in places)


def test_zones(cluster):
    """Rules that read the pods of all nodes of a zone."""
    for name, zone in (("a-1", "a"), ("a-2", "a"), ("a-3", "a"), ("b-1", "b")):
        cluster.add_node(name, {ZONE: zone})
    policy = cluster.write_policy("""
filters:
  - name: even
    topologySpread:
      topologyKey: topology.kubernetes.io/zone
      maxSkew: 1
      podSelector: {matchLabels: {app: web}}
    reason: zone has more of these pods than others
  - name: apart
    podAntiAffinity:
      topologyKey: topology.kubernetes.io/zone
      podSelector: {matchLabels: {app: database}}
    reason: zone has a database
""")
    cluster.start_binder("--policy", policy, "--bind")

    names = [f"web-{i}" for i in range(6)]
    for name in names:
        cluster.add_pod(name, {"app": "web"})
    assert zones_of(cluster, names) == ["a", "a", "a", "b", "b", "b"]
    for name in ("db-1", "db-2"):
        cluster.add_pod(name, {"app": "database"})
    assert zones_of(cluster, ["db-1", "db-2"]) == ["a", "b"]
    cluster.add_pod("db-3", {"app": "database"})
    cluster.wait_pending("db-3", "4 zone has a database")


def by_label(value):
    return f"""
filters:
  - name: class
    expression: "node.metadata.labels['example.com/class'] == '{value}'"
    reason: node is of another class
"""


def test_expressions_are_edited(cluster):
    cluster.add_node("plain")  # without the label the rule is an error, so the node is rejected
    for name in ("fast", "slow"):
        cluster.add_node(name, {CLASS: name})
    policy = cluster.write_policy(by_label("fast"))
    berth = cluster.start(Live(), "--policy", policy)

    cluster.add_pod("one")
    assert cluster.wait_bound("one") == "fast"
    assert metrics(berth)['berth_rule_errors_total{policy="e2e",rule="class"}'] >= 1
    assert "no such key: example.com/class" in berth.log.read_text()

    cluster.edit_policy(berth, by_label("slow"))
    cluster.add_pod("two")
    assert cluster.wait_bound("two") == "slow"

    # A mistake is logged with its position and a suggestion; the last good policy stays in force.
    cluster.edit_policy(berth, by_label("fast").replace("labels[", "label["), "rejected")
    status, text = get_health(berth)
    assert status == 200
    assert "degraded" in text and "undefined field 'label'" in text
    assert "did you mean 'labels'?" in berth.log.read_text()
    cluster.add_pod("three")
    assert cluster.wait_bound("three") == "slow"

    cluster.edit_policy(berth, by_label("fast"))
    cluster.add_pod("four")
    assert cluster.wait_bound("four") == "fast"
