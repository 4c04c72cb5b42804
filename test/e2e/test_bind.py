"""berth binds pods, and only to nodes that it has filtered."""

import pytest
from client import metrics
from nodemode import Live
from objects import make_pod
from verbs import NOBODY, ask_bind, ask_filter

PLACED_BY = "example.com/placed-by"
POLICY = """
filters:
  - {name: pool, nodeLabels: {example.com/pool: blue}, reason: node is not in the pool}
bind:
  annotations: {example.com/placed-by: berth}
"""


def add_nodes(cluster):
    cluster.add_node("red", {"example.com/pool": "red"})
    cluster.add_node("blue", {"example.com/pool": "blue"})
    cluster.add_node("azure", {"example.com/pool": "blue"})


@pytest.mark.compat("bind", "watch")
def test_berth_binds(cluster):
    add_nodes(cluster)
    berth = cluster.start_binder("--policy", cluster.write_policy(POLICY), "--bind")

    names = [f"pod-{i}" for i in range(12)]
    for name in names:
        cluster.add_pod(name)
    for name in names:
        assert cluster.wait_bound(name) in ("blue", "azure")
        assert cluster.pod(name)["metadata"]["annotations"][PLACED_BY] == "berth"
    cluster.wait_event(names[0], "Scheduled", "Successfully assigned")
    assert f"{PLACED_BY}: berth" in cluster.describe_pod(names[0])

    cluster.wait_figure(berth, "berth_binds_total", len(names))
    cluster.wait_figure(berth, "berth_ledger_pods", 0)
    figures = metrics(berth)
    assert figures["berth_bind_failures_total"] == figures["berth_bind_refusals_total"] == 0
    cluster.assert_cluster_copy_is_true(berth)


@pytest.mark.compat("bind", "managedResources")
def test_unmanaged_pods_are_bound_by_the_scheduler(cluster):
    gpu = "example.com/gpu"
    cluster.add_node("blue", {"example.com/pool": "blue"}, **{gpu: "4"})
    policy = cluster.write_policy(POLICY)
    berth = cluster.start_binder("--policy", policy, "--bind", managedResources=[{"name": gpu}])

    cluster.add_pod("plain")
    cluster.add_pod("asks", requests={gpu: "1"})
    assert cluster.wait_bound("plain") == cluster.wait_bound("asks") == "blue"
    assert PLACED_BY not in cluster.pod("plain")["metadata"].get("annotations", {})
    assert cluster.pod("asks")["metadata"]["annotations"][PLACED_BY] == "berth"
    cluster.wait_figure(berth, "berth_binds_total", 1)


EXPRESSIONS = """
filters:
  - name: wanted
    expression: "pod.metadata.annotations[?'example.com/pool'].orValue('') == node.metadata.labels['example.com/pool']"
    reason: node is not in the pool
scores:
  - {name: fixed, expression: "70.0"}
bind:
  annotations:
    example.com/placed-by: berth
    example.com/place: {expression: "node.metadata.name + ' on ' + node.status.nodeInfo.architecture"}
    example.com/why: {expression: "decision.policies[0] + ' ' + string(decision.score)"}
    example.com/image: {expression: "pod.spec.containers[0].image"}
    example.com/zone: {expression: "node.metadata.labels['zone']"}
    example.com/team: {expression: "pod.metadata.annotations['team']", onError: fail}
"""


def add_annotated(cluster, name, **annotations):
    pod = make_pod(name)
    pod["metadata"]["annotations"] = annotations
    return cluster.api.create(cluster.pods_path, pod)


def test_annotations_are_expressions_of_pod_node_and_decision(cluster):
    """The filter reads the pod's annotations, so the bind evaluates the whole pod again."""
    add_nodes(cluster)
    path = cluster.write_policy(EXPRESSIONS)
    berth = cluster.start_binder("--policy", path, "--bind")
    pool = {"example.com/pool": "red"}
    add_annotated(cluster, "works", team="shop", **pool)
    assert cluster.wait_bound("works") == "red"
    annotations = cluster.pod("works")["metadata"]["annotations"]
    assert annotations[PLACED_BY] == "berth"
    assert annotations["example.com/place"] == "red on "  # no kubelet reports it
    assert annotations["example.com/why"].endswith(" 70")
    assert annotations["example.com/image"] == "example.com/none"
    assert "example.com/zone" not in annotations
    cluster.wait_figure(berth, "berth_bind_annotations_skipped_total", 1)

    add_annotated(cluster, "waits", **pool)
    error = "annotation example.com/team of policy"
    cluster.wait_pending("waits", error)
    cluster.wait_event("waits", "FailedScheduling", error)
    assert metrics(berth)["berth_binds_total"] == 1


