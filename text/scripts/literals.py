#!/usr/bin/env python3
"""Writes literals of Python, and the JSON of what ast.literal_eval makes of them.

    literals.py COUNT SEED > text/answer/testdata/literals.json

A line is a literal and its JSON, or null where Python refuses the literal or JSON has no such value: bytes, complex numbers, an ellipsis and
keys that are not strings, numbers or constants. A set is {"set": [...]}. Every third literal is a valid one with a changed byte.

Left out is what the parser takes on purpose: strings that go over the end of a line and the constants of JSON, since models write them;
elements that a set has twice, which stay; numbers that are infinite for Python, which are numbers of JSON; values that JSON does not have in
a dictionary with a key twice, the last of which counts for Python."""

import ast, json, random, re, sys, warnings

warnings.simplefilter("ignore")
CHARS = ["a", "Z", " ", "é", "東", "😀", "'", '"', "#", ",", ")", "]", "}", ":", "=", "{", "(", "[", "%", "0", "\t"]
ESCAPES = ["\\\\", "\\'", '\\"', "\\a", "\\b", "\\f", "\\n", "\\r", "\\t", "\\v", "\\0", "\\7", "\\12", "\\101", "\\377", "\\400", "\\08", "\\x41", "\\xe9", "\\xFF", "\\u00e9", "\\uD83D\\uDE00", "\\ud800",
           "\\U0001F600", "\\U0010ffff", "\\N{BULLET}", "\\N{latin small letter e with acute}", "\\N{CJK UNIFIED IDEOGRAPH-6771}", "\\N{HANGUL SYLLABLE GA}", "\\N{GREEK SMALL LETTER ALPHA}", "\\d", "\\é", "\\8", "\\\n", "\\ ", "\\("]


def space(r):
    return r.choice(["", "", "", "", " ", "\n", "\t", "  ", " \\\n ", " # no, )\n"])


def string(r):
    quote = r.choice(["'", '"', "'''", '"""'])
    raw = r.random() < 0.15
    body = ""
    for _ in range(r.choice([0, 0, 1, 2, 3, 6])):
        if r.random() < 0.45:
            e = r.choice(ESCAPES)
            if raw and e.endswith("\n"):
                continue
            body += e
        else:
            c = r.choice(CHARS + (["\n"] if len(quote) == 3 else []))
            body += c if c != quote[0] else "\\" + c
    prefix = r.choice(["r", "R"]) if raw else r.choice(["", "", "", "", "u", "U"])
    return prefix + quote + body + quote


def strings(r):
    return (" " + space(r)).join(string(r) for _ in range(r.choice([1, 1, 1, 1, 2, 3])))


def digits(r, n=5):
    s = r.choice("123456789") + "".join(r.choice("0123456789") for _ in range(r.randrange(n)))
    return re.sub(r"(\d)(\d)", lambda m: m[1] + r.choice(["", "", "_"]) + m[2], s)


def number(r):
    n = r.choice([
        lambda: digits(r), lambda: digits(r, 40), lambda: r.choice(["0", "00", "0_0", "000"]), lambda: r.choice(["0x", "0X", "0x_"]) + "%x" % r.getrandbits(r.choice([4, 40, 70])),
        lambda: r.choice(["0o", "0O"]) + "%o" % r.getrandbits(20), lambda: r.choice(["0b", "0B"]) + bin(r.getrandbits(9))[2:], lambda: digits(r) + ".", lambda: "." + digits(r),
        lambda: digits(r) + "." + digits(r), lambda: "0" + digits(r) + ".5", lambda: digits(r, 2) + r.choice("eE") + r.choice(["", "+", "-"]) + digits(r, 2), lambda: digits(r) + ".e1_0", lambda: ".5e-3", lambda: "0.0", lambda: "1E05",
    ])()
    return r.choice(["", "", "", "-", "+", "- ", "+\n"]) + n


