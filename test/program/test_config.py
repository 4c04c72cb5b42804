"""berth config, for policies in files and for a running berth."""

import base64
import functools
import json
import re
import subprocess

import pytest
import yaml

from authority import Authority
from client import FAILED, FINE, UNREACHABLE, USAGE, write_cluster

pytestmark = pytest.mark.single_thread


HEAD = "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: p}\nspec:\n"
FILTERS = "  filters:\n    - {name: pool, nodeLabels: {pool: web}, reason: not in the pool}\n"
SCORES = """  scores:
    - {name: one, expression: "node.metadata.name == 'a' ? 9.0 : 5.0"}
"""
WIDE = "  wire: {maxScore: 100}\n"


@pytest.fixture
def config(outcome_of):
    """config(*options) -> (exit code, stdout, stderr)"""
    return functools.partial(outcome_of, "config")


@pytest.fixture
def policy(tmp_path):
    def write(*parts):
        path = tmp_path / "policy.yaml"
        path.write_text(HEAD + "".join(parts))
        return path

    return write


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("config") / "ca", "ca")


def fields(text):
    """Every scalar field of the file by its name, which must be unique."""
    found, left = {}, [yaml.safe_load(text)]
    while left:
        for key, value in left.pop().items():
            if isinstance(value, list):
                left += value
            elif isinstance(value, dict):
                left.append(value)
            else:
                found[key] = value
    return found


def is_good(berth_path, tmp_path, text):
    """Whether `berth check --offline` accepts it."""
    path = tmp_path / "scheduler-config.yaml"
    path.write_text(text)
    done = subprocess.run(
        [berth_path, "check", "--offline", path], capture_output=True, text=True, check=False
    )
    return not re.search(r"^\S+:\d+:\d+: ", done.stdout + done.stderr, re.M)


# --- from policies ---


@pytest.mark.parametrize(
    "parts, has_preempt, has_scores",
    [
        ((FILTERS, SCORES), True, True),
        ((FILTERS,), True, False),
        ((SCORES,), False, True),
    ],
)
def test_verbs_match_the_policies(config, policy, parts, has_preempt, has_scores):
    code, out, err = config("--policy", policy(*parts))
    got = fields(out)
    assert (code, err) == (FINE, "")
    assert got["filterVerb"] == "filter"  # always, so that berth detects pods that bypassed it
    assert ("preemptVerb" in got) == has_preempt
    assert ("prioritizeVerb" in got) == ("weight" in got) == has_scores
    assert "bindVerb" not in got
    assert got["nodeCacheCapable"] is True


def test_defaults(config, policy, berth_path, tmp_path):
    code, out, err = config("--policy", policy(FILTERS, SCORES))
    got = fields(out)
    assert (code, err) == (FINE, "")
    assert got["apiVersion"] == "kubescheduler.config.k8s.io/v1"
    assert got["urlPrefix"] == "http://127.0.0.1:8080"
    assert got["weight"] == 5 and "At most 29 % of a node's total" in out
    assert got["httpTimeout"] == "1s"
    assert got["ignorable"] is False and "pods stay pending and are retried" in out
    assert got["percentageOfNodesToScore"] == 100 and "5 % from 5,625 on" in out
    assert got["leaderElect"] is True and "resourceName" not in got  # the default scheduler's
    assert "schedulerName" not in got and "tlsConfig" not in out and "kubeconfig" not in got
    assert is_good(berth_path, tmp_path, out)


def test_config_of_a_second_scheduler(config, policy):
    path = policy(FILTERS)
    code, out, _ = config("--policy", path, "--scheduler-name", "berth")
    assert (code, fields(out)["leaderElect"]) == (FINE, False)
    code, out, _ = config("--policy", path, "--scheduler-name", "berth", "--leader-elect")
    got = fields(out)
    assert code == FINE and got["leaderElect"] is True and got["schedulerName"] == "berth"
    assert (got["resourceNamespace"], got["resourceName"]) == ("berth-system", "berth")
    code, out, _ = config(
        "--policy", path, "--scheduler-name", "berth", "--leader-elect", "--lease-namespace", "a",
        "--lease-name", "b", "--scheduler-kubeconfig", "/etc/s.conf", "--percentage", 0,
    )  # fmt: skip
    got = fields(out)
    assert (got["resourceNamespace"], got["resourceName"]) == ("a", "b")
    assert got["kubeconfig"] == "/etc/s.conf" and got["percentageOfNodesToScore"] == 0


