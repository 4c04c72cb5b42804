"""Failures of Prometheus: berth continues to decide, values expire, onMissing of the rules decides, and
berth recovers.

All cases run in parallel in one berth. Each has its own metric, whose query is the case's name, and a
policy for pods with this name.
"""

import concurrent.futures
import contextlib
import math
import re
import threading
import time

import pytest
import yaml

from authority import PAST, Authority
from client import IS_SANITIZED, PATIENCE, metrics, post, wait_until, write_cluster
from prometheus import (
    Scripted,
    asks,
    by_node,
    find_metric,
    flood,
    make_context,
    refuse_query,
    sample,
    write_sources,
)

import faults  # of test/faults; prometheus.py has added its path

COOL = [f"n{i}" for i in range(5)]
HOT = [f"n{i}" for i in range(5, 10)]
ALL = COOL + HOT
NONE = []
GOOD = {**dict.fromkeys(COOL, 0.2), **dict.fromkeys(HOT, 0.9)}
MEMORY_KIB = 48 * 1024  # memory limit for a reply of half a gigabyte

CASES = {}


class Case:
    """One fault case: its metric, its source and berth. Each case's function gets one."""

    def __init__(self, stage, name, function, source, label, on_missing, max_age, interval):
        self.berth, self.name, self.function = stage.berth, name, function
        self.server, self.stage = stage.servers.get(source), stage
        self.source, self.label = source, label
        self.on_missing, self.max_age, self.interval = on_missing, max_age, interval
        self.expected = None

    def set(self, samples):
        self.server.set(self.name, samples)

    def passed(self):
        """The nodes that pass. berth always replies."""
        pod = {"metadata": {"name": "p", "labels": {"case": self.name}}, "spec": {}}
        reply = post(self.berth, "filter", {"Pod": pod, "NodeNames": ALL})
        assert (reply.status, reply.json()["Error"]) == (200, ""), reply.text
        return reply.json()["NodeNames"]

    def becomes(self, names):
        """Waits until exactly these nodes pass. Before that, exactly the earlier nodes must pass."""
        before, deadline = self.expected, time.monotonic() + 2 * PATIENCE
        while (seen := self.passed()) != names:
            assert before is None or seen == before, f"{self.name}: {seen} between"
            assert time.monotonic() < deadline, f"{self.name}: {seen}, not {names}: {self.source_state()}"
            time.sleep(0.2)
        self.expected = names

    def stays(self, n_times=2):
        """The same nodes pass after @n_times more replies."""
        names = self.expected
        self.server.wait_asked(self.name, n_times + 1)
        assert self.passed() == names

    @contextlib.contextmanager
    def broken(self, action):
        script = self.server.script(action, times=None, when=asks(self.name))
        try:
            yield script
        finally:
            script.cancel()

    def source_state(self):
        return find_metric(self.berth, self.name)

    def fails(self, action, words):
        """While @action answers, no node has a value, and berth reports the reason."""
        self.set(by_node(**GOOD))
        self.becomes(COOL)
        with self.broken(action):
            self.becomes(NONE)
            self.is_counted()
            source_state = self.source_state()
            assert source_state["state"] == "failing" and re.search(words, source_state["error"]), source_state
        self.becomes(COOL)
        wait_until(lambda: self.source_state()["state"] == "ok", f"{self.name} to be well")

    def is_counted(self):
        """berth counts each node and request for which the rule used its onMissing."""
        policy = self.name.replace("_", "-")
        figure = f'berth_rule_missing_total{{policy="{policy}",rule="cool"}}'
        before = metrics(self.berth)[figure]
        self.passed()
        wait_until(lambda: metrics(self.berth)[figure] >= before + len(ALL), figure)

    def drops(self, samples, names, **causes):
        """With these series, only @names have a value below the limit."""
        self.set(by_node(**GOOD))
        self.becomes(COOL)
        self.set(samples)
        self.becomes(names)
        source_state = self.source_state()
        assert {cause: n for cause, n in source_state["dropped"].items() if n} == causes, source_state["error"]
        self.set(by_node(**GOOD))
        self.becomes(COOL)


NEVER = "10m"  # values do not expire during the test


