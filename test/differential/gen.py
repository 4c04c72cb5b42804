#!/usr/bin/env python3
"""Generates random expressions and data to compare two implementations of CEL.

    gen.py SEED COUNT

prints one record per line, in the format of the conformance vectors. The same seed gives the same
records. Most expressions are well typed, and their variables are declared; some contain a part of
a wrong type and must run without the type checker ("disable_check").

Values are typical causes of bugs: the ends of the ranges, NaN and -0.0, text outside ASCII and
outside 16 bits, empty lists, absent keys.
"""

import base64
import json
import random
import re
import sys

INTS = [0, 1, -1, 2, 3, 7, -7, 10, 100, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), -(2**63) + 1]
UINTS = [0, 1, 2, 3, 7, 100, 2**32, 2**53 + 1, 2**63, 2**64 - 1]
DOUBLES = ["0.0", "-0.0", "1.0", "-1.0", "0.5", "1.5", "-2.5", "3.0", "1e16", "1e100", "1e-7",
           "123456.789", "9007199254740992.0", "9223372036854775807.0", "18446744073709551615.0",
           "NaN", "Infinity", "-Infinity"]
STRINGS = ["", "a", "abc", "Hello", "hello world", " x ", "ab,cd,,ef", "naïve", "日本語", "😀", "a😀b",
           "É", "é\u0301", "\t\n", "x'y\"z\\", "42", "-7", "1.5", "true", "false", "0x1f",
           "9223372036854775808"]
BYTES = [b"", b"a", b"abc", b"\x00\xff", "é".encode(), "😀".encode()]
DURATIONS = ["0s", "1s", "-1s", "1.5s", "90m", "1h2m3s", "-0.000000001s", "24h", "1000000h", "1ms",
             "100us"]
TIMESTAMPS = ["1970-01-01T00:00:00Z", "2024-02-29T12:34:56Z", "2009-02-13T23:31:30.123456789Z",
              "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "1999-12-31T23:59:59Z",
              "2023-06-15T08:00:00+02:00"]
KEYS = ["a", "b", "key", "é"]
QUANTITIES = ["0", "1", "-1", "1.5", "100m", "50k", "2Gi", "1.5Ki", "1e3", "9223372036854775807", "500n", "x"]
IPS = ["0.0.0.0", "127.0.0.1", "10.1.2.3", "224.0.0.1", "169.254.1.1", "8.8.8.8", "::", "::1", "fe80::1", "ff02::1",
       "2001:db8::abcd", "1.2.3", "01.2.3.4", "fe80::1%eth0"]
CIDRS = ["0.0.0.0/0", "10.0.0.0/8", "10.1.2.3/16", "127.0.0.1/32", "::/0", "2001:db8::/32", "fe80::1/64", "10.0.0.0/33", "x"]
SEMVERS = ["0.0.0", "1.2.3", "1.2.3-alpha.1", "1.2.3-alpha.beta+build", "10.0.0", "1.2", "x"]
URLS = ["https://example.com:80/path?a=1&a=2&x=%20", "http://[::1]:8080/a%2Fb", "mailto:a@b", "/relative", "https://user@h/#f",
        "::", "//h/p?a"]
PATTERNS = ["a", "^a", "b$", "^$", "[a-z]+", "\\\\d+", "(ab|cd)", "l{2}", "h.*o", ".", "^.$", "\\\\s",
            "\\\\bhello\\\\b", "(?i)HELLO", "[^a-z]", "é", "x*"]

SCALARS = ["int", "uint", "double", "string", "bytes", "bool", "duration", "timestamp"]
NUMBERS = ["int", "uint", "double"]
LISTS = ["list(int)", "list(string)", "list(double)", "list(list(int))"]
MAPS = ["map(string, int)", "map(string, string)", "map(int, string)", "map(string, list(int))"]
TYPES = SCALARS + ["null_type"] + LISTS + MAPS
# Only inside expressions: implementations print these values differently.
INNER = ["quantity", "ip", "cidr", "semver", "url", "opt(int)", "opt(string)"]

