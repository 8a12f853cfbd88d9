#!/bin/bash
# Guess: voyager stores the subnormal numbers of E4M3, which are below 2**-6, as they are, as ml_dtypes does.
# Found: four of the seven subnormal numbers are stored as others.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q numpy==2.4.6 ml_dtypes==0.6.0 voyager==2.2.3
env/bin/python - <<'PY'
import importlib.metadata

import ml_dtypes
import numpy as np
import voyager

numbers = np.arange(1, 16, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float32)
index = voyager.Index(voyager.Space.Euclidean, 1, storage_data_type=voyager.StorageDataType.E4M3)
index.add_items(numbers[:, None])
wrong = 0
for i, x in enumerate(numbers):
    got = float(index.get_vector(i)[0])
    wrong += got != x
    print("voyager", importlib.metadata.version("voyager"), f"{x:.9f} is stored as {got:.9f}", "" if got == x else "wrong")
if wrong == 0:
    raise SystemExit("the behaviour has changed")
PY
