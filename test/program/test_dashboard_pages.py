"""Pages of policies, nodes and what-if, as HTML and as JSON."""

import signal

import pytest

from dashboard_page import HTML, Page, read
from client import get, post, wait_until, write_cluster

POLICIES = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: zones}
spec:
  params: {limit: 0.5, pool: x}
  filters:
    - {name: zone, nodeLabels: {zone: a}, reason: wrong zone}
    - {name: seats, maxPods: {limit: 400}}
    - {name: room, headroom: {cpu: 10m, nvidia.com/gpu: 0}}
  scores:
    - {name: near, expression: "50.0", weight: 2}
---
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: trial}
spec:
  mode: Observe
  filters:
    - {name: none, expression: "false", reason: never}
"""

N_MANY = 5000


def node(name, zone="a", **status):
    return {
        "metadata": {"name": name, "labels": {"zone": zone}},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
        **status,
    }


def pod(name):
    return {"metadata": {"namespace": "default", "name": name, "uid": f"uid-{name}"}}


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(POLICIES)
    return path


@pytest.fixture
def berth(start_berth, policy, tmp_path):
    running = {"spec": {"nodeName": "n2", "containers": [{"name": "c", "resources": {
        "requests": {"cpu": "1"}}}]}, **pod("running")}
    cluster = write_cluster(
        tmp_path / "cluster.json",
        [node("n10"), node("n2", "b"), node("n1", "b", spec={"unschedulable": True})],
        [running],
    )
    return start_berth("--policy", policy, "--cluster", cluster)


def ask(berth, name, nodes):
    reply = post(berth, "filter", {"Pod": pod(name), "NodeNames": nodes})
    assert reply.status == 200 and reply.json()["Error"] == ""


def page(berth, path):
    reply = get(berth, path)
    assert reply.status == 200, reply.text
    assert reply.headers["Content-Type"] == "application/json"
    return reply.json()


def test_policies(berth):
    before = page(berth, "/api/v1/policies")
    assert before["waiting"] == {"pods": 0, "lookedAt": 0, "whole": True}
    assert [p["matched"] for p in before["policies"]] == [0, 0]
    assert before["policies"][0]["lastMatch"] is None
    assert before["policies"][0]["nanosecondsPerNode"] is None

    ask(berth, "waits", ["n1", "n2"])
    ask(berth, "fits", ["n1", "n2", "n10"])
    after = page(berth, "/api/v1/policies")
    assert after["waiting"] == {"pods": 1, "lookedAt": 1, "whole": True}
    zones, trial = after["policies"]
    assert (zones["name"], zones["mode"], zones["line"]) == ("zones", "Enforce", 3)
    assert zones["file"].endswith("policy.yaml")
    assert (zones["matched"], zones["rejectedAll"], zones["rejected"]) == (2, 1, 4)
    assert zones["onlyBlocker"] == 1
    assert zones["nanosecondsPerNode"] >= 0 and zones["lastMatch"].endswith("Z")
    assert [(f["name"], f["kind"], f["onlyBlocker"]) for f in zones["filters"]] == [
        ("zone", "nodeLabels", 1),
        ("seats", "maxPods", 0),
        ("room", "headroom", 0),
    ]
    assert [(s["name"], s["weight"]) for s in zones["scores"]] == [("near", 2)]
    assert (trial["mode"], trial["onlyBlocker"], trial["rejected"]) == ("Observe", 0, 5)


def test_nodes(berth):
    ask(berth, "waits", ["n1", "n2"])
    ask(berth, "fits", ["n2", "n10"])
    found = page(berth, "/api/v1/nodes")
    assert found["names"] == ["n1", "n2", "n10"]
    assert (found["ready"], found["cordoned"]) == ([1, 1, 1], [1, 0, 0])
    columns = {c["name"]: c for c in found["columns"]}
    assert list(columns) == ["used.cpu", "used.memory", "used.pods", "rejected"]
    assert columns["used.cpu"]["values"] == [0, 0.25, 0] and columns["used.cpu"]["share"]
    assert columns["rejected"]["values"] == [1, 2, 0] and not columns["rejected"]["share"]
    assert found["decisions"] == 2

    one = page(berth, "/api/v1/nodes?column=rejected")
    assert one["columns"] == [columns["rejected"]]


def test_rejects_unknown_parameters(berth):
    assert get(berth, "/api/v1/nodes?column=x").status == 404
    assert "column" in get(berth, "/api/v1/nodes?colum=x").error()
    unknown = get(berth, "/api/v1/policies?x=1")
    assert (unknown.status, unknown.error()) == (400, 'berth: unknown parameter "x": there are none')


def test_many_nodes(start_berth, policy, tmp_path):
    names = [f"ip-10-0-{i // 250}-{i % 250}.eu-west-1.compute.internal" for i in range(N_MANY)]
    cluster = write_cluster(tmp_path / "many.json", [node(name, "ab"[i % 2]) for i, name in
                                                     enumerate(names)])
    berth = start_berth("--policy", policy, "--cluster", cluster)
    ask(berth, "a", names)
    reply = get(berth, "/api/v1/nodes")
    assert reply.json()["names"] == names  # in numerical order, not in text order
    assert len(reply.body) < 600_000
    assert len(get(berth, "/api/v1/nodes?column=rejected").body) < 350_000
    shown = read(berth, f"/nodes?page={N_MANY // 200}")
    assert [row[0] for row in shown.rows("nodes")] == names[-200:]
    assert "4,801 to 5,000 of 5,000. Previous 200" in shown.main
    read(berth, f"/nodes?page={N_MANY // 200 + 1}", status=404)


# --- HTML pages ---

PAGES = ["/policies", "/nodes", "/nodes?column=rejected&order=highest", "/node?name=n2", "/what-if"]


@pytest.mark.parametrize("path", PAGES)
def test_page_before_anything(berth, path):
    read(berth, path)


def test_policies_page(berth):
    ask(berth, "waits", ["n1", "n2"])
    shown = read(berth, "/policies")
    assert "1 pod is pending. Without policy zones 1 of 1 pending pods would have a node" in shown.main
    found = shown.rows("policies")
    assert [row[0] for row in found] == ["zones", "trial"]
    assert found[0][1:6] == ["Enforce", "1 of 1 pending", "1", "2", "1"]
    assert found[1][1].startswith("Observe") and found[1][2] == "0"
    assert shown.rows("rules-zones")[0][:5] == [
        "zone", "filter, nodeLabels", "wrong zone", "1", "2"
    ]
    ranked = [row[:2] + row[3:] for row in shown.rows("ranked-rules")]
    assert ranked[0] == ["zone", "zones", "1", "2"]
    assert ranked[-1][:2] == ["none", "trial (Observe: only counted)"]
    assert "berth check --print-cel" in shown.main


def test_nodes_page(berth):
    ask(berth, "waits", ["n1", "n2"])
    shown = read(berth, "/nodes")
    assert "lowest 0 %, median 0 %, highest 25 %. Above 90 %: 0 nodes. 1 cordoned." in shown.main
    assert [row[0] for row in shown.rows("nodes")] == ["n1", "n2", "n10"]
    assert shown.rows("nodes")[0][1] == "✓ ready, cordoned"
    heat = shown.part("heat")
    assert heat.get("data-column") == "used.cpu"

    shown = read(berth, "/nodes?column=used.cpu&order=highest")
    assert [row[0] for row in shown.rows("nodes")] == ["n2", "n1", "n10"]
    read(berth, "/nodes?column=x", status=400)
    read(berth, "/nodes?page=9", status=404)


def test_node_page(berth):
    ask(berth, "waits", ["n1", "n2"])
    ask(berth, "waits-too", ["n1"])
    ask(berth, "fits", ["n10"])
    assert post(berth, "prioritize", {"Pod": pod("fits"), "NodeNames": ["n10"]}).status == 200
    shown = read(berth, "/node?name=n2")
    assert "1 pod on it" in shown.main and "zone=b" in shown.main
    assert shown.rows("node-resources")[0][:4] == ["cpu", "4", "1", "3"]
    failures = shown.rows("node-failures")
    value = 'label zone is "b", must be "a"'
    pods = "default/waits-too, default/waits, default/fits"  # one row for all of them
    assert ["zones/zone", "wrong zone", value, pods] in failures
    assert len(shown.rows("node-verdicts")) == 1
    verdict = shown.rows("node-verdicts")[0]
    assert verdict[0] == "default/waits"
    assert verdict[2:] == ["✗ rejected", "zones/zone", "wrong zone", "–"]
    assert "berth explain --last" in shown.main

    shown = read(berth, "/node?name=n10")
    rules = [row[0] for row in shown.rows("node-failures")]
    assert "✓ passes all filters of berth" not in rules  # the node fails a rule in mode Observe
    (verdict,) = shown.rows("node-verdicts")  # filter and prioritize are one row
    assert verdict[2] == "✓ passed" and verdict[5] == "5"
    shown = read(berth, "/node?name=gone", status=404)
    assert "berth knows no node with this name" in shown.main
    read(berth, "/node", status=400)


def test_node_page_shows_an_earlier_cluster(start_berth, policy, tmp_path):
    """The page shows the cluster at the time of the decision, even if it has changed since."""
    cluster = write_cluster(tmp_path / "cluster.json", [node("n1", "before")])
    berth = start_berth("--policy", policy, "--cluster", cluster)
    path, then = "/node?name=n1", "&at=2200-01-01T00:00:00Z"
    assert "is no longer kept" in read(berth, path + then).main
    ask(berth, "waits", ["n1"])
    write_cluster(cluster, [node("n1", "after")])
    berth.proc.send_signal(signal.SIGHUP)
    wait_until(lambda: "zone=after" in read(berth, path).main, "the new cluster")
    assert "zone=before" in read(berth, path + then).main


def test_what_if_page(berth):
    shown = read(berth, "/what-if")
    form = shown.part("what-if-form")
    knobs = {e.get("data-set"): e.get("value") for e in form.iter("input") if e.get("data-set")}
    assert knobs == {
        "zones.near.weight": "2",
        "zones.params.limit": "0.5",
        "zones.seats.maxPods.limit": "400",
        "zones.room.headroom.cpu": "10m",
        'zones.room.headroom["nvidia.com/gpu"]': "0",
    }
    areas = list(form.iter("textarea"))
    assert [area.text for area in areas] == ["\n" + POLICIES]  # browsers drop the first line end
    assert areas[0].get("data-file").endswith("policy.yaml")
    assert "Nothing is applied" in shown.main
    assert f"berth what-if --set zones.params.limit=0.5 --last 1000 --server {berth.url}" in shown.main
    assert shown.part("what-if-result") is not None


HOSTILE = "<script>alert(1)</script>\u202e\" onload='x"


def test_hostile_names_are_text(start_berth, policy, tmp_path):
    hostile_node = node("n1", "b")
    hostile_node["metadata"]["labels"]["evil"] = HOSTILE
    hostile_node["spec"] = {"taints": [{"key": HOSTILE, "value": HOSTILE, "effect": "NoSchedule"}]}
    cluster = write_cluster(tmp_path / "cluster.json", [hostile_node])
    berth = start_berth("--policy", policy, "--cluster", cluster)
    post(berth, "filter", {"Pod": pod(HOSTILE), "NodeNames": ["n1", HOSTILE]})
    for path in [*PAGES, "/node?name=n1", "/node?name=%3Cscript%3E"]:
        source = Page(get(berth, path, headers=HTML)).source
        assert "<script>alert" not in source and "\u202e" not in source, path
    assert "<script>alert(1)</script>" in read(berth, "/node?name=n1").main
