"""The extender protocol over real HTTP: requests of kube-scheduler v1.36.4, and invalid ones.

Requests are the recorded bytes of test/data/wire/fixtures. Replies are parsed like in kube-scheduler, but
more strictly: Go's names, lists that are lists, no null, whole numbers.
"""

import concurrent.futures
import copy
import json
import random
import re

import pytest

from client import (
    FIXTURES,
    IS_SANITIZED,
    ask,
    fixture_body,
    get,
    metrics,
    open_connection,
    post,
    wait_until,
    write_cluster,
)

N0, N1, N2, N3, N4 = (f"node-0000{i}.pool-{i}.example.internal" for i in range(5))

CLOSED = "zone is closed"
NO_GPU = "not enough free GPUs"
NOT_URGENT = "pool takes no urgent pods"
UNKNOWN = "node is not known to berth"

# Zone c is closed (node 2). Urgent pods keep off pool 1. The pool decides the score.
POLICY = f"""
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {{name: every}}
spec:
  filters:
    - name: gpus
      headroom: {{nvidia.com/gpu: 0}}
      reason: {NO_GPU}
    - name: zone
      nodeLabels: {{topology.kubernetes.io/zone: {{notIn: [eu-west-1c]}}}}
      reason: {CLOSED}
      unresolvable: true
  scores:
    - name: pool
      nodeLabelPreference:
        key: example.com/node-pool
        values: {{pool-0: 100, pool-4: 42, pool-3: 5}}
        otherwise: 4
---
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {{name: urgent}}
spec:
  match:
    podSelector: {{matchLabels: {{app.kubernetes.io/name: urgent-pod}}}}
  filters:
    - name: pool
      nodeLabels: {{example.com/node-pool: {{notIn: [pool-1]}}}}
      reason: {NOT_URGENT}
      unresolvable: true
"""
SCORES = {N0: 10, N4: 4, N3: 1}  # others have 0 and are omitted


def recorded_nodes():
    nodes = {}
    for name in ("filter-nodecache-false", "filter-nodecache-false-gpu"):
        for node in json.loads(fixture_body(name))["Nodes"]["items"]:
            nodes[node["metadata"]["name"]] = node
    assert sorted(nodes) == [N0, N1, N2, N3, N4]
    return nodes


NODES = recorded_nodes()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wire")
    (folder / "policy.yaml").write_text(POLICY)
    victims = json.loads(fixture_body("preempt-nodecache-false"))["NodeNameToVictims"]
    pods = [pod for victim in victims.values() for pod in victim["Pods"]]
    write_cluster(folder / "cluster.json", NODES.values())
    write_cluster(folder / "full.json", NODES.values(), pods)
    return folder


@pytest.fixture(scope="module")
def berth(start_shared, files):
    """The cluster of the recordings, empty, and the policy above."""
    return start_shared("--policy", files / "policy.yaml", "--cluster", files / "cluster.json")


@pytest.fixture(scope="module")
def full(start_shared, files):
    """The same cluster, with pods that use all GPUs."""
    return start_shared("--policy", files / "policy.yaml", "--cluster", files / "full.json")


@pytest.fixture(scope="module")
def free(start_shared, files):
    """The cluster without any policy."""
    return start_shared("--cluster", files / "cluster.json")


@pytest.fixture(scope="module")
def blind(start_shared, files):
    """The policy without any cluster."""
    return start_shared("--policy", files / "policy.yaml")


# --- reading replies ---


def raw_items(text):
    """The unparsed members of Nodes.items."""
    decoder, items = json.JSONDecoder(), []
    at = re.search(r'"Nodes": *{("metadata": *{}, *)?"items": *\[', text).end()
    while text[at] != "]":
        _, end = decoder.raw_decode(text, at)
        items.append(text[at:end])
        at = re.compile(r"(, *)?").match(text, end).end()
    return items


