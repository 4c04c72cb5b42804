"""Compares the presets of placement by load with their original formulas.

The formulas are implemented here again, as their authors describe them: Intel's TAS, Trimaran's TargetLoadPacking and
LoadVariationRiskBalancing, crane's Dynamic, Koordinator's LoadAware. Their results for random clusters must equal those of
`berth explain`. policies/tests has manually calculated cases.
"""

import datetime
import json
import math
import random
import subprocess

import pytest

from client import REPOSITORY as ROOT

pytestmark = pytest.mark.single_thread

NOW = datetime.datetime(2026, 11, 16, 9, 0, 0, tzinfo=datetime.timezone.utc)
AGE = 20  # seconds since the measurement
ROUNDS = 12
NODES = 14
GIB = 1 << 30


# --- clusters -----------------------------------------------------------------------------------


class Cluster:
    """Nodes with pods, and the pod to place; amounts are numbers, times are seconds before NOW."""

    def __init__(self, rng):
        self.nodes = {f"n{i:02}": {"cpu": rng.choice([2, 4, 8, 16]), "memory": rng.choice([4, 16, 64]) * GIB, "annotations": {}}
                      for i in range(NODES)}
        self.pods = {name: [self.make_pod(rng) for _ in range(rng.choice([0, 0, 1, 2, 5, 11]))] for name in self.nodes}
        self.pod = self.make_pod(rng)
        self.pod["daemon"] = rng.random() < 0.1
        self.labels = {}

    @staticmethod
    def make_pod(rng):
        return {"cpu": rng.choice([0, 0, 0.25, 0.5, 1, 3]), "memory": rng.choice([0, 0, 0.5, 1, 2, 8]) * GIB,
                "bound": rng.choice([0, 1, 19, 20, 21, 59, 61, 79, 80, 81, 120, 299, 301, 5000])}

    def dump(self, folder):
        items = []
        for name, node in self.nodes.items():
            items.append({"kind": "Node", "metadata": {"name": name, "annotations": node["annotations"]},
                          "status": {"allocatable": {"cpu": str(node["cpu"]), "memory": str(node["memory"]), "pods": "110"},
                                     "conditions": [{"type": "Ready", "status": "True"}]}})
            for i, pod in enumerate(self.pods[name]):
                items.append(pod_object(f"{name}-{i}", pod, on=name))
        files = folder / "cluster.json", folder / "pod.json"
        files[0].write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        files[1].write_text(json.dumps({"apiVersion": "v1", **pod_object("new", self.pod, labels=self.labels)}))
        return files


def moment(before):
    return (NOW - datetime.timedelta(seconds=before)).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod_object(name, pod, on=None, labels=None):
    requests = {"cpu": f"{round(pod['cpu'] * 1000)}m", "memory": str(int(pod["memory"]))}
    requests = {key: value for key, value in requests.items() if pod[key] > 0}
    limits = {key: f"{round(value * 1000)}m" if key == "cpu" else str(int(value)) for key, value in pod.get("limits", {}).items()}
    result = {"kind": "Pod", "metadata": {"name": name, "namespace": "default", "labels": labels or {}},
              "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests, "limits": limits}}]}}
    if pod.get("daemon"):
        result["metadata"]["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}]
    if on:
        result["spec"]["nodeName"] = on
        result["status"] = {"phase": "Running", "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": moment(pod["bound"])}]}
    return result


