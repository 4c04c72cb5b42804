"""metrics.k8s.io without metrics-server: a server of the tests, registered as an APIService."""

import datetime
import json

from api import ApiError
from objects import make_role_binding
from prometheus import make_context
from scripted import ScriptedServer
from waiting import wait_for

GROUP = "metrics.k8s.io"
VERSION = f"{GROUP}/v1beta1"
PATH = f"/apis/{VERSION}"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
SERVICES = "/api/v1/namespaces/kube-system/services"
NAME = "metrics-server"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


class MetricsApi(ScriptedServer):
    """Serves the usage of nodes that a test sets; close() removes the APIService."""

    def __init__(self, plane):
        self.plane, self.documents = plane, {PATH: make_discovery()}
        pair = plane.authority.issue_server(f"DNS:{NAME}.kube-system.svc,DNS:localhost")
        super().__init__(make_context(pair.certificate, pair.key))

    def set_nodes(self, **usage):
        """name=(cpu, memory)"""
        self.documents[f"{PATH}/nodes"] = make_list(
            "NodeMetricsList",
            [make_item({"name": name}, usage=amounts(*both)) for name, both in usage.items()],
        )

    def register(self, *users):
        """Until the API server passes requests on. @users may read."""
        api = self.plane.api
        api.create(SERVICES, make_service())
        api.create(API_SERVICES, make_api_service(self.port))
        api.create_once(f"{RBAC}/clusterroles", make_reader())
        for user in users:
            api.create_once(f"{RBAC}/clusterrolebindings", make_role_binding("berth-metrics", user))

        def look():
            try:
                return api.get(f"{PATH}/nodes")["kind"]
            except ApiError as error:
                return str(error)

        wait_for("the API server to serve metrics.k8s.io", look, lambda seen: "List" in seen)

    def close(self):
        self.plane.api.delete(f"{API_SERVICES}/v1beta1.{GROUP}")
        self.plane.api.delete(f"{SERVICES}/{NAME}")
        self.stop()

    def _answer_well(self, exchange):
        document = self.documents.get(exchange.request.path)
        if document:
            exchange.send(200, json.dumps(document).encode())
        else:
            exchange.send(404, b"404 page not found\n", "text/plain")


def make_discovery():
    def resource(name, kind, is_namespaced):
        return {
            "name": name, "singularName": "", "namespaced": is_namespaced, "kind": kind,
            "verbs": ["get", "list"],
        }  # fmt: skip

    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": VERSION,
        "resources": [
            resource("nodes", "NodeMetrics", False),
            resource("pods", "PodMetrics", True),
        ],
    }


def make_list(kind, items):
    return {"kind": kind, "apiVersion": VERSION, "metadata": {}, "items": items}


def make_item(metadata, **fields):
    """As metrics-server writes it: measured just now, over some seconds."""
    now = datetime.datetime.now(datetime.timezone.utc)
    at = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"metadata": metadata, "timestamp": at, "window": "10s", **fields}


def amounts(cpu, memory):
    return {"cpu": cpu, "memory": memory}


def make_service():
    """A name that leads to this machine: nothing here routes a cluster's addresses."""
    return {
        "metadata": {"name": NAME},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }


def make_api_service(port):
    return {
        "metadata": {"name": f"v1beta1.{GROUP}"},
        "spec": {
            "group": GROUP,
            "version": "v1beta1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": {"name": NAME, "namespace": "kube-system", "port": port},
        },
    }


def make_reader():
    rule = {"apiGroups": [GROUP], "resources": ["nodes", "pods"], "verbs": ["get", "list"]}
    return {"metadata": {"name": "berth-metrics"}, "rules": [rule]}
