"""Runs the shipped manifests: the chart's Deployments and kubeadm's static pod as processes, with their
arguments, files, certificates and accounts. Also checks that berth never rejects nodes for its own
pods."""

import copy
import json
import signal

import pytest
import yaml
from client import metrics
from cluster import get_health
from deploy import (
    DEPLOY, RESTRICTED, Machine, find_container, get_path, kustomize, make_pods, remove,
)  # fmt: skip
from objects import AVOID, READY, make_extender
from process import pick_port
from rendering import find, of_kind, read
from waiting import wait_for

REASON = "node is not in the pool"
POOL = {
    "apiVersion": "berth.dev/v1alpha1",
    "kind": "PlacementPolicy",
    "metadata": {"name": "pool"},
    "spec": {
        "filters": [{"name": "pool", "nodeLabels": {"example.com/pool": "blue"}, "reason": REASON}],
        "scores": [{"name": "pack", "binPack": {"cpu": 1}}],
    },
}
STATIC = DEPLOY / "static-pod"


def add_nodes(cluster):
    """Adds nodes; without berth kube-scheduler prefers red."""
    disk = {"ephemeral-storage": "10Gi"}
    cluster.add_node("red", {"example.com/pool": "red"}, **disk)
    cluster.add_node("blue", {"example.com/pool": "blue"}, taints=[AVOID], **disk)


def run_scheduler(cluster, machine, command, *flags):
    """Runs kube-scheduler with a container's command. Returns when it is ready."""
    words = machine.translate(command[1:])
    if not any(word.startswith("--secure-port") for word in words):
        words.append(f"--secure-port={pick_port()}")
    scheduler = cluster.plane.run(
        "kube-scheduler", cluster.plane.bin / "kube-scheduler", *words, *flags
    )
    (port,) = [word.partition("=")[2] for word in words if word.startswith("--secure-port=")]
    scheduler.scheme, scheduler.host, scheduler.port = "https", "127.0.0.1", int(port)
    cluster.running.append(scheduler)

    def look():
        scheduler.check_alive()
        return get_health(scheduler)

    wait_for("kube-scheduler to be ready", look, lambda seen: seen[0] == 200)
    return scheduler


def serve_container(cluster, machine, container):
    return cluster.run_serve(*machine.translate(container["args"]))


def add_running_pods(api, objects):
    """Adds the pods that controllers would create for the Deployments, one on each node."""
    pods = []
    for pod in make_pods(objects):
        for node in ("red", "blue"):
            each = copy.deepcopy(pod)
            each["metadata"]["name"] += f"-{node}"
            each["spec"]["nodeName"] = node
            pods.append(each)
    for pod in pods:
        path = get_path(pod)
        api.create(path.rpartition("/")[0], pod)
        api.patch(f"{path}/status", {"status": {"phase": "Running", "conditions": [READY]}})
    return pods


@pytest.fixture
def install(bare, cluster):
    """install(objects): applies them until the end of the scenario."""
    taken = []

    def install(objects, file=None):
        """@file: the same objects as a file, applied with the command for users."""
        taken.extend(objects)
        if file:
            bare.kubectl("apply", "-f", file)
        else:
            bare.apply([RESTRICTED, *objects])

    yield install
    for process in cluster.running:
        process.stop()
    remove(bare.api, taken)


# --- the chart ---

VALUES = {
    "bind": {"enabled": True},
    "wakeUp": {"enabled": True},
    "events": {"enabled": True},
    "policies": {"pool.yaml": POOL},
}


# Checks of `helm test` that a new, single berth without metrics does not pass.
NOT_TOLD = {
    "B110", "B111",  # the client certificate is in a file of another pod
    "B204", "B209", "B601", "B602",  # one berth
    "B203",  # with a URL that differs from the configuration
    "B212", "B213", "B214",  # no policy publishes
    "B502", "B505", "B506",
    "B507", "B508",  # no policies of the cluster
}  # fmt: skip


