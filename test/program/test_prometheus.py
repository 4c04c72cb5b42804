"""Placement by the measurements of a real Prometheus, with a typical configuration.

Three nodes, each with its own exporter on its own loopback address, and one more exporter with series of
all nodes and pods by name. The test sets all values.
"""

import http.client
import json
import os
import subprocess
from urllib.parse import urlencode

import pytest
import yaml

from client import PATIENCE, get, log_lines, metrics, post, wait_until, write_cluster
from prometheus import (
    Exporter,
    Prometheus,
    Scripted,
    by_node,
    find_metric,
    find_program,
    write_sources,
)

NAMES = ["n1", "n2", "n3"]
ADDRESSES = {"n1": "127.0.1.1", "n2": "127.0.1.2", "n3": "127.0.1.3"}


class World:
    """The exporters and the Prometheus that scrapes them."""

    def __init__(self, folder):
        self.cluster = Exporter()
        port = self.cluster.server.server_address[1]  # the same on every node, as usual
        self.nodes = {name: Exporter(host, port) for name, host in ADDRESSES.items()}
        self.exporters = [self.cluster, *self.nodes.values()]
        self.prometheus = Prometheus(folder, self.exporters)

    def set_loads(self, **values):
        for name, value in values.items():
            self.cluster.set("node_load", value, node=name)

    def set_heats(self, **values):
        for name, value in values.items():
            self.nodes[name].set("heat", value)

    def set_pods(self, **values):
        for name, value in values.items():
            self.cluster.set("pod_cpu", value, namespace="default", pod=name.replace("_", "-"))

    def stop(self):
        self.prometheus.stop()
        for exporter in self.exporters:
            exporter.stop()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    if missing := find_program():
        (pytest.fail if os.environ.get("BERTH_CI") else pytest.skip)(missing)
    world = World(tmp_path_factory.mktemp("prometheus"))
    yield world
    world.stop()


# --- policies and sources ---

LOAD = {"query": "node_load", "nodeLabel": "node"}
MAX_AGE = "1m"  # nothing expires during a test


def metric(name, query, **fields):
    common = {"interval": "1s", "maxAge": MAX_AGE, "placements": "none"}
    return {"name": name, "prometheus": query, **common, **fields}


def make_policy(gauges, name="load", **spec):
    return yaml.safe_dump(
        {
            "apiVersion": "berth.dev/v1alpha1",
            "kind": "PlacementPolicy",
            "metadata": {"name": name},
            "spec": {"metrics": gauges, **spec},
        }
    )


def below(limit, name="load", **fields):
    """A filter."""
    rule = {"name": f"{name}-limit", "expression": f"metrics.{name} < {limit}"}
    return {**rule, "reason": "node is hot", **fields}


def make_node(name):
    address = {"type": "InternalIP", "address": ADDRESSES[name]}
    amounts = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    return {
        "metadata": {"name": name},
        "status": {"addresses": [address], "allocatable": amounts, "capacity": amounts},
    }


def make_pod(name, node, owner):
    reference = {"kind": "StatefulSet", "apiVersion": "apps/v1", "name": owner, "uid": owner}
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "ownerReferences": [{**reference, "controller": True}],
        },
        "spec": {"nodeName": node, "containers": [{"name": "main"}]},
        "status": {"phase": "Running"},
    }


PODS = [
    make_pod("heavy-0", "n1", "heavy"),
    make_pod("heavy-1", "n2", "heavy"),
    make_pod("light-0", "n1", "light"),
]


@pytest.fixture
def start(start_logged, world, tmp_path):
    """start(policy text) -> Berth that queries the real Prometheus."""

    def run(policy, *flags):
        path = tmp_path / "policy.yaml"
        path.write_text(policy)
        cluster = write_cluster(tmp_path / "cluster.json", map(make_node, NAMES), PODS)
        flags = flags or ["--prometheus", world.prometheus.url]
        berth = start_logged("--policy", path, "--cluster", cluster, *flags)
        berth.policy = path
        return berth

    return run


def ask(berth, verb="filter", pod=None):
    reply = post(berth, verb, {"Pod": pod or {}, "NodeNames": NAMES})
    assert reply.status == 200
    return reply.json()


def passed(berth, pod=None):
    reply = ask(berth, pod=pod)
    assert reply["Error"] == ""
    return reply["NodeNames"]


def wait_passed(berth, names, pod=None):
    wait_until(lambda: passed(berth, pod) == names, f"only {names} to pass")


def scores(berth):
    """Scores of all nodes; a node that is not in the reply has 0."""
    state = {each["Host"]: each["Score"] for each in ask(berth, "prioritize")}
    return [state.get(name, 0) for name in NAMES]


# --- the tests ---


