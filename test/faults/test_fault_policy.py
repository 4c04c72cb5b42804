"""Policies that are too expensive for the cluster: no rule is evaluated, and berth's view stays correct."""

from apistate import CLAIMS, NAMESPACES, NODES, PODS, VOLUMES
from client import get, replace, wait_until
from live import count_relists, fill, node, pod

TEN = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
COSTLY = f"""\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {{name: costly}}
spec:
  filters:
    - name: nested
      reason: r
      expression: >-
        {TEN}.map(a, {TEN}.map(b, {TEN}.map(c, {TEN}.map(d,
        a + b + c + d + size(node.metadata.name))))).size() > 0
"""
LATE = "berth ran out of time to judge the node"


def degraded(berth):
    lines = berth.health().splitlines()
    return next((line for line in lines if line.startswith("[+]policy ok: degraded: ")), None)


def test_first_list_exceeds_the_budget(server, start_live, tmp_path):
    """The policy is accepted at the start, without nodes."""
    policy = tmp_path / "costly.yaml"
    policy.write_text(COSTLY)
    fill(server, n_nodes=400, pods_per_node=1)
    berth = start_live("--policy", policy, "--load-time", "200ms", "--bind")
    said = wait_until(lambda: degraded(berth), "the policy to be too expensive")
    assert "to load for 400 nodes" in said and "filter costly/nested" in said
    asked = pod("asked", uid="u")
    reply = berth.filter(["n-0000", "n-0399"], of=asked).json()
    assert reply["NodeNames"] == [] and set(reply["FailedNodes"].values()) == {LATE}
    assert berth.bind(asked, "n-0000").startswith("berth: refused")

    # Events are still applied, without an evaluation for each of them.
    for i in range(20):
        server.state.put(NODES, node(f"new-{i}"))
        server.state.put(PODS, pod(f"new-{i}", on=f"new-{i}"))
    berth.wait_true(server)

    # With a smaller cluster berth evaluates the policy again.
    for name in sorted(server.state.objects["nodes"])[5:]:
        server.state.delete(NODES, name)
    wait_until(lambda: not degraded(berth), "the policy to fit")
    reply = berth.filter(["n-0000"]).json()
    assert reply["NodeNames"] == ["n-0000"]
    assert get(berth, "/readyz").status == 200


GOLD = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: gold}
spec:
  match: {namespaceSelector: {matchLabels: {tier: gold}}}
  filters:
    - name: pool
      expression: "node.metadata.labels['pool'] == namespace.metadata.annotations['pool']"
      reason: the pool of another team
"""
PLAIN = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: plain}
spec:
  filters:
    - {name: ready, nodeReady: true}
"""
READ = [f"{verb} {kind}" for verb in ("get", "list", "watch") for kind in ("nodes", "pods")]
READ_NAMESPACES = [f"{verb} namespaces" for verb in ("get", "list", "watch")]
COLOURS = ["blue", "red"]


def namespace(name, tier=None, pool=None):
    labels, annotations = {"tier": tier} if tier else {}, {"pool": pool} if pool else {}
    return {
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
    }  # fmt: skip


def put_colours(server):
    for name in COLOURS:
        server.state.put(NODES, node(name, pool=name))


def start_with(start_live, tmp_path, policy):
    (tmp_path / "policy.yaml").write_text(policy)  # of start_live()
    return start_live()


def passed(berth, of_namespace):
    return berth.filter(COLOURS, pod("new", namespace=of_namespace)).json()["NodeNames"]


def status_of(berth):
    return get(berth, "/api/v1/status").json()


def test_namespaces_are_watched_while_a_policy_reads_them(server, start_live, tmp_path):
    put_colours(server)
    server.state.put(NAMESPACES, namespace("team-a", "gold", "red"))
    server.state.put(NAMESPACES, namespace("team-b"))
    server.allow_only(*READ, *READ_NAMESPACES)
    berth = start_with(start_live, tmp_path, GOLD)
    assert passed(berth, "team-a") == ["red"]  # from the first request on
    assert passed(berth, "team-b") == COLOURS

    server.state.put(NAMESPACES, namespace("team-a", "gold", "blue"))
    wait_until(lambda: passed(berth, "team-a") == ["blue"], "the new annotation")
    server.state.put(NAMESPACES, namespace("team-b", "gold", "red"))
    wait_until(lambda: passed(berth, "team-b") == ["red"], "the new label")
    server.state.delete(NAMESPACES, "team-b")
    wait_until(lambda: passed(berth, "team-b") == COLOURS, "the deletion")
    assert [each["resource"] for each in status_of(berth)["cluster"]["watches"]] == ["namespaces"]

    # No policy reads them any more.
    replace(tmp_path / "policy.yaml", PLAIN)
    wait_until(lambda: not server.open_watches("namespaces"), "the end of the watch")
    assert passed(berth, "team-a") == COLOURS
    assert status_of(berth)["cluster"]["watches"] == []
    assert not server.denied


