"""berth demo, with and without a terminal."""

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import shlex
import statistics
import struct
import subprocess
import termios
import time
import types
from pathlib import Path

import pytest

from client import PATIENCE, get, metrics, wait_until
from client import REPOSITORY as ROOT
from demo_bundle import read_choices

BERTH = os.environ.get("BERTH", str(ROOT / "build" / "berth"))

# pod, node or "pending", passed/candidates, score or "-", time
DECISION = re.compile(
    r"^(?P<pod>\S+/\S+) +(?P<node>\S+) +(?P<passed>\d+)/(?P<offered>\d+) +(?P<score>\d+|-) +\d+ .?s"
    r"(  (?P<why>.*))?$"
)


@pytest.fixture
def environment(tmp_path):
    """A separate TMPDIR, without files of demos in other tests."""
    env = dict(os.environ, TMPDIR=str(tmp_path))
    env.pop("NO_COLOR", None)
    return env


def run(*args, env, timeout=60):
    return subprocess.run(
        [BERTH, "demo", *args], capture_output=True, text=True, timeout=timeout, env=env
    )


def decisions(text):
    return [m for m in map(DECISION.match, text.splitlines()) if m]


def commands(text):
    """The commands that a user can paste: indented lines that start with a program."""
    return [
        line.strip()
        for line in text.splitlines()
        if line.startswith("  ") and line.strip().startswith((BERTH, shlex.quote(BERTH), "curl "))
    ]


def paste(command, env):
    return subprocess.run(
        command, shell=True, capture_output=True, text=True, timeout=60, env=env
    )


# --- without a terminal ----------------------------------------------------------------


def test_plain_run(environment):
    result = run("--pods", "30", env=environment)

    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert "\033" not in result.stdout
    shown = decisions(result.stdout)
    assert len({m["pod"] for m in shown}) == 30
    assert {m["pod"].split("/")[0] for m in shown} == {"shop", "batch", "workspaces", "ml"}
    assert all(int(m["passed"]) <= int(m["offered"]) for m in shown)
    assert max(int(m["offered"]) for m in shown) == 200  # all nodes, as `berth config` writes it
    assert re.search(r"^30 pods: \d+ placed, \d+ pending", result.stdout, re.M)
    assert re.search(r"^serving http://127\.0\.0\.1:\d+ ", result.stdout, re.M)
    for verb in ("filter", "prioritize", "bind"):
        assert re.search(rf"^  {verb} +\d+ ", result.stdout, re.M)


def test_explains_placements(environment):
    """The output explains the policies, a placed pod, a pending pod, and its later placement."""
    text = run(env=environment).stdout
    shown = [" ".join(part.split()) for part in re.split(r"^(?=-- )|^(?=[a-z]+/)", text, flags=re.M)]
    placed, first, pending, late = (
        next(i for i, part in enumerate(shown) if re.match(rf"-- {kind}:", part))
        for kind in ("placed", "pending", "pending, too, for other reasons", "placed at last")
    )

    assert re.search(r"^  gpu +node is not in the gpu pool; node has no free GPU$", text, re.M)
    assert placed < first < pending < late
    assert re.search(r"pending: \S+ fits on \d+ nodes, and the policies rejected all", shown[first])
    pod = re.search(r"reasons: (\S+)\. Owners", shown[pending])[1]
    assert re.search(rf"/{pod} pending 0/.* node has no free GPU$", shown[pending - 1])
    assert f"-- placed at last: {pod} was pending until another pod ended." in shown[late]
    assert re.search(rf"/{pod} gpu-\S+ 1/.* was pending, placed at attempt \d+$", shown[late - 1])


def test_pending_pods_do_not_pile_up(environment):
    """Simulates five minutes; src/demo/test-pending-pods.c simulates hours."""
    text = run("--pods", "1200", "--nodes", "40", env=environment).stdout
    placed, pending, deleted = map(int, re.search(
        r"^1200 pods: (\d+) placed, (\d+) pending, (\d+) deleted while pending \(", text, re.M).groups())  # fmt: skip

    assert placed + pending + deleted == 1200
    assert 8 <= pending < 30
    assert 50 <= deleted < 70  # hardly more than the pods that never get a node
    assert text.count(" was pending, placed at attempt ") > 10
    assert sum(int(n) for n in re.findall(r"^ +(\d+)  \S+/\S+ +\d+ ", text, re.M)) == pending


