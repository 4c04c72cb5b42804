"""Sources of the nodes of a request: the request, a file or the API server."""


class WholeNodes:
    """Every request carries the Node objects (nodeCacheCapable: false)."""

    name, sends_names = "whole-nodes", False

    def flags(self, cluster):
        return []


class File:
    """Requests carry names; berth has read a file from kubectl."""

    name, sends_names = "file", True

    def flags(self, cluster):
        return ["--cluster", cluster.dump()]


class Live:
    """Requests carry names; berth watches the API server."""

    name, sends_names = "live", True

    def flags(self, cluster):
        return ["--kubeconfig", cluster.plane.berth_kubeconfig]


BY_NAMES = [File(), Live()]
ALL = [WholeNodes(), *BY_NAMES]
