"""The API server is killed and restarted while berth binds."""

import random
import time

from client import FAULT_SCALE

N_KILLS = FAULT_SCALE


def test_api_server_is_killed_while_berth_binds(cluster, make_load, report):
    dice = random.Random(2)
    load = make_load()
    berth = cluster.start_berth(*load.flags())
    load.place(berth)
    with cluster.plane.audit.looking_away():
        for _ in range(N_KILLS):
            load.wait_in_flight()
            time.sleep(dice.uniform(0, 0.02))
            load.wait_in_flight()
            cluster.plane.apiserver.crash()
            load.wait_placed(3)
        load.settle(berth)

    load.check()
    cluster.assert_cluster_copy_is_true(berth)
    report(f"{N_KILLS} restarts: {load.report()}")
