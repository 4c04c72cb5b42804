"""`berth test`: files of cases against policies; its output, exit status and updates. Presets have tests in this format."""

import json
import os
import re
import subprocess
import xml.etree.ElementTree as xml

import pytest
import yaml

from client import FAILED, FINE, PATIENCE, REPOSITORY, UNREACHABLE, USAGE

pytestmark = pytest.mark.single_thread

POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: pools}
spec:
  filters:
    - {name: pool, reason: node is not in the pool, nodeLabels: {pool: x}}
  scores:
    - {name: free, expression: "node.allocatable['cpu']"}
"""

GOOD = """\
policies: policy.yaml
nodes:
  a: {labels: {pool: x}, allocatable: {cpu: 10}}
  b: {labels: {pool: x}, allocatable: {cpu: 20}}
  c: {labels: {pool: y}, allocatable: {cpu: 30}}
cases:
  - name: the pool
    expect: {nodes: {a: passes, c: {rule: pool}}, best: b}
"""

BAD = GOOD.replace("best: b", "best: a").replace("the pool", 'the <pool> & "more"')


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


@pytest.fixture
def run(berth_path, folder):
    """run(*arguments) -> the finished process, in the folder of the test."""

    def run(*arguments):
        return subprocess.run([berth_path, "test", *map(str, arguments)], capture_output=True, text=True,
                              timeout=PATIENCE, cwd=folder, env={**os.environ, "NO_COLOR": "1"})

    return run


def test_all_files_below_the_current_folder_are_run(run, folder):
    (folder / "good.test.yaml").write_text(GOOD)
    (folder / "deep").mkdir()
    (folder / "deep/other.test.yml").write_text(GOOD.replace("policy.yaml", "../policy.yaml"))
    (folder / "other.yaml").write_text("no test")
    done = run()
    assert (done.returncode, done.stderr) == (FINE, "")
    assert done.stdout == (
        "ok    deep/other.test.yml: the pool\nok    good.test.yaml: the pool\n\n2 files, 2 cases: 2 passed, 0 failed\n"
    )


def test_pattern_names_files(run, folder):
    (folder / "one.yaml").write_text(GOOD)
    (folder / "two.yaml").write_text(GOOD)
    assert run("???.yaml").stdout.endswith("\n2 files, 2 cases: 2 passed, 0 failed\n")


def test_failure_is_shown_at_its_place(run, folder):
    (folder / "bad.test.yaml").write_text(BAD)
    done = run("bad.test.yaml")
    assert (done.returncode, done.stderr) == (FAILED, "")
    assert done.stdout == """\
FAIL  bad.test.yaml: the <pool> & "more"
bad.test.yaml:8:57: error: best: expected a, got b
  8 |     expect: {nodes: {a: passes, c: {rule: pool}}, best: a}
    |                                                         ^

