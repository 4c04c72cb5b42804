"""The image, the chart and the release have the same name and version everywhere."""

import re

import pytest
import yaml
from rendering import DEPLOY

ROOT = DEPLOY.parent
IMAGE = yaml.safe_load((DEPLOY / "chart/values.yaml").read_text())["image"]
NAME = f"{IMAGE['registry']}/{IMAGE['repository']}"
OWNER, _, PROJECT = IMAGE["repository"].rpartition("/")
URL = f"https://github.com/{IMAGE['repository']}"
VERSION = re.search(r"version: '(.*)'", (ROOT / "meson.build").read_text())[1]
NAMING = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted(DEPLOY.rglob("*.md")),
          *sorted(path for path in DEPLOY.rglob("*.yaml") if "chart/templates" not in str(path)),
          ROOT / "src/commands/install-plan.txt"]  # fmt: skip


def read(path):
    return (ROOT / path).read_text()


@pytest.mark.parametrize("path", NAMING, ids=lambda path: str(path.relative_to(ROOT)))
def test_names(path):
    text = path.read_text()
    assert "localhost/berth" not in text
    for registry, name in re.findall(rf"({re.escape(IMAGE['registry'])})/([a-z0-9/._-]+)", text):
        assert name.rstrip(".") in {IMAGE["repository"], f"{OWNER}/charts/{PROJECT}"}, name
    for address in re.findall(rf"https://github\.com/{OWNER}[^\s`)>]*", text):
        assert re.fullmatch(rf"{URL}(/releases(/download/v{re.escape(VERSION)}/berth\.yaml)?)?", address), address
    for version in re.findall(rf"{re.escape(NAME)}:([0-9][0-9.]*[0-9])", text) + re.findall(r"--version ([0-9][0-9.]*)", text):
        assert version == VERSION, version


def test_versions():
    chart = yaml.safe_load(read("deploy/chart/Chart.yaml"))
    assert (chart["version"], chart["appVersion"], chart["home"]) == (VERSION, VERSION, URL)
    [image] = yaml.safe_load(read("deploy/kustomize/base/kustomization.yaml"))["images"]
    assert image == {"name": NAME, "newTag": VERSION}
    for path in ("patches/kube-scheduler0+strategic.yaml", "kube-scheduler.after.yaml"):
        assert f"image: {NAME}:{VERSION}\n" in read(f"deploy/static-pod/{path}"), path
    assert f'image.version="{VERSION}"' in read("deploy/image/Dockerfile")


def test_readme_installs_in_the_first_screen():
    """From a release, without a checkout."""
    screen = read("README.md").split("\n")[:20]
    assert any(line.startswith(f"helm upgrade --install berth oci://{IMAGE['registry']}/{OWNER}/charts/{PROJECT} ") for line in screen)
    assert any(line.startswith(f"kubectl apply -f {URL}/releases/download/v{VERSION}/berth.yaml") for line in screen)


def test_one_value_changes_the_registry(chart, tmp_path):
    (tmp_path / "values.yaml").write_text("image: {registry: 'mirror.example:5000'}\n")
    own, mirrored = chart.text(), chart.text(tmp_path / "values.yaml")
    assert f"image: {NAME}:{VERSION}\n" in own
    assert f"image: mirror.example:5000/{IMAGE['repository']}:{VERSION}\n" in mirrored and NAME not in mirrored
