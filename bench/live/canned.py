"""A server with prepared replies to PromQL queries. It does not parse queries: each query text has
its replies.

Replies have the format of Prometheus, with the three label sets that policies use most:

    instance   avg by (instance) (…): the scraped address and port
    node       sum by (node) (…): the node's name
    scraped    a raw series, with the eight labels of the usual setup
"""

import json
import random
import socket
import threading
import urllib.parse

SCRAPED = (
    '{"__name__":"node_load5","container":"node-exporter","endpoint":"http-metrics",'
    '"instance":"%s:9100","job":"node-exporter","namespace":"monitoring",'
    '"pod":"prometheus-node-exporter-%05x","service":"prometheus-node-exporter"}')
FORMS = {
    "instance": lambda node, i: '{"instance":"%s:9100"}' % node["address"],
    "node": lambda node, i: '{"node":"%s"}' % node["name"],
    "scraped": lambda node, i: SCRAPED % (node["address"], (i * 7919) % 0xfffff),
}
AT, DATE = 1763190000.781, "Sat, 15 Nov 2025 07:00:00 GMT"  # the same moment


def write_answer(nodes, values, form):
    """The reply as bytes. @values are in the order of @nodes; the reply has a random order."""
    order = list(range(len(nodes)))
    random.Random(3).shuffle(order)
    series = ('{"metric":%s,"value":[%.3f,"%s"]}' % (FORMS[form](nodes[i], i), AT, values[i])
              for i in order)
    return ('{"status":"success","data":{"resultType":"vector","result":[%s]}}' %
            ",".join(series)).encode()


def read_nodes(cluster_file):
    """Name, address, allocatable and requested resources of every node of a cluster file."""
    items = json.loads(cluster_file.read_text())["items"]
    nodes = {item["metadata"]["name"]: read_node(item) for item in items if item["kind"] == "Node"}
    for item in items:
        if item["kind"] == "Pod":
            add_pod(nodes[item["spec"]["nodeName"]], item["spec"]["containers"])
    return list(nodes.values())


def read_node(item):
    status = item["status"]
    return {"name": item["metadata"]["name"], "address": status["addresses"][0]["address"],
            "cpu": milli(status["allocatable"]["cpu"]),
            "memory": kibi(status["allocatable"]["memory"]), "cpu_used": 0, "memory_used": 0}


def add_pod(node, containers):
    for container in containers:
        requests = container["resources"]["requests"]
        node["cpu_used"] += milli(requests["cpu"])
        node["memory_used"] += kibi(requests["memory"])


def milli(text):
    return int(text.removesuffix("m"))


def kibi(text):
    return int(text.removesuffix("Ki"))


class Server:
    """Listens on a free port, with a thread for each connection. Several answers to one query
    alternate."""

    def __init__(self, answers):
        """@answers: {query: [bytes, …]}"""
        self.replies = {query: [make_reply(body) for body in bodies]
                        for query, bodies in answers.items()}
        self.counts = dict.fromkeys(answers, 0)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.connections = []
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def n_answers(self):
        return sum(self.counts.values())

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return  # closed by stop()
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            with connection, connection.makefile("rb") as requests:
                while query := read_query(requests):
                    replies = self.replies[query]
                    connection.sendall(replies[self.counts[query] % len(replies)])
                    self.counts[query] += 1
        except OSError:
            pass  # closed by stop(), or by berth

    def stop(self):
        """Closes the port, so that new connections are refused."""
        for one in (self.listener, *self.connections):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # already disconnected
            one.close()


def make_reply(body):
    return (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: %s\r\n"
            b"Content-Length: %d\r\n\r\n" % (DATE.encode(), len(body))) + body


def read_query(requests):
    """The query of the next request; None at the end of the connection."""
    length = None
    for line in iter(requests.readline, b"\r\n"):
        if not line:
            return None
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    form = urllib.parse.parse_qs(requests.read(length).decode())
    return form["query"][0]
