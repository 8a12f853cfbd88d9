#!/bin/bash
# Guess: which of several equal vectors is the best one does not depend on how many are asked for.
# Found: with inner products faiss answers k = 1 with the first of them and any larger k with the last ones that it keeps. With L2 the first one is the best throughout.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q numpy==2.4.6 faiss-cpu==1.15.1
env/bin/python - <<'PY'
import faiss
import numpy as np

vectors = np.ones((50, 8), np.float32)
best = {}
for name, make in (("inner product", faiss.IndexFlatIP), ("L2", faiss.IndexFlatL2)):
    index = make(8)
    index.add(vectors)
    best[name] = [int(index.search(vectors[:1], k)[1][0, 0]) for k in (1, 2, 5, 20, 50)]
    print("faiss", faiss.__version__, name, "best of 50 equal vectors for k = 1, 2, 5, 20, 50:", best[name])
if len(set(best["inner product"])) == 1:
    raise SystemExit("the behaviour has changed")
PY
