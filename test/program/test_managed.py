"""berth check --managed: rules that work with a scheduler that does not call berth."""

import json
import subprocess

import pytest

from client import FAILED, FINE, USAGE
from doc_pages import ROOT

pytestmark = pytest.mark.single_thread

HEAD = "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: p}\nspec:\n"
SLOTS = "{name: seats, maxPods: 4, publish: slots}"


@pytest.fixture
def check(berth_path, tmp_path):
    """check(spec) -> {rule: [works, text, instead]}."""

    def call(spec):
        (tmp_path / "p.yaml").write_text(HEAD + spec)
        done = subprocess.run([berth_path, "check", "--managed", "-o", "json", "p.yaml"], cwd=tmp_path, capture_output=True,
                              text=True, check=False)
        found = json.loads(done.stdout)["managed"]
        assert done.returncode == (FINE if all(each["works"] for each in found) else FAILED)
        assert all(each["policy"] == "p" for each in found)
        return {each["rule"]: (each["works"], each["text"], each.get("instead")) for each in found}

    return call


def test_published_filters_work(check):
    assert check(f"  filters: [{SLOTS}, {{name: ready, nodeReady: true, publish: label}}, "
                 "{name: few, maxPods: 9, publish: label}]\n") == {
        "seats": (True, "published as slots: the limit holds in a burst", None),
        "ready": (True, "published as a label", None),
        "few": (True, "published as a label: a burst can exceed the limit", None)}  # fmt: skip


NOT_PUBLISHED = "it is not published, and nothing calls berth"
READS_MORE = "it reads more than the node, so it cannot be published"
SECOND = "a second scheduler, which calls berth (docs/install.md)"


@pytest.mark.parametrize("rule, text, instead", [
    ("nodeReady: true", NOT_PUBLISHED, "publish: label"),
    ("expression: 'node.free.cpu > 1.0'", NOT_PUBLISHED, "publish: label"),
    ("maxPods: 4", NOT_PUBLISHED, "publish: slots"),
    ("maxPods: {limit: 4, per: node, podSelector: {matchLabels: {a: b}}}", NOT_PUBLISHED, "publish: slots"),
    ("maxPods: {limit: 4, topologyKey: zone}", NOT_PUBLISHED, "publish: label"),
    ("maxPods: {limit: 4, per: owner}", READS_MORE, "podAntiAffinity or topologySpreadConstraints in the pods"),
    ("podAntiAffinity: {sameOwner: true}", READS_MORE, "affinity.podAntiAffinity in the pods"),
    ("expression: 'node.free.cpu > pod.requests.cpu'", READS_MORE, SECOND),
])  # fmt: skip
def test_filters_that_do_not_work(check, rule, text, instead):
    assert check(f"  filters: [{{name: f, {rule}, reason: r}}]\n") == {"f": (False, text, instead)}


def test_one_filter_of_a_policy_has_slots(check):
    found = check(f"  filters: [{SLOTS}, {{name: all, maxPods: 9}}]\n")
    assert found["all"] == (False, NOT_PUBLISHED, "publish: slots, in a policy of its own")


def test_scores_do_not_work(check):
    found = check("  scores: [{name: pack, binPack: {cpu: 1}}, {name: spread, spread: {cpu: 1}}]\n")
    assert found == {name: (False, "scores cannot be published, and nothing calls berth", instead) for name, instead in (
        ("pack", SECOND), ("spread", "nothing: kube-scheduler prefers nodes with free resources itself"))}  # fmt: skip


def test_other_parts_do_not_work(check):
    found = check("  match: {expression: 'pod.metadata.name == \"x\"'}\n  narrow: {to: 2}\n"
                  f"  bind: {{annotations: {{a/b: c}}}}\n  filters: [{SLOTS}]\n")
    assert found["(match)"][1] == "admission selects pods by labels and namespaces only"
    assert found["(narrow)"][1:] == ("nothing calls berth for nodes", "leave it out")
    assert found["(bind)"][1:] == ("kube-scheduler binds, not berth", "leave it out")
    assert found["seats"][0]


def test_mode_observe(check):
    found = check(f"  mode: Observe\n  filters: [{SLOTS}]\n")
    assert found["seats"] == (False, "policies in mode Observe publish nothing", "mode: Enforce")


def test_every_rule_has_an_answer(berth_path):
    done = subprocess.run([berth_path, "check", "--managed", "examples/every-rule.yaml"], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    lines = done.stdout.splitlines()
    rows = [line.split(maxsplit=2) for line in lines[lines.index(next(x for x in lines if x.startswith("RULE"))) + 1 :]]
    assert len([row for row in rows if row[1] == "no"]) == len([row for row in rows if row[0] == "instead:"]) > 20


@pytest.mark.parametrize("flags", [["--live"], ["--offline"], ["--nodes", "5"], ["--cost"], ["--print-cel"]])
def test_options_that_do_not_go_together(berth_path, flags):
    done = subprocess.run([berth_path, "check", "--managed", *flags, "examples/managed.yaml"], cwd=ROOT, capture_output=True,
                          text=True, check=False)
    assert done.returncode == USAGE and "--managed goes with" in done.stderr