class Installation:
    """The chart's Deployments, with one process each."""

    def __init__(self, cluster, objects, folder):
        self.cluster, self.plane, self.objects = cluster, cluster.plane, objects
        self.folder = folder

    def machine(self, name, account, *ports):
        """The Machine on which the container @name runs, with its files."""
        container, volumes = find_container(self.objects, name)
        kubeconfig = self.plane.write_token_kubeconfig(account)
        machine = Machine(self.folder / name, kubeconfig, ports)
        machine.mount(self.objects, container, volumes)
        return machine, container

    def start(self, account):
        """@account: berth's."""
        machine, container = self.machine("berth", account, 8080, 8443, 8444)
        self.berth = serve_container(self.cluster, machine, container)
        machine, container = self.machine("kube-scheduler", "berth-scheduler", 10259)
        config = machine.path("/etc/kubernetes/berth/config.yaml")
        config.write_text(machine.translate_config(config.read_text(), self.berth.url))
        access = [f"--authentication-kubeconfig={machine.kubeconfig}",
                  f"--authorization-kubeconfig={machine.kubeconfig}"]  # fmt: skip
        run_scheduler(self.cluster, machine, container["command"], *access)

    def test(self):
        """Runs `helm test`. There is no DNS here, so names become addresses."""
        machine, container = self.machine("check", "berth-check")
        words = machine.translate(container["args"])
        (url,) = [word.partition("=")[2] for word in words if word.startswith("--server=")]
        words[words.index(f"--server={url}")] = f"--server={self.berth.url}"
        return self.cluster.run_berth(*words, "--url", url, "-o", "json")


@pytest.fixture
def install_chart(chart, cluster, install, tmp_path, monkeypatch):
    """install_chart(account, values): applies the chart and starts its processes."""
    monkeypatch.setenv("POD_NAMESPACE", "berth-system")

    def install_chart(account, **values):
        path = tmp_path / "values.yaml"
        path.write_text(yaml.safe_dump({**VALUES, **values}))
        objects = chart.render(path)
        install(objects)
        installation = Installation(cluster, objects, tmp_path)
        installation.start(account)
        return installation

    return install_chart


def assert_berth_decides(cluster):
    cluster.add_pod("goes", schedulerName="berth")
    assert cluster.wait_bound("goes") == "blue"
    cluster.add_pod("waits", schedulerName="berth", nodeSelector={"example.com/pool": "red"})
    cluster.wait_pending("waits", REASON)
    cluster.wait_event("waits", "NoNodePassed", REASON)


def test_sidecar(cluster, install_chart):
    add_nodes(cluster)
    installation = install_chart("berth-scheduler", placement="sidecar", pages={"generateToken": False})
    assert installation.berth.scheme == "http"
    assert_berth_decides(cluster)
    installation.berth.popen.send_signal(signal.SIGTERM)  # another one ends its --drain-delay


def test_service(cluster, install_chart):
    add_nodes(cluster)
    installation = install_chart("berth")
    assert installation.berth.scheme == "https"
    assert_berth_decides(cluster)

    pods = add_running_pods(cluster.api, installation.objects)
    done = installation.test()
    remove(cluster.api, pods)
    found = json.loads(done.stdout)["checks"]
    assert [each for each in found if each["state"] in ("failed", "warned")] == []
    assert {each["code"] for each in found if each["state"] == "skipped"} == NOT_TOLD
    assert done.returncode == 0
    installation.berth.popen.send_signal(signal.SIGTERM)  # another one ends its --drain-delay


def test_one_file(cluster, bare, install, one_file, tmp_path, monkeypatch):
    """berth.yaml of a release, with policies as in docs/install.md; a newer berth.yaml does not change them."""
    monkeypatch.setenv("POD_NAMESPACE", "berth-system")
    add_nodes(cluster)
    objects = read(one_file.read_text())
    install(objects, file=one_file)
    (tmp_path / "pool.yaml").write_text(yaml.safe_dump(POOL))
    made = bare.kubectl(
        "-n", "berth-system", "create", "configmap", "berth-policies", f"--from-file={tmp_path}/pool.yaml",
        "--dry-run=client", "-o", "yaml",
    )  # fmt: skip
    done = bare.run_kubectl("apply", "--server-side", "--field-manager=policies", "-f", "-", input=made)
    assert done.returncode == 0, done.stderr
    bare.kubectl("apply", "-f", one_file)
    policies = find(objects, "ConfigMap", "berth-policies")
    policies["data"] = cluster.api.get(get_path(policies))["data"]
    assert "pool.yaml" in policies["data"]
    installation = Installation(cluster, objects, tmp_path)
    installation.start("berth-scheduler")
    cluster.add_pod("goes", schedulerName="berth")
    assert cluster.wait_bound("goes") == "blue"
    cluster.add_pod("waits", schedulerName="berth", nodeSelector={"example.com/pool": "red"})
    cluster.wait_pending("waits", REASON)
    installation.berth.popen.send_signal(signal.SIGTERM)  # another one ends its --drain-delay


