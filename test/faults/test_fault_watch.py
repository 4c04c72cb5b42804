"""Versions expire, and watches end or send nothing: berth's view never shrinks, it lists only when needed, and
misses no change. F4, F5, F6."""

import time

import faults
import pytest
from apistate import INITIAL_EVENTS_END, NODES, PODS, encode_event, make_bookmark
from client import IS_SANITIZED, wait_until
from live import FilterLoop, count_relists, fill, has_new_watches, node, pod, true_view

UNKNOWN = "node is not known to berth"


def watched(server):
    return len(server.open_watches("nodes")) == len(server.open_watches("pods")) == 1


# --- F4: 410 ---


def known(reply):
    """The requested nodes that berth has."""
    body = reply.json()
    failed = {**(body["FailedNodes"] or {}), **(body["FailedAndUnresolvableNodes"] or {})}
    return set(body["NodeNames"]) | {name for name, why in failed.items() if why != UNKNOWN}


def forget(server, before=lambda: None):
    """Makes changes that are never sent in a watch, only in a list."""
    server.refuse()
    server.kill()
    before()
    server.state.compact()
    server.listen()


def the_old_snapshot_serves_until_the_new_one_is_whole(server, start_live):
    fill(server, n_nodes=300, pods_per_node=1)
    berth = start_live()
    old = set(server.state.objects["nodes"])

    def change():
        for i in range(0, 300, 3):
            server.state.delete(NODES, f"n-{i:04}")
            server.state.put(NODES, node(f"new-{i:04}"))

    # The new list is slow.
    server.script(faults.at_rate(250_000), when=lambda r: r.resource == "nodes", times=None)
    forget(server, change)
    new = set(server.state.objects["nodes"])
    seen = []

    def check(reply):
        seen.append(known(reply))
        return seen[-1] in (old, new)

    with FilterLoop(berth, old | new, check):
        wait_until(lambda: seen and seen[-1] == new, "the new nodes")
    assert seen[0] == old
    berth.wait_true(server)
    # The pods have not changed, so berth's view may be correct before it lists them again.
    wait_until(lambda: count_relists(server) == [2, 2], "a list of each")


def expire(server, start_live, what):
    fill(server)
    berth = start_live()
    if what == "while watching":
        for resource in ("nodes", "pods"):
            server.push_error(resource, faults.EXPIRED)
    else:
        fault = faults.expired if what == "status" else faults.expired_in_stream
        for resource in ("nodes", "pods"):
            server.script(fault, f"watch {resource}")
        server.kill()
    wait_until(lambda: count_relists(server) == [2, 2], "a list of each")
    server.state.put(NODES, node("later"))
    server.state.put(PODS, pod("later", on="later"))
    berth.wait_true(server)
    wait_until(berth.is_connected, "berth to say that all is well")
    assert count_relists(server) == [2, 2]


@pytest.mark.parametrize("what", ["status", "stream", "while watching"])
def test_expired(together, what):
    together(expire)


def pages_that_expire(server, start_live):
    """If lists cannot be streamed they come in pages, which may expire."""
    no_stream = faults.fail(400, b"{}", "application/json")
    server.script(no_stream, when=lambda r: r.is_streamed, times=None)
    fill(server, n_nodes=1200, pods_per_node=0)
    server.script(faults.expired, "list nodes", when=lambda r: "continue" in r.query, times=1)
    berth = start_live()
    berth.wait_true(server)
    assert len(server.asked("list nodes")) >= 3
    server.state.delete(NODES, "n-0007")
    berth.wait_true(server)


def test_memory_while_listing_again(server, start_live):
    if IS_SANITIZED:
        pytest.skip("sanitizers need memory of their own")
    fill(server, n_nodes=400, pods_per_node=30)
    berth = start_live()
    berth.wait_true(server)
    steady = berth.rss()
    with open(f"/proc/{berth.popen.pid}/clear_refs", "w", encoding="ascii") as file:
        file.write("5\n")  # resets VmHWM
    for resource in ("nodes", "pods"):
        server.push_error(resource, faults.EXPIRED)
    wait_until(lambda: count_relists(server) == [2, 2] and watched(server), "a list of each")
    wait_until(server.is_idle, "the lists to be sent")
    berth.wait_true(server)
    peak = berth.rss("VmHWM")
    assert peak <= 1.6 * steady, f"{peak >> 20} MiB, from {steady >> 20} MiB"


def what_happens_during_a_streamed_list(server, start_live):
    """Changes and deletions arrive between the initial events and the bookmark."""
    fill(server)

    def act(exchange, proceed):
        before = list(server.state.objects["nodes"].values())
        number = server.state.number
        server.state.delete(NODES, "n-0003")
        server.state.patch(NODES, "n-0004", {"metadata": {"labels": {"pool": "green"}}})
        server.state.delete(NODES, "n-0005")
        server.state.put(NODES, node("n-0005", "other"))
        server.state.put(NODES, node("new"))
        server.state.delete(NODES, "new")
        exchange.start_chunks()
        for version in before:
            exchange.send_chunk(encode_event("ADDED", version.text))
        for version in server.state.since(NODES, number):
            exchange.send_chunk(encode_event(version.type, version.text))
        exchange.send_chunk(make_bookmark(NODES, server.state.number, INITIAL_EVENTS_END))
        exchange.pause(3600)

    server.script(act, "watch nodes")
    berth = start_live()
    assert berth.view() == true_view(server)
    server.kill()
    server.state.put(NODES, node("later"))
    berth.wait_true(server)
    assert count_relists(server) == [1, 1]


