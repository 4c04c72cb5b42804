"""Rendered manifests of deploy/. tools/check-deploy passes helm, kube-score ($BERTH_DEPLOY_TOOLS, a folder) and
kubectl ($BERTH_KUBECTL); `make test` skips tests that need them."""

import os
import pathlib

import pytest
from rendering import DEPLOY, HERE, Chart, Kustomize

NEEDS = "is built by tools/check-deploy, which runs this"
FIXTURES = {"tool", "chart", "kustomize"}


@pytest.fixture(scope="session")
def tool():
    """tool(name) -> its path; the test is skipped where it is not there."""

    def find(name):
        folder = os.environ.get("BERTH_DEPLOY_TOOLS", "/nowhere")
        path = os.environ.get("BERTH_KUBECTL", "") if name == "kubectl" else f"{folder}/{name}"
        if not pathlib.Path(path or "/nowhere/none").exists():
            pytest.skip(f"{name} {NEEDS}")
        return path

    return find


@pytest.fixture(scope="session")
def chart(tool, tmp_path_factory):
    return Chart(tool("helm"), tmp_path_factory.mktemp("chart"))


@pytest.fixture(scope="session")
def kustomize(tool):
    return Kustomize(tool("kubectl"), DEPLOY / "kustomize")


def pytest_generate_tests(metafunc):
    """A test that takes `values` is run with each file of values/; `refused` likewise."""
    for name in ("values", "refused"):
        if name in metafunc.fixturenames:
            files = sorted((HERE / name).glob("*.yaml"))
            metafunc.parametrize(name, files, ids=[file.stem for file in files])


def pytest_collection_modifyitems(config, items):
    """Hundreds of skipped tests would hide those of other folders that were skipped for a reason."""
    if "BERTH_DEPLOY_TOOLS" in os.environ:
        return
    left = [item for item in items if HERE in item.path.parents and FIXTURES & set(item.fixturenames)]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in set(left)]
