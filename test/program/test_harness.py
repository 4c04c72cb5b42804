"""Tests parts of the test harness and of the benchmarks that threads share, or that wait for long builds."""

import concurrent.futures
import http.server
import ssl
import subprocess
import sys
import threading

import pytest

from authority import Authority
from client import REPOSITORY

sys.path += [str(REPOSITORY / "test" / "e2e"), str(REPOSITORY / "bench" / "live")]

from api import Api  # noqa: E402
from plane import Failure, for_all  # noqa: E402

pytestmark = pytest.mark.single_thread

THREADS = 8


def read_subject(certificate):
    command = ["openssl", "x509", "-noout", "-subject", "-nameopt", "multiline", "-in", certificate]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]


def test_threads_issue_certificates_at_the_same_time(tmp_path):
    authority = Authority(tmp_path / "ca", "threads")
    names = [f"user-{i}" for i in range(2 * THREADS)]
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        pairs = list(pool.map(authority.issue_client, names))
    assert [read_subject(pair.certificate) for pair in pairs] == names
    for pair in pairs:
        authority.context(pair)  # fails if key and certificate do not match


def test_failed_openssl_reports_its_own_error(tmp_path):
    authority = Authority(tmp_path / "ca", "broken")
    authority.key.unlink()
    with pytest.raises(AssertionError, match=r"openssl ca .*(?s:.)*ca\.key"):
        authority.issue_client("user")


class ClosingServer:
    """An HTTPS server that closes each connection after one reply, without announcing it: kube-apiserver does so
    after 90 idle seconds."""

    def __init__(self, authority):
        closed = self.closed = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                self.close_connection = True

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def shutdown_request(self, request):
                super().shutdown_request(request)
                closed.set()

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*authority.issue_server())
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def test_api_connection_survives_a_close_by_the_server(tmp_path):
    authority = Authority(tmp_path / "ca", "closing")
    server = ClosingServer(authority)
    api = Api(server.port, authority.context())
    for i in range(5):
        assert api.create("/echo", {"number": i}) == {"number": i}
        assert server.closed.wait(10)
        server.closed.clear()
    api.close()
    server.stop()


class FakeApi:
    def close(self):
        pass


def test_for_all_handles_every_item():
    done = []
    for_all(FakeApi, range(100), lambda api, item: done.append(item))
    assert sorted(done) == list(range(100))


def test_for_all_reports_the_first_error():
    def fail_at_ten(api, item):
        if item == 10:
            raise OSError("no space left on device")

    with pytest.raises(Failure, match="no space left on device"):
        for_all(FakeApi, range(100), fail_at_ten)


def test_for_all_reports_a_worker_that_cannot_connect():
    def connect():
        raise OSError("connection refused")

    with pytest.raises(Failure, match="connection refused"):
        for_all(connect, range(100), lambda api, item: None)
