"""A scripted API server: serves nodes and pods over HTTP like kube-apiserver, and simulates failures
of an API server and of the network.

It runs in the test's process, with a thread for each connection. A test changes objects through
`state` (apistate.py), reads received requests in `requests` and `watches`, and causes faults:

    server.refuse(), server.listen()     close the port; open it again
    server.freeze(), server.thaw()       accept connections, but send nothing
    server.kill()                        end all connections at once
    server.script(action, "list nodes")  answer the next list of nodes with a fault (faults.py)
    server.push("pods", line)            send a line in every open watch of pods
    server.allow_only("list nodes", …)   deny all other requests, and record them in `denied`

Its replies equal those of kube-apiserver; test_scripted_matches_real.py checks this with kubectl and
with a real kube-apiserver.
"""

import base64
import json
import ssl
import time

import discovery
from apistate import (
    INITIAL_EVENTS_END,
    KINDS,
    PODS,
    Refused,
    Selector,
    State,
    bad_request,
    check_watch_options,
    encode,
    encode_event,
    make_bookmark,
    read_int,
    too_large,
)
from exchange import LOOK_SECONDS
from scripted import ScriptedServer

PATCH_TYPES = ("application/merge-patch+json", "application/strategic-merge-patch+json")


class DiscardingList(list):
    def append(self, item):
        pass


class Watch:
    """An open watch: queued lines, and lines sent so far."""

    def __init__(self, request, selector):
        self.request, self.kind, self.selector = request, request.kind, selector
        self.is_bookmarked = request.query.get("allowWatchBookmarks") in ("1", "true")
        self.queue = []
        self.is_open = True
        self.ending = None  # or a function that ends the exchange
        self.version = None  # the last one that its client received
        self.n_sent = 0
        self.began_at = self.sent_at = self.bookmarked_at = time.monotonic()
        self.longest_silence = 0  # seconds without a sent line

    def age(self):
        return time.monotonic() - self.began_at

    def end_silence(self):
        now = time.monotonic()
        self.longest_silence = max(self.longest_silence, now - self.sent_at)
        self.sent_at = now

    def lose(self):
        """From now on sends no events, but keeps the connection open."""
        self.queue = DiscardingList()

    def add(self, line, version=None):
        self.queue.append((line, version))

    def take(self):
        lines = [line for line, _ in self.queue]
        sent_versions = [version for _, version in self.queue if version is not None]
        if sent_versions:
            self.version = sent_versions[-1]
        self.n_sent += len(lines)
        self.queue.clear()
        return b"".join(lines)


