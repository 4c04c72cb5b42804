"""One control plane for all scenarios (with pytest-xdist one per worker), with an empty cluster for each
scenario.

tools/e2e runs this: it sets BERTH_E2E to the folder of the binaries, and removes pytest's temporary
folder.
"""

import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))  # client.py
sys.path.append(str(HERE.parent / "deploy"))  # rendering.py

import nodemode  # noqa: E402
from cluster import Cluster  # noqa: E402
from controlplane import MINOR, ControlPlane  # noqa: E402
from deploy import ROOT, remove  # noqa: E402
from prometheus import Exporter, Prometheus, find_program  # noqa: E402
from rendering import Chart  # noqa: E402

TAIL_LINES = 25
BETA_ADMISSION = ["--feature-gates=MutatingAdmissionPolicy=true", "--runtime-config=admissionregistration.k8s.io/v1beta1=true"]
numbers = itertools.count(1)

# `make test` collects all of test/; these tests need a control plane, and minutes.
if "BERTH_E2E" not in os.environ:
    collect_ignore_glob = ["test_*", "faults"]


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "compat(*scenarios, since=MINOR): `make compat` runs it against every release"
    )
    if "BERTH_E2E" in os.environ:
        # Like Ctrl-C, so that fixtures end the processes.
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """Records the scenario of each test in the report, for tools/compat."""
    for item in items:
        for mark in item.iter_markers("compat"):
            item.user_properties += [("scenario", name) for name in mark.args]
            since = mark.kwargs.get("since", 0)
            if MINOR < since:
                item.add_marker(pytest.mark.skip(reason=f"Kubernetes has this from 1.{since} on"))


@pytest.fixture(scope="session")
def berth_path():
    path = pathlib.Path(os.environ.get("BERTH", HERE.parent.parent / "build" / "berth"))
    if not path.exists():
        pytest.fail(f"{path} does not exist: build first, or set BERTH")
    return path.resolve()


@pytest.fixture(scope="session")
def plane(tmp_path_factory):
    plane = ControlPlane(pathlib.Path(os.environ["BERTH_E2E"]), tmp_path_factory.mktemp("plane"))
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()


@pytest.fixture
def cluster(plane, berth_path, tmp_path, request):
    words = re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())
    cluster = Cluster(plane, berth_path, tmp_path, f"{words[:50].strip('-')}-{next(numbers)}")
    yield cluster
    cluster.clear()


@pytest.fixture(scope="session")
def chart(tmp_path_factory):
    """deploy/chart, for rendering; skips if helm is not available."""
    tools = [ROOT / "tools" / "deploy-tools", "--paths"]
    done = subprocess.run(tools, capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("helm cannot be built here: " + done.stderr.splitlines()[0])
    assert done.returncode == 0, done.stderr
    return Chart(done.stdout.splitlines()[0], tmp_path_factory.mktemp("chart"))


@pytest.fixture(scope="session")
def one_file(chart, tmp_path_factory):
    """The berth.yaml of a release."""
    path = tmp_path_factory.mktemp("release") / "berth.yaml"
    done = subprocess.run([sys.executable, ROOT / "tools" / "release", "manifest"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    path.write_text(done.stdout)
    return path


@pytest.fixture(scope="session")
def scraped(tmp_path_factory):
    """An exporter, and a Prometheus that scrapes it. Shared, because the first scrape takes seconds."""
    missing = find_program()
    assert not missing, f"Prometheus cannot be had: {missing}"
    exporter = Exporter()
    prometheus = Prometheus(tmp_path_factory.mktemp("prometheus"), [exporter])
    yield exporter, prometheus
    prometheus.stop()
    exporter.stop()


@pytest.fixture
def measured(scraped):
    """The same, without series of earlier scenarios."""
    scraped[0].series = {}
    return scraped


@pytest.fixture(scope="module")
def bare(plane):
    """The control plane without the accounts and roles that all other scenarios use."""
    for name in ("kube-system", "monitoring"):
        plane.make_namespace(name)
    remove(plane.api, plane.installed)
    yield plane
    plane.install_berth()


@pytest.fixture
def admission_version(cluster):
    """The version of MutatingAdmissionPolicies: v1, or v1beta1 if the API server only has that, behind a feature gate."""
    minor = int(re.match(r"\d+", cluster.api.get("/version")["minor"])[0])
    if minor < 34:
        pytest.skip("Kubernetes has this from 1.34 on")
    if minor < 36:
        cluster.plane.restart_apiserver(*BETA_ADMISSION)
    yield "v1" if minor >= 36 else "v1beta1"
    if minor < 36:
        cluster.plane.restart_apiserver()


@pytest.fixture(params=nodemode.ALL, ids=lambda mode: mode.name)
def mode(request):
    """Where berth gets nodes from; the scenario runs once for each mode."""
    return request.param


@pytest.fixture(params=nodemode.BY_NAMES, ids=lambda mode: mode.name)
def names_mode(request):
    """The same for features that need a cluster in berth."""
    return request.param


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """A failed scenario prints the logs of its processes."""
    report = (yield).get_result()
    cluster = getattr(item, "funcargs", {}).get("cluster")
    if report.failed and cluster:
        for process in cluster.find_logged():
            report.sections.append((f"log of {process.name}", process.tail(TAIL_LINES)))
