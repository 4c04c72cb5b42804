"""What-if: replays recorded decisions with other policies."""

import json
import subprocess

import pytest
import yaml

from client import PATIENCE, ask, get, post, wait_until
from test_bundle import NODES, POLICY, decide, equal_of, files, pod, run, text_of  # noqa: F401

OTHER = POLICY.replace("params: {maxPods: 3}", "params: {maxPods: 1}")


@pytest.fixture
def berth(start_berth, files):  # noqa: F811
    berth = start_berth("--policy", files / "policy.yaml", "--cluster", files / "cluster.json")
    for i in range(5):
        assert decide(berth, f"kraken-{i}")
    return berth


def what_if(berth_path, berth, *arguments):
    return run(berth_path, "what-if", "--server", berth.url, *arguments)


# --- the command ---


def test_self_check(berth_path, berth):
    text = text_of(what_if(berth_path, berth))
    assert equal_of(text) == (10, 10)
    assert "10 decisions about 5 pods" in text and "not replayed" not in text


def test_last_limits_the_replayed_decisions(berth_path, berth):
    assert equal_of(text_of(what_if(berth_path, berth, "--last", 3))) == (3, 3)


def test_changed_threshold(berth_path, berth, tmp_path):
    (tmp_path / "other.yaml").write_text(OTHER)
    text = text_of(what_if(berth_path, berth, "--policy", tmp_path / "other.yaml"))
    equal, of = equal_of(text)
    assert equal < of == 10
    assert "zones/full" in text and "other nodes" in text
    assert "vault/kraken-4" in text
    assert "1,200" in text and "not replayed" in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_verdict_on_nominated_node_is_no_rejection_of_the_pod(berth_path, start_berth, files):  # noqa: F811
    """kube-scheduler first sends only the nominated node, and the others if it is rejected."""
    berth = start_berth("--policy", files / "policy.yaml", "--cluster", files / "cluster.json")
    for nominated in (NODES[0], NODES[1]):
        asked = {**pod("kraken-0", app="kraken"), "status": {"nominatedNodeName": nominated}}
        assert post(berth, "filter", {"Pod": asked, "NodeNames": NODES[:1]}).json()["NodeNames"]
    arguments = ["--set", "zones.params.maxPods=0"]
    text = text_of(what_if(berth_path, berth, *arguments))
    assert "nominated              1" in text
    page = json.loads(text_of(what_if(berth_path, berth, *arguments, "-o", "json")))
    assert page["changes"]["nominated"] == page["changes"]["newly-rejected"] == 1
    assert {case["id"]: case["change"] for case in page["cases"]} == {1: "nominated", 2: "newly-rejected"}


def test_newly_rejected(berth_path, berth):
    arguments = ["--set", "zones.params.maxPods=0"]
    text = text_of(what_if(berth_path, berth, *arguments))
    assert "5 pods newly rejected" in text
    page = json.loads(text_of(what_if(berth_path, berth, *arguments, "-o", "json")))
    assert page["changes"]["newly-rejected"] == 5 and page["decisions"] == 10
    (rule,) = page["rules"]
    assert rule["rule"] == "full" and rule["rejectedAfter"] > rule["rejectedBefore"] == 0
    assert {c["pod"]["name"] for c in page["cases"]} == {f"kraken-{i}" for i in range(5)}


def test_weight(berth_path, berth):
    text = text_of(what_if(berth_path, berth, "--set", "zones.near.weight=0.01", "--all"))
    assert equal_of(text)[0] == 5  # filters
    assert "other best" in text


@pytest.mark.parametrize(
    "setting,fail_on,status",
    [
        ("zones.params.maxPods=0", "newly-rejected", 1),
        ("zones.params.maxPods=0", "any", 1),
        ("zones.near.weight=0.01", "newly-rejected", 0),
        ("zones.near.weight=0.01", "any", 1),
        ("zones.params.maxPods=3", "any", 0),
    ],
)
def test_fail_on(berth_path, berth, setting, fail_on, status):
    result = what_if(berth_path, berth, "--set", setting, "--fail-on", fail_on)
    assert result.returncode == status, result.stderr


@pytest.mark.parametrize(
    "arguments,status,text",
    [
        (["--set", "zone.params.maxPods=1"], 2, 'did you mean "zones"?'),
        (["--set", "zones.params.maxPod=1"], 2, 'did you mean "maxPods"?'),
        (["--set", "zones.ful.reason=x"], 2, 'did you mean "full"?'),
        (["--set", "zones.near.weigth=1"], 2, 'did you mean "weight"?'),
        (["--set", "zones"], 2, "PATH=VALUE"),
        (["--set", "zones.near.weight=-1"], 1, "weight"),
        (["--fail-on", "sunday"], 2, "newly-rejected or any"),
        (["--last", "0"], 2, "last"),
        (["--policy", "/nonexistent.yaml"], 3, "nonexistent"),
        (["--bundle", "x"], 2, "no server is contacted"),
        (["extra"], 2, "options only"),
    ],
)
def test_mistakes(berth_path, berth, arguments, status, text):
    result = what_if(berth_path, berth, *arguments)
    assert result.returncode == status, result.stderr
    assert text in result.stderr.decode()


def test_errors_in_values_point_into_the_setting(berth_path, berth):
    result = what_if(berth_path, berth, "--set", "zones.near.weight=heavy")
    assert result.returncode == 1
    assert "--set zones.near.weight:1:19: error: weight must be a number" in result.stderr.decode()
    assert "  1 | zones.near.weight=heavy\n    |                   ^^^^^\n" in result.stderr.decode()


