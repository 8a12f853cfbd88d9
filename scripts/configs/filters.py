#!/usr/bin/env python3
"""Writes which tokens transformers' filters of sampling leave, of logits many of which are equal.

    filters.py > generation/testdata/filters.json

A line is logits, temperature, top_k, top_p, min_p, typical_p, of which 0 is none, and the tokens. There are at most
16 logits, since torch sorts more of them in an order of equals that is not defined."""

import json
import random

import torch
from transformers import GenerationConfig, GenerationMixin


def filtered(logits, settings):
    config = GenerationConfig(do_sample=True, **settings)
    scores = torch.tensor([logits])
    for warp in GenerationMixin._get_logits_processor(Model(), config, input_ids_seq_length=1, device="cpu"):
        scores = warp(None, scores)
    return torch.isfinite(scores[0]).nonzero().flatten().tolist()


class Model:
    """As much of a model as _get_logits_processor asks for."""

    config = None

    def _merge_criteria_processor_list(self, default, custom):
        return default


def main():
    rng = random.Random(5)
    flat = [[0.0] * n for n in (1, 2, 4, 8, 16)]
    cases = [(x, t, k, p, m, y) for x in flat for t, k, p, m, y in ((1, 0, 0.5, 0, 0), (1, 0, 0.75, 0, 0), (1, 2, 0, 0, 0), (1, 0, 0, 1, 0), (1, 0, 0, 0, 0.5), (0.5, 3, 0.25, 0.5, 0.75))]
    for _ in range(200):
        logits = [rng.choice((-1.0, 0.0, 0.5, 1.0, 2.0, round(rng.gauss(0, 1), 1))) for _ in range(rng.randint(2, 16))]
        if rng.random() < 0.2:
            logits[rng.randrange(len(logits))] = -1e9
        pick = lambda *values: rng.choice((0,) + values)
        cases.append((logits, rng.choice((0.5, 1, 1, 2)), pick(1, 2, 3, 5, 8), pick(0.1, 0.3, 0.55, 0.8, 0.95), pick(0.05, 0.3, 0.62), pick(0.2, 0.45, 0.7, 0.9)))
    print("[")
    for i, (logits, t, k, p, m, y) in enumerate(cases):
        kept = filtered(logits, {"temperature": float(t), "top_k": k, "top_p": p or 1.0, "min_p": m or None, "typical_p": y or 1.0})
        print(json.dumps([logits, t, k, p, m, y, kept]) + ("," if i < len(cases) - 1 else ""))
    print("]")


if __name__ == "__main__":
    main()
