"""Every pod of deploy/: Pod Security "restricted", and the checks of a manifest linter.

The rules of the standard are implemented here; in test/e2e a real API server applies them.
"""

import re

import pytest
import yaml
from rendering import (
    DEPLOY, HERE, OVERLAYS, berth_containers, containers, find, of_kind, pods, read, run, static_pods,
)  # fmt: skip

# volumes that the restricted profile allows
VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "projected", "secret"}
SECRETS = re.compile(r"PRIVATE KEY|^\s*(password|token|bearerToken|secret)\s*:", re.MULTILINE | re.IGNORECASE)


@pytest.fixture
def objects(chart, values):
    return chart.render(values)


def find_breaches(spec):
    """Breaches of Pod Security, profile restricted."""
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(field):
            yield field
    whole = spec.get("securityContext", {})
    for volume in spec.get("volumes", []):
        if not (volume.keys() - {"name"}) <= VOLUMES:
            yield f"volume {volume}"
    if whole.get("sysctls"):
        yield "sysctls"
    for container in spec.get("initContainers", []) + spec["containers"]:
        own = container.get("securityContext", {})
        if own.get("privileged") or own.get("allowPrivilegeEscalation") is not False:
            yield "privileges may grow"
        if not own.get("runAsNonRoot", whole.get("runAsNonRoot")):
            yield "may run as root"
        if own.get("runAsUser", whole.get("runAsUser")) == 0:
            yield "runs as root"
        if own.get("seccompProfile", whole.get("seccompProfile", {})).get("type") not in (
            "RuntimeDefault", "Localhost",
        ):  # fmt: skip
            yield "no seccomp profile"
        capabilities = own.get("capabilities", {})
        if capabilities.get("drop") != ["ALL"] or capabilities.get("add"):
            yield "capabilities"
        if any(port.get("hostPort") for port in container.get("ports", [])):
            yield "hostPort"


def test_find_breaches_finds_each_breach():
    """A precondition of the next test."""
    spec = {"hostNetwork": True, "containers": [{}], "volumes": [{"name": "x", "hostPath": {"path": "/"}}]}
    assert len(list(find_breaches(spec))) == 6


def test_pod_security_is_restricted(objects):
    for who, _, spec in pods(objects):
        assert list(find_breaches(spec)) == [], who


def test_containers_are_confined(objects):
    for who, container in containers(objects):
        own = container["securityContext"]
        assert own["readOnlyRootFilesystem"] is True, who
        assert own["runAsUser"] == own["runAsGroup"] == 65532, who
        for kind in ("requests", "limits"):
            assert {"cpu", "memory"} <= container["resources"][kind].keys(), who
        assert not container["image"].endswith(":latest") and re.search("[:@]", container["image"])
        names = [each["name"] for each in container.get("env", [])]
        assert len(names) == len(set(names)), who
        assert not any("value" in each and "SECRET" in each["name"].upper() for each in container.get("env", []))


def test_tokens_are_mounted_by_name_only(objects):
    """No token by default; a short-lived one where it is needed."""
    for who, _, spec in pods(objects):
        assert spec["automountServiceAccountToken"] is False, who
        (token,) = [each["projected"] for each in spec["volumes"] if "projected" in each]
        (source,) = [each["serviceAccountToken"] for each in token["sources"] if "serviceAccountToken" in each]
        assert source["expirationSeconds"] <= 3600, who
        assert spec["serviceAccountName"] != "default"
    for account in of_kind(objects, "ServiceAccount"):
        assert account["automountServiceAccountToken"] is False


def test_accounts_exist(objects):
    accounts = {each["metadata"]["name"] for each in of_kind(objects, "ServiceAccount")}
    for who, _, spec in pods(objects):
        assert spec["serviceAccountName"] in accounts, who


def test_deployments_survive_a_node(objects):
    for deployment in of_kind(objects, "Deployment"):
        name, spec = deployment["metadata"]["name"], deployment["spec"]
        labels = spec["template"]["metadata"]["labels"]
        assert spec["selector"]["matchLabels"].items() <= labels.items()
        assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
        pod = spec["template"]["spec"]
        (spread,) = pod["topologySpreadConstraints"]
        assert spread["labelSelector"]["matchLabels"].items() <= labels.items()
        assert pod["terminationGracePeriodSeconds"] == 30
        budgets = [each for each in of_kind(objects, "PodDisruptionBudget")
                   if each["spec"]["selector"]["matchLabels"].items() <= labels.items()]  # fmt: skip
        assert len(budgets) == 1 or (not budgets and spec["replicas"] == 1), name
        assert all(each["spec"]["maxUnavailable"] == 1 for each in budgets)