def test_no_right_to_namespaces_is_needed_by_others(server, start_live, tmp_path):
    put_colours(server)
    server.allow_only(*READ)
    berth = start_with(start_live, tmp_path, PLAIN)
    assert passed(berth, "team-a") == COLOURS
    assert not server.asked("list namespaces") and not server.asked("watch namespaces")
    assert not server.denied


def test_reload_waits_for_the_right_to_namespaces(server, start_live, tmp_path):
    """The earlier policy stays in force, and the status has the reason."""
    put_colours(server)
    server.state.put(NAMESPACES, namespace("team-a", "gold", "red"))
    server.allow_only(*READ)
    berth = start_with(start_live, tmp_path, PLAIN)
    replace(tmp_path / "policy.yaml", GOLD)
    wait_until(lambda: "on namespaces" in status_of(berth)["policy"]["waiting"], "the reason")
    status = status_of(berth)
    assert status["policy"]["waiting"].startswith("the new policies wait for the list of namespaces: HTTP 403")
    assert [each["name"] for each in status["policy"]["list"]] == ["plain"]
    assert [(each["resource"], each["synced"]) for each in status["cluster"]["watches"]] == [("namespaces", False)]
    assert passed(berth, "team-a") == COLOURS
    assert berth.is_ready()

    server.allow_only(*READ, *READ_NAMESPACES)
    wait_until(lambda: passed(berth, "team-a") == ["red"], "the new policy")
    assert status_of(berth)["policy"]["waiting"] == ""


def test_start_without_the_right_to_namespaces(server, start_live, tmp_path):
    """Rules that read namespaces fail with a clear reason; berth is ready, and lists namespaces once it has the right."""
    put_colours(server)
    server.state.put(NAMESPACES, namespace("team-a", "gold", "red"))
    server.allow_only(*READ)
    for_all = GOLD.replace("  match: {namespaceSelector: {matchLabels: {tier: gold}}}\n", "")
    berth = start_with(start_live, tmp_path, for_all)
    assert passed(berth, "team-a") == []
    assert "namespaces: not listed yet" in berth.health()
    server.allow_only(*READ, *READ_NAMESPACES)
    wait_until(lambda: passed(berth, "team-a") == ["red"], "namespaces")


REACH = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: reach}
spec:
  filters:
    - {name: volume, expression: "pod.claims.all(c, c.selects(node))", reason: cannot reach its volume}
"""


def claim(volume=None):
    spec = {"volumeName": volume} if volume else {}
    return {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default"},
        "spec": spec, "status": {"phase": "Bound" if volume else "Pending"},
    }  # fmt: skip


def volume_in(pool):
    condition = {"key": "pool", "operator": "In", "values": [pool]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [condition]}]}
    return {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"},
        "spec": {"nodeAffinity": {"required": required}}, "status": {"phase": "Bound"},
    }  # fmt: skip


def test_claims_and_volumes_are_watched_while_a_policy_reads_them(server, start_live, tmp_path):
    put_colours(server)
    server.state.put(CLAIMS, claim())
    kinds = ("persistentvolumeclaims", "persistentvolumes")
    server.allow_only(*READ, *(f"{verb} {kind}" for verb in ("get", "list", "watch") for kind in kinds))
    berth = start_with(start_live, tmp_path, PLAIN)
    assert not any(server.relists(kind) for kind in kinds)
    of = pod("new")
    of["spec"]["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]

    def passed_with_claim():
        return berth.filter(COLOURS, of).json()["NodeNames"]

    replace(tmp_path / "policy.yaml", REACH)
    wait_until(lambda: len(status_of(berth)["cluster"]["watches"]) == 2, "the watches")
    server.state.put(VOLUMES, volume_in("red"))
    server.state.put(CLAIMS, claim("pv"))
    wait_until(lambda: passed_with_claim() == ["red"], "the volume")
    server.state.put(VOLUMES, volume_in("blue"))
    wait_until(lambda: passed_with_claim() == ["blue"], "the other volume")
    server.state.delete(VOLUMES, "pv")
    wait_until(lambda: passed_with_claim() == [], "the error")
    assert passed(berth, "default") == COLOURS  # a pod without claims
    replace(tmp_path / "policy.yaml", PLAIN)
    wait_until(lambda: not any(server.open_watches(kind) for kind in kinds), "the end of the watches")
    assert not server.denied


def test_status_says_that_node_details_are_waited_for(server, start_live, tmp_path):
    put_colours(server)
    berth = start_with(start_live, tmp_path, PLAIN)
    berth.wait_true(server)
    server.allow_only("list pods", "watch pods")
    server.kill()
    replace(tmp_path / "policy.yaml", LARGE)
    wait_until(lambda: "HTTP 403" in status_of(berth)["policy"]["waiting"], "the reason")
    assert status_of(berth)["policy"]["waiting"].startswith("the new policies wait for the list of nodes: ")
    assert [each["name"] for each in status_of(berth)["policy"]["list"]] == ["plain"]


LARGE = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: large}
spec:
  filters:
    - {name: capacity, expression: "node.capacity['cpu'] >= 16.0", reason: too small}
"""


