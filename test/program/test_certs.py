"""berth certs: OpenSSL and kube-scheduler accept its certificates; renewal leaves no gap."""

import base64
import re
import shutil
import ssl
import stat
import subprocess

import pytest
import yaml

from client import PATIENCE, wait_until
from test_tls import Traffic, post, wait_until_served

pytestmark = pytest.mark.single_thread

FILES = {"ca.crt", "ca.key", "server.crt", "server.key", "client.crt", "client.key"}
NAMES = [
    "berth.berth-system.svc", "berth.berth-system.svc.cluster.local", "berth", "localhost",
    "127.0.0.1", "::1",
]  # fmt: skip


@pytest.fixture
def certs(berth_path):
    """certs(*arguments, code=0) -> the finished process; @code is the expected exit code."""

    def run(*arguments, code=0):
        done = subprocess.run(
            [berth_path, "certs", *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE
        )
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        return done

    return run


@pytest.fixture
def folder(certs, tmp_path):
    certs(tmp_path / "certs")
    return tmp_path / "certs"


def openssl(*arguments):
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def text_of(certificate):
    return openssl("x509", "-in", certificate, "-noout", "-text")[1]


def is_issued_to(name, certificate):
    """Checks the CN, which newer OpenSSL prints without spaces."""
    return re.search(rf"Subject: .*\bCN ?= ?{name}$", text_of(certificate), re.M)


def is_verified(folder, name, purpose, *more):
    code, output = openssl(
        "verify", "-x509_strict", "-CAfile", folder / "ca.crt", "-purpose", purpose, *more,
        folder / name,
    )  # fmt: skip
    assert code in (0, 2), output
    return code == 0


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def changed(before, folder):
    return {name for name, content in contents(folder).items() if before.get(name) != content}


def flags(folder):
    files = {"--tls-cert": "server.crt", "--tls-key": "server.key", "--client-ca": "ca.crt"}
    return [part for flag, name in files.items() for part in (flag, folder / name)]


def client(folder, pair=True):
    """A TLS context that trusts the current CA in @folder, and presents its client certificate."""
    context = ssl.create_default_context(cafile=folder / "ca.crt")
    if pair:
        context.load_cert_chain(folder / "client.crt", folder / "client.key")
    return context


# --- new certificates ---


def test_files(certs, tmp_path):
    folder = tmp_path / "certs"
    output = certs(folder).stdout
    assert set(contents(folder)) == FILES
    assert mode_of(folder) == 0o700
    for path in folder.iterdir():
        assert mode_of(path) == (0o600 if path.suffix == ".key" else 0o644), path
    for word in ("ca.crt", "until ", "system:kube-scheduler", "berth.berth-system.svc"):
        assert word in output
    assert re.search(r"berth serve .*--tls-cert .*/server\.crt", output)
    assert "berth config " in output


def test_verified_by_openssl(folder):
    assert is_verified(folder, "server.crt", "sslserver")
    assert is_verified(folder, "client.crt", "sslclient")
    assert not is_verified(folder, "server.crt", "sslclient")
    assert not is_verified(folder, "client.crt", "sslserver")
    for name in NAMES:
        option = "-verify_ip" if re.fullmatch(r"[0-9.:]+", name) else "-verify_hostname"
        assert is_verified(folder, "server.crt", "sslserver", option, name), name
    assert not is_verified(folder, "server.crt", "sslserver", "-verify_hostname", "example.com")


def test_extensions(folder):
    ca, server = text_of(folder / "ca.crt"), text_of(folder / "server.crt")
    assert re.search(r"Basic Constraints: critical\s+CA:TRUE, pathlen:0", ca)
    assert re.search(r"Key Usage: critical\s+Certificate Sign, CRL Sign", ca)
    assert re.search(r"Basic Constraints: critical\s+CA:FALSE", server)
    for text in (ca, server):
        assert "P-256" in text and "ecdsa-with-SHA256" in text
        serial = re.search(r"Serial Number:\s+([0-9a-f:]+)", text)[1]
        assert len(serial.split(":")) == 16
        assert "Subject Key Identifier" in text and "Authority Key Identifier" in text


def test_each_ca_has_its_own_subject(certs, tmp_path):
    certs(tmp_path / "a")
    certs(tmp_path / "b")
    subjects = [openssl("x509", "-in", tmp_path / x / "ca.crt", "-noout", "-subject") for x in "ab"]
    assert subjects[0] != subjects[1]


def test_dates_of_certificates(certs, tmp_path):
    folder = tmp_path / "certs"
    certs(folder, "--days", 3)

    def ends_within(name, days):
        return openssl("x509", "-in", folder / name, "-noout", "-checkend", days * 86400)[0] == 1

    assert ends_within("server.crt", 4) and not ends_within("server.crt", 2)
    assert ends_within("client.crt", 4)
    assert ends_within("ca.crt", 3651) and not ends_within("ca.crt", 3649)
    assert re.search(r"server\.crt.*\(\d days left\)", certs(folder, "--renew", "--days", 9).stdout)


def test_certificates_expire_before_their_ca(certs, folder):
    certs(folder, "--renew", "--days", 3650)
    ends = [
        openssl("x509", "-in", folder / name, "-noout", "-enddate")[1]
        for name in ("ca.crt", "server.crt")
    ]
    assert ends[0] == ends[1]


def test_names(certs, tmp_path):
    folder = tmp_path / "certs"
    output = certs(
        folder, "--name", "*.example.com", "--name", "10.1.2.3", "--client-name", "alice"
    ).stdout
    assert is_verified(folder, "server.crt", "sslserver", "-verify_hostname", "a.example.com")
    assert is_verified(folder, "server.crt", "sslserver", "-verify_ip", "10.1.2.3")
    assert not is_verified(folder, "server.crt", "sslserver", "-verify_hostname", "localhost")
    assert is_issued_to("alice", folder / "client.crt")
    assert "--client-name alice" in output


def test_names_stay_when_renewed(certs, tmp_path):
    folder = tmp_path / "certs"
    certs(folder, "--name", "a.example.com", "--client-name", "alice")
    certs(folder, "--renew")
    assert is_verified(folder, "server.crt", "sslserver", "-verify_hostname", "a.example.com")
    assert is_issued_to("alice", folder / "client.crt")
    certs(folder, "--renew", "--name", "b.example.com", "--client-name", "bob")
    assert not is_verified(folder, "server.crt", "sslserver", "-verify_hostname", "a.example.com")
    assert is_issued_to("bob", folder / "client.crt")


def test_secrets(certs, tmp_path):
    folder = tmp_path / "certs"
    made = certs(folder, "-o", "kubernetes", "--namespace", "elsewhere")
    server, own_client, *tokens = yaml.safe_load_all(made.stdout)
    for secret, name in ((server, "server"), (own_client, "client")):
        assert secret["metadata"]["name"] == f"berth-{name}"
        assert secret["metadata"]["namespace"] == "elsewhere"
        assert secret["type"] == "kubernetes.io/tls"
        files = {"ca.crt": "ca.crt", "tls.crt": f"{name}.crt", "tls.key": f"{name}.key"}
        assert set(secret["data"]) == set(files)
        for key, file in files.items():
            assert base64.b64decode(secret["data"][key]) == (folder / file).read_bytes()
    assert [each["metadata"]["name"] for each in tokens] == ["berth-pages", "berth-viewer"]
    texts = [base64.b64decode(each["data"]["token"]).decode() for each in tokens]
    assert all(re.fullmatch("[0-9a-f]{64}", text) for text in texts) and len(set(texts)) == 2
    before = contents(folder)
    again = certs(folder, "-o", "kubernetes", "--namespace", "elsewhere")
    assert again.stdout == made.stdout
    assert not changed(before, folder)
    (folder / "ca.key").rename(tmp_path / "ca.key")
    kept = [each["metadata"]["name"] for each in yaml.safe_load_all(certs(folder, "-o", "kubernetes").stdout)]
    assert kept == ["berth-server", "berth-client"], "tokens are of the CA's key: those in the cluster stay"


# --- existing files are kept ---


def test_nothing_is_overwritten(certs, folder):
    before = contents(folder)
    output = certs(folder, code=1).stderr
    assert "--renew" in output and "--force" in output
    assert not changed(before, folder)
    certs(folder, "--force")
    assert changed(before, folder) == FILES


def test_renewal_keeps_the_ca(certs, folder):
    before = contents(folder)
    certs(folder, "--renew")
    assert changed(before, folder) == FILES - {"ca.crt", "ca.key"}


def test_rights_are_kept(certs, folder):
    """A group that may read the old key may also read the new one."""
    (folder / "server.key").chmod(0o640)
    certs(folder, "--renew")
    assert mode_of(folder / "server.key") == 0o640
    assert mode_of(folder / "client.key") == 0o600
    (folder / "server.key").chmod(0o644)
    certs(folder, "--renew")
    assert mode_of(folder / "server.key") == 0o640  # but not all users


def test_folder_that_others_write_to(certs, folder):
    assert "WARNING" not in certs(folder, "--renew").stdout
    folder.chmod(0o777)
    assert "WARNING" in certs(folder, "--renew").stdout


# --- wrong uses ---


def test_wrong_options(certs, folder):
    wrong = {
        (): "one folder",
        (folder, folder): "one folder",
        (folder, "--renew", "--force"): "exclude each other",
        (folder, "--days", "0"): "from 1 to 3650",
        (folder, "--days", "many"): "from 1 to 3650",
        (folder, "--name", "https://berth:8443"): "DNS name",
        (folder, "--name", ""): "DNS name",
        (folder, "--name", "a..b"): "DNS name",
        (folder, "--name", "a."): "DNS name",
        (folder, "--client-name", ""): "1 to 64",
        (folder, "--client-name", "x" * 65): "1 to 64",
        (folder, "--client-name", "a\nb"): "ASCII",
        (folder, "--namespace", "A b"): "namespace",
        (folder, "-o", "json"): "files or kubernetes",
    }
    before = contents(folder)
    for arguments, message in wrong.items():
        assert message in certs(*arguments, code=2).stderr, arguments
    assert not changed(before, folder)


def test_folders_that_do_not_allow_it(certs, folder, tmp_path):
    before = contents(folder)
    assert "ca.crt" in certs(tmp_path / "none", "--renew", code=1).stderr
    assert not (tmp_path / "none").exists()

    (folder / "ca.key").write_bytes(before["server.key"])
    assert "does not belong" in certs(folder, "--renew", code=1).stderr
    (folder / "ca.key").unlink()
    assert "no ca.key" in certs(folder, "--renew", code=1).stderr
    (folder / "ca.key").write_bytes(before["ca.key"])
    (folder / "ca.crt").write_bytes(before["server.crt"])
    assert "not that of a CA" in certs(folder, "--renew", code=1).stderr
    (folder / "ca.crt").write_bytes(b"nonsense")
    assert "PEM" in certs(folder, "--renew", code=1).stderr
    (folder / "ca.crt").unlink()
    (folder / "ca.crt").symlink_to("elsewhere")
    assert "not a file" in certs(folder, "--renew", code=1).stderr
    certs("/dev/null/certs", code=3)
    certs(tmp_path / "no" / "such", code=3)


# --- with berth ---


def test_accepts_only_named_clients(start_berth, folder):
    berth = start_berth(*flags(folder))
    assert post(berth, client(folder)) == 200
    assert post(berth, client(folder, pair=False)) == 403


def test_curl(start_berth, folder):
    berth = start_berth(*flags(folder))

    def status(*more):
        return subprocess.run(
            ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", folder / "ca.crt",
             "-d", "{}", f"https://localhost:{berth.port}/filter", *more],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip

    assert status() == "403"
    assert status("--cert", folder / "client.crt", "--key", folder / "client.key") != "403"


def test_renewed_under_a_running_berth(certs, start_berth, folder):
    berth = start_berth(*flags(folder))
    with Traffic(berth, client(folder)) as traffic:
        certs(folder, "--renew")
        wait_until_served(berth, folder / "server.crt")
        assert post(berth, client(folder)) == 200
    assert traffic.failures == []
    assert set(traffic.statuses) == {200}


def copy_ca(source, target):
    shutil.copy(source / "ca.crt", target / "ca.new")
    (target / "ca.new").rename(target / "ca.crt")


def copy_pair(source, target, name):
    for suffix in (".key", ".crt"):
        shutil.copy(source / (name + suffix), target / "pair.new")
        (target / "pair.new").rename(target / (name + suffix))


def test_a_new_ca_without_a_gap(certs, start_berth, tmp_path):
    """Client and server have separate copies, and get each step at different times, in either order."""
    old, new, server, peer = (tmp_path / name for name in ("old", "new", "server", "peer"))
    certs(old)
    certs(new)
    shutil.copytree(old, server)
    shutil.copytree(old, peer)
    berth = start_berth(*flags(server))

    def settle():
        """Waits until berth serves the certificate of its folder; the client must be accepted all the time."""
        berth.proc.send_signal(1)
        wait_until_served(berth, server / "server.crt")
        assert post(berth, client(peer)) == 200

    def accepts(folder):
        """Whether berth accepts the client of @folder, which trusts the CAs of the peer."""
        context = client(peer, pair=False)
        context.load_cert_chain(folder / "client.crt", folder / "client.key")
        try:
            return post(berth, context) == 200
        except (ssl.SSLError, ConnectionError):
            return False

    assert accepts(old) and not accepts(new)
    with (old / "ca.crt").open("ab") as both:
        both.write((new / "ca.crt").read_bytes())
    assert "until" in certs(old, "--renew").stdout  # the first CA signs
    copy_pair(old, peer, "client")
    settle()
    for each in (peer, server):
        copy_ca(old, each)
        settle()
    wait_until(lambda: accepts(new), "the second CA")
    assert accepts(old)
    copy_pair(new, peer, "client")
    settle()
    copy_pair(new, server, "server")
    settle()
    for each in (server, peer):
        copy_ca(new, each)
        settle()
    wait_until(lambda: not accepts(old), "the first CA to be forgotten")
    assert accepts(new)
