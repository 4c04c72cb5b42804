"""berth check --live and --offline: misconfigurations, and the checks that report them.

Uses real berths, and configurations of kube-scheduler in files and in a small API server (small_api.py).
Unit tests cover the logic of each check; these tests cover how checks get their facts.
"""

import base64
import copy
import json
import subprocess
import threading
import time

import pytest

from authority import PAST, Authority
from client import (
    FAILED,
    FINE,
    PATIENCE,
    UNREACHABLE,
    USAGE,
    get,
    held_port,
    unused_default_address,
    pages_of,
    post,
    wait_until,
    write_cluster,
)
from small_api import SmallApi, pod, refusal, scheduler_pod


POLICY = """
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: pool}
spec:
  filters:
    - {name: pool, nodeLabels: {pool: web}, reason: node is not in the pool}
  scores:
    - {name: one, expression: "node.metadata.name == 'n0' ? 100.0 : 50.0"}
"""

NODES = [{"metadata": {"name": f"n{i}", "labels": {"pool": "web"}}} for i in range(3)]


def entry(url, **changes):
    """The entry of an extender; None removes a field."""
    fields = {
        "urlPrefix": url, "filterVerb": "filter", "prioritizeVerb": "prioritize",
        "preemptVerb": "preempt", "weight": 5, "httpTimeout": "1s", "nodeCacheCapable": True,
        **changes,
    }  # fmt: skip
    return {key: value for key, value in fields.items() if value is not None}


def scheduler_config(*extenders, **changes):
    fields = {
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": True}, "percentageOfNodesToScore": 100,
        "profiles": [{"schedulerName": "berth"}], "extenders": [*extenders], **changes,
    }  # fmt: skip
    return json.dumps({key: value for key, value in fields.items() if value is not None})


class Checkup:
    """The output of one run of the command."""

    def __init__(self, done):
        self.code, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
        self.report = json.loads(done.stdout) if done.stdout.startswith("{") else {"checks": []}
        self.checks = {each["code"]: each for each in self.report["checks"]}

    def state(self, code):
        return self.checks[code]["state"]

    def failed(self):
        return {code for code, each in self.checks.items() if each["state"] == "failed"}


@pytest.fixture
def run(berth_path, tmp_path):
    """run(*arguments, config=text, stdin=text) -> Checkup, parsed from JSON."""

    def run(*arguments, config=None, stdin=None, form="json"):
        if config is not None:
            (tmp_path / "scheduler.yaml").write_text(config)
            arguments = [*arguments, "--scheduler-config", tmp_path / "scheduler.yaml"]
        command = [berth_path, "check", *map(str, arguments), "-o", form]
        return Checkup(
            subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=PATIENCE)
        )

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkup")
    (folder / "policy.yaml").write_text(POLICY)
    write_cluster(folder / "cluster.json", NODES)
    return folder


@pytest.fixture(scope="module")
def plain(folder, start_shared):
    """A berth on loopback, without TLS."""
    return start_shared("--policy", folder / "policy.yaml", "--cluster", folder / "cluster.json")


@pytest.fixture(scope="module")
def certificates(folder):
    authority = Authority(folder / "authority", "checkup")
    authority.server = authority.issue_server()
    authority.scheduler = authority.issue("system:kube-scheduler")
    authority.stranger = authority.issue("stranger")
    authority.old = authority.issue("system:kube-scheduler", **PAST)
    return authority


@pytest.fixture(scope="module")
def secure(folder, certificates, start_shared):
    """A berth that requires client certificates."""
    certificate, key = certificates.server
    return start_shared(
        "--policy", folder / "policy.yaml", "--cluster", folder / "cluster.json",
        "--tls-cert", certificate, "--tls-key", key, "--client-ca", certificates.certificate,
    )  # fmt: skip


@pytest.fixture
def api():
    api = SmallApi()
    yield api
    api.stop()


def of_secure(certificates, who=None):
    certificate, key = who or certificates.scheduler
    return ["--ca", certificates.certificate, "--cert", certificate, "--key", key]


def secure_entry(secure, certificates, who=None, tls=(), **changes):
    certificate, key = who or certificates.scheduler
    fields = {
        "caData": base64.b64encode(certificates.certificate.read_bytes()).decode(),
        "certData": base64.b64encode(certificate.read_bytes()).decode(),
        "keyData": base64.b64encode(key.read_bytes()).decode(),
        **dict(tls),
    }  # fmt: skip
    fields = {key: value for key, value in fields.items() if value is not None}
    return entry(secure.url, enableHTTPS=True, tlsConfig=fields, **changes)


# --- healthy installations ---


def test_healthy_sidecar(plain, run):
    """berth beside kube-scheduler on loopback, checked from the same machine."""
    done = run("--live", "--server", plain.url, config=scheduler_config(entry(plain.url)))
    assert done.code == FINE and not done.failed(), done.stdout
    for code in ("B101", "B102", "B103", "B113", "B201", "B202", "B203", "B401", "B404", "B501"):
        assert done.state(code) == "passed", done.checks[code]


def test_healthy_service(secure, certificates, run):
    config = scheduler_config(secure_entry(secure, certificates))
    done = run("--live", "--server", secure.url, *of_secure(certificates), config=config)
    assert done.code == FINE and not done.failed(), done.stdout
    for code in ("B105", "B109", "B110", "B111", "B203", "B206"):
        assert done.state(code) == "passed", done.checks[code]


