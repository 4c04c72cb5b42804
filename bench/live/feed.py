#!/usr/bin/env python3
"""Feed: a fast API server for one prepared cluster and its watch events.

    feed.py --folder DIR --cert FILE --key FILE [--no-stream]

DIR has the files of world.World.write(). Over HTTPS it supports lists and watches like
kube-apiserver: pages, streamed lists (sendInitialEvents), watches with bookmarks. All text is
prepared; only resourceVersions are written when an event is sent. It keeps no history: a client
whose watch ends must list again.

Commands on standard input; the answer to each is a line of JSON:
    rate N         send N events per second from now on, 0 for none
    flip POOL      set the pool of the probe node: {"at": the time, in monotonic seconds}
    stats          counts of sent events and bytes
It ends when standard input ends.
"""

import argparse
import contextlib
import json
import mmap
import select
import socket
import ssl
import sys
import threading
import time
from http.client import responses
from urllib.parse import parse_qs, unquote, urlsplit

from world import FIRST_VERSION

CHUNK = 128 * 1024
BOOKMARK_SECONDS = 30
TICK_SECONDS = 0.001
LATE_SECONDS = 0.5  # so far behind, the missed events are dropped, and counted
HEAD_MAX = 64 * 1024
KINDS = {"nodes": "Node", "pods": "Pod"}
ADDED = '{"type":"ADDED","object":{"kind":"%s","apiVersion":"v1",'
VERSION_KEY = b'"resourceVersion":"'
VERSION_DIGITS = 10


class Event:
    def __init__(self, resource, line):
        at = line.index(VERSION_KEY) + len(VERSION_KEY)
        self.resource = resource
        self.before, self.after = line[:at], line[at + VERSION_DIGITS:]

    def render(self, version):
        return b"%s%010d%s" % (self.before, version, self.after)


class Collection:
    """Objects of one kind, as text from the file."""

    def __init__(self, resource, path):
        self.resource, self.kind = resource, KINDS[resource]
        self.prefix = len(ADDED % self.kind)
        with open(path, "rb") as file:
            self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.starts = [0]
        while self.starts[-1] < len(self.map):
            self.starts.append(self.map.find(b"\n", self.starts[-1]) + 1)

    def __len__(self):
        return len(self.starts) - 1

    def item(self, index):
        """The object as an item of a list, without kind and apiVersion."""
        return b"{" + self.map[self.starts[index] + self.prefix:self.starts[index + 1] - 2]

    def pieces(self):
        view = memoryview(self.map)
        return (view[at:at + CHUNK] for at in range(0, len(view), CHUNK))


class Client:
    """A connection. Several threads write to it; its own thread reads."""

    def __init__(self, sock):
        self.sock, self.lock = sock, threading.Lock()

    def send(self, data):
        with self.lock:
            self.sock.sendall(data)

    def send_chunk(self, data):
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def send_json(self, status, text):
        head = "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        self.send((head % (status, responses[status], len(text))).encode() + text)

    def send_refusal(self, code, reason, message):
        refusal = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                   "message": message, "reason": reason, "code": code}
        self.send_json(code, json.dumps(refusal).encode())

    def read_head(self):
        head = b""
        while b"\r\n\r\n" not in head:
            more = self.sock.recv(HEAD_MAX)
            if not more or len(head) > HEAD_MAX:
                return None
            head += more
        return head.split(b"\r\n", 1)[0].decode("latin-1")

    def wait_gone(self):
        poll = select.poll()
        poll.register(self.sock, select.POLLRDHUP)
        poll.poll()


