"""`berth simulate`: output formats, usage errors, and differences between policies."""

import json
import os
import pty
import re
import signal
import subprocess
import time

import pytest

from client import FAILED, FINE, PATIENCE, UNREACHABLE, USAGE

HEAD = "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\n"
PACK = HEAD + "metadata: {name: pack}\nspec:\n  scores: [{name: pack, binPack: {cpu: 1}}]\n"
SPREAD = HEAD + "metadata: {name: even}\nspec:\n  scores: [{name: even, spread: {cpu: 1}}]\n"
CLOSED = (
    HEAD + "metadata: {name: closed}\nspec:\n"
    "  filters: [{name: gate, nodeLabels: {open: 'yes'}, reason: the gate is closed}]\n"
)


def node(name, cpu="4", **spec):
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": spec,
        "status": {
            "allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "20"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(name, cpu="500m", on=None, **spec):
    container = {"name": "main", "image": "example.com/none",
                 "resources": {"requests": {"cpu": cpu, "memory": "256Mi"}}}
    if on:
        spec["nodeName"] = on
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "apps"},
            "spec": {"containers": [container], **spec}}


def list_of(*items):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)})


@pytest.fixture
def files(tmp_path):
    """Writes a file and returns its path."""

    def write(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def cluster(files):
    return files("cluster.json", list_of(*(node(f"node-{i}") for i in range(4))))


@pytest.fixture
def trace(files):
    """A trace with sixteen temporary pods, then four that stay."""
    lines = [
        {"at": 0, "lifetime": 50, "count": 16, "pod": pod("short")},
        {"at": 60, "count": 4, "pod": pod("long")},
    ]
    return files("trace.jsonl", "".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def run(berth_path):
    def run(*args, code=FINE, text=None):
        done = subprocess.run([berth_path, "simulate", *map(str, args)], input=text,
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == code, done.stderr + done.stdout
        return done

    return run


def outcomes(done):
    return {policy["name"]: policy for policy in json.loads(done.stdout)["policies"]}


# --- results -----------------------------------------------------------------


def test_packing_empties_nodes_that_spreading_does_not(run, files, cluster, trace):
    done = run("--cluster", cluster, "--trace", trace, "-o", "json",
               "--policy", files("pack.yaml", PACK), "--policy", files("even.yaml", SPREAD))
    seen = outcomes(done)
    assert list(seen) == ["none", "pack", "even"]
    for outcome in seen.values():
        assert outcome["placed"] == 20 and outcome["pending"] == 0 and outcome["ended"] == 16
        assert outcome["complete"] is True
    assert seen["pack"]["nodesInUse"]["end"] == 1
    assert seen["even"]["nodesInUse"]["end"] == 4
    assert seen["pack"]["nodesEmptied"] == 1 and seen["even"]["nodesEmptied"] == 0
    assert seen["pack"]["nodesInUse"]["mean"] < seen["even"]["nodesInUse"]["mean"]
    assert seen["pack"]["cpu"]["deviation"] > seen["even"]["cpu"]["deviation"]
    assert seen["pack"]["moves"] > 0 and seen["none"]["moves"] == 0
    assert 0 < seen["pack"]["scoreMean"] <= 10 and "scoreMean" not in seen["none"]
    # Pods of the size of a node fit on empty nodes.
    shape = run("--cluster", cluster, "--trace", trace, "-o", "json", "--shape", "cpu=4",
                "--policy", files("pack.yaml", PACK))
    assert [outcome["fits"][0]["pods"] for outcome in outcomes(shape).values()] == [0, 3]


def test_the_same_seed_gives_the_same_bytes(run, cluster, trace):
    args = ("--cluster", cluster, "--trace", trace, "-o", "json", "--all")
    first = run(*args).stdout
    assert first == run(*args).stdout
    seeds = {run(*args, "--seed", seed).stdout for seed in range(2, 6)}
    assert seeds != {first}


def test_a_policy_may_be_a_folder_and_standard_input_has_pods(run, cluster, tmp_path):
    folder = tmp_path / "both"
    folder.mkdir()
    (folder / "a.yaml").write_text(PACK)
    (folder / "b.yaml").write_text(CLOSED)
    done = run("--cluster", cluster, "--pods", "-", "--policy", folder, "-o", "json",
               text=list_of(pod("one"), pod("two")))
    seen = outcomes(done)
    assert seen["none"]["placed"] == 2
    assert seen["both"]["pendingReasons"] == [
        {"reason": "closed/gate: the gate is closed", "pods": 2}]


def test_reasons_are_kube_schedulers(run, files):
    taint = {"key": "own", "effect": "NoSchedule"}
    cluster = files("cluster.json", list_of(node("a", taints=[taint]), node("b", taints=[taint])))
    pods = files("pods.json", list_of(
        pod("repelled"), pod("large", cpu="9", tolerations=[{"operator": "Exists"}])))
    table = run("--cluster", cluster, "--pods", pods).stdout
    assert "node(s) had untolerated taint(s)" in table
    assert "Insufficient cpu" in table
    seen = outcomes(run("--cluster", cluster, "--pods", pods, "-o", "json"))["none"]
    assert seen["placed"] == 0 and seen["pending"] == 2
    assert {reason["pods"] for reason in seen["pendingReasons"]} == {1}


def test_running_pods_are_placed_again(run, files):
    running = [pod(f"pod-{i}", on="node-0") for i in range(4)]
    cluster = files("cluster.json", list_of(*(node(f"node-{i}") for i in range(4)), *running))
    pods = files("pods.json", list_of(*running))
    done = run("--cluster", cluster, "--pods", pods, "-o", "json")
    assert json.loads(done.stdout)["podsPlacedAnew"] == 4
    assert json.loads(done.stdout)["podsRunning"] == 0
    assert outcomes(done)["none"]["nodesInUse"] == {"start": 0, "end": 4, "most": 4, "mean": 2.5}
    assert "pods on another node than they run on" in run("--cluster", cluster, "--pods", pods).stdout


def test_follow_reports_model_accuracy(run, files):
    nodes = [node("a"), node("b")]
    # With two equal nodes the first pod may go to either, and each later pod to the less used one.
    well = [pod("one", on="a"), pod("two", on="b")]
    badly = [pod("one", on="a"), pod("two", on="a")]
    for pods, best in ((well, 2), (badly, 1)):
        cluster = files("cluster.json", list_of(*nodes, *pods))
        done = run("--cluster", cluster, "--pods", files("pods.json", list_of(*pods)), "--follow",
                   "-o", "json")
        follow = outcomes(done)["none"]["follow"]
        assert (follow["pods"], follow["feasible"], follow["best"]) == (2, 2, best)
        assert [miss["name"] for miss in follow["misses"]] == ([] if best == 2 else ["two"])
    table = run("--cluster", cluster, "--pods", files("pods.json", list_of(*badly)), "--follow")
    assert "1 (50.0 %)" in table.stdout
    assert "two is on a" in table.stdout


def test_nominated_pods_get_the_best_of_all_nodes(run, files):
    """kube-scheduler evaluates 100 of 200 nodes at a time. Three nodes are much better, and have room for 60 pods."""
    nodes = [node(f"n{i:03}", cpu="40") for i in range(200)]
    for each in nodes[:3]:
        each["metadata"]["labels"]["best"] = "yes"
    scores = "[{name: best, expression: '\"best\" in node.metadata.labels ? 100 : 0'}]"
    policy = files("best.yaml", HEAD + f"metadata: {{name: best}}\nspec:\n  scores: {scores}\n")
    cluster = files("many.json", list_of(*nodes))

    def place(n_pods, *flags):
        pods = files("burst.json", list_of(*(pod(f"p{i}") for i in range(n_pods))))
        args = ("--cluster", cluster, "--pods", pods, "--policy", policy, "--weight", "20", *flags)
        shown = outcomes(run(*args, "-o", "json"))
        placed = run(*args, "--no-baseline", "-o", "json", "--all").stdout
        assert "nominated" not in shown["none"] or shown["none"]["nominated"] == 0
        return shown["best"].get("nominated"), len(re.findall(r'"node": "n00[012]"', placed))

    assert place(60, "--nominate") == (60, 60)
    nominated, n_best = place(60)
    assert nominated is None and n_best < 50
    nominated, n_best = place(49, "--nominate")
    assert nominated == 0 and n_best < 49


def test_pending_flag_places_pending_pods(run, files):
    cluster = files("cluster.json", list_of(node("a"), pod("waits")))
    pods = files("pods.json", list_of(pod("comes")))
    table = run("--cluster", cluster, "--pods", pods).stdout
    assert "1 pending pods of the cluster are not placed; --pending places them first" in table
    seen = json.loads(run("--cluster", cluster, "--pods", pods, "--pending", "-o", "json").stdout)
    assert seen["podsToPlace"] == 2
    assert json.loads(run("--cluster", cluster, "--pending", "-o", "json").stdout)[
        "podsToPlace"] == 1


def test_reports_unmodelled_fields(run, files, cluster):
    claim = [{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}]
    pods = files("pods.json", list_of(
        pod("one", volumes=claim), pod("two", volumes=claim),
        pod("three", affinity={"podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{
                "topologyKey": "zone", "labelSelector": {},
                "namespaceSelector": {"matchLabels": {"team": "one"}}}]}})))
    table = run("--cluster", cluster, "--pods", pods).stdout
    assert "2 pods have volumes that bind to nodes: not modelled" in table
    assert "3 pods have pod affinity by namespaceSelector, without Namespaces in the files" in table
    seen = json.loads(run("--cluster", cluster, "--pods", pods, "-o", "json").stdout)
    assert seen["notModelled"]["pods"] == 3


