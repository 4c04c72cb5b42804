"""tools/setup and the targets of the Makefile. Nothing is installed: dpkg-query, apt-get, sudo and id are mocks."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from client import PATIENCE, REPOSITORY

pytestmark = pytest.mark.single_thread

KINDS = ["build", "test", "lint", "fuzz", "coverage", "mutate", "image", "deb", "ship", "deploy", "web", "cross"]

# ${Status} of installed packages, once per architecture.
DPKG_QUERY = r"""
echo "dpkg-query $*" >>"$FAKE_LOG.queries"
grep -qx "$4" "$FAKE_INSTALLED" || { echo "no packages found matching $4" >&2; exit 1; }
for _ in $FAKE_ARCHITECTURES; do printf '%b' "${3//'${Status}'/install ok installed}"; done
"""
APT_GET = r"""
echo "apt-get $* [DEBIAN_FRONTEND=$DEBIAN_FRONTEND, $(wc -c) bytes of input]" >>"$FAKE_LOG"
echo "noise of apt-get"
exit "${FAKE_APT_STATUS:-0}"
"""
SUDO = r"""
echo "sudo $*" >>"$FAKE_LOG"
[ "$FAKE_SUDO" = yes ] || exit 1
[ "$1" = -n ] && shift
exec "$@"
"""
ID = 'echo "$FAKE_UID"'


@pytest.fixture
def machine(tmp_path):
    """setup(kind, …) on a machine with only the given packages and programs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("bash", "env", "cat", "grep", "mktemp", "printf", "rm", "true", "wc"):
        (folder / tool).symlink_to(shutil.which(tool))

    def put(name, script):
        path = folder / name
        path.write_text("#!/usr/bin/env bash\n" + script.strip() + "\n")
        path.chmod(0o755)

    for name, script in {"dpkg-query": DPKG_QUERY, "apt-get": APT_GET, "id": ID}.items():
        put(name, script)

    class Machine:
        log = tmp_path / "log"
        installed = tmp_path / "installed"

        def setup(self, kind, has=(), uid=0, architectures="amd64", **env):
            self.installed.write_text("".join(f"{package}\n" for package in has))
            self.log.write_text("")
            return subprocess.run(
                [REPOSITORY / "tools" / "setup", *(kind.split() if kind else [])],
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                input="an unexpected answer\n",
                cwd=tmp_path,
                env={
                    "PATH": str(folder),
                    "TMPDIR": str(tmp_path),
                    "FAKE_LOG": str(self.log),
                    "FAKE_INSTALLED": str(self.installed),
                    "FAKE_ARCHITECTURES": architectures,
                    "FAKE_UID": str(uid),
                    **env,
                },
            )

        def calls(self):
            return self.log.read_text().splitlines()

        def wanted(self, kind):
            """All packages that a task needs."""
            result = self.setup(kind)
            return result.stdout.removeprefix("Installing with apt-get: ").split()

        def remove(self, name):
            (folder / name).unlink()

        def add_sudo(self):
            put("sudo", SUDO)

    return Machine()


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_to_do(machine, kind):
    packages = machine.wanted(kind)
    assert len(packages) > 5 and len(set(packages)) == len(packages)
    result = machine.setup(kind, has=packages)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert machine.calls() == []


def test_list_prints_what_a_task_needs(machine):
    result = machine.setup("--list build")
    assert (result.returncode, result.stderr, machine.calls()) == (0, "", [])
    assert result.stdout.split() == machine.wanted("build")


def test_nothing_to_do_with_two_architectures(machine):
    packages = machine.wanted("build")
    result = machine.setup("build", has=packages, architectures="amd64 i386")
    assert result.stdout == ""
    assert machine.calls() == []


@pytest.mark.parametrize("kind", KINDS)
def test_missing_packages_are_named_and_installed(machine, kind):
    packages = machine.wanted(kind)
    missing = [packages[0], packages[-1]]
    result = machine.setup(kind, has=packages[1:-1])
    assert result.returncode == 0 and result.stderr == ""
    assert result.stdout == f"Installing with apt-get: {' '.join(missing)}\n"
    update, install = machine.calls()
    assert update.startswith("apt-get update ")
    assert install.startswith("apt-get install ") and " -y " in install
    assert " --no-install-recommends " in install
    assert f"{' '.join(missing)} [" in install
    for call in (update, install):  # no questions, because there is no user
        assert call.endswith("[DEBIAN_FRONTEND=noninteractive, 0 bytes of input]")


