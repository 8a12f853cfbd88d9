#!/usr/bin/env python3
"""Makes tokenizers of parts that nobody would combine, and cases for them.

    parts.py [-n COUNT] [-seed SEED] [-cases] SOURCE OUT
    parts.py -again FOLDER...

Each folder OUT/NNN-NAME has the tokenizer.json of a folder of SOURCE with some parts drawn
anew: normalizers, pre-tokenizers, post-processors, decoders, options of the model and of
added tokens. What tokenizers cannot load is drawn again. compare.py takes the folders;
with -cases each also gets tokenizer_cases.json, from tokenizers, with ids and offsets.
-again adds offsets to the cases that folders have."""

import argparse, json, os, random, shutil

from tokenizers import Tokenizer

import forms

PATTERNS = [r"\s+", r"\d+", r"[aeiou]", r"\p{L}+", r" {2,}", r"[^\w\s]+", r"'s|'t|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", r"\p{N}{1,3}", r"[\r\n]",
            r" ?[^(\s|[.,!?…。，、।۔،])]+", r"[一-龥぀-ゟ゠-ヿ]+", r"\s?\p{L}+", r"\w+", r"\p{Lu}\p{Ll}*", r"\s+(?!\S)|\s+", r"\p{L}++|\s+$|\s", r"(?<!\s)\S+?(?=[aeiou])", r"[\p{L}&&[^\p{Lu}]]+"]
END = r"| ?[^\s\p{L}\p{N}]+[\r\n%s]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
def cased(tail, digits):
    return rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{tail}|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{tail}|\p{{N}}{digits}" + END % "/"
KNOWN = [
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + END % "", CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + END % "",
    CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    cased(CONTRACTIONS + "?", "{1,3}"), cased("", ""),
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    r"[\p{L}&&[^一-龥]]+|[一-龥]+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|(?:\r?\n)+(?!\r?\n)|\s+(?!\S)|\s+"]
KNOWN.append(KNOWN[6].replace(r"\r", "\r").replace(r"\n", "\n")) # as DeepSeek's own file has it
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
SCHEMES = ["always", "first", "never"]
FLAGS = ["lstrip", "rstrip", "single_word", "normalized", "special"]
TEXTS = ["Hello, World! It's 12345 o'clock.", "  two  spaces\t\n\n and \r\n lines  ", "caf\u00e9 cafe\u0301 \ufb01 \u00bd \uff21\uff42 \u0130", "\u6771\u4eac\u306f\u65e5\u672c \ud55c\uad6d \u1112\u1161\u11ab",
         "<s>the a b</s> [CLS] <|endoftext|><mask> the", "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1eb\U0001f1f7\u00b2", "x\u0000\u0007\u200b\ufffd\u00a0y \u2581_z", ""]


