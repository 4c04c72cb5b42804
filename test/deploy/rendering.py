"""Renders the chart and the overlays, and finds objects in the result."""

import functools
import pathlib
import shutil
import subprocess

import yaml

HERE = pathlib.Path(__file__).resolve().parent
DEPLOY = HERE.parent.parent / "deploy"
NAMESPACE = "berth-system"
OVERLAYS = sorted(path.parent.name for path in DEPLOY.glob("kustomize/overlays/*/kustomization.yaml"))
PATIENCE = 60
NOTES = """apiVersion: v1
kind: Notes
metadata: {name: notes}
notes: {{ include "notes" . | toJson }}
"""


class Refused(Exception):
    """helm rejected the values; the text is its error message."""


def run(command, **options):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=PATIENCE, **options
    )
    if done.returncode != 0:
        raise Refused(done.stderr)
    return done.stdout


def read(text):
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [document for document in yaml.load_all(text, loader) if document]


class Chart:
    """@folder gets a copy of the chart that shows NOTES too, which `helm template` leaves out."""

    def __init__(self, helm, folder):
        self.helm, self.source, self.copy = helm, DEPLOY / "chart", folder / "berth"
        shutil.copytree(self.source, self.copy)
        templates = self.copy / "templates"
        text = (templates / "NOTES.txt").read_text()
        (templates / "_notes.tpl").write_text('{{- define "notes" -}}' + text + "{{- end -}}")
        (templates / "notes.yaml").write_text(NOTES)
        (templates / "NOTES.txt").unlink()

    @functools.cache  # rendering makes certificates, which is slow
    def text(self, values=None):
        flags = ["-f", values] if values else []
        return run([self.helm, "template", "berth", self.copy, "-n", NAMESPACE, *flags])

    @functools.cache
    def render(self, values=None):
        """The objects of a values file (None: the defaults), including hooks. Callers must not change them."""
        return [each for each in read(self.text(values)) if each["kind"] != "Notes"]

    def notes(self, values=None):
        """The text of NOTES.txt."""
        return find(read(self.text(values)), "Notes")["notes"]


class Kustomize:
    def __init__(self, kubectl, folder):
        self.kubectl, self.folder = kubectl, folder

    @functools.cache
    def text(self, folder):
        return run([self.kubectl, "kustomize", folder])

    @functools.cache
    def overlay(self, name):
        return read(self.text(self.folder / "overlays" / name))


def of_kind(objects, *kinds):
    return [each for each in objects if each["kind"] in kinds]


def find(objects, kind, name=None):
    """The only one."""
    (found,) = [
        each for each in of_kind(objects, kind) if name in (None, each["metadata"]["name"])
    ]
    return found


def pods(objects):
    """(name, metadata, spec) of all pods and pod templates."""
    for each in of_kind(objects, "Deployment"):
        template = each["spec"]["template"]
        yield f"Deployment {each['metadata']['name']}", template["metadata"], template["spec"]
    for each in of_kind(objects, "Pod"):
        yield f"Pod {each['metadata']['name']}", each["metadata"], each["spec"]


def containers(objects):
    for who, _, spec in pods(objects):
        for container in spec.get("initContainers", []) + spec["containers"]:
            yield f"{who}, {container['name']}", container


def static_pods(objects):
    """Pods that are text in a ConfigMap, for nodes."""
    for each in of_kind(objects, "ConfigMap"):
        for key, text in each["data"].items():
            if key == "kube-scheduler.yaml":
                yield yaml.safe_load(text)


def berth_containers(objects):
    everything = objects + list(static_pods(objects))
    return [container for _, container in containers(everything) if container["name"] == "berth"]


def scheduler_configs(objects):
    """The texts of kube-scheduler's configurations."""
    for each in of_kind(objects, "ConfigMap"):
        for text in each["data"].values():
            if "KubeSchedulerConfiguration" in text:
                yield text
