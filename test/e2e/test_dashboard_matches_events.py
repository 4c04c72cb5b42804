"""Recorded decisions of a real cluster replay exactly, and the dashboard matches kube-scheduler's events."""

import contextlib
import html
import http.client
import json
import random
import re

import pytest
from client import ask, get
from nodemode import Live
from objects import make_extender
from prometheus import find_metric
from waiting import wait_for

POOL = "example.com/pool"
JSON = {"Content-Type": "application/json"}

# --- replayed decisions ---

POLICIES = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: base}
spec:
  metrics:
    - name: load
      prometheus: {query: node_load, nodeLabel: node}
      interval: 1s
      maxAge: 3s
      placements: none
    - name: soon
      prometheus: {query: node_load, nodeLabel: node}
      interval: 1s
      maxAge: 3s
      placements: {resource: cpu, unit: fraction, settle: 5m}
  filters:
    - {name: open, nodeLabels: {example.com/closed: {notIn: ["true"]}}, reason: node is closed}
    - {name: cool, expression: metrics.load < 0.9 || pod.spec.priority > 100, onMissing: reject,
       reason: node is hot}
  scores:
    - {name: calm, expression: 1.0 - metrics.soon, normalize: minMax, weight: 2}
    - {name: pack, binPack: {cpu: 2, memory: 1}}
---
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: spare}
spec:
  match: {podSelector: {matchExpressions: [{key: kind, operator: Exists}]}}
  filters:
    - {name: room, headroom: {cpu: 1}, reason: too little would be left}
---
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: gold}
spec:
  match: {podSelector: {matchLabels: {kind: gold}}}
  filters:
    - {name: pool, nodeLabels: {example.com/pool: gold}, reason: node is not in the pool,
       unresolvable: true}
---
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: few}
spec:
  match: {podSelector: {matchLabels: {kind: few}}}
  narrow: {to: 2}
  scores:  # many are equally good
    - {name: zone, nodeLabelPreference: {key: topology.kubernetes.io/zone, values: {a: 100}},
       weight: 100}
---
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: apart}
spec:
  match: {podSelector: {matchLabels: {kind: apart}}}
  filters:
    - name: alone
      expression: "!node.pods.exists(p, p.metadata.labels[?'kind'] == optional.of('apart'))"
      reason: one of its kind is there
---
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: fickle}
spec:
  match: {podSelector: {matchLabels: {kind: fickle}}}
  filters:
    - {name: even, expression: int(now) % 3 != 0, reason: not in this second}
  scores:
    - {name: second, expression: double(int(now) % 100), weight: 3}