def test_reads_services_from_either_file(run, files):
    """Two pods are on the larger node; a third goes there, too, unless a Service spreads them."""
    nodes = [node("large", cpu="64"), node("small")]
    service = {"apiVersion": "v1", "kind": "Service",
               "metadata": {"name": "s", "namespace": "apps"},
               "spec": {"selector": {"app": "web"}}}
    running, arriving = [pod(f"there-{i}", on="large") for i in range(2)], [pod("new")]
    for each in running + arriving:
        each["metadata"]["labels"] = {"app": "web"}
    plain = files("plain.json", list_of(*nodes, *running))
    pods = files("pods.json", list_of(*arriving))
    note = "the files have no Services: pods that only a Service selects may be spread"

    def place(*args):
        seen = json.loads(run(*args, "--all", "-o", "json").stdout)
        assert seen["notModelled"] == {"pods": 0}
        return seen["policies"][0]["pods"][0]["node"]

    assert place("--cluster", plain, "--pods", pods) == "large"
    assert note in run("--cluster", plain, "--pods", pods).stdout
    dump = files("dump.json", list_of(*nodes, *running, service))
    assert place("--cluster", dump, "--pods", pods) == "small"
    assert note not in run("--cluster", dump, "--pods", pods).stdout
    both = files("both.json", list_of(*arriving, service))
    assert place("--cluster", plain, "--pods", both) == "small"


