"""Scenarios of berth demo: each shows a problem, and the user investigates the cause."""

import os
import re
import subprocess
import urllib.request

import pytest

from client import PATIENCE
from terminal import Terminal

SCENARIOS = ["pending", "hot-node", "stale-metrics", "bad-policy", "weight-war"]

# Output of berth's commands about the cause, and the result of the fix.
SOLVED = {
    "pending": (
        r"^rejected by\n +\d+  gpu/taints: .*\n.*\n +needs a toleration of nvidia\.com/gpu=present:NoSchedule on the pod\n"
        r" +\d+  gpu/pool: .*^=> Two rules rejected it\. Only the nodes of the first could take the pod",
        r"^ml/render-\w+ +gpu-\S+ ",
    ),
    "hot-node": (
        r"newly rejected +0 .*^  moved +[1-9].*"
        r"metrics\.load = 0\.[89]\d*, params\.maxLoad = 0\.8\n +needs metrics\.load < 0\.8",
        r"The next pods avoid general-",
    ),
    "stale-metrics": (
        r"services/cool on 20 nodes \(onMissing: reject\): e\.g\. \S+: metric load is missing.*"
        r"× every metric has an answer +B505\n.*load of source default is failing: .*503",
        r"Prometheus answers again\nshop/api-\w+ +general-\S+ ",
    ),
    "bad-policy": (
        r"× policies on disk are in force.*unknown field \"maxPod\" in a filter\n.*\n.*\^{6}\n  = did you mean \"maxPods\"\?",
        r"-- reloaded\nworkspaces/ws-\w+ +workspace-\S+ ",
    ),
    "weight-war": (
        r"at weight 1 kube-scheduler adds the score sent × 10 \(0 to 100\) to its own, 0 to 1200",
        r"On 2 nodes, instead of [3-9]\.",
    ),
}


def run(berth_path, tmp_path, *args):
    """Runs in a separate TMPDIR, without files of demos in other tests."""
    env = dict(os.environ, TMPDIR=str(tmp_path))
    return subprocess.run(
        [berth_path, "demo", *args], capture_output=True, text=True, timeout=60, env=env
    )


@pytest.mark.parametrize("name", SCENARIOS)
def test_solved(berth_path, tmp_path, name):
    done = run(berth_path, tmp_path, "--scenario", name, "--solve")
    cause, remedy = SOLVED[name]

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert re.search(cause, done.stdout, re.S | re.M), done.stdout
    assert re.search(remedy, done.stdout, re.M), done.stdout
    parts = ["What you see", "The question", "How to find out", "The cause", "The fix"]
    assert [line for line in done.stdout.splitlines() if line in parts] == parts
    assert "\033" not in done.stdout
    assert max(len(line) for line in text_lines(done.stdout)) <= 92


def text_lines(text):
    """The scenario's own text; the output of commands has paths in it."""
    return [line for line in text.splitlines() if line.startswith(("=> ", "-- ", "  Warning "))]


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario_without_solve_ends_with_suggestions(berth_path, tmp_path, name):
    done = run(berth_path, tmp_path, "--scenario", name)

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    suggested = done.stdout.partition("Try, while it runs in a terminal\n")[2].splitlines()
    assert len([line for line in suggested if "--server http://127.0.0.1:" in line]) >= 2, done.stdout
    assert suggested[-1].endswith(f"demo --scenario {name} --solve")
    assert "{" not in "".join(suggested)  # placeholders that were not replaced


def test_scenario_without_solve_hides_the_answer(berth_path, tmp_path):
    done = run(berth_path, tmp_path, "--scenario", "pending")

    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(
        r"FailedScheduling  0/40 nodes are available: \d+ node is not in the gpu pool, \d+\s+pod does not", done.stdout
    )
    assert re.search(r"explain --last ml/render-\w+ --server http://127\.0\.0\.1:\d+$", done.stdout, re.M)
    assert "demo --scenario pending --solve" in done.stdout.splitlines()[-1]
    assert "toleration of" not in done.stdout  # the question must not contain the answer
    asked = run(berth_path, tmp_path, "--scenario", "stale-metrics")
    assert asked.returncode == 0, asked.stderr
    assert "Prometheus" not in asked.stdout