def test_errors_elsewhere_point_into_the_file(berth_path, berth, tmp_path):
    text = POLICY.replace("params: {maxPods: 3}", "params: {maxPods: 3, unused: 1}")
    (tmp_path / "p.yaml").write_text(text + "  nonsense: 1\n")
    result = what_if(berth_path, berth, "--policy", tmp_path / "p.yaml", "--set", "zones.params.maxPods=1")
    line = (text + "x").count("\n") + 1
    assert f"{tmp_path}/p.yaml:{line}:3: error: unknown field" in result.stderr.decode()


def test_keys_with_dots(start_berth, berth_path, files):  # noqa: F811
    (files / "policy.yaml").write_text(
        POLICY.split("spec:")[0] + "spec:\n  filters:\n    - {name: gpu, headroom: {nvidia.com/gpu: 0}}\n"
    )
    berth = start_berth("--policy", files / "policy.yaml", "--cluster", files / "cluster.json")
    decide(berth, "kraken-1")
    for path in ('zones.gpu.headroom["nvidia.com/gpu"]', "zones.gpu.headroom.nvidia.com/gpu"):
        page = json.loads(text_of(what_if(berth_path, berth, "--set", path + "=1", "-o", "json")))
        assert page["changes"]["newly-rejected"] == 1, path
    as_yaml = text_of(what_if(berth_path, berth, "--set", path + "=1", "-o", "yaml"))
    assert yaml.safe_load(as_yaml) == page


def test_policies_on_standard_input(berth_path, berth):
    """The command of the what-if page passes policies this way."""
    result = subprocess.run([berth_path, "what-if", "--policy", "-", "--server", berth.url, "-o", "json"],
                            input=OTHER.encode(), capture_output=True, timeout=PATIENCE)
    page = ask_page(berth, {"policies": [{"name": "other.yaml", "text": OTHER}], "set": {}}).json()
    assert json.loads(result.stdout) == page


def test_policy_with_errors(berth_path, berth, tmp_path):
    (tmp_path / "bad.yaml").write_text(POLICY.replace("maxPods\"", "maxPodz\""))
    result = what_if(berth_path, berth, "--policy", tmp_path / "bad.yaml")
    assert result.returncode == 1
    assert b"bad.yaml:8:" in result.stderr and b"maxPodz" in result.stderr


def test_unreachable(berth_path):
    result = run(berth_path, "what-if", "--server", "http://127.0.0.1:1")
    assert result.returncode == 3


def test_no_colour_in_a_pipe(berth_path, berth):
    result = what_if(berth_path, berth, "--set", "zones.params.maxPods=0")
    assert b"\033" not in result.stdout


def test_reports_decisions_of_older_policies(start_berth, berth_path, files):  # noqa: F811
    berth = start_berth("--policy", files / "policy.yaml", "--cluster", files / "cluster.json")
    decide(berth, "kraken-old")

    def digest():
        return get(berth, "/api/v1/status").json()["policy"]["digest"]

    before = digest()
    (files / "policy.yaml").write_text(OTHER)
    wait_until(lambda: digest() != before, "the new policy")
    decide(berth, "kraken-new")
    text = text_of(what_if(berth_path, berth))
    assert "2 were made by other policies" in text
    equal, of = equal_of(text)
    assert 2 <= equal <= of == 4


# --- the page ---


def ask_page(berth, body, query="", kind="application/json"):
    if not isinstance(body, (bytes, str)):
        body = json.dumps(body)
    return ask(
        berth, "POST", "/api/v1/what-if" + query, body, {"Content-Type": kind}
    )


def test_page(berth):
    body = {"policies": [{"name": "other.yaml", "text": OTHER}], "set": {}}
    page = ask_page(berth, body).json()
    assert page["decisions"] == 10 and page["whole"] is True
    assert page["changes"]["equal"] < 10
    for kind in ("application/yaml", "text/yaml", "Application/YAML; charset=utf-8"):
        assert ask_page(berth, OTHER, kind=kind).json() == page, kind
    assert ask_page(berth, {"set": {"zones.params.maxPods": 1}}).json() == page
    assert ask_page(berth, {"set": {"zones.params.maxPods": 3}}).json()["changes"]["equal"] == 10
    assert ask_page(berth, {}).json()["changes"]["equal"] == 10
    assert ask_page(berth, {}, "?last=4").json()["decisions"] == 4


def test_page_reports_errors(berth):
    reply = ask_page(berth, POLICY.replace("maxPods\"", "maxPodz\""), kind="application/yaml")
    assert reply.status == 400
    page = reply.json()
    assert page["Error"] == "berth: the policies have 1 error"
    (one,) = page["diagnostics"]
    assert one["file"] == "policy.yaml" and one["line"] == 8 and one["column"] > 1
    assert "maxPodz" in one["message"] and "maxPodz" in one["source"]


def test_page_reports_errors_of_settings(berth):
    (one,) = ask_page(berth, {"set": {"zones.near.weight": "heavy"}}).json()["diagnostics"]
    assert (one["file"], one["line"], one["column"]) == ("--set zones.near.weight", 1, 19)
    assert one["source"] == 'zones.near.weight="heavy"'


@pytest.mark.parametrize(
    "body,query,text",
    [
        ("[]", "", "the body is"),
        ('{"policy":1}', "", "the body is"),
        ('{"set":{"zonez.params.maxPods":1}}', "", 'did you mean \\"zones\\"?'),
        ("{}", "?last=0", "from 1 to 10000"),
        ("{}", "?first=1", "unknown parameter"),
    ],
)
def test_page_mistakes(berth, body, query, text):
    reply = ask_page(berth, body, query)
    assert reply.status == 400
    assert text in reply.text


def test_page_is_for_posting(berth):
    assert get(berth, "/api/v1/what-if").status == 405
