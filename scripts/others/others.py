"""Special values in other libraries: runs each line of doc/others.md, and compares the page with what it printed.

    python others.py DOC [-write]

The column of this project is that of others_test.go, which this script leaves as it is.
"""

import importlib.metadata
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import openvino
import torch
from compressed_tensors.quantization.utils.mxfp_utils import generate_mx_scales
from gguf import GGMLQuantizationType, quants
from onnx import TensorProto, helper
from torchao.prototype.mx_formats.config import ScaleCalculationMode
from torchao.prototype.mx_formats.mx_tensor import MXTensor

warnings.filterwarnings("ignore")
np.seterr(all="ignore")
NAN, INF = float("nan"), float("inf")
NONE = "–"


def f32(*x):
    return np.array(x, np.float32)


def show(x):
    """Numbers as others_test.go writes them."""
    x = np.asarray(x)
    if x.dtype.kind == "V" or x.dtype.itemsize == 1 and x.dtype.kind == "f":
        x = x.astype(np.float32)
    cells = []
    for v in x.ravel().tolist():
        v = float(v)
        cells.append("NaN" if v != v else "Inf" if v == INF else "-Inf" if v == -INF else ("-0" if np.signbit(v) else "0") if v == 0 else f"{v:.6g}")
    return ", ".join(cells)


# A model of one node, which ONNX Runtime and OpenVINO run alike.


def node(op, *inputs, outputs=1, opset=21, shape=None, to=None, **attributes):
    names = [chr(97 + i) for i in range(len(inputs))]
    if to:
        attributes["to"] = to
    made = helper.make_node(op, [n if x is not None else "" for n, x in zip(names, inputs)], [f"y{i}" for i in range(outputs)], **attributes)
    kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64, np.dtype(bool): TensorProto.BOOL}
    given = [(n, x) for n, x in zip(names, inputs) if x is not None]
    graph = helper.make_graph([made], "g", [helper.make_tensor_value_info(n, kinds[x.dtype], x.shape) for n, x in given], [helper.make_empty_tensor_value_info(f"y{i}") for i in range(outputs)])
    nodes = [made]
    if to:  # back to float32, which numpy has
        nodes.append(helper.make_node("Cast", ["y0"], ["z"], to=TensorProto.FLOAT))
        graph = helper.make_graph(nodes, "g", list(graph.input), [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 10
    return model, dict(given)


def ort(model, feeds, threads=1):
    o = onnxruntime.SessionOptions()
    o.intra_op_num_threads = threads
    o.log_severity_level = 4
    o.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), o, providers=["CPUExecutionProvider"]).run(None, feeds)[-1]


def ov(model, feeds, threads=1):
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(model.SerializeToString(), b""), "CPU", {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"})
    return list(compiled(feeds).values())[-1]


TRACT = """
import sys

import numpy as np
import tract

feeds = np.load(sys.argv[2])
try:
    model = tract.onnx().load(sys.argv[1]).into_model().into_runnable()
except Exception:
    sys.exit(3)
np.save(sys.argv[3], model.run([feeds[name] for name in feeds.files])[-1].to_numpy())
"""


def tr(model, feeds, threads=1):
    """tract, in a process of its own, since a panic ends it. It runs on one thread. None is a model that it cannot load."""
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("model.onnx", "feeds.npz", "result.npy")]
        onnx.save(model, files[0])
        np.savez(files[1], **feeds)
        code = subprocess.run([sys.executable, "-c", TRACT, *files], stderr=subprocess.DEVNULL).returncode
        if code == 3:
            return None
        return np.load(files[2])


RUNTIMES = (ort, ov, tr)


def run(f):
    try:
        got = f()
        return NONE if got is None else got if isinstance(got, str) else show(got)
    except Exception as e:
        if "-v" in sys.argv:
            print(type(e).__name__, str(e)[:300].replace("\n", " "), file=sys.stderr)
        return "an error"


T = torch.tensor
F = torch.nn.functional


def elementwise(name, x, numpy, of_torch, op, **attributes):
    x = f32(*x)
    return name, (lambda: numpy(x)) if numpy else None, lambda: of_torch(T(x)), node(op, x, **attributes)


def softmax(name, x):
    x = f32(x)
    return name, None, lambda: torch.softmax(T(x), -1), node("Softmax", x)


def layer_norm(name, row, eps):
    x, w = np.array([row], np.float32), np.ones(len(row), np.float32)
    return name, None, lambda: F.layer_norm(T(x), w.shape, T(w), None, eps)[0, :2], node("LayerNormalization", x, w, epsilon=eps), lambda y: y[0, :2]


