"""The command line: output, streams and exit codes.

0 success, 1 a check failed, 2 wrong usage, 3 a file or server could not be reached.
"""

import json
import os
import pathlib
import pty
import re
import signal
import socket
import subprocess

import pytest

from client import FAILED, FINE, PATIENCE, REPOSITORY, UNREACHABLE, USAGE, get

COMMANDS = [
    "serve", "check", "explain", "top", "status", "open", "simulate", "what-if", "diff", "test", "bundle", "eval", "dump",
    "demo", "certs", "completion", "config", "publish", "install", "version",
]  # fmt: skip

GOOD = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: zones}
spec:
  filters:
    - name: zone
      nodeLabels: {zone: {in: [a, b]}}
      reason: wrong zone
      unresolvable: true
    - name: room
      headroom: {cpu: 1}
      reason: too little would be left
  scores:
    - {name: near, nodeLabelPreference: {key: zone, values: {a: 80, b: 20}}, weight: 3}
    - {name: pack, binPack: {cpu: 1}}
---
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: trial}
spec:
  mode: Observe
  filters:
    - {name: disk, nodeLabels: {disk: ssd}, reason: slow disk}
"""

# Two mistakes in one policy, one in a second document.
BAD = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: one}
spec:
  filtres: []
  scores:
    - {name: pack, binPak: {cpu: 1}}
---
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: two}
spec:
  mode: enforce
  filters:
    - {name: a, nodeReady: true}
"""

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers:
    - {name: app, resources: {requests: {cpu: 500m, memory: 1Gi}}}
"""

CLUSTER = """\
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {zone: b, disk: ssd}},
     status: {allocatable: {cpu: "4"}}}
  - {apiVersion: v1, kind: Node, metadata: {name: n2, labels: {zone: a}},
     status: {allocatable: {cpu: "4"}}}
  - {apiVersion: v1, kind: Node, metadata: {name: n3, labels: {zone: c}},
     status: {allocatable: {cpu: "1"}}}
  - {apiVersion: v1, kind: Node, metadata: {name: n4, labels: {zone: a}},
     status: {allocatable: {cpu: "4"}}}
  - apiVersion: v1
    kind: Pod
    metadata: {name: busy, namespace: shop, uid: u1}
    spec: {nodeName: n4, containers: [{name: app, resources: {requests: {cpu: "3"}}}]}