def test_pods_with_anti_affinity_get_a_node_each(run, files, cluster):
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname",
         "labelSelector": {"matchLabels": {"app": "db"}}}]}}
    pods = [pod(f"pod-{i}", affinity=apart) for i in range(6)]
    for each in pods:
        each["metadata"]["labels"] = {"app": "db"}
    path = files("pods.json", list_of(*pods))
    seen = json.loads(run("--cluster", cluster, "--pods", path, "--all", "-o", "json").stdout)
    result = seen["policies"][0]
    assert seen["notModelled"] == {"pods": 0}
    assert len({each["node"] for each in result["pods"] if "node" in each}) == result["placed"] == 4
    assert result["pendingReasons"] == [
        {"reason": "node(s) didn't match pod anti-affinity rules", "pods": 2}]


def test_gated_pods_stay_pending(run, files, cluster):
    pods = files("pods.json", list_of(
        pod("gated", schedulingGates=[{"name": "example.com/quota"}]), pod("free")))
    assert "SchedulingGated: spec.schedulingGates is not empty" in run(
        "--cluster", cluster, "--pods", pods).stdout
    seen = json.loads(run("--cluster", cluster, "--pods", pods, "-o", "json").stdout)
    assert seen["notModelled"] == {"pods": 0}
    assert seen["policies"][0]["placed"] == 1 and seen["policies"][0]["pending"] == 1


