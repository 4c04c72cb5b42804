"""PlacementPolicies as objects of the cluster: which versions are in force, also if the newest is invalid."""

import contextlib
import json
import pathlib
import re
import subprocess
import threading

import client
import pytest
import yaml
from api import ApiError
from cluster import get_health
from nodemode import Live
from objects import make_pod
from verbs import ask_filter
from waiting import wait_for

POLICIES = "/apis/berth.dev/v1alpha1/placementpolicies"


def make_policy(name, label=None, **spec):
    """A policy that rejects nodes without the label."""
    filters = [{"name": "label", "nodeLabels": {label: "yes"}}] if label else []
    return {
        "apiVersion": "berth.dev/v1alpha1",
        "kind": "PlacementPolicy",
        "metadata": {"name": name},
        "spec": {"filters": filters, **spec},
    }


BROKEN = {"filters": [{"name": "label", "expression": "node.metdata.name == 'a'"}]}
POLICY_OF_FILE = "filters: [{name: ready, nodeReady: true}]"


def find_crd(berth_path):
    done = subprocess.run([berth_path, "check", "--crd"], capture_output=True, text=True, check=True)
    return yaml.safe_load(done.stdout)


def edit(cluster, name, spec):
    return cluster.api.patch(f"{POLICIES}/{name}", {"spec": spec}, "application/merge-patch+json")


@pytest.fixture
def policies(cluster, berth_path):
    """Installs the CustomResourceDefinition, and deletes all policies afterwards."""
    cluster.plane.apply([find_crd(berth_path)])
    cluster.plane.wait_established("placementpolicies.berth.dev")
    wait_for("the API server to serve it", lambda: serves(cluster))
    cluster.api.delete(POLICIES)
    yield cluster
    if not cluster.plane.apiserver.is_alive():
        cluster.plane.start_apiserver()
    cluster.api.delete(POLICIES)


def serves(cluster):
    try:
        return cluster.api.get(POLICIES)["kind"] == "PlacementPolicyList"
    except ApiError:
        return False


def start(cluster, *flags, **options):
    return cluster.start_berth(*Live().flags(cluster), "--policies-from-cluster", *flags, **options)


def passing(cluster, berth):
    """The nodes that pass a filter."""
    nodes = [node["metadata"]["name"] for node in cluster.api.get("/api/v1/nodes")["items"]]
    return set(ask_filter(berth, make_pod("asked"), sorted(nodes)) or [])


def wait_passing(cluster, berth, *nodes):
    wait_for("the policies to be in force", lambda: passing(cluster, berth), lambda seen: seen == set(nodes))


@contextlib.contextmanager
def load(cluster, *berths):
    """Sends filter requests meanwhile. Yields the set of results (sets of nodes that passed), complete after the block."""
    nodes = sorted(node["metadata"]["name"] for node in cluster.api.get("/api/v1/nodes")["items"])
    seen, failed, over = set(), [], threading.Event()

    def ask(berth):
        try:
            while not over.is_set():
                seen.add(frozenset(ask_filter(berth, make_pod("asked"), nodes) or []))
        except Exception as error:  # the scenario reports it
            failed.append(error)

    threads = [threading.Thread(target=ask, args=[berth]) for berth in berths]
    for thread in threads:
        thread.start()
    try:
        wait_for("a request", lambda: seen or failed)
        yield seen
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not failed, failed


def add_nodes(cluster):
    cluster.add_node("none")
    cluster.add_node("a", {"a": "yes"})
    cluster.add_node("b", {"b": "yes"})
    cluster.add_node("both", {"a": "yes", "b": "yes"})


def test_policies_come_and_go(policies):
    add_nodes(policies)
    policies.api.create(POLICIES, make_policy("first", "a"))
    berth = start(policies)
    assert passing(policies, berth) == {"a", "both"}, "ready means that policies are in force"
    policies.api.create(POLICIES, make_policy("second", "b"))
    wait_passing(policies, berth, "both")
    policies.api.delete(f"{POLICIES}/first")
    wait_passing(policies, berth, "b", "both")
    policies.api.delete(f"{POLICIES}/second")
    wait_passing(policies, berth, "none", "a", "b", "both")


def wait_explained(cluster, field, is_there):
    """Waits for the text of kubectl explain: the API server publishes the schema a little after it serves the kind."""
    wait_for(f"the description of {field}", lambda: cluster.plane.run_kubectl("explain", field).stdout, is_there)


