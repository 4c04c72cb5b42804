"""The listener for pages: access to each path, and no verbs."""

import concurrent.futures
import json
import os
import re
import signal
import subprocess

import pytest

from authority import Authority
from client import PATIENCE, ask, get, metrics, open_connection, pages_of, post, wait_until

SECRET = "a-token-of-good-length"
HEALTH = ["/livez", "/readyz", "/healthz", "/readyz?verbose"]
REST = ["/", "/metrics", "/version", "/api/v1/status", "/api/v1/decisions", "/api/v1/sources"]
FILTER = {"Pod": {"metadata": {"name": "p"}}, "Nodes": {"items": [{"metadata": {"name": "n1"}}]}}
POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: all}
spec: {filters: [{name: all, expression: 'true', reason: none}]}
"""


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def token_file(tmp_path):
    path = tmp_path / "token"
    path.write_text(SECRET + "\n")
    return path


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("pages") / "ca", "ca")


@pytest.fixture
def tls(authority):
    certificate, key = authority.issue_server()
    return ["--tls-cert", certificate, "--tls-key", key, "--client-ca", authority.certificate]


def statuses(pages, paths, **options):
    return {get(pages, path, **options).status for path in paths}


# --- access to pages ---


def test_loopback_needs_nothing(start_berth):
    berth = start_berth("--pages-listen", "127.0.0.1:0")
    pages = pages_of(berth)
    assert pages.port != berth.port
    assert statuses(pages, HEALTH + REST) == {200}
    assert statuses(berth, HEALTH + REST) == {200}  # the first listener still has them


def test_other_addresses_get_only_health(start_berth):
    pages = pages_of(start_berth("--pages-listen", "0.0.0.0:0"))
    assert statuses(pages, HEALTH) == {200}
    assert statuses(pages, REST) == {403}
    assert "--pages-token-file" in get(pages, "/metrics").error()
    assert get(pages, "/metrics", headers=bearer(SECRET)).status == 403


def test_token(start_berth, token_file):
    pages = pages_of(
        start_berth("--pages-listen", "127.0.0.1:0", "--pages-token-file", token_file)
    )
    assert statuses(pages, HEALTH) == {200}
    assert statuses(pages, REST) == {401}
    assert statuses(pages, REST, headers=bearer(SECRET)) == {200}
    for wrong in (SECRET[:-1], SECRET + "x", SECRET.upper(), "", "x" * 4000):
        reply = get(pages, "/metrics", headers=bearer(wrong))
        assert reply.status == 401 and reply.headers["WWW-Authenticate"] == "Bearer"
        assert SECRET not in reply.text
    assert get(pages, "/metrics", headers={"Authorization": f"Basic {SECRET}"}).status == 401


def test_token_in_a_header_of_our_own(start_berth, token_file):
    """Clients behind the API server need it, because the API server removes Authorization."""
    berth = start_berth("--pages-listen", "127.0.0.1:0", "--pages-token-file", token_file)
    pages = pages_of(berth)
    assert statuses(pages, REST, headers={"Berth-Token": SECRET}) == {200}
    assert statuses(pages, REST, headers={"Berth-Token": f"Bearer {SECRET}"}) == {401}
    assert statuses(pages, REST, headers={"Berth-Token": SECRET + "x", **bearer(SECRET)}) == {401}


def test_token_of_viewers(start_berth, token_file, tmp_path):
    """Everything but what-if and bundles of many decisions."""
    (tmp_path / "viewer").write_text("another-token-for-viewers\n")
    viewers = ["--pages-viewer-token-file", tmp_path / "viewer"]
    pages = pages_of(start_berth("--pages-listen", "127.0.0.1:0", "--pages-token-file", token_file, *viewers))
    viewer, full = {"Berth-Token": "another-token-for-viewers"}, {"Berth-Token": SECRET}
    assert statuses(pages, REST) == {401}
    assert statuses(pages, REST, headers=viewer) == {200}
    assert statuses(pages, REST, headers=bearer("another-token-for-viewers")) == {200}
    what_if = {"method": "POST", "path": "/api/v1/what-if", "body": POLICY}
    yaml = {"Content-Type": "application/yaml"}
    for headers, status in ((viewer, 403), (full, 200)):
        assert ask(pages, **what_if, headers={**headers, **yaml}).status == status
        bundle = ask_bytes(pages, "/api/v1/bundle?last=1", headers)
        assert bundle == status
    assert "--pages-token-file" in get(pages, "/api/v1/bundle", headers=viewer).error()
    assert get(pages, "/api/v1/bundle?id=1", headers=viewer).status == 404, "explain needs the inputs of one"
    assert get(pages, "/api/v1/bundle?id=1&last=9", headers=viewer).status == 400
    assert get(pages, "/api/v1/bundle?last=9&id=1", headers=viewer).status == 403

    (tmp_path / "viewer").write_text("yet-another-token\n")
    newer = {"Berth-Token": "yet-another-token"}
    wait_until(lambda: get(pages, "/version", headers=newer).status == 200, "the new token")
    assert statuses(pages, REST, headers=viewer) == {401}
    only = pages_of(start_berth("--pages-listen", "127.0.0.1:0", *viewers))
    assert statuses(only, REST) == {401}
    assert statuses(only, REST, headers=newer) == {200}


def ask_bytes(pages, path, headers):
    """The status of a binary reply."""
    connection = open_connection(pages)
    connection.request("GET", path, headers=headers)
    reply = connection.getresponse()
    reply.read()
    connection.close()
    return reply.status


def test_the_token_is_not_for_the_first_listener(start_berth, authority, tls, token_file):
    """Names for the pages are not accepted for verbs, and the scheduler's name is not accepted for pages."""
    berth = start_berth(
        *tls, "--pages-listen", "127.0.0.1:0", "--pages-token-file", token_file,
        "--pages-client-name", "prometheus",
    )  # fmt: skip
    pages = pages_of(berth)
    no_certificate = authority.context()
    prometheus = authority.context(authority.issue("prometheus"))
    scheduler = authority.context(authority.issue("system:kube-scheduler"))
    assert get(berth, "/metrics", headers=bearer(SECRET), context=no_certificate).status == 403
    assert post(berth, "filter", FILTER, context=prometheus).status == 403
    assert post(berth, "filter", FILTER, context=scheduler).status == 200
    assert pages.scheme == "https"
    assert statuses(pages, HEALTH, context=no_certificate) == {200}
    assert statuses(pages, REST, context=no_certificate) == {401}
    assert statuses(pages, REST, context=scheduler) == {401}
    assert statuses(pages, REST, context=prometheus) == {200}
    assert statuses(pages, REST, context=no_certificate, headers=bearer(SECRET)) == {200}


