"""Calls verbs of berth directly, in orders that a test cannot get from kube-scheduler."""

import json

import client

# No running kube-scheduler handles pods with this schedulerName.
NOBODY = "nobody"


def ask_filter(berth, pod, nodes):
    """Sends a filter request. Returns the names that pass."""
    reply = client.post(berth, "filter", {"Pod": pod, "Nodes": None, "NodeNames": nodes})
    assert (reply.status, reply.json()["Error"]) == (200, ""), reply.text
    return reply.json()["NodeNames"]


def make_bind(pod, node, **fields):
    """The body of a bind. @fields override the defaults."""
    metadata = pod["metadata"]
    return {
        "PodName": metadata["name"],
        "PodNamespace": metadata["namespace"],
        "PodUID": metadata["uid"],
        "Node": node,
        **fields,
    }


def ask_bind(berth, pod, node, **fields):
    """Sends a bind. Returns the error, or "" if the pod was bound."""
    reply = client.post(berth, "bind", make_bind(pod, node, **fields))
    assert reply.status == 200, reply.text
    return reply.error()


class WaitingBind:
    """A bind whose reply is read later, so that several are in flight together."""

    def __init__(self, berth, pod, node):
        self.connection = client.open_connection(berth)
        body = json.dumps(make_bind(pod, node))
        self.connection.request("POST", "/bind", body, {"Content-Type": "application/json"})

    def read_error(self):
        try:
            response = self.connection.getresponse()
            return json.loads(response.read())["Error"]
        finally:
            self.connection.close()
