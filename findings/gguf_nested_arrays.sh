#!/bin/bash
# Guess: GGUFReader of gguf reads back what its GGUFWriter was given, also arrays of arrays, empty arrays and empty strings.
# Found: [[1, 2], [3]] is read as [1, 2, 3]. The file has the inner arrays: @huggingface/gguf reads them. A key with an empty array or string is
# left out of the file, without an error.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true, "type": "module"}' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts @huggingface/gguf@0.4.6
python3 -m venv env
env/bin/pip install -q gguf==0.19.0
env/bin/python - <<'PY'
from importlib.metadata import version

import numpy as np
from gguf import GGUFReader, GGUFWriter

w = GGUFWriter("finding.gguf", "llama")
w.add_array("nested", [[1, 2], [3]])
w.add_array("flat", [1, 2, 3])
w.add_array("no.elements", [])
w.add_string("no.text", "")
w.add_tensor("x", np.zeros(32, np.float32))
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()
fields = GGUFReader("finding.gguf").fields
got = {k: fields[k].contents() if k in fields else "missing" for k in ("nested", "flat", "no.elements", "no.text")}
print("gguf", version("gguf"), got)
if got != {"nested": [1, 2, 3], "flat": [1, 2, 3], "no.elements": "missing", "no.text": "missing"}:
    raise SystemExit("the behaviour has changed")
PY
cat > finding.js <<'JS'
import { gguf } from "@huggingface/gguf";

const { nested } = (await gguf("finding.gguf", { allowLocalFile: true })).metadata;
console.log("@huggingface/gguf 0.4.6", JSON.stringify(nested));
if (JSON.stringify(nested) !== "[[1,2],[3]]") throw new Error("the behaviour has changed");
JS
node finding.js
