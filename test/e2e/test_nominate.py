"""--nominate: with many pending pods berth nominates nodes, and kube-scheduler tries these first."""

import collections
import html
import http.server
import json
import re
import threading
import time

import client
import pytest
from nodemode import Live
from objects import make_extender
from waiting import wait_for

POLICY = "filters: [{name: limit, maxPods: {limit: 60}}]\nscores: [{name: idle, expression: '100 - node.pods.size()'}]"
PATCHES, OUTSTANDING = "berth_nomination_patches_total", "berth_nominations_outstanding"
WAITS = "berth_nomination_waits_total"


def outcomes(berth):
    seen = client.metrics(berth)
    return {name: seen['berth_nominations_total{outcome="%s"}' % name] for name in ("used", "unused", "expired", "rejected")}


def nominated(cluster):
    """{pod: node} of pending pods."""
    nodes = {pod["metadata"]["name"]: pod["status"].get("nominatedNodeName") for pod in cluster.pods() if not pod["spec"].get("nodeName")}
    return {name: node for name, node in nodes.items() if node}


def start(cluster, *flags, policy=POLICY, first="first"):
    """Starts berth, and a kube-scheduler that has called it for one pod."""
    berth = cluster.start_berth(
        *Live().flags(cluster), "--policy", cluster.write_policy(policy), "--nominate", "--nominate-weight=20", *flags
    )
    scheduler = cluster.start_scheduler(make_extender(berth.url))
    cluster.add_pod(first)
    cluster.wait_bound(first)
    return berth, scheduler


def restart_scheduler(cluster, berth):
    return cluster.start_scheduler(make_extender(berth.url))


def add_pods(cluster, n, prefix="pod", **fields):
    for i in range(n):
        cluster.add_pod(f"{prefix}-{i:04}", **fields)


@pytest.fixture
def nodes(cluster):
    names = [f"node-{i}" for i in range(5)]
    for name in names:
        cluster.add_node(name)
    return names


def test_backlog_is_nominated_while_no_scheduler_runs(cluster, nodes):
    berth, scheduler = start(cluster)
    scheduler.stop()
    add_pods(cluster, 100)
    wait_for("nominations", lambda: len(nominated(cluster)), lambda n: n == 100)
    chosen = nominated(cluster)
    assert max(collections.Counter(chosen.values()).values()) <= 21  # equal scores, evenly spread
    restart_scheduler(cluster, berth)
    places = cluster.wait_places(101)
    cluster.wait_figure(berth, OUTSTANDING, 0)
    n_used = sum(places[name] == node for name, node in chosen.items())
    assert n_used >= 0.9 * len(chosen)
    wait_for("the results", lambda: outcomes(berth), lambda seen: seen["used"] + seen["unused"] == len(chosen))
    assert outcomes(berth) == {"used": n_used, "unused": len(chosen) - n_used, "expired": 0, "rejected": 0}
    assert client.metrics(berth)[PATCHES] == len(chosen)


def test_nominations_of_another_process_go_on(cluster, nodes):
    """The next berth recognizes them and adds its own. It does not take them for preemption, after which it would pause for a minute."""
    berth, scheduler = start(cluster)
    scheduler.stop()
    add_pods(cluster, 60)
    wait_for("nominations", lambda: len(nominated(cluster)), lambda n: n == 60)
    chosen = nominated(cluster)
    berth.stop()
    berth, scheduler = start(cluster, first="second")
    places = cluster.wait_places(62)
    assert sum(places[name] == node for name, node in chosen.items()) >= 0.9 * len(chosen)
    scheduler.stop()
    add_pods(cluster, 60, prefix="more")
    wait_for("nominations", lambda: len(nominated(cluster)), lambda n: n == 60)


def read_explanation(cluster, berth, name, *options):
    done = cluster.run_berth("explain", "--last", f"{cluster.namespace}/{name}", "--server", berth.url, *options)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def read_pod_page(cluster, berth, name, status):
    reply = client.get(berth, f"/pod?namespace={cluster.namespace}&name={name}")
    assert reply.status == status
    return html.unescape(re.sub("<[^>]*>", "", reply.text))


def test_nomination_is_explained(cluster, nodes):
    """Before and after kube-scheduler has tried the pod."""
    berth, scheduler = start(cluster)
    scheduler.stop()
    add_pods(cluster, 60)
    wait_for("nominations", lambda: len(nominated(cluster)), lambda n: n == 60)
    chosen = nominated(cluster)
    node = chosen["pod-0007"]
    text = read_explanation(cluster, berth, "pod-0007")
    assert f"nominated {node} by berth at 20" in text and ", best of 5 nodes" in text
    assert "the pod has no node yet" in text and "filter    none" in text
    page = json.loads(read_explanation(cluster, berth, "pod-0007", "-o", "json"))
    assert page["filter"] is None
    assert (page["nomination"]["node"], page["nomination"]["outcome"]) == (node, "outstanding")
    assert f"Nominated for {node} by berth at " in read_pod_page(cluster, berth, "pod-0007", 404)

    restart_scheduler(cluster, berth)
    places = cluster.wait_places(61)
    wait_for("the results", lambda: sum(outcomes(berth).values()), lambda n: n == 60)
    name = next(name for name, node in chosen.items() if places[name] == node)
    page = json.loads(read_explanation(cluster, berth, name, "-o", "json"))
    assert page["nomination"]["node"] == page["filter"]["nominated"] == places[name]
    text = read_explanation(cluster, berth, name)
    assert "used: the pod got this node" in text and "1 of 1 node passed" in text
    assert "4  not evaluated by berth: kube-scheduler tries the nominated node alone" in text
    text = read_pod_page(cluster, berth, name, 200)
    assert "used: the pod got this node" in text and "Only the nominated node was a candidate" in text


