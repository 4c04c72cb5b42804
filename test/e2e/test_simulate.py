"""`berth simulate` against the real thing: random clusters and pods, placed one after another by
kube-scheduler with berth as its extender; then the same pods are followed through the model. Each
node that was really chosen must be among those the model calls best: kube-scheduler throws dice
among them, so more cannot be asked."""

import json
import random

import pytest
from cluster import find_condition
from objects import make_node, make_pod
from waiting import wait_for

ZONE = "topology.kubernetes.io/zone"
N_PODS = 80
MIB = 1024 * 1024

POLICY = """
filters:
  - {name: open, nodeLabels: {example.com/closed: {notIn: ["true"]}}, reason: node is closed}
  - {name: room, headroom: {cpu: 100m}, reason: too little would be left}
scores:
  - {name: pack, binPack: {cpu: 2, memory: 1}, weight: 2}
  - {name: zone, nodeLabelPreference: {key: topology.kubernetes.io/zone, values: {a: 100, b: 40}}}
"""


def random_node(rng, number):
    zone = "abc"[number % 3]
    # The first three are plain: every pod finds one of them.
    plain = number < 3
    labels = {ZONE: zone, "example.com/size": str(rng.choice((4, 8, 16)))}
    if plain or rng.random() < 0.5:
        labels["example.com/disk"] = "ssd"
    if not plain and rng.random() < 0.2:
        labels["example.com/closed"] = "true"
    taints = []
    for effect in ("NoSchedule", "NoExecute", "PreferNoSchedule", "PreferNoSchedule"):
        if not plain and rng.random() < 0.2:
            taints.append({"key": f"example.com/{rng.choice('xyz')}", "effect": effect})
    taints = list({(taint["key"], taint["effect"]): taint for taint in taints}.values())
    cpu, memory = (64, 256) if plain else (rng.choice((4, 8, 16)), rng.choice((8, 16, 64)))
    node = make_node(f"node-{number}", labels, str(cpu), f"{memory}Gi", taints)
    node["status"]["images"] = [
        {"names": [f"example.com/image-{i}:v1"], "sizeBytes": (20 + 190 * i) * MIB}
        for i in rng.sample(range(8), 3)
    ]
    if not plain and rng.random() < 0.1:
        node["spec"]["unschedulable"] = True
    return node


def random_term(rng):
    key, operator, values = rng.choice((
        (ZONE, "In", [rng.choice("abc")]),
        (ZONE, "NotIn", [rng.choice("abc")]),
        ("example.com/disk", "Exists", None),
        ("example.com/nothing", "DoesNotExist", None),
        ("example.com/size", "Lt", ["99"]),
        ("example.com/size", "Gt", ["2"]),
    ))
    condition = {"key": key, "operator": operator}
    return {"matchExpressions": [{**condition, "values": values} if values else condition]}


def random_pod(rng, number):
    spec = {}
    if rng.random() < 0.3:
        spec["nodeSelector"] = {ZONE: rng.choice("abc")}
    affinity = {}
    if "nodeSelector" not in spec and rng.random() < 0.4:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": [random_term(rng) for _ in range(rng.randrange(1, 3))]}
    if rng.random() < 0.5:
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": rng.randrange(1, 101), "preference": random_term(rng)}
            for _ in range(rng.randrange(1, 4))]
    if affinity:
        spec["affinity"] = {"nodeAffinity": affinity}
    spec["tolerations"] = [
        {"key": f"example.com/{key}", "operator": "Exists", **effect}
        for key in "xyz" if rng.random() < 0.4
        for effect in [rng.choice(({}, {"effect": "NoSchedule"}, {"effect": "PreferNoSchedule"}))]]
    pod = make_pod(f"pod-{number:03}", None, f"{rng.randrange(1, 1500)}m",
                   f"{rng.randrange(1, 2000)}Mi", **spec)
    container = pod["spec"]["containers"][0]
    container["image"] = f"example.com/image-{rng.randrange(8)}:v1"
    if rng.random() < 0.2:
        kept = rng.choice(((), ("cpu",), ("memory",)))
        asks = container["resources"]["requests"]
        container["resources"] = {"requests": {name: asks[name] for name in kept}}
    return pod


