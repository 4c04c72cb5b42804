"""Metrics match the sent requests, in a format that promtool accepts."""

import os
import re
import ssl
import subprocess
import time

import pytest

from client import (
    PATIENCE,
    ask,
    fixture_body,
    get,
    metrics,
    open_connection,
    post,
    wait_for_figures,
    write_cluster,
)
from prometheus import run_promtool

POLICY = """\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: zones}
spec:
  filters:
    - {name: zone, nodeLabels: {zone: {in: [a, b]}}, reason: wrong zone, unresolvable: true}
    - {name: disk, nodeLabels: {disk: ssd}, reason: slow disk}
    - {name: never-rejects, nodeLabels: {zone: {notIn: [x]}}, reason: no node is in x}
  scores:
    - {name: near, nodeLabelPreference: {key: zone, values: {a: 100}, otherwise: 0}}
---
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: trial}
spec:
  mode: Observe
  filters:
    - {name: gpu, nodeLabels: {gpu: "yes"}, reason: no gpu}
    - {name: zone, nodeLabels: {zone: a}, reason: not in a}
"""
LABELS = {
    "n1": {"zone": "a", "disk": "ssd", "gpu": "yes"},
    "n2": {"zone": "b", "disk": "ssd", "gpu": "yes"},
    "n3": {"zone": "b", "disk": "hdd"},
    "n4": {"zone": "c", "disk": "hdd"},
}
VERBS = ["filter", "prioritize", "preempt", "bind"]


@pytest.fixture
def berth(start_logged, tmp_path):
    (tmp_path / "policy.yaml").write_text(POLICY)
    nodes = [{"metadata": {"name": n, "labels": labels}} for n, labels in LABELS.items()]
    cluster = write_cluster(tmp_path / "cluster.json", nodes)
    return start_logged("--policy", tmp_path / "policy.yaml", "--cluster", cluster)


def by_verb(name, **values):
    return {f'{name}{{verb="{verb}"}}': values.get(verb, 0) for verb in VERBS}


def test_series_are_there_from_the_start(berth):
    """Series exist before the first event, because a rate misses the first increment of a new series."""
    figures = metrics(berth)
    for verb in VERBS:
        assert figures[f'berth_requests_total{{verb="{verb}",code="200"}}'] == 0
        assert figures[f'berth_request_duration_seconds_count{{verb="{verb}"}}'] == 0
    for policy, rule in (("zones", "zone"), ("zones", "disk"), ("trial", "gpu")):
        label = f'{{policy="{policy}",rule="{rule}"}}'
        assert figures["berth_nodes_rejected_total" + label] == 0
        assert figures["berth_nodes_observed_total" + label] == 0
    assert figures["berth_policies"] == 2
    assert figures["berth_cluster_nodes"] == 4
    assert figures["berth_nodes_unknown_total"] == 0
    page = get(berth, "/metrics")
    assert page.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    head = ask(berth, "HEAD", "/metrics")
    assert head.status == 200 and head.body == b""


def assert_durations(figures, verb, elapsed):
    """The histogram of @verb is complete and ordered, and its sum is not more than the elapsed time."""
    name = "berth_request_duration_seconds"
    assert 0 < figures[f'{name}_sum{{verb="{verb}"}}'] < elapsed
    bucket = rf'{name}_bucket{{verb="{verb}",le="(.*)"}}'
    buckets = [
        (float(m[1].replace("+", "")), value)
        for m, value in ((re.fullmatch(bucket, k), v) for k, v in figures.items())
        if m
    ]
    assert [le for le, _ in buckets] == sorted(le for le, _ in buckets)
    counts = [value for _, value in buckets]
    assert counts == sorted(counts)  # each bucket includes the earlier ones
    assert buckets[-1][0] == float("inf")
    assert counts[-1] == figures[f'{name}_count{{verb="{verb}"}}']


