"""Discovery endpoints of an API server."""

from apistate import KINDS

VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.0-scripted",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "go1.26",
    "compiler": "gc",
    "platform": "linux/amd64",
}

VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]
SHORT_NAMES = {
    "nodes": ["no"], "pods": ["po"], "namespaces": ["ns"], "persistentvolumeclaims": ["pvc"],
    "persistentvolumes": ["pv"],
}  # fmt: skip


def make_resources():
    resources = []
    for kind in KINDS.values():
        resources.append({
            "name": kind.resource,
            "singularName": kind.name.lower(),
            "namespaced": kind.is_namespaced,
            "kind": kind.name,
            "verbs": VERBS,
            "shortNames": SHORT_NAMES[kind.resource],
        })  # fmt: skip
    resources.append({
        "name": "pods/binding",
        "singularName": "",
        "namespaced": True,
        "kind": "Binding",
        "verbs": ["create"],
    })  # fmt: skip
    return resources


def make_openapi():
    """The minimum with which kubectl lets the server validate fields."""
    paths = {}
    for kind in KINDS.values():
        within = "namespaces/{namespace}/" if kind.is_namespaced else ""
        paths[f"/api/v1/{within}{kind.resource}/{{name}}"] = {
            "patch": {
                "x-kubernetes-group-version-kind": {
                    "group": "", "version": "v1", "kind": kind.name,
                },
                "parameters": [{"name": "fieldValidation", "in": "query"}],
                "responses": {},
            }
        }  # fmt: skip
    return {"openapi": "3.0.0", "info": {"title": "scripted", "version": "0"}, "paths": paths}


OPENAPI_INDEX = {"paths": {"api/v1": {"serverRelativeURL": "/openapi/v3/api/v1"}}}

DOCUMENTS = {
    "/version": VERSION,
    "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {
        "kind": "APIResourceList", "groupVersion": "v1", "resources": make_resources(),
    },
    "/openapi/v3": OPENAPI_INDEX,
    "/openapi/v3/api/v1": make_openapi(),
}  # fmt: skip

HEALTH = ("/healthz", "/livez", "/readyz")
