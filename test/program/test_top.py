"""`berth top` in a terminal and in a pipe."""

import subprocess
import urllib.request

import pytest

from client import PATIENCE, post, write_cluster
from terminal import Terminal

POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: zones}
spec:
  filters:
    - {name: zone, nodeLabels: {zone: a}, reason: wrong zone}
"""
NODES = [{"metadata": {"name": n, "labels": {"zone": z}}} for n, z in (("n1", "a"), ("n2", "b"), ("n3", "b"))]


@pytest.fixture
def berth(start_berth, tmp_path):
    (tmp_path / "policy.yaml").write_text(POLICY)
    write_cluster(tmp_path / "cluster.json", NODES)
    return start_berth("--policy", tmp_path / "policy.yaml", "--cluster", tmp_path / "cluster.json")


def filter_pod(berth, name, nodes):
    pod = {"metadata": {"namespace": "shop", "name": name, "uid": name}}
    assert post(berth, "filter", {"Pod": pod, "NodeNames": nodes}).status == 200


def test_top_in_a_terminal(berth, berth_path):
    with Terminal([berth_path, "top", "--server", berth.url]) as terminal:
        terminal.wait_for("berth top", "healthy", "q quit")
        filter_pod(berth, "web-1", ["n1", "n2", "n3"])
        filter_pod(berth, "web-2", ["n2", "n3"])
        terminal.wait_for("RULES THAT REJECT", like=[
            r"shop/web-2 +2 +0 +× wrong zone",
            r"shop/web-1 +3 +1 *$",
            r"zones/zone +\S+ +4\b",  # nodes rejected since the start
        ])  # fmt: skip

        terminal.type("w")  # only pending pods
        terminal.wait_for("shop/web-2", gone=["shop/web-1"])
        terminal.type("w")
        terminal.type("/")
        terminal.type("web-1")
        terminal.wait_for("/web-1_", "shop/web-1", gone=["shop/web-2"])
        terminal.type("Enter")
        terminal.wait_for("Esc: all")
        terminal.type("Escape")
        terminal.wait_for("shop/web-2")

        terminal.type("p")
        terminal.wait_for("PAUSED")
        filter_pod(berth, "web-3", ["n1"])
        terminal.type("p")
        filter_pod(berth, "web-4", ["n1"])
        terminal.wait_for("shop/web-4", gone=["PAUSED"])

        terminal.resize(60, 12)
        shown = terminal.wait_for("shop/web-4", "q quit")
        assert all(len(line) <= 60 for line in shown.splitlines())
        terminal.type("q")
        terminal.wait_for("ended: 0", gone=["berth top"])  # the earlier screen is restored


def test_selects_and_explains(berth, berth_path):
    with Terminal([berth_path, "top", "--server", berth.url], columns=80, lines=24) as terminal:
        terminal.wait_for("healthy")
        filter_pod(berth, "web-1", ["n1", "n2", "n3"])
        filter_pod(berth, "web-2", ["n2", "n3"])
        terminal.wait_for("shop/web-1", "shop/web-2")
        terminal.type("Down")
        terminal.wait_for(">shop/web-2")
        filter_pod(berth, "web-3", ["n1"])
        terminal.wait_for("shop/web-3", ">shop/web-2")  # a newer decision does not move the selection to another pod
        terminal.type("Down")
        terminal.wait_for(">shop/web-1", gone=[">shop/web-2"])
        terminal.type("Up")
        terminal.type("Enter")
        terminal.wait_for("berth explain --last shop/web-2", "0 of 2 nodes passed", "zones/zone: wrong zone", "Esc back")
        terminal.type("Down")
        terminal.wait_for("zones/zone: wrong zone", gone=["pod       shop/web-2"])
        terminal.type("Escape")
        terminal.wait_for(">shop/web-2", gone=["Esc back"])
        terminal.type("Enter")
        terminal.wait_for("Esc back")
        terminal.type("q")  # only closes the explanation
        terminal.wait_for(">shop/web-2", "q quit")
        terminal.type("q")
        terminal.wait_for("ended: 0")


LONG = "node has less free memory than a workspace of this class needs after its reservation"


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_long_reasons_are_readable(start_berth, berth_path, tmp_path, columns):
    (tmp_path / "policy.yaml").write_text(POLICY.replace("wrong zone", LONG))
    write_cluster(tmp_path / "cluster.json", NODES)
    berth = start_berth("--policy", tmp_path / "policy.yaml", "--cluster", tmp_path / "cluster.json")
    with Terminal([berth_path, "top", "--server", berth.url], columns=columns, lines=24) as terminal:
        terminal.wait_for("healthy")
        filter_pod(berth, "web-2", ["n2", "n3"])
        shown = terminal.wait_for("shop/web-2", "q quit")
        at = shown.index("shop/web-2")
        if columns >= 80:
            assert LONG in " ".join(shown[at:].split())
        assert "× node has less" in shown
        assert "errors" in shown and "3 nodes" in shown  # all figures are shown
        assert all(len(line) <= columns for line in shown.splitlines())


def test_top_reports_lost_connection(berth, berth_path):
    with Terminal([berth_path, "top", "--server", berth.url]) as terminal:
        terminal.wait_for("healthy")
        berth.stop()
        terminal.wait_for("not connected")
        terminal.type("C-c")
        terminal.wait_for("ended: 0")


def test_it_can_be_stopped_while_a_filter_is_typed(berth, berth_path):
    with Terminal([berth_path, "top", "--server", berth.url]) as terminal:
        terminal.wait_for("healthy")
        terminal.type("/")
        terminal.type("web")
        terminal.wait_for("/web_")
        terminal.type("C-c")
        terminal.wait_for("ended: 0", gone=["/web"])


def test_escapes_control_characters_in_names(berth, berth_path):
    with Terminal([berth_path, "top", "--server", berth.url]) as terminal:
        terminal.wait_for("healthy")
        filter_pod(berth, "evil\x1b[2Jname\u202e", ["n1"])
        terminal.wait_for("berth top", like=[r"shop/evil\\(x1b|u001b)\[2Jname\\u202e"])


def test_top_in_a_pipe_prints_once(berth, berth_path):
    filter_pod(berth, "web-1", ["n1", "n2"])
    with urllib.request.urlopen(berth.url + "/api/v1/events", timeout=PATIENCE) as stream:
        while not stream.readline().startswith(b"data: "):  # another client has received it already
            pass
    done = subprocess.run([berth_path, "top", "--server", berth.url], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE)
    assert done.returncode == 0 and done.stderr == ""
    assert "healthy" in done.stdout and "\033" not in done.stdout
    assert "shop/web-1" in done.stdout  # berth decided before the first client connected
    assert "quit" not in done.stdout and "\n\n\n" not in done.stdout


def test_top_without_a_berth(berth, berth_path):
    url = berth.url
    berth.stop()
    done = subprocess.run([berth_path, "top", "--once", "--server", url], capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == 3
    assert done.stderr.startswith(f"berth top: {url} cannot be reached: ")


@pytest.mark.parametrize("arguments", [["--twice"], ["now"], ["--cert", "x.pem"]])
def test_wrong_usage(berth_path, arguments):
    done = subprocess.run([berth_path, "top", *arguments], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2 and "top --help" in done.stderr