# --- the grammar ------------------------------------------------------------------------------
#
# Rules that produce a value of a type: first a group is chosen, then one of its rules. Placeholders in a rule:
#     <int>              an expression of that type
#     <string .>         one without parts: a variable or a literal
#     <dyn T|U>          one of a type that is chosen, as a dyn
#     <over T|U> <var>   a list or map whose elements are looked at, and a macro's variable for them
#     <over T|U> <vars>  the same with two variables: index or key, and value
#     <key> <pattern>    a key of a map, a regular expression
#     <one of: a, b>     one of these


def operators(types, names):
    """One group: both sides of the same type."""
    return [f"(<{type_}> {name} <{type_}>)" for type_ in types for name in names]


CONDITIONALS = ["(<bool> ? <{0}> : <{0}>)"]
ORDER = ["<", "<=", ">", ">="]
ZONES = ('<one of: , "UTC", "America/New_York", "Asia/Kolkata", "Australia/Sydney", "+05:30", '
         '"-08:00", "02:00">')
GETTERS = ["getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear",
           "getHours", "getMinutes", "getSeconds", "getMilliseconds"]
FORMATS = ["dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix",
           "dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date",
           "datetime"]
ALL_LISTS = "|".join(LISTS)
ANY = "|".join(TYPES)
NUMBER = "|".join(NUMBERS)

