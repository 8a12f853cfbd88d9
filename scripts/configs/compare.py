#!/usr/bin/env python3
"""Compares how this library and transformers read config.json, field by field.

    compare.py [-types llama,bert] [-every N] [-null] [-pairs N] [-seed S] [-show N] SERVER

SERVER is the test binary of package models. Each small model of scripts/folders is made again from
its committed config.json with one field changed, for every field of its configuration class and
several values each, and with two fields changed at once, drawn from these; both sides then compute the model's
outputs from that configuration and the same weights. A case ends as

    equal           the outputs agree within TestFolders' tolerance; if not, within the larger one that follows from changes of
                    the weights that float32 does not resolve
    both refuse     neither side computes anything, or transformers computes NaN
    ours refuses    transformers computes something, here is an error
    theirs refuses  the reverse; also where transformers normalizes numbers whose squares float32 does not hold, of which it makes 0
    differ          both compute something, and not the same

Exits with 1 if any differ, or if ours alone refuses more than a tenth of what transformers takes, of the cases of
one field, or a fifth of those of two, each of which may be refused."""

import argparse
import collections
import json
import math
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import warnings

os.environ.update(HF_HUB_OFFLINE="1")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "folders"))

import torch
import transformers as hf

import folder
from class_configs import asked, declared, parts, popped, SHARED
from mutations import both, cases

COMMITTED = os.path.join(HERE, "..", "..", "models", "testdata", "folders")
SECONDS = 10  # for a case


class Recipe:
    """A folder that is not written: what Folder.write was called with."""

    beside = ()  # files of the committed folder without which nothing says that its outputs are made

    def __init__(self, out, name):
        self.name, self.path = name, os.path.join(out, name)
        os.makedirs(self.path, exist_ok=True)

    def json(self, name, value):
        pass

    expected = json

    def write(self, model, cls, run, decode=None, eos=(), seed=0, config=None, rename=None, published=None, dtype=None, shard=None, inputs=None, **how):
        self.cls, self.run, self.seed, self.inputs, self.how = cls, run, seed, inputs, how
        self.padded = [inputs[k].clone() for k in ("input_ids", "attention_mask") if k in inputs]
        if run.__module__ == "retrieval":
            self.beside = [f for f in os.listdir(os.path.join(COMMITTED, self.name)) if f not in ("config.json", "model.safetensors", "expected.safetensors")]
        RECIPES[self.name] = self if not published else None

    def pad(self, config):
        """Pads the texts with the token that the configuration names, as a tokenizer does: some
        classifiers tell the end of a text by it. Where that is not a token the padding is text."""
        if len(self.padded) < 2:  # images, sound
            return
        config, (ids, mask) = config.get_text_config(), (self.inputs[k] for k in ("input_ids", "attention_mask"))
        ids.copy_(self.padded[0]), mask.copy_(self.padded[1])
        if config.pad_token_id in range(config.vocab_size):
            ids[mask == 0] = int(config.pad_token_id)
        elif config.pad_token_id is not None:
            mask.fill_(1)


RECIPES = {}


def recipes(out, names=None):
    """The recipe of each folder, or of names, whose configuration transformers itself reads."""
    for m in (folder, *folder.register("adapters", "defaults", "fp8", "full", "gguf_files", "ints", "pickles", "quantized")):
        m.Folder = Recipe
    for name, build in folder.BUILD.items():
        if (names is None or name in names) and not name.startswith("bert-pool-") and os.path.exists(os.path.join(COMMITTED, name, "config.json")):
            build(out, name)
    return {k: v for k, v in RECIPES.items() if v}


def table(cls):
    """What cases takes of a configuration class."""
    base = SHARED | declared(hf.PreTrainedConfig) | {"torch_dtype": None, "output_attentions": False, "use_return_dict": True, "gradient_checkpointing": False, "pruned_heads": None}
    own = popped(cls) | asked(cls) | declared(cls)
    fields, rare = base | own, set(SHARED) - set(own)
    if "rope_parameters" in fields:
        fields |= {"rope_theta": 10000.0, "rope_scaling": None, "partial_rotary_factor": 1.0, "original_max_position_embeddings": 2048}
    fields = {k: v for k, v in fields.items() if not isinstance(v, hf.PreTrainedConfig)}
    return fields, rare, cls.attribute_map, [(k, table(v)) for k, v in parts(cls).items()]


class TooSlow(BaseException):
    pass


def late(*_):
    raise TooSlow()


def overflows(module, inputs):
    """Raises an error before a norm of numbers whose squares are infinite in float32; this library scales such rows."""
    if "Norm" in type(module).__name__ and any(isinstance(x, torch.Tensor) and x.is_floating_point() and x.numel() and float(x.abs().max()) > 1.8e19 for x in inputs):
        raise ValueError("the squares that are normalized overflow")


