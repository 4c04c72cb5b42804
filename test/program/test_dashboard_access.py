"""Access to the dashboard: listeners, clients and browsers."""

import base64
import re
import subprocess

import pytest

from client import PATIENCE, ask, get, metrics, pages_of
from test_pages import SECRET, authority, bearer, tls, token_file  # noqa: F401

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
DASHBOARD_PATHS = ["/pods", "/pod?namespace=a&name=b", "/policies", "/assets/dashboard.css"]
MIB = 1024 * 1024


def basic(password, name="me"):
    both = base64.b64encode(f"{name}:{password}".encode()).decode()
    return {"Authorization": f"Basic {both}"}


def what_if(berth, body=b"{}", kind="application/json", **headers):
    return ask(berth, "POST", "/api/v1/what-if", body, {"Content-Type": kind, **headers})


# --- listeners ---


def test_on_loopback(start_berth):
    berth = start_berth()
    assert berth.proc.stdout.readline() == f"dashboard at {berth.url}/\n"
    page = get(berth, "/", headers=HTML)
    assert page.status == 200 and page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    assert page.headers["Cache-Control"] == "no-store"
    assert ask(berth, "HEAD", "/", headers=HTML).headers["Content-Type"].startswith("text/html")
    assert {get(berth, path).status for path in DASHBOARD_PATHS} <= {200, 404}
    assert get(berth, "/policies").status == 200
    assert get(berth, "/assets/none.css").status == 404
    assert ask(berth, "POST", "/policies").status == 405


def test_others_see_the_list_of_paths(start_berth):
    berth = start_berth()
    for accept in ({}, {"Accept": "*/*"}, {"Accept": "text/html;q=0"}, {"Accept": "text/plain"}):
        reply = get(berth, "/", headers=accept)
        assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert "/api/v1/events" in reply.text and "dashboard" in reply.text


def test_assets_are_cached_by_etag(start_berth):
    berth = start_berth()
    css = get(berth, "/assets/dashboard.css")
    assert css.status == 200 and css.headers["Content-Type"].startswith("text/css")
    tag = css.headers["ETag"]
    again = ask(berth, "GET", "/assets/dashboard.css", headers={"If-None-Match": tag})
    assert again.status == 304 and again.body == b""


def assert_no_dashboard(berth, **options):
    for path in DASHBOARD_PATHS:
        reply = get(berth, path, **options)
        assert reply.status == 404
        assert "--pages-listen" in reply.text and "--no-dashboard" in reply.text
    index = get(berth, "/", headers=HTML, **options)
    assert index.status == 200 and index.headers["Content-Type"].startswith("text/plain")
    assert "dashboard" not in index.text


def test_dashboard_is_not_on_a_public_address(start_berth):
    berth = start_berth("--listen", "0.0.0.0:0", "--insecure-http")
    assert_no_dashboard(berth)


def test_not_with_client_certificates(start_berth, authority, tls):  # noqa: F811
    berth = start_berth(*tls)
    scheduler = authority.context(authority.issue("system:kube-scheduler"))
    assert_no_dashboard(berth, context=scheduler)
    assert get(berth, "/pods", context=authority.context(), headers=HTML).status == 403


def test_switched_off(start_berth):
    berth = start_berth("--no-dashboard", "--pages-listen", "127.0.0.1:0")
    assert_no_dashboard(berth)
    assert_no_dashboard(pages_of(berth))
    assert get(berth, "/api/v1/status").status == 200


# --- tokens on the pages' listener ---


def test_token_for_browsers(start_berth, token_file):  # noqa: F811
    """A browser gets a password prompt, other clients a hint about the token."""
    berth = start_berth("--pages-listen", "127.0.0.1:0", "--pages-token-file", token_file)
    pages = pages_of(berth)
    assert re.match("dashboard at http://127.0.0.1:", berth.proc.stdout.readline())
    asked = get(pages, "/pods", headers=HTML)
    assert asked.status == 401
    assert asked.headers["WWW-Authenticate"] == 'Basic realm="berth", charset="UTF-8"'
    assert get(pages, "/pods").headers["WWW-Authenticate"] == "Bearer"
    for good in (basic(SECRET), basic(SECRET, name=""), bearer(SECRET)):
        assert get(pages, "/policies", headers={**HTML, **good}).status == 200
    bare = {"Authorization": "Basic"}
    for bad in (basic(SECRET + "x"), basic(""), basic("x", name=SECRET), bare):
        assert get(pages, "/policies", headers={**HTML, **bad}).status == 401


