#!/bin/bash
# Guess: a conversion to float16 and back rounds numbers, as in numpy.
# Found: OpenVINO removes the two conversions: 70000, which float16 cannot hold, stays as it is.
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

x = np.float32([70000, 1 + 2**-11, 1e-8])
got = run(lambda p: ops.convert(ops.convert(p, "f16"), "f32"), x)
want = x.astype(np.float16).astype(np.float32)
print("OpenVINO", ov.__version__, x, "through float16:", got, "numpy:", want)
if np.array_equal(got, want):
    raise SystemExit("the behaviour has changed")
PY
