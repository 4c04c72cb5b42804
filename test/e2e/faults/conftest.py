"""Repeated faults with real processes: `make faults FAULT_SCALE=500` for docs/reliability.md, a few of
each in `make e2e`."""

import pathlib
import sys
import time

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parent))

from load import Load  # noqa: E402


@pytest.fixture
def make_load(cluster):
    """Makes the load of the test's cluster, and ends it before the cluster is cleared."""
    made = []

    def make(**options):
        made.append(Load(cluster, **options))
        return made[0]

    yield make
    for load in made:
        load.stop()


@pytest.fixture
def report(record_property):
    """report(text): printed after the tests, with the duration of the test so far."""
    begin = time.monotonic()

    def say(text):
        record_property("report", f"{text}; {time.monotonic() - begin:.0f} s")

    return say


def pytest_terminal_summary(terminalreporter):
    for each in terminalreporter.getreports("passed"):
        for key, text in each.user_properties:
            if key == "report":
                terminalreporter.write_line(f"{each.nodeid.rpartition('::')[2]}: {text}")
