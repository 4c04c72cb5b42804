"""The disk of berth's dump is full while berth binds."""

import os
import pathlib
import signal

import pytest
from client import FAULT_SCALE
from cluster import take_dump
from waiting import wait_for

N_DUMPS = max(2, FAULT_SCALE // 2)
DISK = "256k"
FULL = 'msg="no dump" error="cannot write'


def test_the_disk_is_full_while_berth_binds(cluster, make_load, report, tmp_path):
    """The disk is a tmpfs that only this berth has mounted."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    wrapper = tmp_path / "berth-with-a-disk"
    wrapper.write_text(f"""#!/bin/sh
exec unshare --mount sh -c 'mount -t tmpfs -o size={DISK} none {disk} && exec {cluster.berth_path} "$@"' sh "$@"
""")
    wrapper.chmod(0o755)
    load = make_load()
    program, cluster.berth_path = cluster.berth_path, wrapper
    berth = cluster.start_berth(*load.flags(), dump_file=disk / "dump.json")
    cluster.berth_path = program
    load.place(berth)
    seen = berth.dump_file = pathlib.Path(f"/proc/{berth.popen.pid}/root{disk}/dump.json")
    filler = seen.with_name("filler")

    def count_failures():
        return berth.log.read_text().count(FULL)

    for i in range(N_DUMPS):
        take_dump(berth)
        before = seen.read_bytes()
        fill(filler)
        load.wait_in_flight()
        berth.popen.send_signal(signal.SIGUSR2)
        wait_for("the dump to fail", count_failures, lambda n: n == i + 1)
        assert sorted(os.listdir(seen.parent)) == ["dump.json", "filler"]
        assert seen.read_bytes() == before  # the last good one
        filler.unlink()
        load.wait_placed(1)

    load.settle(berth)
    load.check()
    assert "No space left on device" in berth.log.read_text()
    cluster.assert_cluster_copy_is_true(berth)
    report(f"{N_DUMPS} dumps to a full disk: {load.report()}")


def fill(path):
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
