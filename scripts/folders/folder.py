"""What all folders have in common: drawing weights, greedy decoding, writing a folder."""

import collections
import importlib
import json
import os
import shutil

import torch
import transformers as hf
from safetensors.torch import load_file, save_file

BUILD = {}  # name of a folder: function(out, name) that writes it


def register(*without):
    """Imports the modules beside this one, which register their folders, and returns them, except those in without and the programs."""
    names = sorted(f[:-3] for f in os.listdir(os.path.dirname(os.path.abspath(__file__))) if f.endswith(".py"))
    return [importlib.import_module(n) for n in names if n not in ("float8", "folder", "generate", *without)]


def folder(*names):
    """Registers a function that writes the folders of these names."""

    def add(f):
        for n in names:
            BUILD[n] = f
        return f

    return add


def redraw(model, seed, norm=1.0, keep=(), scale=()):
    """Fills all weights so that attention is far from uniform and no bias or normalization is
    trivial. norm is the weight that leaves a normalization out; keep and scale are parts of
    names: what not to touch, and by what to multiply."""
    g = torch.Generator().manual_seed(seed)
    embeddings = {id(m.weight) for m in model.modules() if isinstance(m, torch.nn.Embedding)}
    transposed = {id(m.weight) for m in model.modules() if isinstance(m, hf.pytorch_utils.Conv1D)}
    with torch.no_grad():
        for name, p in model.named_parameters():
            if any(k in name for k in keep):
                continue
            x = torch.randn(p.shape, generator=g)
            if p.dim() == 1 and name.endswith("weight"):
                x = norm + 0.2 * x
            elif p.dim() < 2:
                x *= 0.2
            elif id(p) in embeddings:
                x *= 0.7
            elif p.dim() == 3 and "experts" in name:  # [experts, out, in], or the last two the other way round
                x *= 1.2 * min(p.shape[1:]) ** -0.5
            elif id(p) in transposed:
                x *= 1.2 * p.shape[0] ** -0.5
            else:
                x *= 1.2 * max(p[0].numel(), 1) ** -0.5
            for part, factor in scale:
                if part in name:
                    x *= factor
            p.copy_(x)
        for name, b in model.named_buffers():  # what is added to the scores of experts
            if name.endswith(("expert_bias", "e_score_correction_bias")):
                b.copy_((0.3 * torch.randn(b.shape, generator=g)).bfloat16())


def random_batch(lengths, low, high, pad, seed=3):
    """Padded ids within [low, high), and the mask."""
    g = torch.Generator().manual_seed(seed)
    size = max(lengths)
    ids = torch.full((len(lengths), size), pad)
    mask = torch.zeros((len(lengths), size), dtype=torch.long)
    for i, n in enumerate(lengths):
        ids[i, :n] = torch.randint(low, high, (n,), generator=g)
        mask[i, :n] = 1
    return ids, mask


def hide(x, mask):
    """x with 0 in the rows under padding, which may be NaN."""
    return x.masked_fill(mask[..., None] == 0, 0)


def greedy(step, prompt, n):
    """n tokens after prompt, and the smallest gap between the best two logits."""
    ids, margin = list(prompt), float("inf")
    for _ in range(n):
        best = step(ids).topk(2)
        margin = min(margin, float(best.values[0] - best.values[1]))
        ids.append(int(best.indices[0]))
    return ids[len(prompt):], margin


class Folder:
    """A folder that is being written."""

    def __init__(self, out, name):
        self.name, self.path = name, os.path.join(out, name)
        shutil.rmtree(self.path, ignore_errors=True)
        os.makedirs(self.path)

    def json(self, name, value):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            json.dump(value, f, indent=2)

    def expected(self, tensors, about):
        save_file({k: v.clone().contiguous() for k, v in tensors.items()}, os.path.join(self.path, "expected.safetensors"), metadata={"about": json.dumps(about)})

    def draw(self, model, decode, eos, dtype, seed, after=None, **how):
        """Draws weights, of which after(model) may make others, until greedy decoding, if there is any, is unambiguous."""
        why = collections.Counter()
        for attempt in range(100):
            model.eval()
            redraw(model, seed + attempt, **how)
            if after:
                after(model)
            if dtype:  # the parameters only: transformers keeps rotary frequencies in float32
                for p in model.parameters():
                    p.data = p.data.to(dtype).float()
            if not decode:
                return
            tokens, margin = decode(model)
            lists = [v.tolist() for k, v in tokens.items() if k.startswith("greedy")]
            bad = {"margin": margin <= 0.01, "ended": any(e in l for e in eos for l in lists), "dull": any(len(set(l)) < 4 for l in lists)}
            if not any(bad.values()):
                return
            why.update(k for k, v in bad.items() if v)
        raise RuntimeError(f"{self.path}: no weights decode unambiguously: {why}")

    def patch(self, config=None, rename=None):
        """Changes what is saved: config(c) in place, rename(weights) gives the new ones."""
        if config:
            with open(os.path.join(self.path, "config.json")) as f:
                c = json.load(f)
            config(c)
            self.json("config.json", c)
        if rename:
            weights = os.path.join(self.path, "model.safetensors")
            save_file(rename({k: v.clone() for k, v in load_file(weights).items()}), weights, metadata={"format": "pt"})

    def write(self, model, cls, run, decode=None, eos=(), seed=0, config=None, rename=None, published=None, dtype=torch.bfloat16, shard=None, inputs=None, **how):
        """Draws weights, saves the model, and records what the files give: run(model, dtype) the
        outputs, decode(model) tokens and margin. config and rename patch what is saved to how
        the hub has it; published does so where transformers itself cannot read the result."""
        self.draw(model, decode, eos, dtype, seed, **how)
        before = run(model, torch.float32)
        if dtype:
            model.to(dtype)
        model.save_pretrained(self.path, **({"max_shard_size": shard} if shard else {}))
        self.patch(config, rename)
        read = cls.from_pretrained(self.path, dtype=torch.float32, attn_implementation="eager").eval()  # what counts is what is read back
        read.set_experts_implementation("eager")  # the others have no float64
        result = run(read, torch.float32)
        for k in result:
            d = float((result[k] - before[k]).abs().max())
            assert d < 5e-5, f"{self.path}: {k} differs by {d} when read back"
        self.record(read, cls, run, decode, result, inputs)
        if published:
            self.patch(**published)

    def record(self, model, cls, run, decode, result, inputs, more=None):
        """Writes expected.safetensors. model is float64 afterwards."""
        about, tokens = {"class": cls.__name__, "transformers": hf.__version__} | (more or {}), {}
        if decode:
            tokens, margin = decode(model)
            about["margin"] = "%.3g" % margin
        double = model.double()
        try:  # eager in float64 has NaN where windows lie in padding
            double.set_attn_implementation("sdpa")
        except ValueError:
            pass
        x = run(double, torch.float64)
        about["noise"] = {k: "%.2g" % float((x[k] - result[k].double()).abs().max()) for k in result}
        self.expected({k: v.detach().float() for k, v in result.items()} | tokens | (inputs or {}), about)
        print(f"{self.name:24} {sum(p.numel() for p in model.parameters()):8d} parameters, {about}", flush=True)
