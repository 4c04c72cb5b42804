"""kube-scheduler accepts the certificates and configuration of berth's own commands, and `berth check` reports
their state correctly."""

import json
import ssl

import pytest
import yaml
from client import metrics
from nodemode import Live
from objects import AVOID, READY
from waiting import wait_for

REASON = "node is not in the pool"
POLICY = f"""
filters:
  - {{name: pool, nodeLabels: {{pool: blue}}, reason: {REASON}}}
scores:
  - {{name: pack, binPack: {{cpu: 1}}}}
"""
SECOND = ["--scheduler-name", "berth", "--leader-elect", "--lease-name", "berth-scheduler"]
LEASE_PATH = "/apis/coordination.k8s.io/v1/namespaces/berth-system/leases/berth-scheduler"
BINDS = ["--bind", "--lease", "berth-system/berth-bind"]


class Files:
    """The files of `berth certs`."""

    def __init__(self, cluster, folder):
        done = cluster.run_berth("certs", folder)
        assert done.returncode == 0, done.stderr
        self.ca = folder / "ca.crt"
        self.server, self.server_key = folder / "server.crt", folder / "server.key"
        self.client, self.client_key = folder / "client.crt", folder / "client.key"


class Wiring:
    """berth over mutual TLS, and the configuration that `berth config` writes for kube-scheduler."""

    def __init__(self, cluster, *flags):
        self.cluster = cluster
        self.files = files = Files(cluster, cluster.folder / "certs")
        self.identity = ["--ca", files.ca, "--cert", files.client, "--key", files.client_key]
        self.flags = [
            *Live().flags(cluster), "--policy", cluster.write_policy(POLICY),
            "--tls-cert", files.server, "--tls-key", files.server_key, "--client-ca", files.ca,
            *flags,
        ]  # fmt: skip
        self.berth = cluster.start_berth(*self.flags)
        self.path = cluster.folder / "scheduler-config.yaml"
        access = ["--scheduler-kubeconfig", self.account()]
        self.path.write_text(self.configure("v1", *SECOND, *access))

    def account(self):
        """The shipped account of a second kube-scheduler."""
        self.cluster.api.delete(LEASE_PATH)  # its last holder has ended
        return self.cluster.plane.write_token_kubeconfig("berth-scheduler")

    def configure(self, format, *options):
        files, url = self.files, self.berth.url
        done = self.cluster.run_berth(
            "config", "--format", format, "--server", url, *self.identity,
            "--url", url, "--tls-ca", files.ca,
            "--client-cert", files.client, "--client-key", files.client_key, *options,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def start_scheduler(self):
        return self.cluster.run_scheduler(self.path.read_text())

    def metrics(self):
        context = ssl.create_default_context(cafile=self.files.ca)
        context.load_cert_chain(self.files.client, self.files.client_key)
        return metrics(self.berth, context=context)

    def check(self, *options):
        """(exit code, {code: check}) of `berth check`."""
        done = self.cluster.run_berth("check", *options, "-o", "json")
        assert done.stdout, done.stderr
        return done.returncode, {each["code"]: each for each in json.loads(done.stdout)["checks"]}

    def check_live(self, *options):
        return self.check(
            "--live", "--server", self.berth.url, *self.identity,
            "--scheduler-config", self.path, "--kubeconfig", self.cluster.plane.admin_kubeconfig,
            "--service-account", "berth-system/berth", *options,
        )  # fmt: skip


def add_nodes(cluster):
    cluster.add_node("red", {"pool": "red"})
    cluster.add_node("blue", {"pool": "blue"}, taints=[AVOID])


def failures(found):
    return {code for code, each in found.items() if each["state"] in ("failed", "warned")}


def skipped(found):
    return {code for code, each in found.items() if each["state"] == "skipped"}


@pytest.mark.parametrize("flags", [[], BINDS], ids=["decides", "binds"])
def test_kube_scheduler_accepts_generated_config(cluster, flags):
    add_nodes(cluster)
    wiring = Wiring(cluster, *flags)
    wiring.start_scheduler()
    cluster.add_pod("goes", schedulerName="berth")
    assert cluster.wait_bound("goes") == "blue"
    cluster.add_pod("waits", nodeSelector={"pool": "red"}, schedulerName="berth")
    cluster.wait_pending("waits", REASON)
    assert wiring.metrics()["berth_binds_total"] == bool(flags)

    code, found = wiring.check("--offline", wiring.path)
    assert (code, failures(found)) == (0, set())


def without_ca(text):
    config = yaml.safe_load(text)
    del config["extenders"][0]["tlsConfig"]["caData"]
    return json.dumps(config)


def test_without_a_ca_the_check_fails(cluster):
    wiring = Wiring(cluster)
    for text in (wiring.path.read_text(), wiring.configure("policy")):
        wiring.path.write_text(without_ca(text))
        code, found = wiring.check("--offline", wiring.path)
        assert (code, found["B105"]["state"]) == (1, "failed")
        assert "tlsConfig" in found["B105"]["fix"]


# The fields of an extender up to 1.22. Others would be ignored silently.
LEGACY = {
    "urlPrefix": str, "filterVerb": str, "prioritizeVerb": str, "preemptVerb": str, "bindVerb": str,
    "weight": int, "enableHttps": bool, "tlsConfig": dict, "httpTimeout": int,
    "nodeCacheCapable": bool, "managedResources": list, "ignorable": bool,
}  # fmt: skip


def test_legacy_policy(cluster):
    """Checks a policy file by the rules of that version, because no such kube-scheduler is available here."""
    wiring = Wiring(cluster, *BINDS, "--managed-resource", "example.com/gpu")
    wiring.path.write_text(wiring.configure("policy"))
    policy = json.loads(wiring.path.read_text())
    # Without "predicates" and "priorities" the defaults apply; empty lists would disable all.
    assert policy.keys() == {"kind", "apiVersion", "extenders"}
    assert (policy["kind"], policy["apiVersion"]) == ("Policy", "v1")
    (extender,) = policy["extenders"]
    assert {name: type(value) for name, value in extender.items()} == LEGACY
    assert extender["httpTimeout"] == 15 * 10**9  # nanoseconds
    assert extender["weight"] > 0 and extender["enableHttps"] is True
    assert extender["tlsConfig"].keys() == {"caData", "certFile", "keyFile"}
    managed = {"name": "example.com/gpu", "ignoredByScheduler": False}
    assert extender["managedResources"] == [managed]

    code, found = wiring.check("--offline", wiring.path)
    # A warning, because this file cannot set the share of nodes to score.
    assert (code, failures(found)) == (0, {"B125"})


# --- an installation that works, and what breaks it ---

NOT_TOLD = {
    "B205", "B207",  # all servers are on loopback
    "B212", "B213", "B214",  # no policy publishes
    "B502",  # berth has just started
    "B505", "B506",  # no metrics
    "B508",  # no webhook
}  # fmt: skip


class Installation(Wiring):
    """Two berths with all features, their pods, and a kube-scheduler that calls the first."""

    def __init__(self, cluster):
        super().__init__(
            cluster, *BINDS, "--wake-up", "--publish", "--publish-lease", "berth-system/berth-publish",
            "--nominate", "--nominate-lease", "berth-system/berth-nominate", "--events",
            "--policies-from-cluster", "--policies-lease", "berth-system/berth-policies",
        )  # fmt: skip
        self.second = cluster.start_berth(*self.flags)
        for i, node in enumerate(("red", "blue")):
            cluster.add_pod(f"berth-{i}", {"app.kubernetes.io/name": "berth"}, nodeName=node)
            status = {"phase": "Running", "conditions": [READY]}
            cluster.api.patch(f"{cluster.pods_path}/berth-{i}/status", {"status": status})
        self.start_scheduler()
        cluster.add_pod("goes", schedulerName="berth")
        cluster.wait_bound("goes")

    def look(self):
        return self.check_live("--server", self.second.url)

    def change(self, **fields):
        """Changes fields of the extender in the file."""
        config = yaml.safe_load(self.path.read_text())
        config["extenders"][0].update(fields)
        self.path.write_text(json.dumps(config))


def stop_one(installation):
    installation.second.stop()


def break_policy(installation):
    installation.cluster.write_policy("filters: [{name: pool, nodeLabel: {}}]")


BROKEN = {
    # name: (change, codes of the checks that fail)
    "one-is-down": (stop_one, {"B201"}),
    "bad-policy": (break_policy, {"B208"}),
    "no-filter-verb": (lambda each: each.change(filterVerb=""), {"B113"}),
    "too-short": (lambda each: each.change(httpTimeout="50ms"), {"B119", "B120"}),
    "other-verb": (lambda each: each.change(filterVerb="filters"), {"B129", "B203"}),
}


@pytest.fixture
def installation(cluster, monkeypatch):
    monkeypatch.setenv("POD_NAMESPACE", cluster.namespace)
    add_nodes(cluster)
    cluster.plane.install_definition()
    return Installation(cluster)


def test_check_passes_on_working_installation(installation):
    code, found = wait_for("all to be well", installation.look, lambda seen: not failures(seen[1]))
    assert (code, skipped(found)) == (0, NOT_TOLD)


@pytest.mark.parametrize("damage, codes", BROKEN.values(), ids=BROKEN.keys())
def test_check_finds_damage(installation, damage, codes):
    damage(installation)
    code, found = wait_for(f"{codes}", installation.look, lambda seen: failures(seen[1]) == codes)
    assert code == 1
