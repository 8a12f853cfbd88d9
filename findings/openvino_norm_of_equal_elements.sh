#!/bin/bash
# Guess: a row whose elements are equal has a variance of 0, so that its normalised elements are 0, or tiny.
# Found: OpenVINO subtracts a mean that is rounded away from the elements. 768 times 10000.1 becomes -0.95 with eps 1e-5.
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

worst = 0
for x in (0.1, 1, 100.1, 10000.1):
    row = np.full((1, 768), x, np.float32)
    got = run(lambda p: ops.mvn(p, np.array([1], np.int64), True, 1e-5, "inside_sqrt"), row)[0]
    print("OpenVINO", ov.__version__, f"768 times {x}, normalised with eps 1e-5:", got[:2])
    worst = max(worst, np.abs(got).max())
if worst < 0.01:
    raise SystemExit("the behaviour has changed")
PY
