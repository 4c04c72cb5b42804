"""The image has the expected contents, and runs as in a cluster."""

import datetime
import hashlib
import json
import re
import ssl
import stat
import subprocess

import pytest

from apiserver import ApiServer
from apistate import NODES
from authority import Authority
from client import REPOSITORY, get, post, wait_until
from live import node
from nameserver import NameServer

MOST = 30_000_000  # bytes, compressed
UID = 65532

# 12:00 UTC is 14:00 in Berlin's summer: the zones are those of the database.
POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: image}
spec:
  filters:
    - name: zone
      expression: timestamp('2026-07-01T12:00:00Z').getHours('Europe/Berlin') == 14
      reason: the zone is not known
    - {name: pool, nodeLabels: {pool: blue}, reason: not blue}
"""


@pytest.fixture
def policies(tmp_path):
    return readable_folder(tmp_path / "policies", {"policy.yaml": POLICY})


def readable_folder(path, files):
    path.mkdir(mode=0o755)
    for name, text in files.items():
        (path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        (path / name).chmod(0o644)
    return path


def ask_filter(berth, context=None):
    """Sends whole nodes, so that berth needs no cluster."""
    items = [node("n1"), node("n2", pool="red")]
    reply = post(berth, "filter", {"Pod": {"metadata": {"name": "a", "namespace": "b"}}, "Nodes": {"items": items},
                                   "NodeNames": None}, context=context)  # fmt: skip
    assert reply.status == 200
    assert [item["metadata"]["name"] for item in reply.json()["Nodes"]["items"]] == ["n1"], reply.text


# --- what is in it ---


def test_size(image):
    assert sum(layer["size"] for layer in image.manifest["layers"]) <= MOST
    for part in [image.descriptor, image.manifest["config"], *image.manifest["layers"]]:
        data = image.blob(part["digest"]).read_bytes()
        assert (f"sha256:{hashlib.sha256(data).hexdigest()}", len(data)) == (part["digest"], part["size"])


def test_files_have_no_setuid_and_are_read_only(image):
    for member in image.members():
        assert (member.uid, member.gid) == (0, 0), member.name
        assert not member.mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX), member.name
        if not member.issym():
            assert not member.mode & 0o022, member.name
        assert member.isfile() or member.isdir() or member.issym(), f"{member.name} is no plain file"


def test_times_are_all_the_same(image):
    created = datetime.datetime.fromisoformat(image.config["created"].replace("Z", "+00:00")).timestamp()
    assert {member.mtime for member in image.members()} == {created}


def test_only_what_is_needed(image):
    """The image has the program, the loader and libraries, certificates, zones, settings and licences, but no
    shell, no package manager and no other program."""
    loader = r"lib(64)?/([a-z0-9_]+-linux-gnu[a-z0-9]*/)?ld-linux[^/]*\.so\.\d+"
    places = [
        r"usr/bin/berth",
        rf"usr/{loader}",
        r"usr/lib/[a-z0-9_]+-linux-gnu[a-z0-9]*/lib[^/]*\.so\.[0-9.]+",
        r"usr/share/(zoneinfo/|doc/|common-licenses/|sbom/).*",
        r"etc/ssl/certs/ca-certificates\.crt",
        r"etc/(passwd|group|nsswitch\.conf)",
    ]
    for name, path in image.files().items():
        assert re.fullmatch("|".join(places), name), name
        start = path.read_bytes()[:4]
        assert not start.startswith(b"#!"), name
        if path.stat().st_mode & 0o111:
            assert re.fullmatch(f"usr/bin/berth|usr/{loader}|usr/lib/.*", name), name
        if name.startswith("usr/share/zoneinfo/"):
            assert start == b"TZif", name
    for path in image.tree.rglob("*"):
        if path.is_symlink():
            target = path.readlink()
            inside = image.tree / str(target).lstrip("/") if target.is_absolute() else path.parent / target
            assert inside.exists(), f"{path} leads nowhere"


def test_binary_has_no_build_paths(image):
    program = image.files()["usr/bin/berth"].read_bytes()
    assert str(REPOSITORY).encode() not in program
    sections = subprocess.run(
        ["readelf", "--wide", "--sections", image.files()["usr/bin/berth"]], check=True, capture_output=True, text=True
    ).stdout
    assert ".debug_info" not in sections and ".symtab" not in sections


def test_libraries_are_those_that_are_needed(image):
    """All libraries that the loader needs, and no others."""
    files = image.files()
    by_name = {path.name: path for path in image.tree.glob("usr/lib/*/*.so.*")}
    wanted, queue = set(), [files["usr/bin/berth"]]
    while queue:
        dynamic = subprocess.run(["readelf", "--wide", "--dynamic", queue.pop()], check=True, capture_output=True, text=True)
        for name in set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic.stdout)) - wanted:
            wanted.add(name)
            queue.append(by_name[name].resolve())
    have = {path.resolve() for path in by_name.values()}
    needed = {by_name[name].resolve() for name in wanted}
    assert {path.name for path in have - needed if not path.name.startswith("ld-linux")} == set()


def test_certificates(image):
    text = image.files()["etc/ssl/certs/ca-certificates.crt"].read_text()
    context = ssl.create_default_context(cadata=text)
    assert context.cert_store_stats()["x509_ca"] == text.count("BEGIN CERTIFICATE") > 50


def test_settings(image):
    settings = image.config["config"]
    assert settings["User"] == f"{UID}:{UID}"
    assert settings["Entrypoint"] == ["/usr/bin/berth"]
    assert settings["WorkingDir"] == "/"
    assert image.config["os"] == "linux"
    version = re.search(r"version: '(.*)'", (REPOSITORY / "meson.build").read_text())[1]
    labels = {name.removeprefix("org.opencontainers.image."): text for name, text in settings["Labels"].items()}
    assert labels["version"] == version and labels["licenses"] == "Apache-2.0"
    assert labels["created"] == image.config["created"]
    assert (image.tree / "etc/passwd").read_text().startswith(f"berth:x:{UID}:{UID}:")


# --- it works ---


def test_prints_its_version(image):
    result = image.run("version")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"berth {image.config['config']['Labels']['org.opencontainers.image.version']}\n")


def test_reports_a_missing_service_account(image, policies):
    result = image.run(mounts={"/etc/berth/policies": policies})
    assert result.returncode == 3
    assert "not in a pod" in result.stderr


def test_answers_over_http(start, policies):
    berth = start("serve", "--listen", "127.0.0.1:0", "--policy", "/etc/berth/policies",
                  mounts={"/etc/berth/policies": policies})  # fmt: skip
    ask_filter(berth)
    with open(f"/proc/{berth.proc.pid}/status", encoding="ascii") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    assert status["Uid"].split() == [str(UID)] * 4 and status["Gid"].split() == [str(UID)] * 4
    assert int(status["CapEff"], 16) == 0 and status["NoNewPrivs"] == "1"


def test_answers_over_https(start, policies, tmp_path):
    authority = Authority(tmp_path / "authority", "own")
    certificate, key = authority.issue_server()
    tls = readable_folder(
        tmp_path / "tls",
        {"tls.crt": certificate.read_bytes(), "tls.key": key.read_bytes(), "ca.crt": authority.certificate.read_bytes()},
    )
    berth = start("serve", "--listen", "127.0.0.1:0", "--policy", "/etc/berth/policies", "--tls-cert", "/etc/berth/tls/tls.crt",
                  "--tls-key", "/etc/berth/tls/tls.key", "--client-ca", "/etc/berth/tls/ca.crt",
                  mounts={"/etc/berth/policies": policies, "/etc/berth/tls": tls})  # fmt: skip
    context = ssl.create_default_context(cafile=str(authority.certificate))
    context.load_cert_chain(*map(str, authority.issue("system:kube-scheduler")))
    ask_filter(berth, context)


@pytest.fixture(params=["hosts", "dns"])
def name_service(request, tmp_path):
    """Mounts that resolve kubernetes.berth.test to this machine: with /etc/hosts, and with a name server."""
    hosts, resolv = tmp_path / "hosts", tmp_path / "resolv.conf"
    hosts.write_text("127.0.0.1 localhost\n" + ("127.0.0.1 kubernetes.berth.test\n" if request.param == "hosts" else ""))
    resolv.write_text("nameserver 127.77.0.1\n")
    mounts = {"/etc/hosts": hosts, "/etc/resolv.conf": resolv}
    if request.param == "hosts":
        yield mounts
        return
    try:
        server = NameServer("127.77.0.1", {"kubernetes.berth.test": "127.0.0.1"})
    except OSError as error:
        pytest.skip(f"no name server can be started here: {error}")
    with server:
        yield mounts
    assert server.n_asked > 0


def test_as_in_a_pod(image, start, policies, name_service, tmp_path):
    """With the image's default command, a service account, and an API server that is addressed by name."""
    authority = Authority(tmp_path / "authority", "cluster")
    certificate, key = authority.issue("kube-apiserver", "serverAuth", "DNS:kubernetes.berth.test")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    server = ApiServer(tls, {"the-token": "berth"})
    server.state.put(NODES, node("n1"))
    account = readable_folder(
        tmp_path / "account",
        {"token": "the-token", "ca.crt": authority.certificate.read_bytes(), "namespace": "berth-system"},
    )
    try:
        berth = start(*image.config["config"]["Cmd"], "--listen", "127.0.0.1:0",
                      mounts={"/etc/berth/policies": policies, "/var/run/secrets/kubernetes.io/serviceaccount": account,
                              **name_service},
                      env={"KUBERNETES_SERVICE_HOST": "kubernetes.berth.test", "KUBERNETES_SERVICE_PORT": server.port})  # fmt: skip
        wait_until(lambda: get(berth, "/readyz").status == 200, "berth to have the cluster")
        reply = post(berth, "filter", {"Pod": {"metadata": {"name": "a"}}, "Nodes": None, "NodeNames": ["n1"]})
        assert reply.json()["NodeNames"] == ["n1"], reply.text
        assert "seccomp" in get(berth, "/readyz?verbose").text  # berth's sandbox is on
    finally:
        server.stop()


