#!/usr/bin/env python3
"""Makes a GGUF file for each family of pre-tokenizers in pres.json, of the vocabulary of gpt2.

    pres.py TESTDATA OUT

TESTDATA is text/tokenizer/testdata. For each family OUT gets a folder with model.gguf, whose tokenizer.ggml.pre is the family's first
name, and reference.json, a tokenizer.json of the same vocabulary with the parts that the family's models have there.
compare.py compares them."""

import json, os, sys

import gguf

CONTROL, NORMAL = 3, 1


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    testdata, out = sys.argv[1:]
    source = json.load(open(os.path.join(testdata, "gpt2", "tokenizer.json"), encoding="utf-8"))
    vocab = dict(source["model"]["vocab"]) | {a["content"]: a["id"] for a in source["added_tokens"]}
    names = sorted(vocab, key=vocab.get)
    merges = [m if isinstance(m, str) else " ".join(m) for m in source["model"]["merges"]]
    for family in json.load(open(os.path.join(testdata, "pres.json"), encoding="utf-8")):
        folder = os.path.join(out, "pre-" + family["names"][0])
        os.makedirs(folder, exist_ok=True)
        reference = source | {"normalizer": family["normalizer"], "pre_tokenizer": family["pre_tokenizer"], "model": source["model"] | {"ignore_merges": family["ignore_merges"]}}
        reference["post_processor"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
        with open(os.path.join(folder, "reference.json"), "w", encoding="utf-8") as f:
            json.dump(reference, f, ensure_ascii=False)
        w = gguf.GGUFWriter(os.path.join(folder, "model.gguf"), "llama")
        w.add_tokenizer_model("gpt2")
        w.add_tokenizer_pre(family["names"][0])
        w.add_token_list(names)
        w.add_token_types([CONTROL if n == "<|endoftext|>" else NORMAL for n in names])
        w.add_token_merges(merges)
        w.add_eos_token_id(vocab["<|endoftext|>"])
        w.add_add_bos_token(False)
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.close()


if __name__ == "__main__":
    main()
