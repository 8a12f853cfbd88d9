"""Writes formats.gguf: metadata of every type, and for each format that the reader
converts a tensor of random blocks beside the float32 values that the gguf package
has for it, under the same name with "/f32" after it.

    python make.py          # gguf 0.19, numpy
"""

import pathlib

import gguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFValueType
from gguf.quants import dequantize, quantize

rng = np.random.default_rng(1)
w = gguf.GGUFWriter(pathlib.Path(__file__).parent / "formats.gguf", "test")

V = GGUFValueType
w.add_key_value("t.u8", 200, V.UINT8)
w.add_key_value("t.i8", -100, V.INT8)
w.add_key_value("t.u16", 60000, V.UINT16)
w.add_key_value("t.i16", -30000, V.INT16)
w.add_key_value("t.u32", 4000000000, V.UINT32)
w.add_key_value("t.i32", -2000000000, V.INT32)
w.add_key_value("t.u64", 2**63 + 1, V.UINT64)
w.add_key_value("t.i64", -(2**63), V.INT64)
w.add_key_value("t.f32", 1.5, V.FLOAT32)
w.add_key_value("t.f64", 0.1, V.FLOAT64)
w.add_key_value("t.bool", True, V.BOOL)
w.add_key_value("t.text", "caf\u00e9", V.STRING)
w.add_key_value("t.texts", ["a", "", "\u0120the"], V.ARRAY, sub_type=V.STRING)
w.add_key_value("t.ints", [1, -2, 3], V.ARRAY, sub_type=V.INT32)
w.add_key_value("t.floats", [0.5, -1.0], V.ARRAY, sub_type=V.FLOAT32)
w.add_key_value("t.bools", [True, False], V.ARRAY, sub_type=V.BOOL)

# Where a block's half-precision scales are, in bytes: random bits there would be
# infinite now and then, and far too large.
scales = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
          "Q2_K": [80, 82], "Q3_K": [108], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": []}

for name, places in scales.items():
    kind = GGMLQuantizationType[name]
    block, size = GGML_QUANT_SIZES[kind]
    rows, blocks = 2, 256 // block
    raw = rng.integers(0, 256, (rows, blocks, size), dtype=np.uint8)
    for p in places:
        raw[:, :, p:p + 2] = rng.normal(0, 0.02, (rows, blocks, 1)).astype(np.float16).view(np.uint8)
    if name == "MXFP4":
        raw[:, :, 0] = rng.integers(0, 251, (rows, blocks))  # 12 times more is finite
    raw = raw.reshape(rows, blocks * size)
    w.add_tensor(name, raw, raw_dtype=kind)
    w.add_tensor(name + "/f32", dequantize(raw, kind))

x = rng.normal(0, 1, (2, 3, 32)).astype(np.float32)
w.add_tensor("F32", x)
w.add_tensor("F32/f32", x)
h = x.astype(np.float16)
w.add_tensor("F16", h)
w.add_tensor("F16/f32", h.astype(np.float32))
b = quantize(x, GGMLQuantizationType.BF16)
w.add_tensor("BF16", b, raw_dtype=GGMLQuantizationType.BF16)
w.add_tensor("BF16/f32", dequantize(b, GGMLQuantizationType.BF16))
d = x.astype(np.float64) / 3
w.add_tensor("F64", d)
w.add_tensor("F64/f32", d.astype(np.float32))

w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()
