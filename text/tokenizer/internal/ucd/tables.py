#!/usr/bin/env python3
"""Writes tables.txt: what Hugging Face's tokenizers know of each character.

    tables.py > tables.txt

Each of the libraries inside tokenizers has Unicode data of another version: 8 for
punctuation, 9 for normal forms, 16 in regular expressions, 17 for letter case. So
the package (0.23.3) is asked about every code point. It does not tell which
characters begin a grapheme; that comes from the package regex, of Unicode 18, less
what is newer than 17.

A line is "p FIRST LAST BITS" (properties, see ucd.go), "g FIRST LAST CLASS"
(grapheme cluster break), "l CHAR LOWER", "c CHAR CLASS" (canonical combining
class), "d CHAR DECOMPOSITION", "k CHAR DECOMPOSITION" (compatibility, where it
differs from d) or "C FIRST SECOND COMPOSITE", in hexadecimal."""

import unicodedata
import regex
from tokenizers import Regex, normalizers, pre_tokenizers

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
ALL = "".join(map(chr, POINTS))
BITS = ["white", "numeric", "punct", "control", "nonspacing", "combining", "word", "rword",
        "L", "N", "P", "S", "M", "Lu", "Ll", "Lt", "Lm", "Lo", "digit",
        "nfc", "nfd", "nfkc", "nfkd"]

# Grapheme breaks of Unicode 18 that 17 lacks, and pictographs that it reserves.
NEW = [(0x5C8, 0x5C9), (0xB53, 0xB54), (0x1ADE, 0x1ADF), (0x1AEC, 0x1AF0), (0x10ECB, 0x10ECF), (0x10EF0, 0x10EF9), (0x11B0A, 0x11B0A),
       (0x11DF0, 0x11DF1), (0x1D127, 0x1D128), (0x1D250, 0x1D252), (0x1D25B, 0x1D25C), (0x1D25F, 0x1D25F), (0x1D280, 0x1D281)]
NEW_LINKERS = [0x1CF5, 0x1CF6, 0x11A3A]
RESERVED = [0x1F1AE, 0x1F7DA, 0x1F7DB, *range(0x1F7F1, 0x1F800)]


def removed(pre):
    """The characters that pre, which removes what it matches, removes."""
    keep = set()
    for _, (start, end) in pre.pre_tokenize_str(ALL):
        keep.update(ALL[start:end])
    return {c for c in POINTS if chr(c) not in keep}


def alone(pre, between):
    """The characters that pre separates from a neighbour that it leaves alone."""
    text = between + between.join(ALL) + between
    return {ord(w) for w, _ in pre.pre_tokenize_str(text) if len(w) == 1 and w != between}


def changed(normalizer):
    out = {}
    for c in POINTS:
        s = normalizer.normalize_str(chr(c))
        if s != chr(c):
            out[c] = s
    return out


def onig(pattern):
    return removed(pre_tokenizers.Split(Regex(pattern), "removed"))


def runs(value):
    """(first, last, value) of neighbours with the same value that is not 0."""
    first = None
    for c in range(0x110001):
        v = value.get(c, 0) if c < 0x110000 else 0
        if first is not None and v != was:
            yield first, c - 1, was
            first = None
        if v and first is None:
            first, was = c, v


def hex_of(s):
    return " ".join("%X" % ord(c) for c in s)


def main():
    hangul = range(0xAC00, 0xD7A4)
    nfc, nfd, nfkc, nfkd = (changed(n()) for n in (normalizers.NFC, normalizers.NFD, normalizers.NFKC, normalizers.NFKD))
    form = normalizers.NFD().normalize_str
    ccc = {}
    for c in POINTS: # classes never change, but a mark may be younger than the tables
        k = unicodedata.combining(chr(c))
        if k and (form("a\u0345" + chr(c)) != "a\u0345" + chr(c) or form("a" + chr(c) + "\u0334") != "a" + chr(c) + "\u0334"):
            ccc[c] = k
    ccc[0x334] = 1
    compose = {}
    for c in nfd:
        if c not in hangul and c not in nfc:
            d = nfd[c]
            first = normalizers.NFC().normalize_str(d[:-1])
            assert len(first) == 1 and normalizers.NFC().normalize_str(first + d[-1]) == chr(c), hex(c)
            compose[first, d[-1]] = c
    second = {ord(b) for _, b in compose} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    clean = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    cleaned = changed(clean)
    sets = {
        "white": removed(pre_tokenizers.WhitespaceSplit()), "numeric": alone(pre_tokenizers.Digits(individual_digits=True), "a"),
        "punct": removed(pre_tokenizers.Punctuation("removed")), "control": {c for c in cleaned if cleaned[c] == ""},
        "nonspacing": {c for c, s in changed(normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)).items() if s == ""},
        "combining": {c for c, s in changed(normalizers.StripAccents()).items() if s == ""},
        "word": onig(r"\w"), "digit": onig(r"\d"),
        "nfc": set(nfc) | set(ccc) | second, "nfd": set(nfd) | set(ccc), "nfkc": set(nfkc) | set(ccc) | second, "nfkd": set(nfkd) | set(ccc),
    }
    sets["rword"] = alone(pre_tokenizers.Whitespace(), "!") - sets["white"]
    for name in ("L", "N", "P", "S", "M", "Lu", "Ll", "Lt", "Lm", "Lo"):
        sets[name] = onig(r"\p{%s}" % name)
    assert sets["white"] == onig(r"\s")
    for b in "!": # the neighbour itself
        assert ord(b) not in sets["rword"]
    bits = dict.fromkeys(POINTS, 0)
    for i, name in enumerate(BITS):
        for c in sets[name]:
            bits[c] |= 1 << i
    for first, last, v in runs(bits):
        print("p %X %X %X" % (first, last, v))

    classes = ["CR", "LF", "Control", "Extend", "ZWJ", "SpacingMark", "Prepend", "Regional_Indicator", "L", "V", "T", "LV", "LVT"]
    gcb = {}
    def give(pattern, value):
        for m in regex.finditer(pattern, ALL):
            gcb[ord(m.group())] = gcb.get(ord(m.group()), 0) | value
    for i, name in enumerate(classes):
        give(r"\p{GCB=%s}" % name, i + 1)
    give(r"\p{Extended_Pictographic}", 14)
    for i, name in enumerate(["Consonant", "Extend", "Linker"]):
        give(r"\p{InCB=%s}" % name, (i + 1) << 4)
    for first, last in NEW:
        for c in range(first, last + 1):
            gcb.pop(c, 0)
    for c in NEW_LINKERS:
        gcb[c] &= 15
    gcb.update(dict.fromkeys(RESERVED, 14))
    for first, last, v in runs(gcb):
        print("g %X %X %X" % (first, last, v))

    for c, s in changed(normalizers.Lowercase()).items():
        print("l %X %s" % (c, hex_of(s)))
    for c, k in sorted(ccc.items()):
        print("c %X %X" % (c, k))
    for c, s in nfd.items():
        if c not in hangul:
            print("d %X %s" % (c, hex_of(s)))
    for c, s in nfkd.items():
        if c not in hangul and nfd.get(c) != s:
            print("k %X %s" % (c, hex_of(s)))
    for (a, b), c in sorted(compose.items()):
        print("C %X %X %X" % (ord(a), ord(b), c))


main()