def test_explain_reads_well(policies):
    wait_explained(policies, "bpol.spec", lambda text: "filters" in text)
    text = policies.plane.kubectl("explain", "placementpolicy.spec.filters")
    for words in ("which nodes a pod may be placed on", "nodeLabels", "maxPods", "preemption cannot help"):
        assert words in text, text
    assert "Observe" in policies.plane.kubectl("explain", "bpol.spec.mode")
    text = policies.plane.kubectl("explain", "placementpolicy.spec.filters.maxPods")
    for words in ("a number for each node, or an object", "limit\t<integer> -required-", "maximum number of pods", "topologyKey"):
        assert words in text, text


READY = {"name": "a", "nodeReady": True}
METRIC = {"name": "m", "resourceMetrics": "cpu"}


WRONG = [
    ({"filters": [{"name": "a"}]}, r"one and only one schema.*spec.filters\[0\].expression: Required value"),
    ({"filters": [{"name": "a", "nodeLabels": {"a": "b"}, "maxPods": 4}]}, "one and only one schema"),
    ({"filters": [READY | {"expression": "true"}]}, "needs only one of: expression, nodeLabels, .*maxPods, "),
    ({"filters": [READY, READY]}, r"filters\[1\]: Duplicate value"),
    ({"filters": [READY | {"reason": ""}]}, "reason"),
    ({"filters": [READY | {"reason": "two\nlines"}]}, "reason"),
    ({"filters": [{"name": "a", "expression": ""}]}, "expression"),
    ({"filters": [{"name": "a", "maxPods": -1}]}, "maxPods.* greater than or equal to 0"),
    ({"filters": [{"name": "a", "maxPods": {"limit": "4"}}]}, 'limit: Invalid value: "string"'),
    ({"filters": [{"name": "a", "maxPods": {"per": "node"}}]}, "maxPods.limit: Required value"),
    ({"filters": [{"name": "a", "maxPods": {"limit": 4, "per": "zone"}}]}, 'Unsupported value: "zone"'),
    ({"filters": [{"name": "a", "nodeLabels": {"a": []}}]}, "at least 1 items"),
    ({"filters": [{"name": "a", "nodeLabels": {"a": {"gt": "x"}}}]}, 'gt: Invalid value: "string"'),
    ({"filters": [{"name": "a", "poolHeadroom": {"pods": 1, "nodes": 1}}]}, "needs exactly one of: pods, nodes"),
    ({"metrics": [{"name": "m"}]}, "needs exactly one of: prometheus, resourceMetrics, annotation, customMetrics"),
    ({"metrics": [METRIC | {"customMetrics": "load"}]}, "needs exactly one of"),
    ({"metrics": [METRIC, METRIC]}, r"metrics\[1\]: Duplicate value"),
    ({"metrics": [METRIC | {"placements": "some"}]}, "placements"),
    ({"variables": [{"name": "x", "expression": "1"}, {"name": "x", "expression": "2"}]}, r"variables\[1\]: Duplicate value"),
    ({"mode": "observe"}, "Observe"),
    ({"narrow": {"to": 0}}, "greater than or equal to 1"),
    ({"scores": [{"name": "a", "weight": 0, "expression": "1.0"}]}, "weight"),
    ({"scores": [{"name": "a", "weight": 1}]}, "one of"),
]  # fmt: skip


def test_api_server_rejects_what_the_schema_forbids(policies):
    for spec, words in WRONG:
        with pytest.raises(ApiError, match=words):
            policies.api.create(POLICIES, make_policy("wrong", **spec))


TWO_SHAPES = [
    {"filters": [{"name": "a", "maxPods": 4}, {"name": "b", "maxPods": {"limit": 4, "per": "owner"}}]},
    {"filters": [{"name": "a", "nodeLabels": {"a": "x", "b": ["x", 1], "c": {"exists": True}, "d": 5}}]},
    {"filters": [{"name": "a", "nodeConditions": {"Ready": "True", "DiskPressure": ["False", "Unknown"]}}]},
    {"metrics": [METRIC | {"placements": "none"}]},
    {"metrics": [METRIC | {"placements": {"settle": "1m"}}]},
    {"bind": {"annotations": {"a": "x", "b": {"expression": "node.metadata.name"}}}},
]  # fmt: skip