class ApiServer(ScriptedServer):
    """@tls: an ssl.SSLContext. @tokens: {token: user}; without tokens clients are not authenticated.
    Listens after construction."""

    def __init__(self, tls=None, tokens=None):
        self.tokens = tokens
        self.state = State()
        self.state.listeners.append(self._tell_watches)
        self.watches, self.denied = [], []
        self.allowed = self.bookmark_seconds = None
        self.documents = {}  # {path: object} of other APIs
        super().__init__(tls, self.state.changed)

    # --- faults, for tests ---

    def push(self, resource, data, version=None):
        """Sends bytes in every open watch of @resource. @version: the resourceVersion in them, if any."""
        with self.lock:
            for watch in self.open_watches(resource):
                watch.add(data, version)
            self.lock.notify_all()

    def push_event(self, resource, event_type, obj):
        """Sends an event that does not change the state."""
        whole = {"kind": KINDS[resource].name, "apiVersion": "v1", **obj}
        self.push(resource, encode_event(event_type, encode(whole)))

    def push_error(self, resource, refused):
        """Sends an ERROR in every open watch of @resource, which ends them."""
        self.push(resource, encode_event("ERROR", encode(refused.status)))
        self.end_watches(resource)

    def send_bookmarks(self, resource=None):
        with self.lock:
            for watch in self.open_watches(resource):
                self._add_bookmark(watch)
            self.lock.notify_all()

    def end_watches(self, resource=None, ending=None):
        """Ends watches in order, as after their timeout; or with @ending(exchange)."""
        with self.lock:
            for watch in self.open_watches(resource):
                watch.ending = ending or (lambda exchange: exchange.end_chunks())
            self.lock.notify_all()

    def allow_only(self, *whats):
        self.allowed = {"get /version", *whats}  # readable by all: system:discovery

    # --- state, for tests ---

    def open_watches(self, resource=None):
        with self.lock:
            return [
                watch
                for watch in self.watches
                if watch.is_open and resource in (None, watch.kind.resource)
            ]

    def relists(self, resource):
        """Requests for all objects: lists (first pages) and watches with initial events."""
        lists = [r for r in self.asked(f"list {resource}") if "continue" not in r.query]
        streams = [r for r in self.asked(f"watch {resource}") if r.is_streamed]
        return sorted(lists + streams, key=lambda request: request.at)

    def resumes(self, resource):
        return [request for request in self.asked(f"watch {resource}") if request.is_resume]

    def is_idle(self):
        """Whether all queued lines of watches have been sent."""
        with self.lock:
            return not any(watch.queue for watch in self.open_watches())

    # --- internals ---

    def _tell_watches(self, version):
        for watch in self.open_watches(version.kind.resource):
            self._add_change(watch, version)

    def _add_change(self, watch, version):
        event = watch.selector.event(version)
        if event:
            watch.add(encode_event(event[0], event[1].text), version.number)

    def _add_bookmark(self, watch, annotations=None):
        if watch.is_bookmarked:
            number = self.state.number
            watch.add(make_bookmark(watch.kind, number, annotations), number)
            watch.bookmarked_at = time.monotonic()

    # --- answering ---

    def _answer_well(self, exchange):
        request = exchange.request
        try:
            self._authenticate(exchange)
            self._authorize(request)
            self._route(exchange)
        except Refused as refused:
            exchange.send_refusal(refused)

    def _authenticate(self, exchange):
        request = exchange.request
        request.user = exchange.connection.user
        if self.tokens is None or request.user:
            return
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        request.user = self.tokens.get(token) if scheme == "Bearer" else None
        if request.user is None:
            raise Refused(401, "Unauthorized", "Unauthorized")

    def _authorize(self, request):
        if self.allowed is None or request.what in self.allowed:
            return
        self.denied.append(request)
        if not request.resource:
            what = f'cannot {request.verb} path "{request.path}"'
            raise Refused(403, "Forbidden", f'forbidden: User "{request.user}" {what}', {})
        where = "at the cluster scope"
        if request.namespace:
            where = f'in the namespace "{request.namespace}"'
        resource = request.resource.partition("/")[0]
        subject = f'{resource} "{request.name}"' if request.name else resource
        raise Refused(
            403,
            "Forbidden",
            f'{subject} is forbidden: User "{request.user}" cannot {request.verb} resource '
            f'"{request.resource}" in API group "" {where}',
            {"name": request.name, "kind": resource} if request.name else {"kind": resource},
        )

    def _route(self, exchange):
        request = exchange.request
        if not request.resource:
            self._answer_discovery(exchange)
        elif not request.is_known():
            message = "the server could not find the requested resource"
            raise Refused(404, "NotFound", message, {})
        elif request.resource == "pods/binding" and request.verb == "create":
            self._bind(exchange)
        elif request.resource in (request.kind.resource, request.kind.resource + "/status"):
            getattr(self, f"_{request.verb}", self._refuse_method)(exchange)
        else:
            self._refuse_method(exchange)

    def _refuse_method(self, exchange):
        message = "the server does not allow this method on the requested resource"
        raise Refused(405, "MethodNotAllowed", message, {})

    def _answer_discovery(self, exchange):
        path = exchange.request.path
        if path in discovery.HEALTH:
            exchange.send(200, b"ok", "text/plain; charset=utf-8")
        elif path in discovery.DOCUMENTS:
            exchange.send_object(200, discovery.DOCUMENTS[path])
        elif path in self.documents:
            exchange.send_object(200, self.documents[path])
        else:
            exchange.send(404, b"404 page not found\n", "text/plain; charset=utf-8")

    def _get(self, exchange):
        request = exchange.request
        exchange.send(200, self.state.find(request.kind, request.key).text + b"\n")

    def _create(self, exchange):
        request = exchange.request
        version = self.state.create(request.kind, request.json(), request.namespace)
        exchange.send(201, version.text + b"\n")

    def _update(self, exchange):
        request = exchange.request
        version = self.state.replace(request.kind, request.key, request.json())
        exchange.send(200, version.text + b"\n")

    def _patch(self, exchange):
        request = exchange.request
        content_type = request.headers.get_content_type()
        change = request.json()
        # A strategic patch merges lists by keys that only the real server knows.
        if content_type not in PATCH_TYPES or ("strategic" in content_type and has_list(change)):
            raise Refused(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
        version = self.state.patch(request.kind, request.key, change)
        exchange.send(200, version.text + b"\n")

    def _delete(self, exchange):
        request = exchange.request
        if not request.name:
            self._refuse_method(exchange)
        options = request.json() if request.body else {}
        grace = request.query.get("gracePeriodSeconds", options.get("gracePeriodSeconds"))
        uid = (options.get("preconditions") or {}).get("uid")
        version = self.state.delete(
            request.kind, request.key, None if grace is None else int(grace), uid
        )
        if request.kind is PODS:
            exchange.send(200, version.text + b"\n")
            return
        details = {"name": request.name, "kind": request.kind.resource}
        details["uid"] = version.object["metadata"]["uid"]
        success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        exchange.send_object(200, {**success, "details": details})

    def _bind(self, exchange):
        request = exchange.request
        self.state.bind(request.key, request.json())
        success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        exchange.send_object(201, {**success, "code": 201})

    def _list(self, exchange):
        request = exchange.request
        metadata, versions = self.state.list(
            request.kind, self._select(request), request.query
        )
        start = f'{{"kind":"{request.kind.name}List","apiVersion":"v1","metadata":'.encode()
        body = start + encode(metadata) + b',"items":[' + b",".join(v.item for v in versions)
        body += b"]}\n"
        if request.query.get("limit") or not versions:
            exchange.send(200, body)
        else:
            exchange.start_chunks()
            exchange.send_chunk(body)
            exchange.end_chunks()

    def _select(self, request):
        if request.query.get("labelSelector"):
            raise bad_request("the scripted API server knows no label selectors")
        fields = request.query.get("fieldSelector", "")
        return Selector(request.kind, request.namespace, fields)

    # --- watches ---

    def _watch(self, exchange):
        request = exchange.request
        check_watch_options(request.query)
        seconds = read_int(request.query.get("timeoutSeconds", "0")) or 1800
        deadline = time.monotonic() + seconds
        watch = Watch(request, self._select(request))
        with self.lock:
            self.watches.append(watch)
            try:
                self._begin_watch(watch)
            except Refused as refused:
                if refused.code == 400:
                    raise
                # After the request was accepted, errors come in the stream.
                watch.queue[:] = [(encode_event("ERROR", encode(refused.status)), None)]
                watch.ending = lambda exchange: exchange.end_chunks()
        try:
            exchange.start_chunks()
            self._stream(exchange, watch, deadline)
        finally:
            with self.lock:
                watch.end_silence()
                watch.is_open = False

    def _begin_watch(self, watch):
        """Fills the queue with past events."""
        request, state, kind = watch.request, self.state, watch.kind
        asked = request.version
        if not asked.isdecimal() and asked:
            message = f'resourceVersion: Invalid value: "{asked}": strconv.ParseUint: parsing'
            watch.is_open = False
            raise bad_request(f'{message} "{asked}": invalid syntax')
        number = int(asked or "0")
        if request.is_streamed:
            if number > state.number:
                raise too_large(number, state.number)
        elif number or "sendInitialEvents" in request.query:
            for version in state.since(kind, number or state.number):
                self._add_change(watch, version)
            return
        for key in sorted(state.objects[kind.resource]):
            version = state.objects[kind.resource][key]
            if watch.selector.takes(version):
                watch.add(encode_event("ADDED", version.text), version.number)
        if request.is_streamed:
            self._add_bookmark(watch, INITIAL_EVENTS_END)

    def _stream(self, exchange, watch, deadline):
        while True:
            with self.lock:
                if not watch.queue and not watch.ending:
                    self.lock.wait(LOOK_SECONDS)
                self._add_due_bookmark(watch)
                lines, ending = watch.take(), watch.ending
            exchange.connection.check()
            if lines:
                exchange.send_chunk(lines)
                watch.end_silence()
            if ending:
                ending(exchange)
                return
            if time.monotonic() >= deadline:
                exchange.end_chunks()
                return

    def _add_due_bookmark(self, watch):
        if self.bookmark_seconds is None or watch.ending:
            return
        if time.monotonic() - watch.bookmarked_at >= self.bookmark_seconds:
            self._add_bookmark(watch)

    # --- credentials ---

    def write_kubeconfig(self, path, authority=None, token=None, pair=None):
        """@authority: PEM file of the trusted CA; @pair: .certificate and .key of a client."""
        cluster = {"server": self.url}
        user = {}
        if authority:
            cluster["certificate-authority-data"] = encode_file(authority)
        if token:
            user["token"] = token
        if pair:
            user["client-certificate-data"] = encode_file(pair.certificate)
            user["client-key-data"] = encode_file(pair.key)
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "scripted", "cluster": cluster}],
            "users": [{"name": "berth", "user": user}],
            "contexts": [{"name": "scripted", "context": {"cluster": "scripted", "user": "berth"}}],
            "current-context": "scripted",
        }
        path.write_text(json.dumps(config, indent=2))  # JSON is YAML
        return path


def make_tls(pair, client_authority=None):
    """@client_authority: PEM file of the CA for client certificates, if clients present one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    if client_authority:
        context.load_verify_locations(client_authority)
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def has_list(value):
    if isinstance(value, dict):
        return any(has_list(inner) for inner in value.values())
    return isinstance(value, list)


def encode_file(path):
    return base64.b64encode(path.read_bytes()).decode()