def test_reports_wide_scores(config, policy):
    path = policy(FILTERS, SCORES, WIDE)
    code, out, err = config("--policy", path)
    assert (code, err) == (FINE, "")
    assert "answer up to 100 instead of 10" in out and "81 %" in out


def test_bind_and_resources(config, policy, berth_path, tmp_path):
    code, out, _ = config(
        "--policy", policy(FILTERS), "--bind",
        "--managed-resource", "example.com/gpu:ignored", "--managed-resource", "example.com/nic",
    )  # fmt: skip
    got = fields(out)
    assert code == FINE and got["bindVerb"] == "bind" and got["httpTimeout"] == "15s"
    assert "- name: example.com/gpu\n        ignoredByScheduler: true\n" in out
    assert "- name: example.com/nic\n" in out and out.count("ignoredByScheduler: true") == 1
    assert is_good(berth_path, tmp_path, out)


def test_https(config, policy, authority, berth_path, tmp_path):
    code, out, err = config(
        "--policy", policy(FILTERS), "--url", "https://berth.berth-system.svc:8443",
        "--tls-ca", authority.certificate, "--client-cert", "/x/tls.crt", "--client-key", "/x/tls.key",
        "--tls-server-name", "berth",
    )  # fmt: skip
    got = fields(out)
    assert (code, err) == (FINE, "")
    assert base64.b64decode(got["caData"]) == authority.certificate.read_bytes()
    assert got["enableHTTPS"] is True and got["serverName"] == "berth"
    assert (got["certFile"], got["keyFile"]) == ("/x/tls.crt", "/x/tls.key")
    assert is_good(berth_path, tmp_path, out)


def test_the_legacy_policy(config, policy, authority):
    code, out, err = config(
        "--format", "policy", "--policy", policy(FILTERS, SCORES), "--url", "https://b:1",
        "--tls-ca", authority.certificate, "--timeout", "200ms", "--ignorable", "--weight", 2,
    )  # fmt: skip
    got = json.loads(out)
    entry = got["extenders"][0]
    assert (code, err) == (FINE, "")
    assert (got["kind"], got["apiVersion"]) == ("Policy", "v1")
    assert entry["enableHttps"] is True and entry["httpTimeout"] == 200_000_000
    assert entry["ignorable"] is True and entry["weight"] == 2 and entry["nodeCacheCapable"] is True
    assert base64.b64decode(entry["tlsConfig"]["caData"]) == authority.certificate.read_bytes()


@pytest.mark.parametrize(
    "options, source",
    [
        ([], {"file": {"path": "/etc/kubernetes/berth/policy.json"}}),
        (["--policy-config-file", "/p.json"], {"file": {"path": "/p.json"}}),
        (["--policy-configmap", "kube-system/p"], {"configMap": {"namespace": "kube-system", "name": "p"}}),
    ],
)
def test_both_files_of_v1alpha1(config, policy, outcome_of, tmp_path, options, source):
    code, out, err = config(
        "--format", "v1alpha1", "--policy", policy(FILTERS, SCORES), "--scheduler-name", "berth",
        "--leader-elect", *options,
    )  # fmt: skip
    assert (code, err) == (FINE, "")
    first, second = out.split("\n---\n")
    head = yaml.safe_load(first)
    assert head["apiVersion"] == "kubescheduler.config.k8s.io/v1alpha1"
    assert (head["schedulerName"], head["algorithmSource"]) == ("berth", {"policy": source})
    assert head["leaderElection"] == {
        "leaderElect": True, "lockObjectNamespace": "berth-system", "lockObjectName": "berth",
    }  # fmt: skip
    assert json.loads(second)["extenders"][0]["httpTimeout"] == 10**9
    both, one, two = tmp_path / "both.yaml", tmp_path / "scheduler.yaml", tmp_path / "p.json"
    both.write_text(out)
    one.write_text(first + "\n")
    two.write_text(second)
    for paths in ([both], [one, two], [two, one]):
        code, out, err = outcome_of("check", "--offline", *paths, "-o", "json")
        found = {check["code"]: check for check in json.loads(out)["checks"]}
        assert (code, found["B102"]["state"], found["B103"]["state"]) == (FINE, "passed", "passed")
        assert found["B129"]["state"] == "passed" and found["B128"]["state"] != "failed"
    code, out, err = outcome_of("check", "--offline", one)  # without the policy file its extenders are unknown
    assert code == FINE and "its extenders are in the Policy" in out


