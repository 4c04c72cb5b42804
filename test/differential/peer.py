"""Runs cel-go as a process that answers records, like `berth eval --batch`."""

import json
import os
import subprocess

import pytest


@pytest.fixture(scope="session")
def cel_go():
    """Its path."""
    path = os.environ.get("BERTH_CEL_GO")
    if not path:
        pytest.skip("`make differential` builds cel-go and compares with it; it needs Go")
    return path


def answers(command, records):
    """One answer a record, by its id."""
    text = "".join(json.dumps(record) + "\n" for record in records)
    result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60 + len(records) // 100)
    assert result.returncode == 0, result.stderr[-2000:]
    found = {answer["id"]: answer for answer in map(json.loads, result.stdout.splitlines())}
    assert len(found) == len(records), f"{command[0]} did not answer all of {len(records)} records"
    return found
