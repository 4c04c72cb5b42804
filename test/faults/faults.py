"""Faults for ApiServer.script(): functions of the exchange and of proceed(), which replies without
a fault."""

import gzip
import json
import zlib

from apistate import Refused, encode, encode_event, too_large, too_old
from exchange import JSON, Gone

EXPIRED = too_old(1, 1000)


# --- missing and late replies ---


def never(exchange, proceed):
    """Reads the request and sends nothing until the client gives up."""
    exchange.pause(3600)


def hang_up(exchange, proceed):
    raise Gone


def after(seconds):
    def act(exchange, proceed):
        exchange.pause(seconds)
        proceed()

    return act


def at_rate(bytes_per_second):
    def act(exchange, proceed):
        exchange.rate = bytes_per_second
        proceed()

    return act


def cut_after(n_bytes):
    """Ends the connection after this many bytes of the reply, headers included."""

    def act(exchange, proceed):
        exchange.cut_after = n_bytes
        proceed()

    return act


# --- error replies ---


def answer(refused):
    """Replies with a Status and its code."""

    def act(exchange, proceed):
        exchange.send_refusal(refused)

    return act


def throttle(seconds):
    message = "the server has received too many requests and has asked us to try again later"
    return answer(Refused(429, "TooManyRequests", message, {"retryAfterSeconds": seconds}))


def fail(code, body=b"it failed\n", content_type="text/plain", **headers):
    """Replies without a Status, like a proxy or an API server that shuts down."""

    def act(exchange, proceed):
        exchange.send(code, body, content_type, **headers)

    return act


def too_large_version(seconds=1):
    return answer(too_large(1000, 999, seconds))


expired = answer(EXPIRED)


def expired_in_stream(exchange, proceed):
    exchange.start_chunks()
    exchange.send_chunk(encode_event("ERROR", encode(EXPIRED.status)))
    exchange.end_chunks()


def redirect(location):
    def act(exchange, proceed):
        exchange.send(307, b"", Location=location)

    return act


# --- status 200 with an unusable body ---


def say(body, content_type=JSON, **headers):
    """Replies with status 200 and this body."""

    def act(exchange, proceed):
        exchange.send(200, body, content_type, **headers)

    return act


def stream(*chunks, ending="end"):
    """Replies with 200 in chunks. @ending: end, cut (the connection ends without the last chunk), half
    (it ends inside a chunk) or open (nothing more is sent)."""

    def act(exchange, proceed):
        exchange.start_chunks()
        for chunk in chunks:
            exchange.send_chunk(chunk)
        if ending == "end":
            exchange.end_chunks()
        elif ending == "half":
            exchange.write(b"1000\r\n" + b"x" * 10)
            raise Gone
        elif ending == "cut":
            raise Gone
        else:
            exchange.pause(3600)

    return act


def raw(data):
    """Sends bytes that are not HTTP."""

    def act(exchange, proceed):
        exchange.write(data)
        raise Gone

    return act


def zipped(exchange, proceed):
    """Like proceed(), but compressed with gzip, which the client did not request."""
    packer = zlib.compressobj(wbits=31)
    send, send_head, send_chunk = exchange.send, exchange.send_head, exchange.send_chunk

    def pack(data):
        return packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)

    exchange.send = lambda status, body, *rest, **headers: send(
        status, gzip.compress(body), *rest, **headers
    )
    exchange.send_head = lambda status, headers: send_head(
        status, {**headers, "Content-Encoding": "gzip"}
    )
    exchange.send_chunk = lambda data: send_chunk(pack(data)) if data else None
    proceed()


def endless(piece=b"x" * 65536, start=b'{"type":"ADDED","object":{"metadata":{"name":"'):
    """Replies with 200 and a line without end."""

    def act(exchange, proceed):
        exchange.start_chunks()
        exchange.send_chunk(start)
        while True:
            exchange.send_chunk(piece)
            exchange.connection.check()

    return act


# --- endings of watches, for ApiServer.end_watches() ---


def end_half_line(exchange):
    exchange.send_chunk(b'{"type":"MODIFIED","object":{"kind":"No')
    exchange.end_chunks()


def end_half_chunk(exchange):
    exchange.write(b'400\r\n{"type":"ADDED","obj')
    raise Gone


def end_without_last_chunk(exchange):
    raise Gone


def end_with_reset(exchange):
    exchange.connection.kill("reset")
    raise Gone


# --- invalid lines of watches ---

DEEP = b'{"type":"ADDED","object":' + b"[" * 10000 + b"]" * 10000 + b"}\n"

BAD_LINES = {
    "no JSON": b"what?\n",
    "half an object": b'{"type":"ADDED","object":{"metadata":{"name":"x"}\n',
    "no type": b'{"object":{"metadata":{"name":"x"}}}\n',
    "no object": b'{"type":"ADDED"}\n',
    "object is a list": b'{"type":"ADDED","object":[1,2]}\n',
    "object is null": b'{"type":"ADDED","object":null}\n',
    "no name": b'{"type":"ADDED","object":{"metadata":{}}}\n',
    "name is a number": b'{"type":"ADDED","object":{"metadata":{"name":7}}}\n',
    "deep": DEEP,
    "bytes that are no UTF-8": b'{"type":"ADDED","object":{"metadata":{"name":"\xff\xfe"}}}\n',
    "NUL": b'{"type":"ADDED","object":{"metadata":{"name":"a\x00b"}}}\n',
    "two objects": b'{"type":"ADDED"} {"type":"ADDED"}\n',
}

UNKNOWN_TYPE = encode_event("SURPRISE", json.dumps({"metadata": {"name": "x"}}).encode())