class Filtered:
    """A filter reply, with checks for every filter reply."""

    def __init__(self, body, reply):
        assert reply.status == 200, reply.text
        request = json.loads(body)
        value = reply.json()
        self.is_names = request.get("NodeNames") is not None
        kept = "NodeNames" if self.is_names else "Nodes"
        assert list(value) == [kept, "FailedNodes", "FailedAndUnresolvableNodes", "Error"]
        self.failed = value["FailedNodes"]
        self.unresolvable = value["FailedAndUnresolvableNodes"]
        self.error = value["Error"]
        assert type(self.failed) is type(self.unresolvable) is dict
        assert all(type(reason) is str and reason for reason in self.failed.values())
        if self.is_names:
            offered = request["NodeNames"]
            self.passed = value["NodeNames"]
        else:
            offered = [n["metadata"]["name"] for n in request["Nodes"]["items"]]
            self.passed = [n["metadata"]["name"] for n in value["Nodes"]["items"]]
            self.check_bytes(body.decode(), reply.text)
        assert type(self.passed) is list
        rest = iter(offered)
        assert all(name in rest for name in self.passed), "not a subset in order"
        assert set(self.passed) | set(self.failed) == set(offered)
        assert not set(self.passed) & set(self.failed)
        assert self.unresolvable.items() <= self.failed.items()

    def check_bytes(self, request, reply):
        offered = raw_items(request)
        for item in raw_items(reply):
            assert item in offered


def ask_filter(berth, body, **options):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Filtered(body, post(berth, "filter", body, **options))


def ask_scores(berth, body, **options):
    reply = post(berth, "prioritize", body, **options)
    assert reply.status == 200, reply.text
    assert type(reply.json()) is list
    scores = {}
    for entry in reply.json():
        assert list(entry) == ["Host", "Score"]
        assert type(entry["Score"]) is int and 1 <= entry["Score"] <= 10
        assert entry["Host"] not in scores
        scores[entry["Host"]] = entry["Score"]
    return scores


def ask_victims(berth, body, **options):
    reply = post(berth, "preempt", body, **options)
    assert reply.status == 200, reply.text
    assert list(reply.json()) == ["NodeNameToMetaVictims"]
    candidates = reply.json()["NodeNameToMetaVictims"]
    for victims in candidates.values():
        assert list(victims) == ["Pods", "NumPDBViolations"]
        assert type(victims["NumPDBViolations"]) is int
        assert victims["Pods"]
        for pod in victims["Pods"]:
            assert list(pod) == ["UID"] and type(pod["UID"]) is str
    return candidates


def names_request(*names, pod=None):
    return {"Pod": pod or {"metadata": {"name": "p"}}, "Nodes": None, "NodeNames": list(names)}


def nodes_request(*nodes, pod=None):
    items = [NODES[n] if isinstance(n, str) else n for n in nodes]
    return {
        "Pod": pod or {"metadata": {"name": "p"}},
        "Nodes": {"metadata": {}, "items": items},
        "NodeNames": None,
    }


# --- what kube-scheduler v1.36.4 sent ---

# fixture, candidates, passed, rejected because zone c is closed
FILTERS = [
    ("filter-nodecache-true", [N0, N2, N4], [N0, N4], {N2}),
    ("filter-nodecache-true-https", [N2, N4, N0], [N4, N0], {N2}),
    ("filter-nodecache-true-affinity", [N0, N1, N4, N3], [N0, N1, N4, N3], set()),
    ("filter-nodecache-true-gpu", [N1, N3], [N1, N3], set()),
    ("filter-nodecache-true-nominated", [N3], [N3], set()),
    ("filter-nodecache-true-managed-resource", [N0, N1, N2, N3, N4], [], {N2}),
    ("filter-nodecache-false", [N4, N0, N2], [N4, N0], {N2}),
    ("filter-nodecache-false-affinity", [N4, N0, N1, N3], [N4, N0, N1, N3], set()),
    ("filter-nodecache-false-gpu", [N1, N3], [N1, N3], set()),
    ("filter-nodecache-false-nominated", [N3], [N3], set()),
]


@pytest.mark.parametrize("name, offered, passed, closed", FILTERS, ids=[c[0] for c in FILTERS])
def test_recorded_filter(berth, free, name, offered, passed, closed):
    body = fixture_body(name)
    result = ask_filter(berth, body)
    assert result.is_names == ("-true" in name)
    assert result.passed == passed
    # Rules that preemption cannot help against come first: zone wins over GPUs.
    assert result.unresolvable == {node: CLOSED for node in closed}
    short = set(offered) - set(passed) - closed
    assert result.failed == {**result.unresolvable, **{node: NO_GPU for node in short}}
    assert result.error == ""

    result = ask_filter(free, body)
    assert result.passed == offered
    assert result.failed == {} and result.error == ""


