"""kube-score reports only findings that deploy/README.md explains."""

import re

import pytest
from rendering import DEPLOY, HERE, OVERLAYS, run

IGNORED = {"container-image-pull-policy"}
VALUES = ["defaults", "standalone", "sidecar", "sidecar-read", "bind", "everything", "standalone-existing"]


def score(tool, text, tmp_path):
    path = tmp_path / "objects.yaml"
    path.write_text(text)
    flags = [word for name in sorted(IGNORED) for word in ("--ignore-test", name)]
    # with findings the exit code is 1, and run() raises with all of them
    run([tool("kube-score"), "score", "--exit-one-on-warning", "--output-format", "ci", *flags, path])


@pytest.mark.parametrize("name", VALUES)
def test_chart(chart, tool, tmp_path, name):
    score(tool, chart.text(HERE / "values" / f"{name}.yaml"), tmp_path)


@pytest.mark.parametrize("name", [each for each in OVERLAYS if each != "default-scheduler"])
def test_overlay(kustomize, tool, tmp_path, name):
    score(tool, kustomize.text(kustomize.folder / "overlays" / name), tmp_path)


def test_exceptions_have_reasons():
    readme = (DEPLOY / "README.md").read_text()
    for name in IGNORED:
        assert re.search(rf"`{name}`.*\|.*\w", readme), name
