#!/bin/bash
# Guess: a vector with NaN is never a hit, or the last one.
# Found: usearch puts it first, before the vector that equals the query, also in an exact search.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q numpy==2.4.6 usearch==2.26.6
env/bin/python - <<'PY'
import numpy as np
import usearch
from usearch.index import Index

vectors = np.eye(8, dtype=np.float32)
vectors[5] = np.nan
first = []
for metric in ("cos", "ip", "l2sq"):
    index = Index(ndim=8, metric=metric, dtype="f32")
    index.add(np.arange(8), vectors)
    found = index.search(vectors[0], 3, exact=True)
    print("usearch", usearch.__version__, metric, list(map(int, found.keys)), list(map(float, found.distances)))
    first.append(int(found.keys[0]))
if 5 not in first:
    raise SystemExit("the behaviour has changed")
PY
