"""Recorded decisions as JSON."""

import re

import pytest

from authority import Authority
from client import PATIENCE, ask, get, metrics, post, wait_until, write_cluster

POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: zones}
spec:
  filters:
    - {name: zone, nodeLabels: {zone: {in: [a, b]}}, reason: wrong zone, unresolvable: true}
    - {name: disk, nodeLabels: {disk: ssd}, reason: slow disk}
  scores:
    - {name: near, nodeLabelPreference: {key: zone, values: {a: 100}, otherwise: 0}}
---
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: trial}
spec:
  mode: Observe
  filters:
    - {name: gpu, nodeLabels: {gpu: "yes"}, reason: no gpu}
"""
OTHER_POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: later}
spec:
  filters:
    - {name: spin, nodeLabels: {disk: ssd}, reason: it spins}
"""
LABELS = {
    "n1": {"zone": "a", "disk": "ssd", "gpu": "yes"},
    "n2": {"zone": "b", "disk": "ssd", "gpu": "yes"},
    "n3": {"zone": "b", "disk": "hdd"},
    "n4": {"zone": "c", "disk": "hdd"},
    "n5": {"zone": "c", "disk": "ssd"},
}
NODES = [{"metadata": {"name": n, "labels": labels}} for n, labels in LABELS.items()]


def pod(name, namespace="default"):
    return {"metadata": {"namespace": namespace, "name": name, "uid": "uid-" + name}}


def names(name, *nodes, namespace="default"):
    return {"Pod": pod(name, namespace), "NodeNames": nodes}


@pytest.fixture
def files(tmp_path):
    (tmp_path / "policy.yaml").write_text(POLICY)
    write_cluster(tmp_path / "cluster.json", NODES)
    return tmp_path


def flags(files):
    return "--policy", files / "policy.yaml", "--cluster", files / "cluster.json"


def decide(berth):
    """Makes six decisions, with ids 1 to 6."""
    assert post(berth, "filter", names("web", "n1", "n2", "n3", "n4", "ghost")).status == 200
    assert post(berth, "prioritize", names("web", "n1", "n2")).status == 200
    bind = {"PodName": "web", "PodNamespace": "default", "PodUID": "uid-web", "Node": "n1"}
    assert post(berth, "bind", bind).status == 200
    assert post(berth, "filter", names("db", "n3", "n4", namespace="prod")).status == 200
    victims = {"n3": {"Pods": [{"UID": "x"}]}, "n2": {"Pods": [{"UID": "y"}]}}
    body = {"Pod": pod("db", "prod"), "NodeNameToMetaVictims": victims}
    assert post(berth, "preempt", body).status == 200
    assert post(berth, "filter", b'{"Pod":{"metadata":{"name":"odd"}},"NodeNames":7}').status == 200


@pytest.fixture
def berth(start_berth, files):
    berth = start_berth(*flags(files))
    decide(berth)
    return berth


def decisions(berth, query="", **options):
    reply = get(berth, "/api/v1/decisions" + query, **options)
    assert reply.status == 200, reply.text
    assert reply.headers["Content-Type"] == "application/json"
    page = reply.json()
    assert list(page) == ["decisions", "next", "untold"]
    return page


def ids(berth, query):
    return [d["id"] for d in decisions(berth, query)["decisions"]]


# --- the list ---


