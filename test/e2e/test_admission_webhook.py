"""The validating webhook on a real API server rejects invalid policies; while berth is down only new specs are rejected."""

import concurrent.futures
import json

import pytest
import yaml
from api import ApiError
from authority import Authority
from controlplane import MINOR, encode
from deploy import ROOT
from nodemode import Live
from process import pick_port
from test_cluster_policies import BROKEN, POLICIES, POLICY_OF_FILE, edit, look, make_policy, policies  # noqa: F401
from waiting import wait_for

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
NAME = "berth-policies"
MISTAKE = "spec.filters[0].expression: undefined field 'metdata' of Node; did you mean 'metadata'?"
GOOD = make_policy("any", "a")["spec"]


class Webhook:
    """The shipped configuration, with the address of a berth on loopback."""

    def __init__(self, cluster, folder):
        self.cluster, self.port = cluster, pick_port()
        self.servers = Authority(folder / "servers", "servers")
        self.server = self.servers.issue_server()
        shipped = ROOT / "deploy/kustomize/components/admission/webhook.yaml"
        self.configuration = yaml.safe_load(shipped.read_text())

    def start(self, *flags, **options):
        return self.cluster.start_berth(
            *Live().flags(self.cluster), "--policies-from-cluster", "--admission-listen", f"127.0.0.1:{self.port}",
            "--tls-cert", self.server.certificate, "--tls-key", self.server.key, *flags, **options,
        )  # fmt: skip

    def install(self, failure_policy="Fail", is_seen=None):
        """Installs it and waits until the API server calls it."""
        (webhook,) = self.configuration["webhooks"]
        url = f"https://127.0.0.1:{self.port}/admission/validate"
        webhook["clientConfig"] = {"url": url, "caBundle": encode(self.servers.certificate)}
        webhook["failurePolicy"] = failure_policy
        webhook["timeoutSeconds"] = 10  # the machine may be busy
        self.cluster.plane.apply([self.configuration])
        is_seen = is_seen or (lambda error: "admission webhook" in error)
        wait_for("the webhook", lambda: try_create(self.cluster, "probe", BROKEN), is_seen)

    def remove(self):
        """Removes it and waits until the API server no longer calls it."""
        self.cluster.api.delete(f"{CONFIGURATIONS}/{NAME}")
        wait_for("no webhook", lambda: try_create(self.cluster, "probe", BROKEN), lambda error: not error)


def try_create(cluster, name, spec):
    """The error of a dry run; empty if the object would be stored."""
    try:
        cluster.api.create(f"{POLICIES}?dryRun=All", make_policy(name) | {"spec": spec})
        return ""
    except ApiError as error:
        return str(error)


def names(cluster):
    return {each["metadata"]["name"] for each in cluster.api.get(POLICIES)["items"]}


@pytest.fixture
def webhook(policies, tmp_path):  # noqa: F811
    webhook = Webhook(policies, tmp_path)
    yield webhook
    webhook.cluster.api.delete(f"{CONFIGURATIONS}/{NAME}")


def apply(cluster, *objects):
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    return cluster.plane.run_kubectl("apply", "-f", "-", input=text)


def test_kubectl_apply_fails_with_the_message_of_check(webhook):
    cluster = webhook.cluster
    webhook.start("--policy", cluster.write_policy(POLICY_OF_FILE))
    webhook.install()
    done = apply(cluster, make_policy("good", "a"))
    assert done.returncode == 0 and "placementpolicy.berth.dev/good created" in done.stdout
    done = apply(cluster, make_policy("bad") | {"spec": BROKEN})
    assert done.returncode == 1
    assert f'admission webhook "policies.berth.dev" denied the request: {MISTAKE}' in done.stderr
    done = apply(cluster, make_policy("half-bad", "a", variables=[{"name": "v", "expression": "1 +"}]))
    assert "spec.variables[0].expression" in done.stderr
    done = apply(cluster, make_policy("warned", "a", params={"p": "1"}))
    assert done.returncode == 0 and 'Warning: spec.params.p: no expression uses the parameter "p"' in done.stderr
    done = apply(cluster, make_policy("e2e", "a"))  # the policy file has a policy e2e
    assert "a policy file has a policy of this name" in done.stderr
    assert names(cluster) == {"good", "warned"}
    with pytest.raises(ApiError, match="metdata"):
        edit(cluster, "good", BROKEN)
    assert look(cluster, "good")["spec"] == GOOD
    generated = make_policy("x", "a")
    generated["metadata"] = {"generateName": "made-"}
    cluster.api.create(POLICIES, generated)


def test_stored_mistake_can_be_labelled_fixed_and_deleted(webhook):
    """The mistake was stored before the webhook was installed."""
    cluster = webhook.cluster
    webhook.start()
    for name in ("fixed", "finalized"):
        cluster.api.create(POLICIES, make_policy(name) | {"spec": BROKEN})
    webhook.install()
    for name in ("fixed", "finalized"):
        cluster.plane.kubectl("label", "bpol", name, "team=a")
    with pytest.raises(ApiError, match="metdata"):
        edit(cluster, "fixed", {"filters": [*BROKEN["filters"], {"name": "more", "nodeReady": True}]})
    edit(cluster, "fixed", GOOD)
    path, kind = f"{POLICIES}/finalized", "application/merge-patch+json"
    cluster.api.patch(path, {"metadata": {"finalizers": ["example.com/last"]}}, kind)
    cluster.api.delete(path)
    assert look(cluster, "finalized")["metadata"]["deletionTimestamp"]
    cluster.api.patch(path, {"metadata": {"finalizers": None}}, kind)
    assert names(cluster) == {"fixed"}


