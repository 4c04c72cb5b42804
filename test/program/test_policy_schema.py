"""The JSON Schema of policies accepts every policy that berth accepts, and detects structural mistakes."""

import copy
import json
import random
import re
import subprocess

import pytest
import yaml

from client import REPOSITORY as ROOT
from json_schema import errors

pytestmark = pytest.mark.single_thread

SCHEMA = json.loads((ROOT / "docs/policy.schema.json").read_text())
HEAD = {"apiVersion": "berth.dev/v1alpha1", "kind": "PlacementPolicy"}


class Loader(yaml.SafeLoader):
    """YAML 1.2 as in berth: `no` and dates are strings."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":bool", ":timestamp"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|True|TRUE|false|False|FALSE)$"), list("tTfF"))


def documents(path):
    return [document for document in yaml.load_all(path.read_text(), Loader) if document is not None]


def wrong(document):
    return errors(SCHEMA, document)


GOOD = sorted([*(ROOT / "policies").glob("*.yaml"), ROOT / "examples/policy.yaml", ROOT / "examples/every-rule.yaml",
               *(ROOT / "test/data/policy/errors").glob("lint-*.yaml"), ROOT / "test/data/policy/errors/metrics.yaml"])


@pytest.mark.parametrize("path", GOOD, ids=lambda p: p.name)
def test_valid_policies_match_the_schema(path):
    assert documents(path)
    for document in documents(path):
        assert wrong(document) == []


def policies_of_tests():
    """The policies in the test files of test/data/policy, which are all valid YAML."""
    for path in sorted((ROOT / "test/data/policy").glob("*.test.yaml")):
        file = documents(path)[0]
        for part in [file, *file["cases"]]:
            policies = part.get("policies", [])
            for policy in policies if isinstance(policies, list) else [policies]:
                yield path.name, policy


def test_policies_of_the_tests_match_the_schema():
    found = list(policies_of_tests())
    assert len(found) > 200
    for name, policy in found:
        assert wrong(policy) == [], name


# Mistakes that only berth detects: duplicate names, invalid keys and expressions.
BEYOND = {"duplicate-policies", "duplicate-rules", "duplicate-keys", "dyn", "syntax", "empty", "guarded", "label-keys", "namespaces", "no-rules", "pod-annotations",
          "reasons", "resources", "resources-in-expressions"}


@pytest.mark.parametrize("path", [p for p in sorted((ROOT / "test/data/policy/errors").glob("*.yaml"))
                                  if p.stem not in BEYOND and p not in GOOD], ids=lambda p: p.name)
def test_mistakes_of_shape_are_found(path):
    assert any(wrong(document) for document in documents(path))


@pytest.mark.parametrize("spec, where", [
    ({"filtres": []}, "$.spec.filtres: unknown"),
    ({"mode": "enforce"}, "$.spec.mode: not one of"),
    ({"filters": [{"name": "a"}]}, "$.spec.filters[0]: fits 0 of oneOf"),
    ({"filters": [{"name": "a", "nodeReady": True, "tolerations": True}]}, "$.spec.filters[0]: fits 2 of oneOf"),
    ({"filters": [{"nodeReady": True}]}, "$.spec.filters[0]: needs name"),
    ({"filters": [{"name": "a", "headroom": {"cpu": "much"}}]}, "$.spec.filters[0].headroom.cpu: does not match"),
    ({"filters": [{"name": "a", "headroom": {}}]}, "$.spec.filters[0].headroom: minProperties"),
    ({"filters": [{"name": "a", "maxFreshPods": {"limit": 1, "youngerThan": "2 minutes"}}]}, "youngerThan: does not match"),
    ({"scores": [{"name": "a", "expression": "1.0", "normalize": "max"}]}, "$.spec.scores[0].normalize: not one of"),
    ({"scores": [{"name": "a", "expression": [1]}]}, "$.spec.scores[0].expression: not"),
    ({"narrow": {"to": 0}}, "$.spec.narrow.to: minimum"),
    ({"match": {"podSelector": {"matchlabels": {}}}}, "$.spec.match.podSelector.matchlabels: unknown"),
])
def test_reports_errors_with_their_place(spec, where):
    found = wrong({**HEAD, "metadata": {"name": "p"}, "spec": spec})
    assert len(found) == 1 and where in found[0]


@pytest.mark.parametrize("value, fits", [("500m", True), ("1.5Gi", True), (2, True), ("10%", True), ("12.5%", True), ("1e3", True),
                                         ("1gb", False), ("%", False), ("", False), (True, False)])
def test_amounts(value, fits):
    spec = {"filters": [{"name": "a", "headroom": {"cpu": value}}]}
    assert (wrong({**HEAD, "metadata": {"name": "p"}, "spec": spec}) == []) == fits


@pytest.mark.parametrize("value, fits", [("90s", True), ("2h30m", True), ("30d", True), ("1d12h", True), ("1.5s", True), ("0", True),
                                         ("5", False), ("-1s", False), ("1w", False), (90, False)])
def test_durations(value, fits):
    spec = {"filters": [{"name": "a", "nodeAge": {"min": value}}]}
    assert (wrong({**HEAD, "metadata": {"name": "p"}, "spec": spec}) == []) == fits


# --- the parser against the schema ---

ODD = [None, True, False, 0, 1, -1, 2.5, 101, 2000000, "", "x", "allow", "5s", "+5s", "-5s", "1d0", "1d", "10%", " 10%", "%", ".", "m",
       "-1", "1e3", "\u03bcs", "1.5\u03bcs", [], ["x"], [1, True], [None], {}, {"a": "x"}, {"a": 1}, {"a": 0}, {"exists": True},
       {"x": ["y"]}, {"in": []}]

# Mistakes that a schema cannot detect: valid words, keys and expressions, and dependencies between fields.
ONLY_THE_READER = re.compile(
    r"is not (an?|the) (name|label key|annotation key|condition's status|metric's name)|reason must be|of one type|needs one of|there is no resource|named .* already|needs a "
    r"(name|value)|must be a mapping|overload|undeclared|undefined|expression|is not a number|follow|before a value|no duration|type '|twice"
    r"|result must be|In and NotIn|Exists and|greater than|amount of|cannot read|field selection|outside of quotes|less than"
    r"|needs min or max|needs requests|not a metric of pods|not of pods")


def places(value, at=()):
    if at:
        yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*at, key))


def changed(document, at, value):
    """The document with another value at the path; ...: without it."""
    document = copy.deepcopy(document)
    inner = document
    for key in at[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value
    return document


def test_reader_and_schema_agree(berth_path, tmp_path):
    dice = random.Random(5)
    bases = [document for path in GOOD for document in documents(path)]
    bases += [policy for _, policy in policies_of_tests()]
    path = tmp_path / "p.yaml"
    n_good = n_bad = 0
    for _ in range(400):
        base = dice.choice(bases)
        document = changed(base, dice.choice(list(places(base))), dice.choice([*ODD, ..., ..., ...]))
        path.write_text(json.dumps(document))
        result = subprocess.run([berth_path, "check", path], capture_output=True, text=True)
        messages = [line for line in (result.stdout + result.stderr).splitlines() if "error: " in line]
        found = wrong(document)
        if result.returncode == 0:
            n_good += 1
            assert found == [], document
        elif not found:
            assert messages and ONLY_THE_READER.search(messages[0]), (document, messages)
        else:
            n_bad += 1
    assert n_good > 30 and n_bad > 30
