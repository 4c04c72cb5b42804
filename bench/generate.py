#!/usr/bin/env python3
"""Makes a cluster and the requests that a kube-scheduler would send for it.

    bench/generate.py --nodes 5000 --out DIR

writes into DIR
    cluster.json   what `kubectl get nodes,pods -A -o json` prints, less its white space
    names.json     ExtenderArgs with NodeNames: nodeCacheCapable: true
    whole.json     ExtenderArgs with Nodes:     nodeCacheCapable: false

filter and prioritize get the same body: kube-scheduler sends it twice, byte for
byte, when the filter lets every node through.

The key order, nulls and empty objects are those of kube-scheduler v1.36.4 (recorded
bodies are in test/). All names, ids and images are made up; the same seed gives
the same bytes.
"""

import argparse
import json
import os
import random

ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
POOLS = ("general",) * 13 + ("batch",) * 6 + ("system",)
IMAGES = (
    "platform/ingress-nginx/controller", "platform/cilium/cilium", "library/postgres",
    "library/redis", "team-payments/checkout-service", "team-search/indexer",
    "monitoring/prometheus/node-exporter", "monitoring/fluent-bit", "ml/pytorch-training",
    "platform/csi/node-driver-registrar", "platform/kube-proxy",
)
CREATED = "2026-11-15T06:51:29Z"
CPU_MILLI, MEMORY_KI = 15890, 61875396  # allocatable
PODS_PER_NODE = 10


def hexes(rng, digits):
    return "%0*x" % (digits, rng.getrandbits(4 * digits))


def uid(rng):
    h = hexes(rng, 32)
    return "-".join((h[:8], h[8:12], h[12:16], h[16:20], h[20:]))


def node_names(count, rng):
    """Unique, 40 to 44 characters, in the order the API server lists them."""
    names = set()
    while len(names) < count:
        names.add("ip-10-%d-%d-%d.eu-west-1.compute.internal"
                  % (rng.randrange(100, 164), rng.randrange(256), rng.randrange(256)))
    return sorted(names)


def labels(name, zone, pool, gpu):
    kind = "g5.12xlarge" if gpu else "m6i.4xlarge"
    result = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/instance-type": kind,
        "beta.kubernetes.io/os": "linux",
        "example.com/capacity-type": "on-demand",
        "example.com/pool": pool,
        "failure-domain.beta.kubernetes.io/region": "eu-west-1",
        "failure-domain.beta.kubernetes.io/zone": zone,
        "feature.node.kubernetes.io/cpu-cpuid.AVX512F": "true",
        "feature.node.kubernetes.io/cpu-model.family": "6",
        "feature.node.kubernetes.io/kernel-version.full": "6.1.0-26-cloud-amd64",
        "feature.node.kubernetes.io/system-os_release.ID": "debian",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node-role.kubernetes.io/worker": "",
        "node.kubernetes.io/instance-type": kind,
        "topology.ebs.csi.aws.com/zone": zone,
        "topology.kubernetes.io/region": "eu-west-1",
        "topology.kubernetes.io/zone": zone,
    }
    if gpu:
        result["nvidia.com/gpu.count"] = "4"
        result["nvidia.com/gpu.present"] = "true"
    return dict(sorted(result.items()))


def annotations(address, instance):
    return {
        "alpha.kubernetes.io/provided-node-ip": address,
        "csi.volume.kubernetes.io/nodeid": json.dumps(
            {"ebs.csi.aws.com": instance, "efs.csi.aws.com": instance}, separators=(",", ":")),
        "example.com/last-drained": "2026-10-01T04:12:09Z",
        "network.cilium.io/ipv4-cilium-host": address,
        "nfd.node.kubernetes.io/feature-labels":
            "cpu-cpuid.AVX512F,cpu-model.family,kernel-version.full,system-os_release.ID",
        "node.alpha.kubernetes.io/ttl": "0",
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
    }


def fields(keys):
    return {".": {}, **{"f:" + key: {} for key in keys}}


def status_fields(status):
    each = fields(("lastHeartbeatTime", "lastTransitionTime", "message", "reason", "status", "type"))
    return {
        "f:allocatable": fields(status["allocatable"]), "f:capacity": fields(status["capacity"]),
        "f:conditions": {".": {}, **{"k:" + encode({"type": condition["type"]}): each
                                     for condition in status["conditions"]}},
        "f:images": {}, "f:nodeInfo": {"f:bootID": {}}}


def managed_fields(node):
    metadata = node["metadata"]
    common = {"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "time": CREATED,
              "fieldsType": "FieldsV1"}
    return [
        {**common, "fieldsV1": {
            "f:metadata": {"f:annotations": fields(metadata["annotations"]),
                           "f:labels": fields(metadata["labels"])},
            "f:spec": {"f:podCIDR": {}, "f:podCIDRs": {".": {}}, "f:providerID": {}}}},
        {**common, "fieldsV1": {"f:status": status_fields(node["status"])},
         "subresource": "status"},
    ]


