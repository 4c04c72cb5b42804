"""/api/v1/status."""

import datetime
import json
import subprocess

import pytest
import yaml

from authority import Authority
from client import get, post, wait_until, write_cluster

NODES = [
    {"metadata": {"name": "n1", "labels": {"zone": "a"}}, "status": {"allocatable": {"cpu": "4"}}},
    {"metadata": {"name": "n2"}, "spec": {"taints": [{"key": "x", "effect": "NoSchedule"}]}},
    {"metadata": {"name": "n3"}, "status": {"allocatable": {"example.com/gpu": "8"}}},
]
PODS = [
    {
        "metadata": {"name": f"p{i}", "namespace": "default", "uid": f"u{i}"},
        "spec": {"nodeName": "n1", "containers": [{"resources": {"requests": {"cpu": "100m"}}}]},
    }
    for i in range(3)
]

POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: zones}
spec:
  filters: [{name: zone, nodeLabels: {zone: a}, reason: not here}]
  scores: [{name: flat, expression: '50'}]
---
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: trial}
spec:
  mode: Observe
  match: {namespaces: [batch]}
  filters: [{name: none, expression: 'false', reason: never}]
"""

FIELDS = [
    "version", "identity", "startTime", "time", "uptimeSeconds", "verbs", "nodeCacheCapable",
    "deadlineSeconds", "maxScore", "health", "policy", "cluster", "bind", "wakeUp", "publish", "nominate",
    "policiesFromCluster", "events", "managedResources", "exempt", "tls", "sandbox", "bypassed", "schedulers",
]  # fmt: skip


@pytest.fixture
def cluster(tmp_path):
    return write_cluster(tmp_path / "cluster.json", NODES, PODS)


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


def status(berth, **options):
    reply = get(berth, "/api/v1/status", **options)
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "application/json"
    return reply.json()


def ask_about(berth, namespace="default", scheduler="berth", nodes=("n1", "n2", "n3")):
    pod = {"metadata": {"name": "p", "namespace": namespace}, "spec": {"schedulerName": scheduler}}
    return post(berth, "filter", {"Pod": pod, "NodeNames": list(nodes)}).json()


def parse_time(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def test_status_with_a_cluster_file(start_berth, cluster, policy):
    berth = start_berth("--policy", policy, "--cluster", cluster, "--deadline", "250ms")
    shown = status(berth)
    assert list(shown) == FIELDS
    assert shown["verbs"] == ["filter", "prioritize", "preempt"]
    assert shown["nodeCacheCapable"] is True
    assert shown["deadlineSeconds"] == 0.25 and shown["maxScore"] == 10
    assert shown["cluster"].pop("digest")
    assert shown["cluster"] == {
        "source": "file",
        "synced": True,
        "connected": True,
        "stalenessSeconds": 0,
        "error": "",
        "server": "",
        "watches": [],
        "nodes": 3,
        "pods": 3,
        "generation": 1,
    }
    assert shown["policy"].pop("digest")
    assert shown["policy"] == {
        "policies": 2,
        "filters": 2,
        "scores": 1,
        "rejected": "",
        "waiting": "",
        "list": [
            {"name": "zones", "mode": "Enforce", "matched": 0, "rejectedAll": 0, "counting": []},
            {"name": "trial", "mode": "Observe", "matched": 0, "rejectedAll": 0, "counting": []},
        ],
    }
    assert shown["bind"] == {"enabled": False, "lease": None}
    assert shown["tls"] == {"enabled": False, "notAfter": "", "clientNames": []}
    assert shown["exempt"] == shown["managedResources"] == shown["schedulers"] == []
    assert shown["bypassed"] == 0 and not shown["wakeUp"] and not shown["events"]
    assert shown["publish"] == {"filters": 0, "labels": 0, "enabled": False, "admission": [], "slots": []}
    assert shown["nominate"] == shown["policiesFromCluster"] == {"enabled": False}


def test_what_is_published(berth_path, start_berth, policy):
    """The status has the objects of `berth config --admission`, and the filters that count pods."""
    policy.write_text("""apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: p}
spec:
  filters:
    - {name: seats, maxPods: 4, publish: slots}
    - {name: ready, nodeReady: true, publish: label}
    - {name: room, headroom: {cpu: 1}}
