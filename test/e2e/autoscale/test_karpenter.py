"""A real Karpenter makes nodes for pods that policies limit to four per node.

    make autoscale-test

kube-scheduler, API server and Karpenter are real; Karpenter's kwok provider makes the nodes, and a thread replaces
their kubelets. Prints the table of docs/publish.md.
"""

import collections
import os
import pathlib
import threading
import time

import pytest
import yaml
from api import ApiError
from nodemode import Live
from objects import make_extender
from process import pick_port
from test_publish import apply_admission, terms  # noqa: F401: a fixture
from waiting import wait_for

pytestmark = pytest.mark.skipif("KARPENTER" not in os.environ, reason="run by tools/autoscale-test")

KARPENTER = pathlib.Path(os.environ.get("KARPENTER", "."))
WATCH_SECONDS = int(os.environ.get("WATCH_SECONDS", "60"))
LIMIT = 4
SLOTS = "berth.dev/slots.e2e"
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
WEB = {"app": "web"}
LIMITED = "filters: [{name: limit, maxPods: {limit: 4, podSelector: {matchLabels: {app: web}}}%s}]"

POOL = """
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: kubernetes.io/os, operator: In, values: [linux]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      nodeClassRef: {name: default, kind: KWOKNodeClass, group: karpenter.kwok.sh}
      expireAfter: Never
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 10s}
"""
class Kubelets(threading.Thread):
    """Makes nodes ready and sets their pods to running."""

    def __init__(self, api):
        super().__init__(daemon=True)
        self.api, self.is_stopping = api, False

    def run(self):
        while not self.is_stopping:
            try:
                for node in self.api.get("/api/v1/nodes")["items"]:
                    self.make_ready(node)
                for pod in self.api.get("/api/v1/pods", fieldSelector="spec.nodeName!=")["items"]:
                    if pod["status"].get("phase") == "Pending":
                        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
                        self.api.patch(f"{path}/status", {"status": {"phase": "Running"}})
            except (OSError, ApiError):
                pass  # it was deleted or changed meanwhile
            time.sleep(0.3)

    def make_ready(self, node):
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": now()}
        if not any(each["type"] == "Ready" and each["status"] == "True" for each in node["status"].get("conditions", [])):
            self.api.patch(f"/api/v1/nodes/{node['metadata']['name']}/status", {"status": {"conditions": [ready]}})


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


@pytest.fixture
def karpenter(cluster):
    plane = cluster.plane
    crds = [yaml.safe_load(path.read_text()) for path in sorted(KARPENTER.glob("*.yaml"))]
    plane.apply(crds, "--force-conflicts")
    for crd in crds:
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd['metadata']['name']}"
        wait_for(f"{crd['metadata']['name']}", lambda: plane.api.get(path)["status"].get("conditions", []),
                 lambda seen: any(each["type"] == "Established" and each["status"] == "True" for each in seen))
    kubeconfig = plane.write_kubeconfig("karpenter", "system:masters")
    kubelets = Kubelets(plane.connect("kubelets", "system:masters"))
    kubelets.start()
    process = plane.run(
        "karpenter", "env", f"KUBECONFIG={kubeconfig}", "DISABLE_LEADER_ELECTION=true", f"METRICS_PORT={pick_port()}",
        f"HEALTH_PROBE_PORT={pick_port()}", "FEATURE_GATES=NodeOverlay=true", "SYSTEM_NAMESPACE=kube-system",
        KARPENTER / "karpenter",
    )  # fmt: skip
    cluster.running.append(process)
    plane.apply(list(yaml.safe_load_all(POOL)))
    yield process
    for path in ("/apis/karpenter.sh/v1/nodepools", CLAIMS, "/apis/karpenter.sh/v1alpha1/nodeoverlays"):
        plane.api.delete(path)
    wait_for("Karpenter to remove its nodes", lambda: plane.api.get(CLAIMS)["items"], lambda seen: not seen)
    kubelets.is_stopping = True


