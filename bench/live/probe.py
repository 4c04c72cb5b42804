#!/usr/bin/env python3
"""Sends filter requests for one node and prints when the verdict changes.

    probe.py PORT BODY-FILE

Prints {"at": monotonic seconds, "passes": whether the node passes}: first the current verdict, then
every change, as soon as the reply arrives. It pauses for half a millisecond between requests, so
that the measured processes get the core.
"""

import json
import pathlib
import socket
import sys
import time

PAUSE_SECONDS = 0.0005


def main(port, body):
    head = ("POST /filter HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            "Content-Length: %d\r\n\r\n" % len(body))
    request = head.encode() + body
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    last = None
    while True:
        connection.sendall(request)
        passes = read_verdict(connection)
        if passes != last:
            print(json.dumps({"at": time.monotonic(), "passes": passes}), flush=True)
            last = passes
        time.sleep(PAUSE_SECONDS)


def read_verdict(connection):
    reply = b""
    while b"\r\n\r\n" not in reply:
        reply += receive(connection)
    head, _, body = reply.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        sys.exit(head.decode())
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n")
                  if line.lower().startswith(b"content-length:"))
    while len(body) < length:
        body += receive(connection)
    return bool(json.loads(body)["NodeNames"])


def receive(connection):
    data = connection.recv(65536)
    if not data:
        sys.exit("the server closed the connection")
    return data


main(int(sys.argv[1]), pathlib.Path(sys.argv[2]).read_bytes())