def test_list_and_usage(berth_path, tmp_path):
    listed = run(berth_path, tmp_path, "--scenario", "list")
    unknown = run(berth_path, tmp_path, "--scenario", "hotnode")
    lonely = run(berth_path, tmp_path, "--solve")

    assert [line.split()[0] for line in listed.stdout.splitlines()] == SCENARIOS
    assert listed.returncode == 0
    assert (unknown.returncode, lonely.returncode) == (2, 2)
    assert 'did you mean "hot-node"?' in unknown.stderr


# --- on a terminal ---------------------------------------------------------------------------


def page(url):
    request = urllib.request.Request(url, headers={"Accept": "text/html"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.read().decode()


def test_scenario_in_a_terminal(berth_path, tmp_path):
    command = [berth_path, "demo", "--scenario", "pending"]
    with Terminal(command, lines=40, env={"TMPDIR": str(tmp_path)}) as terminal:
        shown = terminal.wait_for("The question", "Try in another terminal", "The answer", "Ctrl-C ends")
        joined = shown.replace("\n", "")  # a long path may be broken at the edge
        pod, url = re.search(r"explain --last (ml/render-\w+) --server (http://127\.0\.0\.1:\d+)", joined).groups()

        assert "Why is this pod pending?" in shown
        assert "<html" in page(url + "/")
        assert pod.split("/")[1] in page(url + "/pods")
        explained = subprocess.run([berth_path, "explain", "--last", pod, "--server", url],
                                   capture_output=True, text=True, timeout=60)
        assert "0 of 33 nodes passed" in explained.stdout, explained
        terminal.wait_for("5 pods, 4 placed")  # new pods keep arriving
        terminal.type("C-c")
        ended = terminal.wait_for("ended: 0")
        assert "Ctrl-C ends" not in ended.splitlines()[-1]
        assert terminal.tmux("display-message", "-p", "#{cursor_flag}#{alternate_on}").strip() == "10"


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario_can_be_stopped_at_any_time(berth_path, tmp_path, name):
    """Also with Ctrl-C before the problem exists and a pod is chosen."""
    with Terminal([berth_path, "demo", "--scenario", name], lines=40, env={"TMPDIR": str(tmp_path)}) as terminal:
        terminal.wait_for("policy    /")
        terminal.type("C-c")
        terminal.wait_for("ended: 0")


def test_demo_in_a_terminal(berth_path, tmp_path):
    with Terminal([berth_path, "demo", "--pace", "30"], lines=50, env={"TMPDIR": str(tmp_path)}) as terminal:
        shown = terminal.wait_for("dashboard http://", "-- placed: ")
        url = re.search(r"dashboard (http://\S+)", shown)[1]

        assert "<html" in page(url)
        terminal.wait_for("-- pending: ", "explain --last ml/")
        terminal.wait_for("-- placed at last: training-", "Open " + url, "Try in another terminal")
        terminal.type("C-c")
        ended = terminal.wait_for("ended: 0", "Try next", "the dashboard was " + url)
        assert "Ctrl-C ends" not in ended
        assert terminal.tmux("display-message", "-p", "#{cursor_flag}#{alternate_on}").strip() == "10"


def test_solved_in_a_terminal_is_in_colour(berth_path, tmp_path):
    command = [berth_path, "demo", "--scenario", "bad-policy", "--solve"]
    with Terminal(command, lines=90, env={"TMPDIR": str(tmp_path)}) as terminal:
        terminal.wait_for("The next workspace goes elsewhere", "ended: 0")
        assert re.search(r"\033\[[0-9;]*32m[^\n]*maxPods", terminal.colours())
