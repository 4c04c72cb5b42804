"""For rules that fail, and policies that take too long, onError and onTimeout decide; berth counts and logs both."""

import pytest

from client import get, log_lines, post, wait_for_figures, wait_until, write_cluster

HEAD = "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\n"


def policy(name, spec):
    lines = "".join(f"  {line}\n" for line in spec.strip().splitlines())
    return f"{HEAD}metadata: {{name: {name}}}\nspec:\n{lines}"


def ask(berth, verb, names, labels=None):
    pod = {"metadata": {"name": "p", "namespace": "default", "labels": labels or {}}}
    reply = post(berth, verb, {"Pod": pod, "NodeNames": names})
    assert reply.status == 200
    return reply.json()


# --- rules that fail ---

FAILING = policy(
    "zones",
    """
filters:
  - {name: strict, expression: "node.metadata.labels['zone'] == 'a'", reason: wrong zone}
  - {name: lenient, expression: "node.metadata.labels['zone'] != pod.metadata.labels['zone']",
     onError: allow, reason: same zone}
scores:
  - {name: near, expression: "int(node.metadata.labels['weight'])", onError: 70}
""",
)
MATCHING = policy(
    "some",
    """
match: {expression: "pod.metadata.labels['app'] == 'web'"}
filters: [{name: never, expression: "node.metadata.name == ''", reason: never}]
""",
)
LABELS = {
    "n1": {"zone": "a", "weight": "100"},
    "n2": {"zone": "b", "weight": "much"},
    "n3": {"weight": "0"},
}
ALL = [*LABELS, "ghost"]


@pytest.fixture
def failing(start_logged, tmp_path):
    (tmp_path / "policy.yaml").write_text(f"{FAILING}---\n{MATCHING}")
    nodes = [{"metadata": {"name": n, "labels": labels}} for n, labels in LABELS.items()]
    cluster = write_cluster(tmp_path / "cluster.json", nodes)
    return start_logged("--policy", tmp_path / "policy.yaml", "--cluster", cluster)


def errors(**counts):
    name = 'berth_rule_errors_total{{policy="{}",rule="{}"}}'
    keys = {key: key.replace("_match", "_(match)").split("_") for key in counts}
    return {name.format(*keys[key]): n for key, n in counts.items()}


def test_errors_are_decided_and_counted(failing):
    wait_for_figures(failing, errors(zones_strict=0, zones_lenient=0, zones_near=0, some_match=0))
    filtered = ask(failing, "filter", ALL)
    # The pod has no labels, so lenient fails on every node and lets it pass.
    assert filtered["NodeNames"] == ["n1"]
    assert filtered["FailedNodes"]["n3"] == "wrong zone"
    wait_for_figures(failing, errors(zones_strict=1, zones_lenient=3, zones_near=0, some_match=1))

    scores = {entry["Host"]: entry["Score"] for entry in ask(failing, "prioritize", ALL)}
    assert scores == {"n1": 10, "n2": 7}
    wait_for_figures(failing, errors(zones_strict=1, zones_lenient=3, zones_near=1, some_match=2))

    # With its label match.expression has a value, and the policy applies.
    assert ask(failing, "filter", ALL, {"app": "web", "zone": "x"})["NodeNames"] == []
    wait_for_figures(failing, errors(zones_strict=2, zones_lenient=4, zones_near=1, some_match=2))

    pod = {"metadata": {"name": "p"}}
    victims = {"n1": {"Pods": [{"UID": "u"}]}, "n3": {"Pods": [{"UID": "v"}]}}
    post(failing, "preempt", {"Pod": pod, "NodeNameToMetaVictims": victims})
    wait_for_figures(failing, errors(zones_strict=3, zones_lenient=6, zones_near=1, some_match=3))


def test_prints_each_error_once(failing, tmp_path):
    for _ in range(3):
        ask(failing, "filter", ALL)
        ask(failing, "prioritize", ALL)
    logged = log_lines(failing, "rule fails; its onError applies")
    assert len(logged) == 3
    strict, lenient, near = logged
    assert "policy=zones rule=strict nodes=1 node=n3" in strict
    assert "no such key: zone" in strict
    assert "policy=zones rule=lenient nodes=3 node=n1" in lenient
    assert "policy=zones rule=near nodes=1 node=n2" in near
    assert "much" in near or "int" in near
    (match,) = log_lines(failing, "match expression")
    assert "policy=some" in match and "no such key: app" in match

    # They are logged again for new policies, and for rules that start to fail later.
    renamed = FAILING.replace("name: zones", "name: areas")
    (tmp_path / "policy.yaml").write_text(f"{renamed}---\n{MATCHING}")
    wait_until(lambda: log_lines(failing, "policy reloaded"), "the reload")
    ask(failing, "filter", ["n1"], {"zone": "b", "app": "x"})
    assert len(log_lines(failing, "rule fails; its onError applies")) == 3
    ask(failing, "filter", ["n3"], {"zone": "b", "app": "x"})
    logged = log_lines(failing, "rule fails; its onError applies")[3:]
    assert [("rule=strict" in line, "rule=lenient" in line) for line in logged] == [
        (True, False),
        (False, True),
    ]
    assert len(log_lines(failing, "match expression")) == 1


# --- exceeded deadlines ---