def rms_norm(name, row, eps):
    x, w = np.array([row], np.float32), np.ones(len(row), np.float32)
    return name, None, lambda: F.rms_norm(T(x), w.shape, T(w), eps)[0, :2], node("RMSNormalization", x, w, opset=23, epsilon=eps), lambda y: y[0, :2]


def gemm(name, a, c, alpha, beta):
    a, b, c = f32(a), f32([2.0]), f32(c)
    return name, None, lambda: torch.addmm(T(c), T(a), T(b), alpha=alpha, beta=beta), node("Gemm", a, b, c, alpha=alpha, beta=beta)


def cast(name, x, numpy, of_torch, to, **attributes):
    x = f32(*x)
    return name, (lambda: x.astype(numpy).astype(np.float32)) if numpy else None, lambda: T(x).to(of_torch).float(), node("Cast", x, to=to, **attributes)


def attention(name, mask, values):
    q, k, v = (np.ones((1, 1, n, 8), np.float32) for n in (1, 3, 3))
    for i, x in enumerate(values):
        v[..., i, :] = x
    mask = np.array([[[mask]]])
    if mask.dtype != bool:
        mask = mask.astype(np.float32)
    def of_torch():
        return F.scaled_dot_product_attention(T(q), T(k), T(v), attn_mask=T(mask))[0, 0, 0, :1]
    return name, None, of_torch, node("Attention", q, k, v, mask, opset=23), lambda y: y[0, 0, 0, :1]


def same(rows):
    """Whether a row of a product of 512 by 512 has the same bits alone and among others."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((rows, 512)).astype(np.float32), rng.standard_normal((512, 512)).astype(np.float32)
    def word(product):
        return "yes" if all((product(a[i : i + 1])[0] == product(a)[i]).all() for i in range(rows)) else "no"
    torch.set_num_threads(1)
    one = [word(lambda x: x @ b), word(lambda x: (T(x) @ T(b)).numpy()), *(word(lambda x: r(*node("MatMul", x, b))) for r in (ort, ov)), NONE]
    return (f"a row of `a @ b`, 512 by 512, alone and among {rows} rows: same bits", *one)


def threads(rows):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((rows, 4096)).astype(np.float32), rng.standard_normal((4096, 512)).astype(np.float32)
    def of_torch(n):
        torch.set_num_threads(n)
        return (T(a) @ T(b)).numpy()
    def word(f):
        return "yes" if (f(1) == f(2)).all() else "no"
    return (f"`a @ b` of {rows} rows, 4096 by 512, on 1 thread and on 2: same bits", NONE, word(of_torch), *(word(lambda n: r(*node("MatMul", a, b), n)) for r in (ort, ov)), NONE)


def block(*x):
    whole = np.zeros((1, 32), np.float32)
    whole[0, : len(x)] = x
    return whole


def q8_0(name, x):
    return name, lambda: quants.quantize(block(127, *x), GGMLQuantizationType.Q8_0)[0, 3 : 3 + len(x)].view(np.int8), None, None


def by_scale(show_one):
    """What torchao's ways to choose the power of 2 of a block make."""
    return "; ".join(f"{way.value} {show_one(way)}" for way in (ScaleCalculationMode.FLOOR, ScaleCalculationMode.EVEN, ScaleCalculationMode.RCEIL))


def mxfp4(name, *x):
    kind = GGMLQuantizationType.MXFP4
    def of_torch(way):
        return show(MXTensor.to_mx(T(block(*x)), torch.float4_e2m1fn_x2, 32, way).dequantize(torch.float32)[0, : len(x)])
    return name, lambda: quants.dequantize(quants.quantize(block(*x), kind), kind)[0, : len(x)], lambda: by_scale(of_torch), None


def powers(name, element, bits, *most):
    """Powers of 2 of blocks by their largest magnitude."""
    def of_gguf():
        return np.concatenate([quants.quantize(block(m), GGMLQuantizationType.MXFP4)[0, :1] for m in most]).astype(np.float32) - 127
    def of_torch(way):
        return show(np.concatenate([MXTensor.to_mx(T(block(m)), element, 32, way).scale.view(torch.uint8).ravel() for m in most]).astype(np.float32) - 127)
    def of_tensors():
        return show(generate_mx_scales(T(f32(*most)), bits) - 127)
    return name, of_gguf if bits == 4 else None, lambda: by_scale(of_torch) + "; compressed-tensors " + of_tensors(), None