"""


@pytest.fixture
def files(tmp_path):
    for name, text in {
        "good.yaml": GOOD,
        "bad.yaml": BAD,
        "pod.yaml": POD,
        "cluster.yaml": CLUSTER,
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def run(berth_path):
    """run(*arguments) -> the finished process, its output as text."""

    def run(*arguments, stdin=None, env=None, cwd=None):
        return subprocess.run(
            [berth_path, *map(str, arguments)],
            input=stdin or "",
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env={**os.environ, **(env or {})},
            cwd=cwd,
        )

    return run


def run_on_terminal(command, env):
    """Runs a command with its output on a terminal."""
    master, slave = pty.openpty()
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=env) as proc:
        os.close(slave)
        output = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # on Linux: the other end is closed
                part = b""
            if not part:
                break
            output += part
        assert proc.wait(PATIENCE) is not None
    os.close(master)
    return output.decode().replace("\r\n", "\n")


# --- berth ---


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_help(run, arguments):
    result = run(*arguments)
    assert result.returncode == FINE and result.stderr == ""
    assert re.findall(r"^  ([a-z-]+) +[a-z]", result.stdout, re.M) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(run, berth_path, command):
    result = run(command, "--help")
    assert result.returncode == FINE and result.stderr == ""
    assert re.match(rf"usage: .+ {command}[ \n]", result.stdout)
    text = result.stdout.replace(str(berth_path), "berth")  # with a path of any length
    assert max(map(len, text.splitlines())) <= 100
    # texts in brackets at the end of a line are defaults, which end in one column
    defaults = re.findall(r"^  +\S.* \[[^][]*\]$", text.partition("\n\n")[2], re.M)
    assert [line for line in defaults if len(line) != 80] == []
    assert run(command, "-h").stdout == result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_wrong_usage_of_a_command(run, berth_path, command):
    """Usage errors print the error and the usage line, not the whole help."""
    result = run(command, "--nonsense")
    assert result.returncode == USAGE and result.stdout == ""
    first, *usage, last = result.stderr.splitlines()
    assert first == f"berth {command}: unknown option --nonsense"
    assert usage == run(command, "--help").stdout.partition("\n\n")[0].splitlines()
    assert last == f"Try: {berth_path} {command} --help"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_command_prints_help_of_a_command(run, command):
    assert run("help", command).stdout == run(command, "--help").stdout


def test_help_of_an_unknown_command_suggests_one(run):
    result = run("help", "serv")
    assert result.returncode == USAGE and result.stdout == ""
    assert 'unknown command "serv"; did you mean "serve"?' in result.stderr


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["serve", "--polcy", "x"], "unknown option --polcy; did you mean --policy?"),
        (["explain", "--ndoe=x"], "unknown option --ndoe; did you mean --node?"),
        (["serve", "--pol", "x"], "unknown option --pol; did you mean --policy?"),
        (["dump", "-v"], "unknown option -v"),
        (["dump", "--all=yes"], "--all takes no value"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_misspelt_option_gets_a_suggestion(run, arguments, text):
    result = run(*arguments)
    assert result.returncode == USAGE and result.stdout == ""
    assert f"berth {arguments[0]}: {text}" in result.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_misspelt_option_gets_a_suggestion(run, command):
    """Two letters in the middle are swapped."""
    flags = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]{5,})", run(command, "--help").stdout, re.M))
    assert bool(flags) == (command not in ("completion", "version"))
    for flag in flags:
        misspelt = flag[:4] + flag[5] + flag[4] + flag[6:]
        if misspelt != flag:
            assert f"unknown option {misspelt}; did you mean {flag}?" in run(command, misspelt).stderr


SWITCHES = {
    "--insecure-http", "--in-cluster", "--bind", "--wake-up", "--publish", "--nominate", "--policies-from-cluster", "--events", "--no-dashboard",
}


def test_help_lists_every_flag_of_serve(run):
    """The program accepts the options of its help, and no others."""
    text = run("serve", "--help").stdout
    flags = set(re.findall(r"--[a-z][a-z-]+", text))
    assert SWITCHES <= flags and len(flags - SWITCHES) > 30
    for flag in flags - SWITCHES:
        result = run("serve", flag)
        assert result.returncode == USAGE
        assert f"{flag} needs a value: " in result.stderr


@pytest.mark.parametrize(
    "flags, error",
    [
        (["--lease", "berth"], "--lease needs --bind"),
        (["--publish-lease", "berth"], "--publish-lease needs --publish"),
        (["--publish-lease", "a/b/c"], "expected NAMESPACE/NAME or NAME"),
        (["--policies-from-cluster"], "--policies-from-cluster needs --kubeconfig or --in-cluster"),
        (["--policies-lease", "berth"], "--policies-lease needs --policies-from-cluster"),
        (["--admission-listen", "127.0.0.1:0"], "--admission-listen needs --policies-from-cluster"),
        (["--admission-listen", "127.0.0.1:0", "--policies-from-cluster", "--in-cluster"], "--admission-listen needs --tls-cert"),
        (["--admission-client-name", "a"], "--admission-client-name needs --admission-listen"),
        (
            ["--admission-listen", "127.0.0.1:0", "--policies-from-cluster", "--in-cluster", "--tls-cert", "a", "--tls-key", "b",
             "--admission-client-name", "a"],
            "--admission-client-name needs --client-ca",
        ),
        (["--publish"], "--publish needs --kubeconfig or --in-cluster"),
        (["--nominate"], "--nominate needs --kubeconfig or --in-cluster"),
        (["--nominate-lease", "berth"], "--nominate-lease needs --nominate"),
        (["--nominate-lease", "a/b/c"], "expected NAMESPACE/NAME or NAME"),
        (["--nominate-weight", "0"], "expected a whole number from 1 to 1000000"),
        (["--lease", "a/b/c"], "expected NAMESPACE/NAME or NAME"),
        (["--lease", "/berth"], "expected NAMESPACE/NAME or NAME"),
        (["--lease", "Berth"], "expected NAMESPACE/NAME or NAME"),
        (["--lease", "x" * 64 + "/berth"], "expected NAMESPACE/NAME or NAME"),
        (["--events"], "--events needs --kubeconfig or --in-cluster"),
    ],
)
def test_flags_of_serve_that_make_no_sense(run, flags, error):
    result = run("serve", *flags)
    assert result.returncode == USAGE and error in result.stderr


@pytest.mark.parametrize(
    "word, meant", [("chek", "check"), ("serv", "serve"), ("explian", "explain"), ("xyzzy", None)]
)
def test_unknown_command(run, word, meant):
    result = run(word)
    assert result.returncode == USAGE and result.stdout == ""
    assert f'unknown command "{word}"' in result.stderr
    assert (f'did you mean "{meant}"?' in result.stderr) == (meant is not None)
    assert "--help" in result.stderr


@pytest.mark.parametrize("word", ["version", "--version"])
def test_version(run, word):
    result = run(word)
    assert result.returncode == FINE and result.stderr == ""
    assert re.match(r"berth \d+\.\d+\.\d+\n", result.stdout)
    for library in ("gnutls", "libcurl", "libfyaml"):
        assert re.search(rf"^{library} +\d", result.stdout, re.M)


# --- berth check ---


def summary(path):
    """The summary of GOOD; test_exactness.py tests the lines after the first."""
    return (
        "ok: 2 policies, 3 filters, 2 scores\n"
        "counts of pods are exact if berth binds (--bind) or with narrow: {to: 1}; else a burst can exceed limits:\n"
        f"  {path}:11:17: zones/room\n"
    )


def test_check_good(run, files):
    result = run("check", files / "good.yaml")
    assert result.returncode == FINE and result.stderr == ""
    assert result.stdout == summary(files / "good.yaml")


def test_check_bad_prints_everything(run, files):
    path = files / "bad.yaml"
    result = run("check", path)
    assert result.returncode == FAILED and result.stderr == ""
    assert result.stdout.splitlines() == [
        f'{path}:5:3: error: unknown field "filtres" in spec',
        "  5 |   filtres: []",
        "    |   ^^^^^^^",
        '  = did you mean "filters"?',
        f'{path}:7:20: error: unknown field "binPak" in a score',
        "  7 |     - {name: pack, binPak: {cpu: 1}}",
        "    |                    ^^^^^^",
        '  = did you mean "binPack"?',
        f'{path}:13:9: error: mode must be Enforce or Observe, not "enforce"',
        "  13 |   mode: enforce",
        "     |         ^^^^^^^",
        '  = did you mean "Enforce"?',
        "3 errors",
    ]


def test_check_several_files(run, files):
    result = run("check", files / "good.yaml", files / "bad.yaml", "/nonexistent/x.yaml")
    assert result.returncode == UNREACHABLE
    assert "4 errors" in result.stdout
    assert "/nonexistent/x.yaml: No such file or directory" in result.stdout
    (files / "again.yaml").write_text(GOOD)
    result = run("check", "good.yaml", "again.yaml", cwd=files)
    assert result.returncode == FAILED
    assert 'again.yaml:3:18: error: there are two policies named "zones"' in result.stdout
    assert "the other is at good.yaml:3" in result.stdout


def test_check_folder(run, tmp_path):
    folder = tmp_path / "policies"
    folder.mkdir()
    assert run("check", folder).returncode == FAILED
    assert f"{folder}: contains no *.yaml file" in run("check", folder).stdout
    (folder / "b.yml").write_text(GOOD)
    (folder / "ignored.txt").write_text("not: [yaml")
    assert run("check", folder).stdout == summary(folder / "b.yml")
    (folder / "a.yaml").write_text(BAD)
    result = run("check", folder)
    assert result.returncode == FAILED
    assert f"{folder}/a.yaml:5:3: error: " in result.stdout


def test_check_standard_input(run):
    assert run("check", "-", stdin=GOOD).returncode == FINE
    result = run("check", "-", stdin=BAD)
    assert result.returncode == FAILED
    assert result.stdout.startswith("-:5:3: error: ")
    assert "contains no policy" in run("check", "-", stdin="").stdout


def test_check_missing_file(run):
    result = run("check", "/nonexistent/policy.yaml")
    assert result.returncode == UNREACHABLE
    assert "/nonexistent/policy.yaml: No such file or directory" in result.stdout


def test_check_queries_sources_and_rejects_metrics_file(run, files):
    """--metrics is an option of explain; with a file, check could not test whether sources answer."""
    result = run("check", "--live", "--metrics", "values.yaml", files / "good.yaml")
    assert result.returncode == USAGE and "--metrics" in result.stderr.splitlines()[0]
    assert "--metrics" not in run("check", "--help").stdout


def test_check_usage(run):
    result = run("check")
    assert result.returncode == USAGE and result.stdout == ""
    assert "usage: " in result.stderr
    assert run("check", "--nonsense").returncode == USAGE


@pytest.mark.parametrize("flag", ["--cost", "-v"])
def test_check_cost(run, files, flag):
    result = run("check", flag, files / "good.yaml")
    assert result.returncode == FINE
    table, begin, rest = result.stdout.partition("ok: ")
    head, *rows = table.splitlines()
    assert head.split() == ["RULE", "KIND", "COMPUTED", "COST"]
    assert [row.split()[:2] for row in rows] == [
        ["zones/zone", "nodeLabels"],
        ["zones/room", "headroom"],
        ["zones/near", "nodeLabelPreference"],
        ["zones/pack", "binPack"],
        ["trial/disk", "nodeLabels"],
    ]
    assert "when a node changes" in rows[0] and "for pod and node" in rows[1]
    assert all(int(row.split()[-1]) > 0 for row in rows)
    assert begin + rest == summary(files / "good.yaml")


def test_check_cost_of_long_names(run):
    """The columns are as wide as the longest name."""
    policy = (
        "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: %s}\n"
        "spec: {filters: [{name: %s, %s}]}\n"
    )
    text = policy % ("a" * 20, "b" * 40, "maxPods: 3") + "---\n" + policy % ("c", "d", "nodeReady: true")
    head, long, short, ok, *_ = run("check", "--cost", "-", stdin=text).stdout.splitlines()
    assert ok.startswith("ok: ")
    assert long.startswith("a" * 20 + "/" + "b" * 40 + " maxPods ")
    assert head.index("KIND") == long.index("maxPods") == short.index("nodeReady")
    assert len(head) == len(long) == len(short)


TIMES = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: times}
spec:
  match: {expression: "pod.spec.priority >= 0"}
  params: {strict: false}
  variables: [{name: night, expression: "now.getHours('UTC') >= 22"}]
  filters:
    - {name: never, expression: "!params.strict"}
    - {name: night, expression: "variables.night"}
    - {name: odd, expression: "node.metadata.labels.exists(k, k + node.metadata.name == pod.metadata.name)", messageExpression: "'x'"}
"""