def test_shows_apt_output_on_failure(machine):
    result = machine.setup("build", FAKE_APT_STATUS="100")
    assert result.returncode == 1
    assert "noise of apt-get" in result.stderr
    assert len(machine.calls()) == 1  # it stops there
    assert not list(machine.log.parent.glob("tmp.*"))


def test_without_root_and_sudo(machine):
    packages = machine.wanted("build")
    for has_sudo in (False, True):
        if has_sudo:
            machine.add_sudo()
        result = machine.setup("build", has=packages[2:], uid=1000)
        assert result.returncode == 0 and result.stdout == ""
        assert f"apt-get install {' '.join(packages[:2])}\n" in result.stderr
        assert not [call for call in machine.calls() if call.startswith("apt-get")]


def test_with_sudo(machine):
    machine.add_sudo()
    result = machine.setup("build", uid=1000, FAKE_SUDO="yes")
    assert result.returncode == 0
    calls = machine.calls()
    assert len([call for call in calls if call.startswith("apt-get")]) == 2
    assert all(call.startswith("sudo -n ") for call in calls if call.startswith("sudo"))


def test_without_apt(machine):
    packages = machine.wanted("build")
    machine.remove("apt-get")
    result = machine.setup("build", has=packages[1:])
    assert result.returncode == 0
    assert packages[0] in result.stderr and packages[1] not in result.stderr
    result = machine.setup("build", has=packages[1:], uid=1000)
    assert result.returncode == 0 and "sudo apt-get" not in result.stderr  # because root would not help
    machine.remove("dpkg-query")
    result = machine.setup("build", has=packages)
    assert result.returncode == 0
    assert all(package in result.stderr for package in packages)


def test_usage(machine):
    for kind in (None, "everything"):
        result = machine.setup(kind)
        assert result.returncode == 2 and "usage: " in result.stderr


# --- the Makefile ---


def make(*arguments):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", "--no-print-directory", "-C", REPOSITORY, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=env,
    )


def targets():
    return dict(re.findall(r"^  make ([a-z0-9-]+) +(\S.*)$", make("help").stdout, re.M))


def test_help_is_the_first_target():
    result = make()
    assert result.returncode == 0 and result.stderr == ""
    assert result.stdout == make("help").stdout
    for name in ("run", "build", "test", "bench", "bench-live", "e2e", "lint", "fuzz", "asan", "tsan",
                 "image", "deb", "ship-test", "install", "uninstall", "clean"):
        assert name in targets()
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_targets_can_be_made():
    """With make -n, which only prints recipes."""
    for target in targets():
        result = make("-n", target)
        assert result.returncode == 0, result.stderr


def test_recipes_use_existing_tools():
    for target in targets():
        for tool in re.findall(r"(?:^|\s)((?:tools|bench)/[a-z-]+)(?=\s|$)", make("-n", target).stdout):
            path = REPOSITORY / tool
            if tool not in ("bench/floor", "bench/client", "bench/expression", "bench/poll"):  # of the build folder
                assert os.access(path, os.X_OK), tool


def commands_in_code(path):
    """Commands in backquotes, fenced blocks and scripts, but not words of a sentence."""
    text = path.read_text()
    if path.suffix == ".md":
        text = "\n".join(re.findall(r"```.*?```", text, re.S) + re.findall(r"`[^`\n]+`", text))
    return re.findall(r"(?:^|[`$;&] ?)make ([a-z][a-z0-9-]*)", text, re.M)


def test_documents_name_targets_that_exist():
    documents = [REPOSITORY / ".ci" / "run", *REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/*.md")]
    found = {(path.name, name) for path in documents for name in commands_in_code(path)}
    assert {("README.md", "run"), ("README.md", "test")} <= found
    assert {name for _, name in found} <= set(targets()), found


def test_scripts_are_executable():
    for path in pathlib.Path(REPOSITORY / "tools").iterdir():
        assert os.access(path, os.X_OK) and path.read_text().startswith("#!/usr/bin/env "), path
