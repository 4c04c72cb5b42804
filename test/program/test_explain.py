"""`berth explain`: for all nodes, for one, as JSON; suggested changes work.

test_cli.py tests its inputs, test_explain_last.py tests `--last`.
"""

import copy
import json
import os
import pty
import random
import re
import subprocess

import pytest

from client import PATIENCE

FINE, USAGE, UNREACHABLE = 0, 2, 3
NOW = "2026-11-16T09:00:00Z"
HEAD = "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\n"

POLICY = """\
metadata: {name: zones}
spec:
  filters:
    - {name: zone, nodeLabels: {zone: {in: [a, b]}}, reason: wrong zone, unresolvable: true}
    - {name: room, headroom: {cpu: 1}, reason: too little would be left}
    - {name: own, expression: "node.free.cpu - pod.requests.cpu > 0.25 && node.ready"}
  scores:
    - {name: near, nodeLabelPreference: {key: zone, values: {a: 80, b: 20}}, weight: 3}
    - {name: pack, binPack: {cpu: 1}}
---
metadata: {name: trial}
spec:
  mode: Observe
  filters:
    - {name: disk, nodeLabels: {disk: ssd}, reason: slow disk}
---
metadata: {name: elsewhere}
spec:
  match: {namespaces: [other]}
  filters: [{name: a, nodeReady: true}]
---
metadata: {name: labelled}
spec:
  match: {podSelector: {matchLabels: {app: db}}}
  filters: [{name: a, nodeReady: true}]
---
metadata: {name: important}
spec:
  match: {expression: "pod.spec.priority > 5"}
  filters: [{name: a, nodeReady: true}]
---
metadata: {name: broken}
spec:
  match: {expression: "pod.metadata.labels['tier'] == 'web'"}
  filters: [{name: a, nodeReady: true}]
"""


def node(name, cpu=4, ready=True, labels=None, **more):
    spec = {key: more[key] for key in ("taints", "unschedulable") if key in more}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels or {},
            "annotations": more.get("annotations", {}),
            "creationTimestamp": more.get("created", "2026-11-01T00:00:00Z"),
        },
        "spec": spec,
        "status": {
            "allocatable": {"cpu": str(cpu), "memory": "16Gi", **more.get("extra", {})},
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def pod(name, on=None, cpu="500m", labels=None, **more):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": more.get("namespace", "shop"),
            "uid": f"uid-{name}",
            "labels": labels or {},
            "creationTimestamp": more.get("created", "2026-11-16T08:00:00Z"),
        },
        "spec": {
            **({"nodeName": on} if on else {}),
            "containers": [
                {"name": "app", "resources": {"requests": {"cpu": cpu, **more.get("extra", {})}}}
            ],
            "tolerations": more.get("tolerations", []),
        },
        "status": {"phase": "Running" if on else "Pending"},
    }


CLUSTER = [
    node("n1", labels={"zone": "b", "disk": "ssd"}),
    node("n2", labels={"zone": "a"}),
    node("n3", cpu=1, labels={"zone": "c"}),
    node("n4", labels={"zone": "a"}),
    pod("busy", on="n4", cpu="3"),
]


def with_heads(policy):
    return "---\n".join(HEAD + document for document in policy.split("---\n"))


@pytest.fixture
def explain(berth_path, tmp_path):
    """explain(*options, policy=…, cluster=…, pod=…) -> the finished process."""

    def run(*options, policy=POLICY, cluster=CLUSTER, asking=None, terminal=False):
        (tmp_path / "policy.yaml").write_text(with_heads(policy))
        (tmp_path / "cluster.json").write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": cluster})
        )
        (tmp_path / "pod.json").write_text(
            json.dumps(asking or pod("web", extra={"memory": "1Gi"}))
        )
        command = [berth_path, "explain", "--cluster", tmp_path / "cluster.json"]
        command += ["--policy", tmp_path / "policy.yaml", "--pod", tmp_path / "pod.json"]
        command += [str(option) for option in options]
        env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"}
        if not terminal:
            return subprocess.run(
                command, capture_output=True, text=True, timeout=PATIENCE, env=env
            )
        parent, child = pty.openpty()
        with os.fdopen(parent, "rb") as output:
            proc = subprocess.Popen(command, stdout=child, stderr=subprocess.DEVNULL, env=env)
            os.close(child)
            chunks = []
            try:
                while chunk := output.read1(65536):
                    chunks.append(chunk)
            except OSError:  # the terminal is closed
                pass
            assert proc.wait(PATIENCE) == FINE
        return b"".join(chunks).decode().replace("\r\n", "\n")

    return run


