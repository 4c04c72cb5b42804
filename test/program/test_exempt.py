"""Pods that no policy applies to: --exempt, and berth's own pods in a cluster."""

import subprocess

import pytest

from client import PATIENCE, get, post, wait_until, write_cluster

POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: nowhere}
spec:
  filters: [{name: never, expression: 'false', reason: never, unresolvable: true}]
  scores: [{name: full, expression: '100'}]
"""

NAMES = ["n1", "n2"]


@pytest.fixture
def flags(tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    nodes = [{"metadata": {"name": name}} for name in NAMES]
    return ["--policy", policy, "--cluster", write_cluster(tmp_path / "cluster.json", nodes)]


def pod(namespace, uid="u", **labels):
    return {"metadata": {"name": "p", "namespace": namespace, "uid": uid, "labels": labels}}


def request(asked, mode):
    if mode == "names":
        return {"Pod": asked, "NodeNames": NAMES}
    return {"Pod": asked, "Nodes": {"items": [{"metadata": {"name": name}} for name in NAMES]}}


def passing(berth, asked, mode="names"):
    reply = post(berth, "filter", request(asked, mode)).json()
    assert reply["Error"] == ""
    if mode == "names":
        return reply["NodeNames"]
    return [node["metadata"]["name"] for node in reply["Nodes"]["items"]]


@pytest.mark.parametrize("mode", ["names", "nodes"])
def test_verbs(start_berth, flags, mode):
    berth = start_berth(*flags, "--exempt", "kube-system/k8s-app=kube-dns", "--exempt", "whole")
    free = [pod("kube-system", **{"k8s-app": "kube-dns"}), pod("whole"), pod("whole", a="b")]
    bound = [pod("kube-system"), pod("kube-system", **{"k8s-app": "x"}), pod("default"), pod("")]
    for asked in free:
        assert passing(berth, asked, mode) == NAMES
        assert post(berth, "prioritize", request(asked, mode)).json() == []
    for asked in bound:
        assert passing(berth, asked, mode) == []
        scored = post(berth, "prioritize", request(asked, mode)).json()
        assert [entry["Score"] for entry in scored] == [10, 10]


def test_preempt(start_berth, flags):
    berth = start_berth(*flags, "--exempt", "whole")
    victims = {"n1": {"Pods": [{"UID": "v"}], "NumPDBViolations": 0}}
    for namespace, kept in (("whole", ["n1"]), ("default", [])):
        body = {"Pod": pod(namespace), "NodeNameToMetaVictims": victims}
        assert list(post(berth, "preempt", body).json()["NodeNameToMetaVictims"]) == kept


def test_decisions_show_the_exemption(start_berth, flags, berth_path):
    berth = start_berth(*flags, "--exempt", "whole")
    passing(berth, pod("whole", uid="free"))
    passing(berth, pod("default", uid="bound"))
    shown = get(berth, "/api/v1/decisions").json()["decisions"]
    by_uid = {decision["pod"]["uid"]: decision for decision in shown}
    assert by_uid["free"]["exempt"] is True
    assert by_uid["free"]["counts"]["passed"] == 2 and by_uid["free"]["rules"] == []
    assert "exempt" not in by_uid["bound"]
    explained = subprocess.run(
        [berth_path, "explain", "--last", "whole/p", "--server", berth.url],
        capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert explained.returncode == 0, explained.stderr
    assert "no policy applies to this pod" in explained.stdout


def test_policies_are_not_counted(start_berth, flags):
    berth = start_berth(*flags, "--exempt", "whole")
    passing(berth, pod("whole"))
    assert get(berth, "/api/v1/status").json()["policy"]["list"][0]["matched"] == 0
    passing(berth, pod("default"))
    assert get(berth, "/api/v1/status").json()["policy"]["list"][0]["matched"] == 1


def test_reload_keeps_exemptions(start_berth, flags):
    berth = start_berth(*flags, "--exempt", "whole")
    policy, cluster = flags[1], flags[3]
    digest = get(berth, "/api/v1/status").json()["policy"]["digest"]
    policy.write_text(POLICY + "# changed\n")
    write_cluster(cluster, [{"metadata": {"name": name}} for name in ["n1", "n2", "n3"]])

    def is_reloaded():
        status = get(berth, "/api/v1/status").json()
        return status["policy"]["digest"] != digest and status["cluster"]["nodes"] == 3

    wait_until(is_reloaded, "the reload")
    assert passing(berth, pod("whole")) == NAMES


def test_own_pods(start_logged, flags, monkeypatch):
    """If POD_NAMESPACE is set, no policy can reject nodes for berth's own pods."""
    monkeypatch.setenv("POD_NAMESPACE", "berth-system")
    berth = start_logged(*flags)
    name = {"app.kubernetes.io/name": "berth"}
    assert passing(berth, pod("berth-system", **name)) == NAMES
    assert passing(berth, pod("berth-system")) == []
    assert passing(berth, pod("default", **name)) == []
    own = "berth-system/app.kubernetes.io/name=berth"
    assert get(berth, "/api/v1/status").json()["exempt"] == [own]
    assert own in berth.log.read_text()


def test_no_exemption_outside_a_cluster(start_berth, flags, monkeypatch):
    monkeypatch.delenv("POD_NAMESPACE", raising=False)
    berth = start_berth(*flags)
    assert passing(berth, pod("berth-system", **{"app.kubernetes.io/name": "berth"})) == []
    assert get(berth, "/api/v1/status").json()["exempt"] == []


@pytest.mark.parametrize("value", ["", "a/", "a/b", "A", "a b", "/b=c", "a/=c", "a/b=c d", "*"])
def test_rejects_invalid_exemptions(berth_path, value):
    done = subprocess.run(
        [berth_path, "serve", "--exempt", value], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 2
    assert "NAMESPACE/KEY=VALUE" in done.stderr
