"""An input of n bytes uses at most 1 MiB + 100 × n bytes of memory, in every command and endpoint (docs/limits.md has the exception).

Each parser gets its worst known inputs: nesting, repetition, many keys, long keys, tiny objects,
compressed zeros. A command is compared with itself and a trivial input of the same kind; a daemon
with itself before the request, and must return the memory afterwards. (Replies of servers:
test/faults/test_fault_memory.py.)
"""

import gzip
import io
import json
import os
import random
import subprocess
import sys
import tarfile

import pytest

from client import FINE, IS_SANITIZED, REPOSITORY, ask, pages_of, wait_until, write_cluster
from large_inputs import JSON, MIB, NODE, POD, kube_list, limit_of, memory_of, reset_peak, times

pytestmark = pytest.mark.skipif(
    IS_SANITIZED, reason="a sanitizer needs more memory, and keeps what is freed"
)

EXAMPLES = REPOSITORY / "examples"

# Starts the command from a small process, because Linux includes the parent's memory at exec() in the
# child's peak.
LAUNCHER = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
status, usage = os.wait4(pid, 0)[1:]
print(usage.ru_maxrss * 1024, os.waitstatus_to_exitcode(status), file=sys.stderr)
"""


YAML = {
    "open mappings": times("{a: "),
    "open mappings without blanks": times("{a:"),
    "open sequences": times("["),
    "open sequences in a block": "- " + times("["),
    "nested brackets": "[" + times("[" * 60 + "]" * 60 + ",") + "]",
    "flow items": "[" + times("a,") + "]",
    "flow items in a block": "- [" + times("a,") + "]",
    "flow items of a key": "a: [" + times("a,") + "]",
    "flow items before an anchor": "[" + times("a,") + "&a b]",
    "flow keys": "{" + times("{},") + "}",
    "flow pairs": "{" + times("{}: b,") + "}",
    "flow pairs in a block": "- {" + times("{}: b,") + "}",
    "flow colons": "[" + times(": "),
    "flow keys without names": "{" + times(":,"),
    "flow question marks": "[" + times("? "),
    "flow strings": "[" + times('"",') + "]",
    "flow strings without commas": "- [" + times('"a"'),
    "flow dashes": "- [" + times("- "),
    "flow aliases": "[" + times("*a,") + "]",
    "flow lists in lines": times("- [a,b,c]\n"),
    "pairs": times("{}: b\n"),
    "pairs of items": times("- a: b\n"),
    "items": times("- \n"),
    "dashes": times("-\n"),
    "nested dashes": times("- " * 60 + "a\n"),
    "nested question marks": times("? " * 60 + "a\n"),
    "question marks": times("? {}\n"),
    "empty keys": times(":\n"),
    "tags": times("- !!str a\n"),
    "tags of one value": times("!!a "),
    "anchors": times("- &a a\n"),
    "anchors of one value": times("&a "),
    "directives": times("%A\n"),
    "long directive": times("%"),
    "documents": times("---\n"),
    "documents with errors": times("- [\n---\n"),
    "comments": times("#\n"),
    "tabs": times("\t\n"),
    "plain scalar": times("a "),
    "lines of a plain scalar": "a: " + times("b\n "),
    "string": '"' + times("\\n") + '"',
    "lines of a string": '"' + times("\n") + '"',
    "long key": times("a") + ": b",
    "long quoted key": '"' + times("a") + '": b',
    "block scalars": times("- |\n"),
    "duplicate keys": times("a: b\n"),
}

CLUSTERS = {
    "nodes": kube_list(NODE % ("{}", "", "")),
    "pods": kube_list(POD % ("{}", "", "")),
    "bound pods": kube_list(POD % ("{}", "", '"nodeName":"a"')),
    "labels": kube_list(NODE % ("a", ',"labels":{%s"b":""}' % times('"{}":"",'), "")),
    "annotations": kube_list(NODE % ("a", ',"annotations":{%s"b":""}' % times('"{}":"",'), "")),
    "taints": kube_list(NODE % ("a", "", ',"spec":{"taints":[%s{}]}' % times('{"key":"{}"},'))),
    "resources": kube_list(
        NODE % ("a", "", ',"status":{"allocatable":{%s"cpu":1}}' % times('"{}":1,'))
    ),
    "images": kube_list(
        NODE % ("a", "", ',"status":{"images":[%s{}]}' % times('{"names":["{}"]},'))
    ),
    "containers": kube_list(POD % ("a", "", '"containers":[%s{}]' % times("{},"))),
    "tolerations": kube_list(POD % ("a", "", '"tolerations":[%s{}]' % times("{},"))),
    "yaml nodes": times("---\nkind: Node\nmetadata: {name: a{}}\n"),
}

TRACES = {
    "lines": times('{"pod":{"metadata":{"name":"{}"}}}\n'),
    "many times": times('{"count":9,"pod":{"metadata":{"name":"{}"}}}\n'),
    "yaml": times("- {pod: {metadata: {name: a{}}}}\n"),
}


def bundle(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo("berth-bundle/" + name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text if isinstance(text, bytes) else text.encode()))
    return out.getvalue()


def padded(files):
    """A bundle that unpacks to at most 16 times its size, so that berth reads it."""
    size = sum(len(text) + 512 for text in files.values())
    return bundle(files | {"padding": random.Random(1).randbytes(size // 14)})


ABOUT = '{"bundle":1,"berth":"1","madeNsec":1,"cluster":"whole","policies":[]}'
SCENE = '{"scene":0,"generation":1}\n'

# Functions: to compress these takes seconds.
BUNDLES = {
    "zeros": lambda: gzip.compress(bytes(200 * MIB), 9),
    "zeros in many members": lambda: gzip.compress(bytes(MIB), 9) * 100,
    "a file of zeros": lambda: bundle({"about.json": ABOUT, "status.json": "\0" * 100 * MIB}),
    "many files": lambda: padded({"about.json": ABOUT} | {f"f{i}": "" for i in range(4000)}),
    "a large about.json": lambda: padded({"about.json": '{"policies":[' + "{}," * 3_000_000}),
    "pods": lambda: padded({"about.json": ABOUT, "pods.jsonl": "{}\n" * 3_000_000}),
    "decisions": lambda: padded({"about.json": ABOUT, "decisions.jsonl": "{}\n" * 3_000_000}),
    "a long decision": lambda: padded({"about.json": ABOUT, "decisions.jsonl": '{"asked":[' + "[0,1]," * 1_000_000}),
    "nodes": lambda: padded(
        {
            "about.json": ABOUT,
            "changes.jsonl": SCENE,
            "cluster.json": kube_list(NODE % ("{}", "", "")),
        }
    ),
}

POLICY = """
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: p}
spec:
  filters: [{name: f, expression: "node.ready"}]
