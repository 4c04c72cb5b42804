"""The dashboard's pages are well-formed, complete without scripts, and escape text of users."""

import gzip
import html
import http.client
import pathlib
import re
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest

from dashboard_page import HTML, read
from client import ask, get, post, write_cluster

ASSETS_MAX = 200 * 1024
ASSETS = pathlib.Path(__file__).resolve().parents[2] / "src" / "dashboard" / "assets"

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>"
QUOTES = "\"' onmouseover='alert(3)' x=\""
BIDI = "safe\u202egpj.exe\u2066"
LONG = "n" * 4096
HOSTILE = [MARKUP, QUOTES, BIDI, "]]>&amp;&lt;", "\ufffe\uffff", "javascript:alert(4)", LONG]

POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: disks}
spec:
  filters:
    - {name: disk, nodeLabels: {disk: ssd}, reason: "slow <b>disk</b> & more \\" onx='"}
    - {name: near, nodeLabels: {zone: a}, reason: far away, unresolvable: true}
  scores:
    - {name: spread, expression: "node.metadata.name == 'n1' ? 100 : 20", weight: 3}
    - {name: flat, expression: "50"}
"""
LABELS = {
    "n1": {"disk": "ssd", "zone": "a"},
    "n2": {"disk": "ssd", "zone": "a", "note": MARKUP},
    "n3": {"disk": "hdd", "zone": "a"},
    MARKUP: {"disk": "hdd", "zone": "b"},
}
PAGES = ["/", "/pods", "/policies", "/nodes", "/sources", "/latency", "/changes", "/what-if"]


def page_of(name, namespace="team", **more):
    return "/pod?" + urlencode({"namespace": namespace, "name": name, **more})


def body(name, *nodes):
    metadata = {"namespace": "team", "name": name, "uid": "uid-" + name[:40]}
    return {"Pod": {"metadata": metadata}, "NodeNames": nodes}


@pytest.fixture(scope="module")
def berth(start_shared, tmp_path_factory):
    files = tmp_path_factory.mktemp("dashboard")
    (files / "policy.yaml").write_text(POLICY)
    nodes = [{"metadata": {"name": n, "labels": labels}} for n, labels in LABELS.items()]
    write_cluster(files / "cluster.json", nodes)
    berth = start_shared("--policy", files / "policy.yaml", "--cluster", files / "cluster.json")
    for _ in range(2):
        assert post(berth, "filter", body("stuck", "n3", MARKUP)).status == 200
    assert post(berth, "filter", body("web", *LABELS, "ghost")).status == 200
    assert post(berth, "prioritize", body("web", "n1", "n2")).status == 200
    bind = {"PodName": "web", "PodNamespace": "team", "PodUID": "uid-web", "Node": "n2"}
    assert post(berth, "bind", bind).status == 200  # there is no API server, and the page shows that
    for name in HOSTILE:
        assert post(berth, "filter", body(name, "n3", name)).status == 200
    return berth


def all_pages():
    pods = [page_of(name) for name in ("stuck", "web", *HOSTILE)]
    whys = [page_of("stuck", node=node) for node in ("n1", "n3", MARKUP, "ghost")]
    return PAGES + pods + whys + ["/node?" + urlencode({"name": name}) for name in ("n1", MARKUP)]


# --- form ---


def assert_inert(page):
    """The page has no inline scripts or styles, and no text that became markup."""
    for element in page.tree.iter():
        for name, value in element.attrib.items():
            assert name != "style" and not name.startswith("on"), (element.tag, name)
            assert not value.strip().lower().startswith("javascript:") or name in (
                "value",
                "title",
            ), (element.tag, name)
        if element.tag == "script":
            assert element.get("src", "").startswith("/assets/") and not (element.text or "")
        assert element.tag not in ("style", "iframe", "object", "embed", "base", "img")


def assert_tells_structure(page):
    tree = page.tree
    ids = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(ids) == len(set(ids)), sorted(i for i in ids if ids.count(i) > 1)
    assert tree.get("lang") == "en" and len(list(tree.iter("h1"))) == 1
    assert tree.find("head/title").text.endswith("berth")
    for table in tree.iter("table"):
        assert table.find("caption") is not None
        assert all(cell.get("scope") for cell in table.iter("th"))
    for label in tree.iter("label"):
        assert label.get("for") in ids or list(label), label.attrib
    for link in tree.iter("a"):
        assert link.get("href") and "".join(link.itertext()).strip(), link.attrib


def test_pages_are_well_formed(berth):
    for path in all_pages():
        page = read(berth, path)
        assert_inert(page)
        assert_tells_structure(page)
        for mark in "\u202e\u2066\u2067\ufeff\x00":
            assert mark not in page.source, path


def test_every_page_has_navigation(berth):
    for path in PAGES:
        tree = read(berth, path).tree
        current = [a.get("href") for a in tree.iter("a") if a.get("aria-current") == "page"]
        assert current == [path]
        sentence = tree.find(".//*[@id='health-summary']")
        assert "berth is" in "".join(sentence.itertext()) and sentence.get("data-live") is not None
        links = [a.get("href") for a in tree.iter("a")]
        assert "/api/v1/bundle?anonymize=true" in links and "#main" in links
        assert tree.find(".//form[@role='search']").get("action") == "/search"


def test_links_have_targets(berth):
    """Follows every link, from the overview and the page of a pod on, each path and query once."""
    known, todo = set(), ["/", page_of("web", node="n3")]
    for path in todo:
        reply = get(berth, path, headers=HTML)
        assert reply.status == 200, path
        if not reply.headers["Content-Type"].startswith("text/html"):
            continue
        for href in re.findall(r'href="([^"#]+)"', reply.text):
            href = html.unescape(href)
            kind = (urlsplit(href).path, tuple(sorted(parse_qs(urlsplit(href).query))))
            if kind not in known and not href.startswith("/api/v1/bundle"):
                known.add(kind)
                todo.append(href)
    assert {path for path, _ in known} >= set(PAGES)


# --- text of users ---


def test_hostile_names_are_text(berth):
    for name in HOSTILE:
        title = read(berth, page_of(name)).tree.find(".//h2[@class='subject']")
        shown = "".join(title.itertext())
        assert shown.startswith("team/")
        if name in (MARKUP, QUOTES):
            assert shown == "team/" + name
        if name == LONG:
            assert shown == "team/" + LONG[:253]  # the maximum length of a name, which is recorded
        if name == BIDI:
            assert shown == "team/safe\\u202egpj.exe\\u2066"
        assert post(berth, "filter", body(name, "n3")).status == 200  # berth still answers
    overview = read(berth, "/pods")
    assert "<script>alert" not in overview.source and html.escape(MARKUP)[:20] in overview.source


def test_search_text_is_escaped(berth):
    page = read(berth, "/pods?q=" + quote(MARKUP))
    assert page.tree.find(".//input[@id='q']").get("value") == MARKUP
    assert "1 pod." in page.main


def test_mistakes_are_pages(berth):
    for path in ("/?x=" + quote(MARKUP), "/pods?state=odd", "/pods?page=0", "/pod", "/?at=later"):
        page = read(berth, path, status=400)
        assert_inert(page)
        assert any(a.get("href") == "/" for a in page.tree.find("body/main").iter("a"))
    assert_inert(read(berth, page_of("nobody", namespace=MARKUP), status=404))


# --- answers ---


def test_why_is_it_pending(berth):
    text = read(berth, page_of("stuck")).main
    assert "0 of 2 nodes passed" in text and "far away (policy disks, rule near)" in text
    assert "kube-scheduler retries when the cluster changes, at the latest at" in text
    assert "kube-scheduler did not send 2 of 4 nodes" in text
    assert 'label disk is "hdd", must be "ssd"' in text
    assert "label disk=ssd on the node: then n3 passes" in text
    assert "berth explain --last team/stuck --server " + berth.url in text
    assert "kubectl berth explain --last team/stuck" in text
    first = read(berth, page_of("stuck", id=1)).main
    assert "Attempt 1 of 2" in first and "follow the newest" in first


def test_why_not_that_node(berth):
    text = read(berth, page_of("stuck", node="n1")).main
    assert "n1: ⊘ not evaluated by berth" in text and "It fails no rule" in text
    text = read(berth, page_of("stuck", node="n3")).main
    assert "To pass, it needs label disk=ssd on the node" in text
    text = read(berth, page_of("web", node="ghost")).main
    assert "unknown to berth" in text


def test_why_that_node(berth):
    page = read(berth, page_of("web"))
    assert page.rows("order-table") == [
        ["1", "n1", "9", "87.5", "75 spread 12.5 flat"],
        ["2", "n2", "3", "27.5", "15 spread 12.5 flat"],
    ]
    text = page.main
    assert "at weight 1 kube-scheduler adds the score sent × 10 (0 to 100) to its own" in text


def test_page_shows_an_earlier_time(berth):
    early = read(berth, "/?at=2020-01-02T03:04:05Z")
    assert "This link shows the state as of" in early.main
    assert "team/stuck" not in early.main.split("Newest decisions")[1]
    link = read(berth, page_of("stuck")).tree.find(".//*[@id='permalink']").get("href")
    assert re.search(r"^/pod\?namespace=team&name=stuck&at=\d{4}-", link)
    assert "Attempt 2 of 2" in read(berth, link).main


# --- headers and assets ---


def test_headers(berth):
    for path in ("/", "/pods?x=1", "/assets/dashboard.css", "/assets/none.js"):
        headers = get(berth, path, headers=HTML).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        for part in ("script-src 'self'", "frame-ancestors 'none'", "trusted-types 'none'"):
            assert part in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert get(berth, "/", headers=HTML).headers["Cache-Control"] == "no-store"


def packed(berth, name, **headers):
    """Does not use get() of client.py, because the body is not text."""
    connection = http.client.HTTPConnection(berth.host, berth.port)
    try:
        connection.request("GET", "/assets/" + name, headers={"Accept-Encoding": "gzip", **headers})
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def test_assets(berth):
    whole = 0
    for file in sorted(ASSETS.iterdir()):
        reply, data = packed(berth, file.name)
        assert reply.status == 200 and reply.headers["Content-Encoding"] == "gzip", file.name
        assert gzip.decompress(data) == file.read_bytes()
        assert reply.headers["Cache-Control"] == "no-cache"
        assert reply.headers["Vary"] == "Accept-Encoding"
        again, nothing = packed(berth, file.name, **{"If-None-Match": reply.headers["ETag"]})
        assert again.status == 304 and not nothing
        plain = get(berth, "/assets/" + file.name)
        assert plain.body == file.read_bytes() and plain.headers["Content-Encoding"] is None
        assert plain.headers["ETag"] != reply.headers["ETag"]
        head = ask(berth, "HEAD", "/assets/" + file.name)
        assert head.status == 200 and not head.body
        whole += len(data)
    assert 0 < whole <= ASSETS_MAX