class Feed:
    def __init__(self, folder, context, can_stream):
        self.context, self.can_stream = context, can_stream
        self.collections = {name: Collection(name, f"{folder}/{name}") for name in KINDS}
        self.watches = {name: [] for name in KINDS}
        self.events = list(read_events(f"{folder}/events"))
        with open(f"{folder}/probe", "rb") as file:
            general, system = (Event("nodes", line) for line in file)
        self.probe = {"general": general, "system": system}
        self.version = FIRST_VERSION
        self.lock = threading.Lock()  # for version and watches
        self.rate = 0
        self.n_sent = self.n_dropped = self.n_bytes = 0
        self.awake = threading.Event()

    # --- requests ---

    def listen(self):
        listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return listener.getsockname()[1]

    def _accept(self, listener):
        while True:
            sock, _ = listener.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        with contextlib.suppress(OSError), self.context.wrap_socket(sock, server_side=True) as tls:
            client = Client(tls)
            while line := client.read_head():
                self._answer(client, line)

    def _answer(self, client, line):
        method, target, _ = line.split()
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        found = self.collections.get(unquote(parts.path).removeprefix("/api/v1/"))
        if method != "GET" or not found:
            client.send_refusal(404, "NotFound", "the server could not find the requested resource")
        elif query.get("watch") in ("1", "true"):
            self._watch(client, found, query)
        else:
            self._list(client, found, query)

    def _list(self, client, collection, query):
        start = int(query.get("continue") or 0)
        # Like kube-apiserver's watch cache, ignores the limit for resourceVersion 0.
        limit = 0 if query.get("resourceVersion") == "0" else int(query.get("limit") or 0)
        end = min(start + limit, len(collection)) if limit else len(collection)
        meta = {"resourceVersion": str(self.version)}
        if end < len(collection):
            meta.update({"continue": str(end), "remainingItemCount": len(collection) - end})
        head = '{"kind":"%sList","apiVersion":"v1","metadata":%s,"items":[' % (
            collection.kind, json.dumps(meta))
        items = b",".join(collection.item(i) for i in range(start, end))
        client.send_json(200, b"%s%s]}\n" % (head.encode(), items))

    def _watch(self, client, collection, query):
        is_streamed = query.get("sendInitialEvents") == "true"
        if is_streamed and not self.can_stream:
            client.send_refusal(422, "Invalid", "sendInitialEvents: Forbidden: WatchList is disabled")
            return
        if not is_streamed and query.get("resourceVersion") != str(self.version):
            client.send_refusal(410, "Expired", "too old resource version")
            return
        client.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    b"Transfer-Encoding: chunked\r\n\r\n")
        if is_streamed:
            for piece in collection.pieces():
                client.send_chunk(piece)
            end = {"k8s.io/initial-events-end": "true"}
            client.send_chunk(make_bookmark(collection.kind, self.version, end))
        with self.lock:
            self.watches[collection.resource].append(client)
        client.wait_gone()
        self._forget(collection.resource, client)

    def _forget(self, resource, client):
        with self.lock:
            if client in self.watches[resource]:
                self.watches[resource].remove(client)

    # --- events ---

    def run(self):
        """The sending thread: sends events one by one when they are due."""
        position, rate, due, bookmarked = 0, 0, 0.0, time.monotonic()
        while True:
            now = time.monotonic()
            if now - bookmarked > BOOKMARK_SECONDS:
                bookmarked = now
                self._send_bookmarks()
            if self.rate != rate:
                rate, due = self.rate, now
            if not rate:
                self.awake.wait(1)
                self.awake.clear()
                continue
            if now - due > LATE_SECONDS:
                self.n_dropped += int((now - due) * rate)
                due = now
            while due <= now:
                self.send(self.events[position])
                self.n_sent += 1
                position = (position + 1) % len(self.events)
                due += 1 / rate
            time.sleep(TICK_SECONDS)

    def send(self, event):
        with self.lock:
            self.version += 1
            version, clients = self.version, list(self.watches[event.resource])
        line = event.render(version)
        self.n_bytes += len(line)
        for client in clients:
            try:
                client.send_chunk(line)
            except OSError:
                self._forget(event.resource, client)

    def _send_bookmarks(self):
        for resource, clients in self.watches.items():
            for client in list(clients):
                with contextlib.suppress(OSError):
                    client.send_chunk(make_bookmark(KINDS[resource], self.version))

    # --- commands ---

    def obey(self, command, value=None):
        if command == "rate":
            self.rate = int(value)
            self.awake.set()
            return {}
        if command == "flip":
            at = time.monotonic()
            self.send(self.probe[value])
            return {"at": at}
        watches = {name: len(clients) for name, clients in self.watches.items()}
        return {"sent": self.n_sent, "dropped": self.n_dropped, "bytes": self.n_bytes,
                "watches": watches}


def read_events(path):
    with open(path, "rb") as file:
        for line in file:
            resource, _, event = line.partition(b" ")
            yield Event(resource.decode(), event)


def make_bookmark(kind, version, annotations=None):
    meta = {"resourceVersion": str(version), "creationTimestamp": None}
    if annotations:
        meta["annotations"] = annotations
    rest = {"spec": {"containers": None}, "status": {}} if kind == "Pod" else {}
    return json.dumps({"type": "BOOKMARK", "object": {
        "kind": kind, "apiVersion": "v1", "metadata": meta, **rest}}).encode() + b"\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", required=True)
    parser.add_argument("--cert", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--no-stream", action="store_true", help="as before Kubernetes 1.32")
    options = parser.parse_args()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.cert, options.key)
    feed = Feed(options.folder, context, not options.no_stream)
    threading.Thread(target=feed.run, daemon=True).start()
    print("listening on https://127.0.0.1:%d" % feed.listen(), flush=True)
    for line in sys.stdin:
        print(json.dumps(feed.obey(*line.split())), flush=True)


main()