def test_berth_forgets_deleted_pending_pods(environment, tmp_path):
    output = tmp_path / "output"
    command = [BERTH, "demo", "--pods", "0", "--pace", "1", "--nodes", "40"]
    with output.open("w") as file, subprocess.Popen(command, stdout=file, env=environment) as demo:
        try:
            found = wait_until(lambda: re.search(r"http://127\.0\.0\.1:(\d+)", output.read_text()), "its address")
            berth = types.SimpleNamespace(scheme="http", host="127.0.0.1", port=int(found[1]))
            wait_until(lambda: len(re.findall(r"^ml/render-\S+ +pending", output.read_text(), re.M)) >= 40, "pods")
            pending = sum(n for name, n in metrics(berth).items() if name.startswith("berth_pending_pods"))
            assert 0 < pending < 30  # earlier versions had 40 and more pending pods
            # On a busy machine the server's deadline would change decisions.
            assert get(berth, "/api/v1/latency").json()["deadlineSeconds"] == 5
        finally:
            demo.terminate()
            demo.wait(timeout=PATIENCE)


def test_decisions_follow_the_policy(environment):
    shown = decisions(run("--pods", "60", env=environment).stdout)
    assert len(shown) >= 60
    pools = {"shop": {"general"}, "workspaces": {"workspace"}, "batch": {"batch", "general"}}

    for m in shown:
        namespace, name = m["pod"].split("/")
        if "was pending" in (m["why"] or ""):
            assert m["node"].startswith("gpu-")
        elif name.startswith("render-"):  # requests a GPU, has no tolerations
            assert m["node"] == "pending"
            assert "pod does not tolerate the node's taints" in m["why"]
            assert "node is not in the gpu pool" in m["why"]
        elif m["node"] != "pending":
            assert m["node"].split("-")[0] in pools.get(namespace, {"gpu"})
            assert m["score"] == "-" or 0 <= int(m["score"]) <= 10


def test_commands_work_after_the_end(environment):
    result = run("--pods", "30", env=environment)
    pasted = list(dict.fromkeys(commands(result.stdout)))

    assert [shlex.split(c)[1] for c in pasted] == ["explain", "check"]
    for command in pasted:
        done = paste(command, environment)
        assert done.returncode == 0, done.stderr
        assert done.stdout
    # The explained pod is pending, with reasons.
    explained = paste(pasted[0], environment).stdout
    assert "0 of " in explained
    assert "pod does not tolerate the node's taints" in explained or "node has no free GPU" in explained


def test_same_seed_same_decisions(environment):
    def outcome(*args):
        return [
            (m["pod"], m["node"], m["passed"], m["score"], m["why"])
            for m in decisions(run("--pods", "25", *args, env=environment).stdout)
        ]

    assert outcome("--seed", "5") == outcome("--seed", "5")
    assert outcome("--seed", "5") != outcome("--seed", "6")


@pytest.mark.parametrize("nodes", ["1", "99", "1000"])
def test_numbers_of_nodes(environment, nodes):
    result = run("--pods", "10", "--nodes", nodes, env=environment)

    assert result.returncode == 0, result.stderr
    assert f"{nodes} node" in result.stdout


def test_dump_cluster(environment, tmp_path):
    path = tmp_path / "cluster.json"
    result = run("--nodes", "10", "--dump-cluster", str(path), env=environment)

    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    kinds = [item["kind"] for item in json.loads(path.read_text())["items"]]
    assert kinds.count("Node") == 10
    assert kinds.count("Pod") > 10


@pytest.mark.parametrize("path, why", [
    ("/dev/full", "No space left on device"), ("/no-such/cluster.json", "No such file or directory"),
])  # fmt: skip
def test_dump_cluster_reports_write_errors(environment, path, why):
    result = run("--nodes", "10", "--dump-cluster", path, env=environment)

    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr == f"berth demo: cannot write {path}: {why}\n"


