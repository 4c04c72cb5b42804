"""Namespaces and claims of pods in every input: files, requests, recorded decisions, bundles."""

import json
import subprocess
import tarfile

import pytest

from client import FAILED, PATIENCE, get, post

POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: teams}
spec:
  match: {namespaceSelector: {matchLabels: {tier: gold}}}
  filters:
    - name: pool
      expression: "node.metadata.labels['pool'] == namespace.metadata.annotations['pool']"
      reason: the pool of another team
"""
NODES = ["blue", "red"]


def node(pool):
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": pool, "labels": {"pool": pool}},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }  # fmt: skip


def namespace(name, tier, pool):
    meta = {"name": name, "labels": {"tier": tier}, "annotations": {"pool": pool}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}


def pod(of, name="new"):
    meta = {"name": name, "namespace": of, "uid": f"uid-{of}-{name}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [{"name": "c"}]}}


@pytest.fixture
def files(tmp_path):
    """Namespaces: two teams with the tier gold and one with the tier iron; bare.json has no namespaces."""
    nodes = [node(pool) for pool in NODES]
    teams = [namespace("kraken", "gold", "red"), namespace("squid", "gold", "blue"), namespace("crab", "iron", "red")]
    for name, items in (("cluster.json", [*nodes, *teams]), ("bare.json", nodes)):
        (tmp_path / name).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    (tmp_path / "policy.yaml").write_text(POLICY)
    for team in ("kraken", "squid", "crab", "unknown"):
        (tmp_path / f"{team}.json").write_text(json.dumps(pod(team)))
    return tmp_path


@pytest.fixture
def run(berth_path, files):
    def run(*arguments, code=0):
        done = subprocess.run(
            [berth_path, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE, cwd=files
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


EXPLAIN = ["explain", "--policy", "policy.yaml", "-o", "json"]


def passed(shown):
    return sorted(each["node"] for each in json.loads(shown)["nodes"] if each["outcome"] != "rejected")


def test_explain(run):
    for team, want in (("kraken", ["red"]), ("squid", ["blue"]), ("crab", NODES), ("unknown", NODES)):
        assert passed(run(*EXPLAIN, "--cluster", "cluster.json", "--pod", f"{team}.json")) == want, team
    (crab,) = json.loads(run(*EXPLAIN, "--cluster", "cluster.json", "--pod", "crab.json"))["policies"]
    assert crab["whyNot"] == "namespaceSelector"
    (bare,) = json.loads(run(*EXPLAIN, "--cluster", "bare.json", "--pod", "kraken.json"))["policies"]
    assert bare["whyNot"] == "error" and bare["error"].startswith("namespaces are not known: ")


def test_eval(run):
    shown = run("eval", "--cluster", "cluster.json", "--pod", "squid.json", "namespace.metadata.annotations.pool")
    assert shown == '"blue"\n'
    run("eval", "--pod", "squid.json", "namespace.metadata.labels.tier", code=FAILED)


def test_check(run):
    assert "needs get, list and watch on namespaces" in run("check", "policy.yaml")
    shown = run("check", "policy.yaml", "--cluster", "bare.json")
    assert "the cluster that is checked has no namespaces" in shown
    assert "has no namespaces" not in run("check", "policy.yaml", "--cluster", "cluster.json")


def test_simulate(run, files):
    """A team without nodes of its pool: its pod is pending where its namespace is known."""
    cluster = json.loads((files / "cluster.json").read_text())
    cluster["items"].append(namespace("eel", "gold", "green"))
    (files / "eel.json").write_text(json.dumps(cluster))
    (files / "new.json").write_text(json.dumps(pod("eel")))
    for name, is_pending in (("eel.json", True), ("bare.json", False)):
        shown = run("simulate", "--cluster", name, "--pods", "new.json", "--policy", "policy.yaml")
        assert ("the pool of another team" in shown) == is_pending


CLAIMS_POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: reach}
spec:
  filters:
    - {name: volume, expression: "pod.claims.all(c, c.selects(node))", reason: cannot reach its volume}
    - {name: zone, expression: "pod.claims.all(c, 'red' in c.zones)", reason: another zone}
"""


