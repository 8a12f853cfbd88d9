#!/usr/bin/env python3
"""Expressions of chat templates, and what jinja2 makes of each as transformers sets it up.

    expressions.py > text/internal/jinja/testdata/expressions.json

Every filter, test, operator and method that package jinja has is applied to values of every kind, and
literals, escapes, subscripts and slices are written in many ways; but for what package jinja refuses on
purpose, such as methods that no template uses. The file is a list of pairs: an
expression, and its text, or null where jinja2 has an error.

Needs transformers and jinja2.
"""

import json
import sys

from transformers.utils.chat_template_utils import _compile_jinja_template

VALUES = ["0", "-7", "3.5", "-0.0", "1e20", "true", "none", "missing", "''", "'Ab c'", "'12'", "[3, 1, 2]", "[]", "['b', 'A', 'a']", "{'b': 1, 'a': [2]}", "(1, 'x')"]
FEW = ["2", "-7", "0.5", "true", "none", "missing", "'Ab'", "''", "[1, 'Ab']", "{'Ab': 1}"]
TEXTS = ["''", "'Ab c'", "'  x y\\tz '", "'a,b,,c'", "'straße ÄÖ'", "'x\\ny\\r\\nz'", "'<a href=\"#\">&\\'</a>'", "'ab-cd (ef'", "'1 %s'"]
FILTERS = """abs capitalize count d d('x') d('x',true) default('y') dictsort dictsort(true) dictsort(by='value') e escape first float float(2.5) int int(7) int(base=16) items join join('-')
last length list lower map('string') max min reject('odd') reverse round round(1) round(2,'floor') round(2,method='ceil') select select('string') sort sort(reverse=true)
sort(case_sensitive=true) string sum sum(start=2) title tojson tojson(indent=2) trim trim('x') unique unique(case_sensitive=true) upper wordcount safe format nothing""".split()
TEXT_FILTERS = ["capitalize", "e", "format('x')", "indent", "indent(2,true)", "indent(2,blank=true)", "indent('--')", "int(base=2)", "length", "list", "lower", "replace('a','bb')", "replace('a','b',1)", "replace('','-')",
                "reverse", "title", "tojson", "trim", "trim(' xyz')", "upper", "wordcount", "string", "unique|join", "sort|join", "first", "last", "float", "max", "min"]
METHODS = ["capitalize()", "count('a')", "count('')", "endswith('c')", "endswith(('c','z'))", "find('b')", "index('b')", "isalnum()", "isalpha()", "isdigit()", "islower()", "isspace()", "isupper()",
           "join(['1','2'])", "lower()", "lstrip()", "lstrip('A ')", "partition(',')", "removeprefix('A')", "removesuffix('c')", "replace('a','')", "replace(',','.',1)", "rfind('b')", "rpartition(',')", "rsplit()", "rsplit(',',1)",
           "rstrip()", "rstrip('c')", "split()", "split(',')", "split(',',1)", "split('')", "splitlines()", "startswith('A')", "strip()", "strip('Ac')", "title()", "upper()"]
