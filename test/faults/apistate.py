"""The storage of an API server for nodes, pods and objects that pods refer to: versions, history, lists, changes, bindings.

Errors have the same texts as those of kube-apiserver 1.36; test_scripted_matches_real.py compares both. This
module is independent of HTTP. All methods may be called from any thread.
"""

import base64
import copy
import json
import threading
import time
import uuid

INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


class Kind:
    def __init__(self, resource, name, is_namespaced, registry, fields, empty):
        self.resource, self.name, self.is_namespaced = resource, name, is_namespaced
        self.registry = registry  # the key prefix in etcd, which messages contain
        self.fields = fields  # fields that a fieldSelector may name
        self.empty = empty  # fields of a bookmark besides its metadata


NO_NODE_INFO = dict.fromkeys(
    (
        "machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "architecture",
        "containerRuntimeVersion", "kubeletVersion", "kubeProxyVersion", "operatingSystem",
    ),
    "",
)  # fmt: skip
NODES = Kind(
    "nodes", "Node", False, "minions",
    {"metadata.name", "metadata.namespace", "spec.unschedulable"},
    {
        "spec": {},
        "status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 0}}, "nodeInfo": NO_NODE_INFO},
    },
)  # fmt: skip
PODS = Kind(
    "pods", "Pod", True, "pods",
    {
        "metadata.name", "metadata.namespace", "spec.nodeName", "spec.schedulerName",
        "spec.restartPolicy", "spec.serviceAccountName", "spec.hostNetwork", "status.phase",
        "status.podIP", "status.nominatedNodeName",
    },
    {"spec": {"containers": None}, "status": {}},
)  # fmt: skip
NAMESPACES = Kind(
    "namespaces", "Namespace", False, "namespaces", {"metadata.name", "status.phase"},
    {"spec": {}, "status": {}},
)  # fmt: skip
CLAIMS = Kind(
    "persistentvolumeclaims", "PersistentVolumeClaim", True, "persistentvolumeclaims",
    {"metadata.name", "metadata.namespace"}, {"spec": {}, "status": {}},
)  # fmt: skip
VOLUMES = Kind(
    "persistentvolumes", "PersistentVolume", False, "persistentvolumes", {"metadata.name"},
    {"spec": {}, "status": {}},
)  # fmt: skip
KINDS = {kind.resource: kind for kind in (NODES, PODS, NAMESPACES, CLAIMS, VOLUMES)}


class Refused(Exception):
    """An error reply with a Status."""

    def __init__(self, code, reason, message, details=None, metadata=None):
        super().__init__(message)
        self.code = code
        self.status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata or {},
            "status": "Failure",
            "message": message,
        }
        if reason:
            self.status["reason"] = reason
        if details is not None:
            self.status["details"] = details
        self.status["code"] = code


def not_found(kind, name):
    details = {"name": name, "kind": kind.resource}
    return Refused(404, "NotFound", f'{kind.resource} "{name}" not found', details)


def conflict(what, name, why):
    message = f'Operation cannot be fulfilled on {what} "{name}": {why}'
    return Refused(409, "Conflict", message, {"name": name, "kind": what})


def bad_request(message):
    return Refused(400, "BadRequest", message)


def invalid_options(*errors):
    """@errors: (field, reason, message) for the ListOptions of the query."""
    texts = [f"{field}: {message}" for field, _, message in errors]
    causes = [{"reason": r, "message": m, "field": f} for f, r, m in errors]
    return Refused(
        422,
        "Invalid",
        'ListOptions.meta.k8s.io "" is invalid: '
        + (texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"),
        {"group": "meta.k8s.io", "kind": "ListOptions", "causes": causes},
    )


def too_large(asked, current, seconds=1):
    return Refused(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {asked}, current: {current}",
        {
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ],
            "retryAfterSeconds": seconds,
        },
    )


def too_old(asked, oldest):
    return Refused(410, "Expired", f"too old resource version: {asked} ({oldest})")


def encode(obj):
    return json.dumps(obj, separators=(",", ":"), ensure_ascii=False).encode()


