"""berth is killed while it binds, and restarted at once."""

import random
import time

from client import FAULT_SCALE
from process import pick_port

N_KILLS = 20 * FAULT_SCALE


def test_berth_is_killed_while_it_binds(cluster, make_load, report):
    dice = random.Random(1)
    load = make_load()
    berth = cluster.start_berth(*load.flags(), port=pick_port())
    load.place(berth)
    for _ in range(N_KILLS):
        load.wait_in_flight()
        time.sleep(dice.expovariate(1 / 0.03))  # mostly at once, sometimes much later
        load.wait_in_flight()
        berth.crash()

    load.settle(berth)
    load.check(may_overfill=True)
    cluster.assert_cluster_copy_is_true(berth)
    report(f"{N_KILLS} kills: {load.report()}")
