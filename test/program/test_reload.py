"""Changed files are reloaded: the new one is in force, or the last good one stays and the log reports the error."""

import concurrent.futures
import contextlib
import json
import os
import re
import signal

import pytest

from client import get, metrics, open_connection, post, replace, wait_until, write_cluster

NODES = {"n1": {"zone": "a"}, "n2": {"zone": "b"}, "n3": {"zone": "c"}}


def policy_text(zone, name="zones"):
    return f"""\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {{name: {name}}}
spec:
  filters:
    - name: zone
      nodeLabels: {{zone: {zone}}}
      reason: wrong zone
"""


BROKEN = policy_text("a").replace("filters:", "filtres:")
BROKEN_PLACE = ":5:3"


def write_nodes(path, nodes):
    return write_cluster(
        path, [{"metadata": {"name": name, "labels": labels}} for name, labels in nodes.items()]
    )


@pytest.fixture
def cluster(tmp_path):
    return write_nodes(tmp_path / "cluster.json", NODES)


def passed(berth, connection=None, names=("n1", "n2", "n3")):
    reply = post(berth, "filter", {"Pod": {}, "NodeNames": list(names)}, connection)
    assert reply.status == 200 and reply.json()["Error"] == ""
    return reply.json()["NodeNames"]


def wait_passed(berth, nodes):
    wait_until(lambda: passed(berth) == nodes, f"only {nodes} to pass")


# --- ways to change a policy ---


def test_edited_in_place(start_berth, cluster, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy_text("a"))
    berth = start_berth("--policy", policy, "--cluster", cluster)
    assert passed(berth) == ["n1"]
    policy.write_text(policy_text("b"))
    wait_passed(berth, ["n2"])


def test_replaced_by_rename(start_berth, cluster, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy_text("a"))
    berth = start_berth("--policy", policy, "--cluster", cluster)
    assert passed(berth) == ["n1"]
    replace(policy, policy_text("c"))
    wait_passed(berth, ["n3"])


def swap_config_map(folder, number, files):
    """A mounted ConfigMap: files are links through ..data, which is replaced atomically."""
    version = folder / f"..2026_{number}"
    version.mkdir()
    for name, text in files.items():
        (version / name).write_text(text)
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")
    (folder / "..data_tmp").symlink_to(version.name)
    os.replace(folder / "..data_tmp", folder / "..data")


@pytest.mark.parametrize("given", ["folder", "file"])
def test_config_map(start_berth, cluster, tmp_path, given):
    mount = tmp_path / "mount"
    mount.mkdir()
    swap_config_map(mount, 1, {"zones.yaml": policy_text("a")})
    policy = mount if given == "folder" else mount / "zones.yaml"
    berth = start_berth("--policy", policy, "--cluster", cluster)
    assert passed(berth) == ["n1"]
    swap_config_map(mount, 2, {"zones.yaml": policy_text("b")})
    wait_passed(berth, ["n2"])
    swap_config_map(mount, 3, {"zones.yaml": policy_text("c")})
    wait_passed(berth, ["n3"])


def test_reloads_a_folder(start_berth, cluster, tmp_path):
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "1.yaml").write_text(policy_text("[a, b]", name="one"))
    berth = start_berth("--policy", folder, "--cluster", cluster)
    assert passed(berth) == ["n1", "n2"]
    (folder / "2.yml").write_text(policy_text("[b, c]", name="two"))
    wait_passed(berth, ["n2"])
    (folder / "notes.txt").write_text("not a policy")
    (folder / ".hidden.yaml").write_text("nor this")
    (folder / "1.yaml").unlink()
    wait_passed(berth, ["n2", "n3"])


def test_several_policies(start_berth, cluster, tmp_path):
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text(policy_text("[a, b]", name="one"))
    two.write_text(policy_text("[b, c]", name="two"))
    berth = start_berth("--policy", one, "--policy", two, "--cluster", cluster)
    assert passed(berth) == ["n2"]
    two.write_text(policy_text("[a, b, c]", name="two"))
    wait_passed(berth, ["n1", "n2"])


# --- clusters ---