class Slow(http.server.BaseHTTPRequestHandler):
    """An extender that needs 15 ms per node, to make kube-scheduler as slow as in a large cluster."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        args = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        names = args["NodeNames"]
        time.sleep(0.015 * len(names))
        reply = json.dumps({"NodeNames": names}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


@pytest.fixture
def slow_extender():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {"urlPrefix": f"http://127.0.0.1:{server.server_port}", "filterVerb": "filter", "nodeCacheCapable": True, "httpTimeout": "5s"}
    server.shutdown()


def test_burst_uses_nominations_while_the_scheduler_runs(cluster, nodes, slow_extender):
    berth, scheduler = start(cluster)
    scheduler.stop()
    cluster.start_scheduler(make_extender(berth.url), slow_extender)
    add_pods(cluster, 250)
    cluster.wait_places(251)
    cluster.wait_figure(berth, OUTSTANDING, 0)
    seen = outcomes(berth)
    n_made = seen["used"] + seen["unused"]
    assert n_made > 200  # the first and the last few pods of the burst are not nominated
    assert seen["used"] >= 0.9 * n_made
    assert seen["expired"] == seen["rejected"] == 0


def test_filters_do_not_wait_for_nominations_that_cannot_be_written(cluster, nodes, slow_extender):
    kubeconfig = cluster.plane.make_berth_identity("no-patches", "berth-decide", "berth-nominate-read")
    cluster.expect_denials("no-patches: patch pods/status")
    berth, scheduler = start(cluster, "--kubeconfig", kubeconfig)
    scheduler.stop()
    add_pods(cluster, 100)
    wait_for("the refusal", lambda: outcomes(berth)["rejected"])
    cluster.start_scheduler(make_extender(berth.url), slow_extender)
    cluster.wait_places(101)
    seen = client.metrics(berth)
    assert seen[PATCHES] == seen[WAITS] == 0


def test_few_pods_are_left_alone(cluster, nodes):
    berth, _ = start(cluster)
    for i in range(20):
        cluster.add_pod(f"pod-{i}")
        time.sleep(0.2)
    cluster.wait_places(21)
    assert client.metrics(berth)[PATCHES] == 0
    assert sum(outcomes(berth).values()) == 0


def test_nodes_change_while_nominated(cluster, nodes):
    """One is cordoned, one deleted, one filled by others."""
    berth, scheduler = start(cluster)
    scheduler.stop()
    add_pods(cluster, 100)
    wait_for("nominations", lambda: len(nominated(cluster)), lambda n: n == 100)
    cluster.api.patch("/api/v1/nodes/node-0", {"spec": {"unschedulable": True}})
    cluster.api.delete("/api/v1/nodes/node-1")
    cluster.add_pod("filler", cpu="7", nodeName="node-2")
    # 3 of 5 nodes remain, with 8, 8 and 1 cpu: room for 170 pods by cpu, for 60 per node by policy.
    restart_scheduler(cluster, berth)
    places = cluster.wait_places(102)
    by_node = collections.Counter(places[f"pod-{i:04}"] for i in range(100))
    assert set(by_node) <= {"node-2", "node-3", "node-4"}
    assert by_node["node-2"] <= 10
    cluster.wait_figure(berth, OUTSTANDING, 0)


def test_unusable_nominations_are_withdrawn(cluster, nodes):
    """All nodes are cordoned while pods are nominated: the pods stay pending and reserve no room."""
    berth, scheduler = start(cluster)
    scheduler.stop()
    add_pods(cluster, 60)
    wait_for("nominations", lambda: len(nominated(cluster)), lambda n: n == 60)
    for name in nodes:
        cluster.api.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}})
    restart_scheduler(cluster, berth)
    cluster.wait_pending("pod-0000", "5 node(s) were unschedulable")
    wait_for("withdrawn nominations", lambda: nominated(cluster), lambda seen: not seen)
    cluster.wait_figure(berth, OUTSTANDING, 0)
    for name in nodes:
        cluster.api.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": False}})
    cluster.wait_places(61)


def test_pods_with_features_that_are_not_modelled_are_left_alone(cluster, nodes):
    berth, scheduler = start(cluster)
    scheduler.stop()
    claims = f"/api/v1/namespaces/{cluster.namespace}/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    cluster.api.create(claims, {"metadata": {"name": "data"}, "spec": spec})
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    add_pods(cluster, 60, volumes=[volume])
    wait_for("pods to be left", lambda: client.metrics(berth)["berth_nomination_pods_left_total"], lambda n: n >= 50)
    assert nominated(cluster) == {}
    for i in range(60):
        cluster.delete_pod(f"pod-{i:04}")
    cluster.api.delete(f"{claims}/data")


def test_gated_and_foreign_pods_are_left_alone(cluster, nodes):
    """Nominated gated pods would reserve room; pods of other schedulers are not berth's."""
    berth, scheduler = start(cluster)
    scheduler.stop()
    for i in range(60):
        cluster.add_pod(f"gated-{i}", schedulingGates=[{"name": "example.com/wait"}])
        cluster.add_pod(f"other-{i}", schedulerName="other")
    time.sleep(3)
    assert nominated(cluster) == {}
    assert client.metrics(berth)[PATCHES] == 0


def test_without_the_right_to_nominate(cluster, nodes):
    kubeconfig = cluster.plane.make_berth_identity("no-nominations", "berth-decide", "berth-nominate-read")
    cluster.expect_denials("no-nominations: patch pods/status")
    berth, scheduler = start(cluster, "--kubeconfig", kubeconfig)
    scheduler.stop()
    add_pods(cluster, 60)
    wait_for("the refusal", lambda: outcomes(berth)["rejected"])
    restart_scheduler(cluster, berth)
    cluster.wait_places(61)
