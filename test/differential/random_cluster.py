"""A random cluster: as Kubernetes objects for berth, and as values of expressions for cel-go.

The types of the fields are those of the reference in docs/policy.md. A field has the value that it has
in the API, or the value that set_computed() computes from its description there; this is written
independently of src/schema. A field that is new in the reference needs a value here, in node() or pod().
"""

import copy
import datetime
import math
import pathlib
import random
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/policy.md"
NOW = 1_790_000_000
N_NODES = 24
LABELS = ["a", "b", "zone", "n"]
LABEL_VALUES = ["a", "b", "x", "aax", "7", "1.5", ""]
RESOURCES = ["cpu", "memory", "nvidia.com/gpu"]
VARIABLES = ["pod", "node", "cluster", "namespace", "now"]  # of rules
AMOUNTS = "map(string, double)"


def read_reference():
    """{variable: type}, {type: {field: (type, whether it can be absent)}}"""
    section = PAGE.read_text(encoding="utf-8").split("<!-- fields:begin -->")[1].split("<!-- fields:end -->")[0]
    table = section.split("| variable |")[1].split("\n\n")[0]
    types = {}
    for name, body in re.findall(r"^### (\w+)\n(.*?)(?=^### |\Z)", section, re.S | re.M):
        rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| (always|has\(\) tells) \|", body, re.M)
        types[name] = {field: (type_, presence != "always") for field, type_, presence in rows}
    variables = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", table, re.M))
    return {name: type_ for name, type_ in variables.items() if name in VARIABLES}, types


def rename(text):
    """Renames "namespace" in an expression, because it is a reserved word in cel-go."""
    return re.sub(r"(?<![.\w'])namespace(?![\w'])", "namespaceObject", text)


# --- amounts ------------------------------------------------------------------------------------

SUFFIXES = {"m": 1e-3, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "k": 1e3, "": 1}


def number(text):
    digits, suffix = re.fullmatch(r"([\d.]+)(\w*)", text).groups()
    return float(digits) * SUFFIXES[suffix]


def read_amounts(amounts):
    """Amounts, cpu in thousandths, so that sums are exact."""
    return {key: math.ceil(number(text) * 1000 - 1e-9) if key == "cpu" else number(text) for key, text in amounts.items()}


def add(*many):
    keys = {key for amounts in many for key in amounts}
    return {key: sum(amounts.get(key, 0) for amounts in many) for key in keys}


def larger(a, b):
    return {key: max(a.get(key, 0), b.get(key, 0)) for key in {*a, *b}}


def to_doubles(amounts):
    doubles = {key: value / 1000 if key == "cpu" else float(value) for key, value in amounts.items()}
    return doubles | ({"milliCPU": float(amounts["cpu"])} if "cpu" in amounts else {})


def pod_total(spec, which):
    """requests or limits as Kubernetes adds them up."""
    def of(container):
        return read_amounts(container["resources"].get(which, {}))

    containers = add(*map(of, spec["containers"]))
    sidecars, start = {}, {}
    for container in spec["initContainers"]:
        if container.get("restartPolicy") == "Always":
            sidecars = add(sidecars, of(container))
            start = larger(start, sidecars)
        else:
            start = larger(start, add(sidecars, of(container)))
    total = larger(add(containers, sidecars), start)
    total |= read_amounts(spec.get("resources", {}).get(which, {}))
    if which == "requests":
        return add(total, read_amounts(spec.get("overhead", {})))
    return {key: value + read_amounts(spec.get("overhead", {})).get(key, 0) for key, value in total.items()}


def qos_class(spec):
    own = spec.get("resources", {})
    parts = [own] if own.get("requests") or own.get("limits") else [
        container["resources"] for container in spec["containers"] + spec["initContainers"]]
    named = [(key, part) for part in parts for which in ("requests", "limits") for key in part.get(which, {})
             if key in ("cpu", "memory")]
    if not named:
        return "BestEffort"
    equal = all(key in part.get("limits", {}) and part.get("requests", {}).get(key) == part["limits"][key]
                for part in parts for key in ("cpu", "memory"))
    return "Guaranteed" if equal else "Burstable"