def test_check_cost_shows_how_often_rules_run(run):
    rows = run("check", "--cost", "-", stdin=TIMES).stdout.splitlines()[1:-1]
    assert [row.split()[0] for row in rows] == ["times/(match)", "times/never", "times/night", "times/odd"]
    for row, words in zip(rows, ["once a request", "constant", "once a request", "in part one node at a time"]):
        assert words in row


def test_check_print_cel(run, files):
    result = run("check", "--print-cel", files / "good.yaml")
    assert result.returncode == FINE and result.stderr == ""
    parts = result.stdout.split("\n\n")
    assert parts[0] == "// zones: filter zone (nodeLabels)\nnode.metadata.labels[?'zone'].orValue('') in ['a', 'b']"
    assert [part.splitlines()[0] for part in parts[1:-1]] == [
        "// zones: filter room (headroom)",
        "// zones: score near (nodeLabelPreference)",
        "// zones: score pack (binPack)",
        "// trial: filter disk (nodeLabels)",
    ]
    verbose = run("check", "--print-cel", "-v", files / "good.yaml").stdout
    assert "// zones: message of zone (nodeLabels)\n'label zone is '" in verbose
    assert [p for p in verbose.split("\n\n") if "message of" not in p] == parts


def test_print_cel_is_valid_policy_text(run, files):
    """Each printed text is valid as an expression of a policy, and is printed unchanged again."""
    parts = run("check", "--print-cel", REPOSITORY / "examples/every-rule.yaml").stdout.split("\n\n")[:-1]
    assert len(parts) > 20
    for part in parts:
        head, text = part.split("\n")
        rules = "filters" if ": filter " in head else "scores"
        policy = ("apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: p}\n"
                  "spec:\n  metrics: [{name: load, prometheus: {query: q}}]\n"
                  f"  {rules}:\n    - name: r\n      expression: |-\n        {text}\n")
        result = run("check", "--print-cel", "-", stdin=policy)
        assert result.returncode == FINE, result.stderr
        assert result.stdout.splitlines()[1] == text


