"""`berth explain --last`: a recorded decision of a running berth, in full."""

import http.server
import io
import json
import os
import re
import subprocess
import tarfile
import threading
import types
import urllib.request

import pytest

from client import PATIENCE, get, pages_of, post, wait_until, write_cluster
from test_decisions import (  # noqa: F401
    NODES,
    OTHER_POLICY,
    POLICY,
    berth,
    decide,
    files,
    flags,
    names,
    start_with_tls,
    tls,
)

def explain(berth_path, berth, name, *options):
    return subprocess.run(
        [berth_path, "explain", "--last", name, "--server", berth.url, *map(str, options)],
        capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip


def shown(berth_path, berth, name, *options):
    """The output, without times and digests."""
    done = explain(berth_path, berth, name, *options)
    assert (done.returncode, done.stderr) == (0, "")
    head, _, body = done.stdout.partition("\n\n")
    lines = head.splitlines()
    assert lines[0].startswith(f"pod       {name}")
    assert re.fullmatch(r"filter    20\S+Z, in [0-9.]+ (µs|ms), decision \d+", lines[1])
    assert re.fullmatch(r"policy    [0-9a-f]{32}", lines[2])
    assert lines[3].startswith("cluster   generation ")
    assert lines[4:] in ([], ["policies  zones, trial (Observe)"], ["policies  zones"])
    return re.sub(r"20\d\d-\S+Z", "TIME", body)


SHARE = (
    "at weight 1 kube-scheduler adds the score sent × 10 (0 to 100) to its own, 0 to 1200 by default\n"
)
COUNTS = """\
2 of 5 nodes passed
        1  not known to berth
        1  not evaluated by berth: filtered out or not sampled by kube-scheduler

RANK  NODE  SENT  SCORE  =   near
   1  n1      10  100.0     100.0
   2  n2       0    0.0       0.0
""" + SHARE
BY_ZONE = """\
        1  zones/zone: wrong zone (preemption cannot help)
           n4: label zone is "c", must be one of "a", "b"
           needs label zone one of "a", "b" on the node
           it fails other rules, too
"""
BY_DISK = """\
        1  zones/disk: slow disk
           n3: label disk is "hdd", must be "ssd"
           needs label disk=ssd on the node
"""
OBSERVED = """
would be rejected by (mode Observe, not acted upon)
        2  trial/gpu: no gpu
           e.g. n3: label gpu is absent, must be "yes"
           needs label gpu=yes on the node
"""
REJECTED = "\nrejected by\n" + BY_ZONE + BY_DISK + OBSERVED
NOT_BOUND = "\nbind      TIME: not bound to n1, rank 1 of 2: berth: cannot bind: "


def test_nominated_node_is_the_only_candidate(berth_path, berth):
    """The nomination comes from preemption or another component."""
    body = names("urgent", "n1")
    body["Pod"]["status"] = {"nominatedNodeName": "n1"}
    assert post(berth, "filter", body).json()["NodeNames"] == ["n1"]
    done = explain(berth_path, berth, "default/urgent")
    assert "\nnominated n1, not by this berth (status.nominatedNodeName)\nfilter    20" in done.stdout
    assert "kube-scheduler tries the nominated node alone, and others only if it is rejected" in done.stdout
    assert "not sampled" not in done.stdout
    done = explain(berth_path, berth, "default/urgent", "--node", "n2")
    assert "n2: not evaluated by berth: kube-scheduler tries the nominated node alone" in done.stdout
    page = json.loads(explain(berth_path, berth, "default/urgent", "-o", "json").stdout)
    assert page["nomination"] is None  # berth's own
    assert page["filter"]["nominated"] == "n1"


def test_explain(berth_path, berth):
    text, _, bind = shown(berth_path, berth, "default/web").partition(NOT_BOUND)
    assert text == COUNTS + REJECTED
    assert bind


def test_lists_all_rejections(berth_path, berth):
    text, _, _ = shown(berth_path, berth, "default/web", "--all").partition(NOT_BOUND)
    assert text == COUNTS + """
rejected by
        1  zones/zone: wrong zone (preemption cannot help)
           n4: label zone is "c", must be one of "a", "b" +1 more
        1  zones/disk: slow disk
           n3: label disk is "hdd", must be "ssd"

would be rejected by (mode Observe, not acted upon)
        2  trial/gpu: no gpu
           n3: label gpu is absent, must be "yes"
           n4: label gpu is absent, must be "yes"

not known to berth
           ghost
"""


def test_none_passed(berth_path, berth):
    """The rule of the node closest to eligible comes first."""
    recorded = "/api/v1/decisions?pod=prod/db"
    wait_until(lambda: any(each.get("mainReason") for each in get(berth, recorded).json()["decisions"]), "its main reason")
    assert shown(berth_path, berth, "prod/db") == """\
0 of 2 nodes passed
  main reason: 1 node: slow disk · 1 node: wrong zone
        3  not evaluated by berth: filtered out or not sampled by kube-scheduler

rejected by
""" + BY_DISK + BY_ZONE + OBSERVED + """
preempt   TIME: eviction on 1 of 2 nodes would help
"""


def test_explains_a_single_node_without_scores(berth_path, berth):
    post(berth, "filter", names("one", "n1", "n3"))
    text = shown(berth_path, berth, "default/one")
    assert "\n   1  n1      10  100.0     100.0\n" in text
    assert text.endswith("\nNo scores: kube-scheduler does not request them when one node is left.\n")


N1_SCORE = """\
  score 100.0 of 100, 10 of 10 sent, +100 in kube-scheduler
    RULE             RAW  VALUE  WEIGHT   ADDS
    zones/near       100  100.0       1  100.0
"""
NOT_OFFERED = "not evaluated by berth: filtered out or not sampled by kube-scheduler\n"


@pytest.mark.parametrize(
    "node,first,also",
    [
        ("n1", "passes, rank 1 of 2\n", ["  ✓ zones/zone\n", N1_SCORE]),
        ("n2", "passes, rank 2 of 2\n", ["rank 1 is n1 with 100.0", "   BEST\n"]),
        ("n3", "rejected\n", ['label disk is "hdd", must be "ssd"', "needs label disk=ssd on the "]),
        ("n4", "rejected; preemption cannot help\n", ["✗ zones/zone: wrong zone\n", "✗ zones/disk"]),
        ("ghost", "rejected: berth did not know this node\n", []),
        ("n5", NOT_OFFERED + "\nThe policies' verdict on it:\nn5: rejected; ", ['label zone is "c", ']),
        ("nowhere", NOT_OFFERED, []),
    ],
)
def test_node(berth_path, berth, node, first, also):
    text = shown(berth_path, berth, "default/web", "--node", node)
    assert text.startswith(f"{node}: {first}")
    for part in also:
        assert part in text
    if not also:
        assert text == f"{node}: {first}"


def test_narrowed(berth_path, start_berth, files):
    policy = POLICY.partition("---")[0].replace("spec:\n", "spec:\n  narrow: {to: 2}\n", 1)
    (files / "policy.yaml").write_text(policy)
    nodes = [f"m{i}" for i in range(1500)]
    labels = {"zone": "b", "disk": "ssd"}
    write_cluster(
        files / "cluster.json",
        [*NODES, *({"metadata": {"name": n, "labels": labels}} for n in nodes)],
    )
    berth = start_berth(*flags(files))
    asked = [*nodes, "n1", "n2", "n3"]
    assert post(berth, "filter", names("web", *asked)).json()["NodeNames"] == ["m0", "n1"]
    text = shown(berth_path, berth, "default/web")
    assert text.startswith("1,502 of 1,503 nodes passed\n")
    assert "  1,500  passed, but not returned: narrowed, or near a limit\n" in text
    assert "\n   1  n1      10  100.0     100.0\n" in text
    assert "\n   2  m0       0    0.0       0.0\n" in text
    one = shown(berth_path, berth, "default/web", "--node", "m1499")
    assert re.match(r"m1499: passed, rank 1,\d{3} of 1,502, not returned: the best 2 are", one)
    everything = shown(berth_path, berth, "default/web", "--all")
    ranks = re.findall(r"^ *(\d+)  \S+ +-  .*  not returned$", everything, re.M)
    assert [int(rank) for rank in ranks] == list(range(3, 1503))
    page = get(berth, "/api/v1/decisions?outcome=narrowed&node=m7").json()["decisions"]
    assert page[0]["counts"]["narrowed"] == 1500
    assert page[0]["nodes"][0]["outcome"] == "narrowed" and page[0]["nodes"][0]["rank"] > 2


def test_ignores_prioritize_before_the_newest_filter(berth_path, berth):
    """A prioritize call before the newest filter is not shown with it."""
    post(berth, "filter", names("web", "n1", "n2"))
    assert "No scores: prioritize has not been called." in shown(berth_path, berth, "default/web")
    assert "bind" not in shown(berth_path, berth, "default/web")


def test_json(berth_path, berth):
    done = explain(berth_path, berth, "default/web", "-o", "json")
    page = json.loads(done.stdout)
    assert list(page) == ["filter", "prioritize", "preempt", "bind", "explanation", "nomination"]
    assert page["explanation"]["pod"]["name"] == "web"
    wanted = {"n1": "passed", "n2": "passed", "n3": "rejected", "n4": "rejected"}
    assert {n["node"]: n["outcome"] for n in page["explanation"]["nodes"]} == wanted
    assert page["explanation"]["nodes"][0]["parts"][0]["raw"] == 100
    assert page["preempt"] is None
    for key, number in (("filter", 1), ("prioritize", 2), ("bind", 3)):
        wanted = get(berth, f"/api/v1/decisions/{number}").json()
        del wanted["next"]
        assert page[key] == wanted
    one = json.loads(explain(berth_path, berth, "default/web", "-o", "json", "--node", "n2").stdout)
    assert [n["node"] for n in one["filter"]["nodes"]] == ["n2"]
    assert one["prioritize"]["nodes"] == [{"node": "n2", "outcome": "scored", "score": 0}]
    assert [n["node"] for n in one["explanation"]["nodes"]] == ["n2"]


def test_pages_through_many_nodes(berth_path, start_berth, files):
    """More nodes than one page of the API has, and only the best of them are printed."""
    many = [f"node-{i:05}" for i in range(12000)]
    labels = {"zone": "a", "disk": "ssd"}
    write_cluster(
        files / "cluster.json",
        [{"metadata": {"name": n, "labels": {**labels, "zone": "ab"[n < "node-11995"]}}} for n in many],
    )
    berth = start_berth(*flags(files))
    post(berth, "filter", names("web", *many))
    post(berth, "prioritize", names("web", *many))
    text = shown(berth_path, berth, "default/web")
    assert text.startswith("12,000 of 12,000 nodes passed\n")
    rows = re.findall(r"^ +\d+  (node-\d+) +(\d+)  ", text, re.M)
    assert len(rows) == 10 and [r[1] for r in rows] == ["10"] * 5 + ["0"] * 5
    assert rows[0][0] == "node-11995"
    assert "… 11,990 more; --all shows them" in text
    everything = shown(berth_path, berth, "default/web", "--all")
    assert len(re.findall(r"^ *\d+  node-\d+ +\d+  ", everything, re.M)) == 12000


def test_reports_decisions_dropped_for_memory(berth_path, start_berth, files):
    many = [f"node-{i:04}" for i in range(2000)]
    write_cluster(files / "cluster.json", [{"metadata": {"name": n}} for n in many])
    berth = start_berth(*flags(files), "--decisions-memory", "64Ki")
    post(berth, "filter", names("web", *many))
    text = shown(berth_path, berth, "default/web")
    assert "What became of each node is not remembered any more.\n" in text
    why = "what became of its nodes is not kept any more"
    assert text.endswith(f"\nValues and parts of scores are not available: {why}\n")
    text = shown(berth_path, berth, "default/web", "--node", "node-0001")
    assert text.startswith("node-0001: the results of single nodes are no longer remembered\n\nValues ")
    done = explain(berth_path, berth, "default/web", "-o", "json")
    page = json.loads(done.stdout)
    assert page["explanation"] is None and page["unexplained"] == why


def test_older_policy(berth_path, berth, files):
    """Uses the policies of that time, if berth still has them."""
    before = shown(berth_path, berth, "default/web")
    (files / "policy.yaml").write_text(OTHER_POLICY)
    wait_until(
        lambda: "later" in get(berth, "/api/v1/policies").text, "the other policy to be in force"
    )
    assert shown(berth_path, berth, "default/web") == before


def with_other_policy(bundle):
    """The output of a berth that no longer has the policies of that time."""
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(bundle)) as old, tarfile.open(
        fileobj=out, mode="w:gz"
    ) as new:
        for member in old:
            text = old.extractfile(member).read()
            if member.name.startswith("berth-bundle/policy/"):
                text = OTHER_POLICY.encode()
                member.size = len(text)
            new.addfile(member, io.BytesIO(text))
    return out.getvalue()


