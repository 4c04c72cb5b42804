"""Compares answers of `eval --batch`, and finds explained differences."""

import json
import math
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent


def same_double(a, b):
    a, b = float(a), float(b)  # accepts NaN and Infinity
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b and math.copysign(1, a) == math.copysign(1, b)


def same_items(a, b):
    return len(a) == len(b) and all(same_value(x, y) for x, y in zip(a, b))


def by_key(pairs):
    """Sorted by key."""
    return sorted(pairs, key=lambda pair: json.dumps(pair[0], sort_keys=True))


def same_value(a, b):
    """Compares values typed as in the conformance vectors. NaN equals NaN; maps have no order."""
    if a["type"] != b["type"]:
        return False
    if a["type"] == "double":
        return same_double(a["value"], b["value"])
    if a["type"] == "opaque":
        return a["name"] == b["name"]  # expressions look into it
    if a["type"] == "list":
        return same_items(a["value"], b["value"])
    if a["type"] == "map":
        return len(a["value"]) == len(b["value"]) and all(
            same_items(x, y) for x, y in zip(by_key(a["value"]), by_key(b["value"])))
    return a == b


def same_answer(a, b):
    """Compares answers; all errors are equal."""
    if "error" in a or "error" in b:
        return "error" in a and "error" in b
    return same_value(a["value"], b["value"])


def show(answer):
    if "error" in answer:
        return "error: " + answer["error"]
    return json.dumps(answer["value"], ensure_ascii=False)


def show_variables(record):
    used = {name: value for name, value in record["bindings"].items() if name in record["expr"]}
    return json.dumps(used, ensure_ascii=False)


class Explained:
    """explained.json: known differences that are not bugs of berth.

    An entry has patterns for the expression ("expr"), the expression with its variables ("any"),
    berth's answer ("ours") or cel-go's ("theirs"). All of them must match.
    """

    def __init__(self, path=HERE / "explained.json"):
        self.entries = json.loads(path.read_text(encoding="utf-8"))
        self.used = {entry["name"]: 0 for entry in self.entries}

    def find(self, record, ours, theirs):
        texts = {"expr": record["expr"], "any": record["expr"] + " " + show_variables(record),
                 "ours": show(ours), "theirs": show(theirs)}
        for entry in self.entries:
            if all(re.search(entry[field], texts[field]) for field in texts if field in entry):
                self.used[entry["name"]] += 1
                return entry
        return None
