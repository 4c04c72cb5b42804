"""HTTPS: client authentication, protocol versions, and certificates that change under traffic."""

import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import threading
import time
import types

import pytest

from authority import FUTURE, PAST, Authority, stamp
from client import PATIENCE, log_lines, metrics, wait_until

pytestmark = pytest.mark.filterwarnings("ignore:ssl.TLSVersion")

BODY = json.dumps({"Pod": {"metadata": {"name": "a"}}, "NodeNames": ["n1"], "Nodes": None})


# --- certificates ---


@pytest.fixture(scope="session")
def authorities(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    return Authority(folder / "own", "own"), Authority(folder / "other", "other")


def post(berth, context, connection=None):
    """Calls filter and returns the status."""
    own = connection or http.client.HTTPSConnection(
        berth.host, berth.port, context=context, timeout=PATIENCE
    )
    own.request("POST", "/filter", BODY)
    reply = own.getresponse()
    reply.read()
    if not connection:
        own.close()
    return reply.status


@pytest.fixture
def start_tls(start_berth, authorities):
    """start_tls(*flags, clients=True) -> Berth with a certificate of the first authority."""
    own, _ = authorities

    def start(*flags, clients=True, pair=None):
        certificate, key = pair or own.issue_server()
        flags = ["--tls-cert", certificate, "--tls-key", key, *flags]
        if clients:
            flags += ["--client-ca", own.certificate]
        return start_berth(*flags)

    return start


# --- client certificates ---

NAME = "system:kube-scheduler"

CLIENTS = {
    # case: (authority, arguments of issue(), allowed)
    "right by common name": (0, {"common_name": NAME}, True),
    "right by DNS name": (0, {"common_name": "x", "names": f"DNS:{NAME}"}, True),
    "right by URI": (0, {"common_name": "x", "names": f"URI:{NAME}"}, True),
    "right for both purposes": (
        0, {"common_name": NAME, "purpose": "clientAuth,serverAuth"}, True,
    ),
    "wrong name": (0, {"common_name": "system:kube-proxy"}, False),
    "a kubelet's": (
        0, {"common_name": "system:node:n1", "purpose": "clientAuth,serverAuth"}, False,
    ),
    "name is only a part": (0, {"common_name": NAME + ".evil"}, False),
    "name in other letters": (0, {"common_name": NAME.upper()}, False),
    "wrong CA": (1, {"common_name": NAME}, False),
    "expired": (0, {"common_name": NAME, **PAST}, False),
    "not yet valid": (0, {"common_name": NAME, **FUTURE}, False),
    "for servers only": (0, {"common_name": NAME, "purpose": "serverAuth"}, False),
    "name is an e-mail address": (0, {"common_name": "x", "names": f"email:{NAME}"}, False),
}  # fmt: skip


def test_clients(start_tls, authorities):
    own, _ = authorities
    berth = start_tls()
    assert berth.url.startswith("https://")
    wrong = {}
    for name, (authority, wish, allowed) in CLIENTS.items():
        status = post(berth, own.context(authorities[authority].issue(**wish)))
        if (status == 200) != allowed or (not allowed and status not in (401, 403)):
            wrong[name] = status
    assert wrong == {}


def test_no_certificate(start_tls, authorities):
    berth = start_tls()
    assert post(berth, authorities[0].context()) in (401, 403)


def test_self_signed_certificate(start_tls, authorities, tmp_path):
    berth = start_tls()
    impostor = Authority(tmp_path / "impostor", NAME)
    pair = impostor.certificate, impostor.key
    assert post(berth, authorities[0].context(pair)) in (401, 403)


def test_allowed_names_are_flags(start_tls, authorities):
    own, _ = authorities
    berth = start_tls("--client-name", "alice", "--client-name", "bob")
    assert post(berth, own.context(own.issue("bob"))) == 200
    assert post(berth, own.context(own.issue("alice"))) == 200
    assert post(berth, own.context(own.issue(NAME))) in (401, 403)


def test_without_client_ca_all_clients_are_accepted(start_tls, authorities):
    berth = start_tls(clients=False)
    assert post(berth, authorities[0].context()) == 200


def test_rejected_client_may_send_a_large_body(start_tls, authorities):
    """The error does not quote the file."""
    berth = start_tls()
    connection = http.client.HTTPSConnection(
        berth.host, berth.port, context=authorities[0].context(), timeout=PATIENCE
    )
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        connection.request("POST", "/filter", b"0" * 20_000_000)
    assert connection.getresponse().status in (401, 403)
    connection.close()


def test_body_over_the_limit(start_tls, authorities):
    berth = start_tls("--max-body", 1_000_000, clients=False)
    connection = http.client.HTTPSConnection(
        berth.host, berth.port, context=authorities[0].context(), timeout=PATIENCE
    )
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        connection.request("POST", "/filter", b"0" * 20_000_000)
    assert connection.getresponse().status == 413
    connection.close()
    assert post(berth, authorities[0].context()) == 200


# --- protocol versions and ciphers ---


@contextlib.contextmanager
def lenient_server(pair):
    """A server that accepts all versions and ciphers of this machine's library: shows that the client of these
    tests supports what berth rejects."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*map(str, pair))
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    sock, _ = listener.accept()
                    with contextlib.suppress(OSError), context.wrap_socket(sock, True) as tls:
                        tls.recv(1)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield types.SimpleNamespace(host="127.0.0.1", port=listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)  # which ends accept()
            thread.join()


def handshake(berth, **settings):
    """(version, cipher, application protocol), or None if the handshake fails."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ciphers(settings.get("ciphers", "ALL") + ":@SECLEVEL=0")
    context.minimum_version = settings.get("least", ssl.TLSVersion.TLSv1)
    context.maximum_version = settings.get("most", ssl.TLSVersion.TLSv1_3)
    context.set_alpn_protocols(settings.get("protocols", ["h2", "http/1.1"]))
    try:
        with socket.create_connection((berth.host, berth.port), timeout=PATIENCE) as sock:
            with context.wrap_socket(sock) as tls:
                return tls.version(), tls.cipher()[0], tls.selected_alpn_protocol()
    except (ssl.SSLError, ConnectionError):
        return None


REFUSED = [
    {"most": ssl.TLSVersion.TLSv1_1},
    {"most": ssl.TLSVersion.TLSv1},
    {"most": ssl.TLSVersion.TLSv1_2, "ciphers": "ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0"},
    {"most": ssl.TLSVersion.TLSv1_2, "ciphers": "ECDHE-ECDSA-AES256-SHA384"},
    {"most": ssl.TLSVersion.TLSv1_2, "ciphers": "ECDHE-ECDSA-AES128-CCM8"},
]


def test_versions_and_ciphers(start_tls, authorities):
    berth = start_tls(clients=False)
    two = ssl.TLSVersion.TLSv1_2
    assert handshake(berth)[0] == "TLSv1.3"
    assert handshake(berth, most=two)[0] == "TLSv1.2"
    first, second = "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"
    for cipher in (first, second):
        assert handshake(berth, most=two, ciphers=cipher)[1] == cipher
    assert handshake(berth, most=two, ciphers=f"{second}:{first}")[1] == first  # in berth's order of preference
    with lenient_server(authorities[0].issue_server()) as lenient:
        for settings in REFUSED:
            assert handshake(lenient, **settings), f"cannot be tried here: {settings}"
            assert handshake(berth, **settings) is None


def test_only_http_1_1_is_offered(start_tls):
    """Like Go, berth rejects a client that offers protocols without http/1.1."""
    berth = start_tls(clients=False)
    assert handshake(berth)[2] == "http/1.1"
    assert handshake(berth, protocols=["http/1.1"])[2] == "http/1.1"
    assert handshake(berth, protocols=[])[2] is None
    assert handshake(berth, protocols=["h2"]) is None
    assert handshake(berth, protocols=["ftp", "imap"]) is None


def test_key_exchange_with_an_rsa_certificate(start_tls, authorities):
    """Only elliptic curves: no finite-field groups and no RSA key transport."""
    pair = authorities[0].issue("berth", "serverAuth", "IP:127.0.0.1", rsa=True)
    berth = start_tls(clients=False, pair=pair)
    two = ssl.TLSVersion.TLSv1_2
    for cipher in ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-CHACHA20-POLY1305"):
        assert handshake(berth, most=two, ciphers=cipher)[1] == cipher
    for cipher in ("DHE-RSA-AES256-GCM-SHA384", "DHE-RSA-CHACHA20-POLY1305", "AES128-GCM-SHA256"):
        assert handshake(berth, most=two, ciphers=cipher) is None


def s_client(berth, *flags):
    """Runs openssl s_client. Returns (whether the handshake succeeded, output)."""
    done = subprocess.run(
        ["openssl", "s_client", "-connect", f"{berth.host}:{berth.port}", *flags],
        input="", capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    return done.returncode == 0 and "Cipher is (NONE)" not in done.stdout, done.stdout + done.stderr


def test_groups(start_tls, authorities):
    """With an RSA certificate, because in TLS 1.2 a client without P-256 could not verify an ECDSA one."""
    pair = authorities[0].issue("berth", "serverAuth", "IP:127.0.0.1", rsa=True)
    berth = start_tls(clients=False, pair=pair)
    for version in ("-tls1_2", "-tls1_3"):
        for group in ("X25519", "P-256", "P-384"):
            is_open, text = s_client(berth, version, "-groups", group)
            assert is_open, text
        for group in ("P-521", "X448"):
            assert not s_client(berth, version, "-groups", group)[0], (version, group)
    for group in ("ffdhe2048", "ffdhe3072", "ffdhe8192"):
        is_open, text = s_client(berth, "-tls1_3", "-groups", group)
        assert not is_open and "handshake failure" in text


GROUPS = {"ffdhe8192": (0x0104, 1024), "x25519": (0x001D, 32)}


def client_hello(share, groups):
    """A TLS 1.3 ClientHello with a made-up key share of the group @share, which costs its sender nothing."""

    def vector(size, content):
        return len(content).to_bytes(size, "big") + content

    def extension(number, content):
        return number.to_bytes(2, "big") + vector(2, content)

    number, size = GROUPS[share]
    key = b"\x7f" + os.urandom(size - 1)
    shares = number.to_bytes(2, "big") + vector(2, key)
    names = b"".join(GROUPS[group][0].to_bytes(2, "big") for group in groups)
    extensions = (
        extension(43, b"\x02\x03\x04")
        + extension(10, vector(2, names))
        + extension(13, vector(2, b"\x04\x03\x08\x04\x04\x01"))
        + extension(51, vector(2, shares))
    )
    hello = (
        b"\x03\x03" + os.urandom(32) + vector(1, os.urandom(32)) + vector(2, b"\x13\x02\x13\x01")
        + vector(1, b"\x00") + vector(2, extensions)
    )  # fmt: skip
    return b"\x16\x03\x01" + vector(2, b"\x01" + vector(3, hello))


def cpu_nsec(berth):
    tasks = pathlib.Path(f"/proc/{berth.proc.pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks)


def cost_of(berth, hello, n=200):
    """(types of the records in the reply, CPU time of berth)"""
    before, kinds = cpu_nsec(berth), set()
    for _ in range(n):
        with socket.create_connection((berth.host, berth.port), timeout=PATIENCE) as sock:
            sock.sendall(hello())
            kinds.add(sock.recv(1))
    return kinds, cpu_nsec(berth) - before


def test_finite_field_share_costs_no_more_than_another(start_tls):
    """1,159 bytes that would cost half a second ("D(HE)at"): berth rejects them, or requests another group."""
    berth = start_tls(clients=False)
    kinds, ordinary = cost_of(berth, lambda: client_hello("x25519", ["x25519"]))
    assert kinds == {b"\x16"}
    kinds, cost = cost_of(berth, lambda: client_hello("ffdhe8192", ["ffdhe8192"]))
    assert kinds == {b"\x15"} and cost < 2 * ordinary
    kinds, cost = cost_of(berth, lambda: client_hello("ffdhe8192", ["ffdhe8192", "x25519"]))
    assert kinds == {b"\x16"} and cost < 2 * ordinary


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_no_session_is_resumed(start_tls, authorities, version):
    """Each connection must present its certificate, so berth checks it every time."""
    own, _ = authorities
    berth = start_tls()
    context = own.context(own.issue(NAME))
    context.maximum_version = version
    session = None
    for _ in range(3):
        with socket.create_connection((berth.host, berth.port), timeout=PATIENCE) as sock:
            with context.wrap_socket(sock, server_hostname="localhost", session=session) as tls:
                tls.sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                while tls.recv(1000):
                    pass
                assert not tls.session_reused and not tls.compression()
                assert not tls.session.has_ticket
                session = tls.session


def test_client_cannot_renegotiate(start_tls):
    berth = start_tls(clients=False)
    with subprocess.Popen(
        ["openssl", "s_client", "-tls1_2", "-connect", f"{berth.host}:{berth.port}"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as client:  # fmt: skip
        client.stdin.write("R\n")
        client.stdin.flush()
        text = client.stdout.read()  # until berth closes
    assert client.returncode != 0
    assert "Secure Renegotiation IS supported" in text and "RENEGOTIATING" in text
    assert handshake(berth)


def test_handshake_has_a_deadline(start_tls):
    berth = start_tls("--header-timeout", 1)
    with socket.create_connection((berth.host, berth.port), timeout=PATIENCE) as sock:
        sock.sendall(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a ClientHello
        assert sock.recv(100)[:1] == b"\x15"  # an alert
        assert sock.recv(100) == b""


def test_connection_caps(start_tls, authorities):
    """berth closes a connection above the limit, even during a handshake."""
    cap, n_clients = 3, 20
    berth = start_tls("--max-connections-per-address", cap, clients=False)
    context = authorities[0].context()

    def call(all_have_tried):
        connection = http.client.HTTPSConnection(
            berth.host, berth.port, context=context, timeout=PATIENCE
        )
        try:
            served.append(post(berth, context, connection))
        except OSError:
            pass  # closed by berth
        finally:
            all_have_tried.wait(PATIENCE)  # an accepted client keeps its connection until then
            connection.close()

    def is_served():
        with contextlib.suppress(OSError):
            return post(berth, context) == 200

    served = []
    for _ in range(3):
        all_have_tried = threading.Barrier(n_clients)
        threads = [threading.Thread(target=call, args=[all_have_tried]) for _ in range(n_clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert berth.is_alive()
        wait_until(is_served, "those before to be gone")
    assert set(served) == {200}
    assert cap <= len(served) < 3 * n_clients


def test_plain_http_on_the_tls_port(start_tls, authorities):
    berth = start_tls(clients=False)
    with socket.create_connection((berth.host, berth.port), timeout=PATIENCE) as sock:
        sock.sendall(b"POST /filter HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}")
        with contextlib.suppress(ConnectionError):
            while sock.recv(1000):
                pass
    assert post(berth, authorities[0].context()) == 200


# --- certificates that change ---


class MountedSecret:
    """Files like those of a kubelet: behind a symbolic link that is replaced atomically."""

    FILES = ("tls.crt", "tls.key", "ca.crt")

    def __init__(self, folder):
        folder.mkdir()
        self.folder, self.n = folder, 0
        for name in self.FILES:
            (folder / name).symlink_to(pathlib.Path("..data") / name)

    def put(self, certificate, key, ca):
        self.n += 1
        version = self.folder / f"..{self.n}"
        version.mkdir()
        for name, source in zip(self.FILES, (certificate, key, ca)):
            (version / name).write_bytes(pathlib.Path(source).read_bytes())
        link = self.folder / "..data_tmp"
        link.symlink_to(version.name)
        os.replace(link, self.folder / "..data")

    def flags(self):
        certificate, key, ca = (self.folder / name for name in self.FILES)
        return ["--tls-cert", certificate, "--tls-key", key, "--client-ca", ca]


def served_certificate(berth):
    return ssl.get_server_certificate((berth.host, berth.port))


def pem(path):
    text = pathlib.Path(path).read_text()
    return ssl.DER_cert_to_PEM_cert(ssl.PEM_cert_to_DER_cert(text))


def wait_until_served(berth, certificate):
    wait_until(lambda: served_certificate(berth) == pem(certificate), "the new certificate")


class Traffic:
    """Clients that send requests continuously, on kept and on new connections."""

    def __init__(self, berth, context):
        self.berth, self.context = berth, context
        self.stop = threading.Event()
        self.statuses, self.failures = [], []
        self.threads = [threading.Thread(target=self.run, args=(keep,)) for keep in (True, False)]

    def run(self, keep):
        connection = None
        while not self.stop.is_set():
            try:
                if keep and not connection:
                    connection = http.client.HTTPSConnection(
                        self.berth.host, self.berth.port, context=self.context, timeout=PATIENCE
                    )
                self.statuses.append(post(self.berth, self.context, connection))
            except OSError as failure:
                self.failures.append(failure)
        if connection:
            connection.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def test_rotation_under_traffic(start_berth, authorities, tmp_path):
    own, _ = authorities
    secret = MountedSecret(tmp_path / "secret")
    secret.put(*own.issue_server(), own.certificate)
    berth = start_berth(*secret.flags())
    with Traffic(berth, own.context(own.issue(NAME))) as traffic:
        for _ in range(5):
            pair = own.issue_server()
            secret.put(*pair, own.certificate)
            berth.proc.send_signal(signal.SIGHUP)
            wait_until_served(berth, pair[0])
            time.sleep(0.2)
    assert traffic.failures == []
    assert set(traffic.statuses) == {200}


def test_bad_sets_keep_the_old_one(start_berth, authorities, tmp_path):
    """After a key that does not match, a truncated file, an empty CA, or a certificate that has expired, is not
    valid yet or is for clients only, the old set stays in use."""
    own, _ = authorities
    good = own.issue_server()
    other = own.issue_server()
    half = tmp_path / "half"
    half.write_bytes(other[0].read_bytes()[:-60])
    empty = tmp_path / "empty"
    empty.write_bytes(b"")

    secret = MountedSecret(tmp_path / "secret")
    secret.put(*good, own.certificate)
    berth = start_berth(*secret.flags())
    context = own.context(own.issue(NAME))
    kept = http.client.HTTPSConnection(berth.host, berth.port, context=context, timeout=PATIENCE)
    refused = 'berth_config_reloads_total{config="certificates",result="rejected"}'
    for bad in (
        (other[0], good[1], own.certificate),
        (good[0], other[1], own.certificate),
        (half, other[1], own.certificate),
        (*other, empty),
        (empty, empty, own.certificate),
        (*own.issue_server(**PAST), own.certificate),
        (*own.issue_server(**FUTURE), own.certificate),
        (*own.issue("berth", "clientAuth", "IP:127.0.0.1"), own.certificate),
    ):
        before = metrics(berth, context=context)[refused]
        secret.put(*bad)
        berth.proc.send_signal(signal.SIGHUP)
        wait_until(lambda: metrics(berth, context=context)[refused] > before, "a refusal")
        assert served_certificate(berth) == pem(good[0])
        assert post(berth, context) == 200
        assert post(berth, context, kept) == 200  # an earlier connection
    kept.close()
    assert "[+]certificates ok: degraded" in readyz(berth, context)
    assert "[+]certificates ok\n" in readyz(berth)  # clients without rights do not see reasons
    secret.put(*good, own.certificate)  # restored: nothing to load, and no error
    wait_until(lambda: "degraded" not in readyz(berth, context), "the alarm to clear")
    secret.put(*other, own.certificate)
    berth.proc.send_signal(signal.SIGHUP)
    wait_until_served(berth, other[0])
    assert post(berth, context) == 200


def readyz(berth, context=None):
    """Health needs no client certificate."""
    if not context:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", berth.port, timeout=PATIENCE, context=context)
    connection.request("GET", "/readyz?verbose")
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def test_client_ca_rotates(start_berth, authorities, tmp_path):
    """Clients of the old CA are rejected, also on existing connections."""
    own, other = authorities
    secret = MountedSecret(tmp_path / "secret")
    secret.put(*own.issue_server(), own.certificate)
    berth = start_berth(*secret.flags())
    old_client = own.context(own.issue(NAME))
    new_client = own.context(other.issue(NAME))
    assert post(berth, old_client) == 200
    assert post(berth, new_client) in (401, 403)
    kept = http.client.HTTPSConnection(berth.host, berth.port, context=old_client, timeout=PATIENCE)
    assert post(berth, old_client, kept) == 200

    pair = own.issue_server()
    secret.put(*pair, other.certificate)
    berth.proc.send_signal(signal.SIGHUP)
    wait_until_served(berth, pair[0])
    with contextlib.suppress(OSError):  # closed while it was idle
        assert post(berth, old_client, kept) in (401, 403)
    kept.close()
    assert post(berth, old_client) in (401, 403)
    assert post(berth, new_client) == 200


def test_change_is_noticed_without_a_signal(start_berth, authorities, tmp_path, berth_path):
    if pathlib.Path(berth_path).name != "berth":
        pytest.skip("the benchmark's floor reloads on SIGHUP only")
    own, _ = authorities
    secret = MountedSecret(tmp_path / "secret")
    secret.put(*own.issue_server(), own.certificate)
    berth = start_berth(*secret.flags())
    pair = own.issue_server()
    secret.put(*pair, own.certificate)
    wait_until_served(berth, pair[0])


def start_in_vain(berth_path, certificate, key, *flags):
    """Starts a berth that must fail. Returns its error."""
    command = [berth_path] + (["serve"] if pathlib.Path(berth_path).name == "berth" else [])
    done = subprocess.run(
        [*command, "--listen", "127.0.0.1:0", "--tls-cert", certificate, "--tls-key", key, *flags],
        capture_output=True,
        timeout=PATIENCE,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    return done.stderr


def test_bad_set_at_the_start_is_an_error(berth_path, authorities):
    own, _ = authorities
    good, other = own.issue_server(), own.issue_server()
    for bad, words in (
        ((good[0], other[1]), f"{other[1]}: does not belong to the certificate"),
        (own.issue_server(**PAST), "expired at 2021-01-01T00:00:00Z: issue a new one"),
        (own.issue_server(**FUTURE), "is not valid before 2048-01-01T00:00:00Z"),
        (own.issue("berth"), "its extended key usage is not for servers: issue one with serverAuth"),
    ):
        assert words in start_in_vain(berth_path, *bad)


def test_refused_pair_is_used_when_it_becomes_valid(start_logged, authorities, tmp_path):
    own, _ = authorities
    secret = MountedSecret(tmp_path / "secret")
    good = own.issue_server()
    secret.put(*good, own.certificate)
    berth = start_logged(*secret.flags())
    early = own.issue_server(start=stamp(time.time() + 4))
    secret.put(*early, own.certificate)
    wait_until(lambda: log_lines(berth, "not valid before"), "a refusal")
    assert served_certificate(berth) == pem(good[0])
    wait_until_served(berth, early[0])
    assert len(log_lines(berth, "not valid before")) == 1


def test_mode_of_the_key(start_logged, berth_path, authorities):
    """berth rejects a key that all users can write; it logs a warning for a key that all users can read."""
    own, _ = authorities
    certificate, key = own.issue_server()
    key.chmod(0o666)
    error = start_in_vain(berth_path, certificate, key)
    assert f"key {key}: every user of this machine can replace it (mode 0666): chmod 600 {key}" in error
    for mode, is_warned in ((0o644, True), (0o640, False), (0o600, False)):
        key.chmod(mode)
        berth = start_logged("--tls-cert", certificate, "--tls-key", key)
        lines = log_lines(berth, f"level=warn .*chmod 600 {key}")
        assert len(lines) == is_warned, lines