def explain_json(explain, *options, **what):
    result = explain("-o", "json", *options, **what)
    assert result.returncode == FINE, result.stderr
    return json.loads(result.stdout)


def nodes_of(value):
    return {shown_node["node"]: shown_node for shown_node in value["nodes"]}


# --- the table ---


def test_table(explain):
    result = explain("--now", NOW)
    assert result.returncode == FINE
    assert [line.rstrip() for line in result.stdout.splitlines()] == [
        "pod       shop/web  requests cpu 500m, memory 1Gi",
        "policies  zones, trial (Observe)",
        "not       elsewhere  (another namespace)",
        "not       labelled  (other labels)",
        "not       important  (match.expression is false)",
        "not       broken: no such key: tier, in pod.metadata.labels['tier'] "
        + re.search(r"\(\S+policy\.yaml:\d+\)", result.stdout)[0]
        + "  (match.expression failed)",
        "",
        "2 of 4 nodes pass",
        "",
        "RANK  NODE  SENT  SCORE  =  near ×3  pack ×1",
        "   1  n2       6   63.1        80.0     12.5",
        "   2  n1       2   18.1        20.0     12.5",
        "at weight 1 kube-scheduler adds the score sent × 10 (0 to 100) to its own, 0 to 1200 by default",
        "",
        "rejected by",
        "        1  zones/zone: wrong zone (preemption cannot help)",
        '           n3: label zone is "c", must be one of "a", "b"',
        '           needs label zone one of "a", "b" on the node',
        "           it fails other rules, too",
        "        1  zones/room: too little would be left",
        "           n4: cpu: 500m would remain free, 1 required",
        "           needs 500m more cpu free on the node",
        "",
        "would be rejected by (mode Observe, not acted upon)",
        "        3  trial/disk: slow disk",
        '           e.g. n2: label disk is absent, must be "ssd"',
        "           needs label disk=ssd on the node",
    ]


def test_groups_are_counted_and_add_up(explain):
    cluster = [node(f"a-{i:03}", labels={"zone": "a"}) for i in range(30)]
    cluster += [node(f"c-{i:03}", labels={"zone": "c"}) for i in range(1200)]
    cluster += [node(f"s-{i:03}", cpu=1, labels={"zone": "b"}) for i in range(7)]
    short = explain(cluster=cluster).stdout
    assert "30 of 1,237 nodes pass" in short
    assert len(re.findall(r"^ +\d+  a-\d+ ", short, re.M)) == 10
    assert "      … 20 more; --all shows them" in short
    groups = short.split("rejected by\n")[1]
    assert re.findall(r"^ +([\d,]+)  zones/(\w+):", groups, re.M) == [
        ("1,200", "zone"), ("7", "room")]
    every = explain("--all", cluster=cluster).stdout
    for shown_node in cluster:
        assert re.search(rf"\b{shown_node['metadata']['name']}\b", every)
    assert "--all shows them" not in every


def test_without_scores_there_are_only_names(explain):
    policy = "metadata: {name: p}\nspec: {filters: [{name: r, nodeReady: true}]}\n"
    text = explain(policy=policy).stdout
    assert "\n4 of 4 nodes pass\n\nNODE\nn1\nn2\nn3\nn4\n" in text
    assert "kube-scheduler adds" not in text


