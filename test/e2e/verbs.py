"""Sends verbs to berth directly, for orders of calls that kube-scheduler cannot be made to choose."""

import json

import client

# Pods with this schedulerName are left alone by every kube-scheduler that runs.
NOBODY = "nobody"


def ask_filter(berth, pod, nodes):
    """The names that pass."""
    reply = client.post(berth, "filter", {"Pod": pod, "Nodes": None, "NodeNames": nodes})
    assert (reply.status, reply.json()["Error"]) == (200, ""), reply.text
    return reply.json()["NodeNames"]


def make_bind(pod, node, **fields):
    """The body of a bind. @fields override."""
    metadata = pod["metadata"]
    return {
        "PodName": metadata["name"],
        "PodNamespace": metadata["namespace"],
        "PodUID": metadata["uid"],
        "Node": node,
        **fields,
    }


def ask_bind(berth, pod, node, **fields):
    """The error, or "" when the pod was bound."""
    reply = client.post(berth, "bind", make_bind(pod, node, **fields))
    assert reply.status == 200, reply.text
    return reply.error()


class WaitingBind:
    """A bind whose answer is read later: several of them are under way together."""

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