# --- objects ------------------------------------------------------------------------------------


def time_text(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Cluster:
    """Nodes with their pods, and the pod to be placed."""

    def __init__(self, seed):
        self.random = random.Random(f"world/{seed}")
        self.nodes = [self.node(f"n{i}") for i in range(N_NODES)]
        self.pods = [self.pod(f"p{i}-{j}", f"n{i}") for i in range(N_NODES) for j in range(self.pick([0, 1, 2, 5]))]
        self.placed = self.pod("new", None)
        self.namespaces = {name: {"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": name, "labels": self.labels(), "annotations": self.labels()}} for name in ("default", "x")}
        self.claims = {name: self.claim(name) for name in self.namespaces}

    def pick(self, items):
        return self.random.choice(items)

    def some(self, items, most=3):
        return self.random.sample(items, self.random.randrange(min(most, len(items)) + 1))

    def maybe(self, key, value):
        return {key: value} if self.random.random() < 0.6 else {}

    def time(self):
        return time_text(NOW - self.pick([0, 30, 90, 3600, 86400, 400 * 86400]))

    def labels(self):
        return {key: self.pick(LABEL_VALUES) for key in self.some(LABELS, 4)}

    def amounts(self, keys=RESOURCES):
        values = {"cpu": ["100m", "250m", "1", "2.5", "4"], "memory": ["64Mi", "1Gi", "1000000000", "512k"],
                  "nvidia.com/gpu": ["1", "2"], "pods": ["8", "110"]}
        return {key: self.pick(values[key]) for key in keys}

    def node(self, name):
        whole = ["cpu", "memory", "pods", *self.some(["nvidia.com/gpu"])]
        return {
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "uid": f"uid-{name}", "labels": self.labels(), "annotations": self.labels(),
                         **self.maybe("creationTimestamp", self.time())},
            "spec": {**self.maybe("unschedulable", True), **self.maybe("providerID", f"cloud:///{name}"),
                     "podCIDRs": self.some(["10.0.0.0/24", "10.1.0.0/24", "fd00::/64"]),
                     "taints": [{"key": key, **self.maybe("value", self.pick(LABEL_VALUES)),
                                 "effect": self.pick(["NoSchedule", "PreferNoSchedule", "NoExecute"])}
                                for key in self.some(LABELS)]},
            "status": {
                "allocatable": self.amounts(whole), "capacity": self.amounts(whole),
                "conditions": [{"type": kind, "status": self.pick(["True", "False", "Unknown"]),
                                **self.maybe("lastTransitionTime", self.time())}
                               for kind in self.some(["Ready", "MemoryPressure", "DiskPressure"])],
                "images": [{"names": [f"registry.example/{image}:1"], "sizeBytes": self.pick([0, 5000, 2 * 10**9])}
                           for image in self.some(["a", "b", "c"])],
                "nodeInfo": {"architecture": self.pick(["amd64", "arm64"]), "operatingSystem": "linux",
                             "osImage": "Debian", "kernelVersion": self.pick(["6.1.0", "6.12.0"]),
                             "containerRuntimeVersion": "containerd://2.1.4",
                             "kubeletVersion": self.pick(["v1.37.1", "v1.36.4"])},
                "addresses": [{"type": kind, "address": self.pick(["10.0.0.1", "10.0.0.2", "::1", name])}
                              for kind in self.some(["InternalIP", "ExternalIP", "Hostname"])],
                "volumesInUse": self.some(["kubernetes.io/csi/a", "kubernetes.io/csi/b"]),
                "volumesAttached": [{"name": volume, "devicePath": ""} for volume in self.some(["v1", "v2"])],
            },
        }

    def container(self, name, is_init=False):
        limits, requests = self.amounts(self.some(RESOURCES[:2])), self.amounts(self.some(RESOURCES[:2]))
        for key in {*limits} & {*requests}:
            requests[key] = limits[key]
        return {
            "name": name, "image": f"registry.example/{self.pick('abc')}:1",
            **(self.maybe("restartPolicy", "Always") if is_init else {}),
            "resources": {"requests": limits | requests, "limits": limits},
            "ports": [{"name": port, "containerPort": 80, "hostPort": self.pick([0, 8080]),
                       "protocol": self.pick(["TCP", "UDP"]), "hostIP": self.pick(["", "127.0.0.1"])}
                      for port in self.some(["http", "dns"])],
            "env": [{"name": variable, "value": "secret"} for variable in self.some(["HOME", "TOKEN"])],
        }

    def volume(self, name):
        return {"name": name, **self.pick([
            {"emptyDir": {}}, {"hostPath": {"path": "/data"}}, {"persistentVolumeClaim": {"claimName": "data"}},
            {"ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}}])}

    def selector(self):
        return {"matchLabels": {key: self.pick(["a", "x"]) for key in self.some(LABELS, 2)},
                "matchExpressions": [{"key": key, "operator": "In", "values": ["a", "x"]} for key in self.some(LABELS, 1)]}

    def affinity(self):
        """An affinity without required node affinity, which selects() in cel-go/world.go does not support."""
        term = {**self.maybe("labelSelector", self.selector()), **self.maybe("namespaceSelector", self.selector()),
                "namespaces": self.some(["default", "x"]), "topologyKey": self.pick(LABELS)}
        return {
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": self.some(
                [{"weight": 7, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}])},
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": self.some([term])},
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": self.some(
                [{"weight": 50, "podAffinityTerm": term}])},
        }

    def spread(self):
        return {"maxSkew": self.pick([1, 3]), "topologyKey": self.pick(LABELS), "whenUnsatisfiable": "DoNotSchedule",
                **self.maybe("labelSelector", self.selector()), **self.maybe("minDomains", 2),
                "nodeAffinityPolicy": self.pick(["Honor", "Ignore"]), "nodeTaintsPolicy": self.pick(["Honor", "Ignore"]),
                "matchLabelKeys": self.some(["a"])}

    def pod(self, name, node):
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": self.pick(["u1", "u2"])}
        return {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": self.pick(["default", "x"]), "uid": f"uid-{name}",
                         "labels": self.labels(), "annotations": self.labels(),
                         **self.maybe("creationTimestamp", self.time()),
                         **(self.maybe("deletionTimestamp", self.time()) if node else {}),
                         "ownerReferences": self.some([{**owner, "controller": True}])},
            "spec": {
                **({"nodeName": node} if node else {}), "schedulerName": self.pick(["default-scheduler", "other"]),
                **self.maybe("priority", self.pick([-5, 1, 1000])),
                "tolerations": [{"operator": "Exists", **self.maybe("key", self.pick(LABELS)),
                                 **self.maybe("effect", self.pick(["NoSchedule", "NoExecute"]))},
                                {"key": "a", "operator": "Equal", "value": "x", "effect": "NoSchedule"}],
                "nodeSelector": {key: self.pick(LABEL_VALUES) for key in self.some(LABELS, 1)},
                "containers": [self.container(f"c{i}") for i in range(self.pick([1, 2]))],
                "initContainers": [self.container(f"i{i}", True) for i in range(self.pick([0, 1, 2]))],
                "priorityClassName": self.pick(["", "high"]),
                "preemptionPolicy": self.pick(["PreemptLowerPriority", "Never"]),
                **self.maybe("runtimeClassName", "gvisor"), "serviceAccountName": self.pick(["default", "bot"]),
                **self.maybe("hostNetwork", True),
                **self.maybe("affinity", self.affinity()),
                "topologySpreadConstraints": [self.spread() for _ in range(self.pick([0, 1]))],
                "schedulingGates": [{"name": gate} for gate in self.some(["example.com/quota"])],
                **self.maybe("overhead", {"cpu": "100m"}),
                "volumes": [self.volume(f"v{i}") for i in range(self.pick([0, 1, 2]))],
                "resourceClaims": self.some([{"name": "gpu", "resourceClaimName": "one"},
                                             {"name": "nic", "resourceClaimTemplateName": "two"}]),
            },
            "status": {**self.maybe("nominatedNodeName", "n1"), **({"phase": "Running"} if node else {}),
                       **(self.maybe("startTime", self.time()) if node else {})},
        }

    def claim(self, namespace):
        """A PersistentVolumeClaim, and the volume that it is bound to, or None."""
        size, zone = self.pick(["1Gi", "500Mi"]), self.pick(LABEL_VALUES[:3])
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"pv-{namespace}"},
                  "spec": {"capacity": {"storage": size}, **self.maybe("nodeAffinity", {"required": {"nodeSelectorTerms": [
                      {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}]}]}})}}
        is_bound = self.random.random() < 0.6
        spec = {"storageClassName": self.pick(["fast", "slow"]), "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "256Mi"}}, **({"volumeName": f"pv-{namespace}"} if is_bound else {})}
        status = {"phase": "Bound" if is_bound else "Pending", **({"capacity": {"storage": size}} if is_bound else {})}
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"namespace": namespace, "name": "data"},
                "spec": spec, "status": status}, volume if is_bound else None

    def objects(self):
        volumes = [each for pair in self.claims.values() for each in pair if each]
        return {"apiVersion": "v1", "kind": "List", "items": [*self.namespaces.values(), *volumes, *self.nodes, *self.pods]}