def test_values_of_two_shapes(policies):
    """The API server stores both shapes, and berth accepts them, also when one replaces the other."""
    given = [make_policy(f"two-{i}", **spec) for i, spec in enumerate(TWO_SHAPES)]
    for before, after in ((4, {"limit": 4}), ({"limit": 4}, 4)):
        for each in (before, after):
            policies.plane.apply([make_policy("changes", filters=[{"name": "a", "maxPods": each}])])
    policies.plane.apply(given)
    start(policies)
    for each in given:
        kept = wait_conditions(policies, each["metadata"]["name"], Accepted="True", InForce="True")
        assert kept["spec"] == each["spec"]


def test_every_rule_is_accepted_by_the_api_server(policies, berth_path):
    """The same spec in files and in the cluster: examples/every-rule.yaml."""
    root = berth_path.parents[1]
    text = (root / "examples" / "every-rule.yaml").read_text()
    policies.plane.apply(list(yaml.safe_load_all(text)), "--validate=strict")


def test_broken_object_keeps_its_last_good_version(policies):
    """Other objects and files are not affected."""
    add_nodes(policies)
    berth = start(policies, "--policy", policies.write_policy(POLICY_OF_FILE))
    policies.api.create(POLICIES, make_policy("first", "a"))
    wait_passing(policies, berth, "a", "both")
    edit(policies, "first", BROKEN)
    policies.api.create(POLICIES, make_policy("never-good") | {"spec": BROKEN})
    wait_for("the error", lambda: get_health(berth)[1], lambda seen: "degraded" in seen)
    assert "placementpolicy/first: spec.filters[0].expression: undefined field 'metdata'" in get_health(berth)[1]
    assert passing(policies, berth) == {"a", "both"}
    policies.api.create(POLICIES, make_policy("second", "b"))
    wait_passing(policies, berth, "both")
    policies.api.create(POLICIES, make_policy("e2e", "b"))  # the name of the file's
    policies.api.delete(f"{POLICIES}/first")
    wait_passing(policies, berth, "b", "both")
    policies.api.delete(f"{POLICIES}/never-good")
    wait_for("the conflict", lambda: get_health(berth)[1], lambda seen: "a policy file has a policy of this name" in seen)
    policies.api.delete(f"{POLICIES}/e2e")
    wait_for("no error", lambda: get_health(berth)[1], lambda seen: "degraded" not in seen)


def look(cluster, name):
    return cluster.api.get(f"{POLICIES}/{name}")


def conditions(policy):
    """{type: (status, observedGeneration)} of the conditions of its newest version."""
    found = policy.get("status", {}).get("conditions", [])
    return {each["type"]: each["status"] for each in found if each["observedGeneration"] == policy["metadata"]["generation"]}


def wait_conditions(cluster, name, **expected):
    return wait_for("the status", lambda: look(cluster, name), lambda seen: conditions(seen) == expected)


def test_status_and_events(policies):
    """One of two replicas writes them; the other takes over after it was killed."""
    add_nodes(policies)
    lease = ["--policies-lease", "berth-system/berth-policies", "--events"]
    berths = [start(policies, *lease), start(policies, *lease)]
    policies.api.create(POLICIES, make_policy("first", "a", mode="Observe"))
    seen = wait_conditions(policies, "first", Accepted="True", InForce="True")["status"]
    assert (seen["inForceGeneration"], seen["mode"], seen["pods"]) == (1, "Observe", 0)
    edit(policies, "first", BROKEN)
    seen = wait_conditions(policies, "first", Accepted="False", InForce="False")["status"]
    assert (seen["inForceGeneration"], seen["observedGeneration"]) == (1, 2)
    assert "spec.filters[0].expression: undefined field 'metdata'" in json.dumps(seen["conditions"])
    described = wait_for("the Event", lambda: policies.plane.kubectl("describe", "bpol", "first"), lambda text: "PolicyRejected" in text)
    assert "undefined field 'metdata'" in described
    assert re.search(r"READY +MODE +PODS +REJECTED +AGE\n", policies.plane.kubectl("get", "bpol").replace("NAME", ""))
    holder = policies.api.get("/apis/coordination.k8s.io/v1/namespaces/berth-system/leases/berth-policies")["spec"]["holderIdentity"]
    assert holder in json.dumps(seen["conditions"])
    for berth in berths:
        berth.stop()
    start(policies, *lease)
    edit(policies, "first", make_policy("first", "b")["spec"])
    wait_conditions(policies, "first", Accepted="True", InForce="True")


def versions(cluster, name):
    """{generation: spec} of those in the status, the newest first."""
    return {each["generation"]: each["spec"] for each in look(cluster, name).get("status", {}).get("versions", [])}


