#!/usr/bin/env python3
"""Makes the older forms of tokenizers, and truncation and padding of every kind.

    forms.py SOURCE OUT

SOURCE is a directory of model folders that have tokenizer.json and tokenizer_cases.json.
From each that there is, OUT gets NAME-FORM, in which stand

  the older form           vocab.txt, vocab.json with merges.txt, Marian's source.spm,
                           target.spm and vocab.json, or model.gguf, each with the small
                           JSON files published beside it; pieces.py makes the others
  reference.json           a tokenizer.json with the ids that the form stands for
  tokenizer_cases.json     as in the source folder, computed from reference.json

and NAME-truncate-…, NAME-pad-…, which are tokenizer.json with these set. What transformers
reads from a form is compared with reference.json; the
script fails where it differs."""

import json, os, shutil, sys

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", RAYON_NUM_THREADS="1")
import gguf
from sentencepiece import sentencepiece_model_pb2 as proto
from tokenizers import Tokenizer
from transformers import AutoTokenizer

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


class Source:
    """A folder with tokenizer.json, and the folders made from it."""

    def __init__(self, source, out, name):
        self.name, self.out = name, out
        self.path = os.path.join(source, name)
        self.json = json.load(open(os.path.join(self.path, "tokenizer.json"), encoding="utf-8"))
        self.cases = json.load(open(os.path.join(self.path, "tokenizer_cases.json"), encoding="utf-8"))
        self.added = self.json["added_tokens"]
        self.special = [a["content"] for a in self.added if a["special"]]

    def vocab(self):
        """Pieces in the order of their ids, added tokens included."""
        v = self.json["model"]["vocab"]
        v = dict(v) if isinstance(v, dict) else {p: i for i, (p, _) in enumerate(v)}
        v |= {a["content"]: a["id"] for a in self.added}
        names = sorted(v, key=v.get)
        assert [v[n] for n in names] == list(range(len(names))), self.name
        return names

    def merges(self):
        return [m if isinstance(m, str) else " ".join(m) for m in self.json["model"]["merges"]]

    def folder(self, form, reference=None, tokenizer_json=False):
        """An empty folder NAME-form with the reference and its cases."""
        path = os.path.join(self.out, f"{self.name}-{form}")
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        file = os.path.join(path, "tokenizer.json" if tokenizer_json else "reference.json")
        write(file, reference or self.json)
        t = Tokenizer.from_file(file)
        write(os.path.join(path, "tokenizer_cases.json"), {"cases": [single(t, c["text"]) for c in self.cases["cases"]], "pairs": [pair(t, p["text"], p["pair"]) for p in self.cases["pairs"]]})
        return path

    def check(self, path, encode, what, unless=lambda text: False):
        """encode(text) gives the reference's ids for each case."""
        cases = json.load(open(os.path.join(path, "tokenizer_cases.json"), encoding="utf-8"))["cases"]
        bad = [(c["text"], c["ids"], encode(c["text"])) for c in cases if not unless(c["text"]) and encode(c["text"]) != c["ids"]]
        for text, want, got in bad[:5]:
            print(f"  {path}: {text!r}\n    reference {want}\n    {what} {got}")
        print(f"{os.path.basename(path):32} {what}: {len(bad)} of {len(cases)} cases differ", flush=True)
        return not bad


def single(t, text):
    """One case. Truncation only_second is an error on a single text that is too long."""
    try:
        e = t.encode(text)
    except BaseException as error: # tokenizers panics where the stride is too long for what is left
        return {"text": text, "error": str(error)}
    plain = t.encode(text, add_special_tokens=False)
    return {"text": text, "ids": e.ids, "ids_plain": plain.ids, "attention_mask": e.attention_mask, "offsets_plain": plain.offsets, "overflowing": [o.ids for o in e.overflowing],
            "decoded": t.decode(e.ids), "decoded_special": t.decode(e.ids, skip_special_tokens=False)}


def pair(t, text, second):
    try:
        e = t.encode(text, second)
    except BaseException as error: # tokenizers panics where the stride is too long for what is left
        return {"text": text, "pair": second, "error": str(error)}
    return {"text": text, "pair": second, "ids": e.ids, "type_ids": e.type_ids, "offsets": e.offsets, "overflowing": [o.ids for o in e.overflowing]}


