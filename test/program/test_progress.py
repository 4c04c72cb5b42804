"""Commands that run for more than two seconds print a line of progress on a terminal."""

import os
import socket
import subprocess

import pytest

from client import FINE, PATIENCE
from small_api import write_kubeconfig
from terminal import Terminal

CLUSTER = '{"kind": "List", "items": [{"kind": "Node", "metadata": {"name": "n1"}}]}'
POD = '{"kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}}'


@pytest.fixture
def slow_pods(tmp_path):
    """A FIFO, on which the command waits until the test writes."""
    (tmp_path / "cluster.json").write_text(CLUSTER)
    os.mkfifo(tmp_path / "pods")
    return tmp_path / "pods"


def test_shows_while_it_waits_and_is_erased(berth_path, slow_pods):
    command = [berth_path, "simulate", "--cluster", slow_pods.parent / "cluster.json", "--pods", slow_pods]
    with Terminal(command) as terminal:
        terminal.wait_for(like=[r"^reading the cluster and the pods, \d+ s$"])
        slow_pods.write_text(POD)
        terminal.wait_for("pods placed", "ended: 0", gone=["reading the cluster"])


def test_errors_start_on_a_clean_line(berth_path, slow_pods):
    command = [berth_path, "explain", "--cluster", slow_pods.parent / "cluster.json", "--pod", slow_pods]
    with Terminal(command) as terminal:
        terminal.wait_for("reading the pods, ")
        slow_pods.write_text("nothing")
        terminal.wait_for("berth explain: ", "ended: 1", gone=["reading the pods"])


@pytest.mark.parametrize("command", ["bundle", "what-if", "diff policy.yaml", "explain --last shop/web"])
def test_shows_while_a_server_is_slow(berth_path, command):
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with Terminal([berth_path, *command.split(), "--server", url]) as terminal:
            connection, _ = server.accept()  # and no reply
            terminal.wait_for(like=[r"^(fetching|reading) .*, \d+ s$"])
            connection.close()
            server.close()
            terminal.wait_for("ended: 3", gone=["fetching", "reading"])


@pytest.mark.parametrize("command, line", [
    ("dump", "reading the cluster"),
    ("explain --policy policy.yaml shop/web", "reading the cluster"),
    ("install plan", "reading the cluster"),
    ("check --live", "checking the installation"),
    ("check --live --wait 1m", "waiting until no check fails"),
    ("status", "looking for berth's pods"),
])  # fmt: skip
def test_shows_while_the_api_server_is_slow(berth_path, tmp_path, command, line):
    (tmp_path / "policy.yaml").write_text("apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: p}\nspec: {}\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        write_kubeconfig(tmp_path / "kubeconfig", url)
        words = [berth_path, *command.replace("policy.yaml", str(tmp_path / "policy.yaml")).split()]
        with Terminal([*words, "--kubeconfig", tmp_path / "kubeconfig"]) as terminal:
            terminal.wait_for(like=[rf"^{line}, \d+ s$"])


@pytest.mark.parametrize("command, line", [("status", "asking the replicas: 0 of 1"), ("config", "asking berth")])
def test_shows_while_berth_is_slow(berth_path, command, line):
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with Terminal([berth_path, command, "--server", url]) as terminal:
            terminal.wait_for(like=[rf"^{line}, \d+ s$"])


def test_not_in_a_pipe(berth_path, slow_pods):
    command = [berth_path, "simulate", "--cluster", slow_pods.parent / "cluster.json", "--pods", slow_pods]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as proc:
        slow_pods.write_text(POD)
        out, error = proc.communicate(timeout=PATIENCE)
    assert proc.returncode == FINE and error == b"" and b"\r" not in out
