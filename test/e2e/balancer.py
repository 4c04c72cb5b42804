"""A Service on loopback: forwards TCP connections to ready endpoints.

It checks readiness once per second, because kubelets and kube-proxies are not immediate either; until
then connections may lead to an endpoint that has ended. As the worst case it always chooses the
preferred endpoint while it considers that ready.
"""

import contextlib
import socket
import threading
import time

LOOK_SECONDS = 1
PIECE = 64 * 1024


class Balancer:
    def __init__(self, ports, is_ready):
        """@ports: of the endpoints. @is_ready(port): checks an endpoint."""
        self.ports, self.is_ready, self.favourite = ports, is_ready, ports[0]
        self.ready, self.n_refused = set(), 0
        self.is_stopping = self.is_cut = False
        self.open = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        for work in (self._look, self._accept):
            threading.Thread(target=work, daemon=True).start()

    def stop(self):
        self.is_stopping = True
        self.listener.close()

    def cut(self):
        """Ends all connections, and closes new ones until restore()."""
        self.is_cut = True
        for connection in list(self.open):
            end(connection)

    def restore(self):
        self.is_cut = False

    def _look(self):
        while not self.is_stopping:
            self.ready = {port for port in self.ports if self.is_ready(port)}
            time.sleep(LOOK_SECONDS)

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return  # stop()
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near):
        ready = sorted(self.ready, key=lambda port: port != self.favourite)
        try:
            far = socket.create_connection(("127.0.0.1", ready[0] if ready else 9))
        except OSError:
            self.n_refused += 1
            near.close()
            return
        self.open |= {near, far}
        if self.is_cut:
            self.cut()
        back = threading.Thread(target=pump, args=(near, far), daemon=True)
        back.start()
        pump(far, near)
        back.join()
        # Not earlier: the other thread could use the next connection with the same descriptor.
        self.open -= {near, far}
        near.close()
        far.close()


def pump(source, target):
    """Copies bytes until one side closes."""
    try:
        while piece := source.recv(PIECE):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        end(source)
        end(target)


def end(connection):
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