def test_passed_nodes_are_unchanged_bytes(berth):
    body = fixture_body("filter-nodecache-false")
    reply = post(berth, "filter", body)
    kept = [item for item in raw_items(body.decode()) if f'"name":"{N2}"' not in item]
    assert len(kept) == 2
    assert raw_items(reply.text) == kept


PRIORITIES = [
    ("prioritize-nodecache-true", [N0, N4]),
    ("prioritize-nodecache-true-https", [N4, N0]),
    ("prioritize-nodecache-false", [N4, N0]),
    # filter and prioritize have the same bodies, so these were recorded once.
    ("filter-nodecache-true-affinity", [N0, N4, N3]),
    ("filter-nodecache-false-affinity", [N4, N0, N3]),
    ("filter-nodecache-true-gpu", [N3]),
    ("filter-nodecache-false-gpu", [N3]),
]


@pytest.mark.parametrize("name, scored", PRIORITIES, ids=[c[0] for c in PRIORITIES])
def test_recorded_prioritize(berth, free, name, scored):
    scores = ask_scores(berth, fixture_body(name))
    assert list(scores.items()) == [(node, SCORES[node]) for node in scored]
    assert post(free, "prioritize", fixture_body(name)).text == "[]"


PREEMPTIONS = [
    "preempt-nodecache-true",
    "preempt-nodecache-true-https",
    "preempt-nodecache-false",
]


@pytest.mark.parametrize("name", PREEMPTIONS)
def test_recorded_preempt(berth, free, blind, name):
    body = fixture_body(name)
    request = json.loads(body)
    if request["NodeNameToMetaVictims"]:
        wanted = request["NodeNameToMetaVictims"]
    else:
        wanted = {
            node: {
                "Pods": [{"UID": pod["metadata"]["uid"]} for pod in victims["Pods"]],
                "NumPDBViolations": victims["NumPDBViolations"],
            }
            for node, victims in request["NodeNameToVictims"].items()
        }
    assert list(wanted) == [N1, N3] and len(wanted[N3]["Pods"]) == 2

    assert ask_victims(free, body) == wanted
    assert ask_victims(blind, body) == wanted  # berth knows no pods, so it drops no victims
    assert ask_victims(berth, body) == {N3: wanted[N3]}  # pool 1 rejects urgent pods
    if name in ("preempt-nodecache-true", "preempt-nodecache-false"):
        assert post(free, "preempt", body).body == fixture_body(name + ".reply")


@pytest.mark.parametrize(
    "name", ["bind-nodecache-true", "bind-nodecache-true-https", "bind-nodecache-false"]
)
def test_recorded_bind(berth, name):
    """Without an API server berth cannot bind, and reports it in the field that kube-scheduler reads."""
    reply = post(berth, "bind", fixture_body(name))
    assert reply.status == 200
    assert "cannot bind" in reply.error() and "bindVerb" in reply.error()
    assert "%" not in reply.error()  # goes through printf in kube-scheduler up to 1.31


def test_every_fixture_is_sent():
    asked = {name for name, *_ in FILTERS + PRIORITIES} | set(PREEMPTIONS)
    asked |= {"bind-nodecache-true", "bind-nodecache-true-https", "bind-nodecache-false"}
    there = {path.stem for path in FIXTURES.glob("*.json")}
    assert {name for name in there if not name.endswith(".reply")} == asked


# --- both modes ---


@pytest.mark.parametrize("pod_of", ["true", "true-gpu", "true-nominated", "true-managed-resource"])
def test_both_modes_agree(berth, full, pod_of):
    """Names and Node objects give the same verdicts, also for rules about running pods, which Node objects do not have."""
    pod = json.loads(fixture_body(f"filter-nodecache-{pod_of}"))["Pod"]
    order = [N3, N1, N4, N2, N0]
    for server in (berth, full):
        names = ask_filter(server, names_request(*order, pod=pod))
        nodes = ask_filter(server, nodes_request(*order, pod=pod))
        assert (names.is_names, nodes.is_names) == (True, False)
        assert names.passed == nodes.passed
        assert names.failed == nodes.failed
        assert names.unresolvable == nodes.unresolvable
        assert ask_scores(server, names_request(*order, pod=pod)) == ask_scores(
            server, nodes_request(*order, pod=pod)
        )
    if pod_of == "true-gpu":
        assert ask_filter(full, nodes_request(N1, N3, pod=pod)).failed == {N1: NO_GPU, N3: NO_GPU}


