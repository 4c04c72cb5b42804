#!/usr/bin/env python3
"""Expressions and data, made up: for comparing two implementations of CEL.

    gen.py SEED COUNT

prints one record a line, in the shape of the conformance vectors. The same seed gives the same
records. Most expressions are well typed, and their variables are declared; about a fifth have
a part of another type somewhere, and are to be run unchecked ("disable_check").

Values are chosen where implementations go wrong: the ends of the ranges, NaN and -0.0, text
outside ASCII and outside 16 bits, empty lists, keys that are not there.
"""

import base64
import json
import random
import sys

KEYS = ["a", "b", "key", "é"]
INTS = [0, 1, -1, 2, 3, 7, -7, 10, 100, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), -(2**63) + 1]
UINTS = [0, 1, 2, 3, 7, 100, 2**32, 2**53 + 1, 2**63, 2**64 - 1]
DOUBLES = ["0.0", "-0.0", "1.0", "-1.0", "0.5", "1.5", "-2.5", "3.0", "1e16", "1e100", "1e-7", "123456.789",
           "9007199254740992.0", "9223372036854775807.0", "18446744073709551615.0", "NaN", "Infinity", "-Infinity"]
STRINGS = ["", "a", "abc", "Hello", "hello world", " x ", "ab,cd,,ef", "naïve", "日本語", "😀", "a😀b", "É", "\t\n",
           "42", "-7", "1.5", "true", "false", "x'y\"z\\", "9223372036854775808", "0x1f", "é\u0301"]
BYTES = [b"", b"a", b"abc", b"\x00\xff", "é".encode(), "😀".encode()]
DURATIONS = ["0s", "1s", "-1s", "1.5s", "90m", "1h2m3s", "-0.000000001s", "24h", "1000000h", "1ms", "100us"]
TIMESTAMPS = ["1970-01-01T00:00:00Z", "2024-02-29T12:34:56Z", "2009-02-13T23:31:30.123456789Z",
              "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "1999-12-31T23:59:59Z",
              "2023-06-15T08:00:00+02:00"]
ZONES = ["UTC", "America/New_York", "Asia/Kolkata", "Australia/Sydney", "+05:30", "-08:00", "02:00"]
PATTERNS = ["a", "^a", "b$", "^$", "[a-z]+", "\\\\d+", "(ab|cd)", "l{2}", "h.*o", ".", "^.$", "\\\\s", "\\\\bhello\\\\b",
            "(?i)HELLO", "[^a-z]", "é", "x*"]

SCALARS = ["int", "uint", "double", "string", "bytes", "bool", "duration", "timestamp"]
ORDERED = SCALARS
NUMBERS = ["int", "uint", "double"]
TYPES = SCALARS + ["null_type", "list(int)", "list(string)", "list(double)", "map(string, int)",
                   "map(string, string)", "map(int, string)", "list(list(int))", "map(string, list(int))"]


def inside(type_):
    """The parts of list(T) and map(K, V)."""
    inner = type_[type_.index("(") + 1:-1]
    return (inner,) if type_.startswith("list") else tuple(inner.split(", ", 1))


# --- values, typed as in the conformance vectors, and as literals -----------------------------


def quote(text):
    """A string literal; half of what is not ASCII stays as it is."""
    out = []
    for c in text:
        if c in "\\\"":
            out.append("\\" + c)
        elif c in "\t\n":
            out.append({"\t": "\\t", "\n": "\\n"}[c])
        elif ord(c) > 0xFFFF and ord(c) % 2:
            out.append(f"\\U{ord(c):08x}")
        elif ord(c) > 127 and ord(c) % 2:
            out.append(f"\\u{ord(c):04x}" if ord(c) <= 0xFFFF else f"\\U{ord(c):08x}")
        else:
            out.append(c)
    return '"' + "".join(out) + '"'


def double_literal(text):
    named = {"NaN": "(0.0 / 0.0)", "Infinity": "(1.0 / 0.0)", "-Infinity": "(-1.0 / 0.0)"}
    return named.get(text, text)


