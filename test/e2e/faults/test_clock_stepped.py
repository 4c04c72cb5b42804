"""berth's wall clock is set an hour ahead and back while it binds. The machine's clock does not change."""

import datetime
import pathlib
import re
import struct
import subprocess
import time

from client import FAULT_SCALE, metrics
from cluster import take_dump
from waiting import wait_for

N_STEPS = 4 * FAULT_SCALE
HOUR = 3600
LEASE = "berth-system/berth-bind"
LEASE_PATH = "/apis/coordination.k8s.io/v1/namespaces/berth-system/leases/berth-bind"


class Clock:
    """The clock of all berths that the cluster starts afterwards."""

    def __init__(self, cluster):
        library = cluster.folder / "clock.so"
        source = pathlib.Path(__file__).with_name("clock.c")
        command = ["cc", "-shared", "-fPIC", "-O", "-o", library, source]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self.file = cluster.folder / "ahead"
        self.file.write_bytes(struct.pack("q", 0))
        wrapper = cluster.folder / "berth-with-a-clock"
        wrapper.write_text(
            f'#!/bin/sh\nLD_PRELOAD={library} CLOCK_FILE={self.file} exec {cluster.berth_path} "$@"\n'
        )
        wrapper.chmod(0o755)
        cluster.berth_path = wrapper

    def set(self, seconds):
        with self.file.open("r+b", buffering=0) as file:  # writes into the same file, because berth has mapped it
            file.write(struct.pack("q", seconds))

    def now(self):
        return time.time() + struct.unpack("q", self.file.read_bytes())[0]


def read_clock(berth):
    """The time that berth writes into its log, with a new line."""

    def read_stamps():
        return re.findall(r"^ts=(\S+)Z .*cluster dumped", berth.log.read_text(), re.M)

    n_before = len(read_stamps())
    take_dump(berth)
    stamp = wait_for("berth to log", read_stamps, lambda found: len(found) > n_before)[-1]
    return datetime.datetime.fromisoformat(stamp).replace(tzinfo=datetime.timezone.utc).timestamp()


def test_the_clock_is_stepped_while_berth_binds(cluster, make_load, report):
    load = make_load()
    program = cluster.berth_path
    clock = Clock(cluster)
    cluster.api.delete(LEASE_PATH)  # of another scenario
    berth = cluster.start_berth(*load.flags(), "--lease", LEASE)
    cluster.berth_path = program
    load.place(berth)
    load.wait_placed(1)
    for i in range(N_STEPS):
        load.wait_in_flight()
        clock.set((0, HOUR, 0, -HOUR)[(i + 1) % 4])
        assert abs(read_clock(berth) - clock.now()) < HOUR / 4
        load.wait_placed(2)

    figures = metrics(berth)
    assert figures["berth_lease_taken_total"] == 1 and figures["berth_lease_lost_total"] == 0
    load.settle(berth)
    load.check()
    cluster.assert_cluster_copy_is_true(berth)
    report(f"{N_STEPS} steps: {load.report()}")