def test_cluster(start_berth, cluster, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy_text("a"))
    berth = start_berth("--policy", policy, "--cluster", cluster)
    assert passed(berth) == ["n1"]
    write_nodes(cluster, {**NODES, "n2": {"zone": "a"}, "n4": {"zone": "a"}})
    wait_passed(berth, ["n1", "n2"])
    assert passed(berth, names=["n4", "n5"]) == ["n4"]
    assert metrics(berth)["berth_cluster_nodes"] == 4

    replace(cluster, '{"kind": "List",\n "items": [{"kind": "Node", "metadata": {"name": 7}}]}')
    broken = 'berth_config_last_reload_success{config="cluster"}'
    wait_until(lambda: metrics(berth)[broken] == 0, "the cluster to be refused")
    assert passed(berth) == ["n1", "n2"]
    page = get(berth, "/readyz?verbose")
    assert page.status == 200
    assert f"[+]cluster ok: degraded: the newest was rejected: {cluster}:2:" in page.text
    cluster.unlink()
    berth.proc.send_signal(signal.SIGHUP)  # only to be faster: the test above shows that it is not needed
    wait_until(lambda: "No such file" in get(berth, "/readyz?verbose").text, "it to be missed")
    assert passed(berth) == ["n1", "n2"]
    write_nodes(cluster, NODES)
    berth.proc.send_signal(signal.SIGHUP)
    wait_until(lambda: metrics(berth)[broken] == 1, "the cluster to be good again")
    assert passed(berth) == ["n1"]


# --- invalid policies ---


def logfmt(line):
    """Parses one line of logfmt strictly into a dictionary."""
    pattern = r'([a-z_]+)=("(?:[^"\\]|\\.)*"|[^\s"=\\]+)(?: |$)'
    fields, at = {}, 0
    for match in re.finditer(pattern, line):
        assert match.start() == at, f"not logfmt: {line!r}"
        at = match.end()
        assert match[1] not in fields
        fields[match[1]] = json.loads(match[2]) if match[2][0] == '"' else match[2]
    assert at == len(line), f"not logfmt: {line!r}"
    return fields


def read_log(berth, log_format):
    text = berth.log.read_text()
    assert text == "" or text.endswith("\n")
    events = [(json.loads if log_format == "json" else logfmt)(l) for l in text.splitlines()]
    for event in events:
        assert list(event)[:3] == ["ts", "level", "msg"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["ts"])
        assert event["level"] in ("debug", "info", "warn", "error")
    return events