ROWS = """
NODE  OUTCOME   SCORE  WHY
n1    passed       10
n2    passed        0
"""


@pytest.mark.parametrize(
    "answer,why",
    [
        (lambda _: (404, b"there is no such page"), "404"),
        (lambda _: (400, b'{"Error":"unknown parameter id"}'), "update it"),
        (lambda _: (503, b'{"Error":"there is not enough memory"}'), "there is not enough memory"),
        (lambda _: (200, b"no bundle"), "it is no bundle"),
        (lambda real: (200, with_other_policy(real)), "it was decided by other policies than those"),
    ],
)
def test_explains_without_recorded_inputs(berth_path, berth, answer, why):
    """With an older berth, or after inputs were dropped, it prints the available parts."""

    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            with urllib.request.urlopen(berth.url + self.path) as reply:
                status, body = 200, reply.read()
            if self.path.startswith("/api/v1/bundle?id="):
                status, body = answer(body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        other = types.SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}")
        text = shown(berth_path, other, "default/web")
        server.shutdown()
    assert text.startswith("2 of 5 nodes passed\n        1  zones/zone: wrong zone (preemption ")
    assert ROWS in text
    last = text.splitlines()[-1]
    assert last.startswith("Values and parts of scores are not available: ") and why in last


def test_explains_with_token(berth_path, start_berth, files):
    (files / "token").write_text("a-long-token-for-pages-0123456789\n")
    berth = start_berth(
        *flags(files), "--pages-listen", "127.0.0.1:0", "--pages-token-file", files / "token"
    )
    decide(berth)
    pages = pages_of(berth)
    assert explain(berth_path, pages, "default/web").returncode == 3
    done = explain(berth_path, pages, "default/web", "--token-file", files / "token")
    assert done.returncode == 0 and REJECTED in done.stdout


