"""The clusters of the live benchmarks: nodes and pods as an API server sends them.

Nodes are those of bench/generate.py: 16 KB of JSON each, 50 images, managedFields. Pods
have two containers with environment and probes, an owner, managedFields and a status: 5 KB.
All names, ids and images are made up; the same seed gives the same bytes.
"""

import os
import random
import string
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import generate  # noqa: E402
from generate import CREATED, encode, hexes, uid  # noqa: E402

PODS_PER_NODE = 20
OWNERS, NAMESPACES = 500, 50
FIRST_VERSION = 1000000001  # all resourceVersions have ten digits, so that the feed can overwrite them
SUFFIX_LETTERS, SUFFIX_LEN = string.ascii_lowercase, 5
GPU_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
POOL = '"example.com/pool":"%s"'
HEARTBEAT = '"lastHeartbeatTime":"%s"'

# Per 1,000 watch events. LIVES pods are created, bound, started and deleted: four events each.
NOISE, LIVES, HEARTBEATS, LABELS = 500, 75, 180, 20


def make_nodes(count, rng, is_open=False, n_images=50):
    """@is_open: every node fits every pod that tolerates the GPU taint."""
    nodes = []
    for index, name in enumerate(generate.node_names(count, rng)):
        node = generate.make_node(index, name, n_images, rng)
        if is_open:
            open_node(node)
        nodes.append(node)
    return nodes


def open_node(node):
    labels = node["metadata"]["labels"]
    labels["example.com/pool"] = "general" if labels["example.com/pool"] == "system" else labels[
        "example.com/pool"]
    node["spec"].pop("unschedulable", None)
    node["status"]["conditions"] = generate.conditions(ready=True)


def without(mapping, *keys):
    return {key: value for key, value in mapping.items() if key not in keys}


def make_new_pod(name, rng):
    """A new pod, without the fields that an API server fills in."""
    pod = generate.make_pod(rng)
    spec = without(pod["spec"], "volumes", "priority", "preemptionPolicy")
    spec["containers"] = [without(container, "volumeMounts") for container in spec["containers"]]
    spec["tolerations"] = [GPU_TOLERATION]
    return {"metadata": {"name": name, "labels": pod["metadata"]["labels"]}, "spec": spec}


# --- pods of a feed: templates, since there are many ---


class Owner:
    """A ReplicaSet. Its pods differ only in the placeholders between @ signs."""

    def __init__(self, index, rng):
        self.name, self.namespace = "svc-%d" % index, "team-%d" % (index % NAMESPACES)
        self.hash = hexes(rng, 10)
        pod = self._make(index, rng)
        self.running = encode(pod)
        self.bound = encode({**pod, "status": make_status(pod, is_running=False)})
        pending = {**pod, "spec": without(pod["spec"], "nodeName"),
                   "status": {"phase": "Pending", "qosClass": "Burstable"}}
        self.pending = encode(pending)

    def _make(self, index, rng):
        pod = generate.make_pod(rng)
        spec = pod["spec"]
        main, proxy = spec["containers"]
        main["env"], proxy["env"] = main["env"][1:], proxy["env"][:1]
        del proxy["livenessProbe"], proxy["volumeMounts"]
        for container in spec["containers"]:
            container["resources"]["requests"]["cpu"] = "%dm" % rng.randrange(20, 250, 10)
        return {
            "kind": "Pod", "apiVersion": "v1",
            "metadata": {
                "name": "%s-%s-@SUFFIX@" % (self.name, self.hash),
                "generateName": "%s-%s-" % (self.name, self.hash), "namespace": self.namespace,
                "uid": "@UID@", "resourceVersion": str(FIRST_VERSION), "generation": 1,
                "creationTimestamp": CREATED,
                "labels": {"app.kubernetes.io/name": self.name,
                           "app.kubernetes.io/part-of": self.namespace,
                           "app.kubernetes.io/version": "1.%d.0" % (index % 7),
                           "pod-template-hash": self.hash},
                "annotations": {"checksum/config": hexes(rng, 64)},
                "ownerReferences": [{
                    "apiVersion": "apps/v1", "kind": "ReplicaSet",
                    "name": "%s-%s" % (self.name, self.hash), "uid": uid(rng),
                    "controller": True, "blockOwnerDeletion": True}],
                "managedFields": make_managed_fields()},
            "spec": {"nodeName": "@NODE@", **spec}, "status": make_status(pod, is_running=True),
        }

    def fill(self, template, identity, node):
        suffix, own_uid = identity
        return (template.replace("@SUFFIX@", suffix).replace("@UID@", own_uid)
                .replace("@NODE@", node).replace("@IP@", address_of(node)))


def make_managed_fields():
    common = {"operation": "Update", "apiVersion": "v1", "time": CREATED, "fieldsType": "FieldsV1"}
    each = generate.fields(("image", "name", "ports", "env", "resources", "livenessProbe"))
    return [
        {"manager": "kube-controller-manager", **common, "fieldsV1": {
            "f:metadata": {"f:generateName": {}, "f:labels": {"f:pod-template-hash": {}},
                           "f:ownerReferences": {".": {}}},
            "f:spec": {"f:containers": {'k:{"name":"checkout-service"}': each},
                       "f:restartPolicy": {}, "f:schedulerName": {}}}},
        {"manager": "kubelet", **common, "subresource": "status", "fieldsV1": {
            "f:status": generate.fields(("conditions", "containerStatuses", "hostIP", "phase",
                                         "podIP", "startTime"))}},
    ]