def case(source="shared", label="node", on_missing="reject", max_age="4s", interval="1s"):
    def register(function):
        name = function.__name__
        CASES[name] = lambda stage: Case(
            stage, name, function, source, label, on_missing, max_age, interval
        )
        return function

    return register


# --- missing and invalid replies ---


@case("slow")
def slow(it):
    it.fails(faults.at_rate(20), "not answered to the end within 1 s")


@case("silent")
def silent(it):
    it.fails(faults.never, "not answered to the end within 1 s")


@case("bad")
def hangs_up(it):
    it.fails(faults.hang_up, ".")


@case("bad")
def cut_short(it):
    it.fails(faults.cut_after(300), ".")


@case("bad")
def unavailable(it):
    it.fails(faults.fail(503), "503")


@case("bad")
def broken_inside(it):
    it.fails(refuse_query(500, "internal", "disk is full"), "500.*disk is full")


@case("bad")
def bad_query(it):
    it.fails(refuse_query(400, "bad_data", "parse error: unexpected end"), "parse error")


@case("bad")
def html(it):
    page = b"<!DOCTYPE html><html><body>Please log in</body></html>"
    it.fails(faults.say(page, "text/html"), "(?i)html|JSON")


@case("bad")
def other_json(it):
    it.fails(faults.say(b'{"kind":"Status","code":200}'), ".")


@case("bad")
def matrix(it):
    body = b'{"status":"success","data":{"resultType":"matrix","result":[]}}'
    it.fails(faults.say(body), "matrix")


@case("bad")
def not_http(it):
    it.fails(faults.raw(b"\x00\x01\x02 nothing you know\r\n\r\n"), ".")


@case("bad")
def redirected_away(it):
    """Only the configured server gets requests."""
    other = it.stage.bystander
    it.fails(faults.redirect(f"{other.url}/api/v1/query?query={it.name}"), "redirect")
    assert not other.requests


@case("bad", interval="4s", max_age="8s")  # all redirects are followed within the interval
def redirected_in_circles(it):
    it.fails(faults.redirect(f"{it.server.url}/api/v1/query?query={it.name}"), "redirect")


@case(max_age=NEVER)
def redirected_to_itself(it):
    """Like a proxy that adds a path."""

    def act(exchange, proceed):
        if exchange.request.path.startswith("/elsewhere"):
            proceed()
        else:
            faults.redirect(f"/elsewhere{exchange.request.target}")(exchange, proceed)

    it.set(by_node(**GOOD))
    with it.broken(act):
        it.becomes(COOL)
        it.set(by_node(**dict.fromkeys(ALL, 0.1)))
        it.becomes(ALL)


@case("flooded", interval="3s")  # a busy machine must read 32 MiB in this time, too
def flooded(it):
    """Half a gigabyte, with and without a length; and a body that never ends."""
    it.set(by_node(**GOOD))
    it.becomes(COOL)
    before = it.berth.rss_kib()
    too_large = "larger than|within 3 s" if IS_SANITIZED else "larger than"
    for action in (flood(), flood(has_length=False), faults.endless()):
        with it.broken(action), watching_memory(it.berth) as seen:
            it.becomes(NONE)
            # A berth that is too slow to read this much in time retries; with a sanitizer it may never be
            # fast enough.
            wait_until(lambda: re.search(too_large, it.source_state()["error"]), "the reply to be rejected as too large")
        it.becomes(COOL)
        if not IS_SANITIZED:  # a sanitizer keeps freed memory for some time
            assert seen.most_kib < before + MEMORY_KIB
    if not IS_SANITIZED:
        assert it.berth.rss_kib() < before + MEMORY_KIB


@contextlib.contextmanager
def watching_memory(berth):
    """.most_kib: the maximum memory."""

    class Seen:
        most_kib = 0

    seen, is_over = Seen(), threading.Event()

    def look():
        while not is_over.wait(0.02):
            seen.most_kib = max(seen.most_kib, berth.rss_kib())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        thread.join()


# --- valid replies with unusable series ---


@case(max_age=NEVER)
def half_missing(it):
    some = {name: GOOD[name] for name in [*COOL[:2], *HOT[:3]]}
    it.drops(by_node(**some), COOL[:2])