def test_names_win_when_both_are_given(berth):
    request = nodes_request(N0)
    request["NodeNames"] = [N2]
    reply = post(berth, "filter", request)
    assert reply.json()["NodeNames"] == [] and "Nodes" not in reply.json()


def test_no_nodes_at_all(berth):
    for request in ({"Pod": {}}, {"Pod": {}, "Nodes": {}}, {"Pod": {}, "Nodes": {"items": None}}):
        reply = post(berth, "filter", request)
        assert reply.status == 200 and reply.json()["Nodes"] == {"items": []}
        assert post(berth, "prioritize", request).text == "[]"
    assert ask_filter(berth, names_request()).passed == []
    assert ask_victims(berth, {"Pod": {}}) == {}
    assert ask_victims(berth, {"Pod": {}, "NodeNameToMetaVictims": {}}) == {}


def test_unknown_nodes(berth, free, blind):
    result = ask_filter(berth, names_request("nobody", N0, "ghost"))
    assert result.passed == [N0]
    assert result.failed == {"nobody": UNKNOWN, "ghost": UNKNOWN}
    assert result.unresolvable == {} and result.error == ""
    assert ask_scores(berth, names_request("nobody", N0, "ghost")) == {N0: 10}
    # Without rules nothing is rejected.
    assert ask_filter(free, names_request("nobody", N0)).passed == ["nobody", N0]
    # A Node object is judged by its own fields, known or not.
    stranger = copy.deepcopy(NODES[N0])
    stranger["metadata"]["name"] = "stranger"
    for server in (berth, blind):
        assert ask_filter(server, nodes_request(stranger, N2)).passed == ["stranger"]
        assert ask_scores(server, nodes_request(stranger, N2)) == {"stranger": 10}


def test_no_cluster(blind, start_berth):
    """A berth without a cluster knows no names, and must not guess."""
    reply = post(blind, "filter", fixture_body("filter-nodecache-true"))
    assert reply.status == 200
    for word in ("--cluster", "nodeCacheCapable"):
        assert word in reply.error()
    assert post(blind, "prioritize", fixture_body("prioritize-nodecache-true")).text == "[]"
    assert ask_filter(blind, fixture_body("filter-nodecache-false")).passed == [N4, N0]
    assert ask_filter(blind, names_request()).passed == []
    # Neither cluster nor rules: everything passes.
    nothing = start_berth()
    result = ask_filter(nothing, names_request("b", "a", "c"))
    assert result.passed == ["b", "a", "c"] and result.failed == {} and result.error == ""
    assert post(nothing, "prioritize", names_request("b", "a")).text == "[]"


def test_any_order_and_spelling_of_names(berth):
    """The parser guesses the next name; wrong guesses must not change the result."""
    dice = random.Random(20)
    spelt = {name: '"' + name.replace("n", "\\u006e", 1) + '"' for name in NODES}
    with_close_names = [N0[:-1], N0 + "x", "node", "x", N0.upper()]
    connection = open_connection(berth)
    for _ in range(150):
        offered = dice.choices([*NODES, *with_close_names], k=dice.randrange(12))
        offered = list(dict.fromkeys(offered))
        literals = [
            spelt[n] if n in spelt and dice.random() < 0.2 else json.dumps(n) for n in offered
        ]
        comma = dice.choice([",", " , ", ",\n"])
        body = '{"Pod":{},"NodeNames":[' + comma.join(literals) + "]}"
        result = ask_filter(berth, body.encode(), connection=connection)
        assert result.passed == [n for n in offered if n in NODES and n != N2]
        assert result.failed == {
            n: CLOSED if n == N2 else UNKNOWN for n in offered if n not in NODES or n == N2
        }
        assert ask_scores(berth, body.encode(), connection=connection) == {
            n: SCORES[n] for n in offered if n in SCORES
        }
    connection.close()


