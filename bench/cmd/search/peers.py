"""Indexes of other libraries: a line LIBRARY PRECISION K on stdin searches the queries of a file, and the answer is a
line with the seconds that it took; the ids lie in a file then."""

import sys
import time

import faiss
import numpy as np
import usearch
from usearch.index import MetricKind, search

vectors_file, queries_file, hits_file, dim, threads = sys.argv[1:4] + [int(a) for a in sys.argv[4:6]]
faiss.omp_set_num_threads(threads)
vectors = np.memmap(vectors_file, np.float32, "r").reshape(-1, dim)
queries = None


def signs(x):
    return np.packbits(x > 0, axis=1)


def integers(x):  # one scale for all, as sentence-transformers has one for each dimension
    return np.clip(np.rint(x * (127 / np.abs(vectors[:10000]).max())), -127, 127).astype(np.int8)


flat = faiss.IndexFlatIP(dim)
scalar = faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
scalar.train(vectors[:100000])
binary = faiss.IndexBinaryFlat(dim)
bits, bytes8 = np.empty((len(vectors), dim // 8), np.uint8), np.empty((len(vectors), dim), np.int8)
for i in range(0, len(vectors), 50000):
    part = np.array(vectors[i : i + 50000])
    flat.add(part)
    scalar.add(part)
    bits[i : i + 50000], bytes8[i : i + 50000] = signs(part), integers(part)
    binary.add(bits[i : i + 50000])


def rescored(found, k):
    """As sentence-transformers' semantic_search_faiss: by the float query and the integers."""
    ids = np.empty((len(queries), k), np.int64)
    for i, candidates in enumerate(found):
        scores = bytes8[candidates].astype(np.float32) @ queries[i]
        ids[i] = candidates[np.argsort(-scores)[:k]]
    return ids


def run(library, precision, k):
    if library == "faiss":
        if precision == "float32":
            return flat.search(queries, k)[1]
        if precision == "int8":
            return scalar.search(queries, k)[1]
        if precision == "binary":
            return binary.search(signs(queries), k)[1]
        return rescored(binary.search(signs(queries), 4 * k)[1], k)
    exact = dict(exact=True, threads=threads)
    if precision == "float32":
        return search(vectors, queries, k, MetricKind.IP, **exact).keys
    if precision == "int8":
        return search(bytes8, integers(queries), k, MetricKind.IP, **exact).keys
    if precision == "binary":
        return search(bits, signs(queries), k, MetricKind.Hamming, **exact).keys
    return rescored(search(bits, signs(queries), 4 * k, MetricKind.Hamming, **exact).keys.reshape(len(queries), -1), k)


print("faiss", faiss.__version__, faiss.get_compile_options().strip(), "usearch", usearch.__version__, flush=True)
for line in sys.stdin:
    library, precision, k = line.split()
    queries = np.fromfile(queries_file, np.float32).reshape(-1, dim)
    start = time.perf_counter()
    ids = run(library, precision, int(k))
    seconds = time.perf_counter() - start
    np.ascontiguousarray(ids, np.int64).tofile(hits_file)
    print(seconds, flush=True)
