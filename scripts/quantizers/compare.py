#!/usr/bin/env python3
"""Compares quantizers with those of llama.cpp, which the package xllamacpp has built in.

    compare.py SERVER [-write FOLDER] [MODEL.gguf...]

SERVER is the program of this folder. Draws rows of several distributions, and takes rows of the models' matrices. Bytes of q8_0, q4_0, q4_1, q5_0 and
q5_1 must be the same for all finite numbers. In all other formats, and with weights of importance in q4_0 to q5_1 too, it counts the rows whose sum of
squares of errors is less than llama.cpp's, equal and greater. Ends with 1 where bytes differ, or where the root of the mean square (RMS) of all
rows of a distribution is greater. At the end it prints how many nanoseconds a number takes on one thread: the least of several calls in turn.

-write FOLDER writes the rows that Go tests compare with what llama.cpp makes of them."""

import ctypes, glob, importlib.util, math, os, struct, subprocess, sys, time

import gguf
import numpy as np

NUMBERS = {"q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "q3_k": 11, "q4_k": 12, "q5_k": 13, "q6_k": 14, "iq4_nl": 20, "iq4_xs": 23}
SAME = ["q8_0", "q4_0", "q4_1", "q5_0", "q5_1"]
SEARCHED = ["q3_k", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs"]
COLUMNS = 1024

library = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(importlib.util.find_spec("xllamacpp").origin), "xllamacpp*.so"))[0])
library.ggml_quantize_chunk.restype = ctypes.c_size_t
library.ggml_quantize_chunk.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p] + [ctypes.c_int64] * 3 + [ctypes.c_void_p]


def type_of(name):
    return gguf.GGMLQuantizationType[name.upper()]


