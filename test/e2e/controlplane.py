"""A control plane on loopback: etcd, kube-apiserver with RBAC, kube-schedulers, kubectl.

There are no kubelets and no controllers: nodes do not change (kubelet.py does the one required task
of kubelets), and the harness creates the objects that controllers would create.
"""

import base64
import json
import os
import pathlib
import re
import signal
import subprocess

import yaml
from api import Api, ApiError, make_context
from audit import Audit
from authority import Authority, openssl
from kubelet import Kubelet
from objects import BERTH_NAMESPACE, make_role_binding, make_scheduler_config
from process import Process, make_environment, pick_port
from waiting import wait_for

# Of kube-scheduler: 29 of 1.29.
MINOR = int(os.environ.get("KUBERNETES", "1.999").split(".")[1])

RBAC = "/apis/rbac.authorization.k8s.io/v1"

DEFINITION = pathlib.Path(__file__).resolve().parents[2] / "deploy/kustomize/components/policies-from-cluster/crd.yaml"
INSTALLED = pathlib.Path(__file__).resolve().parent / "installed" / "rights"
ACCOUNTS = f"/api/v1/namespaces/{BERTH_NAMESPACE}/serviceaccounts"
TOKEN_SECONDS = 24 * 3600

# Kinds of the shipped objects that define berth's identity and rights.
ROLES = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
IDENTITY = ("Namespace", "ServiceAccount", *ROLES)


def is_established(definition):
    conditions = definition.get("status", {}).get("conditions") or []
    return ("Established", "True") in [(each["type"], each["status"]) for each in conditions]