# --- as expressions see them ----------------------------------------------------------------------


def set_computed_of_pod(pod):
    meta, spec, status = pod["metadata"], pod["spec"], pod["status"]
    pod["requests"], pod["limits"] = (to_doubles(pod_total(spec, which)) for which in ("requests", "limits"))
    pod["owner"] = next((o["uid"] for o in meta["ownerReferences"] if o.get("controller")), "")
    pod["terminating"] = "deletionTimestamp" in meta
    scheduled = status.get("startTime") or meta.get("creationTimestamp")
    pod |= {"scheduledTime": scheduled} if scheduled else {}
    status["qosClass"] = qos_class(spec)
    for container in spec["containers"] + spec["initContainers"]:
        for which in ("requests", "limits"):
            container[which] = to_doubles(read_amounts(container["resources"][which]))
    for volume in spec["volumes"]:
        volume["kind"] = next(key for key in volume if key != "name")
        if volume["kind"] == "persistentVolumeClaim":
            volume["claimName"] = volume["persistentVolumeClaim"]["claimName"]
        if volume["kind"] == "ephemeral":
            volume["claimName"] = f"{meta['name']}-{volume['name']}"
            volume["storageClassName"] = volume["ephemeral"]["volumeClaimTemplate"]["spec"]["storageClassName"]
    return pod


