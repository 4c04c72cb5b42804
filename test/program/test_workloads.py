"""Deployments, Jobs and other objects with pods in `berth explain` and `berth simulate`; -o yaml."""

import json
import subprocess

import pytest
import yaml

from client import FAILED, FINE, PATIENCE, USAGE

pytestmark = pytest.mark.single_thread

POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: pools}
spec:
  match: {expression: "pod.metadata.namespace != 'kube-system'"}
  filters:
    - {name: pool, nodeLabels: {pool: general}, reason: not in the pool, unresolvable: true}
    - {name: room, headroom: {cpu: 0}, reason: too little cpu}
    - {name: one, expression: "!pod.metadata.ownerReferences.exists(o, o.kind == 'Job') || node.free.cpu > 6", reason: jobs need more}
"""

# As `helm template` prints it.
MANIFESTS = """\
---
# Source: shop/templates/service.yaml
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
---
# Source: shop/templates/nothing.yaml
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: a, resources: {limits: {cpu: "1"}}}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  replicas: 2
  template:
    spec: {containers: [{name: c, image: a, resources: {requests: {cpu: "5"}}}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: kube-system}
spec:
  template:
    spec:
      nodeSelector: {pool: general}
      containers: [{name: c, image: a, resources: {requests: {cpu: 100m}}}]
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: night}
spec:
  jobTemplate:
    spec:
      parallelism: 2
      template:
        spec: {containers: [{name: c, image: a, resources: {requests: {cpu: 500m}}}]}
"""


def node(name, cpu, pool, **spec):
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"pool": pool}},
        "spec": spec,
        "status": {
            "allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "20"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


NODES = [
    node("n1", "4", "general"),
    node("n2", "8", "general"),
    node("n3", "8", "gpu"),
    node("n4", "4", "general", unschedulable=True),
    node("n5", "4", "general", taints=[{"key": "own", "effect": "NoSchedule"}]),
]


@pytest.fixture
def run(berth_path, tmp_path):
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "cluster.json").write_text(json.dumps({"kind": "List", "items": NODES}))

    def run(command, *options, text=MANIFESTS, code=FINE):
        done = subprocess.run(
            [berth_path, command, "--cluster", tmp_path / "cluster.json", "--policy", tmp_path / "policy.yaml",
             "-f", "-", *options],
            input=text, capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip
        assert done.returncode == code, done.stderr + done.stdout
        return done

    return run


# --- explain ---


def test_explain_prints_a_row_for_each_template(run):
    lines = run("explain").stdout.splitlines()
    assert [line.split() for line in lines[:5]] == [
        "WORKLOAD PODS ELIGIBLE NODES MAIN REASON OF REJECTIONS".split(),
        "Deployment shop/web 3 4 of 5 pools/pool: not in the pool (1 node)".split(),
        # the nodes of the pool are too small: they can never take the pod, and fail one more rule
        "StatefulSet shop/db 2 1 of 5 pools/pool: not in the pool (1 node)".split(),
        "DaemonSet kube-system/agent per node 5 of 5".split(),
        "CronJob default/night 2 1 of 5 pools/one: jobs need more (3 nodes)".split(),
    ]
    assert lines[6:] == [
        "1 other object skipped: no pods",
        "for the nodes, scores and suggestions of one, add its name: Deployment/web",
    ]


@pytest.mark.parametrize("name", ["db", "StatefulSet/db", "statefulset/db", "shop/db"])
def test_explain_shows_the_details_of_one(run, name):
    text = run("explain", name).stdout
    assert text.startswith("pod       shop/db-0  requests cpu 5\n")
    assert "1 of 5 nodes pass" in text and "pools/room: too little cpu" in text
    assert "needs 1 more cpu" in text


def test_explain_names_that_are_wrong(run):
    assert 'the file has no "nothing"' in run("explain", "nothing", code=USAGE).stderr
    twice = MANIFESTS + "---\nkind: Job\nmetadata: {name: web}\nspec: {template: {spec: {}}}\n"
    done = run("explain", "web", text=twice, code=USAGE)
    assert '"web" is ambiguous: there are Deployment/web and Job/web' in done.stderr
    assert "--node needs one pod" in run("explain", "--node", "n1", code=USAGE).stderr
    assert "n1" in run("explain", "--node", "n1", "Deployment/web").stdout


def test_explain_of_many_for_programs(run):
    value = json.loads(run("explain", "-o", "json").stdout)
    assert value["otherObjects"] == 1
    assert [one["kind"] for one in value["workloads"]] == ["Deployment", "StatefulSet", "DaemonSet", "CronJob"]
    assert value["workloads"][1] == {
        "kind": "StatefulSet", "namespace": "shop", "name": "db", "pods": 2, "nodes": 5, "eligible": 1,
        "rejectedBy": [
            {"policy": "pools", "rule": "pool", "reason": "not in the pool", "nodes": 1},
            {"policy": "pools", "rule": "room", "reason": "too little cpu", "nodes": 3},
        ],
    }  # fmt: skip
    assert value["workloads"][2]["pods"] is None
    assert yaml.safe_load(run("explain", "-o", "yaml").stdout) == value


def test_errors_point_into_the_file(run, berth_path, tmp_path):
    wrong = MANIFESTS.replace("cpu: 500m", "cpu: [1]")
    for command in ("explain", "simulate"):
        done = run(command, text=wrong, code=FAILED)
        line = next(i for i, text in enumerate(wrong.splitlines(), 1) if "[1]" in text)
        column = wrong.splitlines()[line - 1].index("[1]") + 1
        assert f"-:{line}:{column}: " in done.stderr
    done = run("simulate", text="kind: Pod\nspec:\n  affinity: {nodeAffinity: []}\n", code=FAILED)
    assert "-:3:28: expected an object" in done.stderr


# --- simulate ---


def placements(done):
    pods = json.loads(done.stdout)["policies"][-1]["pods"]
    return {f"{pod['namespace']}/{pod['name']}": pod.get("node", "-") for pod in pods}


def test_simulate_places_replicas(run):
    placed = placements(run("simulate", "-o", "json", "--all"))
    assert set(placed) == {
        "shop/web.1", "shop/web.2", "shop/web.3", "shop/db-0", "shop/db-1", "default/night.1", "default/night.2",
        # one for each node that the DaemonSet selects and whose taints it tolerates, a cordon included
        "kube-system/agent.n1", "kube-system/agent.n2", "kube-system/agent.n4",
    }  # fmt: skip
    for name in ("n1", "n2", "n4"):
        assert placed[f"kube-system/agent.{name}"] == name
    assert sorted([placed["shop/db-0"], placed["shop/db-1"]]) == ["-", "n2"]


def test_simulate_honours_replicas_of_zero(run):
    none = MANIFESTS.replace("replicas: 3", "replicas: 0")
    assert not any(name.startswith("shop/web") for name in placements(run("simulate", "-o", "json", "--all", text=none)))


def test_simulate_numbers_equal_names(run):
    twice = "kind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {}}}\n"
    twice += "---\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {}}}\n"
    assert len(placements(run("simulate", "-o", "json", "--all", text=twice))) == 2


def test_simulate_yaml(run):
    fixed = ("--seed", "7", "--now", "2026-11-16T09:00:00Z")
    as_json = json.loads(run("simulate", "-o", "json", "--all", *fixed).stdout)
    assert yaml.safe_load(run("simulate", "-o", "yaml", "--all", *fixed).stdout) == as_json
