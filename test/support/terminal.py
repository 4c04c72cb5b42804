"""Runs a program in tmux, types keys and reads the screen."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
import uuid

import pytest

from client import PATIENCE


class Terminal:
    """Runs `command` in a new terminal, until the end of the block."""

    def __init__(self, command, columns=100, lines=30, env=None):
        if not shutil.which("tmux"):
            pytest.skip("no tmux")
        self.socket = f"berth-{uuid.uuid4().hex[:12]}"
        settings = [word for key, value in (env or {}).items() for word in ("-e", f"{key}={value}")]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines),
                  "-e", "LC_ALL=C.UTF-8", *settings,
                  # the shell stays, so that the screen after the program's end is visible
                  "sh", "-c", 'trap : INT; "$@"; echo "ended: $?"; exec sleep 600', "sh", *map(str, command))

    def tmux(self, *arguments):
        done = subprocess.run(["tmux", "-L", self.socket, "-u", *arguments],
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        group = int(self.tmux("display-message", "-p", "#{pane_pid}"))
        self.tmux("kill-server")
        # Its hangup can end the search for leaks of AddressSanitizer, and the program then never ends.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def colours(self):
        return self.tmux("capture-pane", "-p", "-e")

    def wait_for(self, *texts, gone=(), like=()):
        """Waits until the screen shows all of these texts, matches the patterns @like, and shows none of the
        texts to be gone. Wait for every text that a test checks: a screen may be half drawn."""
        until = time.monotonic() + PATIENCE
        while True:
            shown = self.screen()
            if (
                all(text in shown for text in texts)
                and all(re.search(pattern, shown, re.M) for pattern in like)
                and not any(text in shown for text in gone)
            ):
                return shown
            wanted = [*texts, *like]
            assert time.monotonic() < until, f"not on the screen: {wanted}, or still: {gone}\n{shown}"
            time.sleep(0.05)
