"""The conformance vectors of the expression language, if they are available."""

import subprocess
import sys

import pytest

from client import REPOSITORY as ROOT

pytestmark = pytest.mark.single_thread


def test_vectors(berth_path):
    done = subprocess.run([sys.executable, ROOT / "tools/conformance", "--berth", berth_path],
                          capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip(done.stderr.splitlines()[0])
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