def conditions(ready):
    def condition(kind, status, reason, message):
        return {"type": kind, "status": status, "lastHeartbeatTime": CREATED,
                "lastTransitionTime": "2026-11-12T06:51:29Z", "reason": reason, "message": message}

    return [
        condition("MemoryPressure", "False", "KubeletHasSufficientMemory",
                  "kubelet has sufficient memory available"),
        condition("DiskPressure", "False", "KubeletHasNoDiskPressure",
                  "kubelet has no disk pressure"),
        condition("PIDPressure", "False", "KubeletHasSufficientPID",
                  "kubelet has sufficient PID available"),
        condition("Ready", "True", "KubeletReady", "kubelet is posting ready status") if ready else
        condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."),
    ]


def images(rng, count):
    result = []
    for i in range(count):
        name = "registry.example.com/" + IMAGES[i % len(IMAGES)]
        if i >= len(IMAGES):
            name += "-%d" % (i // len(IMAGES))
        result.append({"names": [name + "@sha256:" + hexes(rng, 64),
                                 name + ":v1.%d.%d" % (i, rng.randrange(9))],
                       "sizeBytes": 700000004 - 13000000 * i})
    return result


def make_node(index, name, n_images, rng):
    gpu = index % 4 == 3
    address = name[3:name.index(".")].replace("-", ".")
    instance = "i-" + hexes(rng, 17)
    zone, pool = rng.choice(ZONES), rng.choice(POOLS)
    ready, cordoned = rng.random() >= 0.01, rng.random() < 0.01
    cidr = "100.%d.%d.0/24" % (64 + index // 256, index % 256)
    extra = {"nvidia.com/gpu": "4"} if gpu else {}
    node = {
        "metadata": {
            "name": name, "uid": uid(rng), "resourceVersion": str(1000 + index),
            "creationTimestamp": CREATED, "labels": labels(name, zone, pool, gpu),
            "annotations": annotations(address, instance)},
        "spec": {"podCIDR": cidr, "podCIDRs": [cidr],
                 "providerID": "aws:///%s/%s" % (zone, instance)},
        "status": {
            "capacity": {"cpu": "16", "ephemeral-storage": "102386300Ki", "hugepages-1Gi": "0",
                         "hugepages-2Mi": "0", "memory": "64811204Ki", **extra, "pods": "110"},
            "allocatable": {"cpu": "%dm" % CPU_MILLI, "ephemeral-storage": "93284864Ki",
                            "hugepages-1Gi": "0", "hugepages-2Mi": "0",
                            "memory": "%dKi" % MEMORY_KI, **extra, "pods": "110"},
            "conditions": conditions(ready),
            "addresses": [{"type": "InternalIP", "address": address},
                          {"type": "Hostname", "address": name},
                          {"type": "InternalDNS", "address": name}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "machineID": hexes(rng, 32), "systemUUID": uid(rng), "bootID": uid(rng),
                "kernelVersion": "6.1.0-26-cloud-amd64",
                "osImage": "Debian GNU/Linux 12 (bookworm)",
                "containerRuntimeVersion": "containerd://2.1.4", "kubeletVersion": "v1.36.4",
                "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64"},
            "images": images(rng, n_images)},
    }
    if cordoned:
        node["spec"]["unschedulable"] = True
    if gpu:
        node["spec"]["taints"] = [
            {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    return node


def make_bound_pods(index, node_name, rng):
    """Ten small pods that use between 10 % and nearly all of the node."""
    load_cpu, load_memory = rng.uniform(0.1, 0.99), rng.uniform(0.1, 0.99)
    for k in range(PODS_PER_NODE):
        requests = {"cpu": "%dm" % (CPU_MILLI * load_cpu / PODS_PER_NODE),
                    "memory": "%dKi" % (MEMORY_KI * load_memory / PODS_PER_NODE)}
        container = {"name": "app", "image": "registry.example.com/library/redis:v1.3.0",
                     "resources": {"requests": requests}}
        pod = {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "app-%d-%d" % (index, k), "namespace": "team-%d" % (k % 5),
                         "uid": uid(rng), "labels": {"app": "app-%d" % k}},
            "spec": {"nodeName": node_name, "containers": [container]},
            "status": {"phase": "Running"},
        }
        if k == 0:
            pod["spec"]["initContainers"] = [
                {"name": "init", "image": container["image"],
                 "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]
        if rng.random() < 0.02:
            pod["status"]["phase"] = "Succeeded"
        yield pod


def make_container(name, port, rng):
    def probe(path):
        return {"httpGet": {"path": path, "port": "http", "scheme": "HTTP"}, "timeoutSeconds": 1,
                "periodSeconds": 5, "successThreshold": 1, "failureThreshold": 3}

    return {
        "name": name, "image": "registry.example.com/team-payments/%s:v1.4.2" % name,
        "ports": [{"name": "http", "containerPort": port, "protocol": "TCP"}],
        "env": [{"name": "LOG_LEVEL", "value": "info"},
                {"name": "POD_NAME",
                 "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
                {"name": "POD_NAMESPACE",
                 "valueFrom": {"fieldRef": {"apiVersion": "v1",
                                            "fieldPath": "metadata.namespace"}}},
                {"name": "BUILD", "value": hexes(rng, 40)}],
        "resources": {"limits": {"memory": "96Mi"}, "requests": {"cpu": "75m", "memory": "96Mi"}},
        "volumeMounts": [{"name": "kube-api-access-t9mwr", "readOnly": True,
                          "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
        "livenessProbe": probe("/live"), "readinessProbe": probe("/ready"),
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }


def make_pod(rng):
    """The pod to be placed: two containers, 150m and 192Mi in all, no GPU toleration."""
    def tolerate(key):
        return {"key": "node.kubernetes.io/" + key, "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": 300}

    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {
            "apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}}]
    return {
        "metadata": {"name": "checkout-7d9c5b8f6-x2x7p", "generateName": "checkout-7d9c5b8f6-",
                     "namespace": "team-a", "uid": uid(rng), "resourceVersion": "282",
                     "generation": 1, "creationTimestamp": CREATED,
                     "labels": {"app.kubernetes.io/name": "checkout",
                                "pod-template-hash": "7d9c5b8f6"}},
        "spec": {
            "volumes": [{"name": "kube-api-access-t9mwr",
                         "projected": {"sources": sources, "defaultMode": 420}}],
            "containers": [make_container("checkout-service", 8080, rng),
                           make_container("checkout-proxy", 15001, rng)],
            "restartPolicy": "Always", "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst", "serviceAccountName": "default",
            "serviceAccount": "default", "securityContext": {},
            "schedulerName": "default-scheduler",
            "tolerations": [tolerate("not-ready"), tolerate("unreachable")],
            "priority": 0, "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority"},
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


def scheduler_order(nodes, rng):
    """The order of kube-scheduler: one node of each zone in turn, from a start that moves with every
    pod."""
    zones = {}
    for index, node in enumerate(nodes):
        zones.setdefault(node["metadata"]["labels"]["topology.kubernetes.io/zone"], []).append(index)
    turns = [list(reversed(members)) for members in zones.values()]
    order = []
    while any(turns):
        order += [members.pop() for members in turns if members]
    start = rng.randrange(len(order))
    return order[start:] + order[:start]


def encode(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def for_cluster(node, n_images):
    """Drops managedFields, which kubectl hides, and most images, to save disk space."""
    metadata = {k: v for k, v in node["metadata"].items() if k != "managedFields"}
    status = {**node["status"], "images": node["status"]["images"][:n_images]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": node["spec"],
            "status": status}


def write_cluster(path, nodes, n_images, rng):
    with open(path, "w", encoding="utf-8") as out:
        out.write('{"apiVersion":"v1","items":[')
        out.write(",\n".join(encode(for_cluster(node, n_images)) for node in nodes))
        for index, node in enumerate(nodes):
            for pod in make_bound_pods(index, node["metadata"]["name"], rng):
                out.write(",\n" + encode(pod))
        out.write('],"kind":"List","metadata":{"resourceVersion":""}}\n')


def write_bodies(folder, pod, nodes, order):
    head = '{"Pod":' + encode(pod)
    names = encode([nodes[i]["metadata"]["name"] for i in order])
    with open(os.path.join(folder, "names.json"), "w", encoding="utf-8") as out:
        out.write(head + ',"Nodes":null,"NodeNames":' + names + "}")
    with open(os.path.join(folder, "whole.json"), "w", encoding="utf-8") as out:
        out.write(head + ',"Nodes":{"metadata":{},"items":[')
        for k, i in enumerate(order):
            metadata = nodes[i]["metadata"]
            node = {**nodes[i], "metadata": {**metadata, "managedFields": managed_fields(nodes[i])}}
            out.write(("," if k else "") + encode(node))
        out.write(']},"NodeNames":null}')


def generate(folder, count, seed=1, order="scheduler", body_images=50, cluster_images=5):
    rng = random.Random(seed)
    nodes = [make_node(i, name, body_images, rng) for i, name in enumerate(node_names(count, rng))]
    pod = make_pod(rng)
    os.makedirs(folder, exist_ok=True)
    sequence = scheduler_order(nodes, rng) if order == "scheduler" else range(count)
    write_bodies(folder, pod, nodes, list(sequence))
    write_cluster(os.path.join(folder, "cluster.json"), nodes, cluster_images, rng)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--order", choices=("scheduler", "file"), default="scheduler",
                        help="of the nodes in the requests (default: scheduler)")
    parser.add_argument("--images", type=int, default=50, help="per node in whole.json")
    arguments = parser.parse_args()
    generate(arguments.out, arguments.nodes, arguments.seed, arguments.order, arguments.images)


if __name__ == "__main__":
    main()
