"""publish: slots. An unmodified kube-scheduler enforces a limit of berth."""

import collections
import itertools
import json
import pathlib
import signal

import client
import pytest
import yaml
from nodemode import Live
from objects import make_pod
from verbs import NOBODY
from waiting import wait_for

ADMISSION = "/apis/admissionregistration.k8s.io"
SLOTS = "berth.dev/slots.e2e"
POLICY = "filters: [{name: limit, maxPods: {limit: 4, podSelector: {matchLabels: {app: web}}}, publish: slots}]"
WEB = {"app": "web"}
ONE_SLOT = {SLOTS: "1"}
MANAGED = pathlib.Path(__file__).resolve().parents[2] / "examples/managed.yaml"


def offered(cluster):
    """{node: (capacity, allocatable)} of the published resource; None if absent."""
    nodes = cluster.api.get("/api/v1/nodes")["items"]
    statuses = {node["metadata"]["name"]: node["status"] for node in nodes}
    return {name: tuple(each[kind].get(SLOTS) for kind in ("capacity", "allocatable")) for name, each in statuses.items()}


def wait_offered(cluster, expected):
    expected = {name: (n, n) for name, n in expected.items()}
    wait_for("the slots of nodes", lambda: offered(cluster), lambda seen: seen == expected)


def start_publisher(cluster, *flags, policy=POLICY):
    return cluster.start_berth(*Live().flags(cluster), "--policy", cluster.write_policy(policy), "--publish", *flags)


def test_bursts_keep_the_limit_without_an_extender(cluster):
    """20 bursts of 50 pods on 5 nodes with room for 20; kube-scheduler has no extender."""
    names = [f"node-{i}" for i in range(5)]
    for name in names:
        cluster.add_node(name)
    start_publisher(cluster)
    wait_offered(cluster, dict.fromkeys(names, "4"))
    cluster.start_scheduler()
    for burst in range(20):
        pods = [f"pod-{burst}-{i}" for i in range(50)]
        for name in pods:
            cluster.add_pod(name, WEB, cpu="10m", memory="1Mi", requests=ONE_SLOT)
        places = cluster.wait_places(20)
        last = max(set(pods) - set(places))
        cluster.wait_pending(last, f"5 Insufficient {SLOTS}")
        assert collections.Counter(cluster.places().values()) == dict.fromkeys(names, 4)
        for name in pods:
            cluster.delete_pod(name)
        wait_for("the pods to be gone", lambda: not cluster.pods())
    assert offered(cluster) == dict.fromkeys(names, ("4", "4"))


@pytest.fixture
def apply_admission(cluster, admission_version):
    """apply_admission(changed, labels of pods) creates the objects of `berth config --admission`, and returns when they change new pods."""
    created = []

    def apply(is_changed, labels=WEB):
        flags = ["--policy", cluster.folder / "policy.yaml", "--admission-version", admission_version]
        done = cluster.run_berth("config", "--admission", *flags)
        assert (done.returncode, done.stderr) == (0, "")
        for each in yaml.safe_load_all(done.stdout):
            kind = {"MutatingAdmissionPolicy": "policies", "MutatingAdmissionPolicyBinding": "policybindings"}[each["kind"]]
            path = f"{ADMISSION}/{admission_version}/mutatingadmission{kind}"
            created.append(f"{path}/{each['metadata']['name']}")
            cluster.api.create(path, each)
        tried = itertools.count()

        def is_in_force():
            name = f"try-{next(tried)}"
            pod = cluster.add_pod(name, labels, schedulerName=NOBODY)
            cluster.delete_pod(name)
            return is_changed(pod)

        wait_for("the admission policy to be in force", is_in_force)

    yield apply
    for path in reversed(created):
        cluster.api.delete(path)


def requests(pod):
    return pod["spec"]["containers"][0].get("resources", {}).get("requests", {})


