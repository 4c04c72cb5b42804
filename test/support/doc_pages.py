"""The documentation pages and the commands in them.

    ```console            is run in a folder with the files of a checkout, and berth in PATH. The text below a
                          command is its expected output: a line "…" matches any lines, "…" in a line any text
    ```sh                 is run likewise and must succeed; its output is ignored
    ```sh needs-cluster   is not run; the mark is the reason (MARKS). find_wrong() finds errors without running it

Blocks that are run may only use harmless programs (HARMLESS).

Blocks of a page share one folder, in their order.
"""

import os
import pathlib
import re
import shlex
import subprocess
import textwrap

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted(
    str(path.relative_to(ROOT))
    for pattern in ("README.md", "docs/*.md", "policies/README.md", "deploy/**/README.md")
    for path in ROOT.glob(pattern)
)
MARKS = {
    "needs-cluster": "a cluster of the reader's own",
    "needs-root": "it changes the machine it runs on",
    "needs-registry": "a registry, or an engine for containers",
    "needs-prometheus": "a Prometheus of the reader's own",
    "builds": "it compiles, which tests of its own do",
    "runs-on": "it goes on until it is stopped",
    "e2e": "test/e2e runs it against a real API server",
}
PATIENCE = 60


class Block:
    def __init__(self, page, line, info, text):
        self.page, self.line, self.text = page, line, text
        self.language, *self.marks = info.split()
        self.where = f"{page}:{line}"

    def commands(self):
        """(command, expected output) pairs of a console block."""
        for part in re.split(r"^\$ ", self.text, flags=re.M)[1:]:
            command, output = re.fullmatch(r"((?:.*\\\n)*.*\n)((?:.*\n)*)", part).groups()
            yield command, output

    def script(self):
        """The commands of the block."""
        if self.language == "console":
            return "".join(command for command, _ in self.commands())
        return self.text


def find_blocks(page, languages=("console", "sh")):
    text = (ROOT / page).read_text()
    for found in re.finditer(r"^( *)```([a-z].*)\n((?:.*\n)*?)\1```$", text, re.M):
        line = text.count("\n", 0, found.start()) + 1
        block = Block(page, line, found[2], textwrap.dedent(found[3]))
        if block.language in languages:
            yield block


# --- running ---


class Folder:
    """The folder in which commands run: a checkout's files, and berth under the names that pages use."""

    def __init__(self, path, berth):
        self.path, programs = path, path / ".bin"
        programs.mkdir(parents=True)
        (path / "build").mkdir()
        for name in (programs / "berth", programs / "kubectl-berth", path / "build/berth"):
            name.symlink_to(berth)
        for entry in ROOT.iterdir():
            if not entry.name.startswith((".", "build")):
                (path / entry.name).symlink_to(entry)
        self.env = {
            **os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(path),
            "TMPDIR": str(path), "NO_COLOR": "1", "LC_ALL": "C.UTF-8",
        }  # fmt: skip

    def run(self, script):
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=self.path, env=self.env, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=PATIENCE, check=False,
        )  # fmt: skip


def is_output(expected, printed):
    """Whether the text of a page matches the output."""
    pattern = "".join(
        "(?:.*\n)*?" if line == "…\n" else re.escape(line).replace("…", ".*")
        for line in expected.splitlines(keepends=True)
    )
    return re.fullmatch(pattern, printed) is not None


# --- checks of commands that are not run ---

PROGRAMS = set(
    "apt-get chmod chown cp ctr curl docker export gpg install kill kind kubeadm minikube mkdir mv openssl podman printf "
    "rm sha256sum skopeo source systemctl tar timedatectl cat cd wait umask sleep".split()
)
HARMLESS = {"berth", "build/berth", "kubectl-berth", "cat", "grep", "head", "ls", "sed", "source"}
KEYWORDS = {"do", "then", "else", "if", "while", "{", "!", "sudo", "time"}
STATEMENTS = {"for", "done", "fi", "}", "in"}
KUBECTL = set(
    "apply auth create delete describe diff get label logs patch port-forward rollout run scale kustomize annotate wait "
    "taint drain set".split()
)
HELM = {"install", "upgrade", "uninstall", "rollback", "test", "template", "lint"}
FOLDERS = "bench deploy docs examples man policies test tools".split()