def a_streamed_list_that_does_not_end(server, start_live):
    """An older API server starts a watch without the initial bookmark, so berth falls back to pages."""
    fill(server)

    def act(exchange, proceed):
        del exchange.request.query["sendInitialEvents"]
        del exchange.request.query["resourceVersionMatch"]
        proceed()

    server.script(act, when=lambda r: r.is_streamed, times=None)
    berth = start_live("--watch-silence", SILENCE, is_ready=False)
    wait_until(berth.is_ready, "berth to be ready")
    berth.wait_true(server)
    assert server.asked("list nodes") and server.asked("list pods")
    server.state.put(NODES, node("later"))
    berth.wait_true(server)


# --- F5: watches end ---


def watches_that_end_are_resumed_from_the_newest_bookmark(server, start_live):
    fill(server)
    berth = start_live()
    wait_until(lambda: watched(server), "watches")
    for step in range(8):
        if step % 3 == 0:
            server.state.put(NODES, node(f"step-{step}"))
        server.state.advance(10)  # by objects of other kinds
        server.send_bookmarks()
        # Only the version of the bookmark has not expired.
        server.state.compact()
        old = server.open_watches()
        server.end_watches()
        wait_until(lambda: has_new_watches(server, old), "new watches")
        for resource in ("nodes", "pods"):
            assert server.resumes(resource)[-1].version == str(server.state.number)
    berth.wait_true(server)
    assert count_relists(server) == [1, 1]
    assert berth.figure("berth_cluster_failures_total", "nodes") == 0


def break_off(server, start_live, ending):
    fill(server)
    berth = start_live()
    wait_until(lambda: watched(server), "watches")
    newest = server.state.put(NODES, node("before")).number
    berth.wait_true(server)
    old = server.open_watches()
    server.end_watches(ending=ending)
    wait_until(lambda: not any(watch.is_open for watch in old), "the end of the watches")
    server.state.put(NODES, node("meanwhile"))
    server.state.put(PODS, pod("meanwhile", on="meanwhile"))
    server.state.delete(NODES, "n-0001")
    berth.wait_true(server)
    assert count_relists(server) == [1, 1]
    assert server.resumes("nodes")[0].version == str(newest)


@pytest.mark.parametrize(
    "ending",
    [
        faults.end_half_line,
        faults.end_half_chunk,
        faults.end_without_last_chunk,
        faults.end_with_reset,
    ],
)
def test_watches_that_break_off(together, ending):
    together(break_off)


def a_watch_that_ends_at_once_is_not_asked_for_too_often(server, start_live):
    fill(server)
    berth = start_live()
    end = faults.stream(ending="end")
    script = server.script(end, "watch nodes", times=None)
    server.kill()
    wait_until(lambda: script.n_hits >= 3, "some tries")
    first, n_first = time.monotonic(), script.n_hits
    time.sleep(3)
    seconds = time.monotonic() - first
    assert script.n_hits - n_first <= 5 + seconds + 1
    script.cancel()
    server.state.put(NODES, node("later"))
    berth.wait_true(server)


# --- F6: watches fall silent ---

SILENCE = 2


def a_silent_watch_is_given_up(server, start_live):
    fill(server)
    berth = start_live("--watch-silence", SILENCE)
    wait_until(lambda: watched(server), "watches")
    lost = server.open_watches("nodes")[0]
    lost.lose()
    server.state.put(NODES, node("missed"))
    wait_until(lambda: not lost.is_open, "the silent watch to be given up")
    berth.wait_true(server)
    assert count_relists(server) == [1, 1]


def bookmarks_keep_a_quiet_watch(server, start_live):
    fill(server)
    server.bookmark_seconds = 0.3
    berth = start_live("--watch-silence", SILENCE)

    def outlived():
        return watched(server) and all(w.age() > 2 * SILENCE + 0.5 for w in server.open_watches())

    wait_until(outlived, "watches that are older than silence could become")
    assert berth.is_connected()
    # On a busy machine a bookmark can be late, which is the only reason for another watch.
    ended = [watch for watch in server.watches if not watch.is_open]
    assert all(watch.longest_silence > SILENCE / 2 for watch in ended)


def the_network_is_a_black_hole(server, start_live):
    fill(server)
    berth = start_live("--watch-silence", SILENCE)
    names = sorted(server.state.objects["nodes"])
    wait_until(lambda: watched(server), "watches")
    server.freeze()
    server.state.put(NODES, node("missed"))
    with FilterLoop(berth, names):
        wait_until(lambda: not berth.is_connected("nodes"), "the silence to be noticed")
    server.thaw()
    berth.wait_true(server)
    assert count_relists(server) == [1, 1]


SCENES = [
    the_old_snapshot_serves_until_the_new_one_is_whole,
    pages_that_expire,
    what_happens_during_a_streamed_list,
    a_streamed_list_that_does_not_end,
    watches_that_end_are_resumed_from_the_newest_bookmark,
    a_watch_that_ends_at_once_is_not_asked_for_too_often,
    a_silent_watch_is_given_up,
    bookmarks_keep_a_quiet_watch,
    the_network_is_a_black_hole,
]


def play(server, start_live, scene):
    scene(server, start_live)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_watch(together, scene):
    together(play)
