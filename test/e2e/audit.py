"""Finds requests of berth that the API server denied, in its audit log.

A denied request is a bug of the shipped roles or of berth, even if berth continues: it fails the
scenario, unless the scenario expects it.
"""

import contextlib
import json

from objects import BERTH_NAMESPACE

STATIC_POD_USER = "berth"  # in kubeadm's static pod berth is a user, not a service account

START = b'{"kind":"Event",'

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [
        {
            "level": "Request",  # with the node
            "userGroups": [f"system:serviceaccounts:{BERTH_NAMESPACE}"],
            "resources": [{"group": "", "resources": ["pods/binding"]}],
        },
        {"level": "Metadata", "userGroups": [f"system:serviceaccounts:{BERTH_NAMESPACE}"]},
        {"level": "Metadata", "users": [STATIC_POD_USER]},
        {"level": "None"},
    ],
}


class Audit:
    """The API server writes the log before it replies, so reading it at once misses nothing."""

    def __init__(self, folder):
        self.log, policy = folder / "audit.log", folder / "audit-policy.json"
        self.unready = []
        policy.write_text(json.dumps(POLICY))
        self.flags = ["--audit-policy-file", policy, "--audit-log-path", self.log]

    @contextlib.contextmanager
    def looking_away(self):
        """Ignores denials meanwhile: a starting API server denies all requests until it has loaded the roles."""
        start = self.size()
        yield
        self.unready.append(range(start, self.size()))

    def size(self):
        return self.log.stat().st_size if self.log.exists() else 0

    def read(self, start):
        """Reads requests to a ready API server, from position @start of the log."""
        events, at = [], start
        with self.log.open("rb") as log:
            log.seek(start)
            for line in log:
                if not any(at in each for each in self.unready):
                    events.append(decode(line))
                at += len(line)
        return events

    def denials(self, start):
        """{"NAME: VERB RESOURCE"} that berth's accounts were denied since then."""
        events = self.read(start)
        return {describe(each) for each in events if each["responseStatus"]["code"] == 403}

    def bindings(self, start):
        """(UID of the pod, node) of every Binding that berth's accounts made since then."""
        with self.log.open("rb") as log:
            log.seek(start)
            for line in log:
                if b'"subresource":"binding"' not in line:
                    continue
                event = decode(line)
                if event["responseStatus"]["code"] == 201:
                    made = event["requestObject"]
                    yield made["metadata"]["uid"], made["target"]["name"]


def decode(line):
    """Decodes an event. A killed API server may have left half an event before it."""
    return json.loads(line[line.rindex(START) :])


def describe(event):
    """Users and resources, without names of objects."""
    user = event["user"]["username"].rpartition(":")[2]
    target = event.get("objectRef")
    if not target:
        return f"{user}: {event['verb']} {event['requestURI']}"
    parts = [target.get("resource", ""), target.get("subresource", "")]
    return f"{user}: {event['verb']} {'/'.join(filter(None, parts))}"
