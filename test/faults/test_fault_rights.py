"""The rights that each feature of berth needs."""

import time

from apistate import NODES, PODS
from client import wait_until
from live import fill, node, pod

READ = [f"{verb} {resource}" for verb in ("get", "list", "watch") for resource in ("nodes", "pods")]


def use_everything(server, berth, binds=False):
    """Uses all features of berth that access the cluster."""
    names = sorted(server.state.objects["nodes"])
    of = server.state.find(PODS, "default/waits").object
    passed = berth.filter(names, of).json()["NodeNames"]
    if binds:
        assert berth.bind(of, passed[0]) == ""
    server.kill()
    server.state.put(NODES, node("later"))
    berth.wait_true(server)


def test_read_rights_are_enough_to_decide(server, start_live):
    fill(server)
    server.state.put(PODS, pod("waits"))
    server.allow_only(*READ)
    berth = start_live()
    use_everything(server, berth)
    assert not server.denied


def test_rights_for_bind_and_wake_up(server, start_live):
    fill(server)
    server.state.put(PODS, pod("waits"))
    server.allow_only(*READ, "create pods/binding", "patch nodes")
    berth = start_live("--bind", "--wake-up")
    use_everything(server, berth, binds=True)
    assert berth.filter(["n-0001"]).json()["NodeNames"] == []  # a pod is pending
    server.state.patch(NODES, "n-0001", {"metadata": {"labels": {"pool": "blue"}}})
    wait_until(lambda: server.asked("patch nodes"), "a node to be marked")
    assert not server.denied


def test_missing_rights_are_named(server, start_live):
    fill(server)
    server.allow_only("list nodes", "watch nodes")
    berth = start_live(is_ready=False)
    wait_until(lambda: "is forbidden" in berth.health(), "the reason")
    assert "on pods" in berth.health()
    assert not berth.is_ready()
    server.allow_only(*READ)
    wait_until(berth.is_ready, "berth to be ready")


def test_request_without_nodes_takes_no_lease(server, start_live):
    """berth check sends requests without nodes. If they acquired the Lease, another berth could not bind."""
    fill(server)
    berth = start_live("--bind", "--lease", "berth-system/berth-bind")

    def looks_for_the_lease():
        return [request for request in server.requests if "/leases" in request.path]

    for _ in range(3):
        assert berth.filter([]).json()["NodeNames"] == []
    time.sleep(0.5)
    assert not looks_for_the_lease()
    berth.filter(["n-0001"])
    wait_until(looks_for_the_lease, "the lease to be asked for")
