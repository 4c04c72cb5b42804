"""Sources in /api/v1/sources, /metrics, /readyz and the log; and sources that
change while it runs."""

import re
import subprocess

import pytest

from client import (
    get,
    log_lines,
    metrics,
    post,
    wait_for_figures,
    wait_until,
    write_cluster,
)
from prometheus import Scripted, by_node, run_promtool, sample

QUERY = "node_load"
NODES = ["n1", "n2", "n3"]


def policy_text(metrics_text, limit=0.8):
    return f"""\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {{name: cool}}
spec:
  metrics:
{metrics_text}
  filters:
    - {{name: hot, expression: "metrics.load < {limit}", reason: hot, onMissing: allow}}
"""


def metric_text(name="load", query=QUERY, source=None, max_age="60s"):
    where = f", source: {source}" if source else ""
    return (
        f"    - {{name: {name}, prometheus: {{query: {query}{where}}}, interval: 1s,"
        f" maxAge: {max_age}, placements: none}}\n"
    )


@pytest.fixture
def server():
    running = Scripted()
    running.set(QUERY, by_node(n1=0.2, n2=0.9))
    yield running
    running.stop()


@pytest.fixture
def cluster(tmp_path):
    return write_cluster(tmp_path / "cluster.json", [{"metadata": {"name": n}} for n in NODES])


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(policy_text(metric_text()))
    return path


@pytest.fixture
def berth(start_logged, server, cluster, policy):
    return start_logged("--policy", policy, "--cluster", cluster, "--prometheus", server.url)


def passed(berth):
    reply = post(berth, "filter", {"Pod": {}, "NodeNames": NODES})
    assert reply.status == 200 and reply.json()["Error"] == ""
    return reply.json()["NodeNames"]


def wait_passed(berth, nodes):
    wait_until(lambda: passed(berth) == nodes, f"{nodes} to pass")


def page(berth):
    reply = get(berth, "/api/v1/sources")
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "application/json"
    return reply.json()


def metric(berth, name="load"):
    found = [m for m in page(berth)["metrics"] if m["name"] == name]
    assert len(found) == 1
    return found[0]


def wait_state(berth, state, name="load"):
    return wait_until(
        lambda: metric(berth, name)["state"] == state and metric(berth, name), f"{name}: {state}"
    )


def wait_covered(berth, n, name="load"):
    """Waits until this many nodes have a current value, a moment after the reply."""
    return wait_until(
        lambda: metric(berth, name)["nodes"]["covered"] == n and metric(berth, name),
        f"{name} of {n} nodes",
    )


def wait_logged(berth, text, n=1):
    wait_until(lambda: len(log_lines(berth, text)) >= n, f"the log to say {n} times: {text}")


# --- the page ---


def test_page(berth, server):
    found = wait_covered(berth, 2)
    assert found["state"] == "ok"
    assert page(berth)["sources"] == [
        {"name": "default", "kind": "prometheus", "url": server.url}
    ]
    assert found["usedBy"] == [{"policy": "cool", "name": "load"}]
    assert (found["kind"], found["source"], found["query"]) == ("prometheus", "default", QUERY)
    assert found["nodes"] == {"covered": 2, "of": 3}
    assert found["uncovered"] == ["n3"] and found["unmatched"] == []
    assert found["series"] == 2 and not any(found["dropped"].values())
    assert (found["intervalSeconds"], found["maxAgeSeconds"]) == (1, 60)
    assert 0 <= found["ageSeconds"] < 30 and 0 < found["querySeconds"] < 10
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", found["lastSuccess"])
    assert "node" in found["join"]
    assert found["error"] == "" and found["failingSince"] is None
    assert passed(berth) == ["n1", "n3"]


def test_dropped(berth, server):
    wait_state(berth, "ok")
    nan, infinite = float("nan"), float("inf")
    server.set(QUERY, by_node(n1=nan, n2=infinite, n3=0.1) + [sample(1, node="ghost")])
    found = wait_covered(berth, 1)
    assert found["series"] == 4
    dropped = {cause: n for cause, n in found["dropped"].items() if n}
    assert dropped == {"nan": 1, "infinite": 1, "no_node": 1}
    assert found["unmatched"] and "ghost" in found["unmatched"][0]


