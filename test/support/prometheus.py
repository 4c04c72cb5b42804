"""Sources of measured load for tests: Prometheus, an exporter, a scripted server.

    Exporter     a page of metrics that a test sets
    Prometheus   the real one, on loopback, which scrapes exporters every second
    Scripted     a server that answers like Prometheus, until the test breaks it

Scripted has the methods of the scripted API server: refuse(), listen(), freeze(), thaw(), kill(),
script(action, when=asks(query)); the actions are those of test/faults/faults.py and those below.
"""

import email.utils
import gzip
import http.client
import http.server
import json
import os
import pathlib
import ssl
import subprocess
import sys
import threading
import time
from urllib.parse import parse_qs

import pytest
import yaml

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / "faults"), str(TESTS / "e2e")]

from client import PATIENCE, REPOSITORY, get, wait_until  # noqa: E402
from process import Process, pick_port  # noqa: E402
from scripted import ScriptedServer  # noqa: E402

PROGRAM = REPOSITORY / "tools" / "prometheus"
CACHE = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
JSON = "application/json"
FETCH_SECONDS = 300


def find_program():
    """The reason why Prometheus is not available, or "". Downloads it the first time."""
    done = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, timeout=FETCH_SECONDS)
    return "" if done.returncode == 0 else done.stderr.strip() or "it does not run"


def run_promtool(*arguments, **options):
    """Runs promtool, which is downloaded the first time. If that fails the test is skipped; in CI it fails."""
    if missing := find_program():
        (pytest.fail if os.environ.get("BERTH_CI") else pytest.skip)(missing)
    command = [REPOSITORY / "tools" / "promtool", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, **options)


# --- exporters ---


class Exporter:
    """A page of metrics on @host, on @port or a free one. Series are set by name and labels."""

    def __init__(self, host="127.0.0.1", port=0):
        self.series, self.n_scrapes = {}, 0
        exporter = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                exporter.n_scrapes += 1
                body = exporter.page().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer((host, port), Handler)
        self.server.daemon_threads = True
        self.address = "%s:%d" % self.server.server_address
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def set(self, name, value, **labels):
        """Sets a series; None removes it."""
        series = {**self.series}
        key = (name, tuple(sorted(labels.items())))
        if value is None:
            series.pop(key, None)
        else:
            series[key] = value
        self.series = series  # in one step, because a scrape may be running

    def page(self):
        lines = []
        for (name, labels), value in sorted(self.series.items()):
            shown = ",".join(f"{label}={json.dumps(text)}" for label, text in labels)
            lines.append(f"{name}{{{shown}}} {value}\n")
        return "".join(lines)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


# --- the real Prometheus ---


class Prometheus:
    """Scrapes @exporters; data and log go into @folder. Ready after construction. stop() and start() may be
    repeated, with the same address and data."""

    def __init__(self, folder, exporters):
        folder.mkdir(exist_ok=True)
        self.folder, self.process = folder, None
        self.port = pick_port()
        self.url = f"http://127.0.0.1:{self.port}"
        targets = [exporter.address for exporter in exporters]
        # Keeps the labels of the page, as in scrapes of kube-state-metrics and cadvisor.
        job = {"job_name": "test", "honor_labels": True, "static_configs": [{"targets": targets}]}
        interval = {"scrape_interval": "1s", "scrape_timeout": "1s"}
        config = {"global": interval, "scrape_configs": [job]}
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        self.start()

    def start(self):
        self.process = Process(
            "prometheus",
            [
                "env",
                f"XDG_CACHE_HOME={CACHE}",  # HOME will be different
                PROGRAM,
                f"--config.file={self.folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={self.folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.port}",
                "--scrape.discovery-reload-interval=1s",  # without it nothing is scraped for 5 s
                "--log.level=warn",
            ],
            self.folder / "log",
        )
        wait_until(self.is_ready, "Prometheus to be ready")

    def is_ready(self):
        self.process.check_alive()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("GET", "/-/ready")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def stop(self):
        if self.process:
            self.process.stop()


def write_sources(path, *sources, **urls):
    """A file for --sources: each a mapping, or name=URL."""
    named = [{"name": name, "url": url} for name, url in urls.items()]
    kind = {"apiVersion": "berth.dev/v1alpha1", "kind": "MetricSources"}
    new = path.with_name("." + path.name)
    new.write_text(yaml.safe_dump({**kind, "sources": [*sources, *named]}))
    return new.replace(path)


