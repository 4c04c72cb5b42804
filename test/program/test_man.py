"""Each command has a well-formed manual page with all options of its --help."""

import re
import shutil
import subprocess

import pytest

from client import REPOSITORY as ROOT

pytestmark = pytest.mark.single_thread

PAGES = sorted((ROOT / "man").glob("*.[1-9]"))
SECTIONS = {
    "1": ["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES", "SEE ALSO"],
    "5": ["NAME", "DESCRIPTION", "FIELDS", "EXAMPLES", "SEE ALSO"],
}


def run(berth_path, *arguments):
    return subprocess.run([berth_path, *arguments], capture_output=True, text=True, check=True).stdout


def commands(berth_path):
    return re.findall(r"^  ([a-z-]+) ", run(berth_path, "--help"), re.M)


def option_lines(text):
    return re.findall(r"^  (-.*?)(?:  |$)", text, re.M)


def test_every_command_has_a_page(berth_path):
    wanted = {"berth.1", "berth-policy.5"} | {f"berth-{name}.1" for name in commands(berth_path)}
    assert {page.name for page in PAGES} == wanted


def test_names_are_those_of_help(berth_path):
    for command, summary in re.findall(r"^  ([a-z-]+) +(\S.*)$", run(berth_path, "--help"), re.M):
        page = (ROOT / f"man/berth-{command}.1").read_text()
        assert f".Nm berth-{command}\n.Nd {summary}\n" in page, command


def test_options_are_those_of_help(berth_path):
    """Compares the rendered page, without markup."""
    for command in commands(berth_path):
        page = (ROOT / f"man/berth-{command}.1").read_text()
        items = re.findall(r"^\.It (Fl .*)$", page.partition(".Sh OPTIONS")[2], re.M)
        shown = [re.sub(r"\\&|\\", "", item).replace("Fl ", "-").replace("Ar ", "") for item in items]
        in_help = option_lines(run(berth_path, command, "--help"))
        assert [line.replace(" ,", ",") for line in shown] == in_help, command


def test_headings_are_those_of_help(berth_path):
    """Compares the first line of a paragraph; the rest is prose."""
    for command in commands(berth_path):
        page = (ROOT / f"man/berth-{command}.1").read_text()
        options = page.partition('.\\" options:begin')[2].partition('.\\" options:end')[0]
        for heading in re.findall(r"^\.Ss (.*)$", options, re.M):
            assert f"\n\n{heading}\n" in run(berth_path, command, "--help"), command


def test_man_pages_keep_the_spelling_of_values():
    assert "\npending, hot-node, " in (ROOT / "man/berth-demo.1").read_text()
    assert "\nsecond-scheduler: " in (ROOT / "man/berth-install.1").read_text()
    assert "\nmetrics.NAME in expressions.\n" in (ROOT / "man/berth-policy.5").read_text()


def test_generated_files_are_current(berth_path):
    done = subprocess.run(
        [ROOT / "tools/generate-man", berth_path, "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_fields_of_a_policy(berth_path):
    fields = re.findall(r"^\| `([^`]+)`", run(berth_path, "check", "--format"), re.M)
    page = (ROOT / "man/berth-policy.5").read_text()
    assert re.findall(r"^\.It Ic \\&(.*)$", page, re.M) == fields
    assert len(fields) > 100


def test_example_policy(berth_path, tmp_path):
    page = (ROOT / "man/berth-policy.5").read_text()
    example = re.search(r"^\.Bd -literal\n(apiVersion.*?)^\.Ed", page, re.S | re.M)[1]
    (tmp_path / "policy.yaml").write_text(example)
    done = subprocess.run([berth_path, "check", tmp_path / "policy.yaml"], capture_output=True)
    assert done.returncode == 0, done.stdout


def test_examples_have_options_that_exist(berth_path):
    for page in PAGES:
        text = page.read_text().replace("\\e\n", "")
        for command, rest in re.findall(r"\bberth ([a-z-]+)((?: [^|<>\n]*)?)$", text, re.M):
            if command not in commands(berth_path):
                continue
            known = " ".join(option_lines(run(berth_path, command, "--help")))
            for option in re.findall(r" (--[a-z-]+)", rest):
                assert re.search(rf"{option}(?![a-z-])", known), (page.name, command, option)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page):
    headings = re.findall(r"^\.Sh (.*)$", page.read_text(), re.M)
    wanted = SECTIONS[page.suffix[1:]]
    assert [heading for heading in headings if heading in wanted] == wanted
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not here")
    done = subprocess.run(
        ["mandoc", "-Tlint", "-W", "warning", page], capture_output=True, text=True
    )
    assert done.stdout + done.stderr == ""
    shown = subprocess.run(
        ["mandoc", "-Tutf8", page], capture_output=True, text=True, check=True
    ).stdout
    assert "\\" not in re.sub(r"\\$", "", shown, flags=re.M)  # no escapes remain
