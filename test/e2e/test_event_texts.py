"""Events of a pod if berth is down, rejects, or another server answers. A real kube-scheduler writes the
texts that docs/troubleshooting.md quotes."""

import http.server
import json
import pathlib
import re
import threading
import time

import pytest
from authority import Authority
from nodemode import Live
from objects import make_extender, make_node
from process import pick_port

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs/troubleshooting.md").read_text()
POLICY = """
filters:
  - {name: pool, nodeLabels: {pool: blue}, reason: node is not in the pool}
"""


class Impostor(http.server.BaseHTTPRequestHandler):
    """Another server at berth's address."""

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


def start_berth(cluster, *flags, known=None):
    known = Live().flags(cluster) if known is None else known
    return cluster.start_berth("--policy", cluster.write_policy(POLICY), *known, *flags)


def ask_https(cluster, names="IP:127.0.0.1", client="system:kube-scheduler", trusts_us=True):
    """The extender entry for a berth with HTTPS; arguments replace one side's certificate."""
    own, other = (Authority(cluster.folder / name, name) for name in ("own", "other"))
    server, client = own.issue_server(names), own.issue_client(client)
    berth = start_berth(
        cluster, "--tls-cert", server.certificate, "--tls-key", server.key,
        "--client-ca", own.certificate,
    )  # fmt: skip
    tls = {
        "caFile": str((own if trusts_us else other).certificate),
        "certFile": str(client.certificate),
        "keyFile": str(client.key),
    }
    return make_extender(berth.url, enableHTTPS=True, tlsConfig=tls)


def ask_plain_at_https(cluster):
    return make_extender(ask_https(cluster)["urlPrefix"].replace("https:", "http:"))


def ask_https_at_plain(cluster):
    url = start_berth(cluster).url.replace("http:", "https:")
    return make_extender(url, enableHTTPS=True)


def know_another_cluster(cluster):
    path = cluster.folder / "another.json"
    node = {"kind": "Node", **make_node("elsewhere")}
    path.write_text(json.dumps({"kind": "List", "items": [node]}))
    return make_extender(start_berth(cluster, known=["--cluster", path]).url)


def let_a_node_pass(cluster):
    cluster.add_node("blue", {"pool": "blue"})
    return make_extender(start_berth(cluster).url, bindVerb="bind")


def find_one_full(cluster):
    cluster.add_node("blue", {"pool": "blue"}, cpu="50m")
    return make_extender(start_berth(cluster).url)


# {text in the page: how to make kube-scheduler write it}
ANSWERS = {
    "1 Insufficient cpu, 2 node is not in the pool. …": find_one_full,
    "node is not known to berth": know_another_cluster,
    "berth: node names were sent, but berth has no cluster to look them up in: …": lambda cluster: make_extender(
        start_berth(cluster, known=[]).url
    ),
    "berth: it was not started with --bind; remove bindVerb from the extender's configuration, or add the flag": (
        let_a_node_pass
    ),
    "code 404": lambda cluster: make_extender(start_berth(cluster).url, filterVerb="filters"),
    "code 403": lambda cluster: ask_https(cluster, client="system:node:one"),
    "tls: failed to verify certificate: x509: certificate signed by unknown authority": (
        lambda cluster: ask_https(cluster, trusts_us=False)
    ),
    "x509: cannot validate certificate for … because it doesn't contain any IP SANs": (
        lambda cluster: ask_https(cluster, names="DNS:elsewhere.example.com")
    ),
    "http: server gave HTTP response to HTTPS client": ask_https_at_plain,
    'Post "http://…/filter": net/http: HTTP/1.x transport connection broken: malformed HTTP response': ask_plain_at_https,
    "connect: connection refused": lambda _: make_extender(f"http://127.0.0.1:{pick_port()}"),
}
IMPOSTORS = {
    "context deadline exceeded (Client.Timeout exceeded while awaiting headers)": {"delay": 3},
    "code 503": {"status": 503},
    # berth's reply to a body that is not JSON; kube-scheduler does not show the reply's Error ...
    "code 400": {"status": 400, "body": b'{"Error":"byte 7: expected a string"}'},
    # ... except with status 200, which berth uses for JSON that does not follow the protocol.
    "byte …: expected …": {"body": b'{"Error":"byte 7: expected a string"}'},
    "EOF": {"body": b""},
    "invalid character '<' looking for beginning of value": {"body": b"<html></html>"},
}


def assert_said(cluster, extender, quoted):
    assert re.search(rf"`[^`]*{re.escape(quoted)}`", PAGE), "the page does not have this text"
    pattern = ".*".join(map(re.escape, quoted.split("…")))
    cluster.add_node("red", {"pool": "red"})
    cluster.add_node("green", {"pool": "green"})
    cluster.start_scheduler(extender)
    cluster.add_pod("waits")
    message = cluster.wait_pending("waits", max(quoted.split("…"), key=len))["message"]
    assert re.search(pattern, message)
    cluster.wait_event("waits", "FailedScheduling", message)


@pytest.mark.parametrize("quoted", ANSWERS)
def test_texts_for_wrong_requests(cluster, quoted):
    assert_said(cluster, ANSWERS[quoted](cluster), quoted)


@pytest.mark.parametrize("quoted", IMPOSTORS)
def test_something_else_answers(cluster, impostor, quoted):
    extender = make_extender(impostor(**IMPOSTORS[quoted]), httpTimeout="1s")
    assert_said(cluster, extender, quoted)


def test_page_quotes_only_tested_texts_of_kube_scheduler():
    section = re.search(r"^### Texts of kube-scheduler.*?(?=^### )", PAGE, re.M | re.S)[0]
    quoted = set(re.findall(r"^\| `([^`]+)`", section, re.M))
    assert quoted - set(ANSWERS) - set(IMPOSTORS) == {"no such host"}  # which does a DNS lookup
