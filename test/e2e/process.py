"""A process that ends with the tests at the latest."""

import contextlib
import os
import random
import signal
import socket
import subprocess

STOP_SECONDS = 20


def own_ports():
    """Ports below those of outgoing connections, which could otherwise take a port before the program
    listens. Tests that run at the same time get different ports."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    n_each = 12000 // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return range(20000 + worker * n_each, 20000 + (worker + 1) * n_each)


picked = set()


def pick_port():
    """A free port of 127.0.0.1, different each time, because an earlier program may not listen yet."""
    while True:
        port = random.choice([port for port in own_ports() if port not in picked])
        picked.add(port)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def make_environment(home, **variables):
    """The environment without settings for the user's own clusters."""
    inherited = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    return {**inherited, "HOME": str(home), **variables}


class Process:
    """Runs in its own session, so that Ctrl-C only reaches the tests, which then end it in order.
    If the tests die first the kernel kills it. Output goes to a log."""

    def __init__(self, name, argv, log):
        self.name, self.argv, self.log = name, list(map(str, argv)), log
        self.start()

    def start(self):
        with self.log.open("ab") as output:
            self.popen = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *self.argv],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=make_environment(self.log.parent),
                start_new_session=True,
            )

    def crash(self):
        """Kills and restarts it, with the same arguments and log."""
        self.stop(signal.SIGKILL)
        self.start()

    def is_alive(self):
        return self.popen.poll() is None

    def check_alive(self):
        assert self.is_alive(), f"{self.name} ended with {self.popen.returncode}:\n{self.tail(20)}"

    @contextlib.contextmanager
    def halted(self):
        """Stops it with SIGSTOP for the block; requests to it are queued. On a busy machine its threads run for a
        while after the signal."""
        self.popen.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.popen.pid, os.WSTOPPED)
        try:
            yield
        finally:
            self.popen.send_signal(signal.SIGCONT)

    def stop(self, how=signal.SIGTERM):
        """Ends it, and returns its exit status, or a text if it had to be killed. May be called
        again."""
        if self.is_alive():
            self.popen.send_signal(how)
        try:
            return self.popen.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
            return f"killed, it went on for {STOP_SECONDS} s after {how.name}"

    def tail(self, n_lines):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-n_lines:])
