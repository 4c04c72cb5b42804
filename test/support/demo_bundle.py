"""Saves a bundle at the end of `berth demo`, with the command that the demo suggests."""

import json
import re
import tarfile


def read_measured(output, metric):
    """{node: value} of the last measurement of @metric, or of the annotation with that name."""
    with tarfile.open(re.search(r" explain --bundle (\S+)", output)[1]) as archive:
        texts = {name: archive.extractfile(f"berth-bundle/{name}").read() for name in ("sources.json", "metrics.jsonl", "cluster.json")}
    names = [each["name"] for each in json.loads(texts["sources.json"])["metrics"]]
    if metric in names:
        lines = [json.loads(line) for line in texts["metrics.jsonl"].splitlines()]
        number = [line for line in lines if "scene" in line][-1]["samplings"][names.index(metric)]
        (nodes,) = [line["nodes"] for line in lines if line.get("sampling") == number]
        return {node: value for node, value in nodes.items() if value is not None}
    objects = json.loads(texts["cluster.json"])["items"]
    annotations = {each["metadata"]["name"]: each["metadata"].get("annotations", {}) for each in objects if each["kind"] == "Node"}
    return {node: float(values[metric].split(",")[0]) for node, values in annotations.items() if metric in values}
