"""Inspects and runs the image and the Debian package that `make ship-test` built."""

import json
import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path += [str(HERE.parent / name) for name in ("support", "faults", "e2e")]

from container import Image  # noqa: E402

# `make test` collects all of test/; these tests need files that take minutes to build.
if "BERTH_SHIP" not in os.environ:
    collect_ignore_glob = ["test_*"]


@pytest.fixture(scope="session")
def image(tmp_path_factory):
    return Image(ROOT / "build-image" / "oci", tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="session")
def sbom(image):
    return json.loads((image.tree / "usr/share/sbom/berth.spdx.json").read_text())


@pytest.fixture
def start(image, pytestconfig):
    """start(*arguments, …) -> Berth, started with Image.command()."""
    shared = pytestconfig.pluginmanager.get_plugin(str(HERE.parent / "conftest.py"))
    running = []

    def start_it(*arguments, **how):
        running.append(shared.Berth(image.command(*arguments, **how)))
        return running[-1]

    yield start_it
    assert not any([berth.stop() for berth in running]), "berth did not end well"
