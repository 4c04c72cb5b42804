"""Compares `berth simulate` with kube-scheduler: kube-scheduler, with berth as its extender, places pods one
after another in random clusters; then the model places the same pods. Each chosen node must be among the
model's best nodes. kube-scheduler chooses at random among equal nodes, so the test cannot require the same
node.

bench/fidelity runs more rounds of each class, and prints a table."""

import json
import os
import random

import pytest
from cluster import find_condition
from objects import make_node, make_pod
from waiting import wait_for

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
N_NODES, N_PODS = 20, 60  # per round
ROUNDS = int(os.environ.get("FIDELITY_ROUNDS", "1"))
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
    # The first three are plain, so that every pod fits on one of them.
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


def random_pod(rng, number, *features):
    """A pod with requests and the given features of "affinity", "tolerations" and "images"; default: all."""
    features = features or ("affinity", "tolerations", "images")
    spec, affinity = {}, {}
    if "affinity" in features:
        if rng.random() < 0.3:
            spec["nodeSelector"] = {ZONE: rng.choice("abc")}
        elif rng.random() < 0.4:
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
                "nodeSelectorTerms": [random_term(rng) for _ in range(rng.randrange(1, 3))]}
        if rng.random() < 0.5:
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": rng.randrange(1, 101), "preference": random_term(rng)}
                for _ in range(rng.randrange(1, 4))]
        if affinity:
            spec["affinity"] = {"nodeAffinity": affinity}
    if "tolerations" in features:
        spec["tolerations"] = [
            {"key": f"example.com/{key}", "operator": "Exists", **effect}
            for key in "xyz" if rng.random() < 0.4
            for effect in [rng.choice(({}, {"effect": "NoSchedule"}, {"effect": "PreferNoSchedule"}))]]
    pod = make_pod(f"pod-{number:03}", None, f"{rng.randrange(1, 1500)}m",
                   f"{rng.randrange(1, 2000)}Mi", **spec)
    pod["metadata"]["labels"] = {"app": rng.choice("abcd")}
    container = pod["spec"]["containers"][0]
    if "images" in features:
        container["image"] = f"example.com/image-{rng.randrange(8)}:v1"
    if rng.random() < 0.2:
        kept = rng.choice(((), ("cpu",), ("memory",)))
        requests = container["resources"]["requests"]
        container["resources"] = {"requests": {name: requests[name] for name in kept}}
    return pod


# --- classes of pods: each is a function of (round, number) that returns a pod -------------------


def plain(at, number):
    return random_pod(at.rng, number, "none")


def tainted(at, number):
    return random_pod(at.rng, number, "tolerations")


def node_affinity(at, number):
    return random_pod(at.rng, number, "affinity")


def images(at, number):
    pod = random_pod(at.rng, number, "images")
    pod["spec"]["initContainers"] = [{"name": "init", "image": f"example.com/image-{at.rng.randrange(8)}:v1"}]
    return pod


def mixed(at, number):
    return random_pod(at.rng, number)


def ports(at, number):
    pod = random_pod(at.rng, number)
    protocol, address = at.rng.choice(("TCP", "TCP", "UDP")), at.rng.choice(({}, {}, {"hostIP": "10.0.0.1"}))
    port = at.rng.randrange(8000, 8003)
    pod["spec"]["containers"][0]["ports"] = [
        {"containerPort": port, "hostPort": port, "protocol": protocol, **address}]
    return pod


def pod_level(at, number):
    """Pod-level requests: the sum of the containers, less, or only one resource."""
    pod = random_pod(at.rng, number)
    requests = {"cpu": f"{at.rng.randrange(1500, 4000)}m", "memory": f"{at.rng.randrange(2000, 5000)}Mi"}
    for name in at.rng.choice(((), ("cpu",), ("memory",))):
        del requests[name]
    if number % 2 == 1:
        pod["spec"]["resources"] = {"requests": requests}
    return pod