def assert_waits_with(cluster, error):
    cluster.add_pod("waits")
    condition = cluster.wait_pending("waits", error)
    assert condition["reason"] == "SchedulerError"
    cluster.wait_event("waits", "FailedScheduling", error)
    assert error in cluster.describe_pod("waits")


def test_does_not_bind_without_flag(cluster):
    add_nodes(cluster)
    cluster.start_binder("--policy", cluster.write_policy(POLICY))
    assert_waits_with(cluster, "it was not started with --bind; remove bindVerb")


@pytest.mark.compat("bind", "ignorable", since=30)
def test_the_scheduler_binds_when_an_ignorable_berth_does_not(cluster):
    add_nodes(cluster)
    cluster.start_binder("--policy", cluster.write_policy(POLICY), ignorable=True)
    cluster.add_pod("goes")
    assert cluster.wait_bound("goes") in ("blue", "azure")
    assert PLACED_BY not in cluster.pod("goes")["metadata"].get("annotations", {})


def test_the_right_that_is_missing_is_named(cluster):
    add_nodes(cluster)
    kubeconfig = cluster.plane.make_berth_identity("berth-reads", "berth-decide")
    policy = cluster.write_policy(POLICY)
    # The last flag counts.
    berth = cluster.start_binder("--policy", policy, "--bind", "--kubeconfig", kubeconfig)
    assert_waits_with(cluster, "needs the right create on pods/binding")
    cluster.expect_denials("berth-reads: create pods/binding")
    # A pod that was not bound uses no slot.
    cluster.wait_figure(berth, "berth_ledger_pods", 0)


@pytest.fixture
def asked(cluster):
    """A berth that has filtered `first`, but not `second`."""
    add_nodes(cluster)
    flags = [*Live().flags(cluster), "--policy", cluster.write_policy(POLICY), "--bind"]
    berth = cluster.start_berth(*flags)
    berth.first = cluster.add_pod("first", schedulerName=NOBODY)
    berth.second = cluster.add_pod("second", schedulerName=NOBODY)
    assert ask_filter(berth, berth.first, ["red", "blue"]) == ["blue"]
    return berth


FORGED = {
    # name: (pod, node, other fields, error)
    "never-asked": ("second", "blue", {}, "no filter request named this pod"),
    "wrong-uid": ("first", "blue", {"PodUID": "1-2-3"}, "no filter request named this pod"),
    "rejected-node": ("first", "red", {}, "did not pass the filter"),
    "other-node": ("first", "azure", {}, "did not pass the filter"),
    "no-such-node": ("first", "green", {}, "did not pass the filter"),
    # A known UID with another name.
    "name-of-another": ("first", "blue", {"PodName": "second"}, "for another pod than the filter"),
    "gone": ("first", "blue", {"PodName": "third"}, "for another pod than the filter"),
    "other-namespace": ("first", "blue", {"PodNamespace": "default"}, "for another pod than the filter"),
}


@pytest.mark.parametrize("pod, node, fields, error", FORGED.values(), ids=FORGED.keys())
def test_a_bind_that_was_not_judged_is_refused(cluster, asked, pod, node, fields, error):
    assert error in ask_bind(asked, getattr(asked, pod), node, **fields)
    assert cluster.places() == {}
    cluster.wait_figure(asked, "berth_ledger_pods", 0)
    # The correct pod can still be bound.
    assert ask_bind(asked, asked.first, "blue") == ""
    assert cluster.places() == {"first": "blue"}


def test_binding_again_is_fine_to_the_same_node_only(cluster, asked):
    assert ask_filter(asked, asked.first, ["blue", "azure"]) == ["blue", "azure"]
    assert ask_bind(asked, asked.first, "blue") == ""
    assert ask_bind(asked, asked.first, "blue") == ""  # perhaps before the watch event
    cluster.wait_figure(asked, "berth_ledger_pods", 0)
    assert ask_bind(asked, asked.first, "blue") == ""  # after the watch event
    assert "on node blue already" in ask_bind(asked, asked.first, "azure")
    assert cluster.places() == {"first": "blue"}
    cluster.assert_cluster_copy_is_true(asked)
