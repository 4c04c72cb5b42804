"""etcd stops answering for seconds while berth binds."""

import random
import time

from client import FAULT_SCALE

N_PAUSES = max(2, FAULT_SCALE // 5)
SHORT, LONG = 4, 12  # seconds: less than a Binding may take, and more


def test_etcd_is_paused_while_berth_binds(cluster, make_load, report):
    dice = random.Random(3)
    load = make_load()
    berth = cluster.start_berth(*load.flags())
    load.place(berth)
    paused = 0
    for i in range(N_PAUSES):
        seconds = LONG if i % 10 == 5 else dice.uniform(0.2, SHORT)
        load.wait_in_flight()
        with cluster.plane.etcd.halted():
            time.sleep(seconds)
        paused += seconds
        load.wait_placed(3)

    load.settle(berth)
    load.check()
    cluster.assert_cluster_copy_is_true(berth)
    report(f"{N_PAUSES} pauses, {paused:.0f} s in all: {load.report()}")
