"""A small API server for `berth check` with replies from dictionaries.

    api = SmallApi()
    api.pods.append(pod("kube-system", "kube-scheduler-a", labels={"component": "kube-scheduler"}))
    api.config_maps["berth-system", "scheduler"] = {"scheduler.yaml": "…"}
    api.denied = {"create pods/binding"}       # rights that it denies, and …
    api.allowed = {"get secrets"}              # … rights that it grants, although berth must not have them
    api.skew = 7200                            # seconds by which its clock is ahead
    api.kubeconfig(folder)                     # a kubeconfig for it
"""

import email.utils
import http.server
import json
import threading
import time
from urllib.parse import parse_qs, urlsplit

NEEDED = {
    f"{verb} {kind}" for verb in ("get", "list", "watch") for kind in ("nodes", "pods")
}


def pod(namespace, name, labels=None, node="n1", ready=True, scheduler="default-scheduler", **spec):
    """@spec: more fields of the spec; annotations among them go to the metadata."""
    annotations = spec.pop("annotations", {})
    return {
        "metadata": {
            "namespace": namespace, "name": name, "labels": labels or {}, "annotations": annotations,
        },
        "spec": {"nodeName": node, "schedulerName": scheduler, "containers": [], **spec},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }  # fmt: skip


def scheduler_pod(namespace, name, flags, volumes=(), mounts=(), labels=None, **options):
    """A pod with a kube-scheduler in it."""
    container = {"name": "scheduler", "command": ["kube-scheduler", *flags], "volumeMounts": [*mounts]}
    return pod(
        namespace, name, labels or {"component": "kube-scheduler"},
        containers=[container], volumes=[*volumes], **options,
    )  # fmt: skip


def write_kubeconfig(path, url):
    """Writes a kubeconfig for the server @url."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {}}],
    }))  # fmt: skip
    return path


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one write, else each reply takes 40 ms

    def reply(self, status, body, headers=()):
        self.send_response_only(status)
        for name, value in [*headers, ("Content-Length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server:
    """An HTTP server on loopback with a subclass of Handler."""

    def serve(self, handler):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class SmallApi(Server):
    def __init__(self):
        self.version = "v1.34.1"
        self.pods, self.config_maps = [], {}
        self.denied, self.allowed = set(), set()
        self.skew = 0
        self.objects = {}  # {path: reply}, besides those above
        self.forbidden = set()  # paths that are answered with 403
        self.trial = 404, refusal(404, "no such kind")  # the reply to a dry run of a policy
        self.tried = []  # specs of the policies of dry runs
        self.reviews = []  # (user, request)
        api = self

        class ApiHandler(Handler):
            def do_GET(self):
                self.reply_json(*api.get(self.path))

            def do_POST(self):
                length = int(self.headers["Content-Length"])
                self.reply_json(*api.post(self.path, json.loads(self.rfile.read(length))))

            def reply_json(self, status, content):
                date = email.utils.formatdate(time.time() + api.skew, usegmt=True)
                headers = [("Date", date), ("Content-Type", "application/json")]
                self.reply(status, json.dumps(content).encode(), headers)

        self.serve(ApiHandler)

    def kubeconfig(self, folder):
        return write_kubeconfig(folder / "kubeconfig", self.url)

    # --- answers ---

    def get(self, target):
        url = urlsplit(target)
        parts = url.path.strip("/").split("/")
        if url.path in self.forbidden:
            return 403, refusal(403, f"{url.path} is forbidden")
        if url.path in self.objects:
            return 200, self.objects[url.path]
        if url.path == "/version":
            return 200, {"gitVersion": self.version}
        if parts[-1] == "pods":
            namespace = parts[3] if len(parts) == 5 else None
            return 200, {"kind": "PodList", "items": self.select(namespace, parse_qs(url.query))}
        if len(parts) == 6 and parts[4] == "pods":
            return one(self.select(parts[3], {}), parts[5])
        if len(parts) == 6 and parts[4] == "configmaps":
            data = self.config_maps.get((parts[3], parts[5]))
            return (200, {"data": data}) if data is not None else (404, refusal(404, "not found"))
        return 404, refusal(404, f"{url.path}: no such path")

    def select(self, namespace, query):
        wanted = dict(
            each.split("=") for each in query.get("labelSelector", [""])[0].split(",") if each
        )
        return [
            each for each in self.pods
            if namespace in (None, each["metadata"]["namespace"])
            and wanted.items() <= each["metadata"]["labels"].items()
        ]  # fmt: skip

    def post(self, target, body):
        if target in self.forbidden:
            return 403, refusal(403, f"{target} is forbidden")
        if target == "/apis/berth.dev/v1alpha1/placementpolicies?dryRun=All":
            self.tried.append(body["spec"])
            return self.trial
        attributes = body["spec"]["resourceAttributes"]
        resource = attributes["resource"]
        if attributes.get("subresource"):
            resource += "/" + attributes["subresource"]
        right = f"{attributes['verb']} {resource}"
        self.reviews.append((body["spec"].get("user", "self"), right, attributes))
        allowed = (right in NEEDED or right in self.allowed) and right not in self.denied
        return 201, {"kind": body["kind"], "status": {"allowed": allowed}}


def one(items, name):
    for each in items:
        if each["metadata"]["name"] == name:
            return 200, each
    return 404, refusal(404, f'pods "{name}" not found')


def refusal(code, message):
    return {"kind": "Status", "apiVersion": "v1", "code": code, "message": message}
