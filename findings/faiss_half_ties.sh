#!/bin/bash
# Guess: a number that is halfway between two float16 or bfloat16 becomes the one that is even, as in numpy and torch.
# Found: faiss rounds these numbers away from zero, both in QT_fp16 and in QT_bf16.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q numpy==2.4.6 ml_dtypes==0.6.0 faiss-cpu==1.15.1
env/bin/python - <<'PY'
import faiss
import ml_dtypes
import numpy as np

changed = True
for kind, dtype in (("QT_fp16", np.float16), ("QT_bf16", ml_dtypes.bfloat16)):
    every = np.arange(65536, dtype=np.uint16).view(dtype).astype(np.float32)
    every = np.sort(every[(every > 1) & (every < 1000)])
    halfway = (every[1:] + every[:-1]) / 2
    index = faiss.IndexScalarQuantizer(16, getattr(faiss.ScalarQuantizer, kind))
    index.add(np.tile(halfway[:, None], (1, 16)))
    got = index.reconstruct_n(0, len(halfway))[:, 0]
    even, away = halfway.astype(dtype).astype(np.float32), every[1:]
    changed &= bool((got == even).all())
    print("faiss", faiss.__version__, kind, len(halfway), "numbers halfway:", (got == even).sum(), "become even,", (got == away).sum(), "are rounded away from zero")
if changed:
    raise SystemExit("the behaviour has changed")
PY