"""

SUITE = f"policies: {EXAMPLES / 'policy.yaml'}\n"
SUITE_CASE = "cases: [{name: a, expect: {best: a}}]\n"
SUITES = {
    "nodes": SUITE + "nodes:\n" + times("  a{}: {ready: true}\n") + "cases: [{name: a, expect: {nodes: {'*': rejected}}}]\n",
    "pods": SUITE + "nodes: {a: {}}\npods:\n" + times("  - {on: a}\n") + SUITE_CASE,
    "objects": SUITE + "nodes: {a: {}}\nobjects:\n" + times("  - {kind: Namespace, metadata: {name: a{}}}\n") + SUITE_CASE,
    "cases": SUITE + "nodes: {a: {}}\ncases:\n" + times("  - {name: a, pod: {annotations: {n: {}}}, expect: {nodes: {a: rejected}}}\n"),
    "cases with mistakes": SUITE + "nodes: {a: {}}\ncases:\n" + times("  - {name: a}\n"),
    "ranking": SUITE + "nodes: {a: {}}\ncases:\n  - name: a\n    expect:\n      ranking:\n" + times("        - a\n"),
}

CLUSTER = EXAMPLES / "cluster.yaml"
KUBECONFIG_ARGS = ("explain", "--kubeconfig", "FILE", "--policy", EXAMPLES / "policy.yaml", "a/b")
EXPLAIN_CLUSTER = ("explain", "--cluster", "FILE", "--pod", EXAMPLES / "pod.yaml")
EXPLAIN_POD = ("explain", "--cluster", CLUSTER, "--pod", "FILE")
SOURCES_ARGS = (*EXPLAIN_POD[:-1], EXAMPLES / "pod.yaml", "--sources", "FILE")
METRICS_ARGS = (*EXPLAIN_POD[:-1], EXAMPLES / "pod.yaml", "--metrics", "FILE")

# A command, a trivial input, and the inputs.
COMMANDS = {
    "policy": (("check", "FILE"), POLICY, YAML | JSON),
    "cluster": (EXPLAIN_CLUSTER, '{"kind":"List","items":[]}', CLUSTERS | JSON),
    "cluster as YAML": (EXPLAIN_CLUSTER, "kind: List\nitems: []\n", YAML),
    "pod": (EXPLAIN_POD, "metadata: {name: a}\n", JSON),
    "pods": (
        ("simulate", "--cluster", CLUSTER, "--pods", "FILE", "--until", "1"),
        "metadata: {name: a}\n",
        JSON,
    ),
    "trace": (
        ("simulate", "--cluster", CLUSTER, "--trace", "FILE", "--until", "1", "--no-baseline"),
        "[]\n",
        TRACES | JSON,
    ),
    "data": (("eval", "--data", "FILE", "1"), "a: 1\n", JSON),
    "batch": (("eval", "--batch", "FILE"), "{}\n", JSON | {"lines": times("{}\n")}),
    "expression": (
        ("eval", "--file", "FILE"),
        "1",
        {"brackets": times("["), "list": "[" + times("1,") + "1]", "sum": times("1+") + "1"},
    ),
    "configuration of kube-scheduler": (
        ("check", "--offline", "FILE"),
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
        JSON,
    ),
    "kubeconfig": (KUBECONFIG_ARGS, "kind: Config\n", JSON),
    "sources": (SOURCES_ARGS, "{}\n", JSON),
    "metrics": (METRICS_ARGS, "metrics: {}\n", JSON),
    "bundle": (("what-if", "--bundle", "FILE"), b"x", BUNDLES),
    "test file": (("test", "FILE"), SUITE + "nodes: {a: {}}\n" + SUITE_CASE, SUITES | JSON),
}

CASES = [(kind, name) for kind, (_, _, inputs) in COMMANDS.items() for name in inputs]


def peak_of(berth_path, words, path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    command = [str(path) if word == "FILE" else str(word) for word in words]
    result = subprocess.run(
        [sys.executable, "-ISc", LAUNCHER, berth_path, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=300,
        check=True,
    )
    peak, status = result.stderr.split(b"\n")[-2].split()
    assert 0 <= int(status) <= 3, result.stderr
    return int(peak), result.stderr


@pytest.fixture(scope="module")
def baselines():
    return {}


@pytest.mark.parametrize("kind, name", CASES)
def test_command_needs_little_memory(berth_path, tmp_path, baselines, kind, name):
    words, trivial, inputs = COMMANDS[kind]
    if kind not in baselines:
        baselines[kind] = peak_of(berth_path, words, tmp_path / "trivial", trivial)[0]
    text = inputs[name]() if callable(inputs[name]) else inputs[name]
    peak, errors = peak_of(berth_path, words, tmp_path / "input", text)
    cost = peak - baselines[kind]
    assert b"unpacked it is larger" not in errors or "zeros" in name, errors
    limit = limit_of(os.path.getsize(tmp_path / "input"))
    assert cost <= limit, f"{cost / MIB:.1f} MiB, and {limit / MIB:.1f} are allowed"


# --- the daemon ---


def args(nodes="", pod="", names=""):
    spec = '{"metadata":{"name":"p","namespace":"d","uid":"u"},"spec":{%s}}' % pod
    return '{"Pod":%s,"Nodes":%s,"NodeNames":%s}' % (
        spec,
        '{"items":[%s]}' % nodes if nodes else "null",
        "[%s]" % names if names else "null",
    )


VERBS = JSON | {
    "node names": args(names=times('"{}",') + '"zz"'),
    "the same node name": args(names=times('"a",') + '"a"'),
    "tiny nodes": args(nodes=times('{"metadata":{"name":"{}"}},') + "{}"),
    "empty nodes": args(nodes=times("{},") + "{}"),
    "labels of a node": args(
        nodes='{"metadata":{"name":"a","labels":{%s"b":""}}}' % times('"{}":"",')
    ),
    "resources of a node": args(
        nodes='{"status":{"allocatable":{%s"cpu":1}}}' % times('"{}":1,')
    ),
    "containers": args(names='"a"', pod='"containers":[%s{}]' % times("{},")),
    "tolerations": args(names='"a"', pod='"tolerations":[%s{}]' % times("{},")),
    "victims": '{"Pod":{"metadata":{"name":"p"}},"NodeNameToMetaVictims":{%s"z":{}}}'
    % times('"{}":{"Pods":[{}]},'),
}


def what_if(text):
    return json.dumps({"policies": [{"name": "p.yaml", "text": text}]})


ENDPOINTS = {
    **{
        verb: ("/" + verb, "application/json", VERBS)
        for verb in ("filter", "prioritize", "preempt", "bind")
    },
    "what-if": (
        "/api/v1/what-if",
        "application/json",
        JSON
        | {
            "policies": '{"policies":[%s{}]}' % times("{},"),
            "settings": '{"set":{%s"z":1}}' % times('"{}":1,'),
            "escaped policy": what_if(times("\n")),
        },
    ),
    "what-if of YAML": ("/api/v1/what-if", "application/yaml", YAML | JSON),
}

REQUESTS = [(name, case) for name, (_, _, inputs) in ENDPOINTS.items() for case in inputs]


@pytest.fixture(scope="module")
def daemon(start_shared, tmp_path_factory):
    folder = tmp_path_factory.mktemp("daemon")
    (folder / "policy.yaml").write_text(POLICY)
    write_cluster(folder / "cluster.json", [{"metadata": {"name": "a"}}])
    return start_shared("--policy", folder / "policy.yaml", "--cluster", folder / "cluster.json")


@pytest.mark.parametrize("endpoint, case", REQUESTS)
def test_request_needs_little_memory(daemon, endpoint, case):
    path, content_type, inputs = ENDPOINTS[endpoint]
    body = inputs[case].encode()
    ask(daemon, "POST", path, b"{}", {"Content-Type": content_type})
    before = reset_peak(daemon.proc.pid)
    ask(daemon, "POST", path, body, {"Content-Type": content_type})
    cost = memory_of(daemon.proc.pid, "VmHWM") - before
    limit = limit_of(len(body))
    assert cost <= limit, f"{cost / MIB:.1f} MiB, and {limit / MIB:.1f} are allowed"


def test_memory_is_given_back(start_berth):
    """After a what-if all of its memory is returned."""
    berth = start_berth()
    ask(berth, "POST", "/api/v1/what-if", b"a: b", {"Content-Type": "application/yaml"})
    before = memory_of(berth.proc.pid, "VmRSS")
    for name in ("open sequences in a block", "flow items of a key", "pairs", "nested brackets"):
        body = YAML[name].encode()
        ask(berth, "POST", "/api/v1/what-if", body, {"Content-Type": "application/yaml"})
    wait_until(lambda: memory_of(berth.proc.pid, "VmRSS") < before + 8 * MIB, "memory to be given back")


PADDED = b"""apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: a}
spec: {filters: [{name: ready, nodeReady: true}]}
#"""