RULES = {
    "int": [
        operators(["int"], ["+", "-", "*", "/", "%"]),
        operators(["int"], ["+", "-", "*", "/", "%"]),
        ["-(<int>)"],
        [f"size(<{type_}>)" for type_ in ("string", "bytes", "list(int)", "map(string, int)")],
        [f"<{type_}>.size()" for type_ in ("string", "bytes", "list(int)", "map(string, int)")],
        [f"int(<{type_}>)" for type_ in ("uint", "double", "string", "timestamp", "int")],
        ["<string>.indexOf(<string .>)", "<string>.lastIndexOf(<string .>)",
         "<string>.indexOf(<string .>, <one of: 0, 1, 2>)",
         "<string>.lastIndexOf(<string .>, <one of: 0, 1, 2>)"],
        [f"<timestamp>.{getter}({ZONES})" for getter in GETTERS],
        ["<duration>.getHours()", "<duration>.getMinutes()", "<duration>.getSeconds()",
         "<duration>.getMilliseconds()"],
        [f"math.{name}(<int>)" for name in ("abs", "sign", "bitNot", "least", "greatest")],
        [f"math.{name}(<int>, <int>)" for name in ("bitAnd", "bitOr", "bitXor", "least", "greatest")],
        ["math.least(<int>, <int>, <int>)", "math.greatest(<list(int)>)",
         "math.bitShiftLeft(<int>, <one of: 0, 1, 63, 64, -1>)",
         "math.bitShiftRight(<int>, <one of: 0, 1, 63, 64, -1>)"],
        ["<list(int)>.min()", "<list(int)>.max()", "<list(int)>.sum()", "<list(int)>.indexOf(<int>)",
         "<list(string)>.lastIndexOf(<string>)"],
        ["<opt(int)>.orValue(<int>)", "<opt(int)>.value()"],
        ["cel.bind(q, <int>, (q > 0 ? q : -(q)))"],
        [f"<semver>.{name}()" for name in ("major", "minor", "patch")] + ["<semver>.compareTo(<semver>)"],
        ["<ip>.family()", "<cidr>.prefixLength()"],
        ["sign(<quantity>)", "<quantity>.asInteger()", "<quantity>.compareTo(<quantity>)"],
    ],
    "uint": [
        operators(["uint"], ["+", "-", "*", "/", "%"]),
        [f"uint(<{type_}>)" for type_ in ("int", "double", "string", "uint")],
        [f"math.{name}(<uint>)" for name in ("abs", "sign", "bitNot")],
        [f"math.{name}(<uint>, <uint>)" for name in ("bitAnd", "bitOr", "bitXor", "least", "greatest")],
        ["math.bitShiftLeft(<uint>, <one of: 0, 1, 64>)", "math.bitShiftRight(<uint>, <one of: 0, 63>)"],
    ],
    "double": [
        operators(["double"], ["+", "-", "*", "/"]),
        ["-(<double>)"],
        [f"double(<{type_}>)" for type_ in ("int", "uint", "string", "double")],
        [f"math.{name}(<double>)" for name in ("abs", "sign", "ceil", "floor", "round", "trunc")],
        [f"math.sqrt(<{type_}>)" for type_ in NUMBERS],
        ["math.least(<double>, <double>)", "math.greatest(<double>, <double>, <double>)",
         "math.least(<list(double)>)"],
        ["<list(double)>.min()", "<list(double)>.max()", "<list(double)>.sum()"],
        ["<quantity>.asApproximateFloat()"],
    ],
    "string": [
        ["(<string> + <string>)"],
        [f"string(<{type_}>)" for type_ in SCALARS + ["ip", "cidr"]],
        [f"<string>.{name}()" for name in ("lowerAscii", "upperAscii", "trim", "reverse")],
        ["<string>.substring(<one of: 0, 1, 2, 3>)",
         "<string>.substring(<one of: 0, 1, 2>, <one of: 0, 1, 2, 3>)",
         "<string>.charAt(<one of: 0, 1, 2, 5>)"],
        ["<string>.replace(<string .>, <string .>)",
         '<string>.replace(<string .>, "-", <one of: -1, 0, 1, 2>)'],
        ['<list(string)>.join(<one of: , ";", "é">)'],
        ["strings.quote(<string>)", "base64.encode(<bytes>)"],
        ['<string>.find("<pattern>")', 'regex.replace(<string>, "<pattern>", "x")',
         'regex.replace(<string>, "<pattern>", "\\\\0y", <one of: -1, 0, 1>)'],
        [f"<url>.get{name}()" for name in ("Scheme", "Host", "Hostname", "Port", "EscapedPath")],
        ["<opt(string)>.orValue(<string>)", "<opt(string)>.value()"],
        [f'"%{clause}".format([<dyn {types}>])' for clause, types in {
            "s": ANY, "d": "int|uint", "x": "int|uint|string|bytes", "X": "int|uint|string",
            "o": "int|uint", "b": "int|uint|bool", "f": "double", "e": "double", ".2f": "double",
            ".3e": "double"}.items()],
        [f'"%s-%d-%.1f".format([<dyn {ANY}>, <dyn int|uint>, <dyn double>])'],
    ],
    "bytes": [["(<bytes> + <bytes>)"], ["bytes(<string>)"],
              ['base64.decode(<one of: "YWJj", "YQ==", "YQ", "!", "">)']],
    "duration": [operators(["duration"], ["+", "-"]), ["(<timestamp> - <timestamp>)"]],
    "timestamp": [["(<timestamp> + <duration>)", "(<timestamp> - <duration>)",
                   "(<duration> + <timestamp>)"]],
    "bool": [
        operators(["bool"], ["&&", "||"]),
        operators(["bool"], ["&&", "||"]),
        ["!(<bool>)"],
        operators(SCALARS, ORDER),
        operators(TYPES, ["==", "!="]),
        [f"(<dyn {NUMBER}> {name} <dyn {NUMBER}>)" for name in ORDER + ["==", "!="]],
        [f"(<dyn {ANY}> {name} <dyn {ANY}>)" for name in ("==", "!=")],
        [f"(<dyn {NUMBER}> in [<dyn {NUMBER}>, <dyn {NUMBER}>])", "(<string> in <list(string)>)",
         "(<key> in <map(string, int)>)"],
        [f"<string>.{name}(<string .>)" for name in ("contains", "startsWith", "endsWith")],
        ['<string>.matches("<pattern>")', 'matches(<string>, "<pattern>")'],
        ["has(<map(string, int)>.<one of: a, b, key>)"],
        [f"<over {ALL_LISTS}|map(string, int)>.{name}(<var>, <bool>)"
         for name in ("all", "exists", "exists_one")],
        [f"<over {ALL_LISTS}|map(string, int)>.{name}(<vars>, <bool>)"
         for name in ("all", "exists", "existsOne")],
        ["bool(<string>)"],
        [f"(type(<{type_}>) == <one of: int, string, list, map, double, type, null_type, bool>)"
         for type_ in TYPES],
        [f"math.{name}(<double>)" for name in ("isInf", "isNaN", "isFinite")],
        ["<list(int)>.includes(<int>)", "<string>.includes(<string>)"],
        [f"sets.{name}(<list({type_})>, <list({type_})>)" for name in ("contains", "equivalent", "intersects")
         for type_ in ("int", "string")],
        [f"<{type_}>.isSorted()" for type_ in ("list(int)", "list(string)", "list(double)")],
        ["<opt(int)>.hasValue()", "(<opt(int)> == <opt(int)>)", "(<opt(string)> != <opt(string)>)"],
        [f"{name}(<string>)" for name in ("isQuantity", "isIP", "isCIDR", "isURL", "isSemver")],
        ["isSemver(<string>, <bool>)", "ip.isCanonical(<one of: \"10.0.0.1\", \"::1\", \"::0001\">)"],
        [f"<ip>.is{name}()" for name in ("Unspecified", "Loopback", "LinkLocalMulticast",
                                         "LinkLocalUnicast", "GlobalUnicast")] + ["(<ip> == <ip>)"],
        ["<cidr>.containsIP(<ip>)", "<cidr>.containsCIDR(<cidr>)", "(<cidr> == <cidr>)",
         '<cidr>.containsIP("10.1.2.3")', '<cidr>.containsCIDR("10.1.0.0/16")'],
        [f"<quantity>.{name}(<quantity>)" for name in ("isLessThan", "isGreaterThan")],
        ["<quantity>.isInteger()", "(<quantity> == <quantity>)"],
        [f"<semver>.{name}(<semver>)" for name in ("isLessThan", "isGreaterThan")] + ["(<semver> == <semver>)"],
        ["(<url> == <url>)"],
        [f"format.{name}().validate(<string>).hasValue()" for name in FORMATS] +
        ['format.named("<one of: dns1123Label, uuid, nothing>").value().validate(<string>).hasValue()'],
    ],
    "null_type": [["null"]],
    "list": [
        ["[]", "[<{0}>]", "[<{0}>, <{0}>]", "[<{0}>, <{0}>, <{0}>]"],
        ["(<list({0})> + <list({0})>)"],
        [f"<over {ALL_LISTS}>.map(<var>, <{{0}}>)", f"<over {ALL_LISTS}>.map(<var>, <bool>, <{{0}}>)",
         f"<over {ALL_LISTS}>.transformList(<vars>, <{{0}}>)",
         f"<over {ALL_LISTS}>.transformList(<vars>, <bool>, <{{0}}>)"],
        ["<over list({0})>.filter(<var>, <bool>)"],
        ["<list({0})>.slice(<one of: 0, 1, 2, -1>, <one of: 0, 1, 2, 3>)", "<list({0})>.reverse()",
         "<list({0})>.distinct()"],
    ],
    "list(int)": [["lists.range(<one of: 0, 1, 3>)", "<list(int)>.sort()", "<list(list(int))>.flatten()",
                   "<over list(int)>.sortBy(<var>, <int>)", "<over list(string)>.map(<var>, size(string(<string>)))"],
                  ["[?<opt(int)>, <int>]", "optional.unwrap([<opt(int)>, <opt(int)>])",
                   "[<opt(int)>, <opt(int)>].unwrapOpt()"]],
    "list(double)": [["<list(double)>.sort()"]],
    "list(string)": [['<string>.split(<one of: ",", "", " ", "l", "é">)',
                      '<string>.split(<one of: ",", "l">, <one of: -1, 0, 1, 2>)'],
                     ["<list(string)>.sort()", "<over list(string)>.sortBy(<var>, <int>)"],
                     ['<string>.findAll("<pattern>")', '<string>.findAll("<pattern>", <one of: -1, 0, 1, 2>)',
                      'regex.extractAll(<string>, "<pattern>")'],
                     ["<url>.getQuery()[<one of: \"a\", \"x\">]"]],
    "map": [["{{}}", "{{<key {0}>: <{1}>}}", "{{<key {0}>: <{1}>, <key {0}>: <{1}>}}"]],
    "map(string, int)": [["{<string .>: <int>}", "{<string .>: <int>, <key>: <int>}"],
                         ["{?<key>: <opt(int)>}"],
                         ["<over map(string, int)>.transformMap(<vars>, <int>)",
                          "<over map(string, string)>.transformMap(<vars>, <bool>, <int>)",
                          "<over list(string)>.transformMapEntry(<vars>, {<string>: <int>})"]],
    "opt": [["optional.of(<{0}>)", "optional.none()", "optional.ofNonZeroValue(<{0}>)"],
            ["<list({0})>.first()", "<list({0})>.last()", "<list({0})>[?<one of: 0, 1, 5>]"],
            ["<over map(string, {0})>[?<key>]", "<over map(string, {0})>.?a"],
            ["<opt({0})>.or(<opt({0})>)", "<opt({0})>.optMap(q, [q, q][0])",
             "<opt({0})>.optFlatMap(q, optional.ofNonZeroValue(q))"]],
    "opt(string)": [['regex.extract(<string>, "<pattern>")']],
    "quantity": [["<quantity>.add(<quantity>)", "<quantity>.sub(<quantity>)", "<quantity>.add(<int>)",
                  "<quantity>.sub(<int>)"], ["quantity(<string>)"]],
    "ip": [["<cidr>.ip()"], ["ip(<string>)"]],
    "cidr": [["<cidr>.masked()"], ["cidr(<string>)"]],
    "semver": [["semver(<string>)"], ["semver(<one of: \"1.2\", \"v1.2.3\", \"01.2.3\", \"x\">, <bool>)"]],
    "url": [["url(<string>)"]],
}
ELEMENTS = {type_: [f"<over list({type_})>[<one of: 0, 1, 2, -1, dyn(1u), dyn(0.0), dyn(0.5)>]"]
            for type_ in ("int", "string", "double")}