def test_errors_are_counted(explain):
    policy = """\
metadata: {name: p}
spec:
  filters:
    - {name: strict, expression: "node.metadata.labels['disk'] == 'ssd'"}
    - {name: lenient, expression: "node.metadata.labels['gen'] == '3'", onError: allow}
  scores:
    - {name: cost, expression: "double(node.metadata.labels['cost'])", onError: 40}
"""
    text = explain(policy=policy).stdout
    shown_node = [line for line in text.splitlines() if "(onError: " in line]
    assert re.match(
        r"  p/strict on 3 nodes \(onError: reject\): e\.g\. n2: no such key: disk, "
        r"in node\.metadata\.labels\['disk'\] \(\S+policy\.yaml:\d+\)$", shown_node[0])
    assert shown_node[1].startswith("  p/lenient on 4 nodes (onError: allow): e.g. n1: no such key: gen")
    assert shown_node[2].startswith("  p/cost on 1 node (onError: 40): n1: no such key: cost")
    assert re.search(r"^   1  n1 +4   40\.0 +40\.0!$", text, re.M)
    value = explain_json(explain, policy=policy)
    assert [(e["rule"], e["nodes"], e["onError"]) for e in value["errors"]] == [
        ("strict", 3, "reject"), ("lenient", 4, "allow"), ("cost", 1, 40)]
    assert nodes_of(value)["n2"]["failed"][0]["error"].startswith("no such key: disk")
    assert nodes_of(value)["n1"]["parts"][0]["raw"] is None


def test_narrowing(explain):
    policy = """\
metadata: {name: p}
spec:
  narrow: {to: 2}
  scores: [{name: free, spread: {cpu: 1}}]
"""
    cluster = [node(f"n{i}", cpu=4) for i in range(5)]
    cluster += [pod(f"p{i}", on=f"n{i}", cpu=f"{i}00m") for i in range(1, 5)]
    text = explain(policy=policy, cluster=cluster).stdout
    assert "5 of 5 nodes pass; the best 2 are returned (narrow), 3 are not" in text
    assert [(m[0], m[1], bool(m[2])) for m in re.findall(
        r"^ +(\d)  (n\d) .*?(not returned)?$", text, re.M)] == [
        ("1", "n0", False), ("2", "n1", False), ("3", "n2", True), ("4", "n3", True),
        ("5", "n4", True)]
    one = explain("--node", "n3", policy=policy, cluster=cluster).stdout
    assert "n3: passed, rank 4 of 5, not returned: the best 2 are (narrow)\n" in one
    value = explain_json(explain, policy=policy, cluster=cluster)
    assert value["counts"] == {"nodes": 5, "passed": 2, "narrowed": 3, "rejected": 0}
    assert value["narrowTo"] == 2
    assert nodes_of(value)["n3"]["outcome"] == "narrowed" and nodes_of(value)["n3"]["rank"] == 4
    assert "wireScore" not in nodes_of(value)["n3"]


def test_normalize_is_over_those_that_pass(explain):
    policy = """\
metadata: {name: p}
spec:
  filters: [{name: zone, nodeLabels: {zone: a}}]
  scores: [{name: big, expression: "node.allocatable.cpu", normalize: minMax}]
"""
    cluster = [node("huge", cpu=64, labels={"zone": "c"})]
    cluster += [node(f"n{cpu}", cpu=cpu, labels={"zone": "a"}) for cpu in (2, 4, 6)]
    parts = {name: shown_node["parts"][0] for name, shown_node in nodes_of(
        explain_json(explain, policy=policy, cluster=cluster)).items() if "parts" in shown_node}
    assert {name: (p["raw"], p["value"]) for name, p in parts.items()} == {
        "n2": (2, 0), "n4": (4, 50), "n6": (6, 100)}
    assert "normalize: minMax over the nodes that pass" in explain(
        "--node", "n4", policy=policy, cluster=cluster).stdout


def test_time_and_zones(explain):
    policy = """\
metadata: {name: p}
spec:
  filters:
    - {name: night, expression: "now.getHours('Europe/Berlin') >= 20", reason: it is day}
    - {name: age, nodeAge: {min: 2h}, reason: node is too young}
"""
    cluster = [node("n", created="2026-11-16T18:30:00Z")]
    early = explain("--now", "2026-11-16T18:59:00Z", policy=policy, cluster=cluster).stdout
    assert "p/night: it is day" in early and "needs 5460s more time" not in early
    late = explain("--now", "2026-11-16T19:00:00Z", policy=policy, cluster=cluster).stdout
    assert "p/night" not in late and "needs 5400s more time" in late
    assert "1 of 1 nodes pass" in explain(
        "--now", "2026-11-16T20:30:00Z", policy=policy, cluster=cluster).stdout
    assert explain("--now", "noon").returncode == USAGE


