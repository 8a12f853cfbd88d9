#!/bin/bash
# Guess: in a filter, f == 0.1 and f in [0.1] find the same rows, n != 7 and n not in [7] too, and JSON's 1 is not true.
# Found: in milvus-lite, which was rewritten in Python for version 3, a field of float32 that was given 0.1 is found by "in" and by ">", and not by "==". A
# null is "not in [7]", but not "!= 7". JSON's true equals 1, and 1 equals true.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q milvus-lite==3.2.2
env/bin/python - <<'PY'
from importlib.metadata import version

from milvus_lite import CollectionSchema, DataType, FieldSchema, MilvusLite

db = MilvusLite("finding")
rows = db.create_collection("rows", CollectionSchema([
    FieldSchema("id", DataType.INT64, is_primary=True),
    FieldSchema("v", DataType.FLOAT_VECTOR, dim=2),
    FieldSchema("f", DataType.FLOAT),
    FieldSchema("n", DataType.INT64, nullable=True),
    FieldSchema("j", DataType.JSON),
]))
rows.insert([
    {"id": 0, "v": [1, 0], "f": 0.1, "n": 7, "j": {"x": 1}},
    {"id": 1, "v": [1, 1], "f": 0.5, "n": None, "j": {"x": True}},
    {"id": 2, "v": [1, 2], "f": 2.5, "n": 8, "j": {"x": "1"}},
])
changed = False
for condition, found in [
    ("f == 0.5", [1]), ("f == 0.1", []), ("f in [0.1]", [0]), ("f > 0.1", [0, 1, 2]),
    ("n != 7", [2]), ("n not in [7]", [1, 2]),
    ("j['x'] == 1", [0, 1]), ("j['x'] == true", [0, 1]), ("j['x'] == '1'", [2]),
]:
    got = sorted(row["id"] for row in rows.query(condition))
    print(f"milvus-lite {version('milvus-lite')}: {condition} finds {got}")
    changed = changed or got != found
db.close()
if changed:
    raise SystemExit("the behaviour has changed")
PY
