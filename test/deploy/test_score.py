"""kube-score reports nothing except the findings that deploy/README.md gives a reason for."""

import re

import pytest
from rendering import DEPLOY, HERE, OVERLAYS, of_kind, run

ALWAYS = {"container-image-pull-policy"}
WITHOUT_POLICIES = {"pod-networkpolicy"}
VALUES = ["defaults", "standalone", "sidecar", "sidecar-read", "bind", "everything", "standalone-existing"]


def score(tool, text, tmp_path, ignored):
    path = tmp_path / "objects.yaml"
    path.write_text(text)
    flags = [word for name in sorted(ignored) for word in ("--ignore-test", name)]
    # exit code 1, and so an exception with all that was found, when something is
    run([tool("kube-score"), "score", "--exit-one-on-warning", "--output-format", "ci", *flags, path])


@pytest.mark.parametrize("name", VALUES)
def test_chart(chart, tool, tmp_path, name):
    values = HERE / "values" / f"{name}.yaml"
    has_policies = of_kind(chart.render(values), "NetworkPolicy")
    score(tool, chart.text(values), tmp_path, ALWAYS if has_policies else ALWAYS | WITHOUT_POLICIES)


@pytest.mark.parametrize("name", [each for each in OVERLAYS if each != "default-scheduler"])
def test_overlay(kustomize, tool, tmp_path, name):
    text = kustomize.text(kustomize.folder / "overlays" / name)
    score(tool, text, tmp_path, ALWAYS | WITHOUT_POLICIES)


def test_exceptions_have_reasons():
    readme = (DEPLOY / "README.md").read_text()
    for name in ALWAYS | WITHOUT_POLICIES:
        assert re.search(rf"`{name}`.*\|.*\w", readme), name
