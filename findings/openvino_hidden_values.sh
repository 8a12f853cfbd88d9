#!/bin/bash
# Guess: where a mask hides a key, its value counts as nothing, or 0 times infinity makes the result NaN.
# Found: with ONNX's Attention a NaN or infinity among the hidden values makes the whole result 0, although the query sees a key whose value is 1.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q numpy==2.4.6 openvino==2026.4.1 onnx==1.23.2
env/bin/python - <<'PY'
import numpy as np
import onnx
import openvino as ov
from onnx import TensorProto, helper

q, k = np.ones((1, 1, 1, 8), np.float32), np.ones((1, 1, 3, 8), np.float32)
mask = np.array([[[[True, False, False]]]])
inputs = [helper.make_tensor_value_info(n, t, x.shape) for n, t, x in (("q", TensorProto.FLOAT, q), ("k", TensorProto.FLOAT, k), ("v", TensorProto.FLOAT, k), ("mask", TensorProto.BOOL, mask))]
graph = helper.make_graph([helper.make_node("Attention", ["q", "k", "v", "mask"], ["y"])], "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, q.shape)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])
model.ir_version = 10
onnx.checker.check_model(model)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString(), b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
changed = False
for hidden in (2, 1e30, np.inf, np.nan):
    v = np.ones((1, 1, 3, 8), np.float32)
    v[..., 1, :] = hidden
    got = compiled({"q": q, "k": k, "v": v, "mask": mask})[0][0, 0, 0]
    print("OpenVINO", ov.__version__, "onnx", onnx.__version__, "sees the value 1, and not", hidden, "->", got[:2])
    changed |= not np.isfinite(hidden) and got[0] != 0
if changed:
    raise SystemExit("the behaviour has changed")
PY
