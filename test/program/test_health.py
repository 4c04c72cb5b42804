"""/healthz, /livez and /readyz in the format of Kubernetes components; and shutdown."""

import signal
import socket
import subprocess
import threading

import pytest

from client import PATIENCE, ask, get, wait_until

# checks of absent configuration are omitted
CHECKS = ["ping", "policy", "sandbox", "shutdown"]

POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: health}
spec: {filters: [{name: ready, nodeReady: true}]}
"""


def lines_of(text):
    """The lines of the reply, without details of the sandbox, which depend on the kernel."""
    return [line.partition(":")[0] if "sandbox" in line else line for line in text.splitlines()]


@pytest.fixture(scope="module")
def berth(start_shared, tmp_path_factory):
    policy = tmp_path_factory.mktemp("health") / "policy.yaml"
    policy.write_text(POLICY)
    return start_shared("--policy", policy)


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/"])
def test_healthy_reply_is_ok(berth, path):
    reply = get(berth, path)
    assert (reply.status, reply.text) == (200, "ok")
    assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert reply.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "probe, checks", [("healthz", CHECKS), ("livez", ["ping"]), ("readyz", CHECKS)]
)
@pytest.mark.parametrize("query", ["verbose", "verbose=true", "timeout=32s&verbose"])
def test_verbose_lists_each_check(berth, probe, checks, query):
    reply = get(berth, f"/{probe}?{query}")
    assert reply.status == 200
    lines = [f"[+]{check} ok" for check in checks]
    assert lines_of(reply.text) == [*lines, f"{probe} check passed"]


def test_excluded_checks_do_not_count(berth):
    reply = get(berth, "/readyz?verbose&exclude=policy&exclude=shutdown")
    assert lines_of(reply.text) == [
        "[+]ping ok",
        "[+]policy excluded: ok",
        "[+]sandbox ok",
        "[+]shutdown excluded: ok",
        "readyz check passed",
    ]
    assert get(berth, "/readyz?exclude=policy").text == "ok"
    assert get(berth, "/readyz?exclude=nothing-of-that-name").text == "ok"


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz?verbose"])
def test_head_has_length_and_no_body(berth, path):
    reply = ask(berth, "HEAD", path)
    assert reply.status == 200
    assert reply.body == b""
    assert int(reply.headers["Content-Length"]) == len(get(berth, path).body)


def test_verbose_must_be_a_whole_parameter(berth):
    for query in ("verbosely", "xverbose", "v", "x=verbose", "", "&", "&&="):
        assert get(berth, "/readyz?" + query).text == "ok"


# --- the end ---


def held_request(berth, path):
    """A request with an incomplete header, which keeps its connection open during the drain."""
    sock = socket.create_connection((berth.host, berth.port), PATIENCE)
    sock.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n".encode())
    return sock


def finish(sock):
    with sock, sock.makefile("rb") as stream:
        sock.sendall(b"\r\n")
        head, _, body = stream.read().partition(b"\r\n\r\n")
    return head.decode(), body.decode()


def test_sigterm_takes_readiness_away_first(start_logged):
    berth = start_logged()
    ready, live, excluded = (
        held_request(berth, path)
        for path in ("/readyz", "/livez?verbose", "/readyz?exclude=shutdown")
    )
    # All three are in progress once each worker has answered a later request.
    wait_until(lambda: get(berth, "/metrics").text.count("berth_connections 4"), "4 connections")
    berth.proc.send_signal(signal.SIGTERM)
    wait_until(lambda: "shutting down" in berth.log.read_text(), "the drain")

    head, body = finish(ready)
    assert head.startswith("HTTP/1.1 500 ")
    assert "Connection: close" in head
    assert lines_of(body) == [
        "[+]ping ok",
        "[+]sandbox ok",
        "[-]shutdown failed: draining",
        "readyz check failed",
    ]
    head, body = finish(live)  # but it need not be killed
    assert head.startswith("HTTP/1.1 200 ")
    assert body == "[+]ping ok\nlivez check passed\n"
    head, body = finish(excluded)
    assert head.startswith("HTTP/1.1 200 ") and body == "ok"
    assert berth.proc.wait(PATIENCE) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it_cleanly(start_logged, number):
    berth = start_logged()
    assert get(berth, "/livez").status == 200
    berth.proc.send_signal(number)
    assert berth.proc.wait(PATIENCE) == 0
    log = berth.log.read_text()
    assert "shutting down" in log and "cut at the end" not in log  # no requests were in progress
    with pytest.raises(OSError):
        socket.create_connection((berth.host, berth.port), 5).close()


def test_many_stops_under_traffic(berth_path):
    """berth ends in order under load."""
    request = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n" * 100
    for _ in range(12):
        berth = subprocess.Popen(
            [berth_path, "serve", "--listen", "127.0.0.1:0", "--workers", "4"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        port = int(berth.stdout.readline().rsplit(b":", 1)[1])
        over = threading.Event()

        def load():
            while not over.is_set():
                try:
                    with socket.create_connection(("127.0.0.1", port), timeout=2) as client:
                        client.sendall(request)
                        client.settimeout(0.5)
                        while client.recv(65536):
                            pass
                except OSError:
                    pass

        threads = [threading.Thread(target=load) for _ in range(4)]
        for thread in threads:
            thread.start()
        berth.send_signal(signal.SIGTERM)
        status = berth.wait(timeout=PATIENCE)
        over.set()
        for thread in threads:
            thread.join()
        berth.stdout.close()
        assert status == 0
