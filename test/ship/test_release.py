"""A release of the image and package that `make ship-test` built is complete, reproducible and correctly described."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest
import yaml

from client import REPOSITORY

VERSION = re.search(r"version: '(.*)'", (REPOSITORY / "meson.build").read_text())[1]
ARCH = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True).stdout.strip()
PLAIN = {"PATH": "/usr/bin:/bin"}
NO_GO = 77


def run(*command, code=0, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def helm():
    done = subprocess.run(["tools/deploy-tools", "--paths"], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    if done.returncode == NO_GO:
        pytest.skip("a release needs helm, and there is no Go to build it with")
    assert done.returncode == 0
    return done.stdout.split("\n")[0]


@pytest.fixture(scope="module")
def release(helm, tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    run(sys.executable, "tools/release", "--draft", "--arch", ARCH, folder, cwd=REPOSITORY)
    return folder


def unpack(path, folder):
    with tarfile.open(path) as archive:
        archive.extractall(folder)
    return folder


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def trees(release, tmp_path_factory):
    """{artifact: the folder with its files}"""
    folder = tmp_path_factory.mktemp("trees")
    top = f"berth-{VERSION}"
    deb = f"berth_{VERSION}_{ARCH}.deb"
    run("dpkg-deb", "--extract", release / deb, folder / "deb")
    chart = release / f"berth-chart-{VERSION}.tgz"
    (folder / "yaml").mkdir()
    shutil.copy(release / "berth.yaml", folder / "yaml")
    return {
        f"{top}-source.tar.gz": unpack(release / f"{top}-source.tar.gz", folder / "source") / top,
        f"{top}-linux-{ARCH}.tar.gz": unpack(release / f"{top}-linux-{ARCH}.tar.gz", folder / "archive") / top,
        f"kubectl-{top}-linux-{ARCH}.tar.gz": unpack(release / f"kubectl-{top}-linux-{ARCH}.tar.gz", folder / "plugin"),
        deb: folder / "deb",
        chart.name: unpack(chart, folder / "chart"),
        chart.name.replace(".tgz", ".oci.tar"): folder / "chart",
        "berth.yaml": folder / "yaml",
    }


# --- all of it ---


def test_files(release, trees):
    expected = {*trees, *(f"{name}.spdx.json" for name in trees), f"berth-image-{VERSION}.oci.tar",
                f"berth-image-{VERSION}-{ARCH}.spdx.json", "krew-berth.yaml", "RELEASE-NOTES.md", "SHA256SUMS"}  # fmt: skip
    assert {path.name for path in release.iterdir()} == expected
    assert run("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS", cwd=release) == ""
    listed = {line.split()[1] for line in (release / "SHA256SUMS").read_text().splitlines()}
    assert listed == expected - {"SHA256SUMS"}


def test_the_same_twice(release, tmp_path):
    """From the same builds; `make release-check` also builds twice."""
    run(sys.executable, "tools/release", "--draft", "--arch", ARCH, tmp_path / "second", cwd=REPOSITORY)
    assert (tmp_path / "second/SHA256SUMS").read_text() == (release / "SHA256SUMS").read_text()


def test_sboms_list_what_is_there(release, trees):
    for name, tree in trees.items():
        sbom = json.loads((release / f"{name}.spdx.json").read_text())
        assert (sbom["spdxVersion"], sbom["name"]) == ("SPDX-2.3", name)
        listed = {file["fileName"]: {each["algorithm"]: each["checksumValue"] for each in file["checksums"]} for file in sbom["files"]}
        files = {f"./{path.relative_to(tree)}": path for path in tree.rglob("*") if path.is_file() and not path.is_symlink()}
        assert set(listed) == set(files), name
        assert all(listed[key]["SHA256"] == digest(path) for key, path in files.items()), name
        ids = [each["SPDXID"] for each in [sbom, *sbom["packages"], *sbom["files"]]]
        assert len(ids) == len(set(ids))
        for relation in sbom["relationships"]:
            assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= set(ids), relation


def packages_of(release, name):
    return {package["name"]: package for package in json.loads((release / f"{name}.spdx.json").read_text())["packages"]}


def test_sboms_name_libraries(release):
    """With Debian's versions: the archive contains the libraries, the package depends on them."""
    archive = packages_of(release, f"berth-{VERSION}-linux-{ARCH}.tar.gz")
    installed = run("dpkg-query", "-W", "-f", "${Version}\n", "libgnutls30*").split()
    assert archive["libgnutls30" if "libgnutls30" in archive else "libgnutls30t64"]["versionInfo"] in installed
    assert not archive["libc6"]["filesAnalyzed"] and "libc6 (>= 2." in archive["libc6"]["comment"]
    package = packages_of(release, f"berth_{VERSION}_{ARCH}.deb")
    assert not any(each["filesAnalyzed"] for name, each in package.items() if name != "berth")
    assert {"libc6", "tzdata"} <= set(package) and any(name.startswith("libgnutls30") for name in package)
    assert sum("kube-scheduler" in name for name in packages_of(release, "berth.yaml")) == 1