def test_requests_are_counted_by_verb_and_code(berth):
    names = b'{"Pod":{},"NodeNames":["n1","n2","n3","n4","ghost"]}'
    meta = b'{"Pod":{},"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"u"}]},"n4":{}}}'
    bind = b'{"PodName":"a","PodNamespace":"b","PodUID":"c","Node":"n1"}'
    bytes_in, bytes_out = dict.fromkeys(VERBS, 0), dict.fromkeys(VERBS, 0)
    connection = open_connection(berth)

    def send(verb, body, status):
        reply = post(berth, verb, body, connection)
        assert reply.status == status
        verb = {"predicates": "filter", "priority": "prioritize"}.get(verb, verb)
        bytes_in[verb] += len(body)
        bytes_out[verb] += len(reply.body)

    before = time.monotonic()
    for verb in ("filter", "filter", "predicates"):
        send(verb, names, 200)
    send("filter", b"{", 400)
    send("prioritize", names, 200)
    send("priority", b'{"Pod":{},"NodeNames":["n1"]}', 200)
    send("prioritize", b"", 400)
    send("preempt", meta, 200)
    send("preempt", b"null", 400)
    send("bind", bind, 200)
    connection.close()

    figures = wait_for_figures(
        berth,
        {
            'berth_requests_total{verb="filter",code="200"}': 3,
            'berth_requests_total{verb="filter",code="400"}': 1,
            'berth_requests_total{verb="prioritize",code="200"}': 2,
            'berth_requests_total{verb="prioritize",code="400"}': 1,
            'berth_requests_total{verb="preempt",code="200"}': 1,
            'berth_requests_total{verb="preempt",code="400"}': 1,
            'berth_requests_total{verb="bind",code="200"}': 1,
            **by_verb(
                "berth_request_duration_seconds_count", filter=4, prioritize=3, preempt=2, bind=1
            ),
            **by_verb("berth_request_bytes_total", **bytes_in),
            **by_verb("berth_reply_bytes_total", **bytes_out),
            **by_verb("berth_nodes_in_total", filter=15, prioritize=6, preempt=2, bind=1),
            # Rejected requests, and the failed bind.
            **by_verb("berth_errors_total", filter=1, prioritize=1, preempt=1, bind=1),
            # Each rejected node counts once, for the rule that rejected it.
            'berth_nodes_rejected_total{policy="zones",rule="zone"}': 3,
            'berth_nodes_rejected_total{policy="zones",rule="disk"}': 3,
            'berth_nodes_rejected_total{policy="zones",rule="never-rejects"}': 0,
            'berth_nodes_rejected_total{policy="trial",rule="gpu"}': 0,
            'berth_nodes_rejected_total{policy="trial",rule="zone"}': 0,
            'berth_nodes_observed_total{policy="zones",rule="zone"}': 0,
            # n2 fails zone; n3 and n4 fail gpu, which comes first.
            'berth_nodes_observed_total{policy="trial",rule="gpu"}': 6,
            'berth_nodes_observed_total{policy="trial",rule="zone"}': 3,
            "berth_nodes_unknown_total": 3,
        },
    )
    elapsed = time.monotonic() - before
    for verb in VERBS:
        assert_durations(figures, verb, elapsed)


def test_other_requests_are_counted_too(berth):
    assert get(berth, "/livez").status == 200
    assert get(berth, "/readyz?verbose").status == 200
    assert ask(berth, "HEAD", "/healthz").status == 200
    assert get(berth, "/nothing").status == 404
    assert get(berth, "/filter").status == 405
    assert get(berth, "/version").status == 200
    wait_for_figures(
        berth,
        {
            'berth_requests_total{verb="health",code="200"}': 3,
            'berth_requests_total{verb="other",code="404"}': 1,
            'berth_requests_total{verb="other",code="200"}': 1,
            'berth_requests_total{verb="filter",code="405"}': 1,
        },
    )


def test_refusals_are_counted_by_cause(start_logged):
    berth = start_logged("--max-body", "1Ki", "--max-header", "2Ki")
    assert ask(berth, "POST", "/filter", b"x" * 2000).status == 413
    assert ask(berth, "POST", "/filter", b"{}", {"X": "y" * 4000}).status == 431
    assert ask(berth, "POST", "/filter", b"{}", {"Content-Encoding": "gzip"}).status == 415
    wait_for_figures(
        berth,
        {
            'berth_refused_total{cause="body_size"}': 1,
            'berth_refused_total{cause="header_size"}': 1,
            'berth_refused_total{cause="encoding"}': 1,
            'berth_refused_total{cause="memory"}': 0,
        },
    )


def test_no_label_carries_names_of_pods_or_nodes(berth):
    """The number of series depends on the configuration, not on requests."""
    before = set(metrics(berth))
    for i in range(20):
        pod = {"metadata": {"name": f"pod-{i}", "namespace": f"space-{i}"}}
        post(berth, "filter", {"Pod": pod, "NodeNames": [f"node-{i}", "n4"]})
    after = set(metrics(berth))
    assert after - before <= {'berth_requests_total{verb="metrics",code="200"}'}