def theirs(name, x, importance=None):
    elements, size = gguf.GGML_QUANT_SIZES[type_of(name)]
    out = np.zeros((x.size // elements, size), np.uint8)
    library.ggml_quantize_chunk(NUMBERS[name], x.ctypes.data, out.ctypes.data, 0, *x.shape, None if importance is None else importance.ctypes.data)
    return out


class Ours:
    def __init__(self, server):
        self.process = subprocess.Popen([server], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.nanoseconds = 0  # of the last call

    def __call__(self, name, x, importance=None):
        elements, size = gguf.GGML_QUANT_SIZES[type_of(name)]
        weights = b"" if importance is None else importance.tobytes()
        self.process.stdin.write(f"{name} {x.size} {len(weights) // 4}\n".encode() + x.tobytes() + weights)
        self.process.stdin.flush()
        self.nanoseconds = int.from_bytes(self.process.stdout.read(8), "little")
        return np.frombuffer(self.process.stdout.read(x.size // elements * size), np.uint8).reshape(-1, size)


def errors(name, blocks, x, importance=None):
    """Returns the sum of squares of errors of each row."""
    off = gguf.quants.dequantize(blocks.reshape(1, -1), type_of(name)).astype(np.float64).reshape(x.shape) - x
    return (off * off * (1 if importance is None else importance.astype(np.float64))).sum(1)


def bfloat16(x):
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32)


def distributions(r, rows):
    """Weights as models have them, and some that are harder."""
    shape = (rows, COLUMNS)
    normal = lambda: r.standard_normal(shape)
    yield "normal", 0.02 * normal()
    yield "normal in bfloat16", bfloat16(0.02 * normal())
    yield "Student's t, 3 degrees", 0.02 * r.standard_t(3, shape)
    yield "Laplace", r.laplace(size=shape)
    yield "uniform", r.random(shape) - 0.5
    yield "columns of other sizes", normal() * np.exp(r.standard_normal(COLUMNS))
    yield "mean of 0.7 deviations", normal() + 0.7
    yield "positive", np.abs(normal())
    yield "of 1e-6", 1e-6 * normal()


def hard(r, rows):
    """Ties, zeros of both signs, denormals, and numbers of all sizes: for formats with the same bytes."""
    shape = (rows, COLUMNS)
    normal = lambda: r.standard_normal(shape)
    signed = lambda x: np.where(r.random(shape) < 0.5, x, -x)
    yield "integers", r.integers(-127, 128, shape)
    yield "few integers", r.integers(-8, 9, shape)
    yield "halves", r.integers(-31, 32, shape) / 2
    yield "zeros", signed(np.zeros(shape))
    yield "few numbers", np.where(r.random(shape) < 0.97, signed(np.zeros(shape)), normal())
    yield "constants", np.repeat(r.standard_normal((rows, COLUMNS // 32)), 32, 1)
    yield "negative", -np.abs(normal())
    for e in [-149, -146, -143, -140, -137, -133, -130, -126, -122, -40, -25, -23, -20, -14, 15, 20, 23, 60, 100, 124]:
        yield f"of 2^{e}", np.ldexp(normal(), e)
    yield "denormals", signed(r.integers(0, 1 << 23, shape).astype(np.uint32).view(np.float32))
    any_bits = r.integers(0, 1 << 32, shape, dtype=np.uint64).astype(np.uint32).view(np.float32)
    yield "any bits of finite numbers", np.where(np.isfinite(any_bits), any_bits, 1)
    yield "largest numbers", signed(np.where(r.random(shape) < 0.3, np.finfo(np.float32).max, 0))


def matrices(path, rows):
    """Rows of each matrix of a model."""
    found = []
    for t in gguf.GGUFReader(path).tensors:
        if len(t.shape) > 1 and t.n_elements >= COLUMNS:
            x = gguf.quants.dequantize(t.data, t.tensor_type).reshape(-1)
            found.append(x[: x.size // COLUMNS * COLUMNS].reshape(-1, COLUMNS)[:rows])
    return np.concatenate(found)


def main():
    args = sys.argv[1:]
    folder = None
    if "-write" in args:
        at = args.index("-write")
        folder = args[at + 1]
        del args[at : at + 2]
    if folder:
        return write(folder)
    if not args:
        sys.exit(__doc__)
    ours, failed = Ours(os.path.abspath(args[0])), []
    r = np.random.default_rng(62)
    narrow = lambda draws: [(name, np.ascontiguousarray(x, np.float32)) for name, x in draws]
    drawn = narrow(distributions(r, 64)) + [(os.path.basename(path), np.ascontiguousarray(matrices(path, 8))) for path in args[1:]]
    for name in SAME:
        rows = differ = 0
        for kind, x in drawn + narrow(hard(r, 64)):
            off = (ours(name, x) != theirs(name, x)).any(1).sum()
            rows += x.size // 32
            differ += off
            if off:
                failed.append(f"{name}, {kind}: {off} blocks")
        print(f"{name:7} {differ} of {rows} blocks differ")
    for name in SEARCHED:
        for zero in [0.0, -0.0]:
            x = np.full((1, 256), zero, np.float32)
            if (ours(name, x) != theirs(name, x)).any():
                failed.append(f"{name}: zeros")
    for title, formats, importance in [
        ("", SEARCHED, None),
        (", importance", SAME[1:] + SEARCHED, np.exp(1.5 * r.standard_normal(COLUMNS)).astype(np.float32)),
        (", importance of mean squares", SAME[1:] + SEARCHED, (r.standard_normal(COLUMNS) ** 2).astype(np.float32)),
    ]:
        print(f"\nformat{title}: RMS relative to llama.cpp's; rows that are closer, equal, worse; greatest ratio of a row")
        for name in formats:
            for kind, x in drawn:
                own, other = errors(name, ours(name, x, importance), x, importance), errors(name, theirs(name, x, importance), x, importance)
                ratio = (own.sum() / other.sum()) ** 0.5
                worst = np.sqrt((own[other > 0] / other[other > 0]).max())
                print(f"{name:7} {kind:24} {ratio:.4f}  {(own < other).sum():5} {(own == other).sum():4} {(own > other).sum():4}  {worst:.4f}")
                if ratio > 1:
                    failed.append(f"{name}{title}, {kind}: {ratio:.4f}")
    print("\nformat: nanoseconds for a number, ours and llama.cpp's; with importance")
    x = np.ascontiguousarray(0.02 * r.standard_normal((64, COLUMNS)), np.float32)
    for name in SAME + SEARCHED:
        print(f"{name:7}", *(f"{own:6.1f} {other:6.1f}" for own, other in (times(ours, name, x, by) for by in [None, importance])))
    if failed:
        sys.exit("worse or different: " + "; ".join(failed))


def times(ours, name, x, importance):
    """Returns the least nanoseconds that a number takes."""
    own = other = math.inf
    for _ in range(25):
        ours(name, x, importance)
        own = min(own, ours.nanoseconds / x.size)
        begin = time.perf_counter_ns()
        theirs(name, x, importance)
        other = min(other, (time.perf_counter_ns() - begin) / x.size)
    return own, other


def write(folder):
    """Writes rows of 256, and what llama.cpp makes of them: per format its name, and its blocks."""
    r = np.random.default_rng(9)
    denormal = r.integers(1, 1 << 23, 32).astype(np.uint32).view(np.float32)
    pieces = [r.integers(-127, 128, 32), r.integers(-31, 32, 32) / 2, np.zeros(32), -np.zeros(32), denormal, np.ldexp(r.standard_normal(32), 120), np.ldexp(r.standard_normal(32), -20)]
    pieces.append(np.where(r.random(32) < 0.8, -0.0, 1.5))
    rows = [bfloat16(0.02 * r.standard_normal(256)), 0.02 * r.standard_t(3, 256), r.standard_normal(256), bfloat16(r.standard_normal(256)), np.concatenate(pieces)]
    x = np.array(rows).astype(np.float32)
    with open(os.path.join(folder, "llamacpp.bin"), "wb") as f:
        f.write(struct.pack("<I", len(x)) + x.tobytes())
        for name in SAME + SEARCHED:
            blocks = theirs(name, x if name in SAME else x[:-1].copy()).tobytes()
            f.write(struct.pack("<B", len(name)) + name.encode() + struct.pack("<I", len(blocks)) + blocks)


if __name__ == "__main__":
    main()