def write(path, value):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, ensure_ascii=False, indent=None)


def auto(path):
    """ids as transformers computes them from a folder."""
    t = AutoTokenizer.from_pretrained(path)
    return lambda text: t.encode(text)


# ---------------------------------------------------------------------------- forms


def vocab_txt(s, cls, **config):
    path = s.folder("vocab-txt")
    with open(os.path.join(path, "vocab.txt"), "w", encoding="utf-8") as f:
        f.write("".join(w + "\n" for w in s.vocab()))
    write(os.path.join(path, "tokenizer_config.json"), {"tokenizer_class": cls, "model_max_length": 512} | config)
    return s.check(path, auto(path), "transformers")


def merges_txt(s, cls, special, added=True, normalizer=None, **config):
    """Added tokens that are not in the vocabulary stand in tokenizer_config.json, and in
    added_tokens.json as before 2023."""
    path = s.folder("merges-txt")
    j = s.json["model"]["vocab"]
    write(os.path.join(path, "vocab.json"), j)
    with open(os.path.join(path, "merges.txt"), "w", encoding="utf-8") as f:
        f.write("#version: 0.2\n" + "".join(m + "\n" for m in s.merges()))
    fields = ["content", "lstrip", "normalized", "rstrip", "single_word", "special"]
    write(os.path.join(path, "tokenizer_config.json"), {"tokenizer_class": cls, "model_max_length": 512,
          "added_tokens_decoder": {str(a["id"]): {k: a[k] for k in fields} for a in s.added}} | special | config)
    write(os.path.join(path, "special_tokens_map.json"), special)
    if added:
        write(os.path.join(path, "added_tokens.json"), {a["content"]: a["id"] for a in s.added if a["content"] not in j})
    return s.check(path, auto(path), "transformers")


def spm(pieces, charsmap, model_type, **options):
    """A SentencePiece model. pieces are (text, score, type)."""
    m = proto.ModelProto()
    for text, score, kind in pieces:
        p = m.pieces.add()
        p.piece, p.score, p.type = text, score, kind
    m.trainer_spec.model_type = model_type
    m.trainer_spec.vocab_size = len(pieces)
    for k, v in options.items():
        setattr(m.trainer_spec, k, v)
    n = m.normalizer_spec
    n.name = "nmt_nfkc" if charsmap else "identity"
    n.precompiled_charsmap = charsmap
    n.add_dummy_prefix, n.escape_whitespaces = not options.get("treat_whitespace_as_suffix"), True
    n.remove_extra_whitespaces = bool(charsmap)
    return m


def charsmap(j):
    """The Precompiled normalizer's map."""
    import base64
    if isinstance(j, dict):
        if "precompiled_charsmap" in j:
            return base64.b64decode(j["precompiled_charsmap"])
        j = list(j.values())
    if isinstance(j, list):
        for v in j:
            if c := charsmap(v):
                return c
    return b""


def save(path, model):
    with open(path, "wb") as f:
        f.write(model.SerializeToString())


def all_merges(vocab):
    """Every pair of pieces that makes a piece, by the piece's place: what SentencePiece's
    BPE may merge."""
    ids = {p: i for i, p in enumerate(vocab)}
    merges = []
    for p in vocab:
        pairs = [(p[:i], p[i:]) for i in range(1, len(p)) if p[:i] in ids and p[i:] in ids]
        merges += sorted(pairs, key=lambda q: (ids[q[0]], ids[q[1]]))
    return merges


