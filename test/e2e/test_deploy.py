"""A real API server accepts the chart and the overlays without warnings, and they grant the rights with which
all scenarios here run.

There are no controllers, so the harness creates the pods of Deployments, and Pod Security checks
them. NetworkPolicies are accepted but not enforced here: the tests compare their ports with those
in use.
"""

import json
import urllib.parse

import pytest
import rendering
from controlplane import INSTALLED
from deploy import (
    ADDED_GROUPS, DEPLOY, RESTRICTED, fetch_definitions, kustomize, make_pods, make_static_pods,
    remove,
)  # fmt: skip
from objects import make_role_binding
from rendering import OVERLAYS, find, of_kind, scheduler_configs
from waiting import wait_for

VALUES = sorted((rendering.HERE / "values").glob("*.yaml"))


@pytest.fixture(scope="module")
def is_known(bare):
    """Whether the API server serves the kind of an object."""
    files = fetch_definitions()
    if files:
        flags = [word for file in files for word in ("-f", file)]
        bare.kubectl("apply", "--server-side", *flags)
        groups_and_names = [file.stem.split("_") for file in files]
        bare.wait_established(*[f"{name}.{group}" for group, name in groups_and_names])
    return lambda each: bool(files) or not each["apiVersion"].startswith(ADDED_GROUPS)


@pytest.fixture
def accept(bare, is_known):
    """accept(objects): applies them and their pods to the API server, without warnings."""
    taken = []

    def accept(objects):
        namespaces = of_kind(objects, "Namespace") or [RESTRICTED]
        taken.extend(each for each in objects if each["kind"] != "Namespace" and is_known(each))
        taken.extend([*make_pods(objects), *make_static_pods(objects)])
        assert bare.apply([*namespaces, *taken]) == ""

    yield accept
    remove(bare.api, taken)


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_chart_is_accepted(chart, values, accept):
    accept(chart.render(values))


@pytest.mark.parametrize("name", OVERLAYS)
def test_overlay_is_accepted(bare, name, accept):
    accept(kustomize(bare, DEPLOY / "kustomize" / "overlays" / name))


def test_one_file_is_accepted(one_file, accept):
    objects = rendering.read(one_file.read_text())
    assert objects[0]["kind"] == "Namespace"  # kubectl applies in this order
    accept(objects)


def test_components_are_accepted(bare, accept):
    accept(kustomize(bare, INSTALLED.parent / "everything"))


def test_cert_manager_files_are_accepted(bare, accept):
    accept(kustomize(bare, DEPLOY / "cert-manager"))


def test_crds_were_installed(is_known):
    """Otherwise only test/deploy checks them."""
    if not is_known({"apiVersion": "cert-manager.io/v1"}):
        pytest.skip("the Go modules with the kinds of cert-manager and the Prometheus operator "
                    "cannot be had here: objects of these kinds were left out")  # fmt: skip


def test_pods_that_are_not_confined_are_refused(bare, accept):
    """Without this the tests above would prove nothing."""
    objects = kustomize(bare, DEPLOY / "kustomize" / "overlays" / "standalone")
    (pod,) = make_pods(of_kind(objects, "Deployment"))
    del pod["spec"]["containers"][0]["securityContext"]["capabilities"]
    accept([each for each in objects if each["kind"] != "Deployment"])
    with pytest.raises(AssertionError, match="violates PodSecurity.*unrestricted capabilities"):
        bare.apply([pod])
    with pytest.raises(AssertionError, match="unknown field"):
        accept([{**find(objects, "Service"), "specs": {}}])


# --- rights ---


def get_rules(objects):
    """Grants of berth's own roles."""
    roles = {
        (each["kind"], each["metadata"]["name"]): each["rules"]
        for each in of_kind(objects, "Role", "ClusterRole")
        if "-check" not in each["metadata"]["name"]
    }
    bindings = {
        (each["kind"], each["metadata"]["name"]): (each["roleRef"], each["subjects"])
        for each in of_kind(objects, "RoleBinding", "ClusterRoleBinding")
        if "-check" not in each["metadata"]["name"]
    }
    return roles, bindings


def test_chart_gives_the_rights_that_scenarios_run_with(chart, bare):
    ours = kustomize(bare, INSTALLED)
    assert get_rules(chart.render(rendering.HERE / "values" / "everything.yaml")) == get_rules(ours)


EVERYTHING = [
    "--bind", "--lease", "berth-system/berth-bind", "--wake-up", "--publish", "--nominate", "--events",
    "--policies-from-cluster",
]  # fmt: skip
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