def test_print_cel_reports_errors(run, files):
    result = run("check", "--print-cel", files / "bad.yaml")
    assert result.returncode == FAILED and result.stdout == ""
    assert "3 errors" in result.stderr
    result = run("check", "--print-cel", "-", stdin=TIMES + "    - {name: w, expression: 'true'}\n")
    assert result.returncode == FINE and "1 warning" in result.stderr and "warning" not in result.stdout


def test_check_json(run, files):
    result = run("check", "-o", "json", files / "good.yaml")
    assert result.returncode == FINE and result.stderr == ""
    report = json.loads(result.stdout)
    assert (report["ok"], report["errors"], report["warnings"], report["messages"]) == (True, 0, 0, [])
    assert report["rules"][1].pop("message").startswith("'cpu: ' + amount(")
    assert report["rules"][1] == {
        "policy": "zones",
        "type": "filter",
        "rule": "room",
        "kind": "headroom",
        "expression": "node.free.milliCPU >= pod.requests.milliCPU + 1000.0",
        "computed": "for pod and node",
        "oneNodeAtATime": False,
        "maxCost": report["rules"][1]["maxCost"],
        "counting": {
            "exact": None,
            "text": "exact if berth binds (--bind) or with narrow: {to: 1}; else a burst can exceed limits",
        },
    }
    assert all("counting" not in rule for rule in report["rules"] if rule["rule"] != "room")
    matching = GOOD.replace("spec:\n  filters", "spec:\n  match: {expression: pod.spec.priority > 1}\n  filters")
    match = json.loads(run("check", "-o", "json", "-", stdin=matching).stdout)["rules"][0]
    assert (match["type"], match["rule"], match["kind"]) == ("match", "", "expression")
    assert (match["expression"], match["computed"]) == ("pod.spec.priority > 1", "once a request")
    path = files / "bad.yaml"
    result = run("check", "--output", "json", path)
    assert result.returncode == FAILED and result.stderr == ""
    report = json.loads(result.stdout)
    assert (report["ok"], report["errors"], report["rules"]) == (False, 3, [])
    assert report["messages"][0] == {
        "level": "error",
        "file": str(path),
        "line": 5,
        "column": 3,
        "width": 7,
        "text": 'unknown field "filtres" in spec',
        "hint": 'did you mean "filters"?',
    }
    assert json.loads(run("check", "-o", "json", "/nonexistent/x").stdout)["ok"] is False
    assert run("check", "-o", "xml", path).returncode == USAGE


