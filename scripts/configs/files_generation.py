#!/usr/bin/env python3
"""Compares what is generated with drawn fields of generation_config.json, here and in transformers.

    files_generation.py [-n COUNT] [-seed SEED] [-show N] [-log FILE]

Each of COUNT cases draws one to four fields for the folders generate, summarize and translate of text/testdata,
without sampling. A text that float64 generates otherwise does not count. A case ends as in files_tokenizers.py."""

import json
import os
import shutil
import sys

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.append(os.path.join(HERE, "..", "..", "text", "scripts"))

import torch
import transformers as hf

import drawn
from settings import FOLDERS

TEXT = os.path.join(HERE, "..", "..", "text", "testdata")
SAME = ["use_cache", "output_scores", "return_dict_in_generate", "transformers_version", "output_logits", "cache_implementation", "prompt_lookup_num_tokens", "a_remark"]


def draw(rng, vocab, plain):
    """Fields; plain are tokens that come without them."""
    token = lambda: rng.choice(plain) if rng.random() < 0.8 else rng.randrange(vocab)
    tokens = lambda most: [token() for _ in range(rng.randint(1, most))]
    number = lambda *more: rng.choice([None, 0, 1, 2, 3, 5, *more])
    options = {
        "max_length": lambda: number(20, 30), "min_length": lambda: number(12, 20), "min_new_tokens": lambda: number(8), "max_new_tokens": lambda: rng.choice([1, 4, 14, None]),
        "repetition_penalty": lambda: rng.choice([None, 0.7, 1, 1.0, 1.6, 4.0]), "encoder_repetition_penalty": lambda: rng.choice([None, 0.5, 1.0, 1.7, 4.0]),
        "no_repeat_ngram_size": lambda: number(), "encoder_no_repeat_ngram_size": lambda: number(), "bad_words_ids": lambda: rng.choice([None, [tokens(2) for _ in range(rng.randint(1, 3))]]),
        "sequence_bias": lambda: rng.choice([None, [[tokens(2), rng.choice([-9.0, 4.0, 1])]]]), "forced_bos_token_id": lambda: rng.choice([None, token(), 0]),
        "forced_eos_token_id": lambda: rng.choice([None, token(), tokens(2)]), "exponential_decay_length_penalty": lambda: rng.choice([None, [2, 1.6], [0, 1.01]]),
        "suppress_tokens": lambda: rng.choice([None, [], tokens(3)]), "begin_suppress_tokens": lambda: rng.choice([None, [], tokens(3)]), "remove_invalid_values": lambda: rng.choice([None, True, False]),
        "renormalize_logits": lambda: rng.choice([None, True, False]), "num_beams": lambda: rng.choice([None, 1, 2, 3]), "length_penalty": lambda: rng.choice([None, 0.0, 0, 1, 2.5, -1.0]),
        "early_stopping": lambda: rng.choice([None, True, False, "never"]), "do_sample": lambda: rng.choice([None, False]), "temperature": lambda: rng.choice([None, 0.5, 0.0]), "top_k": lambda: number(), "top_p": lambda: rng.choice([None, 0.5]),
        "num_beam_groups": lambda: rng.choice([None, 1]), "diversity_penalty": lambda: rng.choice([None, 0.0]), "penalty_alpha": lambda: rng.choice([None, 0.0]), "guidance_scale": lambda: rng.choice([None, 1.0, 1, 2.0]), "top_h": lambda: rng.choice([None, 0.5]),
        "num_return_sequences": lambda: rng.choice([None, 1]), "token_healing": lambda: rng.choice([None, False]), "eos_token_id": lambda: rng.choice([token(), tokens(3)]), "stop_strings": lambda: rng.choice([None, [], ["e"], "in"]),
        "use_cache": lambda: rng.choice([None, True]), "output_scores": lambda: True, "a_remark": lambda: rng.choice([1, None, "text"]), "transformers_version": lambda: "4.1", "dola_layers": lambda: None, "watermarking_config": lambda: None, "force_words_ids": lambda: None,
    }
    c = {"max_new_tokens": 12}
    if rng.random() < 0.5:
        c["eos_token_id"] = tokens(3)
    for name in rng.sample(sorted(options), rng.randint(1, 4)):
        c[name] = options[name]()
    if c["max_new_tokens"] is None and c.get("max_length") is None:  # without a limit generate ends after 20 tokens, and we do not
        c["max_new_tokens"] = 20
    return c


class Side:
    """transformers with a folder."""

    def __init__(self, name):
        kind, read, _ = FOLDERS[name]
        self.name, self.path = name, os.path.join(TEXT, name)
        self.tokenizer = hf.AutoTokenizer.from_pretrained(self.path)
        self.names, self.inputs = read(self.path)
        self.models = [kind.from_pretrained(self.path, dtype=d, attn_implementation="eager").eval() for d in (torch.float32, torch.float64)]
        with open(os.path.join(self.path, "generation_config.json")) as f:
            self.config = json.load(f)
        self.plain = self.ids(self.models[0], self.inputs[0], hf.GenerationConfig(**self.config | {"max_new_tokens": 12})) + self.ids(self.models[0], self.inputs[1], hf.GenerationConfig(**self.config | {"max_new_tokens": 12}))

    def ids(self, model, x, config):
        model.generation_config = config
        skip = 1 if model.config.is_encoder_decoder else x["input_ids"].shape[1]
        with torch.no_grad():
            ids = hf.GenerationMixin.generate(model, **x, tokenizer=self.tokenizer)[0, skip:].tolist()
        end = config.eos_token_id if isinstance(config.eos_token_id, list) else [config.eos_token_id]
        return ids[:-1] if ids and ids[-1] in end else ids

    def text(self, model, x, path):
        return self.tokenizer.decode(self.ids(model, x, hf.GenerationConfig.from_pretrained(path)), skip_special_tokens=True)


def begin(args, root):
    torch.set_num_threads(1)
    server, sides = drawn.Server("text"), [Side(name) for name in ("generate", "summarize", "translate")]

    def one(rng):
        side = rng.choice(sides)
        at = rng.randrange(len(side.inputs))
        fields = draw(rng, side.models[0].config.vocab_size, side.plain)
        path = os.path.join(root, "folder")
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(side.path, path)
        with open(os.path.join(path, "generation_config.json"), "w") as f:
            json.dump(side.config | fields, f)
        case = [side.name, side.names[at], fields]
        want = refused = None
        try:
            want = side.text(side.models[0], side.inputs[at], path)
            if want != side.text(side.models[1], side.inputs[at], path):
                want = None
        except Exception as e:
            refused = f"{type(e).__name__}: {str(e)[:160]}"
        ours = server.ask(json.dumps({"kind": side.name, "dir": path, "texts": [side.names[at]]}))
        if ours.get("crashed"):
            return "differ", case, "crashed: " + ours["crashed"]
        if ours["refused"]:
            return ("both refuse" if refused else "ours refuses"), case, ours["refused"]
        if refused:
            return "theirs refuses", case, refused
        stop = fields.get("stop_strings")
        if want is not None and stop:  # which generate keeps, and we do not
            want = min((want[: want.index(s)] for s in ([stop] if isinstance(stop, str) else stop) if s in want), key=len, default=want)
        return ("equal", case, "") if want is None or ours["generated"] == [want] else ("differ", case, f"{ours['generated']}, want {want!r}")

    return one


if __name__ == "__main__":
    drawn.main(__doc__, 1000, begin)
