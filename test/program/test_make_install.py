"""make install: files and folders."""

import os
import pathlib
import shutil
import subprocess

import pytest

from client import PATIENCE, REPOSITORY

NAMES = ["berth", "kubectl-berth", "kubectl_complete-berth"]


@pytest.fixture(scope="module")
def installed(berth_path, tmp_path_factory):
    """Installs the tested build into a folder."""
    build = pathlib.Path(berth_path).resolve().parent
    if not (build / "meson-info").is_dir() or not shutil.which("meson"):
        pytest.skip("$BERTH is not in a build folder")
    folder = tmp_path_factory.mktemp("installed") / "root"
    subprocess.run(
        ["meson", "install", "-C", build, "--no-rebuild", "--quiet"],
        check=True,
        timeout=PATIENCE,
        env={**os.environ, "DESTDIR": str(folder)},
    )
    [prefix] = {path.parent.parent for path in folder.glob("**/bin/berth")}
    return prefix


def test_files_are_installed_in_place(installed):
    assert sorted(path.name for path in (installed / "bin").iterdir()) == NAMES
    for name in NAMES[1:]:
        assert (installed / "bin" / name).readlink() == pathlib.Path("berth")
    share = installed / "share"
    for place in ("bash-completion/completions/berth", "zsh/site-functions/_berth", "fish/vendor_completions.d/berth.fish"):
        assert (share / place).stat().st_size > 100, place
    wanted = {path.name for path in (REPOSITORY / "policies").glob("*.yaml")}
    assert {path.name for path in (share / "berth/policies").iterdir()} == wanted
    pages = {path.name for path in (REPOSITORY / "man").glob("*.[1-9]")}
    assert "berth.1" in pages and {path.name for path in share.glob("man/man*/*")} == pages
    for name in ("README.md", "LICENSE", "docs/flags.md", "examples/kubeconfig.conf"):
        assert (share / "doc/berth" / name).is_file()


def test_service_starts_installed_program(installed):
    [unit] = installed.glob("lib/systemd/system/berth.service")
    text = unit.read_text()
    [start] = [line for line in text.splitlines() if line.startswith("ExecStart=")]
    program = start.removeprefix("ExecStart=").split()[0]
    assert str(installed).endswith(str(pathlib.Path(program).parent.parent))
    assert "@" not in text.replace("SystemCallFilter=@", "").replace("~@", "").replace(" @resources", "")


def test_kubectl_finds_the_plugin(installed):
    """kubectl finds plugins by their name in PATH."""
    env = {**os.environ, "PATH": f"{installed}/bin:{os.environ['PATH']}"}
    helped = subprocess.run(["kubectl-berth", "--help"], env=env, capture_output=True, text=True, timeout=PATIENCE)
    assert helped.returncode == 0 and "kubectl berth" in helped.stdout
