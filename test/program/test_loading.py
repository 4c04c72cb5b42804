"""Policies are loaded on a separate thread, within --load-time and --load-memory."""

import pathlib
import re
import signal
import socket
import subprocess

import pytest

from client import PATIENCE, get, log_lines, metrics, post, replace, wait_until, write_cluster

TEN = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
# About 120,000 units of cost per node: less than a millisecond.
NESTED = (
    f"{TEN}.map(a, {TEN}.map(b, {TEN}.map(c, {TEN}.map(d,"
    " a + b + c + d + size(node.metadata.name) + NUMBER)))).size() > 0"
)
LIGHT = NESTED.replace(f"{TEN}.map(d,", "[1].map(d,")  # a tenth of it
# Stored for each node, because it is compared with the pod: about 50 KB.
LONG = "lists.range(5000).map(i, node.metadata.name).join('-') != pod.metadata.name"
SMALL, LARGE = 4, 2000  # nodes
FOREVER = 120  # filters: minutes of work on LARGE nodes
STATE = 'berth_config_last_reload_success{config="policy"}'


def policy_text(expression, n_filters=1, name="costly"):
    filters = "".join(
        f"    - {{name: f{i}, reason: r, expression: \"{expression.replace('NUMBER', str(i))}\"}}\n"
        for i in range(n_filters)
    )
    return (
        "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\n"
        f"metadata: {{name: {name}}}\nspec:\n  filters:\n{filters}"
    )


CHEAP = policy_text("node.metadata.name != 'n1'", name="cheap")
OTHER = policy_text("node.metadata.name != 'n2'", name="other")


def write_nodes(path, n):
    return write_cluster(path, [{"metadata": {"name": f"n{i}"}} for i in range(n)])


