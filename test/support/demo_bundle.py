"""Reads the bundle that `berth demo` saves at its end, from the command that the demo suggests."""

import json
import re
import tarfile


def read_choices(output, metric):
    """[(chosen node, {node: value})] of the pods that were placed. Values of @metric are as of the filter, because on a busy
    machine they change while the demo runs; if @metric is an annotation, as of the end."""
    with tarfile.open(re.search(r" explain --bundle (\S+)", output)[1]) as archive:
        names = ("sources.json", "metrics.jsonl", "cluster.json", "decisions.jsonl")
        sources, metrics, cluster, decisions = (archive.extractfile(f"berth-bundle/{name}").read() for name in names)
    gauges = [each["name"] for each in json.loads(sources)["metrics"]]
    lines = [json.loads(line) for line in metrics.splitlines()]
    scenes = {line["scene"]: line["samplings"] for line in lines if "scene" in line}
    samplings = {line["sampling"]: line["nodes"] for line in lines if "sampling" in line}
    annotations = {each["metadata"]["name"]: each["metadata"].get("annotations", {})
                   for each in json.loads(cluster)["items"] if each["kind"] == "Node"}  # fmt: skip
    noted = {node: float(values[metric].split(",")[0]) for node, values in annotations.items() if metric in values}

    def values_in(scene):
        if metric not in gauges:
            return noted
        nodes = samplings[scenes[scene][gauges.index(metric)]]
        return {node: value for node, value in nodes.items() if value is not None}

    choices, seen = [], {}
    for decision in sorted((each for each in map(json.loads, decisions.splitlines()) if "verb" in each), key=lambda each: each["id"]):
        pod = decision["namespace"], decision["name"]
        if decision["verb"] == "filter":
            seen[pod] = decision["scene"]
        elif decision["verb"] == "bind":
            choices.append((decision["target"], values_in(seen[pod])))
    return choices