@pytest.mark.parametrize(
    "flags, on_pages, largest",
    [
        (["--max-memory", "16Mi", "--max-body", "8Mi"], False, 134_965),
        (["--max-memory", "1Gi"], False, 4 * MIB),
        (["--max-memory", "16Mi", "--max-body", "8Mi"], True, 1_297_742),
        (["--max-memory", "2Gi"], True, 4 * MIB),
    ],
)
def test_what_if_fits_the_limit_or_never(start_berth, flags, on_pages, largest):
    """100 bytes of memory may be needed for a byte. A body that can never be read gets 413, which says what
    fits; every other one is read by an idle berth, and what was counted for it is released."""
    berth = start_berth(*flags, "--pages-listen", "127.0.0.1:0")
    listener = pages_of(berth) if on_pages else berth

    def ask_with(size):
        headers = {"Content-Type": "application/yaml"}
        return ask(listener, "POST", "/api/v1/what-if", PADDED.ljust(size, b"a"), headers)

    for _ in range(3):
        reply = ask_with(largest)
        assert reply.status == 200, reply.text
    reply = ask_with(largest + 1)
    assert reply.status == 413
    assert f"{largest} are allowed" in reply.error()
    assert ("--max-memory" in reply.error()) == (largest < 4 * MIB)


def flow(value):
    """YAML in flow style, keys without quotes, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return json.dumps(value)


def test_largest_policies_are_read(outcome_of, tmp_path):
    """1,000 filters and 1,000 scores, in every style."""
    policy = {
        "apiVersion": "berth.dev/v1alpha1",
        "kind": "PlacementPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "filters": [
                {"name": f"f{i}", "expression": f"node.ready && node.free.cpu > {i}.0"}
                for i in range(1000)
            ],
            "scores": [
                {"name": f"s{i}", "expression": f"node.free.cpu * {i}.0"} for i in range(1000)
            ],
        },
    }
    spec = policy.pop("spec")
    styles = {
        "json": json.dumps(policy | {"spec": spec}),
        "compact": json.dumps(policy | {"spec": spec}, separators=(",", ":")),
        "indented": json.dumps(policy | {"spec": spec}, indent=1),
        "document": "---\n" + json.dumps(policy | {"spec": spec}) + "\n",
        "flow": flow(policy | {"spec": spec}),
        "spec": flow(policy)[1:-1].replace(", ", "\n", 2).replace("}, ", "}\n")
        + "\nspec: "
        + flow(spec),
        "lists": flow(policy)[1:-1].replace(", ", "\n", 2)
        + "\nspec:\n  filters: "
        + flow(spec["filters"])
        + "\n  scores: "
        + flow(spec["scores"]),
        "lines": flow(policy)[1:-1].replace(", ", "\n", 2)
        + "\nspec:\n  filters:\n"
        + "".join(f"  - {flow(rule)}\n" for rule in spec["filters"])
        + "  scores:\n"
        + "".join(f"  - {flow(rule)}\n" for rule in spec["scores"]),
    }
    for name, text in styles.items():
        path = tmp_path / f"{name}.yaml"
        path.write_text(text)
        code, out, err = outcome_of("check", path)
        assert code == FINE, (name, out[-500:], err[-500:])