"""

KINDS = ("plain", "plain", "gold", "few", "few", "apart", "fickle")
N_NODES, N_PODS = 9, 56


class Unrest:
    """Changes nodes and their load all the time."""

    def __init__(self, cluster, exporter, dice):
        self.cluster, self.exporter, self.dice, self.n_new = cluster, exporter, dice, 0
        for i in range(N_NODES):
            self.add(f"node-{i}", cpu="6")
            cluster.add_pod(f"there-{i}", cpu="600m", nodeName=f"node-{i}", priorityClassName="low")

    def add(self, name, cpu="4"):
        labels = {POOL: "grey", "topology.kubernetes.io/zone": self.dice.choice("ab")}
        self.cluster.add_node(name, labels, cpu, memory="16Gi")
        self.exporter.set("node_load", self.dice.choice((0.1, 0.3, 0.3, 0.5)), node=name)

    def change(self):
        name = f"node-{self.dice.randrange(N_NODES)}"
        dice = self.dice.random()
        if dice < 0.3:
            self.label(name, **{"example.com/closed": self.dice.choice(("true", "false"))})
        elif dice < 0.5:
            self.patch(name, {"spec": {"unschedulable": self.dice.random() < 0.4}})
        elif dice < 0.6:
            self.n_new += 1
            self.add(f"new-{self.n_new}")
        elif dice < 0.7 and self.n_new > 0:
            self.cluster.api.delete(f"/api/v1/nodes/new-{self.n_new}")
            self.n_new -= 1
        else:
            load = self.dice.choice((None, 0.2, 0.4, 0.95))
            self.exporter.set("node_load", load, node=name)

    def label(self, name, **labels):
        self.patch(name, {"metadata": {"labels": labels}})

    def patch(self, name, change):
        self.cluster.api.patch(f"/api/v1/nodes/{name}", change)

    def calm(self):
        for i in range(N_NODES):
            self.exporter.set("node_load", 0.1 + 0.05 * i, node=f"node-{i}")
            self.label(f"node-{i}", **{"example.com/closed": "false"})
            self.patch(f"node-{i}", {"spec": {"unschedulable": False}})


def run_well(cluster, *arguments):
    done = cluster.run_berth(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def make_again(cluster, *source):
    """The report of a what-if with unchanged policies, as a check."""
    report = json.loads(run_well(cluster, "what-if", *source, "--last", "10000", "-o", "json"))
    changes = report["changes"]
    print(f"\n{report['decisions']} decisions: {changes} {report.get('skippedWhy', '')}")
    assert report["whole"] and report["cases"] == [], json.dumps(report["cases"][:5], indent=1)
    # No decision was late or dropped, so all can be replayed.
    assert changes["equal"] == report["decisions"] and changes["skipped"] == 0, report
    return report


@pytest.mark.parametrize("binds", [False, True], ids=["scheduler-binds", "berth-binds"])
def test_every_decision_can_be_replayed(cluster, measured, binds):
    exporter, prometheus = measured
    dice = random.Random(8)
    for name, value in (("low", 2), ("high", 1000)):
        cluster.add_priority(name, value)
    unrest = Unrest(cluster, exporter, dice)
    policy = cluster.folder / "policies.yaml"
    policy.write_text(POLICIES)
    # A long deadline, so that decisions are not late on a busy machine.
    flags = ["--policy", policy, "--prometheus", prometheus.url, "--deadline", "5s"]
    start = cluster.start_binder if binds else lambda *flags: cluster.start(Live(), *flags)
    berth = start(*flags, *(["--bind"] if binds else []))
    wait_for("loads to be known", lambda: find_metric(berth, "load")["nodes"]["covered"])

    names = []
    for i in range(N_PODS):
        kind = KINDS[i % len(KINDS)]
        names.append(f"{kind}-{i}")
        cpu = f"{dice.randrange(1, 9)}00m"
        cluster.add_pod(names[-1], {"kind": kind}, cpu, priorityClassName="low")
        unrest.change()
        if i % 9 == 8:
            cluster.delete_pod(dice.choice(names))
    unrest.calm()
    # On a busy machine loads expire, and earlier pods may have had at most two eligible nodes.
    wait_for(
        "loads of all nodes", lambda: find_metric(berth, "load")["nodes"]["covered"] >= N_NODES
    )
    cluster.add_pod("few-last", {"kind": "few"}, "100m", priorityClassName="low")
    cluster.wait_bound("few-last")
    for name in ("urgent-1", "urgent-2"):  # they preempt others
        cluster.add_pod(name, cpu="5600m", priorityClassName="high")
    for name in ("urgent-1", "urgent-2"):
        cluster.wait_bound(name)
    unrest.label("node-0", **{POOL: "gold"})

    server = ["--server", berth.url]
    bundle, hashed = cluster.folder / "b.tar.gz", cluster.folder / "hashed.tar.gz"
    report = make_again(cluster, *server)
    assert report["decisions"] > N_PODS
    assert {"base/open", "gold/pool"} <= spoken(berth)
    for kind in ("outcome=narrowed", "outcome=none-passed", "verb=preempt"):
        assert get(berth, f"/api/v1/decisions?{kind}&limit=1").json()["decisions"], kind

    page = ask(berth, "POST", "/api/v1/what-if?last=10000", b"{}", JSON).json()
    assert page["changes"]["equal"] == page["decisions"] >= report["decisions"], page

    # The same without berth, and anonymized.
    run_well(cluster, "bundle", *server, "--last", "10000", "-o", bundle)
    run_well(cluster, "bundle", *server, "--last", "10000", "--anonymize", "-o", hashed)
    berth.stop()
    offline = make_again(cluster, "--bundle", bundle)
    assert offline["decisions"] >= report["decisions"] and offline["pods"] >= report["pods"]
    assert make_again(cluster, "--bundle", hashed)["decisions"] >= offline["decisions"]
    # Another policy gives another result: replays use the policies.
    other = run_well(
        cluster, "what-if", "--bundle", bundle, "--set", "spare.room.headroom={cpu: 100}"
    )
    assert "newly rejected" in other and "spare/room" in other
    assert f"{cluster.namespace}/urgent-1" in run_well(
        cluster, "explain", "--bundle", bundle, f"{cluster.namespace}/urgent-1"
    )


def spoken(berth):
    """POLICY/RULE of all filters in recorded decisions."""
    page = get(berth, "/api/v1/decisions?verb=filter&limit=1000").json()
    rules = [rule for decision in page["decisions"] for rule in decision["rules"]]
    return {f"{rule['policy']}/{rule['rule']}" for rule in rules}


# --- the dashboard ---

POLICY = """
filters:
  - {name: pool, nodeLabels: {example.com/pool: blue}, reason: node is not in the pool}
  - {name: room, headroom: {cpu: 500m}, reason: node has too little cpu left}