def test_healthy_cluster(plain, run, api, tmp_path):
    """Everything is detected: the scheduler's ConfigMap, berth's pods, and the account whose rights to check."""
    api.config_maps["berth-system", "scheduler"] = {"config.yaml": scheduler_config(entry(plain.url))}
    labels = {
        "app.kubernetes.io/name": "berth", "app.kubernetes.io/part-of": "berth",
        "app.kubernetes.io/component": "scheduler",
    }  # fmt: skip
    for i in range(2):
        api.pods.append(
            scheduler_pod(
                "berth-system", f"berth-{i}", ["--config=/etc/berth/config.yaml"], labels=labels,
                mounts=[{"name": "config", "mountPath": "/etc/berth"}], node=f"n{i}",
                volumes=[{"name": "config", "configMap": {"name": "scheduler"}}],
                serviceAccountName="berth",
            )
        )  # fmt: skip
    done = run("--live", "--server", plain.url, "--kubeconfig", api.kubeconfig(tmp_path))
    assert done.code == FINE and not done.failed(), done.stdout
    assert "ConfigMap berth-system/scheduler" in done.checks["B101"]["cause"]
    for code in ("B102", "B103", "B104", "B203", "B301", "B302", "B303", "B603", "B604", "B605"):
        assert done.state(code) == "passed", done.checks[code]
    users = {user for user, _, _ in api.reviews}
    assert users == {"system:serviceaccount:berth-system:berth"}


# --- wrong configurations of a running berth ---

WRONG = [
    # description, fields of the entry, failing check
    ("unknown field", {"filterverb": "filter"}, "B102"),
    ("no extender", None, "B103"),
    ("scheme", {"enableHTTPS": True}, "B107"),
    ("no filter", {"filterVerb": None}, "B113"),
    ("no prioritize", {"prioritizeVerb": None, "weight": None}, "B114"),
    ("bind", {"bindVerb": "bind", "httpTimeout": "15s"}, "B116"),
    ("short timeout", {"httpTimeout": "50ms"}, "B119"),
    ("managed", {"managedResources": [{"name": "example.com/gpu"}]}, "B123"),
    ("misspelt verb", {"filterVerb": "fitler"}, "B203"),
]  # fmt: skip


@pytest.mark.parametrize("what, fields, code", WRONG, ids=[each[0] for each in WRONG])
def test_wrong_configuration(plain, run, what, fields, code):
    extenders = [] if fields is None else [entry(plain.url, **fields)]
    done = run("--live", "--server", plain.url, config=scheduler_config(*extenders))
    assert done.code == FAILED and done.state(code) == "failed", (done.checks, done.stderr)
    assert done.checks[code]["cause"] and done.checks[code]["fix"], done.checks[code]


WRONG_TLS = [
    ("no CA", {"caData": None}, None, "B105"),
    ("insecure", {"caData": None, "insecure": True}, None, "B105"),
    ("no client certificate", {"certData": None, "keyData": None}, None, "B109"),
    ("another's name", {}, "stranger", "B110"),
    ("ended", {}, "old", "B111"),
]


@pytest.mark.parametrize("what, tls, who, code", WRONG_TLS, ids=[each[0] for each in WRONG_TLS])
def test_wrong_certificates(secure, certificates, run, what, tls, who, code):
    who = getattr(certificates, who) if who else None
    config = scheduler_config(secure_entry(secure, certificates, who, tls))
    done = run("--live", "--server", secure.url, *of_secure(certificates), config=config)
    assert done.code == FAILED and done.state(code) == "failed", (done.checks, done.stderr)


def test_certificate_in_a_file(secure, certificates, run):
    """The check reads a certificate file if the configuration is a file on this machine."""
    certificate, key = certificates.stranger
    tls = {"certData": None, "keyData": None, "certFile": str(certificate), "keyFile": str(key)}
    config = scheduler_config(secure_entry(secure, certificates, tls=tls))
    done = run("--live", "--server", secure.url, *of_secure(certificates), config=config)
    assert done.state("B110") == "failed" and "stranger" in done.checks["B110"]["cause"]


# --- unhealthy berths ---


@pytest.fixture
def nowhere():
    """A URL without a listener."""
    with held_port() as port:
        yield f"http://127.0.0.1:{port}"


def test_no_berth(run, plain, nowhere):
    done = run("--live", "--server", nowhere)
    assert done.code == UNREACHABLE and done.state("B201") == "failed", done.stdout
    done = run("--live", "--server", nowhere, "--server", plain.url)
    assert done.code == FAILED and done.failed() == {"B201"}
    assert nowhere in done.checks["B201"]["cause"] and plain.url not in done.checks["B201"]["cause"]


def test_not_a_berth(run, api):
    done = run("--live", "--server", api.url)
    assert done.state("B201") == "failed" and api.url in done.checks["B201"]["cause"]


def test_not_an_api_server(run, api, plain, tmp_path):
    """A server that answers 200 to everything."""
    api.version = None
    done = run("--live", "--server", plain.url, "--kubeconfig", api.kubeconfig(tmp_path), "--only", "B301")
    assert done.code == FAILED and "no API server" in done.checks["B301"]["cause"]


def test_no_berth_named(run, api, tmp_path):
    """From outside of a cluster, berth is often unreachable, which is no error."""
    with unused_default_address():
        done = run("--live", "--kubeconfig", api.kubeconfig(tmp_path), "--only", "B201")
    assert done.code == FINE and done.state("B201") == "skipped"
    assert "--server" in done.checks["B201"]["cause"]