def test_states_assumptions_without_policies(config):
    code, out, err = config()
    assert code == FINE and "no --policy and no --server" in err
    assert {"filterVerb", "prioritizeVerb", "preemptVerb"} <= fields(out).keys()


# --- errors ---


@pytest.mark.parametrize(
    "options, says",
    [
        (["--url", "https://b:1"], "--tls-ca FILE"),
        (["--url", "http://b:1"], "plain HTTP to another machine"),
        (["--url", "b:1"], "must begin with https://"),
        (["--url", "https://user@b"], "user"),
        (["--tls-ca", "ca.crt"], "certificates are for https"),
        (["--client-cert", "a"], "go together"),
        (["--ignorable", "--bind"], "binds pods itself"),
        (["--managed-resource", "cpu"], '"cpu" is no extended resource'),
        (["--managed-resource", "a.b/c", "--managed-resource", "a.b/c"], "managed already"),
        (["--weight", "0"], "from 1 to"),
        (["--percentage", "101"], "from 0 to 100"),
        (["--timeout", "5"], "a duration like"),
        (["--format", "v2"], "expected v1, v1alpha1 or policy"),
        (["--policy-config-file", "/x"], "go with --format v1alpha1"),
        (["--format", "v1alpha1", "--policy-configmap", "x"], "expected NAMESPACE/NAME"),
        (["--format", "v1alpha1", "--policy-configmap", "a/b", "--policy-config-file", "/x"], "not both"),
        (["--format", "policy", "--scheduler-name", "x"], "a Policy holds extenders only"),
        (["--lease-name", "x"], "--leader-elect"),
        (["--leader-elect", "--no-leader-elect"], "not both"),
        (["--server", "http://127.0.0.1:1", "--bind"], "--server queries a running berth"),
        (["--ca", "x"], "go with --server"),
        (["x"], "options only"),
    ],
)
def test_wrong_usage(config, options, says):
    code, out, err = config(*options)
    assert (code, out) == (USAGE, "")
    assert says in err


def test_a_key_is_never_embedded(config, authority, tmp_path):
    url = ["--url", "https://b:1"]
    code, out, err = config(*url, "--tls-ca", authority.key)
    assert (code, out) == (FAILED, "") and "holds no certificate" in err
    both = tmp_path / "both.pem"
    both.write_bytes(authority.certificate.read_bytes() + authority.key.read_bytes())
    code, out, err = config(*url, "--tls-ca", both)
    assert (code, out) == (FAILED, "") and "private key" in err
    code, out, err = config(*url, "--tls-ca", tmp_path / "none")
    assert (code, out) == (UNREACHABLE, "") and "none" in err


def test_a_wrong_policy(config, tmp_path):
    path = tmp_path / "wrong.yaml"
    path.write_text(HEAD + "  filtres: []\n")
    code, out, err = config("--policy", path)
    assert (code, out) == (FAILED, "") and 'did you mean "filters"?' in err


# --- for a running berth ---


def test_config_of_a_running_berth(config, policy, start_berth, tmp_path):
    cluster = write_cluster(tmp_path / "cluster.json", [{"metadata": {"name": "n1"}}])
    berth = start_berth(
        "--policy", policy(FILTERS), "--cluster", cluster, "--managed-resource", "example.com/gpu"
    )
    code, out, err = config("--server", berth.url)
    got = fields(out)
    assert (code, err) == (FINE, "")
    assert "prioritizeVerb" not in got and got["preemptVerb"] == "preempt"
    assert "- name: example.com/gpu\n" in out and "ignoredByScheduler: true" not in out
    code, out, _ = config("--server", berth.url, "--managed-resource", "example.com/gpu:ignored")
    assert code == FINE and "ignoredByScheduler: true" in out
    code, _, err = config("--server", berth.url, "--managed-resource", "example.com/nic")
    assert code == USAGE and "without --managed-resource example.com/nic" in err
    code, _, err = config("--server", berth.url, "--timeout", "50ms")
    assert code == USAGE and "--deadline" in err


