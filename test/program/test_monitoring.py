"""The alerts and the Grafana dashboard in deploy/monitoring."""

import json
import os
import re
import subprocess
import types

import pytest
import yaml

from client import PATIENCE, metrics, wait_until
from client import REPOSITORY as ROOT
from prometheus import run_promtool

pytestmark = pytest.mark.single_thread

BERTH = os.environ.get("BERTH", "build/berth")

FOLDER = ROOT / "deploy" / "monitoring"
RULES = yaml.safe_load((FOLDER / "berth-rules.yaml").read_text())
DASHBOARD = json.loads((FOLDER / "berth-dashboard.json").read_text())
PAGE = (ROOT / "docs" / "metrics-and-alerts.md").read_text()

ALL_RULES = [rule for group in RULES["groups"] for rule in group["rules"]]
ALERTS = [rule for rule in ALL_RULES if "alert" in rule]
RECORDS = {rule["record"] for rule in ALL_RULES if "record" in rule}
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = {
    **{rule.get("alert") or rule["record"]: rule["expr"] for rule in ALL_RULES},
    **{panel["title"]: " ".join(each["expr"] for each in panel["targets"]) for panel in PANELS},
}


def find_documented():
    """Names of the metrics in the table of docs/metrics-and-alerts.md, with the series of histograms."""
    rows = re.findall(r"^\| (`(?:berth|process)_.*?) \|", PAGE, re.M)
    names = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
    return names | {f"{name}_bucket" for name in names}


@pytest.mark.parametrize("title", QUERIES)
def test_queries_name_figures_that_berth_has(title):
    used = set(re.findall(r"\b(?:berth|process)[_:][a-z0-9_:]+", QUERIES[title]))
    assert used
    assert used <= find_documented() | RECORDS


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_alerts_have_a_runbook(alert):
    name = alert["alert"]
    assert alert["annotations"]["runbook"] == f"docs/metrics-and-alerts.md#{name.lower()}"
    assert re.search(rf"^#+ {name}$", PAGE, re.M), f"docs/metrics-and-alerts.md has no heading {name}"
    assert alert["labels"]["severity"] in ("warning", "critical")
    assert alert["annotations"]["summary"] and alert["annotations"]["description"]


@pytest.mark.parametrize("words", [["check", "rules", "berth-rules.yaml"],
                                   ["test", "rules", "berth-rules.test.yaml"]], ids=" ".join)  # fmt: skip
def test_promtool_accepts_rules(words):
    done = run_promtool(*words, cwd=FOLDER)
    assert done.returncode == 0, done.stdout + done.stderr


SCRAPES, EVERY_MINUTES = 10, 3
SCRAPED = re.compile(r"berth_(policy_\w+_total|no_eligible_node_total|pending_pods|build_info)\b")


def scrape_demo(folder):
    """Scrapes a demo repeatedly. Some of its pods request GPUs without the toleration."""
    command = [BERTH, "demo", "--pods", "0", "--pace", "1"]
    environment = {**os.environ, "TMPDIR": str(folder)}
    output = folder / "output"
    with output.open("w") as file, subprocess.Popen(command, stdout=file, env=environment) as demo:
        try:
            found = wait_until(
                lambda: re.search(r"http://127\.0\.0\.1:(\d+)", output.read_text()), "its address"
            )
            berth = types.SimpleNamespace(scheme="http", host="127.0.0.1", port=int(found[1]))
            name = 'berth_policy_no_eligible_node_total{policy="gpu"}'
            for _ in range(SCRAPES):
                before = metrics(berth)[name]
                wait_until(lambda: metrics(berth)[name] >= before + 5, "pods without a GPU")
                yield metrics(berth)
        finally:
            demo.terminate()
            demo.wait(timeout=PATIENCE)


def make_series(pages):
    """Series of promtool's tests: each page is some minutes after the one before."""
    names = sorted({name for page in pages for name in page if SCRAPED.match(name)})
    series = []
    for name in names:
        metric, _, labels = name.partition("{")
        labels = ",".join(['job="berth"', 'instance="demo"', *filter(None, [labels.rstrip("}")])])
        values = " ".join(str(page.get(name, "_")) for page in pages)
        series.append({"series": f"{metric}{{{labels}}}", "values": values})
    return series


def test_alerts_fire_on_the_demos_data(tmp_path):
    pages = list(scrape_demo(tmp_path))
    test = {
        "interval": f"{EVERY_MINUTES}m",
        "input_series": make_series(pages),
        "promql_expr_test": [
            {
                "expr": 'group by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": f"{EVERY_MINUTES * (SCRAPES - 1)}m",
                "exp_samples": [
                    {"labels": '{alertname="BerthPodsPending"}', "value": 1},
                    {"labels": '{alertname="BerthRejectsEverything"}', "value": 1},
                ],
            }
        ],
    }
    # Some of the GPU pods were placed, which an alert for a ratio of 1 would have missed.
    matched, rejected = (
        pages[-1][name] - pages[0][name]
        for name in ('berth_policy_matched_total{policy="gpu"}', 'berth_policy_no_eligible_node_total{policy="gpu"}')
    )
    assert 0 < rejected < matched
    file = tmp_path / "demo.test.yaml"
    rules = {"rule_files": [str(FOLDER / "berth-rules.yaml")], "evaluation_interval": "1m"}
    file.write_text(yaml.safe_dump({**rules, "tests": [test]}))
    done = run_promtool("test", "rules", str(file))
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_tested():
    """Each alert fires in some test."""
    tests = yaml.safe_load((FOLDER / "berth-rules.test.yaml").read_text())["tests"]
    samples = [each for test in tests for query in test.get("promql_expr_test", []) for each in query["exp_samples"]]
    fired = set(re.findall(r'alertname="(\w+)"', "".join(each["labels"] for each in samples)))
    fired |= {each["alertname"] for test in tests for each in test.get("alert_rule_test", []) if each["exp_alerts"]}
    assert fired == {alert["alert"] for alert in ALERTS}


def test_alerts_are_few():
    assert len(ALERTS) <= 12


def test_dashboard_is_generated():
    subprocess.run([ROOT / "tools" / "generate-dashboard", "--check"], check=True)


def test_panels_do_not_overlap():
    taken = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
