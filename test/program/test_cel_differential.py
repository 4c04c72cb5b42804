"""CEL against an independent implementation: random expressions over random data.

The other one is @bufbuild/cel, from npm, run by Node; a tool of this test, kept in the user's
cache. Where there is no Node, no npm or no network, these tests are skipped and say so.

    BERTH_DIFFERENTIAL=50000 BERTH_DIFFERENTIAL_SEED=7    more of them, others

A difference is reduced to the smallest part of its expression that still differs. What is
known and not ours is in cel/differential/explained.json, with the reason; anything else fails.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent / "differential"
sys.path.insert(0, str(HERE))

import compare  # noqa: E402
import gen  # noqa: E402

pytestmark = pytest.mark.single_thread

COUNT = int(os.environ.get("BERTH_DIFFERENTIAL", "6000"))
SEED = int(os.environ.get("BERTH_DIFFERENTIAL_SEED", "1"))
PATIENCE = 60 + COUNT // 100
SHOWN = 20  # differences in a report


def install(folder):
    """Installs the versions pinned by package.json into @folder, or skips the test."""
    wanted = (HERE / "package-lock.json").read_text(encoding="utf-8")
    done = folder / "installed.json"
    if done.exists() and done.read_text(encoding="utf-8") == wanted:
        return
    if not shutil.which("npm"):
        pytest.skip("npm is not installed: there is nothing to compare with")
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        reason = "; ".join(result.stderr.splitlines()[:2])
        pytest.skip(f"npm could not fetch what package.json names: {reason}")
    done.write_text(wanted, encoding="utf-8")


@pytest.fixture(scope="module")
def other():
    """The command of the other implementation."""
    if not shutil.which("node"):
        pytest.skip("Node is not installed: there is nothing to compare with")
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    folder = cache / "berth" / "npm-cel"
    install(folder)
    return ["node", str(HERE / "other.mjs"), str(folder)]


def answers(command, records):
    """One answer a record, by its id."""
    text = "".join(json.dumps(record) + "\n" for record in records)
    result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=PATIENCE)
    assert result.returncode == 0, result.stderr[-2000:]
    found = {answer["id"]: answer for answer in map(json.loads, result.stdout.splitlines())}
    assert len(found) == len(records), f"{command[0]} did not answer all of {len(records)} records"
    return found


class Difference:
    def __init__(self, record, ours, theirs):
        self.record, self.ours, self.theirs = record, ours, theirs

    def __str__(self):
        return (f"{self.record['id']}: {self.record['expr']}\n"
                f"    with   {compare.show_variables(self.record)}\n"
                f"    ours   {compare.show(self.ours)}\n"
                f"    theirs {compare.show(self.theirs)}")


def differences(ours, theirs, records):
    """Each in the smallest part of its expression that still differs."""
    a, b = answers(ours, records), answers(theirs, records)
    bad = [r["id"] for r in records if not compare.same_answer(a[r["id"]], b[r["id"]])]
    parts = {name: gen.parts(name.removeprefix("generated/")) for name in bad}
    flat = [part for each in parts.values() for part in each]
    a, b = answers(ours, flat), answers(theirs, flat)
    for each in parts.values():
        differing = [p for p in each if not compare.same_answer(a[p["id"]], b[p["id"]])]
        smallest = min(differing or each[-1:], key=lambda part: len(part["expr"]))
        yield Difference(smallest, a[smallest["id"]], b[smallest["id"]])


def test_matches_the_other_implementation(berth_path, other):
    explained = compare.Explained()
    records = list(gen.records(SEED, COUNT))
    found = list(differences([berth_path, "eval", "--batch"], other, records))
    unexplained = [d for d in found if not explained.find(d.record, d.ours, d.theirs)]

    for name, n in explained.used.items():
        print(f"{n:6} {name}")
    assert not unexplained, f"{len(unexplained)} unexplained differences\n" + "\n".join(
        str(d) for d in sorted(unexplained, key=lambda d: len(d.record["expr"]))[:SHOWN])


def test_unchecked_is_the_same(berth_path):
    """The checker's knowledge makes an expression fast, never different."""
    checked = [record for record in gen.records(SEED, COUNT) if not record["disable_check"]]
    unchecked = [dict(record, disable_check=True) for record in checked]
    command = [berth_path, "eval", "--batch"]
    a, b = answers(command, checked), answers(command, unchecked)
    different = [Difference(r, a[r["id"]], b[r["id"]]) for r in checked
                 if not compare.same_answer(a[r["id"]], b[r["id"]])]

    assert not different, f"{len(different)} differ when unchecked (\"theirs\")\n" + "\n".join(
        str(d) for d in sorted(different, key=lambda d: len(d.record["expr"]))[:SHOWN])
