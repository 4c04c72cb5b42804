"""`berth dump`: berth's view of a cluster, and how a dump differs from it. Live clusters are in test/e2e."""

import json
import subprocess

import pytest

from client import FAILED, FINE, PATIENCE, UNREACHABLE, USAGE, without_kubeconfig, write_cluster



@pytest.fixture
def dump(berth_path, tmp_path):
    """dump(*options) -> the finished process, in the folder of the test."""

    def run(*options):
        return subprocess.run([berth_path, "dump", *map(str, options)], capture_output=True,
                              text=True, timeout=PATIENCE, cwd=tmp_path, env=without_kubeconfig(tmp_path))

    return run


def node(name, zone="a"):
    return {"metadata": {"name": name, "labels": {"zone": zone}}, "status": {"allocatable": {"cpu": "4"}}}


def pod(name, node_name):
    spec = {"nodeName": node_name, "containers": [{"name": "app", "resources": {"requests": {"cpu": "1"}}}]}
    return {"metadata": {"name": name, "namespace": "shop", "uid": name}, "spec": spec}


@pytest.fixture
def cluster(tmp_path):
    return write_cluster(tmp_path / "cluster.json", [node("n1"), node("n2")], [pod("web", "n1")])


def test_generated_config_can_be_read(dump, cluster, tmp_path):
    shown = dump("--cluster", cluster)
    assert shown.returncode == FINE and shown.stderr == ""
    names = [item["metadata"]["name"] for item in json.loads(shown.stdout)["items"]]
    assert names == ["n1", "n2", "web"]
    for option in ("-o", "--output"):
        written = dump("--cluster", cluster, option, "dump.json")
        assert (written.returncode, written.stdout, written.stderr) == (FINE, "", "")
        assert (tmp_path / "dump.json").read_text() == shown.stdout
        assert dump("--cluster", "dump.json").stdout == shown.stdout


def test_dump_equals_its_cluster(dump, cluster):
    dump("--cluster", cluster, "-o", "dump.json")
    compared = dump("--cluster", cluster, "--compare", "dump.json")
    assert compared.returncode == FINE
    assert compared.stdout == "dump.json and the cluster are the same\n"


def test_differences(dump, cluster, tmp_path):
    write_cluster(tmp_path / "dump.json", [node("n1", "b"), node("n3")], [pod("web", "n3")])
    compared = dump("--cluster", cluster, "--compare", "dump.json")
    assert compared.returncode == FAILED
    lines = compared.stdout.splitlines()
    assert 'node n1: label zone is "b" here, "a" there' in lines
    assert "node n2: only there" in lines and "node n3: only here" in lines
    assert lines[-3].endswith(" differences between dump.json (here) and the cluster (there)")
    assert lines[-2].startswith("nodes: 1 only here, 1 only there, ")
    assert lines[-1] == "pods:  0 only here, 0 only there, 1 on another node, 0 differ"


def test_many_differences_are_cut(dump, cluster, tmp_path):
    write_cluster(tmp_path / "dump.json", [node(f"x{i:03}") for i in range(100)])
    some = dump("--cluster", cluster, "--compare", "dump.json").stdout.splitlines()
    every = dump("--cluster", cluster, "--compare", "dump.json", "--all").stdout.splitlines()
    assert some[:50] == every[:50] and some[-3:] == every[-3:]
    assert some[50] == f"... and {len(every) - 3 - 50} more (--all)" and len(some) == 54
    assert "node x099: only here" in every


@pytest.mark.parametrize("options, code, text", [
    ([], UNREACHABLE, "no kubeconfig: none was named, KUBECONFIG is not set, and "),
    (["--context", "x"], UNREACHABLE, "no kubeconfig: none was named, KUBECONFIG is not set, and "),
    (["--cluster", "c", "--in-cluster"], USAGE, "--cluster is instead of --kubeconfig, --context and --in-cluster"),
    (["--cluster", "c", "--context", "x"], USAGE, "--cluster is instead of --kubeconfig, --context and --in-cluster"),
    (["--context", "x", "--in-cluster"], USAGE, "--kubeconfig and --context are instead of --in-cluster"),
    (["--cluster", "c", "now"], USAGE, "it takes options only"),
    (["--nonsense"], USAGE, "dump --help"),
    (["--cluster", "none.json"], UNREACHABLE, "none.json: No such file or directory"),
    (["--cluster", "broken.json"], FAILED, "broken.json:1:"),
    (["--cluster", "cluster.json", "--compare", "none.json"], UNREACHABLE, "none.json: No such file"),
    (["--cluster", "cluster.json", "--compare", "broken.json"], UNREACHABLE, "broken.json:1:"),
    (["--cluster", "cluster.json", "-o", "no/where.json"], UNREACHABLE, "no/where.json"),
])  # fmt: skip
def test_rejects_impossible_dumps(dump, cluster, tmp_path, options, code, text):
    (tmp_path / "broken.json").write_text("{]")
    done = dump(*options)
    assert done.returncode == code and done.stdout == ""
    assert text in done.stderr