def test_alternative_names(run, secure, certificates, tmp_path):
    """berth accepts clients by alternative names, and so does the check."""
    for names, state in (
        ("URI:system:kube-scheduler", "passed"),
        ("DNS:elsewhere,email:system:kube-scheduler", "passed"),
        ("DNS:elsewhere", "failed"),
    ):
        certificate, key = certificates.issue("somebody", names=names)
        tls = {"caFile": str(certificates.certificate), "certFile": str(certificate), "keyFile": str(key)}
        text = scheduler_config(entry(secure.url, enableHTTPS=True, tlsConfig=tls))
        done = run("--live", "--server", secure.url, *of_secure(certificates), config=text)
        assert done.state("B110") == state, (names, done.checks["B110"])


def test_reports_unreadable_yaml_aliases(run, plain):
    """berth reads no YAML aliases. kube-scheduler may, and the cause of the failed check says so."""
    text = scheduler_config(entry(plain.url))
    text = text.replace('"filter"', '&verb "filter"').replace('"preempt"', "*verb")
    done = run("--live", "--server", plain.url, config="# YAML\n" + text)
    assert done.state("B101") == "failed" and done.state("B102") == "skipped", done.stdout
    assert "kube-scheduler may" in done.checks["B101"]["cause"]


def test_reports_a_rejected_client_certificate(run, secure, certificates):
    """Status 403: berth is reachable, but rejects the certificate."""
    done = run("--live", "--server", secure.url, *of_secure(certificates, certificates.stranger))
    assert done.code == FAILED and done.state("B201") == "failed"
    assert "certificate" in done.checks["B201"]["cause"] and "--cert" in done.checks["B201"]["fix"]
    done = run("--live", "--server", secure.url, "--ca", certificates.certificate)
    assert done.code == FAILED and "certificate" in done.checks["B201"]["cause"]
    done = run("--live", "--server", secure.url)  # whose certificate cannot be verified
    assert done.code == UNREACHABLE and done.state("B201") == "failed"


def test_not_ready(run, start_berth, api, tmp_path):
    """berth has no list of nodes from its API server."""
    berth = start_berth("--kubeconfig", api.kubeconfig(tmp_path))
    done = run("--live", "--server", berth.url)
    assert done.code == FAILED and {"B202", "B401"} <= done.failed(), done.stdout
    assert "sync" in done.checks["B202"]["cause"]


def test_policies(run, start_berth, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.replace("spec:", "spec:\n  mode: Observe"))
    berth = start_berth("--policy", policy)
    done = run("--live", "--server", berth.url)
    assert done.state("B504") == "warned" and done.code == FINE, done.stdout
    policy.write_text(POLICY.replace("nodeLabels", "nodeLabel"))
    wait_until(lambda: get(berth, "/api/v1/status").json()["policy"]["rejected"], "a refusal")
    done = run("--live", "--server", berth.url)
    assert done.code == FAILED and done.failed() == {"B208"}
    assert "nodeLabel" in done.checks["B208"]["cause"]
    empty = start_berth()
    assert run("--live", "--server", empty.url).state("B501") == "warned"


def test_metrics(run, start_berth, tmp_path):
    policy = tmp_path / "policy.yaml"
    metric = "  metrics:\n    - {name: load, prometheus: {query: load}, interval: 15s}\n  filters:"
    policy.write_text(
        POLICY.replace("  filters:", metric).replace("100.0 : 50.0", "metrics.load : 50.0")
    )
    berth = start_berth("--policy", policy)
    done = run("--live", "--server", berth.url)
    assert done.code == FAILED and "B505" in done.failed(), done.stdout
    assert "load" in done.checks["B505"]["cause"]


def test_replicas_differ(run, plain, start_berth, folder, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.replace("pool: web", "pool: other"))
    cluster = write_cluster(tmp_path / "cluster.json", NODES[:2])
    same = start_berth("--policy", folder / "policy.yaml", "--cluster", folder / "cluster.json")
    other = start_berth("--policy", policy, "--cluster", cluster)
    done = run("--live", "--server", plain.url, "--server", same.url)
    assert done.code == FINE and done.state("B601") == done.state("B602") == "passed"
    done = run("--live", "--server", plain.url, "--server", other.url)
    assert done.state("B601") == "failed"
    assert done.state("B602") in ("warned", "failed"), done.checks["B602"]


def test_token(run, start_berth, tmp_path):
    """Pages on a separate listener, with a token."""
    (tmp_path / "token").write_text("open-sesame-open-sesame\n")
    (tmp_path / "wrong").write_text("open-semolina-open-semolina\n")
    berth = start_berth("--pages-listen", "127.0.0.1:0", "--pages-token-file", tmp_path / "token")
    url = pages_of(berth).url
    assert run("--live", "--server", url, "--token-file", tmp_path / "token").state("B201") == "passed"
    done = run("--live", "--server", url, "--token-file", tmp_path / "wrong")
    assert done.code == FAILED and done.state("B201") == "failed"
    done = run("--live", "--server", url, "--token-file", tmp_path / "none")
    assert done.code == UNREACHABLE and f"{tmp_path / 'none'}: No such file" in done.stderr


def test_the_probe_is_harmless(run, start_berth, folder):
    """Its filter request without nodes does not count as a scheduler's."""
    berth = start_berth("--policy", folder / "policy.yaml", "--cluster", folder / "cluster.json")
    before = get(berth, "/api/v1/status").json()
    for _ in range(3):
        done = run("--live", "--server", berth.url, config=scheduler_config(entry(berth.url)))
        assert done.state("B203") == "passed"
    after = get(berth, "/api/v1/status").json()
    assert after["schedulers"] == before["schedulers"] == []
    assert after["bypassed"] == 0 and after["policy"]["list"][0]["rejectedAll"] == 0
    pod = {"metadata": {"name": "a", "namespace": "b", "uid": "c"}}
    assert post(berth, "filter", {"Pod": pod, "NodeNames": ["n0"]}).json()["NodeNames"] == ["n0"]


