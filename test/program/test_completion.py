"""Shell completion from option tables, files and servers, in real shells."""

import contextlib
import functools
import http.server
import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import threading
import time

import pytest
import yaml

from client import PATIENCE, held_port

pytestmark = pytest.mark.single_thread

QUICK_SECONDS = 0.05  # seconds of CPU time
LIMIT = 1  # COMPLETE_MSEC: seconds after which berth gives up a server


@pytest.fixture(scope="module")
def complete(berth_path):
    """complete(*words) -> {word: description}, and whether files are completed."""

    def run(*words, env=None):
        done = subprocess.run(
            [berth_path, "__complete", *map(str, words)],
            capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, **(env or {})},
        )  # fmt: skip
        assert done.returncode == 0 and done.stderr == "", done
        *lines, directive = done.stdout.splitlines()
        assert directive in (":0", ":4")
        pairs = [line.partition("\t") for line in lines]
        assert len({word for word, _, _ in pairs}) == len(pairs), "something is offered twice"
        return {word: about for word, _, about in pairs}, directive == ":0"

    return run


@pytest.fixture(scope="module")
def help_of(berth_path):
    @functools.cache
    def run(*command):
        done = subprocess.run([berth_path, *command, "--help"], capture_output=True, text=True)
        return done.stdout

    return run


@pytest.fixture(scope="module")
def all_commands(help_of):
    return re.findall(r"^  ([a-z-]+) ", help_of(), re.M)


# --- commands and options ---


def test_commands_are_those_of_the_help(complete, help_of, all_commands):
    words, files = complete("")
    assert not files
    assert [word for word in words if not word.startswith("-") and word != "help"] == all_commands
    for word, about in words.items():
        assert about
    assert set(complete("che")[0]) == {"check"}
    assert complete("nonsense", "")[0] == {}


def options_in_help(text):
    """Names of options in lines that begin with an option."""
    heads = re.findall(r"^  (-.*?)(?:  |$)", re.sub(r"^  -\w, ", "  ", text, flags=re.M), re.M)
    return {name for head in heads for name in re.findall(r"(?:^|[ ,])--?([a-z][a-z-]*)", head)}


def test_options_are_those_of_the_option_table(berth_path, complete, help_of, all_commands):
    """The program's tables, its help, its parser and its completions have the same options."""
    tables = json.loads(subprocess.run([berth_path, "__commands"], capture_output=True, check=True).stdout)
    assert [table["name"] for table in tables] == all_commands
    for table in tables:
        command = table["name"]
        names = {row["name"] for row in table["options"] if "name" in row} | {"help"}
        assert {word.lstrip("-") for word in complete(command, "-")[0]} == names, command
        assert options_in_help(help_of(command)) | {"help"} == names, command
        for row in table["options"]:
            if "name" in row:  # this one is accepted, the next one is not
                word = f"--{row['name']}" + ("=1" if "argument" in row else "")
                done = subprocess.run([berth_path, command, word, "--no-such"], capture_output=True, text=True,
                                      timeout=PATIENCE)
                assert done.returncode == 2 and f"unknown option --{row['name']}" not in done.stderr, done


def test_usage_errors_are_short(complete):
    words = complete("serve", "--")[0]
    assert words["--workers"] == "threads that answer"
    assert words["--tls-cert"] == "serve HTTPS with this certificate (PEM)"
    for about in words.values():
        assert len(about) <= 72 and "[" not in about


VALUES = {
    ("serve", "--log-level", ""): {"debug", "info", "warn", "error"},
    ("serve", "--log-level", "w"): {"warn"},
    ("serve", "--log-format", ""): {"logfmt", "json"},
    ("serve", "--log-format=",): {"--log-format=logfmt", "--log-format=json"},
    ("explain", "-o", ""): {"table", "json", "yaml"},
    ("check", "-o", "j"): {"json"},
    ("certs", "-o", ""): {"files", "kubernetes"},
    ("what-if", "--fail-on", ""): {"newly-rejected", "any"},
    ("what-if", "--last", ""): set(),
    ("bundle", "--cluster", "d"): {"digest"},
    ("simulate", "-o", "t"): {"table"},
    ("test", "-o", ""): {"table", "junit"},
    ("completion", ""): {"bash", "zsh", "fish"},
    ("completion", "bash", ""): set(),
    ("serve", ""): set(),
    ("serve", "--workers", ""): set(),
    ("eval", "--", "--p"): set(),
}  # fmt: skip


@pytest.mark.parametrize("words", VALUES, ids=" ".join)
def test_values_of_an_option_are_offered(complete, words):
    assert set(complete(*words)[0]) == VALUES[words]