def test_last_good_version_survives_a_restart(policies):
    """An invalid object without a good version has no effect. Times do not change."""
    add_nodes(policies)
    berth = start(policies)
    policies.api.create(POLICIES, make_policy("first", "a"))
    since = wait_conditions(policies, "first", Accepted="True", InForce="True")["status"]["versions"][0]["since"]
    edit(policies, "first", BROKEN)
    wait_conditions(policies, "first", Accepted="False", InForce="False")
    policies.api.create(POLICIES, make_policy("never-good") | {"spec": BROKEN})
    berth.stop()
    berth = start(policies)
    assert passing(policies, berth) == {"a", "both"}, "ready means that policies are in force"
    status = wait_for("a status of this berth", lambda: look(policies, "first")["status"], lambda seen: seen["inForceGeneration"] == 1)
    assert [(each["generation"], each["since"]) for each in status["versions"]] == [(1, since)]
    assert "undefined field 'metdata'" in get_health(berth)[1]


def test_rollback_to_a_version_of_the_status(policies):
    """With the command of docs/gitops.md; the status has three versions."""
    add_nodes(policies)
    berth = start(policies)
    policies.api.create(POLICIES, make_policy("pool", "x"))
    for generation, label in enumerate(["x", "y", "a", "b"], 1):
        if generation > 1:
            edit(policies, "pool", make_policy("pool", label)["spec"])
        wait_for("the version", lambda: next(iter(versions(policies, "pool")), 0), lambda seen, expected=generation: seen == expected)
    assert list(versions(policies, "pool")) == [4, 3, 2]
    assert versions(policies, "pool")[3] == make_policy("pool", "a")["spec"]
    wait_passing(policies, berth, "b", "both")
    text = (pathlib.Path(__file__).parents[2] / "docs" / "gitops.md").read_text()
    commands = re.search(r"^spec=.*\nkubectl patch bpol pool .*$", text, re.M)[0]
    policies.plane.run_shell(commands)
    wait_passing(policies, berth, "a", "both")
    wait_for("the version", lambda: list(versions(policies, "pool")), lambda seen: seen == [5, 4, 3])


def make_filters(n):
    return [{"name": f"r{i}", "expression": f"true || node.metadata.name == '{'x' * 450}'"} for i in range(n)]


def test_status_with_large_versions_is_written(policies):
    """Versions above the size limit are listed without their spec."""
    add_nodes(policies)
    start(policies)
    policies.api.create(POLICIES, make_policy("large", filters=make_filters(98)))
    for generation in (1, 2, 3):
        if generation > 1:
            edit(policies, "large", {"filters": make_filters(97 + generation)})
        wait_for("the version", lambda: next(iter(versions(policies, "large")), 0), lambda seen, expected=generation: seen == expected)
    edit(policies, "large", {"filters": make_filters(150)})
    seen = wait_for("the version", lambda: look(policies, "large")["status"]["versions"], lambda seen: seen[0]["generation"] == 4)
    assert ["spec" in each for each in seen] == [False, True, True]


def test_policy_that_names_a_missing_source_says_so(policies):
    add_nodes(policies)
    start(policies)
    metric = {"name": "load", "prometheus": {"query": "load", "source": "elsewhere"}}
    policies.api.create(POLICIES, make_policy("first", "a", metrics=[metric]))
    wait_conditions(policies, "first", Accepted="True", InForce="True")
    wait_for("the note", lambda: json.dumps(look(policies, "first")["status"]), lambda text: "there is no source named" in text, seconds=90)


def test_many_at_once(policies):
    add_nodes(policies)
    berth = start(policies)
    names = [f"policy-{i:03}" for i in range(200)]
    for i, name in enumerate(names):
        broken = {"spec": BROKEN} if i % 10 == 0 else {}
        policies.api.create(POLICIES, make_policy(name, "a") | broken)
    wait_for("all good ones", lambda: client.get(berth, "/api/v1/policies").json(), lambda seen: len(seen["policies"]) == 180)
    assert passing(policies, berth) == {"a", "both"}
    policies.api.delete(POLICIES)
    wait_passing(policies, berth, "none", "a", "b", "both")