def gated(at, number):
    pod = random_pod(at.rng, number)
    pod["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    return pod


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


def has_terms(number):
    """Whether the pod has terms of its own; terms of running pods match the other half of the pods."""
    return number % 2 == 1


def pod_affinity(kind, is_required):
    """Required anti-affinity only by node: with three zones, three pods would fill all of them."""

    def make_terms(rng):
        if is_required:
            return {"requiredDuringSchedulingIgnoredDuringExecution": [
                pod_term(rng, HOSTNAME if kind == "podAntiAffinity" else ZONE)]}
        return {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": rng.randrange(1, 101),
             "podAffinityTerm": pod_term(rng, rng.choice((ZONE, HOSTNAME)))}
            for _ in range(rng.randrange(1, 3))]}

    def make(at, number):
        pod = random_pod(at.rng, number)
        if has_terms(number):
            pod["spec"].setdefault("affinity", {})[kind] = make_terms(at.rng)
        return pod

    return make


def spread_constraint(rng, is_required):
    policies = rng.choice(({}, {}, {"nodeAffinityPolicy": "Ignore"}, {"nodeTaintsPolicy": "Honor"}))
    if is_required and rng.random() < 0.2:
        policies = {**policies, "minDomains": rng.randrange(1, 4)}
    return {"topologyKey": rng.choice((ZONE, HOSTNAME)), "maxSkew": rng.randrange(1, 4), **policies,
            "whenUnsatisfiable": "DoNotSchedule" if is_required else "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": rng.choice("abc")}}}


def spread(is_required):
    def make(at, number):
        pod = random_pod(at.rng, number)
        constraints = [spread_constraint(at.rng, is_required) for _ in range(at.rng.randrange(1, 3))]
        pod["spec"]["topologySpreadConstraints"] = list(
            {each["topologyKey"]: each for each in constraints}.values())
        return pod

    return make


def default_spread(at, number):
    """One third of the pods belong to a Service, one third to a ReplicaSet, the others only have the same labels."""
    labels = {"app": "db", "hash": "one"}
    if number == 0:
        at.create("services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                               "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}})
        template = {"metadata": {"labels": labels}, "spec": make_pod("x")["spec"]}
        at.replicas = at.create("replicasets", {
            "metadata": {"name": "db"},
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}}, "/apis/apps/v1")
    pod = random_pod(at.rng, number)
    pod["metadata"]["labels"] = ({"app": "web"}, labels, {"app": "db"})[number % 3]
    if number % 3 == 1:
        pod["metadata"]["ownerReferences"] = [{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "db", "controller": True,
            "uid": at.replicas["metadata"]["uid"]}]
    return pod


def create_volume(at, name, zone, by_label):
    """Creates a volume in a zone and a claim that is bound to it, like the controller."""
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    affinity = {} if by_label else {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}
    volume_name = f"{at.cluster.namespace}-{name}"
    both = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    claim = at.create("persistentvolumeclaims", {
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {**both, "volumeName": volume_name, "resources": {"requests": {"storage": "1Gi"}}}})
    at.cluster.api.create("/api/v1/persistentvolumes", {
        "metadata": {"name": volume_name, "labels": {ZONE: zone} if by_label else {}},
        "spec": {**both, "capacity": {"storage": "1Gi"}, **affinity,
                 "nfs": {"server": "nfs.example.com", "path": f"/{name}"},
                 "claimRef": {"kind": "PersistentVolumeClaim", "namespace": at.cluster.namespace,
                              "name": name, "uid": claim["metadata"]["uid"]}}})
    at.cluster.api.patch(
        f"/api/v1/namespaces/{at.cluster.namespace}/persistentvolumeclaims/{name}/status",
        {"status": {"phase": "Bound"}})


def bound_volumes(at, number):
    if number == 0:
        for volume, zone in enumerate("abcabc"):
            create_volume(at, f"data-{volume}", zone, by_label=volume < 3)
    pod = random_pod(at.rng, number)
    pod["spec"].get("nodeSelector", {}).pop(ZONE, None)
    pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {
        "claimName": f"data-{at.rng.randrange(6)}"}}]
    return pod


CLASSES = {
    "resources": plain,
    "taints": tainted,
    "node affinity": node_affinity,
    "images": images,
    "all of these": mixed,
    "host ports": ports,
    "pod-level requests": pod_level,
    "scheduling gates": gated,
    "pod affinity, required": pod_affinity("podAffinity", True),
    "pod affinity, preferred": pod_affinity("podAffinity", False),
    "pod anti-affinity, required": pod_affinity("podAntiAffinity", True),
    "pod anti-affinity, preferred": pod_affinity("podAntiAffinity", False),
    "spread, DoNotSchedule": spread(True),
    "spread, ScheduleAnyway": spread(False),
    "spread, default": default_spread,
    "bound volumes": bound_volumes,
}