@pytest.mark.parametrize("log_format", ["logfmt", "json"])
def test_broken_policy_keeps_the_last_good_one(start_logged, cluster, tmp_path, log_format):
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy_text("a"))
    berth = start_logged("--policy", policy, "--cluster", cluster, "--log-format", log_format)
    state = 'berth_config_last_reload_success{config="policy"}'
    stamp = 'berth_config_last_reload_success_timestamp_seconds{config="policy"}'
    reloads = 'berth_config_reloads_total{config="policy",result="%s"}'
    first = metrics(berth)
    assert first[state] == 1

    replace(policy, BROKEN)  # atomically, because a half-written file would be one more error
    wait_until(lambda: metrics(berth)[state] == 0, "the policy to be refused")
    figures = metrics(berth)
    assert figures[reloads % "rejected"] == 1 and figures[reloads % "good"] == 1
    assert figures[stamp] == first[stamp]
    assert passed(berth) == ["n1"]

    page = get(berth, "/readyz?verbose")
    assert page.status == 200 and get(berth, "/readyz").text == "ok"
    lines = page.text.splitlines()
    degraded = [line for line in lines if line.startswith("[+]policy ok: degraded: ")]
    assert len(degraded) == 1 and f"{policy}{BROKEN_PLACE}: error: " in degraded[0]
    # One line for each check, with any error text.
    assert len(lines) == 6 and all(line.startswith("[+]") for line in lines[:-1])
    assert lines[-1] == "readyz check passed"

    errors = [e for e in read_log(berth, log_format) if e["level"] == "error"]
    assert len(errors) == 1  # logged once, not every second
    assert "last good one stays" in errors[0]["msg"]
    assert errors[0]["config"] == "policy"
    assert f"{policy}{BROKEN_PLACE}: error: " in errors[0]["error"]
    assert 'did you mean "filters"?' in errors[0]["error"]

    replace(policy, policy_text("b"))
    wait_until(lambda: metrics(berth)[state] == 1, "the policy to be good again")
    assert passed(berth) == ["n2"]
    assert "degraded" not in get(berth, "/readyz?verbose").text
    last = read_log(berth, log_format)[-1]
    assert (last["level"], last["msg"]) == ("info", "policy reloaded")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0\0\0",
        "kind: [",
        "\xff\xfe",
        policy_text("a") + "---\n" + policy_text("a"),
        BROKEN.replace("filtres", "f\u00e9" * 600),
        BROKEN.replace("filtres", '"f\\n\\e[31m\\u2028"'),
        "apiVersion: v1\nkind: ConfigMap\n",
    ],
    ids=["empty", "NULs", "cut", "no UTF-8", "twice", "long", "control", "ConfigMap"],
)
def test_refused_files_do_not_break_pages(start_logged, cluster, tmp_path, text):
    """Pages and logs stay readable, even if the error quotes hostile text."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy_text("a"))
    berth = start_logged("--policy", policy, "--cluster", cluster)
    policy.write_bytes(text.encode("latin-1") if "\xff" in text else text.encode())
    berth.proc.send_signal(signal.SIGHUP)
    page = wait_until(
        lambda: next((r for r in [get(berth, "/readyz?verbose")] if "degraded" in r.text), None),
        "the policy to be refused",
    )
    assert page.status == 200
    assert len(page.text.splitlines()) == 6
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028]", page.text)
    assert passed(berth) == ["n1"]
    assert [e["level"] for e in read_log(berth, "logfmt")].count("error") >= 1


def test_keeps_last_cluster_when_file_is_deleted(start_logged, cluster, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy_text("a"))
    berth = start_logged("--policy", policy, "--cluster", cluster)
    policy.unlink()
    wait_until(lambda: "No such file" in get(berth, "/readyz?verbose").text, "it to be missed")
    assert passed(berth) == ["n1"]
    policy.write_text(policy_text("b"))
    wait_passed(berth, ["n2"])


# --- SIGHUP ---


@contextlib.contextmanager
def halted(berth):
    """Stops it with SIGSTOP for the block."""
    berth.proc.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, berth.proc.pid, os.WSTOPPED | os.WNOWAIT)
    try:
        yield
    finally:
        berth.proc.send_signal(signal.SIGCONT)


def test_sighup_forces(start_logged, cluster, tmp_path):
    """SIGHUP reloads even if the time and size of the file have not changed."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy_text("a"))
    berth = start_logged("--policy", policy, "--cluster", cluster)
    good = 'berth_config_reloads_total{config="%s",result="good"}'
    assert metrics(berth)[good % "policy"] == 1
    status = policy.stat()
    with halted(berth):  # otherwise it could read between the two changes
        policy.write_text(policy_text("b"))
        os.utime(policy, ns=(status.st_atime_ns, status.st_mtime_ns))
    for n in (1, 2):
        berth.proc.send_signal(signal.SIGHUP)
        wait_until(lambda: berth.log.read_text().count("signal=SIGHUP") == n, "the signal")
        for config in ("policy", "cluster"):
            wait_until(lambda: metrics(berth)[good % config] > n, "a forced reload")
    wait_passed(berth, ["n2"])
    assert [e["level"] for e in read_log(berth, "logfmt") if "sandbox" not in e["msg"]] == ["info"] * 6


def test_no_failed_request_while_reloading(start_logged, cluster, tmp_path):
    """Fifty reloads under traffic: every answer is that of the one policy or the other."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy_text("a"))
    berth = start_logged("--policy", policy, "--cluster", cluster)
    good = 'berth_config_reloads_total{config="policy",result="good"}'
    is_over = False

    def traffic():
        connection, seen = open_connection(berth), set()
        n = 0
        while not is_over:
            seen.add(tuple(passed(berth, connection)))
            n += 1
        connection.close()
        return n, seen

    with concurrent.futures.ThreadPoolExecutor() as pool:
        clients = [pool.submit(traffic) for _ in range(2)]
        try:
            for i in range(50):
                before = metrics(berth)[good]
                replace(policy, policy_text("ab"[i % 2]))
                berth.proc.send_signal(signal.SIGHUP)
                wait_until(lambda: metrics(berth)[good] > before, "the reload")
        finally:
            is_over = True
        results = [client.result() for client in clients]
    assert all(n > 0 for n, _ in results)
    assert set().union(*(seen for _, seen in results)) <= {("n1",), ("n2",)}
    wait_passed(berth, ["n2"])
    # an emulator or an old kernel does not support all parts of the sandbox
    events = [e for e in read_log(berth, "logfmt") if "sandbox" not in e["msg"]]
    assert not [e for e in events if e["level"] in ("warn", "error")]