@pytest.mark.parametrize("flag, begin", [("--json-schema", "{"), ("--crd", "# Written by `berth check --crd`"), ("--format", "### A policy"), ("--fields", "| variable")])
def test_check_pages(run, flag, begin):
    result = run("check", flag)
    assert result.returncode == FINE and result.stderr == ""
    assert result.stdout.startswith(begin)


def test_check_accepts_shipped_policies(run):
    paths = sorted((REPOSITORY / "policies").glob("*.yaml"))
    assert paths
    for path in paths:
        result = run("check", path)
        assert result.returncode == FINE, result.stdout


def test_control_characters_do_not_reach_the_terminal(run):
    result = run("check", "-", stdin=GOOD.replace("mode: Observe", 'mode: "\\e]0;x\\a\\u009b"'))
    assert result.returncode == FAILED
    assert "mode must be Enforce or Observe" in result.stdout
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", result.stdout)


# --- colour ---

COLOUR = "\033["


def test_no_colour_when_piped(run, files):
    for env in ({}, {"TERM": "xterm-256color"}, {"NO_COLOR": "1"}):
        assert COLOUR not in run("check", files / "bad.yaml", env=env).stdout
        assert COLOUR not in explain(run, files, env=env).stdout


@pytest.mark.parametrize("no_color", [None, "", "1"])
def test_colour_on_a_terminal(berth_path, files, no_color):
    """https://no-color.org: a non-empty value disables colours."""
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"}
    if no_color is not None:
        env["NO_COLOR"] = no_color
    check = [berth_path, "check", files / "bad.yaml"]
    table = [berth_path, "explain", *flags(files)]
    for command in (check, table, [*table, "--node", "n3"]):
        coloured = run_on_terminal(command, env)
        assert (COLOUR in coloured) == (no_color != "1")
        # The same text, apart from the colours.
        plain = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE).stdout
        assert re.sub(r"\033\[[0-9;]*m", "", coloured) == plain
    assert COLOUR not in run_on_terminal([*table, "-o", "json"], env)


