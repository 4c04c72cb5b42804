"""Applies the manifests of deploy/ to a real API server, and runs them as far as possible without kubelets:
a container becomes a process, with paths and ports of this machine.
"""

import base64
import copy
import json
import pathlib
import re
import subprocess

import yaml
from objects import BERTH_NAMESPACE
from process import pick_port
from rendering import find, of_kind, pods, read
from waiting import wait_for

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
DOWNLOAD_SECONDS = 600  # the first time, on a slow connection

# Modules with CustomResourceDefinitions: the module's hash, its folder of definitions, and the files
# that are used.
DEFINITIONS = {
    "github.com/cert-manager/cert-manager@v1.21.2": (
        "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=",
        "deploy/crds",
        ["cert-manager.io_certificates", "cert-manager.io_issuers"],
    ),
    "github.com/prometheus-operator/prometheus-operator@v0.85.0": (
        "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
        "example/prometheus-operator-crd",
        ["monitoring.coreos.com_servicemonitors", "monitoring.coreos.com_prometheusrules"],
    ),
}
ADDED_GROUPS = ("cert-manager.io/", "monitoring.coreos.com/")

# The namespace with the label that `helm install --create-namespace` does not set.
RESTRICTED = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {
        "name": BERTH_NAMESPACE,
        "labels": {
            f"pod-security.kubernetes.io/{each}": "restricted" for each in ("enforce", "warn")
        },
    },
}


def fetch_definitions():
    """The files, or None if they are not available. They come from the Go module proxy."""
    command = ["go", "mod", "download", "-json", *DEFINITIONS]
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", timeout=DOWNLOAD_SECONDS)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    files = []
    for text in re.split(r"(?<=^})\n", done.stdout, flags=re.MULTILINE):
        if text.strip():
            module = json.loads(text)
            hash, folder, names = DEFINITIONS[f"{module['Path']}@{module['Version']}"]
            assert module["Sum"] == hash, module
            files += [pathlib.Path(module["Dir"]) / folder / f"{name}.yaml" for name in names]
    return files


def kustomize(plane, folder):
    return read(plane.kubectl("kustomize", folder))


def get_path(obj):
    """The path of an object in the API."""
    version, metadata = obj["apiVersion"], obj["metadata"]
    group = f"/apis/{version}" if "/" in version else f"/api/{version}"
    where = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    kind = obj["kind"].lower()
    plural = kind.removesuffix("y") + "ies" if kind.endswith("y") else f"{kind}s"
    return f"{group}{where}/{plural}/{metadata['name']}"


def remove(api, objects):
    """Deletes objects, except namespaces: without controllers they would stay in Terminating. Waits for
    definitions, which the API server removes later: it warns of one that is applied again before."""
    for each in objects:
        if each["kind"] != "Namespace":
            api.delete(get_path(each))
    for path in map(get_path, of_kind(objects, "CustomResourceDefinition")):
        wait_for(f"the end of {path}", lambda path=path: api.delete(path) is None)


def make_pods(objects):
    """The pods of the Deployments, one each, as a controller would create them."""
    for deployment in objects:
        if deployment["kind"] == "Deployment":
            template = copy.deepcopy(deployment["spec"]["template"])
            own = {key: deployment["metadata"][key] for key in ("name", "namespace")}
            template["metadata"].update(own)
            yield {"apiVersion": "v1", "kind": "Pod", **template}


def make_static_pods(objects):
    """The static pods as a kubelet creates them in the API server (mirror pods)."""
    for each in objects:
        if each["kind"] == "ConfigMap" and "kube-scheduler.yaml" in each["data"]:
            yield yaml.safe_load(each["data"]["kube-scheduler.yaml"])


class Machine:
    """Runs a pod's containers on this machine, with files in @folder, free ports, and the account of
    @kubeconfig."""

    def __init__(self, folder, kubeconfig, ports=()):
        self.folder, self.kubeconfig = folder, kubeconfig
        self.ports = {port: pick_port() for port in ports}

    def path(self, inside):
        return self.folder / str(inside).lstrip("/")

    def write(self, inside, text):
        path = self.path(inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(0o600)
        return path

    def mount(self, objects, container, volumes):
        """Writes the files of the ConfigMaps and Secrets in @objects."""
        by_name = {volume["name"]: volume for volume in volumes}
        for mount in container["volumeMounts"]:
            volume = by_name[mount["name"]]
            if "emptyDir" in volume:
                self.path(mount["mountPath"]).mkdir(parents=True, exist_ok=True)
            for name, text in read_volume(objects, volume).items():
                self.write(f"{mount['mountPath']}/{name}", text)

    def translate(self, words):
        """Arguments with the paths and ports of this machine."""
        return [self._translate(word) for word in words]

    def _translate(self, word):
        if word == "--in-cluster":
            return f"--kubeconfig={self.kubeconfig}"
        for port, ours in self.ports.items():
            word = re.sub(rf"(127\.0\.0\.1|0\.0\.0\.0):{port}$", rf"127.0.0.1:{ours}", word)
            word = re.sub(rf"^(--secure-port)={port}$", rf"\1={ours}", word)
        return re.sub(r"=(/(?:etc|var/lib)/.*)$", lambda match: f"={self.path(match[1])}", word)

    def translate_config(self, text, url=None):
        """Translates kube-scheduler's configuration likewise; @url: of berth on this machine."""
        config = yaml.safe_load(text)
        config["clientConnection"] = {"kubeconfig": str(self.kubeconfig)}
        for extender in config.get("extenders", []):
            extender["urlPrefix"] = url or extender["urlPrefix"]
            for name, path in extender.get("tlsConfig", {}).items():
                extender["tlsConfig"][name] = str(self.path(path))
        return yaml.safe_dump(config)


def read_volume(objects, volume):
    """{name: text}"""
    if "configMap" in volume:
        return find(objects, "ConfigMap", volume["configMap"]["name"])["data"]
    if "secret" in volume:
        secret = find(objects, "Secret", volume["secret"]["secretName"])
        data = {name: base64.b64decode(text) for name, text in secret.get("data", {}).items()}
        return {**data, **secret.get("stringData", {})}
    return {}  # the token, which the kubeconfig already has


def find_container(objects, name):
    """(container, volumes) of the only pod with a container of this name."""
    ((container, spec),) = [
        (each, spec)
        for _, _, spec in pods(objects)
        for each in spec["containers"]
        if each["name"] == name
    ]
    return container, spec["volumes"]
