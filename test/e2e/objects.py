"""Minimal Kubernetes objects for kube-scheduler and berth."""

# A PreferNoSchedule taint: a pod on such a node shows that berth decided, not kube-scheduler.
AVOID = {"key": "example.com/avoid", "effect": "PreferNoSchedule"}

BERTH_NAMESPACE = "berth-system"  # as in deploy/

READY = {"type": "Ready", "status": "True", "reason": "KubeletReady"}


def make_node(name, labels=None, cpu="8", memory="32Gi", taints=(), **capacity):
    """@capacity: more resources, for example **{"example.com/gpu": "8"}."""
    amounts = {"cpu": cpu, "memory": memory, "pods": "110", **capacity}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"taints": list(taints)},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [READY]},
    }


def make_pod(name, labels=None, cpu="100m", memory="64Mi", **spec):
    """@spec: more fields of the pod's spec, for example priorityClassName. Resources other than
    cpu and memory go into `requests`, for example requests={"example.com/gpu": "1"}; the UID of a
    ReplicaSet that owns it, into `owner`."""
    requests = {"cpu": cpu, "memory": memory, **spec.pop("requests", {})}
    # Extended resources need limits, cpu and memory do not.
    container = {
        "name": "main",
        "image": "example.com/none",
        "resources": {"requests": requests, "limits": requests},
    }
    metadata = {"name": name, "labels": labels or {}}
    if owner := spec.pop("owner", None):
        metadata["ownerReferences"] = [make_owner(owner)]
    return {
        "metadata": metadata,
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1, **spec},
    }


def make_owner(uid):
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "set", "uid": uid}
    return {**reference, "controller": True}


def make_extender(url, names=True, **fields):
    """berth's entry in kube-scheduler's configuration. @fields override the defaults."""
    return {
        "urlPrefix": url,
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "preemptVerb": "preempt",
        "weight": 20,  # more than the sum of kube-scheduler's own scores
        "nodeCacheCapable": names,
        "httpTimeout": "5s",
        **fields,
    }


def make_scheduler_config(kubeconfig, extenders, qps=1000, **fields):
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": qps, "burst": qps},
        "leaderElection": {"leaderElect": False},
        "percentageOfNodesToScore": 100,
        "podMaxBackoffSeconds": 2,  # a rejected pod is retried soon
        "extenders": extenders,
        **fields,
    }


def make_role_binding(role, account, kind="ClusterRole"):
    """For a service account in berth's namespace."""
    group = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": account, "namespace": BERTH_NAMESPACE}
    return {
        "metadata": {"name": f"{role}.{account}"},
        "roleRef": {"apiGroup": group, "kind": kind, "name": role},
        "subjects": [subject],
    }