def encode_event(event_type, text):
    """One line of a watch. @text: the encoded object."""
    return b'{"type":"%s","object":%s}\n' % (event_type.encode(), text)


class Version:
    """One version of an object, or its deletion (DELETED). Immutable."""

    def __init__(self, kind, event_type, obj, number, before):
        self.kind, self.type, self.number, self.before = kind, event_type, number, before
        self.object = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(number)}}
        self.key = key_of(obj)
        self._item = None

    @property
    def item(self):
        """The object as an item of a list, without its kind."""
        if self._item is None:
            bare = {k: v for k, v in self.object.items() if k not in ("kind", "apiVersion")}
            self._item = encode(bare)
        return self._item

    @property
    def text(self):
        return b'{"kind":"%s","apiVersion":"v1",' % self.kind.name.encode() + self.item[1:]

    def at(self, number):
        return Version(self.kind, self.type, self.object, number, None)


def key_of(obj):
    """The sort key of lists: namespace/name, or name."""
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else meta["name"]


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Selector:
    """The namespace of the path and the fieldSelector of the query."""

    def __init__(self, kind, namespace=None, fields=""):
        self.namespace = namespace
        self.terms = [self._read(kind, term) for term in fields.split(",") if term]

    @staticmethod
    def _read(kind, term):
        is_equal = "!=" not in term
        name, _, value = term.replace("==", "=").replace("!=", "=").partition("=")
        if name not in kind.fields:
            raise bad_request(f"field label not supported: {name}")
        return name.split("."), is_equal, value

    def takes(self, version):
        """Whether it matches; False for None."""
        if version is None or version.type == "DELETED":
            return False
        obj = version.object
        return self.reaches(version) and all(
            (str(obj.get(part, {}).get(field, "")) == value) is is_equal
            for (part, field), is_equal, value in self.terms
        )

    def reaches(self, version):
        return self.namespace in (None, version.object["metadata"].get("namespace"))

    def event(self, version):
        """(type, version to send) for a watch with this selector; None if the selector
        excludes it."""
        had, has = self.takes(version.before), self.takes(version)
        if has:
            return ("MODIFIED" if had else "ADDED"), version
        if had:  # sends the last version that matched the selector
            return "DELETED", version.before.at(version.number)
        return None