def test_a_berth_without_a_cluster(config, policy, start_berth):
    berth = start_berth("--policy", policy(FILTERS))
    code, out, err = config("--server", berth.url)
    assert (code, out) == (USAGE, "") and "has no cluster" in err


def test_fails_without_server(config):
    code, out, err = config("--server", "http://127.0.0.1:1")
    assert (code, out) == (UNREACHABLE, "") and "127.0.0.1:1" in err


# --- admission policies of published limits ---

MATCH = "  match: {namespaces: [team-a], namespaceSelector: {matchExpressions: [{key: tier, operator: Exists}]}, podSelector: {matchLabels: {app: ws}}}\n"
SLOTS = "  filters:\n    - {name: limit, maxPods: {limit: 4, podSelector: {matchLabels: {app: ws, size: s}}}, publish: slots}\n"


def test_admission(config, policy):
    code, text, error = config("--admission", "--policy", policy(MATCH, SLOTS))
    assert (code, error) == (FINE, "")
    mutation, binding = yaml.safe_load_all(text)
    assert (mutation["kind"], binding["kind"]) == ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
    assert binding["spec"] == {"policyName": mutation["metadata"]["name"]} == {"policyName": "berth-slots.p"}
    constraints = mutation["spec"]["matchConstraints"]
    assert constraints["namespaceSelector"]["matchExpressions"] == [
        {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["team-a"]},
        {"key": "tier", "operator": "Exists"},
    ]
    assert constraints["objectSelector"]["matchExpressions"] == [
        {"key": "app", "operator": "In", "values": ["ws"]},
        {"key": "size", "operator": "In", "values": ["s"]},
    ]
    assert "berth.dev/slots.p" in mutation["spec"]["mutations"][0]["jsonPatch"]["expression"]


def test_kyverno(config, policy):
    """The output is the same as for Kubernetes, except for the differences of Kyverno's MutatingPolicy."""
    path = policy(MATCH, SLOTS + "    - {name: ready, nodeReady: true, publish: label}\n")
    native = [each for each in yaml.safe_load_all(config("--admission", "--policy", path)[1]) if "Binding" not in each["kind"]]
    code, text, error = config("--admission", "--kyverno", "--policy", path)
    assert (code, error) == (FINE, "")
    ours = list(yaml.safe_load_all(text))
    assert [each["metadata"] for each in ours] == [each["metadata"] for each in native] and len(ours) == 2
    for kyverno, kubernetes in zip(ours, native):
        assert (kyverno["apiVersion"], kyverno["kind"]) == ("policies.kyverno.io/v1", "MutatingPolicy")
        assert kyverno["spec"].pop("autogen") == {"podControllers": {"controllers": []}}
        assert kyverno["spec"] == kubernetes["spec"]
    assert config("--kyverno", "--policy", path)[0] == USAGE


def test_admission_digest(config, policy):
    """The digest covers the changes and the matched pods, but not the limit, which only nodes have."""

    def digest(*parts):
        found = {each["metadata"]["annotations"]["berth.dev/digest"] for each in
                 yaml.safe_load_all(config("--admission", "--policy", policy(*parts))[1])}  # fmt: skip
        (only,) = found  # of the policy and its binding
        return only

    assert digest(MATCH, SLOTS) == digest(MATCH, SLOTS.replace("limit: 4", "limit: 5")) != digest(SLOTS)
    assert digest(MATCH, SLOTS) != digest(MATCH.replace("team-a", "team-b"), SLOTS)


def test_admission_for_all_pods(config, policy):
    """A policy without match applies to all pods; the output omits empty selectors, which mean the same."""
    _, text, _ = config("--admission", "--policy", policy("  filters: [{name: limit, maxPods: 4, publish: slots}]\n"))
    assert list(next(yaml.safe_load_all(text))["spec"]["matchConstraints"]) == ["resourceRules"]


