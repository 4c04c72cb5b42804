"""Checks the tables of differences in docs/cel.md with cel-go, configured like Kubernetes 1.37.

A cell is a value, written as an expression, or "an error", and may end with a remark.
"""

import json
import pathlib
import re
import subprocess

import compare
import pytest
from peer import answers, cel_go  # noqa: F401

pytestmark = pytest.mark.single_thread

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/cel.md"


def read_rows():
    """(expression, here, there)"""
    section = PAGE.read_text(encoding="utf-8").split("## Where we differ")[1]
    rows = re.findall(r"^\| `(.+?)` \| (an error|`.+?`)[^|]* \| (an error|`.+?`)(?: .*|:.*|;.*)? \|$", section, re.M)
    assert len(rows) == len(re.findall(r"^\| `", section, re.M)) >= 40
    return [(expression.replace("\\|", "|"), here.strip("`"), there.strip("`")) for expression, here, there in rows]


def evaluate(berth, text):
    if text == "an error":
        return {"error": ""}
    done = subprocess.run([berth, "eval", "-o", "json", "--", text], capture_output=True, text=True, timeout=60)
    return {"value": json.loads(done.stdout)} if done.returncode == 0 else {"error": done.stderr}


def test_kubernetes_answers_what_the_page_says(berth_path, cel_go):  # noqa: F811
    rows = read_rows()
    records = [{"id": str(i), "expr": expression, "dialect": "kubernetes"} for i, (expression, _, _) in enumerate(rows)]
    found = answers([cel_go], records)
    for i, (expression, _, there) in enumerate(rows):
        expected, theirs = evaluate(berth_path, there), found[str(i)]
        assert compare.same_answer(expected, theirs), f"{expression}: {compare.show(theirs)}, not {there}"


def test_every_row_is_a_difference(berth_path):
    for expression, here, there in read_rows():
        assert compare.same_answer(evaluate(berth_path, expression), evaluate(berth_path, here)), expression
        assert not compare.same_answer(evaluate(berth_path, here), evaluate(berth_path, there)), expression