@case(on_missing="allow", max_age=NEVER)
def half_missing_allowed(it):
    some = {name: GOOD[name] for name in [*COOL[:2], *HOT[:3]]}
    it.drops(by_node(**some), [*COOL, *HOT[3:]])


@case(max_age=NEVER)
def nothing_at_all(it):
    it.drops([], NONE)


@case(max_age=NEVER)
def not_a_number(it):
    odd = {"n0": math.nan, "n1": math.inf, "n2": -math.inf}
    it.drops(by_node(**{**GOOD, **odd}), COOL[3:], nan=1, infinite=2)


@case(max_age=NEVER)
def duplicates(it):
    """berth does not guess which of two series is right."""
    twice = [sample(0.1, node="n0", job="a"), sample(0.7, node="n0", job="b")]
    it.drops([*by_node(**GOOD)[1:], *twice], COOL[1:], duplicate=2)


@case(max_age=NEVER)
def unknown_nodes(it):
    it.drops(by_node(**GOOD, n77=0.1, n78=0.1)[1:], COOL[1:], no_node=2)


@case(max_age=NEVER)
def renamed_label(it):
    """A label was renamed, so no series can be joined."""
    renamed = [sample(value, kubernetes_node=name) for name, value in GOOD.items()]
    it.drops(renamed, NONE, no_label=10)


@case(label=None, max_age=NEVER)
def renamed_label_found(it):
    """Without nodeLabel berth detects the new label."""
    it.set(by_node(**GOOD))
    it.becomes(COOL)
    it.set([sample(0.1 if name == "n9" else 0.9, exported=name) for name in ALL])
    it.becomes(["n9"])


@case(max_age=NEVER)
def old_series(it):
    """Age is measured with the server's clock."""
    late = [sample(0.2, at=-3600, node="n0"), sample(0.2, at=3600, node="n1")]
    it.drops([*late, *by_node(**GOOD)[2:]], COOL[1:], too_old=1)


# --- unreliable servers ---


@case("down")
def down(it):
    it.set(by_node(**GOOD))
    it.becomes(COOL)
    it.server.refuse()
    it.server.kill()
    it.becomes(NONE)
    it.is_counted()
    source_state = it.source_state()
    assert source_state["state"] == "failing" and "refused" in source_state["error"], source_state
    it.server.listen()
    it.becomes(COOL)


@case("down-allow", on_missing="allow")
def down_allowed(it):
    it.set(by_node(**GOOD))
    it.becomes(COOL)
    it.server.refuse()
    it.server.kill()
    it.becomes(ALL)
    it.is_counted()
    it.server.listen()
    it.becomes(COOL)


@case("frozen")
def frozen(it):
    """The server accepts connections and sends nothing."""
    it.set(by_node(**GOOD))
    it.becomes(COOL)
    it.server.freeze()
    it.becomes(NONE)
    it.server.thaw()
    it.becomes(COOL)


@case("restarted", max_age="20s")
def restarted(it):
    """Short repeated failures have no effect."""
    it.set(by_node(**GOOD))
    it.becomes(COOL)
    for _ in range(3):
        it.server.restart()
        it.stays(1)


@case("expired")
def certificate_expired(it):
    it.set(by_node(**GOOD))
    it.becomes(NONE)
    wait_until(lambda: re.search("(?i)expired|certificate", it.source_state()["error"]), "the reason")
    it.server.tls = it.stage.good_tls
    it.becomes(COOL)
    it.server.tls = it.stage.bad_tls
    it.server.kill()
    it.becomes(NONE)
    it.server.tls = it.stage.good_tls
    it.becomes(COOL)


@case("token")
def token_changes(it):
    it.set(by_node(**GOOD))
    it.becomes(COOL)
    it.server.token = "second"
    it.becomes(NONE)
    assert "401" in it.source_state()["error"]
    it.stage.token_file.write_text("second\n")
    it.becomes(COOL)


@case("ahead", max_age=NEVER)
def clock_ahead(it):
    """An hour, with a Date header: values measured now are new."""
    it.set([sample(0.2, at=-3600, node="n0"), *by_node(**GOOD)[1:]])
    it.becomes(COOL[1:])
    it.stays()