for type_ in ("int", "string"):
    ELEMENTS[type_] += [f"<over map(string, {type_})>[<key>]", f"<over map(string, {type_})>.a",
                        f"<over map(string, {type_})>.key"]


def inside(type_):
    """The type parameters of list(T) and map(K, V)."""
    parts = type_[type_.index("(") + 1:-1]
    return parts.split(", ", 1) if type_.startswith("map") else [parts]


def groups(type_):
    """The rules for a type, including those for all lists and maps."""
    if "(" not in type_:
        return RULES[type_]
    general = [[rule.format(*inside(type_)) for rule in group]
               for group in RULES[type_.split("(")[0]]]
    return general + RULES.get(type_, [])


# --- literals -----------------------------------------------------------------------------------


def quote(text):
    """A string literal; some non-ASCII characters are not escaped."""
    out = []
    for c in text:
        if c in '\\"':
            out.append("\\" + c)
        elif c in "\t\n":
            out.append("\\t" if c == "\t" else "\\n")
        elif 127 < ord(c) <= 0xFFFF and ord(c) % 2:
            out.append(f"\\u{ord(c):04x}")
        else:
            out.append(c)
    return '"' + "".join(out) + '"'


def double_literal(text):
    named = {"NaN": "(0.0 / 0.0)", "Infinity": "(1.0 / 0.0)", "-Infinity": "(-1.0 / 0.0)"}
    return named.get(text, text)