def test_bundle_of_one(berth):
    """Only that decision, with its policies and its cluster, and no pages."""
    with urllib.request.urlopen(berth.url + "/api/v1/bundle?id=4") as reply:
        archive = tarfile.open(fileobj=io.BytesIO(reply.read()))
    found = {m.name: archive.extractfile(m).read().decode() for m in archive}
    lines = found["berth-bundle/decisions.jsonl"].splitlines()
    assert [json.loads(line)["id"] for line in lines[1:]] == [4]
    assert len(found["berth-bundle/pods.jsonl"].splitlines()) == 1
    assert "berth-bundle/metrics.txt" not in found
    for query, status in (("id=99", 404), ("id=0", 400), ("id=1&last=2", 400)):
        assert get(berth, "/api/v1/bundle?" + query).status == status


def test_error(berth_path, start_berth, files):
    berth = start_berth("--policy", files / "policy.yaml")
    post(berth, "filter", names("web", "n1"))
    text = shown(berth_path, berth, "default/web")
    assert text.startswith("berth replied with an error: berth: node names were sent, but ")


def test_fails_without_a_filter(berth_path, berth):
    done = explain(berth_path, berth, "default/nobody")
    assert done.returncode == 3 and done.stdout == ""
    assert done.stderr == f"berth explain: {berth.url} remembers no filter for default/nobody\n"