def test_share_of_the_total(explain):
    text = explain("--weight", "5").stdout
    assert "at weight 5 kube-scheduler adds the score sent × 50 (0 to 500) to its own" in text
    shown_node = nodes_of(explain_json(explain, "--weight", "5"))
    assert shown_node["n2"]["added"] == shown_node["n2"]["wireScore"] * 50 == 300
    assert "+300 in kube-scheduler" in explain("--weight", "5", "--node", "n2").stdout
    for bad in ("0", "-1", "x", "1.5"):
        assert explain("--weight", bad).returncode == USAGE


def test_lines_fit_a_terminal(explain):
    """100 columns, with colour and without, and the same text."""
    for options in ([], ["--all"], ["--node", "n4"]):
        plain = explain("--now", NOW, *options).stdout
        for line in plain.splitlines():
            assert len(line) <= 100 or "policy.yaml" in line, line
        coloured = explain("--now", NOW, *options, terminal=True)
        assert "\033[" in coloured
        assert re.sub(r"\033\[[0-9;]*m", "", coloured) == plain


# --- one node ---


def test_node_that_is_rejected(explain):
    lines = explain("--node", "n4").stdout.splitlines()
    begin = lines.index("n4: rejected")
    assert lines[begin + 1 : begin + 8] == [
        "  ✗ zones/room: too little would be left",
        "      cpu: 500m would remain free, 1 required",
        "      needs 500m more cpu free on the node",
        "      node.free.milliCPU >= pod.requests.milliCPU + 1000.0  false",
        "      ├─ node.free.milliCPU                                 1000.0",
        "      └─ pod.requests.milliCPU + 1000.0                     1500.0",
        "         └─ pod.requests.milliCPU                           500.0",
    ]
    assert "  ✗ trial/disk: slow disk (Observe: not acted upon)" in lines
    assert "  ✓ zones/zone" in lines and "  ✓ zones/own" in lines
    assert "n3: rejected; preemption cannot help" in explain("--node", "n3").stdout


def test_node_by_values_when_there_is_no_message(explain):
    policy = """\
metadata: {name: p}
spec:
  params: {key: zone}
  variables:
    - {name: left, expression: "node.free.cpu - pod.requests.cpu"}
  filters:
    - {name: f, expression: "node.metadata.labels[?params.key].orValue('') != 'x' && variables.left > 3.0"}
"""
    text = explain("--node", "n4", policy=policy).stdout
    assert "      variables.left = 0.5\n      needs 2.501 more cpu free on the node\n" in text
    assert "      variables.left:\n      node.free.cpu - pod.requests.cpu  0.5\n" in text
    failed = nodes_of(explain_json(explain, policy=policy))["n4"]["failed"][0]
    assert failed["values"] == [{"expression": "variables.left", "value": 0.5}]


def test_node_that_passes_beside_the_best(explain):
    lines = explain("--node", "n1").stdout.splitlines()
    assert "n1: passes, rank 2 of 2" in lines
    assert ("  score 18.1 of 100, 2 of 10 sent, +20 in kube-scheduler; rank 1 is n2 with 63.1"
            in lines)
    table = [line.split() for line in lines]
    assert ["RULE", "RAW", "VALUE", "WEIGHT", "ADDS", "BEST"] in table
    assert ["zones/near", "20", "20.0", "3", "15.0", "60.0"] in table
    assert ["zones/pack", "12.5", "12.5", "1", "3.1", "3.1"] in table
    assert "BEST" not in explain("--node", "n2").stdout


def test_node_that_is_not_there(explain):
    result = explain("--node", "n9")
    assert result.returncode == UNREACHABLE and result.stdout == ""
    assert 'no node "n9"' in result.stderr


def test_files_of_metrics_that_cannot_be_used(explain, tmp_path):
    missing = tmp_path / "missing.yaml"
    result = explain("--metrics", missing)
    assert result.returncode == UNREACHABLE and result.stdout == ""
    assert f"error: {missing}: No such file" in result.stderr
    assert result.stderr.count(str(missing)) == 1
    two = tmp_path / "two.yaml"
    two.write_text("metrics: {}\n---\nmetrics: {}\n")
    result = explain("--metrics", two)
    assert result.returncode != FINE and result.stdout == ""
    assert f"{two}:3:1: error: a file of metric values has one document" in result.stderr


# --- memory ---

