"""The cost of policies in the cluster: 1,000 of them, one change a second.

tools/e2e runs only test_*.py; this is run by name: make e2e E2E="-s test/e2e/measure_policies.py"
"""

import os
import pathlib
import time

from test_cluster_policies import POLICIES, edit, look, make_policy, policies, start  # noqa: F401
from waiting import wait_for

N, LOOKS, CHANGES = 1000, 15, 60
TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(berth):
    fields = pathlib.Path(f"/proc/{berth.popen.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def version(cluster, name):
    return look(cluster, name).get("status", {}).get("inForceGeneration")


def test_cost(policies):  # noqa: F811
    for i in range(100):
        policies.add_node(f"node-{i}", {"a": "yes"})
    for i in range(N):
        policies.api.create(POLICIES, make_policy(f"policy-{i:04}", "a"))
    began = time.monotonic()
    berth = start(policies)
    print(f"\nready with {N} policies after {time.monotonic() - began:.1f} s, cpu {cpu_seconds(berth):.2f} s")
    wait_for("all statuses", lambda: version(policies, f"policy-{N - 1:04}"), seconds=300)
    print(f"all statuses written after {time.monotonic() - began:.1f} s, cpu {cpu_seconds(berth):.2f} s")
    time.sleep(5)
    idle, at = cpu_seconds(berth), time.monotonic()
    time.sleep(10)
    print(f"idle: {(cpu_seconds(berth) - idle) / (time.monotonic() - at) * 100:.1f} % of a processor")
    waits = []
    for i in range(LOOKS):
        name, asked = f"policy-{i:04}", time.monotonic()
        edit(policies, name, make_policy(name, "a", mode="Observe")["spec"])
        wait_for("the change", lambda: version(policies, name), lambda seen: seen == 2)
        waits.append(time.monotonic() - asked)
    print(f"from a change until the status shows it, {LOOKS} changes: p50 {sorted(waits)[LOOKS // 2]:.2f} s, max {max(waits):.2f} s")
    cpu, at, start_of_log = cpu_seconds(berth), time.monotonic(), policies.plane.audit.size()
    for i in range(LOOKS, LOOKS + CHANGES):
        edit(policies, f"policy-{i:04}", make_policy("", "a", mode="Observe")["spec"])
        time.sleep(max(0, at + i + 1 - LOOKS - time.monotonic()))
    took = time.monotonic() - at
    used = cpu_seconds(berth) - cpu
    name = f"policy-{LOOKS + CHANGES - 1:04}"
    wait_for("the last", lambda: version(policies, name), lambda seen: seen == 2)
    events = [each.get("objectRef", {}) for each in policies.plane.audit.read(start_of_log)]
    n_writes = sum(each.get("subresource") == "status" for each in events)
    print(f"{CHANGES} changes in {took:.1f} s: {used / took * 100:.1f} % of a processor, {n_writes} status writes")