LITERALS = {
    "int": (INTS, str),
    "uint": (UINTS, lambda value: f"{value}u"),
    "double": (DOUBLES, double_literal),
    "string": (STRINGS, quote),
    "bytes": (BYTES, lambda value: 'b"' + "".join(f"\\x{byte:02x}" for byte in value) + '"'),
    "bool": (["true", "false"], str),
    "duration": (DURATIONS, lambda value: f'duration("{value}")'),
    "timestamp": (TIMESTAMPS, lambda value: f'timestamp("{value}")'),
    "null_type": (["null"], str),
    "quantity": (QUANTITIES, lambda value: f'quantity("{value}")'),
    "ip": (IPS, lambda value: f'ip("{value}")'),
    "cidr": (CIDRS, lambda value: f'cidr("{value}")'),
    "semver": (SEMVERS, lambda value: f'semver("{value}")'),
    "url": (URLS, lambda value: f'url("{value}")'),
}

# The same as values of variables, typed as in the conformance vectors.
BOUND = {
    "int": [{"type": "int", "value": str(value)} for value in INTS],
    "uint": [{"type": "uint", "value": str(value)} for value in UINTS],
    "double": [{"type": "double", "value": value} for value in DOUBLES],
    "string": [{"type": "string", "value": value} for value in STRINGS],
    "bytes": [{"type": "bytes", "base64": base64.b64encode(value).decode()} for value in BYTES],
    "bool": [{"type": "bool", "value": value} for value in (True, False)],
    "duration": [{"type": "duration", "seconds": seconds, "nanos": nanos}
                 for seconds in ("0", "1", "3600", "86401") for nanos in (0, 1, 5 * 10**8)],
    "timestamp": [{"type": "timestamp", "seconds": seconds, "nanos": nanos}
                  for seconds in ("0", "1", "1234567890", "-62135596800", "253402300799")
                  for nanos in (0, 1, 999999999)],
    "null_type": [{"type": "null"}],
}


