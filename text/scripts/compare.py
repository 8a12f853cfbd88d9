#!/usr/bin/env python3
"""Compares package tokenizer with Hugging Face's tokenizers on random strings.

    compare.py [-n COUNT] [-seed SEED] [-show N] FOLDER...

Every FOLDER holds a tokenizer of any form; a folder of such folders stands for all of
them. For each, COUNT (100000) requests are drawn: texts with and without special tokens,
pairs, and random ids to decode. Ids, type ids, masks, offsets in characters and
decoded texts with and without special tokens must be the same. Prints the first
differences as Python literals; ends with 1 where there is any.

The reference is the folder's tokenizer.json, or reference.json, the file that an older
form was made from, or what transformers makes of a SentencePiece model (see pieces.py); a
folder that transformers refuses must be refused, and one that is refused alone is listed.
The Go side is the command text/internal/cmd/tokenize."""

import argparse, json, os, random, subprocess, sys, tempfile, time

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", RAYON_NUM_THREADS="1")
import corpus
from tokenizers import Tokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
FIELDS = ["ids", "type_ids", "attention_mask", "special_tokens_mask", "offsets", "decoded", "decoded_special"]


def is_folder(path):
    names = os.listdir(path)
    return "tokenizer.json" in names or "reference.json" in names or any(n.endswith(".model") for n in names)


def folders(paths):
    for p in paths:
        if is_folder(p):
            yield p
        else:
            yield from (q for q in sorted(os.path.join(p, n) for n in os.listdir(p)) if os.path.isdir(q) and is_folder(q))


def load(folder):
    """The reference tokenizer."""
    path = os.path.join(folder, "reference.json")
    if not os.path.exists(path):
        path = os.path.join(folder, "tokenizer.json")
    if not os.path.exists(path):
        import transformers

        transformers.logging.set_verbosity(transformers.logging.CRITICAL)
        t = transformers.AutoTokenizer.from_pretrained(folder).backend_tokenizer
        return t, json.loads(t.to_str())
    return Tokenizer.from_file(path), json.load(open(path, encoding="utf-8"))


def build_go():
    """The command that answers requests from standard input."""
    binary = os.path.join(tempfile.gettempdir(), f"avoformer-tokenize-{os.getuid()}")
    subprocess.run(["go", "build", "-o", binary, "./internal/cmd/tokenize"], cwd=os.path.dirname(HERE), check=True)
    return binary


def requests(j, count, seed):
    """count requests for the tokenizer that j describes."""
    rng = random.Random(seed)
    vocab = j["model"]["vocab"]
    pieces = [p if isinstance(p, str) else p[0] for p in vocab]
    special = [a["content"] for a in j["added_tokens"]] or ["<none>"]
    size = max(len(vocab), 1 + max([a["id"] for a in j["added_tokens"]], default=0))
    for _ in range(count):
        kind = rng.random()
        if kind < 0.08:
            yield {"ids": [rng.randrange(size) for _ in range(rng.randrange(12))]}
            continue
        r = {"text": corpus.hard_string(rng, pieces, special)}
        if kind < 0.20:
            r["pair"] = corpus.hard_string(rng, pieces, special)
        if rng.random() < 0.2:
            r["plain"] = True
        yield r


def expected(t, r):
    if "text" not in r:
        return {"decoded": t.decode(r["ids"]), "decoded_special": t.decode(r["ids"], skip_special_tokens=False)}
    try:
        e = t.encode(r["text"], r.get("pair"), add_special_tokens=not r.get("plain"))
    except BaseException as error: # tokenizers panics on some truncations
        return {"error": str(error)}
    return {"ids": e.ids, "type_ids": e.type_ids, "attention_mask": e.attention_mask, "special_tokens_mask": e.special_tokens_mask,
            "offsets": [list(o) for o in e.offsets],
            "decoded": t.decode(e.ids), "decoded_special": t.decode(e.ids, skip_special_tokens=False)}


def compare(folder, binary, count, seed, show):
    """The number of requests whose answers differ."""
    name = os.path.basename(folder.rstrip("/"))
    refused = subprocess.run([binary, folder], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        t, j = load(folder)
    except Exception as error:
        print(f"{name:28} {'refused by both' if refused.returncode else f'opens, and is refused by transformers: {error}'}", flush=True)
        return int(not refused.returncode)
    if refused.returncode and not os.path.exists(os.path.join(folder, "tokenizer.json")):
        print(f"{name:28} refused alone: {refused.stderr.decode().strip()}", flush=True)
        return 0
    drawn = list(requests(j, count, seed))
    started = time.time()
    process = subprocess.run([binary, folder], input="".join(json.dumps(r) + "\n" for r in drawn).encode(), stdout=subprocess.PIPE)
    answers = process.stdout.decode().split("\n")[:-1]
    if process.returncode or len(answers) != len(drawn):
        print(f"{folder}: the Go command ended with {process.returncode} after {len(answers)} of {len(drawn)} answers", flush=True)
        return 1
    wrong = 0
    by_field = {}
    for r, line in zip(drawn, answers):
        want, got = expected(t, r), json.loads(line)
        bad = [f for f in FIELDS if (want.get(f) or None) != (got.get(f) or None)] + (["error"] if ("error" in want) != ("error" in got) else [])
        if bad:
            wrong += 1
            by_field[bad[0]] = by_field.get(bad[0], 0) + 1
            if by_field[bad[0]] <= show:
                print(f"  {bad[0]} of {r!r}\n    want {want.get(bad[0])!r}\n    got  {got.get(bad[0])!r}" + (f" {got['error']}" if "error" in got else ""))
    print(f"{name:28} {len(drawn)} requests, seed {seed}: {wrong} differ {by_field or ''} ({time.time() - started:.0f} s)", flush=True)
    return wrong


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-n", type=int, default=100000)
    p.add_argument("-seed", type=int, default=1)
    p.add_argument("-show", type=int, default=3)
    p.add_argument("-command", help="a built tokenize")
    p.add_argument("folder", nargs="+")
    a = p.parse_args()
    binary = a.command or build_go()
    bad = [f for f in folders(a.folder) if compare(f, binary, a.n, a.seed, a.show)]
    sys.exit(f"differences in: {' '.join(bad)}" if bad else 0)


if __name__ == "__main__":
    main()