def test_same_request_same_bytes(berth):
    for verb, name in (
        ("filter", "filter-nodecache-true"),
        ("filter", "filter-nodecache-false-affinity"),
        ("prioritize", "prioritize-nodecache-false"),
        ("preempt", "preempt-nodecache-true"),
    ):
        assert len({post(berth, verb, fixture_body(name)).body for _ in range(4)}) == 1


def test_preempt_drops_useless_candidates(berth):
    meta = {"Pods": [{"UID": "b"}, {"UID": "a"}], "NumPDBViolations": 2}
    result = ask_victims(
        berth,
        {
            "Pod": {"metadata": {"name": "p"}},
            "NodeNameToVictims": None,
            "NodeNameToMetaVictims": {
                N0: meta,
                N1: {"Pods": [], "NumPDBViolations": 0},  # kube-scheduler calls that an error
                N2: meta,  # zone is closed
                N3: {"Pods": [{"UID": "c"}]},
                N4: {"Pods": None, "NumPDBViolations": 1},
                "ghost": meta,
            },
        },
    )
    assert result == {N0: meta, N3: {"Pods": [{"UID": "c"}], "NumPDBViolations": 0}}


# --- letter case, unknown keys ---


def test_keys_in_any_letter_case(berth):
    for verb, name in (
        ("filter", "filter-nodecache-true"),
        ("filter", "filter-nodecache-false"),
        ("prioritize", "prioritize-nodecache-true"),
        ("preempt", "preempt-nodecache-true"),
        ("preempt", "preempt-nodecache-false"),
        ("bind", "bind-nodecache-true"),
    ):
        body = fixture_body(name)
        for change in (str.lower, str.upper, str.swapcase):
            changed = {change(key): value for key, value in json.loads(body).items()}
            text = json.dumps(changed, separators=(",", ":")).encode()
            assert post(berth, verb, text).body == post(berth, verb, body).body
    victims = {"Pod": {}, "nodenametometavictims": {N0: {"pods": [{"uid": "u"}], "numpdbviolations": 1}}}
    assert ask_victims(berth, victims) == {N0: {"Pods": [{"UID": "u"}], "NumPDBViolations": 1}}


def test_unknown_keys_are_ignored(berth):
    request = names_request(N0, N2)
    request["Extra"] = {"Pod": [1, {"NodeNames": ["x"]}], "deep": None}
    assert ask_filter(berth, request).passed == [N0]


# --- paths and methods ---


@pytest.mark.parametrize(
    "path",
    [
        "/filter",
        "//filter",
        "/filter/",
        "/filter//",
        "/scheduler/filter",
        "/a/b/c//filter",
        "/api/v1/filter?timeout=5s",
        "/predicates",
        "/predicate",
        "/topolvm/predicate",
        "/predicates/always_true",
        "/scheduler/predicates/always_true/",
        "/scheduler/predicates/",
        "/metrics/filter",
    ],
)
def test_filter_paths(berth, path):
    assert post(berth, path, names_request(N0, N2)).json()["NodeNames"] == [N0]


@pytest.mark.parametrize("word", ["prioritize", "priority", "priorities", "x/priority", "/priority", "x/priorities/zero_score"])
def test_prioritize_paths(berth, word):
    assert post(berth, "/" + word, names_request(N4)).json() == [{"Host": N4, "Score": 4}]


def test_preempt_and_bind_paths(berth):
    assert post(berth, "/k/preempt", {"Pod": {}}).json() == {"NodeNameToMetaVictims": {}}
    assert "cannot bind" in post(berth, "/k/bind/", fixture_body("bind-nodecache-true")).error()


@pytest.mark.parametrize(
    "path", ["/filters", "/xfilter", "/filter/x", "/predicate/x", "/predicates/x/y", "/Filter", "/%66ilter", "/nothing", "//", "/x/metrics"]
)
def test_no_such_path(berth, path):
    reply = ask(berth, "POST", path, json.dumps(names_request(N0)).encode())
    assert reply.status == (405 if path == "//" else 404)
    assert reply.headers["Content-Type"] == "application/json"
    assert reply.error().startswith("berth: ")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("verb", ["filter", "prioritize", "preempt", "bind"])