def claims_of(pod, known):
    """The claims of a pod to be placed, by @known of its namespace."""
    claim, volume = known[pod["metadata"]["namespace"]]
    found = []
    for each in pod["spec"]["volumes"]:
        if each.get("claimName") == "data":
            terms = volume["spec"].get("nodeAffinity", {"required": {"nodeSelectorTerms": []}}) if volume else None
            found.append({
                "name": "data", **claim["spec"], **claim["status"],
                "requested": number(claim["spec"]["resources"]["requests"]["storage"]),
                "capacity": number(volume["spec"]["capacity"]["storage"]) if volume else 0.0,
                "zones": [zone for term in terms["required"]["nodeSelectorTerms"]
                          for zone in term["matchExpressions"][0]["values"]] if terms else []})
        elif each.get("claimName"):
            found.append({"name": each["claimName"]})
    return found


def set_computed(node, pods):
    status = node["status"]
    node["pods"] = pods
    node["ready"] = any(c["type"] == "Ready" and c["status"] == "True" for c in status["conditions"])
    allocatable = read_amounts(status["allocatable"])
    requested = add({"pods": len(pods)}, *(pod_total(pod["spec"], "requests") for pod in pods))
    free = {key: value - requested.get(key, 0) for key, value in allocatable.items()}
    for key, amounts in (("allocatable", allocatable), ("requested", requested), ("free", free),
                         ("capacity", read_amounts(status["capacity"]))):
        node[key] = to_doubles(amounts)
    for taint in node["spec"]["taints"]:
        value = f"={taint['value']}" if taint.get("value") else ""
        taint["text"] = f"{taint['key']}{value}:{taint['effect']}"
    return node


