#!/bin/bash
# Guess: a vector with a null element is refused, or is at no distance from any other one.
# Found: LanceDB computes with the bytes under the null. Two vectors that are equal to every reader of Arrow have different distances.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q numpy==2.4.6 pyarrow==26.0.1 lancedb==0.40.0
env/bin/python - <<'PY'
import tempfile

import lancedb
import numpy as np
import pyarrow as pa

def element(under):  # [null, 1] with a number under the null
    values = pa.Array.from_buffers(pa.float32(), 2, [pa.py_buffer(b"\x02"), pa.py_buffer(np.float32([under, 1]).tobytes())])
    return pa.FixedSizeListArray.from_arrays(values, 2)

rows = pa.concat_arrays([element(0), element(5)])
print("pyarrow", pa.__version__, "rows", rows.to_pylist(), "equal:", rows[0] == rows[1])
table = lancedb.connect(tempfile.mkdtemp()).create_table("texts", pa.table({"id": [0, 1], "vector": rows}))
found = [(hit["id"], hit["vector"], hit["_distance"]) for hit in table.search(np.float32([0, 1])).limit(2).to_list()]
print("lancedb", lancedb.__version__, found)
if len(found) < 2 or found[0][2] == found[1][2]:
    raise SystemExit("the behaviour has changed")
PY
