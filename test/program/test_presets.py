"""Each preset of policies/ is documented, tested and shown in a demo, and their page is correct."""

import os
import re
import shlex
import statistics
import subprocess

import pytest

from client import REPOSITORY as ROOT
from demo_bundle import read_choices

pytestmark = pytest.mark.single_thread

PAGE = "policies/README.md"
PRESETS = sorted(path.name for path in (ROOT / "policies").glob("*.yaml"))


def sections():
    """The text under each `## NAME.yaml`."""
    parts = re.split(r"^## (\S+)\n", (ROOT / PAGE).read_text(), flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2]))


def run(berth_path, command, env=None):
    words = shlex.split(command)
    assert words[0] == "build/berth"
    return subprocess.run([berth_path, *words[1:]], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, env={**os.environ, "NO_COLOR": "1", **(env or {})}, timeout=60, check=False)


@pytest.mark.parametrize("name", PRESETS)
def test_preset_is_complete(name):
    """It has a section with a demo command, a row in the list and a test file."""
    assert f"build/berth demo --policy policies/{name}" in sections()[name] or name == "demo.yaml"
    assert f"](#{name.replace('.', '')})" in (ROOT / PAGE).read_text()
    assert f"\npolicies: ../{name}\n" in (ROOT / "policies/tests" / name.replace(".yaml", ".test.yaml")).read_text()


def test_page_has_no_other_sections():
    assert sorted(sections()) == PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_demo_command_works(berth_path, name, tmp_path):
    command = re.search(r"```sh\n(build/berth demo.*)\n```", sections()[name])[1]
    done = run(berth_path, command + " --pods 40", env={"TMPDIR": str(tmp_path)})
    assert done.returncode == 0, done.stdout
    assert "warn" not in done.stdout
    placed = re.search(r"^40 pods: (\d+) placed", done.stdout, re.M)
    assert int(placed[1]) >= 30


@pytest.mark.parametrize("name,pods,reasons", [
    ("workspaces.yaml", r"workspaces/\S+", ["node is not in the pool for this kind of workspace",
                                            "workspace daemon or registry facade is not ready",
                                            "node is short of disk space"]),
    ("density.yaml", r"\S+", ["node is being removed"]),
    ("spread.yaml", r"shop/(?:web|api)-\S+", ["node has enough replicas of this service", "node has no room for bursts"]),
    ("dedicated-pools.yaml", r"\S+", ["node is dedicated to others", "node has no free GPU"]),
    ("topolvm-capacity.yaml", r"shop/db-\S+", ["no capacity annotation", "out of VG free space"]),
    ("batch-off-peak.yaml", r"batch/\S+", []),
])
def test_demo_shows_the_preset_at_work(berth_path, name, pods, reasons, tmp_path):
    """berth evaluates it for matching pods, its reasons appear, and other pods pass everywhere."""
    done = run(berth_path, f"build/berth demo --policy policies/{name} --pods 60", env={"TMPDIR": str(tmp_path)})
    shown = re.findall(rf"^{pods} +\S+ +(\d+)/(\d+) ", done.stdout, re.M)
    assert shown and any(passed != offered for passed, offered in shown)
    assert [reason for reason in reasons if reason not in done.stdout] == []


@pytest.mark.parametrize("name,metric,least,most", [
    ("cool-nodes.yaml", "cpu", 0, 0.5),
    ("telemetry-aware.yaml", "cpu", 0, 0.7),
    ("target-load-packing.yaml", "cpu", 0.3, 1.5),
    ("load-variation-risk-balancing.yaml", "cpuAvg", 0, 0.5),
    ("crane-dynamic.yaml", "cpu_usage_avg_5m", 0, 0.5),
    ("koordinator-load-aware.yaml", "cpu", 0, 0.6),
])
def test_demo_places_by_load(berth_path, name, metric, least, most, tmp_path):
    """The chosen nodes' usage differs from the median in the preset's direction."""
    done = run(berth_path, f"build/berth demo --policy policies/{name} --pods 60", env={"TMPDIR": str(tmp_path)})
    shares = [measured[node] / statistics.median(measured.values())
              for node, measured in read_choices(done.stdout, metric) if node in measured]  # fmt: skip
    assert len(shares) >= 40, done.stdout
    assert least <= statistics.median(shares) <= most


def test_folder_as_a_whole_is_good(berth_path):
    done = run(berth_path, "build/berth check policies")
    summary, counts, *rules = re.sub(r"\d+", "N", done.stdout).splitlines()
    assert (done.returncode, summary) == (0, "ok: N policies, N filters, N scores")
    assert counts.startswith("counts of pods are exact if ")
    assert all(re.fullmatch(r"  policies/\S+\.yaml:N:N: \S+/\S+(, \S+/\S+)*", rule) for rule in rules), rules


def test_labels_of_another_product_are_params(berth_path, tmp_path):
    """After changing the prefix of all labels in params and on the nodes, the decisions are the same."""
    policy, cluster = tmp_path / "policy.yaml", tmp_path / "cluster.yaml"
    text = (ROOT / "policies/workspaces.yaml").read_text()
    before, params, after = re.search(r"(.*\n  params:\n)(.*?)(\n  variables:\n.*)", text, re.S).groups()
    assert "gitpod.io" in params and "gitpod.io" not in before + after
    assert "workspaceType" not in before + after
    policy.write_text(before + params.replace("gitpod.io/", "example.org/").replace("workspaceType", "kind") + after)
    cluster.write_text((ROOT / "examples/presets/workspaces.yaml").read_text()
                       .replace("gitpod.io/", "example.org/").replace("workspaceType", "kind"))
    pod = tmp_path / "pod.yaml"
    pod.write_text((ROOT / "examples/presets/workspace.yaml").read_text().replace("workspaceType", "kind"))
    ours = run(berth_path, "build/berth explain --cluster examples/presets/workspaces.yaml --policy policies/workspaces.yaml "
                           "--pod examples/presets/workspace.yaml --now 2026-11-16T09:00:00Z")
    theirs = run(berth_path, f"build/berth explain --cluster {cluster} --policy {policy} --pod {pod} --now 2026-11-16T09:00:00Z")
    assert ours.returncode == 0
    assert theirs.stdout == ours.stdout.replace("gitpod.io/", "example.org/")
