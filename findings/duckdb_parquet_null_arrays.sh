#!/bin/bash
# Guess: a NULL in a column of FLOAT[2] that DuckDB writes to Parquet is one null list, which any reader finds in its row.
# Found: DuckDB writes a level for each element that the NULL does not have. pyarrow refuses the file, and hyparquet takes the second level for another row:
# the row after the NULL is lost. DuckDB itself and polars read it. A column of FLOAT[] is right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true, "type": "module"}' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts hyparquet@1.33.0
python3 -m venv env
env/bin/pip install -q duckdb==2.0.1 pyarrow==26.0.1
env/bin/python - <<'PY'
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

for name, kind, levels in ("list", "FLOAT[]", 5), ("array", "FLOAT[2]", 6):
    path = name + ".parquet"
    duckdb.sql(f"COPY (SELECT unnest([[1, 2], NULL, [3, 4]]::{kind}[]) AS x) TO '{path}'")
    got = pq.ParquetFile(path).metadata.row_group(0).column(0).num_values
    try:
        rows = pq.read_table(path)["x"].to_pylist()
    except pa.ArrowInvalid as e:
        rows = str(e)
    print(f"DuckDB {duckdb.__version__} writes {got} levels of {kind}; pyarrow {pa.__version__}: {rows}")
    if got != levels or (rows == [[1, 2], None, [3, 4]]) != (name == "list"):
        raise SystemExit("the behaviour has changed")
PY
cat > finding.js <<'JS'
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";

for (const [name, want] of [["list", "[[1,2],null,[3,4]]"], ["array", "[[1,2],null,null]"]]) {
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(name + ".parquet") });
  const got = JSON.stringify(rows.map(row => row.x));
  console.log(`hyparquet 1.33.0 reads ${name}.parquet as ${got}`);
  if (got !== want) throw new Error("the behaviour has changed");
}
JS
node finding.js
