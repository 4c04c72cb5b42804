"""Worst known inputs of parsers, and the memory of a process that reads them."""

import json

MIB = 1 << 20
SIZE = 600_000  # bytes of an input: a parser that needs too much memory exceeds 1 MiB by far


def limit_of(n_bytes):
    """The limit of the memory that an input may use."""
    return MIB + 100 * n_bytes


def times(text, end=""):
    """Repeats @text up to the size; {} in it becomes a counter."""
    if "{}" not in text:
        return text * (SIZE // len(text)) + end
    pieces, size = [], 0
    while size < SIZE:
        pieces.append(text.replace("{}", f"{len(pieces):x}"))
        size += len(pieces[-1])
    return "".join(pieces) + end


JSON = {
    "open objects": times('{"a":'),
    "open arrays": times("["),
    "nested arrays": "[" + times("[" * 60 + "]" * 60 + ",") + "0]",
    "numbers": "[" + times("1,") + "1]",
    "empty objects": "[" + times("{},") + "{}]",
    "keys": "{" + times('"{}":1,') + '"z":1}',
    "long key": '{"' + times("a") + '":1}',
    "escapes": '["' + times("\\n") + '"]',
}


def kube_list(item, **others):
    return json.dumps({"apiVersion": "v1", "kind": "List", **others})[:-1] + (
        ',"items":[' + times(item + ",") + item.replace("{}", "zzzz") + "]}"
    )


NODE = '{"kind":"Node","metadata":{"name":"%s"%s}%s}'
POD = '{"kind":"Pod","metadata":{"name":"%s"%s},"spec":{%s}}'


def memory_of(pid, field):
    """A value of /proc/PID/status in bytes."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    raise AssertionError(field)


def reset_peak(pid):
    """Resets VmHWM and returns the memory in use."""
    with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as file:
        file.write("5\n")
    return memory_of(pid, "VmRSS")