class View:
    """Values typed as cel-go/typed.go reads them."""

    def __init__(self, seed):
        self.variables, self.types = read_reference()
        self.cluster = Cluster(seed)
        pods = [set_computed_of_pod(copy.deepcopy(pod)) for pod in self.cluster.pods]
        self.nodes = [set_computed(copy.deepcopy(node), [p for p in pods if p["spec"]["nodeName"] == node["metadata"]["name"]])
                      for node in self.cluster.nodes]

    def totals(self):
        def total(which):
            sums = add(*(node[which] for node in self.nodes))
            return sums | {"cpu": sums["milliCPU"] / 1000}
        return {"nodes": len(self.nodes), "pods": len(self.cluster.pods),
                **{which: total(which) for which in ("allocatable", "requested", "free")}}

    def record(self, name, value):
        fields = {}
        for field, (type_, can_be_absent) in self.types[name].items():
            if field in value or not can_be_absent:
                fields[field] = self.value(type_, value.get(field))
        return {"type": "record", "name": name, "fields": fields}

    def value(self, type_, value):
        if type_ == AMOUNTS:
            items = list((value or {}).items())
            return {"type": "amounts", "value": [[self.value("string", k), self.value("double", v)] for k, v in items]}
        if type_ in self.types:
            return self.record(type_, value or {})
        if type_.startswith("list("):
            return {"type": "list", "value": [self.value(type_[5:-1], item) for item in value or []]}
        if type_.startswith("map("):
            return {"type": "map", "value": [[self.value("string", k), self.value(type_[12:-1], v)]
                                             for k, v in (value or {}).items()]}
        if type_ == "timestamp":
            at = datetime.datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)
            return {"type": "timestamp", "seconds": str(int(at.timestamp())), "nanos": 0}
        if type_ == "bool":
            return {"type": "bool", "value": bool(value)}
        if type_ == "kubernetes.Quantity":
            return {"type": "quantity", "value": value}
        return {"type": type_, "value": str(value if value is not None else {"string": "", "int": 0, "double": 0.0}[type_])}

    def placed(self):
        pod = set_computed_of_pod(copy.deepcopy(self.cluster.placed))
        return pod | {"claims": claims_of(pod, self.cluster.claims)}

    def namespace(self):
        if "namespace" not in self.variables:
            return {}
        return {rename("namespace"): self.record("Namespace", self.cluster.namespaces[self.cluster.placed["metadata"]["namespace"]])}

    def input(self):
        """The world of cel-go/world.go."""
        return {
            "types": {name: {field: type_ for field, (type_, _) in fields.items()} for name, fields in self.types.items()},
            "variables": {rename(name): type_ for name, type_ in self.variables.items()},
            "common": {"pod": self.record("Pod", self.placed()),
                       "cluster": self.record("Cluster", self.totals()), "now": self.value("timestamp", time_text(NOW)), **self.namespace()},
            "rows": [self.record("Node", node) for node in self.nodes],
        }