def test_verbs_take_post_only(berth, method, verb):
    reply = ask(berth, method, "/" + verb)
    assert reply.status == 405
    assert reply.headers["Allow"] == "POST"


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/livez", "/readyz", "/version", "/"])
def test_pages_take_get_only(berth, path):
    for method in ("POST", "PUT", "DELETE"):
        reply = ask(berth, method, path, b"{}")
        assert reply.status == 405
        assert "GET" in reply.headers["Allow"].split(", ")
    assert get(berth, path).status == 200
    head = ask(berth, "HEAD", path)
    assert head.status == 200 and head.body == b""


def test_index_and_version(berth):
    for word in ("filter", "prioritize", "preempt", "bind", "/readyz", "?verbose", "/metrics"):
        assert word in get(berth, "/").text
    assert re.fullmatch(r"\d+\.\d+\.\d+", get(berth, "/version").json()["version"])


# --- transport ---


def test_one_connection_for_all_verbs(berth):
    calls = [
        ("filter", "filter-nodecache-true"),
        ("prioritize", "prioritize-nodecache-true"),
        ("preempt", "preempt-nodecache-true"),
        ("bind", "bind-nodecache-true"),
        ("filter", "filter-nodecache-false"),
        ("prioritize", "prioritize-nodecache-false"),
        ("preempt", "preempt-nodecache-false"),
    ]
    before = metrics(berth)["berth_connections_total"]
    connection = open_connection(berth)
    connection.connect()
    port = connection.sock.getsockname()[1]
    for i in range(28):
        verb, name = calls[i % len(calls)]
        assert post(berth, verb, fixture_body(name), connection=connection).status == 200
        assert connection.sock and connection.sock.getsockname()[1] == port
    # A refused body does not cost the connection either.
    assert post(berth, "filter", b"{", connection=connection).status == 400
    assert post(berth, "filter", names_request(N0), connection=connection).status == 200
    assert connection.sock.getsockname()[1] == port
    connection.close()
    assert metrics(berth)["berth_connections_total"] == before + 2  # this one, and for the figures


@pytest.mark.parametrize("n", [40, 400])
def test_large_replies_have_a_length_too(berth, n):
    """Replies too large to be joined in memory; every second node is rejected."""
    nodes = []
    for i in range(n):
        node = copy.deepcopy(NODES[N0 if i % 2 else N2])
        node["metadata"]["name"] = f"n{i}"
        nodes.append(node)
    body = json.dumps(nodes_request(*nodes), separators=(",", ":")).encode()
    reply = post(berth, "filter", body)
    assert len(reply.body) > n * 7000
    assert raw_items(reply.text) == raw_items(body.decode())[1::2]
    assert reply.json()["FailedNodes"] == {f"n{i}": CLOSED for i in range(0, n, 2)}
    names = json.dumps(names_request(*(f"n{i}" for i in range(50 * n)))).encode()
    assert len(Filtered(names, post(berth, "filter", names)).failed) == 50 * n


# --- invalid bodies ---

DEEP = 100_000

