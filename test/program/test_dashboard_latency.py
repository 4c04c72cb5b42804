"""The dashboard's pages latency, changes and sources."""


import pytest

from dashboard_page import read
from client import get, post, replace, wait_until, write_cluster
from prometheus import Scripted, by_node

QUERY = 'node_load{a="<b>&"}'
POLICY = f"""\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {{name: cool}}
spec:
  metrics:
    - {{name: load, prometheus: {{query: '{QUERY}'}}, interval: 1s, maxAge: 60s, placements: none}}
    - {{name: heat, annotation: {{key: example.com/heat}}, maxAge: 60s}}
  filters:
    - {{name: hot, expression: "metrics.load < 0.5", reason: hot, onMissing: allow}}
"""


@pytest.fixture
def cluster(tmp_path):
    nodes = [{"metadata": {"name": name}} for name in ("n1", "n2", "n3")]
    return write_cluster(tmp_path / "cluster.json", nodes)


def test_latency(start_berth, cluster):
    berth = start_berth("--cluster", cluster)
    assert read(berth, "/latency").text("latency-verdict").startswith("No: there were no filter requests")
    for _ in range(20):
        post(berth, "filter", {"Pod": {}, "NodeNames": ["n1", "n2"]})
    wait_until(lambda: read(berth, "/latency").rows("verbs")[0][1] == "20", "20 filters")
    for window in ("", "?window=3600", "?window=0"):
        page = read(berth, "/latency" + window)
        assert "p99 latency of filter is" in page.text("latency-verdict")
        filters = page.rows("verbs")[0]
        assert filters[0] == "filter" and filters[2].endswith("s") and "writing" in filters[5]
        assert filters[6:] == ["2, 2", "0", "0"]
        assert len(page.rows("parts")) == 4
    assert get(berth, "/latency?window=99999").status == 400


def test_changes(start_berth, cluster, tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    berth = start_berth("--cluster", cluster, "--policy", path)
    assert "berth started" in read(berth, "/changes").text("changes-verdict")
    replace(path, POLICY.replace("0.5", "0.7") + "# <img>\n")
    wait_until(lambda: len(read(berth, "/changes").rows("changes")) == 2, "a change")
    replace(path, POLICY.replace("spec", "spce"))
    wait_until(lambda: len(read(berth, "/changes").rows("changes")) == 3, "a refusal")
    page = read(berth, "/changes")
    assert page.text("changes-verdict").startswith("3 changes in the last hour, 1 of them problems")
    refused, changed, started = page.rows("changes")
    assert refused[0] == "3" and refused[2].startswith("! new policies rejected")
    assert ":4:1: error:" in refused[4]
    assert "2 lines added, 1 removed" in changed[4] and started[2] == "berth started"
    [diff] = [element for element in page.part("diff-2") if element.get("class") == "diff"]
    signs = {element.tag: (element.text or "")[0] for element in diff}
    assert (signs["ins"], signs["del"]) == ("+", "-")
    assert "+# <img>" in [element.text for element in diff]
    assert "Vertical lines in the charts are changes" in page.main


def test_sources(start_berth, cluster, tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    server = Scripted()
    server.set(QUERY, by_node(n1=0.2, n2=0.9))
    try:
        berth = start_berth("--cluster", cluster, "--policy", path, "--prometheus", server.url)
        wait_until(
            lambda: read(berth, "/sources").rows("metrics")[0][2].startswith("2 of 3"), "two nodes"
        )
        page = read(berth, "/sources")
        load, heat = page.rows("metrics")
        assert load[0] == "load in policy cool as load"
        assert load[1] == QUERY + " queried from default every 1.0 s"
        assert "of 60 s" in load[3] or "of 1 min" in load[3]
        assert load[5].startswith("! some nodes have no value") and "n3" in load[5]
        assert heat[5].startswith("✗ no node has a value: no node has the annotation")
        assert page.text("sources-verdict").startswith("No: 1 of 2 metrics has no value")
        assert page.rows("sources")[0][2] == server.url
        assert "the metric heat has no value on any node" in page.text("health-summary")
    finally:
        server.stop()


def test_nothing_is_measured(start_berth):
    page = read(start_berth(), "/sources")
    assert "No policy reads metrics." in page.main
    assert "--prometheus URL" in page.main
