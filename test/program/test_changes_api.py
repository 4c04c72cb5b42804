"""/api/v1/changes."""


import pytest

from client import get, replace, wait_until, write_cluster

POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: zones}
spec:
  filters:
    - name: zone
      nodeLabels: {zone: a}
      reason: wrong zone
"""


def changes(berth, query=""):
    reply = get(berth, "/api/v1/changes" + query)
    assert reply.status == 200, reply.text
    return reply.json()["changes"]


def wait_kinds(berth, kinds):
    """Waits for changes of these kinds, newest first."""
    wait_until(lambda: [change["kind"] for change in changes(berth)] == kinds, f"{kinds}")
    return changes(berth)


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


def test_policies(start_berth, policy):
    berth = start_berth("--policy", policy)
    [started] = wait_kinds(berth, ["started"])
    assert started["what"].startswith("berth ") and started["bad"] is False

    replace(policy, POLICY.replace("zone: a", "zone: <b>"))
    newest, _ = wait_kinds(berth, ["policy", "started"])
    assert newest["text"] == "1 line added, 1 removed"
    assert newest["hasDiff"] is True
    diff = get(berth, f"/api/v1/changes?diff={newest['digest']}").json()
    assert diff["digest"] == newest["digest"]
    assert diff["diff"].splitlines()[:2] == [f"--- {policy}", f"+++ {policy}"]
    assert "-      nodeLabels: {zone: a}\n+      nodeLabels: {zone: <b>}\n" in diff["diff"]

    replace(policy, POLICY.replace("filters:", "filtres:"))
    newest, *_ = wait_kinds(berth, ["policy-rejected", "policy", "started"])
    assert newest["bad"] is True and ":5:3: error:" in newest["text"]
    replace(policy, POLICY.replace("zone: a", "zone: <b>"))  # the original content
    newest, *_ = wait_kinds(berth, ["config", "policy-rejected", "policy", "started"])
    assert (newest["what"], newest["text"]) == ("policy", "configuration on disk is in force again")

    ids = [change["id"] for change in changes(berth)]
    assert ids == [4, 3, 2, 1]
    assert [change["id"] for change in changes(berth, "?limit=2")] == [4, 3]


def test_cluster(start_berth, tmp_path):
    path = write_cluster(tmp_path / "cluster.json", [{"metadata": {"name": "n1"}}])
    berth = start_berth("--cluster", path)
    wait_kinds(berth, ["started"])
    replace(path, "{")
    newest, _ = wait_kinds(berth, ["config-rejected", "started"])
    assert newest["what"] == "cluster" and newest["bad"] is True
    write_cluster(path, [{"metadata": {"name": "n2"}}])
    newest, *_ = wait_kinds(berth, ["config", "config-rejected", "started"])
    assert newest["what"] == "cluster"


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ("?limit=0", 400, "limit"),
        ("?limit=513", 400, "limit"),
        ("?diff=xyz", 400, "32 hexadecimal digits"),
        ("?diff=" + "0" * 32, 404, "no such version"),
        ("?since=1", 400, "since"),
    ],
)
def test_rejects_invalid_queries(start_berth, query, status, text):
    reply = get(start_berth(), "/api/v1/changes" + query)
    assert reply.status == status
    assert text in reply.error()
