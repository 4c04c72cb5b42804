"""Sends the same raw requests to any API server, so that test_scripted_matches_real.py can compare the replies.

The classes Scripted and Real have the same few methods.
"""

import contextlib
import http.client
import json
import re
import signal
import ssl
import urllib.request
from urllib.parse import urlencode

import apiserver
from api import make_context
from authority import Authority
from controlplane import ControlPlane

QUIET_SECONDS = 0.3
MERGE = "application/merge-patch+json"
POD_PATH = "/api/v1/namespaces/default/pods"


class Reply:
    def __init__(self, response):
        self.status = response.status
        self.type = response.headers.get_content_type()
        self.retry_after = response.headers["Retry-After"]
        text = read_text(response).decode()
        # A watch has one line per event; any other reply is one object.
        self.lines = [json.loads(line) for line in text.splitlines()] if self.is_json() else []
        self.text = text

    def is_json(self):
        return self.type == "application/json"

    @property
    def body(self):
        return self.lines[0]


def read_text(response):
    """Reads the whole reply, or the lines of a watch until no more arrive."""
    text = b""
    with contextlib.suppress(TimeoutError):
        while data := response.read1(65536):
            text += data
    return text


class Talk:
    """Sends requests as one user to one server, and keeps all replies by label."""

    def __init__(self, connect):
        self.connect = connect
        self.replies = {}

    def ask(self, label, method, path, body=None, content_type="application/json", **query):
        headers = {"Content-Type": content_type} if body is not None else {}
        return self.note(label, method, path, body, headers, query)

    def get(self, label, path, **query):
        return self.ask(label, "GET", path, **query)

    def watch(self, label, path, **query):
        """Reads a watch until no more lines arrive."""
        query = {"watch": "true", **query}
        return self.note(label, "GET", path, None, {}, query, QUIET_SECONDS)

    def note(self, label, method, path, body, headers, query, quiet=None):
        assert label not in self.replies, label
        connection = self.connect()
        try:
            target = f"{path}?{urlencode(query)}" if query else path
            text = None if body is None else json.dumps(body)
            connection.request(method, target, text, headers)
            sock, response = connection.sock, connection.getresponse()
            if quiet and response.status == 200:
                sock.settimeout(quiet)
            reply = self.replies[label] = Reply(response)
        finally:
            connection.close()
        return reply


# --- the two servers ---


class Scripted:
    def __init__(self, folder):
        self.authority = Authority(folder / "ca", "scripted")
        tls = apiserver.make_tls(self.authority.issue_server(), self.authority.certificate)
        self.server = apiserver.ApiServer(tls, tokens={"right": "somebody"})
        self.folder = folder

    def stop(self):
        self.server.stop()

    def talk_as(self, user, group=None):
        pair = self.authority.issue_client(user, group)
        return Talk(connect_to(self.server.port, make_context(self.authority, pair)))

    def talk_with_token(self, token):
        return with_token(Talk(connect_to(self.server.port, make_trusting(self.authority))), token)

    def write_kubeconfig(self):
        pair = self.authority.issue_client("admin", "system:masters")
        return self.server.write_kubeconfig(
            self.folder / "kubeconfig", self.authority.certificate, pair=pair
        )

    def compact(self):
        self.server.state.compact()

    def restrict(self):
        self.server.allow_only("list nodes")


class Real:
    def __init__(self, bin, folder):
        self.plane = ControlPlane(bin, folder)
        self.plane.start_etcd()
        self.plane.start_apiserver()
        self.plane.make_namespace("default")

    def stop(self):
        self.plane.stop()

    def talk_as(self, user, group=None):
        pair = self.plane.authority.issue_client(user, group)
        return Talk(connect_to(self.plane.port, make_context(self.plane.authority, pair)))

    def talk_with_token(self, token):
        context = make_trusting(self.plane.authority)
        return with_token(Talk(connect_to(self.plane.port, context)), token)

    def write_kubeconfig(self):
        return self.plane.admin_kubeconfig

    def compact(self):
        """Compacts etcd, and restarts the API server to empty its watch cache."""
        newest = self.plane.api.get("/api/v1/nodes")["metadata"]["resourceVersion"]
        url = f"http://127.0.0.1:{self.plane.etcd_port}/v3/kv/compaction"
        order = json.dumps({"revision": newest, "physical": True}).encode()
        urllib.request.urlopen(urllib.request.Request(url, order)).close()
        self.plane.restart_apiserver(how=signal.SIGKILL)

    def restrict(self):
        pass  # its users have no rights by default


def connect_to(port, context):
    return lambda: http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=30)


def make_trusting(authority):
    return ssl.create_default_context(cafile=authority.certificate)


