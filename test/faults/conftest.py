"""A scripted API server for each test, and the berth that watches it."""

import os
import pathlib
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

HERE = pathlib.Path(__file__).resolve().parent
E2E = HERE.parent / "e2e"
# client.py of test/support; certificates and the real control plane of test/e2e
sys.path += [str(HERE.parent / "support"), str(E2E)]

from apiserver import ApiServer  # noqa: E402
from live import starting  # noqa: E402

CASES_AT_A_TIME = 8  # these tests use little CPU


@pytest.fixture
def server():
    server = ApiServer()
    yield server
    server.stop()


@pytest.fixture
def start_live(server, berth_path, tmp_path):
    with starting(berth_path, server, tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def cases():
    """A thread pool, and {test item: future} of its cases."""
    with ThreadPoolExecutor(CASES_AT_A_TIME) as pool:
        yield pool, {}


@pytest.fixture
def together(request, cases, berth_path, tmp_path_factory):
    """together(case): for a parametrized test. The first call starts case(server, start_live,
    **params) for all selected parameters of the test in parallel, each with its own server. Each call
    then waits for its own case."""
    pool, futures = cases

    def run_case(case, params, folder):
        server = ApiServer()
        try:
            with starting(berth_path, server, folder) as start:
                case(server, start, **params)
        finally:
            server.stop()

    def name_of(item):
        return item.module, item.originalname

    def run(case):
        for item in request.session.items:
            if item not in futures and name_of(item) == name_of(request.node):
                folder = tmp_path_factory.mktemp("case")  # which does not work in threads
                futures[item] = pool.submit(run_case, case, item.callspec.params, folder)
        futures[request.node].result()

    return run


@pytest.fixture(scope="session")
def e2e_bin():
    """The folder of kubectl and the real kube-apiserver, if `tools/e2e --build-only` has built them."""
    if "BERTH_E2E" in os.environ:
        return pathlib.Path(os.environ["BERTH_E2E"])
    newest = re.search(r"^v\S+", (E2E / "releases").read_text(), re.M)[0]
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    folder = cache / "berth" / "e2e" / newest
    if not all((folder / name).exists() for name in ("etcd", "kube-apiserver", "kubectl")):
        pytest.skip("no real control plane here: tools/e2e --build-only makes one")
    return folder
