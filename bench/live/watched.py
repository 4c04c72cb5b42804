"""Starts a berth that watches a made-up cluster over HTTPS (feed.py is the API server), and sends filter requests."""

import json
import random
import subprocess

import generate
from programs import Failure, Feed
from report import say
from world import World

N_NAMES, REQUEST_RATE = 500, 100
LOOP_SECONDS = 10  # then the events repeat


class Watched:
    """@rate: events per second, for which text is prepared. @flags: of berth serve."""

    def __init__(self, programs, nodes, pods_per_node, rate, policy, *flags):
        self.programs = programs
        folder = programs.folder / "world"
        folder.mkdir()
        say("making %d nodes and %d pods" % (nodes, nodes * pods_per_node))
        world = World(nodes, pods_per_node)
        world.write(folder, rate * LOOP_SECONDS)
        self.bodies = self._write_bodies(world)
        self.probe_body = self._write_body("probe.json", [world.names[0]])
        self.feed = Feed(programs.folder, folder)
        self.berth = programs.start_berth("--policy", policy, "--kubeconfig", self.feed.kubeconfig, *flags)
        self.port = self.berth.url.rpartition(":")[2]

    def _write_bodies(self, world):
        names = [world.names[i] for i in world.order]
        windows = [names[at:at + N_NAMES] for at in range(0, len(names), N_NAMES)]
        return [self._write_body(f"names-{i}.json", each) for i, each in enumerate(windows)]

    def _write_body(self, name, names):
        pod = generate.make_pod(random.Random(1))
        path = self.programs.folder / name
        path.write_text(generate.encode({"Pod": pod, "Nodes": None, "NodeNames": names}))
        return path

    def ask(self, seconds):
        """Sends filter requests at REQUEST_RATE over one connection. Returns the client's figures."""
        command = [self.programs.client, "--port", self.port, "--pid", str(self.berth.pid),
                   "--path", "/filter", "--requests", str(round(REQUEST_RATE * seconds)), "--warmup", "0",
                   "--rate", str(REQUEST_RATE)]
        for body in self.bodies:
            command += ["--body", body]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure("a request failed: %s\n%s" % (done.stderr, self.berth.tail(20)))
        return json.loads(done.stdout)
