"""Starting berth for whole-program tests.

The program is $BERTH, or build/berth of this repository. Every server started here listens on a
port that the system chooses, and is terminated by its own pid at the end of its test.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "support"))

from client import PATIENCE, REPOSITORY  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "single_thread: runs only commands without threads; `make tsan` skips it")


class Berth:
    """A running `berth serve`."""

    def __init__(self, command, env=None):
        self.proc = subprocess.Popen(command, stdout=subprocess.PIPE, env=env, text=True)
        line = self.proc.stdout.readline()
        match = re.match(r"listening on (https?)://(.*):(\d+)$", line.strip())
        if not match:
            self.proc.kill()
            self.proc.wait()
            raise RuntimeError(f"{command[0]} did not start; it printed {line!r}")
        self.scheme, self.host, self.port = match[1], match[2], int(match[3])
        self.url = f"{self.scheme}://{self.host}:{self.port}"

    def is_alive(self):
        return self.proc.poll() is None

    def rss_kib(self):
        with open(f"/proc/{self.proc.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmRSS:\s*(\d+)", status.read())[1])

    def stop(self):
        """Sends SIGTERM and returns the exit status. May be called again."""
        if self.is_alive():
            self.proc.send_signal(signal.SIGTERM)
        try:
            return self.proc.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
            raise
        finally:
            self.proc.stdout.close()


@pytest.fixture(scope="session")
def berth_path():
    path = pathlib.Path(os.environ.get("BERTH", REPOSITORY / "build" / "berth"))
    if not path.exists():
        pytest.fail(f"{path} does not exist: build first, or set BERTH")
    return str(path)


@pytest.fixture(scope="session")
def outcome_of(berth_path):
    """outcome_of(command, *options) -> (exit code, stdout, stderr)"""

    def run(*words):
        done = subprocess.run(
            [berth_path, *map(str, words)],
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture
def start_berth(berth_path):
    """start_berth(*flags) -> Berth, on 127.0.0.1 and a port of the system's choice."""
    running = []

    def start(*flags):
        command = [berth_path]
        if pathlib.Path(berth_path).name == "berth":
            command.append("serve")
        berth = Berth([*command, "--listen", "127.0.0.1:0", *map(str, flags)])
        running.append(berth)
        return berth

    yield start
    statuses = [berth.stop() for berth in running]
    assert not any(statuses), "berth did not end well"  # for example a sanitizer's finding


# --- servers for a whole file, and servers whose log is read ---


@pytest.fixture(scope="module")
def start_shared(berth_path):
    """start_shared(*flags) -> Berth that runs until the file's tests end."""
    running = []

    def start(*flags):
        running.append(
            Berth([berth_path, "serve", "--listen", "127.0.0.1:0", *map(str, flags)])
        )
        return running[-1]

    yield start
    assert not any([berth.stop() for berth in running]), "berth did not end well"


@pytest.fixture
def start_logged(berth_path, tmp_path_factory):
    """start_logged(*flags) -> Berth whose log goes to the file berth.log."""
    running = []

    def start(*flags):
        log = tmp_path_factory.mktemp("log") / "berth.log"
        command = [berth_path, "serve", "--listen", "127.0.0.1:0", *map(str, flags)]
        berth = Berth(["/bin/sh", "-c", 'exec "$@" 2>"$0"', str(log), *command])
        berth.log = log
        running.append(berth)
        return berth

    yield start
    statuses = [berth.stop() for berth in running]
    logs = "\n".join(berth.log.read_text() for berth in running)
    assert not any(statuses), "berth did not end well:\n" + logs
