#!/bin/bash
# Guess: with a condition DuckDB gives the ten nearest of the 50 rows that meet it, with an HNSW index or without.
# Found: with the index it takes the ten nearest of all rows, and then applies the condition: no row is left.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q duckdb==1.5.5 duckdb-extensions==1.5.5 duckdb-extension-vss==1.5.5
env/bin/python - <<'PY'
import duckdb
from duckdb_extensions import import_extension

db = duckdb.connect()
import_extension("vss", con=db)
db.load_extension("vss")
db.sql("CREATE TABLE texts AS SELECT i AS id, i % 100 AS owner, array_value(i, i % 7)::FLOAT[2] AS vector FROM range(5000) t(i)")
query = "SELECT id FROM texts WHERE owner = 70 ORDER BY array_distance(vector, [0, 0]::FLOAT[2]) LIMIT 10"
before = len(db.sql(query).fetchall())
db.sql("CREATE INDEX near ON texts USING HNSW (vector)")
after = len(db.sql(query).fetchall())
print("DuckDB", duckdb.__version__, "with vss: rows without an index", before, "with the index", after)
if after == before:
    raise SystemExit("the behaviour has changed")
PY
