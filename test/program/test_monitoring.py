"""The alerts and the Grafana dashboard in deploy/monitoring."""

import json
import re
import subprocess

import pytest
import yaml

from client import REPOSITORY as ROOT
from prometheus import run_promtool

pytestmark = pytest.mark.single_thread

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
    """Names of the metrics in the table of docs/metrics-and-alerts.md; histograms have more."""
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


def test_every_alert_is_tested():
    tested = (FOLDER / "berth-rules.test.yaml").read_text()
    assert all(alert["alert"] in tested for alert in ALERTS)


def test_alerts_are_few():
    assert len(ALERTS) <= 10


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