def gguf_llama(s):
    """BPE with byte fallback. Runs of spaces are pieces like others."""
    names = s.vocab()
    spaces = [n for n in names if len(n) > 1 and not n.strip("▁")]
    added = {a["content"] for a in s.added if not a["special"]} - set(spaces)
    def kind(p):
        return UNKNOWN if p == "<unk>" else CONTROL if p in s.special else BYTE if len(p) == 6 and p.startswith("<0x") else USER_DEFINED if p in added else NORMAL
    kinds = [kind(p) for p in names]
    pieces = [(p, 0.0 if k != NORMAL else -float(i), k) for i, (p, k) in enumerate(zip(names, kinds))]
    reference = json.loads(json.dumps(s.json))
    reference["model"]["vocab"] = {p: i for i, p in enumerate(names)}
    reference["model"]["merges"] = all_merges([p for p, k in zip(names, kinds) if k == NORMAL])
    reference["added_tokens"] = [a for a in s.added if a["content"] not in spaces]
    gemma = "<bos>" in names
    bos, eos = ("<bos>", "<eos>") if gemma else ("<s>", "</s>")
    path = s.folder("gguf", reference)
    w = writer(path, "gemma2" if gemma else "llama")
    w.add_tokenizer_model("llama")
    w.add_tokenizer_pre("default")
    w.add_token_list(names)
    w.add_token_scores([p[1] for p in pieces])
    w.add_token_types(kinds)
    return finish(w, names, bos=bos, eos=eos, unk="<unk>", pad="<pad>", add_bos=True, add_eos=False, space=not gemma)


def marian(s):
    """Pieces from source.spm or target.spm, ids from vocab.json."""
    vocab = s.json["model"]["vocab"]
    pieces = [(p, score, NORMAL) for p, score in vocab if p not in ("</s>", "<unk>", "<pad>")]
    model = spm([("<unk>", 0, UNKNOWN), ("<s>", 0, CONTROL), ("</s>", 0, CONTROL)] + pieces, charsmap(s.json["normalizer"]), 1, unk_id=0, bos_id=1, eos_id=2, pad_id=-1)
    reference = json.loads(json.dumps(s.json))
    path = s.folder("marian-pair", reference)
    save(os.path.join(path, "source.spm"), model)
    save(os.path.join(path, "target.spm"), model)
    write(os.path.join(path, "vocab.json"), {p: i for i, (p, _) in enumerate(vocab)})
    write(os.path.join(path, "tokenizer_config.json"), {"tokenizer_class": "MarianTokenizer", "source_lang": "en", "target_lang": "fr", "separate_vocabs": False,
          "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", "model_max_length": 512})
    return s.check(path, auto(path), "transformers")


# ---------------------------------------------------------------------------- GGUF


def writer(path, architecture):
    return gguf.GGUFWriter(os.path.join(path, "model.gguf"), architecture)


def finish(w, names, bos=None, eos=None, unk=None, pad=None, add_bos=None, add_eos=None, space=None):
    for token, add in ((bos, w.add_bos_token_id), (eos, w.add_eos_token_id), (unk, w.add_unk_token_id), (pad, w.add_pad_token_id)):
        if token in names:
            add(names.index(token))
    for value, add in ((add_bos, w.add_add_bos_token), (add_eos, w.add_add_eos_token), (space, w.add_add_space_prefix)):
        if value is not None:
            add(value)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.close()
    return True


def gguf_bpe(s, architecture, pre, **options):
    names = s.vocab()
    w = writer(s.folder("gguf"), architecture)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre(pre)
    w.add_token_list(names)
    added = {a["content"]: a["special"] for a in s.added}
    w.add_token_types([CONTROL if added.get(n) else USER_DEFINED if n in added else NORMAL for n in names])
    w.add_token_merges(s.merges())
    return finish(w, names, **options)


def gguf_bert(s):
    """Words begin with the mark of a space, and continuations have none."""
    names = s.vocab()
    w = writer(s.folder("gguf"), "bert")
    w.add_tokenizer_model("bert")
    w.add_tokenizer_pre("default")
    w.add_token_list([n if n in s.special else n[2:] if n.startswith("##") else "▁" + n for n in names])
    w.add_token_types([CONTROL if n in s.special else NORMAL for n in names])
    w.add_sep_token_id(names.index("[SEP]"))
    w.add_mask_token_id(names.index("[MASK]"))
    return finish(w, names, unk="[UNK]", pad="[PAD]", bos="[CLS]", eos="[SEP]", add_bos=True, add_eos=True)