def test_reload_lists_nodes_again_for_fields_that_were_not_kept(server, start_live, tmp_path):
    """berth lists only nodes, once; the new policy never decides without these fields."""
    for name, cpu in (("small", "8"), ("large", "32")):
        made = node(name)
        made["status"]["capacity"] = {"cpu": cpu}
        server.state.put(NODES, made)
    berth = start_live()
    policy = tmp_path / "policy.yaml"  # of start_live()
    berth.wait_true(server)
    assert berth.filter(["small", "large"]).json()["NodeNames"] == ["small", "large"]
    before = count_relists(server)

    replace(policy, LARGE)
    seen = set()

    def passed():
        names = tuple(berth.filter(["small", "large"]).json()["NodeNames"])
        seen.add(names)
        return names == ("large",)

    wait_until(passed, "the new policy")
    assert seen <= {("small", "large"), ("large",)}
    assert [now - then for now, then in zip(count_relists(server), before, strict=True)] == [1, 0]

    # Both fields are stored from now on, so another such policy needs no list.
    replace(policy, LARGE.replace("16.0", "64.0"))
    wait_until(lambda: berth.filter(["small", "large"]).json()["NodeNames"] == [], "the third policy")
    assert count_relists(server)[0] == before[0] + 1


QUIET = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: quiet}
spec:
  filters:
    - name: quiet
      expression: "node.pods.all(p, p.metadata.annotations[?'example.com/loud'].orValue('') != 'yes')"
      reason: a loud pod
"""


def test_reload_lists_pods_again_for_fields_that_were_not_kept(server, start_live, tmp_path):
    """berth lists only pods, once; the new policy never decides without these fields."""
    for name, annotation in (("calm", "no"), ("loud", "yes")):
        server.state.put(NODES, node(name))
        running = pod(f"on-{name}", on=name)
        running["metadata"]["annotations"] = {"example.com/loud": annotation, "other": "never kept"}
        running["spec"]["containers"][0]["image"] = "never:kept"
        server.state.put(PODS, running)
    berth = start_live()
    policy = tmp_path / "policy.yaml"  # of start_live()
    berth.wait_true(server)
    assert berth.filter(["calm", "loud"]).json()["NodeNames"] == ["calm", "loud"]
    before = count_relists(server)

    replace(policy, QUIET)
    seen = set()

    def passed():
        names = tuple(berth.filter(["calm", "loud"]).json()["NodeNames"])
        seen.add(names)
        return names == ("calm",)

    wait_until(passed, "the new policy")
    assert seen <= {("calm", "loud"), ("calm",)}
    assert [now - then for now, then in zip(count_relists(server), before, strict=True)] == [0, 1]

    # The same key needs no list; another key does.
    replace(policy, QUIET.replace("'yes'", "'no'"))
    wait_until(lambda: berth.filter(["calm", "loud"]).json()["NodeNames"] == ["loud"], "the third policy")
    assert count_relists(server)[1] == before[1] + 1
    replace(policy, QUIET.replace("example.com/loud", "other").replace("'yes'", "'never kept'"))
    wait_until(lambda: berth.filter(["calm", "loud"]).json()["NodeNames"] == [], "the fourth policy")
    assert count_relists(server)[1] == before[1] + 2