class ControlPlane:
    """@bin: the binaries of tools/e2e. All other files go into @folder."""

    def __init__(self, bin, folder):
        self.bin, self.folder = bin, folder
        self.authority = Authority(folder / "ca", "e2e")
        self.server_pair = self.authority.issue_server()
        self.etcd_port, self.port = pick_port(), pick_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.processes = []
        self.n_kubeconfigs = 0
        self.audit = Audit(folder)
        self.api = self.connect("admin", "system:masters")
        self.admin_kubeconfig = self.write_kubeconfig("admin", "system:masters")
        self.scheduler_kubeconfig = self.write_kubeconfig("system:kube-scheduler")
        self.kubelet = Kubelet(self.connect("kubelet", "system:masters"))
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", folder / "sa.key")

    def start(self):
        self.start_etcd()
        self.start_apiserver()
        self.install_berth()
        self.kubelet.start()

    def stop(self):
        """Kills all processes, because their data is no longer needed."""
        self.kubelet.stop()
        self.api.close()
        for process in reversed(self.processes):
            process.stop(signal.SIGKILL)

    # --- identities ---

    def connect(self, user, group=None):
        pair = self.authority.issue_client(user, group)
        return Api(self.port, make_context(self.authority, pair))

    def write_kubeconfig(self, user, group=None):
        pair = self.authority.issue_client(user, group)
        proof = f"client-certificate-data: {encode(pair.certificate)}"
        return self.write_kubeconfig_file(user, proof, f"client-key-data: {encode(pair.key)}")

    def write_token_kubeconfig(self, account):
        """Writes a kubeconfig for a service account in berth's namespace."""
        wanted = {"spec": {"expirationSeconds": TOKEN_SECONDS}}
        token = self.api.create(f"{ACCOUNTS}/{account}/token", wanted)["status"]["token"]
        return self.write_kubeconfig_file(account, f"token: {token}")

    def write_kubeconfig_file(self, user, *proof):
        self.n_kubeconfigs += 1
        path = self.folder / f"{user.replace(':', '-')}.{self.n_kubeconfigs}.kubeconfig"
        lines = "\n    ".join(proof)
        path.write_text(f"""\
apiVersion: v1
kind: Config
clusters:
- name: e2e
  cluster:
    server: {self.url}
    certificate-authority-data: {encode(self.authority.certificate)}
users:
- name: {user}
  user:
    {lines}
contexts:
- name: e2e
  context: {{cluster: e2e, user: {user}}}
current-context: e2e
""")
        return path

    def install_berth(self):
        """Creates berth's account with exactly the roles of deploy/."""
        shipped = yaml.safe_load_all(self.kubectl("kustomize", INSTALLED))
        self.installed = [each for each in shipped if each["kind"] in IDENTITY]
        self.apply(self.installed)
        self.berth_kubeconfig = self.write_token_kubeconfig("berth")

    def install_definition(self):
        """Installs the shipped CustomResourceDefinition of PlacementPolicies."""
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", DEFINITION)
        self.wait_established("placementpolicies.berth.dev")

    def wait_established(self, *names):
        """Waits until the API server serves these CustomResourceDefinitions. (`kubectl wait` fails before they have conditions.)"""
        for name in names:
            path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
            wait_for(name, lambda: is_established(self.api.get(path)))

    def make_berth_identity(self, name, *roles):
        """A kubeconfig for a berth with fewer rights than usual. @roles: shipped ones."""
        self.api.create_once(ACCOUNTS, {"metadata": {"name": name}})
        for role in roles:
            self.api.create_once(f"{RBAC}/clusterrolebindings", make_role_binding(role, name))
        return self.write_token_kubeconfig(name)

    def apply(self, objects, *flags):
        """Applies like `kubectl apply --server-side`. Returns kubectl's warnings."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        done = self.run_kubectl("apply", "--server-side", "-f", "-", *flags, input=text)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def make_namespace(self, name):
        self.api.create_once("/api/v1/namespaces", {"metadata": {"name": name}})
        # A controller would create this account. Without it the API server rejects pods.
        account = {"metadata": {"name": "default"}}
        self.api.create_once(f"/api/v1/namespaces/{name}/serviceaccounts", account)

    # --- processes ---

    def run(self, name, *argv):
        """Starts a program. Its log is printed if a scenario fails."""
        log = self.folder / f"{len(self.processes)}-{name}.log"
        process = Process(name, argv, log)
        self.processes.append(process)
        return process

    def start_etcd(self):
        url = f"http://127.0.0.1:{self.etcd_port}"
        peers = f"http://127.0.0.1:{pick_port()}"
        self.etcd = self.run(
            "etcd", self.bin / "etcd", "--data-dir", self.folder / "etcd", "--unsafe-no-fsync",
            "--listen-client-urls", url, "--advertise-client-urls", url,
            "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
            "--initial-cluster", f"default={peers}", "--log-level", "warn",
        )  # fmt: skip

    def start_apiserver(self, *flags):
        """@flags: in addition to the usual ones. Returns when it is ready."""
        with self.audit.looking_away():
            self.apiserver = self._run_apiserver(flags)
            self.wait_ready(self.apiserver, self.api)

    def _run_apiserver(self, flags):
        server, authority = self.server_pair, self.authority
        return self.run(
            "kube-apiserver", self.bin / "kube-apiserver",
            "--etcd-servers", f"http://127.0.0.1:{self.etcd_port}",
            "--bind-address=127.0.0.1", "--secure-port", self.port,
            # The API server's own endpoints are not needed, and loopback addresses would be rejected.
            "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--tls-cert-file", server.certificate, "--tls-private-key-file", server.key,
            "--client-ca-file", authority.certificate,
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-account-key-file", self.folder / "sa.key",
            "--service-account-signing-key-file", self.folder / "sa.key",
            "--authorization-mode=RBAC",
            *self.audit.flags,
            # It taints every new node, and no controller here removes the taint.
            "--disable-admission-plugins=TaintNodesByCondition",
            # Otherwise it would wait for the end of its clients' watches on SIGTERM.
            "--shutdown-watch-termination-grace-period=1s",
            *flags,
        )  # fmt: skip

    def stop_apiserver(self, how=signal.SIGTERM):
        self.apiserver.stop(how)

    def restart_apiserver(self, *flags, how=signal.SIGTERM):
        """The same port, the same etcd."""
        self.stop_apiserver(how)
        self.start_apiserver(*flags)

    def start_scheduler(self, extenders, **fields):
        """@fields: of the KubeSchedulerConfiguration, or qps. Returns when it is ready."""
        config = make_scheduler_config(self.scheduler_kubeconfig, extenders, **fields)
        return self.run_scheduler(json.dumps(config))

    def run_scheduler(self, config):
        """@config: the text of its file, JSON or YAML."""
        path = self.folder / f"{len(self.processes)}-scheduler.yaml"
        path.write_text(config)
        port, server = pick_port(), self.server_pair
        scheduler = self.run(
            "kube-scheduler", self.bin / "kube-scheduler", "--config", path, "--v=2",
            "--bind-address=127.0.0.1", "--secure-port", port,
            "--tls-cert-file", server.certificate, "--tls-private-key-file", server.key,
            "--authorization-always-allow-paths=/readyz,/healthz,/metrics",
        )  # fmt: skip
        scheduler.api = Api(port, self.api.context)
        scheduler.count_waiting = lambda queue: count_waiting(scheduler.api, queue)
        self.wait_ready(scheduler, scheduler.api)
        return scheduler

    def wait_ready(self, process, api):
        paths = ["/readyz"]

        def look():
            process.check_alive()
            try:
                return api.get(paths[0])
            except ApiError as error:
                if error.status == 404:  # kube-scheduler 1.30 and older
                    paths[0] = "/healthz"
                return str(error)

        try:
            wait_for(f"{process.name} to be ready", look, lambda seen: seen == "ok", seconds=60)
        except AssertionError:
            process.stop()
            raise

    def kubectl(self, *args):
        """The output of kubectl. @args as on the command line."""
        done = self.run_kubectl(*args)
        assert done.returncode == 0, f"kubectl {' '.join(map(str, args))}: {done.stderr}"
        return done.stdout

    def run_shell(self, commands):
        """Commands of a page, with kubectl."""
        environment = make_environment(self.folder, KUBECONFIG=str(self.admin_kubeconfig))
        environment["PATH"] = f"{self.bin}:{environment.get('PATH', os.environ['PATH'])}"
        done = subprocess.run(["bash", "-euc", commands], env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{commands}: {done.stderr}"

    def run_kubectl(self, *args, **options):
        return subprocess.run(
            [self.bin / "kubectl", *args],
            env=make_environment(self.folder, KUBECONFIG=str(self.admin_kubeconfig)),
            capture_output=True,
            text=True,
            timeout=60,
            **options,
        )


def count_waiting(scheduler_api, queue):
    """The number of pods in a queue of kube-scheduler: active, backoff, unschedulable (not retried
    until an event in the cluster)."""
    figure = re.search(
        rf'^scheduler_pending_pods{{queue="{queue}"}} (\d+)', scheduler_api.get("/metrics"), re.M
    )
    return int(figure[1]) if figure else 0


def encode(path):
    return base64.b64encode(path.read_bytes()).decode()
