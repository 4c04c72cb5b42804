"""A reply of n bytes uses at most 1 MiB + 100 × n bytes of memory, with any content: lists, watch streams
and streamed lists of the API server, vectors of Prometheus. Afterwards berth returns the
memory."""

import types

import pytest
from apiserver import ApiServer
from apistate import NODES
from client import IS_SANITIZED, post, wait_until
from faults import EXPIRED
from large_inputs import JSON, MIB, NODE, POD, limit_of, memory_of, reset_peak, times
from live import fill, node, starting
from prometheus import VECTOR_START, Scripted, asks, by_node

pytestmark = pytest.mark.skipif(
    IS_SANITIZED, reason="a sanitizer needs more memory, and keeps what is freed"
)

METRIC = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: measured}
spec:
  metrics:
    - {name: load, prometheus: {query: load}, interval: 1s, maxAge: 60s}
  filters:
    - {name: cool, expression: "metrics.load < 0.5", onMissing: allow}
"""
NESTED = {name: JSON[name] for name in ("open arrays", "nested arrays", "keys", "escapes")}
# Memory that may stay: the block that an arena keeps (8 MiB), the last reply for a metric (4 MiB), code.
RETURNED = 16 * MIB


@pytest.fixture
def watched(berth_path, tmp_path):
    """A berth with an API server and a Prometheus. Each test has its own, because after five quick retries
    berth lists only once per second."""
    folder, server, prometheus = tmp_path, ApiServer(), Scripted()
    fill(server)
    (folder / "measured.yaml").write_text(METRIC)
    # Recorded decisions keep their snapshot of the cluster.
    flags = ["--policy", folder / "measured.yaml", "--prometheus", prometheus.url, "--decisions", 0]
    try:
        with starting(berth_path, server, folder) as start:
            live = start(*flags)
            yield types.SimpleNamespace(
                server=server, prometheus=prometheus, live=live, pid=live.popen.pid, n_marks=0
            )
    finally:
        server.stop()
        prometheus.stop()


def knows(watched, name):
    args = {"Pod": {"metadata": {"name": "p"}}, "NodeNames": [name]}
    return "not known" not in post(watched.live, "filter", args).text


def mark(watched):
    """Adds a node and waits until berth has it, so that all earlier data is processed."""
    watched.n_marks += 1
    name = f"mark-{watched.n_marks}"
    watched.server.state.put(NODES, node(name))
    wait_until(lambda: knows(watched, name), "the new node")


def expire(watched, resource):
    """Ends the watch of @resource as expired. After a list berth has the nodes before it watches again."""

    def is_watched():
        return any(not watch.ending for watch in watched.server.open_watches(resource))

    wait_until(is_watched, "a watch")
    watched.server.push_error(resource, EXPIRED)


def assert_cost(watched, before, n_bytes):
    cost = memory_of(watched.pid, "VmHWM") - before
    limit = limit_of(n_bytes)
    assert cost <= limit, f"{cost / MIB:.1f} MiB, and {limit / MIB:.1f} are allowed"


# --- lists ---


def make_list(items, version):
    return '{"kind":"NodeList","metadata":{"resourceVersion":"%d"},"items":[%s]}' % (version, items)


def repeat(item):
    return times(item + ",") + item.replace("{}", "zzzz")


OBJECTS = {
    "tiny nodes": repeat(NODE % ("{}", "", "")),
    "empty objects": repeat("{}"),
    "labels": NODE % ("a", ',"labels":{%s"b":""}' % times('"{}":"",'), ""),
    "annotations": NODE % ("a", ',"annotations":{%s"b":""}' % times('"{}":"",'), ""),
    "long label": NODE % ("a", ',"labels":{"a":"%s"}' % times("a"), ""),
    "long key": NODE % ("a", ',"labels":{"%s":"a"}' % times("a"), ""),
    "taints": NODE % ("a", "", ',"spec":{"taints":[%s{}]}' % times('{"key":"{}"},')),
    "resources": NODE % ("a", "", ',"status":{"allocatable":{%s"cpu":1}}' % times('"{}":1,')),
    "images": NODE % ("a", "", ',"status":{"images":[%s{}]}' % times('{"names":["{}"]},')),
    "nesting": NODE % ("a", ',"x":' + times("["), ""),
}
PODS = {
    "tiny pods": repeat(POD % ("{}", "", '"nodeName":"n-0000"')),
    "containers": POD % ("a", "", '"containers":[%s{}]' % times("{},")),
    "tolerations": POD % ("a", "", '"tolerations":[%s{}]' % times("{},")),
}
LISTS = {("nodes", name) for name in [*OBJECTS, *NESTED]} | {("pods", name) for name in PODS}


def send_list(watched, resource, body):
    """Answers the next list of @resource with @body in one page; returns after berth has read it."""
    server, n_asked = watched.server, []

    def count():
        return len(server.asked(f"list {resource}")) + len(server.asked(f"watch {resource}"))

    def act(exchange, proceed):
        if exchange.request.what.startswith("watch"):
            exchange.send(422, b"{}")  # no streamed lists
        else:
            n_asked.append(count())
            exchange.send(200, body)

    def is_wanted(request):
        is_list = request.what == f"list {resource}"
        return not n_asked and (is_list or (request.what == f"watch {resource}" and request.is_streamed))

    script = server.script(act, times=None, when=is_wanted)
    expire(watched, resource)
    wait_until(lambda: n_asked and count() > n_asked[0], "the request after the list")
    script.cancel()


@pytest.mark.parametrize("resource, name", sorted(LISTS))
def test_list_needs_little_memory(watched, resource, name):
    before = reset_peak(watched.pid)
    text = NESTED.get(name) or make_list((OBJECTS | PODS)[name], watched.server.state.number)
    send_list(watched, resource, text.encode())
    assert_cost(watched, before, len(text))
    watched.server.push_error(resource, EXPIRED)  # and a valid list follows
    mark(watched)


# --- watches ---


def make_event(obj, kind="ADDED"):
    return '{"type":"%s","object":%s}\n' % (kind, obj)


def make_version(obj):
    return obj.replace('"metadata":{', '"metadata":{"resourceVersion":"9",', 1)


EVENTS = {
    **{name: make_event(make_version(text)) for name, text in OBJECTS.items() if text[-1] == "}"},
    **{name: text + "\n" for name, text in NESTED.items()},
    "tiny events": times(make_event(make_version(NODE % ("{}", "", "")))),
    "the same event": times(make_event(make_version(NODE % ("a", "", "")))),
    "deletions": times(make_event(make_version(NODE % ("{}", "", "")), "DELETED")),
    "bookmarks": times(make_event('{"metadata":{"resourceVersion":"9"}}', "BOOKMARK")),
    "unknown types": times(make_event("{}", "LATER")),
    "empty lines": times("\n"),
    "no end": times("a"),
}


@pytest.mark.parametrize("name", EVENTS)
def test_watch_needs_little_memory(watched, name):
    wait_until(lambda: watched.server.open_watches("nodes"), "a watch")
    before = reset_peak(watched.pid)
    data = EVENTS[name].encode()
    watched.server.push("nodes", data)
    mark(watched)
    assert_cost(watched, before, len(data))
    expire(watched, "nodes")
    mark(watched)


@pytest.mark.parametrize("name", ["tiny events", "the same event", "deletions"])
def test_streamed_list_needs_little_memory(watched, name):
    """Events after a deletion are queued until the end of the list, which never comes."""
    data = make_event(make_version(NODE % ("a", "", "")), "DELETED").encode() + EVENTS[name].encode()

    def act(exchange, proceed):
        exchange.start_chunks()
        exchange.send_chunk(data)
        exchange.end_chunks()

    before = reset_peak(watched.pid)
    watched.server.script(
        act, when=lambda request: request.what == "watch nodes" and request.is_streamed
    )
    expire(watched, "nodes")
    mark(watched)
    assert_cost(watched, before, len(data))


# --- Prometheus ---


def make_vector(rows):
    return VECTOR_START.decode() + rows + "]}}"


ROW = '{"metric":{%s},"value":[1700000000,"0.5"]}'
VECTORS = {
    **NESTED,
    "series": make_vector(repeat(ROW % '"node":"{}"')),
    "the same series": make_vector(repeat(ROW % '"node":"n-0000"')),
    "empty series": make_vector(repeat("{}")),
    "empty labels": make_vector(repeat(ROW % "")),
    "labels": make_vector(ROW % (times('"{}":"",') + '"z":""')),
    "few labels each": make_vector(repeat(ROW % ",".join(f'"{i}":"{{}}"' for i in range(60)))),
    "long label": make_vector(ROW % ('"node":"%s"' % times("a"))),
    "long key": make_vector(ROW % ('"%s":"a"' % times("a"))),
    "escaped label": make_vector(ROW % ('"node":"%s"' % times("\\u0041"))),
    "long value": make_vector('{"metric":{},"value":[1,"%s"]}' % times("1")),
    "warnings": '{"status":"success","warnings":[%s""]}' % times('"",'),
    "error": '{"status":"error","errorType":"x","error":"%s"}' % times("a"),
}


@pytest.mark.parametrize("name", VECTORS)
def test_vector_needs_little_memory(watched, name):
    prometheus, body = watched.prometheus, VECTORS[name].encode()
    prometheus.set("load", by_node(n=0.25))
    before = reset_peak(watched.pid)
    prometheus.script(lambda exchange, proceed: exchange.send(200, body), when=asks("load"))
    prometheus.wait_asked("load", 2)  # the second after the first was read
    assert_cost(watched, before, len(body))


# --- afterwards ---


def test_memory_of_answers_is_given_back(watched):
    """After the largest replies only bounded memory stays."""
    before = memory_of(watched.pid, "VmRSS")
    for _ in range(2):
        test_list_needs_little_memory(watched, "nodes", "tiny nodes")
        test_watch_needs_little_memory(watched, "tiny events")
        test_vector_needs_little_memory(watched, "series")
    wait_until(
        lambda: memory_of(watched.pid, "VmRSS") < before + RETURNED, "memory to be given back"
    )
