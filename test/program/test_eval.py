"""berth eval, with single expressions and with --batch."""

import json
import subprocess

import pytest

from client import FAILED, FINE, UNREACHABLE, USAGE

pytestmark = pytest.mark.single_thread


NODE = """\
metadata:
  name: node-a
  labels: {zone: a, "example.com/pool": workspace}
status:
  allocatable: {cpu: "8", memory: 32Gi}
"""


@pytest.fixture
def berth_eval(berth_path):
    def call(*args, stdin=""):
        return subprocess.run([berth_path, "eval", *args], input=stdin, capture_output=True, text=True, check=False)

    return call


@pytest.mark.parametrize("expression, value", [
    ("1 + 2", "3"),
    ("'a' + \"b\"", '"ab"'),
    ("1.0", "1.0"),
    ("7u", "7u"),
    ("b'a\\xff'", 'b"a\\xff"'),
    ("[1, 2].map(x, x * 2)", "[2, 4]"),
    ("{'a': [true, false]}", '{"a": [true, false]}'),
    ("duration('90m')", 'duration("5400s")'),
    ("timestamp('2026-01-02T03:04:05Z')", 'timestamp("2026-01-02T03:04:05Z")'),
    ("timestamp('2026-07-01T00:00:00Z').getHours('Europe/Berlin')", "2"),
    ("optional.of(1)", "optional.of(1)"),
    ("optional.none()", "optional.none()"),
    ("quantity('1024Mi')", 'quantity("1Gi")'),
    ("type(1)", "int"),
    ("null", "null"),
    ("'pod-17'.matches('^pod-[0-9]+$')", "true"),
])
def test_prints_the_value(berth_eval, expression, value):
    result = berth_eval(expression)
    assert (result.returncode, result.stdout, result.stderr) == (FINE, value + "\n", "")


def test_check_error_points_at_the_place(berth_eval):
    result = berth_eval("1 + 'a'")
    assert result.returncode == FAILED and result.stdout == ""
    lines = result.stderr.splitlines()
    assert lines[0].startswith("expression:1:3: error: ")
    assert lines[1] == "  1 | 1 + 'a'"
    assert lines[2].startswith("    |   ^")


def test_every_mistake_is_reported(berth_eval):
    result = berth_eval("nod.x && labls == 1 && f(2)")
    assert result.returncode == FAILED
    assert result.stderr.count(": error: ") == 3


def test_run_error_points_at_the_place_and_hints(berth_eval):
    result = berth_eval("--var", 'labels={"a":"b"}', "labels['zone'] == 'a'")
    assert result.returncode == FAILED and result.stdout == ""
    assert result.stderr.startswith("expression:1:7: error: no such key: ")
    assert "[?" in result.stderr and "orValue" in result.stderr


def test_variables_and_data(berth_eval, tmp_path):
    (tmp_path / "node.yaml").write_text(NODE)
    (tmp_path / "node.json").write_text(json.dumps({"metadata": {"labels": {"zone": "a"}}, "n": 3, "d": 3.0}))
    assert berth_eval("--data", str(tmp_path / "node.yaml"), "metadata.labels.zone").stdout == '"a"\n'
    assert berth_eval("--data", str(tmp_path / "node.json"), "type(n) == int && type(d) == double").stdout == "true\n"
    assert berth_eval("--data", "-", "a.b", stdin='{"a": {"b": [null]}}').stdout == "[null]\n"
    assert berth_eval("--var", "x=1", "--var", "y=[2]", "y + [x]").stdout == "[2, 1]\n"


def test_wrong_variables_and_data(berth_eval, tmp_path):
    result = berth_eval("--var", "x=abc", "x")
    assert result.returncode == USAGE and 'x="…"' in result.stderr
    assert berth_eval("--var", "x", "x").returncode == USAGE
    assert berth_eval("--data", "/nowhere", "x").returncode == UNREACHABLE
    (tmp_path / "list.json").write_text("[1]")
    result = berth_eval("--data", str(tmp_path / "list.json"), "x")
    assert result.returncode == FAILED and "list.json: an object is wanted" in result.stderr
    (tmp_path / "twice.json").write_text('{"a": 1, "a": 2}')
    assert berth_eval("--data", str(tmp_path / "twice.json"), "a").returncode == FAILED
    result = berth_eval("--data", "-", "a", stdin="a: [1\n")
    assert result.returncode == FAILED and result.stderr.startswith("-:1:4: error: the closing ] is missing")
    result = berth_eval("--data", "-", "a", stdin="a: 1\n---\na: 2\n")
    assert result.returncode == FAILED and "one document is wanted" in result.stderr


def test_expression_in_a_file(berth_eval, tmp_path):
    (tmp_path / "rule.cel").write_text("// a comment\n1 +\n  'a'\n")
    result = berth_eval("--file", str(tmp_path / "rule.cel"))
    assert result.returncode == FAILED
    assert f"{tmp_path}/rule.cel:2:3: error: " in result.stderr