def product(name, a, b):
    return name, lambda: a @ b, lambda: T(a) @ T(b), node("MatMul", a, b)


far = [1e30, -1e30] * 8
CASES = [
    elementwise("ReLU of NaN, -0", (NAN, -0.0), lambda x: np.maximum(x, 0), torch.relu, "Relu"),
    elementwise("exp of -103.9, 88.8, -Inf, NaN", (-103.9, 88.8, -INF, NAN), np.exp, torch.exp, "Exp"),
    elementwise("sigmoid of -100, -Inf, NaN", (-100, -INF, NAN), None, torch.sigmoid, "Sigmoid"),
    elementwise("tanh of 1e-40, Inf, NaN", (1e-40, INF, NAN), np.tanh, torch.tanh, "Tanh"),
    elementwise("erf of 1e-40, Inf, NaN", (1e-40, INF, NAN), None, torch.erf, "Erf"),
    elementwise("GELU of -Inf, Inf, NaN", (-INF, INF, NAN), None, F.gelu, "Gelu"),
    elementwise("softplus of -Inf, 100, NaN", (-INF, 100, NAN), None, F.softplus, "Softplus"),
    ("1e-40 times 1", lambda: f32(1e-40) * f32(1), lambda: T(f32(1e-40)) * T(f32(1)), node("Mul", f32(1e-40), f32(1))),
    softmax("softmax of -Inf, -Inf", [-INF, -INF]),
    softmax("softmax of Inf, 0", [INF, 0]),
    softmax("softmax of NaN, 0", [NAN, 0]),
    softmax("softmax of -Inf, 0", [-INF, 0]),
    attention("attention that sees no key, values 1, 2, 6", (False, False, False), (1, 2, 6)),
    attention("attention that adds -Inf to each key, values 1, 2, 6", (-INF, -INF, -INF), (1, 2, 6)),
    attention("attention that adds -1e30 to each key, values 1, 2, 6", (-1e30, -1e30, -1e30), (1, 2, 6)),
    attention("attention that adds -3.4e38 to each key, values 1, 2, 6", (-3.4e38, -3.4e38, -3.4e38), (1, 2, 6)),
    attention("attention that sees the first of values 1, NaN, NaN", (True, False, False), (1, NAN, NAN)),
    layer_norm("layer norm of 768 times 0.1, eps 1e-12", [0.1] * 768, 1e-12),
    layer_norm("layer norm of 1e30, -1e30, eight times", far, 1e-5),
    rms_norm("RMS norm of 1e30, -1e30, eight times", far, 1e-5),
    rms_norm("RMS norm of 1e-30, -1e-30, eight times, eps 0", [1e-30, -1e-30] * 8, 0.0),
    rms_norm("RMS norm of zeros, eps 0", [0.0] * 16, 0.0),
    product("`a @ b` of 1 by 0 and 0 by 2", np.ones((1, 0), np.float32), np.ones((0, 2), np.float32)),
    product("`a @ b`, 1e-20 by 1e-20", f32(1e-20)[None], f32(1e-20)[None]),
    product("`a @ b`, 1e-40 by 1e30", f32(1e-40)[None], f32(1e30)[None]),
    gemm("1 * 1 * 2 + 0 * NaN", [1.0], [NAN], 1.0, 0.0),
    gemm("1 * 1 * 2 + 0 * Inf", [1.0], [INF], 1.0, 0.0),
    gemm("0 * NaN * 2 + 1 * 3", [NAN], [3.0], 0.0, 1.0),
    gemm("1 * NaN * 2 + 1 * 3", [NAN], [3.0], 1.0, 1.0),
    cast("float16 of 1 + 2^-11, 1 + 3*2^-11, 65519, 65520, 2^-25", (1 + 2**-11, 1 + 3 * 2**-11, 65519, 65520, 2**-25), np.float16, torch.float16, TensorProto.FLOAT16),
    cast("bfloat16 of 1 + 2^-8, 1 + 3*2^-8, 3.4e38, NaN", (1 + 2**-8, 1 + 3 * 2**-8, 3.4e38, NAN), ml_dtypes.bfloat16, torch.bfloat16, TensorProto.BFLOAT16),
    cast("float8 E4M3 of 464, 465, 500, Inf", (464, 465, 500, INF), ml_dtypes.float8_e4m3fn, torch.float8_e4m3fn, TensorProto.FLOAT8E4M3FN),
    cast("float8 E5M2 of 61439, 61440, Inf", (61439, 61440, INF), ml_dtypes.float8_e5m2, torch.float8_e5m2, TensorProto.FLOAT8E5M2),
    q8_0("Q8_0 of 0.5, 1.5, -0.5, 2.5 beside 127", (0.5, 1.5, -0.5, 2.5)),
    powers("MXFP4: the power of 2 of a block up to 6, 6.5, 7, 7.5, 8", torch.float4_e2m1fn_x2, 4, 6, 6.5, 7, 7.5, 8),
    powers("MXFP8 of E4M3: the power of 2 of a block up to 448, 449, 480, 512", torch.float8_e4m3fn, 8, 448, 449, 480, 512),
    mxfp4("MXFP4 of 4, 0.25, -0.75, 1.25, 2.5, 3.5, 5", 4, 0.25, -0.75, 1.25, 2.5, 3.5, 5),
    mxfp4("MXFP4 of 7, 1", 7, 1),
    mxfp4("MXFP4 of NaN, 1", NAN, 1),
    mxfp4("MXFP4 of Inf, 1", INF, 1),
    ("the best of 4, 9, 9, 9", lambda: np.argmax(f32(4, 9, 9, 9)), lambda: torch.topk(T(f32(4, 9, 9, 9)), 1)[1], node("TopK", f32(4, 9, 9, 9), np.array([1]), outputs=2)),
    ("the best two of 4, 9, 9, 9", lambda: np.argsort(-f32(4, 9, 9, 9))[:2], lambda: torch.topk(T(f32(4, 9, 9, 9)), 2)[1], node("TopK", f32(4, 9, 9, 9), np.array([2]), outputs=2)),
    ("the best of 3, NaN, 5, 1", lambda: np.argmax(f32(3, NAN, 5, 1)), lambda: torch.argmax(T(f32(3, NAN, 5, 1))), node("ArgMax", f32(3, NAN, 5, 1), keepdims=0)),
    ("the larger of NaN and 1, of 1 and NaN", lambda: np.maximum(f32(NAN, 1), f32(1, NAN)), lambda: torch.maximum(T(f32(NAN, 1)), T(f32(1, NAN))), node("Max", f32(NAN, 1), f32(1, NAN))),
    ("clip of NaN to 0 and 6", lambda: np.clip(f32(NAN), 0, 6), lambda: torch.clamp(T(f32(NAN)), 0, 6), node("Clip", f32(NAN), np.array(0, np.float32), np.array(6, np.float32))),
    ("int32 of NaN, 3e9, -1.5", lambda: f32(NAN, 3e9, -1.5).astype(np.int32), lambda: T(f32(NAN, 3e9, -1.5)).to(torch.int32), node("Cast", f32(NAN, 3e9, -1.5), to=TensorProto.INT32)),
]


