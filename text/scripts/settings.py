#!/usr/bin/env python3
"""Writes what transformers generates for many a generation_config.json.

    settings.py OUT

OUT has the folders generate, translate, summarize and transcribe of pipelines.py, each of
which gets settings.json: a list of {config, inputs, results}, the results without the
token that ends them. Results that hang on the last bits are left out: they must be the
same in float64. Left out are also cases that change nothing. Needs torch."""

import json, os, sys, wave

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")

import numpy as np
import torch
import transformers as hf

torch.set_num_threads(1)
INPUTS = ["The quick brown", "My neighbour reads the long letter in the morning, and", "Yes.", "Où est 東京?"]


def decoder_cases(run):
    """run gives tokens of a configuration; cases take theirs from what comes without."""
    base = run({"max_new_tokens": 16})
    a, b, c = base[0][2], base[0][3], base[1][5]
    eos = base[0][6]  # a token that ends the text when it is declared to
    yield {"max_new_tokens": 16}, [
        {"repetition_penalty": 1.6}, {"repetition_penalty": 0.7}, {"no_repeat_ngram_size": 1}, {"no_repeat_ngram_size": 2}, {"no_repeat_ngram_size": 3}, {"bad_words_ids": [[a], [c]]}, {"bad_words_ids": [[a, b]]},
        {"suppress_tokens": [a, b, c, 100000]}, {"begin_suppress_tokens": [base[0][0], base[1][0]]}, {"sequence_bias": [[[a], -30.0], [[c, base[1][6]], -9.0]]},
        {"forced_bos_token_id": 7, "repetition_penalty": 1.2}, {"forced_eos_token_id": 9}, {"eos_token_id": eos}, {"eos_token_id": [eos, c]}, {"max_new_tokens": 5}, {"max_new_tokens": None, "max_length": 24}]
    yield {"max_new_tokens": 16, "eos_token_id": [eos, c]}, [
        {"min_new_tokens": 9}, {"min_length": 14}, {"min_length": 40, "min_new_tokens": 8}, {"exponential_decay_length_penalty": [2, 1.6]}, {"bad_words_ids": [[eos], [a]]}, {"remove_invalid_values": True, "suppress_tokens": [a]}]
    for beams in (2, 4):
        some = {"max_new_tokens": 12, "num_beams": beams, "eos_token_id": [eos, c, b]}
        yield some, [{"length_penalty": 0.0}, {"length_penalty": 3.0, "early_stopping": "never"}, {"no_repeat_ngram_size": 2}, {"repetition_penalty": 1.5}, {"repetition_penalty": 1.5, "renormalize_logits": True},
                     {"bad_words_ids": [[a], [b]]}, {"min_new_tokens": 7}, {"forced_eos_token_id": 9, "min_length": 60}, {"suppress_tokens": [a, base[1][1]], "early_stopping": True},
                     {"begin_suppress_tokens": [base[0][0], base[2][0]]}, {"length_penalty": 2.0, "early_stopping": True, "no_repeat_ngram_size": 3, "min_length": 12, "max_new_tokens": None, "max_length": 30}]


def coder_cases(run):
    yield from decoder_cases(run)
    base = run({"max_new_tokens": 16})
    a, b = base[0][2], base[1][3]
    yield {"max_new_tokens": 16}, [{"encoder_repetition_penalty": 4.0}, {"encoder_no_repeat_ngram_size": 1}, {"forced_bos_token_id": 11}, {"forced_bos_token_id": 11, "begin_suppress_tokens": [base[0][0], a, b]}]
    yield {"max_new_tokens": 16, "num_beams": 4}, [
        {"forced_bos_token_id": 11, "length_penalty": 2.0}, {"encoder_no_repeat_ngram_size": 1, "forced_bos_token_id": 5, "forced_eos_token_id": 6},
        {"early_stopping": True, "forced_bos_token_id": 0, "forced_eos_token_id": 2, "length_penalty": 2.0, "max_new_tokens": None, "max_length": 14, "min_length": 6, "no_repeat_ngram_size": 3},
        {"bad_words_ids": [[base[0][0]], [a]], "forced_eos_token_id": 0, "max_new_tokens": None, "max_length": 15, "renormalize_logits": True}]