@contextlib.contextmanager
def running_demo(env):
    """Runs a demo until the end of the block; yields the output with its address."""
    command = [BERTH, "demo", "--pods", "0", "--pace", "50"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as demo:
        try:
            yield demo.stdout.readline() + demo.stdout.readline()
        finally:
            demo.terminate()
            demo.stdout.read()
        assert demo.wait(timeout=PATIENCE) == 0


def test_two_at_once_do_not_share_files(environment):
    with running_demo(environment) as printed:
        assert "serving" in printed
        second = run("--pods", "1", env=environment)
        assert second.returncode == 0, second.stderr
        assert re.search(r"berth-demo-\d+-2/bundle\.tar\.gz", second.stdout)


def test_own_policy(environment, tmp_path):
    policy = tmp_path / "own.yaml"
    policy.write_text(
        "apiVersion: berth.dev/v1alpha1\n"
        "kind: PlacementPolicy\n"
        "metadata: {name: own}\n"
        "spec:\n"
        "  filters:\n"
        "    - {name: zone, nodeLabels: {topology.kubernetes.io/zone: a}, reason: not zone a}\n"
    )
    result = run("--pods", "10", "--policy", str(policy), env=environment)

    assert result.returncode == 0, result.stderr
    assert len(decisions(result.stdout)) == 10
    assert all(re.match(r"\w+-a-\d+", m["node"]) for m in decisions(result.stdout))
    assert "not zone a" in result.stdout
    assert f" check {policy}" in result.stdout


# --- what is measured ------------------------------------------------------------------


def test_placement_by_load(environment):
    policy = str(ROOT / "policies" / "cool-nodes.yaml")
    result = run("--pods", "40", "--policy", policy, env=environment)

    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert re.search(r"^measuring .*cpu.*: from http://127\.0\.0\.1:\d+, a mock of Prometheus$", result.stdout, re.M)
    assert "node is hot" in result.stdout
    choices = read_choices(result.stdout, "cpu")
    assert [node for node, _ in choices] == [m["node"] for m in decisions(result.stdout) if m["node"] != "pending"]
    assert len(choices) >= 30
    for node, measured in choices:
        assert 180 <= len(measured) < 200 and node in measured  # nodes that are down have no measurements
    shares = [measured[node] / statistics.median(measured.values()) for node, measured in choices]
    assert statistics.median(shares) < 0.5


def test_explains_with_measured_values(environment):
    policy = str(ROOT / "policies" / "cool-nodes.yaml")
    result = run("--pods", "20", "--policy", policy, env=environment)
    done = paste(commands(result.stdout)[0], environment)

    assert done.returncode == 0, done.stderr
    assert "node is hot" in done.stdout
    missing = re.search(r"cool-nodes/idle on (\d+) node", done.stdout)
    assert int(missing[1]) < 20


def test_default_demo_has_no_metrics(environment):
    result = run("--pods", "10", env=environment)

    assert not re.search(r"measur|metrics", result.stdout)


# --- errors ----------------------------------------------------------------------------


def test_broken_policy(environment, tmp_path):
    policy = tmp_path / "broken.yaml"
    policy.write_text("apiVersion: berth.dev/v1alpha1\nkind: Nothing\n")
    result = run("--policy", str(policy), env=environment)

    assert result.returncode == 1
    assert f"{policy}:2:7: error:" in result.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["--nodes", "0"],
        ["--nodes", "15001"],
        ["--pods", "many"],
        ["--pods", "-1"],
        ["--listen", "here"],
        ["--listen", "example.com:80"],
        ["--listen", "127.0.0.1:70000"],
        ["--listen", "0.0.0.0:0"],
        ["--nonsense"],
        ["stray"],
    ],
)
def test_wrong_usage(environment, args):
    result = run(*args, env=environment)

    assert result.returncode == 2
    assert result.stdout == ""
    first = result.stderr.splitlines()[0]
    assert first.startswith("berth demo: ") and (" ".join(args) in first)


def test_address_in_use(environment):
    with running_demo(environment) as printed:
        second = run("--listen", re.search(r"http://(\S+)", printed)[1], env=environment)
        assert second.returncode == 3
        assert "cannot listen" in second.stderr


def test_help(environment):
    result = run("--help", env=environment)

    assert result.returncode == 0
    for option in (
        "--nodes", "--pods", "--seed", "--policy", "--listen", "--dump-cluster", "--scenario", "--solve",
    ):  # fmt: skip
        assert option in result.stdout


