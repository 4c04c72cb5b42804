"""Load from annotations of nodes, with timestamps."""

import time

import yaml

from client import get, metrics, post, wait_until, write_cluster
from prometheus import find_metric

KEY = "example.com/load"
CRANE = "cpu_usage_avg_5m"
POLICY = {
    "apiVersion": "berth.dev/v1alpha1",
    "kind": "PlacementPolicy",
    "metadata": {"name": "annotated"},
    "spec": {
        "metrics": [
            {"name": "load", "annotation": {"key": KEY}, "maxAge": "5m", "placements": "none"},
            {
                "name": "crane",
                "annotation": {"key": CRANE, "timeZone": "Asia/Shanghai"},
                "maxAge": "5m",
                "placements": "none",
            },
        ],
        "filters": [
            {
                "name": "cool",
                "expression": "metrics.load < 0.8",
                "reason": "node is hot",
                "onMissing": "reject",
            },
            {
                "name": "crane",
                "expression": "metrics.crane < 0.8",
                "reason": "node is hot",
                "onMissing": "allow",
            },
        ],
    },
}
UTC, SHANGHAI = 0, 8 * 3600


def written(value, seconds_ago=0, offset=UTC):
    """The format of crane: local time, but with a Z."""
    at = time.gmtime(time.time() - seconds_ago + offset)
    return f"{value},{time.strftime('%Y-%m-%dT%H:%M:%SZ', at)}"


def write_nodes(path, **annotations):
    nodes = [{"metadata": {"name": n, "annotations": a}} for n, a in annotations.items()]
    return write_cluster(path, nodes)


def passed(berth):
    names = ["cool", "hot", "old", "odd", "none", "other"]
    reply = post(berth, "filter", {"Pod": {}, "NodeNames": names})
    assert reply.status == 200 and reply.json()["Error"] == ""
    return reply.json()["NodeNames"]


def test_annotations_decide(start_berth, tmp_path):
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    good = {KEY: written(0.2)}
    cluster = write_nodes(
        tmp_path / "cluster.json",
        cool={**good, CRANE: written(0.3, offset=SHANGHAI)},
        hot={KEY: written(0.9)},
        old={KEY: written(0.2, seconds_ago=600)},
        odd={KEY: "0.2"},
        none={},
        other={**good, CRANE: written(0.9, offset=SHANGHAI)},
    )
    berth = start_berth("--policy", tmp_path / "policy.yaml", "--cluster", cluster)
    assert passed(berth) == ["cool"]
    found = find_metric(berth, "load")
    assert (found["state"], found["nodes"]["covered"]) == ("ok", 3), found
    covered = 'berth_source_nodes_covered{policy="annotated",metric="load",source=""}'
    assert metrics(berth)[covered] == 3

    # Like a controller that updates them.
    write_nodes(cluster, cool={KEY: written(0.85)}, hot=good, old=good)
    wait_until(lambda: passed(berth) == ["hot", "old"], "new annotations to count")
    assert get(berth, "/readyz").status == 200


def test_values_expire_without_requests(start_berth, tmp_path):
    policy = yaml.safe_load(yaml.safe_dump(POLICY))
    policy["spec"]["metrics"][0]["maxAge"] = "6s"
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy))
    cluster = write_nodes(tmp_path / "cluster.json", cool={})
    berth = start_berth("--policy", tmp_path / "policy.yaml", "--cluster", cluster)
    assert passed(berth) == []
    write_nodes(cluster, cool={KEY: written(0.2)})
    wait_until(lambda: passed(berth) == ["cool"], "the value to count")
    wait_until(lambda: passed(berth) == [], "the value to be too old")