def speech_cases(run):
    base = run({"max_new_tokens": 16})
    yield {"max_new_tokens": 16}, [{"suppress_tokens": [base[0][1], base[1][2]]}, {"begin_suppress_tokens": [base[0][0], base[1][0]]}, {"no_repeat_ngram_size": 2}, {"repetition_penalty": 1.8}, {"max_new_tokens": None, "max_length": 12}]
    yield {"max_new_tokens": 16, "num_beams": 3}, [{"suppress_tokens": [base[0][1], base[0][2]], "begin_suppress_tokens": [base[0][0], base[1][0]]}]


def texts(path):
    tokenizer = hf.AutoTokenizer.from_pretrained(path)
    return INPUTS, [dict(input_ids=tokenizer(t, return_tensors="pt").input_ids) for t in INPUTS]


def sounds(path):
    tokenizer, extractor = hf.AutoTokenizer.from_pretrained(path), hf.WhisperFeatureExtractor.from_pretrained(path)
    prompt = torch.tensor([tokenizer.convert_tokens_to_ids([f"<|{w}|>" for w in ("startoftranscript", "en", "transcribe", "notimestamps")])])
    names, inputs = ["sound0.wav", "sound1.wav"], []
    for n in names:
        with wave.open(os.path.join(path, n)) as w:
            x = np.frombuffer(w.readframes(w.getnframes()), "<i2").astype(np.float32) / 32768
        inputs.append(dict(input_features=torch.tensor(extractor(x, sampling_rate=16000, return_tensors="np").input_features), decoder_input_ids=prompt))
    return names, inputs


FOLDERS = {"generate": (hf.AutoModelForCausalLM, texts, decoder_cases), "translate": (hf.AutoModelForSeq2SeqLM, texts, coder_cases),
           "summarize": (hf.AutoModelForSeq2SeqLM, texts, coder_cases), "transcribe": (hf.WhisperForConditionalGeneration, sounds, speech_cases)}


def runner(path, kind, dtype, inputs):
    model = kind.from_pretrained(path, dtype=dtype, attn_implementation="eager").eval()
    original = model.generation_config

    def run(config):
        model.generation_config = hf.GenerationConfig(**(original.to_diff_dict() | config | {"transformers_version": None}))
        model.generation_config.decoder_start_token_id = original.decoder_start_token_id
        out = []
        for x in inputs:
            x = {k: v.to(dtype) if v.is_floating_point() else v for k, v in x.items()}
            skip = x["decoder_input_ids"].shape[1] if "decoder_input_ids" in x else 1 if model.config.is_encoder_decoder else x["input_ids"].shape[1]
            with torch.no_grad():  # Whisper's own generate leaves the prompt out, and does not count it for max_length
                ids = model.generate(**x)[0].tolist() if kind is hf.WhisperForConditionalGeneration else hf.GenerationMixin.generate(model, **x)[0, skip:].tolist()
            end = model.generation_config.eos_token_id
            out.append(ids[:-1] if ids and ids[-1] in (end if isinstance(end, list) else [end]) else ids)
        return out

    return run


def make(path, kind, read, cases):
    names, inputs = read(path)
    run, exact = (runner(path, kind, d, inputs) for d in (torch.float32, torch.float64))
    tokenizer = hf.AutoTokenizer.from_pretrained(path)
    decode = lambda ids: tokenizer.decode(ids, skip_special_tokens=True)
    out, left = [], 0
    for base, changes in cases(run):
        plain = run(base)
        for change in [{}] + changes:
            config = {k: v for k, v in (base | change).items() if v is not None}
            results, same = run(config), exact(config)
            if change and results == plain:
                print(path, config, "changes nothing and is left out")
                continue
            keep = [i for i in range(len(names)) if results[i] == same[i]]
            left += len(names) - len(keep)
            out.append({"config": config, "inputs": [names[i] for i in keep], "results": [decode(results[i]) for i in keep]})
    with open(os.path.join(path, "settings.json"), "w", encoding="utf-8") as f:
        json.dump(out, f, ensure_ascii=False, indent=1)
        f.write("\n")
    print(path, len(out), "cases,", left, "results left out", flush=True)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    hf.logging.set_verbosity_error()
    for name, how in FOLDERS.items():
        make(os.path.join(sys.argv[1], name), *how)


if __name__ == "__main__":
    main()
