#!/bin/bash
# Guess: a vector of zeros, which has no cosine, comes last, or is not found.
# Found: nano-vectordb divides it by its length of 0, and puts the NaN first, before the vector that equals the query: k = 1 finds only the zeros.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q numpy==2.4.6 nano-vectordb==0.0.4.3
env/bin/python - <<'PY'
import importlib.metadata
import warnings

import numpy as np
from nano_vectordb import NanoVectorDB

warnings.filterwarnings("ignore")
db = NanoVectorDB(2, storage_file="vectors.json")
db.upsert([{"__id__": name, "__vector__": np.float32(v)} for name, v in (("equal", [1, 0]), ("zeros", [0, 0]), ("opposite", [-1, 0]))])
for k in (1, 3):
    found = [(hit["__id__"], float(hit["__metrics__"])) for hit in db.query(np.float32([1, 0]), top_k=k)]
    print("nano-vectordb", importlib.metadata.version("nano-vectordb"), "k =", k, found)
    if found[0][0] != "zeros":
        raise SystemExit("the behaviour has changed")
PY
