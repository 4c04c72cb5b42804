"""Finds, builds and starts the programs of the live benchmarks."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from report import say

HERE = pathlib.Path(__file__).resolve().parent
BENCH, ROOT = HERE.parent, HERE.parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "berth"
sys.path += [str(ROOT / "test" / "support"), str(ROOT / "test" / "e2e")]

from authority import Authority  # noqa: E402
from process import Process  # noqa: E402

LISTENING = re.compile(r"^listening on (https?://\S+)$", re.MULTILINE)
PATIENCE = 300  # seconds


class Failure(Exception):
    pass


def end_in_order():
    """On SIGTERM the benchmark stops the processes that it has started."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


class Programs:
    """The programs of a build folder; all files that they write go into a temporary folder."""

    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.berth = pathlib.Path(os.environ.get("BERTH") or self.build / "berth")
        self.floor = self.build / "bench" / "floor"
        self.client = self.build / "bench" / "client"
        for program in (self.berth, self.floor, self.client):
            if not os.access(program, os.X_OK):
                raise Failure(f"{program} is missing; build berth, bench/floor and bench/client in "
                              f"{self.build}")
        usage = subprocess.run([self.berth, "serve", "--help"], capture_output=True, text=True)
        if "--kubeconfig" not in usage.stdout:
            raise Failure(f"{self.berth} cannot watch a cluster: it has no --kubeconfig")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-bench."))
        self.running = []

    def clear(self):
        for process in reversed(self.running):
            process.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, name, *argv):
        """Starts a program that prints "listening on URL"."""
        process = Process(name, argv, self.folder / f"{len(self.running)}-{name}.log")
        self.running.append(process)
        process.url = wait_for(process, lambda: LISTENING.search(process.log.read_text()))[1]
        process.pid = process.popen.pid
        return process

    def start_berth(self, *flags, is_ready=True):
        berth = self.start("berth", self.berth, "serve", "--listen", "127.0.0.1:0",
                           "--log-level", "warn", *flags)
        if is_ready:
            wait_for(berth, lambda: http_status(berth.url + "/readyz") == 200)
        return berth


def wait_for(process, look, seconds=PATIENCE, pause=0.02):
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        if not process.is_alive() or time.monotonic() > deadline:
            raise Failure(f"{process.name} did not come up:\n{process.tail(20)}")
        time.sleep(pause)
    return seen


def http_status(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def read_metrics(server):
    """{'name{label="value"}': number}"""
    with urllib.request.urlopen(server.url + "/metrics", timeout=10) as response:
        lines = response.read().decode().splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
            for line in lines if not line.startswith("#")}


def build_go(name):
    """Builds bench/NAME; None if Go is not installed."""
    if not shutil.which("go"):
        say(f"Go is not installed: nothing to compare with bench/{name}")
        return None
    path = CACHE / name
    CACHE.mkdir(parents=True, exist_ok=True)
    say(f"building bench/{name} (minutes the first time)")
    done = subprocess.run(["go", "build", "-buildvcs=false", "-o", path, "."], cwd=BENCH / name)
    if done.returncode != 0:
        say(f"bench/{name} cannot be built: see above")
        return None
    return path


class Feed:
    """live/feed.py as a process, and a kubeconfig for its clients."""

    def __init__(self, folder, world_folder, *flags):
        authority = Authority(folder / "ca", "bench")
        pair = authority.issue_server()
        self.popen = subprocess.Popen(
            [sys.executable, HERE / "feed.py", "--folder", world_folder, "--cert", pair.certificate,
             "--key", pair.key, *flags],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.popen.pid
        line = self.popen.stdout.readline()
        if not line:
            raise Failure("the feed did not start")
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(json.dumps({  # JSON is YAML
            "apiVersion": "v1", "kind": "Config", "current-context": "bench",
            "clusters": [{"name": "bench", "cluster": {
                "server": line.split()[-1], "certificate-authority": str(authority.certificate)}}],
            "users": [{"name": "bench", "user": {"token": "bench"}}],
            "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}]}))

    def tell(self, *words):
        self.popen.stdin.write(" ".join(map(str, words)) + "\n")
        self.popen.stdin.flush()
        return json.loads(self.popen.stdout.readline())

    def stop(self):
        self.popen.stdin.close()
        self.popen.wait()