def test_notes(release, image):
    notes = (release / "RELEASE-NOTES.md").read_text()
    assert notes.startswith(f"# berth {VERSION}\n")
    assert f"@sha256:{image_index(release)[0]}`" in notes
    section = re.search(rf"^## {re.escape(VERSION)}[^\n]*\n\n(.*?)(?=^## |\Z)", (REPOSITORY / "CHANGELOG.md").read_text(), re.M | re.S)[1]
    assert section.strip() in notes


# --- the archive and the plugin ---


def test_archive_runs_with_its_own_libraries(trees):
    tree = trees[f"berth-{VERSION}-linux-{ARCH}.tar.gz"]
    assert run(tree / "bin/berth", "version", env=PLAIN).startswith(f"berth {VERSION}\n")
    found = dict(re.findall(r"(\S+) => (\S+)", run("ldd", tree / "bin/berth", env=PLAIN)))
    outside = {name for name, path in found.items() if not pathlib.Path(path).resolve().is_relative_to(tree)}
    assert outside <= {"libc.so.6", "libm.so.6", "libresolv.so.2", "libdl.so.2", "libpthread.so.0", "librt.so.1"}, outside
    assert {path.name for path in (tree / "lib/berth").iterdir()} == set(found) - outside
    checked = run(tree / "bin/berth", "check", *sorted((tree / "share/berth/policies").glob("*.yaml")), env=PLAIN)
    assert checked.startswith("ok")


def test_archive_has_papers(trees):
    tree = trees[f"berth-{VERSION}-linux-{ARCH}.tar.gz"]
    assert {path.name for path in (tree / "share/man/man1").iterdir()} == {path.name for path in (REPOSITORY / "man").glob("*.1")}
    for path in ("bash-completion/completions/berth", "zsh/site-functions/_berth", "fish/vendor_completions.d/berth.fish",
                 "doc/berth/LICENSE", "doc/berth/docs/install.md"):  # fmt: skip
        assert (tree / "share" / path).stat().st_size > 500, path
    assert os.readlink(tree / "bin/kubectl-berth") == "berth"


def test_plugin_as_krew_installs_it(release, trees, tmp_path):
    manifest = yaml.safe_load((release / "krew-berth.yaml").read_text())
    spec = manifest["spec"]
    assert (manifest["kind"], manifest["metadata"]["name"], spec["version"]) == ("Plugin", "berth", f"v{VERSION}")
    assert len(spec["shortDescription"]) <= 50
    [platform] = spec["platforms"]
    assert platform["selector"] == {"matchLabels": {"os": "linux", "arch": ARCH}}
    archive = release / platform["uri"].rpartition("/")[2]
    assert platform["uri"].startswith(f"{spec['homepage']}/releases/download/v{VERSION}/")
    assert digest(archive) == platform["sha256"]
    with tarfile.open(archive) as files:
        assert all(member.isfile() or member.isdir() for member in files), "krew refuses links"
    program = tmp_path / "kubectl-berth"
    program.symlink_to(trees[archive.name] / platform["bin"])
    assert "usage: kubectl berth COMMAND" in run(program, "--help", env=PLAIN)


# --- image and chart ---


def read_layout(path):
    """(index.json, {digest: bytes})"""
    with tarfile.open(path) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
    blobs = {name.rpartition("/")[2]: data for name, data in files.items() if name.startswith("blobs/sha256/")}
    for name, data in blobs.items():
        assert hashlib.sha256(data).hexdigest() == name
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    return json.loads(files["index.json"]), blobs


def follow(blobs, descriptor):
    """The digests that @descriptor leads to."""
    name = descriptor["digest"].removeprefix("sha256:")
    assert len(blobs[name]) == descriptor["size"]
    found = {name}
    if descriptor["mediaType"].endswith("+json") and "config" not in descriptor["mediaType"]:
        content = json.loads(blobs[name])
        for each in [*content.get("manifests", []), *content.get("layers", []), *([content["config"]] if "config" in content else [])]:
            found |= follow(blobs, each)
    return found


def image_index(release):
    index, blobs = read_layout(release / f"berth-image-{VERSION}.oci.tar")
    [descriptor] = index["manifests"]
    assert follow(blobs, descriptor) == set(blobs)
    return descriptor["digest"].removeprefix("sha256:"), descriptor, blobs


def test_image_index(release, image):
    name, descriptor, blobs = image_index(release)
    assert descriptor["annotations"]["org.opencontainers.image.ref.name"] == VERSION
    values = yaml.safe_load((REPOSITORY / "deploy/chart/values.yaml").read_text())["image"]
    assert descriptor["annotations"]["io.containerd.image.name"] == f"{values['registry']}/{values['repository']}:{VERSION}"
    [platform] = json.loads(blobs[name])["manifests"]
    assert platform["digest"] == image.descriptor["digest"]
    assert (platform["platform"]["os"], platform["platform"]["architecture"]) == ("linux", ARCH)
    assert image.config["architecture"] == ARCH


