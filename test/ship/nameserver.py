"""A DNS server with a few names, for one test."""

import socket
import struct
import threading

A, IN = 1, 1
ANSWER, NO_SUCH_NAME = 0x8180, 0x8183


class NameServer:
    """@names: {name: IPv4 address}. Answers on port 53 of @address, over UDP."""

    def __init__(self, address, names):
        self.names, self.n_asked = names, 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.socket.bind((address, 53))
        except OSError:
            self.socket.close()
            raise
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.sendto(b"", self.socket.getsockname())  # wakes the thread up
        self.thread.join()
        self.socket.close()

    def _serve(self):
        while True:
            query, client = self.socket.recvfrom(512)
            if not query:
                return
            self.n_asked += 1
            self.socket.sendto(self._answer(query), client)

    def _answer(self, query):
        """The reply: the question, and an IPv4 address if the name has one."""
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]].decode())
            at += 1 + query[at]
        question, (kind,) = query[12 : at + 5], struct.unpack(">H", query[at + 1 : at + 3])
        address = self.names.get(".".join(labels).lower())
        records = b""
        if address and kind == A:
            records = struct.pack(">HHHIH", 0xC00C, A, IN, 60, 4) + socket.inet_aton(address)
        flags = ANSWER if address else NO_SUCH_NAME
        return query[:2] + struct.pack(">HHHHH", flags, 1, 1 if records else 0, 0, 0) + question + records
