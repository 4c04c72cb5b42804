"""A control plane to develop against, until Ctrl-C: shell.py FOLDER. See tools/e2e --shell."""

import os
import pathlib
import signal
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))  # authority.py

from controlplane import ControlPlane  # noqa: E402
from objects import make_extender, make_node  # noqa: E402

BERTH_URL = "http://127.0.0.1:8080"  # berth's default


def main(folder):
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    plane = ControlPlane(pathlib.Path(os.environ["BERTH_E2E"]), folder)
    try:
        plane.start()
        # Ignorable: pods are placed even if no berth runs.
        plane.start_scheduler([make_extender(BERTH_URL, ignorable=True)])
        for name in ("node-a", "node-b", "node-c"):
            plane.api.create("/api/v1/nodes", make_node(name))
        plane.make_namespace("default")
        print(f"export KUBECONFIG={plane.admin_kubeconfig} PATH={plane.bin}:$PATH")
        print(f"# berth's own identity: {plane.berth_kubeconfig}")
        print(f"# kube-scheduler asks a berth at {BERTH_URL}, by names, if there is one.")
        print("# Ctrl-C ends all of it and removes its data.", flush=True)
        signal.pause()
    except KeyboardInterrupt:
        pass
    finally:
        plane.stop()


main(pathlib.Path(sys.argv[1]))