class State:
    def __init__(self):
        self.changed = threading.Condition(threading.RLock())
        self.number = 100  # of the newest change; one counter for all kinds, as in etcd
        self.compacted = 0  # earlier changes were dropped
        self.objects = {resource: {} for resource in KINDS}  # key -> Version
        self.history = {resource: [] for resource in KINDS}
        self.listeners = []  # called with each new Version, under the lock

    # --- reading ---

    def find(self, kind, key):
        with self.changed:
            version = self.objects[kind.resource].get(key)
        if not version:
            raise not_found(kind, key.rpartition("/")[2])
        return version

    def at(self, kind, number):
        """{key: Version} at resource version @number."""
        with self.changed:
            objects = dict(self.objects[kind.resource])
            for version in reversed(self.history[kind.resource]):
                if version.number <= number:
                    break
                if version.before:
                    objects[version.key] = version.before
                else:
                    objects.pop(version.key, None)
        return objects

    def list(self, kind, selector, query):
        """The list's metadata, and the versions in it."""
        check_list_options(query)
        limit, asked = read_int(query.get("limit", "0")), query.get("resourceVersion", "")
        with self.changed:
            start, number = "", self.number
            if query.get("continue"):
                if asked not in ("", "0"):
                    raise bad_request(
                        "specifying resource version is not allowed when using continue"
                    )
                start, number = self._read_token(query["continue"])
            elif asked:
                number = self._choose_version(asked, query.get("resourceVersionMatch"))
            objects = self.at(kind, number)
        keys = [k for k in sorted(objects) if k >= start and selector.reaches(objects[k])]
        taken = [k for k in keys if selector.takes(objects[k])]
        metadata = {"resourceVersion": str(number)}
        if 0 < limit <= len(taken) and taken[limit - 1] != keys[-1] and asked != "0":
            taken = taken[:limit]
            metadata["continue"] = make_token(number, f"/{taken[-1]}\0")
            if not selector.terms:
                metadata["remainingItemCount"] = len(keys) - limit
        return metadata, [objects[key] for key in taken]

    def _choose_version(self, asked, match):
        asked = read_version(asked)
        if asked > self.number:
            raise too_large(asked, self.number)
        if match != "Exact":
            return self.number
        if asked < self.compacted:
            message = "The resourceVersion for the provided list is too old."
            raise Refused(410, "Expired", message)
        return asked

    def _read_token(self, token):
        try:
            content = json.loads(base64.urlsafe_b64decode(token + "==="))
            number, start = content["rv"], content["start"].removeprefix("/")
        except (ValueError, KeyError):
            raise bad_request(f"continue key is not valid: {token}") from None
        if number == -1:
            return start, self.number
        if number < self.compacted:
            raise Refused(
                410,
                "Expired",
                "The provided continue parameter is too old to display a consistent list result. "
                "You can start a new list without the continue parameter, or use the continue "
                "token in this response to retrieve the remainder of the results. Continuing with "
                "the provided token results in an inconsistent list - objects that were created, "
                "modified, or deleted between the time the first chunk was returned and now may "
                "show up in the list.",
                metadata={"continue": make_token(-1, start)},
            )
        return start, number

    def since(self, kind, number):
        """The changes after @number; raises if some of them were dropped."""
        with self.changed:
            if number < self.compacted:
                raise too_old(number, self.compacted)
            history = self.history[kind.resource]
            first = len(history)
            while first and history[first - 1].number > number:
                first -= 1
            return history[first:]

    # --- changes ---

    def put(self, kind, obj):
        """For tests: creates or replaces an object with any resourceVersion. A new UID makes it another
        object with the same name, without a DELETED in between."""
        with self.changed:
            before = self.objects[kind.resource].get(key_of(obj))
            meta = dict(obj["metadata"])
            meta.setdefault("uid", before.object["metadata"]["uid"] if before else make_uid())
            meta.setdefault("creationTimestamp", now())
            return self._store(kind, {**obj, "metadata": meta})

    def create(self, kind, obj, namespace):
        check_kind(kind, obj)
        meta = dict(obj.get("metadata") or {})
        if not meta.get("name"):
            message = "Required value: name or generateName is required"
            cause = {
                "reason": "FieldValueRequired", "message": message, "field": "metadata.name",
            }  # fmt: skip
            raise Refused(
                422,
                "Invalid",
                f'{kind.name} "" is invalid: metadata.name: {message}',
                {"kind": kind.name, "causes": [cause]},
            )
        meta.update(uid=make_uid(), creationTimestamp=now())
        obj = {"spec": {}, **obj, "metadata": meta}
        if kind is PODS:
            meta.update(namespace=namespace, generation=1)
            obj["status"] = {"phase": "Pending", **(obj.get("status") or {})}
        with self.changed:
            if key_of(obj) in self.objects[kind.resource]:
                details = {"name": meta["name"], "kind": kind.resource}
                message = f'{kind.resource} "{meta["name"]}" already exists'
                raise Refused(409, "AlreadyExists", message, details)
            return self._store(kind, obj)

    def replace(self, kind, key, obj):
        """PUT, and the last step of PATCH."""
        check_kind(kind, obj)
        with self.changed:
            before = self.find(kind, key)
            old, meta = before.object["metadata"], dict(obj.get("metadata") or {})
            if meta.get("name") != old["name"]:
                raise bad_request(
                    f"the name of the object ({meta.get('name', '')}) does not match the name on "
                    f"the URL ({old['name']})"
                )
            if meta.get("uid", old["uid"]) != old["uid"]:
                raise wrong_uid(kind, key, meta["uid"], old["uid"])
            if meta.get("resourceVersion", old["resourceVersion"]) != old["resourceVersion"]:
                why = (
                    "the object has been modified; please apply your changes to the latest version "
                    "and try again"
                )
                raise conflict(kind.resource, old["name"], why)
            meta.update(uid=old["uid"], creationTimestamp=old["creationTimestamp"])
            if kind is PODS:
                meta["namespace"] = old["namespace"]
            return self._store(kind, {**obj, "metadata": meta})

    def patch(self, kind, key, change):
        """A merge patch."""
        with self.changed:
            return self.replace(kind, key, merge(self.find(kind, key).object, change))

    def bind(self, key, binding):
        """pods/binding: succeeds once, if the UID matches."""
        meta, target = binding.get("metadata") or {}, binding.get("target") or {}
        name = key.rpartition("/")[2]
        if meta.get("name") != name:
            raise bad_request("name in URL does not match name in Binding object")
        if target.get("kind", "") not in ("", "Node"):
            supported = 'supported values: "Node", "<empty>"'
            message = f'target.kind: Unsupported value: "{target["kind"]}": {supported}'
            raise Refused(500, None, message)
        if not target.get("name"):
            raise Refused(500, None, "target.name: Required value")
        with self.changed:
            pod = copy.deepcopy(self.find(PODS, key).object)
            uid = pod["metadata"]["uid"]
            if meta.get("uid", uid) != uid:
                raise wrong_uid(PODS, key, meta["uid"], uid)
            if pod["metadata"].get("deletionTimestamp"):
                why = f"pod {name} is being deleted, cannot be assigned to a host"
                raise conflict("pods/binding", name, why)
            if pod["spec"].get("nodeName"):
                why = f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"'
                raise conflict("pods/binding", name, why)
            pod["spec"]["nodeName"] = target["name"]
            for words in ("annotations", "labels"):
                if meta.get(words):
                    pod["metadata"][words] = {**pod["metadata"].get(words, {}), **meta[words]}
            scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now()}
            conditions = pod.setdefault("status", {}).get("conditions") or []
            others = [c for c in conditions if c["type"] != "PodScheduled"]
            pod["status"]["conditions"] = [*others, scheduled]
            return self._store(PODS, pod)

    def delete(self, kind, key, grace=None, uid=None):
        """Only marks a pod that has a node, until its kubelet deletes it with a grace period of 0. Returns
        the last version."""
        with self.changed:
            before = self.find(kind, key)
            meta = before.object["metadata"]
            if uid not in (None, meta["uid"]):
                why = (
                    f"the UID in the precondition ({uid}) does not match the UID in record "
                    f"({meta['uid']}). The object might have been deleted and then recreated"
                )
                raise conflict(kind.name, meta["name"], why)
            if kind is PODS:
                spec = before.object["spec"]
                if not spec.get("nodeName"):
                    grace = 0
                elif grace is None:
                    grace = spec.get("terminationGracePeriodSeconds", 30)
                if meta.get("deletionGracePeriodSeconds", grace + 1) > grace:
                    marks = {"deletionTimestamp": now(), "deletionGracePeriodSeconds": grace}
                    before = self._store(kind, merge(before.object, {"metadata": marks}))
                if grace:
                    return before
            return self._add(Version(kind, "DELETED", before.object, self.number + 1, before))

    def compact(self, number=None):
        """Drops all changes up to @number, by default the newest."""
        with self.changed:
            self.compacted = self.number if number is None else number
            for resource, history in self.history.items():
                self.history[resource] = [v for v in history if v.number > self.compacted]
                for version in [*self.history[resource], *self.objects[resource].values()]:
                    self._cut(version)

    def _cut(self, version):
        """Drops changes before the kept versions."""
        while version and version.number > self.compacted:
            version = version.before
        if version:
            version.before = None

    def advance(self, by=1):
        """Advances the resource version, like changes of other objects."""
        with self.changed:
            self.number += by

    def _store(self, kind, obj):
        for words in ("annotations", "labels"):
            if words in obj["metadata"] and not obj["metadata"][words]:
                del obj["metadata"][words]
        before = self.objects[kind.resource].get(key_of(obj))
        if before and encode_bare(obj) == encode_bare(before.object):
            return before  # no change: no new version, no event
        event_type = "MODIFIED" if before else "ADDED"
        return self._add(Version(kind, event_type, obj, self.number + 1, before))

    def _add(self, version):
        self.number = version.number
        objects = self.objects[version.kind.resource]
        if version.type == "DELETED":
            del objects[version.key]
        else:
            objects[version.key] = version
        self.history[version.kind.resource].append(version)
        for listener in self.listeners:
            listener(version)
        self.changed.notify_all()
        return version