def find_metric(berth, name):
    """The entry of a metric in /api/v1/sources."""
    page = get(berth, "/api/v1/sources").json()
    (found,) = [each for each in page["metrics"] if each["name"] == name]
    return found


# --- the scripted Prometheus ---


def sample(value, at=None, **labels):
    """A series of an instant vector. @at: seconds from now, by the server's clock."""
    return labels, value, at or 0


def by_node(**values):
    """One series with the label node per value."""
    return [sample(value, node=name) for name, value in values.items()]


def show(value):
    """A number in the format of Prometheus."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)


def encode_vector(samples, now):
    result = [
        {"metric": labels, "value": [round(now + at, 3), show(value)]}
        for labels, value, at in samples
    ]
    data = {"resultType": "vector", "result": result}
    return json.dumps({"status": "success", "data": data}).encode()


def promql(request):
    """The query of a request, if it is an instant query."""
    if not request.path.endswith("/api/v1/query"):
        return None
    form = parse_qs(request.body.decode()) if request.method == "POST" else {}
    return request.query.get("query") or form.get("query", [None])[0]


def asks(query):
    """For script(when=…): matches requests of this query."""
    return lambda request: promql(request) == query


class Scripted(ScriptedServer):
    """Answers queries with the vectors that a test has set; an unset vector is empty, as for an unknown
    metric. @tls: an ssl.SSLContext."""

    def __init__(self, tls=None):
        self.vectors = {}
        self.token = None  # or the only accepted bearer token
        self.clock = 0  # seconds by which the server's clock is ahead
        self.has_date = True
        self.is_zipped = self.is_chunked = self.is_closing = False
        super().__init__(tls)

    def set(self, query, samples):
        self.vectors[query] = list(samples)

    def asked_for(self, query):
        return [request for request in list(self.requests) if promql(request) == query]

    def restart(self):
        """Ends and starts, like a process."""
        self.refuse()
        self.kill()
        self.listen()

    def wait_asked(self, query, n=1):
        """Waits until the query was received @n more times."""
        before = len(self.asked_for(query))
        wait_until(lambda: len(self.asked_for(query)) >= before + n, f"{query} to be asked for")

    def _answer_well(self, exchange):
        query = promql(exchange.request)
        if self.token and exchange.request.headers.get("Authorization") != f"Bearer {self.token}":
            exchange.send(401, b"Unauthorized\n", "text/plain")
        elif query is None:
            exchange.send(404, b"404 page not found\n", "text/plain")
        else:
            self.send_vector(exchange, self.vectors.get(query, []))

    def send_vector(self, exchange, samples):
        now = time.time() + self.clock
        body = encode_vector(samples, now)
        headers = {"Content-Type": JSON}
        if self.has_date:
            headers["Date"] = email.utils.formatdate(now, usegmt=True)
        if self.is_zipped and "gzip" in exchange.request.headers.get("Accept-Encoding", ""):
            headers["Content-Encoding"], body = "gzip", gzip.compress(body)
        exchange.must_close |= self.is_closing
        if self.is_chunked:
            exchange.send_head(200, {**headers, "Transfer-Encoding": "chunked"})
            exchange.send_chunk(body)
            exchange.end_chunks()
        else:
            exchange.send_head(200, {**headers, "Content-Length": str(len(body))})
            exchange.write(body)


# --- faults that only such a server has; for script() ---

FLOOD_BYTES = 500 * 1000 * 1000
VECTOR_START = b'{"status":"success","data":{"resultType":"vector","result":['


def make_row(number):
    return b'{"metric":{"node":"n%d"},"value":[1700000000,"0.5"]},' % number


# Built once, because the reply must be sent within one second.
FLOOD_ROWS = b"".join(map(make_row, range(20_000)))


def flood(n_bytes=FLOOD_BYTES, has_length=True):
    """A valid vector of this many bytes."""

    def act(exchange, proceed):
        if has_length:
            exchange.send_head(200, {"Content-Type": JSON, "Content-Length": str(n_bytes)})
        else:
            exchange.start_chunks()
        send = exchange.write if has_length else exchange.send_chunk
        send(VECTOR_START)
        left = n_bytes - len(VECTOR_START)
        while left > 0:
            piece = FLOOD_ROWS[:left]
            send(piece)
            left -= len(piece)

    return act


def refuse_query(status=400, kind="bad_data", text="invalid parameter"):
    """Replies like Prometheus to an invalid query, or after an internal error."""

    def act(exchange, proceed):
        error = {"status": "error", "errorType": kind, "error": text}
        exchange.send(status, json.dumps(error).encode())

    return act


def make_context(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
