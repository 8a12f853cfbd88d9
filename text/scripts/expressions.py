#!/usr/bin/env python3
"""Expressions of chat templates, and what jinja2 makes of each as transformers sets it up.

    expressions.py > text/jinja/testdata/expressions.json

Every filter, test, operator and method that package jinja has is applied to values of every kind, and
literals, escapes, subscripts and slices are written in many ways; except for what package jinja refuses on
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
'7'|int(foo=1)
'7'|int(1, 10, 2)
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

# Text that is marked, whose operators and methods escape.
MARKED = ["('<a b>'|safe)", "('<a b>'|e)", "('x,y,x'|safe)"]
WITH = ["'<'", "('<'|safe)", "'%s'", "2", "none", "missing", "['<', '<'|safe]"]
MARKED_METHODS = ["join(['<', '>'|safe])", "join('<>')", "replace('a','<')", "replace('a','<'|safe)", "replace('x','&',1)", "replace('<'|safe,'')", "split()", "split(',')", "rsplit('x',1)", "splitlines()", "partition('b')", "rpartition('<')",
                  "strip('<')", "lstrip()", "rstrip('>'|safe)", "upper()", "lower()", "title()", "capitalize()", "startswith('<')", "startswith('&'|safe)", "endswith('>')", "find('b')", "count('x')", "removeprefix('<')", "removesuffix('>')", "isalpha()", "isupper()"]
MARKED_FILTERS = ["upper", "lower", "title", "capitalize", "trim", "trim('<')", "string", "safe", "e", "escape", "reverse", "indent(2,true)", "replace('a','<')", "replace('a'|safe,'<'|safe)", "first", "last", "join('<')", "default('<')", "tojson", "length", "wordcount", "list",
                  "int", "float", "sort|join", "unique|join", "max", "min", "lower|upper"]
OF_MARKED = """
'<'|safe == '<'
'<' == '<'|safe
'<'|safe in ['<']
'<'|safe in '<<'
'<' in '<<'|safe
'a'|safe < 'b'
'a' < 'b'|safe
{'a'|safe: 1}['a']
{'a': 1}['a'|safe]
{'<'|safe: 1}|tojson
{'<'|safe: 1}
['<'|safe, '<']
['<'|safe, '<']|unique|list
['B'|safe, 'a']|sort|join
['b'|safe, 'A']|sort
{'B'|safe: 1, 'a': 2}|dictsort
[{'a': 1}]|map(attribute='a'|safe)|list
['<']|map('e')|join('<')
['<']|map('escape')|list
(['<']|map('escape')|first) + '<'
missing|default('<'|safe) + '<'
('<' ~ '<'|safe) + '<'
('<'|safe ~ '<') + '<'
'%s' % ('<'|safe) + '<'
'%r' % (('<'|safe),)
'%s|%s'|format('<', '<'|safe)
'a'|safe is string
'a'|safe is escaped
'a' is escaped
'a'|safe is sequence
'a'|safe is iterable
'a'|safe is mapping
'a'|safe is sameas 'a'
'A'|safe is upper
'12'|safe|int + 1
'<'.replace('<', '&'|safe) + '<'
'-'.join(['<'|safe]) + '<'
''|safe or 'empty'
(3|e) + '<'
(none|safe) + '<'
([1, '<']|e) + '<'
missing|e + '<'
namespace(a='<'|safe).a + '<'
('ab'|safe)[0] + '<'
('ab'|safe)[1:] + '<'
('ab'|safe)['x']
('ab'|safe).x is defined
(('<'|e)|e)|e
""".strip().split("\n")

# Of floating-point numbers: powers to the last digit, quotients, zeros with a sign.
FLOATS = ["2 ** 3.5", "2 ** 0.5", "3 ** 0.5", "10 ** -0.5", "10 ** 0.3", "1.5 ** -7.25", "0.1 ** 3", "7 ** 20.5", "2.0 ** 1023.5", "2.0 ** 1024", "2.0 ** -1074", "2.0 ** -1080", "(-2.0) ** 3", "(-2.5) ** -3", "0.0 ** 0", "0.0 ** -1", "5 ** 0.0",
          "4503599627370497.0 // 1", "29040.79 // 0.222", "-4503599627370497.0 // 1", "(-0.0) // 5", "0.0 // -5", "-7.5 // 0.1", "7.5 // -2.5", "1e300 // 1e-10", "(-0.0)|round", "(-0.3)|round", "(-0.3)|round(method='ceil')", "(-0.3)|round(1,'ceil')", "0.3|round(method='floor')", "(-0.0)|round(method='floor')",
          "1e22|round(3,'floor')", "1.005|round(2,'ceil')", "2.675|round(2,'floor')", "123456789.987654321|round(25,'ceil')", "1e300|round(20,'ceil')", "(-0.0)|abs", "-0.0", "-(0.0)", "0.0 * -1", "-0.0 + 0"]

# Errors in package jinja: complex numbers, and what templates write by mistake only; and attributes of numbers.
LEFT_OUT = r"""
('Ab') % (missing)
('Ab') % ([1, 'Ab'])
('') % (missing)
('') % ([1, 'Ab'])
(-7) ** (0.5)
(missing) in ({'Ab': 1})
(missing) not in ({'Ab': 1})
""".split("\n")


def expressions():
    yield from VALUES + TEXTS + OF_MARKED + FLOATS
    for m in MARKED:
        yield from (f"{x} + '<'" for x in [f"({m}.{method})" for method in MARKED_METHODS] + [f"({m}|{f})" for f in MARKED_FILTERS])
        yield from (f"{m}.{method}" for method in MARKED_METHODS)
        yield from (f"{m}|{f}" for f in MARKED_FILTERS)
        yield from (f"{m}|{f} is escaped" for f in MARKED_FILTERS)
        for w in WITH:
            yield from (f"{x} {op} {y}" for op in OPERATORS if op not in ("/", "//", "**", "-") for x, y in ((m, w), (w, m)) if (op, x) != ("%", m))
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
