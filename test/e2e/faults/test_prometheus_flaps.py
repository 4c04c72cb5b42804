"""Prometheus is killed, restarted and paused while berth binds by measured load."""

import random
import signal
import time

from client import FAULT_SCALE, metrics
from load import MANAGED, SLOT
from objects import make_extender

N_FLAPS = max(2, FAULT_SCALE // 5)
MAX_AGE = 3  # seconds
HOT = "blue-0"
POLICY = f"""
metrics:
  - name: load
    prometheus: {{query: node_load, nodeLabel: node}}
    interval: 1s
    maxAge: {MAX_AGE}s
    placements: none
filters:
  - {{name: pool, nodeLabels: {{pool: blue}}, reason: node is not in the pool}}
  - {{name: slots, headroom: {{{SLOT}: 0}}, reason: no slot is free}}
  - {{name: cool, expression: metrics.load < 0.8, onMissing: reject, reason: node is hot}}
"""


def test_prometheus_flaps_while_berth_binds(cluster, make_load, measured, report):
    dice = random.Random(4)
    exporter, prometheus = measured
    load = make_load(is_shared=True, closed=[HOT])
    for name in load.nodes:
        exporter.set("node_load", 0.9 if name == HOT else 0.2, node=name)
    flags = [*load.flags(policy=POLICY), "--prometheus", prometheus.url, "--wake-up"]
    berth = cluster.start_berth(*flags)
    cluster.start_scheduler(
        make_extender(berth.url, bindVerb="bind", managedResources=MANAGED, httpTimeout="15s")
    )
    load.place(berth)
    for i in range(N_FLAPS):
        load.wait_placed(3)
        seconds = dice.uniform(0, 2 * MAX_AGE)  # shorter or longer than the maxAge of values
        if i % 2 == 0:
            prometheus.process.stop(signal.SIGKILL)
            time.sleep(seconds)
            prometheus.start()
        else:
            with prometheus.process.halted():
                time.sleep(seconds)

    load.settle()
    load.check()
    failed = sum(value for name, value in metrics(berth).items() if 'result="failed"' in name)
    assert failed > 0
    cluster.assert_cluster_copy_is_true(berth)
    report(f"{N_FLAPS} flaps, {failed:.0f} failed queries: {load.report()}")
