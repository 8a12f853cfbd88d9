#!/usr/bin/env python3
"""Writes what Hugging Face's tokenizers find of many patterns.

    patterns.py > ../tokenizer/internal/onig/testdata/cases.json

For each pattern some strings are drawn, of characters that matter to it, and the places
(in characters) that a Split by it isolates. A pattern that tokenizers refuses has none."""

import json, random

from tokenizers import Regex, pre_tokenizers

SEED = 1
PATTERNS = r"""
a|ab|abc
(?:abc|ab|a)c?
\s+(?!\S)|\s+
\s+$|\s*[\r\n]|\s+(?!\S)|\s
a+(?=b)
a(?=b|cc|)
a(?!b|c)b?
(?<=a)b+
(?<!a)b+
(?<=[ab])\S
a++b|a
a*+a|b
a?+ab|ab
[a-c]{2}
[a-c]{2,3}
[a-c]{2,}c
a{,2}b
(?:ab){1,2}+
\p{N}{1,3}+
a+?b?
a{1,3}?b
ab??
(a|b)+?c
[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s
'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s
(?i:'s|'t|'re|'ve|'m|'ll|'d)
(?i:k|s)a
[a-z&&[^b]]+
[\p{L}&&\p{Lu}]+
[^a&&b]
[a-z&&b-y&&[^c]]+
[ab[cd]]+
[^(\s|[.,!?])]+
[\w&&[^\d]]+
[\w]+
\w+
[\W]+
\W+
\P{L}+
\p{^L}+
[^\p{L}]+
^a+
^\s+
a$
\s$
(?:\r?\n)+(?!\r?\n)
\n^a
\n$
.+
a.
\u0061+|\x{e9}|\x62
\t+|\x20
[\x{4e00}-\x{9fff}]+
[一-龥぀-ゟ゠-ヿ]+
[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+
(?:(?:a|b)+c)+
(?:a|aa)+b
(?=a)(?!ab).
(?:(?=a)a|b(?!c))+
[^\s]+\s?
\s?\p{P}+
\p{Lu}?\p{Ll}+(?=\p{Lu}|\s)
[a\-c]+
[a-]+
[]a]+
[\]a]+
a**
a|
(a)|b
(?<name>a)
(?i)a
(?>ab|a)b
\ba
\Aa
a{0}b
x*
""".strip("\n").split("\n") + ["[\r\n]+", "a#b", " {2,}", "[^\r\n]a"]
ALPHABET = list("aaaabbbccc dszkKSLRE'’\n\r\t \u00a0\u3000.,!|()-]é1²3٣ß") + ["\r\n", "ab", "abc", "  ", "'s", "'LL", "ſ", "K", "中", "の", "A", "\n\n", "x\u0301"]


def places(pattern, text):
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    removed = pre_tokenizers.Split(Regex(pattern), "removed")
    rest = {p for _, p in removed.pre_tokenize_str(text)}
    return [list(p) for _, p in split.pre_tokenize_str(text) if p not in rest]


def main():
    rng = random.Random(SEED)
    cases = []
    for pattern in PATTERNS:
        case = {"pattern": pattern}
        try:
            places(pattern, "ab")
            texts = ["".join(rng.choice(ALPHABET) for _ in range(rng.randrange(1, 24))) for _ in range(40)]
            case["texts"] = [{"text": t, "places": places(pattern, t)} for t in texts]
        except Exception as error:
            case["error"] = str(error)
        cases.append(case)
    print(json.dumps(cases, ensure_ascii=False, separators=(",", ":")).replace('},{"pattern"', '},\n{"pattern"'))


main()
