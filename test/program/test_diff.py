"""berth diff compares the policies in force with files, and shows the effect on recorded decisions."""

import json
import subprocess

import pytest

from client import FAILED, FINE, PATIENCE, UNREACHABLE, USAGE
from test_bundle import POLICY, files  # noqa: F401
from test_what_if import berth  # noqa: F401

SECOND = POLICY.replace("name: zones", "name: second")
OTHER = POLICY.replace("params: {maxPods: 3}", "params: {maxPods: 0}").replace("reason: wrong zone", "reason: other zone")


def run(berth_path, *arguments):
    return subprocess.run([berth_path, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE)


@pytest.fixture
def diff(berth_path, berth, tmp_path):
    """Compares with a file that has this text."""

    def compare(text, *arguments):
        (tmp_path / "new.yaml").write_text(text)
        return run(berth_path, "diff", tmp_path / "new.yaml", "--server", berth.url, *arguments)

    return compare


def test_same_policies_in_another_style(diff):
    styled = "# a comment\n" + POLICY.replace("{maxPods: 3}", "\n    maxPods: 3   # enough")
    result = diff(styled)
    assert result.returncode == FINE, result.stderr
    assert result.stdout == "policies: 0 changed, 0 added, 0 removed, 1 equal\n"
    assert json.loads(diff(styled, "-o", "json").stdout) == {"policies": [], "equal": 1}


def test_changed_rules_and_their_effect(diff):
    result = diff(OTHER)
    assert result.returncode == FAILED, result.stderr
    head, _, rest = result.stdout.partition("\n\n")
    assert head == "policies: 1 changed, 0 added, 0 removed, 0 equal\n  changed  zones: changed filters/zone, changed params"
    for line in ("--- zones, in force", "+++ zones, new", "-  reason: wrong zone", "+  reason: other zone", "-  maxPods: 3"):
        assert line in rest.splitlines(), rest
    assert "zones/full" in rest and "5 pods newly rejected" in rest
    page = json.loads(diff(OTHER, "-o", "json").stdout)
    (policy,) = page["policies"]
    assert policy == {
        "policy": "zones", "change": "changed",
        "parts": [{"path": "filters/zone", "change": "changed"}, {"path": "params", "change": "changed"}],
    }  # fmt: skip
    assert page["replay"]["changes"]["newly-rejected"] == 5


def test_added_and_removed(diff):
    result = diff(SECOND)
    assert result.returncode == FAILED
    assert "  added    second\n  removed  zones\n" in result.stdout
    assert "+++ second, new" not in result.stdout
    assert "+++ second, new" in diff(SECOND, "--all").stdout


def test_others_are_kept(diff):
    result = diff(SECOND, "--keep-others")
    assert result.returncode == FAILED
    assert result.stdout.startswith("policies: 0 changed, 1 added, 0 removed, 1 equal\n  added    second\n")
    assert "and the other policies in force" in result.stdout
    assert diff(POLICY, "--keep-others").returncode == FINE


def test_last_limits_the_replayed_decisions(diff):
    assert json.loads(diff(OTHER, "-o", "json", "--last", 3).stdout)["replay"]["decisions"] == 3


def test_directory_against_a_bundle(berth_path, berth, tmp_path):
    (tmp_path / "policies").mkdir()
    for name, text in (("a.yaml", OTHER), ("b.yaml", SECOND)):
        (tmp_path / "policies" / name).write_text(text)
    bundle = tmp_path / "b.tar.gz"
    assert run(berth_path, "bundle", "--server", berth.url, "-o", bundle).returncode == FINE
    result = run(berth_path, "diff", tmp_path / "policies", "--bundle", bundle)
    assert result.returncode == FAILED
    assert result.stdout.startswith("policies: 1 changed, 1 added, 0 removed, 0 equal\n")


def test_policy_with_mistakes(diff):
    result = diff(POLICY.replace("nodeLabels:", "nodeLabel:"))
    assert result.returncode == USAGE
    assert 'error: unknown field "nodeLabel"' in result.stderr and result.stdout == ""



def test_wrong_usage(berth_path, tmp_path):
    assert run(berth_path, "diff").returncode == USAGE
    result = run(berth_path, "diff", tmp_path, "--bundle", "b", "--server", "http://127.0.0.1:9")
    assert result.returncode == USAGE and "--bundle is a file" in result.stderr


def test_nothing_to_compare_with(berth_path, berth, tmp_path):
    (tmp_path / "new.yaml").write_text(POLICY)
    assert run(berth_path, "diff", tmp_path / "new.yaml", "--server", "http://127.0.0.1:9").returncode == UNREACHABLE
    assert run(berth_path, "diff", tmp_path / "none.yaml", "--server", berth.url).returncode == UNREACHABLE
    assert run(berth_path, "diff", tmp_path / "new.yaml", "--bundle", tmp_path / "none").returncode == UNREACHABLE