def test_values_decide(world, start):
    world.set_loads(n1=0.9, n2=0.5, n3=0.1)
    free = {"name": "free", "expression": "100.0 * (1.0 - metrics.load)"}
    policy = make_policy([metric("load", LOAD)], filters=[below(0.8)], scores=[free])
    berth = start(policy)
    wait_passed(berth, ["n2", "n3"])
    assert scores(berth) == [1, 5, 9]

    # Hot only while it is hot.
    world.set_loads(n1=0.3, n2=0.9)
    wait_passed(berth, ["n1", "n3"])
    assert scores(berth) == [7, 1, 9]


def test_nodes_are_found_by_address(world, start):
    """Without settings for the join, the address in instance (ADDRESS:PORT) is enough."""
    world.set_heats(n1=20, n2=90, n3=40)
    berth = start(make_policy([metric("heat", {"query": "heat"})], filters=[below(80.0, "heat")]))
    wait_passed(berth, ["n1", "n3"])
    state = find_metric(berth, "heat")
    assert state["state"] == "ok" and "instance" in state["join"], state
    world.set_heats(n1=99, n2=10)
    wait_passed(berth, ["n2", "n3"])


def test_pods_and_their_workloads(world, start):
    world.set_pods(heavy_0=3.0, heavy_1=2.0, light_0=0.5)
    world.set_loads(n1=0.6, n2=0.2, n3=0.6)
    cpu = metric("podCpu", {"query": "pod_cpu"}, pods={"aggregate": "sum", "workload": "avg"})
    kept_off = (
        "metrics.load < 0.5 || !has(workload.metrics.podCpu) || workload.metrics.podCpu < 2.0"
    )
    rules = [
        below(3.2, "podCpu", onMissing="allow"),
        {"name": "heavy", "expression": kept_off, "reason": "pod is heavy, node is not idle"},
    ]
    berth = start(make_policy([metric("load", LOAD), cpu], filters=rules))
    # n1 has 3.5 cores in use, n3 no pod at all.
    wait_passed(berth, ["n2", "n3"], make_new("light"))
    wait_passed(berth, ["n2"], make_new("heavy"))  # 2.5 on average
    world.set_pods(heavy_0=1.0)
    wait_passed(berth, NAMES, make_new("heavy"))  # 1.5


def make_new(owner):
    pod = make_pod(f"{owner}-9", None, owner)
    del pod["spec"]["nodeName"], pod["status"]
    return pod


def test_pages_show_metric_coverage(world, start):
    world.set_loads(n1=0.9, n2=0.5, n3=0.1, stranger=0.7)
    gauges = [metric("load", LOAD), metric("typo", {"query": "no_such_series"})]
    berth = start(make_policy(gauges, filters=[below(0.8), below(1.0, "typo", onMissing="allow")]))
    wait_passed(berth, ["n2", "n3"])
    state = find_metric(berth, "load")
    assert state["state"] == "ok" and state["query"] == "node_load" and state["error"] == ""
    assert (state["series"], state["nodes"]) == (4, {"covered": 3, "of": 3})
    assert state["dropped"]["no_node"] == 1 and "stranger" in str(state["unmatched"])
    state = find_metric(berth, "typo")
    assert (state["state"], state["series"]) == ("unjoined", 0)
    assert state["nodes"] == {"covered": 0, "of": 3} and "no series" in state["error"]
    figures = metrics(berth)

    def figure(name, metric, more=""):
        labels = f'policy="load",metric="{metric}",source="default"{more}'
        return figures[f"berth_source_{name}{{{labels}}}"]

    for name, values in {
        "up": (1, 0),
        "nodes_covered": (3, 0),
        "nodes": (3, 3),
        "series": (4, 0),
    }.items():
        assert (figure(name, "load"), figure(name, "typo")) == values, name
    assert 0 <= figure("age_seconds", "load") < 60
    assert figure("dropped_series_total", "load", ',cause="no_node"') >= 1
    assert figure("requests_total", "load", ',result="ok"') >= 1
    assert figure("requests_total", "load", ',result="failed"') == 0
    world.cluster.set("node_load", None, node="stranger")


def test_new_policy_keeps_measured_values(world, start):
    world.set_loads(n1=0.9, n2=0.5, n3=0.1)
    gauge = metric("load", LOAD, maxAge="1m")
    berth = start(make_policy([gauge], filters=[below(0.8)]))
    wait_passed(berth, ["n2", "n3"])
    with world.prometheus.process.halted():  # no query succeeds meanwhile
        berth.policy.write_text(make_policy([gauge], filters=[below(0.3)]))
        wait_passed(berth, ["n3"])
        # With another name in another policy, but not queried twice.
        other = metric("measured", LOAD, maxAge="1m")
        berth.policy.write_text(make_policy([other], filters=[below(0.6, "measured")]))
        wait_passed(berth, ["n2", "n3"])
    assert get(berth, "/readyz").status == 200