def gguf_unigram(s):
    names = s.vocab()
    scores = dict(s.json["model"]["vocab"])
    w = writer(s.folder("gguf"), "t5")
    w.add_tokenizer_model("t5")
    w.add_tokenizer_pre("default")
    w.add_token_list(names)
    w.add_token_scores([float(scores[n]) for n in names])
    w.add_token_types([UNKNOWN if n == "<unk>" else CONTROL if n in s.special else NORMAL for n in names])
    w.add_remove_extra_whitespaces(True)
    w.add_precompiled_charsmap(charsmap(s.json["normalizer"]))
    return finish(w, names, eos="</s>", unk="<unk>", pad="<pad>", add_bos=False, add_eos=True, space=True)


# ---------------------------------------------------------------------------- truncation and padding


def settings(s):
    pad = next((a for a in s.added if a["content"] in ("[PAD]", "<pad>", "<|endoftext|>")), s.added[0])
    def patched(name, **changes):
        s.folder(name, s.json | changes, tokenizer_json=True)
    for strategy in ("LongestFirst", "OnlyFirst", "OnlySecond"):
        for direction in ("Left", "Right"):
            for size, stride in ((8, 0), (20, 3)):
                patched(f"truncate-{strategy}-{direction}-{size}-{stride}", truncation={"direction": direction, "max_length": size, "strategy": strategy, "stride": stride})
    for direction in ("Left", "Right"):
        for strategy in ("BatchLongest", {"Fixed": 24}):
            for multiple in (None, 8):
                name = strategy if isinstance(strategy, str) else "Fixed"
                patched(f"pad-{name}-{direction}-{multiple or 1}", padding={"strategy": strategy, "direction": direction, "pad_to_multiple_of": multiple, "pad_id": pad["id"], "pad_type_id": 0, "pad_token": pad["content"]})
    patched("truncate-and-pad", truncation={"direction": "Right", "max_length": 128, "strategy": "LongestFirst", "stride": 0},
            padding={"strategy": {"Fixed": 128}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": pad["id"], "pad_type_id": 0, "pad_token": pad["content"]})
    return True


MADE = {
    "bert": [lambda s: vocab_txt(s, "BertTokenizer", do_lower_case=True), gguf_bert, settings],
    "bert-classify": [lambda s: vocab_txt(s, "BertTokenizer", do_lower_case=False)],
    "distilbert": [lambda s: vocab_txt(s, "DistilBertTokenizer", do_lower_case=True)],
    "gpt2": [lambda s: merges_txt(s, "GPT2Tokenizer", {k: "<|endoftext|>" for k in ("bos_token", "eos_token", "unk_token")}), lambda s: gguf_bpe(s, "gpt2", "gpt-2", bos="<|endoftext|>", eos="<|endoftext|>"), settings],
    "roberta": [lambda s: merges_txt(s, "RobertaTokenizer", ROBERTA)],
    "bart": [lambda s: merges_txt(s, "BartTokenizer", ROBERTA)],
    "qwen2": [lambda s: merges_txt(s, "Qwen2Tokenizer", {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}), lambda s: gguf_bpe(s, "qwen2", "qwen2", eos="<|im_end|>", pad="<|endoftext|>", add_bos=False)],
    "qwen3": [lambda s: merges_txt(s, "Qwen2Tokenizer", {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}), lambda s: gguf_bpe(s, "qwen3", "qwen2", eos="<|im_end|>", pad="<|endoftext|>", add_bos=False)],
    "llama-tied-rope3": [lambda s: gguf_bpe(s, "llama", "llama-bpe", bos="<|begin_of_text|>", eos="<|eot_id|>", add_bos=True)],
    "llama-untied": [gguf_llama, settings],
    "gemma2": [gguf_llama],
    "t5": [gguf_unigram],
    "xlm-roberta": [settings],
    "marian": [marian],
}
ROBERTA = {"bos_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "cls_token": "<s>", "unk_token": "<unk>", "pad_token": "<pad>",
           "mask_token": {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "rstrip": False, "normalized": False, "single_word": False}}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, out = sys.argv[1:]
    failed = []
    for name, makers in MADE.items():
        if os.path.exists(os.path.join(source, name, "tokenizer_cases.json")):
            s = Source(source, out, name)
            failed += [name for make in makers if not make(s)]
    sys.exit(f"forms that mean something else: {failed}" if failed else 0)


if __name__ == "__main__":
    main()