def test_prints_a_listed_decision_in_full(berth):
    last, *_, first = decisions(berth)["decisions"]
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", first.pop("time"))
    assert 0 < first.pop("durationSeconds") < PATIENCE
    assert re.fullmatch("[0-9a-f]{32}", first["pod"].pop("digest"))
    assert re.fullmatch("[0-9a-f]{32}", first.pop("policyDigest"))
    assert first == {
        "id": 1,
        "verb": "filter",
        "pod": {"namespace": "default", "name": "web", "uid": "uid-web"},
        "generation": 1,
        "counts": {
            "known": 5, "asked": 5, "passed": 2, "rejected": 2, "unknown": 1, "narrowed": 0, "late": 0,
            "unjudged": 0,
        },
        "rules": [
            {"policy": "zones", "rule": "zone", "reason": "wrong zone", "unresolvable": True,
             "rejected": 1, "observed": 0, "failed": 0, "missing": 0},
            {"policy": "zones", "rule": "disk", "reason": "slow disk", "unresolvable": False,
             "rejected": 1, "observed": 0, "failed": 0, "missing": 0},
            {"policy": "trial", "rule": "gpu", "reason": "no gpu", "unresolvable": False,
             "rejected": 0, "observed": 2, "failed": 0, "missing": 0},
        ],
        "error": "",
        "hasNodes": True,
    }  # fmt: skip
    assert last["id"] == 6 and last["error"] and last["hasNodes"] is False


def test_same_pod_same_digest(berth):
    found = {d["id"]: d["pod"]["digest"] for d in decisions(berth)["decisions"]}
    assert found[1] == found[2]
    assert found[1] != found[4]
    assert found[3] == ""


@pytest.mark.parametrize(
    "query,wanted",
    [
        ("", [6, 5, 4, 3, 2, 1]),
        ("?pod=web", [3, 2, 1]),
        ("?pod=default/web", [3, 2, 1]),
        ("?pod=prod%2Fdb", [5, 4]),
        ("?pod=prod/web", []),
        ("?uid=uid-db", [5, 4]),
        ("?node=n1", [3, 2, 1]),
        ("?node=n3", [4, 1]),
        ("?node=n5", []),
        ("?rule=zones/disk", [4, 1]),
        ("?rule=gpu", [4, 1]),
        ("?rule=zones/zone&node=n4", [4, 1]),
        ("?rule=zones/zone&node=n3", []),
        ("?outcome=passed", [5, 1]),
        ("?outcome=rejected", [4, 1]),
        ("?outcome=unknown", [1]),
        ("?outcome=scored", [2]),
        ("?outcome=none-passed", [4]),
        ("?outcome=error", [6, 3]),
        ("?outcome=rejected&node=n4", [4, 1]),
        ("?outcome=not-asked&node=n1", [4]),
        ("?verb=prioritize", [2]),
        ("?verb=preempt", [5]),
        ("?limit=2", [6, 5]),
        ("?limit=2&after=5", [4, 3]),
        ("?after=1", []),
    ],
)
def test_filters(berth, query, wanted):
    assert ids(berth, query) == wanted


def test_node_in_the_list(berth):
    newer, older = decisions(berth, "?node=n3")["decisions"]
    wanted = {"node": "n3", "outcome": "rejected", "policy": "zones", "rule": "disk",
              "reason": "slow disk", "unresolvable": False}  # fmt: skip
    assert newer["nodes"] == older["nodes"] == [wanted]


