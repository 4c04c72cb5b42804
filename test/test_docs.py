"""What the README shows is what the program prints, and every policy we ship can be used."""

import json
import os
import pathlib
import re
import shlex
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def console_commands(page):
    """Each command of a page's console blocks, and what stands below it."""
    for block in re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(), re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


PAGES = ["README.md", "docs/cel.md", "docs/metrics.md", "docs/policy.md"]


@pytest.mark.parametrize("command,output", [example for page in PAGES for example in console_commands(page)])
def test_pages_show_real_output(berth_path, command, output):
    words = shlex.split(command)
    assert words[0] == "build/berth"
    done = subprocess.run([berth_path, *words[1:]], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, env={**os.environ, "NO_COLOR": "1"}, timeout=60, check=False)
    assert done.stdout == output


def test_pages_have_examples():
    assert len(list(console_commands("README.md"))) >= 2
    assert len(list(console_commands("docs/cel.md"))) >= 4


def test_every_function_is_documented(berth_path):
    """docs/cel.md lists what `berth eval --functions` prints, and nothing else."""
    done = subprocess.run([berth_path, "eval", "--functions"], capture_output=True, text=True, timeout=60, check=True)
    page = (ROOT / "docs/cel.md").read_text()
    assert re.search(r"```text\n(.*?)```", page, re.S)[1] == done.stdout


def test_policy_in_the_readme_is_the_example():
    blocks = re.findall(r"```yaml\n(apiVersion.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert blocks[0] == (ROOT / "examples/policy.yaml").read_text()


@pytest.mark.parametrize("path", sorted((ROOT / "policies").glob("*.yaml")), ids=lambda p: p.name)
def test_shipped_policies_are_good(berth_path, path):
    done = subprocess.run([berth_path, "check", path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
    assert "warning" not in done.stdout


def test_policy_documented_in_the_manual_is_good(berth_path, tmp_path):
    text = re.search(r"```yaml\n(.*?)```", (ROOT / "docs/policy.md").read_text(), re.S)[1]
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    done = subprocess.run([berth_path, "check", file], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
    assert "warning" not in done.stdout


def test_every_rule_kind_is_documented(berth_path):
    """The example has every rule; the page and the schema are what the program says."""
    kinds = re.findall(r'\.field = STR\("(\w+)"\)',
                       "".join(p.read_text() for p in (ROOT / "src/policy").glob("kind-*.c")))
    checked = subprocess.run([berth_path, "check", "-o", "json", "examples/every-rule.yaml"], cwd=ROOT,
                             capture_output=True, text=True, timeout=60, check=True)
    checked = json.loads(checked.stdout)
    assert len(kinds) == 26  # nodeAge is a filter and a score
    assert sorted(kinds) == sorted({(rule["type"], rule["kind"]): rule["kind"] for rule in checked["rules"]}.values())
    assert checked["warnings"] == 0
    done = subprocess.run([ROOT / "tools/generate-docs", berth_path, "--check"], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_every_option_of_serve_is_in_its_help(berth_path):
    source = (ROOT / "src/cli/cmd-serve.c").read_text()
    options = re.findall(r'\{"([a-z-]+)", (?:no|required)_argument', source)
    text = subprocess.run([berth_path, "serve", "--help"], capture_output=True, text=True,
                          timeout=60).stdout
    assert len(options) > 15
    assert [o for o in options if f"--{o}" not in text and o != "help"] == []


def test_every_metric_is_documented(start_berth):
    import urllib.request

    berth = start_berth()
    with urllib.request.urlopen(f"{berth.url}/metrics", timeout=30) as reply:
        names = re.findall(r"^# TYPE (\w+) ", reply.read().decode(), re.M)
    names += re.findall(r'"(berth_[a-z_]+)"', "".join(p.read_text() for p in (ROOT / "src/serve").glob("*.c")))
    manual = (ROOT / "docs/operations.md").read_text()
    assert len(names) > 40
    assert [name for name in names if f"`{name}`" not in manual] == []
