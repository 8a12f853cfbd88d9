#!/bin/bash
# Guess: ArgMax gives the first of equal numbers, as ONNX says of select_last_index = 0, its default.
# Found: rten gives the last one. It refuses models that ask for the last one, and its TopK puts the first one ahead.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q numpy==2.4.6 onnx==1.23.2
env/bin/python - <<'PY'
import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

x = np.float32([4, 9, 9, 9])
for op in ("ArgMax", "ArgMin"):
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], keepdims=0, select_last_index=0)], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])], [helper.make_tensor_value_info("y", TensorProto.INT64, [])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, op + ".onnx")
    print("onnx", onnx.__version__, op, "of", x.tolist(), "and its negative:", *(int(ReferenceEvaluator(model).run(None, {"x": sign * x})[0]) for sign in (1, -1)))
PY
mkdir src
cat > Cargo.toml <<'TOML'
[package]
name = "finding"
version = "0.1.0"
edition = "2021"

[dependencies]
rten = "=0.27.0"
rten-tensor = "=0.27.0"
TOML
cat > src/main.rs <<'RUST'
use rten::{Model, Value};
use rten_tensor::{prelude::*, Tensor};

fn main() {
    let mut last = false;
    for op in ["ArgMax", "ArgMin"] {
        let model = Model::load_file(format!("{op}.onnx")).unwrap();
        let mut places = vec![];
        for sign in [1f32, -1.0] {
            let x = Tensor::from_data(&[4], vec![4.0 * sign, 9.0 * sign, 9.0 * sign, 9.0 * sign]);
            let input = (model.node_id("x").unwrap(), Value::from(x).into());
            let result = model.run(vec![input], &model.output_ids().to_vec(), None).unwrap().remove(0);
            let place: Tensor<i32> = result.try_into().unwrap();
            places.push(place.to_vec()[0]);
        }
        println!("rten 0.27.0 {op} of 4, 9, 9, 9 and its negative: {places:?}");
        last |= places.contains(&3);
    }
    if !last {
        println!("the behaviour has changed");
        std::process::exit(1);
    }
}
RUST
cargo run --quiet