class Expression:
    """One, with its variables. The name is the seed."""

    def __init__(self, name):
        self.random = random.Random(name)
        self.name = name
        self.parts = []  # (text, type) of every part that is an expression itself; the whole is the last
        self.locals = []  # (name, type) of the variables of enclosing macros
        self.may_be_wrong = self.chance(0.3)
        self.is_wrong = False  # contains a part of the wrong type
        self.choose()

    def choose(self):
        self.variables = {f"{type_[0]}{i}": type_
                          for i, type_ in enumerate(self.random.sample(TYPES, 5))}
        self.text = self.make(self.pick(TYPES + ["bool"] * 8), depth=self.random.randrange(1, 5))
        self.bindings = {name: self.bound(type_) for name, type_ in self.variables.items()}

    def pick(self, items):
        return self.random.choice(items)

    def chance(self, share):
        return self.random.random() < share

    def record(self):
        return {
            "id": f"generated/{self.name}",
            "expr": self.text,
            "disable_check": self.is_wrong,
            "type_env": [{"name": n, "kind": "var", "type": t} for n, t in self.variables.items()],
            "bindings": self.bindings,
        }

    def bound(self, type_):
        """A value for a variable."""
        if type_ in BOUND:
            return self.pick(BOUND[type_])
        n = self.random.randrange(4)
        if type_.startswith("list"):
            return {"type": "list", "value": [self.bound(inside(type_)[0]) for _ in range(n)]}
        key, value = inside(type_)
        keys = self.random.sample(KEYS if key == "string" else INTS, n)
        return {"type": "map", "value": [[{"type": key, "value": str(k)}, self.bound(value)]
                                         for k in keys]}

    def make(self, type_, depth):
        """An expression of that type; sometimes of another."""
        if self.may_be_wrong and self.chance(0.06):
            self.is_wrong = True
            type_ = self.pick(TYPES)
        if depth <= 0 or self.chance(0.1):
            text = self.leaf(type_)
        else:
            text = self.fill(self.rule(type_), depth - 1)
        if not self.locals:
            self.parts.append((text, type_))
        return text

    def rule(self, type_):
        if self.chance(0.08):
            return self.pick(CONDITIONALS).format(type_)
        if type_ in ELEMENTS and self.chance(0.08):
            return self.pick(ELEMENTS[type_])
        return self.pick(self.pick(groups(type_)))

    def leaf(self, type_):
        names = [name for name, its in self.locals if its == type_] * 3
        names += [name for name, its in self.variables.items() if its == type_]
        return self.pick(names) if names and self.chance(0.7) else self.literal(type_)

    def literal(self, type_):
        if type_ in LITERALS:
            values, write = LITERALS[type_]
            return write(self.pick(values))
        if type_.startswith("opt"):
            return f"optional.of({self.literal(*inside(type_))})"
        n = self.random.randrange(4)
        if type_.startswith("list"):
            return "[" + ", ".join(self.literal(inside(type_)[0]) for _ in range(n)) + "]"
        key, value = inside(type_)
        pairs = {self.key(key): self.literal(value) for _ in range(n)}
        return "{" + ", ".join(f"{k}: {v}" for k, v in pairs.items()) + "}"

    def key(self, type_="string"):
        return quote(self.pick(KEYS)) if type_ == "string" else str(self.pick(INTS))

    def fill(self, rule, depth):
        """Fills the placeholders of a rule, from left to right."""
        of, n_locals = None, len(self.locals)

        def place(match):
            nonlocal of
            word, _, rest = match[1].partition(" ")
            if match[1] in TYPES or match[1] in INNER:
                return self.make(match[1], depth)
            if word == "one":
                return self.pick(rest.removeprefix("of: ").split(", "))
            if word == "dyn":
                return f"dyn({self.make(self.pick(rest.split('|')), depth)})"
            if word == "over":
                text, of = self.range(rest.split("|"), depth)
                return text
            if word == "var":
                self.locals.append(("vwxyz"[len(self.locals) % 5], inside(of)[0]))
                return self.locals[-1][0]
            if word == "vars":
                first = "int" if of.startswith("list") else inside(of)[0]
                self.locals += [(f"k{len(self.locals)}", first),
                                ("vwxyz"[len(self.locals) % 5], inside(of)[-1])]
                return f"{self.locals[-2][0]}, {self.locals[-1][0]}"
            if word == "key":
                return self.key(rest or "string")
            return self.pick(PATTERNS) if word == "pattern" else self.make(word, 0)

        text = re.sub(r"<([a-z][^<>]*)>", place, rule)
        del self.locals[n_locals:]
        return text

    def range(self, types, depth):
        """A list or map of one of these types, and its type. An empty literal has no element type, and a
        checker would infer it from the first use, so it becomes a dyn."""
        type_ = self.pick(types)
        text = self.make(type_, depth)
        return f"dyn({text})" if "[]" in text or "{}" in text else text, type_


def parts(name):
    """The parts of the expression of that name, each a record; the whole is the last."""
    expression = Expression(name)
    whole = expression.record()
    return [dict(whole, id=f"{whole['id']}#{i}", expr=text)
            for i, (text, _) in enumerate(expression.parts)]


def records(seed, count):
    for number in range(count):
        yield Expression(f"{seed}/{number}").record()


if __name__ == "__main__":
    for one in records(int(sys.argv[1]), int(sys.argv[2])):
        print(json.dumps(one, ensure_ascii=False))
