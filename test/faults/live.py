"""A berth that watches the scripted API server, and its view of the cluster."""

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time

import client
from apistate import NODES, PODS
from objects import make_node, make_pod

POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: faults}
spec:
  filters:
    - {name: pool, nodeLabels: {pool: blue}, reason: not blue}
    - {name: room, headroom: {cpu: 1m}, reason: no room}
  scores:
    - {name: pack, binPack: {cpu: 1}}
"""
LISTENING = re.compile(r"^listening on (https?)://(.*):(\d+)$", re.MULTILINE)
STOP_SECONDS = 20


# --- objects ---


def node(name, pool="blue", cpu="8", **metadata):
    obj = make_node(name, {"pool": pool}, cpu=cpu)
    obj["metadata"].update(metadata)
    return obj


def pod(name, on=None, cpu="100m", phase=None, namespace="default", **metadata):
    obj = make_pod(name, cpu=cpu)
    obj["metadata"].update(namespace=namespace, **metadata)
    if on:
        obj["spec"]["nodeName"] = on
    obj["status"] = {"phase": phase or ("Running" if on else "Pending")}
    return obj


def fill(server, n_nodes=20, pods_per_node=2):
    """Adds nodes: half of them are blue, and some have no room."""
    for i in range(n_nodes):
        name = f"n-{i:04}"
        pool, cpu = "blue" if i % 2 == 0 else "red", "1" if i % 5 == 0 else "8"
        server.state.put(NODES, node(name, pool, cpu))
        for j in range(pods_per_node):
            server.state.put(PODS, pod(f"p-{i:04}-{j}", on=name, cpu="450m"))


def has_new_watches(server, old):
    """Whether the watches of @old have ended and others have begun."""
    kinds = [watch.kind.resource for watch in server.open_watches() if watch not in old]
    return sorted(kinds) == ["nodes", "pods"] and not any(watch.is_open for watch in old)


def count_relists(server):
    return [len(server.relists(resource)) for resource in ("nodes", "pods")]


# --- berth's view, and the true state ---

UNITS = {"": 1, "m": 0.001, "k": 1e3, "M": 1e6, "G": 1e9, "Ki": 1024, "Mi": 1024**2, "Gi": 1024**3}


def amounts(quantities):
    """{resource: amount in thousandths}, which is exact enough for the objects here."""
    read = {}
    for name, text in (quantities or {}).items():
        number, unit = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", text).groups()
        read[name] = round(float(number) * UNITS[unit] * 1000)
    return read


def see_node(obj):
    meta, spec = obj["metadata"], obj.get("spec") or {}
    return {
        "uid": meta.get("uid"),
        "labels": meta.get("labels") or {},
        "taints": spec.get("taints") or [],
        "unschedulable": spec.get("unschedulable", False),
        "allocatable": amounts(obj["status"].get("allocatable")),
    }


def see_pod(obj):
    meta, spec = obj["metadata"], obj["spec"]
    requests = {}
    for container in spec["containers"]:
        for name, amount in amounts(container["resources"].get("requests")).items():
            requests[name] = requests.get(name, 0) + amount
    return {
        "uid": meta.get("uid"),
        "node": spec.get("nodeName"),
        "labels": meta.get("labels") or {},
        "requests": requests,
        "is_ending": "deletionTimestamp" in meta,
    }


def make_view(objects):
    """{key: fields that decisions read}, for all nodes and for all pods that count on a node."""
    nodes = {o["metadata"]["name"]: see_node(o) for o in objects if is_node(o)}
    pods = {}
    for obj in objects:
        is_over = (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        if is_node(obj) or is_over or obj["spec"].get("nodeName") not in nodes:
            continue
        meta = obj["metadata"]
        pods[f"{meta['namespace']}/{meta['name']}"] = see_pod(obj)
    return {**nodes, **pods}


def is_node(obj):
    return "containers" not in (obj.get("spec") or {})


def true_view(server):
    with server.lock:
        objects = [v.object for kind in server.state.objects.values() for v in kind.values()]
    return make_view(objects)


def differences(believed, expected):
    """A few lines for the message of a failed test."""
    keys = sorted(key for key in {*believed, *expected} if believed.get(key) != expected.get(key))
    lines = [f"{key}: {believed.get(key)} instead of {expected.get(key)}" for key in keys[:5]]
    return "\n".join([f"{len(keys)} differ", *lines])


# --- the program ---


class Live:
    """A running `berth serve --kubeconfig` with its log in a file."""

    def __init__(self, path, folder, kubeconfig, flags):
        folder.mkdir()
        self.log, self.dump_path = folder / "log", folder / "dump.json"
        self.expected = 0  # exit status
        command = [
            path, "serve", "--listen", "127.0.0.1:0", "--kubeconfig", kubeconfig,
            "--dump-file", self.dump_path, *flags,
        ]  # fmt: skip
        with self.log.open("wb") as log:
            self.popen = subprocess.Popen(
                [str(word) for word in command], stdout=subprocess.PIPE, stderr=log, text=True
            )
        match = LISTENING.match(self.popen.stdout.readline())
        if not match:
            self.popen.kill()
            self.popen.wait()
            raise RuntimeError(f"berth did not start: {self.log.read_text()}")
        self.scheme, self.host, self.port = match[1], match[2], int(match[3])

    def is_alive(self):
        return self.popen.poll() is None

    def kill(self):
        self.expected = -signal.SIGKILL
        self.popen.kill()
        self.popen.wait()

    def stop(self):
        """Ends it. Returns whether it ended as expected. May be called again."""
        if self.is_alive():
            self.popen.send_signal(signal.SIGTERM)
        try:
            status = self.popen.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            status = self.popen.wait()
        self.popen.stdout.close()
        return status == self.expected

    def is_ready(self):
        return client.get(self, "/readyz").status == 200

    def health(self):
        return client.get(self, "/readyz?verbose").text

    def figure(self, name, resource=None):
        labels = f'{{resource="{resource}"}}' if resource else ""
        return client.metrics(self)[name + labels]

    def is_connected(self, resource=None):
        kinds = [resource] if resource else ["nodes", "pods"]
        return all(self.figure("berth_cluster_connected", kind) for kind in kinds)

    def rss(self, field="VmRSS"):
        with open(f"/proc/{self.popen.pid}/status", encoding="ascii") as status:
            return int(re.search(rf"{field}:\s*(\d+)", status.read())[1]) * 1024

    # --- its view of the cluster ---

    def objects(self):
        """The objects of its dump on SIGUSR2."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.dump_path)
        self.popen.send_signal(signal.SIGUSR2)
        client.wait_until(self.dump_path.exists, "the dump")
        return json.loads(self.dump_path.read_text())["items"]

    def view(self):
        return make_view(self.objects())

    def wait_view(self, expect):
        """Waits until its view of the cluster equals the result of @expect()."""
        deadline = time.monotonic() + client.PATIENCE
        while (believed := self.view()) != (expected := expect()):
            if time.monotonic() > deadline:
                raise AssertionError(
                    differences(believed, expected) + "\n" + self.health() + self.tail()
                )
            time.sleep(0.05)

    def wait_true(self, server):
        self.wait_view(lambda: true_view(server))

    def tail(self, n_lines=15):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-n_lines:])

    # --- requests ---

    def filter(self, names, of=None, connection=None):
        body = {"Pod": of or pod("asked"), "NodeNames": list(names)}
        return client.post(self, "filter", body, connection)

    def bind(self, of, target):
        meta = of["metadata"]
        body = {
            "PodName": meta["name"],
            "PodNamespace": meta["namespace"],
            "PodUID": meta["uid"],
            "Node": target,
        }
        reply = client.post(self, "bind", body)
        assert reply.status == 200
        return reply.json()["Error"]


