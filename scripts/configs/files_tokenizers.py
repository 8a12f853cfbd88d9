#!/usr/bin/env python3
"""Compares how this library and transformers read the files beside tokenizer.json.

    files_tokenizers.py [-n COUNT] [-seed SEED] [-show N] [-log FILE]
    files_tokenizers.py -write FILE

COUNT (1500) cases are drawn. Each takes a tokenizer.json of text/tokenizer/testdata, a class of tokenizer
(the folder's own, none, the generic one or any of transformers) and one to three changes of
tokenizer_config.json, special_tokens_map.json and added_tokens.json. Both sides then encode and decode the
same texts. A case ends as

    equal           ids, type ids and decoded texts are the same
    both refuse     neither side opens the folder
    ours refuses    transformers opens it, here is an error
    theirs refuses  the reverse
    differ          both open it, and something is not the same

Exits with 1 if any differ, or if ours alone refuses more than 15% of what transformers opens. -write
writes cases of each class, with what transformers gives, for the tests in Go."""

import argparse
import collections
import inspect
import json
import os
import random
import subprocess
import sys
import tempfile
import warnings

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", RAYON_NUM_THREADS="1")
HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = os.path.join(HERE, "..", "..", "text")
FOLDERS = os.path.join(TEXT, "tokenizer", "testdata")
sys.path.insert(0, os.path.join(TEXT, "scripts"))

import transformers as hf

from class_tokenizers import classes, own, reads
from compare import build_go

# The model_type of each folder's config.json, and the class that its tokenizer_config.json would name.
BASES = {
    "bart": ("bart", "BartTokenizer"), "bert": ("bert", "BertTokenizer"), "bert-classify": ("bert", "BertTokenizer"), "gemma2": ("gemma2", "GemmaTokenizer"),
    "gpt2": ("gpt2", "GPT2Tokenizer"), "gpt2-hub": ("gpt2", "GPT2TokenizerFast"), "llama-rope3-new": ("llama", "PreTrainedTokenizerFast"),
    "llama-untied": ("llama", "LlamaTokenizer"), "modernbert": ("modernbert", "PreTrainedTokenizerFast"), "mpnet": ("mpnet", "MPNetTokenizer"),
    "qwen2": ("qwen2", "Qwen2Tokenizer"), "qwen3": ("qwen3", "Qwen2TokenizerFast"), "roberta": ("roberta", "RobertaTokenizer"), "t5": ("t5", "T5Tokenizer"),
    "whisper": ("whisper", "WhisperTokenizer"), "xlm-roberta": ("xlm-roberta", "XLMRobertaTokenizerFast"),
}
ROLES = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"]
FLAGS = ["lstrip", "rstrip", "normalized", "single_word", "special"]
NEW = ["<|user|>", "[NEW1]", "<new tok>", "NewWord", "<pad>", "<image>", "ﬁn"]
BOOLS = ["do_lower_case", "tokenize_chinese_chars", "add_prefix_space", "add_bos_token", "add_eos_token", "legacy", "keep_accents", "split_by_punct",
         "clean_up_tokenization_spaces", "trim_offsets", "remove_space", "use_default_system_prompt"]