# --- the API server ---


def in_cluster(api, tmp_path, plain):
    return ["--live", "--server", plain.url, "--kubeconfig", api.kubeconfig(tmp_path)]


def test_api_server_is_away(run, plain, api, tmp_path):
    arguments = in_cluster(api, tmp_path, plain)
    api.stop()
    done = run(*arguments)
    assert done.code == FAILED and done.failed() == {"B301"}, done.stdout
    done = run("--live", "--kubeconfig", tmp_path / "none")
    assert done.code == UNREACHABLE and str(tmp_path / "none") in done.stderr


def test_rights(run, plain, api, tmp_path):
    arguments = [*in_cluster(api, tmp_path, plain), "--service-account", "berth-system/berth"]
    assert run(*arguments).state("B302") == "passed"
    assert {user for user, _, _ in api.reviews} == {"system:serviceaccount:berth-system:berth"}
    api.denied = {"watch pods"}
    done = run(*arguments)
    assert done.code == FAILED and done.failed() == {"B302"}
    assert "watch pods" in done.checks["B302"]["cause"] and "kubectl" in done.checks["B302"]["fix"]
    api.denied, api.allowed = set(), {"get secrets"}
    done = run(*arguments)
    assert done.state("B303") == "failed" and "secrets" in done.checks["B303"]["cause"]
    for right in ("patch nodes", "create pods/binding", "* *", "create pods/exec", "delete pods",
                  "impersonate users", "escalate clusterroles", "list configmaps"):  # fmt: skip
        api.allowed = {right}
        assert run(*arguments, "--only", "B303").code == FAILED, right


def test_rights_of_events(run, start_berth, api, tmp_path):
    """berth only creates events, so the check tests only that right."""
    berth = start_berth("--kubeconfig", api.kubeconfig(tmp_path), "--events")
    run(*in_cluster(api, tmp_path, berth), "--service-account", "berth-system/berth", "--only", "B302")
    assert {right for _, right, _ in api.reviews if "events" in right} == {"create events"}


NAMESPACES_POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: gold}
spec:
  match: {namespaceSelector: {matchLabels: {tier: gold}}}
  filters: [{name: ready, nodeReady: true}]
"""


def test_rights_to_namespaces(run, start_berth, plain, api, tmp_path):
    """Rights to namespaces are needed and checked only if a policy reads namespaces."""
    account = ["--service-account", "berth-system/berth", "--only", "B302"]
    run(*in_cluster(api, tmp_path, plain), *account)
    assert not [right for _, right, _ in api.reviews if "namespaces" in right]
    policy = tmp_path / "namespaces.yaml"
    policy.write_text(NAMESPACES_POLICY)
    berth = start_berth("--kubeconfig", api.kubeconfig(tmp_path), "--policy", policy)
    api.allowed = {"get namespaces", "list namespaces"}
    done = run(*in_cluster(api, tmp_path, berth), *account)
    wanted = {f"{verb} namespaces" for verb in ("get", "list", "watch")}
    assert {right for _, right, _ in api.reviews if "namespaces" in right} == wanted
    assert done.failed() == {"B302"}
    assert "may not watch namespaces, since a policy or --nominate reads namespaces" in done.checks["B302"]["cause"]
    assert "clusterrole berth-namespaces --verb=get,list,watch --resource=namespaces" in done.checks["B302"]["fix"]


CLAIMS_POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: reach}
spec:
  filters: [{name: volume, expression: "pod.claims.all(c, c.selects(node))"}]
"""


def test_rights_to_claims(run, start_berth, api, tmp_path):
    policy = tmp_path / "claims.yaml"
    policy.write_text(CLAIMS_POLICY)
    berth = start_berth("--kubeconfig", api.kubeconfig(tmp_path), "--policy", policy)
    kinds = ("persistentvolumeclaims", "persistentvolumes")
    wanted = {f"{verb} {kind}" for verb in ("get", "list", "watch") for kind in kinds}
    arguments = [*in_cluster(api, tmp_path, berth), "--service-account", "berth-system/berth", "--only", "B302"]
    api.allowed = wanted - {"list persistentvolumes"}
    done = run(*arguments)
    assert {right for _, right, _ in api.reviews if "persistent" in right} == wanted
    assert "may not list persistentvolumes, since a policy reads pod.claims" in done.checks["B302"]["cause"]
    api.allowed = wanted
    assert run(*arguments).state("B302") == "passed"


LEASES = {"--lease": "bind", "--publish-lease": "publish", "--nominate-lease": "nominate", "--policies-lease": "policies"}


def test_rights_to_leases(run, start_berth, api, tmp_path):
    """The Lease of each feature, with get and update only by its name."""
    api.objects["/apis/berth.dev/v1alpha1/placementpolicies"] = {"kind": "PlacementPolicyList", "metadata": {"resourceVersion": "1"}, "items": []}
    features = ["--bind", "--publish", "--nominate", "--policies-from-cluster"]
    arguments = ["--service-account", "berth-system/berth", "--only", "B302"]
    config = api.kubeconfig(tmp_path)
    without = start_berth("--kubeconfig", config, *features)
    run(*in_cluster(api, tmp_path, without), *arguments)
    assert not [right for _, right, _ in api.reviews if "leases" in right]
    api.allowed = {right for _, right, _ in api.reviews}
    leases = [word for flag, name in LEASES.items() for word in (flag, f"berth-system/{name}")]
    berth = start_berth("--kubeconfig", config, *features, *leases)
    done = run(*in_cluster(api, tmp_path, berth), *arguments)
    asked = {(right, each["namespace"], each.get("name")) for _, right, each in api.reviews if "leases" in right}
    wanted = {(f"{verb} leases", "berth-system", name) for verb in ("get", "update") for name in LEASES.values()}
    assert asked == wanted | {("create leases", "berth-system", None)}
    assert "to agree on who nominates (--nominate-lease)" in done.checks["B302"]["cause"]
    assert "create role publish-lease --verb=get,update" in done.checks["B302"]["fix"]


