"""Pages match the program: output, commands, tables, links and shipped policies."""

import json
import pathlib
import re
import shlex
import subprocess

import pytest

from client import PATIENCE
from doc_pages import MARKS, PAGES, ROOT, Folder, Program, find_blocks, find_harm, find_wrong, is_output

pytestmark = pytest.mark.single_thread

# --- commands in pages ---


@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_pages_show(berth_path, page, tmp_path):
    folder = Folder(tmp_path / "page", pathlib.Path(berth_path).resolve())
    for block in find_blocks(page):
        if block.marks:
            continue
        assert not find_harm(block), f"{block.where}: not for any machine; {', '.join(MARKS)} say why it is not run"
        if block.language == "sh":
            done = folder.run(block.text)
            assert done.returncode == 0, f"{block.where}\n{done.stdout}"
            continue
        for command, output in block.commands():
            printed = folder.run(command).stdout
            if not is_output(output, printed):
                assert printed == output, f"{block.where}: {command}"


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_are_not_run_could_be(berth_path, page):
    program = Program(berth_path)
    for block in find_blocks(page):
        assert set(block.marks) <= set(MARKS), f"{block.where}: one of {', '.join(MARKS)} says why it is not run"
        if block.marks:
            assert not list(find_wrong(block, program)), block.where


@pytest.mark.parametrize("page", PAGES)
def test_commands_within_sentences_could_be_run(berth_path, page):
    program = Program(berth_path)
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(), flags=re.M | re.S)
    for command in re.findall(r"`(?:build/)?(?:kubectl )?berth\s+([a-z][^`]*)`", text):
        words = shlex.split(re.sub(r"…|\|.*", "", command).replace("\n", " "))
        if words[0] in program.commands or any(word.startswith("--") for word in words):
            assert not list(program.find_wrong(words)), command


def test_pages_have_examples():
    def count(page):
        return sum(len(list(block.commands())) for block in find_blocks(page, ["console"]) if not block.marks)

    assert count("README.md") >= 3 and count("docs/cel.md") >= 4 and count("docs/install.md") >= 4


