"""Invalid event streams: berth keeps the newest version of each object, skips meaningless events, and
lists again if it cannot be sure. F7."""

import json
import random

import faults
import pytest
from apistate import NODES, PODS, encode, encode_event, make_bookmark
from client import FAULT_SCALE, wait_until
from live import count_relists, fill, make_view, node, pod, true_view

N_NODES, N_PODS = 40, 200
BATCHES, PER_BATCH = 6 * FAULT_SCALE, 400


class Model:
    """The expected result of a stream of events: the last event for each name counts; a DELETED with another
    UID refers to an earlier pod and is ignored."""

    def __init__(self, server):
        self.objects = {
            resource: {key: version.object for key, version in objects.items()}
            for resource, objects in server.state.objects.items()
        }

    def apply(self, resource, event_type, obj):
        meta = obj["metadata"]
        key = f"{meta['namespace']}/{meta['name']}" if resource == "pods" else meta["name"]
        known = self.objects[resource]
        if event_type != "DELETED":
            known[key] = obj
        elif key in known and (
            resource == "nodes" or known[key]["metadata"]["uid"] == meta["uid"]
        ):
            del known[key]

    def view(self):
        return make_view([obj for known in self.objects.values() for obj in known.values()])


class RandomEvents:
    """Sends random events of both kinds in open watches, and applies them to the model."""

    def __init__(self, server, seed):
        self.server, self.model = server, Model(server)
        self.random = random.Random(seed)
        self.sent = []  # (resource, type, object), for replays

    def run(self, n_events):
        """Sends all events under the lock, cut into chunks at any position."""
        lines = {"nodes": [], "pods": []}
        for _ in range(n_events):
            resource, line = self.random.choice(
                [self.known, self.known, self.known, self.unknown, self.again, self.nothing]
            )()
            lines[resource].append(line)
        for resource, parts in lines.items():
            self.server.push(resource, b"".join(parts))

    def emit(self, resource, event_type, obj):
        self.model.apply(resource, event_type, obj)
        self.sent.append((resource, event_type, obj))
        kind = {"nodes": "Node", "pods": "Pod"}[resource]
        whole = {"kind": kind, "apiVersion": "v1", **obj}
        return resource, encode_event(event_type, encode(whole))

    def stamp(self, obj, uid=None):
        self.server.state.advance()
        obj["metadata"]["resourceVersion"] = str(self.server.state.number)
        obj["metadata"]["uid"] = uid or f"u-{self.random.randrange(3)}"
        return obj

    def make(self, resource):
        pick = self.random
        if resource == "nodes":
            name, pool = f"n-{pick.randrange(N_NODES):04}", pick.choice(["blue", "red"])
            return self.stamp(node(name, pool, pick.choice(["1", "8", "2500m"])))
        on = pick.choice([None, f"n-{pick.randrange(N_NODES + 5):04}"])
        phase = pick.choice([None, None, None, "Succeeded", "Failed"])
        cpu = f"{pick.randrange(1, 9)}00m"
        return self.stamp(pod(f"q-{pick.randrange(N_PODS)}", on, cpu, phase))

    def known(self):
        """An event for one of few names: often ADDED twice, or with a new UID."""
        resource = self.random.choice(["nodes", "pods", "pods"])
        event_type = self.random.choice(["ADDED", "MODIFIED", "MODIFIED", "DELETED"])
        return self.emit(resource, event_type, self.make(resource))

    def unknown(self):
        """A DELETED event of an unknown object."""
        obj = self.make("pods")
        obj["metadata"]["name"] = f"stranger-{self.random.randrange(1000)}"
        return self.emit("pods", "DELETED", obj)

    def again(self):
        """An unchanged old event: a replay, or out of order."""
        if not self.sent:
            return self.nothing()
        return self.emit(*self.random.choice(self.sent[-200:]))

    def nothing(self):
        """Meaningless documents."""
        resource = self.random.choice(["nodes", "pods"])
        kind = {"nodes": NODES, "pods": PODS}[resource]
        return resource, self.random.choice(
            [
                b"\n",
                faults.UNKNOWN_TYPE,
                make_bookmark(kind, self.server.state.number),
            ]
        )


