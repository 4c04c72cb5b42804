"""A small HTTP client for tests that checks the form of every reply."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import socket
import time
import types

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = REPOSITORY / "test" / "data" / "wire" / "fixtures"
IS_SANITIZED = bool(os.environ.get("BERTH_SANITIZED"))
FINE, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 3  # exit codes
PATIENCE = 30  # seconds; the machine may be busy
FAULT_SCALE = int(os.environ.get("FAULT_SCALE", "1"))  # multiplies the counts of faults, for long runs


def no_duplicates(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key comes twice: {keys}"
    return dict(pairs)


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        self.text = body.decode("utf-8")  # berth never sends anything else

    def json(self):
        return json.loads(self.text, object_pairs_hook=no_duplicates)

    def error(self):
        """The text of {"Error": text}, and nothing else."""
        assert list(self.json()) == ["Error"], self.text
        return self.json()["Error"]


def open_connection(berth, context=None):
    if berth.scheme == "https":
        return http.client.HTTPSConnection(
            berth.host, berth.port, timeout=PATIENCE, context=context
        )
    return http.client.HTTPConnection(berth.host, berth.port, timeout=PATIENCE)


def ask(berth, method, path, body=None, headers=(), connection=None, context=None, **options):
    """Sends one request, on @connection or on a new one."""
    used = connection or open_connection(berth, context)
    try:
        used.request(method, path, body=body, headers=dict(headers), **options)
        response = used.getresponse()
        reply = Reply(response.status, response.headers, response.read())
    finally:
        if not connection:
            used.close()
    # kube-scheduler closes connections after chunked replies.
    assert reply.headers["Transfer-Encoding"] is None
    assert reply.headers.get_all("Content-Length") is not None
    assert len(reply.headers.get_all("Content-Length")) == 1
    if method != "HEAD":
        assert int(reply.headers["Content-Length"]) == len(reply.body)
    return reply


def post(berth, verb, body, connection=None, **options):
    """Calls a verb like kube-scheduler. @body: bytes, or an object to encode as JSON."""
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Go-http-client/1.1",
        "Accept-Encoding": "gzip",
    }
    path = verb if verb.startswith("/") else "/" + verb
    reply = ask(berth, "POST", path, body, headers, connection, **options)
    assert reply.headers["Content-Type"].split(";")[0] == "application/json"
    assert reply.headers["Content-Encoding"] is None
    return reply


def get(berth, path, **options):
    return ask(berth, "GET", path, **options)


def metrics(berth, **options):
    """{'name{label="value",…}': number} of /metrics, labels in the page's order."""
    reply = get(berth, "/metrics", **options)
    assert reply.status == 200
    figures = {}
    for line in reply.text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            assert name not in figures, f"{name} comes twice"
            figures[name] = float(value)
    return figures


def wait_until(check, what):
    """Waits for check() to return something true, and returns it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        result = check()
        if result:
            return result
        assert time.monotonic() < deadline, f"waited {PATIENCE} s for {what}"
        time.sleep(0.05)


def pages_of(berth, listener="pages"):
    """The listener of --pages-listen (or another), as an argument for ask(). Call it once per berth: it reads the output."""
    line = berth.proc.stdout.readline().strip()
    scheme, host, port = re.match(rf"{listener} on (https?)://(.*):(\d+)$", line).groups()
    url = f"{scheme}://{host}:{port}"
    return types.SimpleNamespace(scheme=scheme, host=host, port=int(port), url=url)


def wait_for_figures(berth, wanted):
    """Waits for these values, and returns all figures: berth counts a request just after its reply."""
    seen = {}

    def look():
        seen.update(metrics(berth))
        return all(seen.get(name) == value for name, value in wanted.items())

    with contextlib.suppress(AssertionError):
        wait_until(look, "the figures")
    assert {name: seen.get(name) for name in wanted} == wanted
    return seen


@contextlib.contextmanager
def held_port():
    """A port of 127.0.0.1 without a listener. It stays bound, so that no other process gets it; berth can
    still listen there, because both set SO_REUSEADDR."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@contextlib.contextmanager
def unused_default_address():
    """127.0.0.1:8080, berth's default address, without a listener. Like held_port(), it keeps other processes away. If a
    server of this machine already listens there, the test is skipped."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            holder.bind(("127.0.0.1", 8080))
        except OSError as error:
            pytest.skip(f"127.0.0.1:8080 is in use: {error}")
        yield


def fixture_body(name):
    return (FIXTURES / f"{name}.json").read_bytes()


def replace(path, text):
    """Replaces a file like editors and `kubectl cp`: renames a new file over the old one."""
    new = path.with_name("." + path.name + ".new")
    new.write_text(text)
    return new.replace(path)


def log_lines(berth, words):
    """Lines of the log of a berth of start_logged() that match @words."""
    return [line for line in berth.log.read_text().splitlines() if re.search(words, line)]


def write_cluster(path, nodes, pods=()):
    items = [{"apiVersion": "v1", "kind": "Node", **node} for node in nodes]
    items += [{"apiVersion": "v1", "kind": "Pod", **pod} for pod in pods]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


def without_kubeconfig(home, **variables):
    """The environment without settings for the user's own clusters and berths."""
    ours = ("KUBECONFIG", "BERTH_SERVER", "XDG_CONFIG_HOME", "KUBERNETES_SERVICE_HOST")
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    return {**inherited, "HOME": str(home), **variables}
