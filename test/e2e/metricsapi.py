"""A test server for metrics.k8s.io, registered as an APIService instead of metrics-server."""

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
        """Registers the APIService and waits until the API server forwards requests. @users may read."""
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


CUSTOM_GROUP = "custom.metrics.k8s.io"
CUSTOM_PATH = f"/apis/{CUSTOM_GROUP}/v1beta1"
ADAPTER = "custom-metrics-adapter"


class CustomMetricsApi(ScriptedServer):
    """Serves metrics of nodes under their names, as prometheus-adapter does; close() removes the APIService."""

    def __init__(self, plane):
        self.plane, self.documents = plane, {CUSTOM_PATH: make_custom_discovery()}
        pair = plane.authority.issue_server(f"DNS:{ADAPTER}.kube-system.svc,DNS:localhost")
        super().__init__(make_context(pair.certificate, pair.key))

    def set_nodes(self, metric, **values):
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        items = [
            {
                "describedObject": {"kind": "Node", "name": name, "apiVersion": "/v1"},
                "metricName": metric, "timestamp": now, "value": value, "selector": None,
            }
            for name, value in values.items()
        ]  # fmt: skip
        self.documents[f"{CUSTOM_PATH}/nodes/*/{metric}"] = {
            "kind": "MetricValueList",
            "apiVersion": f"{CUSTOM_GROUP}/v1beta1",
            "metadata": {},
            "items": items,
        }

    def register(self, metric, *users):
        api = self.plane.api
        api.create(SERVICES, make_service(ADAPTER))
        api.create(API_SERVICES, make_api_service(self.port, CUSTOM_GROUP, ADAPTER))
        rule = {"apiGroups": [CUSTOM_GROUP], "resources": [f"nodes/{metric}"], "verbs": ["get"]}
        role = {"metadata": {"name": "berth-custom-metrics"}, "rules": [rule]}
        api.create_once(f"{RBAC}/clusterroles", role)
        for user in users:
            binding = make_role_binding("berth-custom-metrics", user)
            api.create_once(f"{RBAC}/clusterrolebindings", binding)

        def look():
            try:
                return api.get(f"{CUSTOM_PATH}/nodes/*/{metric}")["kind"]
            except ApiError as error:
                return str(error)

        wait_for("the API server to serve custom metrics", look, lambda seen: "List" in seen)

    def close(self):
        self.plane.api.delete(f"{API_SERVICES}/v1beta1.{CUSTOM_GROUP}")
        self.plane.api.delete(f"{SERVICES}/{ADAPTER}")
        self.stop()

    _answer_well = MetricsApi._answer_well


def make_custom_discovery():
    resource = {
        "name": "nodes/temperature", "singularName": "", "namespaced": False,
        "kind": "MetricValueList", "verbs": ["get"],
    }  # fmt: skip
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{CUSTOM_GROUP}/v1beta1",
        "resources": [resource],
    }


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
    """An item like those of metrics-server: measured just now, over some seconds."""
    now = datetime.datetime.now(datetime.timezone.utc)
    at = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"metadata": metadata, "timestamp": at, "window": "10s", **fields}


def amounts(cpu, memory):
    return {"cpu": cpu, "memory": memory}


def make_service(name=NAME):
    """A Service that resolves to this machine, because cluster IPs are not routed here."""
    return {
        "metadata": {"name": name},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }


def make_api_service(port, group=GROUP, name=NAME):
    return {
        "metadata": {"name": f"v1beta1.{group}"},
        "spec": {
            "group": group,
            "version": "v1beta1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": {"name": name, "namespace": "kube-system", "port": port},
        },
    }


def make_reader():
    rule = {"apiGroups": [GROUP], "resources": ["nodes", "pods"], "verbs": ["get", "list"]}
    return {"metadata": {"name": "berth-metrics"}, "rules": [rule]}
