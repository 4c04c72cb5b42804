"""The scripted API server behaves like a real one: kubectl works with it, and replies are equal.

Skipped if no control plane is built (tools/e2e).
"""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from conversation import Real, Scripted, converse, node, pod, strange_parts, summary
from waiting import wait_for


@pytest.fixture(scope="module")
def scripted(tmp_path_factory):
    side = Scripted(tmp_path_factory.mktemp("scripted"))
    yield side
    side.stop()


@pytest.fixture(scope="module")
def real(e2e_bin, tmp_path_factory):
    side = Real(e2e_bin, tmp_path_factory.mktemp("real"))
    yield side
    side.stop()


class Kubectl:
    def __init__(self, bin, side, folder):
        self.path, self.folder = bin / "kubectl", folder
        self.kubeconfig = side.write_kubeconfig()

    def start(self, *args, stdout=subprocess.PIPE):
        return subprocess.Popen(
            [self.path, *args],
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder)},
            cwd=self.folder,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *args):
        """(exit status, stdout, stderr)"""
        process = self.start(*args)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err


def run_commands(kubectl):
    """[(command, exit status, output, errors)] of typical commands."""
    objects = "\n---\n".join(json.dumps(obj) for obj in (node("k-a"), pod("k-p")))
    (kubectl.folder / "new.yaml").write_text(objects)
    names = "jsonpath={.items[*].metadata.name}"
    commands = [
        ["create", "-f", "new.yaml"],
        ["create", "-f", "new.yaml"],
        ["get", "nodes", "-o", "name"],
        ["get", "pods", "-A", "-o", names],
        ["get", "pods,nodes", "-A", "-o", names],
        ["get", "nodes", "--chunk-size=1", "-o", "name"],
        ["get", "node", "k-a", "-o", "jsonpath={.status.allocatable.cpu}"],
        ["get", "node", "nobody"],
        ["get", "pods", "-A", "--field-selector=spec.nodeName!=", "-o", "name"],
        ["annotate", "node", "k-a", "berth.dev/a=1"],
        ["annotate", "node", "k-a", "berth.dev/a=2"],
        ["label", "node", "k-a", "pool=blue"],
        ["cordon", "k-a"],
        ["uncordon", "k-a"],
        ["patch", "node", "k-a", "--type=merge", "-p", '{"metadata":{"labels":{"pool":null}}}'],
        ["get", "node", "k-a", "-o", "jsonpath={.metadata.annotations}{.spec}{.metadata.labels}"],
        ["create", "--raw", "/api/v1/namespaces/default/pods/k-p/binding", "-f", "binding.json"],
        ["create", "--raw", "/api/v1/namespaces/default/pods/k-p/binding", "-f", "binding.json"],
        ["get", "pod", "k-p", "-o", "jsonpath={.spec.nodeName}"],
        ["delete", "pod", "k-p", "--grace-period=0", "--force"],
        ["delete", "node", "k-a"],
        ["delete", "node", "k-a"],
        ["get", "nodes,pods", "-A", "-o", "name"],
    ]
    binding = {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": "k-p"}}
    binding["target"] = {"kind": "Node", "name": "k-a"}
    (kubectl.folder / "binding.json").write_text(json.dumps(binding))
    return [(" ".join(command), *kubectl.run(*command)) for command in commands]


def test_kubectl_watches(e2e_bin, scripted, tmp_path):
    kubectl = Kubectl(e2e_bin, scripted, tmp_path)
    state = scripted.server.state
    # Created, changed, marked for deletion, deleted.
    printed, expected = tmp_path / "printed", "pod/seen\n" * 4
    with printed.open("w") as file:
        watching = kubectl.start("get", "pods", "-A", "-w", "-o", "name", stdout=file)
    try:
        wait_for("a watch", lambda: scripted.server.open_watches("pods"))
        made = state.create(scripted.server.watches[-1].kind, pod("seen"), "default")
        state.patch(made.kind, made.key, {"metadata": {"labels": {"a": "b"}}})
        state.delete(made.kind, made.key)
        wait_for("kubectl to print it", printed.read_text, lambda text: len(text) >= len(expected))
    finally:
        watching.terminate()
        watching.communicate()
    assert printed.read_text() == expected


def test_kubectl_sees_no_difference(e2e_bin, real, scripted, tmp_path):
    folders = tmp_path / "real", tmp_path / "scripted"
    kubectls = []
    for side, folder in zip((real, scripted), folders):
        folder.mkdir()
        kubectls.append(Kubectl(e2e_bin, side, folder))
    with ThreadPoolExecutor() as pool:
        theirs, ours = pool.map(run_commands, kubectls)
    assert ours == theirs
    # Equal replies could both be wrong.
    seen = {command: (status, out, err) for command, status, out, err in ours}
    assert seen["get node k-a -o jsonpath={.status.allocatable.cpu}"] == (0, "4", "")
    assert seen["get pod k-p -o jsonpath={.spec.nodeName}"] == (0, "k-a", "")
    assert seen["get nodes,pods -A -o name"] == (0, "", "")
    assert kubectls[1].run("version")[0] == 0


def test_it_answers_as_the_real_one(real, scripted):
    with ThreadPoolExecutor() as pool:  # both need to wait at times
        theirs, ours = pool.map(converse, (real, scripted))
    assert list(ours) == list(theirs)
    differences = []
    for label, reply in ours.items():
        if summary(reply) != summary(theirs[label]):
            differences.append((label, summary(reply), summary(theirs[label])))
        for mine, other in zip(reply.lines, theirs[label].lines):
            differences += [(label, path) for path in strange_parts(mine, other)]
    assert not differences, "\n".join(map(str, differences))