class Draw:
    def __init__(self, rng):
        self.rng = rng

    def flag(self):
        return self.rng.random() < 0.5

    def part(self, kinds, many, depth):
        """One of the kinds, each a function that makes a part, or a Sequence."""
        if depth == 0 and self.rng.random() < 0.3:
            return {"type": "Sequence", many: [self.part(kinds, many, 1) for _ in range(self.rng.randint(0, 4))]}
        return self.rng.choice(kinds)()

    def normalizer(self, charsmap):
        f, c = self.flag, self.rng.choice
        plain = [lambda k=k: {"type": k} for k in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt")]
        return self.part(plain + [
            lambda: {"type": "BertNormalizer", "clean_text": f(), "handle_chinese_chars": f(), "strip_accents": c([None, True, False]), "lowercase": f()},
            lambda: {"type": "Strip", "strip_left": f(), "strip_right": f()},
            lambda: {"type": "Prepend", "prepend": c(["▁", "ab", "é"])},
            lambda: {"type": "Replace", "pattern": {"String": c([" ", "a", "é", "  "])}, "content": c(["▁", "", "xyz", "é"])},
            lambda: {"type": "Replace", "pattern": {"Regex": c(PATTERNS[:6])}, "content": c(["▁", "", " ", "xy"])},
        ] + [lambda: charsmap] * bool(charsmap), "normalizers", 0)

    def pre_tokenizer(self):
        f, c = self.flag, self.rng.choice
        split = lambda pattern: {"type": "Split", "pattern": pattern, "behavior": c(BEHAVIORS), "invert": f()}
        return self.part([lambda k=k: {"type": k} for k in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")] + [
            lambda: {"type": "ByteLevel", "add_prefix_space": f(), "trim_offsets": f(), "use_regex": f()},
            lambda: {"type": "Punctuation", "behavior": c(BEHAVIORS)},
            lambda: {"type": "Digits", "individual_digits": f()},
            lambda: {"type": "Metaspace", "replacement": c("▁▁_"), "prepend_scheme": c(SCHEMES), "split": f()},
            lambda: {"type": "CharDelimiterSplit", "delimiter": c(" a-")},
            lambda: {"type": "FixedLength", "length": self.rng.randint(1, 6)},
            lambda: split({"String": c([" ", "a", "▁", "é"])}), lambda: split({"Regex": c(PATTERNS)}), lambda: split({"Regex": c(KNOWN)}),
        ], "pretokenizers", 0)

    def decoder(self):
        f, c = self.flag, self.rng.choice
        return self.part([lambda k=k: {"type": k} for k in ("ByteFallback", "Fuse")] + [
            lambda: {"type": "ByteLevel", "add_prefix_space": f(), "trim_offsets": f(), "use_regex": f()},
            lambda: {"type": "WordPiece", "prefix": c(["##", "a"]), "cleanup": f()},
            lambda: {"type": "Metaspace", "replacement": "▁", "prepend_scheme": c(SCHEMES), "split": f()},
            lambda: {"type": "BPEDecoder", "suffix": c(["</w>", "e"])},
            lambda: {"type": "Strip", "content": c(" ▁"), "start": self.rng.randint(0, 2), "stop": 0},
            lambda: {"type": "Replace", "pattern": c([{"String": "▁"}, {"Regex": c(PATTERNS[:6])}]), "content": c([" ", "", "zz"])},
            lambda: {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": f()},
        ], "decoders", 0)

    def post_processor(self, ids, names):
        f, n = self.flag, self.rng.randint
        cls, sep = self.rng.choice(names), self.rng.choice(names)
        token = lambda x: {"SpecialToken": {"id": x, "type_id": n(0, 2)}}
        text = lambda x: {"Sequence": {"id": x, "type_id": n(0, 2)}}
        def template():
            special = {x: [x] * n(1, 2) for x in (cls, sep)}
            return {"type": "TemplateProcessing", "single": [token(cls)] * f() + [text("A")] + [token(sep)] * n(0, 2),
                    "pair": [token(cls)] * f() + [text("A")] + [token(sep)] * n(0, 2) + [text("B")] + [token(sep)] * f(),
                    "special_tokens": {x: {"id": x, "ids": [ids[x]] * len(t), "tokens": t} for x, t in special.items()}}
        two = {"sep": [sep, ids[sep]], "cls": [cls, ids[cls]]}
        offsets = lambda: {"type": "ByteLevel", "add_prefix_space": f(), "trim_offsets": f(), "use_regex": True}
        around = [template, lambda: {"type": "BertProcessing"} | two, lambda: {"type": "RobertaProcessing", "trim_offsets": f(), "add_prefix_space": f()} | two]
        return self.rng.choice(around + [offsets, lambda: None, lambda: {"type": "Sequence", "processors": [self.rng.choice([offsets] + around)() for _ in range(n(0, 3))]}])()

    def model(self, j):
        m, r = j["model"], self.rng.random
        if m["type"] == "BPE":
            for k in ("fuse_unk", "byte_fallback", "ignore_merges"):
                if r() < 0.4:
                    m[k] = self.flag()
            if r() < 0.4:
                m["unk_token"] = self.rng.choice([None, list(m["vocab"])[5]])
            if r() < 0.15:
                m["end_of_word_suffix"] = self.rng.choice(["e", "</w>"])
            if r() < 0.1:
                m["continuing_subword_prefix"], m["merges"] = "e", []
        if m["type"] == "Unigram" and r() < 0.4:
            m["byte_fallback"] = True
            m["vocab"] += [["<0x%02X>" % b, -5.0] for b in range(256)] * (r() < 0.7)
        if m["type"] == "WordPiece" and r() < 0.4:
            m["max_input_chars_per_word"] = self.rng.choice([3, 7, 20])
            if r() < 0.3:
                j["model"] = {"type": "WordLevel", "vocab": m["vocab"], "unk_token": m["unk_token"]}

    def added(self, j):
        for a in j["added_tokens"]:
            if self.rng.random() < 0.3:
                a.update({k: self.flag() for k in FLAGS})
        top = max([a["id"] for a in j["added_tokens"]] + [len(j["model"]["vocab"])])
        for i, w in enumerate(self.rng.sample(["ing", "the", "é", "  ", "Hello", "日本", "<x>", "a b", "ſ", "\n"], self.rng.randint(0, 4))):
            j["added_tokens"].append({"id": top + 1 + i, "content": w} | {k: self.rng.random() < 0.3 for k in FLAGS})

    def tokenizer(self, j, charsmap):
        r, c = self.rng.random, self.rng.choice
        self.model(j)
        self.added(j)
        if r() < 0.7:
            j["normalizer"] = c([None, self.normalizer(charsmap), self.normalizer(charsmap)])
        if r() < 0.7:
            j["pre_tokenizer"] = c([None, self.pre_tokenizer(), self.pre_tokenizer()])
        if r() < 0.6:
            j["decoder"] = c([None, self.decoder(), self.decoder()])
        if r() < 0.6:
            v = j["model"]["vocab"]
            ids = v if isinstance(v, dict) else {p: i for i, (p, _) in enumerate(v)}
            j["post_processor"] = self.post_processor(ids, [a["content"] for a in j["added_tokens"] if a["content"] in ids] or list(ids)[:3])
        if r() < 0.2:
            j["truncation"] = {"direction": c(["Left", "Right"]), "max_length": 12, "strategy": "LongestFirst", "stride": self.rng.randint(0, 2)}
        return j


def cases(t, texts, pairs):
    return {"cases": [forms.single(t, x) for x in texts], "pairs": [forms.pair(t, x, y) for x, y in pairs]}


def make(a):
    draw = Draw(random.Random(a.seed))
    sources = {n: json.load(open(os.path.join(a.source, n, "tokenizer.json"), encoding="utf-8")) for n in sorted(os.listdir(a.source)) if os.path.exists(os.path.join(a.source, n, "tokenizer.json"))}
    charsmap = next((j["normalizer"] for j in sources.values() if (j["normalizer"] or {}).get("type") == "Precompiled"), None)
    if a.cases: # small files
        sources = {n: j for n, j in sources.items() if j["model"]["type"] != "Unigram"}
        charsmap = None
    made = 0
    while made < a.n:
        name = draw.rng.choice(list(sources))
        text = json.dumps(draw.tokenizer(json.loads(json.dumps(sources[name])), charsmap), ensure_ascii=False)
        try:
            t = Tokenizer.from_str(text)
        except BaseException: # a panic is not an Exception
            continue
        path = os.path.join(a.out, f"{made:03d}-{name}")
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        open(os.path.join(path, "tokenizer.json"), "w", encoding="utf-8").write(text)
        if a.cases:
            forms.write(os.path.join(path, "tokenizer_cases.json"), cases(t, TEXTS, list(zip(TEXTS, TEXTS[1:]))))
        made += 1


def again(folder):
    file = os.path.join(folder, "tokenizer_cases.json")
    old = json.load(open(file, encoding="utf-8"))
    t = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    forms.write(file, cases(t, [c["text"] for c in old["cases"]], [(c["text"], c["pair"]) for c in old["pairs"]]))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-n", type=int, default=100)
    p.add_argument("-seed", type=int, default=1)
    p.add_argument("-cases", action="store_true")
    p.add_argument("-again", action="store_true")
    p.add_argument("folder", nargs="+")
    a = p.parse_args()
    if a.again:
        for folder in a.folder:
            again(folder)
    else:
        a.source, a.out = a.folder
        make(a)


if __name__ == "__main__":
    main()