def test_admission_adds_the_request(cluster, apply_admission):
    cluster.add_node("one")
    start_publisher(cluster)
    wait_offered(cluster, {"one": "4"})
    apply_admission(lambda pod: SLOTS in requests(pod))
    with_others = cluster.add_pod("with-others", WEB)
    assert requests(with_others) == {"cpu": "100m", "memory": "64Mi", **ONE_SLOT}
    bare = make_pod("bare", WEB)
    del bare["spec"]["containers"][0]["resources"]
    assert requests(cluster.api.create(cluster.pods_path, bare)) == ONE_SLOT
    limited = make_pod("limited", WEB)
    del limited["spec"]["containers"][0]["resources"]["requests"]
    assert requests(cluster.api.create(cluster.pods_path, limited)) == {"cpu": "100m", "memory": "64Mi", **ONE_SLOT}
    assert requests(cluster.add_pod("asks-four", WEB, requests={SLOTS: "4"}))[SLOTS] == "4"
    assert SLOTS not in requests(cluster.add_pod("other", {"app": "db"}))
    assert SLOTS not in requests(cluster.add_pod("has-a-node", WEB, nodeName="one"))
    wait_offered(cluster, {"one": "3"})
    cluster.start_scheduler()
    cluster.wait_places(5)  # with-others, bare, limited, other, has-a-node
    cluster.wait_pending("asks-four", f"1 Insufficient {SLOTS}")


def test_clear(cluster):
    access = ["--kubeconfig", cluster.plane.berth_kubeconfig]
    for name in ("one", "two"):
        cluster.add_node(name)
    berth = start_publisher(cluster)
    wait_offered(cluster, {"one": "4", "two": "4"})
    cluster.add_pod("asks", WEB, nodeName="one", requests=ONE_SLOT)
    assert berth.stop() == 0
    assert cluster.run_berth("publish", *access).stdout == (
        "NODE  PUBLISHED            SLOTS  REQUESTED\n"
        "one   berth.dev/slots.e2e      4          1\n"
        "two   berth.dev/slots.e2e      4          0\n"
    )
    assert cluster.run_berth("publish", "--clear", *access).stdout == "removed 2\n"
    wait_offered(cluster, {"one": None, "two": None})
    reader = cluster.plane.make_berth_identity("berth-reads", "berth-decide")
    cluster.api.patch("/api/v1/nodes/one/status", {"status": {kind: {SLOTS: "1"} for kind in ("capacity", "allocatable")}})
    cluster.expect_denials("berth-reads: patch nodes/status")
    refused = cluster.run_berth("publish", "--clear", "--kubeconfig", reader)
    assert refused.returncode != 0 and "node one" in refused.stderr and "nodes/status" in refused.stderr


def test_pods_without_the_request_take_slots(cluster):
    for name in ("one", "two"):
        cluster.add_node(name)
    cluster.add_pod("before", WEB, nodeName="one")
    cluster.add_pod("other", {"app": "db"}, nodeName="one")
    berth = start_publisher(cluster)
    wait_offered(cluster, {"one": "3", "two": "4"})
    cluster.add_pod("late", WEB, nodeName="two")
    wait_offered(cluster, {"one": "3", "two": "3"})
    cluster.delete_pod("before")
    wait_offered(cluster, {"one": "4", "two": "3"})
    cluster.add_pod("asks", WEB, nodeName="one", requests=ONE_SLOT)
    cluster.add_node("three")
    wait_offered(cluster, {"one": "4", "two": "3", "three": "4"})
    cluster.wait_figure(berth, "berth_publish_pending_nodes", 0)
    assert client.metrics(berth)['berth_publish_writes_total{result="failed"}'] == 0


def test_what_is_not_published_any_more_is_removed(cluster):
    cluster.add_node("one")
    berth = start_publisher(cluster)
    wait_offered(cluster, {"one": "4"})
    cluster.edit_policy(berth, POLICY.replace("limit: 4", "limit: 7"))
    wait_offered(cluster, {"one": "7"})
    cluster.edit_policy(berth, POLICY.replace(", publish: slots", ""))
    wait_offered(cluster, {"one": None})


def test_other_writers_are_corrected(cluster):
    cluster.add_node("one")
    start_publisher(cluster)
    wait_offered(cluster, {"one": "4"})
    status = {"status": {"capacity": {SLOTS: "40"}, "allocatable": {SLOTS: "40"}}}
    cluster.api.patch("/api/v1/nodes/one/status", status)
    wait_offered(cluster, {"one": "4"})