class Draw:
    """Draws the files of a case."""

    def __init__(self, rng, base):
        self.rng = rng
        with open(os.path.join(FOLDERS, base, "tokenizer.json"), encoding="utf-8") as f:
            self.json = json.load(f)
        self.added = self.json["added_tokens"]
        vocab = self.json["model"]["vocab"]
        self.pieces = [p if isinstance(p, str) else p[0] for p in vocab]
        self.next = max(len(vocab), 1 + max((a["id"] for a in self.added), default=0))
        self.config, self.map, self.legacy = {}, {}, {}

    def content(self):
        r = self.rng.random()
        if r < 0.35 and self.added:
            return self.rng.choice(self.added)["content"]
        return self.rng.choice(self.pieces) if r < 0.55 else self.rng.choice(NEW)

    def flags(self, token):
        return token | {f: self.rng.random() < 0.5 for f in self.rng.sample(FLAGS, self.rng.randrange(3))}

    def token(self, typed):
        """A token as a string, or as an object as tokenizer_config.json or special_tokens_map.json write it."""
        if self.rng.random() < 0.6:
            return self.content()
        return self.flags({"content": self.content(), "lstrip": False, "rstrip": False, "normalized": False, "single_word": False} | ({"__type": "AddedToken"} if typed else {}))

    def decoder(self):
        listed = [{k: v for k, v in a.items()} for a in self.added if self.rng.random() < 0.9]
        if listed:
            token = self.rng.choice(listed)
            token.update(self.flags({}))
        if self.rng.random() < 0.5:
            listed.append(self.flags({"id": self.next, "content": self.rng.choice(NEW), "lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": True}))
        return {str(a["id"]): {k: v for k, v in a.items() if k != "id"} for a in listed}

    def change(self, cls):
        """One change of one file."""
        rng, null = self.rng, self.rng.random() < 0.1
        kind = rng.choice(["role", "role", "role", "additional", "extra", "decoder", "named", "map role", "map role", "map extra", "added", "flag", "flag", "own", "own", "other"])
        if kind == "role":
            self.config[rng.choice(ROLES)] = None if null else self.token(True)
        elif kind == "additional":
            self.config["additional_special_tokens"] = None if null else [self.token(True) for _ in range(rng.randrange(3))]
        elif kind == "extra":
            tokens = [self.token(True) for _ in range(rng.randrange(3))]
            self.config["extra_special_tokens"] = None if null else tokens if rng.random() < 0.6 else {f"{k}_token": v for k, v in zip(("image", "sound"), tokens)}
        elif kind == "decoder":
            self.config["added_tokens_decoder"] = self.decoder()
        elif kind == "named":
            self.config[rng.choice(["image_token", "boi_token", "video_token"])] = None if null else self.token(True)
        elif kind == "map role":
            self.map[rng.choice(ROLES)] = None if null else self.token(False)
        elif kind == "map extra":
            self.map[rng.choice(["additional_special_tokens", "extra_special_tokens", "image_token"])] = self.content() if rng.random() < 0.1 else [self.content() for _ in range(rng.randrange(3))]
        elif kind == "added":
            self.legacy[rng.choice(NEW)] = self.next + len(self.legacy)
        elif kind == "flag":
            self.config[rng.choice(BOOLS)] = None if null else rng.random() < 0.5
        elif kind == "other":
            field, values = rng.choice([("strip_accents", [None, True, False]), ("model_max_length", [5, 512, 1e30]), ("padding_side", ["left", "right"]), ("truncation_side", ["left", "right"]),
                                        ("extra_ids", [0, 3, 100]), ("offset", [2, 5]), ("src_lang", ["en_XX", "fr_XX"]), ("errors", ["replace"]), ("name_or_path", ["x"]), ("split_special_tokens", [False, True]),
                                        ("unk_id", [0, 1]), ("some_field", [1]), ("wordpieces_prefix", ["##", "_"]), ("mask_token_sent", [None, "<m>"]), ("predict_timestamps", [True, False])])
            self.config[field] = rng.choice(values)
        elif cls and (fields := sorted(own(cls))):
            field = rng.choice(fields)
            default = own(cls)[field]
            if field.endswith("_token"):
                self.config[field] = None if null else self.token(True)
            elif isinstance(default, bool):
                self.config[field] = None if null else not default
            elif isinstance(default, (int, float)):
                self.config[field] = rng.choice([0, 1, 2, 7])
            elif not field.endswith(("_file", "kwargs")):
                self.config[field] = rng.choice([None, True, False])


def draw(rng, found):
    """The folder, the files beside its tokenizer.json, and texts."""
    base = rng.choice(sorted(BASES))
    model_type, name = BASES[base]
    d = Draw(rng, base)
    kind = rng.random()
    if kind < 0.15:
        name = rng.choice(["PreTrainedTokenizerFast", "TokenizersBackend"])
    elif kind < 0.40:
        name = rng.choice(sorted(found)) + rng.choice(["", "", "Fast"])
    elif kind < 0.5:
        name = None
    cls = found.get((name or "").removesuffix("Fast"))
    for _ in range(rng.choice([1, 1, 2, 3])):
        d.change(cls)
    if name:
        d.config["tokenizer_class"] = name
    files = {"tokenizer_config.json": d.config, "config.json": {"model_type": model_type}}
    if d.map:
        files["special_tokens_map.json"] = d.map
    if d.legacy:
        files["added_tokens.json"] = d.legacy
    return base, files, texts(rng, d, files)


def texts(rng, d, files):
    named = []

    def collect(v):
        if isinstance(v, str):
            named.append(v)
        elif isinstance(v, dict):
            named.extend(k for k in v if k in NEW)
            for x in v.values():
                collect(x)
        elif isinstance(v, list):
            for x in v:
                collect(x)

    collect(files)
    tokens = [t for t in named if len(t) < 40] + [a["content"] for a in d.added] + NEW
    words = ["hello", "world", "Café", "the", "It's", "12", "東京", "a", "ing", "\n", "  ", "ÀB", "``x''", "x_y", "<extra_id_3>", "fr_XX"]
    out = [{"text": "hello world"}, {"text": ""}, {"text": "Hello World", "pair": "second text"}]
    for _ in range(8):
        parts = []
        for _ in range(rng.randrange(1, 6)):
            parts.append(rng.choice(tokens) if rng.random() < 0.5 else rng.choice(words))
            parts.append(rng.choice(["", " ", " ", "  "]))
        r = {"text": "".join(parts)}
        if rng.random() < 0.2:
            r["pair"] = rng.choice(tokens) + " b"
        if rng.random() < 0.2:
            r["plain"] = True
        out.append(r)
    return out