def with_token(talk, token):
    note = talk.note
    talk.note = lambda label, method, path, body, headers, *rest: note(
        label, method, path, body, {**headers, "Authorization": f"Bearer {token}"}, *rest
    )
    return talk


# --- objects ---


def node(name, **metadata):
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name, **metadata},
        "status": {"allocatable": {"cpu": "4"}},
    }


def pod(name):
    container = {"name": "main", "image": "example.com/none"}
    spec = {"containers": [container], "schedulerName": "none"}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "spec": spec}


def binding(name, target, **metadata):
    return {
        "kind": "Binding",
        "apiVersion": "v1",
        "metadata": {"name": name, **metadata},
        "target": {"kind": "Node", "name": target},
    }


# --- the conversation ---

BAD_LISTS = [
    {"resourceVersionMatch": "Exact"},
    {"resourceVersionMatch": "Exact", "resourceVersion": "0"},
    {"resourceVersionMatch": "Foo", "resourceVersion": "1"},
    {"resourceVersion": "abc"},
    {"resourceVersion": "99999999"},  # the server waits 3 s for this version
    {"limit": "x"},
    {"fieldSelector": "foo=bar"},
    {"sendInitialEvents": "true"},
]

BAD_WATCHES = [
    {"resourceVersionMatch": "NotOlderThan", "resourceVersion": "1"},
    {"sendInitialEvents": "true"},
    {"sendInitialEvents": "true", "resourceVersionMatch": "Exact", "resourceVersion": "1"},
    {"fieldSelector": "foo=bar"},
]

STREAMED = {
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
}


def talk_about_objects(talk):
    for name in "abcde":
        talk.ask(f"create node {name}", "POST", "/api/v1/nodes", node(f"n-{name}"))
        talk.ask(f"create pod {name}", "POST", POD_PATH, pod(f"p-{name}"))
    talk.ask("create node again", "POST", "/api/v1/nodes", node("n-a"))
    talk.ask("create node without name", "POST", "/api/v1/nodes", {**node(""), "metadata": {}})
    talk.get("get node", "/api/v1/nodes/n-a")
    talk.get("get unknown node", "/api/v1/nodes/none")
    talk.get("get unknown pod", f"{POD_PATH}/none")
    talk.get("get unknown resource", "/api/v1/wishes")
    talk.get("get unknown path", "/nothing")
    talk.get("health", "/readyz")
    change = {"metadata": {"annotations": {"a": "1"}}}
    talk.ask("patch node", "PATCH", "/api/v1/nodes/n-a", change, MERGE)
    talk.ask("patch node again", "PATCH", "/api/v1/nodes/n-a", change, MERGE)
    talk.ask("patch unknown node", "PATCH", "/api/v1/nodes/none", change, MERGE)
    talk.ask("patch of unknown type", "PATCH", "/api/v1/nodes/n-a", change, "application/foo")
    old = {"metadata": {"resourceVersion": "1", "annotations": {"a": "2"}}}
    talk.ask("patch old node", "PATCH", "/api/v1/nodes/n-a", old, MERGE)
    current = talk.get("get node b", "/api/v1/nodes/n-b").body
    for label, metadata in (
        ("put node", {"labels": {"x": "y"}}),
        ("put old node", {"resourceVersion": "1"}),
        ("put node of another uid", {"uid": "1111"}),
        ("put node of another name", {"name": "n-x"}),
    ):
        new = {**current, "metadata": {**current["metadata"], **metadata}}
        talk.ask(label, "PUT", "/api/v1/nodes/n-b", new)


def talk_about_lists(talk):
    page = talk.get("page 1", "/api/v1/nodes", limit=2)
    talk.ask("create node b2", "POST", "/api/v1/nodes", node("n-b2"))
    talk.ask("delete node c", "DELETE", "/api/v1/nodes/n-c")
    for number in (2, 3):
        token = page.body["metadata"]["continue"]
        page = talk.get(f"page {number}", "/api/v1/nodes", limit=2, **{"continue": token})
    talk.get(
        "continue with version", "/api/v1/nodes", limit=2, resourceVersion=5, **{"continue": token}
    )
    whole = talk.get("whole list", "/api/v1/nodes")
    version = whole.body["metadata"]["resourceVersion"]
    talk.get("any version", "/api/v1/nodes", resourceVersion=0, limit=2)
    talk.get("no older", "/api/v1/nodes", resourceVersion=version, limit=2)
    talk.get(
        "exactly", "/api/v1/nodes", resourceVersion=version, resourceVersionMatch="Exact"
    )
    talk.get(
        "no older, explicitly", "/api/v1/nodes",
        resourceVersion=version, resourceVersionMatch="NotOlderThan",
    )  # fmt: skip
    talk.get("pods of all namespaces", "/api/v1/pods", limit=2)
    talk.get("pods of a namespace", POD_PATH)
    talk.get("pods of another namespace", "/api/v1/namespaces/other/pods")
    talk.get("pods by field", "/api/v1/pods", fieldSelector="metadata.name=p-b", limit=1)
    for query in BAD_LISTS:
        talk.get(f"list {query}", "/api/v1/nodes", **query)