@case("behind", max_age=NEVER)
def clock_behind(it):
    """An hour, without a Date: the newest series gives the server's time."""
    it.set([sample(0.2, at=-3600, node="n0"), *by_node(**GOOD)[1:]])
    it.becomes(COOL[1:])
    it.stays()


@case("transfer", max_age=NEVER)
def other_transfer_modes(it):
    """gzip, chunks, and a connection that ends after each answer."""
    it.set(by_node(**GOOD))
    it.becomes(COOL)
    it.stays()
    it.set(by_node(**dict.fromkeys(ALL, 0.1)))
    it.becomes(ALL)
    assert it.source_state()["requests"]["failed"] == 0


@case("metadata")
def link_local(it):
    """berth rejects metadata addresses unless the operator allows them."""
    it.becomes(NONE)
    wait_until(lambda: "allowLinkLocal" in it.source_state()["error"], "the reason")


# --- one berth for all cases ---


# berth queries a failing server less often, so cases with special or slow failures have separate servers.
PLAIN = [
    "shared", "bad", "slow", "silent", "flooded", "down", "down-allow", "frozen",
    "restarted", "token", "ahead", "behind", "transfer",
]  # fmt: skip


class Stage:
    def __init__(self, folder):
        self.folder = folder
        self.servers = {name: Scripted() for name in PLAIN}
        self.bystander = Scripted()
        authority = Authority(folder / "ca", "test")
        self.ca = authority.certificate
        self.good_tls = make_context(*authority.issue_server())
        self.bad_tls = make_context(
            *authority.issue("old", "serverAuth", "DNS:localhost,IP:127.0.0.1", **PAST)
        )
        self.servers["expired"] = Scripted(self.bad_tls)
        self.token_file = folder / "token"
        self.token_file.write_text("first\n")
        self.servers["token"].token = "first"
        self.servers["ahead"].clock = 3600
        self.servers["behind"].clock, self.servers["behind"].has_date = -3600, False
        transfer = self.servers["transfer"]
        transfer.is_zipped = transfer.is_chunked = transfer.is_closing = True

    def write_sources(self):
        more = {
            "expired": {"tls": {"caFile": str(self.ca)}},
            "token": {"bearerTokenFile": str(self.token_file)},
        }
        return write_sources(
            self.folder / "sources.yaml",
            {"name": "metadata", "url": "http://169.254.169.254"},
            *(
                {"name": name, "url": server.url, **more.get(name, {})}
                for name, server in self.servers.items()
            ),
        )

    def stop(self):
        for server in [*self.servers.values(), self.bystander]:
            server.stop()


def make_policy(it):
    query = {"query": it.name, "source": it.source}
    if it.label:
        query["nodeLabel"] = it.label
    metric = {"name": it.name, "prometheus": query, "interval": it.interval, "maxAge": it.max_age}
    rule = {"name": "cool", "expression": f"metrics.{it.name} < 0.8", "reason": "hot"}
    spec = {
        "match": {"podSelector": {"matchLabels": {"case": it.name}}},
        "metrics": [{**metric, "placements": "none"}],
        "filters": [{**rule, "onMissing": it.on_missing}],
    }
    return {
        "apiVersion": "berth.dev/v1alpha1",
        "kind": "PlacementPolicy",
        "metadata": {"name": it.name.replace("_", "-")},
        "spec": spec,
    }


@pytest.fixture(scope="module")
def running(start_shared, tmp_path_factory):
    """{case: future}: all of them have begun."""
    stage = Stage(tmp_path_factory.mktemp("stage"))
    stage.berth = None
    cases = [make(stage) for make in CASES.values()]
    policy = stage.folder / "policy.yaml"
    policy.write_text(yaml.safe_dump_all(map(make_policy, cases)))
    cluster = write_cluster(
        stage.folder / "cluster.json", [{"metadata": {"name": name}} for name in ALL]
    )
    stage.berth = start_shared(
        "--policy", policy, "--cluster", cluster, "--sources", stage.write_sources()
    )
    for it in cases:
        it.berth = stage.berth
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        yield {it.name: pool.submit(it.function, it) for it in cases}
    stage.stop()


@pytest.mark.parametrize("name", CASES)
def test_prometheus_fault(running, name):
    running[name].result()
