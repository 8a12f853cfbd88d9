#!/usr/bin/env python3
"""Writes what sentence-transformers' quantize_embeddings makes of some vectors: codes.py OUT.json"""

import json, sys

import numpy as np
from sentence_transformers.util.quantization import quantize_embeddings

r = np.random.default_rng(5)
vectors = r.normal(size=(12, 20)).astype(np.float32)
vectors[3, :5] = 0
calibration = np.concatenate([vectors, 1.5 * r.normal(size=(30, 20)).astype(np.float32)])
ranges = np.vstack([calibration.min(axis=0), calibration.max(axis=0)])
codes = {p: quantize_embeddings(vectors, p, ranges=ranges).tolist() for p in ("int8", "uint8", "binary", "ubinary")}
own = {p: quantize_embeddings(vectors, p).tolist() for p in ("int8", "uint8")}
with open(sys.argv[1], "w") as f:
    json.dump({"vectors": vectors.tolist(), "calibration": calibration.tolist(), "codes": codes, "own": own}, f)
    f.write("\n")