def test_rules_keep_their_counts_over_a_reload(berth, tmp_path):
    """A counter never decreases, because that would look like a restart."""
    post(berth, "filter", {"Pod": {}, "NodeNames": ["n4"]})
    gone = 'berth_nodes_rejected_total{policy="zones",rule="zone"}'
    wait_for_figures(berth, {gone: 1})
    (tmp_path / "policy.yaml").write_text(POLICY.replace("name: zones", "name: areas"))
    wait_for_figures(
        berth,
        {
            gone: 1,
            'berth_nodes_rejected_total{policy="areas",rule="zone"}': 0,
            'berth_config_last_reload_success{config="policy"}': 1,
            'berth_config_reloads_total{config="policy",result="good"}': 2,
        },
    )


def test_figures_of_the_process_and_its_configuration(berth, start_berth):
    now = time.time()
    figures = metrics(berth)
    version = get(berth, "/version").json()["version"]
    build = [name for name in figures if name.startswith("berth_build_info{")]
    assert len(build) == 1 and f'version="{version}"' in build[0] and figures[build[0]] == 1
    for config in ("policy", "cluster"):
        assert figures[f'berth_config_last_reload_success{{config="{config}"}}'] == 1
        name = f'berth_config_last_reload_success_timestamp_seconds{{config="{config}"}}'
        assert now - 120 < figures[name] <= now + 1
        assert figures[f'berth_config_reloads_total{{config="{config}",result="rejected"}}'] == 0
    # No series for missing parts.
    assert not any("certificate" in name for name in figures)
    assert not any('config="policy"' in name for name in metrics(start_berth()))

    assert now - 120 < figures["process_start_time_seconds"] <= now + 1
    assert 0 < figures["process_cpu_seconds_total"] < 120
    resident = figures["process_resident_memory_bytes"]
    assert abs(resident / 1024 - berth.rss_kib()) < 64 * 1024
    assert figures["process_virtual_memory_bytes"] > resident
    open_fds = len(os.listdir(f"/proc/{berth.proc.pid}/fd"))
    assert abs(figures["process_open_fds"] - open_fds) <= 2  # for example its own connection
    assert figures["process_open_fds"] < figures["process_max_fds"]
    assert figures["berth_connections"] == 1
    assert figures["berth_request_memory_bytes"] == 0


def test_metric_has_the_certificate_expiry(start_berth, tmp_path):
    key, certificate = tmp_path / "tls.key", tmp_path / "tls.crt"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 12"
    command += f" -subj /CN=berth -addext subjectAltName=IP:127.0.0.1 -keyout {key}"
    subprocess.run(
        [*command.split(), "-out", certificate], check=True, capture_output=True, timeout=PATIENCE
    )
    shown = subprocess.run(
        ["openssl", "x509", "-in", certificate, "-noout", "-enddate"],
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    ).stdout
    ends = ssl.cert_time_to_seconds(shown.strip().removeprefix("notAfter="))

    berth = start_berth("--tls-cert", certificate, "--tls-key", key)
    context = ssl.create_default_context(cafile=certificate)
    figures = metrics(berth, context=context)
    assert figures["berth_certificate_expiry_timestamp_seconds"] == ends
    assert figures['berth_config_last_reload_success{config="certificates"}'] == 1


# --- the form ---


def test_each_family_is_in_one_piece(berth):
    """Each family once, HELP and TYPE before its samples, in one piece."""
    post(berth, "filter", fixture_body("filter-nodecache-true"))
    page = get(berth, "/metrics").text
    assert page.endswith("\n") and "\n\n" not in page
    families, current = [], None
    for line in page.splitlines():
        if line.startswith("# HELP "):
            current = line.split()[2]
            assert current not in families
            families.append(current)
            assert len(line.split(None, 3)[3]) > 3
        elif line.startswith("# TYPE "):
            assert line.split()[2] == current
            kind = line.split()[3]
            assert kind in ("counter", "gauge", "histogram")
            assert (kind == "counter") == current.endswith("_total")
        else:
            name = re.match(r"[a-z_]+", line)[0]
            if kind == "histogram":
                name = re.sub(r"_(bucket|sum|count)$", "", name)
            assert name == current


def test_promtool_accepts_metrics(berth):
    post(berth, "filter", {"Pod": {}, "NodeNames": ["n1", "n4", "ghost"]})
    post(berth, "prioritize", b"")
    get(berth, "/nothing")
    result = run_promtool("check", "metrics", input=get(berth, "/metrics").text)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    # promtool detects errors.
    result = run_promtool("check", "metrics", input="# TYPE x counter\nx 1\n")
    assert result.returncode != 0
