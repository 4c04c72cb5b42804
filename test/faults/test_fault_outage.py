"""The API server is down, slow, or restarted repeatedly: berth continues to decide, and loses no
change. F1, F2, F3."""

import time

import faults
import pytest
from apistate import NODES, PODS
from client import get, wait_until
from live import FilterLoop, count_relists, fill, has_new_watches, node, pod, same_as


def names_of(server):
    return sorted(server.state.objects["nodes"])


def failures(berth):
    return [berth.figure("berth_cluster_failures_total", kind) for kind in ("nodes", "pods")]


def change(server, step=0):
    """Makes changes of each kind: new, changed and deleted objects."""
    state = server.state
    state.put(NODES, node(f"new-{step}"))
    state.put(PODS, pod(f"new-{step}", on="n-0002", cpu="1"))
    state.patch(NODES, "n-0004", {"metadata": {"labels": {"step": str(step)}}})
    state.delete(PODS, f"default/p-{step:04}-1", grace=0)
    state.delete(NODES, f"n-{step + 10:04}")


# --- F1: it is down ---


def decisions_go_on_while_the_api_server_is_down(server, start_live):
    fill(server)
    berth = start_live()
    names = names_of(server)
    before = berth.filter(names)

    server.refuse()
    server.kill()
    with FilterLoop(berth, names, same_as(before)) as loop:
        wait_until(lambda: not berth.is_connected("nodes"), "the outage to be seen")
        wait_until(lambda: not berth.is_connected("pods"), "the outage to be seen")
        assert "disconnected" in berth.health()
        assert berth.is_ready()  # the last snapshot is good enough
        n_answers = loop.n_answers
        wait_until(lambda: loop.n_answers > n_answers + 100, "more answers")
        change(server)
        before = failures(berth)
        wait_until(lambda: all(n >= m + 2 for n, m in zip(failures(berth), before)), "more tries")
    server.listen()
    berth.wait_true(server)
    wait_until(berth.is_connected, "berth to say that all is well")
    assert "disconnected" not in berth.health()
    # Nothing was compacted meanwhile, so the watches continued.
    assert count_relists(server) == [1, 1]


def berth_starts_before_the_api_server(server, start_live):
    fill(server)
    server.refuse()
    berth = start_live(is_ready=False)
    wait_until(lambda: "no update yet: " in berth.health(), "a failed try")
    assert get(berth, "/livez").status == 200
    assert not berth.is_ready()
    # A request now must not reject every node.
    reply = berth.filter(names_of(server))
    assert reply.error()

    server.listen()
    wait_until(berth.is_ready, "berth to be ready")
    berth.wait_true(server)


def the_api_server_is_gone_for_good_at_the_end(server, start_live):
    """berth exits cleanly without a reply; start_live checks its exit status."""
    fill(server)
    berth = start_live()
    server.freeze()
    server.refuse()
    berth.stop()


# --- F2: it is slow ---


def a_slow_first_list_keeps_berth_unready(server, start_live):
    fill(server, n_nodes=5)
    slow = server.script(faults.at_rate(20), when=lambda r: r.resource == "pods", times=None)
    berth = start_live(is_ready=False)
    wait_until(lambda: server.asked("watch pods") or server.asked("list pods"), "a request")
    time.sleep(1)
    assert not berth.is_ready()
    assert "not listed yet" in berth.health()
    slow.cancel()
    server.kill()
    wait_until(berth.is_ready, "berth to be ready")
    berth.wait_true(server)


def decisions_do_not_wait_for_a_slow_api_server(server, start_live):
    fill(server)
    berth = start_live()
    names = names_of(server)
    before = berth.filter(names)
    # It must list again, and gets one byte per second, or nothing for 30 s.
    slow = [
        server.script(faults.at_rate(1), when=lambda r: r.resource == "nodes", times=None),
        server.script(faults.after(30), when=lambda r: r.resource == "pods", times=None),
    ]
    n_relists = len(server.relists("nodes"))
    server.state.compact(server.state.number + 1)
    server.state.advance(5)
    with FilterLoop(berth, names, same_as(before)) as loop:
        server.push_error("nodes", faults.EXPIRED)
        server.push_error("pods", faults.EXPIRED)
        wait_until(lambda: len(server.relists("nodes")) > n_relists, "a list")
        n_answers = loop.n_answers
        wait_until(lambda: loop.n_answers > n_answers + 200, "more answers")
    change(server)
    for script in slow:
        script.cancel()
    server.kill()
    berth.wait_true(server)


# --- F3: it is restarted again and again ---


def restart(server):
    server.refuse()
    server.kill()
    time.sleep(0.1)
    server.listen()


def restarts_without_lists(server, start_live):
    fill(server, n_nodes=30)
    berth = start_live()
    with FilterLoop(berth, names_of(server)):
        for step in range(6):
            old = server.open_watches()
            change(server, step)
            restart(server)
            change(server, step + 10)
            wait_until(lambda: has_new_watches(server, old), "watches")
        berth.wait_true(server)
    assert count_relists(server) == [1, 1]


def restarts_that_forget_need_one_list_each(server, start_live):
    fill(server, n_nodes=30)
    berth = start_live()
    n_restarts = 4
    for step in range(n_restarts):
        change(server, step)
        wait_until(server.is_idle, "the watches to be sent")
        old = server.open_watches()
        server.refuse()
        server.kill()
        change(server, step + 10)
        server.state.compact()
        server.listen()
        berth.wait_true(server)
        wait_until(lambda: has_new_watches(server, old), "watches")
    for resource in ("nodes", "pods"):
        assert 1 < len(server.relists(resource)) <= 1 + n_restarts


def connections_are_reset(server, start_live):
    fill(server)
    berth = start_live()
    for step in range(3):
        old = server.open_watches()
        server.kill("reset")
        change(server, step)
        wait_until(lambda: has_new_watches(server, old), "watches")
    berth.wait_true(server)
    assert count_relists(server) == [1, 1]


SCENES = [
    decisions_go_on_while_the_api_server_is_down,
    berth_starts_before_the_api_server,
    the_api_server_is_gone_for_good_at_the_end,
    a_slow_first_list_keeps_berth_unready,
    decisions_do_not_wait_for_a_slow_api_server,
    restarts_without_lists,
    restarts_that_forget_need_one_list_each,
    connections_are_reset,
]


def play(server, start_live, scene):
    scene(server, start_live)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_outage(together, scene):
    together(play)
