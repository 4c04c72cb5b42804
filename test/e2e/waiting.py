"""Waits for a state, with a timeout."""

import http.client
import time

PATIENCE = 30  # seconds; the machine may be busy


def wait_for(what, look, is_there=bool, seconds=PATIENCE, steady=0):
    """Calls look() until is_there(result) has been true for @steady seconds, and returns that result. @look may
    fail while the other side is down. The failure message has the last result."""
    deadline = time.monotonic() + seconds
    since = None
    while True:
        try:
            seen = look()
            since = (since or time.monotonic()) if is_there(seen) else None
        except (OSError, http.client.HTTPException) as error:
            seen, since = error, None
        if since and time.monotonic() >= since + steady:
            return seen
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}; seen instead: {seen}"
        time.sleep(0.05)
