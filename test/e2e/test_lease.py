"""With several replicas that bind, the Lease selects one, it moves to the replica with requests, and no
slot is used twice when the holder changes."""

import collections
import pathlib
import random
import signal
import time

import pytest
from client import metrics
from cluster import get_health
from controlplane import RBAC
from objects import make_extender, make_role_binding
from process import pick_port
from verbs import NOBODY, WaitingBind, ask_bind, ask_filter
from waiting import wait_for

SLOT = "example.com/slot"
ONE_SLOT = {SLOT: "1"}
REASON = "no slot is free"
POLICY = f"""
filters:
  - {{name: slots, headroom: {{{SLOT}: 0}}, reason: {REASON}}}
"""
MANAGED = [{"name": SLOT, "ignoredByScheduler": True}]
LEASE = "berth-system/berth-bind"
LEASE_PATH = "/apis/coordination.k8s.io/v1/namespaces/berth-system/leases/berth-bind"
DURATION, IDLE = 15, 10  # seconds, as in src/kube/lease.h


class Berths:
    """Two berths, a and b, that share the Lease of the shipped role, and pods that no scheduler
    handles."""

    def __init__(self, cluster, kubeconfig=None):
        self.cluster = cluster
        self.access = ["--kubeconfig", kubeconfig or cluster.plane.berth_kubeconfig]
        self.policy = cluster.write_policy(POLICY)
        cluster.api.delete(LEASE_PATH)  # of an earlier scenario
        self.a, self.b = self.start(), self.start()

    def start(self, port=None):
        flags = ["--policy", self.policy, "--bind", "--lease", LEASE]
        return self.cluster.start_berth(*self.access, *flags, port=port or pick_port())

    def add_pod(self, name):
        return self.cluster.add_pod(name, requests=ONE_SLOT, schedulerName=NOBODY)

    def spec(self):
        return self.cluster.api.get(LEASE_PATH)["spec"]

    def holder(self):
        return self.spec().get("holderIdentity", "")

    def bind(self, berth, pod, node):
        """Filters and binds like a scheduler. Returns the error."""
        assert ask_filter(berth, pod, [node]) == [node]
        return ask_bind(berth, pod, node)

    def bind_at_last(self, berth, pod, node, tries):
        """Tries once per second like a scheduler, at most @tries times. Returns the errors."""
        errors = []
        while error := self.bind(berth, pod, node):
            errors.append(error)
            assert len(errors) < tries, errors
            time.sleep(1)
        return errors


@pytest.fixture
def berths(cluster):
    for name in ("one", "two"):
        cluster.add_node(name, **{SLOT: "2"})
    return Berths(cluster)


def say(text, seconds):
    print(f"\nmeasured: {text}: {seconds:.2f} s")


def test_replica_with_requests_holds_the_lease(cluster, berths):
    berths.cluster.start_scheduler(
        make_extender(berths.a.url, bindVerb="bind", managedResources=MANAGED, httpTimeout="15s")
    )
    for i in range(4):
        cluster.add_pod(f"pod-{i}", requests=ONE_SLOT)
    places = cluster.wait_places(4)
    assert set(collections.Counter(places.values()).values()) == {2}

    assert metrics(berths.a)["berth_lease_held"] == 1
    assert metrics(berths.a)["berth_lease_taken_total"] == 1
    assert metrics(berths.b)["berth_lease_held"] == 0
    assert "[+]lease ok: held\n" in get_health(berths.a)[1]
    assert get_health(berths.b)[0] == 200 and "not held, not requested" in get_health(berths.b)[1]
    spec = berths.spec()
    assert spec["leaseDurationSeconds"] == DURATION and spec["leaseTransitions"] == 0

    # Without requests the holder releases it, and writes no more renewals.
    wait_for("the lease to be given up", berths.holder, lambda holder: holder == "")
    version = cluster.api.get(LEASE_PATH)["metadata"]["resourceVersion"]
    time.sleep(3)
    assert cluster.api.get(LEASE_PATH)["metadata"]["resourceVersion"] == version
    assert metrics(berths.a)["berth_lease_lost_total"] == 0


def test_an_orderly_end(cluster, berths):
    assert berths.bind(berths.a, berths.add_pod("first"), "one") == ""
    holder = berths.holder()
    assert holder
    second, third = berths.add_pod("second"), berths.add_pod("third")
    assert berths.bind(berths.a, second, "one") == ""  # the last slot

    begin = time.monotonic()
    berths.a.stop()
    ended = time.monotonic()
    assert berths.holder() == ""  # released, so the other replica need not wait until it expires
    # It counts that pod, although it has just taken over.
    wait_for(
        "the other to know", lambda: ask_filter(berths.b, third, ["one"]), lambda names: names == []
    )
    assert berths.bind(berths.b, third, "two") == ""
    say("from the end of the holder to a Binding of the other", time.monotonic() - ended)
    say("from SIGTERM to it", time.monotonic() - begin)
    assert berths.holder() not in ("", holder)
    assert berths.spec()["leaseTransitions"] == 1