N_NODES, N_PODS = 40, 60
# Compares every pair of pods of a node with the pod's requests, so that nothing can be precomputed.
SLOW = """
!node.pods.exists(p, node.pods.exists(q, (p.metadata.name + q.metadata.name + pod.metadata.name)
.contains('nothing like that')))
""".replace("\n", "")


def slow_policy(on_timeout):
    return policy(
        "slow",
        f"""
onTimeout: {on_timeout}
filters:
  - {{name: known, expression: "node.metadata.name != 'n0'", reason: it is n0}}
  - {{name: pairs, expression: "{SLOW}", reason: a pair is wrong}}
""",
    )


def write_large_cluster(path):
    nodes = [{"metadata": {"name": f"n{i}"}} for i in range(N_NODES)]
    pods = [
        {
            "metadata": {"name": f"pod-{n}-{i}", "namespace": "default", "uid": f"{n}-{i}"},
            "spec": {"nodeName": f"n{n}", "containers": []},
            "status": {"phase": "Running"},
        }
        for n in range(N_NODES)
        for i in range(N_PODS)
    ]
    return write_cluster(path, nodes, pods)


@pytest.fixture
def start_slow(start_logged, tmp_path):
    cluster = write_large_cluster(tmp_path / "cluster.json")

    def start(spec, *flags):
        (tmp_path / "policy.yaml").write_text(spec)
        return start_logged("--policy", tmp_path / "policy.yaml", "--cluster", cluster, *flags)

    return start


def late_figures(verb, requests, nodes, rejected):
    return {
        f'berth_late_requests_total{{verb="{verb}"}}': requests,
        f'berth_late_nodes_total{{verb="{verb}"}}': nodes,
        "berth_late_rejected_nodes_total": rejected,
    }


NAMES = [f"n{i}" for i in range(N_NODES)]
LATE = "berth ran out of time to judge the node"


def test_time_enough(start_slow):
    """The slow rule is not wrong, only slow."""
    berth = start_slow(slow_policy("reject"), "--deadline", "60s")
    assert ask(berth, "filter", NAMES)["NodeNames"] == NAMES[1:]
    wait_for_figures(berth, late_figures("filter", 0, 0, 0))
    assert not log_lines(berth, "deadline exceeded")


def test_deadline_rejects_nodes(start_slow):
    berth = start_slow(slow_policy("reject"), "--deadline", "1ms")
    filtered = ask(berth, "filter", NAMES)
    assert filtered["NodeNames"] == []
    assert filtered["FailedNodes"] == {"n0": "it is n0", **dict.fromkeys(NAMES[1:], LATE)}
    assert filtered["FailedAndUnresolvableNodes"] == {}
    wait_for_figures(berth, late_figures("filter", 1, N_NODES, N_NODES - 1))

    # Only candidate nodes count, although all rows are evaluated.
    assert len(ask(berth, "filter", [*NAMES[1:31], "ghost"])["FailedNodes"]) == 31
    decision = get(berth, "/api/v1/decisions?outcome=late").json()["decisions"][0]
    assert decision["counts"]["late"] == decision["counts"]["unjudged"] == 30
    wait_for_figures(berth, late_figures("filter", 2, N_NODES + 30, N_NODES - 1 + 30))

    (logged,) = log_lines(berth, "deadline exceeded")  # one line, because the rate is limited
    assert f"verb=filter namespace=default pod=p nodes_in={N_NODES} nodes_late={N_NODES}" in logged


def test_deadline_allows_nodes(start_slow):
    berth = start_slow(slow_policy("allow"), "--deadline", "1ms")
    filtered = ask(berth, "filter", NAMES)
    assert filtered["NodeNames"] == NAMES[1:]
    assert filtered["FailedNodes"] == {"n0": "it is n0"}
    wait_for_figures(berth, late_figures("filter", 1, N_NODES, 0))
    (decision,) = get(berth, "/api/v1/decisions").json()["decisions"]
    assert decision["counts"]["late"] == 0
    assert decision["counts"]["unjudged"] == N_NODES


def test_deadline_ends_scores(start_slow):
    spec = policy("slow", f"""scores: [{{name: pairs, expression: "{SLOW} ? 100 : 0"}}]""")
    berth = start_slow(spec, "--deadline", "1ms")
    assert ask(berth, "prioritize", NAMES) == []
    wait_for_figures(berth, late_figures("prioritize", 1, N_NODES, 0))


def test_deadline_ends_preempt(start_slow):
    berth = start_slow(slow_policy("reject"), "--deadline", "1ms")
    victims = {name: {"Pods": [{"UID": f"{name[1:]}-0"}]} for name in NAMES}
    reply = post(berth, "preempt", {"Pod": {}, "NodeNameToMetaVictims": victims})
    assert reply.json() == {"NodeNameToMetaVictims": {}}
    wait_for_figures(berth, late_figures("preempt", 1, N_NODES, 0))


def test_narrowed_nodes_are_counted(start_slow):
    spec = policy(
        "few",
        """
narrow: {to: 3}
scores: [{name: number, expression: "int(node.metadata.name.substring(1))", normalize: rank}]
""",
    )
    berth = start_slow(spec)
    filtered = ask(berth, "filter", NAMES)
    assert filtered["NodeNames"] == NAMES[-3:] and filtered["FailedNodes"] == {}
    ask(berth, "filter", NAMES[:3])  # not above the limit, so nothing is omitted
    wait_for_figures(berth, {"berth_narrowed_nodes_total": N_NODES - 3})
