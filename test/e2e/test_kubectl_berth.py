"""`kubectl berth` with only a kubeconfig: finds two replicas by their label, calls them through the API server's pod
proxy with the token of a Secret, and merges their replies.

The API server does not proxy to loopback addresses, so this control plane has its own network namespace, in which
pods have addresses. Needs root.
"""

import base64
import copy
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess

import pytest
from cluster import get_health
from controlplane import ControlPlane
from deploy import RESTRICTED, Machine, find_container, get_path, make_pods, remove
from network import make_network
from objects import AVOID, BERTH_NAMESPACE, READY, make_extender
from process import Process, make_environment
from waiting import wait_for

ADDRESSES = {"berth-a": "192.0.2.10", "berth-b": "192.0.2.11"}  # from a range for documentation
REASON = "node is not in the pool"
POLICY = f"""
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {{name: pool}}
spec:
  filters:
    - {{name: pool, nodeLabels: {{example.com/pool: blue}}, reason: {REASON}}}
"""
ROLES = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{BERTH_NAMESPACE}/rolebindings"


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    """A control plane inside the network namespace."""
    with make_network() as network:
        for address in ADDRESSES.values():
            network.ip("address", "add", f"{address}/32", "dev", "lo")
        with network.entered():
            plane = ControlPlane(pathlib.Path(os.environ["BERTH_E2E"]), tmp_path_factory.mktemp("plane"))
            try:
                plane.start()
                yield plane
            finally:
                plane.stop()