def test_names_alone(start_berth, authority, tls, tmp_path):
    other = Authority(tmp_path / "other", "other")
    flags = ["--pages-listen", "127.0.0.1:0", "--pages-client-name", "a", "--pages-client-name", "b"]
    pages = pages_of(start_berth(*tls, *flags))
    for name, status in (("a", 200), ("b", 200), ("c", 403)):
        context = authority.context(authority.issue(name))
        assert get(pages, "/metrics", context=context).status == status
    assert get(pages, "/metrics", context=authority.context()).status == 403
    assert get(pages, "/livez", context=authority.context()).status == 200
    context = authority.context(other.issue("a"))  # the right name, but from another CA
    assert get(pages, "/metrics", context=context).status == 403


def test_health_withholds_reasons_from_unauthorized_clients(start_berth, tmp_path, token_file):
    """For example a rejected policy's text or the API server's address, which probes do not need."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    flags = ["--policy", policy, "--pages-listen", "127.0.0.1:0", "--pages-token-file", token_file]
    berth = start_berth(*flags, "--drain-delay", 60)
    pages = pages_of(berth)
    policy.write_text("confidential: 1\n")
    verbose = "/readyz?verbose"
    wait_until(lambda: "confidential" in get(berth, verbose).text, "the refusal")
    assert "confidential" in get(pages, verbose, headers=bearer(SECRET)).text
    assert "[+]policy ok\n" in get(pages, verbose).text
    berth.proc.send_signal(signal.SIGTERM)
    wait_until(lambda: get(pages, "/readyz").status == 500, "readiness to go")
    text = get(pages, "/readyz").text
    assert "[-]shutdown failed: reason withheld\n" in text and "confidential" not in text
    berth.proc.send_signal(signal.SIGTERM)


def test_two_tokens(start_berth, token_file):
    """berth rejects two tokens, because two parsers could choose different ones."""
    pages = pages_of(
        start_berth("--pages-listen", "127.0.0.1:0", "--pages-token-file", token_file)
    )
    for tokens in ((SECRET, "x"), ("x", SECRET), (SECRET, SECRET)):
        connection = open_connection(pages)
        connection.putrequest("GET", "/metrics")
        for token in tokens:
            connection.putheader("Authorization", f"Bearer {token}")
        connection.endheaders()
        assert connection.getresponse().status == 400
        connection.close()


# --- browsers: foreign web pages can send requests to loopback ---


@pytest.mark.parametrize(
    "host, status",
    [
        ("127.0.0.1:8080", 200), ("[::1]:80", 200), ("localhost", 200), ("LocalHost:1", 200),
        ("berth.localhost:1", 200), ("evil.example", 403), ("evil.example:8080", 403),
        ("127.0.0.1.evil.example", 403), ("evil-localhost", 403),
    ],
)  # fmt: skip
def test_rejects_dns_rebinding(start_berth, host, status):
    """DNS rebinding: to the browser, berth is the attacker's own server."""
    berth = start_berth("--pages-listen", "127.0.0.1:0")
    for listener in (berth, pages_of(berth)):
        for path in REST:
            reply = get(listener, path, headers={"Host": host})
            assert reply.status == status
            assert status == 200 or "localhost" in reply.error()
        assert get(listener, "/livez", headers={"Host": host}).status == 200
    assert ask(berth, "POST", "/filter", json.dumps(FILTER), {"Host": host}).status == 200


