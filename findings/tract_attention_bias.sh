#!/bin/bash
# Guess: a number that is added to the scores of all keys changes nothing in attention: the result is the mean of the values, also with -1e30.
# Found: tract returns 0 from -1e8 down: it takes these scores for masked ones. onnx's reference and torch return the mean for finite masks.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q numpy==2.4.6 onnx==1.23.2 tract==0.23.9
env/bin/python - <<'PY'
import importlib.metadata

import numpy as np
import onnx
import tract
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

q, k = np.ones((1, 1, 1, 8), np.float32), np.ones((1, 1, 3, 8), np.float32)
v = k * np.float32([1, 2, 6])[None, None, :, None]
changed = True
for bias in (0, -1e4, -1e8, -1e9, -1e10, -1e30, np.finfo(np.float32).min):
    mask = np.full((1, 1, 1, 3), bias, np.float32)
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, x.shape) for n, x in (("q", q), ("k", k), ("v", v), ("mask", mask))]
    graph = helper.make_graph([helper.make_node("Attention", ["q", "k", "v", "mask"], ["y"])], "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, q.shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])
    model.ir_version = 10
    onnx.save(model, "model.onnx")
    got = tract.onnx().load("model.onnx").into_model().into_runnable().run([q, k, v, mask])[0].to_numpy()[0, 0, 0, 0]
    want = ReferenceEvaluator(model).run(None, {"q": q, "k": k, "v": v, "mask": mask})[0][0, 0, 0, 0]
    print("tract", importlib.metadata.version("tract"), "mean of 1, 2, 6 with", bias, "added to all scores:", got, "onnx", onnx.__version__, want)
    changed &= bool(got == want)
if changed:
    raise SystemExit("the behaviour has changed")
PY
