#!/bin/bash
# Guess: the bits of vec_quantize_binary are in the order of numpy.packbits, so that vectors quantized by either can be compared.
# Found: sqlite-vec puts the first dimension into the lowest bit, numpy into the highest. The Hamming distance between the two forms of one vector is 30 of 64.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q numpy==2.4.6 apsw==3.54.1.0 sqlite-vec==0.1.9
env/bin/python - <<'PY'
import apsw
import numpy as np
import sqlite_vec

db = apsw.Connection(":memory:")
db.enable_load_extension(True)
sqlite_vec.load(db)
vector = np.random.default_rng(0).standard_normal(64).astype(np.float32)
theirs = db.execute("SELECT vec_quantize_binary(?)", (vector.tobytes(),)).fetchone()[0]
for order in ("big", "little"):
    bits = np.packbits(vector > 0, bitorder=order).tobytes()
    apart = db.execute("SELECT vec_distance_hamming(vec_bit(?), vec_bit(?))", (theirs, bits)).fetchone()[0]
    print("sqlite-vec", db.execute("SELECT vec_version()").fetchone()[0], "and numpy", np.__version__, "packbits", order, "differ in", apart, "bits of 64")
if theirs == np.packbits(vector > 0).tobytes():
    raise SystemExit("the behaviour has changed")
PY
