"""The Debian package has the expected files and service, and starts nothing at installation."""

import pathlib
import re
import shutil
import stat
import subprocess

import pytest

from client import REPOSITORY

VERSION = re.search(r"version: '(.*)'", (REPOSITORY / "meson.build").read_text())[1]
MOST_EXPOSED = 1.5  # of 10, the scale of systemd-analyze


def run(*command, **options):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=120, **options)


@pytest.fixture(scope="module")
def package():
    found = sorted((REPOSITORY / "build-deb").glob("berth_*.deb"))
    if not found:
        pytest.fail("there is no package in build-deb: run make ship-test, or make deb")
    return found[0]


@pytest.fixture(scope="module")
def tree(package, tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    assert run("dpkg-deb", "--raw-extract", package, folder).returncode == 0
    return folder


def test_name_and_needs(package):
    fields = run("dpkg-deb", "--field", package).stdout
    fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", fields, re.M))
    assert (fields["Package"], fields["Version"]) == ("berth", VERSION)
    assert package.name == f"berth_{VERSION}_{fields['Architecture']}.deb"
    assert "tzdata" in fields["Depends"]


def test_depends_on_the_packages_of_its_libraries(package, tree):
    """By the package names of this Debian release: Debian 13 renamed libgnutls30 to libgnutls30t64."""
    depends = run("dpkg-deb", "--field", package, "Depends").stdout
    dynamic = run("readelf", "--wide", "--dynamic", tree / "usr/bin/berth").stdout
    libraries = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    assert {"libc.so.6", "libcurl-gnutls.so.4", "libgnutls.so.30"} <= libraries
    for library in libraries:
        owners = set(re.findall(r"^([^:\s]+).*: ", run("dpkg-query", "--search", f"*/{library}").stdout, re.M))
        assert any(re.search(rf"(^| ){re.escape(owner)} \(>= ", depends) for owner in owners), (library, depends)


def test_contents(tree):
    paths = {str(path.relative_to(tree)) for path in tree.rglob("*") if not path.is_dir() or path.is_symlink()}
    paths = {path for path in paths if not path.startswith("DEBIAN/")}
    assert {
        "etc/default/berth",
        "usr/bin/berth",
        "usr/bin/kubectl-berth",
        "usr/bin/kubectl_complete-berth",
        "usr/share/bash-completion/completions/berth",
        "usr/share/berth/policies/workspaces.yaml",
        "usr/share/doc/berth/copyright",
        "usr/share/fish/vendor_completions.d/berth.fish",
        "usr/share/man/man1/berth.1.gz",
        "usr/share/zsh/site-functions/_berth",
    } <= paths
    policies = {path.name for path in (REPOSITORY / "policies").glob("*.yaml")}
    assert {path.name for path in (tree / "usr/share/berth/policies").iterdir()} == policies
    pages = {path.name for path in (REPOSITORY / "man").glob("*.[1-9]")}
    packed = {path.stem for path in tree.glob("usr/share/man/man*/*.gz")}
    assert packed == pages | {"kubectl-berth.1", "kubectl_complete-berth.1"}
    assert list((tree / "etc/berth/policies").iterdir()) == []
    for name in ("kubectl-berth", "kubectl_complete-berth"):
        assert (tree / "usr/bin" / name).readlink() == pathlib.Path("berth")
    for path in tree.rglob("*"):
        if not path.is_symlink():
            assert not path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID | 0o022), path


def test_starts_nothing_by_itself(tree):
    assert (tree / "DEBIAN/conffiles").read_text().split() == ["/etc/default/berth"]
    script = (tree / "DEBIAN/postinst").read_text()
    # An upgrade restarts a running service; a new service is neither started nor enabled.
    assert set(re.findall(r"deb-systemd-invoke (\S+)|_dh_action=(\S+)", script)) <= {("restart", ""), ("", "restart")}
    for before in script.split("deb-systemd-helper enable")[:-1]:
        assert "deb-systemd-helper --quiet was-enabled" in before
    assert not list(tree.glob("etc/systemd/**/*"))


