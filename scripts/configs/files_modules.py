#!/usr/bin/env python3
"""Compares the vectors of texts with drawn modules after the encoder, here and in sentence-transformers.

    files_modules.py [-n COUNT] [-seed SEED] [-show N] [-log FILE]

Each of COUNT cases draws the modes of Pooling, and Dense, Normalize, LayerNorm and WeightedLayerPooling with their
fields after or before it; in one of ten configurations a field is null. A case ends as in files_tokenizers.py."""

import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import torch
from safetensors.torch import save_file

import drawn
import sentences

MODES = ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]
OLD = {"cls": "cls_token", "max": "max_tokens", "mean": "mean_tokens", "mean_sqrt_len_tokens": "mean_sqrt_len_tokens", "weightedmean": "weightedmean_tokens", "lasttoken": "lasttoken"}
PREFIXES = ["sentence_transformers.models.", "sentence_transformers.sentence_transformer.modules."]
ACTIVATIONS = ["torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Tanh", "torch.nn.modules.activation.ReLU", "torch.nn.modules.activation.GELU", "torch.nn.modules.activation.Sigmoid", "torch.nn.modules.activation.SiLU"]
WIDTH = 32


def pooling(rng):
    """The configuration, and the width of what it gives."""
    modes = rng.sample(MODES, rng.choice([1, 1, 1, 2, 3]))
    if rng.random() < 0.5:
        c = {"embedding_dimension": WIDTH, "pooling_mode": modes[0] if len(modes) == 1 and rng.random() < 0.5 else modes}
    else:
        c = {"word_embedding_dimension": WIDTH} | {"pooling_mode_" + v: k in modes for k, v in OLD.items() if k in modes or rng.random() < 0.5}
    if rng.random() < 0.3:
        c["include_prompt"] = rng.choice([True, False, None])
    if rng.random() < 0.1:
        c["a_remark"] = rng.choice([None, 1])
    return c, WIDTH * len(modes)


def draw(rng, path):
    """Writes the modules, and gives them."""
    modules, case, width = [], [], WIDTH
    g = torch.Generator().manual_seed(rng.randrange(1 << 30))

    def add(kind, config, weights=None):
        folder = f"{len(modules) + 1}_{kind}"
        os.makedirs(os.path.join(path, folder))
        if config and rng.random() < 0.1:
            config = config | {rng.choice(sorted(config)): None}
        if config is not None:
            with open(os.path.join(path, folder, "config.json"), "w") as f:
                json.dump(config, f)
        if weights:
            save_file(weights, os.path.join(path, folder, "model.safetensors"))
        modules.append({"idx": len(modules) + 1, "name": str(len(modules) + 1), "path": folder, "type": rng.choice(PREFIXES) + kind})
        case.append([kind, config])

    if rng.random() < 0.1:
        n = rng.choice([1, 2])
        add("WeightedLayerPooling", {"word_embedding_dimension": WIDTH, "layer_start": rng.choice([0, 1]), "num_hidden_layers": n + 1}, {"layer_weights": torch.rand(n + 1, generator=g)})
    config, width = pooling(rng)
    add("Pooling", config)
    for kind in rng.choices(["Dense", "Normalize", "LayerNorm"], k=rng.choice([0, 1, 1, 2, 3])):
        if kind == "Dense":
            out, bias = rng.choice([16, width, 24]), rng.random() < 0.6
            c = {"in_features": width, "out_features": out, "bias": bias, "activation_function": rng.choice(ACTIVATIONS)}
            if rng.random() < 0.2:
                c |= {"use_residual": rng.choice([True, False, None])}
            if rng.random() < 0.1:
                c |= rng.choice([{"module_input_name": "sentence_embedding"}, {"module_output_name": None}, {"module_output_name": "sentence_embedding"}, {"a_remark": 1}, {"init_weight": None}])
            w = {"linear.weight": torch.randn(out, width, generator=g) * 0.2} | ({"linear.bias": torch.randn(out, generator=g) * 0.2} if bias else {})
            if c.get("use_residual") and out != width:
                w["residual.weight"] = torch.randn(out, width, generator=g) * 0.2
            add(kind, c, w)
            width = out
        elif kind == "Normalize":
            add(kind, rng.choice([None, {}, {"module_input_name": "sentence_embedding"}, {"module_output_name": None}]))
        else:
            add(kind, {"dimension": width}, {"norm.weight": 1 + 0.2 * torch.randn(width, generator=g), "norm.bias": 0.2 * torch.randn(width, generator=g)})
    with open(os.path.join(path, "modules.json"), "w") as f:
        json.dump([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}] + modules, f)
    return case


def begin(args, root):
    torch.set_num_threads(1)
    server = drawn.Server("text")

    class Ask:
        """What sentences.compare asks."""

        def ask(self, path, cls):
            return server.ask(json.dumps({"dir": path, "texts": sentences.TEXTS, "kind": cls}))

    def one(rng):
        path, base = os.path.join(root, "folder"), rng.choice(["embed", "embed-roberta"])
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(os.path.join(sentences.TEXT, "testdata", base), path, ignore=lambda d, names: [n for n in names if n[0] in "123456789"])
        case = [base, draw(rng, path)]
        end, said = sentences.compare(path, Ask())
        return end, case, said if end != "equal" else ""

    return one


if __name__ == "__main__":
    drawn.main(__doc__, 1000, begin)
