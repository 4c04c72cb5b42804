"""Preemption calls berth before it evicts a pod."""

import pytest

POOL = "example.com/pool"
POLICY = """
filters:
  - {name: pool, nodeLabels: {example.com/pool: blue}, reason: node is not in the pool,
     unresolvable: true}
"""


@pytest.mark.compat("preempt")
def test_no_eviction_on_rejected_nodes(cluster, names_mode):
    for name, value in (("lowest", 1), ("low", 2), ("high", 1000)):
        cluster.add_priority(name, value)
    # Both nodes are full. Without berth kube-scheduler would evict the pod with the lowest priority.
    for node, priority in (("red", "lowest"), ("blue", "low")):
        cluster.add_node(node, {POOL: node}, cpu="4")
        cluster.add_pod(f"on-{node}", cpu="3", nodeName=node, priorityClassName=priority)
        cluster.set_phase(f"on-{node}", "Running")
    cluster.start(names_mode, "--policy", cluster.write_policy(POLICY))

    cluster.add_pod("urgent", cpu="3", priorityClassName="high")
    assert cluster.wait_bound("urgent") == "blue"
    cluster.wait_gone("on-blue")
    cluster.wait_event("on-blue", "Preempted", "Preempted by ")
    assert "deletionTimestamp" not in cluster.pod("on-red")["metadata"]
