"""Error replies, and replies with status 200 that cannot be used: berth retries, with backoff, and
obeys Retry-After. F8."""

import time

import faults
import pytest
from apistate import NODES, PODS, Refused
from client import wait_until
from live import count_relists, fill, node, pod

HTML = b"<html><body>Bad Gateway</body></html>"
HUGE = b'{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":['

ANSWERS = {
    "401": faults.answer(Refused(401, "Unauthorized", "Unauthorized")),
    "403": faults.answer(Refused(403, "Forbidden", "nodes is forbidden")),
    "404": faults.fail(404, b"404 page not found\n"),
    "410": faults.expired,
    "429": faults.throttle(1),
    "500": faults.fail(500),
    "500 with a Status": faults.answer(Refused(500, "InternalError", "it is broken")),
    "502 of a proxy": faults.fail(502, HTML, "text/html"),
    "503": faults.fail(503, b"shutting down", Retry_After="1"),
    "503, nonsense in Retry-After": faults.fail(503, Retry_After="soon"),
    "504, too large version": faults.too_large_version(),
    "200 that is HTML": faults.say(HTML, "text/html"),
    "200 without a type": faults.say(b"{}", ""),
    "200 and nothing": faults.say(b""),
    "200 and something else": faults.say(b'{"kind":"Pod"}'),
    "200 and no JSON": faults.say(b"{{{"),
    "204": faults.fail(204, b""),
    "301": faults.fail(301, b"", Location="http://127.0.0.1:1/"),
    "307 to another server": faults.redirect("http://127.0.0.1:1/api/v1/nodes"),
    "gzip": faults.zipped,
    "no HTTP": faults.raw(b"220 mail.example.com ESMTP\r\n"),
    "nothing": faults.hang_up,
    "half a head": faults.cut_after(30),
    "half an answer": faults.cut_after(400),
    "half a chunk": faults.stream(b'{"type":"ADDED",', ending="half"),
    "no last chunk": faults.stream(b'{"type":"BOOKMARK"', ending="cut"),
    "negative chunk": faults.raw(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n-5\r\n{}\r\n"
    ),
    "wrong length": faults.raw(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{}"
    ),
    "long head": faults.raw(b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 300_000),
}


def check_recovery(server, berth):
    server.state.put(NODES, node("later"))
    server.state.put(PODS, pod("later", on="later"))
    server.state.delete(NODES, "n-0001")
    berth.wait_true(server)
    wait_until(berth.is_connected, "berth to say that all is well")
    assert berth.is_alive()


def answer_first_list(server, start_live, name):
    fill(server)
    scripts = [
        server.script(ANSWERS[name], when=lambda r, kind=kind: r.resource == kind)
        for kind in ("nodes", "pods")
    ]
    berth = start_live()
    assert [script.n_hits for script in scripts] == [1, 1]
    check_recovery(server, berth)


@pytest.mark.parametrize("name", ANSWERS)
def test_the_first_list_is_answered_with(together, name):
    together(answer_first_list)


def answer_watch(server, start_live, name):
    fill(server)
    berth = start_live()
    before = berth.view()
    scripts = [server.script(ANSWERS[name], f"watch {kind}") for kind in ("nodes", "pods")]
    server.kill()
    wait_until(lambda: all(script.n_hits for script in scripts), "the fault")
    assert berth.view() == before
    check_recovery(server, berth)
    # Errors other than an expired version cause no list.
    if name not in ("410",):
        assert all(n <= 2 for n in count_relists(server))


@pytest.mark.parametrize("name", ANSWERS)
def test_a_watch_is_answered_with(together, name):
    together(answer_watch)


def count_tries(server, start_live, name):
    """Counts requests: on average at most one per second, after a few quick ones."""
    fill(server)
    berth = start_live()
    script = server.script(ANSWERS[name], when=lambda r: r.resource == "nodes", times=None)
    begin = time.monotonic()
    server.kill()
    wait_until(lambda: script.n_hits, "the fault")
    time.sleep(2.5)
    n_hits, seconds = script.n_hits, time.monotonic() - begin
    assert n_hits <= 6 + seconds, f"{n_hits} tries in {seconds} seconds"
    assert berth.is_ready()
    script.cancel()


@pytest.mark.parametrize("name", ["404", "429", "500", "503", "nothing", "200 and no JSON"])
def test_failures_are_retried_with_backoff(together, name):
    together(count_tries)


def time_tries(server, start_live, what, fault):
    seconds = 2
    fill(server)
    asked = []

    def note(exchange, proceed):
        asked.append(time.monotonic())
        if len(asked) == 1:
            fault(seconds)(exchange, proceed)
        else:
            proceed()

    if what == "list":
        server.script(note, when=lambda r: r.resource == "nodes", times=2)
        berth = start_live()
    else:
        berth = start_live()
        server.script(note, "watch nodes", times=2)
        server.kill()
    wait_until(lambda: len(asked) == 2, "another try")
    assert asked[1] - asked[0] >= seconds - 0.1  # compares two different clocks
    check_recovery(server, berth)


@pytest.mark.parametrize("what", ["list", "watch"])
@pytest.mark.parametrize("fault", [faults.throttle, faults.too_large_version])
def test_retry_after_is_obeyed(together, what, fault):
    together(time_tries)


def test_limits_the_size_of_a_list_page(server, start_live):
    """A page above the limit is discarded, and the list is retried."""
    fill(server)
    no_stream = faults.fail(400, b"{}", "application/json")
    server.script(no_stream, when=lambda r: r.is_streamed, times=None)
    endless = faults.endless(start=HUGE, piece=b"{}," * 20000)
    script = server.script(endless, "list nodes")
    berth = start_live()
    assert script.n_hits == 1
    check_recovery(server, berth)
    assert berth.rss("VmHWM") < 400 << 20
