#!/usr/bin/env python3
"""Trains tiny SentencePiece models and writes a folder for each and every class of tokenizer.

    pieces.py [-small] OUT

A folder OUT/CLASS-MODEL-CONFIG has a SentencePiece model under the name that the class looks
for, a tokenizer_config.json that names the class, or a config.json whose model_type stands for
it, and no tokenizer.json: what it means is what transformers' class makes of it. compare.py
takes the folders. -small writes a few, with tokenizer_cases.json, for the tests in Go."""

import argparse, io, json, os, shutil, tempfile

import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as proto

import corpus

TEXTS = ["Hello, World! It's 12345 o'clock.", "  two  spaces\t\n\n and \r\n lines  ", "caf\u00e9 cafe\u0301 \ufb01 \u00bd \uff21\uff42 \u0130",
         "\u6771\u4eac\u306f\u65e5\u672c \ud55c\uad6d", "<s>the a b</s> [CLS] <mask> the<unk> <sep>x", "\U0001f469\u200d\U0001f467 ``a'' \u2581_z\ufffd\u00a0y", "1,2 3,4, <extra_id_7>en_XX", ""]

COMMON = {"vocab_size": 340, "character_coverage": 0.98, "hard_vocab_limit": False, "minloglevel": 2, "num_threads": 1}
MODELS = {
    "unigram": {"model_type": "unigram"},
    "unigram-bytes": {"model_type": "unigram", "byte_fallback": True, "vocab_size": 500},
    "unigram-identity": {"model_type": "unigram", "normalization_rule_name": "identity", "user_defined_symbols": ["<x>", "ing", "▁the"]},
    "unigram-keep": {"model_type": "unigram", "add_dummy_prefix": False, "remove_extra_whitespaces": False, "normalization_rule_name": "nmt_nfkc_cf"},
    "unigram-pad": {"model_type": "unigram", "pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1, "control_symbols": ["[CLS]", "[SEP]"]},
    "unigram-albert": {"model_type": "unigram", "pad_id": 0, "unk_id": 1, "bos_id": 2, "bos_piece": "[CLS]", "eos_id": 3, "eos_piece": "[SEP]", "control_symbols": ["[MASK]"],
                       "normalization_rule_name": "nfkc"},
    "unigram-deberta": {"model_type": "unigram", "pad_id": 0, "pad_piece": "[PAD]", "bos_id": 1, "bos_piece": "[CLS]", "eos_id": 2, "eos_piece": "[SEP]", "unk_id": 3, "unk_piece": "[UNK]"},
    "bpe": {"model_type": "bpe"},
    "bpe-bytes": {"model_type": "bpe", "byte_fallback": True, "vocab_size": 600, "normalization_rule_name": "identity", "remove_extra_whitespaces": False},
    "bpe-gemma": {"model_type": "bpe", "byte_fallback": True, "vocab_size": 600, "normalization_rule_name": "identity", "add_dummy_prefix": False, "remove_extra_whitespaces": False,
                  "pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3, "bos_piece": "<bos>", "eos_piece": "<eos>", "user_defined_symbols": ["<mask>", "\n\n", "▁▁"]},
}

# The classes: the name that a folder's SentencePiece model has, and settings to try beside none.
CODES = {"src_lang": "fr_XX"}
CLASSES = {
    "LlamaTokenizer": ("tokenizer.model", [{"legacy": True}, {"add_bos_token": False, "add_eos_token": True}, {"add_prefix_space": False}, {"add_bos_token": True, "unk_token": "<unk>", "pad_token": "<x>"}]),
    "GemmaTokenizer": ("tokenizer.model", [{"add_bos_token": True}, {"bos_token": "<s>", "eos_token": "</s>"}]),
    "CodeLlamaTokenizer": ("tokenizer.model", [{"add_eos_token": True}, {"add_prefix_space": False, "fill_token": None}]),
    "T5Tokenizer": ("spiece.model", [{"extra_ids": 5}, {"additional_special_tokens": ["<new>", "ing"]}]),
    "CamembertTokenizer": ("sentencepiece.bpe.model", [{"add_prefix_space": False}, {"mask_token": "<m>"}]),
    "XLNetTokenizer": ("spiece.model", [{"do_lower_case": True}, {"keep_accents": True, "sep_token": "</s>"}]),
    "MBartTokenizer": ("sentencepiece.bpe.model", [CODES, {"additional_special_tokens": ["fr_XX", "<new>"]}]),
    "MBart50Tokenizer": ("sentencepiece.bpe.model", [CODES]),
    "NllbTokenizer": ("sentencepiece.bpe.model", [{"extra_special_tokens": ["eng_Latn", "fra_Latn"], "src_lang": "fra_Latn"}, {"legacy_behaviour": True}]),
    "PegasusTokenizer": ("spiece.model", [{"offset": 5, "mask_token_sent": "<sep>"}, {"mask_token_sent": None, "offset": 0}]),
    "DebertaV2Tokenizer": ("spm.model", [{"do_lower_case": True, "split_by_punct": True}, {"unk_token": "<unk>"}]),
    "BigBirdTokenizer": ("spiece.model", [{"add_prefix_space": False}]),
    "XLMRobertaTokenizer": ("sentencepiece.bpe.model", [{"add_prefix_space": False}, {"mask_token": "<m>", "additional_special_tokens": ["<new>"]}]),
    "AlbertTokenizer": ("spiece.model", [{"do_lower_case": False, "keep_accents": True}]),
    "RemBertTokenizer": ("sentencepiece.model", [{"do_lower_case": True, "keep_accents": False}]),
    "BarthezTokenizer": ("sentencepiece.bpe.model", []),
    "XGLMTokenizer": ("sentencepiece.bpe.model", []),
    "ReformerTokenizer": ("spiece.model", []),
    "SeamlessM4TTokenizer": ("sentencepiece.bpe.model", []),
    "FNetTokenizer": ("spiece.model", []),
    "BertGenerationTokenizer": ("spiece.model", []),
    "CpmTokenizer": ("spiece.model", []),
    "TokenizersBackend": ("tokenizer.model", [{"add_bos_token": True, "eos_token": None}]),
    "PreTrainedTokenizerFast": ("tokenizer.model", []),
    "FunnyTokenizer": ("tokenizer.model", []),
}
# Files and settings that all classes read alike, by name.
FILES = {
    "decoder": {"tokenizer_config": {"added_tokens_decoder": {"2": {"content": "<unk>", "lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": True},
                                                              "400": {"content": "<far>", "lstrip": True, "rstrip": False, "normalized": False, "single_word": False, "special": True}}}},
    "next": {"tokenizer_config": {"added_tokens_decoder": {"340": {"content": "next", "lstrip": False, "rstrip": True, "normalized": True, "single_word": False, "special": False}},
                                  "mask_token": "next"}, "special_tokens_map": {"eos_token": "<s>"}},
    "map": {"special_tokens_map": {"eos_token": {"content": "ing", "lstrip": True, "rstrip": True, "normalized": False, "single_word": False}, "mask_token": "<m>", "additional_special_tokens": ["<a>"]},
            "tokenizer_config": {"eos_token": "</s>"}},
    "added": {"added_tokens": {"<mask>": 340, "new": 341}, "tokenizer_config": {}},
    "named": {"tokenizer_config": {"image_token": "<image>", "extra_special_tokens": {"sound": "<sound>"}}},
    "empty": {"tokenizer_config": {"additional_special_tokens": []}},
    "null": {"tokenizer_config": {"pad_token": None, "bos_token": None, "add_bos_token": True}},
}
TYPES = {"llama": "tokenizer.model", "gemma": "tokenizer.model", "gemma2": "tokenizer.model", "code_llama": "tokenizer.model", "t5": "spiece.model", "mt5": "spiece.model",
         "camembert": "sentencepiece.bpe.model", "xlnet": "spiece.model", "mbart": "sentencepiece.bpe.model", "nllb": "sentencepiece.bpe.model", "pegasus": "spiece.model",
         "deberta-v2": "spm.model", "big_bird": "spiece.model", "xlm-roberta": "sentencepiece.bpe.model", "albert": "spiece.model", "umt5": "spiece.model", "mistral": "tokenizer.model", "funny": "tokenizer.model"}
# A class beside a model_type, of which one is taken.
BOTH = [("mistral", "LlamaTokenizer"), ("llama", "LlamaTokenizer"), ("phi3", "LlamaTokenizerFast"), ("t5", "LlamaTokenizer"), ("gemma3", "GemmaTokenizerFast"), ("qwen2", "LlamaTokenizer")]


# Those of -small: the model and the files next to it. Their normalization is a map of a few characters.
SMALL = {
    "unigram": ({"model_type": "unigram", "user_defined_symbols": ["<x>"]}, ["T5Tokenizer", "CamembertTokenizer", "XLNetTokenizer", "MBartTokenizer", "MBart50Tokenizer",
                "DebertaV2Tokenizer", "BigBirdTokenizer", "XLMRobertaTokenizer", "RemBertTokenizer", "BarthezTokenizer"]),
    "roles": ({"model_type": "unigram", "pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1, "control_symbols": ["[CLS]", "[SEP]"]}, ["AlbertTokenizer", "PegasusTokenizer", "PreTrainedTokenizerFast"]),
    "bpe": ({"model_type": "bpe", "byte_fallback": True, "vocab_size": 340, "user_defined_symbols": ["<x>"]}, ["LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer"]),
    "characters": ({"model_type": "bpe"}, ["NllbTokenizer", "ReformerTokenizer", "TokenizersBackend"]),
}


def small(out):
    """A folder for each class, with what transformers gives."""
    import forms
    import compare

    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as rules:
        rules.write("".join(f"{ord(a):X}\t{' '.join('%X' % ord(c) for c in b)}\n" for a, b in (("ﬁ", "fi"), ("½", "1/2"), ("\u00a0", " "), ("\t", " "), ("\n", " "), ("Ａ", "A"))))
        rules.flush()
        for kind, (options, classes) in SMALL.items():
            model = train({"vocab_size": 90, "normalization_rule_tsv": rules.name, "self_test_sample_size": 0} | options)
            for cls in classes:
                name, settings = CLASSES[cls]
                folder = os.path.join(out, f"{cls}-{kind}")
                write(folder, name, model, tokenizer_config={"tokenizer_class": cls} | (settings or [{}])[0])
                t, _ = compare.load(folder)
                keep = {"text", "pair", "ids", "type_ids", "offsets", "decoded"}
                cases = [forms.single(t, x) for x in TEXTS], [forms.pair(t, x, y) for x, y in zip(TEXTS[:2], TEXTS[3:])]
                forms.write(os.path.join(folder, "tokenizer_cases.json"), dict(zip(("cases", "pairs"), [[{k: v for k, v in c.items() if k in keep} for c in x] for x in cases])))


def train(options):
    """A model's file as bytes."""
    lines = [line.strip() for language in ("english", "german", "code") for line in corpus.lines(language, 400, 2000)] + [" ".join(corpus.WORDS)] * 20
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=out, **(COMMON | options))
    model = proto.ModelProto.FromString(out.getvalue())
    model.normalizer_spec.normalization_rule_tsv = ""
    return model.SerializeToString()


def write(folder, name, model, **files):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(model)
    for file, value in files.items():
        with open(os.path.join(folder, file + ".json"), "w", encoding="utf-8") as f:
            json.dump(value, f, ensure_ascii=False)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-small", action="store_true")
    p.add_argument("out")
    a = p.parse_args()
    if a.small:
        return small(a.out)
    models = {name: train(options) for name, options in MODELS.items()}
    for kind, model in models.items():
        for cls, (name, settings) in CLASSES.items():
            for i, s in enumerate([{}] + settings):
                write(os.path.join(a.out, f"{cls}-{kind}-{i}"), name, model, tokenizer_config={"tokenizer_class": cls} | s)
            if kind in ("unigram-pad", "bpe-bytes"):
                for what, files in FILES.items():
                    files = files | {"tokenizer_config": {"tokenizer_class": cls} | files["tokenizer_config"]}
                    write(os.path.join(a.out, f"{cls}-{kind}-{what}"), name, model, **files)
        for model_type, name in TYPES.items():
            write(os.path.join(a.out, f"type-{model_type}-{kind}"), name, model, config={"model_type": model_type})
        for model_type, cls in BOTH:
            write(os.path.join(a.out, f"both-{model_type}-{cls}-{kind}"), "tokenizer.model", model, config={"model_type": model_type}, tokenizer_config={"tokenizer_class": cls})


if __name__ == "__main__":
    main()