def test_credentials_are_not_shown(start_logged, cluster, policy, tmp_path, server):
    sources = tmp_path / "sources.yaml"
    (tmp_path / "password").write_text("s3cret")
    write_sources(sources, server.url, "basicAuth: {user: somebody, passwordFile: password}")
    berth = start_logged("--policy", policy, "--cluster", cluster, "--sources", sources)
    wait_state(berth, "ok")
    shown = get(berth, "/api/v1/sources").text + get(berth, "/metrics").text
    shown += get(berth, "/readyz?verbose").text + berth.log.read_text()
    assert "s3cret" not in shown and "somebody" not in shown


def test_only_for_reading(berth):
    assert post(berth, "/api/v1/sources", b"{}").status == 405
    assert "/api/v1/sources" in get(berth, "/").text


def test_without_metrics(start_logged, cluster):
    berth = start_logged("--cluster", cluster)
    assert page(berth) == {"sources": [], "metrics": [], "untold": 0}
    assert "berth_source" not in get(berth, "/metrics").text
    assert "sources" not in get(berth, "/readyz?verbose").text


# --- outages ---


def test_down_and_up(start_logged, server, cluster, policy):
    policy.write_text(policy_text(metric_text(max_age="5s")))
    berth = start_logged("--policy", policy, "--cluster", cluster, "--prometheus", server.url)
    wait_passed(berth, ["n1", "n3"])
    wait_logged(berth, "metrics source answers")
    server.refuse()
    server.kill()
    found = wait_state(berth, "failing")
    assert found["error"] and found["failingSince"]
    wait_passed(berth, NODES)  # too old: onMissing
    assert metric(berth)["nodes"] == {"covered": 0, "of": 3}
    reply = get(berth, "/readyz?verbose")
    assert reply.status == 200
    assert "[+]sources ok: 0 of 1 metrics answered; load: " in reply.text
    wait_logged(berth, "metric expired")
    server.listen()
    wait_passed(berth, ["n1", "n3"])
    found = metric(berth)
    assert (found["state"], found["error"], found["failingSince"]) == ("ok", "", None)
    wait_logged(berth, "metric has values again")
    # berth logs changes, but not polls; a short outage causes few lines.
    server.wait_asked(QUERY, 2)
    answers = log_lines(berth, "metrics source answers")
    assert len(answers) <= 2 and "down_ms" not in answers[0]
    assert len(log_lines(berth, "metrics source fails")) <= 1
    (gone,) = log_lines(berth, "metric expired")
    (back,) = log_lines(berth, "metric has values again")
    for line in (gone, back):
        assert "policy=cool metric=load source=default" in line


def test_down_from_the_start(start_logged, server, cluster, policy):
    server.refuse()
    berth = start_logged("--policy", policy, "--cluster", cluster, "--prometheus", server.url)
    wait_logged(berth, "metrics source fails")
    assert "query=node_load" in log_lines(berth, "metrics source fails")[0]
    wait_until(lambda: metric(berth)["requests"]["failed"] >= 2, "another try")
    assert len(log_lines(berth, "metrics source fails")) == 1
    assert not log_lines(berth, "metric expired")  # there was nothing


def test_an_answer_without_series(berth, server):
    """An absent value is not stale; the state of the source reports it."""
    wait_covered(berth, 2)
    server.set(QUERY, [])
    wait_covered(berth, 0)
    assert metric(berth)["state"] == "unjoined"
    server.wait_asked(QUERY)
    server.set(QUERY, by_node(n1=0.2, n2=0.9))
    wait_covered(berth, 2)
    assert not log_lines(berth, "metric expired") and not log_lines(berth, "values again")


def test_figures(berth, server):
    labels = 'policy="cool",metric="load",source="default"'
    wait_covered(berth, 2)
    figures = metrics(berth)
    assert figures[f"berth_source_up{{{labels}}}"] == 1
    assert figures[f"berth_source_nodes_covered{{{labels}}}"] == 2
    assert figures[f"berth_source_nodes{{{labels}}}"] == 3
    assert 0 <= figures[f"berth_source_age_seconds{{{labels}}}"] < 30
    assert figures[f"berth_source_last_success_timestamp_seconds{{{labels}}}"] > 1.7e9
    assert figures[f'berth_source_requests_total{{{labels},result="ok"}}'] >= 1
    assert figures[f'berth_source_requests_total{{{labels},result="failed"}}'] == 0
    server.refuse()
    server.kill()
    wait_until(
        lambda: metrics(berth)[f'berth_source_requests_total{{{labels},result="failed"}}'] >= 1,
        "a failed request to be counted",
    )
    assert metrics(berth)[f"berth_source_up{{{labels}}}"] == 0


