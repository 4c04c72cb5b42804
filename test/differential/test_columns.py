"""Compares rules over all nodes at once with cel-go node by node: random expressions over every field.

`berth explain` evaluates each rule for all nodes of a random cluster together, as a request does. cel-go
evaluates it once per node, with field values that random_cluster.py computes from the same objects.
"""

import json
import math
import os
import re
import subprocess

import compare
import fields
import pytest
import random_cluster
from peer import answers, cel_go  # noqa: F401

pytestmark = pytest.mark.single_thread

ROUNDS = max(int(os.environ.get("COUNT") or 4000) // 1000, 1)
SEED = int(os.environ.get("SEED") or 1)
RULES = 250  # a round
ON_ERROR = 37.5  # of scores
SHOWN = 20  # differences in a report


class Rule:
    def __init__(self, name, text, type_):
        self.name, self.text, self.type = name, text, type_


def policy_text(rules):
    """Two policies, one rule per line: filters that reject nothing, so that every node has scores."""
    def lines(is_filter):
        more = {} if is_filter else {"onError": ON_ERROR}
        return [f"    - {json.dumps({'name': r.name, 'expression': r.text, **more}, ensure_ascii=False)}"
                for r in rules if (r.type == "bool") == is_filter]

    documents = [("filters", ["  mode: Observe"], lines(True)), ("scores", [], lines(False))]
    return "---\n".join("\n".join([
        "apiVersion: berth.dev/v1alpha1", "kind: PlacementPolicy", f"metadata: {{name: {kind}}}", "spec:", *more,
        f"  {kind}:", *made, ""]) for kind, more, made in documents if made)


class Columns:
    """One cluster, in both implementations."""

    def __init__(self, berth, cel_go, seed, folder):  # noqa: F811
        self.berth, self.cel_go, self.folder = berth, cel_go, folder
        self.view = random_cluster.View(seed)
        self.fields = fields.Fields(self.view.variables, self.view.types)
        self.names = [node["metadata"]["name"] for node in self.view.nodes]
        self.given = ["--cluster", str(folder / "cluster.json"), "--pod", str(folder / "pod.json"),
                      "--now", random_cluster.time_text(random_cluster.NOW)]
        (folder / "cluster.json").write_text(json.dumps(self.view.cluster.objects()))
        (folder / "pod.json").write_text(json.dumps(self.view.cluster.placed))

    def run(self, *words):
        done = subprocess.run([self.berth, *words, "-o", "json"], capture_output=True, text=True, timeout=300)
        assert done.stdout, done.stderr[-2000:]
        return json.loads(done.stdout)

    def refused(self, rules):
        """{rule: message} of those that do not compile."""
        path = self.folder / "policy.yaml"
        text = policy_text(rules)
        path.write_text(text)
        lines = text.split("\n")
        found = {}
        for message in self.run("check", str(path))["messages"]:
            if message["level"] == "error":
                found[re.search(r'"name": "([^"]+)"', lines[message["line"] - 1])[1]] = message["text"]
        return found

    def ours(self, rules):
        """{rule: [answer of each node]}, and the rules that do not compile."""
        refused = {}
        while rules and (found := self.refused(rules)):  # reports are truncated
            refused |= found
            rules = [r for r in rules if r.name not in refused]
        if not rules:
            return {}, refused
        done = self.run("explain", *self.given, "--policy", str(self.folder / "policy.yaml"), "--all")
        by_node = {node["node"]: node for node in done["nodes"]}
        assert len(by_node) == len(self.names)
        found = {}
        for rule in rules:
            found[rule.name] = rows = []
            for name in self.names:
                node = by_node[name]
                of = next((x for x in node["failed" if rule.type == "bool" else "parts"] if x["rule"] == rule.name), None)
                rows.append(filter_answer(of) if rule.type == "bool" else score_answer(of))
        return found, refused

    def theirs(self, rules):
        records = [{"id": "world", "world": self.view.input()}]
        records += [{"id": r.name, "expr": random_cluster.rename(r.text), "rows": True} for r in rules]
        found = answers([self.cel_go], records)
        assert "error" not in found["world"], found["world"]
        n = len(self.names)
        return {r.name: found[r.name].get("rows") or [{"error": found[r.name]["error"]}] * n for r in rules}

    def differences(self, rules):
        """(rule, node's number, ours, theirs): the first difference of each rule."""
        ours, refused = self.ours(rules)
        theirs = self.theirs(rules)
        for rule in rules:
            if rule.name in refused:
                rows = [({"error": "refused: " + refused[rule.name]}, a) for a in theirs[rule.name]]
                same = [("error" in a) or "cost" in refused[rule.name] for a in theirs[rule.name]]
            else:
                rows = list(zip(ours[rule.name], theirs[rule.name]))
                same = [is_same(rule, a, b) for a, b in rows]
            if not all(same):
                i = same.index(False)
                yield rule, i, *rows[i]

    def name_error(self, rule, i, ours, theirs):
        """The same with the error's text, which explain prints only for a single node."""
        if ours == {"error": ""}:
            done = subprocess.run([self.berth, "eval", *self.given, "--node", self.names[i], rule.text],
                                  capture_output=True, text=True, timeout=60)
            found = re.search(r"error: (.*)", done.stderr)
            ours = {"error": found[1] if found else f"alone it is {done.stdout.strip()}"}
        return rule, i, ours, theirs

    def show(self, rule, i, ours, theirs):
        paths = sorted(set(re.findall(r"\b(?:node|pod|cluster)(?:\.\w+(?!\w*\()|\[\??'[^']*'\])+", rule.text)))
        found = self.theirs([Rule(path, path, "dyn") for path in paths])
        given = ", ".join(f"{path} = {compare.show(found[path][i])[:200]}" for path in paths)
        return (f"{rule.name}: {rule.text}\n    node {self.names[i]}: {given}\n"
                f"    berth  {compare.show(as_answer(ours))}\n    cel-go {compare.show(theirs)}")


def filter_answer(failed):
    return True if failed is None else {"error": failed["error"]} if failed.get("error") else False


def score_answer(part):
    """A score; NaN and errors are equal."""
    if part["raw"] is not None:
        return part["raw"]
    if part["value"] == ON_ERROR:
        return {"error": ""}
    return math.inf if part["value"] == 100 else -math.inf


def as_answer(ours):
    return ours if isinstance(ours, dict) else {"value": ours}


def is_same(rule, ours, theirs):
    if "error" in theirs:
        return isinstance(ours, dict)
    if rule.type == "bool":
        return theirs["value"] == {"type": "bool", "value": ours}
    number = float(theirs["value"]["value"])
    return isinstance(ours, dict) if math.isnan(number) else ours == number


def smallest(columns, name, difference):
    """The smallest part of the rule that still differs."""
    parts = fields.FieldExpression(name, columns.fields).parts
    rules = [Rule(f"{name}-part{i}", text, type_) for i, (text, type_) in enumerate(parts) if type_ in ("bool", "int", "double")]
    return min([*columns.differences(rules), difference], key=lambda d: len(d[0].text))


@pytest.mark.parametrize("number", range(ROUNDS))
def test_columns_match_cel_go(berth_path, cel_go, tmp_path, number):  # noqa: F811
    columns = Columns(berth_path, cel_go, f"{SEED}-{number}", tmp_path)
    made = [fields.FieldExpression(f"{SEED}-{number}-{i}", columns.fields) for i in range(RULES)]
    rules = [Rule(one.name, one.text, one.type) for one in made]
    explained = compare.Explained()
    found = [columns.name_error(*smallest(columns, d[0].name, d)) for d in columns.differences(rules)]
    found = [d for d in found if not explained.find({"expr": d[0].text, "bindings": {}}, as_answer(d[2]), d[3])]
    assert not found, f"{len(found)} differences\n" + "\n".join(columns.show(*d) for d in found[:SHOWN])