def test_kubernetes_dialect_is_stricter_than_plain(berth_eval):
    assert berth_eval("[1, 'a']").returncode == FAILED
    assert berth_eval("--plain", "[1, 'a']").stdout == '[1, "a"]\n'
    assert berth_eval("true || timestamp('soon') > timestamp('later')").returncode == FAILED
    assert berth_eval("--plain", "true || timestamp('soon') > timestamp('later')").stdout == "true\n"


def test_explain_shows_parts(berth_eval):
    result = berth_eval("--explain", "--var", "x=3", "x > 2 && x * 2 == 7")
    assert result.returncode == FINE, result.stderr
    for part in ("x > 2", "x * 2", "6", "true", "false"):
        assert part in result.stdout


def test_prints_the_cost(berth_eval):
    result = berth_eval("--cost", "[1, 2].all(x, x > 0)")
    assert result.returncode == FINE and result.stdout.startswith("cost: ") and result.stdout.endswith("\ntrue\n")


def test_json(berth_eval):
    result = berth_eval("-o", "json", "{'a': 1u}")
    assert json.loads(result.stdout) == {
        "type": "map", "value": [[{"type": "string", "value": "a"}, {"type": "uint", "value": "1"}]]}


def test_usage(berth_eval):
    assert berth_eval().returncode == USAGE
    assert berth_eval("1", "2").returncode == USAGE
    assert berth_eval("-o", "xml", "1").returncode == USAGE


def test_batch_answers_every_line(berth_eval):
    lines = [
        {"id": "a", "expr": "x + 1", "type_env": [{"name": "x", "kind": "var", "type": "int"}],
         "bindings": {"x": {"type": "int", "value": "41"}}},
        {"id": "b", "expr": "1 +"},
        {"id": "c", "expr": "[1, 'a']", "check_only": True},
        {"id": "d", "expr": "1 / 0"},
        {"id": "e", "expr": "y", "container": "x", "bindings": {"x.y": {"type": "double", "value": "-0.0"}}},
    ]
    result = berth_eval("--batch", stdin="".join(json.dumps(line) + "\n" for line in lines))
    assert result.returncode == FINE and result.stderr == ""
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [a["id"] for a in answers] == ["a", "b", "c", "d", "e"]
    assert answers[0] == {"id": "a", "value": {"type": "int", "value": "42"}, "deduced_type": "int"}
    assert "error" in answers[1] and "error" in answers[3]
    assert answers[2] == {"id": "c", "deduced_type": "list(dyn)"}
    assert answers[4]["value"] == {"type": "double", "value": "-0.0"}


def test_batch_continues_after_an_invalid_record(berth_eval):
    result = berth_eval("--batch", stdin='nonsense\n{"id": "a", "expr": "1", "bindings": {"x": {"type": "int"}}}\n'
                                         '{"id": "b", "expr": "2"}\n')
    assert result.returncode == FAILED
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert ["error" in a for a in answers] == [True, True, False]


def test_an_expression_cannot_run_away(berth_eval):
    """The limits of fuel and memory end it with an error that || does not absorb."""
    loops = "[1,2,3,4,5,6,7,8,9,10]"
    nested = f"{loops}.all(a, {loops}.all(b, {loops}.all(c, {loops}.all(d, {loops}.all(e, {loops}.all(f, {loops}.all(g, a + b + c + d + e + f + g > 0)))))))"
    for expression in (nested, f"{nested} || yes"):
        result = berth_eval("--var", "yes=true", expression)
        assert result.returncode == FAILED and "fuel" in result.stderr
    doubling = "'0123456789abcdef'"
    for i in range(30):
        doubling = f"cel.bind(s{i}, {doubling}, s{i} + s{i})"
    result = berth_eval(doubling)
    assert result.returncode == FAILED and result.stderr.count("error") >= 1


# A small value whose text has 2^40 bytes: each list contains the previous one twice.
SHARED = "".join(f"cel.bind(v{i}, [v{i - 1}, v{i - 1}], " for i in range(1, 40)) + "v39" + ")" * 39


@pytest.mark.parametrize("output", ["text", "json"])
def test_value_too_large_to_print(berth_eval, output):
    result = berth_eval("-o", output, f"cel.bind(v0, [1], {SHARED})")
    assert (result.returncode, result.stdout) == (FAILED, "") and "too large" in result.stderr


def test_memory_is_bounded(berth_eval, tmp_path):
    (tmp_path / "text.json").write_text(json.dumps({"s": "x" * 6_000_000}))
    result = berth_eval("--data", str(tmp_path / "text.json"), "[s, s, s].map(x, x.upperAscii()).size()")
    assert result.returncode == FAILED and "out of " in result.stderr


def test_usage_names_the_option_once(berth_eval):
    assert berth_eval("--var", "x", "x").stderr.startswith("berth eval: --var x: expected NAME=JSON")


