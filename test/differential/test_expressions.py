"""Compares CEL with cel-go and the libraries of Kubernetes: random expressions over random data.

`make differential` builds cel-go and runs this; COUNT=50000 SEED=7 runs more and other expressions.
A difference is reduced to the smallest part of its expression that still differs. explained.json
lists known differences with reasons; any other difference fails.
"""

import os
import re
import subprocess

import compare
import gen
import pytest
from peer import answers, cel_go  # noqa: F401

pytestmark = pytest.mark.single_thread

COUNT = int(os.environ.get("COUNT") or 4000)
SEED = int(os.environ.get("SEED") or 1)
SHOWN = 20  # differences in a report


OWN = {"hash", "betaInc", "normQuantile", "isMask"}  # berth's functions that Kubernetes does not have; and json.decode


class Difference:
    def __init__(self, record, ours, theirs):
        self.record, self.ours, self.theirs = record, ours, theirs

    def __str__(self):
        return (f"{self.record['id']}: {self.record['expr']}\n"
                f"    with   {compare.show_variables(self.record)}\n"
                f"    berth  {compare.show(self.ours)}\n"
                f"    cel-go {compare.show(self.theirs)}")


def differences(ours, theirs, records):
    """Differences, each reduced to the smallest part of its expression that still differs."""
    a, b = answers(ours, records), answers(theirs, records)
    bad = [r["id"] for r in records if not compare.same_answer(a[r["id"]], b[r["id"]])]
    parts = {name: gen.parts(name.removeprefix("generated/")) for name in bad}
    dialect = records[0]["dialect"]
    flat = [dict(part, dialect=dialect) for each in parts.values() for part in each]
    a, b = answers(ours, flat), answers(theirs, flat)
    for each in parts.values():
        differing = [p for p in each if not compare.same_answer(a[p["id"]], b[p["id"]])]
        smallest = min(differing or each[-1:], key=lambda part: len(part["expr"]))
        yield Difference(smallest, a[smallest["id"]], b[smallest["id"]])


def report(found):
    return "\n".join(str(d) for d in sorted(found, key=lambda d: len(d.record["expr"]))[:SHOWN])


# Functions of libraries that Kubernetes omits, and of newer versions than its own.
NEWER = re.compile(r"\b(math|base64|regex|cel)\.|format\(|\.reverse\(\)")


@pytest.mark.parametrize("dialect", ["plain", "kubernetes"])
def test_matches_cel_go(berth_path, cel_go, dialect):  # noqa: F811
    explained = compare.Explained()
    records = [dict(record, dialect=dialect) for record in gen.records(SEED, COUNT)]
    if dialect == "kubernetes":
        records = [r for r in records if not r["disable_check"] and not NEWER.search(r["expr"])]
    found = list(differences([berth_path, "eval", "--batch"], [cel_go], records))
    unexplained = [d for d in found if not explained.find(d.record, d.ours, d.theirs)]

    for name, n in explained.used.items():
        print(f"{n:6} {name}")
    assert not unexplained, f"{len(unexplained)} unexplained differences\n{report(unexplained)}"


def test_unchecked_is_the_same(berth_path):
    """Type checking makes an expression faster, but never changes its result."""
    # Only the checker knows whether the sum of no elements is 0 or 0.0.
    checked = [r for r in gen.records(SEED, COUNT) if not r["disable_check"] and ".sum()" not in r["expr"]]
    command = [berth_path, "eval", "--batch"]
    a = answers(command, checked)
    checked = [r for r in checked if "deduced_type" in a[r["id"]]]  # without expressions that it rejected
    b = answers(command, [dict(record, disable_check=True) for record in checked])
    different = [Difference(r, a[r["id"]], b[r["id"]]) for r in checked
                 if not compare.same_answer(a[r["id"]], b[r["id"]])]

    assert not different, f"{len(different)} differ when unchecked (\"cel-go\")\n{report(different)}"


def test_every_function_is_generated(berth_path):
    done = subprocess.run([berth_path, "eval", "--functions"], capture_output=True, text=True, timeout=60, check=True)
    names = set(re.findall(r"(\w+)\(", done.stdout)) - {"list", "map", "optional_type"}
    rules = f"{gen.RULES} {[write(values[0]) for values, write in gen.LITERALS.values()]} dyn("
    assert names - set(re.findall(r"(\w+)\(", rules)) == OWN