def theirs(recipe, path):
    """Writes the weights and what transformers computes for the configuration in path; or says why it does not."""
    with open(os.path.join(path, "config.json")) as f:
        text = f.read()
    config = hf.AutoConfig.from_pretrained(path)
    if not isinstance(config, recipe.cls.config_class):
        raise ValueError(f"a {type(config).__name__}")
    if getattr(config, "quantization_config", None):
        raise ValueError("from_pretrained asks for a package that quantizes")
    model = recipe.cls._from_config(config, attn_implementation="eager", dtype=torch.float32).eval()
    model.set_experts_implementation("eager")  # the others have no float64
    how = dict(recipe.how)
    after = how.pop("after", None)  # makes other weights of those drawn
    folder.redraw(model, recipe.seed, **how)
    if after:
        after(model)
    recipe.pad(config)
    try:
        result = recipe.run(model, torch.float32)
    except TypeError:  # such as a scale of scores that is null, which the implementation that from_pretrained picks takes
        model.set_attn_implementation("sdpa")
        result = recipe.run(model, torch.float32)
    if "modules.json" not in recipe.beside:
        result.pop("sentence_embedding", None)
    if not result or not all(v.isfinite().all() for v in result.values()):
        raise ValueError("no numbers")  # a tuple without names, where return_dict is false, or NaN
    model.save_pretrained(path)
    if os.path.exists(os.path.join(path, "generation_config.json")):
        os.remove(os.path.join(path, "generation_config.json"))
    with open(os.path.join(path, "config.json"), "w") as f:
        f.write(text)
    double = model.double()
    try:  # eager in float64 has NaN where windows lie in padding
        double.set_attn_implementation("sdpa")
    except ValueError:
        pass
    exact = recipe.run(double, torch.float64)
    noise = {k: max(far(exact[k], v), 1e-7 * float(v.abs().max()), 1e-8) for k, v in result.items()}
    expect(recipe, path, result, noise)
    return result, noise, double, exact


def far(a, b):
    """The largest difference of two results."""
    return float((a.double() - b.double()).abs().nan_to_num(0).max())


def expect(recipe, path, result, noise):
    """Writes results, and the noise by which they may be off."""
    about = {"noise": {k: "%.3g" % v for k, v in noise.items()}}
    folder.save_file({k: v.detach().float().clone().contiguous() for k, v in result.items()} | {k: v.clone() for k, v in recipe.inputs.items() if k != "decoder_prompt"}, os.path.join(path, "expected.safetensors"), metadata={"about": json.dumps(about)})


def shake(recipe, path, result, noise, double, exact):
    """Raises the noise to how far results move when weights change by less than float32 resolves. Some configurations amplify such changes:
    those that normalize a number near 0, for example."""
    weights = {k: v.clone() for k, v in double.state_dict().items()}
    noise, g = dict(noise), torch.Generator().manual_seed(1)
    for _ in range(4):
        with torch.no_grad():
            for k, v in double.named_parameters():
                v.copy_(weights[k] * (1 + 2**-25 * torch.randn(v.shape, generator=g, dtype=torch.float64)))
        for k, v in recipe.run(double, torch.float64).items():
            noise[k] = max(noise[k], far(exact[k], v))
    expect(recipe, path, result, noise)


class Server:
    """This library's side."""

    def __init__(self, binary):
        self.command = [os.path.abspath(binary), "-test.run=^TestCompare$", "-test.timeout=0"]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=os.path.join(HERE, "..", "..", "models"), env=os.environ | {"AVOFORMER_COMPARE": "1"})

    def ask(self, path):
        self.process.stdin.write(path + "\n")
        self.process.stdin.flush()
        said = []
        for line in self.process.stdout:
            if line.startswith("@"):
                return json.loads(line[1:])
            said.append(line)
        self.start()
        return {"refused": "", "differs": ["crashed: " + "".join(said)[:2000]], "warnings": None}


