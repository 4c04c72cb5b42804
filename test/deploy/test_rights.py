"""berth's rights equal the table, one role for each feature.

decide: read nodes and pods. events, bind, publish and nominate (with a Lease), wake-up, namespaces and claims: only if enabled.
"""

import pytest
import yaml
from rendering import HERE, NAMESPACE, OVERLAYS, of_kind

DECIDE = {("*", "", kind, "", verb) for kind in ("nodes", "pods") for verb in ("get", "list", "watch")}
EVENTS = {("*", "events.k8s.io", "events", "", "create")}
BIND = {("*", "", "pods/binding", "", "create")}
NAMESPACES = {("*", "", "namespaces", "", verb) for verb in ("get", "list", "watch")}
CLAIMS = {
    ("*", "", kind, "", verb)
    for kind in ("persistentvolumeclaims", "persistentvolumes")
    for verb in ("get", "list", "watch")
}
POLICIES = {("*", "berth.dev", "placementpolicies", "", verb) for verb in ("get", "list", "watch")}
POLICIES |= {("*", "berth.dev", "placementpolicies/status", "", "patch")}
WAKE_UP = {("*", "", "nodes", "", "patch")}
NOMINATE = {("*", "", "pods/status", "", "patch")} | {
    ("*", "", kind, "", verb) for kind in ("namespaces", "services") for verb in ("get", "list", "watch")
}
PUBLISH = {("*", "", "nodes/status", "", "patch")}
PUBLISH_LABELS = {("*", "", "nodes", "", "patch")}
SCHEDULER_ROLES = {
    ("*", "ClusterRole", "system:kube-scheduler"),
    ("*", "ClusterRole", "system:volume-scheduler"),
    ("kube-system", "Role", "extension-apiserver-authentication-reader"),
}


def lease(name):
    """The rights to create any Lease, and to update one by name."""
    group = "coordination.k8s.io"
    held = {(NAMESPACE, group, "leases", name, verb) for verb in ("get", "update")}
    return held | {(NAMESPACE, group, "leases", "", "create")}


def rights_of(objects, subject):
    """The rights of @subject, (kind, name): (where, group, resource, name, verb); and roles of others."""
    roles = {(each["kind"], each["metadata"]["name"]): each for each in of_kind(objects, "Role", "ClusterRole")}
    rights, foreign = set(), set()
    for binding in of_kind(objects, "RoleBinding", "ClusterRoleBinding"):
        if subject not in {(each["kind"], each["name"]) for each in binding["subjects"]}:
            continue
        where = "*" if binding["kind"] == "ClusterRoleBinding" else binding["metadata"]["namespace"]
        role = binding["roleRef"]["kind"], binding["roleRef"]["name"]
        if role not in roles:
            foreign.add((where, *role))
            continue
        for rule in roles[role]["rules"]:
            assert set(rule) <= {"apiGroups", "resources", "resourceNames", "verbs"}, rule
            rights |= {
                (where, group, resource, name, verb)
                for group in rule["apiGroups"]
                for resource in rule["resources"]
                for name in rule.get("resourceNames", [""])
                for verb in rule["verbs"]
            }
    return rights, foreign


def subjects(objects):
    for binding in of_kind(objects, "RoleBinding", "ClusterRoleBinding"):
        for each in binding["subjects"]:
            yield each["kind"], each["name"]


def expected(given, name="berth"):
    rights = set(DECIDE)
    if given.get("events", {}).get("enabled"):
        rights |= EVENTS
    if given.get("bind", {}).get("enabled"):
        rights |= BIND | lease(f"{name}-bind")
    if given.get("wakeUp", {}).get("enabled"):
        rights |= WAKE_UP
    if given.get("publish", {}).get("enabled"):
        rights |= PUBLISH | lease(f"{name}-publish")
    if given.get("publish", {}).get("labels"):
        rights |= PUBLISH_LABELS
    if given.get("policiesFromCluster", {}).get("enabled"):
        rights |= POLICIES | lease(f"{name}-policies")
    if given.get("nominate", {}).get("enabled"):
        rights |= NOMINATE | lease(f"{name}-nominate")
    if given.get("rbac", {}).get("namespaces"):
        rights |= NAMESPACES
    if given.get("rbac", {}).get("claims"):
        rights |= CLAIMS
    return rights