def test_many_at_once(webhook):
    cluster = webhook.cluster
    webhook.start()
    webhook.install()
    wanted = {f"policy-{i:03}": BROKEN if i % 10 == 0 else GOOD for i in range(200)}

    def create(name):
        try:
            cluster.plane.connect("many", "system:masters").create(POLICIES, make_policy(name) | {"spec": wanted[name]})
            return ""
        except ApiError as error:
            return str(error)

    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        errors = dict(zip(wanted, pool.map(create, wanted)))
    assert {name for name, error in errors.items() if MISTAKE in error} == {name for name, spec in wanted.items() if spec is BROKEN}
    assert names(cluster) == {name for name, spec in wanted.items() if spec is not BROKEN}


def test_limit_of_all_policies_together(webhook):
    cluster = webhook.cluster
    webhook.start()
    webhook.install()
    many = {"filters": [{"name": f"r{i}", "nodeReady": True} for i in range(1000)]}
    cluster.api.create(POLICIES, make_policy("many") | {"spec": many})
    error = wait_for("the limit", lambda: try_create(cluster, "one-more", GOOD), bool)
    assert "1001 filters" in error


@pytest.mark.skipif(MINOR < 28, reason="matchConditions")
def test_berth_down_with_fail(webhook):
    """New specs are rejected; changes of labels and finalizers, and deletion, are not."""
    cluster = webhook.cluster
    berth = webhook.start()
    webhook.install("Fail")
    cluster.api.create(POLICIES, make_policy("first", "a"))
    berth.stop()
    assert "failed calling webhook" in try_create(cluster, "second", GOOD)
    cluster.plane.kubectl("label", "bpol", "first", "team=a")
    with pytest.raises(ApiError, match="failed calling webhook"):
        edit(cluster, "first", make_policy("any", "b")["spec"])
    cluster.api.delete(f"{POLICIES}/first")
    assert names(cluster) == set()
    webhook.remove()  # as docs/gitops.md advises
    cluster.api.create(POLICIES, make_policy("second", "a"))


def test_berth_down_with_ignore(webhook):
    cluster = webhook.cluster
    berth = webhook.start()
    webhook.install("Ignore")
    berth.stop()
    cluster.api.create(POLICIES, make_policy("first", "a"))
    edit(cluster, "first", BROKEN)
    webhook.start()
    assert MISTAKE in wait_for("berth", lambda: try_create(cluster, "second", BROKEN), bool)


def check(webhook, berth):
    """(state, cause) of check B508 of `berth check --live`."""
    done = webhook.cluster.run_berth(
        "check", "--live", "--only", "B508", "-o", "json", "--server", berth.url, "--ca", webhook.servers.certificate,
        "--kubeconfig", webhook.cluster.plane.admin_kubeconfig,
    )  # fmt: skip
    assert done.stdout, done.stderr
    (found,) = json.loads(done.stdout)["checks"]
    return found["state"], found["cause"]


def test_check_of_the_webhook(webhook, tmp_path):
    """Before installation, while it works, and if the API server cannot call it."""
    cluster, plane = webhook.cluster, webhook.cluster.plane
    berth = webhook.start()
    state, cause = check(webhook, berth)
    assert state == "warned" and "stores a policy with a mistake" in cause
    webhook.install()
    assert check(webhook, berth) == ("passed", "")
    (hook,) = webhook.configuration["webhooks"]
    hook["clientConfig"]["caBundle"] = encode(Authority(tmp_path / "others", "others").certificate)
    plane.apply([webhook.configuration])
    assert "failed calling webhook" in wait_for("the call of the webhook to fail", lambda: try_create(cluster, "any", GOOD), bool)
    state, cause = check(webhook, berth)
    assert state == "failed" and "no policy can be created or changed" in cause and "certificate" in cause
    assert names(cluster) == set()


def test_client_identity_of_the_api_server(webhook, tmp_path):
    """--admission-client-name: berth rejects an API server without the certificate, and accepts one with it."""
    cluster = webhook.cluster
    clients = Authority(tmp_path / "clients", "clients")
    pair = clients.issue_client("kube-apiserver")
    webhook.start("--client-ca", clients.certificate, "--admission-client-name", "kube-apiserver")
    webhook.install("Fail", lambda error: "failed calling webhook" in error)
    user = {"name": f"127.0.0.1:{webhook.port}", "user": {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}}
    kubeconfig = tmp_path / "webhooks.kubeconfig"
    kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "users": [user]}))
    plugin = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration", "kubeConfigFile": str(kubeconfig)}
    config = tmp_path / "admission.yaml"
    config.write_text(json.dumps({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
        "plugins": [{"name": "ValidatingAdmissionWebhook", "configuration": plugin}],
    }))  # fmt: skip
    cluster.plane.restart_apiserver("--admission-control-config-file", config)
    try:
        wait_for("berth to accept the API server", lambda: try_create(cluster, "first", BROKEN), lambda error: MISTAKE in error)
        assert try_create(cluster, "first", GOOD) == ""
    finally:
        cluster.plane.restart_apiserver()