def test_metrics_are_absent_unless_given(run, files, cluster):
    policy = files("load.yaml", HEAD + (
        "metadata: {name: load}\nspec:\n  metrics: [{name: load, prometheus: {query: load}}]\n"
        "  filters: [{name: cool, expression: 'metrics.load < 0.5', onMissing: allow,"
        " reason: too hot}]\n"))
    metrics = files("metrics.yaml", "metrics: {load: {node-0: 0.9, node-1: 0.1}}\n")
    pods = files("pods.json", list_of(*(pod(f"pod-{i}", cpu="3") for i in range(4))))
    args = ("--cluster", cluster, "--pods", pods, "--policy", policy)
    assert "load reads 1 metric without values: absent" in run(*args).stdout
    done = run(*args, "--metrics", metrics, "-o", "json")
    assert outcomes(done)["load"]["placed"] == 3 and outcomes(done)["load"]["metricsAbsent"] == 0
    assert outcomes(run(*args, "-o", "json"))["load"]["placed"] == 4


# --- output formats ----------------------------------------------------------


def test_the_table_has_a_column_for_each_policy(run, files, cluster, trace):
    done = run("--cluster", cluster, "--trace", trace, "--policy", files("pack.yaml", PACK))
    lines = done.stdout.splitlines()
    assert lines[0] == ("4 nodes, 0 pods on them; 20 pods to place, the last after 60 s")
    assert lines[2].split() == ["none", "pack"]
    figures = {re.split("  +", line.strip())[0]: line.split()[-2:] for line in lines[3:]}
    assert figures["pods placed"] == ["20", "20"]
    assert figures["nodes in use at the end"] == ["4", "1"]
    assert all(len(line) <= 100 for line in lines)
    assert done.stderr == ""


def test_pod_sizes_come_from_the_pods(run, files, cluster):
    """The sizes are the median, the 90th percentile and the maximum, each size once."""

    def shapes(*sizes):
        pods = files("pods.json", list_of(*(pod(f"p{i}", cpu=cpu) for i, cpu in enumerate(sizes))))
        seen = outcomes(run("--cluster", cluster, "--pods", pods, "-o", "json"))["none"]
        return [fit["shape"] for fit in seen["fits"]]

    small, large = "cpu=100m,memory=256Mi", "cpu=2,memory=256Mi"
    assert shapes("100m") == [small]
    assert shapes("100m", "100m", "2") == [small, large]
    assert shapes(*["100m"] * 19, "2") == [small, large]


def test_reads_yaml_traces(run, files, cluster):
    trace = files("trace.yaml", """\
- {at: 0, lifetime: 10, count: 2, name: first, pod: {spec: {containers: [{name: c}]}}}
- at: 5.5
  pod:
    metadata: {name: second, namespace: apps}
    spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}
""")
    done = run("--cluster", cluster, "--trace", trace, "-o", "json", "--all")
    pods = outcomes(done)["none"]["pods"]
    assert [(pod["name"], pod["fate"]) for pod in pods] == [
        ("first.1", "ended"), ("first.2", "ended"), ("second", "placed")]
    # Every pod ends, or the requested time is over.
    done = run("--cluster", cluster, "--trace", trace, "-o", "json", "--all", "--until", "2")
    assert [pod["fate"] for pod in outcomes(done)["none"]["pods"]] == [
        "placed", "placed", "not reached"]


# --- errors ------------------------------------------------------------------