@pytest.mark.parametrize(
    "parts, error",
    [
        ([FILTERS], "no policy publishes anything"),
        (["  mode: Observe\n", SLOTS], "no policy publishes anything"),
        (["  match: {expression: 'pod.spec.priority > 0'}\n", SLOTS], "p has a match.expression: admission selects pods by labels"),
    ],
)
def test_admission_that_cannot_be_written(config, policy, parts, error):
    code, text, message = config("--admission", "--policy", policy(*parts))
    assert (code, text) == (FAILED, "") and error in message


@pytest.mark.parametrize(
    "flags, error",
    [
        (["--admission"], "needs --policy or --scheduler-name"),
        (["--node-overlay", "default"], "needs --policy"),
        (["--node-overlay", "default", "--scheduler-name", "berth"], "needs --policy"),
        (["--admission", "--scheduler-name", "default-scheduler"], "a second scheduler"),
        (["--admission", "--scheduler-name", "It's"], "at most 63 characters"),
        (["--admission", "--scheduler-name", "a" * 64], "at most 63 characters"),
        (["--admission-version", "v1beta1"], "goes with --admission"),
        (["--admission", "--kyverno", "--admission-version", "v1beta1", "--scheduler-name", "berth"], "not with --kyverno"),
        (["--admission", "--admission-version", "v1alpha1", "--scheduler-name", "berth"], "v1beta1"),
    ],
)
def test_admission_usage(config, flags, error):
    code, text, message = config(*flags)
    assert (code, text) == (USAGE, "") and error in message


OPT_IN = ["--admission", "--scheduler-name", "berth"]


def test_opt_in(config):
    """The output needs no policies and has no digest, because it does not depend on policies."""
    code, text, error = config(*OPT_IN)
    assert (code, error) == (FINE, "")
    mutation, binding = yaml.safe_load_all(text)
    assert binding["spec"] == {"policyName": mutation["metadata"]["name"]} == {"policyName": "berth-scheduler.berth"}
    assert "annotations" not in mutation["metadata"]
    constraints = mutation["spec"]["matchConstraints"]
    assert {"key": "berth.dev/scheduler", "operator": "In", "values": ["berth"]} in constraints["namespaceSelector"]["matchExpressions"]
    assert constraints["resourceRules"] == [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}]


def test_opt_in_of_other_formats(config):
    native, binding = yaml.safe_load_all(config(*OPT_IN)[1])
    (kyverno,) = yaml.safe_load_all(config(*OPT_IN, "--kyverno")[1])
    assert (kyverno["apiVersion"], kyverno["kind"]) == ("policies.kyverno.io/v1", "MutatingPolicy")
    del kyverno["spec"]["autogen"]
    assert (kyverno["metadata"], kyverno["spec"]) == (native["metadata"], native["spec"])
    older = list(yaml.safe_load_all(config(*OPT_IN, "--admission-version", "v1beta1")[1]))
    assert older == [each | {"apiVersion": "admissionregistration.k8s.io/v1beta1"} for each in (native, binding)]


def test_opt_in_beside_published_filters(config, policy):
    kinds = ["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"]
    code, text, _ = config(*OPT_IN, "--policy", policy(MATCH, SLOTS))
    found = [(each["kind"], each["metadata"]["name"]) for each in yaml.safe_load_all(text)]
    assert code == FINE and found == [(kind, name) for name in ("berth-slots.p", "berth-scheduler.berth") for kind in kinds]
    code, text, _ = config(*OPT_IN, "--policy", policy(FILTERS))  # publishes nothing
    assert (code, text) == (FINE, config(*OPT_IN)[1])


def test_node_overlay(config, policy):
    code, text, error = config("--node-overlay", "default", "--policy", policy(MATCH, SLOTS))
    assert (code, error) == (FINE, "")
    overlay = yaml.safe_load(text)
    assert overlay["kind"] == "NodeOverlay" and overlay["spec"] == {
        "requirements": [{"key": "karpenter.sh/nodepool", "operator": "In", "values": ["default"]}],
        "capacity": {"berth.dev/slots.p": "4"},
    }
    assert config("--node-overlay", "default", "--policy", policy(FILTERS))[0] == FAILED
    assert config("--node-overlay", "a b", "--policy", policy(SLOTS))[0] == USAGE
    assert config("--node-overlay", "a", "--admission", "--policy", policy(SLOTS))[0] == USAGE
