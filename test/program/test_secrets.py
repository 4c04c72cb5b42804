"""Secrets in a pod do not stay in berth's memory.

kube-scheduler sends whole pods, including environment values and arguments. The tests search the memory of
a running berth: after a moment they must be gone, also from buffers for the next request. This does not
hold for HTTPS, because GnuTLS has its own buffers.
"""

import json
import subprocess

import pytest

from client import IS_SANITIZED, PATIENCE, open_connection, post, wait_until, write_cluster

pytestmark = pytest.mark.skipif(
    IS_SANITIZED, reason="a sanitizer's memory is too large to be searched, and keeps what is freed"
)

POLICY = """
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: every}
spec:
  filters:
    - {name: zone, nodeLabels: {zone: a}}
  scores:
    - {name: idle, expression: "node.free.cpu * 10.0"}
"""

PLACES = ("env", "args", "volume", "probe")
VERBS = ("filter", "prioritize", "preempt", "bind", "broken")


def secret(verb, place):
    return f"hunter2.{verb}.{place}.hunter2"


def pod(verb):
    """A pod with secrets in many places; the annotation stays, because policies can read it."""
    header = {"name": "Authorization", "value": secret(verb, "probe")}
    return {
        "metadata": {
            "name": f"web-{verb}",
            "namespace": "default",
            "uid": f"u-{verb}",
            "annotations": {"note": f"annotation.{verb}"},
        },
        "spec": {
            "volumes": [{"name": "v", "flexVolume": {"options": {"k": secret(verb, "volume")}}}],
            "containers": [
                {
                    "name": "c",
                    "image": "web:1",
                    "env": [{"name": "K", "value": secret(verb, "env")}],
                    "args": [f"--password={secret(verb, 'args')}"],
                    "livenessProbe": {"httpGet": {"port": 80, "httpHeaders": [header]}},
                }
            ],
        },
    }


def bodies():
    """A request of kube-scheduler, and a truncated one."""
    whole = {verb: {"Pod": pod(verb), "NodeNames": ["n1", "n2"]} for verb in VERBS}
    whole["preempt"] = {
        "Pod": pod("preempt"),
        "NodeNameToVictims": {"n1": {"Pods": [pod("preempt")], "NumPDBViolations": 0}},
    }
    whole["bind"] = {"PodName": "web", "PodNamespace": "default", "PodUID": "u", "Node": "n1",
                     "Extra": pod("bind")}  # fmt: skip
    texts = {verb: json.dumps(body).encode() for verb, body in whole.items()}
    texts["broken"] = texts["broken"][:-20]
    return texts


def find(pid, needles):
    """The @needles that are in writable memory of the process."""
    found = set()
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        lines = [line.split() for line in maps]
    try:
        memory = open(f"/proc/{pid}/mem", "rb", buffering=0)
    except PermissionError:
        pytest.skip("this system does not let a process read the memory of its child")
    with memory:
        for span, rights, *_ in lines:
            begin, end = (int(at, 16) for at in span.split("-"))
            if "w" not in rights:
                continue
            try:
                memory.seek(begin)
                text = memory.read(end - begin)
            except (OSError, ValueError):  # unmapped meanwhile, or memory of the kernel
                continue
            found |= {needle for needle in needles if needle.encode() in text}
    return found


@pytest.fixture
def berth(start_berth, tmp_path):
    write_cluster(
        tmp_path / "cluster.json",
        [
            {
                "metadata": {"name": name, "labels": {"zone": "a"}},
                "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
            }
            for name in ("n1", "n2")
        ],
    )
    (tmp_path / "policy.yaml").write_text(POLICY)
    return start_berth("--cluster", tmp_path / "cluster.json", "--policy", tmp_path / "policy.yaml")


def test_secrets_are_not_kept_in_memory(berth, berth_path, tmp_path):
    connection = open_connection(berth)
    for verb, body in bodies().items():
        path = "filter" if verb == "broken" else verb
        assert post(berth, path, body, connection=connection).status in (200, 400)
    subprocess.run(
        [berth_path, "bundle", "--server", berth.url, "-o", tmp_path / "b.tar.gz"],
        check=True, capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    secrets = [secret(verb, place) for verb in VERBS for place in PLACES]
    pid = berth.proc.pid
    wait_until(lambda: not find(pid, secrets), "secrets to be gone from memory")
    assert find(pid, ["annotation.filter"]), "what policies can read is kept"
    connection.close()