# --- the webhook that checks policies ---


@pytest.fixture
def reviews(run, start_berth, api, certificates, tmp_path):
    """reviews(*flags) -> check(status, message): state, cause and fix of B508 for this reply of the API server to the dry run."""

    def start(*flags):
        certificate, key = certificates.server
        berth = start_berth(
            "--kubeconfig", api.kubeconfig(tmp_path), "--policies-from-cluster", *flags,
            "--tls-cert", certificate, "--tls-key", key, "--client-ca", certificates.certificate,
        )  # fmt: skip
        arguments = [*in_cluster(api, tmp_path, berth), *of_secure(certificates), "--only", "B508"]

        def check(status, message=""):
            api.trial = status, refusal(status, message) if message else {"kind": "PlacementPolicy"}
            each = run(*arguments).checks["B508"]
            return each["state"], each.get("cause", ""), each.get("fix", "")

        return check

    api.objects["/apis/berth.dev/v1alpha1/placementpolicies"] = {"kind": "PlacementPolicyList", "metadata": {"resourceVersion": "1"}, "items": []}
    return start


def test_webhook_is_tried_with_a_mistake(reviews, run, api):
    check = reviews("--admission-listen", "127.0.0.1:0")
    denial = "admission webhook \"policies.berth.dev\" denied the request: spec.filters[0].expression: undefined field 'berthCheck' of Node"
    assert check(400, denial)[0] == "passed"
    assert api.tried == [{"filters": [{"name": "mistake", "expression": "node.berthCheck"}]}]
    state, cause, fix = check(500, 'Internal error occurred: failed calling webhook "policies.berth.dev": x509: unknown authority')
    assert state == "failed" and "no policy can be created or changed" in cause and "x509: unknown authority" in cause
    assert "kubectl delete validatingwebhookconfiguration berth-policies" in fix
    state, cause, _ = check(201)
    assert state == "warned" and "stores a policy with a mistake" in cause
    for status, text in ((403, "you may not create placementpolicies"), (400, 'admission webhook "other" denied the request: no')):
        state, cause, _ = check(status, text)
        assert state == "skipped" and text in cause


def test_no_webhook_is_wanted(reviews, run, plain, api, tmp_path):
    check = reviews()
    assert check(201)[:2] == ("skipped", "no webhook checks policies before they are stored")
    api.tried.clear()
    assert run(*in_cluster(api, tmp_path, plain), "--only", "B508").state("B508") == "skipped"
    assert api.tried == []  # without policies from the cluster


def test_unknown_rights_are_neither_ok_nor_wrong(run, plain, api, tmp_path):
    """If the account is unknown, or the check may not query rights, the result is neither ok nor an error."""
    done = run(*in_cluster(api, tmp_path, plain))
    assert done.state("B302") == done.state("B303") == "skipped"
    assert "--service-account" in done.stderr
    api.forbidden = {"/apis/authorization.k8s.io/v1/subjectaccessreviews"}
    done = run(*in_cluster(api, tmp_path, plain), "--user", "berth")
    assert done.state("B302") == done.state("B303") == "skipped"
    assert "forbidden" in done.checks["B302"]["cause"]


def test_clock(run, plain, api, tmp_path):
    api.skew = 7200
    done = run(*in_cluster(api, tmp_path, plain))
    assert done.code == FAILED and "B406" in done.failed(), done.stdout


def test_release(run, plain, api, tmp_path):
    config = scheduler_config(entry(plain.url), apiVersion="kubescheduler.config.k8s.io/v1beta2")
    done = run(*in_cluster(api, tmp_path, plain), config=config)
    assert done.state("B104") == "failed" and "v1.34" in done.checks["B104"]["cause"]


def test_pods(run, plain, api, tmp_path):
    arguments = in_cluster(api, tmp_path, plain)
    assert run(*arguments).state("B603") == "warned"
    labels = {"app.kubernetes.io/name": "berth"}
    api.pods = [pod("berth-system", "a", labels, ready=False)]
    done = run(*arguments)
    assert done.state("B604") == "failed" and "a" in done.checks["B604"]["cause"]
    assert done.state("B605") == "warned"
    api.pods = [pod("berth-system", name, labels, node="n1", scheduler="berth") for name in "ab"]
    done = run(*arguments, config=scheduler_config(entry(plain.url)))
    assert done.state("B606") == "warned" and done.state("B126") == "failed", done.checks["B126"]
    api.forbidden = {"/api/v1/pods"}
    done = run(*arguments)
    assert done.state("B604") == "skipped" and "forbidden" in done.stderr