def test_delete_under_load(policies):
    """Every reply matches one of the states, and the last one the final state."""
    add_nodes(policies)
    for name in ("stays", "goes"):
        policies.api.create(POLICIES, make_policy(name, "a"))
    berths = [start(policies), start(policies)]
    with load(policies, *berths) as seen:
        for _ in range(25):
            policies.api.delete(f"{POLICIES}/goes")
            policies.api.create(POLICIES, make_policy("goes", "b"))
        for berth in berths:
            wait_passing(policies, berth, "both")
        policies.api.delete(f"{POLICIES}/goes")
        for berth in berths:
            wait_passing(policies, berth, "a", "both")
    assert seen <= {frozenset({"a", "both"}), frozenset({"both"})}
    assert [client.metrics(berth)["berth_policies"] for berth in berths] == [1, 1]


def test_half_bad_policy_has_no_effect(policies):
    """A policy with one valid and two invalid rules: every mistake is reported, and none of its rules is in force."""
    add_nodes(policies)
    berth = start(policies)
    bad = [{"name": "one", "expression": "node.metdata.name == 'a'"}, {"name": "two", "expression": "1 + 1"}]
    policies.api.create(POLICIES, make_policy("half", filters=[{"name": "good", "nodeLabels": {"a": "yes"}}, *bad]))
    policies.api.create(POLICIES, make_policy("whole", "b"))
    found = wait_conditions(policies, "half", Accepted="False", InForce="False")["status"]["conditions"]
    message = next(each["message"] for each in found if each["type"] == "Accepted")
    assert "spec.filters[1].expression: undefined field 'metdata'" in message and "spec.filters[2].expression" in message
    wait_passing(policies, berth, "b", "both")
    edit(policies, "half", {"filters": [{"name": "good", "nodeLabels": {"a": "yes"}}]})
    wait_passing(policies, berth, "both")


def test_two_replicas_and_one_writer(policies):
    """Both have all policies in force; the holder of the Lease writes every status."""
    add_nodes(policies)
    lease = ["--policies-lease", "berth-system/berth-policies"]
    berths = [start(policies, *lease), start(policies, *lease)]
    names = [f"policy-{i}" for i in range(20)]
    for name in names:
        policies.api.create(POLICIES, make_policy(name, "a"))
    for berth in berths:
        policies.wait_figure(berth, "berth_policies", len(names))
    found = [wait_conditions(policies, name, Accepted="True", InForce="True") for name in names]
    holder = policies.api.get("/apis/coordination.k8s.io/v1/namespaces/berth-system/leases/berth-policies")["spec"]["holderIdentity"]
    messages = {each["message"] for policy in found for each in policy["status"]["conditions"] if each["type"] == "InForce"}
    assert len(messages) == 1 and holder in messages.pop()


def count_lists(berth):
    return client.metrics(berth)['berth_cluster_lists_total{resource="placementpolicies.berth.dev"}']


def test_policies_stay_without_the_api_server_and_after_restarts(policies):
    """Also if the API server no longer has berth's last version, so that berth lists again."""
    add_nodes(policies)
    policies.api.create(POLICIES, make_policy("first", "a"))
    berths = [start(policies), start(policies)]
    before = [count_lists(berth) for berth in berths]
    with load(policies, *berths) as seen:
        policies.plane.apiserver.stop()
        policies.plane.start_apiserver()
        for berth, n in zip(berths, before):
            wait_for("a new list", lambda: count_lists(berth), lambda seen: seen > n)
    assert seen == {frozenset({"a", "both"})}
    policies.api.create(POLICIES, make_policy("second", "b"))
    for berth in berths:
        wait_passing(policies, berth, "both")
    berths[0].stop()
    assert passing(policies, start(policies)) == {"both"}
    with berths[1].halted():  # berth misses these changes
        policies.api.delete(f"{POLICIES}/first")
        policies.plane.restart_apiserver()
    wait_passing(policies, berths[1], "b", "both")


