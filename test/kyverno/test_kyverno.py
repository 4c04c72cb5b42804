"""Kyverno's command line applies the output of `berth config --admission --kyverno`.

    make kyverno-test
"""

import os
import subprocess

import pytest
import yaml

pytestmark = pytest.mark.skipif("KYVERNO" not in os.environ, reason="run by tools/kyverno-test")

PATIENCE = 120
SLOTS, CLOSED = "berth.dev/slots.p", "closed.berth.dev/p"
LABELS = {"app": "ws"}
POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: p}
spec:
  match: {podSelector: {matchLabels: {app: ws}}}
  filters:
    - {name: seats, maxPods: 4, publish: slots}
    - {name: ready, nodeReady: true, publish: label}
"""
OWN = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["x"]}]}
OPEN = {"key": CLOSED, "operator": "DoesNotExist"}
SIMULATED = {"key": "cluster-autoscaler.kubernetes.io/template-node", "operator": "Exists"}


def make_pod(name, labels=None, resources=None, owner=None, **spec):
    container = {"name": "a", "image": "x", **({"resources": resources} if resources else {})}
    owners = {"ownerReferences": [{"apiVersion": "apps/v1", "kind": owner, "name": "o", "uid": "1"}]} if owner else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or LABELS, **owners},
            "spec": {"containers": [container], **spec}}  # fmt: skip


def required(*terms):
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


@pytest.fixture
def apply(tmp_path):
    """apply(object...) is the objects after admission. @namespaces: their labels; @flags: of berth config, instead of a policy."""

    def call(*objects, policy=POLICY, flags=(), namespaces=None):
        (tmp_path / "p.yaml").write_text(policy)
        printed = subprocess.run(
            [os.environ["BERTH"], "config", "--admission", "--kyverno", *(flags or ("--policy", tmp_path / "p.yaml"))],
            capture_output=True, text=True, check=True, timeout=PATIENCE)  # fmt: skip
        (tmp_path / "policies.yaml").write_text(printed.stdout)
        (tmp_path / "objects.yaml").write_text(yaml.safe_dump_all(objects))
        labels = [{"name": name, "labels": given} for name, given in (namespaces or {}).items()]
        (tmp_path / "values.yaml").write_text(yaml.safe_dump(
            {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Values", "metadata": {"name": "v"}, "namespaceSelector": labels}))  # fmt: skip
        done = subprocess.run(
            [os.environ["KYVERNO"], "apply", "policies.yaml", "--resource", "objects.yaml", "-o", "changed.yaml",
             *(["--values-file", "values.yaml"] if labels else [])],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE)  # fmt: skip
        assert done.returncode == 0 and "fail: 0, warn: 0, error: 0" in done.stdout, done.stdout + done.stderr
        return [each for each in yaml.safe_load_all((tmp_path / "changed.yaml").read_text()) if each]

    return call


def state(pod):
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
    return (pod["spec"]["containers"][0].get("resources", {}).get("requests", {}),
            [term.get("matchExpressions") for term in terms])  # fmt: skip


def test_pods_request_a_slot_and_avoid_closed_nodes(apply):
    changed = apply(make_pod("bare"), make_pod("own", resources={"requests": {"cpu": "100m"}}, affinity=required(OWN)))
    assert {each["metadata"]["name"]: state(each) for each in changed} == {
        "bare": ({SLOTS: "1"}, [[OPEN], [SIMULATED]]),
        "own": ({"cpu": "100m", SLOTS: "1"}, [OWN["matchExpressions"] + [each] for each in (OPEN, SIMULATED)]),
    }


@pytest.mark.parametrize("pod", [
    make_pod("other", {"app": "db"}),
    make_pod("has-a-node", nodeName="one"),
    make_pod("daemon", owner="DaemonSet"),
    make_pod("done", resources={"requests": {SLOTS: "4"}, "limits": {SLOTS: "4"}}, affinity=required({"matchExpressions": [OPEN]})),
], ids=lambda pod: pod["metadata"]["name"])  # fmt: skip
def test_pods_that_stay_as_they_are(apply, pod):
    assert all(state(each) == state(pod) for each in apply(pod))


def test_controllers_stay_as_they_are(apply):
    """By default Kyverno tries to change templates of Deployments, too, if a policy is for all pods (autogen), and fails."""
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "a", "image": "x"}]}}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": LABELS},
                  "spec": {"selector": {"matchLabels": LABELS}, "template": template}}  # fmt: skip
    everything = POLICY.replace("  match: {podSelector: {matchLabels: {app: ws}}}\n", "")
    assert all(each["spec"]["template"]["spec"] == template["spec"] for each in apply(deployment, policy=everything))


# --- namespaces that opt in ---

OPT_IN = ["--scheduler-name", "berth"]
OPTED_IN = {"shop": {"berth.dev/scheduler": "berth"}, "other": {}}


def in_namespace(namespace, pod):
    return {**pod, "metadata": {**pod["metadata"], "namespace": namespace}}


def test_pods_of_a_namespace_that_opts_in_get_the_scheduler(apply):
    pods = [make_pod("bare"), make_pod("default", schedulerName="default-scheduler")]
    changed = apply(*(in_namespace("shop", pod) for pod in pods), flags=OPT_IN, namespaces=OPTED_IN)
    assert {each["metadata"]["name"]: each["spec"]["schedulerName"] for each in changed} == {"bare": "berth", "default": "berth"}


@pytest.mark.parametrize("pod", [
    in_namespace("other", make_pod("of-another-namespace")),
    in_namespace("shop", make_pod("own", schedulerName="own")),
    in_namespace("shop", make_pod("has-a-node", nodeName="one")),
    in_namespace("shop", make_pod("daemon", owner="DaemonSet")),
    in_namespace("shop", make_pod("stays", {"berth.dev/scheduler": "default-scheduler"})),
    in_namespace("shop", make_pod("berth", {"app.kubernetes.io/name": "berth"})),
], ids=lambda pod: pod["metadata"]["name"])  # fmt: skip
def test_pods_that_keep_their_scheduler(apply, pod):
    """Admission changes another pod, but not these."""
    bare = in_namespace("shop", make_pod("bare"))
    changed = {each["metadata"]["name"]: each["spec"] for each in apply(pod, bare, flags=OPT_IN, namespaces=OPTED_IN)}
    assert changed["bare"]["schedulerName"] == "berth"
    name = pod["metadata"]["name"]
    assert changed.get(name, pod["spec"]).get("schedulerName") == pod["spec"].get("schedulerName")