# --- kubeadm's static pod ---


class StaticPod:
    """The kube-scheduler of a control-plane node with @manifest."""

    def __init__(self, cluster, folder):
        self.cluster, plane = cluster, cluster.plane
        self.machine = Machine(folder, None, [8080])
        write = self.machine.write
        write("/etc/kubernetes/scheduler.conf", plane.scheduler_kubeconfig.read_text())
        write("/etc/kubernetes/berth/kubeconfig", plane.write_kubeconfig("berth").read_text())
        write("/etc/kubernetes/berth/policies/pool.yaml", yaml.safe_dump(POOL))
        text = (STATIC / "scheduler-config.yaml").read_text()
        kubeconfig = yaml.safe_load(text)["clientConnection"]["kubeconfig"]
        self.machine.kubeconfig = self.machine.path(kubeconfig)
        config = self.machine.translate_config(text, f"http://127.0.0.1:{self.machine.ports[8080]}")
        write("/etc/kubernetes/berth/scheduler-config.yaml", config)

    def start(self, manifest):
        """Starts the pod like a kubelet when the file appears."""
        spec = yaml.safe_load(manifest.read_text())["spec"]
        scheduler, *others = spec["containers"]
        for each in others:
            self.machine.mount([], each, spec["volumes"])
        berths = [serve_container(self.cluster, self.machine, each) for each in others]
        self.running = [run_scheduler(self.cluster, self.machine, scheduler["command"]), *berths]

    def replace(self, manifest):
        for process in self.running:
            process.stop()
        self.start(manifest)


def test_static_pod(cluster, bare, install, tmp_path):
    """Without berth, with berth, and reverted."""
    install(kustomize(bare, DEPLOY / "kustomize" / "overlays" / "default-scheduler")[1:])
    add_nodes(cluster)
    before, after = STATIC / "kube-scheduler.before.yaml", STATIC / "kube-scheduler.after.yaml"
    node = StaticPod(cluster, tmp_path / "node")
    node.start(before)
    cluster.add_pod("before")
    assert cluster.wait_bound("before") == "red"

    node.replace(after)
    cluster.add_pod("after")
    assert cluster.wait_bound("after") == "blue"
    cluster.add_pod("waits", nodeSelector={"example.com/pool": "red"})
    cluster.wait_pending("waits", REASON)

    node.replace(before)
    assert cluster.wait_bound("waits") == "red"
    cluster.add_pod("reverted")
    assert cluster.wait_bound("reverted") == "red"
    assert cluster.places()["after"] == "blue"


# --- berth's own pods ---

NOBODY_PASSES = """
filters:
  - {name: never, expression: "false", reason: never}
"""


def wait_placed(api, pods):
    for path in map(get_path, pods):
        what = f"{path} to get a node"
        wait_for(what, lambda: api.get(path), lambda pod: "nodeName" in pod["spec"])


def test_own_pods_pass_every_policy(chart, cluster, install, monkeypatch):
    """kube-scheduler calls berth for them, but no policy applies."""
    monkeypatch.setenv("POD_NAMESPACE", "berth-system")
    add_nodes(cluster)
    berth = cluster.start_berth("--policy", cluster.write_policy(NOBODY_PASSES))
    cluster.start_scheduler(make_extender(berth.url, names=False))
    cluster.add_pod("waits")
    cluster.wait_pending("waits", "2 never")
    objects = chart.render()
    own = list(make_pods(objects))
    install([*of_kind(objects, "ServiceAccount"), *own])
    wait_placed(cluster.api, own)
    assert metrics(berth)['berth_requests_total{verb="filter",code="200"}'] >= 3
    assert cluster.places() == {}


def test_own_pods_need_no_berth(chart, cluster, install):
    """No berth runs, so the second scheduler cannot place pods. The default scheduler, which has no
    extender, places the pods of berth and of the second scheduler."""
    add_nodes(cluster)
    nowhere = make_extender(f"http://127.0.0.1:{pick_port()}")
    cluster.start_scheduler(nowhere, profiles=[{"schedulerName": "berth"}])
    cluster.start_scheduler()
    cluster.add_pod("waits", schedulerName="berth")
    cluster.wait_pending("waits", "connection refused")
    objects = chart.render()
    own = list(make_pods(objects))
    assert len(own) == 2
    install([*of_kind(objects, "ServiceAccount"), *own])
    wait_placed(cluster.api, own)
    assert cluster.places() == {}