FILES = [
    ("serve", "--policy", ""),
    ("serve", "--tls-cert", "a"),
    ("serve", "--tls-cert", "a", "--tls-key", ""),
    ("serve", "--policy=",),
    ("explain", "--kubeconfig", ""),
    ("dump", "--compare", ""),
    ("check", ""),
    ("check", "a.yaml", "b"),
    ("certs", ""),
    ("certs", "--renew", ""),
    ("what-if", "--bundle", ""),
    ("diff", "--bundle", ""),
    ("diff", ""),
    ("explain", "--bundle", ""),
    ("bundle", "-o", ""),
    ("simulate", "--trace", ""),
    ("test", ""),
    ("test", "a.test.yaml", "b"),
]  # fmt: skip


NO_FILES = [("serve", ""), ("completion", ""), ("certs", "a", ""), ("explain", "--node", "")]


@pytest.mark.parametrize("words", FILES, ids=" ".join)
def test_files_are_offered_where_one_is_wanted(complete, words):
    assert complete(*words) == ({}, True)


@pytest.mark.parametrize("words", NO_FILES, ids=" ".join)
def test_files_are_not_offered_elsewhere(complete, words):
    """Completion does not use the developer's own KUBECONFIG."""
    no_config = {"HOME": "/nonexistent", "KUBECONFIG": "/nonexistent/config"}
    assert not complete(*words, env=no_config)[1]


def test_checks_are_offered_by_group_and_by_code(complete):
    words = complete("check", "--only", "")[0]
    assert {"scheduler", "berth", "rights", "cluster", "policies", "installation"} <= set(words)
    codes = {word: about for word, about in words.items() if re.fullmatch(r"B\d{3}", word)}
    assert len(codes) >= 20 and all(codes.values())
    assert set(complete("check", "--only", "rights,sch")[0]) == {"rights,scheduler"}
    assert set(complete("check", "--only=rights,sch")[0]) == {"--only=rights,scheduler"}


# --- names ---


@pytest.fixture
def kubeconfig(tmp_path):
    """kubeconfig(server, *contexts) -> a file."""

    def write(server, *contexts):
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": contexts[0],
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in contexts],
        }))  # fmt: skip
        return path

    return write


def test_contexts_with_plain_names_are_offered(complete, kubeconfig):
    path = kubeconfig("http://127.0.0.1:1", "admin@prod", "dev", "$(reboot)", "a b", "-x")
    assert set(complete("dump", "--kubeconfig", path, "--context", "")[0]) == {"admin@prod", "dev"}
    assert set(complete("dump", f"--kubeconfig={path}", "--context", "d")[0]) == {"dev"}
    assert set(complete("dump", "--context", "", env={"KUBECONFIG": f"/none:{path}"})[0]) == {
        "admin@prod", "dev",
    }  # fmt: skip


HOSTILE = ["$(reboot)", "`id`", "a;b", "a b", "a'b", 'a"b', "\x1b[31m", "a\nb", "-rf", "ü", "a*"]