# --- a round ------------------------------------------------------------------------------------


class Round:
    """A cluster and the pods placed in it."""

    def __init__(self, cluster, name, number):
        self.cluster, self.name = cluster, name
        self.rng = random.Random(f"{name} {number}")
        self.others, self.placed = [], []  # objects besides pods; (name, whether it has terms)
        for i in range(N_NODES):
            node = random_node(self.rng, i)
            if name == "spread, default" and i % 5 == 4:
                del node["metadata"]["labels"][ZONE]
            cluster.api.create("/api/v1/nodes", node)
        for i in range(10):  # these are already running
            there = make_pod(f"there-{i}", nodeName=f"node-{self.rng.randrange(N_NODES)}")
            there["spec"]["containers"][0]["resources"] = {}
            cluster.api.create(cluster.pods_path, there)

    def create(self, resource, item, api="/api/v1"):
        made = self.cluster.api.create(f"{api}/namespaces/{self.cluster.namespace}/{resource}", item)
        if "kind" in item:
            self.others.append({**made, "apiVersion": "v1", "kind": item["kind"]})
        return made

    def place(self, pod, has_own_terms):
        """Places a pod, and deletes it if kube-scheduler finds no node."""
        name, api = pod["metadata"]["name"], self.cluster.api
        api.create(self.cluster.pods_path, pod)

        def look():
            return find_condition(self.cluster.pod(name), "PodScheduled")

        condition = wait_for(f"kube-scheduler to try {name}", look)
        if condition.get("reason") == "SchedulingGated":
            api.patch(f"{self.cluster.pods_path}/{name}", {"spec": {"schedulingGates": None}})
            condition = wait_for(f"kube-scheduler to try {name}", look,
                                 lambda seen: seen and seen.get("reason") != "SchedulingGated")
        if condition["status"] == "True":
            self.placed.append((name, has_own_terms))
        else:
            self.cluster.delete_pod(name)
            self.cluster.wait_gone(name)

    def follow(self, policy):
        """Returns the pods that are not on one of the model's best nodes."""
        pods = {pod["metadata"]["name"]: pod for pod in self.cluster.pods()}
        path, dump = self.cluster.folder / "pods.json", self.cluster.folder / "all.json"
        path.write_text(json.dumps({"kind": "List", "items": [
            *self.others, *({"apiVersion": "v1", "kind": "Pod", **pods[name]} for name, _ in self.placed)]}))
        dump.write_text(self.cluster.plane.kubectl("get", "nodes,pods,pvc,pv", "-A", "-o", "json"))
        done = self.cluster.run_berth("simulate", "--cluster", dump, "--pods", path, "--follow",
                                      "--policy", policy, "--no-baseline", "-o", "json")
        assert done.returncode == 0, done.stderr
        followed = json.loads(done.stdout)["policies"][0]["follow"]
        assert followed["pods"] == len(self.placed)
        assert followed["notModelled"] == 0
        assert len(followed["misses"]) == followed["pods"] - followed["best"]
        return followed["misses"]


def report(at, misses):
    """A line for bench/fidelity: results for pods with terms of their own, and for the others."""
    missed = {miss["name"] for miss in misses}
    for has_own, name in ((True, at.name), (False, "plain pods beside " + at.name)):
        names = [pod for pod, own in at.placed if own == has_own]
        line = {"class": name, "pods": len(names), "best": len([pod for pod in names if pod not in missed])}
        if names and "FIDELITY_REPORT" in os.environ:
            with open(os.environ["FIDELITY_REPORT"], "a") as file:
                file.write(json.dumps(line) + "\n")


@pytest.mark.parametrize("number", range(ROUNDS))
@pytest.mark.parametrize("name", CLASSES)
def test_the_model_agrees_with_kube_scheduler(cluster, name, number):
    at = Round(cluster, name, number)
    policy = cluster.write_policy(POLICY)
    # berth binds, so that it counts a pod before the next one arrives, like kube-scheduler.
    cluster.start_binder("--bind", "--policy", policy, weight=1)
    for i in range(N_PODS):
        at.place(CLASSES[name](at, i), has_own_terms="affinity," not in name or has_terms(i))
    assert len(at.placed) >= N_PODS / 3
    misses = at.follow(policy)
    report(at, misses)
    assert misses == []
