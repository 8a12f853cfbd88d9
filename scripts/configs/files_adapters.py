#!/usr/bin/env python3
"""Compares what a model computes with an adapter, here and in peft.

    files_adapters.py [-n COUNT] [-seed SEED] [-show N] [-log FILE]

Each of COUNT cases draws a folder of models/testdata, whether its projection to the vocabulary is tied to the
embedding, and the fields of LoraConfig. peft makes and saves such an adapter with drawn numbers, and loads it
again; in three of ten cases a field is null then, or one that peft does not know. A case ends as in files_tokenizers.py."""

import copy
import json
import os
import shutil
import sys

os.environ.update(HF_HUB_OFFLINE="1")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "folders"))

import peft
import torch
import transformers as hf
from safetensors.torch import save_file

import drawn
from compare import COMMITTED, recipes

BASES = ["qwen2", "qwen3", "llama-tied-rope3", "gemma2", "starcoder2", "gpt2", "t5", "bart", "bert-masked", "roberta-masked", "distilbert-masked", "modernbert-masked", "albert-masked", "electra-masked"]


class Base:
    """A folder with its model, in which the projection is tied to the embedding or not."""

    def __init__(self, recipe, name, tied, root):
        self.recipe, self.name, self.path = recipe, name, os.path.join(root, f"{name}-{tied}")
        torch.manual_seed(5)
        m = recipe.cls.from_pretrained(os.path.join(COMMITTED, name), tie_word_embeddings=tied, dtype=torch.float32)
        m.save_pretrained(self.path)
        self.model = recipe.cls.from_pretrained(self.path, dtype=torch.float32, attn_implementation="eager").eval()
        m = self.open()
        modules = dict(m.named_modules())
        kinds = (torch.nn.Linear, torch.nn.Embedding, hf.pytorch_utils.Conv1D)
        self.linear = [k for k, v in modules.items() if isinstance(v, (kinds[0], kinds[2]))]
        self.tables = [k for k, v in modules.items() if isinstance(v, kinds[1])]
        self.norms = [k for k, v in modules.items() if "norm" in k.lower() and not list(v.children())]
        self.input = next(k for k, v in modules.items() if v is m.get_input_embeddings())
        self.head = next((k for k, v in modules.items() if v is m.get_output_embeddings()), None)
        self.conv = any(isinstance(v, kinds[2]) for v in modules.values())
        self.vocab = m.get_input_embeddings().weight.shape[0]

    def open(self):
        return copy.deepcopy(self.model)  # with its ties


def last(name):
    return name.rsplit(".", 1)[-1]


def draw(rng, b):
    """Fields of LoraConfig."""
    maybe = lambda p: rng.random() < p
    ends = sorted({last(k) for k in b.linear})
    target = rng.sample(ends, rng.randint(1, min(3, len(ends))))
    c = {"r": rng.randint(1, 4), "lora_alpha": rng.choice([1, 3, 8, 2.5]), "fan_in_fan_out": b.conv}
    if maybe(0.1):
        target.append(rng.choice(b.tables))
    if maybe(0.1):
        target += rng.sample(b.linear, min(2, len(b.linear)))
    if maybe(0.15):
        target = rng.choice([r".*(" + "|".join(target) + ")", "all-linear", ".*" + rng.choice(ends)])
    c["target_modules"] = target
    options = {
        "use_rslora": lambda: True, "use_dora": lambda: True, "bias": lambda: rng.choice(["all", "lora_only"]), "lora_bias": lambda: True, "ensure_weight_tying": lambda: True,
        "modules_to_save": lambda: rng.sample(sorted({last(b.input), last(b.head or b.input), last(rng.choice(b.norms + b.linear)), last(rng.choice(b.tables))}), 1 + maybe(0.3)),
        "init_lora_weights": lambda: rng.choice([False, "gaussian", "orthogonal"]), "layers_to_transform": lambda: rng.choice([0, [0], [1], [0, 1], [7]]),
        "rank_pattern": lambda: {rng.choice(ends): rng.randint(1, 5)}, "alpha_pattern": lambda: {rng.choice(ends): rng.choice([2, 7])},
        "exclude_modules": lambda: rng.choice([[rng.choice(ends)], [rng.choice(b.linear)], ".*" + rng.choice(ends)]),
        "trainable_token_indices": lambda: rng.choice([(i := rng.sample(range(b.vocab), 3)), {last(b.input): i}, {last(b.head or b.input): i}, {last(b.input): i, last(b.head or b.input): rng.sample(range(b.vocab), 2)}]),
        "task_type": lambda: rng.choice(["CAUSAL_LM", "SEQ_2_SEQ_LM", "FEATURE_EXTRACTION"]), "lora_dropout": lambda: 0.1, "inference_mode": lambda: True, "layers_pattern": lambda: rng.choice(["layers", "h", "layer", ["layers", "block"]]),
    }
    for name in rng.sample(sorted(options), rng.choice([0, 1, 1, 2, 2, 3])):
        c[name] = options[name]()
    return c