def test_pods_with_a_berth_in_them(run, plain, api, tmp_path):
    """Other pods of the chart have the label, too: the second scheduler, the pod of `helm test`."""
    labels = {"app.kubernetes.io/name": "berth"}
    serves, checks = {"args": ["serve", "--in-cluster"]}, {"args": ["check", "--live"]}
    api.pods = [
        pod("berth-system", "a", labels, containers=[serves], serviceAccountName="berth"),
        pod("berth-system", "b", labels, containers=[checks], ready=False, serviceAccountName="c"),
        scheduler_pod("berth-system", "s", [], labels=labels, serviceAccountName="s"),
    ]
    done = run(*in_cluster(api, tmp_path, plain))
    assert done.checks["B603"]["cause"] == "berth-system/a on n1"
    assert done.state("B604") == "passed" and done.state("B605") == "warned"
    assert {user for user, _, _ in api.reviews} == {"system:serviceaccount:berth-system:berth"}


# --- finding kube-scheduler's configuration ---

HOW = [
    # flags, volumes, mounts, ConfigMap and key
    ("key", ["--config=/c/s.yaml"], {"configMap": {"name": "m"}}, {"mountPath": "/c"}, "s.yaml"),
    ("two words", ["--config", "/c/s.yaml"], {"configMap": {"name": "m"}}, {"mountPath": "/c/"}, "s.yaml"),
    (
        "item", ["--config=/c/d/s.yaml"],
        {"configMap": {"name": "m", "items": [{"key": "k", "path": "d/s.yaml"}]}},
        {"mountPath": "/c"}, "k",
    ),
    (
        "one file", ["--config=/c/s.yaml"], {"configMap": {"name": "m"}},
        {"mountPath": "/c/s.yaml", "subPath": "k"}, "k",
    ),
    (
        "projected", ["--config=/c/s.yaml"],
        {"projected": {"sources": [{"secret": {"name": "x"}}, {"configMap": {"name": "m"}}]}},
        {"mountPath": "/c"}, "s.yaml",
    ),
]  # fmt: skip


@pytest.mark.parametrize("what, flags, volume, mount, key", HOW, ids=[each[0] for each in HOW])
def test_config_map(run, plain, api, tmp_path, what, flags, volume, mount, key):
    mounts = [{"name": "v", **mount}, {"name": "other", "mountPath": "/"}]
    volumes = [{"name": "other", "emptyDir": {}}, {"name": "v", **volume}]
    api.pods.append(scheduler_pod("kube-system", "s", flags, volumes, mounts))
    api.config_maps["kube-system", "m"] = {"z": "", key: scheduler_config(entry(plain.url))}
    done = run(*in_cluster(api, tmp_path, plain))
    assert done.state("B103") == done.state("B203") == "passed", (done.checks["B101"], done.stderr)
    api.config_maps["kube-system", "m"] = {"z": ""}
    done = run(*in_cluster(api, tmp_path, plain))
    assert done.state("B101") == "failed" and "key" in done.checks["B101"]["cause"]
    del api.config_maps["kube-system", "m"]
    done = run(*in_cluster(api, tmp_path, plain))
    assert done.state("B101") == "failed" and "not found" in done.checks["B101"]["cause"]


@pytest.mark.parametrize("source", ["file: {path: /c/policy.json}", "configMap: {namespace: a, name: p}"])
def test_policy_of_a_v1alpha1(run, plain, api, tmp_path, source):
    """Its extenders are in a different key of its ConfigMap, or in a different ConfigMap."""
    config = ("apiVersion: kubescheduler.config.k8s.io/v1alpha1\nkind: KubeSchedulerConfiguration\n"
              f"algorithmSource: {{policy: {{{source}}}}}\n")  # fmt: skip
    policy = json.dumps({"kind": "Policy", "apiVersion": "v1", "extenders": [entry(plain.url, httpTimeout=1000000000)]})
    volumes, mounts = [{"name": "v", "configMap": {"name": "m"}}], [{"name": "v", "mountPath": "/c"}]
    api.version = "v1.18.20"
    api.pods.append(scheduler_pod("kube-system", "s", ["--config=/c/s.yaml"], volumes, mounts))
    api.config_maps["kube-system", "m"] = {"s.yaml": config, "policy.json": policy}
    api.config_maps["a", "p"] = {"policy.cfg": policy}
    done = run(*in_cluster(api, tmp_path, plain))
    assert done.state("B103") == "passed", done.checks["B103"]
    assert "ConfigMap kube-system/m (s.yaml) with ConfigMap " in done.checks["B103"]["cause"]
    api.config_maps["kube-system", "m"] = {"s.yaml": config}
    del api.config_maps["a", "p"]
    done = run(*in_cluster(api, tmp_path, plain))
    assert done.state("B103") == "skipped", done.checks["B103"]


def test_file_of_a_node(run, plain, api, tmp_path):
    """The file cannot be read from this machine, so the fix has the command to run on the node."""
    api.pods.append(
        scheduler_pod(
            "kube-system", "kube-scheduler-cp1", ["--config=/etc/kubernetes/berth/s.yaml"],
            [{"name": "v", "hostPath": {"path": "/etc/kubernetes/berth"}}],
            [{"name": "v", "mountPath": "/etc/kubernetes/berth"}], node="cp1",
            annotations={"kubernetes.io/config.mirror": "x"},
        )
    )  # fmt: skip
    done = run(*in_cluster(api, tmp_path, plain))
    assert done.state("B101") == "warned"
    assert "cp1" in done.checks["B101"]["cause"]
    assert "berth check --offline /etc/kubernetes/berth/s.yaml" in done.checks["B101"]["cause"]


def test_scheduler_without_configuration(run, plain, api, tmp_path):
    """kube-scheduler's defaults have no extenders, but another scheduler may have one."""
    arguments = in_cluster(api, tmp_path, plain)
    api.pods.append(scheduler_pod("kube-system", "s", ["--leader-elect=true"]))
    assert run(*arguments).state("B103") == "failed"
    done = run(*arguments, config=scheduler_config(entry(plain.url)))
    assert done.state("B103") == "passed" and not done.failed(), done.stdout


