"""One scenario's cluster: a namespace, nodes, pods, and the berth and kube-scheduler that place
them."""

import re
import signal
import ssl
import subprocess

import client
import nodemode
from api import ApiError
from objects import make_extender, make_node, make_pod
from process import make_environment, pick_port
from waiting import wait_for

LISTENING = re.compile(r"^listening on (https?)://(.*):(\d+)$", re.MULTILINE)
CLEAN_ENDS = [0, -signal.SIGKILL]  # the latter if the scenario itself killed it


class Cluster:
    def __init__(self, plane, berth_path, folder, namespace):
        self.plane, self.api, self.berth_path = plane, plane.api, berth_path
        self.folder, self.namespace = folder, namespace
        self.pods_path = f"/api/v1/namespaces/{namespace}/pods"
        self.running = []
        self.n_before = len(plane.processes)
        self.audit_start, self.expected_denials = plane.audit.size(), set()
        plane.make_namespace(namespace)

    def clear(self):
        """Empties the cluster for the next scenario. The namespace stays: without its controller it
        would stay in Terminating."""
        statuses = [(process.name, process.stop()) for process in reversed(self.running)]
        if not self.plane.apiserver.is_alive():  # the scenario failed before its end
            self.plane.start_apiserver()
        self.api.delete(self.pods_path, gracePeriodSeconds=0)
        self.api.delete("/api/v1/nodes")
        # Any other exit status of berth may be a sanitizer's finding. That of kube-scheduler does not matter.
        ends = [status for name, status in statuses if name == "berth"]
        assert all(status in CLEAN_ENDS for status in ends), f"berth ended with {ends}"
        assert self.plane.audit.denials(self.audit_start) == self.expected_denials

    def expect_denials(self, *denials):
        """Expects denials of "ACCOUNT: VERB RESOURCE"; all others fail the scenario."""
        self.expected_denials.update(denials)

    def find_logged(self):
        """The processes whose logs may show why the scenario failed."""
        started = self.plane.processes[self.n_before :]
        return started if self.plane.apiserver in started else [*started, self.plane.apiserver]

    # --- objects ---

    def add_node(self, name, *args, **fields):
        return self.api.create("/api/v1/nodes", make_node(name, *args, **fields))

    def add_pod(self, name, *args, **fields):
        return self.api.create(self.pods_path, make_pod(name, *args, **fields))

    def add_priority(self, name, value):
        """Creates a PriorityClass. It stays: other scenarios use the same value."""
        path = "/apis/scheduling.k8s.io/v1/priorityclasses"
        self.api.create_once(path, {"metadata": {"name": name}, "value": value})

    def pod(self, name):
        return self.api.get(f"{self.pods_path}/{name}")

    def pods(self):
        return self.api.get(self.pods_path)["items"]

    def places(self):
        """{pod: node} of the pods that have one."""
        nodes = {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in self.pods()}
        return {name: node for name, node in nodes.items() if node}

    def changes_since(self, version):
        """All events of pods since the list of this resourceVersion: (type, pod)."""
        found = list(self.api.watch(self.pods_path, resourceVersion=version, timeoutSeconds=1))
        errors = [obj for kind, obj in found if kind == "ERROR"]
        assert not errors, errors
        return found

    def set_phase(self, name, phase):
        """Sets the phase, like a kubelet: Running, Succeeded, Failed."""
        self.api.patch(f"{self.pods_path}/{name}/status", {"status": {"phase": phase}})

    def delete_pod(self, name):
        self.api.delete(f"{self.pods_path}/{name}")

    def events(self, pod_name):
        """(reason, message) of all events of a pod."""
        found = self.api.get(
            f"/api/v1/namespaces/{self.namespace}/events",
            fieldSelector=f"involvedObject.name={pod_name}",
        )
        return [(event["reason"], event["message"]) for event in found["items"]]

    # --- what users see ---

    def describe_pod(self, name):
        return self.plane.kubectl("describe", "pod", name, "-n", self.namespace)

    def dump(self):
        """A file for --cluster, made as in the README."""
        path = self.folder / "cluster.json"
        path.write_text(self.plane.kubectl("get", "nodes,pods", "-A", "-o", "json"))
        return path

    def run_berth(self, *args):
        """Runs a command of berth other than serve."""
        return subprocess.run(
            list(map(str, [self.berth_path, *args])),
            env=make_environment(self.folder, NO_COLOR="1"),
            capture_output=True,
            text=True,
            timeout=90,
        )

    # --- outcomes ---

    def wait_bound(self, name):
        """Waits until the pod is bound. Returns the node."""

        def look():
            pod = self.pod(name)
            return {"node": pod["spec"].get("nodeName"), **find_condition(pod, "PodScheduled")}

        return wait_for(f"pod {name} to get a node", look, lambda seen: seen["node"])["node"]

    def wait_pending(self, name, text):
        """Waits until kube-scheduler reports @text for a pending pod. Returns the
        condition."""

        def look():
            pod = self.pod(name)
            assert "nodeName" not in pod["spec"], f"{name} is on {pod['spec']['nodeName']}"
            return find_condition(pod, "PodScheduled")

        return wait_for(
            f'pod {name} to wait with "{text}"', look, lambda seen: text in seen.get("message", "")
        )

    def wait_gone(self, name):
        def look():
            try:
                return self.pod(name)["metadata"]
            except ApiError as error:
                return error.status

        wait_for(f"pod {name} to be gone", look, lambda seen: seen == 404)

    def wait_event(self, name, reason, text):
        return wait_for(
            f'an event {reason} of {name} with "{text}"',
            lambda: self.events(name),
            lambda events: any(reason == event[0] and text in event[1] for event in events),
        )

    def wait_places(self, n):
        """Waits until @n pods have a node. Returns places()."""
        return wait_for(f"{n} pods to have a node", self.places, lambda seen: len(seen) >= n)

    def wait_figure(self, berth, name, value):
        """Waits until berth's metric @name is @value."""
        wait_for(
            f"{name} to be {value}", lambda: client.metrics(berth)[name], lambda seen: seen == value
        )

    def assert_cluster_copy_is_true(self, berth):
        """berth's view of the cluster equals the API server's. Watches lag
        a little, so only a lasting difference fails."""

        def look():
            take_dump(berth)
            access = ["--kubeconfig", self.plane.berth_kubeconfig]
            return self.run_berth("dump", "--compare", berth.dump_file, *access)

        done = wait_for("the dump to be true", look, lambda done: done.returncode == 0)
        assert done.stdout == f"{berth.dump_file} and the cluster are the same\n"

    # --- berth and kube-scheduler ---

    def write_policy(self, spec):
        """@spec: lines of YAML under `spec:`. Atomically replaces an existing policy."""
        lines = "".join(f"  {line}\n" for line in spec.strip().splitlines())
        path, new = self.folder / "policy.yaml", self.folder / "policy.yaml.new"
        new.write_text(
            "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\n"
            f"metadata: {{name: e2e}}\nspec:\n{lines}"
        )
        return new.rename(path)

    def edit_policy(self, berth, spec, result="good"):
        """Replaces the policy and waits until berth has loaded or rejected it."""
        figure = f'berth_config_reloads_total{{config="policy",result="{result}"}}'
        before = client.metrics(berth).get(figure, 0)
        self.write_policy(spec)
        wait_for(
            "berth to read the policy",
            lambda: client.metrics(berth).get(figure, 0),
            lambda seen: seen == before + 1,
        )

    def start_berth(self, *flags, port=None, until_ready=True, dump_file=None):
        listen = f"127.0.0.1:{port or pick_port()}"
        dump_file = dump_file or self.folder / "dump.json"
        if "--kubeconfig" in flags:
            flags = [*flags, "--dump-file", dump_file]
        berth = self.run_serve("serve", "--listen", listen, *flags, until_ready=until_ready)
        berth.dump_file = dump_file
        return berth

    def run_serve(self, *arguments, until_ready=True):
        """Starts berth with exactly these arguments. Returns when it is ready."""
        berth = self.plane.run("berth", self.berth_path, *arguments)
        self.running.append(berth)

        def look():
            berth.check_alive()
            return LISTENING.search(berth.log.read_text())

        found = wait_for("berth to listen", look)
        berth.scheme, berth.host, berth.port = found[1], found[2], int(found[3])
        berth.url = f"{berth.scheme}://{berth.host}:{berth.port}"
        if until_ready:
            wait_for("berth to be ready", lambda: get_health(berth), lambda seen: seen[0] == 200)
        return berth

    def start_scheduler(self, *extenders, **fields):
        scheduler = self.plane.start_scheduler(list(extenders), **fields)
        self.running.append(scheduler)
        return scheduler

    def run_scheduler(self, config):
        """Starts kube-scheduler with the text of a configuration file."""
        scheduler = self.plane.run_scheduler(config)
        self.running.append(scheduler)
        return scheduler

    def start(self, mode, *flags, **extender_fields):
        """Starts berth in a node mode (see nodemode.py) and a kube-scheduler that calls it."""
        berth = self.start_berth(*mode.flags(self), *flags)
        self.start_scheduler(make_extender(berth.url, mode.sends_names, **extender_fields))
        return berth

    def start_binder(self, *flags, **fields):
        """Starts a berth that watches the cluster, and a kube-scheduler that lets it bind."""
        return self.start(nodemode.Live(), *flags, bindVerb="bind", **fields)


def take_dump(berth):
    berth.dump_file.unlink(missing_ok=True)
    berth.popen.send_signal(signal.SIGUSR2)
    wait_for("berth to write a dump", berth.dump_file.exists)


def get_health(berth):
    """(status, text) of /readyz, which needs no certificate."""
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    reply = client.get(berth, "/readyz?verbose", context=unverified)
    return reply.status, reply.text


def find_condition(obj, kind):
    found = [each for each in obj["status"].get("conditions", []) if each["type"] == kind]
    return found[0] if found else {}