def split_commands(script):
    """Each simple command as a list of words, without redirections."""
    script = re.sub(r"<<-?['\"]?(\w+)['\"]?(.*)\n(?:.*\n)*?\1$", r"\2", script, flags=re.M)
    script = re.sub(r"(^|\s)#(?: .*)?$", r"\1", script.replace("\\\n", " "), flags=re.M)
    script = re.sub(r"\d?>&\d", "", script)
    lexer = shlex.shlex(script, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    words, is_target = [], False
    for token in [*lexer, "\n"]:
        if re.fullmatch(r"[<>]+", token):
            is_target = True
        elif re.fullmatch(r"[();|&\n]+", token):
            while words and (words[0] in KEYWORDS or re.match(r"\w+=", words[0])):
                words = words[1:]
            if words and words[0] not in STATEMENTS:
                yield words
            words, is_target = [], False
        elif is_target:
            is_target = False
        else:
            words = [*words, token]


def find_harm(block):
    """Programs of a block that tests must not run."""
    return [words[0] for words in split_commands(block.script()) if words[0] not in HARMLESS]


class Program:
    """Commands and options of berth, from its --help."""

    def __init__(self, path):
        self.path, self.known = path, {}
        self.commands = re.findall(r"^  ([a-z-]+) ", self.help(), re.M)

    def help(self, *command):
        if command not in self.known:
            done = subprocess.run([self.path, *command, "--help"], capture_output=True, text=True)
            self.known[command] = done.stdout or done.stderr
        return self.known[command]

    def find_wrong(self, words):
        """Errors in the words after "berth"."""
        if not words or words[0] not in self.commands:
            yield f"berth has no command {' '.join(words[:1])}"
            return
        text = self.help(words[0])
        for i, word in enumerate(words):
            option = re.match(r"--?[a-z][a-z-]*", word)
            if not option:
                continue
            if option[0] != "--help" and not re.search(rf"(?<![\w-]){option[0]}(?![\w-])", text):
                yield f"berth {words[0]} has no option {option[0]}"
            choice = re.search(rf"^ .*{option[0]} ([a-z0-9-]+(?:\|[a-z0-9-]+)+)", text, re.M)
            given = word.partition("=")[2] or (words + [""])[i + 1]
            if choice and given not in choice[1].split("|"):
                yield f"{option[0]} takes {choice[1]}, not {given!r}"


def find_wrong_values(words):
    """Values of the chart that are set and do not exist."""
    values = yaml.safe_load((ROOT / "deploy/chart/values.yaml").read_text())
    for flag, given in zip(words, words[1:]):
        if flag not in ("--set", "--set-string", "--set-file"):
            continue
        for pair in given.split(","):
            at, path = values, pair.partition("=")[0]
            for name in re.split(r"(?<!\\)\.", path):
                if at == {}:  # free-form content
                    break
                if not isinstance(at, dict) or name not in at:
                    yield f"the chart has no value {path}"
                    break
                at = at[name]


def first_word(words):
    """The first word that is neither an option nor the value of -n."""
    return next((w for before, w in zip([""] + words, words) if w[0] != "-" and before not in ("-n", "--kubeconfig")), "")


def find_wrong_command(words, program):
    name, rest = words[0], words[1:]
    if name in ("berth", "build/berth", "kubectl-berth"):
        yield from program.find_wrong(rest)
    elif name == "kubectl" and rest[:1] == ["berth"]:
        yield from program.find_wrong(rest[1:])
    elif name == "kubectl":
        if first_word(rest) not in KUBECTL:
            yield f"kubectl has no {first_word(rest)}"
    elif name == "helm":
        if first_word(rest) not in HELM:
            yield f"helm has no {first_word(rest)}"
        yield from find_wrong_values(rest)
    elif name == "make":
        targets = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.M)
        yield from (f"make has no {w}" for w in rest if re.fullmatch("[a-z-]+", w) and w not in targets)
    elif not name.startswith("tools/") and name not in PROGRAMS:
        yield f"what is {name}?"


def find_wrong(block, program):
    """Errors in a block that can be found without running it."""
    script = block.script()
    done = subprocess.run(["bash", "-n", "-c", script], capture_output=True, text=True)
    if done.returncode != 0:
        yield done.stderr
    for path in re.findall(rf"(?<![\w/.-])(?:\.\./)?((?:{'|'.join(FOLDERS)})/[\w./+-]*)", script):
        if not (ROOT / path).exists():
            yield f"there is no {path}"
    for words in split_commands(script):
        yield from find_wrong_command(words, program)