def test_named_pod(run, plain, api, tmp_path):
    api.config_maps["a", "m"] = {"policy.cfg": json.dumps({
        "kind": "Policy", "apiVersion": "v1",
        "extenders": [entry(plain.url, httpTimeout=1000000000)],
    })}  # fmt: skip
    flags = ["--policy-configmap=m", "--policy-configmap-namespace=a"]
    api.pods = [scheduler_pod("a", "mine", flags, labels={"app": "mine"}), pod("a", "web")]
    arguments = in_cluster(api, tmp_path, plain)
    assert run(*arguments).state("B101") == "warned"
    done = run(*arguments, "--scheduler-pod", "a/mine")
    assert done.state("B103") == "passed", done.checks["B102"]
    done = run(*arguments, "--scheduler-pod", "a/web")
    assert done.state("B101") == "failed" and "no kube-scheduler" in done.checks["B101"]["cause"]
    assert run(*arguments, "--scheduler-pod", "a/none").state("B101") == "failed"
    assert run(*arguments, "--scheduler-pod", "mine").code == USAGE


# --- finding berth's entry ---


def test_own_entry(run, plain, tmp_path):
    """The entry is found by --server, by --url, by its name, or because it is the only one; the output names it."""
    other = entry("https://tas.example.com:9001", enableHTTPS=True, tlsConfig={"caFile": "/ca"})
    config = scheduler_config(other, entry(plain.url))
    done = run("--live", "--server", plain.url, config=config)
    assert "extender 2" in done.checks["B103"]["cause"] and not done.stderr
    done = run("--live", "--server", plain.url, "--url", "https://tas.example.com:9001", config=config)
    assert "extender 1" in done.checks["B103"]["cause"]
    path = tmp_path / "several.yaml"
    path.write_text(scheduler_config(other, entry("https://berth.berth-system.svc:8443")))
    done = run("--offline", path)
    assert "extender 2" in done.checks["B103"]["cause"] and "assumed to be berth" in done.stderr
    path.write_text(scheduler_config(other, entry("https://gpu.example.com")))
    done = run("--offline", path)
    assert done.state("B103") == "failed" and "--url" in done.stderr
    path.write_text(scheduler_config(entry("https://gpu.example.com")))
    assert "extender 1" in run("--offline", path).checks["B103"]["cause"]


# --- offline ---

TAS = {  # as in the documentation of another extender: a client certificate, but no CA
    "urlPrefix": "https://tas-service.telemetry-aware-scheduling.svc.cluster.local:9001",
    "prioritizeVerb": "scheduler/prioritize", "filterVerb": "scheduler/filter", "weight": 1,
    "enableHTTPS": True, "managedResources": [{"name": "telemetry/scheduling", "ignoredByScheduler": True}],
    "ignorable": True,
    "tlsConfig": {"insecure": False, "certFile": "/host/certs/client.crt", "keyFile": "/host/certs/client.key"},
}  # fmt: skip
SERVICE = "https://berth.berth-system.svc:8443"
CA = {"tlsConfig": {"caFile": "/ca.crt", "certFile": "/c.crt", "keyFile": "/c.key"}, "enableHTTPS": True}

SAMPLES = [
    # description, text, failing checks
    ("sidecar", scheduler_config(entry("http://127.0.0.1:8080")), set()),
    ("service", scheduler_config(entry(SERVICE, **CA)), set()),
    ("another's, without a CA", scheduler_config(TAS), {"B105"}),
    ("insecure", scheduler_config(entry(SERVICE, enableHTTPS=True, tlsConfig={"insecure": True})), {"B105"}),
    ("plain HTTP over a network", scheduler_config(entry("http://10.0.0.7:8080")), {"B108"}),
    ("http and enableHTTPS", scheduler_config(entry("http://127.0.0.1:8080", enableHTTPS=True)), {"B107"}),
    ("no extender", scheduler_config(), {"B103"}),
    ("misspelt", scheduler_config(entry(SERVICE, enableHttps=True)), {"B102"}),
    ("no weight", scheduler_config(entry("http://127.0.0.1:8080", weight=0)), {"B102"}),
    ("another verb", scheduler_config(entry("http://127.0.0.1:8080", filterVerb="priority")), {"B129"}),
    ("no such verb", scheduler_config(entry("http://127.0.0.1:8080", preemptVerb="evict")), {"B129"}),
    ("no YAML", "a: [", {"B102"}),
    ("something else", "kind: ConfigMap\napiVersion: v1\n", {"B102"}),
    (
        "two binders",
        scheduler_config(entry(SERVICE, **CA, bindVerb="bind"), entry("http://127.0.0.1:1", bindVerb="b")),
        {"B102"},
    ),
    (
        "bind and ignorable",
        scheduler_config(entry("http://127.0.0.1:8080", bindVerb="bind", ignorable=True, httpTimeout="15s")),
        {"B122"},
    ),
    (
        "legacy",
        json.dumps({"kind": "Policy", "apiVersion": "v1",
                    "extenders": [entry("http://127.0.0.1:8080", httpTimeout=1000000000)]}),
        set(),
    ),
]  # fmt: skip


@pytest.mark.parametrize("what, text, failed", SAMPLES, ids=[each[0] for each in SAMPLES])
def test_offline(run, tmp_path, what, text, failed):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    done = run("--offline", path)
    assert failed <= done.failed() and bool(failed) == bool(done.failed()), done.checks
    assert done.code == (FAILED if failed else FINE)
    assert not any(code[1] in "23456" for code in done.checks), "only configurations are looked at"
    assert run("--offline", "-", stdin=text).failed() == done.failed()