def loosen(schema):
    """The definition of an earlier release: no schema for values of two shapes, no rules for names, no expressions."""
    if isinstance(schema, list):
        return [loosen(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return {"x-kubernetes-preserve-unknown-fields": True}
    dropped = ("x-kubernetes-validations", "x-kubernetes-list-type", "x-kubernetes-list-map-keys")
    return {key: loosen(each) for key, each in schema.items() if key not in dropped}


def test_upgrade_of_the_definition_keeps_policies(policies, berth_path):
    """`kubectl apply` of a newer definition, with stored objects that it would not accept."""
    newer = find_crd(berth_path)
    older = json.loads(json.dumps(newer))
    of_version = older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    of_version["spec"] = loosen(of_version["spec"])
    spec = newer["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["later"] = {"type": "string", "description": "of a later release"}
    add_nodes(policies)
    policies.plane.apply([older], "--force-conflicts")
    twice = {"filters": [READY, READY]}
    wait_explained(policies, "bpol.spec.filters.maxPods", lambda text: "maxPods" in text and "limit\t" not in text)
    policies.api.create(POLICIES, make_policy("first", "a"))
    wait_for("it to accept a name twice", lambda: create_once(policies, make_policy("bad", **twice)))
    before = {each["metadata"]["name"]: each["metadata"]["uid"] for each in policies.api.get(POLICIES)["items"]}
    berth = start(policies)
    wait_conditions(policies, "bad", Accepted="False", InForce="False")
    with load(policies, berth) as seen:
        policies.plane.apply([newer], "--force-conflicts")
        wait_explained(policies, "bpol.spec", lambda text: "of a later release" in text)
        policies.api.create(POLICIES, make_policy("later", "a", later="x"))
        wait_for("the unknown field", lambda: look(policies, "later").get("status"))
    assert seen == {frozenset({"a", "both"})}
    assert before.items() <= {each["metadata"]["name"]: each["metadata"]["uid"] for each in policies.api.get(POLICIES)["items"]}.items()
    policies.api.create(POLICIES, make_policy("second", "b"))
    wait_passing(policies, berth, "both")
    with pytest.raises(ApiError, match="Duplicate value"):
        policies.api.create(POLICIES, make_policy("bad-again", **twice))
    edit(policies, "bad", make_policy("bad", "c")["spec"])
    wait_conditions(policies, "bad", Accepted="True", InForce="True")
    wait_passing(policies, berth)


def create_once(cluster, policy):
    """Whether the API server accepts the object."""
    try:
        return cluster.api.create(POLICIES, policy)
    except ApiError as error:
        return error.status == 409


def test_is_not_ready_without_the_definition_or_the_right(policies):
    """An unknown policy might reject any node."""
    add_nodes(policies)
    config = policies.plane.make_berth_identity("no-policies", "berth-decide")
    policies.expect_denials("no-policies: watch placementpolicies")
    berth = policies.start_berth("--kubeconfig", config, "--policies-from-cluster", until_ready=False)
    wait_for("the reason", lambda: get_health(berth), lambda seen: "placementpolicies.berth.dev: not listed yet" in seen[1])
    assert get_health(berth)[0] == 500
    reply = client.post(berth, "filter", {"Pod": make_pod("asked"), "Nodes": None, "NodeNames": ["a"]})
    assert "policies of the cluster have not been listed" in reply.error()


def check_installation(cluster, berth, account, *codes):
    """{code: check} of `berth check --live`."""
    done = cluster.run_berth(
        "check", "--live", "--only", ",".join(codes), "-o", "json", "--server", berth.url,
        "--kubeconfig", cluster.plane.admin_kubeconfig, "--service-account", f"berth-system/{account}",
    )  # fmt: skip
    return {each["code"]: each for each in json.loads(done.stdout)["checks"]}


def test_check_of_the_definition(policies, berth_path):
    """With the definition of this version, then of another one."""
    berth = start(policies)
    assert check_installation(policies, berth, "berth", "B507")["B507"]["state"] == "passed"
    crd = find_crd(berth_path)
    crd["metadata"]["annotations"]["berth.dev/digest"] = "another"
    policies.plane.apply([crd])
    seen = check_installation(policies, berth, "berth", "B507")["B507"]
    assert (seen["state"], seen["fix"]) == ("warned", "berth check --crd | kubectl apply --server-side -f -")


def test_check_of_the_rights(policies):
    """The account of the test may only read; the shipped roles have all rights."""
    berth = start(policies, "--policies-lease", "berth-system/berth-policies")
    policies.plane.make_berth_identity("reads-policies", "berth-decide", "berth-policies")
    seen = check_installation(policies, berth, "reads-policies", "B302")["B302"]
    assert seen["state"] == "failed"
    assert "may not patch placementpolicies.berth.dev/status, to write the status of policies" in seen["cause"]
    assert "may not update leases.coordination.k8s.io berth-policies in namespace berth-system" in seen["cause"]
    assert "placementpolicies.berth.dev, to read" not in seen["cause"]
    assert "create clusterrole berth-policies-status --verb=patch --resource=placementpolicies.berth.dev/status" in seen["fix"]
    assert check_installation(policies, berth, "berth", "B302")["B302"]["state"] == "passed"