# --- berth explain: where it reads from; what it tells is in test_explain.py ---


def flags(files, cluster="cluster.yaml", pod="pod.yaml", policy="good.yaml"):
    return [
        *("--cluster", str(files / cluster)),
        *("--pod", str(files / pod)),
        *("--policy", str(files / policy)),
    ]


def explain(run, files, *more, **options):
    names = {key: options.pop(key) for key in ("cluster", "pod", "policy") if key in options}
    return run("explain", *flags(files, **names), *more, **options)


def test_explain_reads_json_and_yaml_alike(run, files):
    """YAML and JSON, Lists and documents one after another, files and standard input."""
    node = '{"kind": "Node", "metadata": {"name": "%s", "labels": {"zone": "%s"}}, '
    node += '"status": {"allocatable": {"cpu": "4"}}}'
    nodes = [node % ("n1", "a"), node % ("n2", "c")]
    pod = '{"kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": []}}'
    clusters = {
        "list.json": '{"kind": "List", "items": [%s]}' % ", ".join(nodes),
        "nodes.json": '{"kind": "NodeList", "items": [%s]}'
        % ", ".join(n.replace('"kind": "Node", ', "") for n in nodes),
        "list.yaml": "kind: List\nitems:\n" + "".join(f"  - {n}\n" for n in nodes),
        "documents.yaml": "---\n" + "\n---\n".join(nodes),
        "comment.yaml": "# a comment first\n---\n" + "\n---\n".join(nodes),
    }
    (files / "pod.json").write_text(pod)
    (files / "pod2.yaml").write_text("kind: Pod\nmetadata: {name: web}\nspec: {containers: []}\n")
    outputs = set()
    for name, text in clusters.items():
        (files / name).write_text(text)
        for pod_file in ("pod.json", "pod2.yaml"):
            result = explain(run, files, cluster=name, pod=pod_file)
            assert result.returncode == FINE, (name, result.stderr)
            outputs.add(result.stdout)
    arguments = flags(files, cluster="list.json")
    arguments[3] = "-"
    outputs.add(run("explain", *arguments, stdin=pod).stdout)
    assert len(outputs) == 1
    assert "1 of 2 nodes pass" in outputs.pop()


def test_explain_without_policy(run, files):
    result = run("explain", *flags(files)[:4])
    assert result.returncode == FINE
    assert "none applies to this pod" in result.stdout
    assert "4 of 4 nodes pass" in result.stdout


@pytest.mark.parametrize(
    "role, name, text, place",
    [
        ("cluster", "c.json", None, "c.json: No such file"),
        ("cluster", "c.json", "", "c.json: "),
        ("cluster", "c.json", '{"kind": "List", "items": [\n{]}', "c.json:2:2: "),
        ("cluster", "c.json", '{"kind": "List",\n"items": 7}', "c.json:2:10: "),
        (
            "cluster",
            "c.json",
            '{"kind": "List", "items": [\n{"kind": "Node", "metadata": {"name": 7}}]}',
            "c.json:2:39: ",
        ),
        ("cluster", "c.yaml", "kind: List\nitems: [\n", "c.yaml:"),
        ("cluster", "c.yaml", "kind: List\nitems: []\n", "c.yaml: contains no Node"),
        ("cluster", "c.yaml", "just words", "c.yaml:1:1: "),
        ("pod", "p.json", None, "p.json: No such file"),
        ("pod", "p.json", '{"kind": "Pod", "metadata":\n {"name": 7}}', "p.json:2:11: "),
        ("pod", "p.yaml", "kind: Pod\nmetadata: {name: [\n", "p.yaml:2:18: "),
        ("pod", "p.yaml", "kind: Pod\nmetadata:\n  name: {}\n", "p.yaml:3:9: "),
        ("pod", "p.yaml", "kind: Service\n", "p.yaml: contains no Pod, and no Deployment, "),
        ("pod", "p.yaml", POD + "---\nkind: Job\nmetadata: {name: a}\n", 'p.yaml:8:1: Job "a" has no pod template'),
    ],
)
def test_explain_wrong_files(run, files, role, name, text, place):
    if text is not None:
        (files / name).write_text(text)
    result = explain(run, files, **{role: name})
    # 3 if the file cannot be read, 1 if its content is invalid
    assert result.returncode == (UNREACHABLE if text is None else FAILED)
    assert result.stdout == ""
    assert result.stderr.startswith(f"berth explain: {files}/{place}"), result.stderr
    assert result.stderr.count("\n") == 1


