#!/usr/bin/env python3
"""Writes names.txt: the names that Oniguruma has for sets of characters, in the version that
is inside of Hugging Face's tokenizers (0.23.3), and which letters are equal without case.

    names.py > names.txt

A line is "n NAME,NAME… GAP+LENGTH GAP+LENGTH…", runs of characters, each after a gap, in
hexadecimal; "f CHAR CHAR…", letters that are one without case; or "m CHAR CHAR…", all those
that are, or are a part of, several letters without case, such as ß, which is ss. A name that
begins with a colon is that of a POSIX bracket where it differs from the property's."""

import functools, multiprocessing, unicodedata

from tokenizers import Regex, pre_tokenizers

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
ALL = "".join(map(chr, POINTS))
POSIX = "alnum alpha blank cntrl digit graph lower print punct space upper xdigit word ascii".split()


def places(pattern, text):
    """Where pattern matches in text, in runs."""
    done = 0
    for _, (start, end) in pre_tokenizers.Split(Regex(pattern), "removed").pre_tokenize_str(text):
        if done < start:
            yield done, start
        done = end
    if done < len(text):
        yield done, len(text)


def members(pattern):
    """(first, after the last) of the runs of code points that the pattern, of one character, matches."""
    runs = []
    for at in range(0, len(ALL), 1 << 15):
        for start, end in places(f"(?:{pattern})+", ALL[at:at + (1 << 15)]):
            for first, end in split(POINTS[at + start], POINTS[at + end - 1] + 1):
                if runs and runs[-1][1] == first:
                    first = runs.pop()[0]
                runs.append((first, end))
    return tuple(runs)


def split(first, end):
    """Without the surrogates, which no text has."""
    return [(first, 0xD800), (0xE000, end)] if first < 0xD800 and end > 0xE000 else [(first, end)]


NAMES = """han latin hiragana greek katakana hangul cyrillic arabic hebrew thai devanagari bengali tamil armenian georgian common
c cc cf cn co lc m mc me mn nd nl no pc pd pe pf pi po ps sc sk sm so z zl zp zs
control format mark letter number punctuation symbol separator decimalnumber digit closepunctuation
uppercaseletter lowercaseletter titlecaseletter modifierletter otherletter alphabetic ideographic""".split() + POSIX


@functools.cache
def cased():
    """Letters that may have another case, for Oniguruma, whose Unicode Python's need not be, or for Python."""
    out = {c for c in POINTS if unicodedata.category(chr(c))[0] in "LMNS" and (chr(c).lower() != chr(c) or chr(c).upper() != chr(c) or chr(c).casefold() != chr(c))}
    out.update(c for first, end in members(r"[\p{lu}\p{ll}\p{lt}]") for c in range(first, end))
    for c in list(out):
        for s in (chr(c).lower(), chr(c).upper(), chr(c).title(), chr(c).casefold()):
            out.update(map(ord, s))
    return sorted(out)


def same(c):
    """The letters that are one with c without case; text has them apart, so that no two are one."""
    letters = cased()
    text = "\n".join(map(chr, letters))
    return [letters[start // 2] for first, end in places("(?i:%s)" % chr(c), text) for start in range(first, end, 2)]


def several(c):
    """Whether c is more than one letter without case."""
    if len(chr(c).casefold()) > 1:
        return True
    long = unicodedata.normalize("NFKC", chr(c)).casefold()
    return len(long) > 1 and next(places("(?i:%s)" % chr(c), long), None) == (0, len(long))


def main():
    with multiprocessing.Pool(12) as pool:
        names = sorted(set(NAMES))
        brackets = ["[[:%s:]]" % name for name in POSIX]
        found = dict(zip(names + brackets, pool.map(members, [r"\p{%s}" % name for name in names] + brackets, 1)))
        letters = cased()
        orbits = dict(zip(letters, pool.map(same, letters, 50)))
        long = {c for c, is_long in zip(letters, pool.map(several, letters, 50)) if is_long}
    sets = {}
    for name in names:
        sets.setdefault(found[name], []).append(name)
    for name, bracket in zip(POSIX, brackets):
        if found[bracket] != found[name]:
            sets.setdefault(found[bracket], []).append(":" + name)
    for runs, names in sorted(sets.items(), key=lambda x: x[1]):
        out, at = [], 0
        for first, end in runs:
            out.append("%x+%x" % (first - at, end - first))
            at = end
        print("n", ",".join(names), *out)
    seen = set()
    for c in letters:
        if c not in seen and len(orbits[c]) > 1:
            print("f", *("%x" % x for x in sorted(orbits[c])))
        seen.update(orbits[c])
    parts = {ord(x) for c in long for x in chr(c).casefold()}
    parts |= {ord(v) for x in parts for v in chr(x).upper() + chr(x).lower()}
    print("m", *("%x" % x for x in sorted(long | {p for p in parts if p >= 0x80})))


if __name__ == "__main__":
    main()
