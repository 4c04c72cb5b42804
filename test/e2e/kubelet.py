"""Stands in for the kubelets in one respect: it removes pods that were deleted.

A pod on a node is deleted in two steps: it is marked, and when its containers have ended the
kubelet deletes it for good. Without the second step a preempted pod would keep its place for ever.
"""

import http.client
import threading
import time

from api import ApiError

PODS_ON_NODES = {"fieldSelector": "spec.nodeName!="}


class Kubelet:
    """A thread, which follows all pods with @api of its own."""

    def __init__(self, api):
        self.api = api
        self.is_stopping = False

    def start(self):
        # It may sit in a watch: as a daemon it ends with the program.
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