LONG = "lists.range(20000).map(x, x + node.pods.size() + pod.spec.priority)"
WORDS = "lists.range(2000).map(x, string(x) + node.metadata.name).join(' ').substring(0, 9)"


def peak_memory(command):
    """The peak memory in bytes of a successful run."""
    # A sanitizer delays the reuse of freed memory.
    options = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    proc = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, env=os.environ | {"ASAN_OPTIONS": options}
    )
    _, status, usage = os.wait4(proc.pid, 0)
    proc.returncode = os.waitstatus_to_exitcode(status)
    assert proc.returncode == FINE
    return usage.ru_maxrss * 1024


@pytest.mark.parametrize(
    "rule",
    [
        f'expression: "{LONG}.sum() > 1"',
        f'expression: "{LONG}.sum() < 1", messageExpression: "{WORDS}"',
        f'expression: "{LONG}[30000] > 1"',
    ],
    ids=["pass", "message", "error"],
)
def test_memory_does_not_grow_with_the_nodes(berth_path, tmp_path, rule):
    """Each evaluation builds a megabyte and more, which is released before the next node."""
    policy, cluster = tmp_path / "policy.yaml", tmp_path / "cluster.json"
    policy.write_text(
        HEAD + f"metadata: {{name: p}}\nspec: {{filters: [{{name: r, {rule}}}]}}\n"
    )
    (tmp_path / "pod.json").write_text(json.dumps(pod("web")))
    command = [berth_path, "explain", "--cluster", cluster, "--policy", policy]
    command += ["--pod", tmp_path / "pod.json"]
    peaks = []
    for n in (50, 1000):
        items = [node(f"n{i}") for i in range(n)]
        cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        peaks.append(peak_memory(command))
    assert peaks[1] < peaks[0] + 32 * 2**20, peaks


# --- JSON ---


def test_json_schema(explain):
    """The keys that docs/policy.md promises."""
    value = explain_json(explain, "--now", NOW)
    assert list(value) == ["pod", "time", "policies", "counts", "narrowTo", "wireMax", "weight",
                           "errors", "counting", "nodes"]
    assert value["pod"] == {"namespace": "shop", "name": "web"} and value["time"] == NOW
    assert [(p["name"], p["mode"], p["applies"], p.get("whyNot")) for p in value["policies"]] == [
        ("zones", "Enforce", True, None), ("trial", "Observe", True, None),
        ("elsewhere", "Enforce", False, "namespaces"),
        ("labelled", "Enforce", False, "podSelector"),
        ("important", "Enforce", False, "expression"), ("broken", "Enforce", False, "error")]
    assert value["policies"][5]["error"].startswith("no such key: tier")
    assert value["counts"] == {"nodes": 4, "passed": 2, "narrowed": 0, "rejected": 2}
    shown_node = nodes_of(value)
    assert list(shown_node) == ["n1", "n2", "n3", "n4"]  # the cluster's order
    assert list(shown_node["n2"]) == ["node", "outcome", "rank", "failed", "score", "wireScore", "added",
                                "parts"]
    assert shown_node["n2"]["score"] == pytest.approx((80 * 3 + 12.5) / 4)
    assert list(shown_node["n2"]["parts"][0]) == ["policy", "rule", "raw", "value", "weight",
                                            "contribution"]
    assert shown_node["n2"]["score"] == pytest.approx(
        sum(part["contribution"] for part in shown_node["n2"]["parts"]))
    assert list(shown_node["n3"]) == ["node", "outcome", "policy", "rule", "reason", "unresolvable",
                                "failed"]
    assert [(f["rule"], f["observed"]) for f in shown_node["n3"]["failed"]] == [
        ("zone", False), ("room", False), ("disk", True)]
    assert shown_node["n4"]["failed"][0] == {
        "policy": "zones",
        "rule": "room",
        "reason": "too little would be left",
        "detail": "cpu: 500m would remain free, 1 required",
        "unresolvable": False,
        "observed": False,
        "values": [{"expression": "node.free.milliCPU", "value": 1000},
                   {"expression": "pod.requests.milliCPU", "value": 500}],
        "needs": [{"subject": "node.free['milliCPU']", "relation": ">=", "value": 1500,
                   "has": 1000, "text": "500m more cpu free on the node"}],
    }
    only = explain_json(explain, "--node", "n3")
    assert [shown_node["node"] for shown_node in only["nodes"]] == ["n3"]
    assert only["counts"]["nodes"] == 4


