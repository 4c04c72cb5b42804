"""Attackers on a server's connections, and a client whose latency is measured meanwhile."""

import contextlib
import http.client
import json
import multiprocessing
import os
import select
import socket
import struct
import time

from client import PATIENCE

BODY = json.dumps(
    {"Pod": {"metadata": {"name": "a"}}, "NodeNames": ["n1", "n2"], "Nodes": None}
).encode()


class Client:
    """Sends requests on one connection, which it never replaces."""

    def __init__(self, berth, context=None):
        kind = http.client.HTTPSConnection if context else http.client.HTTPConnection
        options = {"context": context} if context else {}
        self.connection = kind(berth.host, berth.port, timeout=PATIENCE, **options)
        self.connection.connect()
        self.connection.auto_open = 0

    def ask(self, method="POST", path="/filter", body=BODY):
        """Returns the status, and whether the server closes the connection."""
        self.connection.request(method, path, body)
        reply = self.connection.getresponse()
        reply.read()
        return reply.status, reply.getheader("Connection") == "close"

    def close(self):
        self.connection.close()


PROCESSES = multiprocessing.get_context("fork")


@contextlib.contextmanager
def attacking(attack):
    """Calls attack.run(stop, done) in a separate process until the block ends. Yields @done, the number of
    connections so far."""
    stop, done = PROCESSES.Event(), PROCESSES.Value("i", 0)
    process = PROCESSES.Process(target=attack.run, args=(stop, done))
    process.start()
    try:
        yield done
        assert process.is_alive()
    finally:
        stop.set()
        process.join()


def connect(berth, source=None):
    return socket.create_connection(
        (berth.host, berth.port), PATIENCE, source_address=(source, 0) if source else None
    )


def extension(kind, value):
    return struct.pack(">HH", kind, len(value)) + value


def client_hello():
    """A ClientHello with a random X25519 key, so that only the server has to compute."""
    group, key = 0x001D, os.urandom(32)
    signatures = bytes.fromhex("0403080408070503060308050806")
    share = struct.pack(">HH", group, len(key)) + key
    extensions = (
        extension(43, b"\x02\x03\x04")
        + extension(10, struct.pack(">HH", 2, group))
        + extension(13, struct.pack(">H", len(signatures)) + signatures)
        + extension(51, struct.pack(">H", len(share)) + share)
    )
    body = b"\x03\x03" + os.urandom(32) + b"\x20" + os.urandom(32)
    body += b"\x00\x06\x13\x02\x13\x01\x13\x03\x01\x00"
    body += struct.pack(">H", len(extensions)) + extensions
    message = b"\x01" + struct.pack(">I", len(body))[1:] + body
    return b"\x16\x03\x01" + struct.pack(">H", len(message)) + message


class Handshakes:
    """Starts handshakes, @n at a time, and drops each after the server's part."""

    def __init__(self, berth, n):
        self.berth, self.n = berth, n

    def run(self, stop, done):
        poll, socks = select.epoll(), {}
        while not stop.is_set():
            while len(socks) < self.n:
                sock = connect(self.berth)
                sock.sendall(client_hello())
                poll.register(sock.fileno(), select.EPOLLIN)
                socks[sock.fileno()] = sock
            for fd, _ in poll.poll(0.01):
                poll.unregister(fd)
                with contextlib.suppress(ConnectionError), socks.pop(fd) as sock:
                    sock.recv(1)
                done.value += 1


def times_of(client, n):
    times = []
    for _ in range(n):
        start = time.perf_counter()
        assert client.ask() == (200, False)
        times.append(time.perf_counter() - start)
    return times


def p99(times):
    return sorted(times)[len(times) * 99 // 100]
