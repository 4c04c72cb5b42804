"""One request to the scripted API server and the bytes of its reply, which faults can change like
broken networks and servers."""

import contextlib
import http.client
import json
import select
import socket
import struct
import threading
import time
from urllib.parse import parse_qsl, unquote, urlsplit

from apistate import KINDS, bad_request, encode

JSON = "application/json"
CHUNK = 64 * 1024
BODY_MAX = 16 * 1024 * 1024
LOOK_SECONDS = 0.05  # seconds between checks whether the client is still connected


class Gone(Exception):
    """The client, the test or a fault has ended the connection."""


class Request:
    """A request. @status is 0 until the reply."""

    def __init__(self, method, target, headers, body):
        parts = urlsplit(target)
        self.method, self.target, self.path = method, target, unquote(parts.path)
        self.query = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.headers, self.body = headers, body
        self.at, self.status, self.user = time.monotonic(), 0, None
        self.resource = self.namespace = self.name = self.kind = None
        self._read_path()
        self.verb = self._choose_verb()

    def _read_path(self):
        words = self.path.strip("/").split("/")
        if words[:2] != ["api", "v1"] or len(words) < 3:
            return
        words = words[2:]
        if words[0] == "namespaces" and len(words) > 2:
            self.namespace, words = words[1], words[2:]
        self.resource, self.kind = words[0], KINDS.get(words[0])
        if len(words) > 1:
            self.name = words[1]
        if len(words) > 2:
            self.resource = "/".join([words[0], *words[2:]])

    def _choose_verb(self):
        if self.method == "GET":
            if self.name or not self.resource:
                return "get"
            return "watch" if self.query.get("watch") in ("1", "true") else "list"
        verbs = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
        return verbs.get(self.method, self.method.lower())

    def is_known(self):
        """Whether the resource and the rest of the path exist."""
        if not self.kind:
            return False
        return not (self.kind.is_namespaced and self.name and not self.namespace)

    @property
    def what(self):
        """Verb and resource, for example "list nodes", "create pods/binding", "get /version"."""
        return f"{self.verb} {self.resource or self.path}"

    @property
    def key(self):
        return f"{self.namespace}/{self.name}" if self.kind.is_namespaced else self.name

    @property
    def version(self):
        return self.query.get("resourceVersion", "")

    @property
    def is_resume(self):
        """Whether it is a watch that continues from an earlier one."""
        return self.verb == "watch" and self.version not in ("", "0") and not self.is_streamed

    @property
    def is_streamed(self):
        """Whether it is a watch with initial events."""
        return self.verb == "watch" and self.query.get("sendInitialEvents") == "true"

    def json(self):
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None

    def __repr__(self):
        return f"<{self.what} {self.query} -> {self.status}>"


class Exchange:
    """A request and its reply. Faults change the fields or write the reply themselves."""

    def __init__(self, server, connection, request):
        self.server, self.connection, self.request = server, connection, request
        self.rate = None  # bytes a second
        self.cut_after = None  # the connection ends after this many bytes of the reply
        self.is_chunked = False
        self.must_close = False

    # --- bytes ---

    def write(self, data):
        if self.cut_after is not None:
            data, is_cut = data[: self.cut_after], len(data) >= self.cut_after
            self.cut_after -= len(data)
            self.connection.write(data, self.rate)
            if is_cut:
                raise Gone
        else:
            self.connection.write(data, self.rate)

    def pause(self, seconds):
        self.server.pause(seconds, self.connection)

    # --- answers ---

    def send_head(self, status, headers):
        self.request.status = status
        lines = [f"HTTP/1.1 {status} {http.client.responses.get(status, 'Unknown')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if self.must_close:
            lines.append("Connection: close")
        self.write("\r\n".join([*lines, "", ""]).encode("latin-1"))

    def send(self, status, body, content_type=JSON, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        length = {"Content-Type": content_type, "Content-Length": str(len(body))}
        self.send_head(status, {**length, **named})
        self.write(body)

    def send_object(self, status, obj):
        self.send(status, encode(obj) + b"\n")

    def send_refusal(self, refused):
        headers = {}
        wait = refused.status.get("details", {}).get("retryAfterSeconds")
        if wait:
            headers["Retry-After"] = str(wait)
        self.send(refused.code, encode(refused.status) + b"\n", **headers)

    def start_chunks(self, status=200, content_type=JSON):
        self.send_head(status, {"Content-Type": content_type, "Transfer-Encoding": "chunked"})
        self.is_chunked = True

    def send_chunk(self, data):
        size = self.server.chunk_bytes
        pieces = [data[start : start + size] for start in range(0, len(data), size)]
        # Small chunks are sent together; only the order at the client matters.
        for i in range(0, len(pieces), 512):
            self.write(b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces[i : i + 512]))

    def end_chunks(self):
        self.is_chunked = False
        self.write(b"0\r\n\r\n")


class Connection:
    """One client's connection, in its own thread."""

    def __init__(self, server, sock):
        self.server, self.sock = server, sock
        self.control = sock.dup()  # to end it from other threads, in any state of TLS
        self.is_killed = False
        self.poll = select.poll()
        self.poll.register(self.control, select.POLLRDHUP)
        self.user = None

    def start(self):
        threading.Thread(target=self._run, daemon=True).start()

    def kill(self, how="close"):
        self.is_killed = True
        with contextlib.suppress(OSError):
            if how == "reset":
                linger = struct.pack("ii", 1, 0)
                self.control.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.control.shutdown(socket.SHUT_RD)
            else:
                self.control.shutdown(socket.SHUT_RDWR)

    def check(self):
        if self.is_killed or self.server.is_stopping or self.poll.poll(0):
            raise Gone

    def write(self, data, rate=None):
        view, step = memoryview(data), max(1, int((rate or 0) / 10)) if rate else CHUNK
        for start in range(0, len(view), step):
            while not self.server.thawed.wait(LOOK_SECONDS):
                self.check()
            if self.is_killed:
                raise Gone
            self.sock.sendall(view[start : start + step])
            if rate:
                self.server.pause(len(view[start : start + step]) / rate, self)

    def _run(self):
        try:
            self._shake_hands()
            with self.sock.makefile("rb") as stream:
                while self._serve_one(stream):
                    pass
        except (OSError, Gone, ValueError):
            pass
        finally:
            self.server.forget(self)
            self.sock.close()
            self.control.close()

    def _shake_hands(self):
        while not self.server.thawed.wait(LOOK_SECONDS):
            self.check()
        if self.server.tls:
            self.sock = self.server.tls.wrap_socket(self.sock, server_side=True)
            subject = (self.sock.getpeercert() or {}).get("subject", ())
            names = dict(pair for part in subject for pair in part)
            self.user = names.get("commonName")

    def _serve_one(self, stream):
        line = stream.readline(65536)
        if not line:
            return False
        method, target, _ = line.decode("latin-1").split()
        headers = http.client.parse_headers(stream)
        body = read_body(stream, headers)
        exchange = Exchange(self.server, self, Request(method, target, headers, body))
        exchange.must_close = headers.get("Connection", "").lower() == "close"
        self.server.answer(exchange)
        return not exchange.must_close


def read_body(stream, headers):
    if headers.get("Transfer-Encoding", "").lower() != "chunked":
        return stream.read(min(BODY_MAX, int(headers.get("Content-Length", "0"))))
    body = b""
    while size := int(stream.readline(100), 16):
        body += stream.read(min(BODY_MAX, size))
        stream.readline(100)
    stream.readline(100)
    return body