def send_random_events(server, start_live, seed, chunk):
    fill(server, n_nodes=N_NODES // 2)
    server.chunk_bytes = chunk
    berth = start_live()
    wait_until(lambda: len(server.open_watches()) == 2, "watches")
    events = RandomEvents(server, seed)
    for _ in range(BATCHES):
        events.run(PER_BATCH)
        berth.wait_view(events.model.view)
    # None of the events caused a new list.
    assert count_relists(server) == [1, 1]
    assert events.model.view() != true_view(server)

    for resource in ("nodes", "pods"):
        server.push_error(resource, faults.EXPIRED)
    berth.wait_true(server)


@pytest.mark.parametrize("seed, chunk", [(1, 65536), (2, 1000), (3, 13)])
def test_newest_object_counts(together, seed, chunk):
    together(send_random_events)


def test_pod_recreated_under_the_same_name(server, start_live):
    server.state.put(NODES, node("a"))
    server.state.put(NODES, node("b"))
    server.state.put(PODS, pod("p", on="a", uid="old"))
    berth = start_live()
    wait_until(lambda: server.open_watches("pods"), "a watch")
    old = server.state.find(PODS, "default/p").object
    server.state.put(PODS, pod("p", on="b", uid="new"))  # without a DELETED before it
    berth.wait_true(server)
    server.push_event("pods", "DELETED", old)
    server.state.put(NODES, node("c"))
    server.state.put(PODS, pod("q", on="c"))
    berth.wait_true(server)
    assert berth.view()["default/p"]["node"] == "b"


def push_line(server, start_live, name):
    """An invalid document may concern any object, so berth lists again."""
    fill(server)
    berth = start_live()
    wait_until(lambda: len(server.open_watches()) == 2, "watches")
    with server.lock:
        server.state.put(NODES, node("lost"))
        watch = server.open_watches("nodes")[0]
        watch.queue[-1] = faults.BAD_LINES.get(name) or make_long_line(), None
    berth.wait_true(server)
    wait_until(berth.is_connected, "berth to say that all is well")
    assert berth.is_alive()
    assert len(server.relists("pods")) == 1


@pytest.mark.parametrize("name", [*faults.BAD_LINES, "too long"])
def test_lines_that_are_no_events(together, name):
    together(push_line)


def make_long_line():
    """A valid line above the size limit of one event."""
    obj = node("huge", annotations={"a": "x" * (9 << 20)})
    obj["metadata"]["resourceVersion"] = "1"
    return encode_event("ADDED", json.dumps(obj).encode())


def test_limits_a_line_without_end(server, start_live):
    fill(server)
    berth = start_live()
    steady = berth.rss()
    endless = server.script(faults.endless(), "watch nodes")
    server.kill()
    wait_until(lambda: endless.n_hits == 1, "the watch")
    server.state.put(NODES, node("after"))
    berth.wait_true(server)
    assert berth.rss() < steady + (64 << 20)


def spoil_list(server, start_live, name):
    """One invalid object must not stop all updates permanently."""
    fill(server)
    line = faults.BAD_LINES[name]

    def spoil(exchange, proceed):
        send_chunk = exchange.send_chunk
        exchange.send_chunk = lambda data: send_chunk(line + data if data else data)
        proceed()

    script = server.script(spoil, when=lambda r: r.is_streamed, times=3)
    berth = start_live()
    berth.wait_true(server)
    assert script.n_hits >= 1


@pytest.mark.parametrize("name", ["no JSON", "object is null", "no name", "deep"])
def test_rejects_list_items_that_are_not_objects(together, name):
    together(spoil_list)