def test_dashboard_needs_access(start_berth):
    berth = start_berth("--pages-listen", "0.0.0.0:0", "--no-dashboard")
    pages = pages_of(berth)
    assert get(pages, "/policies", headers=HTML).status == 403


# --- names ---


@pytest.mark.parametrize("where", ["verbs", "pages"])
def test_host_names(start_berth, where):
    berth = start_berth(
        "--pages-listen", "127.0.0.1:0", "--pages-host", "berth.example.org", "--pages-host", "b"
    )
    listener = berth if where == "verbs" else pages_of(berth)
    for host in ("berth.example.org", "BERTH.example.ORG:8080", "b:1", "localhost", "127.0.0.1:1"):
        assert get(listener, "/", headers={**HTML, "Host": host}).status == 200, host
    for host in ("example.org", "x.berth.example.org", "bb", "berth.example.org.", "b.b:1"):
        reply = get(listener, "/", headers={"Host": host})
        assert reply.status == 403 and "--pages-host" in reply.error(), host
        page = get(listener, "/", headers={**HTML, "Host": host})
        assert page.status == 403 and "--pages-host" in page.text, host
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]


# --- errors ---


def test_browsers_get_pages_about_errors(start_berth):
    berth = start_berth()
    page = get(berth, "/no/such&page", headers=HTML)
    assert page.status == 404 and page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "There is no page <b>/no/such&amp;page</b>" in page.text
    assert 'action="/search"' in page.text and 'href="/policies"' in page.text
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    assert get(berth, "/no/such").error() == "berth: no such path; / lists all paths"
    wrong = ask(berth, "POST", "/policies", headers=HTML)
    assert wrong.status == 405 and "wrong method" in wrong.text and "<h1>" in wrong.text
    assert ask(berth, "POST", "/policies").error() == "berth: wrong method for this path"


def test_browsers_get_pages_about_errors_without_a_dashboard(start_berth):
    berth = start_berth("--no-dashboard")
    page = get(berth, "/no/such", headers=HTML)
    assert page.status == 404 and "no such path" in page.text and "<h1>" in page.text
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert get(berth, "/no/such").error() == "berth: no such path; / lists all paths"


def test_rejects_invalid_host_names(berth_path):
    for name in ("http://b", "b:80", "", "B C"):
        result = subprocess.run(
            [berth_path, "serve", "--pages-host", name], capture_output=True, text=True, timeout=PATIENCE
        )
        assert result.returncode == 2 and "pages-host" in result.stderr


# --- what-if: the only page that accepts a body ---


def test_what_if_refuses_other_origins(start_berth):
    berth = start_berth("--pages-listen", "127.0.0.1:0")
    for listener in (berth, pages_of(berth)):
        host = f"127.0.0.1:{listener.port}"
        own = {"Origin": f"http://{host}", "Host": host}
        for headers in ({}, own, {**own, "Origin": f"https://{host}"}):
            assert what_if(listener, **headers).status not in (403, 405, 413), headers
        others = ("http://evil.example", "null", f"http://{host}.evil", "http://127.0.0.1", "")
        for origin in others:
            assert what_if(listener, **{**own, "Origin": origin}).status == 403, origin
        for kind in ("application/yaml", "text/yaml", "Application/JSON; charset=utf-8"):
            assert what_if(listener, kind=kind).status != 403
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            assert what_if(listener, kind=kind).status == 403
        reply = get(listener, "/api/v1/what-if")
        assert reply.status == 405 and reply.headers["Allow"] == "POST"


def test_what_if_is_limited(start_berth):
    berth = start_berth("--pages-listen", "127.0.0.1:0", "--max-memory", "2Gi")
    for listener in (berth, pages_of(berth)):
        assert what_if(listener, b" " * (4 * MIB)).status != 413
        assert what_if(listener, b" " * (4 * MIB + 1)).status == 413


# --- metrics ---


def test_pages_are_counted(start_berth):
    berth = start_berth()
    get(berth, "/policies")
    get(berth, "/api/v1/policies")
    figures = metrics(berth)
    assert figures['berth_requests_total{verb="dashboard",code="200"}'] == 1
    assert figures['berth_requests_total{verb="pages",code="200"}'] == 1