def test_chart(chart, values):
    given = yaml.safe_load(values.read_text()) or {}
    objects = chart.render(values)
    name = given.get("fullnameOverride", "berth")
    if not given.get("rbac", {}).get("create", True):
        assert not of_kind(objects, "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
        return
    mode = given.get("mode", "second-scheduler")
    scheduler = ("ServiceAccount", f"{name}-scheduler")
    own = lease(f"{name}-scheduler")
    known = set()
    if mode == "default-scheduler":
        berth = ("User", "berth")
    elif given.get("placement") == "sidecar":
        berth = scheduler
    else:
        berth = ("ServiceAccount", name)
        known.add(("ServiceAccount", f"{name}-check"))
    rights, foreign = rights_of(objects, berth)
    assert rights == expected(given, name) | (own if berth == scheduler else set())
    assert foreign == (SCHEDULER_ROLES if berth == scheduler else set())
    known.add(berth)
    if mode == "second-scheduler":
        known.add(scheduler)
        if berth != scheduler:
            assert rights_of(objects, scheduler) == (own, SCHEDULER_ROLES)
    assert set(subjects(objects)) == known


def test_rights_of_helm_test(chart):
    """While it runs, it has more rights than berth: it looks up rights, and the scheduler's configuration by name."""
    rights, foreign = rights_of(chart.render(), ("ServiceAccount", "berth-check"))
    assert not foreign
    assert rights == DECIDE | {
        ("*", "authorization.k8s.io", "subjectaccessreviews", "", "create"),
        (NAMESPACE, "", "configmaps", "berth-scheduler", "get"),
    }


def test_rights_of_helm_test_where_berth_publishes(chart):
    rights, _ = rights_of(chart.render(HERE / "values" / "publish.yaml"), ("ServiceAccount", "berth-check"))
    assert rights - DECIDE >= {
        ("*", "admissionregistration.k8s.io", "mutatingadmissionpolicies", "", "list"),
        ("*", "admissionregistration.k8s.io", "mutatingadmissionpolicybindings", "", "list"),
        ("*", "policies.kyverno.io", "mutatingpolicies", "", "list"),
        ("*", "karpenter.sh", "nodeoverlays", "", "list"),
    }
    assert not any(verb in ("create", "patch", "update", "delete") for _, group, _, _, verb in rights
                   if group != "authorization.k8s.io")  # fmt: skip


def test_rights_of_helm_test_with_policies_of_the_cluster(chart):
    """It reads the CustomResourceDefinition. It has no right to create policies, so it skips the webhook."""
    rights, _ = rights_of(chart.render(HERE / "values" / "admission.yaml"), ("ServiceAccount", "berth-check"))
    assert rights - DECIDE == {
        ("*", "authorization.k8s.io", "subjectaccessreviews", "", "create"),
        ("*", "apiextensions.k8s.io", "customresourcedefinitions", "", "list"),
        (NAMESPACE, "", "configmaps", "berth-scheduler", "get"),
    }


OVERLAY_RIGHTS = {
    "standalone": ({}, ("ServiceAccount", "berth")),
    "second-scheduler": ({}, ("ServiceAccount", "berth")),
    "observe-only": ({}, ("ServiceAccount", "berth")),
    "bind": ({"bind": {"enabled": True}}, ("ServiceAccount", "berth")),
    "default-scheduler": ({}, ("User", "berth")),
}


@pytest.mark.parametrize("name", OVERLAYS)
def test_overlay(kustomize, name):
    given, berth = OVERLAY_RIGHTS[name]
    objects = kustomize.overlay(name)
    assert rights_of(objects, berth) == (expected(given), set())
    scheduler = ("ServiceAccount", "berth-scheduler")
    has_scheduler = name in ("second-scheduler", "observe-only", "bind")
    assert set(subjects(objects)) == {berth} | ({scheduler} if has_scheduler else set())
    if has_scheduler:
        assert rights_of(objects, scheduler) == (lease("berth-scheduler"), SCHEDULER_ROLES)


@pytest.mark.parametrize("name, given", [
    ("events", {"events": {"enabled": True}}),
    ("wake-up", {"wakeUp": {"enabled": True}}),
    ("bind", {"bind": {"enabled": True}}),
    ("publish", {"publish": {"enabled": True}}),
    ("publish-labels", {"publish": {"labels": True}}),
    ("policies-from-cluster", {"policiesFromCluster": {"enabled": True}}),
    ("nominate", {"nominate": {"enabled": True}}),
    ("namespaces", {"rbac": {"namespaces": True}}),
    ("claims", {"rbac": {"claims": True}}),
])  # fmt: skip
def test_component(name, given):
    """Reads the files without kubectl."""
    folder = HERE.parent.parent / "deploy" / "kustomize" / "components" / name
    objects = list(yaml.safe_load_all((folder / "rbac.yaml").read_text()))
    assert rights_of(objects, ("ServiceAccount", "berth")) == (expected(given) - DECIDE, set())


def viewer_rights(secrets, *proxy):
    return {
        (("pods",), (), ("list",)),
        (("pods/proxy",), (), proxy),
        (("secrets",), tuple(secrets), ("get",)),
    }


def role_rules(objects, name):
    """The rules of a Role; None without such a Role."""
    found = [each for each in of_kind(objects, "Role") if each["metadata"]["name"] == name]
    if not found:
        return None
    (role,) = found
    assert role["metadata"]["namespace"] == NAMESPACE
    keys = ("resources", "resourceNames", "verbs")
    return {tuple(tuple(rule.get(key, ())) for key in keys) for rule in role["rules"]}


def assert_viewers(objects, name, pages, viewer):
    assert role_rules(objects, f"{name}-viewer") == viewer_rights([viewer], "get")
    assert role_rules(objects, f"{name}-what-if") == viewer_rights([pages, viewer], "get", "create")
    bound = {each["roleRef"]["name"] for each in of_kind(objects, "RoleBinding")}
    assert not bound & {f"{name}-viewer", f"{name}-what-if"}, "who sees berth is for the operator to say"


def test_roles_of_users(chart, kustomize):
    """`kubectl berth` finds pods by label, calls them through the pod proxy, and reads the token of a Secret."""
    assert_viewers(chart.render(), "berth", "berth-pages", "berth-viewer")
    assert_viewers(kustomize.overlay("standalone"), "berth", "berth-pages", "berth-viewer")
    without = chart.render(HERE / "values" / "sidecar.yaml")
    assert role_rules(without, "berth-viewer") is None
