"""The files of bench/rules/cluster.py, generated once for each cluster size.

cluster.json, pod.json, names.json (a request for all nodes), order (its names, one per line), and
window-NNN.json (requests of 500 names each that walk through the nodes).
"""

import hashlib
import json
import os
import pathlib
import shutil

import cluster
import generate
from programs import CACHE
from report import say

N_NAMES = 500


def data_folder(n_nodes):
    """The folder of generated files; a changed generator gets a new folder."""
    sources = (pathlib.Path(cluster.__file__), pathlib.Path(generate.__file__))
    version = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    folder = CACHE / "rules-data" / version / str(n_nodes)
    if not folder.exists():
        for old in (CACHE / "rules-data").glob("*"):
            if old.name != version:
                shutil.rmtree(old)
        say("making %d nodes and their pods" % n_nodes)
        unfinished = folder.with_name("%s.%d" % (n_nodes, os.getpid()))
        cluster.write(unfinished, n_nodes)
        names = json.loads((unfinished / "names.json").read_text())
        (unfinished / "order").write_text("\n".join(names["NodeNames"]) + "\n")
        write_windows(unfinished, names)
        os.rename(unfinished, folder)
    return folder


def write_windows(folder, request):
    names = request["NodeNames"]
    for at in range(0, len(names), N_NAMES):
        body = {**request, "NodeNames": names[at:at + N_NAMES]}
        (folder / ("window-%03d.json" % (at // N_NAMES))).write_text(cluster.encode(body))