def key(r):
    return r.choice([strings, strings, strings, lambda r: digits(r) + "5", lambda r: "-2.25", lambda r: "None", lambda r: "1e20", lambda r: "0x1f", lambda r: ".00001", lambda r: "123456789012345678.5"])(r)


def literal(r, depth=0, hashable=False):
    kinds = [strings, strings, number, number, lambda r: r.choice(["True", "False", "None"])]
    if depth < 4:
        def several(some, least=0):
            n = r.choice([0, 1, 1, 2, 3])
            items = [space(r) + some() + space(r) for _ in range(max(n, least))]
            return items, r.random() < 0.3 and bool(items)
        def sequence(open, close):
            items, comma = several(lambda: literal(r, depth + 1, hashable))
            return open + ",".join(items) + ("," if comma or open == "(" and len(items) == 1 else "") + close
        kinds.append(lambda r: sequence("(", ")"))
        kinds.append(lambda r: "(" + space(r) + literal(r, depth + 1, hashable) + space(r) + ")")
        if not hashable:
            kinds.append(lambda r: sequence("[", "]"))
            def mapping(r):
                items, comma = several(lambda: key(r) + space(r) + ":" + space(r) + literal(r, depth + 1))
                return "{" + space(r) + ",".join(items) + ("," if comma else "") + "}"
            def a_set(r):
                items, comma = several(lambda: literal(r, depth + 1, True), 1)
                return "{" + ",".join(items) + ("," if comma else "") + "}"
            kinds += [mapping, mapping, a_set]
    return r.choice(kinds)(r)


def as_json(v):
    if isinstance(v, (str, int, float, type(None))):
        return v
    if isinstance(v, (list, tuple)):
        return [as_json(x) for x in v]
    if isinstance(v, (set, frozenset)):
        return {"set": sorted((as_json(x) for x in v), key=json.dumps)}
    if isinstance(v, dict):
        if not all(isinstance(k, (str, int, float, type(None))) for k in v):
            raise ValueError("JSON has no such key")
        return {k: as_json(x) for k, x in v.items()}
    raise ValueError("JSON has no " + type(v).__name__)


def wanted(source):
    """Arguments are within brackets, where a value may go over lines."""
    try:
        call = ast.parse("f(x=" + source + "\n)", mode="eval").body
        if not isinstance(call, ast.Call) or len(call.keywords) != 1 or call.args:
            return None
        return {"v": as_json(ast.literal_eval(call.keywords[0].value))}
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def left_out(source):
    try:
        call = ast.parse("f(x=" + source + "\n)", mode="eval")
        sets = [n for n in ast.walk(call) if isinstance(n, ast.Set)]
        infinite = any(isinstance(n, ast.Constant) and n.value == float("inf") for n in ast.walk(call))
        odd = lambda n: any(isinstance(m, ast.Constant) and isinstance(m.value, (complex, bytes, type(...))) for m in ast.walk(n))
        twice = any(isinstance(n, ast.Dict) and odd(n) and len(ast.literal_eval(n)) != len(n.keys) for n in ast.walk(call))
        return infinite or twice or any(len(ast.literal_eval(n)) != len(n.elts) for n in sets) or any(isinstance(n, ast.Name) and n.id in ("true", "false", "null") for n in ast.walk(call))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False


def main():
    count, r = int(sys.argv[1]), random.Random(int(sys.argv[2]))
    done = 0
    print("[")
    while done < count:
        source = literal(r)
        if len(source) > 400:
            continue
        mutant = done % 3 == 2
        if mutant:
            at = r.randrange(len(source))
            source = source[:at] + r.choice(["", "'", '"', "\\", "(", ")", "[", "]", "{", "}", ",", ":", "+", "-", ".", "_", "0", "j", "b", "f", "e", "x", " ", "..."]) + source[at + r.randrange(2):]
        want = wanted(source)
        if mutant and want is None and "\n" in source or left_out(source):
            continue
        print((",\n" if done else "") + json.dumps([source, want]), end="")
        done += 1
    print("\n]")


if __name__ == "__main__":
    main()
