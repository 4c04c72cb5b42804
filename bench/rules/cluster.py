"""The cluster of bench/policies: nodes with 20 pods each on average, and a pod to place.

Nodes are those of bench/generate.py with more differences: kinds of machines, spot capacity, ages,
maintenance taints, eight of fifty feature labels, two to seven images. Nearly all nodes pass each
rule of ten-five.yaml, as in a healthy cluster. Pods belong to 400 owners; some nodes have several
pods of the same owner as the pod to place, and some have pods that were bound just before. All
names and ids are made up; the same seed gives the same bytes.
"""

import calendar
import pathlib
import random
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))

import generate  # noqa: E402
from generate import encode, hexes, uid  # noqa: E402

NOW = calendar.timegm((2026, 11, 15, 7, 0, 0))
PODS_PER_NODE, N_IMAGES, N_OWNERS = 20, 6, 400
OWN = 7  # the owner of the pod to place
MACHINES = ("m6i.4xlarge",) * 10 + ("m7i.4xlarge",) * 6 + ("c7i.4xlarge",) * 3 + ("t3.large",)
FEATURES = ["feature.example.com/%s-%d" % (word, i) for word in (
    "cpu", "disk", "net", "rack", "kernel", "driver", "tenant", "tier", "wave", "zone")
    for i in range(5)]
VALUES = ("alpha", "beta", "gamma", "delta", "1", "2", "4", "8", "16")
MAINTENANCE = {"key": "example.com/maintenance", "value": "planned", "effect": "NoSchedule"}
PREFERRED = {"key": "example.com/draining-soon", "value": "", "effect": "PreferNoSchedule"}
GPU_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
MINUTE, HOUR, DAY = 60, 3600, 86400

POD = (
    '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","namespace":"team-%d","uid":"%s",'
    '"creationTimestamp":"%s","labels":{"app.kubernetes.io/name":"svc-%d",'
    '"app.kubernetes.io/version":"1.%d.0","tier":"%s","pod-template-hash":"%s"},'
    '"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"svc-%d-%s","uid":"%s",'
    '"controller":true}]},"spec":{"nodeName":"%s","containers":[{"name":"app","image":"%s",'
    '"resources":{"requests":{"cpu":"%dm","memory":"%dKi"}}}]},"status":{"phase":"Running"}}')


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def make_node(index, name, rng):
    node = generate.for_cluster(generate.make_node(index, name, N_IMAGES, rng), N_IMAGES)
    metadata, labels = node["metadata"], node["metadata"]["labels"]
    if "nvidia.com/gpu.count" not in labels:
        machine = rng.choice(MACHINES)
        labels["node.kubernetes.io/instance-type"] = machine
        labels["beta.kubernetes.io/instance-type"] = machine
    labels["example.com/capacity-type"] = "spot" if rng.random() < 0.1 else "on-demand"
    for key in rng.sample(FEATURES, 8):
        labels[key] = rng.choice(VALUES)
    metadata["labels"] = dict(sorted(labels.items()))
    age = rng.randrange(MINUTE, 10 * MINUTE) if rng.random() < 0.02 else rng.randrange(
        HOUR, 90 * DAY)
    metadata["creationTimestamp"] = stamp(NOW - age)
    if rng.random() < 0.03:
        node["spec"].setdefault("taints", []).append(MAINTENANCE)
    if rng.random() < 0.05:
        node["spec"].setdefault("taints", []).append(PREFERRED)
    rng.shuffle(node["status"]["images"])
    node["status"]["images"] = node["status"]["images"][:rng.randrange(2, N_IMAGES + 1)]
    return node


class Owner:
    def __init__(self, index, rng):
        self.index, self.uid, self.hash = index, uid(rng), hexes(rng, 10)
        self.namespace = index % 50
        self.tier = ("web", "api", "batch", "data")[index % 4]
        self.image = "registry.example.com/%s:v1.%d.0" % (
            generate.IMAGES[index % len(generate.IMAGES)], index % 9)


def make_pods(node_name, owners, rng):
    """Pods that use between 10 % and nearly all of the node."""
    count = rng.randrange(PODS_PER_NODE // 2, PODS_PER_NODE * 3 // 2 + 1)
    cpu, memory = (int(rng.uniform(0.1, 0.99) * most / count)
                   for most in (generate.CPU_MILLI, generate.MEMORY_KI))
    n_own = 4 if rng.random() < 0.02 else 0
    n_fresh = rng.randrange(1, 5) if rng.random() < 0.06 else 0
    for k in range(count):
        owner = owners[OWN if k < n_own else rng.randrange(N_OWNERS)]
        age = rng.randrange(5, 115) if k < n_fresh else rng.randrange(5 * MINUTE, 30 * DAY)
        name = "svc-%d-%s-%s" % (owner.index, owner.hash, hexes(rng, 10))
        yield POD % (name, owner.namespace, uid(rng), stamp(NOW - age), owner.index,
                     owner.index % 7, owner.tier, owner.hash, owner.index, owner.hash, owner.uid,
                     node_name, owner.image, cpu, memory)


def make_new_pod(owner, rng):
    pod = generate.make_pod(rng)
    pod["metadata"] |= {
        "namespace": "team-%d" % owner.namespace, "creationTimestamp": stamp(NOW - 1),
        "labels": {"app.kubernetes.io/name": "svc-%d" % owner.index, "tier": owner.tier,
                   "example.com/interruptible": "true", "pod-template-hash": owner.hash},
        "ownerReferences": [{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "uid": owner.uid, "controller": True,
            "name": "svc-%d-%s" % (owner.index, owner.hash), "blockOwnerDeletion": True}]}
    pod["spec"]["tolerations"].append(GPU_TOLERATION)
    return {"apiVersion": "v1", "kind": "Pod", **pod}


def give_image(nodes, pod, rng):
    """Gives a third of the nodes the pod's first image."""
    image = pod["spec"]["containers"][0]["image"]
    for node in nodes:
        if rng.random() < 1 / 3:
            node["status"]["images"].append({
                "names": [image.partition(":")[0] + "@sha256:" + "5d" * 32, image],
                "sizeBytes": 312000000})


def write(folder, n_nodes, seed=1):
    """Writes cluster.json, pod.json, and names.json: the request of a scheduler with nodeCacheCapable:
    true."""
    rng = random.Random(seed)
    owners = [Owner(i, rng) for i in range(N_OWNERS)]
    nodes = [make_node(i, name, rng) for i, name in enumerate(generate.node_names(n_nodes, rng))]
    pod = make_new_pod(owners[OWN], rng)
    give_image(nodes, pod, rng)
    order = generate.scheduler_order(nodes, rng)
    folder.mkdir(parents=True)
    (folder / "pod.json").write_text(encode(pod))
    names = [nodes[i]["metadata"]["name"] for i in order]
    (folder / "names.json").write_text(encode({"Pod": pod, "Nodes": None, "NodeNames": names}))
    with open(folder / "cluster.json", "w", encoding="utf-8") as out:
        out.write('{"apiVersion":"v1","items":[')
        out.write(",\n".join(map(encode, nodes)))
        for node in nodes:
            for text in make_pods(node["metadata"]["name"], owners, rng):
                out.write(",\n" + text)
        out.write('],"kind":"List","metadata":{"resourceVersion":""}}\n')