def table():
    version = importlib.metadata.version
    yield f"| | avoformer | numpy {version('numpy')}, ml_dtypes {version('ml_dtypes')}, gguf {version('gguf')} | torch {version('torch')}, torchao {version('torchao')}, compressed-tensors {version('compressed-tensors')} | ONNX Runtime {version('onnxruntime')} | OpenVINO {version('openvino')} | tract {version('tract')} |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for name, numpy, of_torch, model, *take in CASES:
        take = take[0] if take else lambda y: y
        cells = [run(numpy) if numpy else NONE, run(of_torch) if of_torch else NONE]
        cells += [run(lambda: None if (y := r(*model)) is None else take(y)) if model else NONE for r in RUNTIMES]
        yield f"| {name} | ? | " + " | ".join(cells) + " |"
    for line in (same(2), same(64), threads(64), threads(1)):
        yield f"| {line[0]} | ? | " + " | ".join(line[1:]) + " |"


def main(doc, *flags):
    doc = pathlib.Path(doc)
    text = doc.read_text()
    before, rest = text.split("<!-- table -->\n")
    old, after = rest.split("<!-- end of table -->")
    own = {line.split("|")[1].strip(): line.split("|")[2].strip() for line in old.splitlines() if line.startswith("|")}
    lines = []
    for line in table():
        cells = line.split(" | ")
        if len(cells) > 1 and cells[1] == "?":
            cells[1] = own.get(cells[0].strip("| "), "?")
        lines.append(" | ".join(cells))
        print(lines[-1])
    new = "\n".join(lines) + "\n"
    if "-write" in flags:
        doc.write_text(f"{before}<!-- table -->\n{new}<!-- end of table -->{after}")
    elif new != old:
        raise SystemExit(f"{doc} has another table: run with -write, and read the difference")


if __name__ == "__main__":
    main(*sys.argv[1:])
