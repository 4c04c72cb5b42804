"""Bundles: a file with the state and decisions of a running berth, and commands that read it."""

import gzip
import http.client
import io
import json
import os
import random
import re
import subprocess
import tarfile

import pytest

from client import PATIENCE, get, post, wait_until, write_cluster
from prometheus import Scripted, by_node

POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: zones}
spec:
  params: {maxPods: 3}
  filters:
    - {name: zone, nodeLabels: {zone: {in: [a, b]}}, reason: wrong zone, unresolvable: true}
    - {name: full, expression: "size(node.pods) < params.maxPods", reason: too many pods}
    - name: apart
      expression: "!node.pods.exists(p, p.metadata.labels[?'app'] == pod.metadata.labels[?'app'])"
      reason: one of its kind is there
  scores:
    - {name: near, nodeLabelPreference: {key: zone, values: {a: 100}, otherwise: 0}}
    - {name: pack, binPack: {cpu: 1}, weight: 2}
    - {name: image, imageLocality: true}
"""
MEASURED = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: cool}
spec:
  params: {max: 0.35}
  metrics:
    - {name: load, prometheus: {query: load}, interval: 1s, maxAge: 60s, placements: none}
  filters:
    - {name: hot, expression: "metrics.load < params.max", onMissing: reject, reason: too hot}
"""
N_NODES = 12
NODES = [f"ledger-{i:02}" for i in range(N_NODES)]
SECRET = "hunter2"

# Texts that no file of an anonymized bundle may contain.
NAMES = [*NODES, "vault", "kraken", "payments", "10.9.8.", "registry.corp", "uid-", "owned-by"]


def node(i):
    name = NODES[i]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "labels": {"zone": "abc"[i % 3], "kubernetes.io/hostname": name, "team": "payments"},
            "annotations": {"owned-by": "kraken"},
        },
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": f"10.9.8.{i}"}],
            "images": [{"names": ["registry.corp/kraken:v1"], "sizeBytes": 7}] if i % 2 else [],
        },
    }


def pod(name, node_name=None, app="kraken"):
    spec = {
        "containers": [
            {
                "name": "main",
                "image": "registry.corp/kraken:v1",
                "env": [{"name": "PASSWORD", "value": SECRET}],
                "resources": {"requests": {"cpu": "250m"}},
            }
        ]
    }
    if node_name:
        spec["nodeName"] = node_name
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": "vault",
            "name": name,
            "uid": "uid-" + name,
            "labels": {"app": app},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": SECRET * 1000},
        },
        "spec": spec,
    }


def cluster(n_pods):
    """Nodes with this many pods."""
    def running(i):
        return pod(f"kraken-run-{i}", NODES[i * 5 % N_NODES], f"app-{i % 4}")

    return [node(i) for i in range(N_NODES)], [running(i) for i in range(n_pods)]


def decide(berth, name, app="kraken"):
    """Calls filter and prioritize like kube-scheduler."""
    asked = pod(name, app=app)
    passed = post(berth, "filter", {"Pod": asked, "NodeNames": NODES}).json()["NodeNames"]
    if passed:
        post(berth, "prioritize", {"Pod": asked, "NodeNames": passed})
    return passed


def write_files(folder):
    (folder / "policy.yaml").write_text(POLICY)
    write_cluster(folder / "cluster.json", *cluster(6))


