"""What the comparisons of drawn cases have in common: the other side, how cases end, and the report."""

import argparse
import collections
import json
import logging
import os
import random
import re
import subprocess
import tempfile
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")


class Server:
    """This library's side: the test binary of a package, which answers a line with one that begins with @."""

    def __init__(self, package):
        self.binary = os.path.join(HERE, ".drawn-" + package)
        env = os.environ | {"GOWORK": os.path.abspath(os.path.join(ROOT, "go.work"))}
        subprocess.run(["go", "test", "-c", "-o", os.path.abspath(self.binary), "."], cwd=os.path.join(ROOT, package), env=env, check=True)
        self.package = os.path.join(ROOT, package)
        self.start()

    def start(self):
        self.process = subprocess.Popen([os.path.abspath(self.binary), "-test.run=^TestCompare$", "-test.timeout=0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, cwd=self.package, env=os.environ | {"AVOFORMER_COMPARE": "1"})

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        said = []
        for line in self.process.stdout:
            if line.startswith("@"):
                return json.loads(line[1:])
            said.append(line)
        self.start()
        return {"refused": "", "crashed": "".join(said)[:2000]}


def reason(said):
    """What kinds of refusals have in common: the text without paths, names of modules and numbers."""
    said = re.sub(r"/\S+", "", str(said))
    return re.sub(r"\d+(\.\d+)*", "#", re.sub(r"\[[^\]]*\]|\"[^\"]*\"", "…", said))[:150]


def main(doc, n, begin):
    """Runs n cases: begin(args, root) returns a function of a random generator that draws one and gives (how it ends, the case, what is to be said about it)."""
    p = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-n", type=int, default=n)
    p.add_argument("-seed", type=int, default=1)
    p.add_argument("-show", type=int, default=3, help="examples of what is listed")
    p.add_argument("-log", help="file for all cases")
    a = p.parse_args()
    import transformers as hf
    hf.logging.set_verbosity(100)
    hf.utils.logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    rng, log = random.Random(a.seed), open(a.log, "w") if a.log else None
    ends, reasons, examples = collections.Counter(), collections.Counter(), collections.defaultdict(list)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as root:
        one = begin(a, root)
        for _ in range(a.n):
            end, case, said = one(rng)
            ends[end] += 1
            if end == "ours refuses":
                reasons[reason(said)] += 1
            examples[end, reason(said)].append((case, said))
            if log:
                print(json.dumps([end, case, str(said)]), file=log, flush=True)
    taken = ends["equal"] + ends["ours refuses"] + ends["differ"]
    print(f"{a.n} cases, seed {a.seed}: " + ", ".join(f"{k} {ends[k]}" for k in ("equal", "differ", "ours refuses", "theirs refuses", "both refuse")))
    print(f"ours alone refuses {100 * ends['ours refuses'] / max(taken, 1):.1f}% of what the other side takes:")
    for why, k in reasons.most_common():
        print(f"  {k:4} {why}")
    for (end, _), list_ in sorted(examples.items()):
        for case, said in list_[: {"differ": 10 * a.show, "equal": 0, "both refuse": 0}.get(end, a.show)]:
            print(f"{end}: {case}\n    {str(said)[:500]}")
    raise SystemExit(ends["differ"] > 0 or ends["ours refuses"] > 0.15 * taken)
