"""Replaces the kubelets in one task: it removes deleted pods.

A pod on a node is deleted in two steps: the API server marks it, and after its containers have ended
the kubelet deletes it. Without the second step a preempted pod would occupy its node forever.
"""

import http.client
import threading
import time

from api import ApiError

PODS_ON_NODES = {"fieldSelector": "spec.nodeName!="}


class Kubelet:
    """A thread that watches all pods, with its own @api."""

    def __init__(self, api):
        self.api = api
        self.is_stopping = False

    def start(self):
        # A daemon thread ends with the program, even while it reads a watch.
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self):
        self.is_stopping = True

    def _run(self):
        while not self.is_stopping:
            try:
                for kind, pod in self.api.watch("/api/v1/pods", **PODS_ON_NODES):
                    if kind in ("ADDED", "MODIFIED") and "deletionTimestamp" in pod["metadata"]:
                        self._remove(pod["metadata"])
            except (OSError, http.client.HTTPException, ApiError):
                time.sleep(0.1)  # the API server is down, or was

    def _remove(self, metadata):
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        self.api.delete(path, gracePeriodSeconds=0)