# --- suggestions ---

RULES = [
    "nodeLabels: {zone: a}",
    "nodeLabels: {zone: [a, b], tier: {exists: true}}",
    "nodeLabels: {gen: {gt: 3}, tier: {notIn: [web]}}",
    "nodeLabels: {tier: {absent: true}}",
    "nodeAnnotations: {owner: me}",
    "dedicated: {key: tier}",
    "nodeReady: true",
    "tolerations: true",
    "noTaints: [gpu, slow]",
    "headroom: {cpu: 500m}",
    "headroom: {cpu: 25%, memory: 2Gi}",
    "headroom: {memory: 12.5%}",
    "headroom: {example.com/disk: 0}",
    "maxPods: 2",
    "maxPods: {limit: 1, podSelector: {matchLabels: {app: web}}}",
    "maxFreshPods: {limit: 2, youngerThan: 2h}",
    "nodeAge: {min: 5d}",
    'expression: "node.free.cpu > pod.requests.cpu * 2.0 && node.pods.size() <= 1"',
    'expression: "node.metadata.labels[\'zone\'] != \'c\' && node.requested.cpu < 1.0"',
    "expression: \"'tier' in node.metadata.labels && node.metadata.labels['tier'] == 'web'\"",
    'expression: "node.ready ? node.free.memory >= 15e9 : !node.spec.unschedulable"',
    'expression: "!node.spec.taints.exists(t, t.effect == \'NoSchedule\')"',
    'expression: "pod.requests.cpu < 0.5 || node.metadata.labels[?\'zone\'].orValue(\'\') == \'a\'"',
    'expression: "node.allocatable.cpu >= 6.0"',
    'expression: "pod.metadata.labels[?\'app\'].orValue(\'\') in [\'db\', \'cache\']"',
]