def fill(m, rng):
    """Numbers that change what the model computes as much as its own do."""
    g = torch.Generator().manual_seed(rng.randrange(1 << 30))
    with torch.no_grad():
        for name, p in m.named_parameters():
            x = torch.randn(p.shape, generator=g)
            if "magnitude" in name:
                p.mul_(0.5 + torch.rand(p.shape, generator=g))
            elif "lora_" in name and p.dim() > 1:
                p.copy_(x * (0.5 if "embedding" in name else 0.8 * p.shape[1] ** -0.5))
            elif any(k in name for k in ("modules_to_save", "trainable_tokens", "lora_")) or p.requires_grad:
                p.copy_(x * 0.3 if p.dim() > 1 or "norm" not in name.lower() else 1 + 0.2 * x)


def begin(args, root):
    torch.set_num_threads(1)
    known, server, bases = recipes(os.path.join(root, "recipes"), BASES), drawn.Server("models"), {}
    path = os.path.join(root, "adapter")

    def one(rng):
        name, tied = rng.choice(BASES), rng.random() < 0.6
        if (name, tied) not in bases:
            bases[name, tied] = Base(known[name], name, tied, root)
        b = bases[name, tied]
        while True:  # until peft makes one
            config = draw(rng, b)
            shutil.rmtree(path, ignore_errors=True)
            try:
                m = peft.get_peft_model(b.open(), peft.LoraConfig(**config)).eval()
                fill(m, rng)
                m.create_or_update_model_card = lambda *_: None
                m.save_pretrained(path)
                break
            except Exception:
                continue
        with open(os.path.join(path, "adapter_config.json")) as f:
            saved = json.load(f)
        if rng.random() < 0.3:  # as no save_pretrained writes it
            field = rng.choice(sorted(saved) + ["a_remark"])
            config["in the file"] = {field: None if field in saved else rng.choice([None, 1, "text"])}
            with open(os.path.join(path, "adapter_config.json"), "w") as f:
                json.dump(saved | config["in the file"], f)
        case = [name, "tied" if tied else "not tied", {k: sorted(v) if isinstance(v, set) else v for k, v in config.items()}]
        refused = None
        try:
            m = peft.PeftModel.from_pretrained(b.open(), path).eval().get_base_model()
            result = b.recipe.run(m, torch.float32)
            exact = b.recipe.run(m.double(), torch.float64)
            if not all(v.isfinite().all() for v in result.values()):
                raise ValueError("no numbers")
        except Exception as e:
            refused, result = f"{type(e).__name__}: {str(e)[:160]}", {}
        about = {"noise": {k: "%.3g" % max(float((exact[k] - v.double()).abs().nan_to_num(0).max()), 2e-6 * float(v.abs().max()), 1e-7) for k, v in result.items()}}
        tensors = {k: v.detach().float().clone().contiguous() for k, v in result.items()} | {k: v.clone() for k, v in b.recipe.inputs.items() if k != "decoder_prompt"}
        save_file(tensors, os.path.join(path, "expected.safetensors"), metadata={"about": json.dumps(about)})
        ours = server.ask(b.path + "\t" + path)
        if ours.get("crashed"):
            return "differ", case, "crashed: " + ours["crashed"]
        if ours["refused"]:
            return ("both refuse" if refused else "ours refuses"), case, ours["refused"]
        if refused:
            return "theirs refuses", case, refused
        return ("differ", case, "; ".join(ours["differs"])[:300]) if ours["differs"] else ("equal", case, "")

    return one


if __name__ == "__main__":
    drawn.main(__doc__, 1000, begin)