# name, verb, body, text of the message, byte in the message (None: any)
MALFORMED = [
    ("empty", "filter", b"", "ends", 0),
    ("blank", "filter", b" \n ", "ends", 3),
    ("null", "filter", b"null", "expected an object", 0),
    ("list", "filter", b"[]", "expected an object", 0),
    ("no Pod", "filter", b"{}", "Pod", 1),
    ("null Pod", "filter", b'{"Pod":null,"NodeNames":[]}', "Pod", None),
    ("Pod twice", "filter", b'{"Pod":{},"Pod":{}}', "twice", 10),
    ("Pod and pod", "filter", b'{"Pod":{},"pod":{}}', "twice", 10),
    ("NodeNames twice", "filter", b'{"Pod":{},"NodeNames":[],"NODENAMES":[]}', "twice", 25),
    ("garbage behind", "filter", b'{"Pod":{}} x', "follows", 11),
    ("NUL behind", "filter", b'{"Pod":{}}\0', "follows", 10),
    ("truncated", "filter", b'{"Pod":{"metadata":{"name":"a', "", 29),
    ("truncated key", "filter", b'{"Pod":{},"No', "", 13),
    ("bad UTF-8 in a name", "filter", b'{"Pod":{},"NodeNames":["a\xff"]}', "UTF-8", 25),
    ("half a character", "filter", b'{"Pod":{},"NodeNames":["\xe2\x82"]}', "UTF-8", 24),
    ("a surrogate", "filter", b'{"Pod":{},"NodeNames":["\xed\xa0\x80"]}', "UTF-8", 24),
    ("bad UTF-8 in the pod", "filter", b'{"Pod":{"metadata":{"name":"\xc0\x80"}}}', "UTF-8", 28),
    ("bad UTF-8 unread", "filter", b'{"Pod":{"x":"\xff"}}', "UTF-8", 13),
    ("raw NUL in a name", "filter", b'{"Pod":{},"NodeNames":["a\0b"]}', "control", 25),
    ("raw tab in a name", "filter", b'{"Pod":{},"NodeNames":["a\tb"]}', "control", 25),
    ("escaped NUL in a name", "filter", b'{"Pod":{},"NodeNames":["a\\u0000b"]}', "control", None),
    ("escaped NUL, prioritize", "prioritize", b'{"Pod":{},"NodeNames":["\\u0000"]}', "control", None),
    ("empty name", "filter", b'{"Pod":{},"NodeNames":[""]}', "empty", None),
    ("name is a number", "filter", b'{"Pod":{},"NodeNames":[7]}', "string", 23),
    ("name is null", "filter", b'{"Pod":{},"NodeNames":["a",null]}', "string", 27),
    ("lone surrogate", "filter", b'{"Pod":{},"NodeNames":["\\ud800"]}', "", None),
    (
        "escaped NUL in a node",
        "filter",
        b'{"Pod":{},"Nodes":{"items":[{"metadata":{"name":"a\\u0000"}}]}}',
        "control",
        None,
    ),
    ("node without a name", "filter", b'{"Pod":{},"Nodes":{"items":[{}]}}', "name", None),
    ("node is null", "filter", b'{"Pod":{},"Nodes":{"items":[null]}}', "", None),
    ("comma too many", "filter", b'{"Pod":{},"NodeNames":["a",]}', "", 27),
    ("no JSON", "filter", b"Pod=a&NodeNames=b", "", 0),
    ("a byte order mark", "filter", b'\xef\xbb\xbf{"Pod":{}}', "", 0),
    ("empty", "prioritize", b"", "ends", 0),
    ("empty", "preempt", b"", "ends", 0),
    ("empty", "bind", b"", "ends", 0),
    ("null", "preempt", b"null", "expected an object", 0),
    ("null", "bind", b"null", "expected an object", 0),
    ("no Pod", "preempt", b"{}", "Pod", 1),
    ("nothing", "bind", b"{}", "PodName", None),
    (
        "NUL in a candidate",
        "preempt",
        b'{"Pod":{},"NodeNameToMetaVictims":{"a\\u0000":{"Pods":[]}}}',
        "control",
        None,
    ),
    (
        "victim without UID",
        "preempt",
        b'{"Pod":{},"NodeNameToMetaVictims":{"a":{"Pods":[{}]}}}',
        "UID",
        None,
    ),
    (
        "half a violation",
        "preempt",
        b'{"Pod":{},"NodeNameToMetaVictims":{"a":{"NumPDBViolations":0.5}}}',
        "",
        59,
    ),
    (
        "NUL in a bind",
        "bind",
        b'{"PodName":"a\\u0000","PodNamespace":"b","PodUID":"c","Node":"d"}',
        "control",
        None,
    ),
    (
        "bind without a node",
        "bind",
        b'{"PodName":"a","PodNamespace":"b","PodUID":"c","Node":""}',
        "Node",
        None,
    ),
    ("deep top level", "filter", b"[" * DEEP, "", None),
    ("deep objects", "filter", b'{"a":' * DEEP, "", None),
    ("deep pod", "filter", b'{"Pod":{"x":' + b"[" * DEEP + b"]" * DEEP + b"}}", "deep", None),
    ("deep unknown key", "bind", b'{"x":' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}", "deep", None),
    ("deep names", "prioritize", b'{"Pod":{},"NodeNames":' + b"[" * DEEP, "", None),
    ("deep victims", "preempt", b'{"Pod":{},"NodeNameToVictims":' + b'{"a":' * DEEP, "", None),
]


