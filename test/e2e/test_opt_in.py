"""Namespaces opt in: a MutatingAdmissionPolicy sets berth's scheduler for their new pods.

KUBERNETES=1.34 tools/e2e test/e2e/test_opt_in.py runs it with v1beta1.
"""

import itertools

import pytest
import yaml
from nodemode import Live
from objects import BERTH_NAMESPACE, make_extender, make_owner, make_pod
from waiting import wait_for

LABEL = "berth.dev/scheduler"
BERTH, DEFAULT = "berth", "default-scheduler"
tries = itertools.count()


def set_label(cluster, namespace, value):
    cluster.api.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": {LABEL: value}}})


def try_pod(cluster, namespace, labels=None, **spec):
    """Returns the schedulerName of a new pod, and deletes the pod."""
    path, name = f"/api/v1/namespaces/{namespace}/pods", f"try-{next(tries)}"
    pod = make_pod(name, labels, **spec)
    pod["spec"]["securityContext"] = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}  # as berth's namespace requires
    pod["spec"]["containers"][0]["securityContext"] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    pod = cluster.api.create(path, pod)
    cluster.api.delete(f"{path}/{name}", gracePeriodSeconds=0)
    return pod["spec"]["schedulerName"]


def wait_scheduler(cluster, namespace, name):
    wait_for(f"pods of {namespace} to be for {name}", lambda: try_pod(cluster, namespace), lambda seen: seen == name)


@pytest.fixture
def opt_in(cluster, admission_version):
    """Applies the objects of `berth config`, and labels the scenario's namespace."""
    done = cluster.run_berth("config", "--admission", "--scheduler-name", BERTH, "--admission-version", admission_version)
    assert (done.returncode, done.stderr) == (0, "")
    objects = list(yaml.safe_load_all(done.stdout))
    assert {each["apiVersion"] for each in objects} == {f"admissionregistration.k8s.io/{admission_version}"}
    assert cluster.plane.apply(objects, "--validate=strict") == ""
    set_label(cluster, cluster.namespace, BERTH)
    wait_scheduler(cluster, cluster.namespace, BERTH)
    yield
    for each in reversed(objects):
        cluster.plane.kubectl("delete", each["kind"], each["metadata"]["name"])


def test_new_pods_without_a_scheduler_of_their_own(cluster, opt_in):
    def scheduler_of(labels=None, **spec):
        return try_pod(cluster, cluster.namespace, labels, **spec)

    assert scheduler_of(schedulerName=DEFAULT) == BERTH, "the API server writes this name if none is given"
    assert scheduler_of(owner="1") == BERTH, "pods of a ReplicaSet"
    assert scheduler_of(schedulerName="other") == "other"
    assert scheduler_of(nodeName="somewhere") == DEFAULT
    assert scheduler_of({LABEL: DEFAULT}) == DEFAULT
    assert scheduler_of({"app.kubernetes.io/name": "berth"}) == DEFAULT, "berth cannot wait for itself"
    daemon = make_pod("daemon")
    daemon["metadata"]["ownerReferences"] = [make_owner("1") | {"kind": "DaemonSet"}]
    assert cluster.api.create(cluster.pods_path, daemon)["spec"]["schedulerName"] == DEFAULT


def test_only_with_the_label_of_the_namespace(cluster, opt_in):
    """Not with the label for another scheduler, and never in the namespaces of the control plane and of berth."""
    cluster.plane.make_namespace("kube-system")
    other = f"{cluster.namespace}-other"
    cluster.plane.make_namespace(other)
    assert try_pod(cluster, other) == DEFAULT
    for namespace, value in ("kube-system", BERTH), (BERTH_NAMESPACE, BERTH), (other, "another"):
        cluster.plane.make_namespace(namespace)
        set_label(cluster, namespace, value)
    last = f"{cluster.namespace}-last"
    cluster.plane.make_namespace(last)
    set_label(cluster, last, BERTH)
    wait_scheduler(cluster, last, BERTH)  # the API server has processed the earlier labels, too
    for namespace in "kube-system", BERTH_NAMESPACE, other:
        assert try_pod(cluster, namespace) == DEFAULT, namespace
        set_label(cluster, namespace, None)
    set_label(cluster, cluster.namespace, None)
    wait_scheduler(cluster, cluster.namespace, DEFAULT)


def test_berth_decides_about_them(cluster, opt_in):
    """Runs a second kube-scheduler with berth, and no default scheduler."""
    cluster.add_node("other")
    cluster.add_node("pool", {"pool": "web"})
    policy = cluster.write_policy("filters: [{name: pool, nodeLabels: {pool: web}}]")
    berth = cluster.start_berth(*Live().flags(cluster), "--policy", policy)
    cluster.start_scheduler(make_extender(berth.url), profiles=[{"schedulerName": BERTH}])
    cluster.add_pod("before", {LABEL: DEFAULT})
    for i in range(4):
        cluster.add_pod(f"pod-{i}")
    assert cluster.wait_places(4) == {f"pod-{i}": "pool" for i in range(4)}
