#!/bin/bash
# Guess: exp(NaN) is NaN, as in numpy, torch and ONNX Runtime.
# Found: it is infinity in vectors of 1, 8 and 17.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q numpy==2.4.6 openvino==2026.4.1
env/bin/python - <<'PY'
import numpy as np
import openvino as ov
from openvino import opset15 as ops

def run(graph, *inputs):
    parameters = [ops.parameter(x.shape, x.dtype) for x in inputs]
    model = ov.Model([graph(*parameters)], parameters)
    compiled = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return compiled(list(inputs))[0]

changed = True
for n in (1, 8, 17):
    got = run(ops.exp, np.full(n, np.nan, np.float32))
    print("OpenVINO", ov.__version__, n, "times exp(NaN):", sorted(set(map(str, got))))
    changed &= bool(np.isnan(got).all())
if changed:
    raise SystemExit("the behaviour has changed")
PY
