#!/usr/bin/env python3
"""Speed of package tokenizer beside Hugging Face's tokenizers, on one thread.

    speed.py [-megabytes M] [-rounds R] FOLDER...

For each folder with a tokenizer.json and each of the languages of corpus.py, both encode
the same lines R times in turn, after one round that warms their caches: tokenizers by
encode_batch with parallelism off, ours by the command text/internal/cmd/tokenize with
GOMAXPROCS=1. The table has the best round in MB of UTF-8 a second, first with offsets in
characters, as encode_batch computes them, and then without, as encode_batch_fast does.
Ids are compared."""

import argparse, json, os, subprocess, sys, time

os.environ.update(TOKENIZERS_PARALLELISM="false", RAYON_NUM_THREADS="1")
import compare
import corpus
from tokenizers import Tokenizer


def texts(language, megabytes):
    """Lines of running text, of 1 to 3 KB for code and some 150 bytes otherwise."""
    out, size = [], 0
    for line in corpus.lines(language, 10 ** 9, size=30000, seed=9):
        out.append(line)
        size += len(line.encode())
        if size >= megabytes * 1e6:
            return out, size


class Ours:
    """The Go command, told by lines what to do."""

    def __init__(self, binary, folder, lines, offsets):
        env = os.environ | {"GOMAXPROCS": "1"}
        self.p = subprocess.Popen([binary, "-time"] + ["-offsets"] * offsets + [folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.p.stdin.write(json.dumps(lines) + "\n")
        self.p.stdin.flush()

    def round(self):
        """Seconds for all lines, and the number of ids and their checksum."""
        self.p.stdin.write("round\n")
        self.p.stdin.flush()
        r = json.loads(self.p.stdout.readline())
        return r["seconds"], (r["ids"], r["checksum"])

    def close(self):
        self.p.stdin.close()
        self.p.wait()


def theirs(t, lines, offsets):
    started = time.perf_counter()
    encodings = t.encode_batch(lines) if offsets else t.encode_batch_fast(lines)
    seconds = time.perf_counter() - started
    ids, checksum = 0, 0
    for e in encodings:
        ids += len(e.ids)
        for i in e.ids:
            checksum = (checksum * 31 + i) & 0xFFFFFFFF
    return seconds, (ids, checksum)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-megabytes", type=float, default=1)
    p.add_argument("-rounds", type=int, default=5)
    p.add_argument("-command", help="a built tokenize")
    p.add_argument("folder", nargs="+")
    a = p.parse_args()
    binary = a.command or compare.build_go()
    print("| tokenizer | text | with offsets: tokenizers | ours | ratio | ids: tokenizers | ours | ratio |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for folder in compare.folders(a.folder):
        t = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        for language in corpus.LANGUAGES:
            lines, size = texts(language, a.megabytes)
            row = []
            for offsets in (True, False):
                ours = Ours(binary, folder, lines, offsets)
                rounds = [(theirs(t, lines, offsets), ours.round()) for _ in range(a.rounds + 1)]
                ours.close()
                if any(x[1] != y[1] for x, y in rounds):
                    sys.exit(f"{folder}: {language}: ids differ: {rounds[0]}")
                x, y = (size / 1e6 / min(r[i][0] for r in rounds[1:]) for i in (0, 1))
                row += [f"{x:.1f}", f"{y:.1f}", f"{y / x:.2f}"]
            print(f"| {os.path.basename(folder)} | {language} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