def claims(cluster):
    return {each["metadata"]["name"]: each["metadata"]["creationTimestamp"] for each in cluster.api.get(CLAIMS)["items"]}


def watch(cluster, n_pods, seconds):
    """Waits until all pods have a node, at most @seconds. Returns (NodeClaims seen, seconds)."""
    seen, begin = {}, time.monotonic()
    while len(cluster.places()) < n_pods and time.monotonic() - begin < seconds:
        seen |= claims(cluster)
        time.sleep(0.5)
    return seen | claims(cluster), time.monotonic() - begin


def report(what, cluster, n_pods, seen, took):
    places = collections.Counter(cluster.places().values())
    over = sum(max(0, n - LIMIT) for n in places.values())
    settled = claims(cluster)
    end = time.monotonic() + WATCH_SECONDS
    while time.monotonic() < end:
        time.sleep(1)
        seen |= claims(cluster)
    gone = len(set(settled) - set(claims(cluster)))
    print(f"\n{what}: {sum(places.values())} of {n_pods} pods run on {len(places)} nodes after {took:.0f} s, "
          f"{len(set(seen.values()))} rounds of new nodes, {over} pods over the limit, {gone} nodes disrupted in {WATCH_SECONDS} s")
    return places, over, gone


@pytest.mark.parametrize("n_pods", [10, 50])
def test_slots(cluster, karpenter, n_pods):
    policy = cluster.write_policy(LIMITED % ", publish: slots")
    overlay = cluster.run_berth("config", "--node-overlay", "default", "--policy", policy)
    cluster.plane.apply([yaml.safe_load(overlay.stdout)])
    cluster.start_berth(*Live().flags(cluster), "--policy", policy, "--publish")
    cluster.start_scheduler()
    for i in range(n_pods):
        cluster.add_pod(f"pod-{i}", WEB, cpu="10m", memory="1Mi", requests={SLOTS: "1"})
    seen, took = watch(cluster, n_pods, 180)
    places, over, gone = report(f"slots, {n_pods} pods", cluster, n_pods, seen, took)
    assert sum(places.values()) == n_pods and over == 0 and gone == 0


@pytest.mark.parametrize("has_extender", [True, False], ids=["extender", "stock"])
@pytest.mark.parametrize("n_pods", [10, 50])
def test_label(cluster, karpenter, apply_admission, n_pods, has_extender):
    """Karpenter does not know that a new node will be closed after four pods: it makes too few, and more in the next round."""
    policy = cluster.write_policy("filters: [{name: limit, maxPods: 4, publish: label}]")
    berth = cluster.start_berth(*Live().flags(cluster), "--policy", policy, "--publish")
    apply_admission(terms)
    cluster.start_scheduler(*([make_extender(berth.url)] if has_extender else []))
    for i in range(n_pods):
        cluster.add_pod(f"pod-{i}", WEB, cpu="10m", memory="1Mi")
    seen, took = watch(cluster, n_pods, 300)
    who = "berth as extender" if has_extender else "no extender"
    places, _, _ = report(f"label, {who}, {n_pods} pods", cluster, n_pods, seen, took)
    assert sum(places.values()) == n_pods


@pytest.mark.parametrize("n_pods", [10, 50])
def test_without_publishing(cluster, karpenter, n_pods):
    """Without publishing, nodes have room by their resources, so Karpenter adds none, although berth rejects them."""
    policy = cluster.write_policy(LIMITED % "")
    berth = cluster.start_berth(*Live().flags(cluster), "--policy", policy)
    cluster.start_scheduler(make_extender(berth.url))
    cluster.add_node("old", {"kubernetes.io/arch": "amd64"})
    for i in range(n_pods):
        cluster.add_pod(f"pod-{i}", WEB, cpu="10m", memory="1Mi")
    seen, took = watch(cluster, n_pods, 40)
    places, _, _ = report(f"a filter that is not published, {n_pods} pods", cluster, n_pods, seen, took)
    assert sum(places.values()) < n_pods and not seen