class Expressions:
    """One record after the other; `self.random` is the only source of chance."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.variables = {}  # name: type
        self.locals = []  # (name, type) of the macros around
        self.is_wild = False  # parts of the wrong type may come in
        self.has_wrong = False
        self.parts = []  # every part of the expression that stands on its own

    def pick(self, items):
        return self.random.choice(items)

    def chance(self, share):
        return self.random.random() < share

    # --- literals and bindings ---

    def literal(self, type_):
        if type_ == "int":
            value = self.pick(INTS)
            return str(value)
        if type_ == "uint":
            return f"{self.pick(UINTS)}u"
        if type_ == "double":
            return double_literal(self.pick(DOUBLES))
        if type_ == "string":
            return quote(self.pick(STRINGS))
        if type_ == "bytes":
            return "b\"" + "".join(f"\\x{byte:02x}" for byte in self.pick(BYTES)) + "\""
        if type_ == "bool":
            return self.pick(["true", "false"])
        if type_ == "duration":
            return f'duration("{self.pick(DURATIONS)}")'
        if type_ == "timestamp":
            return f'timestamp("{self.pick(TIMESTAMPS)}")'
        if type_ == "null_type":
            return "null"
        if type_.startswith("list"):
            return "[" + ", ".join(self.literal(inside(type_)[0]) for _ in range(self.random.randrange(4))) + "]"
        key, value = inside(type_)
        pairs = {self.key(key): self.literal(value) for _ in range(self.random.randrange(4))}
        return "{" + ", ".join(f"{k}: {v}" for k, v in pairs.items()) + "}"

    def key(self, type_):
        return quote(self.pick(KEYS)) if type_ == "string" else str(self.pick(INTS))

    def bound(self, type_):
        """A value for a variable."""
        if type_ == "int":
            return {"type": "int", "value": str(self.pick(INTS))}
        if type_ == "uint":
            return {"type": "uint", "value": str(self.pick(UINTS))}
        if type_ == "double":
            return {"type": "double", "value": self.pick(DOUBLES)}
        if type_ == "string":
            return {"type": "string", "value": self.pick(STRINGS)}
        if type_ == "bytes":
            return {"type": "bytes", "base64": base64.b64encode(self.pick(BYTES)).decode()}
        if type_ == "bool":
            return {"type": "bool", "value": self.chance(0.5)}
        if type_ == "duration":
            return {"type": "duration", "seconds": self.pick(["0", "1", "3600", "86401"]), "nanos": self.pick([0, 1, 5 * 10**8])}
        if type_ == "timestamp":
            return {"type": "timestamp", "seconds": self.pick(["0", "1", "1234567890", "-62135596800", "253402300799"]),
                    "nanos": self.pick([0, 1, 999999999])}
        if type_ == "null_type":
            return {"type": "null"}
        if type_.startswith("list"):
            return {"type": "list", "value": [self.bound(inside(type_)[0]) for _ in range(self.random.randrange(4))]}
        key, value = inside(type_)
        if key == "string":
            keys = [{"type": "string", "value": k} for k in self.random.sample(KEYS, self.random.randrange(4))]
        else:
            keys = [{"type": "int", "value": str(k)} for k in self.random.sample(INTS, self.random.randrange(4))]
        return {"type": "map", "value": [[k, self.bound(value)] for k in keys]}

    # --- expressions ---

    def expression(self, type_, depth):
        """One of type @type_; when wild, sometimes of another."""
        text = self.make(type_, depth)
        if not self.locals:
            self.parts.append(text)
        return text

    def make(self, type_, depth):
        if self.is_wild and self.chance(0.06):
            self.has_wrong = True
            type_ = self.pick(TYPES)
        if depth <= 0 or self.chance(0.1):
            return self.leaf(type_)
        if self.chance(0.08):
            return f"({self.expression('bool', depth - 1)} ? {self.expression(type_, depth - 1)} : {self.expression(type_, depth - 1)})"
        if self.chance(0.08):
            return self.element(type_, depth)
        makers = {"list": self.list, "map": self.map, "null_type": lambda t, d: "null"}
        maker = makers.get(type_.split("(")[0]) or getattr(self, type_)
        return maker(type_, depth - 1)

    def leaf(self, type_):
        names = [name for name, its in self.locals if its == type_] * 3
        names += [name for name, its in self.variables.items() if its == type_]
        if names and self.chance(0.7):
            return self.pick(names)
        return self.literal(type_)

    def element(self, type_, depth):
        """A part of a list or a map."""
        if type_ in ("int", "string", "double") and self.chance(0.5):
            return f"{self.expression(f'list({type_})', depth - 1)}[{self.pick(['0', '1', '2', '-1', 'dyn(1u)', 'dyn(0.0)', 'dyn(0.5)'])}]"
        if type_ in ("int", "string"):
            of = self.expression(f"map(string, {type_})", depth - 1)
            return self.pick([f"{of}[{self.key('string')}]", f"{of}.a", f"{of}.key"])
        return self.leaf(type_)

    def binary(self, type_, operators, depth):
        return f"({self.expression(type_, depth)} {self.pick(operators)} {self.expression(type_, depth)})"

    def int(self, type_, depth):
        return self.pick([
            lambda: self.binary("int", ["+", "-", "*", "/", "%"], depth),
            lambda: self.binary("int", ["+", "-", "*", "/", "%"], depth),
            lambda: f"-({self.expression('int', depth)})",
            lambda: f"size({self.expression(self.pick(['string', 'bytes', 'list(int)', 'map(string, int)']), depth)})",
            lambda: f"int({self.expression(self.pick(['uint', 'double', 'string', 'timestamp', 'int']), depth)})",
            lambda: f"{self.expression('string', depth)}.{self.pick(['indexOf', 'lastIndexOf'])}({self.expression('string', 0)})",
            lambda: f"{self.expression('string', depth)}.indexOf({self.expression('string', 0)}, {self.pick(['0', '1', '2'])})",
            lambda: f"{self.expression('timestamp', depth)}.{self.getter()}({self.zone()})",
            lambda: f"{self.expression('duration', depth)}.{self.pick(['getHours', 'getMinutes', 'getSeconds'])}()",
        ])()

    def getter(self):
        return self.pick(["getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear",
                          "getHours", "getMinutes", "getSeconds", "getMilliseconds"])

    def zone(self):
        return quote(self.pick(ZONES)) if self.chance(0.5) else ""

    def uint(self, type_, depth):
        return self.pick([
            lambda: self.binary("uint", ["+", "-", "*", "/", "%"], depth),
            lambda: f"uint({self.expression(self.pick(['int', 'double', 'string', 'uint']), depth)})",
        ])()

    def double(self, type_, depth):
        return self.pick([
            lambda: self.binary("double", ["+", "-", "*", "/"], depth),
            lambda: f"-({self.expression('double', depth)})",
            lambda: f"double({self.expression(self.pick(['int', 'uint', 'string', 'double']), depth)})",
        ])()

    def string(self, type_, depth):
        text = lambda: self.expression("string", depth)  # noqa: E731
        return self.pick([
            lambda: self.binary("string", ["+"], depth),
            lambda: f"string({self.expression(self.pick(SCALARS), depth)})",
            lambda: f"{text()}.{self.pick(['lowerAscii', 'upperAscii', 'trim'])}()",
            lambda: f"{text()}.substring({self.pick(['0', '1', '2', '3'])})",
            lambda: f"{text()}.substring({self.pick(['0', '1', '2'])}, {self.pick(['0', '1', '2', '3'])})",
            lambda: f"{text()}.charAt({self.pick(['0', '1', '2', '5'])})",
            lambda: f"{text()}.replace({self.expression('string', 0)}, {self.expression('string', 0)})",
            lambda: f"{text()}.replace({self.expression('string', 0)}, \"-\", {self.pick(['-1', '0', '1', '2'])})",
            lambda: f"{self.expression('list(string)', depth)}.join({self.pick(['', quote(','), quote('é')])})",
            lambda: f"strings.quote({text()})",
            lambda: self.format(depth),
        ])()

    def format(self, depth):
        """Clauses and as many arguments that fit them."""
        clauses = {"s": SCALARS + ["list(int)", "map(string, int)", "null_type"], "d": ["int", "uint"], "x": ["int", "uint", "string", "bytes"],
                   "X": ["int", "uint", "string"], "o": ["int", "uint"], "b": ["int", "uint", "bool"],
                   "f": ["double"], "e": ["double"], ".2f": ["double"], ".3e": ["double"]}
        chosen = [self.pick(list(clauses)) for _ in range(self.random.randrange(1, 4))]
        args = [f"dyn({self.expression(self.pick(clauses[clause]), 0)})" for clause in chosen]
        return f"\"{' '.join('%' + clause for clause in chosen)}\".format([{', '.join(args)}])"

    def bytes(self, type_, depth):
        return self.pick([
            lambda: self.binary("bytes", ["+"], depth),
            lambda: f"bytes({self.expression('string', depth)})",
        ])()

    def duration(self, type_, depth):
        return self.pick([
            lambda: self.binary("duration", ["+", "-"], depth),
            lambda: f"({self.expression('timestamp', depth)} - {self.expression('timestamp', depth)})",
            lambda: self.literal("duration"),
        ])()

    def timestamp(self, type_, depth):
        return self.pick([
            lambda: f"({self.expression('timestamp', depth)} {self.pick(['+', '-'])} {self.expression('duration', depth)})",
            lambda: f"({self.expression('duration', depth)} + {self.expression('timestamp', depth)})",
            lambda: self.literal("timestamp"),
        ])()

    def bool(self, type_, depth):
        return self.pick([
            lambda: self.binary("bool", ["&&", "||"], depth),
            lambda: self.binary("bool", ["&&", "||"], depth),
            lambda: f"!({self.expression('bool', depth)})",
            lambda: self.binary(self.pick(ORDERED), ["<", "<=", ">", ">="], depth),
            lambda: self.binary(self.pick(TYPES), ["==", "!="], depth),
            lambda: self.across(NUMBERS, ["<", "<=", ">", ">=", "==", "!="], depth),
            lambda: self.across(TYPES, ["==", "!="], depth),
            lambda: f"({self.across_value(NUMBERS, depth)} in [{self.across_value(NUMBERS, depth)}, {self.across_value(NUMBERS, depth)}])",
            lambda: f"({self.key('string')} in {self.expression('map(string, int)', depth)})",
            lambda: f"({self.expression('string', depth)} in {self.expression('list(string)', depth)})",
            lambda: f"{self.expression('string', depth)}.{self.pick(['contains', 'startsWith', 'endsWith'])}({self.expression('string', 0)})",
            lambda: f"{self.expression('string', depth)}.matches(\"{self.pick(PATTERNS)}\")",
            lambda: f"has({self.expression('map(string, int)', depth)}.{self.pick(['a', 'b', 'key'])})",
            lambda: self.quantifier(depth),
            lambda: self.quantifier(depth),
            lambda: f"bool({self.expression('string', depth)})",
            lambda: f"(type({self.expression(self.pick(TYPES), depth)}) == {self.pick(['int', 'string', 'list', 'map', 'double', 'type', 'null_type', 'bool'])})",
        ])()

    def across_value(self, types, depth):
        return f"dyn({self.expression(self.pick(types), depth)})"

    def across(self, types, operators, depth):
        return f"({self.across_value(types, depth)} {self.pick(operators)} {self.across_value(types, depth)})"

    def over(self, depth):
        """A range for a macro, and the type of its variable."""
        is_map = self.chance(0.25)
        type_ = "map(string, int)" if is_map else self.pick(["list(int)", "list(string)", "list(double)", "list(list(int))"])
        return self.range(type_, depth), inside(type_)[0]

    def range(self, type_, depth):
        """What is empty has elements of no type yet: a checker takes the first use for it."""
        text = self.expression(type_, depth)
        return f"dyn({text})" if "[]" in text or "{}" in text else text

    def with_local(self, type_, body):
        name = "vwxyz"[min(len(self.locals), 4)]
        self.locals.append((name, type_))
        text = body()
        self.locals.pop()
        return name, text

    def quantifier(self, depth):
        of, type_ = self.over(depth)
        name, text = self.with_local(type_, lambda: self.expression("bool", depth))
        return f"{of}.{self.pick(['all', 'exists', 'exists_one'])}({name}, {text})"

    def list(self, type_, depth):
        element = inside(type_)[0]
        if self.chance(0.3):
            of, local = self.over(depth)
            name, text = self.with_local(local, lambda: self.expression(element, depth))
            return f"{of}.map({name}, {text})"
        if self.chance(0.3):
            of = self.range(type_, depth)
            name, text = self.with_local(element, lambda: self.expression("bool", depth))
            return f"{of}.filter({name}, {text})"
        if type_ == "list(string)" and self.chance(0.3):
            return f"{self.expression('string', depth)}.split({quote(self.pick([',', '', ' ', 'l', 'é']))})"
        if self.chance(0.3):
            return self.binary(type_, ["+"], depth)
        return "[" + ", ".join(self.expression(element, depth) for _ in range(self.random.randrange(4))) + "]"

    def map(self, type_, depth):
        key, value = inside(type_)
        keys = [self.expression("string", 0) if self.chance(0.3) and key == "string" else self.key(key)
                for _ in range(self.random.randrange(4))]
        return "{" + ", ".join(f"{k}: {self.expression(value, depth)}" for k in keys) + "}"

    # --- records ---

    def record(self, number):
        self.variables = {f"{type_[0]}{i}": type_ for i, type_ in enumerate(self.random.sample(TYPES, 5))}
        self.is_wild = self.chance(0.3)
        self.has_wrong = False
        self.parts = []
        expr = self.expression(self.pick(TYPES + ["bool"] * 8), self.random.randrange(1, 5))
        return {
            "id": f"generated/{number}",
            "expr": expr,
            "disable_check": self.has_wrong,
            "type_env": [{"name": n, "kind": "var", "type": t} for n, t in self.variables.items()],
            "bindings": {name: self.bound(type_) for name, type_ in self.variables.items()},
        }


def record(name):
    """The record of that name ("SEED/NUMBER"), and its parts, the expression itself last."""
    expressions = Expressions(name)
    whole = expressions.record(name)
    return whole, [dict(whole, id=f"{whole['id']}#{i}", expr=part) for i, part in enumerate(expressions.parts)]


def records(seed, count):
    for number in range(count):
        yield record(f"{seed}/{number}")[0]


if __name__ == "__main__":
    for one in records(int(sys.argv[1]), int(sys.argv[2])):
        print(json.dumps(one, ensure_ascii=False))