def test_promtool_accepts_source_metrics(berth):
    wait_state(berth, "ok")
    done = run_promtool("check", "metrics", input=get(berth, "/metrics").text)
    assert done.returncode == 0, done.stdout + done.stderr


# --- changes while berth runs ---


def write_sources(path, url, more="", name="default"):
    path.write_text(
        "apiVersion: berth.dev/v1alpha1\nkind: MetricSources\nsources:\n"
        f"  - name: {name}\n    url: {url}\n" + (f"    {more}\n" if more else "")
    )


def test_sources_reload(start_logged, server, cluster, policy, tmp_path):
    sources = tmp_path / "sources.yaml"
    other = Scripted()
    other.set(QUERY, by_node(n1=0.9, n2=0.1, n3=0.1))
    try:
        write_sources(sources, server.url)
        berth = start_logged("--policy", policy, "--cluster", cluster, "--sources", sources)
        wait_passed(berth, ["n1", "n3"])
        write_sources(sources, other.url)
        wait_passed(berth, ["n2", "n3"])
        assert page(berth)["sources"][0]["url"] == other.url
        sources.write_text("kind: Nonsense\n")
        wait_until(
            lambda: "[+]sources ok: degraded" in get(berth, "/readyz?verbose").text,
            "the refusal to be shown",
        )
        assert metrics(berth)['berth_config_last_reload_success{config="sources"}'] == 0
        assert page(berth)["sources"][0]["url"] == other.url
        assert passed(berth) == ["n2", "n3"]
        assert log_lines(berth, "new configuration rejected")
        write_sources(sources, server.url)
        wait_passed(berth, ["n1", "n3"])
        wait_for_figures(berth, {'berth_config_last_reload_success{config="sources"}': 1})
    finally:
        other.stop()


def test_policy_reload(berth, server, policy):
    """Values stay after a reload; new metrics are queried at once."""
    wait_passed(berth, ["n1", "n3"])
    policy.write_text(policy_text(metric_text(), limit=0.1))
    wait_passed(berth, ["n3"])
    server.set("node_heat", by_node(n1=0.0, n2=0.0, n3=0.5))
    policy.write_text(policy_text(metric_text(query="node_heat"), limit=0.1))
    wait_passed(berth, ["n1", "n2"])
    assert metric(berth)["query"] == "node_heat"


def test_metrics_come_later(start_logged, server, cluster, policy):
    """A daemon without metrics starts to query after a reload with metrics."""
    text = policy_text(metric_text())
    policy.write_text(text.split("spec:")[0] + "spec: {}\n")
    berth = start_logged("--policy", policy, "--cluster", cluster, "--prometheus", server.url)
    assert page(berth)["metrics"] == []
    policy.write_text(text)
    wait_passed(berth, ["n1", "n3"])


def test_unknown_source(start_logged, server, cluster, policy):
    policy.write_text(policy_text(metric_text(source="elsewhere")))
    berth = start_logged("--policy", policy, "--cluster", cluster, "--prometheus", server.url)
    found = wait_state(berth, "no_source")
    assert "elsewhere" in found["error"]
    assert passed(berth) == NODES
    wait_logged(berth, "elsewhere")


# --- at the start ---


def refused(berth_path, *flags):
    done = subprocess.run(
        [berth_path, "serve", "--listen", "127.0.0.1:0", *map(str, flags)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0 and done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.parametrize("url", ["ftp://prometheus", "prometheus:9090", "http://", ""])
def test_bad_url(berth_path, url):
    status, error = refused(berth_path, "--prometheus", url)
    assert status == 1 and "prometheus" in error


def test_bad_file(berth_path, tmp_path):
    sources = tmp_path / "sources.yaml"
    status, error = refused(berth_path, "--sources", sources)
    assert status == 3 and "sources.yaml" in error
    sources.write_text("sources: [{name: a}]\n")
    status, error = refused(berth_path, "--sources", sources)
    assert status == 1 and "sources.yaml:" in error


def test_without_a_cluster(start_logged, server, policy):
    berth = start_logged("--policy", policy, "--prometheus", server.url)
    assert len(log_lines(berth, "metrics cannot be matched")) == 1
    assert metric(berth)["state"] == "waiting"


def test_ends_while_a_source_hangs(start_logged, server, cluster, policy):
    server.freeze()
    berth = start_logged("--policy", policy, "--cluster", cluster, "--prometheus", server.url)
    wait_until(lambda: server.connections, "a request")
    assert berth.stop() == 0