1 file, 1 case: 0 passed, 1 failed
"""


def test_junit_is_xml_with_failures_and_errors(run, folder):
    (folder / "bad.test.yaml").write_text(BAD)
    (folder / "good.test.yaml").write_text(GOOD)
    (folder / "wrong.test.yaml").write_text(GOOD.replace("best: b", "bets: b"))
    done = run("-o", "junit")
    assert done.returncode == FAILED
    root = xml.fromstring(done.stdout)
    assert root.tag == "testsuites" and root.attrib == {"name": "berth test", "tests": "3", "failures": "1", "errors": "1"}
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["bad.test.yaml", "good.test.yaml", "wrong.test.yaml"]
    case = suites["bad.test.yaml"].find("testcase")
    assert (case.get("name"), case.get("file"), case.get("line")) == ('the <pool> & "more"', "bad.test.yaml", "7")
    assert case.find("failure").get("message") == "1 failed expectation"
    assert "bad.test.yaml:8:57: error: best: expected a, got b\n" in case.find("failure").text
    assert list(suites["good.test.yaml"].find("testcase")) == []
    assert 'unknown field "bets" in expect' in suites["wrong.test.yaml"].find("testcase/error").text


def test_update_accepts_the_answer_and_keeps_the_rest(run, folder):
    path = folder / "bad.test.yaml"
    text = "# first\r\n" + BAD.replace("best: a}", "best: a}   # why") + "\n\n# last"
    path.write_bytes(text.encode())
    path.chmod(0o640)
    done = run("--update")
    assert (done.returncode, done.stderr) == (FINE, "berth test: updated 1 value of bad.test.yaml\n")
    assert path.read_bytes() == text.replace("best: a", "best: b").encode()
    assert path.stat().st_mode & 0o777 == 0o640
    before = path.stat().st_mtime_ns
    assert run("--update").stderr == "" and path.stat().st_mtime_ns == before


def test_update_leaves_what_it_cannot_replace(run, folder):
    text = BAD.replace("best: a", "best: [a,\n      c]")
    (folder / "bad.test.yaml").write_text(text)
    assert run("--update").returncode == FAILED
    assert (folder / "bad.test.yaml").read_text() == text


def test_mistake_of_an_inline_policy_is_shown_at_its_place(run, folder):
    policy = json.dumps({**yaml.safe_load(POLICY), "spec": {"filters": [{"name": "pool", "nodeLabel": {"pool": "x"}}]}})
    (folder / "wrong.test.yaml").write_text(GOOD.replace("policy.yaml", policy))
    done = run()
    assert (done.returncode, done.stderr) == (FAILED, "")
    column = 11 + policy.index('"nodeLabel"')
    assert f'wrong.test.yaml:1:{column}: error: unknown field "nodeLabel"' in done.stdout
    assert '= did you mean "nodeLabels"?\n' in done.stdout


def test_rules_that_are_not_exercised_are_listed(run, folder):
    (folder / "short.test.yaml").write_text(GOOD.replace("  c: {labels: {pool: y}, allocatable: {cpu: 30}}\n", "")
                                            .replace(", c: {rule: pool}", ""))
    done = run()
    assert done.returncode == FINE
    assert done.stdout.endswith("\n1 of 2 rules is not exercised:\n  filter pools/pool: never rejects a node\n")
    assert run("--require-coverage").returncode == FAILED
    (folder / "rest.test.yaml").write_text(GOOD)
    assert run("--require-coverage").returncode == FINE


def test_mistake_in_one_file_does_not_stop_the_others(run, folder):
    (folder / "a.test.yaml").write_text(GOOD.replace("c: {rule: pool}", "d: rejected"))
    (folder / "b.test.yaml").write_text(GOOD.replace("policy.yaml", "absent.yaml"))
    (folder / "c.test.yaml").write_text(GOOD)
    done = run()
    assert done.returncode == FAILED
    assert 'a.test.yaml:8:33: error: the cluster has no node "d"\n' in done.stdout
    assert "absent.yaml: No such file or directory" in done.stdout
    assert "ok    c.test.yaml: the pool\n\n3 files, 1 case: 1 passed, 0 failed; 2 files with errors\n" in done.stdout


@pytest.mark.parametrize("arguments, status, error", [
    (["absent.test.yaml"], UNREACHABLE, "berth test: absent.test.yaml: No such file or directory\n"),
    (["."], UNREACHABLE, "berth test: .: contains no file NAME.test.yaml\n"),
    (["-o", "xml"], USAGE, "expected table or junit"),
    (["--updates"], USAGE, "did you mean --update?"),
])
def test_wrong_usage(run, arguments, status, error):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert error in done.stderr


def test_unreadable_file_is_reported_with_the_rest(run, folder):
    (folder / "good.test.yaml").write_text(GOOD)
    (folder / "gone.test.yaml").symlink_to("nowhere")
    done = run()
    assert done.returncode == UNREACHABLE
    assert "ERROR gone.test.yaml\n" in done.stdout and "1 passed" in done.stdout


def test_presets_pass_their_tests_and_every_rule_is_exercised(berth_path):
    done = subprocess.run([berth_path, "test", "policies/tests"], capture_output=True, text=True,
                          timeout=PATIENCE, cwd=REPOSITORY)
    assert done.returncode == FINE, done.stdout
    presets = {path.name for path in (REPOSITORY / "policies").glob("*.yaml")}
    tests = {path.name for path in (REPOSITORY / "policies/tests").glob("*.test.yaml")}
    assert tests == {name.replace(".yaml", ".test.yaml") for name in presets}
    gaps = re.findall(r"^  (?:filter|score) (\S+): ", done.stdout, re.M)
    assert gaps == ["previous-node/wait"]  # by default it waits 0 seconds


def test_rules_pass_their_tests(berth_path):
    done = subprocess.run([berth_path, "test", "test/data/policy"], capture_output=True, text=True, timeout=PATIENCE, cwd=REPOSITORY)
    assert done.returncode == FINE, done.stdout
    assert done.stdout.count("\nok    test/data/policy/") > 200 and "not exercised" not in done.stdout


def test_pages_example_is_the_file():
    page = (REPOSITORY / "docs/testing-policies.md").read_text()
    shown = page.partition("```yaml\n")[2].partition("```")[0]
    assert shown in (REPOSITORY / "examples/policy.test.yaml").read_text()