def theirs(folder, requests):
    t = hf.AutoTokenizer.from_pretrained(folder)
    b = t.backend_tokenizer
    b.no_truncation()
    b.no_padding()
    out = []
    for r in requests:
        e = b.encode(r["text"], r.get("pair"), add_special_tokens=not r.get("plain"))
        out.append({"ids": e.ids, "type_ids": e.type_ids, "decoded": b.decode(e.ids), "decoded_special": b.decode(e.ids, skip_special_tokens=False)})
    return out


def ours(binary, folder, requests):
    """Answers, or why there are none."""
    p = subprocess.run([binary, folder], input="".join(json.dumps(r) + "\n" for r in requests).encode(), capture_output=True)
    if p.returncode:
        said = p.stderr.decode().strip().removeprefix("tokenize: ")
        if "goroutine" in said:
            sys.exit(f"{folder}: the Go command ended with {said}")
        return None, said.removeprefix(folder + ": ")
    answers = [json.loads(line) for line in p.stdout.decode().split("\n")[:-1]]
    failed = [a["error"] for a in answers if "error" in a]
    return (None, failed[0]) if failed else (answers, None)


def compare(binary, folder, requests):
    """(how the case ends, what is to be said about it)."""
    try:
        want = theirs(folder, requests)
    except BaseException as e:  # tokenizers panics on some vocabularies
        if isinstance(e, KeyboardInterrupt):
            raise
        got, refused = ours(binary, folder, requests)
        said = f"{type(e).__name__}: {str(e)[:150]}"
        return ("theirs refuses", said) if got is not None else ("both refuse", said)
    got, refused = ours(binary, folder, requests)
    if got is None:
        return "ours refuses", refused
    for r, w, g in zip(requests, want, got):
        for field in w:
            if (w[field] or None) != (g.get(field) or None):
                return "differ", f"{field} of {r}: want {w[field]}, got {g.get(field)}"
    return "equal", ""


def reason(said):
    """What refusals have in common."""
    for word in ("no rule for this class", "does not say", "split_special_tokens", "would get", "Unigram model", "has none", "is null", "its normalizer", "its tokens around", "its model", "its pre-tokenizer", "normalized form"):
        if word in said:
            return word
    return said[:100]