def test_explain_folder_as_a_file(run, files):
    arguments = flags(files)
    arguments[1] = str(files)
    result = run("explain", *arguments)
    assert result.returncode == UNREACHABLE
    assert f"{files}: is a folder, not a file" in result.stderr


def test_explain_bad_policy(run, files):
    result = explain(run, files, policy="bad.yaml")
    assert result.returncode == FAILED and result.stdout == ""
    assert f"{files}/bad.yaml:5:3: error: " in result.stderr
    assert "3 errors" in result.stderr


def test_explain_usage(run, files):
    for arguments in (
        ["explain"],
        ["explain", "--cluster", "x"],
        ["explain", *flags(files), "one", "two"],
        ["explain", "--nonsense"],
        ["explain", "--pod"],
    ):
        result = run(*arguments)
        assert result.returncode == USAGE and result.stdout == ""
        assert "usage: " in result.stderr
    result = run("explain", *flags(files), "-o", "xml")
    assert result.returncode == USAGE and result.stdout == ""
    assert result.stderr == "berth explain: --output xml: expected table, json or yaml\n"


@pytest.mark.parametrize("name, is_file", [("no-such.yaml", True), ("no-such.yml", True),
                                           ("no-such.json", True), ("default/web", False)])
def test_explain_pod_file_without_option(run, files, name, is_file):
    result = run("explain", "--cluster", files / "cluster.json", name)
    assert result.returncode == USAGE and result.stdout == ""
    assert ("is given with --pod FILE" in result.stderr) == is_file
    assert ("is read from the API server" in result.stderr) != is_file


def test_explain_pod_file_of_any_name_without_option(run, files):
    (files / "pod").write_text("{}")
    result = run("explain", "--cluster", files / "cluster.json", files / "pod")
    assert result.returncode == USAGE and "is given with --pod FILE" in result.stderr