def test_one_of_two_replicas_writes(cluster):
    """After one is killed the other takes over; paused or ended berths do not change nodes."""
    cluster.add_node("one")
    lease = ["--publish-lease", "berth-system/berth-publish"]
    first = start_publisher(cluster, *lease)
    cluster.wait_figure(first, "berth_publish_writer", 1)
    second = start_publisher(cluster, *lease)
    wait_offered(cluster, {"one": "4"})
    assert client.metrics(second)["berth_publish_writer"] == 0
    first.stop(signal.SIGKILL)
    cluster.add_pod("before", WEB, nodeName="one")
    cluster.wait_figure(second, "berth_publish_writer", 1)
    wait_offered(cluster, {"one": "3"})


def test_without_the_right_to_publish(cluster):
    cluster.add_node("one")
    kubeconfig = cluster.plane.make_berth_identity("berth-reads", "berth-decide")
    cluster.expect_denials("berth-reads: patch nodes/status")
    berth = start_publisher(cluster, "--kubeconfig", kubeconfig)
    wait_for("the log", lambda: "needs the right patch on nodes/status" in berth.log.read_text())
    assert offered(cluster) == {"one": (None, None)}


def test_kill_at_any_time(cluster):
    """berth is killed and restarted during bursts; pods with the request stay within the limit, and no node stays closed."""
    names = [f"node-{i}" for i in range(3)]
    for name in names:
        cluster.add_node(name)
    berth = start_publisher(cluster)
    wait_offered(cluster, dict.fromkeys(names, "4"))
    cluster.start_scheduler()
    for round_ in range(5):
        cluster.add_pod(f"old-{round_}", WEB, nodeName=names[round_ % 3], schedulerName=NOBODY)
        berth.stop(signal.SIGKILL)
        pods = [f"pod-{round_}-{i}" for i in range(15)]
        for name in pods:
            cluster.add_pod(name, WEB, cpu="10m", memory="1Mi", requests=ONE_SLOT)
        berth = start_publisher(cluster)
        cluster.delete_pod(f"old-{round_}")
        cluster.wait_places(12)
        asking = collections.Counter(node for name, node in cluster.places().items() if name.startswith("pod-"))
        assert max(asking.values()) <= 4
        for name in pods:
            cluster.delete_pod(name)
        wait_for("the pods to be gone", lambda: not cluster.pods())
    wait_offered(cluster, dict.fromkeys(names, "4"))


# --- labels ---

CLOSED = "closed.berth.dev/e2e"
FEW = "filters: [{name: few, maxPods: 2, publish: label}]"


def closed(cluster):
    nodes = cluster.api.get("/api/v1/nodes")["items"]
    return {each["metadata"]["name"] for each in nodes if each["metadata"]["labels"].get(CLOSED) == "true"}


def wait_closed(cluster, *names):
    wait_for("the labels of nodes", lambda: closed(cluster), lambda seen: seen == set(names))


def terms(pod):
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    return affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms")


def test_full_nodes_have_a_label(cluster):
    for name in ("one", "two"):
        cluster.add_node(name)
    berth = start_publisher(cluster, policy=FEW)
    for name in ("a", "b"):
        cluster.add_pod(name, nodeName="one")
    wait_closed(cluster, "one")
    cluster.delete_pod("a")
    wait_closed(cluster)
    cluster.add_pod("c", nodeName="one")
    wait_closed(cluster, "one")
    access = ["--kubeconfig", cluster.plane.berth_kubeconfig]
    assert f"one   {CLOSED}  label          -" in cluster.run_berth("publish", *access).stdout
    cluster.edit_policy(berth, FEW.replace(", publish: label", ""))
    wait_closed(cluster)