""")
    shown = status(start_berth("--policy", policy))
    printed = subprocess.run([berth_path, "config", "--admission", "--policy", policy], capture_output=True, text=True, check=True)
    objects = {each["metadata"]["name"]: each["metadata"]["annotations"]["berth.dev/digest"]
               for each in yaml.safe_load_all(printed.stdout)}  # fmt: skip
    assert {each["name"]: each["digest"] for each in shown["publish"]["admission"]} == objects and len(objects) == 2
    assert shown["publish"]["slots"] == [{"resource": "berth.dev/slots.p", "limit": 4}]
    (only,) = shown["policy"]["list"]
    assert only["counting"] == [{"rule": "seats", "withoutBind": "slots"}, {"rule": "room", "withoutBind": "none"}]


def test_the_largest_score(start_berth, policy):
    policy.write_text(POLICY.replace("spec:\n", "spec:\n  wire: {maxScore: 50}\n", 1))
    assert status(start_berth("--policy", policy))["maxScore"] == 50


def test_status_without_cluster_and_policies(start_berth):
    shown = status(start_berth())
    assert shown["nodeCacheCapable"] is False
    assert shown["cluster"]["source"] == "none" and shown["cluster"]["digest"] == ""
    assert shown["cluster"]["synced"] is False and shown["cluster"]["nodes"] == 0
    assert shown["policy"]["list"] == []


def test_times_and_names(start_berth, monkeypatch):
    monkeypatch.setenv("POD_NAME", "berth-7d9f-abcde")
    one, other = status(start_berth()), status(start_berth())
    assert one["identity"].startswith("berth-7d9f-abcde_")
    assert one["identity"] != other["identity"]
    assert parse_time(one["startTime"]) <= parse_time(one["time"])
    passed = (parse_time(one["time"]) - parse_time(one["startTime"])).total_seconds()
    assert -0.01 < passed - one["uptimeSeconds"] < 1.01  # the start time is in whole seconds
    now = datetime.datetime.now(datetime.timezone.utc)
    assert abs((now - parse_time(one["time"])).total_seconds()) < 60


def test_figures_of_policies(start_berth, cluster, policy):
    berth = start_berth("--policy", policy, "--cluster", cluster)
    ask_about(berth)
    ask_about(berth, nodes=["n2", "n3"])  # all candidates are elsewhere
    ask_about(berth, nodes=["n2", "nobody-knows"])
    ask_about(berth, namespace="batch")
    assert status(berth)["policy"]["list"] == [
        {"name": "zones", "mode": "Enforce", "matched": 4, "rejectedAll": 2, "counting": []},
        {"name": "trial", "mode": "Observe", "matched": 1, "rejectedAll": 1, "counting": []},
    ]


def test_figures_outlive_a_reload(start_berth, cluster, policy):
    berth = start_berth("--policy", policy, "--cluster", cluster)
    ask_about(berth)
    before = status(berth)["policy"]
    policy.write_text(policy.read_text().replace("zone: a", "zone: b"))
    wait_until(lambda: status(berth)["policy"]["digest"] != before["digest"], "the new policy")
    ask_about(berth)
    zones = status(berth)["policy"]["list"][0]
    assert zones["matched"] == 2 and zones["rejectedAll"] == 1


def test_reports_a_rejected_policy(start_berth, cluster, policy):
    berth = start_berth("--policy", policy, "--cluster", cluster)
    digest = status(berth)["policy"]["digest"]
    policy.write_text("nonsense: true\n")
    shown = wait_until(lambda: status(berth)["policy"]["rejected"], "the refusal")
    assert str(policy) in shown
    assert status(berth)["policy"]["digest"] == digest


def test_schedulers(start_berth, cluster):
    berth = start_berth("--cluster", cluster)
    for _ in range(3):
        ask_about(berth, scheduler="berth")
    ask_about(berth, scheduler='"odd"\n')
    for i in range(68):
        ask_about(berth, scheduler=f"s{i}")
    shown = status(berth)["schedulers"]
    assert [entry["name"] for entry in shown[:3]] == ["berth", '"odd"\n', "s0"]
    assert shown[0]["asked"] == 3 and parse_time(shown[0]["lastAskedTime"])
    assert len(shown) == 65 and shown[-1]["name"] == "" and shown[-1]["asked"] == 6


def test_replicas_agree(start_berth, tmp_path, cluster):
    """Replicas with the same objects in another order have the same digest; any other difference changes it."""
    shuffled = write_cluster(tmp_path / "shuffled.json", NODES[::-1], PODS[::-1])
    fewer = write_cluster(tmp_path / "fewer.json", NODES, PODS[1:])
    one, same, other = (
        status(start_berth("--cluster", path))["cluster"]["digest"]
        for path in (cluster, shuffled, fewer)
    )
    assert one == same
    assert one != other


def test_the_digest_follows_the_cluster(start_berth, cluster):
    berth = start_berth("--cluster", cluster)
    before = status(berth)["cluster"]
    document = json.loads(cluster.read_text())
    document["items"][0]["metadata"]["labels"]["zone"] = "b"
    cluster.write_text(json.dumps(document))
    wait_until(lambda: status(berth)["cluster"]["generation"] == 2, "the new cluster")
    assert status(berth)["cluster"]["digest"] != before["digest"]


def test_tls(start_berth, tmp_path):
    authority = Authority(tmp_path / "ca", "ca")
    certificate, key = authority.issue_server()
    client = authority.issue("operator")
    berth = start_berth(
        "--tls-cert", certificate, "--tls-key", key,
        "--client-ca", authority.certificate, "--client-name", "operator",
    )  # fmt: skip
    no_certificate = authority.context()
    assert get(berth, "/api/v1/status", context=no_certificate).status == 403
    shown = status(berth, context=authority.context(client))
    assert shown["tls"]["enabled"] is True
    assert parse_time(shown["tls"]["notAfter"]).year == 2049
    assert shown["tls"]["clientNames"] == ["operator"]


def test_a_certificate_that_outlives_64_bits_of_nanoseconds(start_berth, tmp_path):
    authority = Authority(tmp_path / "ca", "ca")
    certificate, key = authority.issue_server(end="23000101000000Z")
    berth = start_berth("--tls-cert", certificate, "--tls-key", key)
    shown = status(berth, context=authority.context())
    assert parse_time(shown["tls"]["notAfter"]).year == 2300


def test_status_shows_flags(start_berth, cluster):
    flags = ["--exempt", "kube-system", "--exempt", "a/b=c", "--managed-resource", "example.com/x"]
    shown = status(start_berth("--cluster", cluster, *flags))
    assert shown["exempt"] == ["kube-system", "a/b=c"]
    assert shown["managedResources"] == ["example.com/x"]


def test_other_methods(start_berth):
    berth = start_berth()
    assert post(berth, "/api/v1/status", {}).status == 405