def check_kind(kind, obj):
    if not isinstance(obj, dict) or obj.get("kind", kind.name) != kind.name:
        what = obj.get("kind") if isinstance(obj, dict) else type(obj).__name__
        raise bad_request(f'{what} in version "v1" cannot be handled as a {kind.name}')


def wrong_uid(kind, key, asked, uid):
    why = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{kind.registry}/{key}, "
        f"ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: "
        f"{asked}, UID in object meta: {uid}"
    )
    return conflict(kind.resource, key.rpartition("/")[2], why)


def check_list_options(query):
    version, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    field, forbidden = "resourceVersionMatch", "FieldValueForbidden"
    if "sendInitialEvents" in query:
        message = "Forbidden: sendInitialEvents is forbidden for list"
        raise invalid_options(("sendInitialEvents", forbidden, message))
    if match and not version:
        message = f"Forbidden: {field} is forbidden unless resourceVersion is provided"
        raise invalid_options((field, forbidden, message))
    if match and query.get("continue"):
        message = f"Forbidden: {field} is forbidden when continue is provided"
        raise invalid_options((field, forbidden, message))
    if match not in ("", "Exact", "NotOlderThan"):
        known = 'supported values: "Exact", "NotOlderThan", ""'
        message = f'Unsupported value: "{match}": {known}'
        raise invalid_options((field, "FieldValueNotSupported", message))
    if match == "Exact" and version == "0":
        message = f'Forbidden: {field} "exact" is forbidden for resourceVersion "0"'
        raise invalid_options((field, forbidden, message))