def talk_about_watches(talk):
    version = talk.get("list", "/api/v1/pods", limit=1).body["metadata"]["resourceVersion"]
    pod_a = {"metadata": {"annotations": {"a": "1"}}}
    talk.ask("patch pod a", "PATCH", f"{POD_PATH}/p-a", pod_a, MERGE)
    talk.ask("patch pod a to no effect", "PATCH", f"{POD_PATH}/p-a", pod_a, MERGE)
    talk.ask("create pod f", "POST", POD_PATH, pod("p-f"))
    talk.ask("delete pod f", "DELETE", f"{POD_PATH}/p-f")
    talk.ask("bind pod e", "POST", f"{POD_PATH}/p-e/binding", binding("p-e", "n-a"))
    talk.watch("watch", "/api/v1/pods", resourceVersion=version)
    talk.watch(
        "watch pods without node", "/api/v1/pods",
        resourceVersion=version, fieldSelector="spec.nodeName=",
    )  # fmt: skip
    talk.watch("watch from anywhere", "/api/v1/pods")
    talk.watch("watch from 0", "/api/v1/pods", resourceVersion=0)
    talk.watch("watch from the future", "/api/v1/pods", resourceVersion=99999999)
    talk.get("watch of a second", "/api/v1/pods", watch=1, resourceVersion=0, timeoutSeconds=1)
    for kind in ("nodes", "pods"):
        talk.watch(f"streamed {kind}", f"/api/v1/{kind}", **STREAMED)
        talk.watch(f"streamed {kind} from {0}", f"/api/v1/{kind}", resourceVersion=0, **STREAMED)
    no_bookmarks = {**STREAMED, "allowWatchBookmarks": "false"}
    talk.watch("streamed without bookmarks", "/api/v1/nodes", **no_bookmarks)
    future = {"watch": "true", "resourceVersion": 99999999}
    talk.get("streamed from the future", "/api/v1/nodes", **future, **STREAMED)
    for query in BAD_WATCHES:
        talk.watch(f"watch {query}", "/api/v1/pods", **query)


def talk_about_bindings(talk):
    def bind(label, name, body):
        return talk.ask(label, "POST", f"{POD_PATH}/{name}/binding", body)

    uid = talk.get("get pod", f"{POD_PATH}/p-a").body["metadata"]["uid"]
    other = "11111111-1111-1111-1111-111111111111"
    bind("bind of another uid", "p-a", binding("p-a", "n-a", uid=other))
    bind("bind", "p-a", binding("p-a", "n-a", uid=uid, annotations={"x": "y"}))
    bind("bind again", "p-a", binding("p-a", "n-a", uid=uid))
    bind("bind elsewhere", "p-a", binding("p-a", "n-b"))
    bind("bind elsewhere with another uid", "p-a", binding("p-a", "n-b", uid=other))
    bind("bind unknown pod", "none", binding("none", "n-a"))
    bind("bind another name", "p-b", binding("p-a", "n-a"))
    bind("bind to nothing", "p-b", {**binding("p-b", ""), "target": {"kind": "Node"}})
    bind("bind to a wish", "p-b", {**binding("p-b", ""), "target": {"kind": "Wish", "name": "x"}})
    bind("bind to unknown node", "p-b", binding("p-b", "none"))
    talk.get("get bound pod", f"{POD_PATH}/p-a")
    talk.get("get a binding", f"{POD_PATH}/p-a/binding")
    talk.ask("delete bound pod", "DELETE", f"{POD_PATH}/p-a")
    bind("bind deleted pod", "p-a", binding("p-a", "n-a"))
    talk.get("bound pod is still there", f"{POD_PATH}/p-a")
    talk.ask("delete bound pod for good", "DELETE", f"{POD_PATH}/p-a", gracePeriodSeconds=0)
    talk.get("bound pod is gone", f"{POD_PATH}/p-a")
    bind("bind pod that is gone", "p-a", binding("p-a", "n-a"))
    precondition = {
        "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": other},
    }  # fmt: skip
    talk.ask("delete pod of another uid", "DELETE", f"{POD_PATH}/p-c", precondition)
    talk.ask("delete pod without node", "DELETE", f"{POD_PATH}/p-c")
    talk.ask("delete unknown pod", "DELETE", f"{POD_PATH}/p-c")
    talk.ask("delete node", "DELETE", "/api/v1/nodes/n-e")
    talk.ask("delete unknown node", "DELETE", "/api/v1/nodes/n-e")