@pytest.mark.parametrize(
    "options,text",
    [
        (["--last", "web"], "a pod is named NAMESPACE/NAME"),
        (["--last", "a/b", "--cluster", "x"], "--last queries a running berth"),
        (["--last", "a/b", "c/d"], "--last queries a running berth"),
        (["--last", "a/b", "--key", "x"], "--cert and --key go together"),
        (["--server", "http://127.0.0.1:1"], "which has policies of its own"),
        (["a/b", "--server", "http://127.0.0.1:1", "--context", "x"], "--server and its credentials are instead of"),
        (["a/b", "--policy", "x", "--server", "http://127.0.0.1:1"], "which has policies of its own"),
    ],
)
def test_usage(berth_path, options, text):
    done = subprocess.run(
        [berth_path, "explain", *options], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 2 and text in done.stderr


def test_unreachable(berth_path):
    command = [berth_path, "explain", "--last", "a/b", "--server", "http://127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 3
    assert done.stderr.startswith("berth explain: http://127.0.0.1:1 cannot be reached: ")


def test_access(start_berth, files, berth_path, tls):
    authority, server, good, bad = tls
    berth = start_with_tls(start_berth, files, authority, server)
    post(berth, "filter", names("web", "n1"), context=authority.context(good))

    def last(*options):
        return explain(berth_path, berth, "default/web", "--ca", authority.certificate, *options)

    assert "1 of 1 node passed" in last("--cert", good[0], "--key", good[1]).stdout
    refused = last("--cert", bad[0], "--key", bad[1])
    assert refused.returncode == 3 and "client certificate" in refused.stderr
    assert last().returncode == 3
    assert last("--cert", good[0]).returncode == 2
    unknown = explain(berth_path, berth, "default/web")
    assert unknown.returncode == 3 and "cannot be reached" in unknown.stderr