@pytest.fixture
def with_claims(files):
    """kraken's pod has a claim that is bound to a volume which only node red can use."""
    cluster = json.loads((files / "cluster.json").read_text())
    condition = {"key": "example.com/zone", "operator": "In", "values": ["red"]}
    for each in cluster["items"][:2]:
        each["metadata"]["labels"]["example.com/zone"] = each["metadata"]["name"]
    cluster["items"] += [
        {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "kraken"},
            "spec": {"volumeName": "pv-kraken", "storageClassName": "fast"}, "status": {"phase": "Bound"},
        },
        {
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-kraken"},
            "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [condition]}]}}},
        },
    ]  # fmt: skip
    (files / "claims.json").write_text(json.dumps(cluster))
    (files / "policy.yaml").write_text(CLAIMS_POLICY)
    (files / "kraken.json").write_text(json.dumps(pod_with_claim()))
    return files


def pod_with_claim():
    made = pod("kraken")
    made["spec"]["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    return made


def test_claims_in_commands(run, with_claims):
    assert passed(run(*EXPLAIN, "--cluster", "claims.json", "--pod", "kraken.json")) == ["red"]
    assert passed(run(*EXPLAIN, "--cluster", "cluster.json", "--pod", "kraken.json")) == []  # onError: reject
    shown = run("eval", "--cluster", "claims.json", "--pod", "kraken.json", "pod.claims[0].zones")
    assert shown == '["red"]\n'
    shown = run("check", "policy.yaml", "--cluster", "cluster.json")
    assert "the cluster that is checked has no persistentvolumeclaims" in shown
    (with_claims / "again.json").write_text(run("dump", "--cluster", "claims.json"))
    assert passed(run(*EXPLAIN, "--cluster", "again.json", "--pod", "kraken.json")) == ["red"]
    shown = run("simulate", "--cluster", "cluster.json", "--pods", "kraken.json", "--policy", "policy.yaml")
    assert "cannot reach its volume" in shown
    shown = run("simulate", "--cluster", "claims.json", "--pods", "kraken.json", "--policy", "policy.yaml")
    assert "cannot reach its volume" not in shown


@pytest.mark.parametrize("options", [[], ["--anonymize"]])
def test_claims_of_recorded_decisions(run, start_berth, with_claims, options):
    berth = start_berth("--policy", with_claims / "policy.yaml", "--cluster", with_claims / "claims.json")
    asked = {"Pod": pod_with_claim(), "NodeNames": NODES}
    assert post(berth, "filter", asked).json()["NodeNames"] == ["red"]
    run("bundle", "--server", berth.url, "-o", "b.tar.gz", *options)
    assert equal(run("what-if", "--bundle", "b.tar.gz")) == "equal: 1 of 1"
    with tarfile.open(with_claims / "b.tar.gz") as archive:
        pods = archive.extractfile("berth-bundle/pods.jsonl").read().decode()
    assert '"kind":"PersistentVolume"' in pods
    assert ("pv-kraken" in pods) == (not options)


def decide(berth):
    return {
        team: post(berth, "filter", {"Pod": pod(team), "NodeNames": NODES}).json()["NodeNames"]
        for team in ("kraken", "squid", "crab", "unknown")
    }


def equal(text):
    return next(line for line in text.splitlines() if line.startswith("equal: "))


@pytest.mark.parametrize("options", [[], ["--anonymize"]])
def test_recorded_decisions(run, start_berth, files, options):
    """what-if and explain use the recorded namespaces; equal names have equal hashes."""
    berth = start_berth("--policy", files / "policy.yaml", "--cluster", files / "cluster.json")
    assert decide(berth) == {"kraken": ["red"], "squid": ["blue"], "crab": NODES, "unknown": NODES}
    run("bundle", "--server", berth.url, "-o", "b.tar.gz", *options)
    assert equal(run("what-if", "--server", berth.url)) == "equal: 4 of 4"
    assert equal(run("what-if", "--bundle", "b.tar.gz")) == "equal: 4 of 4"
    with tarfile.open(files / "b.tar.gz") as archive:
        pods = archive.extractfile("berth-bundle/pods.jsonl").read().decode()
    assert pods.count('"kind":"Namespace"') == 3
    assert ("kraken" in pods) == (not options)
    if not options:
        shown = run("explain", "--bundle", "b.tar.gz", "kraken/new")
        assert "namespace.metadata.annotations['pool'] = \"red\"" in shown


def test_dump_keeps_namespaces(run, start_berth, files):
    berth = start_berth("--policy", files / "policy.yaml", "--cluster", files / "cluster.json")
    assert get(berth, "/api/v1/status").json()["cluster"]["watches"] == []
    (files / "again.json").write_text(run("dump", "--cluster", "cluster.json"))
    assert passed(run(*EXPLAIN, "--cluster", "again.json", "--pod", "kraken.json")) == ["red"]