def test_probes_are_distinct_and_at_ports_that_are_there(objects):
    for who, container in containers(objects):
        if who.startswith("Pod "):
            continue
        ports = {each["name"] for each in container["ports"]}
        probes = [container[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")]
        assert {each["port"] for each in probes} <= ports, who
        assert container["name"] == "kube-scheduler" or probes[1]["path"] != probes[2]["path"]


def test_services_select_pods(objects):
    for service in of_kind(objects, "Service"):
        assert service["spec"]["type"] == "ClusterIP"
        selector = service["spec"]["selector"]
        found = [spec for _, metadata, spec in pods(objects) if selector.items() <= metadata["labels"].items()]
        assert len(found) == 1
        named = {port["name"] for each in found[0]["containers"] for port in each.get("ports", [])}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= named


def test_volumes_have_sources(objects, values):
    """Mounts have volumes; berth's own ConfigMaps and Secrets are rendered, the user makes others."""
    given = yaml.safe_load(values.read_text()) or {}
    made = {(each["kind"], each["metadata"]["name"]) for each in objects}
    made |= {("Secret", each["spec"]["secretName"]) for each in of_kind(objects, "Certificate")}
    for who, _, spec in pods(objects):
        volumes = {each["name"]: each for each in spec["volumes"]}
        for container in spec["containers"]:
            for mount in container["volumeMounts"]:
                assert mount["name"] in volumes, who
                assert mount.get("readOnly", False) is ("emptyDir" not in volumes[mount["name"]]), who
        used = {mount["name"] for each in spec["containers"] for mount in each["volumeMounts"]}
        assert used == set(volumes), who
        for volume in volumes.values():
            named = ("ConfigMap", volume.get("configMap", {}).get("name")), ("Secret", volume.get("secret", {}).get("secretName"))
            for kind, name in named:
                assert name is None or (kind, name) in made or name in str(given), (who, name)


def test_config_maps_hold_no_secrets(objects):
    for each in of_kind(objects, "ConfigMap"):
        if each["metadata"]["name"].endswith("-dashboard"):
            continue
        for text in each["data"].values():
            assert not SECRETS.search(text), each["metadata"]["name"]


# --- flags ---


@pytest.fixture(scope="session")
def flags(berth_path):
    """flags(command) -> the flags in its help."""
    help_texts = {name: run([berth_path, name, "--help"]) for name in ("serve", "check")}
    return {name: set(re.findall(r"--[a-z][a-z-]*", text)) for name, text in help_texts.items()}


def assert_known(arguments, flags):
    command, *rest = arguments
    for argument in rest:
        assert argument.split("=", 1)[0] in flags[command], argument


def test_containers_use_known_flags(objects, flags):
    found = berth_containers(objects)
    assert found
    for container in found:
        assert_known(container["args"], flags)
    for who, container in containers(objects):
        if container["name"] == "check":
            assert_known(container["args"], flags)


@pytest.mark.parametrize("name", OVERLAYS)
def test_overlays_use_known_flags(kustomize, name, flags):
    for container in berth_containers(kustomize.overlay(name)):
        assert_known(container["args"], flags)


# --- recorded decisions ---


def find_state(container, volumes):
    """(folder, size) of --state-dir; the folder is an emptyDir."""
    flags = dict(word[2:].split("=", 1) for word in container["args"] if word.startswith("--state-"))
    (mount,) = [each for each in container["volumeMounts"] if each["mountPath"] == flags["state-dir"]]
    assert {"name": mount["name"], "emptyDir": {}} in volumes
    return flags["state-dir"], flags["state-size"]


@pytest.mark.parametrize("name", ["defaults", "sidecar", "default-scheduler"])
def test_decisions_outlive_the_container(chart, name):
    """The root file system is read-only; an emptyDir lives as long as the pod."""
    objects = chart.render(HERE / "values" / f"{name}.yaml")
    (spec,) = [spec for _, _, spec in pods(objects + list(static_pods(objects)))
               if any(each["name"] == "berth" for each in spec["containers"])]  # fmt: skip
    (container,) = [each for each in spec["containers"] if each["name"] == "berth"]
    assert find_state(container, spec["volumes"]) == ("/var/lib/berth", "128Mi")


def test_state_can_be_off(chart):
    objects = chart.render(HERE / "values" / "smallest.yaml")
    assert not any(word.startswith("--state") for each in berth_containers(objects) for word in each["args"])
    assert not any("emptyDir" in volume for _, _, spec in pods(objects) for volume in spec["volumes"])


@pytest.mark.parametrize("name", OVERLAYS)
def test_decisions_outlive_the_container_of_an_overlay(kustomize, name):
    objects = kustomize.overlay(name)
    if name == "default-scheduler":  # RBAC only: kubeadm makes the pod
        objects = read((DEPLOY / "static-pod" / "kube-scheduler.after.yaml").read_text())
    (spec,) = [spec for _, _, spec in pods(objects) if spec["containers"][-1]["name"] == "berth"]
    assert find_state(spec["containers"][-1], spec["volumes"]) == ("/var/lib/berth", "128Mi")


# --- NetworkPolicy ---


def test_network_policies_have_every_pod(objects):
    policies = of_kind(objects, "NetworkPolicy")
    if not policies:
        return
    for who, metadata, _ in pods(objects):
        (mine,) = [each["spec"] for each in policies
                   if each["spec"]["podSelector"]["matchLabels"].items() <= metadata["labels"].items()]  # fmt: skip
        assert mine["policyTypes"] == ["Ingress", "Egress"], who
        assert all(rule["ports"] for rule in mine["egress"]), who


def find_rule(policy, way, port):
    """The one rule of @policy for TCP @port."""
    (rule,) = [each for each in policy["spec"][way] if {"port": port, "protocol": "TCP"} in each["ports"]]
    return rule


def find_policy(objects, name):
    (policy,) = [each for each in of_kind(objects, "NetworkPolicy") if each["metadata"]["name"] == name]
    return policy


def test_network_policies_are_on_by_default(chart):
    """Only the chart's scheduler and its test may call the verbs. Probes come from the pod's own node: always allowed."""
    objects = chart.render(HERE / "values" / "defaults.yaml")
    berth, scheduler = find_policy(objects, "berth"), find_policy(objects, "berth-scheduler")
    callers = [each["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
               for each in find_rule(berth, "ingress", 8443)["from"]]  # fmt: skip
    assert callers == ["scheduler", "test"]
    assert "from" not in find_rule(berth, "ingress", 8444)  # Prometheus, in any namespace
    for policy in (berth, scheduler):
        for port in (443, 6443, 53):  # the API server and DNS, at any address
            assert "to" not in find_rule(policy, "egress", port)
    assert [each["to"] for each in scheduler["spec"]["egress"] if "to" in each]  # berth
    let_out = {port["port"] for rule in berth["spec"]["egress"] for port in rule["ports"]}
    assert let_out == {443, 6443, 8443, 16443, 53, 5353}


@pytest.mark.parametrize("name, callers", [("standalone", None), ("standalone-existing", ["10.0.0.0/28"])])
def test_standalone_berth_lets_schedulers_in(chart, name, callers):
    """A kube-scheduler on the host's network has an address that the chart cannot know."""
    rule = find_rule(find_policy(chart.render(HERE / "values" / f"{name}.yaml"), "berth"), "ingress", 8443)
    blocks = [each["ipBlock"]["cidr"] for each in rule.get("from", []) if "ipBlock" in each]
    assert ("from" in rule, blocks) == (callers is not None, callers or [])


def test_no_network_policy_on_the_host(chart):
    assert not of_kind(chart.render(HERE / "values" / "default-scheduler.yaml"), "NetworkPolicy")


# --- kustomize ---


@pytest.mark.parametrize("name", OVERLAYS)
def test_overlay_pods(kustomize, name):
    objects = kustomize.overlay(name)
    labels = find(objects, "Namespace")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    for who, metadata, spec in pods(objects):
        assert list(find_breaches(spec)) == [], who
        assert metadata["labels"]["app.kubernetes.io/name"] == "berth"
        assert metadata["labels"]["app.kubernetes.io/part-of"] == "berth"
        assert spec["automountServiceAccountToken"] is False


def test_only_the_static_pod_is_on_the_host(chart):
    """In that pod berth's container is as confined as elsewhere."""
    (pod,) = static_pods(chart.render(HERE / "values" / "default-scheduler.yaml"))
    breaches = set(find_breaches({"containers": [pod["spec"]["containers"][1]]}))
    assert breaches == set()
    for path in (DEPLOY / "kustomize").rglob("*.yaml"):
        assert "hostPath" not in path.read_text(), path
    for path in (DEPLOY / "kustomize").rglob("*.yaml"):
        for each in read(path.read_text()):
            assert isinstance(each, (dict, list))
