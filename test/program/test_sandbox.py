"""A running berth has dropped its privileges (src/sandbox), and all functions still work.

The sandbox is on by default, so other files test that policies, certificates and tokens are reloaded in it.
src/sandbox/test-sandbox.c tests its restrictions.
"""

import http.server
import json
import pathlib
import signal
import ssl
import threading

import pytest

from authority import Authority
from client import get, metrics, post, replace, wait_until, write_cluster
from prometheus import Scripted, by_node, find_metric
from test_reload import cluster, passed, policy_text, wait_passed  # noqa: F401


def sandbox_line(berth):
    lines = get(berth, "/readyz?verbose").body.decode().splitlines()
    return next(line for line in lines if "]sandbox " in line)


def need(berth, part):
    """Skips with sanitizers and old kernels, which do not support all of the sandbox."""
    line = sandbox_line(berth)
    if part not in line.partition("not active")[0]:
        pytest.skip(line)


def thread_fields(berth, field):
    """The values of @field in the status of every thread."""
    tasks = pathlib.Path(f"/proc/{berth.proc.pid}/task")
    texts = [(task / "status").read_text() for task in tasks.iterdir()]
    return {dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)[field] for text in texts}


def test_every_thread_is_confined(start_logged, outcome_of):
    berth = start_logged()
    need(berth, "seccomp")
    assert "no_new_privs, no core dumps" in sandbox_line(berth)
    assert thread_fields(berth, "NoNewPrivs") == {"1"} and thread_fields(berth, "Seccomp") == {"2"}
    limits = pathlib.Path(f"/proc/{berth.proc.pid}/limits").read_text()
    assert next(line for line in limits.splitlines() if "core file" in line).split()[4:6] == ["0", "0"]
    assert 'msg=sandbox active="no_new_privs, no core dumps, ' in berth.log.read_text()
    assert metrics(berth)["process_open_fds"] > 0  # of /proc/self/fd
    names = {(task / "comm").read_text() for task in pathlib.Path(f"/proc/{berth.proc.pid}/task").iterdir()}
    assert {"http-accept\n", "http-worker\n", "page-worker\n"} <= names

    shown = get(berth, "/api/v1/status").json()["sandbox"]
    assert shown["active"] in sandbox_line(berth) and "seccomp" in shown["active"]
    code, out, _ = outcome_of("check", "--live", "--server", berth.url, "--only", "B211", "-o", "json")
    finding = json.loads(out)["checks"][0]
    assert finding["state"] == ("warned" if shown["missing"] else "passed"), out


def test_can_be_switched_off(start_logged, outcome_of):
    berth = start_logged("--sandbox=off")
    assert sandbox_line(berth) == "[+]sandbox ok: off"
    assert thread_fields(berth, "NoNewPrivs") == {"0"}
    assert get(berth, "/api/v1/status").json()["sandbox"] == {"active": "", "missing": "off"}
    _, out, _ = outcome_of("check", "--live", "--server", berth.url, "--only", "B211", "-o", "json")
    assert json.loads(out)["checks"][0]["state"] == "warned"


def test_reads_no_other_file(start_logged, cluster, tmp_path):  # noqa: F811
    folder, other = tmp_path / "policies", tmp_path / "other"
    folder.mkdir(), other.mkdir()
    (folder / "1.yaml").write_text(policy_text("[a, b]", name="one"))
    replace(tmp_path / "other" / "2.yaml", policy_text("[b, c]", name="two"))
    # Not below tmp_path, because --cluster allows files of that folder.
    nodes = pathlib.Path(cluster)
    away = tmp_path / "cluster"
    away.mkdir()
    nodes = nodes.rename(away / nodes.name)
    flags = ["--policy", folder, "--cluster", nodes, "--dump-file", away / "dump.json"]
    berth, free = start_logged(*flags), start_logged(*flags, "--sandbox=off")
    need(berth, "landlock")
    (folder / "2.yaml").symlink_to(other / "2.yaml")
    wait_passed(free, ["n2"])
    wait_until(lambda: "Permission denied" in get(berth, "/readyz?verbose").body.decode(), "berth to be refused")
    assert passed(berth) == ["n1", "n2"]


def test_writes_its_dump(start_berth, cluster, tmp_path):  # noqa: F811
    folder = tmp_path / "dumps"
    folder.mkdir()
    berth = start_berth("--cluster", cluster, "--dump-file", folder / "dump.json")
    for _ in range(2):
        berth.proc.send_signal(signal.SIGUSR2)
        wait_until((folder / "dump.json").exists, "a dump")
        assert "n3" in (folder / "dump.json").read_text()
        (folder / "dump.json").unlink()


def test_loads_time_zones_later(start_berth, cluster, tmp_path):  # noqa: F811
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy_text("a"))
    berth = start_berth("--policy", policy, "--cluster", cluster)
    assert passed(berth) == ["n1"]
    rule = "      expression: now.getFullYear('Europe/Berlin') > 2000 && node.metadata.name != 'n1'\n"
    replace(policy, policy_text("a").replace("      nodeLabels: {zone: a}\n", rule))
    wait_passed(berth, ["n2", "n3"])


def test_resolves_names(start_berth, tmp_path):
    source = Scripted()
    try:
        source.set("load", by_node(n1=1))
        policy = tmp_path / "policy.yaml"
        policy.write_text(
            policy_text("a").replace("spec:\n", "spec:\n  metrics:\n    - {name: load, prometheus: {query: load}}\n")
        )
        nodes = write_cluster(tmp_path / "cluster.json", [{"metadata": {"name": "n1", "labels": {"zone": "a"}}}])
        url = source.url.replace("127.0.0.1", "localhost")
        berth = start_berth("--policy", policy, "--cluster", nodes, "--prometheus", url)
        wait_until(lambda: find_metric(berth, "load")["state"] == "ok", "an answer of the source")
    finally:
        source.stop()


# --- credential plugins ---


class TokenServer:
    """An API server that rejects the first token, and records received tokens."""

    def __init__(self, authority):
        self.tokens = []
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                token = self.headers.get("Authorization", "")
                api.tokens.append(token)
                self.send_response(401 if token == "Bearer token-1" else 503)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        pair = authority.issue_server()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


PLUGIN = """\
#!/bin/sh
cd "$(dirname "$0")" && echo x >>runs && echo $PPID >parent && grep NoNewPrivs /proc/self/status >rights
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"token-%s"}}' \\
    "$(wc -l <runs | tr -d ' ')"
"""


def has_ended(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize("flags", [[], ["--sandbox=off"]])
def test_credential_plugin_runs_again(start_logged, tmp_path, flags):
    authority = Authority(tmp_path / "ca", "cluster")
    server = TokenServer(authority)
    plugin = tmp_path / "plugin"
    plugin.write_text(PLUGIN)
    plugin.chmod(0o755)
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server.url, "certificate-authority": "ca/ca.crt"}}],
        "users": [{"name": "c", "user": {"exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin", "interactiveMode": "Never"}}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    }  # fmt: skip
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    try:
        berth = start_logged("--kubeconfig", tmp_path / "kubeconfig", *flags)
        wait_until(lambda: "Bearer token-2" in server.tokens, "the plugin to run again")
        if flags:
            return
        need(berth, "seccomp")
        parent = int((tmp_path / "parent").read_text())
        assert parent != berth.proc.pid and (tmp_path / "rights").read_text().split() == ["NoNewPrivs:", "0"]
        berth.proc.kill()
        berth.proc.wait()
        wait_until(lambda: has_ended(parent), "the helper to end with berth")
        berth.proc.returncode = 0  # it must have been killed
    finally:
        server.stop()