@pytest.fixture(scope="module")
def bin(berth_path, tmp_path_factory):
    """A folder for PATH, with the plugin."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "kubectl-berth").symlink_to(berth_path)
    return folder


class Installation:
    """The chart's defaults, with one process for each of two pods."""

    def __init__(self, cluster, objects, bin, folder):
        self.cluster, self.plane, self.api = cluster, cluster.plane, cluster.api
        self.objects, self.bin, self.folder = objects, bin, folder
        self.berths = {}

    def start(self):
        kubeconfig = self.plane.write_token_kubeconfig("berth")
        container, volumes = find_container(self.objects, "berth")
        (pod,) = [each for each in make_pods(self.objects) if each["metadata"]["name"] == "berth"]
        for name, address in ADDRESSES.items():
            machine = Machine(self.folder / name, kubeconfig)
            machine.mount(self.objects, container, volumes)
            words = [word.replace("0.0.0.0", address) for word in machine.translate(container["args"])]
            self.berths[name] = self.cluster.run_serve(*words)
            self.add_pod(pod, name, address)
        self.machine = machine

    def add_pod(self, template, name, address):
        pod = copy.deepcopy(template)
        pod["metadata"]["name"] = name
        pod["spec"]["nodeName"] = "red"
        path = get_path(pod)
        self.api.create(path.rpartition("/")[0], pod)
        status = {"phase": "Running", "conditions": [READY], "podIP": address, "podIPs": [{"ip": address}]}
        self.api.patch(f"{path}/status", {"status": status})

    def start_scheduler(self, name):
        """Starts a kube-scheduler for pods with schedulerName @name, which calls the replica of that name."""
        client = {key: self.machine.write(f"/client/{key}", text) for key, text in self.secret("berth-client").items()}
        tls = {
            "serverName": "berth.berth-system.svc",
            "caFile": str(client["ca.crt"]),
            "certFile": str(client["tls.crt"]),
            "keyFile": str(client["tls.key"]),
        }
        extender = make_extender(self.berths[name].url, enableHTTPS=True, tlsConfig=tls)
        self.cluster.start_scheduler(extender, profiles=[{"schedulerName": name}])

    def secret(self, name):
        data = self.api.get(f"/api/v1/namespaces/{BERTH_NAMESPACE}/secrets/{name}")["data"]
        return {key: base64.b64decode(text) for key, text in data.items()}

    def environment(self, kubeconfig):
        path = f"{self.bin}:{os.environ['PATH']}"
        return make_environment(self.folder, KUBECONFIG=str(kubeconfig), PATH=path, NO_COLOR="1")

    def kubectl(self, *arguments, kubeconfig=None):
        """Runs kubectl as users do."""
        return subprocess.run(
            [self.plane.bin / "kubectl", *map(str, arguments)],
            env=self.environment(kubeconfig or self.plane.admin_kubeconfig),
            cwd=self.folder, capture_output=True, text=True, timeout=90,
        )  # fmt: skip

    def berth(self, *arguments, **options):
        return self.kubectl("berth", *arguments, **options)

    def bind(self, role, user):
        binding = {
            "metadata": {"name": f"{role}-{user}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        }
        self.api.create_once(ROLES, binding)
        return self.plane.write_kubeconfig(user)

    def pod(self, name):
        return f"{self.cluster.namespace}/{name}"


@pytest.fixture
def installation(chart, cluster, bin, tmp_path):
    values = tmp_path / "values.yaml"
    values.write_text(json.dumps({"policies": {"pool.yaml": POLICY}}))
    objects = [each for each in chart.render(values) if "helm.sh/hook" not in each["metadata"].get("annotations", {})]
    remove(cluster.api, cluster.plane.installed)
    cluster.plane.apply([RESTRICTED, *objects], "--force-conflicts")
    cluster.add_node("red", {"example.com/pool": "red"})
    cluster.add_node("blue", {"example.com/pool": "blue"}, taints=[AVOID])
    installation = Installation(cluster, objects, bin, tmp_path)
    installation.start()
    yield installation
    for process in installation.berths.values():
        process.popen.send_signal(signal.SIGTERM)
        process.popen.send_signal(signal.SIGTERM)  # another one ends its --drain-delay
    cluster.api.delete(f"/api/v1/namespaces/{BERTH_NAMESPACE}/pods", gracePeriodSeconds=0)
    remove(cluster.api, objects)
    cluster.plane.install_berth()


@pytest.fixture
def decided(installation):
    """berth-a decided about the pod "goes", berth-b about "waits", which is pending."""
    cluster = installation.cluster
    for name in ADDRESSES:
        installation.start_scheduler(name)
    cluster.add_pod("goes", schedulerName="berth-a")
    assert cluster.wait_bound("goes") == "blue"
    cluster.add_pod("waits", schedulerName="berth-b", nodeSelector={"example.com/pool": "red"})
    cluster.wait_pending("waits", REASON)
    return installation


def test_administrator_needs_no_setup(decided):
    goes = decided.berth("explain", decided.pod("goes"))
    assert (goes.returncode, goes.stderr) == (0, "")
    assert re.search(r"^filter .*, decision \d+ of berth-a$", goes.stdout, re.M), goes.stdout
    waits = decided.berth("explain", decided.pod("waits"), "--context", "e2e")
    assert (waits.returncode, waits.stderr) == (0, "")
    assert re.search(r"^filter .*, decision \d+ of berth-b$", waits.stdout, re.M), waits.stdout
    assert REASON in waits.stdout

    none = decided.berth("explain", decided.pod("none"))
    assert none.returncode == 3
    asked = "2 replicas of berth in namespace berth-system"
    assert none.stderr.startswith(f"berth explain: {asked} remember no filter for {decided.pod('none')}\n")

    top = decided.berth("top", "--once")
    assert top.returncode == 0, top.stderr
    assert asked in top.stdout and decided.pod("goes") in top.stdout and decided.pod("waits") in top.stdout
    status = decided.berth("status", "-o", "json")
    assert status.returncode == 0, status.stderr
    found = json.loads(status.stdout)["replicas"]
    assert [(each["name"], each["ready"]) for each in found] == [("berth-a", True), ("berth-b", True)]
    assert [each["status"]["schedulers"][0]["name"] for each in found] == list(ADDRESSES)

    whole = decided.berth("what-if", "-o", "json")
    assert whole.returncode == 0, whole.stderr
    report = json.loads(whole.stdout)
    assert report["pods"] == 2 and report["decisions"] == report["changes"]["equal"]
    saved = decided.berth("bundle", "-o", "b.tar.gz")
    assert saved.returncode == 0, saved.stderr
    assert {path.name for path in decided.folder.glob("b-*")} == {"b-berth-a.tar.gz", "b-berth-b.tar.gz"}


def test_user_without_role_is_told_which(decided):
    """The message has the command that grants it."""
    kubeconfig = decided.plane.write_kubeconfig("jane")
    done = decided.berth("explain", decided.pod("goes"), kubeconfig=kubeconfig)
    assert done.returncode == 3
    assert "the API server answered 403" in done.stderr
    command = "kubectl -n berth-system create rolebinding berth-viewer-NAME --role=berth-viewer --user=jane"
    assert f"an administrator can give you the Role berth-viewer: {command}\n" in done.stderr
    granted = decided.kubectl(*command.replace("NAME", "jane").split()[1:])
    assert granted.returncode == 0, granted.stderr
    # The API server caches RBAC, too.
    wait_for(
        "jane to see berth",
        lambda: decided.berth("explain", decided.pod("goes"), kubeconfig=kubeconfig),
        lambda done: done.returncode == 0,
    )


def test_viewer_may_not_replay(decided):
    vera, walt = decided.bind("berth-viewer", "vera"), decided.bind("berth-what-if", "walt")
    for kubeconfig in (vera, walt):
        explained = wait_for(
            "the role to count",
            lambda: decided.berth("explain", decided.pod("waits"), kubeconfig=kubeconfig),
            lambda done: done.returncode == 0,
        )
        assert REASON in explained.stdout
        assert decided.berth("status", kubeconfig=kubeconfig).returncode == 0
    for command in ("what-if", "bundle"):
        refused = decided.berth(command, kubeconfig=vera)
        assert refused.returncode == 3, refused.stdout
        assert refused.stderr.count("answered 403") == 1, "the same of all replicas is said once"
        assert "the Role berth-what-if: kubectl " in refused.stderr
        assert decided.berth(command, kubeconfig=walt).returncode == 0
    # The API server itself denies proxying of a POST, with any token.
    path = f"/api/v1/namespaces/{BERTH_NAMESPACE}/pods/https:berth-a:8444/proxy/api/v1/what-if"
    posted = decided.kubectl("create", "--raw", path, "-f", write_body(decided.folder), kubeconfig=vera)
    assert posted.returncode != 0 and "pods/proxy" in posted.stderr
    token = decided.secret("berth-pages")["token"].decode()
    for name in ("jane", "vera", "walt"):
        assert token not in str(decided.berth("status", kubeconfig=decided.plane.write_kubeconfig(name)))


def write_body(folder):
    (folder / "body.json").write_text("{}")
    return folder / "body.json"


def test_replica_that_does_not_answer(decided):
    decided.berths["berth-a"].popen.send_signal(signal.SIGTERM)
    decided.berths["berth-a"].popen.send_signal(signal.SIGTERM)
    decided.berths["berth-a"].popen.wait(20)
    waits = decided.berth("explain", decided.pod("waits"))
    assert waits.returncode == 0, waits.stderr
    assert "pod berth-system/berth-a" in waits.stderr and "the other replicas were asked" in waits.stderr
    goes = decided.berth("explain", decided.pod("goes"))
    assert goes.returncode == 3
    assert "1 answered, and remembers no filter" in goes.stderr
    status = decided.berth("status")
    assert status.returncode == 1
    assert re.search(r"^berth-a +no reply ", status.stdout, re.M)
    assert re.search(r"^berth-b +yes ", status.stdout, re.M)


def test_credential_plugin(decided):
    """A plugin like those of cloud providers."""
    decided.api.create_once(f"/api/v1/namespaces/{BERTH_NAMESPACE}/serviceaccounts", {"metadata": {"name": "robot"}})
    kubeconfig = decided.plane.write_token_kubeconfig("robot")
    text = kubeconfig.read_text()
    token = re.search(r"token: (\S+)", text)[1]
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": token}}
    plugin = decided.folder / "plugin"
    plugin.write_text(f"#!/bin/sh\nprintf '%s' '{json.dumps(credential)}'\n")
    plugin.chmod(0o755)
    exec = {"apiVersion": credential["apiVersion"], "command": str(plugin), "interactiveMode": "Never"}
    kubeconfig.write_text(text.replace(f"token: {token}", f"exec: {json.dumps(exec)}"))
    decided.cluster.expect_denials("robot: list pods", "robot: get secrets")
    refused = decided.berth("status", kubeconfig=kubeconfig)
    assert refused.returncode == 3
    grant = "--role=berth-viewer --serviceaccount=berth-system:robot\n"
    assert grant in refused.stderr
    binding = re.search(r"kubectl (-n .*)", refused.stderr)[1].replace("NAME", "robot")
    assert decided.kubectl(*binding.split()).returncode == 0
    wait_for(
        "the robot to see berth",
        lambda: decided.berth("status", kubeconfig=kubeconfig),
        lambda done: done.returncode == 0,
    )


# --- open ---


class Browser:
    def __init__(self, url):
        self.host, self.port, self.path = re.match(r"http://([^:]+):(\d+)(/.*)$", url).groups()
        self.cookie = None

    def get(self, path, **headers):
        connection = http.client.HTTPConnection(self.host, int(self.port), timeout=30)
        sent = {"Accept": "text/html", **({"Cookie": self.cookie} if self.cookie else {}), **headers}
        connection.request("GET", path, headers=sent)
        return connection.getresponse()


def test_open_shows_the_dashboard(decided):
    argv = [decided.bin / "kubectl-berth", "open", "--kubeconfig", decided.plane.admin_kubeconfig,
            "--replica", "berth-b"]  # fmt: skip
    process = Process("open", argv, decided.folder / "open.log")
    try:
        found = wait_for("the URL", lambda: re.search(r"http://\S+", process.log.read_text()))
        browser = Browser(found[0])
        assert browser.host == "127.0.0.1"
        assert browser.get("/").status == 403, "only with the key"
        assert browser.get("/?key=0123456789abcdef0123456789abcdef").status == 403
        greeted = browser.get(browser.path)
        assert (greeted.status, greeted.getheader("Location")) == (303, "/")
        browser.cookie = greeted.getheader("Set-Cookie").partition(";")[0]
        page = browser.get("/pods")
        text = page.read().decode()
        assert page.status == 200 and decided.pod("waits").split("/")[1] in text
        assert "/proxy/" not in text, "links are berth's own"
        assert page.getheader("Content-Security-Policy")
        script = re.search(r'src="(/assets/[^"]+\.js)"', text)[1]
        assert browser.get(script).getheader("Content-Type").startswith("text/javascript")
        assert browser.get("/", Host="evil.example").status == 403
        for path in ("/../../../../secrets", "/%2e%2e/%2e%2e/secrets", "/..%2f..%2fsecrets"):
            assert browser.get(path).status == 403
        events = browser.get("/api/v1/events")
        assert events.status == 200
        line = next(line for line in iter(events.readline, b"") if line.startswith(b"data: "))
        assert json.loads(line[6:])["nodes"] == 2
        assert "berth-a" in process.log.read_text()
    finally:
        assert process.stop(signal.SIGINT) == 0
    assert get_health(decided.berths["berth-b"])[0] == 200