def check_watch_options(query):
    match, field = query.get("resourceVersionMatch", ""), "resourceVersionMatch"
    forbidden = "FieldValueForbidden"
    if "sendInitialEvents" not in query:
        if match:
            why = f"{field} is forbidden for watch unless sendInitialEvents is provided"
            raise invalid_options((field, forbidden, f"Forbidden: {why}"))
    elif match != "NotOlderThan":
        message = f"Forbidden: sendInitialEvents requires setting {field} to NotOlderThan"
        errors = [(field, forbidden, message)]
        if match:
            message = f'Unsupported value: "{match}": supported values: "NotOlderThan"'
            errors.append((field, "FieldValueNotSupported", message))
        raise invalid_options(*errors)


def read_int(text):
    try:
        return int(text)
    except ValueError:
        message = f'strconv.ParseInt: parsing "{text}": invalid syntax'
        raise bad_request(message) from None


def read_version(text):
    if not text.isdecimal():
        raise bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text}": '
            f'strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return int(text)


def make_token(number, start):
    content = {"v": "meta.k8s.io/v1", "rv": number, "start": start}
    return base64.urlsafe_b64encode(encode(content)).decode().rstrip("=")


def make_uid():
    return str(uuid.uuid4())


def make_bookmark(kind, number, annotations=None):
    metadata = {"resourceVersion": str(number)}
    if annotations:
        metadata["annotations"] = annotations
    obj = {"kind": kind.name, "apiVersion": "v1", "metadata": metadata, **kind.empty}
    return encode_event("BOOKMARK", encode(obj))


def encode_bare(obj):
    """The object without its version, for comparisons."""
    meta = {k: v for k, v in obj["metadata"].items() if k != "resourceVersion"}
    rest = {k: v for k, v in obj.items() if k not in ("kind", "apiVersion")}
    return json.dumps({**rest, "metadata": meta}, sort_keys=True)


def merge(obj, change):
    """RFC 7396."""
    if not isinstance(change, dict):
        return change
    merged = dict(obj) if isinstance(obj, dict) else {}
    for key, value in change.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged
