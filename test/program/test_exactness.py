"""check, explain and config report for each counting rule whether it is exact in a burst."""

import functools
import json
import subprocess

import pytest

from client import FINE, PATIENCE, post, write_cluster
from test_checkup import entry, scheduler_config
from test_decisions import names

POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: seats}
spec:
  filters:
    - {name: pool, nodeLabels: {pool: web}, reason: wrong pool}
    - {name: four, maxPods: 4, reason: no seat}
    - {name: room, expression: "node.free.cpu >= pod.requests.cpu", reason: no room}
  scores:
    - {name: pack, binPack: {cpu: 1}}
"""
NARROW = POLICY.replace("spec:\n", "spec:\n  narrow: {to: 1}\n")
OBSERVE = POLICY.replace("spec:\n", "spec:\n  mode: Observe\n")
OTHER = POLICY.replace("seats", "other").replace("spec:\n", "spec:\n  match: {namespaces: [other]}\n")

IF_BOUND = "exact if berth binds (--bind) or with narrow: {to: 1}; else a burst can exceed limits"
BY_BIND = "exact: berth binds, and counts every earlier bind"
BY_NARROW = "exact for requests to one berth: with narrow: {to: 1} a pod counts before the reply"
IF_SLOTS = "exact with berth serve --publish: kube-scheduler counts the slots that pods request"
NOT = "not exact: a burst can exceed limits; with --bind or narrow: {to: 1} it cannot"
IDS = ["several nodes", "narrow to 1"]
NODES = [{"metadata": {"name": f"n{i}", "labels": {"pool": "web"}}} for i in range(3)]


@pytest.fixture
def files(tmp_path):
    """files(text) writes a policy, and returns its path."""
    write_cluster(tmp_path / "cluster.json", NODES)
    (tmp_path / "pod.json").write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"}}))

    def write(text):
        (tmp_path / "policy.yaml").write_text(text)
        return tmp_path / "policy.yaml"

    return write


@pytest.fixture
def run(berth_path):
    def run(*arguments):
        return subprocess.run(
            [berth_path, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE
        )

    return run


# --- check ---


@pytest.mark.parametrize("policy, text, line", [(POLICY, IF_BOUND, 7), (NARROW, BY_NARROW, 8)], ids=IDS)
def test_check_states_conditions(run, files, policy, text, line):
    path = files(policy)
    done = run("check", path)
    assert (done.returncode, done.stderr) == (FINE, "")
    assert done.stdout.splitlines()[1:] == [f"counts of pods are {text}:", f"  {path}:{line}:29: seats/four, seats/room"]


def test_check_names_each_policy_once(run, files):
    path = files(POLICY + "---\n" + OTHER + "---\n" + NARROW.replace("seats", "best"))
    assert [line.removeprefix(f"  {path}:") for line in run("check", path).stdout.splitlines()[1:]] == [
        f"counts of pods are {BY_NARROW}:", "31:29: best/four, best/room",
        f"counts of pods are {IF_BOUND}:", "7:29: seats/four, seats/room", "19:29: other/four, other/room"]  # fmt: skip


def test_check_is_silent_without_counts(run, files):
    """Rules that read no pods, scores, and rules in mode Observe have no limit."""
    assert run("check", files(OBSERVE)).stdout == "ok: 1 policy, 3 filters, 1 score\n"
    labels = "".join(line for line in POLICY.splitlines(True) if "four" not in line and "room" not in line)
    assert run("check", files(labels)).stdout == "ok: 1 policy, 1 filter, 1 score\n"
    warned = POLICY.replace("maxPods: 4", "maxPods: 0")
    assert "counts of pods" not in run("check", "--fail-on", "warning", files(warned)).stdout


def test_check_knows_published_limits(run, files):
    path = files(POLICY.replace("maxPods: 4,", "maxPods: 4, publish: slots,"))
    assert run("check", path).stdout.splitlines()[1:] == [
        f"counts of pods are {IF_SLOTS}:", f"  {path}:7:29: seats/four",
        f"counts of pods are {IF_BOUND}:", f"  {path}:8:32: seats/room"]  # fmt: skip
    rules = json.loads(run("check", "-o", "json", path).stdout)["rules"]
    assert rules[1]["counting"] == {"exact": None, "text": IF_SLOTS}
    note = run("config", "--policy", path).stderr
    assert "counts of seats/room are" in note and "four" not in note


@pytest.mark.parametrize(
    "changes, text",
    [({}, NOT), ({"bindVerb": "bind", "httpTimeout": "15s"}, BY_BIND)],
    ids=["without bindVerb", "with bindVerb"],
)
def test_check_knows_the_wiring_of_a_configuration(run, files, tmp_path, held_url, changes, text):
    config = tmp_path / "scheduler.yaml"
    config.write_text(scheduler_config(entry(held_url, **changes)))
    done = run("check", "--live", files(POLICY), "--scheduler-config", config, "--server", held_url, "--url", held_url)
    assert done.stdout.count("counts of pods") == 1, done.stdout + done.stderr
    assert done.stdout.splitlines()[-2] == f"counts of pods are {text}:"


@pytest.fixture
def held_url():
    return "http://127.0.0.1:1"


def test_check_knows_the_wiring_of_a_berth(run, files, tmp_path, start_berth):
    path = files(POLICY)
    berth = start_berth("--policy", path, "--cluster", tmp_path / "cluster.json")
    config = tmp_path / "scheduler.yaml"
    config.write_text(scheduler_config(entry(berth.url, bindVerb="bind", httpTimeout="15s")))
    for options in ([], ["--scheduler-config", config]):  # one berth that does not bind is enough
        done = run("check", "--live", path, "--server", berth.url, *options)
        assert done.stdout.splitlines()[-2] == f"counts of pods are {NOT}:", done.stdout + done.stderr


@pytest.mark.parametrize("policy, text", [(POLICY, NOT), (NARROW, BY_NARROW)], ids=IDS)
def test_check_knows_the_policies_of_a_berth(run, files, tmp_path, start_berth, policy, text):
    """Without policy files it uses the policies in force."""
    berth = start_berth("--policy", files(policy + "---\n" + OTHER), "--cluster", tmp_path / "cluster.json")
    expected = {text: ["seats/four, seats/room"], NOT: ["other/four, other/room"]}
    if text == NOT:
        expected = {NOT: ["seats/four, seats/room", "other/four, other/room"]}
    lines = [line for key, names in expected.items() for line in (f"counts of pods are {key}:", *(f"  {name}" for name in names))]
    printed = run("check", "--live", "--server", berth.url).stdout
    assert printed.splitlines()[-len(lines):] == lines and printed.count("counts of pods") == len(expected)
    bound = tmp_path / "scheduler.yaml"
    bound.write_text(scheduler_config(entry(berth.url)))
    assert "counts of pods" not in run("check", "--offline", bound).stdout
    assert "counts of pods are" not in run("check", "--live", "--server", berth.url, "-o", "json").stdout


# --- explain ---


def counting(text):
    exact = {IF_BOUND: None, NOT: False}.get(text, True)
    return [{"policy": "seats", "rule": rule, "exact": exact, "text": text} for rule in ("four", "room")]


@pytest.mark.parametrize("policy, text", [(POLICY, IF_BOUND), (NARROW, BY_NARROW)], ids=IDS)
def test_explain(run, files, tmp_path, policy, text):
    explain = functools.partial(
        run, "explain", "--cluster", tmp_path / "cluster.json", "--policy", files(policy + "---\n" + OTHER),
        "--pod", tmp_path / "pod.json")  # fmt: skip
    one = explain("--node", "n1").stdout
    assert one.count("counts of") == 1
    assert f"\n  counts of seats/four, seats/room:\n      {text}\n" in one
    assert "counts of" not in explain().stdout + explain("--all").stdout
    assert json.loads(explain("-o", "json").stdout)["counting"] == counting(text)


@pytest.mark.parametrize("policy, text", [(POLICY, NOT), (NARROW, BY_NARROW)], ids=IDS)
def test_explain_a_past_decision(run, files, tmp_path, start_berth, policy, text):
    berth = start_berth("--policy", files(policy), "--cluster", tmp_path / "cluster.json")
    assert post(berth, "filter", names("web", "n0", "n1")).status == 200
    explain = functools.partial(run, "explain", "default/web", "--server", berth.url)
    assert f"\n  counts of seats/four, seats/room:\n      {text}\n" in explain("--node", "n1").stdout
    assert "counts of" not in explain().stdout
    assert json.loads(explain("-o", "json").stdout)["explanation"]["counting"] == counting(text)


# --- config ---


def test_config_recommends_bind(run, files):
    note = f"berth config: note: counts of seats/four, seats/room are {NOT}\n"
    assert run("config", "--policy", files(POLICY)).stderr == note
    assert run("config", "--policy", files(POLICY), "--format", "policy").stderr == note
    assert run("config", "--policy", files(POLICY), "--bind").stderr == ""
    for policy in (NARROW, OBSERVE):
        assert run("config", "--policy", files(policy)).stderr == ""


def test_config_knows_the_policies_of_a_berth(run, files, tmp_path, start_berth):
    berth = start_berth("--policy", files(POLICY + "---\n" + OTHER), "--cluster", tmp_path / "cluster.json")
    note = f"berth config: note: counts of seats/four, seats/room, other/four, other/room are {NOT}\n"
    assert run("config", "--server", berth.url).stderr == note


def test_config_is_silent_about_exact_counts(run, files, tmp_path, start_berth):
    berth = start_berth("--policy", files(NARROW), "--cluster", tmp_path / "cluster.json")
    assert run("config", "--server", berth.url).stderr == ""
