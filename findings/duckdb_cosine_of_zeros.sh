#!/bin/bash
# Guess: the cosine distance from a vector of zeros is NaN or NULL, in each version of DuckDB.
# Found: DuckDB 1.5.5, the last one that the extension vss was built for, gives 2, that of opposite vectors, and of large vectors from themselves
# too. DuckDB 2.0.1 gives NaN, and 0 for the large ones.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
for version in 2.0.1 1.5.5; do
	env/bin/pip install -q duckdb==$version
	env/bin/python - <<'PY'
import duckdb

distances = {}
for name, x, y in (("zeros", "[0, 0]", "[1, 0]"), ("opposite", "[-1, 0]", "[1, 0]"), ("large, from itself", "[1e30, 0]", "[1e30, 0]")):
    distances[name] = duckdb.sql(f"SELECT array_cosine_distance({x}::FLOAT[2], {y}::FLOAT[2])").fetchall()[0][0]
print("DuckDB", duckdb.__version__, distances)
if duckdb.__version__ == "1.5.5" and distances["zeros"] != 2 or duckdb.__version__ == "2.0.1" and distances["zeros"] == 2:
    raise SystemExit("the behaviour has changed")
PY
done