def anchors(page):
    """The anchors that GitHub generates for headings."""
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(), flags=re.M | re.S)
    for heading in re.findall(r"^#+ +(.*)$", text, re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", [*PAGES, "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_have_targets(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", (ROOT / page).read_text()):
        path, _, anchor = target.partition("#")
        if "://" in target or "://" in path:
            continue
        there = (ROOT / page).parent / path if path else ROOT / page
        assert there.exists(), f"{page}: {target}"
        if anchor:
            assert anchor in anchors(there.resolve().relative_to(ROOT)), f"{page}: {target}"


def test_tests_that_the_threat_model_names_are_there():
    text = (ROOT / "docs/threat-model.md").read_text()
    named = re.findall(r"`((?:test|src)/[\w./-]*)`", text)
    assert len(named) > 15
    assert [path for path in named if not (ROOT / path).exists()] == []
    threats = re.findall(r"^\| (T\d+) \|", text, re.M)
    assert len(threats) > 20
    assert threats == [f"T{i + 1}" for i in range(len(threats))]


# --- troubleshooting ---

TROUBLE = "docs/troubleshooting.md"


def test_every_check_is_explained(berth_path):
    """Each code has a heading with the program's title and meaning, and there are no other headings."""
    done = subprocess.run([berth_path, "check", "--codes"], capture_output=True, text=True, timeout=60, check=True)
    checks = re.findall(r"^\| (B\d+) \| \w+ \| (.*) \| (.*) \|$", done.stdout, re.M)
    text = (ROOT / TROUBLE).read_text()
    documented = re.findall(r"^### (B\d+)\n\n\*\*(.*)\.\*\* (.*)\n\n\S", text, re.M)
    assert documented == checks
    assert f"{len(checks)} checks" in (ROOT / "README.md").read_text()
    assert re.findall(r"\bB\d{3}\b", text) and set(re.findall(r"\bB\d{3}\b", text)) <= {code for code, _, _ in checks}


def literals(*paths):
    """String literals of C files, with adjacent literals joined and formats as "…"."""
    for path in paths:
        source = re.sub(r"/\*(?:.|\n)*?\*/|^ *#include.*$", "", path.read_text(), flags=re.M)
        for found in re.findall(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', source):
            text = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', found))
            yield re.sub(r"%[-.*0-9]*(?:l|z)*[a-z]", "…", text).replace('\\"', '"').strip('"')


def quoted_texts():
    """Texts of berth that troubleshooting.md quotes: first cells of tables, except texts of kube-scheduler."""
    section = re.search(r"^## Texts in events$(.*?)^## Checks$", (ROOT / TROUBLE).read_text(), re.M | re.S)[1]
    section = re.sub(r"^### Texts of kube-scheduler.*?(?=^### )", "", section, flags=re.M | re.S)
    for cell in re.findall(r"^\| (`.*?) \|", section, re.M):
        yield from re.findall(r"`([^`]+)`", cell)


def test_quoted_texts_are_those_of_the_source():
    in_source = "\n".join(literals(*(path for path in ROOT.glob("src/*/*.[ch]") if not path.name.startswith("test-"))))
    parts = [part for text in quoted_texts() for part in re.split(r"\s*…\s*", text) if len(part) > 2]
    assert len(parts) > 40
    assert [part for part in parts if part.strip(".;, ") not in in_source] == []


def test_every_error_of_a_verb_is_quoted():
    """Texts that users see in `Error`."""
    verbs = [path for path in ROOT.glob("src/extender/*.c") if not path.name.startswith(("test-", "fuzz-"))]
    binds = [ROOT / "src/kube" / name for name in ("binder.c", "binding.c", "cluster-watcher-lease.c")]
    verbs += [ROOT / "src" / name for name in ("live/live.c", "serve/answers.c")]
    in_source = {text for text in literals(*verbs) if text.startswith("berth: ")}
    in_source |= {text for text in literals(*binds) if re.match(r"(?:it|the|this|too|…) [a-z]", text)}
    documented = [re.compile("(?:.*)".join(map(re.escape, re.split("…", text)))) for text in quoted_texts()]
    missing = sorted(text for text in in_source if not any(pattern.match(text) for pattern in documented))
    # kube-scheduler shows only the status of these; the last two are parts of others
    unseen = ("berth: no such path", "berth: wrong method", "berth: this path accepts no body", "berth: a client certificate",
              "berth: the page needs", "berth: verbs are not for browsers", "the answer is no pod", "the pod has no node")
    assert [text for text in missing if not text.startswith(unseen)] == []
    assert len(in_source) > 25


# --- generated tables, and shipped files ---


def test_call_trees_match_the_source():
    """A function in the call trees of docs/architecture.md exists in the file beside it."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    sources = {str(p.relative_to(ROOT / "src")): p.read_text() for p in (ROOT / "src").rglob("*.c")}
    n_seen = 0
    for line in text.splitlines():
        found = re.match(r"[│ ]*[├└]─ (\w+(?: ─ \w+)*) *(\w+/[\w-]+\.c)?", line)
        if not found:
            continue
        *outer, last = found[1].split(" ─ ")
        where = [sources[found[2]]] if found[2] else sources.values()
        assert any(re.search(rf"^\w.*\b{last}\(", s, re.M) for s in where), line
        for name in outer:
            assert any(re.search(rf"^\w.*\b{name}\(", s, re.M) for s in sources.values()), line
        n_seen += 1
    assert n_seen > 30


def test_documented_limits_are_in_the_source():
    """Limits in docs/limits.md are defined in the source, and files that it and docs/architecture.md name exist."""
    limits = (ROOT / "docs" / "limits.md").read_text()
    text = (ROOT / "docs" / "architecture.md").read_text() + limits
    sources = "".join(p.read_text() for p in (ROOT / "src").rglob("*.[ch]"))
    names = re.findall(r"`([A-Z][A-Z_]+)`", limits)
    assert len(names) > 90
    assert [name for name in names if not re.search(rf"^#define {name}\b", sources, re.M)] == []
    paths = re.findall(r"`(?:src/)?([a-z]+/[\w*-]+\.[ch])`", text)
    assert len(paths) > 40
    assert [path for path in paths if not list((ROOT / "src").glob(path))] == []


def test_glossary_types_are_in_the_source():
    """A type in the table of docs/architecture.md is declared in the folder of the header beside it."""
    section = (ROOT / "docs/architecture.md").read_text().split("## Words in the code", 1)[1]
    rows = re.findall(r"^\| (.+?) \| .+ \| `([\w./-]+)` \|$", section, re.M)
    assert 40 < len(rows) <= 75
    for words, path in rows:
        header = ROOT / "src" / path
        assert header.exists(), path
        declared = "".join(p.read_text() for p in header.parent.glob("*.h") if not p.name.startswith("test-"))
        for name in re.findall(r"`(\w+)`", words):
            assert re.search(rf"^typedef (?:struct|enum) {name}\b|^}} {name};", declared, re.M), words


def test_compatibility_is_of_the_releases():
    """Each row of docs/compatibility.md is a release of `make compat` with its kube-apiserver, and all tests passed."""
    releases = re.findall(r"^v(\S+) +v(\S+)$", (ROOT / "test/e2e/releases").read_text(), re.M)
    rows = re.findall(r"^\| \d+\.\d+ \|(.*)\|$", (ROOT / "docs/compatibility.md").read_text(), re.M)
    shown = [tuple(cell.strip() for cell in row.split("|")) for row in rows]
    assert releases[0] in [row[:2] for row in shown], "the newest is not in the table: tools/compat --write MINOR"
    for row in shown:
        assert row[:2] in releases, f"{row[0]}: tools/compat --write MINOR"
        assert all(re.fullmatch(r"\d+|–", cell) for cell in row[3:]), row


def test_glossary_is_short():
    assert len(re.findall(r"^\| (?!word |---)", (ROOT / "docs/glossary.md").read_text(), re.M)) <= 25


def test_every_function_is_documented(berth_path):
    """docs/cel.md lists exactly the functions of `berth eval --functions`."""
    done = subprocess.run([berth_path, "eval", "--functions"], capture_output=True, text=True, timeout=60, check=True)
    page = (ROOT / "docs/cel.md").read_text()
    assert re.search(r"```text\n(.*?)```", page, re.S)[1] == done.stdout


def test_every_macro_is_documented():
    """docs/cel.md lists exactly the macros of src/cel/macro.c."""
    table = (ROOT / "src/cel/macro.c").read_text()
    names = re.findall(r'(?:LOOP\(|\.name = STR\()"(\w+)"', table)
    names += [f"{space}.{name}".strip(".") for space, name in re.findall(r'SPACE\("(\w*)", "(\w+)"', table)]
    names += [f"cel.{name}" for name in re.findall(r'\bNAME\("(\w+)"', table)]
    documented = re.search(r" Macros\n(.*?)\n\n", (ROOT / "docs/cel.md").read_text(), re.S)[1]
    assert set(re.findall(r"`([\w.]+)`", documented)) == set(names)


def test_policy_in_the_readme_is_the_example():
    blocks = re.findall(r"```yaml\n(apiVersion.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert blocks[0] == (ROOT / "examples/policy.yaml").read_text()


def test_figures_in_the_readme_are_those_of_the_benchmarks():
    figures = re.search(r"^\| cluster \| no extender (?:.*\n)+?(?!\|)", (ROOT / "README.md").read_text(), re.M)[0]
    page = (ROOT / "docs/benchmarks.md").read_text()
    assert figures in page
    memory = re.search(r"Memory: (\d+ MiB)", (ROOT / "README.md").read_text())[1]
    assert f"| **berth** | {memory} |" in page


def test_readme_is_short():
    assert (ROOT / "README.md").read_text().count("\n") <= 150


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
    """The example has every rule; the page and the schema equal the program's output."""
    kinds = re.findall(r'const RuleKind kind_\w+ = \{\s*(?:\.field = )?STR\("(\w+)"\)',
                       "".join(p.read_text() for p in (ROOT / "src/policy").glob("kind-*.c")))
    checked = subprocess.run([berth_path, "check", "-o", "json", "examples/every-rule.yaml"], cwd=ROOT,
                             capture_output=True, text=True, timeout=60, check=True)
    checked = json.loads(checked.stdout)
    assert len(kinds) == 27  # nodeAge is a filter and a score
    assert sorted(kinds) == sorted({(rule["type"], rule["kind"]): rule["kind"] for rule in checked["rules"]}.values())
    assert checked["warnings"] == 0
    done = subprocess.run([ROOT / "tools/generate-docs", berth_path, "--check"], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_every_metric_is_documented(start_berth):
    import urllib.request

    berth = start_berth()
    with urllib.request.urlopen(f"{berth.url}/metrics", timeout=PATIENCE) as reply:
        names = re.findall(r"^# TYPE (\w+) ", reply.read().decode(), re.M)
    names += re.findall(r'"(berth_[a-z_]+)"', "".join(p.read_text() for p in (ROOT / "src/monitor").glob("*.c")))
    manual = (ROOT / "docs/metrics-and-alerts.md").read_text()
    assert len(names) > 40
    assert [name for name in names if f"`{name}`" not in manual] == []