@pytest.fixture
def files(tmp_path):
    """A cluster of LARGE nodes, and a cheap policy."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(CHEAP)
    return write_nodes(tmp_path / "cluster.json", LARGE), policy


def passed(berth):
    reply = post(berth, "filter", {"Pod": {}, "NodeNames": ["n0", "n1", "n2"]})
    assert reply.status == 200 and reply.json()["Error"] == ""
    return reply.json()["NodeNames"]


def wait_refused(berth):
    wait_until(lambda: metrics(berth)[STATE] == 0, "the policy to be refused")
    lines = get(berth, "/readyz?verbose").text.splitlines()
    return next(line for line in lines if line.startswith("[+]policy ok: degraded: "))


# --- while a policy is loaded ---


@pytest.fixture
def loading(start_logged, files):
    """A berth that loads a policy for longer than any test runs."""
    cluster, policy = files
    berth = start_logged(
        "--cluster", cluster, "--policy", policy, "--load-time", "1h", "--log-level", "debug",
        "--header-timeout", 1,
    )  # fmt: skip
    replace(policy, policy_text(NESTED, FOREVER))
    wait_until(lambda: log_lines(berth, "loading policies"), "the load to begin")
    berth.policy = policy
    yield berth
    assert not log_lines(berth, "policies=1 filters=120")


def test_slow_headers_are_cut_while_policies_load(loading):
    with socket.create_connection((loading.host, loading.port), PATIENCE) as slow:
        slow.sendall(b"POST /filter HTTP/1.1\r\nHost: a\r\n")
        answer = b"".join(iter(lambda: slow.recv(4096), b""))  # until berth closes it
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert passed(loading) == ["n0", "n2"]  # the last good policy answers
    assert metrics(loading)[STATE] == 1


def test_newer_change_supersedes_load(loading):
    replace(loading.policy, OTHER)
    wait_until(lambda: passed(loading) == ["n0", "n1"], "the newer policy")
    assert len(log_lines(loading, "loading of policies cancelled")) == 1
    assert metrics(loading)[STATE] == 1


def test_sigterm_ends_load(loading):
    assert loading.stop() == 0
    assert log_lines(loading, "shutting down")


def test_sighup_and_other_files_while_policies_load(start_logged, files, tmp_path):
    cluster, policy = files
    token = tmp_path / "token"
    token.write_text("0123456789abcdef")
    berth = start_logged(
        "--cluster", cluster, "--policy", policy, "--load-time", "1h", "--log-level", "debug",
        "--pages-listen", "127.0.0.1:0", "--pages-token-file", token,
    )  # fmt: skip
    replace(policy, policy_text(NESTED, FOREVER))
    wait_until(lambda: log_lines(berth, "loading policies"), "the load to begin")
    replace(token, "fedcba9876543210")
    wait_until(lambda: log_lines(berth, "pages token reloaded"), "the token")
    berth.proc.send_signal(signal.SIGHUP)
    wait_until(lambda: log_lines(berth, "signal=SIGHUP"), "the signal")
    assert not log_lines(berth, "policy reloaded|rejected")


def test_sigterm_ends_first_load(berth_path, files):
    cluster, policy = files
    policy.write_text(policy_text(NESTED, FOREVER))
    berth = subprocess.Popen(
        [berth_path, "serve", "--listen", "127.0.0.1:0", "--policy", policy, "--cluster", cluster,
         "--load-time", "1h"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip

    def is_loading():
        names = [task.read_text() for task in tasks.glob("*/comm")]
        return "berth-load\n" in names

    tasks = pathlib.Path(f"/proc/{berth.pid}/task")
    wait_until(is_loading, "the load to begin")
    berth.send_signal(signal.SIGTERM)
    out, log = berth.communicate(timeout=PATIENCE)
    assert (berth.returncode, out) == (0, "")
    assert "stopped by a signal while policies were loaded" in log


# --- above the budget ---

TOO_MUCH = (
    r"policies take too much (work|time) to load for %d nodes, more than --load-time 0.2s allows "
    r"\(\d+ nodes done\): filter costly/f\d \(\S*policy.yaml:\d+\) takes \d+ %% of it; simplify the "
    r"rule, or raise --load-time; `berth check --nodes %d` shows the cost of each rule"
)
TOO_LARGE = (
    r"the results of policies for %d nodes take more memory than --load-memory allows \(1 MiB\): "
    r"filter costly/f0 \(\S*policy.yaml:6\) takes \d+ %% of it; simplify the rule, or raise "
    r"--load-memory; `berth check --nodes %d` shows the cost of each rule"
)


@pytest.mark.parametrize(
    "expression, words",
    [(NESTED, TOO_MUCH), (LONG, TOO_LARGE)],
    ids=["work", "memory"],
)
def test_names_rule_and_remedy(outcome_of, start_logged, files, expression, words):
    cluster, policy = files
    limits = ("--load-time", "200ms") if expression == NESTED else ("--load-memory", "1Mi")
    words %= (LARGE, LARGE)
    berth = start_logged("--cluster", cluster, "--policy", policy, *limits)
    replace(policy, policy_text(expression, 10 if expression == NESTED else 1))
    wait_refused(berth)
    error = log_lines(berth, "last good one stays in force")
    assert len(error) == 1 and re.search(words, error[0])
    assert passed(berth) == ["n0", "n2"]
    berth.stop()

    code, out, log = outcome_of(
        "serve", "--listen", "127.0.0.1:0", "--cluster", cluster, "--policy", policy, *limits
    )
    assert (code, out) == (1, "")
    assert re.search("^berth serve: " + words, log, re.MULTILINE)


def test_ten_nested_rules_fit_memory(start_logged, tmp_path):
    """Temporary data of one evaluation does not stay until 64 nodes are done: 10 rules of 0.5 MB each
    ran out of memory."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy_text(NESTED, 10))
    berth = start_logged("--cluster", write_nodes(tmp_path / "c.json", 70), "--policy", policy)
    assert passed(berth) == ["n0", "n1", "n2"]
    assert berth.rss_kib() < 100 * 1024


