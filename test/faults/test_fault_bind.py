"""Binds are lost, or berth dies during a bind: every pod is bound once, to a node that passed the filter,
and kube-scheduler gets a correct reply. F16."""

import random
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import client
import faults
import pytest
from apistate import NODES, PODS, Refused, make_bookmark
from client import FAULT_SCALE, wait_until
from live import POLICY, node, pod

BINDING = "create pods/binding"


def make_pending(server, name, **fields):
    server.state.put(PODS, pod(name, **fields))
    return server.state.find(PODS, f"default/{name}").object


def node_of(server, name):
    return server.state.find(PODS, f"default/{name}").object["spec"].get("nodeName")


def times_bound(server, name):
    """How often a pod got a node or changed it."""
    n, last = 0, None
    for version in server.state.history["pods"]:
        if version.key == f"default/{name}":
            where = version.object["spec"].get("nodeName")
            n += where is not None and where != last
            last = where
    return n


def add_nodes(server):
    for name in ("a", "b", "c"):
        server.state.put(NODES, node(name))
    server.state.put(NODES, node("red", "red"))


@pytest.fixture
def cluster(server):
    add_nodes(server)
    return server


def lost_reply(exchange, proceed):
    """The bind succeeds, but the reply is lost."""
    exchange.write = lambda data: None
    proceed()
    raise faults.Gone


def bound_by_another(where):
    def act(exchange, proceed):
        key, body = exchange.request.key, exchange.request.json()
        exchange.server.state.bind(key, {**body, "target": {"kind": "Node", "name": where}})
        proceed()

    return act


def recreated(exchange, proceed):
    state, key = exchange.server.state, exchange.request.key
    state.delete(PODS, key)
    state.put(PODS, pod(key.partition("/")[2]))
    proceed()


def deleted(exchange, proceed):
    exchange.server.state.delete(PODS, exchange.request.key)
    proceed()


OUTCOMES = {
    # (fault, whether the pod is bound to node a afterwards)
    "none": (None, True),
    "the reply is lost": (lost_reply, True),
    "the reply is cut": (faults.cut_after(20), True),
    "bound to the same node by another": (bound_by_another("a"), True),
    "bound to another node by another": (bound_by_another("b"), False),
    "nothing is answered": (faults.hang_up, False),
    "500": (faults.fail(500), False),
    "403": (faults.answer(Refused(403, "Forbidden", "no")), False),
    "429": (faults.throttle(1), False),
    "recreated under the same name": (recreated, False),
    "deleted": (deleted, False),
    "200 that is HTML": (faults.say(b"<html>", "text/html"), False),
}


def bind_with_fault(cluster, start_live, name):
    add_nodes(cluster)
    fault, is_bound = OUTCOMES[name]
    of = make_pending(cluster, "p")
    berth = start_live("--bind")
    assert berth.filter("abc", of).json()["NodeNames"] == ["a", "b", "c"]
    if fault:
        cluster.script(fault, BINDING)
    error = berth.bind(of, "a")
    assert (error == "") is is_bound, error
    there = cluster.state.objects["pods"].get("default/p")
    if is_bound:
        assert there.object["spec"]["nodeName"] == "a"
    elif there and not there.object["spec"].get("nodeName"):
        # kube-scheduler retries.
        of = there.object
        berth.filter("abc", of)
        assert berth.bind(of, "b") == ""
        assert node_of(cluster, "p") == "b"
    assert times_bound(cluster, "p") <= 1
    berth.wait_true(cluster)


@pytest.mark.parametrize("name", OUTCOMES)
def test_results_of_a_bind(together, name):
    together(bind_with_fault)


def test_a_binding_that_is_never_answered(cluster, start_live):
    of = make_pending(cluster, "p")
    berth = start_live("--bind")
    berth.filter("abc", of)
    cluster.script(faults.never, BINDING)
    with_others = make_pending(cluster, "q")
    berth.filter("abc", with_others)
    results = {}
    thread = threading.Thread(target=lambda: results.update(p=berth.bind(of, "a")))
    thread.start()
    wait_until(lambda: cluster.asked(BINDING), "the binding")
    # Other binds do not wait for it.
    assert berth.bind(with_others, "b") == ""
    thread.join()
    assert results["p"] != ""
    assert node_of(cluster, "p") is None


@pytest.mark.parametrize("target", ["red", "none"])
def test_binds_only_filtered_pairs(cluster, start_live, target):
    of = make_pending(cluster, "p")
    berth = start_live("--bind")
    assert berth.bind(of, "a") != ""  # no filter request came before
    berth.filter(["a", "red", "none"], of)
    assert berth.bind(of, target) != ""
    assert not cluster.asked(BINDING)
    assert berth.bind(of, "a") == ""