def test_lease_moves_after_a_crash(cluster, berths):
    assert berths.bind(berths.a, berths.add_pod("first"), "one") == ""
    holder = berths.holder()
    begin = time.monotonic()
    berths.a.stop(signal.SIGKILL)
    pod = berths.add_pod("second")
    errors = berths.bind_at_last(berths.b, pod, "two", tries=DURATION + 5)
    taken = time.monotonic() - begin
    say("from SIGKILL of the holder to a Binding of the other", taken)
    assert taken > DURATION - 3, errors
    assert errors and all(
        f"{holder} holds the lease {LEASE} and binds" in error for error in errors
    )
    assert cluster.places() == {"first": "one", "second": "two"}


def test_it_follows_the_scheduler(cluster, berths):
    def start_scheduler(berth):
        return cluster.start_scheduler(
            make_extender(berth.url, bindVerb="bind", managedResources=MANAGED, httpTimeout="15s")
        )

    scheduler = start_scheduler(berths.a)
    cluster.add_pod("first", requests=ONE_SLOT)
    cluster.wait_bound("first")
    holder = berths.holder()
    scheduler.stop()
    start_scheduler(berths.b)
    begin = time.monotonic()
    cluster.add_pod("second", requests=ONE_SLOT)
    cluster.wait_bound("second")
    say("from the first pod of the other scheduler to its Binding", time.monotonic() - begin)
    assert berths.holder() not in ("", holder)
    assert metrics(berths.a)["berth_lease_lost_total"] == 0  # it has released the Lease


def test_the_right_that_is_missing_is_named(cluster):
    cluster.add_node("one", **{SLOT: "2"})
    identity = cluster.plane.make_berth_identity("berth-binds", "berth-decide", "berth-bind")
    berths = Berths(cluster, identity)
    pod = berths.add_pod("first")
    error = berths.bind(berths.a, pod, "one")
    assert "needs the right get on leases.coordination.k8s.io" in error
    assert "in namespace berth-system (Role berth-lease)" in error
    cluster.expect_denials("berth-binds: get leases")
    assert cluster.places() == {}
    assert "needs the right get on leases" in get_health(berths.a)[1]
    assert get_health(berths.a)[0] == 200
    binding = make_role_binding("berth-lease", "berth-binds", kind="Role")
    cluster.api.create(f"{RBAC}/namespaces/berth-system/rolebindings", binding)
    berths.bind_at_last(berths.a, pod, "one", tries=20)


def is_halted(process):
    """Whether all of its threads are stopped."""
    tasks = pathlib.Path(f"/proc/{process.popen.pid}/task").glob("*/stat")
    return all(task.read_text().rpartition(")")[2].split()[0] == "T" for task in tasks)


def test_halted_berth_does_not_bind_with_a_lost_lease(cluster, berths):
    """The holder is stopped (SIGSTOP), loses the lease, and continues with a bind for a slot that is used since."""
    assert berths.bind(berths.a, berths.add_pod("first"), "one") == ""
    late, quick = berths.add_pod("late"), berths.add_pod("quick")
    assert ask_filter(berths.a, late, ["one"]) == ["one"]
    with berths.a.halted():
        wait_for("it to stand still", lambda: is_halted(berths.a))
        bind = WaitingBind(berths.a, late, "one")
        berths.bind_at_last(berths.b, quick, "one", tries=40)
    error = bind.read_error()
    assert REASON in error or "holds the lease" in error, error
    assert cluster.places() == {"first": "one", "quick": "one"}


def test_two_schedulers_never_over_book(cluster):
    """Each scheduler has its own berth, for the same slots, while holders are killed and stopped, and the
    API server crashes."""
    dice = random.Random(7)
    n_nodes, n_slots = 4, 5
    for i in range(n_nodes):
        cluster.add_node(f"node-{i}", **{SLOT: str(n_slots)})
    berths = Berths(cluster)
    running = {"left": berths.a, "right": berths.b}
    for name, berth in running.items():
        extender = make_extender(
            berth.url, bindVerb="bind", managedResources=MANAGED, httpTimeout="15s"
        )
        cluster.start_scheduler(extender, profiles=[{"schedulerName": name}])

    def find_holder():
        return next((name for name in running if metrics(running[name])["berth_lease_held"]), None)

    def kill():
        name = wait_for("a replica to hold the lease", find_holder)
        running[name].stop(signal.SIGKILL)
        running[name] = berths.start(port=running[name].port)

    def halt():
        with running[wait_for("a replica to hold the lease", find_holder)].halted():
            time.sleep(DURATION + 3)

    def crash():
        cluster.plane.restart_apiserver(how=signal.SIGKILL)

    n_pods = 0
    for fault, n in ((kill, 8), (crash, 6), (halt, 16)):
        for _ in range(n):
            scheduler = dice.choice(list(running))
            cluster.add_pod(f"pod-{n_pods}", requests=ONE_SLOT, schedulerName=scheduler)
            n_pods += 1
        cluster.wait_places(n_pods - n + 1)
        fault()

    # Bound pods are never moved or deleted, so a slot that was used twice is detected.
    places = wait_for(
        "all slots to be taken",
        cluster.places,
        lambda seen: len(seen) >= n_nodes * n_slots,
        seconds=90,
        steady=2,
    )
    assert collections.Counter(places.values()) == {f"node-{i}": n_slots for i in range(n_nodes)}
    assert berths.spec()["leaseTransitions"] >= 2
