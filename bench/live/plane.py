"""The control plane of test/e2e, with nodes and pods for the throughput benchmark."""

import contextlib
import http.client
import json
import pathlib
import random
import re
import subprocess
import threading
import time
from urllib.parse import urlencode

from machine import Load, cpu_seconds
from programs import ROOT, Failure
from world import NAMESPACES, make_new_pod, make_nodes, without

from api import Api  # programs added test/e2e to the path
from controlplane import ControlPlane

NAMESPACE = "bench"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
THREADS = 16
QPS = 5000
PATIENCE = 300  # seconds, for a run
READ_SIZE = 256 * 1024
ADDED = b'{"type":"ADDED"'  # in a watch of pods with a node: the pod has just been bound
VERSION = re.compile(rb'"resourceVersion":"(\d+)"')


def find_binaries():
    """The folder of kube-apiserver and the others; None where they cannot be built."""
    done = subprocess.run([ROOT / "tools" / "e2e", "--paths"], stdout=subprocess.PIPE, text=True)
    if done.returncode == 77:
        return None
    if done.returncode != 0:
        raise Failure("tools/e2e --paths failed")
    return pathlib.Path(done.stdout.splitlines()[0]).parent


class Plane(ControlPlane):
    """Without kubelets: pods stay where they were bound until they are deleted."""

    def start(self):
        self.start_etcd()
        self.start_apiserver()
        self.install_berth()
        self.make_namespace(NAMESPACE)

    def for_all(self, items, do):
        for_all(lambda: Api(self.port, self.api.context), items, do)

    def create_nodes(self, count):
        rng = random.Random(1)
        nodes = map(without_own, make_nodes(count, rng, is_open=True))
        self.for_all(nodes, lambda api, node: api.create("/api/v1/nodes", node))

    def create_pods(self, count, prefix="pod", **spec):
        rng = random.Random(2)
        pods = (make_new_pod("%s-%05d" % (prefix, i), rng) for i in range(count))
        self.for_all(pods, lambda api, pod: api.create(PODS, {**pod, "spec": {**pod["spec"], **spec}}))

    def create_world(self, world):
        """Creates the objects of @world in the real API server, a few hundred per second."""
        for number in range(NAMESPACES):
            self.make_namespace(f"team-{number}")
        nodes = (without_own(json.loads(text)) for text in world.node_texts)
        self.for_all(nodes, lambda api, node: api.create("/api/v1/nodes", node))
        pods = (without_own(json.loads(world.pod_text(pod))) for pod in world.pods)
        self.for_all(pods, create_with_status)

    def delete_pods(self):
        self.api.delete(PODS, gracePeriodSeconds=0)
        self.api.delete(f"/api/v1/namespaces/{NAMESPACE}/events")
        while self.api.get(PODS, limit=1)["items"]:
            time.sleep(0.1)

    def dump_nodes(self, path):
        """A cluster file, for programs that cannot watch."""
        nodes = self.api.get("/api/v1/nodes")["items"]
        items = [{"apiVersion": "v1", "kind": "Node", **node} for node in nodes]
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        return path


def for_all(connect, items, do):
    """Calls do(api, item) for each item, on several threads with a connection each. An error in
    one thread stops all of them and is raised."""
    left, lock, errors = iter(items), threading.Lock(), []

    def take():
        with lock:
            return None if errors else next(left, None)

    def work():
        try:
            with contextlib.closing(connect()) as api:
                while (item := take()) is not None:
                    do(api, item)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise Failure(f"while filling the cluster: {errors[0]!r}") from errors[0]


def without_own(obj):
    """@obj without the fields that only an API server may set."""
    own = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
    return {**obj, "metadata": without(obj["metadata"], *own)}


def create_with_status(api, pod):
    """The API server drops the status of a new pod, so it is patched."""
    path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"
    api.create(path, pod)
    api.patch(f"{path}/{pod['metadata']['name']}/status", {"status": pod["status"]})


class Binding:
    """Watches pods until they are bound, and measures CPU time from the first to the last bind.
    @find_pids returns names and ids of the measured processes; it is called at the first bind. With
    @from_start it is called, and the measurement begins, now."""

    def __init__(self, plane, count, find_pids, from_start=False):
        self.plane, self.count, self.find_pids = plane, count, find_pids
        self.times, self.cpu, self.error = [], {}, None
        self.is_over = threading.Event()
        self.pids = None
        if from_start:
            self._measure()
        version = plane.api.get(PODS, limit=1)["metadata"]["resourceVersion"]
        threading.Thread(target=self._run, args=(version,), daemon=True).start()

    def _run(self, version):
        try:
            while len(self.times) < self.count:
                for event in self._watch(version):
                    version = VERSION.search(event)[1].decode()
                    if event.startswith(ADDED):
                        self._note()
                    if len(self.times) == self.count:
                        break
        except Exception as error:
            self.error = error
        self.is_over.set()

    def _watch(self, version):
        """Yields lines as bytes: decoding all of them would take a core from the measured
        processes. kube-apiserver ends a watch that does not keep up; then a new one continues."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.plane.port,
                                                 context=self.plane.api.context)
        query = {"watch": "true", "fieldSelector": "spec.nodeName!=", "resourceVersion": version}
        connection.request("GET", f"{PODS}?{urlencode(query)}")
        response = connection.getresponse()
        if response.status != 200:
            raise Failure("the watch on bound pods: %s" % response.read())
        half = b""
        while data := response.read1(READ_SIZE):
            *lines, half = (half + data).split(b"\n")
            yield from lines
        connection.close()

    def _measure(self):
        self.pids = self.find_pids()
        self.load = Load(list(self.pids.values()))
        self.before = {name: cpu_seconds(pid) for name, pid in self.pids.items()}

    def add(self, name, pid):
        """Adds a process that starts later; it is measured from its start."""
        self.pids[name], self.before[name] = pid, 0
        self.load.add(pid)

    def _note(self):
        self.times.append(time.monotonic())
        if not self.pids:
            self._measure()
        if len(self.times) == self.count:
            self.cpu = {name: cpu_seconds(pid) - self.before[name]
                        for name, pid in self.pids.items()}
            self.foreign = self.load.stop()

    def wait(self):
        self.is_over.wait(PATIENCE)
        if len(self.times) < self.count:
            raise Failure("%d of %d pods were bound; %s" % (
                len(self.times), self.count, self.error or "then nothing more came"))

    def pods_per_second(self):
        return (self.count - 1) / (self.times[-1] - self.times[0])

    def cpu_msec_per_pod(self, name):
        return self.cpu[name] / (self.count - 1) * 1e3 if name in self.cpu else None
