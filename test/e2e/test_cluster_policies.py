"""PlacementPolicies as objects of the cluster: which are in force, and what becomes of broken ones."""

import json
import re
import subprocess

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
    """Rejects nodes without the label."""
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
    """The CustomResourceDefinition is installed; afterwards no policy is left."""
    cluster.plane.apply([find_crd(berth_path)])
    cluster.plane.kubectl("wait", "--for=condition=Established", "crd/placementpolicies.berth.dev")
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
    """The nodes that a filter lets pass."""
    nodes = [node["metadata"]["name"] for node in cluster.api.get("/api/v1/nodes")["items"]]
    return set(ask_filter(berth, make_pod("asked"), sorted(nodes)) or [])


def wait_passing(cluster, berth, *nodes):
    wait_for("the policies to be in force", lambda: passing(cluster, berth), lambda seen: seen == set(nodes))


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


def test_explain_reads_well(policies):
    text = policies.plane.kubectl("explain", "placementpolicy.spec.filters")
    for words in ("which nodes a pod may be placed on", "nodeLabels", "maxPods", "preemption cannot help"):
        assert words in text, text
    assert "Observe" in policies.plane.kubectl("explain", "bpol.spec.mode")


@pytest.mark.parametrize("spec, words", [
    ({"filters": [{"name": "a"}]}, "one and only one schema"),
    ({"filters": [{"name": "a", "nodeReady": True, "expression": "true"}]}, "one and only one schema"),
    ({"mode": "observe"}, "Observe"),
    ({"narrow": {"to": 0}}, "greater than or equal to 1"),
    ({"scores": [{"name": "a", "weight": 0, "expression": "1.0"}]}, "weight"),
])  # fmt: skip
def test_api_server_rejects_what_the_schema_forbids(policies, spec, words):
    with pytest.raises(ApiError, match=words):
        policies.api.create(POLICIES, make_policy("wrong", **spec))


def test_every_rule_is_accepted_by_the_api_server(policies, berth_path):
    """The same spec in files and in the cluster: examples/every-rule.yaml."""
    root = berth_path.parents[1]
    text = (root / "examples" / "every-rule.yaml").read_text()
    policies.plane.apply(list(yaml.safe_load_all(text)), "--validate=strict")


def test_broken_object_keeps_its_last_good_version(policies):
    """Others are not affected, and files neither."""
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
    """{type: (status, observedGeneration)} of those about its newest version."""
    found = policy.get("status", {}).get("conditions", [])
    return {each["type"]: each["status"] for each in found if each["observedGeneration"] == policy["metadata"]["generation"]}


def wait_conditions(cluster, name, **expected):
    return wait_for("the status", lambda: look(cluster, name), lambda seen: conditions(seen) == expected)


def test_status_and_events(policies):
    """By one of two replicas, also after it was killed."""
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


def test_policies_stay_without_the_api_server_and_after_restarts(policies):
    add_nodes(policies)
    policies.api.create(POLICIES, make_policy("first", "a"))
    berths = [start(policies), start(policies)]
    policies.plane.apiserver.stop()
    for berth in berths:
        assert ask_filter(berth, make_pod("asked"), ["a", "b"]) == ["a"]
    policies.plane.start_apiserver()
    policies.api.create(POLICIES, make_policy("second", "b"))
    for berth in berths:
        wait_passing(policies, berth, "both")
    berths[0].stop()
    assert passing(policies, start(policies)) == {"both"}


def test_upgrade_of_the_definition_keeps_policies(policies, berth_path):
    """As `kubectl apply` of a newer release does it."""
    add_nodes(policies)
    policies.api.create(POLICIES, make_policy("first", "a"))
    berth = start(policies)
    crd = find_crd(berth_path)
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["later"] = {"type": "string", "description": "of a later release"}
    policies.plane.apply([crd])
    wait_for("the new field", lambda: serves(policies) and "of a later release" in policies.plane.kubectl("explain", "bpol.spec"))
    assert passing(policies, berth) == {"a", "both"}
    policies.api.create(POLICIES, make_policy("second", "b"))
    wait_passing(policies, berth, "both")


def test_is_not_ready_without_the_definition_or_the_right(policies):
    """A policy that is not known might reject any node."""
    add_nodes(policies)
    config = policies.plane.make_berth_identity("no-policies", "berth-decide")
    policies.expect_denials("no-policies: watch placementpolicies")
    berth = policies.start_berth("--kubeconfig", config, "--policies-from-cluster", until_ready=False)
    wait_for("the reason", lambda: get_health(berth), lambda seen: "placementpolicies.berth.dev: not listed yet" in seen[1])
    assert get_health(berth)[0] == 500
    reply = client.post(berth, "filter", {"Pod": make_pod("asked"), "Nodes": None, "NodeNames": ["a"]})
    assert "policies of the cluster have not been listed" in reply.error()
