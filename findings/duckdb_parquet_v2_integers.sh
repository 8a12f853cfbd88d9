#!/bin/bash
# Guess: pyarrow reads each Parquet file of integers that DuckDB writes.
# Found: with PARQUET_VERSION V2 DuckDB writes differences of INT32 in 33 bits, where others wrap at 32. pyarrow refuses the file, and
# polars reads it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q duckdb==2.0.1 pyarrow==26.0.1 polars==2.1.0
env/bin/python - <<'PY'
import random

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq

random.seed(0)
values = [random.randint(-(2**31), 2**31 - 1) for _ in range(1000)]
table = pa.table({"n": pa.array(values, pa.int32())})
for version in ("V1", "V2"):
    name = version + ".parquet"
    with duckdb.connect() as db:
        db.register("t", table)
        db.sql(f"COPY t TO '{name}' (FORMAT parquet, PARQUET_VERSION {version})")
        own = [row[0] for row in db.sql(f"FROM '{name}'").fetchall()]
    try:
        theirs = "the values" if pq.read_table(name)["n"].to_pylist() == values else "other values"
    except OSError as e:
        theirs = str(e)
    others = "the values" if polars.read_parquet(name)["n"].to_list() == values else "other values"
    print(f"DuckDB {duckdb.__version__} {version}: DuckDB reads {'the values' if own == values else 'other values'}; polars {polars.__version__}: {others}; pyarrow {pa.__version__}: {theirs}")
if theirs == "the values":
    raise SystemExit("the behaviour has changed")
PY