def make_status(pod, is_running):
    kinds = ("Ready", "ContainersReady", "PodScheduled")
    all_true = [{"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": CREATED}
            for kind in kinds]
    if not is_running:
        return {"phase": "Pending", "conditions": all_true[-1:], "qosClass": "Burstable"}
    return {
        "phase": "Running", "conditions": all_true, "hostIP": "@IP@", "podIP": "@IP@",
        "startTime": CREATED, "qosClass": "Burstable",
        "containerStatuses": [
            {"name": container["name"], "state": {"running": {"startedAt": CREATED}},
             "lastState": {}, "ready": True, "restartCount": 0, "image": container["image"],
             "imageID": container["image"].partition(":")[0] + "@sha256:" + "5d" * 32,
             "containerID": "containerd://@UID@", "started": True}
            for container in pod["spec"]["containers"]],
    }


def address_of(node_name):
    return node_name[3:].partition(".")[0].replace("-", ".")


def make_identity(number, rng):
    """A name suffix that is unique for @number, and a uid."""
    n_letters, number = len(SUFFIX_LETTERS), number * 7919 % len(SUFFIX_LETTERS) ** SUFFIX_LEN
    letters = [SUFFIX_LETTERS[number // n_letters**i % n_letters] for i in range(SUFFIX_LEN)]
    return "".join(letters), uid(rng)


# --- files for feed.py ---


def make_event(kind, text):
    return '{"type":"%s","object":%s}\n' % (kind, text)


def make_node_text(node):
    metadata = {**node["metadata"], "resourceVersion": str(FIRST_VERSION),
                "managedFields": generate.managed_fields(node)}
    return encode({"kind": "Node", "apiVersion": "v1", **node, "metadata": metadata})


class World:
    """A cluster for feed.py. Node 0 is the probe node: only flips change it, and it passes the filters
    if its label allows it."""

    def __init__(self, n_nodes, pods_per_node=PODS_PER_NODE, seed=1):
        self.rng = random.Random(seed)
        nodes = make_nodes(n_nodes, self.rng)
        open_node(nodes[0])
        nodes[0]["spec"].pop("taints", None)
        nodes[0]["metadata"]["labels"]["example.com/pool"] = "general"
        self.names = [node["metadata"]["name"] for node in nodes]
        self.order = generate.scheduler_order(nodes, self.rng)
        self.node_texts = [make_node_text(node) for node in nodes]
        self.owners = [Owner(i, self.rng) for i in range(OWNERS)]
        # (owner, identity, node) of each pod; write() makes the text
        self.pods = [(self.rng.randrange(OWNERS), make_identity(number, self.rng), number % n_nodes)
                     for number in range(pods_per_node * n_nodes)]
        self.n_pods = len(self.pods)  # including pods that are created and deleted by events
        self.rng.shuffle(self.pods)

    def pod_text(self, pod, state="running"):
        owner, identity, node = pod
        filled = self.owners[owner]
        return filled.fill(getattr(filled, state), identity, self.names[node])

    def write(self, folder, n_events=0):
        """Writes the files of feed.py. nodes, pods: a line for each object, as at the start of a watch.
        events: the watch events, which repeat; each line starts with the resource. probe: the two
        states of node 0."""
        with open(folder / "nodes", "w") as out:
            out.writelines(make_event("ADDED", text) for text in self.node_texts)
        with open(folder / "pods", "w") as out:
            out.writelines(make_event("ADDED", self.pod_text(pod)) for pod in self.pods)
        with open(folder / "events", "w") as out:
            out.writelines(self._make_events(n_events) if n_events else ())
        with open(folder / "probe", "w") as out:
            for pool in ("general", "system"):
                text = self.node_texts[0].replace(POOL % "general", POOL % pool)
                out.write(make_event("MODIFIED", text))

    # Lists of events, in order. After the last event the cluster is as before.

    def _make_events(self, n_events):
        share = n_events / 1000
        stories = [self._noise() for _ in range(round(NOISE * share))]
        stories += [self._life() for _ in range(round(LIVES * share))]
        stories += [self._heartbeat() for _ in range(round(HEARTBEATS * share))]
        stories += [self._relabel() for _ in range(round(LABELS * share / 2))]
        timed = []
        for number, story in enumerate(stories):
            times = sorted(self.rng.random() for _ in story)
            timed += [(time, number, event) for time, event in zip(times, story)]
        return [event for _, _, event in sorted(timed)]

    def _noise(self):
        text = self.pod_text(self.rng.choice(self.pods))
        text = text.replace('"restartCount":0', '"restartCount":%d' % self.rng.randrange(9))
        return ["pods " + make_event("MODIFIED", text)]

    def _life(self):
        self.n_pods += 1
        identity = make_identity(self.n_pods, self.rng)
        pod = self.rng.randrange(OWNERS), identity, self._any_node()
        states = (("ADDED", "pending"), ("MODIFIED", "bound"), ("MODIFIED", "running"),
                  ("DELETED", "running"))
        return ["pods " + make_event(kind, self.pod_text(pod, state)) for kind, state in states]

    def _heartbeat(self):
        text = self.node_texts[self._any_node()]
        now = "2026-11-15T07:%02d:%02dZ" % (self.rng.randrange(60), self.rng.randrange(60))
        return ["nodes " + make_event("MODIFIED",
                                      text.replace(HEARTBEAT % CREATED, HEARTBEAT % now))]

    def _relabel(self):
        text = self.node_texts[self._any_node()]
        other = text.replace(POOL % "general", POOL % "moved").replace(
            POOL % "batch", POOL % "general").replace(POOL % "moved", POOL % "batch")
        return ["nodes " + make_event("MODIFIED", each) for each in (other, text)]

    def _any_node(self):
        return self.rng.randrange(1, len(self.names))