def test_accepts_other_host_names_with_the_token(start_berth, token_file):
    pages = pages_of(
        start_berth("--pages-listen", "127.0.0.1:0", "--pages-token-file", token_file)
    )
    headers = {"Host": "berth.example", **bearer(SECRET)}
    assert get(pages, "/metrics", headers=headers).status == 200


def test_rejects_verbs_from_browsers(start_berth):
    """Any web page may POST text/plain to loopback without a CORS preflight."""
    berth = start_berth()
    for verb in ("filter", "prioritize", "preempt", "bind"):
        for origin in ("https://evil.example", "null"):
            reply = ask(berth, "POST", "/" + verb, json.dumps(FILTER), {"Origin": origin})
            assert reply.status == 403 and "Origin" in reply.error()
    assert get(berth, "/metrics", headers={"Origin": "null"}).status == 200


def test_a_new_token_takes_the_place_of_the_old(start_berth, token_file):
    berth = start_berth("--pages-listen", "127.0.0.1:0", "--pages-token-file", token_file)
    pages = pages_of(berth)
    after = "another-token-of-good-length"
    new = token_file.with_suffix(".new")
    new.write_text(after)
    os.rename(new, token_file)
    wait_until(lambda: get(pages, "/metrics", headers=bearer(after)).status == 200, "the new token")
    assert get(pages, "/metrics", headers=bearer(SECRET)).status == 401
    token_file.write_text("short")
    verbose = "/readyz?verbose"
    wait_until(
        lambda: "at least 16" in get(pages, verbose, headers=bearer(after)).text, "the refusal"
    )
    assert get(pages, "/metrics", headers=bearer(after)).status == 200  # it stays
    assert metrics(berth)['berth_config_last_reload_success{config="pages-token"}'] == 0