def compare(recipe, config, server, path, base):
    """(how the case ends, what is to be said about it)."""
    with open(os.path.join(path, "config.json"), "w") as f:
        json.dump(config, f)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            made = theirs(recipe, path)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        refused = None
    except TooSlow:
        refused = "too slow"
    except Exception as e:
        refused = f"{type(e).__name__}: {str(e).strip().splitlines()[0][:160] if str(e).strip() else ''}"
    if refused:  # with the weights of the configuration that is not changed
        with open(os.path.join(base, "config.json"), "w") as f:
            json.dump(config, f)
        ours = server.ask(base)
        return ("both refuse", refused) if ours["refused"] else ("theirs refuses", refused)
    ours = server.ask(path)
    if ours["refused"]:
        return "ours refuses", ours["refused"]
    if ours["differs"]:
        shake(recipe, path, *made)
        ours = server.ask(path)
    if ours["differs"]:
        return "differ", "; ".join(ours["differs"])[:300]
    return "equal", ours["warnings"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("server")
    p.add_argument("-types", help="model types or folders, with commas between; all without")
    p.add_argument("-every", type=int, default=1, help="take one of N cases of a field, one at least; 0: none")
    p.add_argument("-null", action="store_true", help="take only the cases that make a field null, all of them")
    p.add_argument("-pairs", type=int, default=40, help="cases of two fields for each folder")
    p.add_argument("-seed", type=int, default=1, help="which of them")
    p.add_argument("-show", type=int, default=3, help="examples of what is listed")
    p.add_argument("-log", help="file for all cases")
    args = p.parse_args()
    torch.set_num_threads(1)
    hf.logging.set_verbosity(100)
    hf.utils.logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
    signal.signal(signal.SIGALRM, late)
    torch.nn.modules.module.register_module_forward_pre_hook(overflows)
    root = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    try:
        return run(args, root)
    finally:
        subprocess.run(["rm", "-rf", root])


def run(args, root):
    server, rng = Server(args.server), random.Random(args.seed)
    log = open(args.log, "w") if args.log else None
    ends = {n: collections.Counter() for n in (1, 2)}  # of cases with as many fields changed
    by_field = {n: collections.defaultdict(lambda: collections.defaultdict(list)) for n in ends}
    fields = collections.defaultdict(set)
    wanted, found = set(args.types.split(",") if args.types else ()), set()
    for name, recipe in recipes(os.path.join(root, "none")).items():
        with open(os.path.join(COMMITTED, name, "config.json")) as f:
            config = json.load(f)
        kind = config["model_type"]
        if wanted and not {kind, name} & wanted:
            continue
        found |= {kind, name}
        path, base = os.path.join(root, name), os.path.join(root, name + ".base")
        os.mkdir(path), os.mkdir(base)
        for file in recipe.beside:
            subprocess.run(["cp", "-r", os.path.join(COMMITTED, name, file), path], check=True)
        end, why = compare(recipe, config, server, path, base)
        if end != "equal" or why:
            raise SystemExit(f"{name} as it is: {end}: {why}")
        subprocess.run(["cp", "-r", path + "/.", base])
        todo = collections.defaultdict(list)
        for field, changed in cases(config, *table(recipe.cls.config_class)):
            todo[field].append(changed)
        if args.null:
            todo = {field: nulls for field, list_ in todo.items() if (nulls := [changed for changed in list_ if "=null" in difference(config, changed)])}
        fields[kind].update(todo)
        single = [(field, changed) for field, list_ in todo.items() for changed in rng.sample(list_, len(list_) if args.null else math.ceil(len(list_) / args.every) if args.every else 0)]
        for number, sample in ((1, single), (2, pairs(config, todo, args.pairs, rng))):
            here = collections.Counter()
            for field, changed in sample:
                end, why = compare(recipe, changed, server, path, base)
                here[end] += 1
                what = difference(config, changed)
                by_field[number][end][kind + "." + field].append((name, what, why))
                if log:
                    print(json.dumps([end, name, field, what, why]), file=log, flush=True)
            ends[number] += here
            print(f"{name:24}", ("", "", "pairs ")[number] + str(dict(here)), flush=True)
        subprocess.run(["rm", "-rf", path, base])
    if wanted - found:
        raise SystemExit(f"no folder of {', '.join(sorted(wanted - found))}")
    return report(ends, by_field, fields, args.show)


def pairs(config, todo, n, rng):
    """n pairs of changes of two fields."""
    for _ in range(n if len(todo) > 1 else 0):
        a, b = rng.sample(sorted(todo), 2)
        yield f"{a} and {b}", both(config, rng.choice(todo[a]), rng.choice(todo[b]))


def difference(old, new, path=""):
    """What was changed, in words."""
    out = []
    for k in sorted(set(old) | set(new)):
        a, b = old.get(k, "(absent)"), new.get(k, "(absent)")
        if isinstance(a, dict) and isinstance(b, dict) and k.endswith("_config"):
            out += [difference(a, b, k + ".")]
        elif json.dumps(a) != json.dumps(b):
            out.append(f"{path}{k}={json.dumps(b) if k in new else b}")
    return " ".join(x for x in out if x)


def report(ends, by_field, fields, show):
    bad = False
    for number in ends:
        for end in ("theirs refuses", "ours refuses", "differ"):
            print(f"\n{end}, by field:")
            for field, list_ in sorted(by_field[number][end].items()):
                print(f"  {field}: {len(list_)}")
                for name, what, why in list_[:show]:
                    print(f"      {name}: {what}: {why}")
    print(f"\ntransformers {hf.__version__}: {len(fields)} model types, {sum(map(len, fields.values()))} fields")
    for number, counts in ends.items():
        total, taken = sum(counts.values()), counts["equal"] + counts["ours refuses"] + counts["differ"]
        print(f"{total} cases of {('one field', 'two fields')[number - 1]}")
        for end in ("equal", "both refuse", "ours refuses", "theirs refuses", "differ"):
            print(f"  {end:16}{counts[end]:7}  {100 * counts[end] / max(total, 1):5.1f}%")
        share = counts["ours refuses"] / max(taken, 1)
        print(f"  ours alone refuses {100 * share:.1f}% of the {taken} that transformers takes")
        bad = bad or counts["differ"] > 0 or share > 0.1 * number
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