def random_scene(dice):
    def some(options):
        return dice.choice(options)

    cluster = []
    for i in range(6):
        labels = {key: some(values) for key, values in {
            "zone": "abc", "tier": ["web", "db"], "gen": ["1", "3", "4", "x"]}.items()
            if dice.random() < 0.6}
        taints = [{"key": key, "effect": some(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
                   **({"value": "yes"} if dice.random() < 0.5 else {})}
                  for key in ("gpu", "slow") if dice.random() < 0.3]
        cluster.append(node(
            f"n{i}", cpu=some([1, 2, 4, 8]), ready=dice.random() < 0.7, labels=labels,
            taints=taints, unschedulable=dice.random() < 0.2,
            annotations={"owner": some(["me", "you"])} if dice.random() < 0.5 else {},
            created=f"2026-11-{some([1, 12, 15])}T00:00:00Z",
            extra={"example.com/disk": "2"} if dice.random() < 0.5 else {}))
        cluster += [
            pod(f"p{i}-{j}", on=f"n{i}", cpu=f"{dice.randrange(1, 20)}00m",
                labels={"app": some(["web", "db"])},
                created=some(["2026-11-16T08:00:00Z", "2026-11-16T01:00:00Z"]),
                extra={"memory": f"{dice.randrange(1, 6)}Gi"})
            for j in range(dice.randrange(4))]
    asking = pod("new", cpu=some(["250m", "1", "2"]), labels={"app": some(["web", "db"])},
                 extra={"memory": "1Gi", **({"example.com/disk": "1"} if dice.random() < 0.5 else {})})
    return cluster, asking


def amount_of(key, number):
    """An amount in thousandths of a core, or in units."""
    return round(number * 1000) if key == "cpu" else round(number)


class World:
    """A cluster in which suggested changes can be applied."""

    def __init__(self, cluster, asking, now):
        self.cluster, self.asking, self.now = copy.deepcopy(cluster), copy.deepcopy(asking), now

    def node(self, name):
        return next(n for n in self.cluster if n["kind"] == "Node" and n["metadata"]["name"] == name)

    def pods_on(self, name):
        return [p for p in self.cluster if p["kind"] == "Pod" and p["spec"]["nodeName"] == name]

    def set_entry(self, entries, key, need):
        values = {"==": need["value"], ">=": need["value"], "<=": need["value"], "present": "any",
                  "!=": "something-else", "not in": "something-else"}
        if need["relation"] == "absent":
            entries.pop(key, None)
        elif need["relation"] == "in":
            entries[key] = re.search(r'"([^"]*)"', need["value"])[1]
        else:
            entries[key] = values[need["relation"]]

    def free(self, name, key, units):
        """Reduces the requests of existing pods by an amount, if possible. Returns whether it was possible."""
        resource = "cpu" if key == "milliCPU" else key
        for running in self.pods_on(name):
            requests = running["spec"]["containers"][0]["resources"]["requests"]
            has = parse_amount(resource, requests.get(resource, "0"))
            cut = min(has, units)
            requests[resource] = f"{has - cut}m" if resource == "cpu" else str(has - cut)
            units -= cut
        return units == 0

    def apply(self, name, need):
        """Applies a suggested change. Returns False if it is not possible in this cluster."""
        subject, value, has = need["subject"], need["value"], need["has"]
        entry = re.fullmatch(r"(node|pod)\.metadata\.(labels|annotations)\['(.*)'\]", subject)
        amount = re.fullmatch(r"(node\.free|node\.requested|node\.allocatable|pod\.requests)\['(.*)'\]",
                              subject)
        shown_node = self.node(name)
        if entry:
            owner = shown_node if entry[1] == "node" else self.asking
            self.set_entry(owner["metadata"].setdefault(entry[2], {}), entry[3], need)
        elif amount:
            key, units = amount[2], amount_of(amount[2], value) - amount_of(amount[2], has)
            resource = "cpu" if key == "milliCPU" else key
            if amount[1] in ("node.free", "node.requested"):
                return self.free(name, key, units if amount[1] == "node.free" else -units)
            owner = (shown_node["status"]["allocatable"] if amount[1] == "node.allocatable" else
                     self.asking["spec"]["containers"][0]["resources"]["requests"])
            owner[resource] = (f"{amount_of(key, value)}m" if resource == "cpu"
                               else str(amount_of(key, value)))
        elif subject == "node.ready":
            shown_node["status"]["conditions"][0]["status"] = "True" if value else "False"
        elif subject == "node.spec.unschedulable":
            shown_node["spec"]["unschedulable"] = value
        elif subject == "node.spec.taints":
            gone = re.findall(r"([\w./-]+)(?:=(\w+))?:(\w+)", need["text"])
            shown_node["spec"]["taints"] = [
                t for t in shown_node["spec"]["taints"]
                if (t["key"], t.get("value", ""), t["effect"]) not in gone]
        elif subject == "pod.spec.tolerations":
            key, value, effect = re.fullmatch(r"([\w./-]+)(?:=(\w+))?:(\w+)", value).groups()
            self.asking["spec"]["tolerations"].append(
                {"key": key, "operator": "Equal", "value": value or "", "effect": effect})
        elif subject.startswith("node.pods"):
            for running in self.pods_on(name):
                matching = [p for p in self.pods_on(name) if "filter" not in subject
                            or p["metadata"]["labels"].get("app") == "web"]
                if len(matching) <= value:
                    break
                if running in matching:
                    self.cluster.remove(running)
        elif subject == "now":
            self.now = re.search(r'"(.*)"', value)[1]
        else:
            raise AssertionError(f"what is {subject}?")
        return True


def parse_amount(resource, text):
    if resource == "cpu":
        return int(text[:-1]) if text.endswith("m") else int(text) * 1000
    return int(text[:-2]) << 30 if text.endswith("Gi") else int(text)


def test_suggested_change_makes_node_pass(explain):
    """With the suggested change the rule passes."""
    dice = random.Random(5)
    helped, subjects = 0, set()
    for rule in RULES * 2:
        policy = f"metadata: {{name: p}}\nspec: {{filters: [{{name: r, {rule}}}]}}\n"
        if rule.startswith("maxFreshPods"):
            continue  # World has no ages of pods
        cluster, asking = random_scene(dice)
        value = explain_json(explain, "--now", NOW, policy=policy, cluster=cluster, asking=asking)
        for shown_node in value["nodes"]:
            if not shown_node["failed"] or not shown_node["failed"][0]["needs"]:
                continue
            world = World(cluster, asking, NOW)
            if not all([world.apply(shown_node["node"], n) for n in shown_node["failed"][0]["needs"]]):
                continue
            after = explain_json(explain, "--now", world.now, policy=policy, cluster=world.cluster,
                                 asking=world.asking)
            assert nodes_of(after)[shown_node["node"]]["failed"] == [], (rule, shown_node["failed"])
            helped += 1
            subjects |= {n["subject"].split("[")[0] for n in shown_node["failed"][0]["needs"]}
    assert helped > 60
    assert subjects >= {
        "node.metadata.labels", "node.metadata.annotations", "node.ready", "node.free",
        "node.requested", "node.spec.taints", "pod.spec.tolerations", "node.pods.size()",
        "node.pods.filter(…).size()", "now", "node.allocatable", "pod.metadata.labels"}


@pytest.mark.parametrize("rule", [rule for rule in RULES if "headroom" in rule or "free" in rule])
def test_suggested_change_is_the_smallest(explain, rule):
    """With one unit less the rule still fails."""
    dice = random.Random(7)
    policy = f"metadata: {{name: p}}\nspec: {{filters: [{{name: r, {rule}}}]}}\n"
    cluster, asking = random_scene(dice)
    value = explain_json(explain, "--now", NOW, policy=policy, cluster=cluster, asking=asking)
    for shown_node in value["nodes"]:
        needs = shown_node["failed"][0]["needs"] if shown_node["failed"] else []
        if len(needs) != 1 or not needs[0]["subject"].startswith(("node.free", "node.requested")):
            continue
        key = re.search(r"\['(.*)'\]", needs[0]["subject"])[1]
        step = 0.001 if key == "cpu" else 1
        needs[0]["value"] += -step if "free" in needs[0]["subject"] else step
        world = World(cluster, asking, NOW)
        if needs[0]["value"] == needs[0]["has"] or not world.apply(shown_node["node"], needs[0]):
            continue
        after = explain_json(explain, "--now", NOW, policy=policy, cluster=world.cluster,
                             asking=asking)
        assert nodes_of(after)[shown_node["node"]]["failed"], (rule, needs)


@pytest.mark.parametrize(
    "rule",
    [
        "node.metadata.name.startsWith('x')",
        "node.metadata.labels.size() > 9",
        "node.free.cpu * node.requested.cpu > 99.0",
        "node.free.cpu > node.requested.cpu + 99.0",
        "cluster.nodes > 99",
    ],
)
def test_reports_nothing_without_facts(explain, rule):
    """There are no suggestions to change names, or free amounts if nothing is requested."""
    policy = f'metadata: {{name: p}}\nspec: {{filters: [{{name: r, expression: "{rule}"}}]}}\n'
    for shown_node in explain_json(explain, policy=policy)["nodes"]:
        assert shown_node["failed"][0]["needs"] == [], shown_node


BIND = """
metadata: {name: bind}
spec:
  scores: [{name: fixed, expression: "25.0"}]
  bind:
    annotations:
      example.com/by: berth
      example.com/zone: {expression: "node.metadata.labels['zone']"}
      example.com/disk: {expression: "node.metadata.labels['disk']", onError: skip}
      example.com/owner: {expression: "pod.metadata.annotations['owner']", onError: fail}
      example.com/why: {expression: "decision.policies[0] + ' ' + string(decision.score)"}
"""


def test_shows_the_annotations_of_a_bind(explain):
    lines = explain("--node", "n2", policy=BIND).stdout.splitlines()
    begin = lines.index("  annotations that a bind sets (--bind)")
    assert lines[begin + 1 :] == [
        "    example.com/by     berth",
        "    example.com/disk   left out: no such key: disk",
        "    example.com/owner  the bind fails: no such key: owner",
        "    example.com/why    bind 25",
        "    example.com/zone   a",
    ]
    reply = json.loads(explain("-o", "json", policy=BIND).stdout)
    of_node = {each["node"]: each["bindAnnotations"] for each in reply["nodes"]}
    key = "example.com/disk"
    assert {"policy": "bind", "key": key, "value": "ssd"} in of_node["n1"]
    missing = {"error": "no such key: disk", "onError": "skip"}
    assert {"policy": "bind", "key": key, **missing} in of_node["n2"]
    without = json.loads(explain("-o", "json").stdout)
    assert not any("bindAnnotations" in each for each in without["nodes"])