# --- paths ---


@pytest.mark.parametrize("verb", ["filter", "prioritize", "preempt", "bind", "a/b/predicates"])
def test_no_verbs(start_berth, verb):
    berth = start_berth("--pages-listen", "127.0.0.1:0")
    reply = post(pages_of(berth), verb, FILTER)
    assert reply.status == 404
    assert berth.url in reply.error()


def test_methods_and_bodies(start_berth):
    pages = pages_of(start_berth("--pages-listen", "127.0.0.1:0"))
    assert ask(pages, "HEAD", "/metrics").status == 200
    assert post(pages, "/metrics", {}).status == 405
    assert ask(pages, "GET", "/metrics", body=b"x" * 10).status == 413
    assert get(pages, "/no/such/path").status == 404


def test_describes_itself(start_berth):
    berth = start_berth("--pages-listen", "127.0.0.1:0")
    pages = pages_of(berth)
    assert "\nPOST  .../filter .../prioritize .../preempt .../bind " in get(berth, "/").text
    text = get(pages, "/").text
    assert "/metrics" in text and "/api/v1/status" in text
    assert not re.search("filter|prioritize|preempt|bind", text)
    assert "filter" not in get(pages, "/no/such/path").text


def test_pages_listener_has_its_own_connection_limit(start_berth):
    """Clients that use all connections for pages do not block the verbs."""
    berth = start_berth("--pages-listen", "127.0.0.1:0", "--max-connections-per-address", 16)
    pages = pages_of(berth)
    held = [open_connection(pages) for _ in range(40)]
    for connection in held:
        connection.connect()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        replies = pool.map(lambda _: post(berth, "filter", FILTER).status, range(40))
        assert set(replies) == {200}
    for connection in held:
        connection.close()


# --- flags ---

REFUSED = {
    # case: (flags, exit status, message)
    "a token without a listener": (["--pages-token-file", "TOKEN"], 2, "need --pages-listen"),
    "a token of viewers without a listener": (["--pages-viewer-token-file", "TOKEN"], 2, "need --pages-listen"),
    "a name without a listener": (["--pages-client-name", "a"], 2, "need --pages-listen"),
    "a name without a CA": (
        ["--pages-listen", "127.0.0.1:0", "--pages-client-name", "a"],
        2,
        "--pages-client-name needs --client-ca",
    ),
    "a token in the clear": (
        ["--pages-listen", "0.0.0.0:0", "--pages-token-file", "TOKEN"],
        1,
        "would expose the token",
    ),
    "a short token": (
        ["--pages-listen", "127.0.0.1:0", "--pages-token-file", "SHORT"],
        1,
        "at least 16 characters",
    ),
    "no token": (
        ["--pages-listen", "127.0.0.1:0", "--pages-token-file", "NONE"],
        3,
        "No such file",
    ),
    "no address": (["--pages-listen", "nowhere"], 2, "nowhere"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_rejects_invalid_flags(berth_path, token_file, case):
    flags, status, message = REFUSED[case]
    short = token_file.with_name("short")
    short.write_text("0123456789")
    paths = {"TOKEN": token_file, "SHORT": short, "NONE": token_file.with_name("none")}
    flags = [str(paths.get(flag, flag)) for flag in flags]
    done = subprocess.run(
        [berth_path, "serve", "--listen", "127.0.0.1:0", *flags], capture_output=True, text=True,
        timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert message in done.stderr
    assert done.stdout == ""


def test_port_in_use_is_reported(start_berth, berth_path):
    port = start_berth().port
    done = subprocess.run(
        [berth_path, "serve", "--listen", "127.0.0.1:0", "--pages-listen", f"127.0.0.1:{port}"],
        capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 3
    assert f"cannot listen on 127.0.0.1 port {port}" in done.stderr
