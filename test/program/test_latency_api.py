"""/api/v1/latency."""

import pytest

from client import get, post, wait_until, write_cluster

VERBS = ["filter", "prioritize", "preempt", "bind"]
PARTS = ["read", "evaluate", "write", "total"]


def latency(berth, query=""):
    reply = get(berth, "/api/v1/latency" + query)
    assert reply.status == 200, reply.text
    return reply.json()


def ask_often(berth, n):
    for i in range(n):
        pod = {"metadata": {"namespace": "default", "name": f"p{i}", "uid": f"u{i}"}}
        post(berth, "filter", {"Pod": pod, "NodeNames": ["n1", "n2", "n3"]})


def test_nothing_yet(start_berth):
    berth = start_berth()
    page = latency(berth)
    assert list(page["verbs"]) == VERBS
    assert page["windowSeconds"] == 300 and page["deadlineSeconds"] == 0.1
    assert page["slots"] == []
    total = page["verbs"]["filter"]["total"]
    assert total["count"] == 0 and total["p99Seconds"] is None


def test_requests(start_berth, tmp_path):
    nodes = [{"metadata": {"name": f"n{i}"}} for i in range(1, 4)]
    berth = start_berth("--cluster", write_cluster(tmp_path / "cluster.json", nodes))
    ask_often(berth, 30)
    post(berth, "filter", b"{")  # an error
    # berth counts a request just after its reply
    wait_until(
        lambda: latency(berth)["verbs"]["filter"]["total"]["count"] == 31, "31 filters counted"
    )
    for query in ("", "?window=0", "?window=60"):
        page = latency(berth, query)
        filters = page["verbs"]["filter"]
        for part in PARTS:
            summary = filters[part]
            assert summary["count"] == 31
            assert 0 <= summary["p50Seconds"] <= summary["p90Seconds"] <= summary["p99Seconds"]
            assert summary["p99Seconds"] <= summary["maxSeconds"] < 30
        sums = [filters[part]["sumSeconds"] for part in PARTS]
        assert sum(sums[:3]) == pytest.approx(sums[3], rel=0.01, abs=1e-4)
        assert filters["nodes"] == {"p50": 3, "max": 3}
        assert (filters["late"], filters["errors"]) == (0, 1)
        assert page["verbs"]["bind"]["total"]["count"] == 0
    slots = latency(berth)["slots"]
    assert sum(slot["requests"]["filter"] for slot in slots) == 31
    assert sum(slot["nodes"] for slot in slots) == 90
    assert sum(slot["errors"] for slot in slots) == 1
    ages = [slot["agoSeconds"] for slot in slots]
    assert ages == sorted(ages, reverse=True)


@pytest.mark.parametrize("query", ["?window=3601", "?window=-1", "?window=x", "?windows=1"])
def test_rejects_invalid_queries(start_berth, query):
    reply = get(start_berth(), "/api/v1/latency" + query)
    assert reply.status == 400
    assert "window" in reply.error()
