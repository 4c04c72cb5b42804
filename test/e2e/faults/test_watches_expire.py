"""Watches end, and etcd compacts the version from which they would continue: 410 from the API server."""

import itertools

import pytest
from balancer import Balancer
from client import FAULT_SCALE, metrics
from objects import make_pod
from waiting import wait_for

N_EXPIRIES = 2 * FAULT_SCALE
N_REPLICAS = 3  # all watch; one gets requests
ASIDE = "aside"  # no pod here counts
EXPIRED = 'msg="listing again"'


@pytest.fixture
def uncached(plane):
    """The API server without its watch cache, which keeps changes that etcd has compacted."""
    plane.restart_apiserver("--watch-cache=false")
    yield plane
    plane.restart_apiserver()


def count_events(berths):
    """Counts watch events by berth and kind."""
    names = [f'berth_cluster_events_total{{resource="{kind}",type="modified"}}' for kind in ("nodes", "pods")]
    return [metrics(berth)[name] for berth in berths for name in names]


def test_watches_expire_while_berth_binds(uncached, cluster, make_load, report):
    link = Balancer([uncached.port], lambda port: True)
    wait_for("the link", lambda: link.ready)
    kubeconfig = cluster.folder / "through-the-link.kubeconfig"
    text = uncached.berth_kubeconfig.read_text()
    kubeconfig.write_text(text.replace(uncached.url, f"https://127.0.0.1:{link.port}"))
    load = make_load()
    berths = [cluster.start_berth(*load.flags(kubeconfig)) for _ in range(N_REPLICAS)]
    load.place(berths[0])
    aside = f"/api/v1/namespaces/{ASIDE}/pods"
    uncached.make_namespace(ASIDE)
    uncached.api.create_once(aside, make_pod("changes"))

    steps = itertools.count()

    def count():
        return sum(berth.log.read_text().count(EXPIRED) for berth in berths)

    def change():
        """Changes both kinds, so that berth's versions are old."""
        patch = {"metadata": {"annotations": {"example.com/step": str(next(steps))}}}
        uncached.api.patch("/api/v1/nodes/red-0", patch)
        uncached.api.patch(f"{aside}/changes", patch)

    def are_open():
        change()
        return all(now > before for now, before in zip(count_events(berths), seen))

    while count() < N_EXPIRIES:
        seen = count_events(berths)
        wait_for("all watches to be open", are_open, seconds=60)
        load.wait_in_flight()
        link.cut()
        change()
        load.etcd.compact()
        link.restore()
        load.wait_placed(3)

    load.settle(berths[0])
    load.check()
    for berth in berths:
        cluster.assert_cluster_copy_is_true(berth)
    link.stop()
    uncached.api.delete(f"{aside}/changes", gracePeriodSeconds=0)
    report(f"{count()} expired watches: {load.report()}")