def test_chart(release, helm, tmp_path):
    path = release / f"berth-chart-{VERSION}.tgz"
    flags = ["--set", "placement=sidecar,pages.generateToken=false"]  # renders no certificates and tokens
    packed, source = (run(helm, "template", "berth", chart, *flags) for chart in (path, REPOSITORY / "deploy/chart"))
    assert packed == source
    assert f"version: {VERSION}\n" in run(helm, "show", "chart", path)
    index, blobs = read_layout(release / f"berth-chart-{VERSION}.oci.tar")
    [descriptor] = index["manifests"]
    assert follow(blobs, descriptor) == set(blobs)
    manifest = json.loads(blobs[descriptor["digest"].removeprefix("sha256:")])
    assert manifest["config"]["mediaType"] == "application/vnd.cncf.helm.config.v1+json"
    [layer] = manifest["layers"]
    assert layer["mediaType"] == "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
    assert layer["digest"] == f"sha256:{digest(path)}"


def test_layouts_are_read_by_skopeo(release, tmp_path):
    if not shutil.which("skopeo"):
        pytest.skip("skopeo is not installed")
    for name in ("image", "chart"):
        folder = unpack(release / f"berth-{name}-{VERSION}.oci.tar", tmp_path / name)
        run("skopeo", "copy", "--all", "--preserve-digests", f"oci:{folder}:{VERSION}", f"dir:{tmp_path}/{name}-copy")


# --- signatures, and when there is none ---


def test_signature_of_openssl(release, tmp_path):
    key, public = tmp_path / "key.pem", tmp_path / "public.pem"
    run("openssl", "genpkey", "-algorithm", "ed25519", "-out", key)
    run("openssl", "pkey", "-in", key, "-pubout", "-out", public)
    shutil.copy(release / "SHA256SUMS", tmp_path)
    run(sys.executable, "tools/release", "--key", key, "sign", tmp_path, cwd=REPOSITORY)
    verify = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", public, "-sigfile", "SHA256SUMS.sig", "-in", "SHA256SUMS"]
    run(*verify, cwd=tmp_path)
    digests = (release / "SHA256SUMS").read_text()
    (tmp_path / "SHA256SUMS").write_text(("1" if digests[0] == "0" else "0") + digests[1:])
    run(*verify, cwd=tmp_path, code=1)


def test_signature_of_gpg(release, tmp_path):
    if not shutil.which("gpg"):
        pytest.skip("gpg is not installed")
    home = tmp_path / "gpg"
    home.mkdir(mode=0o700)
    env = {**os.environ, "GNUPGHOME": str(home)}
    run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "test@berth.invalid", "ed25519", "sign", env=env)
    shutil.copy(release / "SHA256SUMS", tmp_path)
    run(sys.executable, "tools/release", "--key", "test@berth.invalid", "sign", tmp_path, cwd=REPOSITORY, env=env)
    run("gpg", "--verify", tmp_path / "SHA256SUMS.asc", tmp_path / "SHA256SUMS", env=env)
    run("gpgconf", "--kill", "all", env=env)


@pytest.fixture
def clone(tmp_path):
    """A clone of this tree, with its changes in a commit."""
    folder = tmp_path / "clone"
    run("bash", "-c", '. tools/reproducible && copy_source "$0"', folder, cwd=REPOSITORY)
    run("git", "init", "--quiet", cwd=folder)
    commit_all(folder)
    return folder


def commit_all(folder):
    run("git", "add", "--all", cwd=folder)
    run("git", "-c", "user.name=test", "-c", "user.email=test@berth.invalid", "commit", "--quiet", "--message", "all", cwd=folder)


def test_not_of_changes_that_are_not_committed(clone, tmp_path):
    (clone / "README.md").write_text("other")
    assert "changes that are not committed" in run(sys.executable, "tools/release", tmp_path / "out", cwd=clone, code=1)


def test_tag_and_changelog_must_agree(clone, tmp_path):
    run("git", "tag", "v99.0.0", cwd=clone)
    assert f"tagged v99.0.0, and meson.build says version {VERSION}" in run(sys.executable, "tools/release", tmp_path / "out", cwd=clone, code=1)
    changelog = clone / "CHANGELOG.md"
    changelog.write_text(re.sub(rf"^## {re.escape(VERSION)} .*", f"## {VERSION} (unreleased)", changelog.read_text(), flags=re.M))
    commit_all(clone)
    run("git", "tag", f"v{VERSION}", cwd=clone)
    assert "is no heading of a release" in run(sys.executable, "tools/release", tmp_path / "out", cwd=clone, code=1)