def follow(cluster, policy, names, *others):
    """How many of the pods are on one of the model's best nodes. @others: more objects."""
    placed = {pod["metadata"]["name"]: pod for pod in cluster.pods()}
    pods = cluster.folder / "pods.json"
    pods.write_text(json.dumps({"kind": "List", "items": [
        *others, *({"apiVersion": "v1", "kind": "Pod", **placed[name]} for name in names)]}))
    dump = cluster.folder / "all.json"
    dump.write_text(cluster.plane.kubectl("get", "nodes,pods,pvc,pv", "-A", "-o", "json"))
    done = cluster.run_berth("simulate", "--cluster", dump, "--pods", pods, "--follow",
                             "--policy", policy, "--no-baseline", "-o", "json")
    assert done.returncode == 0, done.stderr
    followed = json.loads(done.stdout)["policies"][0]["follow"]
    print(f"{followed['best']} of {followed['pods']} pods are where the model says:"
          f" {100 * followed['best'] / followed['pods']:.1f} %")
    return followed


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_model_agrees_with_kube_scheduler(cluster, seed):
    rng = random.Random(seed)
    for number in range(14):
        cluster.api.create("/api/v1/nodes", random_node(rng, number))
    for number in range(10):  # these run already
        there = make_pod(f"there-{number}", nodeName=f"node-{rng.randrange(14)}")
        there["spec"]["containers"][0]["resources"] = {}
        cluster.api.create(cluster.pods_path, there)
    policy = cluster.write_policy(POLICY)
    # berth binds: so it counts a pod on its node before the next one comes, as kube-scheduler does.
    cluster.start_binder("--bind", "--policy", policy, weight=1)

    names = []
    for number in range(N_PODS):
        pod = random_pod(rng, number)
        cluster.api.create(cluster.pods_path, pod)
        names.append(pod["metadata"]["name"])
        cluster.wait_bound(names[-1])

    followed = follow(cluster, policy, names)
    assert followed["pods"] == N_PODS
    assert followed["best"] == N_PODS, json.dumps(followed["misses"])


def pod_term(rng, key):
    app = rng.choice("abc")
    selector = rng.choice((
        {"matchLabels": {"app": app}},
        {"matchExpressions": [{"key": "app", "operator": "In", "values": [app, "d"]}]},
        {"matchLabels": {"app": app},
         "matchExpressions": [{"key": "old", "operator": "DoesNotExist"}]},
    ))
    everywhere = rng.choice(({}, {}, {"namespaceSelector": {}}))
    return {"topologyKey": key, "labelSelector": selector, **everywhere}


def pod_affinity(rng, kind, is_required):
    """Required anti-affinity by node only: three zones are full after three pods."""
    by_node = "kubernetes.io/hostname"
    if is_required:
        key = by_node if kind == "podAntiAffinity" else ZONE
        return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [pod_term(rng, key)]}}
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": rng.randrange(1, 101),
         "podAffinityTerm": pod_term(rng, rng.choice((ZONE, by_node)))}
        for _ in range(rng.randrange(1, 3))]}}


def place(cluster, pod):
    """Whether kube-scheduler finds a node; if not, the pod is deleted."""
    name = pod["metadata"]["name"]
    cluster.api.create(cluster.pods_path, pod)
    condition = wait_for(f"kube-scheduler to try {name}",
                         lambda: find_condition(cluster.pod(name), "PodScheduled"))
    if condition["status"] == "True":
        return True
    cluster.delete_pod(name)
    cluster.wait_gone(name)
    return False


# 60 pods of a class, half of them without affinity: terms of running pods apply to these.
@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
@pytest.mark.parametrize("is_required", [True, False], ids=["required", "preferred"])
def test_the_model_agrees_about_pod_affinity(cluster, kind, is_required):
    rng = random.Random(f"{kind}{is_required}")
    for number in range(20):
        cluster.api.create("/api/v1/nodes", random_node(rng, number))
    policy = cluster.write_policy(POLICY)
    cluster.start_binder("--bind", "--policy", policy, weight=1)
    names = []
    for number in range(60):
        pod = random_pod(rng, number)
        pod["metadata"]["labels"] = {"app": rng.choice("abcd")}
        if number % 2 == 1:
            pod["spec"].setdefault("affinity", {}).update(pod_affinity(rng, kind, is_required))
        if place(cluster, pod):
            names.append(pod["metadata"]["name"])
    assert len(names) >= 20
    followed = follow(cluster, policy, names)
    assert followed["pods"] == len(names) and followed["notModelled"] == 0
    assert followed["best"] == len(names), json.dumps(followed["misses"])


def spread_constraint(rng, is_required):
    key = rng.choice((ZONE, "kubernetes.io/hostname"))
    policies = rng.choice(({}, {}, {"nodeAffinityPolicy": "Ignore"}, {"nodeTaintsPolicy": "Honor"}))
    if is_required and rng.random() < 0.2:
        policies = {**policies, "minDomains": rng.randrange(1, 4)}
    return {"topologyKey": key, "maxSkew": rng.randrange(1, 4), **policies,
            "whenUnsatisfiable": "DoNotSchedule" if is_required else "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": rng.choice("abc")}}}


