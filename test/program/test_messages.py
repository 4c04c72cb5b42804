"""Commands without enough memory end with a message that names the operation.

A limit of the address space makes memory scarce, so that every command fails at some point.
"""

import json
import os
import re
import resource
import subprocess

import pytest

from client import IS_SANITIZED, PATIENCE

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
EXAMPLES = os.path.join(ROOT, "examples")
MIB = 2**20
FINE, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 3

pytestmark = pytest.mark.single_thread

POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {{name: p}}
spec: {{filters: [{{name: odd, expression: "{}"}}]}}
"""


def example(name):
    return os.path.join(EXAMPLES, name)


@pytest.fixture
def files(tmp_path):
    """A cluster of 2,000 nodes, and a pod."""
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"node-{i}"},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
        }
        for i in range(2000)
    ]
    cluster, pod = tmp_path / "cluster.json", tmp_path / "pod.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
    pod.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "web", "namespace": "shop"},
                "spec": {"containers": [{"name": "c"}]},
            }
        )
    )
    return cluster, pod


def commands(cluster, pod):
    policy, bundle = example("every-rule.yaml"), example("bundle.tar.gz")
    return [
        ["check", policy],
        ["explain", "--cluster", cluster, "--pod", pod, "--policy", policy],
        ["explain", "--cluster", cluster, "--pod", pod, "--policy", policy, "-o", "json"],
        ["simulate", "--cluster", cluster, "--policy", policy, "--pods", pod],
        ["what-if", "--bundle", bundle, "--policy", policy],
        ["explain", "--bundle", bundle, "shop/nothing"],
        ["eval", "lists.range(20000).map(x, string(x)).size()"],
        ["config", "--policy", policy],
        ["install", "plan"],
        ["top", "--once", "--server", "http://127.0.0.1:9"],
        ["dump", "--cluster", cluster],
        ["serve", "--cluster", cluster, "--policy", policy, "--listen", "nowhere"],
    ]


def run_with(berth_path, words, limit):
    return subprocess.run(
        [berth_path, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )


@pytest.mark.skipif(IS_SANITIZED, reason="a sanitizer maps terabytes")
def test_commands_without_memory_say_for_what(berth_path, files):
    n_refused = 0
    for words in commands(*files):
        for limit in range(22, 40, 1):
            result = run_with(berth_path, words, limit * MIB)
            text = result.stderr + (result.stdout if words[0] == "check" else "")
            if result.returncode == 127:  # by the dynamic loader
                continue
            assert result.returncode in (FINE, FAILED, USAGE, UNREACHABLE), (words, limit, text)
            assert result.returncode == FINE or text.strip(), (words, limit)
            assert not re.search(r"^berth[\w -]*: out of memory$", text, re.M), (words, limit, text)
            n_refused += "memory" in text
    assert n_refused > 5


@pytest.mark.parametrize("rule", ["dyn(node.ready)", "[][0]", "[dyn(true)][0]"])
def test_dyn_rules_are_evaluated(berth_path, files, tmp_path, rule):
    """Earlier versions reported them as "out of memory"."""
    cluster, pod = files
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.format(rule))
    result = subprocess.run([berth_path, "check", policy], capture_output=True, text=True)
    assert result.returncode == FINE and "ok: 1 policy" in result.stdout, result.stderr
    assert re.search(r"policy\.yaml:4:\d+: warning: the type of expression is dyn", result.stdout)
    words = [berth_path, "explain", "--cluster", cluster, "--pod", pod, "--policy", policy]
    result = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert result.returncode == FINE, result.stderr
    assert "of 2,000 nodes pass" in result.stdout


def test_rule_of_another_type_fails_by_its_name(berth_path, files, tmp_path):
    cluster, pod = files
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.format("dyn(pod.metadata.name)"))
    words = [berth_path, "explain", "--cluster", cluster, "--pod", pod, "--policy", policy]
    result = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert result.returncode == FINE, result.stderr
    assert "0 of 2,000 nodes pass" in result.stdout
    assert "p/odd" in result.stdout
    assert "the result must be bool, it is string" in result.stdout


def test_policies_that_need_too_much_memory_name_the_limit_and_a_rule(berth_path, tmp_path):
    policy = tmp_path / "policy.yaml"
    lines = ["apiVersion: berth.dev/v1alpha1", "kind: PlacementPolicy", "metadata: {name: p}"]
    longest = "||".join(f"pod.owner=='v{k}'" for k in range(400))
    lines += ["spec:", "  variables:", f'    - {{name: v, expression: "{longest}"}}', "  filters:"]
    for i in range(1000):
        rule = "||".join(f"pod.owner=='{i}x{k}'" for k in range(180))
        lines.append(f'    - {{name: r{i}, expression: "{rule}"}}')
    policy.write_text("\n".join(lines) + "\n")
    result = subprocess.run([berth_path, "check", policy], capture_output=True, text=True)
    assert result.returncode == FAILED
    assert re.search(
        r"policy\.yaml:6:\d+: error: the policies are too large: they need more than 256 MiB",
        result.stdout,
    )
    assert "out of memory" not in result.stdout + result.stderr