def test_cluster_that_grows_beyond_the_budget(start_logged, tmp_path):
    """Then rules are not evaluated and onTimeout rejects, until the cluster is smaller."""
    policy, cluster = tmp_path / "policy.yaml", tmp_path / "cluster.json"
    policy.write_text(policy_text(NESTED))
    write_nodes(cluster, SMALL)
    berth = start_logged("--cluster", cluster, "--policy", policy, "--load-time", "200ms")
    assert passed(berth) == ["n0", "n1", "n2"]

    write_nodes(cluster, LARGE)
    assert re.search("too much (work|time) to load for 2000 nodes", wait_refused(berth))
    assert passed(berth) == []
    assert len(log_lines(berth, "exceed their budget.*filter costly/f0")) == 1

    write_nodes(cluster, SMALL)
    wait_until(lambda: metrics(berth)[STATE] == 1, "the policy to be in force again")
    assert passed(berth) == ["n0", "n1", "n2"]


def test_policy_that_fits_ends_exceeded_state(start_logged, tmp_path):
    policy, cluster = tmp_path / "policy.yaml", tmp_path / "cluster.json"
    policy.write_text(policy_text(NESTED))
    write_nodes(cluster, SMALL)
    berth = start_logged("--cluster", cluster, "--policy", policy, "--load-time", "200ms")
    write_nodes(cluster, LARGE)
    wait_refused(berth)
    replace(policy, CHEAP)
    wait_until(lambda: passed(berth) == ["n0", "n2"], "the cheap policy")
    assert metrics(berth)[STATE] == 1


# --- berth check --nodes ---


@pytest.mark.parametrize("n_filters, n_nodes, code", [(1, 5000, 0), (20, 5000, 1), (20, 100, 0)])
def test_check_predicts(outcome_of, tmp_path, n_filters, n_nodes, code):
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy_text(NESTED, n_filters))
    found, out, log = outcome_of("check", "--nodes", n_nodes, policy)
    assert (found, log) == (code, "")
    assert f"\nloading for {n_nodes} nodes: " in out and "made-up nodes" in out
    assert re.search(rf"%  filter costly/f0 \({policy}:6\): \d+ units and \d+ bytes a node", out)
    error = rf"\n{policy}:6:\d+: error: policies take too much work for {n_nodes} nodes"
    assert bool(re.search(error, out)) == (code == 1)
    assert outcome_of("check", "--nodes", n_nodes, policy)[1] == out  # the same each time


def test_check_agrees_with_serve(outcome_of, start_berth, files):
    """With the same cluster, check and serve count the same amount of work."""
    cluster, policy = files
    policy.write_text(policy_text(LIGHT))
    arguments = ("--nodes", LARGE, "--cluster", cluster, policy)
    code, out, _ = outcome_of("check", *arguments)
    work = float(re.search(r"nodes: (\S+) of ", out)[1])
    assert code == 0 and f"estimated from the {LARGE} nodes of the cluster" in out
    assert outcome_of("check", "--load-time", f"{work * 9:.0f}ms", *arguments)[0] == 1
    assert outcome_of("check", "--load-time", f"{work * 11:.0f}ms", *arguments)[0] == 0
    code, _, log = outcome_of(
        "serve", "--listen", "127.0.0.1:0", "--cluster", cluster, "--policy", policy,
        "--load-time", f"{work * 9:.0f}ms",
    )  # fmt: skip
    assert code == 1 and "too much" in log


def test_check_predicts_memory(outcome_of, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy_text(LONG))
    assert outcome_of("check", "--nodes", 500, policy)[0] == 0
    code, out, _ = outcome_of("check", "--nodes", 15000, policy)
    assert code == 1 and "policies take too much memory for 15000 nodes" in out
    assert "--load-memory of `berth serve`" in out


@pytest.mark.parametrize("wrong", [("--live",), ("--offline",), ("-o", "json"), ("--prometheus", "http://p")])
def test_check_nodes_needs_policy_files_alone(outcome_of, tmp_path, wrong):
    policy = tmp_path / "policy.yaml"
    policy.write_text(CHEAP)
    assert outcome_of("check", "--nodes", 10, *wrong, policy)[0] == 2