# --- berth serve ---


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["--nonsense"], "--nonsense"),
        (["nonsense"], 'unexpected argument "nonsense"'),
        (["--listen", "8080"], "expected ADDRESS:PORT"),
        (["--listen", "example.com:80"], "numeric address"),
        (["--listen", "127.0.0.1:65536"], "expected ADDRESS:PORT"),
        (["--listen", "127.0.0.1:-1"], "expected ADDRESS:PORT"),
        (["--listen", "127.0.0.1:"], "expected ADDRESS:PORT"),
        (["--pages-listen", "8081"], "--pages-listen 8081: expected ADDRESS:PORT"),
        (["--workers", "0"], "from 1 to"),
        (["--workers", "two"], "from 1 to"),
        (["--max-body", "lots"], "a size like"),
        (["--max-body", "-1"], "a size like"),
        (["--max-body", "1Gi", "--max-memory", "1Mi"], "--max-memory must be at least"),
        (["--idle-timeout", "1.5"], "whole number"),
        (["--log-level", "loud"], "debug, info, warn or error"),
        (["--log-format", "xml"], "logfmt or json"),
        (["--tls-cert", "x"], "--tls-cert and --tls-key go together"),
        (["--tls-key", "x"], "--tls-cert and --tls-key go together"),
        (["--client-ca", "x"], "--client-ca needs"),
        (["--client-name", "x"], "--client-name needs --client-ca"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_serve_usage(run, arguments, text):
    result = run("serve", *arguments)
    assert result.returncode == USAGE and result.stdout == ""
    assert text in result.stderr


def test_serve_bad_policy(run, files):
    path = files / "bad.yaml"
    result = run("serve", "--listen", "127.0.0.1:0", "--policy", path)
    assert result.returncode == FAILED and result.stdout == ""
    for place in (":5:3", ":7:20", ":13:9"):
        assert f"{path}{place}: error: " in result.stderr
    assert 'did you mean "filters"?' in result.stderr
    assert "3 errors" in result.stderr


def test_serve_missing_files(run):
    result = run("serve", "--listen", "127.0.0.1:0", "--policy", "/nonexistent/p.yaml")
    assert result.returncode == UNREACHABLE and result.stdout == ""
    assert "/nonexistent/p.yaml: No such file" in result.stderr
    result = run("serve", "--listen", "127.0.0.1:0", "--cluster", "/nonexistent/c.json")
    assert result.returncode == UNREACHABLE and result.stdout == ""
    assert "/nonexistent/c.json: No such file" in result.stderr


def test_serve_port_in_use(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("serve", "--listen", f"127.0.0.1:{port}")
    assert result.returncode == UNREACHABLE and result.stdout == ""
    assert f"port {port}" in result.stderr and "in use" in result.stderr


def test_plain_http_beyond_loopback_needs_a_flag(run, start_logged, berth_path):
    """Any client that reaches the port could control where pods go."""
    for address in ("0.0.0.0:0", ":0", "[::]:0"):
        result = run("serve", "--listen", address)
        assert result.returncode == FAILED and result.stdout == ""
        assert "--insecure-http" in result.stderr and "--tls-cert" in result.stderr

    command = [berth_path, "serve", "--listen", "0.0.0.0:0", "--insecure-http"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as proc:
        match = re.fullmatch(r"listening on http://0\.0\.0\.0:(\d+)\n", proc.stdout.readline())
        assert match
        with socket.create_connection(("127.0.0.1", int(match[1])), PATIENCE) as sock:
            sock.sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert sock.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n"
        proc.send_signal(signal.SIGTERM)
        log = proc.stderr.read()
        assert proc.wait(PATIENCE) == FINE
    # Other warnings may be about the sandbox, which qemu does not support.
    [warning] = [line for line in log.splitlines() if "INSECURE" in line]
    assert " level=warn " in warning
    # No warnings on loopback.
    assert "INSECURE" not in start_logged().log.read_text()


@pytest.mark.parametrize("address, shown", [("localhost:0", "127.0.0.1"), ("[::1]:0", "[::1]")])
def test_serve_prints_its_address(berth_path, address, shown):
    if shown == "[::1]" and not pathlib.Path("/proc/net/if_inet6").exists():
        pytest.skip("no IPv6 here")
    command = [berth_path, "serve", "--listen", address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as proc:
        line = proc.stdout.readline()
        proc.send_signal(signal.SIGTERM)
        assert proc.wait(PATIENCE) == FINE
        rest = proc.stdout.read()
    url = re.fullmatch(rf"listening on (http://{re.escape(shown)}:\d+)\n", line)[1]
    assert rest == f"dashboard at {url}/\n"


def test_serve_log_level(start_logged):
    """The log has the lines for its level."""
    quiet, loud = start_logged("--log-level", "error"), start_logged("--log-level", "debug")
    for berth in (quiet, loud):
        assert get(berth, "/readyz").status == 200
        assert berth.stop() == FINE
    assert quiet.log.read_text() == ""
    assert "shutting down" in loud.log.read_text()


def test_full_disk_is_an_error(berth_path, files):
    """Output that could not be written is not a success."""
    with open("/dev/full", "w") as full:
        for command in (["check", files / "good.yaml"], ["explain", *flags(files)]):
            proc = subprocess.run(
                [berth_path, *command], stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE
            )
            assert proc.returncode == UNREACHABLE


def test_explain_shows_hostile_text_escaped(run, tmp_path):
    """Names and labels are untrusted: they must not control a terminal."""
    nodes = [
        {"kind": "Node", "metadata": {"name": "\x1b[31mred", "labels": {"zone": "\x1b[2J\u202e"}}},
        {"kind": "Node", "metadata": {"name": "plain", "labels": {"zone": "a"}}},
    ]
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": nodes}))
    (tmp_path / "p.json").write_text(json.dumps({"kind": "Pod", "metadata": {"name": "\x1b]0;x"}}))
    (tmp_path / "policy.yaml").write_text(
        "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: x}\n"
        "spec: {filters: [{name: z, nodeLabels: {zone: a}}]}\n")
    flags = ["--cluster", tmp_path / "c.json", "--pod", tmp_path / "p.json",
             "--policy", tmp_path / "policy.yaml"]
    for more in ([], ["--all"], ["--node", "\x1b[31mred"]):
        result = run("explain", *flags, *more)
        assert result.returncode == FINE, result.stderr
        assert "\x1b" not in result.stdout and "\u202e" not in result.stdout
        assert "\\x1b[31mred" in result.stdout
    nodes.append(nodes[0])
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": nodes}))
    result = run("explain", *flags)
    assert result.returncode == FAILED
    assert "\x1b" not in result.stderr and "two nodes named" in result.stderr
