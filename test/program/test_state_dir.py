"""berth serve --state-dir: decisions survive a restart."""

import json
import os
import signal
import subprocess

import pytest

from client import PATIENCE, get, post, wait_until, write_cluster

POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: zones}
spec:
  filters:
    - {name: zone, nodeLabels: {zone: a}, reason: wrong zone}
"""


@pytest.fixture
def flags(tmp_path):
    (tmp_path / "policy.yaml").write_text(POLICY)
    nodes = [{"metadata": {"name": f"n{i}", "labels": {"zone": "ab"[i % 2]}}} for i in range(4)]
    write_cluster(tmp_path / "cluster.json", nodes)
    return ["--policy", tmp_path / "policy.yaml", "--cluster", tmp_path / "cluster.json", "--state-dir", tmp_path / "state"]


def filter_pod(berth, name):
    pod = {"metadata": {"namespace": "shop", "name": name, "uid": "uid-" + name},
           "spec": {"containers": [{"name": "c", "env": [{"name": "PASSWORD", "value": "s3cret-of-" + name}]}]}}
    return post(berth, "/filter", {"Pod": pod, "NodeNames": ["n0", "n1", "n2", "n3"]})


def decisions(berth):
    return get(berth, "/api/v1/decisions").json()["decisions"]


def stored(state):
    path = state / "decisions.jsonl"
    return path.read_text().count('"decision"') if path.exists() else 0


def end(berth, sign):
    berth.proc.send_signal(sign)
    assert berth.proc.wait(PATIENCE) == (0 if sign == signal.SIGTERM else -sign)
    berth.proc.returncode = 0  # as intended


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL])
def test_restarted_berth_knows_its_decisions(start_berth, flags, tmp_path, berth_path, sign):
    berth = start_berth(*flags)
    for i in range(3):
        filter_pod(berth, f"web-{i}")
    if sign == signal.SIGKILL:
        wait_until(lambda: stored(tmp_path / "state") == 3, "three stored decisions")
    before = decisions(berth)
    end(berth, sign)

    berth = start_berth(*flags)
    after = decisions(berth)
    assert len(before) == 3 and after == before
    done = subprocess.run([berth_path, "explain", "--server", berth.url, "--last", "shop/web-1"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "wrong zone" in done.stdout
    filter_pod(berth, "web-3")
    assert decisions(berth)[0]["id"] == before[0]["id"] + 1


def test_no_field_of_a_pod_is_stored(start_berth, flags, tmp_path):
    berth = start_berth(*flags)
    filter_pod(berth, "web")
    end(berth, signal.SIGTERM)
    text = (tmp_path / "state" / "decisions.jsonl").read_text()
    assert "web" in text and "s3cret" not in text and "PASSWORD" not in text
    assert (tmp_path / "state" / "decisions.jsonl").stat().st_mode & 0o777 == 0o600


def test_torn_tail_is_no_error(start_berth, flags, tmp_path):
    berth = start_berth(*flags)
    filter_pod(berth, "a")
    filter_pod(berth, "b")
    end(berth, signal.SIGTERM)
    path = tmp_path / "state" / "decisions.jsonl"
    os.truncate(path, path.stat().st_size - 10)
    berth = start_berth(*flags)
    assert len(decisions(berth)) == 1
    filter_pod(berth, "c")
    end(berth, signal.SIGTERM)
    for line in path.read_text().splitlines():
        json.loads(line.split(" ", 1)[1])


def test_two_berths_cannot_share_a_folder(start_berth, flags, berth_path):
    start_berth(*flags)
    done = subprocess.run([berth_path, "serve", "--listen", "127.0.0.1:0", *flags], capture_output=True, text=True)
    assert done.returncode == 3
    assert "another berth" in done.stderr and "--state-dir" in done.stderr