# --- the Dockerfile gives the same ---


def dockerfile():
    text = (REPOSITORY / "deploy/image/Dockerfile").read_text()
    lines = re.sub(r"^#.*\n", "", text, flags=re.M).replace("\\\n", " ").splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line.strip()]


def test_dockerfile_copies_and_runs_what_is_there():
    stages = [index for index, (word, _) in enumerate(dockerfile()) if word == "FROM"]
    assert [dockerfile()[index][1] for index in stages] == ["debian:12 AS build", "scratch"]
    for word, rest in dockerfile()[: stages[1]]:
        if word == "COPY":
            assert (REPOSITORY / rest.split()[0]).exists(), rest
        if word == "RUN":
            assert (REPOSITORY / rest.split()[0]).exists(), rest
    assert ("COPY", "--from=build /rootfs/ /") in dockerfile()[stages[1] :]
    assert ("RUN", "tools/image rootfs /rootfs") in dockerfile()


def test_dockerfile_has_the_settings(image):
    settings, instructions = image.config["config"], dict(dockerfile())
    assert json.loads(instructions["ENTRYPOINT"]) == settings["Entrypoint"]
    assert json.loads(instructions["CMD"]) == settings["Cmd"]
    assert (instructions["USER"], instructions["WORKDIR"]) == (settings["User"], settings["WorkingDir"])
    assert (instructions["ENV"], instructions["STOPSIGNAL"]) == (settings["Env"][0], settings["StopSignal"])
    labels = dict(re.findall(r'(\S+)="([^"]*)"', instructions["LABEL"]))
    created = {"org.opencontainers.image.created": image.config["created"]}
    assert {**labels, **created} == settings["Labels"]
