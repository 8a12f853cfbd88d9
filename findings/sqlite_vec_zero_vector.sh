#!/bin/bash
# Guess: a row whose cosine distance is NULL, as that of a vector of zeros, comes after all rows that have a distance.
# Found: sqlite-vec puts it where it was compared, so that with k = 2 the row of zeros takes the place of the second nearest row.
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
db.execute("CREATE VIRTUAL TABLE texts USING vec0(vector float[2] distance_metric=cosine)")
for row, vector in enumerate([[1, 0], [0, 0], [1, 0.1], [1, 0.2]]):
    db.execute("INSERT INTO texts(rowid, vector) VALUES (?, ?)", (row, np.array(vector, np.float32).tobytes()))
nearest = {}
for k in (2, 3, 4):
    nearest[k] = db.execute("SELECT rowid, distance FROM texts WHERE vector MATCH ? AND k = ?", (np.array([1, 0], np.float32).tobytes(), k)).fetchall()
    print("sqlite-vec", db.execute("SELECT vec_version()").fetchone()[0], "k =", k, nearest[k])
if [row for row, _ in nearest[2]] == [0, 2]:
    raise SystemExit("the behaviour has changed")
PY
