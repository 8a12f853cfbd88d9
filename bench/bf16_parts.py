# Computes the error of a product of float32 matrices as products of three parts of bfloat16, added up as TDPBF16PS does.
# Run with NumPy: python bench/bf16_parts.py. The figures are in doc/measurements/int8.md.
#
# An element of C is compared with a product in long double; its error is divided by the sum of the products' magnitudes.
import numpy as np

LEAST = 2.0**-126  # magnitudes below it are denormal
H, M, L = range(3)
SIX = [(M, M), (H, L), (L, H), (H, M), (M, H), (H, H)]


def flush(x):
    """Denormals become zeros, as in tiles."""
    return np.where(np.abs(x) < LEAST, np.float32(0), x).astype(np.float32)


def bfloat16(x):
    """Rounds to the nearest even of 8 bits, as a float32."""
    u = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    return flush(((u + 0x7FFF + (u >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32))


def parts(x):
    high = bfloat16(x)
    middle = bfloat16(x - high)
    return high, middle, bfloat16(x - high - middle)


def fma(a, b, c):
    """a*b + c, with a column a and a row b; the product of bfloat16 is exact in float64, where the sum is nearly so."""
    return (np.outer(a.astype(np.float64), b.astype(np.float64)) + c).astype(np.float32)


def tile(c, a, b):
    """TDPBF16PS of 32 steps of k: the even ones, the odd ones, both, and that to C."""
    sums = [np.zeros_like(c), np.zeros_like(c)]
    for k in range(32):
        sums[k % 2] = flush(fma(a[:, k], b[k], sums[k % 2]))
    return flush(c + flush(sums[0] + sums[1]))


def tiles(a, b, pairs, apart):
    """The product as those of pairs of parts; with apart, H times H has a sum of its own."""
    sums = np.zeros((2, a[0].shape[0], b[0].shape[1]), np.float32)
    for k in range(0, a[0].shape[1], 32):
        for i, j in pairs:
            at = int(apart and (i, j) == (H, H))
            sums[at] = tile(sums[at], a[i][:, k : k + 32], b[j][k : k + 32])
    return sums[0] + sums[1]


def chain(a, b):
    """The product in float32: one chain of fused multiply-adds."""
    c = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        c = fma(a[:, k], b[k], c)
    return c


def main():
    random = np.random.default_rng(1)
    inputs = {
        "normal": random.standard_normal,
        "uniform, 0 to 1": random.random,
        "exp(4 normal), random sign": lambda s: np.exp(4 * random.standard_normal(s)) * random.choice([-1, 1], s),
        "normal / 2^50": lambda s: random.standard_normal(s) / 2.0**50,
        "normal / 2^60": lambda s: random.standard_normal(s) / 2.0**60,
    }
    print("64x64x1024: largest and mean error")
    for name, draw in inputs.items():
        a, b = draw((64, 1024)).astype(np.float32), draw((1024, 64)).astype(np.float32)
        exact = a.astype(np.longdouble) @ b.astype(np.longdouble)
        size = np.abs(a).astype(np.longdouble) @ np.abs(b).astype(np.longdouble)
        pa, pb = parts(a), parts(b)
        for how, c in {
            "float32": chain(a, b),
            "six products, one sum": tiles(pa, pb, SIX, False),
            "six products, two sums": tiles(pa, pb, SIX, True),
            "three products": tiles(pa, pb, SIX[3:], False),
            "one product": tiles(pa, pb, SIX[5:], False),
        }.items():
            error = np.abs(c.astype(np.longdouble) - exact) / size
            print(f"{name:28} {how:24} {error.max():.1e} {error.mean():.1e}")


main()
