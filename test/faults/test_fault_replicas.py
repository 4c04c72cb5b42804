"""Two berths with one API server give the same replies, and only one of two binds succeeds. F17."""

import threading

import client
from apistate import NODES, PODS
from client import FAULT_SCALE, post
from live import fill, node, pod


def ask_all(berth, names, of):
    body = {"Pod": of, "NodeNames": names}
    return [post(berth, verb, body).body for verb in ("filter", "prioritize")]


def test_answers_are_the_same_to_the_byte(server, start_live):
    fill(server, n_nodes=50)
    first = start_live()
    # The second replica lists the state that the first one has reached by events.
    for i in range(0, 50, 7):
        server.state.put(PODS, pod(f"more-{i}", on=f"n-{i:04}", cpu="300m"))
        server.state.patch(NODES, f"n-{i:04}", {"metadata": {"labels": {"more": "1"}}})
    server.state.delete(NODES, "n-0011")
    server.state.put(NODES, node("n-0011"))
    first.wait_true(server)
    second = start_live()
    names = [*server.state.objects["nodes"], "stranger"]
    for cpu in ("100m", "500m", "7", "20"):
        of = pod("asked", cpu=cpu)
        assert ask_all(first, names, of) == ask_all(second, names, of)
    assert first.objects() == second.objects()


def test_one_of_two_binds_wins(server, start_live):
    n_trials = 60 * FAULT_SCALE
    for name in ("a", "b"):
        server.state.put(NODES, node(name, cpu="6400"))
    pods = []
    for i in range(n_trials):
        server.state.put(PODS, pod(f"p-{i}", cpu="10m"))
        pods.append(server.state.find(PODS, f"default/p-{i}").object)
    berths = start_live("--bind"), start_live("--bind")
    errors = {"a": [], "b": []}
    for of in pods:
        for berth in berths:
            berth.filter("ab", of)

    def run(berth, target, start):
        for of in pods:
            start.wait(client.PATIENCE)
            errors[target].append(berth.bind(of, target))

    start = threading.Barrier(2)
    threads = [
        threading.Thread(target=run, args=(berth, target, start))
        for berth, target in zip(berths, "ab")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, (to_a, to_b) in enumerate(zip(errors["a"], errors["b"])):
        there = server.state.find(PODS, f"default/p-{i}").object["spec"]["nodeName"]
        assert (to_a == "", to_b == "") == (there == "a", there == "b"), (to_a, to_b, there)
    for berth in berths:
        berth.wait_true(server)
