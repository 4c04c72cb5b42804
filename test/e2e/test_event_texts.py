"""What people read in events when berth is away, refused, or not what answers: the texts of
docs/troubleshooting.md are those that a real kube-scheduler writes."""

import http.server
import pathlib
import re
import threading
import time

import pytest
from certs import Authority
from nodemode import Live
from objects import make_extender
from process import pick_port

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/troubleshooting.md"
POLICY = """
filters:
  - {name: pool, nodeLabels: {pool: blue}, reason: node is not in the pool}
"""
TIMEOUT = "1s"


class Impostor(http.server.BaseHTTPRequestHandler):
    """Something that is not berth, at the address where berth should be."""

    status, body, delay = 200, b"{}", 0

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.delay)
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_):
        pass


@pytest.fixture
def impostor():
    """impostor(status=…, body=…, delay=…) -> URL"""
    servers = []

    def start(**fields):
        handler = type("Handler", (Impostor,), fields)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def nobody(_cluster, _impostor):
    return make_extender(f"http://127.0.0.1:{pick_port()}")


def no_such_name(_cluster, _impostor):
    return make_extender("http://berth.berth-system.svc.invalid:8080")


def too_slow(_cluster, impostor):
    return make_extender(impostor(delay=3), httpTimeout=TIMEOUT)


def another_server(_cluster, impostor):
    return make_extender(impostor(body=b"<html></html>"))


def nothing_said(_cluster, impostor):
    return make_extender(impostor(body=b""))


def overloaded(_cluster, impostor):
    return make_extender(impostor(status=503))


def another_verb(cluster, _impostor):
    return make_extender(start_berth(cluster).url, filterVerb="filters")


def https_to_plain(cluster, _impostor):
    url = start_berth(cluster).url.replace("http:", "https:")
    return make_extender(url, enableHTTPS=True)


def start_https(cluster, server, clients, *flags):
    pair = server.issue_server() if isinstance(server, Authority) else server
    return start_berth(
        cluster, "--tls-cert", pair.certificate, "--tls-key", pair.key,
        "--client-ca", clients.certificate, *flags,
    )  # fmt: skip


def extender_of(berth, ca, client):
    tls = {"caFile": str(ca), "certFile": str(client.certificate), "keyFile": str(client.key)}
    return make_extender(berth.url, enableHTTPS=True, tlsConfig=tls)


def plain_to_https(cluster, _impostor):
    own = Authority(cluster.folder / "own", "own")
    return make_extender(start_https(cluster, own, own).url.replace("https:", "http:"))


def another_authority(cluster, _impostor):
    own, other = (Authority(cluster.folder / name, name) for name in ("own", "other"))
    client = own.issue_client("system:kube-scheduler")
    return extender_of(start_https(cluster, own, own), other.certificate, client)


def another_name(cluster, _impostor):
    own = Authority(cluster.folder / "own", "own")
    server = own.issue_server("DNS:elsewhere.example.com")
    client = own.issue_client("system:kube-scheduler")
    return extender_of(start_https(cluster, server, own), own.certificate, client)


def not_let_in(cluster, _impostor):
    own = Authority(cluster.folder / "own", "own")
    client = own.issue_client("system:node:one")
    return extender_of(start_https(cluster, own, own), own.certificate, client)


def no_cluster(cluster, _impostor):
    return make_extender(start_berth(cluster, cluster_flags=()).url)


def node_not_known(cluster, _impostor):
    path = cluster.folder / "other.json"
    path.write_text('{"kind": "List", "items": []}')
    return make_extender(start_berth(cluster, cluster_flags=("--cluster", path)).url)


def rejected(cluster, _impostor):
    return make_extender(start_berth(cluster).url)


def start_berth(cluster, *flags, cluster_flags=None):
    known = Live().flags(cluster) if cluster_flags is None else cluster_flags
    return cluster.start_berth("--policy", cluster.write_policy(POLICY), *known, *flags)


CASES = [
    nobody, no_such_name, too_slow, another_server, nothing_said, overloaded, another_verb, https_to_plain,
    plain_to_https, another_authority, another_name, not_let_in, no_cluster, node_not_known, rejected,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_collect(cluster, impostor, case):
    cluster.add_node("red", {"pool": "red"})
    cluster.add_node("green", {"pool": "green"})
    cluster.start_scheduler(case(cluster, impostor))
    cluster.add_pod("waits")
    cond = cluster.wait_pending("waits", "E" if case is nothing_said else " ")
    with open("/tmp/docs7/texts", "a") as f:
        print(case.__name__, "|", cond["reason"], "|", cond["message"], file=f)
        for e in cluster.events("waits"): print("    ", e, file=f)