class Rights:
    """`berth check` of the rights of a berth with all features."""

    def __init__(self, cluster):
        self.cluster = cluster
        cluster.plane.install_berth()
        cluster.plane.install_definition()
        cluster.add_node("one")
        access = ["--kubeconfig", cluster.plane.berth_kubeconfig]
        self.berth = cluster.start_berth(*access, *EVERYTHING)

    def wait_states(self, *expected):
        """Waits until B301, B302 and B303 have these states, because roles take effect with a delay. Returns the checks."""
        wanted = dict(zip(("B301", "B302", "B303"), expected))
        code, found = wait_for("the rights", self.check, lambda seen: states(seen[1]) == wanted)
        assert code == ("failed" in expected)
        return found

    def check(self):
        done = self.cluster.run_berth(
            "check", "--live", "--only", "rights", "-o", "json", "--server", self.berth.url,
            "--kubeconfig", self.cluster.plane.admin_kubeconfig,
            "--service-account", "berth-system/berth",
        )  # fmt: skip
        found = json.loads(done.stdout)["checks"]
        return done.returncode, {each["code"]: each for each in found}


@pytest.fixture
def rights(cluster, bare):
    yield Rights(cluster)
    remove(bare.api, bare.installed)


def states(found):
    return {code: each["state"] for code, each in found.items()}


def test_rights_are_just_enough(cluster, rights):
    rights.wait_states("passed", "passed", "passed")
    cluster.api.create(BINDINGS, make_role_binding("cluster-admin", "berth"))
    assert "secrets" in rights.wait_states("passed", "passed", "failed")["B303"]["cause"]
    cluster.api.delete(f"{BINDINGS}/cluster-admin.berth")
    cluster.api.delete(f"{BINDINGS}/berth-bind")
    assert "pods/binding" in rights.wait_states("passed", "failed", "passed")["B302"]["cause"]


# --- ports ---

BY_NETWORK = [path for path in VALUES if "networkPolicy: {enabled" in path.read_text()]
API_SERVER = {("TCP", 443), ("TCP", 6443)}
NAMES = {("TCP", 53), ("UDP", 53)}
# The chart's defaults for other distributions and other sources of metrics.
OTHERS = {("TCP", port) for port in (80, 5353, 8080, 8428, 8443, 8481, 9009, 9090, 9091, 10902, 16443)} | {("UDP", 5353)}


def get_ports(rules):
    return {(port["protocol"], port["port"]) for rule in rules for port in rule["ports"]}


def get_open_ports(spec):
    """Container ports that are reachable from outside the pod."""
    return {(port["protocol"], port["containerPort"])
            for each in spec["containers"] for port in each.get("ports", [])}  # fmt: skip


def get_listeners(spec):
    """Ports on which the containers' arguments listen, except on loopback."""
    words = [word for each in spec["containers"] for key in ("command", "args")
             for word in each.get(key, [])]  # fmt: skip
    found = [word.partition("=")[2] for word in words
             if word.startswith(("--listen=", "--pages-listen=", "--secure-port="))]  # fmt: skip
    return {("TCP", int(each.rpartition(":")[2])) for each in found if not each.startswith("127.")}


def get_called_ports(objects, spec):
    """The ports of berth and Prometheus, if the pod calls them."""
    called = set()
    for each in spec["containers"]:
        for word in each.get("args", []):
            if word.startswith(("--prometheus=", "--server=")):
                called.add(("TCP", urllib.parse.urlsplit(word.partition("=")[2]).port))
        if each["name"] == "kube-scheduler" and len(spec["containers"]) == 1:
            (url,) = [extender["urlPrefix"] for text in scheduler_configs(objects)
                      for extender in rendering.read(text)[0]["extenders"]]  # fmt: skip
            called.add(("TCP", urllib.parse.urlsplit(url).port))
    return called


def assert_ports_agree(objects, spare=frozenset()):
    """@spare: ports that may be open without being used."""
    policies = of_kind(objects, "NetworkPolicy")
    assert policies
    for who, metadata, spec in rendering.pods(objects):
        labels = metadata["labels"].items()
        (policy,) = [each["spec"] for each in policies
                     if each["spec"]["podSelector"]["matchLabels"].items() <= labels]  # fmt: skip
        let_in = get_ports(policy.get("ingress", []))
        assert let_in == get_open_ports(spec) == get_listeners(spec), who
        let_out = get_ports(policy["egress"])
        assert get_called_ports(objects, spec) <= let_out, who
        assert let_out - get_called_ports(objects, spec) - spare == API_SERVER | NAMES, who
    for service in of_kind(objects, "Service"):
        selector = service["spec"]["selector"]
        (spec,) = [spec for _, metadata, spec in rendering.pods(objects)
                   if selector.items() <= metadata["labels"].items()]  # fmt: skip
        named = {port["name"]: port["containerPort"]
                 for each in spec["containers"] for port in each.get("ports", [])}  # fmt: skip
        for port in service["spec"]["ports"]:
            assert named[port["targetPort"]] == port["port"]


@pytest.mark.parametrize("values", BY_NETWORK, ids=lambda path: path.stem)
def test_ports_of_the_chart_agree(chart, values):
    assert_ports_agree(chart.render(values), spare=OTHERS)


def test_ports_of_the_overlays_agree(bare):
    assert_ports_agree(kustomize(bare, INSTALLED.parent / "everything"), spare=OTHERS)
