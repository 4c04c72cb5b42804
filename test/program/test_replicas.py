"""Commands that query running berths: merged replies of several replicas, and the choice of the server without a cluster.

test/e2e/test_kubectl_berth.py does this with a real API server. Here a mock forwards requests to berths like the API
server's pod proxy: without Authorization.
"""

import base64
import http.client
import json
import re
import subprocess
import time

import pytest

from client import FAILED, FINE, PATIENCE, UNREACHABLE, USAGE, unused_default_address, pages_of, post, wait_until, without_kubeconfig
from small_api import Handler, Server, write_kubeconfig

TOKENS = {"berth-pages": "the-token-for-everything", "berth-viewer": "the-token-for-viewers"}
NODES = [{"metadata": {"name": "n1"}}, {"metadata": {"name": "n2"}}]
POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: some}
spec: {filters: [{name: first, expression: "node.metadata.name == 'n1'", reason: it is not the first}]}
"""


class ApiServer(Server):
    """@berths: {name of the pod: berth}."""

    def __init__(self, berths):
        self.berths, self.denied, self.seen = berths, set(), []
        self.pages = {name: pages_of(berth) for name, berth in berths.items()}
        self.pods = [make_pod(name, pages.port) for name, pages in self.pages.items()]
        api = self

        class PodProxy(Handler):
            def do_GET(self):
                api.seen.append((self.path, dict(self.headers)))
                proxied = re.match(r"/api/v1/namespaces/berth-system/pods/http:([^:]+):(\d+)/proxy(/.*)", self.path)
                if any(re.search(each, self.path) for each in api.denied):
                    self.reply(403, b'{"kind": "Status", "message": "it is forbidden: User \\"joe\\" cannot look"}')
                elif proxied:
                    self.pass_on(*proxied.groups())
                else:
                    self.reply(*api.get(self.path))

            def pass_on(self, name, port, path):
                connection = http.client.HTTPConnection(api.pages[name].host, int(port), timeout=PATIENCE)
                headers = {key: value for key, value in self.headers.items() if key != "Authorization"}
                try:
                    connection.request("GET", path, headers=headers)
                    reply = connection.getresponse()
                except OSError:
                    self.reply(503, b"error trying to reach service")
                    return
                if reply.getheader("Content-Type") != "text/event-stream":
                    self.reply(reply.status, reply.read())
                    return
                self.send_response_only(200)
                self.send_header("Connection", "close")
                self.end_headers()
                for line in iter(reply.readline, b""):
                    try:
                        self.wfile.write(line)
                        self.wfile.flush()
                    except OSError:
                        break
                self.close_connection = True

        self.serve(PodProxy)

    def get(self, path):
        name = path.rpartition("/")[2]
        if path.partition("?")[0] in ("/api/v1/pods", "/api/v1/namespaces/berth-system/pods"):
            return 200, json.dumps({"kind": "PodList", "items": self.pods}).encode()
        if "/secrets/" in path and name in TOKENS:
            data = {"token": base64.b64encode(TOKENS[name].encode()).decode()}
            return 200, json.dumps({"kind": "Secret", "data": data}).encode()
        return 404, b'{"kind": "Status", "message": "there is no such thing"}'

    def kubeconfig(self, path):
        return write_kubeconfig(path, self.url)
        return path


def make_pod(name, port, namespace="berth-system"):
    volumes = {"pages": "berth-pages", "viewer": "berth-viewer"}
    return {
        "metadata": {"namespace": namespace, "name": name, "labels": {"app.kubernetes.io/name": "berth"}},
        "spec": {
            "containers": [{"name": "berth", "ports": [{"name": "pages", "containerPort": port}]}],
            "volumes": [{"name": key, "secret": {"secretName": secret}} for key, secret in volumes.items()],
        },
        "status": {"phase": "Running"},
    }


def decide(berth, name, n_nodes=2):
    pod = {"metadata": {"namespace": "shop", "name": name, "uid": f"uid-{name}"}}
    assert post(berth, "filter", {"Pod": pod, "Nodes": {"items": NODES[:n_nodes]}}).status == 200


@pytest.fixture
def cluster(start_berth, tmp_path):
    (tmp_path / "policy.yaml").write_text(POLICY)
    flags = ["--pages-listen", "127.0.0.1:0", "--policy", tmp_path / "policy.yaml"]
    for option, name in (("--pages-token-file", "berth-pages"), ("--pages-viewer-token-file", "berth-viewer")):
        (tmp_path / name).write_text(TOKENS[name])
        flags += [option, tmp_path / name]
    api = ApiServer({name: start_berth(*flags) for name in ("one", "two")})
    yield api
    api.stop()


@pytest.fixture
def run(berth_path, tmp_path):
    """run(*words, plugin=False, **environment): runs with a separate home folder."""
    (tmp_path / "kubectl-berth").symlink_to(berth_path)

    def run(*words, plugin=False, **environment):
        program = tmp_path / "kubectl-berth" if plugin else berth_path
        return subprocess.run(
            [program, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path,
            env=without_kubeconfig(tmp_path, NO_COLOR="1", **environment),
        )  # fmt: skip

    return run


# --- several replicas ---


def test_newest_of_all_replicas(cluster, run, tmp_path):
    """The newest decision of all replicas is shown: here first of one replica, then of the other."""
    cluster.kubeconfig(tmp_path / ".kube/config")
    decide(cluster.berths["two"], "early")
    for name in ("one", "two", "one"):
        decide(cluster.berths[name], "web")
        done = run("explain", "shop/web", "-o", "json")
        assert done.returncode == FINE, done.stderr
        found = json.loads(done.stdout)["filter"]
        assert found["replica"] == name
        again = run("explain", "--last", "shop/web", "--context", "c", "-o", "json")
        assert json.loads(again.stdout)["filter"]["id"] == found["id"]


def test_token_is_in_its_own_header_only(cluster, run, tmp_path):
    cluster.kubeconfig(tmp_path / ".kube/config")
    decide(cluster.berths["one"], "web")
    assert run("explain", "shop/web").returncode == FINE
    assert any("/proxy/" in path for path, _ in cluster.seen)
    for path, headers in cluster.seen:
        assert TOKENS["berth-pages"] not in path
        sent = {key for key, value in headers.items() if TOKENS["berth-pages"] in value}
        assert sent == ({"Berth-Token"} if "/proxy/" in path else set())


def test_viewer_gets_the_other_token(cluster, run, tmp_path):
    cluster.kubeconfig(tmp_path / ".kube/config")
    cluster.denied = {"^/api/v1/pods", "secrets/berth-pages"}
    decide(cluster.berths["one"], "web")
    assert run("explain", "shop/web").returncode == FINE
    sent = {headers["Berth-Token"] for path, headers in cluster.seen if "/proxy/" in path}
    assert sent == {TOKENS["berth-viewer"]}
    refused = run("what-if", plugin=True)
    assert refused.returncode == UNREACHABLE and "the Role berth-what-if: kubectl -n berth-system" in refused.stderr
    cluster.denied = {"secrets/"}
    refused = run("explain", "shop/web")
    assert refused.returncode == UNREACHABLE
    assert "create rolebinding berth-viewer-NAME --role=berth-viewer --user=joe\n" in refused.stderr


def test_replica_that_is_gone(cluster, run, tmp_path):
    cluster.kubeconfig(tmp_path / ".kube/config")
    decide(cluster.berths["two"], "web")
    cluster.berths["one"].stop()
    found = run("explain", "shop/web")
    assert found.returncode == FINE
    assert "pod berth-system/one answered with status 503" in found.stderr
    assert "the other replicas were asked" in found.stderr
    missed = run("explain", "shop/none")
    assert "2 replicas of berth in namespace berth-system: 1 answered, and remembers no filter" in missed.stderr
    assert run("what-if", "--context", "c").returncode == FINE
    status = run("status", "--context", "c")
    assert status.returncode == FAILED and "one      no reply" in status.stdout


def await_next_millisecond():
    now = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 <= now:
        pass


def test_top_adds_up(cluster, run, tmp_path):
    cluster.kubeconfig(tmp_path / ".kube/config")
    for i in range(3):
        for name, letter in (("one", "a"), ("two", "b")):
            decide(cluster.berths[name], f"{letter}{i}")
            await_next_millisecond()  # the units of times in JSON
    top = run("top", "--once", "--context", "c")
    assert top.returncode == FINE, top.stderr
    assert re.findall(r"shop/(\w+)", top.stdout) == ["b2", "a2", "b1", "a1", "b0", "a0"]
    assert re.search(r"^some/first +0 +6$", top.stdout, re.M), "rejections of both"


def test_what_if_of_all(cluster, run, tmp_path):
    cluster.kubeconfig(tmp_path / ".kube/config")
    decide(cluster.berths["one"], "a")
    decide(cluster.berths["two"], "b")
    asked = run("what-if", "--context", "c", "-o", "json")
    assert asked.returncode == FINE, asked.stderr
    assert json.loads(asked.stdout)["pods"] == 2
    saved = run("bundle", "--context", "c", "-o", "b.tar.gz")
    assert saved.returncode == FINE, saved.stderr
    files = run("what-if", "--bundle", "b-one.tar.gz", "--bundle", "b-two.tar.gz", "-o", "json")
    assert files.stdout == asked.stdout


def test_several_installations(cluster, run, tmp_path):
    cluster.kubeconfig(tmp_path / ".kube/config")
    cluster.pods.append(make_pod("three", 1, namespace="elsewhere"))
    done = run("status", "--context", "c")
    assert done.returncode == UNREACHABLE
    assert "several installations" in done.stderr and "\n  elsewhere/three\n" in done.stderr
    cluster.pods.clear()
    none = run("status", "--context", "c")
    assert none.returncode == UNREACHABLE and "app.kubernetes.io/name=berth runs in any namespace" in none.stderr


# --- choice of the server ---


def test_order_of_places(cluster, start_berth, run, tmp_path):
    """Options, $BERTH_SERVER, the cluster for kubectl, the configuration file."""
    local = start_berth()
    configured = start_berth()
    config = tmp_path / ".config/berth/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(f"server: {configured.url}\n")
    cluster.kubeconfig(tmp_path / ".kube/config")

    def names(*words, **options):
        done = run("status", *words, "-o", "json", **options)
        assert done.returncode == FINE, done.stderr
        return [each["name"] for each in json.loads(done.stdout)["replicas"]]

    assert names() == [configured.url]
    assert names(plugin=True) == ["one", "two"]
    assert names(BERTH_SERVER=local.url) == names(BERTH_SERVER=local.url, plugin=True) == [local.url]
    assert names("--context", "c", BERTH_SERVER=local.url) == ["one", "two"]
    assert names("--server", local.url, plugin=True) == [local.url]
    decide(configured, "web")
    assert ", decision 1\n" in run("explain", "shop/web").stdout


def test_default_place(run):
    """The address where `berth serve` listens by default, if nothing names another."""
    with unused_default_address():
        done = run("status")
    assert done.returncode == UNREACHABLE and "http://127.0.0.1:8080 cannot be reached" in done.stdout + done.stderr


def test_credentials_of_the_configuration_file(cluster, run, tmp_path):
    """Relative to the file, and for its server only."""
    pages = cluster.pages["one"]
    folder = tmp_path / "xdg/berth"
    folder.mkdir(parents=True)
    (folder / "token").write_text(TOKENS["berth-pages"])
    (folder / "config.yaml").write_text(f"server: http://{pages.host}:{pages.port}\ntokenFile: token\n")
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    assert run("status", **environment).returncode == FINE
    other = cluster.pages["two"]
    refused = run("status", "--server", f"http://{other.host}:{other.port}", **environment)
    assert refused.returncode == UNREACHABLE and "a valid token is required" in refused.stdout
    variable = run("status", BERTH_SERVER=f"http://{other.host}:{other.port}", **environment)
    assert variable.returncode == UNREACHABLE and "a valid token is required" in variable.stdout


@pytest.mark.parametrize("text, error", [
    ("servr: x\n", ":1:1: expected one of server, ca, cert, key and tokenFile, not servr"),
    ("server: [1]\n", ":1:9: expected a string for server"),
    ("- a\n", "expected a mapping"),
    ("server: x\ncert: a\n", "--cert and --key go together"),
])  # fmt: skip
def test_wrong_configuration_file(run, tmp_path, text, error):
    path = tmp_path / ".config/berth/config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    done = run("top", "--once")
    assert done.returncode == UNREACHABLE and error in done.stderr


def test_wrong_usage(run):
    for command in ("top", "status", "what-if", "bundle"):
        done = run(command, "--server", "http://127.0.0.1:1", "--context", "c")
        assert done.returncode == USAGE and "are instead of" in done.stderr


# --- open ---


def test_open_is_for_clusters(run):
    done = run("open", BERTH_SERVER="http://127.0.0.1:1")
    assert done.returncode == UNREACHABLE and "http://127.0.0.1:1" in done.stderr


def test_open_passes_pages_on(cluster, berth_path, tmp_path):
    cluster.kubeconfig(tmp_path / ".kube/config")
    decide(cluster.berths["two"], "web")
    log = (tmp_path / "log").open("w+")
    process = subprocess.Popen([berth_path, "open"], stdout=log, env=without_kubeconfig(tmp_path))
    try:
        def find_url():
            return re.search(r"http://127.0.0.1:(\d+)/\?key=(\w+)", (tmp_path / "log").read_text())

        wait_until(find_url, "the URL")
        assert "pod berth-system/two" in (tmp_path / "log").read_text(), "the one that decided last"
        port, key = find_url().groups()

        def get(path, **headers):
            connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=PATIENCE)
            connection.request("GET", path, headers={"Accept": "text/html", **headers})
            return connection.getresponse()

        cookie = {"Cookie": f"other=1; berth-open={key}"}
        assert get("/").status == get("/", Cookie=f"berth-open={key[:-1]}").status == 403
        assert get("/", **cookie, Origin="http://evil.example").status == 403
        assert get("/", **cookie, Host="evil.example").status == 403
        page = get("/pods", **cookie)
        assert page.status == 200 and b"web" in page.read()
        assert get("/none", **cookie).status == 404
        assert any("/proxy/pods" in path for path, _ in cluster.seen)
        assert all("Cookie" not in headers for path, headers in cluster.seen)
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == FINE
        log.close()