def test_last_slot_is_given_once(cluster, start_live):
    """Pods that are bound at the same time are evaluated one after the other."""
    berth = start_live("--bind")
    with ThreadPoolExecutor(8) as pool:
        for turn in range(6):
            small = f"small-{turn}"
            cluster.state.put(NODES, node(small, cpu="1"))
            pods = [make_pending(cluster, f"p-{turn}-{i}", cpu="600m") for i in range(8)]
            berth.wait_true(cluster)
            for of in pods:
                assert berth.filter([small], of).json()["NodeNames"] == [small]
            # The binds wait for each other while events arrive.
            cluster.push("pods", make_bookmark(PODS, cluster.state.number) * 20000)
            errors = list(pool.map(lambda of, small=small: berth.bind(of, small), pods))
            bound = [of for of in pods if node_of(cluster, of["metadata"]["name"])]
            assert errors.count("") == len(bound) == 1, errors


def test_bound_pods_count_before_the_watch_shows_them(cluster, start_live):
    cluster.state.put(NODES, node("small", cpu="1"))
    first, second = (make_pending(cluster, name, cpu="600m") for name in ("first", "second"))
    berth = start_live("--bind")
    wait_until(lambda: cluster.open_watches("pods"), "a watch")
    berth.filter(["small"], first)
    cluster.open_watches("pods")[0].lose()
    assert berth.bind(first, "small") == ""
    assert berth.filter(["small"], second).json()["FailedNodes"] == {"small": "no room"}


# --- kill -9 ---


class Scheduler:
    """Acts as kube-scheduler: filter, choose, bind, and repeat until the pod has a node."""

    def __init__(self, server, seed):
        self.server, self.random = server, random.Random(seed)
        self.answers = []  # (pod, node, error)
        self.berth = None

    def place(self, name):
        """Tries once. Returns False if berth was down."""
        of = self.server.state.find(PODS, f"default/{name}").object
        try:
            passed = self.berth.filter("abc", of).json()["NodeNames"]
            if not passed:
                return False
            target = self.random.choice(passed)
            error = self.berth.bind(of, target)
        except (OSError, client.http.client.HTTPException):
            return False
        self.answers.append((name, target, error))
        return error == ""


def kill_at_any_moment(server, start_live, seed):
    add_nodes(server)
    pick = random.Random(seed)
    scheduler = Scheduler(server, seed)
    names = [f"p-{i}" for i in range(40)]
    for name in names:
        make_pending(server, name, cpu="10m")
    # Bindings are slow, and some replies are lost.
    server.script(lost_reply, BINDING, times=5, skip=7)
    server.script(faults.after(0.01), BINDING, times=None)
    scheduler.berth = start_live("--bind")
    for _ in range(6):
        killer = threading.Timer(pick.random() * 0.2, scheduler.berth.kill)
        killer.start()
        for name in names:
            if not node_of(server, name):
                scheduler.place(name)
        killer.join()
        scheduler.berth = start_live("--bind")
    wait_until(
        lambda: all([node_of(server, name) or scheduler.place(name) for name in names]),
        "all pods to be placed",
    )
    for name in names:
        assert times_bound(server, name) == 1
    for name, target, error in scheduler.answers:
        if error == "":
            assert node_of(server, name) == target
    scheduler.berth.wait_true(server)


@pytest.mark.parametrize("seed", range(3 * FAULT_SCALE))
def test_killed_at_any_time(together, seed):
    together(kill_at_any_moment)


@pytest.mark.parametrize(
    "flags, text",
    [
        (["--bind"], "exact: berth binds, and counts every earlier bind"),
        ([], "not exact: a burst can exceed limits; with --bind or narrow: {to: 1} it cannot"),
    ],
    ids=["bind", "filter only"],
)
def test_explain_and_check_state_whether_berth_binds(cluster, start_live, berth_path, tmp_path, flags, text):
    policy = tmp_path / "counting.yaml"
    policy.write_text(POLICY)
    berth = start_live(*flags)
    berth.filter("ab", make_pending(cluster, "p"))

    def run(*arguments):
        command = [berth_path, *arguments, "--server", f"http://{berth.host}:{berth.port}"]
        return subprocess.run(command, capture_output=True, text=True, timeout=client.PATIENCE).stdout

    assert f"\n  counts of faults/room:\n      {text}\n" in run("explain", "default/p", "--node", "a")
    assert run("check", "--live", policy).endswith(f"counts of pods are {text}:\n  {policy}:7:30: faults/room\n")