@pytest.fixture
def api_server():
    """An API server with pods and nodes, some with names that a real one would reject."""

    class Handler(http.server.BaseHTTPRequestHandler):
        asked = []
        may_answer = threading.Event()

        def do_GET(self):
            self.asked.append(self.path)
            self.may_answer.wait(2 * PATIENCE)
            path = self.path.partition("?")[0]
            pods = [("web", "a-1"), ("web", "a-2"), ("jobs", "b"), ("jobs", "done")]
            pods += [("web", name) for name in HOSTILE]
            if path == "/api/v1/nodes":
                found = [{"name": name} for name in ["n1", "n2", *HOSTILE]]
            elif path == "/api/v1/pods":
                found = [{"namespace": a, "name": b} for a, b in pods]
            else:
                namespace = path.split("/")[4]
                found = [{"namespace": a, "name": b} for a, b in pods if a == namespace]
            body = json.dumps({"kind": "List", "items": [{"metadata": x} for x in found]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except BrokenPipeError:
                pass

        def log_message(self, *_):
            pass

    Handler.may_answer.set()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url, server.handler = f"http://127.0.0.1:{server.server_port}", Handler
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    Handler.may_answer.set()
    server.shutdown()
    thread.join()
    server.server_close()


def test_names_of_the_api_server(complete, kubeconfig, api_server):
    """berth gives up a server that is late, so on a machine that is so busy no names are correct."""

    def names(*words, env=None):
        begin = time.monotonic()
        found = set(complete(*words, env=env)[0])
        if not found and time.monotonic() - begin >= LIMIT:
            pytest.skip("the reply came too late for berth")
        return found

    path = kubeconfig(api_server.url, "c")
    pods = {"web/a-1", "web/a-2", "jobs/b", "jobs/done"}
    assert names("explain", "--kubeconfig", path, "") == pods
    assert names("explain", "", env={"KUBECONFIG": str(path)}) == pods
    assert names("explain", "--kubeconfig", path, "web/a") == {"web/a-1", "web/a-2"}
    assert api_server.handler.asked[-1].startswith("/api/v1/namespaces/web/pods?limit=")
    assert names("explain", "--kubeconfig", path, "--node", "") == {"n1", "n2"}
    assert names("explain", "--kubeconfig", path, "--node=n2") == {"--node=n2"}


def test_a_server_that_does_not_answer_is_given_up(complete, kubeconfig, api_server):
    api_server.handler.may_answer.clear()
    path = kubeconfig(api_server.url, "c")
    assert complete("explain", "--kubeconfig", path, "")[0] == {}
    assert len(api_server.handler.asked) == 1 and not api_server.handler.may_answer.is_set()


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "--kubeconfig", "KUBECONFIG", ""),
        ("explain", "--kubeconfig", "/none", ""),
        ("explain", "--cluster", "/none", "--node", ""),
        ("dump", "--kubeconfig", "/dev/null", "--context", ""),
    ],
    ids=" ".join,
)
def test_completes_nothing_without_server(complete, kubeconfig, words):
    with held_port() as port:
        url = f"http://127.0.0.1:{port}"
        named = {"KUBECONFIG": kubeconfig(url, "c")}
        assert complete(*(named.get(word, word) for word in words)) == ({}, False)


def test_nodes_of_a_file_are_offered_and_pods_are_not(complete, tmp_path):
    items = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        for name in ("n1", "n2", "m1", "a$b")
    ]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    assert set(complete("explain", "--cluster", path, "--node", "n")[0]) == {"n1", "n2"}
    assert complete("explain", "--cluster", path, "")[0] == {}  # these pods come from a file


def processor_seconds(*command):
    """The minimum CPU time of several runs, which hardly depends on other load."""
    used = []
    for _ in range(7):
        proc = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(proc.pid, 0)
        proc.returncode = os.waitstatus_to_exitcode(status)
        assert proc.returncode == 0
        used.append(usage.ru_utime + usage.ru_stime)
    return min(used)


def test_it_takes_little_processor_time(berth_path):
    """The limit is in addition to the time of a bare start, because a sanitizer is slow."""
    start = processor_seconds(berth_path, "version")
    assert processor_seconds(berth_path, "__complete", "serve", "--") < start + QUICK_SECONDS


# --- as a plugin of kubectl ---


def test_time_limit_ends_with_the_reply(berth_path, kubeconfig, api_server):
    """The limit is for servers that do not answer. A shell that reads late gets the complete reply once."""
    command = [berth_path, "__complete", "explain", "--kubeconfig", kubeconfig(api_server.url, "c"), "--node", ""]
    expected = subprocess.run(command, capture_output=True, check=True).stdout
    if expected == b":4\n":
        pytest.skip("the reply came too late for berth")
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    filler = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            filler += os.write(writer, b"x" * 4096)
    os.set_blocking(writer, True)
    with open(reader, "rb") as pipe:
        berth = subprocess.Popen(command, stdout=writer)
        os.close(writer)
        time.sleep(1.2)  # longer than the limit
        assert berth.poll() is None
        assert pipe.read()[filler:] == expected
        assert berth.wait(PATIENCE) == 0