def refusal(verb, body):
    """kube-scheduler shows the Error of a 200 only; replies of the other two verbs have none."""
    try:
        json.dumps(json.loads(body.decode()), ensure_ascii=False).encode()  # not a lone surrogate
        is_json = True
    except (ValueError, RecursionError):
        is_json = False
    return 200 if is_json and verb in ("filter", "bind") else 400


@pytest.mark.parametrize(
    "verb, body, text, at", [case[1:] for case in MALFORMED], ids=[f"{c[1]}: {c[0]}" for c in MALFORMED]
)
def test_malformed_body(berth, verb, body, text, at):
    reply = post(berth, verb, body)
    assert reply.status == refusal(verb, body)
    match = re.fullmatch(r"byte (\d+): (.+)", reply.error())
    assert match, reply.error()
    assert text in match[2]
    assert int(match[1]) <= len(body)
    if at is not None:
        assert int(match[1]) == at, reply.error()
    assert post(berth, "filter", names_request(N0)).json()["NodeNames"] == [N0]


def test_deep_json_in_unread_fields_of_nodes(berth):
    """Skipped values can have any depth without using the stack."""
    node = b'{"metadata":{"name":"n"},"x":' + b"[" * DEEP + b"]" * DEEP + b"}"
    body = b'{"Pod":{},"Nodes":{"items":[' + node + b"]}}"
    reply = post(berth, "filter", body)
    assert reply.status == 200
    assert reply.body.startswith(b'{"Nodes":{"items":[' + node + b"]")  # given back as it came
    assert post(berth, "filter", body[: len(body) // 2]).status == 400


def test_every_prefix_of_a_request(berth):
    """Every proper prefix of the request is rejected; the whole request is not."""
    body = b'{"Pod":{"metadata":{"name":"p\\n\xc3\xa4"}},"NodeNames":["a","\\u00e4"],"x":[1e3,-0.5,true,null]}'
    connection = open_connection(berth)
    for end in range(len(body)):
        reply = post(berth, "filter", body[:end], connection=connection)
        assert reply.status == 400
        assert int(re.match(r"byte (\d+): ", reply.error())[1]) <= end
    assert post(berth, "filter", body, connection=connection).status == 200
    connection.close()


def test_bad_requests_do_not_affect_others(berth):
    """While one client sends only invalid data, another gets all its replies; memory does not grow."""
    bodies = [(case[1], case[2]) for case in MALFORMED]

    def send_rubbish(rounds):
        connection = open_connection(berth)
        for _ in range(rounds):
            for verb, body in bodies:
                assert post(berth, verb, body, connection=connection).status == refusal(verb, body)
        connection.close()

    send_rubbish(2)
    before = berth.rss_kib()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        rubbish = pool.submit(send_rubbish, 2 if IS_SANITIZED else 6)
        connection = open_connection(berth)
        n = 0
        while not rubbish.done() or n < 20:
            result = ask_filter(berth, fixture_body("filter-nodecache-true"), connection=connection)
            assert result.passed == [N0, N4]
            n += 1
        connection.close()
        rubbish.result()
    if not IS_SANITIZED:
        wait_until(lambda: berth.rss_kib() < before + 4096, "memory to be given back")


def test_accepts_pods_with_missing_fields(berth):
    """Fields that policies do not need can be missing or null."""
    for pod in (
        {},
        {"metadata": None, "spec": None, "status": None},
        {"metadata": {"creationTimestamp": None, "labels": None}, "spec": {"containers": None}},
        {"metadata": {"name": "\U0001f600 <&>\u2028"}, "spec": {"containers": []}},
    ):
        assert ask_filter(berth, names_request(N0, N2, pod=pod)).passed == [N0]


def test_nothing_is_null(berth, free, blind):
    """No reply to any request above contains null: kube-scheduler dereferences every field."""
    for server in (berth, free, blind):
        for name in [case[0] for case in FILTERS if "-true" in case[0]]:
            for verb in ("filter", "prioritize"):
                assert "null" not in post(server, verb, fixture_body(name)).text
        for name in PREEMPTIONS:
            assert "null" not in post(server, "preempt", fixture_body(name)).text

