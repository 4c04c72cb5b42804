"""Creates and deletes pods, with clients that place them like kube-scheduler: a filter, the choice of a
node, a bind; and again if berth, the API server or the reply is lost."""

import collections
import http.client
import itertools
import json
import random
import re
import threading
import time

import client
from api import Api, ApiError
from history import Etcd, PodHistory
from objects import make_pod
from verbs import NOBODY, make_bind
from waiting import wait_for

SLOT = "example.com/slot"
POLICY = f"""
filters:
  - {{name: pool, nodeLabels: {{pool: blue}}, reason: node is not in the pool}}
  - {{name: slots, headroom: {{{SLOT}: 0}}, reason: no slot is free}}
"""
# berth counts this resource, kube-scheduler does not.
MANAGED = [{"name": SLOT, "ignoredByScheduler": True}]
N_BLUE, N_RED, N_SLOTS = 6, 2, 6
N_CLIENTS = 6
PAUSE = 0.01  # seconds before a client retries
FAILURES = (OSError, http.client.HTTPException, ApiError)
SETTLE = 120  # seconds in which all pods must get a node after the last fault


class Load:
    """Load of one cluster: nodes with slots, and pods for them. There is always room for every pod, so a pod
    without a node at the end is an error.

    @is_shared: a kube-scheduler places half of the pods. The clients of place() place the others, or
    all. @closed: nodes that get no pod for a reason other than their pool.
    """

    def __init__(self, cluster, is_shared=False, closed=()):
        self.cluster, self.is_shared = cluster, is_shared
        blue, red = ([f"{pool}-{i}" for i in range(n)] for pool, n in (("blue", N_BLUE), ("red", N_RED)))
        for pool, names in (("blue", blue), ("red", red)):
            for name in names:
                cluster.add_node(name, {"pool": pool}, **{SLOT: str(N_SLOTS)})
        self.nodes = blue + red
        self.etcd = Etcd(cluster.plane.etcd_port)
        slots = {name: N_SLOTS for name in blue if name not in closed}
        self.history = PodHistory(self.etcd, cluster.namespace, slots)
        # Almost full, so that a pod that is counted twice or not at all is detected.
        self.n_pods = len(slots) * N_SLOTS - 2
        self.api = Api(cluster.plane.port, cluster.api.context)
        self.audit_start = cluster.plane.audit.size()
        self.passed = collections.defaultdict(set)  # {uid: nodes that a filter passed}
        self.unanswered = set()  # UIDs of pods whose bind got no reply
        self.n_errors = self.n_audited = 0
        self.texts = collections.Counter()  # of errors
        self.in_flight, self.taken = set(), set()  # UIDs of pods whose bind was sent; of pods that a client handles
        self.lock = threading.Condition()
        self.is_fed, self.is_resting, self.is_stopping, self.update_at = True, False, False, 0
        self.threads = []
        self._start(self._feed)

    def flags(self, kubeconfig=None, policy=POLICY):
        """Flags of a berth that binds."""
        access = kubeconfig or self.cluster.plane.berth_kubeconfig
        return ["--kubeconfig", access, "--policy", self.cluster.write_policy(policy), "--bind"]

    def _start(self, work, *arguments):
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self.threads.append(thread)
        thread.start()

    # --- pods ---

    def _feed(self):
        """Keeps n_pods pods: once most have a node, deletes the oldest and creates new ones."""
        numbers = itertools.count()
        while not self.is_stopping:
            self.is_resting = not self.is_fed
            try:
                bound = self.history.bound()
                if self.is_resting or len(bound) < len(self.history.uids) - N_CLIENTS:
                    self._update(bound)
                elif len(self.history.uids) < self.n_pods:
                    self._add_pod(f"pod-{next(numbers)}")
                else:
                    for name, _ in bound[: N_CLIENTS * 2]:
                        self.api.delete(f"{self.cluster.pods_path}/{name}", gracePeriodSeconds=0)
            except FAILURES:
                time.sleep(PAUSE)

    def _add_pod(self, name):
        self.api.create(self.cluster.pods_path, self._make_pod(name))
        self._wait_change(lambda: name in self.history.uids)

    def _update(self, bound):
        """Changes objects once per second, like kubelets, so that every watch has events."""
        if bound and time.monotonic() >= self.update_at:
            self.update_at = time.monotonic() + 1
            change = {"metadata": {"annotations": {"example.com/reported": str(self.update_at)}}}
            self.api.patch(f"{self.cluster.pods_path}/{bound[0][0]}", change)
        self._wait_change(lambda: False)

    def _is_ours(self, name):
        return not self.is_shared or name[-1] in "02468"

    def _make_pod(self, name):
        by_us = {"schedulerName": NOBODY} if self._is_ours(name) else {}
        return make_pod(name, requests={SLOT: "1"}, **by_us)

    def _wait_change(self, is_there):
        with self.history.changed:
            if not is_there():
                self.history.changed.wait(PAUSE * 5)

    # --- clients ---

    def place(self, berth, context=None, keeps_connections=True):
        """@berth: the address of a berth, which may restart."""
        for i in range(N_CLIENTS):
            self._start(self._run_client, berth, context, keeps_connections, random.Random(i))

    def _run_client(self, berth, context, keeps_connections, dice):
        connection = None
        while not self.is_stopping:
            picked = self._take()
            if not picked:
                self._wait_change(lambda: False)
                continue
            try:
                connection = connection or client.open_connection(berth, context)
                is_placed = self._place(connection, dice, *picked)
            except FAILURES as error:
                is_placed = False
                self.texts[type(error).__name__] += 1
                connection.close()
                connection = None
            finally:
                with self.lock:
                    self.in_flight.discard(picked[1])
                    self.taken.discard(picked[1])
            if not is_placed:
                time.sleep(PAUSE)
            if connection and not keeps_connections:
                connection.close()
                connection = None

    def _take(self):
        pending = self.history.pending()
        with self.lock:
            for name, uid in pending:
                if uid not in self.taken and self._is_ours(name):
                    self.taken.add(uid)
                    return name, uid

    def _place(self, connection, dice, name, uid):
        """Returns whether berth reports success."""
        pod = self._make_pod(name)
        pod["metadata"].update(namespace=self.cluster.namespace, uid=uid)
        reply = ask(connection, "filter", {"Pod": pod, "Nodes": None, "NodeNames": self.nodes})
        if reply["Error"] or not reply["NodeNames"]:
            self.texts[reply["Error"] or "no node passes"] += 1
            return False
        self.passed[uid].update(reply["NodeNames"])
        node = dice.choice(reply["NodeNames"])
        with self.lock:
            self.in_flight.add(uid)
            self.lock.notify_all()
        try:
            error = ask(connection, "bind", make_bind(pod, node))["Error"]
        except FAILURES:
            self.unanswered.add(uid)
            raise
        if error:
            self.n_errors += 1
            self.texts[re.sub(r"\d+", "N", error)[:100]] += 1
        return not error

    def wait_in_flight(self):
        """Waits until a bind is in flight."""
        deadline = time.monotonic() + SETTLE
        with self.lock:
            while not self.in_flight:
                assert self.lock.wait(deadline - time.monotonic()), f"no bind in {SETTLE} s: {self.texts}"

    def wait_placed(self, n):
        """Waits until @n more pods have a node, which shows that the cluster works."""
        wanted = self.history.n_placed + n

        def look():
            self.history.check()
            return self.history.n_placed

        wait_for(f"{n} pods to be placed", look, lambda seen: seen >= wanted, seconds=SETTLE)

    # --- rules ---

    def stop(self):
        self.is_fed, self.is_stopping = False, True
        for thread in self.threads:
            thread.join()

    def settle(self, *berths):
        """After the last fault: waits until every pod has a node and berth assumes no pods, and ends the load."""
        self.is_fed = False
        wait_for("the last pods to be made", lambda: self.is_resting)
        self.cluster.api.create(self.cluster.pods_path, self._make_pod("last-0"))
        wait_for("the last pod to be known", lambda: "last-0" in self.history.uids)
        wait_for("every pod to get a node", self.history.pending, lambda seen: not seen, seconds=SETTLE)
        for berth in berths:  # assumed pods that were deleted before a watch showed them count for a minute
            wait_for("an empty ledger", lambda: count_assumed(berth), lambda n: n == 0, seconds=SETTLE)
        self.stop()

    def check(self, may_overfill=False):
        """No pod is lost or bound twice, and no node has more pods than slots.
        @may_overfill: berth was killed and restarted at once, so a pod whose bind got no reply may be
        bound after the new berth has listed the pods (docs/bind-and-replicas.md)."""
        nodes = self.history.nodes
        assert nodes and not self.history.pending()
        assert not {uid: found for uid, found in nodes.items() if len(found) > 1}, "bound twice"
        assert {node for found in nodes.values() for node in found} <= set(self.history.slots)
        for uid, passed in self.passed.items():
            assert set(nodes[uid]) <= passed, (uid, nodes[uid], passed)
        for node, uids in self.history.overfull:
            known = uids - self.unanswered if may_overfill else uids
            assert len(known) <= N_SLOTS, (node, uids)
        self._check_audit(nodes)

    def _check_audit(self, nodes):
        """The API server accepted at most one Binding per pod, to its current node."""
        made = collections.Counter()
        for uid, node in self.cluster.plane.audit.bindings(self.audit_start):
            if uid in nodes:
                made[uid] += 1
                assert nodes[uid] == [node], (uid, node, nodes[uid])
        assert max(made.values()) == 1, made.most_common(3)
        self.n_audited = sum(made.values())

    def report(self):
        nodes = self.history.nodes
        return (
            f"{len(nodes)} pods, each bound once; {self.n_audited} Bindings in the audit log; "
            f"{len(self.unanswered)} pods with an unanswered bind; {self.n_errors} binds refused or failed; "
            f"{len(self.history.overfull)} times one pod too many on a node"
        )


def count_assumed(berth):
    return client.metrics(berth)["berth_ledger_pods"]


def ask(connection, verb, body):
    connection.request("POST", f"/{verb}", json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read()
    if response.status != 200:
        raise OSError(f"{response.status}: {text[:200]}")
    return json.loads(text)