def test_sources_are_read_again(world, start, tmp_path):
    world.set_loads(n1=0.9, n2=0.5, n3=0.1)
    scripted = Scripted()
    scripted.set("node_load", by_node(n1=0.1, n2=0.2, n3=0.9))
    scripted.refuse()
    path = write_sources(tmp_path / "sources.yaml", cellar=scripted.url)
    query = {**LOAD, "source": "cellar"}
    berth = start(make_policy([metric("load", query)], filters=[below(0.8)]), "--sources", path)
    wait_until(lambda: find_metric(berth, "load")["requests"]["failed"] >= 2, "two tries")
    assert len(log_lines(berth, "source fails.* metric=load .*refused")) == 1  # not for each
    scripted.listen()
    wait_passed(berth, ["n1", "n2"])
    write_sources(path, cellar=world.prometheus.url)
    wait_passed(berth, ["n2", "n3"])

    # After a mistake the earlier sources stay in force, and the log reports it.
    path.write_text("sources: [{nam: cellar}]")
    refused = 'berth_config_last_reload_success{config="sources"}'
    wait_until(lambda: metrics(berth)[refused] == 0, "the sources to be refused")
    world.set_loads(n1=0.2)
    wait_passed(berth, NAMES)
    write_sources(path, attic=world.prometheus.url)
    wait_until(lambda: find_metric(berth, "load")["state"] == "no_source", "the source to be gone")
    scripted.stop()


def test_checked_live(world, start, berth_path, tmp_path):
    """`check --live` shows how series join nodes, and which do not."""
    world.set_heats(n1=20, n2=90, n3=40)
    good = metric("heat", {"query": "heat"})
    berth = start(make_policy([good], filters=[below(80.0, "heat")]))
    wait_passed(berth, ["n1", "n3"])  # so it has been scraped

    def check():
        command = [berth_path, "check", "--live", "--cluster", tmp_path / "cluster.json"]
        command += ["--prometheus", world.prometheus.url, berth.policy]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)

    done = check()
    assert done.returncode == 0 and "instance" in done.stdout, done
    bad = metric("typo", {"query": "no_such_series"})
    berth.policy.write_text(make_policy([good, bad], filters=[below(80.0, "heat")]))
    done = check()
    assert done.returncode == 1 and "typo" in done.stdout and "no series" in done.stdout, done


def query_real(prometheus, query):
    connection = http.client.HTTPConnection("127.0.0.1", prometheus.port)
    try:
        connection.request("GET", "/api/v1/query?" + urlencode({"query": query}))
        response = connection.getresponse()
        return response.status, response.headers, json.loads(response.read())
    finally:
        connection.close()


def shape(value):
    """The shape of the output, without values."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    if isinstance(value, list):
        return [shape(each) for each in value]
    return type(value) if not isinstance(value, (int, float)) else float


def test_scripted_server_matches_real_one(world):
    """The scripted Prometheus replies like the real one."""
    scripted = Scripted()
    world.cluster.set("odd", "NaN", node="n1")
    world.cluster.set("odd", "-Inf", node="n2")
    world.cluster.set("odd", "0.25", node="n3")
    query = "sum by (node) (odd)"
    wait_until(lambda: len(query_real(world.prometheus, query)[2]["data"]["result"]) == 3, query)
    scripted.set(query, by_node(n1=float("nan"), n2=float("-inf"), n3=0.25))
    status, headers, real = query_real(world.prometheus, query)
    also_status, also_headers, scripted_body = query_real(scripted, query)
    assert status == also_status and shape(real) == shape(scripted_body)
    assert headers.get_content_type() == also_headers.get_content_type()
    assert headers["Date"][-3:] == also_headers["Date"][-3:] == "GMT"

    def values(answer):
        result = answer["data"]["result"]
        return sorted((each["metric"]["node"], each["value"][1]) for each in result)

    assert values(real) == values(scripted_body)
    unknown = [query_real(each, "nobody_knows")[2] for each in (world.prometheus, scripted)]
    assert unknown[0] == unknown[1]
    scripted.stop()


def test_stopped_and_started(world, start):
    world.set_loads(n1=0.9, n2=0.5, n3=0.1)
    gauges = [metric("load", LOAD, maxAge="4s")]
    strict = make_policy(gauges, filters=[below(0.8, onMissing="reject")])
    lenient = make_policy(
        gauges,
        "lenient",
        mode="Observe",
        filters=[below(0.8, onMissing="allow")],
        scores=[{"name": "free", "expression": "100.0 - metrics.load", "onMissing": 30}],
    )
    berth = start(strict + "---\n" + lenient)
    wait_passed(berth, ["n2", "n3"])

    world.prometheus.stop()
    wait_passed(berth, [])
    state = find_metric(berth, "load")
    assert state["state"] == "failing" and "refused" in state["error"], state
    assert get(berth, "/readyz").status == 200
    tries = state["requests"]["failed"]
    wait_until(lambda: find_metric(berth, "load")["requests"]["failed"] > tries, "another try")
    wait_until(lambda: len(log_lines(berth, "metric expired.* metric=load")) == 1, "the log line")
    assert len(log_lines(berth, "source fails.* metric=load")) <= 1  # may come later

    # Prometheus still has its last scrape, and so berth has values again.
    world.prometheus.start()
    wait_passed(berth, ["n2", "n3"])
    assert find_metric(berth, "load")["state"] == "ok"