# Cases for the tests in Go: the folder and the files beside its tokenizer.json.
WRITTEN = [
    ("bert", {"tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "do_lower_case": False, "strip_accents": False, "tokenize_chinese_chars": False}}),
    ("bert", {"tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "cls_token": "[SEP]", "sep_token": "[CLS]", "unk_token": "[MASK]"}}),
    ("bert", {"tokenizer_config.json": {"do_lower_case": False}, "config.json": {"model_type": "bert"}}),
    ("bert", {"tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": False, "cls_token": "[SEP]", "unk_token": "[MASK]"}}),
    ("bert", {"tokenizer_config.json": {"tokenizer_class": "RobertaTokenizer"}}),
    ("bert", {"tokenizer_config.json": {"tokenizer_class": "BertTokenizer"}, "special_tokens_map.json": {"pad_token": None, "mask_token": {"content": "<m>", "lstrip": True, "rstrip": True}}, "added_tokens.json": {"<m>": 605, "NewWord": 606}}),
    ("roberta", {"tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "unk_token": "<unk>"}}),
    ("roberta", {"tokenizer_config.json": {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": True, "pad_token": None}}),
    ("roberta", {"tokenizer_config.json": {"tokenizer_class": "Qwen2Tokenizer"}}),
    ("qwen2", {"tokenizer_config.json": {"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": True, "eos_token": {"__type": "AddedToken", "content": "<|im_end|>", "lstrip": True}}}),
    ("qwen2", {"tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer", "bos_token": None}}),
    ("qwen2", {"tokenizer_config.json": {"tokenizer_class": "Qwen2Tokenizer", "extra_special_tokens": {"image_token": "<image>"}, "additional_special_tokens": ["<|user|>"], "video_token": "<|video|>"}}),
    ("llama-rope3-new", {"tokenizer_config.json": {"tokenizer_class": "LlamaTokenizer", "pad_token": "<pad>"}, "config.json": {"model_type": "llama"}}),
    ("llama-untied", {"tokenizer_config.json": {"tokenizer_class": "LlamaTokenizer", "legacy": True, "add_prefix_space": False}, "special_tokens_map.json": {"additional_special_tokens": ["<|user|>"], "image_token": "<image>"}}),
    ("llama-untied", {"tokenizer_config.json": {"tokenizer_class": "LlamaTokenizer", "extra_special_tokens": None}, "special_tokens_map.json": {"additional_special_tokens": ["<|user|>"]}}),
    ("t5", {"tokenizer_config.json": {"tokenizer_class": "T5Tokenizer", "eos_token": "<pad>", "extra_ids": 3}}),
    ("xlm-roberta", {"tokenizer_config.json": {"tokenizer_class": "XLMRobertaTokenizer", "bos_token": "<unk>", "eos_token": "<pad>"}}),
    ("mpnet", {"tokenizer_config.json": {"tokenizer_class": "MPNetTokenizer", "cls_token": "[UNK]", "sep_token": "<mask>"}}),
]


# Fields that classes need to be built from a vocabulary that was not made for them.
NEEDED = {"AlbertTokenizer": {"cls_token": "<pad>", "sep_token": "</s>"}, "CLIPTokenizer": {"unk_token": "<unk>"}, "FunnelTokenizer": {"unk_token": "[UNK]"}}


def write(path, found):
    """Writes WRITTEN, and each class that builds a tokenizer from a vocabulary of its kind."""
    fitting = {"BPE": "llama-untied", "WordPiece": "bert", "Unigram": "t5", None: "t5"}
    listed = [(fitting[getattr(cls.model, "__name__", None)], {"tokenizer_config.json": {"tokenizer_class": name, "add_prefix_space": True} | NEEDED.get(name, {})}) for name, cls in sorted(found.items()) if reads(cls) == "vocabularyAlone" and name == cls.__name__]
    requests = [{"text": "Hello World's Café 12 x_y"}, {"text": "a<|user|> <mask> b<image> [CLS]<s></s>NewWord"}, {"text": "  ``two''  \n\n", "pair": "東京 ÀB"}]
    cases = []
    with tempfile.TemporaryDirectory() as root:
        for i, (base, files) in enumerate(WRITTEN + listed):
            folder = os.path.join(root, str(i))
            lay(folder, base, files)
            try:
                cases.append({"folder": base, "files": files, "texts": [r | w for r, w in zip(requests, theirs(folder, requests))]})
            except Exception as e:  # RoFormer's and MarkupLM's, which need more than these files
                print(f"{files}: {type(e).__name__}: {e}")
    with open(path, "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in cases) + "\n]\n")


def lay(folder, base, files):
    """Makes a folder."""
    os.mkdir(folder)
    os.symlink(os.path.join(os.path.abspath(FOLDERS), base, "tokenizer.json"), os.path.join(folder, "tokenizer.json"))
    for name, value in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            json.dump(value, f, ensure_ascii=False)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-n", type=int, default=1500)
    p.add_argument("-seed", type=int, default=1)
    p.add_argument("-show", type=int, default=3)
    p.add_argument("-log", help="file for all cases")
    p.add_argument("-write", help="file for the tests in Go; nothing is compared")
    a = p.parse_args()
    hf.logging.set_verbosity(100)
    warnings.simplefilter("ignore")
    if a.write:
        return write(a.write, classes())
    rng, found, binary = random.Random(a.seed), classes(), build_go()
    log = open(a.log, "w") if a.log else None
    ends, reasons, examples = collections.Counter(), collections.Counter(), collections.defaultdict(list)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as root:
        for i in range(a.n):
            base, files, requests = draw(rng, found)
            folder = os.path.join(root, str(i))
            lay(folder, base, files)
            end, said = compare(binary, folder, requests)
            ends[end] += 1
            if end == "ours refuses":
                reasons[reason(said)] += 1
            key = (end, reason(said)) if end == "ours refuses" else end
            examples[key].append((base, files, said))
            if log:
                print(json.dumps([end, base, files, said], ensure_ascii=False), file=log, flush=True)
            subprocess.run(["rm", "-rf", folder])
    taken = ends["equal"] + ends["ours refuses"] + ends["differ"]
    print(f"{a.n} cases, seed {a.seed}, transformers {hf.__version__}: " + ", ".join(f"{k} {ends[k]}" for k in ("equal", "differ", "ours refuses", "theirs refuses", "both refuse")))
    print(f"ours alone refuses {100 * ends['ours refuses'] / max(taken, 1):.1f}% of what transformers opens:")
    for why, n in reasons.most_common():
        print(f"  {n:4} {why}")
    for key, list_ in examples.items():
        if key == "differ" or key == "theirs refuses" or key[0] == "ours refuses":
            for base, files, said in list_[: a.show if key != "differ" else 10 * a.show]:
                print(f"{key}: {base} {json.dumps(files, ensure_ascii=False)}\n    {said[:500]}")
    sys.exit(ends["differ"] > 0 or ends["ours refuses"] > 0.15 * taken)


if __name__ == "__main__":
    main()