class FilterLoop:
    """Sends filter requests for @names to @berth repeatedly during a `with` block, like kube-scheduler.
    Every reply must have status 200, and check(reply) must be true."""

    def __init__(self, berth, names, check=None):
        self.berth, self.names, self.check = berth, list(names), check
        self.n_answers, self.problems = 0, []
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.is_over = False

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, value, traceback):
        self.is_over = True
        self.thread.join()
        if not kind:
            assert not self.problems, self.problems[:3]
            assert self.n_answers > 0

    def _run(self):
        connection = client.open_connection(self.berth)
        try:
            while not self.is_over and not self.problems:
                reply = self.berth.filter(self.names, connection=connection)
                self.n_answers += 1
                if reply.status != 200 or (self.check and not self.check(reply)):
                    self.problems.append((reply.status, reply.text[:300]))
                time.sleep(0.002)
        except Exception as error:
            self.problems.append(repr(error))
        finally:
            connection.close()


def same_as(reply):
    """A check that the reply has exactly these bytes."""
    return lambda other: other.body == reply.body


@contextlib.contextmanager
def starting(berth_path, server, folder):
    """start(*flags) -> Live, which watches @server with a policy in force, and is ready by
    default. All of them must end with the expected status."""
    policy = folder / "policy.yaml"
    policy.write_text(POLICY)
    running = []

    def start(*flags, is_ready=True, kubeconfig=None):
        kubeconfig = kubeconfig or server.write_kubeconfig(folder / "kubeconfig")
        own = folder / f"berth-{len(running)}"
        live = Live(berth_path, own, kubeconfig, ["--policy", policy, *flags])
        running.append(live)
        if is_ready:
            client.wait_until(live.is_ready, "berth to be ready")
        return live

    try:
        yield start
    finally:
        server.thaw()
        ends = [(live.stop(), live) for live in running]
    logs = [live.tail(40) for is_well, live in ends if not is_well]
    assert not logs, "berth did not end well:\n" + "\n".join(logs)
