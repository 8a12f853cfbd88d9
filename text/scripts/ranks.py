#!/usr/bin/env python3
"""Compares package tokenizer with mistral-common and tiktoken, on files of these that hold small vocabularies made here.

    ranks.py [-n COUNT] [-seed SEED] [-write TESTDATA] DIR

Writes folders to DIR, each with a tekken.json, or a file of tiktoken by the name of an encoding, and nothing else. For each, COUNT
(10000) strings are drawn. Ids with and without special tokens, and the decoded texts, must be the same. -write also writes some of the
folders with a few strings and their ids as testdata. Needs mistral-common 1.13.1 and tiktoken 0.14.0 in addition to requirements.txt."""

import argparse, base64, json, os, random, re, shutil, subprocess, sys

import tiktoken
import tiktoken.load
import tiktoken_ext.openai_public as public
from mistral_common.tokens.tokenizers.tekken import SpecialTokenPolicy, Tekkenizer
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

import compare, corpus

TEKKEN = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
GAPS = r"\p{L}+|\p{N}{2}|[!?]+"  # leaves characters out
WRITTEN = ("tekken", "tekken-gaps", "cl100k_base")


def vocabulary(size, seed):
    """Tokens by rank: the bytes, and what BPE makes of random strings."""
    rng = random.Random(seed)
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator((corpus.hard_string(rng) for _ in range(4000)), trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    back = {chr(c): b for b, c in byte_characters()}
    made = sorted(t.get_vocab().items(), key=lambda x: x[1])
    longer = [bytes(back[c] for c in text) for text, _ in made if len(text) > 1]
    return [bytes([b]) for b in range(256)] + longer[:40] + [b"zqxjk", b" zqxjk"] + longer[40:]  # words that no merge makes


def byte_characters():
    """GPT-2's character for each byte."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in own]
    return [(b, b) for b in own] + [(b, 256 + i) for i, b in enumerate(others)]


def tekken(path, tokens, pattern=TEKKEN, special=None, total=30, version="v3", left=7):
    """A tekken.json, whose config leaves some of the tokens out."""
    config = dict(pattern=pattern, num_vocab_tokens=len(tokens), default_vocab_size=len(tokens) - left + total, default_num_special_tokens=total, version=version)
    vocab = [dict(rank=i, token_bytes=base64.b64encode(b).decode(), token_str=b.decode("utf-8", "ignore") or None) for i, b in enumerate(tokens)]
    whole = dict(config=config, vocab=vocab, version=1, type="Tekken")
    if special:
        whole["special_tokens"] = [dict(rank=i, token_str=s, is_control=True) for i, s in enumerate(special)]
    with open(os.path.join(path, "tekken.json"), "w") as f:
        json.dump(whole, f, indent=0)


def tekken_reference(path):
    t = Tekkenizer.from_file(os.path.join(path, "tekken.json"))
    special = {s["token_str"]: s["rank"] for s in t._all_special_tokens}
    cut = re.compile("|".join(re.escape(s) for s in sorted(special, key=len, reverse=True)))

    def ids(text, plain):
        out, done = [] if plain else [t.bos_id], 0
        for m in cut.finditer(text):
            out += t.encode(text[done : m.start()], bos=False, eos=False) + [special[m[0]]]
            done = m.end()
        return out + t.encode(text[done:], bos=False, eos=False)

    return ids, lambda x: t.decode(x, SpecialTokenPolicy.KEEP), list(special)


def tiktoken_file(path, name, tokens):
    with open(os.path.join(path, name + ".tiktoken"), "wb") as f:
        for rank, b in enumerate(tokens):
            f.write(base64.b64encode(b) + b" %d\n" % rank)


def tiktoken_reference(name, tokens):
    """The encoding of the package, with these tokens in place of those that it would download."""
    public.load_tiktoken_bpe = lambda *_, **__: {b: i for i, b in enumerate(tokens)}
    of = public.ENCODING_CONSTRUCTORS[name]()
    of.pop("explicit_n_vocab", None)
    of["special_tokens"].pop("<|reserved_200018|>", None)  # a second name of the id of <|endofprompt|>
    t = tiktoken.Encoding(**of)
    return lambda text, plain: t.encode(text, allowed_special="all"), t.decode, list(of["special_tokens"])


def folders(out):
    """Folders with what the real package makes of texts."""
    for i, (name, how) in enumerate({
        "tekken": dict(), "tekken-listed": dict(special=["<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]", "[THINK]"], version="v13", total=20, left=0),
        "tekken-gaps": dict(pattern=GAPS),
    }.items()):
        path = os.path.join(out, name)
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        tekken(path, vocabulary(700 + 100 * i, i), **how)
        yield name, path, tekken_reference(path)
    for i, name in enumerate(["r50k_base", "p50k_base", "cl100k_base", "o200k_base", "o200k_harmony"]):
        path = os.path.join(out, name)
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        tokens = vocabulary(900 + 100 * i, 10 + i)
        tiktoken_file(path, name, tokens)
        yield name, path, tiktoken_reference(name, tokens)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-n", type=int, default=10000)
    p.add_argument("-seed", type=int, default=1)
    p.add_argument("-write")
    p.add_argument("out")
    a = p.parse_args()
    binary, bad = compare.build_go(), 0
    for name, path, (ids, decode, special) in folders(a.out):
        rng = random.Random(a.seed)
        drawn = [{"text": corpus.hard_string(rng, ["zqxjk", " zqxjk", "zqxjkzqxjk", "the", " of", "東京"], special), "plain": rng.random() < 0.3} for _ in range(a.n)]
        run = subprocess.run([binary, path], input="".join(json.dumps(r) + "\n" for r in drawn).encode(), stdout=subprocess.PIPE)
        answers = [json.loads(line) for line in run.stdout.splitlines()]
        wrong, cases = len(drawn) - len(answers), []
        for r, got in zip(drawn, answers):
            want = ids(r["text"], r["plain"])
            text = decode(want)
            if got.get("ids") != want or got["decoded_special"] != text:
                wrong += 1
                if wrong < 4:
                    print(f"  {r!r}\n    want {want} {text!r}\n    got  {got}")
            if not r["plain"] and len(cases) < 40 and len(want) < 60:
                cases.append(dict(text=r["text"], ids=want, decoded_special=text))
        print(f"{name:16} {len(drawn)} strings, seed {a.seed}: {wrong} differ", flush=True)
        bad += wrong
        if a.write and name in WRITTEN:
            to = os.path.join(a.write, name)
            shutil.rmtree(to, ignore_errors=True)
            shutil.copytree(path, to)
            with open(os.path.join(to, "tokenizer_cases.json"), "w") as f:
                json.dump({"cases": cases}, f, ensure_ascii=False, indent=0)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