scores:
  - {name: zone, nodeLabelPreference: {key: topology.kubernetes.io/zone, values: {b: 100}}}
"""
REASONS = ("node is not in the pool", "node has too little cpu left")


def show(berth, path):
    """The text of a page, a line for each element."""
    page = get(berth, path, headers={"Accept": "text/html"})
    assert page.status == 200, page.text
    body = page.text.partition("<body")[2].partition(">")[2]
    lines = html.unescape(re.sub(r"<(?:a|b|span|strong|/a|/b|/span|/strong)\b[^>]*>", "", body))
    return re.sub(r"<[^>]*>", "\n", lines)


def our_part(message):
    """berth's reasons in "0/6 nodes are available: 1 this, 2 that. preemption: …", unchanged."""
    parts = message.partition(": ")[2].partition(". ")[0].rstrip(".").split(", ")
    return [part for part in parts if part.partition(" ")[2] in REASONS]


def test_dashboard_matches_event(cluster):
    taint = {"key": "example.com/broken", "effect": "NoSchedule"}
    for name in ("red-1", "red-2", "red-3"):
        cluster.add_node(name, {POOL: "red", "topology.kubernetes.io/zone": name[-1]})
    cluster.add_node("blue-small", {POOL: "blue"}, cpu="1")
    cluster.add_node("blue-broken", {POOL: "blue"}, taints=[taint])
    cluster.add_node("tiny", {POOL: "blue"}, cpu="200m")
    berth = cluster.start_berth(
        *Live().flags(cluster), "--policy", cluster.write_policy(POLICY)
    )
    scheduler = cluster.start_scheduler(make_extender(berth.url))

    cluster.add_pod("waits", cpu="900m")
    message = cluster.wait_pending("waits", "0/6 nodes are available")["message"]
    cluster.wait_event("waits", "FailedScheduling", message)
    ours = our_part(message)
    assert ours == ["1 node has too little cpu left", "3 node is not in the pool"], message
    path = f"/pod?namespace={cluster.namespace}&name=waits"
    page = show(berth, path)
    assert "◔ pending since" in page
    assert ", ".join(ours) + "." in page
    for part in ours:
        assert re.search(rf"^{part} \(policy e2e, rule (pool|room)\)", page, re.M), page
    # kube-scheduler's own filters rejected the tainted node and the small one.
    assert "kube-scheduler did not send 2 of 6 nodes" in page

    top = run_well(cluster, "top", "--once", "--server", berth.url)
    health = "degraded because policies keep 1 pod pending"
    assert health in top and f"{cluster.namespace}/waits" in top and "e2e/pool" in top
    assert health in show(berth, "/")
    update = next(listen(berth))
    assert update["sentence"]["health"] == "degraded" and update["waiting"] == 1
    assert update["nodes"] == 6 and update["rejectedNodes"] >= 4

    with scheduler.halted():
        for name in ("red-1", "red-2"):
            labels = {POOL: "blue", "topology.kubernetes.io/zone": "b" if name == "red-2" else "a"}
            cluster.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": labels}})
        cluster.assert_cluster_copy_is_true(berth)  # berth has both before the request
    assert cluster.wait_bound("waits") == "red-2"
    page = wait_for(
        "the page to say where it is", lambda: show(berth, path), lambda seen: "✓ on node" in seen
    )
    assert "✓ on node red-2: 2 of 4 nodes passed" in page
    assert re.search(r"Chosen: red-2: .*, rank 1 of 2: berth's first choice\.", page), page
    assert next(listen(berth))["waiting"] == 0

    cluster.edit_policy(berth, POLICY.replace("cpu: 500m", "cpu: 700m"))
    page = show(berth, "/changes")
    assert "policies reloaded" in page
    assert re.search(r"^-.*headroom: {cpu: 500m}", page, re.M), page
    assert re.search(r"^\+.*headroom: {cpu: 700m}", page, re.M), page


def listen(berth):
    """The event stream, update by update."""
    with contextlib.closing(http.client.HTTPConnection(berth.host, berth.port, timeout=10)) as line:
        line.request("GET", "/api/v1/events")
        stream = line.getresponse()
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        while text := stream.readline():
            if text.startswith(b"data: "):
                yield json.loads(text[len(b"data: ") :])
