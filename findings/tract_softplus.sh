#!/bin/bash
# Expected, but not written down before it was tried: softplus of 100 is 100, as in torch and in onnx's reference, which compute it without overflow.
# Found: tract computes log(1 + exp(x)) as it is written: from 89 on it is infinite, and from -17 down it is 0.
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

np.seterr(all="ignore")

x = np.float32([-20, 1, 80, 88, 89, 100])
graph = helper.make_graph([helper.make_node("Softplus", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)], [helper.make_tensor_value_info("y", TensorProto.FLOAT, x.shape)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
model.ir_version = 8
onnx.save(model, "model.onnx")
got = tract.onnx().load("model.onnx").into_model().into_runnable().run([x])[0].to_numpy()
want = ReferenceEvaluator(model).run(None, {"x": x})[0]
print("tract", importlib.metadata.version("tract"), "softplus of", x.tolist(), "is", got.tolist(), "onnx", onnx.__version__, want.tolist())
if np.isfinite(got).all():
    raise SystemExit("the behaviour has changed")
PY
