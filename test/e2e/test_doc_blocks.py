"""Runs the commands of pages that are marked `e2e` with a real API server."""

import pathlib

import pytest
from doc_pages import PAGES, Folder, find_blocks

MARKED = [page for page in PAGES if any("e2e" in block.marks for block in find_blocks(page))]
KINDS = "deployments,services,configmaps,secrets,serviceaccounts,roles,rolebindings,pods,poddisruptionbudgets,networkpolicies"
CLUSTER_KINDS = "clusterroles,clusterrolebindings,mutatingadmissionpolicies,mutatingadmissionpolicybindings"


@pytest.fixture
def typed(bare, chart, berth_path, tmp_path):
    """The environment of commands: with kubectl, helm and a cluster."""
    folder = Folder(tmp_path / "page", berth_path)
    (tmp_path / "page/.bin/helm").symlink_to(pathlib.Path(chart.helm).resolve())
    folder.env["PATH"] = f"{tmp_path}/page/.bin:{bare.bin}:{folder.env['PATH']}"
    folder.env["KUBECONFIG"] = str(bare.admin_kubeconfig)
    yield folder
    own = ["-l", "app.kubernetes.io/name=berth", "--wait=false"]
    bare.kubectl("delete", KINDS, "-A", *own)
    bare.kubectl("delete", CLUSTER_KINDS, *own)
    bare.kubectl("delete", "secret", "-n", "berth-system", "berth-server", "berth-client", "--ignore-not-found")


@pytest.mark.parametrize("page", MARKED)
def test_commands_can_be_typed(typed, page):
    for block in find_blocks(page):
        if block.marks in ([], ["e2e"]):  # unmarked blocks make files for later blocks
            done = typed.run(block.script())
            assert done.returncode == 0 or not block.marks, f"{block.where}\n{done.stdout}"


def test_some_are_marked():
    assert "docs/install.md" in MARKED
