"""CPU time and memory of processes, and the use by other processes."""

import os
import time

TICKS = os.sysconf("SC_CLK_TCK")
MIB = 1024  # kB


def cpu_seconds(pid):
    """CPU time of the whole process so far, from its CPU clock (nanoseconds)."""
    return time.clock_gettime(~pid << 3 | 2)


def thread_seconds(pid):
    """{name: seconds} by thread name."""
    seconds = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        folder = f"/proc/{pid}/task/{thread}"
        try:
            with open(f"{folder}/comm") as comm, open(f"{folder}/schedstat") as schedstat:
                name, ran = comm.read().strip(), int(schedstat.read().split()[0])
        except OSError:
            continue  # the thread has just ended
        seconds[name] = seconds.get(name, 0) + ran / 1e9
    return seconds


def memory(pid):
    """{"VmRSS": kB, "VmHWM": kB, …}"""
    with open(f"/proc/{pid}/status") as status:
        sizes = [line.split() for line in status if line.endswith("kB\n")]
    return {name.rstrip(":"): int(size) for name, size, _ in sizes}


def busy_seconds():
    """Busy time of all cores since boot, including time stolen by the hypervisor."""
    with open("/proc/stat") as stat:
        user, nice, system, _, _, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS


class Load:
    """CPU use by other processes during a measurement, as a share of one core.
    @pids: the processes that belong to the measurement and run until its end. This process, and its
    children that end meanwhile, belong to it too."""

    def __init__(self, pids):
        self.pids = pids
        self.before = self._foreign()
        self.start = time.monotonic()

    def add(self, pid):
        """Adds a process that has started since."""
        self.pids.append(pid)

    def _foreign(self):
        return busy_seconds() - sum(os.times()[:4]) - sum(map(cpu_seconds, self.pids))

    def stop(self):
        return max(0, (self._foreign() - self.before) / (time.monotonic() - self.start))