def test_runs(tree):
    result = run(tree / "usr/bin/berth", "version")
    assert result.returncode == 0 and result.stdout.startswith(f"berth {VERSION}\n")
    result = run(tree / "usr/bin/kubectl-berth", "--help")
    assert "usage: kubectl berth COMMAND" in result.stdout
    policies = sorted((tree / "usr/share/berth/policies").iterdir())
    result = run(tree / "usr/bin/berth", "check", *policies)
    assert result.returncode == 0, result.stdout + result.stderr


def test_hardening(tree):
    output = run("readelf", "--wide", "--headers", "--dynamic", tree / "usr/bin/berth").stdout
    assert "GNU_RELRO" in output and re.search(r"\bBIND_NOW\b|Flags: .*NOW", output)
    assert re.search(r"Type:\s+DYN", output)
    assert re.search(r"GNU_STACK.* RW ", output)


def test_lintian(package):
    if not shutil.which("lintian"):
        pytest.skip("lintian is not installed")
    result = run("lintian", "--allow-root", "--fail-on", "error,warning", "--display-info", package)
    # Only a systemd service: with other init systems start berth together with kube-scheduler. Not an override,
    # since lintian of Debian 13 does not know the tag and complains about that.
    no_init = "package-supports-alternative-init-but-no-init.d-script"
    assert result.returncode in (0, 2), result.stderr  # 2: with findings
    assert [line for line in result.stdout.splitlines() if no_init not in line] == []


# --- the service ---


def unit_text(tree):
    """Debian 12 has units in /lib, Debian 13 in /usr/lib."""
    [path] = tree.glob("**/systemd/system/berth.service")
    assert str(path.relative_to(tree).parent).removeprefix("usr/") == "lib/systemd/system"
    return path.read_text()


@pytest.fixture
def unit(tree, tmp_path):
    """The unit, with the path of the unpacked program."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    text = unit_text(tree)
    assert "ExecStart=/usr/bin/berth serve " in text
    path = tmp_path / "berth.service"
    path.write_text(text.replace("ExecStart=/usr/bin/berth", f"ExecStart={tree}/usr/bin/berth"))
    return path


def verify(unit):
    return run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit)


def test_unit_is_sound(unit):
    result = verify(unit)
    assert (result.returncode, result.stderr) == (0, "")
    unit.write_text(unit.read_text() + "\n[Service]\nProtectSystems=strict\n")
    assert "ProtectSystems" in verify(unit).stderr  # the check detects errors


def test_unit_with_the_example(unit):
    folder = unit.parent / "berth.service.d"
    folder.mkdir()
    shutil.copy(REPOSITORY / "deploy/systemd/kubeconfig.conf", folder)
    result = verify(unit)
    assert (result.returncode, result.stderr) == (0, "")


def test_decisions_outlive_a_restart_of_the_service(tree):
    """They are in a folder that systemd makes for the service's user."""
    text = unit_text(tree)
    assert "StateDirectory=berth\nStateDirectoryMode=0700\n" in text
    assert 'Environment="BERTH_STATE=--state-dir %S/berth"' in text
    assert re.search(r"^ExecStart=/usr/bin/berth serve \$BERTH_STATE ", text, re.M)


def test_unit_is_confined(unit):
    output = run("systemd-analyze", "security", "--offline=true", "--no-pager", unit).stdout
    assert float(re.search(r"exposure level for \S+: ([0-9.]+)", output)[1]) <= MOST_EXPOSED, output


def test_flags_of_the_service(tree):
    """/etc/default/berth and the example are valid for this berth."""
    usage = run(tree / "usr/bin/berth", "serve", "--help").stdout
    texts = [(tree / "etc/default/berth").read_text(), unit_text(tree),
             (REPOSITORY / "deploy/systemd/kubeconfig.conf").read_text()]  # fmt: skip
    flags = set(re.findall(r"(?<=[ =])--[a-z-]+", "\n".join(re.findall(r"^#?.*BERTH_.*$", "\n".join(texts), re.M))))
    assert {"--policy", "--kubeconfig", "--tls-cert", "--state-dir", "--state-size"} <= flags
    for flag in flags:
        assert flag in usage, flag