@pytest.fixture
def files(tmp_path):
    write_files(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def berth(start_shared, tmp_path_factory):
    """A berth that decided about six pods, with three states of the cluster."""
    folder = tmp_path_factory.mktemp("berth")
    write_files(folder)
    flags = ["--policy", folder / "policy.yaml", "--cluster", folder / "cluster.json"]
    berth = start_shared(*flags)
    for i, n_pods in enumerate((6, 14, 9)):
        if i > 0:
            change_cluster(berth, folder, i, n_pods)
        decide(berth, f"kraken-{i}")
        decide(berth, f"kraken-other-{i}", app=f"app-{i}")
    return berth


def change_cluster(berth, folder, n_gone, n_pods):
    def digest():
        return get(berth, "/api/v1/status").json()["cluster"]["digest"]

    before = digest()
    nodes, pods = cluster(n_pods)
    write_cluster(folder / "cluster.json", nodes[n_gone:], pods)
    wait_until(lambda: digest() != before, "the new cluster")


def run(berth_path, *arguments, env=None):
    return subprocess.run(
        [berth_path, *map(str, arguments)], capture_output=True, timeout=PATIENCE,
        env={**os.environ, **(env or {})},
    )  # fmt: skip


def text_of(result, status=0):
    assert result.returncode == status, result.stdout.decode() + result.stderr.decode()
    return result.stdout.decode()


@pytest.fixture(scope="module")
def bundle(berth, berth_path, tmp_path_factory):
    path = tmp_path_factory.mktemp("bundle") / "b.tar.gz"
    text_of(run(berth_path, "bundle", "--server", berth.url, "-o", path))
    return path


def unpack(path):
    """{name: text} of all files."""
    with tarfile.open(path) as archive:
        return {m.name: archive.extractfile(m).read().decode() for m in archive.getmembers()}


def equal_of(text):
    found = re.search(r"^equal: ([\d,]+) of ([\d,]+)$", text, re.MULTILINE)
    return tuple(int(n.replace(",", "")) for n in found.groups())


# --- the file ---


def test_files_of_a_bundle(bundle, files):
    found = unpack(bundle)
    assert list(found) == [
        "berth-bundle/" + name
        for name in (
            "about.json", "policy/001-policy.yaml", "pods.jsonl", "decisions.jsonl",
            "cluster.json", "changes.jsonl", "metrics.jsonl", "status.json", "sources.json",
            "metrics.txt", "changes.json",
        )
    ]  # fmt: skip
    about = json.loads(found["berth-bundle/about.json"])
    assert about["bundle"] == 2 and about["anonymous"] is False and about["cluster"] == "whole"
    assert found["berth-bundle/policy/001-policy.yaml"] == POLICY
    lines = found["berth-bundle/decisions.jsonl"].splitlines()
    assert about["decisions"] == len(lines) - 1
    assert about["scenes"] == len(found["berth-bundle/changes.jsonl"].splitlines()) >= 3
    assert "berth_decisions_kept" in found["berth-bundle/metrics.txt"]
    for name, text in found.items():
        assert SECRET not in text, name
        if name.endswith(".jsonl"):
            for line in text.splitlines():
                json.loads(line)


def test_cluster_is_read_by_others(bundle, berth_path, tmp_path):
    """--cluster reads the cluster.json of a bundle."""
    found = unpack(bundle)
    (tmp_path / "c.json").write_text(found["berth-bundle/cluster.json"])
    assert "ledger-00" in text_of(run(berth_path, "dump", "--cluster", tmp_path / "c.json"))


def test_summary(berth, berth_path, tmp_path):
    result = run(berth_path, "bundle", "--server", berth.url, "-o", tmp_path / "x.tar.gz")
    text = text_of(result)
    assert f"berth what-if --bundle {tmp_path / 'x.tar.gz'}" in text
    assert f"berth explain --bundle {tmp_path / 'x.tar.gz'} vault/kraken-other-2" in text
    assert "1 policy file\n" in text and "can be replayed" in text
    assert (tmp_path / "x.tar.gz").stat().st_mode & 0o777 == 0o600


def test_default_name(berth, berth_path, tmp_path):
    result = subprocess.run(
        [berth_path, "bundle", "--server", berth.url], cwd=tmp_path, capture_output=True,
        timeout=PATIENCE,
    )  # fmt: skip
    assert result.returncode == 0
    (name,) = [p.name for p in tmp_path.glob("berth-bundle-*")]
    assert re.fullmatch(r"berth-bundle-\d{4}-\d\d-\d\d-\d{6}\.tar\.gz", name)


def test_standard_output(berth, berth_path):
    result = run(berth_path, "bundle", "--server", berth.url, "-o", "-", "--last", 2)
    assert result.returncode == 0
    archive = tarfile.open(fileobj=io.BytesIO(result.stdout))
    about = json.load(archive.extractfile("berth-bundle/about.json"))
    assert about["decisions"] == 2
    assert b"standard output" in result.stderr


def fetch(berth, path):
    connection = http.client.HTTPConnection(berth.host, berth.port, timeout=PATIENCE)
    connection.request("GET", path)
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply, body


def test_page(berth):
    reply, body = fetch(berth, "/api/v1/bundle?last=3")
    assert reply.status == 200 and reply.headers["Content-Type"] == "application/gzip"
    assert "attachment" in reply.headers["Content-Disposition"]
    assert tarfile.open(fileobj=io.BytesIO(body)).getnames()[0] == "berth-bundle/about.json"


@pytest.mark.parametrize(
    "query,text",
    [
        ("?last=0", "from 1 to 10000"),
        ("?last=10001", "from 1 to 10000"),
        ("?anonymize=maybe", "true or false"),
        ("?cluster=half", "whole or digest"),
        ("?colour=red", 'unknown parameter "colour"'),
    ],
)
def test_bad_parameters(berth, query, text):
    reply = get(berth, "/api/v1/bundle" + query)
    assert reply.status == 400 and text in reply.error()


@pytest.mark.parametrize("n_nodes, n_decisions", [(450, 1), (520, 1), (1500, 1), (5000, 200)])
def test_uniform_clusters_are_read_back(start_berth, berth_path, tmp_path, n_nodes, n_decisions):
    """Uniform clusters compress so well that a reader could reject them as a zip bomb."""
    names = [f"n{i}" for i in range(n_nodes)]
    write_cluster(tmp_path / "cluster.json", [{"metadata": {"name": name}} for name in names])
    berth = start_berth("--cluster", tmp_path / "cluster.json")
    for i in range(n_decisions):
        post(berth, "filter", {"Pod": pod(f"p{i}"), "NodeNames": names})
    for content in ("whole", "digest"):
        path = tmp_path / f"{content}.tar.gz"
        words = ["--server", berth.url, "-o", path, "--cluster", content]
        text_of(run(berth_path, "bundle", *words))
        text = text_of(run(berth_path, "what-if", "--bundle", path))
        assert text.startswith(f"{n_decisions} decision"), text


def test_no_decisions(start_berth, berth_path, files):
    berth = start_berth("--policy", files / "policy.yaml", "--decisions", 0)
    assert get(berth, "/api/v1/bundle").status == 404
    result = run(berth_path, "bundle", "--server", berth.url)
    assert result.returncode == 3 and b"--decisions 0" in result.stderr


def test_unreachable(berth_path):
    result = run(berth_path, "bundle", "--server", "http://127.0.0.1:1")
    assert result.returncode == 3 and b"cannot be reached" in result.stderr


def test_only_digest(berth, berth_path, tmp_path):
    path = tmp_path / "d.tar.gz"
    text = text_of(
        run(berth_path, "bundle", "--server", berth.url, "-o", path, "--cluster", "digest")
    )
    assert "only a digest" in text
    found = unpack(path)
    assert "berth-bundle/cluster.json" not in found
    assert re.fullmatch(
        "[0-9a-f]{32}", json.loads(found["berth-bundle/about.json"])["clusterDigest"]
    )
    text = text_of(run(berth_path, "what-if", "--bundle", path))
    assert "cannot be replayed: the cluster as it was then" in text
    result = run(berth_path, "explain", "--bundle", path, "vault/kraken-1")
    assert result.returncode == 3 and b"not kept" in result.stderr


# --- metrics ---


def test_metrics(start_berth, berth_path, files, tmp_path):
    """Values come from the bundle: the source is gone."""
    (files / "policy.yaml").write_text(MEASURED)
    server = Scripted()
    server.set("load", by_node(**{name: i / 10 for i, name in enumerate(NODES[:8])}))
    try:
        berth = start_berth(
            "--policy", files / "policy.yaml", "--cluster", files / "cluster.json",
            "--prometheus", server.url,
        )  # fmt: skip
        wait_until(lambda: len(decide(berth, "kraken-0")) == 4, "four nodes that are cool")
        for option in ([], ["--anonymize"]):
            path = tmp_path / "m.tar.gz"
            text_of(run(berth_path, "bundle", "--server", berth.url, "-o", path, *option))
            equal, of = equal_of(text_of(run(berth_path, "what-if", "--bundle", path)))
            assert equal == of > 0
            text = text_of(
                run(berth_path, "what-if", "--bundle", path, "--set", "cool.params.max=0.1",
                    "--last", 2, "-o", "json")
            )  # fmt: skip
            assert json.loads(text)["changes"]["nodes"] == 1
    finally:
        server.stop()


# --- names ---


def test_anonymous_bundle_hides_names(berth, berth_path, tmp_path):
    path = tmp_path / "a.tar.gz"
    text = text_of(run(berth_path, "bundle", "--server", berth.url, "-o", path, "--anonymize"))
    assert "names are hashed" in text
    found = unpack(path)
    assert "berth-bundle/status.json" not in found
    for name, text in found.items():
        for word in NAMES:
            assert word not in text, (name, word)
    about = json.loads(found["berth-bundle/about.json"])
    assert about["anonymous"] is True and about["functionsOnStrings"] == []
    text = text_of(run(berth_path, "what-if", "--bundle", path))
    equal, of = equal_of(text)
    assert equal == of > 10
    assert "this bundle is anonymized" in text


def test_reports_string_functions(start_berth, berth_path, files, tmp_path):
    (files / "policy.yaml").write_text(
        POLICY.replace("size(node.pods)", "!pod.metadata.name.startsWith('a') && size(node.pods)")
    )
    berth = start_berth("--policy", files / "policy.yaml", "--cluster", files / "cluster.json")
    decide(berth, "kraken-0")
    path = tmp_path / "a.tar.gz"
    text_of(run(berth_path, "bundle", "--server", berth.url, "-o", path, "--anonymize"))
    about = json.loads(unpack(path)["berth-bundle/about.json"])
    assert about["functionsOnStrings"] == ["startsWith"]
    assert "may come out otherwise" in about["caution"]


# --- explain ---


def test_explain(bundle, berth_path):
    text = text_of(run(berth_path, "explain", "--bundle", bundle, "vault/kraken-1"))
    assert text.startswith("as of 20") and "vault/kraken-1" in text
    assert "zones/zone: wrong zone" in text
    text = text_of(
        run(berth_path, "explain", "--bundle", bundle, "vault/kraken-1", "--node", "ledger-02")
    )
    assert "ledger-02" in text and "wrong zone" in text


def test_explain_json_matches_reply(bundle, berth_path, berth):
    text = text_of(run(berth_path, "explain", "--bundle", bundle, "vault/kraken-2", "-o", "json"))
    explained = {n["node"]: n["outcome"] for n in json.loads(text)["nodes"]}
    (newest,) = get(
        berth, "/api/v1/decisions?pod=vault/kraken-2&verb=filter&limit=1"
    ).json()["decisions"]  # fmt: skip
    decided = get(berth, f"/api/v1/decisions/{newest['id']}").json()["nodes"]
    outcomes = {one["node"]: one["outcome"] for one in decided if one["outcome"] in ("passed", "rejected")}
    assert set(outcomes.values()) == {"passed", "rejected"}
    assert {name: explained[name] for name in outcomes} == outcomes


def test_explain_with_other_policies(bundle, berth_path, tmp_path):
    (tmp_path / "other.yaml").write_text(POLICY.replace("wrong zone", "not our zone"))
    text = text_of(
        run(
            berth_path, "explain", "--bundle", bundle, "vault/kraken-1",
            "--policy", tmp_path / "other.yaml",
        )
    )  # fmt: skip
    assert "not our zone" in text and "wrong zone" not in text


@pytest.mark.parametrize(
    "arguments,status,text",
    [
        (["vault/nobody"], 3, "it has no filter for vault/nobody; the newest decision is about"),
        (["nobody"], 2, "NAMESPACE/NAME"),
        ([], 2, "NAMESPACE/NAME"),
        (["vault/kraken-1", "--cluster", "x"], 2, "--bundle contains the cluster"),
        (["vault/kraken-1", "--node", "nowhere"], 3, 'no node "nowhere"'),
    ],
)
def test_explain_mistakes(bundle, berth_path, arguments, status, text):
    result = run(berth_path, "explain", "--bundle", bundle, *arguments)
    assert result.returncode == status and text in result.stderr.decode()


# --- damage ---


def repack(files):
    """Packs files as a bundle."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return out.getvalue()


def test_repacked_by_hand(bundle, berth_path, tmp_path):
    """Another folder and another order, as after tar by hand."""
    found = unpack(bundle)
    turned = {k.replace("berth-bundle/", "./mine/"): v.encode() for k, v in reversed(found.items())}
    (tmp_path / "r.tar.gz").write_bytes(repack(turned))
    equal, of = equal_of(text_of(run(berth_path, "what-if", "--bundle", tmp_path / "r.tar.gz")))
    assert equal == of > 10


@pytest.mark.parametrize(
    "damage,text",
    [
        (lambda b: b"", "no bundle"),
        (lambda b: b"{}", "no bundle"),
        (lambda b: b[: len(b) // 2], "damaged"),
        (lambda b: b + b"x", "damaged"),
        (lambda b: gzip.compress(b"no tar" * 200), "tar archive"),
        (lambda b: gzip.compress(gzip.decompress(b)[:2000]), "tar archive"),
        (lambda b: repack({"b/x": b"y"}), "about.json is not in it"),
        (lambda b: repack({"b/about.json": b"{"}), "about.json"),
        (lambda b: repack({"b/about.json": b'{"bundle":99,"berth":"9.9"}'}), "its format 99 is unknown to this berth: use berth 9.9"),
        (lambda b: repack({"b/about.json": b'{"bundle":1,"policies":[{"path":"p"}]}'}), "p is missing, but about.json names it"),
    ],
)
def test_damaged(bundle, berth_path, tmp_path, damage, text):
    path = tmp_path / "damaged.tar.gz"
    path.write_bytes(damage(bundle.read_bytes()))
    for command in (["what-if"], ["explain", "vault/kraken-1"]):
        result = run(berth_path, *command, "--bundle", path)
        assert result.returncode == 3, result.stderr
        assert text in result.stderr.decode()


def test_damaged_at_random(bundle, berth_path, tmp_path):
    """Any change of its files leads to a result or an error, never to a crash."""
    dice = random.Random(8)
    found = {k: v.encode() for k, v in unpack(bundle).items()}
    for i in range(12):
        changed = dict(found)
        for _ in range(1 + i % 3):
            name = dice.choice([k for k in found if "json" in k])
            text = bytearray(changed[name])
            if text:
                text[dice.randrange(len(text))] = dice.choice(b'0"{}[],:x-\\\n')
            changed[name] = bytes(text)
        (tmp_path / "r.tar.gz").write_bytes(repack(changed))
        result = run(berth_path, "what-if", "--bundle", tmp_path / "r.tar.gz")
        assert result.returncode in (0, 1, 3), result.stderr


def test_missing_file(berth_path, tmp_path):
    result = run(berth_path, "what-if", "--bundle", tmp_path / "none.tar.gz")
    assert result.returncode == 3 and b"none.tar.gz" in result.stderr
