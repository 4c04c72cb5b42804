"""Network namespaces, and a link between two of them that a test can cut.

The machine's own network does not change. The namespaces have no names: the kernel removes them and
their link with the last thread, process and socket in them, however the tests end. Needs root and
iproute2.
"""

import contextlib
import ctypes
import os
import pathlib
import socket
import subprocess

NEAR, FAR = "192.0.2.1", "192.0.2.2"  # from a range for documentation
FAR_DEVICE = "02:00:00:00:00:02"
CLONE_NEWNET = 0x40000000
ESTABLISHED = "01"  # in /proc/net/tcp
libc = ctypes.CDLL(None, use_errno=True)


class Network:
    """A network namespace. It exists at least until @fd is closed."""

    def __init__(self, fd):
        self.fd = fd
        self.path = f"/proc/{os.getpid()}/fd/{fd}"

    @contextlib.contextmanager
    def entered(self):
        """Moves this thread into the namespace for the block. Sockets, threads and processes that it creates
        there stay in it."""
        with moved(libc.setns, self.fd, CLONE_NEWNET):
            yield

    def ip(self, *words):
        with self.entered():
            run = subprocess.run(["ip", *words], capture_output=True, text=True)
        assert run.returncode == 0, f"ip {' '.join(words)}: {run.stderr}"


class Cable:
    """A link from the address NEAR in one network to FAR in the other."""

    def __init__(self, near, far):
        self.near, self.far = near, far
        near.ip("link", "add", "cable", "type", "veth",
                "peer", "name", "cable", "address", FAR_DEVICE, "netns", far.path)  # fmt: skip
        for network, address in ((near, NEAR), (far, FAR)):
            network.ip("address", "add", f"{address}/30", "dev", "cable")
            network.ip("link", "set", "cable", "up")
        # Like behind a router, the device does not show that the other end is gone.
        near.ip("neighbour", "replace", FAR, "lladdr", FAR_DEVICE, "dev", "cable")

    def cut(self):
        """Cuts the link: packets from NEAR get no reply, neither FIN, RST nor "unreachable"."""
        self.far.ip("route", "add", "blackhole", NEAR)

    def restore(self):
        self.far.ip("route", "delete", "blackhole", NEAR)

    def open_ports(self):
        """The local ports of NEAR of established connections to FAR."""
        with self.near.entered():
            lines = pathlib.Path("/proc/thread-self/net/tcp").read_text().splitlines()[1:]
        far = f"{int.from_bytes(socket.inet_aton(FAR), 'little'):08X}"
        rows = [line.split() for line in lines]
        return {int(row[1][-4:], 16) for row in rows if row[2][:8] == far and row[3] == ESTABLISHED}


@contextlib.contextmanager
def make_network():
    with moved(libc.unshare, CLONE_NEWNET):
        fd = open_current()
    try:
        network = Network(fd)
        network.ip("link", "set", "lo", "up")
        yield network
    finally:
        os.close(fd)


@contextlib.contextmanager
def make_cable():
    """Raises PermissionError without root."""
    with make_network() as near, make_network() as far:
        yield Cable(near, far)


@contextlib.contextmanager
def moved(function, *arguments):
    """Moves this thread into another namespace for the block, and back."""
    before = open_current()
    try:
        call(function, *arguments)
        try:
            yield
        finally:
            call(libc.setns, before, CLONE_NEWNET)
    finally:
        os.close(before)


def open_current():
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def call(function, *arguments):
    if function(*arguments) < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{function.__name__}: {os.strerror(error)}")
