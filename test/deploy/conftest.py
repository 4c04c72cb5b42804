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
    """tool(name) -> its path; skips the test if the tool is not installed."""

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
    """Runs a test with the parameter `values` with each file of values/; `refused` likewise."""
    for name in ("values", "refused"):
        if name in metafunc.fixturenames:
            files = sorted((HERE / name).glob("*.yaml"))
            metafunc.parametrize(name, files, ids=[file.stem for file in files])


def pytest_collection_modifyitems(config, items):
    """Deselects instead of skipping: hundreds of skips would hide those of other folders."""
    if "BERTH_DEPLOY_TOOLS" in os.environ:
        return
    left = [item for item in items if HERE in item.path.parents and FIXTURES & set(item.fixturenames)]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in set(left)]