def test_stops_when_output_is_closed(environment):
    """berth demo | head: it stops when its output is closed."""
    done = paste(f"{shlex.quote(BERTH)} demo --pods 0 | head -n 20", environment)

    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 20


# --- on a terminal ---------------------------------------------------------------------


class LiveDemo:
    """A demo on its own terminal, with its whole output, not only the final screen."""

    def __init__(self, env, *args, columns=160):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
            os.execve(BERTH, [BERTH, "demo", *args], env)

    def read_until(self, pattern, timeout=PATIENCE):
        deadline = time.monotonic() + timeout
        while not re.search(pattern, self.text):
            assert time.monotonic() < deadline, f"no {pattern!r} in:\n{self.text}"
            self.read(0.2)
        return re.search(pattern, self.text)

    def read(self, timeout):
        if not select.select([self.fd], [], [], timeout)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # the other end is closed
            return False
        self.text += data.decode()
        return bool(data)

    def interrupt(self):
        """Ctrl-C; returns the exit code."""
        os.write(self.fd, b"\x03")
        return self.wait()

    def wait(self, timeout=PATIENCE):
        deadline = time.monotonic() + timeout
        while self.read(0.2):
            assert time.monotonic() < deadline, f"does not end:\n{self.text}"
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def test_live_until_interrupted(environment):
    terminal = LiveDemo(environment, "--pace", "20")
    terminal.read_until(r"12 placed")

    assert "\033[32m" in terminal.text  # colour
    assert "Ctrl-C ends" in terminal.text
    assert terminal.interrupt() == 0
    assert re.search(r"\d+ pods: \d+ placed, \d+ pending", terminal.text)
    assert "Try next" in terminal.text
    assert "error" not in terminal.text


def test_live_commands_work_meanwhile(environment):
    terminal = LiveDemo(dict(environment, NO_COLOR="1"), "--pace", "20", columns=100)
    last = terminal.read_until(r"\S+ explain --last \S+ --server \S+").group()
    terminal.read_until(r"the next decisions follow it")
    pasted = commands(terminal.text.split("Try in another terminal")[1].replace("\r\n", "\n"))

    assert [shlex.split(c)[:2] for c in pasted[:3]] == [[BERTH, "top"], [BERTH, "what-if"], ["curl", "-s"]]
    replayed = paste(pasted[1], environment)
    assert "Exact for berth's verdicts" in replayed.stdout, replayed
    ready = paste(pasted[2], environment)
    assert "[+]" in ready.stdout and "readyz check passed" in ready.stdout, ready
    asked = paste(last, environment)
    assert re.search(r"of \d+ nodes passed", asked.stdout) and "node is not in the gpu pool" in asked.stdout, asked
    assert terminal.interrupt() == 0
    assert "\033[3" not in terminal.text and "\033[1m" not in terminal.text


def test_live_policy_is_edited(environment):
    terminal = LiveDemo(environment, "--pace", "50")
    path = Path(terminal.read_until(r"or edit (\S+)").group(1))
    good = path.read_text()

    path.write_text(good.replace("nodeReady", "nodeRedy"))
    terminal.read_until(r"policy rejected, the last good one stays in force")
    terminal.read_until(r'did you mean "nodeReady"')
    path.write_text(good.replace("node is not in the general pool", "wrong pool, sorry"))
    terminal.read_until(r"policy reloaded: 5 policies")
    terminal.read_until(r"wrong pool, sorry")
    assert terminal.interrupt() == 0


def test_live_metrics(environment):
    policy = str(ROOT / "policies" / "cool-nodes.yaml")
    terminal = LiveDemo(dict(environment, NO_COLOR="1"), "--pace", "50", "--policy", policy, columns=80)
    terminal.read_until(r"/api/v1/sources'")
    terminal.read_until(r"30 placed")
    url = re.search(r"curl -s '(\S+/api/v1/sources)'", terminal.text)[1]
    sources = json.loads(paste(f"curl -s '{url}'", environment).stdout)

    assert {metric["state"] for metric in sources["metrics"]} == {"ok"}
    assert terminal.interrupt() == 0
    assert "error" not in terminal.text


def test_live_ends_after_pods(environment):
    terminal = LiveDemo(environment, "--pace", "0", "--pods", "5")

    assert terminal.wait() == 0
    assert "5 pods: " in terminal.text
