"""Runs commands of berth with a real cluster."""

import json
import re

from cluster import get_health
from waiting import wait_for

POLICY = """
filters:
  - {name: pool, nodeLabels: {example.com/pool: blue}, reason: node is not in the pool}
  - {name: room, headroom: {cpu: 500m}, reason: node has too little cpu left}
"""


def test_explain_matches_kubectl_describe(cluster, names_mode):
    for name in ("red-1", "red-2"):
        cluster.add_node(name, {"example.com/pool": "red"})
    cluster.add_node("blue", {"example.com/pool": "blue"}, cpu="4")
    cluster.add_pod("fills", cpu="3", nodeName="blue")
    policy = cluster.write_policy(POLICY)
    cluster.start(names_mode, "--policy", policy)

    cluster.add_pod("waits", cpu="900m")
    reasons = ["2 node is not in the pool", "1 node has too little cpu left"]
    for reason in reasons:
        cluster.wait_pending("waits", reason)
        cluster.wait_event("waits", "FailedScheduling", reason)
    shown = cluster.describe_pod("waits")

    access = ["--kubeconfig", cluster.plane.berth_kubeconfig]
    name = f"{cluster.namespace}/waits"
    explained = cluster.run_berth("explain", *access, name, "--policy", policy)
    assert explained.returncode == 0, explained.stderr
    assert explained.stdout.startswith(f"pod       {name}  requests cpu 900m")
    assert "0 of 3 nodes pass\n" in explained.stdout
    for reason in reasons:
        n, text = reason.split(" ", 1)
        assert re.search(rf"^ +{n}  \S+/\S+: {text}$", explained.stdout, re.M), explained.stdout
    assert all(reason in shown for reason in reasons)

    # The same with a dump, for users without access to the cluster.
    dumped = cluster.run_berth("dump", *access)
    assert dumped.returncode == 0, dumped.stderr
    dump, pod = cluster.folder / "dumped.json", cluster.folder / "pod.json"
    dump.write_text(dumped.stdout)
    pod.write_text(json.dumps(cluster.pod("waits")))
    offline = ["--cluster", dump, "--pod", pod, "--policy", policy]
    assert cluster.run_berth("explain", *offline).stdout == explained.stdout

    same = cluster.run_berth("dump", *access, "--compare", dump)
    assert (same.returncode, same.stdout) == (0, f"{dump} and the cluster are the same\n")
    # berth reads the same from kubectl's list.
    assert cluster.run_berth("dump", *access, "--compare", cluster.dump()).returncode == 0

    cluster.delete_pod("fills")
    cluster.wait_gone("fills")
    other = cluster.run_berth("dump", *access, "--compare", dump)
    assert other.returncode == 1
    assert f"{cluster.namespace}/fills" in other.stdout


def test_without_the_right_to_read(cluster):
    stranger = ["--kubeconfig", cluster.plane.write_kubeconfig("stranger")]
    done = cluster.run_berth("dump", *stranger)
    assert done.returncode == 3
    assert "needs the rights list and watch on nodes" in done.stderr

    berth = cluster.start_berth(*stranger, until_ready=False)
    status, text = wait_for(
        "berth to know why", lambda: get_health(berth), lambda seen: "403" in seen[1]
    )
    assert status == 500
    assert "needs the rights list and watch on nodes" in text


def test_pods_and_servers_that_are_not_there(cluster):
    cluster.add_node("blue")
    access = ["--kubeconfig", cluster.plane.berth_kubeconfig]
    policy = cluster.write_policy(POLICY)
    done = cluster.run_berth("explain", *access, f"{cluster.namespace}/nobody", "--policy", policy)
    assert done.returncode == 3
    assert f"there is no pod {cluster.namespace}/nobody" in done.stderr

    done = cluster.run_berth("explain", *access, f"{cluster.namespace}/nobody")
    assert done.returncode == 3
    assert "no pod with the label app.kubernetes.io/name=berth runs" in done.stderr

    done = cluster.run_berth("dump", "--kubeconfig", cluster.folder / "none")
    assert done.returncode == 3
    assert "none" in done.stderr