def test_plugin_help_names_kubectl(berth_path, tmp_path, help_of):
    for name in ("kubectl-berth", "kubectl_complete-berth"):
        (tmp_path / name).symlink_to(pathlib.Path(berth_path).resolve())

    def run(name, *arguments):
        done = subprocess.run(
            [tmp_path / name, *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout

    assert "usage: kubectl berth COMMAND" in run("kubectl-berth")
    assert "usage: kubectl berth serve" in run("kubectl-berth", "serve", "--help")
    assert run("kubectl_complete-berth", "vers").splitlines()[0].startswith("version\t")
    assert run("kubectl_complete-berth", "serve", "--lis").startswith("--listen\t")


def test_kubectl_uses_berth_completion(berth_path, tmp_path):
    if not shutil.which("kubectl"):
        pytest.skip("kubectl is not here")
    for name in ("kubectl-berth", "kubectl_complete-berth"):
        (tmp_path / name).symlink_to(pathlib.Path(berth_path).resolve())
    done = subprocess.run(
        ["kubectl", "__complete", "berth", "completion", "z"],
        capture_output=True, text=True, timeout=PATIENCE,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.stdout.split() == ["zsh", ":4"]


# --- in shells ---


def script(berth_path, shell):
    done = subprocess.run([berth_path, "completion", shell], capture_output=True, check=True)
    return done.stdout.decode()


def need(shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not here")


def environment(berth_path, home):
    folder = pathlib.Path(berth_path).resolve().parent
    return {"HOME": str(home), "PATH": f"{folder}:/usr/bin:/bin", "TERM": "dumb", "LC_ALL": "C.UTF-8"}


def test_wrong_use(berth_path):
    for arguments in ([], ["powershell"], ["bash", "zsh"], ["--no-such"]):
        done = subprocess.run([berth_path, "completion", *arguments], capture_output=True, text=True)
        assert done.returncode == 2 and "completion" in done.stderr


@pytest.mark.parametrize("shell, check", [("bash", "-n"), ("zsh", "-n"), ("fish", "-n")])
def test_the_shell_can_read_its_script(berth_path, tmp_path, shell, check):
    need(shell)
    path = tmp_path / "script"
    path.write_text(script(berth_path, shell))
    done = subprocess.run(
        [shell, check, path], capture_output=True, env=environment(berth_path, tmp_path)
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_bash(berth_path, tmp_path):
    (tmp_path / "script").write_text(script(berth_path, "bash"))

    def replies(line):
        done = subprocess.run(
            ["bash", "--norc", "-c",
             'source ./script; COMP_LINE=$1 COMP_POINT=${#1}; _berth 2>/dev/null;'
             'printf "%s\\n" "${COMPREPLY[@]}"', "bash", line],
            capture_output=True, text=True, cwd=tmp_path, env=environment(berth_path, tmp_path),
        )  # fmt: skip
        assert done.stderr == ""
        return done.stdout.split()

    assert replies("berth comp") == ["completion"]
    assert replies("berth completion ") == ["bash", "zsh", "fish"]
    assert replies("berth serve --log-level w") == ["warn"]
    assert replies("berth serve --log-format=j") == ["json"]  # behind the = only
    assert "--listen" in replies("berth serve --l")


def test_fish(berth_path, tmp_path):
    need("fish")
    (tmp_path / "script").write_text(script(berth_path, "fish"))

    def replies(line):
        done = subprocess.run(
            ["fish", "--no-config", "-c", f"source script; complete -C'{line}'"],
            capture_output=True, text=True, cwd=tmp_path, env=environment(berth_path, tmp_path),
        )  # fmt: skip
        return dict(reply.split("\t") if "\t" in reply else (reply, "") for reply in done.stdout.splitlines())

    assert "check" in replies("berth che")
    assert set(replies("berth completion ")) == {"bash", "zsh", "fish"}
    assert set(replies("berth serve --log-level ")) == {"debug", "info", "warn", "error"}
    assert "--listen" in replies("berth serve --l")
    (tmp_path / "policy.yaml").write_text("")
    assert "policy.yaml" in replies("berth check po")


INTERACTIVE = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source ./script"),
    "zsh": (["zsh", "-f", "-i"], "autoload -Uz compinit; compinit -u -D; source ./script"),
}


@pytest.mark.parametrize("shell", INTERACTIVE)
def test_the_tab_key_completes(berth_path, tmp_path, shell):
    """The Tab key itself, on a terminal: `berth completi<Tab>fis<Tab>` runs that command."""
    need(shell)
    command, setup = INTERACTIVE[shell]
    (tmp_path / "script").write_text(script(berth_path, shell))
    master, terminal = pty.openpty()
    proc = subprocess.Popen(
        command, stdin=terminal, stdout=terminal, stderr=terminal, cwd=tmp_path,
        env=environment(berth_path, tmp_path), start_new_session=True,
    )  # fmt: skip
    os.close(terminal)
    seen = b""

    def wait_for(text):
        nonlocal seen
        end = time.monotonic() + PATIENCE
        while text not in seen:
            assert time.monotonic() < end, seen.decode(errors="replace")
            if select.select([master], [], [], 0.2)[0]:
                seen += os.read(master, 65536)
        seen = seen.partition(text)[2]

    try:
        os.write(master, f"{setup}; echo re''ady\n".encode())
        wait_for(b"ready")
        os.write(master, b"berth completi\tfis\t; echo do''ne\n")
        wait_for(b"complete -c berth -f")  # a line of the script for fish
        wait_for(b"done")
    finally:
        proc.kill()
        proc.wait()
        os.close(master)
