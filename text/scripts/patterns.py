#!/usr/bin/env python3
"""Writes what Hugging Face's tokenizers find of many patterns.

    patterns.py > ../tokenizer/internal/onig/testdata/cases.json

For each pattern some strings are drawn, of characters that matter to it, and the places
(in characters) that a Split by it isolates. A pattern that tokenizers refuses has none."""

import json, random, sys

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
(?i:k)+|[sK]
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
[[a]-t]
[bc&-[z]]
[[a]&&-t]
[a&-&&-c]
[\d-a]
(?i:s)s
(?i:st|ſ)
(?i:s(?:s))
(?i:\u0073s)
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
\p{Han}+
[\p{Han}&&[^中]]+|\p{^Han}
[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
\p{hiragana}|\p{ Latin }+|\p{Nd}|\p{Sc}
\p{Decimal_Number}+|\p{Close_Punctuation}
\p{Script=Han}
\p{Klingon}
[[:alpha:]]+
[[:^punct:]a]+
[[:punct:][:digit:]]+
[[:foo:]]
[[:alpha]
\h+|\H
[\h&&[^a]]+
a\R|\R+
\r?\R
\X
a\X
\X\X
.\X
\A\s*\S
\S\z
\S\Z
\b\w+
\w\B
(?>a|ab)c?b
(?>a+)b|a
(?>a+b|a)c|b
(?:ab|a)++b|a
(?:a|b)*+c|\S
(?>\s+)\S
(?i)abc|[k-t&&[^m]]
x(?i)a|b
(?i)a(?-i)b|S
(?i:[a-c])+
(?i:[^a-c])+
(?i:[[:lower:]&&[^ßﬀ-ﬆ]])+
(?i:é|Ж|k|ſ)
(?i:ß)
(?i:[ß])
(?i:ŉ)
(?m:.)+
(?i-m:a.)+
(?m)a.
(?s)a
(?x) a b
(?=a+b).
(?!a*c)\w
(?=(?>a|b)+c)\w
(?<!a)(?>b|bc)
(?<n1>a)b
(?<1>a)b
""".strip("\n").split("\n") + ["[\r\n]+", "a#b", " {2,}", "[^\r\n]a"]
ALPHABET = list("aaaabbbccc dszkKSLRE'’\n\r\t \u00a0\u3000.,!|()-]é1²3٣ß") + ["\r\n", "ab", "abc", "  ", "'s", "'LL", "ſ", "\u212a", "é", "É", "Ж", "ж", "😀", "🇫🇷", "🇩", "\r", "中", "の", "A", "\n\n", "x\u0301"]


def places(pattern, text):
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    removed = pre_tokenizers.Split(Regex(pattern), "removed")
    rest = {p for _, p in removed.pre_tokenize_str(text)}
    return [list(p) for _, p in split.pre_tokenize_str(text) if p not in rest]


# What random patterns are made of.
LETTERS = list("abcdskSKfiltx")
CHARS = LETTERS + list(" '.,!-&^1é中ſß") + ["\\.", "\\-", "\\]", "\\[", "\\u0061", "\\x62", "\\x{e9}", "\\n", "\\r", "\\t"]
SETS = ["\\h", "\\H", "\\p{Han}", "\\P{Nd}", "\\p{Latin}", "\\s", "\\S", "\\d", "\\D", "\\w", "\\W"] + [f"\\{p}{{{n}}}" for p in "pP" for n in ("L", "N", "P", "S", "M", "Lu", "Ll", "Lt", "Lm", "Lo", "^L")]
QUANTIFIERS = ["*", "+", "?", "*?", "+?", "??", "*+", "++", "?+", "{2}", "{1,3}", "{2,}", "{,2}", "{1,2}?", "{2}+", "{1,2}+"]


def random_class(rng, depth):
    def member():
        x = rng.random()
        if x < 0.2:
            return rng.choice(SETS + ["[:alpha:]", "[:^space:]", "[:punct:]"])
        if x < 0.3 and depth < 2:
            return random_class(rng, depth + 1)
        if x < 0.5:
            return rng.choice(["a-d", "a-z", "A-Z", "0-9", "b-c", "一-龥", "\\u0061-\\x{7a}", "!-/", " -&"])
        return rng.choice(CHARS)

    members = lambda: "".join(member() for _ in range(rng.randrange(1, 4)))
    s = members()
    while rng.random() < 0.15:
        s += "&&" + members()
    return "[" + ("^" if rng.random() < 0.3 else "") + s + rng.choice(["", "", "", "-"]) + "]"


def random_pattern(rng, depth=0):
    def place():
        x = rng.random()
        if x < 0.3:
            return rng.choice(["(?<=", "(?<!"]) + rng.choice([rng.choice(LETTERS), rng.choice(SETS), random_class(rng, 1)]) + ")"
        return rng.choice(["^", "$", "\\b", "\\B", "\\A", "\\z", "\\Z"]) if x < 0.5 or depth == 3 else rng.choice(["(?=", "(?!"]) + random_pattern(rng, depth + 1) + ")"

    def atom():
        x = rng.random()
        if depth < 3 and x < 0.2:
            return rng.choice(["(?:", "(?>", "(", "(?i:", "(?m:", "(?<a>"]) + random_pattern(rng, depth + 1) + ")"
        if x < 0.3:
            return rng.choice(SETS)
        if x < 0.5:
            return random_class(rng, 0)
        return rng.choice([".", "\\X", "\\R"]) if x < 0.57 else rng.choice(CHARS)

    def sequence():
        parts = [place() if rng.random() < 0.12 else atom() + (rng.choice(QUANTIFIERS) if rng.random() < 0.35 else "") for _ in range(rng.randrange(1, 5))]
        return "".join(parts)

    return "|".join(sequence() for _ in range(rng.choice([1, 1, 1, 2, 3])))


def case_of(rng, pattern, texts):
    case = {"pattern": pattern}
    try:
        places(pattern, "ab")
        texts = ["".join(rng.choice(ALPHABET) for _ in range(rng.randrange(1, 24))) for _ in range(texts)]
        case["texts"] = [{"text": t, "places": places(pattern, t)} for t in texts]
    except Exception as error:
        case["error"] = str(error)
    except BaseException as error:  # a panic, where Oniguruma gives up a match
        if isinstance(error, KeyboardInterrupt):
            raise
        return None
    return case


def main():
    seed, n = (int(a) for a in sys.argv[1:] or (SEED, 200))
    rng = random.Random(seed)
    cases = [case_of(rng, pattern, 40) for pattern in PATTERNS]
    drawn = (case_of(rng, random_pattern(rng), 10) for _ in range(n))
    cases += [case | {"random": True} for case in drawn if case]
    print(json.dumps(cases, ensure_ascii=False, separators=(",", ":")).replace('},{"pattern"', '},\n{"pattern"'))


main()
