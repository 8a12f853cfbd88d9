#!/bin/bash
# Guess: k = 3 with a partition key IN (...) gives the three nearest rows of these partitions.
# Found: it gives the three nearest rows of each partition, and not in the order of their distances.
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
db.execute("CREATE VIRTUAL TABLE texts USING vec0(owner text partition key, vector float[1])")
for row in range(1, 11):
    db.execute("INSERT INTO texts(rowid, owner, vector) VALUES (?, ?, ?)", (row, "ab"[row % 2], np.float32([row]).tobytes()))
for where in ("", "AND owner = 'a'", "AND owner IN ('a', 'b')"):
    got = db.execute(f"SELECT rowid, owner, distance FROM texts WHERE vector MATCH ? AND k = 3 {where}", (np.float32([0]).tobytes(),)).fetchall()
    print("sqlite-vec", db.execute("SELECT vec_version()").fetchone()[0], where or "no condition", got)
if [row for row, _, _ in got] == [1, 2, 3]:
    raise SystemExit("the behaviour has changed")
PY
