"""Random blocks of GGUF's formats, for files that measure speed: a function by format, which makes rows of columns."""

import numpy
from gguf import GGMLQuantizationType as Type

rng = numpy.random.default_rng(1)


def blocks(rows, cols, elements, size):
    """Random blocks of some elements, of some bytes each, [blocks, size]."""
    return rng.integers(0, 256, (rows * cols // elements, size), dtype=numpy.uint8)


def halves(x):
    return x.astype(numpy.float16).view(numpy.uint8).reshape(-1, 2)


def q4_k(rows, cols):
    b = blocks(rows, cols, 256, 144)
    scale = 0.02 * numpy.ones(len(b), numpy.float16) * numpy.float16(1 / (15 * 30) * 8)
    b[:, 0:2], b[:, 2:4] = halves(scale), halves(scale * numpy.float16(7.5))  # and of the minimum, which is in the middle
    return b.reshape(rows, -1), Type.Q4_K


def q6_k(rows, cols):
    b = blocks(rows, cols, 256, 210)
    b[:, 208:210] = halves(numpy.full(len(b), 0.02 / (18 * 74)))
    return b.reshape(rows, -1), Type.Q6_K


def q4_0(rows, cols):
    b = blocks(rows, cols, 32, 18)
    b[:, 0:2] = halves(numpy.full(len(b), 0.02 / 4.6))
    return b.reshape(rows, -1), Type.Q4_0


def q8_0(rows, cols):
    b = blocks(rows, cols, 32, 34)
    b[:, 0:2] = halves(numpy.full(len(b), 0.02 / 64))
    return b.reshape(rows, -1), Type.Q8_0


def mxfp4(rows, cols):
    b = blocks(rows, cols, 32, 17)
    b[:, 0] = 127 - 8  # 2**-8
    return b.reshape(rows, -1), Type.MXFP4


def f32(rows, cols):
    return rng.standard_normal((rows, cols), dtype=numpy.float32) * numpy.float32(0.02), Type.F32
