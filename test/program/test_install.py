"""berth install plan: detects properties of a cluster, prints a plan, and changes nothing."""

import functools
import re
import shlex
import subprocess
from urllib.parse import urlsplit

import pytest
import yaml

from client import FAILED, FINE, REPOSITORY, UNREACHABLE, USAGE
from small_api import SmallApi, pod, refusal, scheduler_pod


STATIC = {"kubernetes.io/config.mirror": "x", "kubernetes.io/config.source": "file"}


class Cluster(SmallApi):
    """An API server that records requests and only accepts GET."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def get(self, target):
        path = urlsplit(target).path
        self.asked.append(path)
        if path in self.forbidden:
            return 403, refusal(403, f"{path} is forbidden")
        return super().get(target)

    def post(self, target, body):
        raise AssertionError(f"POST {target}")

    def add_control_plane(self, name, flags=("--leader-elect=true",), **more):
        self.pods.append(
            scheduler_pod(
                "kube-system", f"kube-scheduler-{name}", flags, node=name, annotations=STATIC, **more
            )
        )


@pytest.fixture
def cluster():
    api = Cluster()
    yield api
    api.stop()


@pytest.fixture
def install(outcome_of):
    """install(*options) -> (exit code, stdout, stderr)"""
    return functools.partial(outcome_of, "install")


@pytest.fixture
def plan(install, cluster, tmp_path):
    """plan(*options) -> the text for the cluster"""

    def run(*options, code=FINE):
        done, out, err = install("plan", "--kubeconfig", cluster.kubeconfig(tmp_path), *options)
        assert done == code, err
        return out if code == FINE else err

    return run


def commands(text):
    """The commands of a plan, each on one line."""
    found, part = [], ""
    for line in text.splitlines():
        if not line.startswith("     "):
            continue
        line = line.strip()
        if line.endswith("\\"):
            part += line[:-1]
            continue
        found.append(part + line)
        part = ""
    assert not part
    return found


# --- without a cluster ---


def test_without_a_cluster(install):
    code, out, err = install("plan")
    assert (code, err) == (FINE, "")
    assert "No cluster was named" in out and "Nothing was changed." in out
    assert "What to know" not in out


@pytest.mark.parametrize("mode", ["second-scheduler", "default-scheduler", "standalone"])
@pytest.mark.parametrize("tool", ["helm", "kustomize"])
def test_every_plan_is_complete(install, mode, tool):
    code, out, _ = install("plan", "--mode", mode, "--tool", tool, "--policy", "my/po'l x.yaml")
    assert code == FINE
    numbers = [int(n) for n in re.findall(r"^(\d+)\. ", out, re.M)]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) >= 6
    assert "After a change" in out and "Back to a clean state" in out
    assert "berth check --live" in out
    assert ("helm upgrade --install" in out) == (tool == "helm")
    assert ("apply -k my-berth" in out) == (tool == "kustomize")
    assert not re.search(r"^ {3}[-+=>'] ", out, re.M)  # nothing of the template's own marks
    for command in commands(out):
        words = shlex.split(command, comments=True)  # every quote is closed
        if words[:2] == ["berth", "check"] and "--live" not in words and "--offline" not in words:
            assert words[2] in ("my/po'l x.yaml", "/etc/kubernetes/berth/policies")
    for path in re.findall(r"deploy/[a-z-]+(?:/[a-z-]+)*", out):
        assert (REPOSITORY / path).exists(), path


@pytest.mark.parametrize("mode", ["second-scheduler", "default-scheduler", "standalone"])
def test_commands_are_those_of_this_program(install, outcome_of, mode):
    """Commands of berth in a plan only use options that exist."""
    code, out, err = install("plan", "--mode", mode, "--tool", "kustomize")
    assert (code, err) == (FINE, "")
    parts = [part for command in commands(out) for part in re.split(r"\||&&|>|\(|\)", command)]
    ours = [words for part in parts if (words := shlex.split(part, comments=True))[:1] == ["berth"]]
    assert ours
    for name in {words[1] for words in ours}:
        code, help_text, err = outcome_of(name, "--help")
        assert (code, err) == (FINE, "")
        for words in ours:
            options = [word for word in words if word.startswith("--") and words[1] == name]
            assert [option for option in options if not re.search(rf"{option}(?![a-z-])", help_text)] == [], words


def test_plan_writes_an_overlay(install, tmp_path):
    _, out, _ = install("plan", "--tool", "kustomize", "--policy", "some/pool.yaml")
    (command,) = [c for c in commands(out) if "printf" in c]
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    overlay = yaml.safe_load((tmp_path / "my-berth" / "kustomization.yaml").read_text())
    assert overlay["resources"] == ["../deploy/kustomize/overlays/second-scheduler"]
    assert overlay["configMapGenerator"][0]["files"] == ["pool.yaml"]


# --- with a cluster ---


def test_kubeadm(plan, cluster):
    for name in ("cp-1", "cp-2", "cp-3"):
        cluster.add_control_plane(name)
    cluster.version = "v1.36.4"
    out = plan()
    assert "Kubernetes v1.36.4" in out and cluster.url in out
    assert "3 static pods, as kubeadm makes them" in out
    assert "does not run here" in out
    assert "What to know" not in out
    out = plan("--mode", "default-scheduler")
    assert "   - cp-2\n" in out and "berth-static-pod" in out
    assert "/version" in cluster.asked


def test_plans_for_a_managed_control_plane(plan, cluster):
    out = plan()
    assert "none to be seen: the control plane is managed" in out
    assert "! The default scheduler cannot be edited here" in out
    err = plan("--mode", "default-scheduler", code=FAILED)
    assert "--mode second-scheduler" in err


@pytest.mark.parametrize(
    "version, says",
    [
        ("v1.22.17", "berth config\n    --format policy"),
        ("v1.24.0+k3s1", "put v1beta2 in the place of v1"),
        ("v1.25.0", None),
        ("v1.36+", None),
        ("dev", None),
    ],
)
def test_versions(plan, cluster, version, says):
    cluster.version = version
    cluster.add_control_plane("cp")
    out = plan()
    assert says in out if says else "What to know" not in out


def test_plans_for_a_scheduler_without_configuration(plan, cluster):
    cluster.add_control_plane("cp")
    out = plan("--mode", "default-scheduler")
    assert "There is one kube-scheduler" in out
    assert "has a configuration already" not in out
    cluster.pods.clear()
    volume = {"name": "c", "hostPath": {"path": "/etc/kubernetes"}}
    mount = {"name": "c", "mountPath": "/etc/kubernetes"}
    cluster.add_control_plane(
        "cp-2", ["--config=/etc/kubernetes/scheduler.yaml"], volumes=[volume], mounts=[mount]
    )
    assert "has a configuration already" in plan("--mode", "default-scheduler")


def test_plans_for_an_installed_berth(plan, cluster):
    cluster.add_control_plane("cp")
    cluster.pods.append(pod("berth-system", "berth-1", {"app.kubernetes.io/name": "berth"}))
    assert "bring it up to date" in plan()
    assert "berth runs in another namespace" in plan("--namespace", "elsewhere")


def test_plan_without_rights(plan, cluster):
    cluster.forbidden = {"/api/v1/pods", "/api/v1/namespaces/kube-system/pods"}
    out = plan()
    assert out.count("not known") == 2 and out.count("note: ") == 2
    assert "is forbidden" in out and "What to know" not in out
    assert "static-pod" in plan("--mode", "default-scheduler")  # unknown means not managed


def test_flags_are_passed_through(plan, cluster, tmp_path):
    out = plan("--context", "c", "--namespace", "here")
    path = shlex.quote(str(tmp_path / "kubeconfig"))
    assert f"kubectl --kubeconfig {path} --context c -n here " in out
    assert f"helm --kubeconfig {path} --kube-context c upgrade" in out
    assert f"berth check --live --kubeconfig {path} --context c " in out
    assert "https://berth.here.svc:8443" in out


def test_hostile_names(plan, cluster):
    cluster.version = "v1.36.0\x1b[31m"
    cluster.add_control_plane("cp\x1b[2J")
    out = plan("--mode", "default-scheduler")
    assert "\x1b" not in out


# --- errors ---


@pytest.mark.parametrize(
    "options, says",
    [
        ([], "the argument plan"),
        (["apply"], "the argument plan"),
        (["plan", "x"], "the argument plan"),
        (["plan", "--mode", "x"], "expected second-scheduler"),
        (["plan", "--tool", "x"], "helm or kustomize"),
        (["plan", "--namespace", "A;b"], "lower case letters"),
        (["plan", "--context", "x", "--in-cluster"], "instead of"),
        (["plan", "--in-cluster", "--kubeconfig", "x"], "instead of"),
        (["plan", "--tool", "kustomize", "--namespace", "x"], "berth-system; with helm"),
    ],
)
def test_wrong_usage(install, options, says):
    code, out, err = install(*options)
    assert (code, out) == (USAGE, "") and says in err


def test_fails_without_server(install, cluster, tmp_path):
    path = cluster.kubeconfig(tmp_path)
    path.write_text(path.read_text().replace(cluster.url, "http://127.0.0.1:1"))
    code, out, err = install("plan", "--kubeconfig", path)
    assert (code, out) == (UNREACHABLE, "") and "127.0.0.1:1" in err
    code, out, err = install("plan", "--kubeconfig", tmp_path / "none")
    assert (code, out) == (UNREACHABLE, "") and "none" in err