def talk_about_the_past(talk, side):
    page = talk.get("page of the past", "/api/v1/nodes", limit=2).body["metadata"]
    version, token = page["resourceVersion"], page["continue"]
    for name in ("n-y", "n-z"):
        talk.ask(f"create {name}", "POST", "/api/v1/nodes", node(name))
    side.compact()
    reply = talk.get("old page", "/api/v1/nodes", limit=2, **{"continue": token})
    token = reply.body["metadata"]["continue"]
    talk.get("inconsistent page", "/api/v1/nodes", limit=2, **{"continue": token})
    talk.get(
        "old list", "/api/v1/nodes", resourceVersion=version, resourceVersionMatch="Exact"
    )
    talk.watch("old watch", "/api/v1/nodes", resourceVersion=version)
    talk.watch("old watch, streamed", "/api/v1/nodes", resourceVersion=version, **STREAMED)


def talk_without_rights(talk):
    talk.get("denied list", "/api/v1/pods")
    talk.watch("denied watch", "/api/v1/pods")
    talk.get("denied get", "/api/v1/nodes/n-a")
    talk.get("denied path", "/metrics")
    talk.ask("denied create", "POST", POD_PATH, pod("p"))
    talk.ask("denied binding", "POST", f"{POD_PATH}/p-d/binding", binding("p-d", "n-a"))
    talk.ask("denied patch", "PATCH", "/api/v1/nodes/n-a", {}, MERGE)


def converse(side):
    """{label: Reply}"""
    talk = side.talk_as("admin", "system:masters")
    talk_about_objects(talk)
    talk_about_lists(talk)
    talk_about_watches(talk)
    talk_about_bindings(talk)
    talk_about_the_past(talk, side)
    stranger = side.talk_with_token("wrong")
    stranger.get("unknown token", "/api/v1/nodes")
    side.restrict()
    nobody = side.talk_as("nobody")
    talk_without_rights(nobody)
    return {**talk.replies, **stranger.replies, **nobody.replies}


# --- what is compared ---

UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def smooth(status):
    """Removes parts of texts that differ between runs."""
    if isinstance(status, dict):
        return {key: smooth(value) for key, value in status.items()}
    if isinstance(status, list):
        return [smooth(value) for value in status]
    return re.sub(r"\d+", "N", UID.sub("UID", status)) if isinstance(status, str) else status


def shape(value):
    """Keys and types."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    if isinstance(value, bool) or value is None:
        return value
    return "number" if isinstance(value, (int, float)) else "string"


def summary(reply):
    """The fields of a reply that must be equal on both servers."""
    if not reply.is_json():
        return [reply.status, reply.type, reply.text if reply.type == "text/plain" else ""]
    lines = []
    for line in reply.lines:
        kind = line.get("type")
        obj = line["object"] if kind else line
        lines.append((kind, summarize_object(obj, is_bookmark=kind == "BOOKMARK")))
    return [reply.status, reply.type, reply.retry_after, lines]


def summarize_object(obj, is_bookmark):
    if obj["kind"] == "Status":
        metadata = sorted(obj["metadata"])
        return {**smooth(obj), "metadata": metadata}
    if is_bookmark:
        return shape(obj)
    if obj["kind"].endswith("List"):
        names = [item["metadata"]["name"] for item in obj["items"]]
        count = obj["metadata"].get("remainingItemCount")
        return [sorted(obj), obj["kind"], obj["apiVersion"], sorted(obj["metadata"]), count, names]
    meta = obj["metadata"]
    return [
        obj["kind"], obj["apiVersion"], meta["name"], meta.get("namespace"),
        meta.get("annotations"), meta.get("labels"), "deletionTimestamp" in meta,
        meta.get("deletionGracePeriodSeconds"), obj.get("spec", {}).get("nodeName"),
    ]  # fmt: skip


def strange_parts(ours, theirs, where=""):
    """Paths in @ours that @theirs lacks, or has with another type. The real server sets many more fields;
    the scripted one must not have fields of its own."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            path
            for key, value in ours.items()
            for path in (
                strange_parts(value, theirs[key], f"{where}.{key}")
                if key in theirs
                else [f"{where}.{key}"]
            )
        ]
    if isinstance(ours, list) and isinstance(theirs, list):
        pairs = zip(ours, theirs)
        return [path for a, b in pairs for path in strange_parts(a, b, f"{where}[]")]
    return [] if shape(ours) == shape(theirs) or where.endswith("Timestamp") else [where]