def test_pages_of_any_size_list_every_decision(berth):
    for limit in (1, 2, 4, 6, 7):
        found, after, pages = [], None, 0
        while True:
            page = decisions(berth, f"?limit={limit}" + (f"&after={after}" if after else ""))
            found += [d["id"] for d in page["decisions"]]
            after, pages = page["next"], pages + 1
            if after is None:
                break
        assert found == [6, 5, 4, 3, 2, 1]
        assert pages == -(-6 // limit)


@pytest.mark.parametrize(
    "query,text",
    [
        ("?colour=red", 'unknown parameter "colour"'),
        ("?pod", '"pod" needs a value'),
        ("?pod=a/b/c", '"pod" must be NAMESPACE/NAME'),
        ("?pod=%f", "broken escape"),
        ("?pod=a&pod=b", "given twice"),
        ("?limit=1001", "from 1 to 1000"),
        ("?limit=-1", "from 1 to 1000"),
        ("?after=x", "whole number"),
        ("?verb=ask", "must be filter"),
        ("?outcome=fine", "must be passed"),
        ("?outcome=not-asked", 'needs "node"'),
        ("/1?verb=filter", 'unknown parameter "verb"'),
        ("/1?limit=10001", "from 1 to 10000"),
    ],
)
def test_bad_parameters(berth, query, text):
    reply = get(berth, "/api/v1/decisions" + query)
    assert reply.status == 400
    assert reply.error().startswith("berth: ") and text in reply.error()


# --- one decision ---


def test_one_decision_has_its_nodes(berth):
    page = get(berth, "/api/v1/decisions/1").json()
    assert page["id"] == 1 and page["next"] is None
    found = {n["node"]: n["outcome"] for n in page["nodes"]}
    assert found == {
        "n1": "passed", "n2": "passed", "n3": "rejected", "n4": "rejected", "ghost": "unknown",
    }  # fmt: skip
    scores = get(berth, "/api/v1/decisions/2").json()["nodes"]
    assert scores == [
        {"node": "n1", "outcome": "scored", "score": 10},
        {"node": "n2", "outcome": "scored", "score": 0},
    ]
    bind = get(berth, "/api/v1/decisions/3/").json()
    assert bind["target"] == "n1" and bind["nodes"] == [] and not bind["hasNodes"]


def test_nodes_of_one_are_chosen_and_paged(berth):
    def nodes(query):
        page = get(berth, "/api/v1/decisions/1" + query).json()
        return [n["node"] for n in page["nodes"]], page["next"]

    assert nodes("?outcome=rejected") == (["n3", "n4"], None)
    assert nodes("?rule=zones/zone") == (["n4"], None)
    assert nodes("?node=n2") == (["n2"], None)
    assert nodes("?node=n2&outcome=rejected") == ([], None)
    first, after = nodes("?limit=3")
    rest, end = nodes(f"?limit=3&after={after}")
    assert sorted(first + rest) == ["ghost", "n1", "n2", "n3", "n4"] and end is None
    (one,) = get(berth, "/api/v1/decisions/1?node=n5").json()["nodes"]
    assert one == {"node": "n5", "outcome": "not-asked"}


@pytest.mark.parametrize("path", ["/0", "/7", "/-1", "/x", "/99999999999999999999", "/1/2"])
def test_unknown_decision_is_404(berth, path):
    reply = get(berth, "/api/v1/decisions" + path)
    assert reply.status == 404 and reply.error().startswith("berth: ")


def test_decisions_are_read_only(berth):
    for path in ("/api/v1/decisions", "/api/v1/decisions/1"):
        assert ask(berth, "HEAD", path).status == 200
        for method in ("POST", "PUT", "DELETE"):
            reply = ask(berth, method, path)
            assert reply.status == 405 and reply.headers["Allow"] == "GET, HEAD"


def test_nodes_of_the_request_need_no_cluster(start_berth, files):
    """Without a cluster, names are those of the request's own nodes."""
    berth = start_berth("--policy", files / "policy.yaml")
    post(berth, "filter", {"Pod": pod("web"), "Nodes": {"items": NODES}})
    page = get(berth, "/api/v1/decisions/1").json()
    assert page["generation"] == 0 and page["counts"]["known"] == 0
    found = {n["node"]: n["outcome"] for n in page["nodes"]}
    assert found == {
        "n1": "passed", "n2": "passed", "n3": "rejected", "n4": "rejected", "n5": "rejected",
    }  # fmt: skip


# --- limits ---


def test_only_the_last_are_kept(start_berth, files):
    berth = start_berth(*flags(files), "--decisions", 3)
    decide(berth)
    assert ids(berth, "") == [6, 5, 4]
    reply = get(berth, "/api/v1/decisions/3")
    assert reply.status == 404
    assert reply.error() == "berth: decision 3 is not kept: those from 4 to 6 are"
    assert metrics(berth)["berth_decisions_kept"] == 3


def test_none_are_kept_with_decisions_0(start_berth, files):
    berth = start_berth(*flags(files), "--decisions", 0)
    decide(berth)
    for path in ("", "/1"):
        reply = get(berth, "/api/v1/decisions" + path)
        assert reply.status == 404 and "--decisions 0" in reply.error()
    assert metrics(berth)["berth_decisions_kept"] == 0


def test_memory_limit_holds(start_berth, files):
    """Nodes of the oldest decisions are dropped first, and the limit holds."""
    many = [f"node-{i:04}" for i in range(2000)]
    write_cluster(files / "cluster.json", [{"metadata": {"name": n}} for n in many])
    berth = start_berth(*flags(files), "--decisions-memory", "2Mi", "--decisions", 2000)
    for i in range(1200):
        post(berth, "filter", names(f"p{i}", *many))
    figures = metrics(berth)
    assert figures["berth_decisions_bytes"] <= 2 * 1024 * 1024
    assert figures["berth_decisions_kept"] == 1200
    assert 100 < figures["berth_decisions_with_nodes"] < 1200
    dropped = 1200 - figures["berth_decisions_with_nodes"]
    assert figures["berth_decisions_nodes_dropped_total"] == dropped
    assert figures["berth_decisions_dropped_total"] == 0
    old, new = (get(berth, f"/api/v1/decisions/{i}?limit=10000").json() for i in (1, 1200))
    assert not old["hasNodes"] and old["nodes"] == [] and old["counts"]["rejected"] == 2000
    assert len(new["nodes"]) == 2000
    page = decisions(berth, "?node=node-0007&limit=1000")
    untold, after = page["untold"], page["next"]
    while after:
        page = decisions(berth, f"?node=node-0007&limit=1000&after={after}")
        untold, after = untold + page["untold"], page["next"]
    # Main reasons are found meanwhile (history/main-reasons.c), so one more may lose its nodes.
    assert dropped <= untold <= metrics(berth)["berth_decisions_nodes_dropped_total"]


def test_decisions_survive_a_reload(berth, files):
    """Decisions keep the names of rules after a reload without their policy."""
    (files / "policy.yaml").write_text(OTHER_POLICY)

    def asked():
        post(berth, "filter", names("web", "n3"))
        return get(berth, "/api/v1/decisions?limit=1").json()["decisions"][0]

    newest = wait_until(lambda: (d := asked())["rules"][0]["policy"] == "later" and d, "the reload")
    assert [r["reason"] for r in newest["rules"]] == ["it spins"]
    first = get(berth, "/api/v1/decisions/1").json()
    assert [r["rule"] for r in first["rules"]] == ["zone", "disk", "gpu"]
    assert first["policyDigest"] != newest["policyDigest"]
    assert first["generation"] == newest["generation"] == 1
    (files / "cluster.json").write_text((files / "cluster.json").read_text() + "\n")
    wait_until(lambda: asked()["generation"] == 2, "the next generation")


# --- access ---


@pytest.fixture
def tls(tmp_path):
    authority = Authority(tmp_path / "ca", "test CA")
    server = authority.issue("berth", "serverAuth", "IP:127.0.0.1")
    return authority, server, authority.issue("system:kube-scheduler"), authority.issue("mallory")


def start_with_tls(start_berth, files, authority, server):
    return start_berth(
        *flags(files), "--tls-cert", server[0], "--tls-key", server[1],
        "--client-ca", authority.certificate,
    )  # fmt: skip


def test_rejects_unauthorized_clients(start_berth, files, tls):
    authority, server, good, bad = tls
    berth = start_with_tls(start_berth, files, authority, server)
    post(berth, "filter", names("web", "n1"), context=authority.context(good))
    for path in ("/api/v1/decisions", "/api/v1/decisions/1", "/metrics"):
        assert get(berth, path, context=authority.context(good)).status == 200
        assert get(berth, path, context=authority.context(bad)).status == 403
        assert get(berth, path, context=authority.context()).status == 403