# Pods with constraints of their own beside others that count.
@pytest.mark.parametrize("is_required", [True, False], ids=["DoNotSchedule", "ScheduleAnyway"])
def test_the_model_agrees_about_topology_spread(cluster, is_required):
    rng = random.Random(f"spread{is_required}")
    for number in range(20):
        cluster.api.create("/api/v1/nodes", random_node(rng, number))
    policy = cluster.write_policy(POLICY)
    cluster.start_binder("--bind", "--policy", policy, weight=1)
    names = []
    for number in range(60):
        pod = random_pod(rng, number)
        pod["metadata"]["labels"] = {"app": rng.choice("abc")}
        constraints = [spread_constraint(rng, is_required) for _ in range(rng.randrange(3))]
        pod["spec"]["topologySpreadConstraints"] = list(
            {each["topologyKey"]: each for each in constraints}.values())
        if place(cluster, pod):
            names.append(pod["metadata"]["name"])
    assert len(names) >= 20
    followed = follow(cluster, policy, names)
    assert followed["pods"] == len(names) and followed["notModelled"] == 0
    assert followed["best"] == len(names), json.dumps(followed["misses"])


# A third of the pods each: of a Service, of a ReplicaSet, and others with the same labels.
def test_the_model_agrees_about_default_spread(cluster):
    rng = random.Random("default")
    for number in range(20):
        node = random_node(rng, number)
        if number % 5 == 4:
            del node["metadata"]["labels"][ZONE]
        cluster.api.create("/api/v1/nodes", node)
    service = {"apiVersion": "v1", "kind": "Service",
               "metadata": {"name": "web", "namespace": cluster.namespace},
               "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}
    cluster.api.create(f"/api/v1/namespaces/{cluster.namespace}/services", service)
    labels = {"app": "db", "hash": "one"}
    template = {"metadata": {"labels": labels}, "spec": make_pod("x")["spec"]}
    replicas = cluster.api.create(f"/apis/apps/v1/namespaces/{cluster.namespace}/replicasets", {
        "metadata": {"name": "db"},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}})
    policy = cluster.write_policy(POLICY)
    cluster.start_binder("--bind", "--policy", policy, weight=1)
    names = []
    for number in range(60):
        pod = random_pod(rng, number)
        pod["metadata"]["labels"] = ({"app": "web"}, labels, {"app": "db"})[number % 3]
        if number % 3 == 1:
            pod["metadata"]["ownerReferences"] = [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "db", "controller": True,
                "uid": replicas["metadata"]["uid"]}]
        if place(cluster, pod):
            names.append(pod["metadata"]["name"])
    followed = follow(cluster, policy, names, service)
    assert followed["pods"] == len(names) and followed["notModelled"] == 0
    assert followed["best"] == len(names), json.dumps(followed["misses"])


def create_volume(cluster, name, zone, by_label):
    """A volume in a zone, and a claim that is bound to it, as the controller leaves them."""
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    affinity = {} if by_label else {
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}
    volume_name = f"{cluster.namespace}-{name}"
    both = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    claim = cluster.api.create(f"/api/v1/namespaces/{cluster.namespace}/persistentvolumeclaims", {
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {**both, "volumeName": volume_name,
                 "resources": {"requests": {"storage": "1Gi"}}}})
    cluster.api.create("/api/v1/persistentvolumes", {
        "metadata": {"name": volume_name, "labels": {ZONE: zone} if by_label else {}},
        "spec": {**both, "capacity": {"storage": "1Gi"}, **affinity,
                 "csi": {"driver": "example.com", "volumeHandle": name},
                 "claimRef": {"kind": "PersistentVolumeClaim", "namespace": cluster.namespace,
                              "name": name, "uid": claim["metadata"]["uid"]}}})
    cluster.api.patch(
        f"/api/v1/namespaces/{cluster.namespace}/persistentvolumeclaims/{name}/status",
        {"status": {"phase": "Bound"}})


def test_the_model_agrees_about_bound_volumes(cluster):
    rng = random.Random("volumes")
    for number in range(20):
        cluster.api.create("/api/v1/nodes", random_node(rng, number))
    for number, zone in enumerate("abcabc"):
        create_volume(cluster, f"data-{number}", zone, by_label=number < 3)
    policy = cluster.write_policy(POLICY)
    cluster.start_binder("--bind", "--policy", policy, weight=1)
    names = []
    for number in range(40):
        pod = random_pod(rng, number)
        pod["spec"].get("nodeSelector", {}).pop(ZONE, None)
        pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {
            "claimName": f"data-{rng.randrange(6)}"}}]
        if place(cluster, pod):
            names.append(pod["metadata"]["name"])
    assert len(names) >= 20
    followed = follow(cluster, policy, names)
    assert followed["pods"] == len(names) and followed["notModelled"] == 0
    assert followed["best"] == len(names), json.dumps(followed["misses"])