def test_admission_avoids_closed_nodes(cluster, apply_admission):
    """With an unmodified kube-scheduler."""
    own = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["x"]}]}
    by_name = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["two"]}]}
    for name, color in (("one", "red"), ("two", "blue")):
        cluster.add_node(name, {"pool": "x", "color": color})
    start_publisher(cluster, policy="filters: [{name: blue, nodeLabels: {color: blue}, publish: label}]")
    wait_closed(cluster, "one")
    apply_admission(lambda pod: terms(pod))

    def with_terms(name, *given):
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(given)}}
        return terms(cluster.add_pod(name, WEB, affinity={"nodeAffinity": required}))

    is_open, is_simulated = (
        {"key": CLOSED, "operator": "DoesNotExist"},
        {"key": "cluster-autoscaler.kubernetes.io/template-node", "operator": "Exists"},
    )
    assert terms(cluster.add_pod("bare", WEB)) == [{"matchExpressions": [each]} for each in (is_open, is_simulated)]
    assert with_terms("own", own) == [
        {"matchExpressions": [*own["matchExpressions"], each]} for each in (is_open, is_simulated)
    ]
    assert with_terms("by-name", by_name) == [{**by_name, "matchExpressions": [each]} for each in (is_open, is_simulated)]
    assert with_terms("nowhere", {}) == [{}]
    assert with_terms("partly", {}, own)[1] == {"matchExpressions": [*own["matchExpressions"], is_open]}
    others = {"podAntiAffinity": {}}
    assert terms(cluster.add_pod("others", WEB, affinity=others))[0] == {"matchExpressions": [is_open]}
    assert not terms(cluster.add_pod("has-a-node", WEB, nodeName="two"))
    cluster.start_scheduler()
    for name in ("bare", "own", "by-name", "partly", "others"):
        assert cluster.wait_bound(name) == "two"
    cluster.wait_pending("nowhere", "0/2 nodes are available")


# --- managed control planes ---


def find_states(cluster, berth, kubeconfig=None):
    """{code: (state, cause)} of the checks of published filters."""
    access = ["--server", berth.url, "--kubeconfig", kubeconfig or cluster.plane.admin_kubeconfig]
    done = cluster.run_berth("check", "--live", "--only", "B213,B214", "-o", "json", *access)
    found = json.loads(done.stdout)["checks"]
    return {each["code"]: (each["state"], each["cause"]) for each in found}


def test_check_compares_admission(cluster, apply_admission):
    berth = start_publisher(cluster)
    assert find_states(cluster, berth) == {
        "B213": ("warned", "berth-slots.e2e is missing: pods must do by themselves what it does"),
        "B214": ("skipped", "the cluster has no NodeOverlays of Karpenter"),
    }
    cluster.expect_denials(*(f"berth-reads: list {kind}" for kind in (
        "mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingpolicies", "nodeoverlays")))  # fmt: skip
    apply_admission(lambda pod: SLOTS in requests(pod))
    assert find_states(cluster, berth)["B213"] == ("passed", "")
    state, cause = find_states(cluster, berth, cluster.plane.make_berth_identity("berth-reads", "berth-decide"))["B213"]
    assert state == "skipped" and "cannot be listed" in cause
    cluster.edit_policy(berth, POLICY.replace("app: web", "app: db"))
    state, cause = find_states(cluster, berth)["B213"]
    assert state == "failed" and cause.startswith("berth-slots.e2e was made for other policies")


def test_managed_recipe(cluster, apply_admission):
    """The setup of docs/managed.md: its policy, ordinary pods, the default scheduler without an extender."""
    policy = cluster.write_policy(yaml.safe_dump(yaml.safe_load(MANAGED.read_text())["spec"]))
    done = cluster.run_berth("check", "--managed", policy)
    assert done.returncode == 0 and done.stdout.count(" yes ") == 2
    for name in ("one", "two"):
        cluster.add_node(name, {"example.com/pool": "workspace"})
    cluster.add_node("other")
    labels = {"app": "workspace"}
    cluster.add_pod("before", labels, nodeName="one")
    cluster.start_berth(*Live().flags(cluster), "--policy", policy, "--publish")
    wait_offered(cluster, {"one": "3", "two": "4", "other": "4"})
    wait_closed(cluster, "other")
    apply_admission(lambda pod: SLOTS in requests(pod) and terms(pod), labels)
    cluster.start_scheduler()
    for i in range(20):
        cluster.add_pod(f"pod-{i}", labels, cpu="10m", memory="1Mi")
    places = cluster.wait_places(8)  # including the earlier pod
    cluster.wait_pending(max({f"pod-{i}" for i in range(20)} - set(places)), f"2 Insufficient {SLOTS}")
    assert collections.Counter(cluster.places().values()) == {"one": 4, "two": 4}