def test_offline_files(run, tmp_path):
    good, none = tmp_path / "good.yaml", tmp_path / "none.yaml"
    good.write_text(scheduler_config(entry("http://127.0.0.1:8080")))
    done = run("--offline", none)
    assert done.code == UNREACHABLE
    for code in ("B111", "B118"):  # nothing is said about an entry that could not be read
        assert done.checks[code]["cause"] == "no configuration that could be read lists berth (B101 to B103)"
    done = run("--offline", good, none)
    assert done.code == FAILED and "none.yaml" in done.checks["B101"]["cause"]


# --- the command ---


def test_only_limits_the_checks(run, plain):
    arguments = ["--live", "--server", plain.url]
    assert set(run(*arguments, "--only", "B201").checks) == {"B201"}
    codes = set(run(*arguments, "--only", "berth,B501", "--only", "cluster").checks)
    assert {"B201", "B501", "B401"} <= codes and not {"B101", "B502", "B601"} & codes
    for name in ("nonsense", "B999", "berth,B20"):
        done = run(*arguments, "--only", name)
        assert done.code == USAGE and name.split(",")[-1] in done.stderr and not done.stdout


def test_waits_for_a_late_berth(run, berth_path, nowhere):
    """--wait waits for a berth that starts later, and prints only one round."""
    started = []

    def start():
        time.sleep(1.5)
        command = [berth_path, "serve", "--listen", nowhere.removeprefix("http://")]
        started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    thread = threading.Thread(target=start)
    thread.start()
    try:
        done = run("--live", "--server", nowhere, "--only", "berth", "--wait", "20s")
    finally:
        thread.join()
        started[0].terminate()
        started[0].wait()
    assert done.code == FINE and done.state("B201") == "passed", done.stdout
    begin = time.monotonic()
    assert run("--live", "--server", nowhere, "--wait", "2s").code == UNREACHABLE
    assert time.monotonic() - begin > 1  # it has waited; run() has a timeout
    assert run("--live", "--wait", "soon").code == USAGE


def without_figures(report):
    report = copy.deepcopy(report)
    for each in report["checks"]:
        each.pop("cause")
    return report


def test_json(run, plain):
    """The output is the same each time, with keys in a fixed order."""
    arguments = ["--live", "--server", plain.url]
    first, second = run(*arguments), run(*arguments)
    assert without_figures(first.report) == without_figures(second.report)
    assert list(first.report) == ["state", "counts", "checks"]
    for each in first.report["checks"]:
        assert list(each) == ["code", "group", "title", "state", "cause", "fix", "hint"]
        assert each["state"] in ("passed", "warned", "failed", "skipped")
        assert each["state"] in ("passed", "failed", "warned") or each["cause"], each


def test_text_output_has_marks_and_fixes(run, plain, nowhere):
    done = run("--live", "--server", plain.url, "--only", "B201,B501", form="text")
    assert done.code == FINE and "✓" in done.stdout and "B201" in done.stdout
    done = run("--live", "--server", nowhere, "--only", "B201", form="text")
    assert done.code == UNREACHABLE and "×" in done.stdout and "fix: " in done.stdout


def test_with_policy_files(run, plain, folder, tmp_path):
    """The files are checked first, and their metrics if a cluster is given; then the installation."""
    policy = folder / "policy.yaml"
    done = run("--live", "--cluster", folder / "cluster.json", policy, form="text")
    assert done.code == FINE and "ok: 1 policy" in done.stdout and "no policy has metrics" in done.stdout
    assert "B201" not in done.stdout
    done = run("--live", "--server", plain.url, policy, form="text")
    assert done.code == FINE and done.stdout.startswith("ok: 1 policy") and "B201" in done.stdout
    assert "metrics\n" not in done.stdout
    bad = tmp_path / "bad.yaml"
    bad.write_text(POLICY.replace("nodeLabels", "nodeLabel"))
    done = run("--live", "--server", plain.url, bad, form="text")
    assert done.code == FAILED and "did you mean" in done.stdout and "B201" not in done.stdout


WRONG_USAGE = [
    (["--live", "--offline", "x"], "--offline is instead"),
    (["--offline"], "a file is needed"),
    (["--offline", "x", "--server", "http://127.0.0.1:1"], "contacts no server"),
    (["--offline", "x", "--kubeconfig", "y"], "contacts no server"),
    (["--server", "http://127.0.0.1:1", "x"], "--live or --offline"),
    (["--only", "berth", "x"], "--live or --offline"),
    (["--live", "--server", "127.0.0.1:8080"], "http://HOST:PORT"),
    (["--live", "--prometheus", "http://127.0.0.1:1"], "need a policy file"),
    (["--live", "--cluster", "x"], "need a policy file"),
    (["--live", "--cert", "x"], "go together"),
    (["--live", "--service-account", "a/b"], "API server"),
    (["--live", "--scheduler-pod", "a/b"], "API server"),
    (["--live", "--kubeconfig", "x", "--service-account", "berth"], "NAMESPACE/NAME"),
    (["--live", "--kubeconfig", "x", "--in-cluster"], "instead of"),
    (["--live", "--context", "x", "--in-cluster"], "instead of"),
]  # fmt: skip


@pytest.mark.parametrize("arguments, message", WRONG_USAGE, ids=[" ".join(each[0]) for each in WRONG_USAGE])
def test_wrong_usage(run, arguments, message):
    done = run(*arguments, form="text")
    assert done.code == USAGE and message in done.stderr and not done.stdout, done.stderr
