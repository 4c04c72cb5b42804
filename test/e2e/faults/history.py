"""Reads every state of pods from etcd, so that a crash of an API server hides none."""

import base64
import collections
import http.client
import json
import threading

PODS = "/registry/pods/"
STORED = b"k8s\0"  # precedes each object; a runtime.Unknown follows, with the object in its field 2


def fields(message):
    """(number, value) of a protobuf message: numbers, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        kind = key & 7
        assert kind in (0, 2), f"kind {kind} of a field"
        value = varint()
        if kind == 2:
            value, at = message[at : at + value], at + value
        yield key >> 3, value


def find_field(message, number):
    return next((value for each, value in fields(message) if each == number), b"")


def decode_pod(stored):
    """(uid, node) of a pod as stored by the API server; node "" if it has none."""
    assert stored.startswith(STORED)
    pod = dict(fields(find_field(stored[len(STORED) :], 2)))
    return find_field(pod[1], 5).decode(), find_field(pod[2], 10).decode()


class Etcd:
    """A client of etcd's JSON gateway."""

    def __init__(self, port):
        self.port = port

    def connect(self, timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def post(self, path, body):
        connection = self.connect()
        try:
            connection.request("POST", path, json.dumps(body))
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        assert response.status == 200, text
        return json.loads(text)

    def revision(self):
        return int(self.post("/v3/kv/range", {"key": encode(PODS)})["header"]["revision"])

    def compact(self):
        """Removes all old versions, so that watches from one of them expire."""
        self.post("/v3/kv/compaction", {"revision": self.revision()})


class PodHistory:
    """Watches the pods of one namespace, like an informer. Threads may share it.

    nodes[uid] are all nodes to which the pod was ever bound, in order.
    """

    def __init__(self, etcd, namespace, slots):
        """@slots: {node: maximum number of pods}."""
        self.prefix, self.slots = f"{PODS}{namespace}/", slots
        self.changed = threading.Condition()
        self.uids, self.nodes = {}, {}  # {name: uid} of existing pods; of all pods ever
        self.on = collections.defaultdict(set)  # {node: uids} of existing pods
        self.overfull = []  # (node, uids) after a bind that exceeded the slots
        self.n_placed = 0
        self.failure = None
        self.connection = etcd.connect(timeout=None)
        first = etcd.revision() + 1
        asked = {"key": encode(self.prefix), "range_end": encode(self.prefix[:-1] + "0")}
        self.connection.request(
            "POST", "/v3/watch", json.dumps({"create_request": {**asked, "start_revision": first}})
        )
        threading.Thread(target=self._follow, daemon=True).start()

    def pending(self):
        """[(name, uid)], oldest first."""
        with self.changed:
            self.check()
            return [(name, uid) for name, uid in self.uids.items() if not self.nodes[uid]]

    def bound(self):
        """[(name, uid)] of existing bound pods, oldest first."""
        with self.changed:
            self.check()
            return [(name, uid) for name, uid in self.uids.items() if self.nodes[uid]]

    def node_of(self, uid):
        return (self.nodes[uid] or [""])[-1]

    def check(self):
        assert not self.failure, f"the history of pods has a gap: {self.failure}"

    def _follow(self):
        try:
            for line in self.connection.getresponse():
                result = json.loads(line)["result"]
                assert not result.get("canceled"), result
                with self.changed:
                    for event in result.get("events", []):
                        self._apply(event)
                    self.changed.notify_all()
            self.failure = "etcd ended the watch"
        except Exception as error:  # noqa: BLE001: check() raises it in the test
            self.failure = repr(error)

    def _apply(self, event):
        kv = event["kv"]
        name = base64.b64decode(kv["key"]).decode().removeprefix(self.prefix)
        if event.get("type") == "DELETE":
            uid = self.uids.pop(name)
            self.on[self.node_of(uid)].discard(uid)
            return
        uid, node = decode_pod(base64.b64decode(kv["value"]))
        assert self.uids.setdefault(name, uid) == uid, f"{name} changed its UID"
        known = self.nodes.setdefault(uid, [])
        if node != self.node_of(uid):
            known.append(node)
            self.n_placed += 1
            self.on[node].add(uid)
            if len(self.on[node]) > self.slots.get(node, 0):
                self.overfull.append((node, set(self.on[node])))


def encode(text):
    return base64.b64encode(text.encode()).decode()
