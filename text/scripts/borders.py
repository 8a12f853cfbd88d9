#!/usr/bin/env python3
"""Writes what transformers makes of each field of sampling at the ends of its range and beyond them.

    borders.py > text/testdata/borders.json

The file has logits, a prompt of token ids, and cases: the fields of a generation_config.json, and either the tokens that may follow the
prompt with their probabilities, or the fact that transformers refuses the file or the field. The logits are written as they are computed,
since generate runs on a model whose forward returns them. Needs torch."""

import json, os, sys, tempfile, warnings

os.environ.update(HF_HUB_OFFLINE="1")

import torch
import transformers as hf

hf.logging.set_verbosity_error()
warnings.simplefilter("ignore")
LOGITS = [1.5, -0.25, 2.75, 0.0, 2.5, -3.0, 1.0, 0.5]
PROMPT = [3, 2, 4, 2]
EOS = 6
TINY = 5e-324


def fixed():
    config = hf.LlamaConfig(vocab_size=len(LOGITS), hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, eos_token_id=EOS, bos_token_id=None, pad_token_id=0)
    model = hf.LlamaForCausalLM(config).eval()
    forward = model.forward

    def always(*args, **kwargs):
        out = forward(*args, **kwargs)
        out.logits = torch.tensor(LOGITS).expand(out.logits.shape).clone()
        return out

    model.forward = always
    return model


def run(model, fields):
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/generation_config.json", "w") as f:
            json.dump(fields, f)
        model.generation_config = hf.GenerationConfig.from_pretrained(folder)
        model.generation_config.eos_token_id = EOS
    ids = torch.tensor([PROMPT])
    out = model.generate(ids, attention_mask=torch.ones_like(ids), return_dict_in_generate=True, output_scores=True)
    scores = out.scores[0][0].double()
    if not fields.get("do_sample"):
        return [[int(scores.argmax()), 1.0]]
    p = scores.softmax(-1)
    return [[i, round(x, 6)] for i, x in enumerate(p.tolist()) if x > 0]


def cases():
    ends = {
        "temperature": [0, 0.0, 1e-6, 0.5, 1, 1000.0, -1.0],
        "top_p": [0, 0.0, TINY, 1e-9, 0.5, 1 - 2**-53, 1, 1.0, 1.5, -0.1],
        "top_k": [0, 1, 2, 7, 8, 9, 2**31 - 1, -1],
        "min_p": [0, 0.0, TINY, 0.5, 1, 1.0, 1.5, -0.1],
        "typical_p": [0, 0.0, TINY, 0.5, 1 - 2**-53, 1, 1.0, 1.5, -0.1],
        "epsilon_cutoff": [0, 0.0, 1, -1, 2],
        "eta_cutoff": [0, 0.0, 1, -1, 2],
        "repetition_penalty": [0, 0.0, 0.001, 0.5, 1, 1.0, 2.5, -1],
        "encoder_repetition_penalty": [1, 1.0],
        "no_repeat_ngram_size": [0, 1, 2, 3, 4, 5, 100, -1],
        "encoder_no_repeat_ngram_size": [0],
        "min_new_tokens": [0, 1],
        "min_length": [0, 4, 5, 6],
        "max_new_tokens": [0, 1, -1],
        "exponential_decay_length_penalty": [[0, 1.0], [1, 2.0]],
        "bad_words_ids": [[[2]], [[4, 2]], [[2, 2]], [[3, 2, 4, 2, 0]]],
        "sequence_bias": [[[[2], 0.0]], [[[2], -3.5]], [[[2, 0], 4.0]], [[[2], 1000.0]]],
        "suppress_tokens": [[], [2], [0, 1, 2, 3, 4, 5, 7]],
        "begin_suppress_tokens": [[], [2]],
        "forced_eos_token_id": [None, EOS],
        "num_beams": [1],
        "remove_invalid_values": [True, False],
        "renormalize_logits": [True],
    }
    for name, values in ends.items():
        for value in values:
            yield {"do_sample": True, "max_new_tokens": 1, "top_k": 0, name: value}
            if name in ("temperature", "top_p", "repetition_penalty", "max_new_tokens", "forced_eos_token_id"):
                yield {"max_new_tokens": 1, name: value}
    for p in (0, 1):
        yield {"do_sample": True, "max_new_tokens": 1, "top_p": p, "min_p": p, "top_k": 0}
        yield {"do_sample": True, "max_new_tokens": 1, "top_p": 1 - p, "min_p": p, "top_k": 3}
    for name in ("temperature", "top_k", "top_p", "min_p", "typical_p", "repetition_penalty", "no_repeat_ngram_size", "max_new_tokens"):
        yield {"do_sample": True, "max_new_tokens": 1, name: None} if name != "max_new_tokens" else {"do_sample": True, "max_length": 5, name: None}


def main():
    model = fixed()
    print(json.dumps({"transformers": hf.__version__, "logits": LOGITS, "prompt": PROMPT, "eos": EOS})[:-1] + ', "cases": [')
    lines = []
    for fields in cases():
        try:
            lines.append(json.dumps([fields, run(model, fields)]))
        except Exception as e:  # whatever its kind: transformers makes no token
            lines.append(json.dumps([fields, None]))
            print(json.dumps(fields), type(e).__name__, str(e)[:150].replace("\n", " "), file=sys.stderr)
    print(",\n".join(lines))
    print("]}")


if __name__ == "__main__":
    main()