@pytest.mark.parametrize("args, words", [
    ((), "--cluster is needed"),
    (("--cluster", "c"), "--pods, --trace or --pending is needed"),
    (("--cluster", "c", "--pods", "p", "--trace", "t"), "exclude each other"),
    (("--cluster", "c", "--pods", "p", "--no-baseline"), "leaves nothing to run"),
    (("--cluster", "c", "--trace", "t", "--follow"), "--follow needs --pods"),
    (("--cluster", "c", "--pods", "p", "-o", "xml"), "--output xml: expected table, json or yaml"),
    (("--cluster", "c", "--pods", "p", "--until", "soon"), "a number of seconds"),
    (("--cluster", "c", "--pods", "p", "--weight", "0"), "weight"),
    (("--cluster", "c", "--pods", "p", "more"), "it takes options only"),
])
def test_rejects_wrong_usage(run, args, words):
    assert words in run(*args, code=USAGE).stderr


@pytest.mark.parametrize("text, words", [
    ('{"at": 0}\n', "line 1: has no pod"),
    ('\n{"at": -1, "pod": {}}\n', "line 2: at is in seconds"),
    ('{"lifetime": 0, "pod": {}}\n', "line 1: lifetime"),
    ('{"count": -1, "pod": {}}\n', "line 1: count"),
    ('{"att": 1, "pod": {}}\n', "line 1: unknown field"),
    ('{"at": 1, "pod": {}\n', "line 1"),
    ("pod: {}\n", "expected a list"),
    ('[{"pod": {"spec": {"containers": 5}}}]', "trace"),
    ("[]", "contains no pod to place"),
    ('[{"pod": {}}]\n[{"pod": {}}]', "entry 1"),
])
def test_rejects_a_wrong_trace_with_its_line(run, files, cluster, text, words):
    done = run("--cluster", cluster, "--trace", files("trace", text), code=FAILED)
    assert words in done.stderr
    assert done.stdout == ""


def test_files_that_are_wrong_or_missing(run, files, cluster):
    pods = files("pods.json", list_of(pod("one")))
    assert "no-such" in run("--cluster", "/no-such", "--pods", pods, code=UNREACHABLE).stderr
    assert "no-such" in run("--cluster", cluster, "--pods", "/no-such", code=UNREACHABLE).stderr
    assert "contains no Node" in run("--cluster", pods, "--pods", pods, code=FAILED).stderr
    twice = files("twice.json", list_of(pod("one"), pod("one")))
    assert 'two pods named "apps/one"' in run(
        "--cluster", cluster, "--pods", twice, code=FAILED).stderr
    policy = files("wrong.yaml", HEAD + "metadata: {name: x}\nspec: {filter: []}\n")
    done = run("--cluster", cluster, "--pods", pods, "--policy", policy, code=FAILED)
    assert 'unknown field "filter"' in done.stderr
    assert "cpu=2,memory=8Gi" in run(
        "--cluster", cluster, "--pods", pods, "--shape", "big", code=USAGE).stderr


# --- on a terminal -----------------------------------------------------------


def test_interrupt_prints_results_so_far(berth_path, files, tmp_path):
    """With so many pods that it cannot finish before the interrupt."""
    nodes = files("cluster.json", list_of(*(node(f"node-{i}", cpu="1") for i in range(2000))))
    # No pod fits, and all differ, so each is tried on every node.
    trace = files("trace.jsonl", json.dumps({"count": 900_000, "pod": pod("large", cpu="2")}))
    main, terminal = pty.openpty()
    with open(tmp_path / "out", "w+", encoding="utf-8") as out:
        proc = subprocess.Popen([berth_path, "simulate", "--cluster", nodes, "--trace", trace],
                                stdout=out, stderr=terminal)
        os.close(terminal)
        progress = b""
        while b" of 900,000, " not in progress:
            progress += os.read(main, 4096)
        proc.send_signal(signal.SIGINT)
        deadline = time.monotonic() + PATIENCE
        while proc.poll() is None and time.monotonic() < deadline:
            try:
                os.read(main, 4096)
            except OSError:  # the other side is closed
                break
        assert proc.wait(PATIENCE) == FAILED
        os.close(main)
        out.seek(0)
        text = out.read()
    assert b'placing pods, policy "none" (1 of 1): ' in progress
    assert "none was interrupted after" in text
    assert "of 900000 pods" in text