@pytest.mark.parametrize("binding", [
    {"type": "timestamp", "seconds": "9223372036854775807", "nanos": 0},
    {"type": "timestamp", "seconds": "0", "nanos": -1},
    {"type": "timestamp", "seconds": "0", "nanos": 1_000_000_000},
    {"type": "duration", "seconds": "9223372036854775807", "nanos": 0},
    {"type": "double", "value": "abc"},
    {"type": "uint", "value": ""},
    {"type": "string"},
    {"type": "string", "value": True},
    {"type": "bytes"},
    {"type": "bool", "value": "true"},
    {"type": "bool"},
    {"type": "list", "value": True},
    {"type": "map", "value": "a"},
    {"type": "message", "value": "a"},
    {},
])
def test_batch_rejects_invalid_values(berth_eval, binding):
    result = berth_eval("--batch", stdin=json.dumps({"id": "a", "expr": "x", "bindings": {"x": binding}}) + "\n")
    assert result.returncode == FAILED
    assert "line 1 is no record" in json.loads(result.stdout)["error"]


def test_batch_continues_after_a_long_line(berth_eval):
    lines = [json.dumps({"id": "long", "expr": "1" * (17 << 20)}), '{"id": "next", "expr": "1"}']
    result = berth_eval("--batch", stdin="\n".join(lines) + "\n")
    assert result.returncode == FAILED
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert "longer than 16 MiB" in first["error"]
    assert second["value"] == {"type": "int", "value": "1"}


def test_batch_answers_with_an_error_instead_of_half_a_value(berth_eval):
    result = berth_eval("--batch", stdin=json.dumps({"id": "a", "expr": f"cel.bind(v0, [1], {SHARED})"}) + "\n")
    assert "too large" in json.loads(result.stdout)["error"]


def test_batch_of_a_folder(berth_eval, tmp_path):
    assert berth_eval("--batch", str(tmp_path)).returncode == UNREACHABLE


def test_cost_limit(berth_eval):
    expression = "x.all(a, x.all(b, a != b))"
    result = berth_eval("--var", "x=[1,2]", "--max-cost", "1000", expression)
    assert result.returncode == FAILED and result.stdout == ""
    assert "cost" in result.stderr and "1000" in result.stderr.replace(",", "")
    assert berth_eval("--var", "x=[1,2]", "--max-cost", "5000", "x.size() == 2").stdout == "true\n"
    assert berth_eval("--max-cost", "none", "1").returncode == USAGE


def test_an_expression_that_begins_with_a_dash(berth_eval):
    assert berth_eval("--", "-1 + 2").stdout == "1\n"


@pytest.mark.parametrize("name", ["a-b", "true", "in", "1a", "a.", "a..b", ""])
def test_names_no_expression_can_write(berth_eval, name):
    assert berth_eval("--var", f"{name}=1", "1").returncode == USAGE


def test_explain_is_for_people(berth_eval):
    assert berth_eval("--explain", "-o", "json", "1").returncode == USAGE


CLUSTER = "examples/cluster.yaml"


@pytest.mark.parametrize("args, expression, value", [
    (["--cluster", CLUSTER, "--node", "node-a"], "node.metadata.name", '"node-a"'),
    (["--cluster", CLUSTER, "--pod", "workspaces/ws-7"], "pod.requests.cpu", "4.0"),
    (["--cluster", CLUSTER, "--node", "node-a", "--pod", "examples/pod.yaml"],
     "node.free.memory > quantity('2Gi').asApproximateFloat() && pod.metadata.name != ''", "true"),
    (["--cluster", CLUSTER], "cluster.nodes", "4"),
    (["--now", "2026-07-01T00:00:00Z"], "now.getHours('Europe/Berlin')", "2"),
    ([], "amount('memory', 1073741824.0)", '"1Gi"'),
    (["--var", 'node={"x": 1}'], "node.x", "1"),
])
def test_objects_of_policies(berth_eval, args, expression, value):
    result = berth_eval(*args, expression)
    assert (result.returncode, result.stdout, result.stderr) == (FINE, value + "\n", "")


@pytest.mark.parametrize("args, expression, hint", [
    ([], "node.ready", "--cluster FILE --node NAME gives one"),
    (["--cluster", CLUSTER], "node.ready", "--node NAME chooses one: node-a, node-b, node-c, …"),
    ([], "pod.spec.priority > 0", "--pod FILE gives it, or --cluster FILE --pod NAMESPACE/NAME"),
    ([], "cluster.nodes > 0", "--cluster FILE gives it: "),
])
def test_names_the_option_that_gives_an_object(berth_eval, args, expression, hint):
    result = berth_eval(*args, expression)
    assert result.returncode == FAILED and result.stdout == ""
    assert f"  = {hint}" in result.stderr


def test_names_a_node_or_pod_that_is_not_there(berth_eval):
    result = berth_eval("--cluster", CLUSTER, "--node", "node-aa", "node.ready")
    assert result.returncode == UNREACHABLE and 'did you mean "node-a"?' in result.stderr
    result = berth_eval("--cluster", CLUSTER, "--pod", "shop/none", "pod.owner")
    assert result.returncode == UNREACHABLE and 'has no pod "shop/none"' in result.stderr
    assert berth_eval("--node", "node-a", "node.ready").returncode == USAGE