def explained(berth_path, policy, cluster, measured, folder):
    """{node: its score, or the rule that rejects it}."""
    objects, pod = cluster.dump(folder)
    metrics = folder / "metrics.json"
    metrics.write_text(json.dumps({"metrics": measured, "age": f"{AGE}s"}))
    done = subprocess.run([berth_path, "explain", "--policy", policy, "--cluster", objects, "--pod", pod, "--metrics", metrics,
                           "--now", moment(0), "-o", "json"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return {node["node"]: node["rule"] if node["outcome"] == "rejected" else node["score"] for node in json.loads(done.stdout)["nodes"]}


def policy_with(name, folder, **params):
    """A preset with changed constants."""
    text = (ROOT / "policies" / name).read_text()
    for key, value in params.items():
        before, after = text.split(f"\n    {key}: ", 1)
        text = before + f"\n    {key}: {value}" + after[after.index(" "):]
    path = folder / name
    path.write_text(text)
    return path


def values(rng, cluster, choices, absent=0.15):
    return {name: rng.choice(choices) for name in cluster.nodes if rng.random() >= absent}


def assert_same(got, wanted):
    assert got.keys() == wanted.keys()
    for name, want in wanted.items():
        if isinstance(want, str):
            assert got[name] == want, name
        else:
            assert got[name] == pytest.approx(want, abs=1e-9), name


# --- the formulas -------------------------------------------------------------------------------


def clamp(value, low, high):
    return min(max(value, low), high)


def round_away(value):
    """Rounds halves away from 0, like Go's math.Round."""
    return math.floor(value + 0.5) if value >= 0 else -math.floor(-value + 0.5)


def tas_verdict(node, measured):
    """dontschedule. A rule without a value is not true."""
    def holds(metric, operator, target):
        value = measured[metric].get(node)
        return value is not None and (value > target if operator == "GreaterThan" else value < target)

    if holds("temperature", "GreaterThan", 80):
        return "temperature"
    if holds("memory_free", "LessThan", 10):
        return "memory"
    if holds("cpu", "GreaterThan", 90) and holds("load", "GreaterThan", 2):
        return "crowded"
    return None


def tas_order(names, measured):
    """scheduleonmetric, LessThan: names in the order of TAS, without nodes that have no value."""
    return sorted((name for name in names if name in measured), key=measured.get)


def target_load_packing(cluster, name, percent, target, multiplier=1.5, unknown=1.0):
    def predicted(pod):
        return pod["cpu"] * multiplier if pod["cpu"] > 0 else unknown

    if percent is None:
        return 0
    capacity = cluster.nodes[name]["cpu"]
    end = AGE  # of the window, in seconds before now
    missing = sum(predicted(pod) for pod in cluster.pods[name] if pod["bound"] < end or pod["bound"] - end < 60)
    p = 100 * (percent / 100 * capacity + predicted(cluster.pod) + missing) / capacity
    if p > 100:
        return 0
    if p > target:
        return round_away(target * (100 - p) / (100 - target))
    return round_away((100 - target) * p / target + target)


def load_variation(cluster, name, measured, margin, sensitivity):
    scores = []
    for resource in ("cpu", "memory"):
        average, deviation = measured[f"{resource}Avg"].get(name), measured[f"{resource}Std"].get(name, 0)
        if average is None:
            continue
        capacity = cluster.nodes[name][resource]
        used, spread = clamp(average * capacity, 0, capacity), clamp(deviation * capacity, 0, capacity)
        mu = clamp((used + cluster.pod[resource]) / capacity, 0, 1)
        sigma = clamp(spread / capacity, 0, 1)
        power = 1 / sensitivity if sensitivity else math.inf
        sigma = clamp((sigma**power if sensitivity >= 0 else sigma) * margin, 0, 1)
        scores.append(100 * (1 - (mu + sigma) / 2))
    return round_away(min(scores, default=0))


def beta_below(a, b, x, steps=20000):
    """The probability that a value of the beta distribution is at most x, by the midpoint rule."""
    def part(end, a, b):
        """The integral of t^(a-1) (1-t)^(b-1) over 0..end; for a below 1 over u = t^a, which has no pole."""
        power = min(a, 1)
        width = end**power / steps
        points = (max(1e-300, ((i + 0.5) * width) ** (1 / power)) for i in range(steps))
        return sum(math.exp((a - power) * math.log(t) + (b - 1) * math.log1p(-t) - scale) for t in points) * width / power

    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    scale = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return part(x, a, b) if x <= 0.5 else 1 - part(1 - x, b, a)


def low_risk(cluster, name, measured, window=5, weight=0.5):
    """The risk of the worse resource, 0 to 1; None: no measurements."""
    risks = []
    if not any(name in values for values in measured.values()):
        return None
    for resource in ("cpu", "memory"):
        capacity = cluster.nodes[name][resource]
        pods = [(pod[resource], max(pod[resource], pod["limits"].get(resource, 0))) for pod in cluster.pods[name]]
        own = cluster.pod[resource], max(cluster.pod[resource], cluster.pod["limits"].get(resource, 0))
        before, limits_before = sum(request for request, _ in pods), sum(limit for _, limit in pods)
        request, limit = min(before + own[0], capacity), limits_before + own[1]
        by_limits = (limit - capacity) / (limit - request) if limit > capacity else 0
        by_load, average, deviation = 0, measured[f"{resource}Avg"].get(name), measured[f"{resource}Std"].get(name)
        if average is not None or deviation is not None:
            mu = clamp(average or 0, 0, 1)
            sigma = min(clamp(deviation or 0, 0, 1) * math.sqrt(window), math.sqrt(mu * (1 - mu) * 0.99))
            share, fit = clamp(min(before, capacity) / capacity, 0, 1), None
            if mu == 0 or (sigma == 0 and mu <= share):
                below = 1
            elif sigma == 0:
                below = 0
            else:
                fit = mu * (1 - mu) / sigma**2 - 1
                below = beta_below(mu * fit, (1 - mu) * fit, share)
            if limits_before < capacity and min(before, capacity) <= limits_before:
                if limits_before == 0:
                    below = 1
                elif fit is not None:
                    most = beta_below(mu * fit, (1 - mu) * fit, limits_before / capacity)
                    below = clamp(below / most, 0, 1) if most > 0 else below
            by_load = 1 - below
        risks.append(clamp(weight * by_limits + (1 - weight) * by_load, 0, 1))
    return max(risks)


CRANE = {  # metric: period, limit, weight
    "cpu_usage_avg_5m": (180, 0.65, 0.2), "cpu_usage_max_avg_1h": (900, 0.75, 0.3), "cpu_usage_max_avg_1d": (10800, None, 0.5),
    "mem_usage_avg_5m": (180, 0.65, 0.2), "mem_usage_max_avg_1h": (900, 0.75, 0.3), "mem_usage_max_avg_1d": (10800, None, 0.5),
}
CRANE_RULES = {"cpu_usage_avg_5m": "cpu-5m", "cpu_usage_max_avg_1h": "cpu-1h", "mem_usage_avg_5m": "memory-5m",
               "mem_usage_max_avg_1h": "memory-1h"}


def crane(cluster, name, written):
    """@written: {metric: (value, age in seconds)}."""
    fresh = {metric: value for metric, (value, ago) in written.items() if ago < CRANE[metric][0] + 300}
    if not cluster.pod["daemon"]:
        for metric, rule in CRANE_RULES.items():
            if fresh.get(metric, 0) > CRANE[metric][1]:
                return rule
    score = weight = 0.0
    for metric, (_, _, share) in CRANE.items():
        score += (1 - fresh[metric]) * share * 100 if metric in fresh else 0
        weight += share
    bound = [pod["bound"] for pod in cluster.pods[name]]
    hot = sum(1 for ago in bound if ago < 300) // 5 + sum(1 for ago in bound if ago < 60) // 2
    return clamp(math.trunc(score / weight) - 10 * hot, 0, 100)


def koordinator(cluster, name, measured, thresholds=None):
    def estimate(pod, resource):
        factor, unknown = {"cpu": (0.85, 0.25), "memory": (0.7, 200 << 20)}[resource]
        return pod[resource] * factor if pod[resource] > 0 else unknown

    thresholds = thresholds or {"cpu": 65, "memory": 95}
    node, used = cluster.nodes[name], {resource: measured[resource].get(name) for resource in ("cpu", "memory")}
    for resource in used:
        unseen = [pod for pod in cluster.pods[name] if pod["bound"] < AGE or pod["bound"] - AGE < 60]
        if used[resource] is not None:
            used[resource] += sum(estimate(pod, resource) for pod in [cluster.pod, *unseen])
    for resource, most in thresholds.items():
        if used[resource] is not None and not cluster.pod["daemon"] and round_away(used[resource] / node[resource] * 100) > most:
            return resource
    if None in used.values():
        return 0
    score = 0
    for resource, now in used.items():
        score += math.floor((node[resource] - now) * 100 / node[resource] + 1e-9) if now <= node[resource] else 0
    return score // 2


# --- presets against formulas -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_telemetry_aware(berth_path, seed, tmp_path):
    rng = random.Random(seed)
    cluster = Cluster(rng)
    cluster.labels = {"telemetry-policy": "telemetry-aware"}
    measured = {"temperature": values(rng, cluster, [20, 60, 80, 80.5, 95]), "memory_free": values(rng, cluster, [50, 12, 10, 9.5]),
                "cpu": values(rng, cluster, [5, 10, 30, 60, 90, 91, 99]), "load": values(rng, cluster, [0.5, 1, 2, 2.5])}
    got = explained(berth_path, ROOT / "policies/telemetry-aware.yaml", cluster, measured, tmp_path)
    assert {name: rule if isinstance(rule, str) else None for name, rule in got.items()} == {
        name: tas_verdict(name, measured) for name in cluster.nodes}

    passed = [name for name in got if not isinstance(got[name], str)]
    order = tas_order(passed, measured["cpu"])
    assert [got[name] for name in passed if name not in order] == [0] * (len(passed) - len(order))
    for name in order:
        worse = sum(1 for other in order if measured["cpu"][other] > measured["cpu"][name])
        assert got[name] == pytest.approx(100 * worse / (len(order) - 1) if len(order) > 1 else 100)
    assert sorted(order, key=lambda name: -got[name]) == order


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_target_load_packing(berth_path, seed, tmp_path):
    rng = random.Random(seed)
    cluster, target = Cluster(rng), rng.choice([40.0, 40.0, 65.0])
    measured = {"cpu": {name: rng.random() * 110 for name in values(rng, cluster, [0])}}
    policy = policy_with("target-load-packing.yaml", tmp_path, target=target)
    got = explained(berth_path, policy, cluster, measured, tmp_path)
    assert_same(got, {name: target_load_packing(cluster, name, measured["cpu"].get(name), target) for name in cluster.nodes})


@pytest.mark.parametrize("margin,sensitivity", [(1.0, 1.0), (1.0, 2.0), (0.5, 4.0), (2.0, 0.5), (3.0, 1.0), (1.0, 3.7), (-1.0, 1.0), (1.0, -1.0), (1.0, 0.0)])
@pytest.mark.parametrize("seed", range(ROUNDS // 4))
def test_load_variation_risk_balancing(berth_path, seed, margin, sensitivity, tmp_path):
    rng = random.Random(seed)
    cluster = Cluster(rng)
    measured = {name: {node: rng.random() * top for node in values(rng, cluster, [0])}
                for name, top in (("cpuAvg", 1.1), ("cpuStd", 0.6), ("memoryAvg", 1.0), ("memoryStd", 0.3))}
    policy = policy_with("load-variation-risk-balancing.yaml", tmp_path, margin=margin, sensitivity=sensitivity)
    got = explained(berth_path, policy, cluster, measured, tmp_path)
    assert_same(got, {name: load_variation(cluster, name, measured, margin, sensitivity) for name in cluster.nodes})


@pytest.mark.parametrize("seed", range(ROUNDS // 2))
def test_low_risk_over_commitment(berth_path, seed, tmp_path):
    """The score is a whole number, so it may differ by one if the risk is close to a half."""
    rng = random.Random(seed)
    cluster = Cluster(rng)
    if seed == 0:
        cluster.pod.update(cpu=0, memory=0)  # best effort: no score
    for pod in [cluster.pod, *(pod for pods in cluster.pods.values() for pod in pods)]:
        pod["limits"] = {key: pod[key] * rng.choice([1, 2, 4]) for key in ("cpu", "memory") if pod[key] > 0 and rng.random() < 0.7}
    measured = {name: {node: rng.choice([0, rng.random() * top, rng.random() * top]) for node in values(rng, cluster, [0])}
                for name, top in (("cpuAvg", 1.0), ("cpuStd", 0.3), ("memoryAvg", 1.0), ("memoryStd", 0.2))}
    for of_nodes in measured.values():
        of_nodes.pop("n00", None)  # without any measurement: no score
    got = explained(berth_path, ROOT / "policies/low-risk-over-commitment.yaml", cluster, measured, tmp_path)
    best_effort = cluster.pod["cpu"] == cluster.pod["memory"] == 0
    for name in cluster.nodes:
        risk = low_risk(cluster, name, measured)
        if risk is None or best_effort:
            assert got[name] == 0
        else:
            assert got[name] == pytest.approx(100 * (1 - risk), abs=0.51), name


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_crane_dynamic(berth_path, seed, tmp_path):
    rng = random.Random(seed)
    cluster, written = Cluster(rng), {}
    for name, node in cluster.nodes.items():
        written[name] = {metric: (rng.choice([round(rng.random() * 0.7, 5), 0.65, 0.75]),
                                  rng.choice([0, 100, 300 + period - 1, 300 + period + 1, 50000]))
                         for metric, (period, _, _) in CRANE.items() if rng.random() < 0.9}
        for metric, (value, ago) in written[name].items():
            node["annotations"][metric] = f"{value:.5f},{moment(ago - 8 * 3600)}"  # local time in Shanghai
    got = explained(berth_path, ROOT / "policies/crane-dynamic.yaml", cluster, {}, tmp_path)
    assert_same(got, {name: crane(cluster, name, written[name]) for name in cluster.nodes})


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_koordinator_load_aware(berth_path, seed, tmp_path):
    rng = random.Random(seed)
    cluster, own = Cluster(rng), {}
    for name, node in cluster.nodes.items():
        if rng.random() < 0.2:
            own[name] = {"cpu": rng.choice([50, 80]), "memory": rng.choice([50, 99])}
            node["annotations"]["scheduling.koordinator.sh/usage-thresholds"] = json.dumps({"usageThresholds": own[name]})
    measured = {resource: {name: cluster.nodes[name][resource] * rng.choice([rng.random(), rng.random(), 0.64, 0.65, 0.94, 0.95])
                           for name in values(rng, cluster, [0])} for resource in ("cpu", "memory")}
    got = explained(berth_path, ROOT / "policies/koordinator-load-aware.yaml", cluster, measured, tmp_path)
    assert_same(got, {name: koordinator(cluster, name, measured, own.get(name)) for name in cluster.nodes})


# --- nodes by labels and annotations --------------------------------------------------------------

NODE_METADATA = {  # name: changed params, metadata by node, the order
    "highest": ({}, {"low": "10", "high": "100", "medium": "50"}, ["high", "medium", "low"]),
    "lowest": ({"strategy": "lowest"}, {"dear": "100", "cheap": "10", "medium": "50"}, ["cheap", "medium", "dear"]),
    "newest": ({"source": "annotation", "type": "timestamp", "strategy": "newest"},
               {"old": 72, "newest": 1, "medium": 24}, ["newest", "medium", "old"]),
    "oldest": ({"source": "annotation", "type": "timestamp", "strategy": "oldest"},
               {"newest": 1, "oldest": 72, "medium": 24}, ["oldest", "medium", "newest"]),
    "missing-last": ({}, {"none": None, "value": "100", "low": "-7"}, ["value", "low", "none"]),
    "default": ({"default": '"100"'}, {"low": "50", "missing": None, "high": "150"}, ["high", "missing", "low"]),
    "default-time": ({"source": "annotation", "type": "timestamp", "strategy": "newest", "default": f'"{moment(24 * 3600)}"'},
                     {"old": 72, "missing": None, "new": 1}, ["new", "missing", "old"]),
}


@pytest.mark.parametrize("params,metadata,order", NODE_METADATA.values(), ids=NODE_METADATA.keys())
def test_node_metadata(berth_path, params, metadata, order, tmp_path):
    cluster = Cluster(random.Random(1))
    field = "annotations" if params.get("source") == "annotation" else "labels"
    items = [{"kind": "Node", "metadata": {"name": name, field: {} if value is None else {
        "example.com/node-rank": moment(value * 3600) if isinstance(value, int) else value}}} for name, value in metadata.items()]
    objects, pod = cluster.dump(tmp_path)
    objects.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    policy = policy_with("node-metadata.yaml", tmp_path, **params)
    done = subprocess.run([berth_path, "explain", "--policy", policy, "--cluster", objects, "--pod", pod, "--now", moment(0),
                           "-o", "json"], capture_output=True, text=True, timeout=60, check=False)
    nodes = json.loads(done.stdout)["nodes"]
    assert [node["node"] for node in sorted(nodes, key=lambda node: -node["score"])] == order
    assert len({node["score"] for node in nodes}) == len(order)


@pytest.mark.parametrize("age,ready,passed", [(30, True, ["before"]), (700, True, ["before", "other"]), (30, False, ["before", "other"])])
def test_previous_node_is_waited_for(berth_path, age, ready, passed, tmp_path):
    """With `wait: 10m`, while the pod is younger and the node is ready."""
    nodes = [{"kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
              "status": {"conditions": [{"type": "Ready", "status": str(ready or name != "before")}]}} for name in ("before", "other")]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default", "creationTimestamp": moment(age),
                                                           "annotations": {"example.com/previous-node": "before"}}}
    (tmp_path / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
    (tmp_path / "pod.json").write_text(json.dumps(pod))
    policy = policy_with("previous-node.yaml", tmp_path, wait="10m")
    done = subprocess.run([berth_path, "explain", "--policy", policy, "--cluster", tmp_path / "cluster.json", "--pod",
                           tmp_path / "pod.json", "--now", moment(0), "-o", "json"], capture_output=True, text=True, timeout=60, check=False)
    shown = {node["node"]: node for node in json.loads(done.stdout)["nodes"]}
    assert [name for name, node in shown.items() if node["outcome"] == "passed"] == passed
    assert shown["before"]["bindAnnotations"] == [{"policy": "previous-node", "key": "example.com/previous-node", "value": "before"}]
