"""berth check: errors, warnings, --fail-on, and policies against a cluster file."""

import json
import subprocess

import pytest

from client import FAILED, FINE, USAGE

pytestmark = pytest.mark.single_thread

HEAD = "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: p}\nspec:\n"

CLUSTER = {"apiVersion": "v1", "kind": "List", "items": [
    *({"kind": "Node", "metadata": {"name": f"node-{i}", "labels": {"pool": "gpu" if i else "general", "zone": "a"}},
       "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "1"},
                  "conditions": [{"type": "Ready", "status": "True"}]}} for i in range(3)),
    {"kind": "Pod", "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
     "spec": {"nodeName": "node-0", "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}]}},
    {"kind": "Pod", "metadata": {"name": "train", "namespace": "ml", "labels": {"app": "train"}},
     "spec": {"containers": [{"name": "a", "resources": {"requests": {"example.com/fpga": "1"}}}]}},
]}


@pytest.fixture
def check(berth_path, tmp_path):
    (tmp_path / "cluster.json").write_text(json.dumps(CLUSTER))

    def call(spec, *args):
        (tmp_path / "p.yaml").write_text(HEAD + spec)
        return subprocess.run([berth_path, "check", "p.yaml", *args], cwd=tmp_path, capture_output=True, text=True,
                              check=False)

    return call


def messages(result):
    return [line.split(": ", 1)[1] for line in result.stdout.splitlines() if line.startswith("p.yaml:")]


def test_fail_on_warning(check):
    spec = "  filters: [{name: cap, maxPods: 0, reason: r}]\n"
    fine = check(spec)
    assert fine.returncode == FINE and "warning: no node can meet a limit of 0" in fine.stdout
    assert "ok: 1 policy" in fine.stdout
    failed = check(spec, "--fail-on", "warning")
    assert failed.returncode == FAILED and "ok:" not in failed.stdout
    assert check("  filters: [{name: cap, maxPods: 1, reason: r}]\n", "--fail-on", "warning").returncode == FINE
    assert check(spec, "--fail-on", "hint").returncode == USAGE


@pytest.mark.parametrize("zone, known", [
    ("Europe/Berlin", True), ("UTC", True), ("", True), ("+02:00", True), ("America/Indiana/Knox", True),
    ("Europe/Berln", False), ("CEST+1", False), ("+2", False),
])
def test_unknown_time_zones_are_errors(check, zone, known):
    result = check(f"  filters: [{{name: night, expression: \"node.ready || now.getHours('{zone}') < 6\", reason: r}}]\n")
    assert (result.returncode, messages(result)) == (
        (FINE, []) if known else (FAILED, [f"error: there is no time zone '{zone}'"]))
    by_name = check(f"  params: {{zone: '{zone}'}}\n"
                    "  filters: [{name: night, expression: 'node.ready || now.getHours(params.zone) < 6', reason: r}]\n")
    assert (by_name.returncode, messages(by_name)) == (result.returncode, messages(result))


def test_names_that_nothing_in_the_cluster_has(check):
    result = check("""\
  match: {namespaces: [shopp]}
  filters:
    - {name: gpu, headroom: {nvidia.com/gpus: 0}, reason: r}
    - {name: fpga, headroom: {example.com/fpga: 0, hugepages-2Mi: 0, ephemeral-storage: 0}, reason: r}
    - {name: value, expression: "pod.spec.priority > 0 || node.metadata.labels[?'pool'].orValue('') == 'gpuu'", reason: r}
    - {name: key, expression: "pod.spec.priority == 0 || 'polo' in node.metadata.labels", reason: r}
    - {name: known, expression: "pod.spec.priority == 0 || node.metadata.labels[?'pool'].orValue('') in ['x', 'gpu']", reason: r}
    - {name: pods, maxPods: {limit: 9, podSelector: {matchLabels: {app: wep}}}, reason: r}
    - {name: absent, nodeLabels: {retired: {absent: true}}, reason: r}
""", "--cluster", "cluster.json")
    assert result.returncode == FINE
    assert [m for m in messages(result) if "rejects every node" not in m] == [
        'warning: no pod of the cluster is in the namespace "shopp"',
        'warning: no node of the cluster offers the resource "nvidia.com/gpus", and no pod requests it',
        'warning: no node of the cluster has the label "pool" with the value "gpuu"',
        'warning: no node of the cluster has the label "polo"',
        'warning: no pod of the cluster has the label "app" with the value "wep"',
    ]
    for hint in ['"shop"', '"nvidia.com/gpu"', "'gpu'", "'pool'", '"web"']:
        assert f"  = did you mean {hint}?\n" in result.stdout


def test_requirements_that_no_pod_meets(check):
    result = check("""\
  match: {podSelector: {matchExpressions: [{key: app, operator: NotIn, values: [web, train]}]}}
  filters: [{name: ready, nodeReady: true}]
""", "--cluster", "cluster.json")
    assert result.returncode == FINE
    assert messages(result) == [
        'warning: no pod of the cluster meets the requirement on the label "app": the policy applies to none']


def test_rules_that_reject_every_node(check):
    result = check("""\
  filters:
    - {name: room, headroom: {memory: 64Gi}, reason: r}
    - {name: enough, headroom: {memory: 1Gi}, reason: r}
    - {name: later, expression: "now < timestamp('2020-01-01T00:00:00Z') && node.ready", reason: r}
""", "--cluster", "cluster.json")
    assert result.returncode == FINE
    assert messages(result) == [
        'warning: the rule "room" rejects every node of the cluster (3), for each pod that was tried (3)']
    assert "p.yaml:6:30: warning" in result.stdout
    assert "= on node-0: memory: 32Gi would remain free, 64Gi required\n" in result.stdout


def test_quiet_about_a_policy_that_fits(check):
    result = check("""\
  match: {namespaces: [shop, ml], podSelector: {matchExpressions: [{key: app, operator: In, values: [web, train]}]}}
  filters:
    - {name: pool, nodeLabels: {pool: [gpu, general]}, reason: r}
    - {name: spread, topologySpread: {topologyKey: zone, maxSkew: 3, podSelector: {matchLabels: {app: web}}}, reason: r}
""", "--cluster", "cluster.json", "--fail-on", "warning")
    assert (result.returncode, messages(result)) == (FINE, [])
    assert result.stdout.startswith("ok: 1 policy, 2 filters, 0 scores\n")


def test_fix_in_json(check, tmp_path):
    spec = "  filters:\n    - {name: f, expression: 'node.labels[''pool''] == \"gpu\"', reason: r}\n"
    for _ in range(2):
        found = json.loads(check(spec, "-o", "json").stdout)["messages"]
        fix = found[0]["fix"]
        lines = (tmp_path / "p.yaml").read_text().splitlines(keepends=True)
        line, at = lines[fix["line"] - 1], fix["column"] - 1
        lines[fix["line"] - 1] = line[:at] + fix["text"] + line[at + fix["width"]:]
        spec = "".join(lines)[len(HEAD):]
    assert "node.metadata.labels[?''pool''].orValue(" + "'" * 4 + ") == \"gpu\"" in spec
    assert check(spec, "--fail-on", "warning").returncode == FINE
