"""A server on loopback with scripted faults, for its port and for chosen requests. A subclass has the
reply without a fault: _answer_well(exchange).

It runs in the test's process, with a thread for each connection.
"""

import contextlib
import random
import socket
import threading
import time

from exchange import CHUNK, LOOK_SECONDS, Connection


class Script:
    """A fault, and the requests that get it."""

    def __init__(self, action, what, times, skip, when):
        self.action, self.what, self.times, self.skip, self.when = action, what, times, skip, when
        self.n_hits = 0

    def takes(self, request):
        if self.times == 0 or self.what not in (None, request.what):
            return False
        if self.when and not self.when(request):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.n_hits += 1
        if self.times:
            self.times -= 1
        return True

    def cancel(self):
        self.times = 0


class ScriptedServer:
    """@tls: an ssl.SSLContext. Listens after construction."""

    def __init__(self, tls=None, lock=None):
        self.tls = tls
        self.lock = lock or threading.Condition(threading.RLock())
        self.requests, self.scripts, self.connections = [], [], set()
        self.chunk_bytes = CHUNK
        self.is_stopping = False
        self.thawed = threading.Event()
        self.thawed.set()
        self.listener = None
        self.port = self._find_port()
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"

    def stop(self):
        self.is_stopping = True
        self.refuse()
        self.kill()
        self.thawed.set()

    # --- faults, for tests ---

    def listen(self):
        if self.listener:
            return
        listener = socket.create_server(("127.0.0.1", self.port), backlog=64)
        self.listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def refuse(self):
        listener, self.listener = self.listener, None
        if listener:
            # Wakes the thread in accept(), which close() alone does not.
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def kill(self, how="close"):
        """Ends every connection; @how: close or reset."""
        with self.lock:
            for connection in list(self.connections):
                connection.kill(how)
            self.lock.notify_all()

    def freeze(self):
        self.thawed.clear()

    def thaw(self):
        self.thawed.set()

    def script(self, action, what=None, times=1, skip=0, when=None):
        """Answers the next @times requests of the kind @what ("list nodes") with @action (see faults.py),
        after skipping @skip of them. @times None: all of them, until cancel()."""
        script = Script(action, what, times, skip, when)
        with self.lock:
            self.scripts.append(script)
        return script

    # --- received requests, for tests ---

    def asked(self, what):
        """The received requests of the kind @what, oldest first."""
        return [request for request in list(self.requests) if request.what == what]

    # --- internals ---

    def pause(self, seconds, connection):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            connection.check()
            time.sleep(min(left, LOOK_SECONDS))

    def forget(self, connection):
        with self.lock:
            self.connections.discard(connection)

    def _find_port(self):
        """Listens on a port of 127.0.0.1 below those of outgoing connections, one of which could
        otherwise take the port while it is closed."""
        while True:
            self.port = random.randrange(20000, 32000)
            with contextlib.suppress(OSError):
                self.listen()
                return self.port

    def _accept(self, listener):
        while listener is self.listener:
            # Continues to accept connections if one has already ended.
            with contextlib.suppress(OSError):
                sock, _ = listener.accept()
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection = Connection(self, sock)
                with self.lock:
                    self.connections.add(connection)
                    if listener is not self.listener:
                        connection.kill()  # it arrived during refuse()
                connection.start()

    def answer(self, exchange):
        request = exchange.request
        with self.lock:
            self.requests.append(request)
            script = next((s for s in self.scripts if s.takes(request)), None)
        if script:
            script.action(exchange, lambda: self._answer_well(exchange))
        else:
            self._answer_well(exchange)
