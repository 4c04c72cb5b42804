"""A server with prepared replies to PromQL queries. It does not parse queries: each text has its
replies.

Replies look as Prometheus writes them, in the three forms that policies ask for most:

    instance   avg by (instance) (…): the address and port that was scraped
    node       sum by (node) (…): the node's name
    scraped    a metric as it is, with the eight labels that the usual set-up gives it
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
    """As bytes. @values: in the order of @nodes; order on the wire is another one, as it would
    be."""
    order = list(range(len(nodes)))
    random.Random(3).shuffle(order)
    series = ('{"metric":%s,"value":[%.3f,"%s"]}' % (FORMS[form](nodes[i], i), AT, values[i])
              for i in order)
    return ('{"status":"success","data":{"resultType":"vector","result":[%s]}}' %
            ",".join(series)).encode()


def read_nodes(cluster_file):
    """Name, address, and what pods request and leave free, of every node of a cluster file."""
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
    """On a port of its own, a thread for each connection. Several answers to one query take
    turns."""

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
                return  # stopped
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
            pass  # stopped, or berth has ended

    def stop(self):
        """Closes the port: connections are refused."""
        for one in (self.listener, *self.connections):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # not connected any more
            one.close()


def make_reply(body):
    return (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: %s\r\n"
            b"Content-Length: %d\r\n\r\n" % (DATE.encode(), len(body))) + body


def read_query(requests):
    """The query of the next request; None: there is none."""
    length = None
    for line in iter(requests.readline, b"\r\n"):
        if not line:
            return None
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    form = urllib.parse.parse_qs(requests.read(length).decode())
    return form["query"][0]
