"""--events: Events as kubectl shows them."""

from client import metrics
from nodemode import Live
from verbs import NOBODY, ask_filter
from waiting import wait_for

REASON = "node is not in the pool"
POLICY = f"""
filters:
  - {{name: pool, nodeLabels: {{example.com/pool: blue}}, reason: {REASON}}}
"""
POSTED = 'berth_events_total{result="posted"}'
FAILED = 'berth_events_total{result="failed"}'
DROPPED = 'berth_events_total{result="dropped"}'


def test_no_node_passed(cluster):
    for name in ("red", "pink"):
        cluster.add_node(name, {"example.com/pool": "red"})
    policy = cluster.write_policy(POLICY)
    berth = cluster.start(Live(), "--policy", policy, "--events")
    cluster.add_pod("waits")
    text = f"0 of 2 nodes passed berth's policies: 2 {REASON}. See: berth explain --last "
    cluster.wait_event("waits", "NoNodePassed", text + f"{cluster.namespace}/waits")
    assert text in cluster.describe_pod("waits")

    # The scheduler retries repeatedly, but there is one Event.
    cluster.add_node("green", {"example.com/pool": "green"})
    cluster.wait_pending("waits", "0/3 nodes are available")
    assert metrics(berth)[POSTED] == 1

    # A pod that gets a node has no Event from berth.
    cluster.add_node("blue", {"example.com/pool": "blue"})
    cluster.wait_figure(berth, "berth_cluster_nodes", 4)
    cluster.add_pod("goes")
    cluster.wait_bound("goes")
    assert metrics(berth)[POSTED] == 1
    assert metrics(berth)[FAILED] == metrics(berth)[DROPPED] == 0


def test_a_rejected_policy(cluster, monkeypatch):
    """Events for berth's own pod, whose name comes from the downward API."""
    pod = cluster.add_pod("berth-0", schedulerName=NOBODY)
    for name, value in (
        ("POD_NAME", "berth-0"),
        ("POD_NAMESPACE", cluster.namespace),
        ("POD_UID", pod["metadata"]["uid"]),
    ):
        monkeypatch.setenv(name, value)
    flags = ["--policy", cluster.write_policy(POLICY), "--events"]
    berth = cluster.start_berth(*Live().flags(cluster), *flags)
    cluster.edit_policy(berth, "filters: [{name: pool, nodeLabel: {a: b}}]", "rejected")
    cluster.wait_event("berth-0", "PolicyRejected", 'policy.yaml:5:26: error: unknown field "nodeLabel"')
    assert "PolicyRejected" in cluster.describe_pod("berth-0")


def test_without_the_right(cluster):
    cluster.add_node("red", {"example.com/pool": "red"})
    kubeconfig = cluster.plane.make_berth_identity("berth-mute", "berth-decide")
    flags = ["--policy", cluster.write_policy(POLICY), "--events", "--kubeconfig", kubeconfig]
    berth = cluster.start_berth(*flags)
    pods = [cluster.add_pod(f"pod-{i}", schedulerName=NOBODY) for i in range(5)]
    for pod in pods:
        assert ask_filter(berth, pod, ["red"]) == []
    wait_for("all to have ended", lambda: metrics(berth)[FAILED] + metrics(berth)[DROPPED] == 5)
    assert metrics(berth)[FAILED] == 1, "one try shows that it is of no use"
    assert berth.log.read_text().count("needs the right create on events.events.k8s.io") == 1
    assert cluster.events("pod-0") == []
    cluster.expect_denials("berth-mute: create events")