# --- an autoscaler ---

LIMIT = HEAD + "metadata: {name: limit}\nspec:\n  filters: [{name: few, maxPods: 4%s}]\n"


def pool(**annotations):
    shape = node("big", cpu="16")
    shape["metadata"]["annotations"] = {f"berth.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return json.dumps(shape)


def scale(run, files, policy, *flags, pods=None, pool_text=None):
    """{"placed", "pending", "autoscale"} under @policy; by default of 10 pods and one old node."""
    done = run(
        "--cluster", files("c.json", list_of(node("old", cpu="16"))), "--no-baseline", "--policy", files("p.yaml", policy),
        *(flags or ["--pods", files("pods.json", list_of(*(pods or [pod(f"p{i}") for i in range(10)])))]), "-o", "json",
        "--autoscale", files("pool.json", pool_text or pool(price_per_hour="0.5")))  # fmt: skip
    assert done.stderr == ""
    (found,) = json.loads(done.stdout)["policies"]
    assert json.loads(done.stdout)["nodes"] == 1
    return found


@pytest.mark.parametrize("how", ["slots", "label"])
def test_autoscaler_adds_nodes_for_published_limits(run, files, how):
    found = scale(run, files, LIMIT % f", publish: {how}")
    assert (found["placed"], found["pending"]) == (10, 0)
    assert found["autoscale"] == {"nodesAdded": 2, "nodesAtEnd": 2, "costPerHour": 1.0, "pendingWithoutNode": 0}
    assert found["nodesInUse"]["end"] == 3


@pytest.mark.parametrize("policy", [
    LIMIT % "",
    LIMIT.replace("spec:\n", "spec:\n  match: {expression: 'pod.metadata.name.size() > 0'}\n") % ", publish: slots",
], ids=["not published", "no admission"])  # fmt: skip
def test_autoscaler_does_not_know_other_rules(run, files, policy):
    """kube-scheduler's own filters pass the old node."""
    found = scale(run, files, policy)
    assert (found["placed"], found["pending"]) == (4, 6)
    assert found["autoscale"] == {"nodesAdded": 0, "nodesAtEnd": 0, "costPerHour": 0, "pendingWithoutNode": 6}


def test_autoscaler_adds_a_node_in_vain(run, files):
    """The autoscaler ignores that berth also rejects the new node: it adds the node once, and the node stays empty."""
    found = scale(run, files, CLOSED, pods=[pod(f"p{i}", cpu="12") for i in range(3)])
    assert found["placed"] == 0 and found["pending"] == 3
    full = scale(run, files, CLOSED, pods=[pod("huge", cpu="17")], pool_text=pool().replace('"16"', '"32"'))
    assert full["autoscale"]["nodesAdded"] == 1 and full["pending"] == full["autoscale"]["pendingWithoutNode"] == 1


def test_autoscaler_adds_no_node_that_does_not_suit(run, files):
    found = scale(run, files, PACK, pods=[pod("huge", cpu="17"), pod("picky", nodeSelector={"zone": "a"})])
    assert found["pending"] == 2
    assert found["autoscale"] == {"nodesAdded": 0, "nodesAtEnd": 0, "costPerHour": 0, "pendingWithoutNode": 0}


def test_autoscaler_keeps_its_maximum(run, files):
    found = scale(run, files, LIMIT % ", publish: slots", pool_text=pool(max_nodes="1"))
    assert found["placed"] == 8 and found["autoscale"]["nodesAdded"] == 1 and found["autoscale"]["pendingWithoutNode"] == 0


def test_autoscaled_nodes_cost_until_they_are_empty(run, files):
    """Eight pods need one more node for an hour; four others start after they have ended."""
    lines = [{"at": 0, "lifetime": 3600, "count": 8, "pod": pod("a")}, {"at": 7200, "lifetime": 3600, "count": 4, "pod": pod("b")}]
    trace = files("trace.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    found = scale(run, files, LIMIT % ", publish: slots", "--trace", trace)
    assert found["placed"] == 12
    assert found["autoscale"] == {
        "nodesAdded": 1, "nodesAtEnd": 0, "nodeHours": 1.0, "cost": 0.5, "costPerHour": 0, "pendingWithoutNode": 0}  # fmt: skip


def test_autoscaled_nodes_spread_pods_only_when_they_are_there(run, files):
    """Nodes that do not exist yet are no domains; otherwise the spread would allow only one pod on each."""
    spread = [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
               "labelSelector": {"matchLabels": {"a": "b"}}}]  # fmt: skip
    pods = [pod(f"p{i}", topologySpreadConstraints=spread) for i in range(3)]
    for each in pods:
        each["metadata"]["labels"] = {"a": "b"}
    found = scale(run, files, PACK, pods=pods)
    assert found["placed"] == 3 and found["autoscale"]["nodesAdded"] == 0


def test_autoscale_table(run, files, cluster, trace):
    text = run(
        "--cluster", cluster, "--trace", trace, "--policy", files("p.yaml", LIMIT % ""),
        "--autoscale", files("pool.json", pool(price_per_hour="0.5"))).stdout  # fmt: skip
    assert "an autoscaler" not in text  # no pod is pending
    for label in ("nodes added", "  at the end", "  node-hours", "  cost ", "  cost of an hour, at the end",
                  "pods pending for which no node is added"):  # fmt: skip
        assert f"\n{label}" in text
    pods = files("pods.json", list_of(*(pod(f"p{i}") for i in range(30))))
    text = run("--cluster", cluster, "--pods", pods, "--policy", files("p.yaml", LIMIT % ""), "--autoscale",
               files("pool.json", pool())).stdout  # fmt: skip
    assert "an autoscaler does not ask berth" in text and "node-hours" not in text and "cost" not in text


@pytest.mark.parametrize("text, error", [
    (list_of(node("a"), node("b")), "there are several Nodes"),
    (list_of(), "expected one Node"),
    (json.dumps({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "x"}}), "expected one Node"),
    (pool(price_per_hour="cheap"), "berth.dev/price-per-hour is a number"),
    (pool(price_per_hour="-1"), "berth.dev/price-per-hour is a number"),
    (pool(max_nodes="0"), "berth.dev/max-nodes is 1 to 10000"),
    (pool(max_nodes="10001"), "berth.dev/max-nodes is 1 to 10000"),
    (json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x"}}), "the Node has no status.allocatable"),
    ("{", "pool.json:"),
    ('{"kind": "Node",\n"metadata": {"name": "x"},\n"status": {"allocatable": {"cpu": "much"}}}',
     "pool.json:3:35: not a quantity"),
    ("kind: Node\nmetadata: {name: x}\nstatus: {allocatable: {cpu: much}}\n", "pool.json:3:29: not a quantity"),
])  # fmt: skip
def test_wrong_pools(run, files, cluster, text, error):
    done = run("--cluster", cluster, "--pods", files("pods.json", list_of(pod("p"))), "--autoscale", files("pool.json", text),
               code=FAILED)  # fmt: skip
    assert done.stdout == "" and error in done.stderr


def test_pool_with_the_name_of_a_node(run, files):
    done = run("--cluster", files("c.json", list_of(node("big-1"))), "--pods", files("pods.json", list_of(pod("p"))),
               "--autoscale", files("pool.json", pool()), code=FAILED)  # fmt: skip
    assert "the cluster has nodes of that name" in done.stderr


def test_autoscale_does_not_follow(run, files, cluster):
    done = run("--cluster", cluster, "--pods", files("p.json", list_of(pod("p"))), "--follow", "--autoscale", files("q.json", pool()),
               code=USAGE)  # fmt: skip
    assert "--follow and --autoscale" in done.stderr