TESTS = """boolean defined divisibleby(3) eq(0) even false float ge(1) gt(1) in([0,none,'12']) integer iterable le(0) lower lt(1) mapping ne(0) none number odd sameas(0) sameas(true) sequence string true undefined upper""".split()
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "and", "or", "in", "not in"]
SUBSCRIPTS = ["[0]", "[-1]", "[5]", "[1:]", "[:-1]", "[::2]", "[::-1]", "[5:1:-2]", "[-9:2]", "[1:1]", "[:0]", "['a']", ".a", ".b", "[none]", "[true]", "[::0]"]
OTHERS = r"""
'\0'|length
'\7'|tojson
'\10\101\1012'|tojson
'\8'
'\x41\x4a\x7f'|tojson
'\x4'
'\u00e9\u20ac'
'\U0001f600'
'\a\b\f\n\r\t\v'|tojson
'\'\"\\'
"\q"
["it's", 'a "b"', 'it\'s "b"', 'a\nb\tc\\', '\x00\x1fé\x7f\u200b']
{'a': none, 'b': true, 'c': 1.0, 'd': [], 'e': (1,), 'f': {}}
1_000
0x1f
0o17
0b101
1e3
1.5e-7
1e16
123456789.125
0.1 + 0.2
1e-5
100000000000000000.0
1 if true
1 if false
1 if false else 2
not true
not not 0
-2 ** 2
2 ** -1
2 ** 3 ** 2
1e200 ** 2
(-1e200) ** 3
7 // 2
-7 // 2
7 // -2
-7 % 3
7 % -3
7.5 // 2
-7.5 % 2
1 / 0
1 // 0
1 % 0
1 < 2 < 3
1 < 3 < 2
1 + 2 ~ 3 * 4
'a' 'b'
'%d %s %r %5.2f|%-5s|%05d|%x|%%' % (1, 'a', 'b', 3.14159, 'c', 42, 255)
'%s' % 'x'
'%s %s' % 'x'
'%d' % 'x'
'%s' % ('x', 'y')
'%s|%s'|format(1, none)
'x\ny\n'|indent(width=2, first=true, blank=true)
'abab'|replace(old='a', new='b', count=1)
[1, 2] + [3]
[1] * 3
'ab' * 2
'ab' * -1
(1, 2) + (3,)
[1, 2] == [1, 2.0]
{'a': 1} == {'a': true}
1 == true
'a' < 'b'
[1, 2] < [1, 3]
'1' < 2
none == missing
missing == missing
missing.x
missing[0]
none.x
'abc'.x is defined
{'items': 1}.items
{'items': 1}['items']
{'a': 1}.items()|list
{'a': 1}.keys()|list
{'a': 1}.values()|list
{'a': 1}.get('a')
{'a': 1}.get('b')
{'a': 1}.get('b', 2)
{'a': 1, 'a': 2}
{1: 'a', true: 'b'}
[1, 2, 1].count(1)
[1, 2, 1].index(2)
[1, 2, 1].index(3)
[1].append(2)
range(3)|list
range(1, 3)|list
range(5, 0, -2)|list
range(0)|length
dict(a=1, b='c')
namespace(a=1).a
raise_exception('x')
[{'a': 1}, {'a': 2}, {}]|map(attribute='a')|list
[{'a': 1}, {}]|map(attribute='a', default=9)|list
[{'a': {'b': 1}}]|map(attribute='a.b')|list
[[1, 2], [3, 4]]|map(attribute=1)|list
['a', 'b']|map('upper')|join(',')
['a', 'b']|map('replace', 'a', 'c')|list
[1, 2, 3]|select('gt', 1)|list
[1, 2, 3]|reject('gt', 1)|list
[{'a': 1}, {'a': 0}]|selectattr('a')|list
[{'a': 1}, {'a': 0}]|selectattr('a', 'eq', 0)|list
[{'a': 1}, {'a': 0}]|rejectattr('a')|list
[{'a': 1}, {}]|selectattr('a', 'defined')|list
[{'a': 2}, {'a': 1}]|sort(attribute='a')
[{'a': 'x'}, {'a': 'Y'}]|sort(attribute='a')
[{'a': 2}, {'a': 1}]|sum(attribute='a')
[{'a': 2}, {'a': 1}]|min(attribute='a')
[{'a': 2}, {'a': 1}]|max(attribute='a')
[{'a': 1}, {'a': 1}]|unique(attribute='a')|list
[{'a': 1}, {'a': 2}]|join('-', attribute='a')
{'B': 2, 'a': 1}|dictsort(true)
{'B': 2, 'a': 1}|dictsort(false, 'value', true)
{'b': '<é>', 'a': [1, {'c': none}]}|tojson
{'b': '<é>', 'a': [1, {'c': none}]}|tojson(indent=4)
{'b': '<é>', 'a': 1}|tojson(ensure_ascii=true, sort_keys=true, separators=(',', ':'))
3|tojson
'x'|tojson|length
1.0|int
'0x1A'|int(base=16)
'1e3'|float
'nan'|float
2.5|round
3.5|round
-2.5|round
2.675|round(2)
2.1|round(0, 'ceil')
-2.1|round(0, 'floor')
2.15|round(1, 'ceil')
1|round(method='x')
'x' is in 'xyz'
1 is sameas 1.0
'abs' is filter
'nope' is filter
'odd' is test
'A' is upper
'a' is lower
3 is divisibleby 3
3 is not odd
'a'.upper().lower()
"""

# Errors in package jinja: complex numbers, and what templates write by mistake only; and what differs in the
# sign of a zero, and attributes of numbers.
LEFT_OUT = r"""
(-0.0)|round(2,'floor')
(-0.0)|round(2,method='ceil')
('Ab') % (missing)
('Ab') % ([1, 'Ab'])
('') % (missing)
('') % ([1, 'Ab'])
(-7) ** (0.5)
(missing) in ({'Ab': 1})
(missing) not in ({'Ab': 1})
""".split("\n")


def expressions():
    yield from VALUES + TEXTS
    for v in VALUES:
        yield from (f"({v})|{f}" for f in FILTERS)
        yield from (f"({v}) is {t}" for t in TESTS)
        yield from (f"({v}){s}" for s in SUBSCRIPTS if ":" not in s or v[0] in "'[(m")
        yield from (f"({v})|{f}|list" for f in ("map('upper')", "reject('string')", "reverse", "items", "select('number')"))
        yield from (f"-({v})", f"+({v})", f"not ({v})")
    for v in TEXTS:
        yield from (f"({v})|{f}" for f in TEXT_FILTERS)
        yield from (f"({v}).{m}" for m in METHODS)
        yield from (f"({v}){s}" for s in SUBSCRIPTS)
    for o in OPERATORS:
        yield from (f"({a}) {o} ({b})" for a in FEW for b in FEW)
    yield from (e for e in OTHERS.split("\n") if e)


def main():
    pairs = []
    for e in sorted(set(expressions()).difference(LEFT_OUT)):
        try:
            text = _compile_jinja_template("{{ " + e + " }}").render()
        except Exception:
            text = None
        if text is not None and " at 0x" in text:  # an object without a text of its own
            continue
        pairs.append([e, text])
    sys.stdout.write("[\n" + ",\n".join(json.dumps(p, ensure_ascii=False) for p in pairs) + "\n]\n")


main()
