#!/usr/bin/env python3
"""Compares how this library and sentence-transformers read the files of an embedder or a cross-encoder, field by field.

    sentences.py [-folders embed,... | -classes SparseEncoder,...] [-every N] [-seed S] [-show N] [-log FILE] SERVER

SERVER is the test binary of package text. Each folder of text/testdata that SentenceTransformer, SparseEncoder,
MultiVectorEncoder or CrossEncoder opens, and some made of them (sentence_bases.py), is copied with one field changed of
modules.json, sentence_bert_config.json, config_sentence_transformers.json, the modules' config.json, or of what the class
reads of tokenizer_config.json and config.json. Both sides then compute vectors of the same texts, as they are, as queries and
as documents, with the scores of late interaction, or scores of pairs with each prompt. A case ends as in compare.py, or as

    said to differ  both compute something, not the same, and a warning here names sentence-transformers' other way

Exits with 1 if any differ, or if ours alone refuses a folder that is not changed."""

import argparse
import collections
import copy
import json
import math
import os
import random
import shutil
import subprocess
import tempfile
import warnings

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = os.path.join(HERE, "..", "..", "text")

import numpy as np
import torch
import transformers as hf
from sentence_transformers import CrossEncoder, MultiVectorEncoder, SentenceTransformer, SparseEncoder, __version__

import sentence_bases
from mutations import ABSENT, values

WORDS = "the committee translates the long letter without any help again and again because it has to "
TEXTS = ["The quick brown Fox jumps over the lazy dog.", "", "Où est la bibliothèque ? [MASK] İstanbul <mask> <|endoftext|> ΑΣ", "Yes.", WORDS, WORDS * 2, WORDS * 6]
QUERY = "What is the Capital of France?"

# Fields that the files of a folder lack, with a value of the right type; those of the further classes are in sentence_bases.py.
MORE = {
    "modules.json": {}, "2_Normalize/config.json": {"module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding", "p": 2},
    "sentence_bert_config.json": {
        "max_seq_length": 64, "do_lower_case": False, "transformer_task": "feature-extraction", "modality_config": None, "module_output_name": "token_embeddings", "unpad_inputs": None,
        "query_length": None, "document_length": None, "query_expansion": None, "tokenizer_name_or_path": None, "backend": "torch", "cache_dir": None, "a_remark": "text",
        **{k: {} for k in ("processing_kwargs", "model_args", "model_kwargs", "tokenizer_args", "processor_kwargs", "config_args", "config_kwargs")},
    },
    "config_sentence_transformers.json": {
        "model_type": "SentenceTransformer", "prompts": {}, "default_prompt_name": None, "similarity_fn_name": "cosine", "truncate_dim": None, "__version__": {}, "requirements": {}, "a_remark": "text",
    },
    "1_Pooling/config.json": {
        "word_embedding_dimension": 32, "embedding_dimension": 32, "pooling_mode": "mean", "include_prompt": True, "a_remark": "text",
        **{f"pooling_mode_{k}": False for k in ("cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")},
    },
    "2_Dense/config.json": {
        "in_features": 32, "out_features": 24, "bias": True, "activation_function": "torch.nn.modules.activation.Tanh", "module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding",
        "use_residual": False, "init_weight": None, "a_remark": "text",
    },
    "tokenizer_config.json": {
        "model_max_length": 512, "truncation_side": "right", "padding_side": "right", "split_special_tokens": False, "do_lower_case": True, "strip_accents": None, "tokenize_chinese_chars": True, "clean_text": True,
        "add_prefix_space": False, "clean_up_tokenization_spaces": False, "tokenizer_class": "BertTokenizer", "a_remark": "text",
    },
}
# The text of the warning that this library computes other vectors than sentence-transformers.
SAID = "sentence-transformers makes a chat of each text"

# Files of which only these fields are changed.
SOME = ("tokenizer_config.json", "config.json")
LAYERS = {"num_hidden_layers": 1}
KWARGS = [{}, {"model_max_length": 8}, {"model_max_length": 80}, {"model_max_length": 1}, {"padding_side": "left"}, {"truncation_side": "left"}, {"trust_remote_code": True}, {"revision": "main"}, {"do_lower_case": True},
          LAYERS, {"is_causal": False}, {"add_pooling_layer": False}, {"dtype": "float32"}, {"torch_dtype": "float32"}, {"attn_implementation": "eager"}, {"a_remark": 1}, {"hidden_act": "relu"}, {"use_cache": False},
          {"model_max_length": None}, {"model_max_length": 1e30}, {"vocab_size": 10}]
SPECIAL = {
    "model_args": KWARGS, "model_kwargs": KWARGS, "tokenizer_args": KWARGS, "processor_kwargs": KWARGS, "config_args": KWARGS, "config_kwargs": KWARGS,
    "processing_kwargs": [{k: v} for k in ("text", "common", "chat_template", "image") for v in (
        {}, None, {"max_length": 8}, {"max_length": 80}, {"max_length": 8, "truncation": False}, {"truncation": False}, {"truncation": True}, {"truncation": "only_first"}, {"padding": "max_length"},
        {"padding": True}, {"padding": False}, {"add_special_tokens": False}, {"return_tensors": "pt"}, {"return_tensors": "np"}, {"restore_suffix": False}, {"logits_to_keep": 2}, {"stride": 2}, {"a_remark": 1})],
    "modality_config": [{"text": {"method": m, "method_output_name": o}} for m in ("forward", "get_text_features") for o in ("last_hidden_state", ["last_hidden_state"], "pooler_output", ["hidden_states", 0], "logits", None)]
    + [{"message": {"method": "forward", "method_output_name": "last_hidden_state"}}, {"text": {"method": "forward", "method_output_name": "last_hidden_state"}, "message": {"method": "forward", "method_output_name": "last_hidden_state"}},
       {"text": {"method": "forward", "method_output_name": "last_hidden_state"}, "image": {"method": "forward", "method_output_name": "last_hidden_state"}}, {"image": {"method": "forward", "method_output_name": "last_hidden_state"}}, {"text": {}}, {}],
    "transformer_task": ["fill-mask", "sequence-classification", "text-generation", "any-to-any", "retrieval"],
    "max_seq_length": [1, 2, 3, 8, 16, 63, 65, 80, 96, 97, 98, 1000, "16", 16.0], "model_max_length": [0, 1, 2, 3, 8, 40, 65, 80, 96, 98, 1e30, int(1e30), 8.0, 8.5, "8", -1, -8],
    "pooling_mode": ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", ["cls"], ["mean", "cls"], ["mean", "mean"], [], ["mean", "nonsense"], "CLS"],
    "model_type": ["SparseEncoder", "CrossEncoder", "MultiVectorEncoder", "SentenceTransformer", "ColBERT", "sentencetransformer"], "truncate_dim": [1, 12, 16, 31, 32, 33, 1000, 0, -1, -16, 12.0],
    "default_prompt_name": ["query", "document", "passage", "a", ""],
    "prompts": [{}, {"query": "the cat "}, {"document": "the cat "}, {"passage": "the cat "}, {"corpus": "the cat "}, {"query": None}, {"": "the cat "}, {"query": 5}, {"Query": "the cat "}, {"query": "A ", "document": "B ", "passage": "C ", "corpus": "D "}, []],
    "include_prompt": [False, 0, 1, None], "do_lower_case": [True, 1, None, "yes"],
    "truncation_side": ["left", "right"], "padding_side": ["left", "right"], "split_special_tokens": [True, False], "strip_accents": [True, False],
    "unk_token": ["[MASK]", "the"], "cls_token": ["[SEP]"], "sep_token": ["[CLS]"], "pad_token": ["the"], "mask_token": ["."], "tokenizer_class": ["BertTokenizerFast", "PreTrainedTokenizerFast", "RobertaTokenizer", "GPT2Tokenizer", "Qwen2Tokenizer"],
    **sentence_bases.SPECIAL,
    "requirements": [{"transformers": ">=99"}, {"transformers": ">=4"}], "__version__": [{"sentence_transformers": "99.0"}],
}


def fields(value, path=()):
    """(path, value) for everything in a document."""
    if path:
        yield path, value
    for k, v in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from fields(v, path + (k,))


def changed(doc, path, value):
    doc = copy.deepcopy(doc)
    at = doc
    for k in path[:-1]:
        at = at[k]
    if value is ABSENT:
        del at[path[-1]]
    else:
        at[path[-1]] = copy.deepcopy(value)
    return doc


def mutations(name, doc, more, kinds):
    """(field, the file's new contents, what changed) for one file, of which more has further fields; kinds are those of modules."""
    if name in SOME:
        todo = [((k,), doc.get(k, v)) for k, v in more.items()] + [((k,), doc[k]) for k in doc if k.endswith("_token")]
    else:
        todo = list(fields(doc))
        if isinstance(doc, dict):
            todo += [((k,), v) for k, v in more.items() if k not in doc]
        for text in ("", "[]", "{}", "null", "x", '[{}]'):
            yield "the file", text, text or "absent"
    for path, value in todo:
        label = ".".join("*" if isinstance(k, int) else k for k in path)
        new = [] if path[0] not in doc and isinstance(doc, dict) and not isinstance(path[0], int) else [ABSENT]
        new += values(path[-1] if isinstance(path[-1], str) else "", value) + SPECIAL.get(path[-1], [])
        for v in new:
            if v is not ABSENT and type(v) is type(value) and v == value and path[0] in doc:
                continue
            if path[-1] in ("length", "query_length", "num_labels") and isinstance(v, int) and v > 1 << 20:  # these take as much memory there
                continue
            yield label, json.dumps(changed(doc, path, v), ensure_ascii=False), f"{'/'.join(map(str, path))} = {'absent' if v is ABSENT else json.dumps(v)}"
    if name == "modules.json" and doc:
        yield from lists(doc, kinds)


def lists(doc, kinds):
    """Other modules, and in another order."""
    for i in range(len(doc)):
        yield "modules", json.dumps(doc[:i] + doc[i + 1:]), f"without module {i}"
        yield "modules", json.dumps(doc[:i + 1] + doc[i:]), f"module {i} twice"
        if i:
            yield "modules", json.dumps(doc[:i - 1] + [doc[i], doc[i - 1]] + doc[i + 1:]), f"module {i} before {i - 1}"
    for kind, prefixes in kinds:
        for prefix in prefixes:
            for i in range(1, len(doc)):
                if doc[i]["type"] != prefix + kind:
                    yield "modules", json.dumps(changed(doc, (i, "type"), prefix + kind)), f"type of {i} = {prefix}{kind}"
    again = dict(doc[-1], name="again")
    yield "modules", json.dumps(doc + [again]), "the last once more"


KINDS = [
    (kind, ("sentence_transformers.models.", "sentence_transformers.base.modules.", f"sentence_transformers.base.modules.{kind.lower()}.", "sentence_transformers.sentence_transformer.modules.",
            f"sentence_transformers.sentence_transformer.modules.{kind.lower()}.", f"sentence_transformers.models.{kind}.", "", "my.", "sentence_transformers."))
    for kind in ("Pooling", "Normalize", "Dense", "Transformer", "LayerNorm", "Dropout", "CNN", "LSTM", "WeightedLayerPooling", "StaticEmbedding")
]


def write(folder, name, text):
    path = os.path.join(folder, name)
    if not text:
        if os.path.exists(path):
            os.remove(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def theirs(path, cls):
    """What a class makes of the texts, arrays of each by what they are; or an exception."""
    m = globals()[cls](path, device="cpu", local_files_only=True, model_kwargs={"dtype": torch.float32}).float()
    if cls == "CrossEncoder":
        pairs = [(QUERY, t) for t in TEXTS]
        out = {f"Scores {name}": m.predict(pairs, prompt_name=name or None, batch_size=1, show_progress_bar=False) for name in ["", *sorted(k for k, v in m.prompts.items() if v is not None)]}
    else:
        one = {"batch_size": 1, "show_progress_bar": False}
        out = {k: f(TEXTS, **one) for k, f in (("Vectors", m.encode), ("Queries", m.encode_query), ("Documents", m.encode_document))}
    if cls == "SparseEncoder":
        out = {k: v.to_dense().numpy() for k, v in out.items()}
    if cls == "MultiVectorEncoder":
        if m.default_prompt_name is None:  # without a prompt's name texts are documents in this library
            del out["Vectors"]
        out["Similar"] = m.similarity(out["Queries"], out["Documents"]).numpy()
    out = {k: [np.asarray(x, dtype=np.float64) for x in v] for k, v in out.items()}
    if not all(np.isfinite(x).all() and (x.size or cls == "MultiVectorEncoder") for v in out.values() for x in v):
        raise ValueError("not finite, or empty")
    return out


def dense(pairs, width):
    """The vector of (index, value) pairs; one that is not as wide if an index is beyond the width."""
    out = np.zeros(max([width] + [int(i) + 1 for i, _ in pairs]))
    for i, v in pairs:
        out[int(i)] = v
    return out


class Server:
    """This library's side."""

    def __init__(self, binary):
        self.command = [os.path.abspath(binary), "-test.run=^TestCompare$", "-test.timeout=0"]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=TEXT, env=os.environ | {"AVOFORMER_COMPARE": "1"})

    def ask(self, path, cls):
        self.process.stdin.write(json.dumps({"dir": path, "texts": TEXTS, "kind": cls, "query": QUERY}) + "\n")
        self.process.stdin.flush()
        said = []
        for line in self.process.stdout:
            if line.startswith("@"):
                return json.loads(line[1:])
            said.append(line)
        self.start()
        return {"refused": "", "crashed": "".join(said)[:2000]}


def compare(path, server, cls="SentenceTransformer"):
    """(how the case ends, what is to be said about it)."""
    try:
        want, refused = theirs(path, cls), None
    except Exception as e:
        want, refused = None, f"{type(e).__name__}: {str(e).strip().splitlines()[0][:160] if str(e).strip() else ''}"
    ours = server.ask(path, cls)
    if ours.get("crashed"):
        return "differ", "crashed: " + ours["crashed"]
    if ours["refused"]:
        if not ours["named"]:
            return "differ", "an error of no kind: " + ours["refused"]
        return ("both refuse", refused) if refused else ("ours refuses", ours["refused"])
    if refused:
        return "theirs refuses", refused
    if why := differences(cls, ours["results"], want):
        return "said to differ" if any(SAID in w for w in ours["warnings"] or ()) else "differ", why
    return "equal", ours["warnings"]


def differences(cls, got, want):
    """What differs, in words; None if nothing does."""
    if cls == "CrossEncoder":  # a prompt that is null has no name here: to ask for it is an error
        want = {k: v for k, v in want.items() if k in got}
    if not want or not want.keys() <= got.keys():
        return f"{sorted(got)}, want {sorted(want)}"
    for what, w in want.items():
        bound = max([1.0] + [np.abs(x).max() for x in w if x.size])
        for i, (x, g) in enumerate(zip(w, got[what], strict=True)):
            g = dense(g, len(x)) if cls == "SparseEncoder" else np.asarray(g, dtype=np.float64)
            if g.shape != x.shape and (g.size or x.size):
                return f"{what}: {g.shape} of text {i}, want {x.shape}"
            if x.size and not (d := np.abs(g - x).max() / bound) <= 2e-5:
                return f"{what}: text {i} up to {d:.3g} off"
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("server")
    p.add_argument("-folders", help="with commas between; all without")
    p.add_argument("-classes", help="classes of sentence-transformers, with commas between; all without")
    p.add_argument("-every", type=int, default=1, help="take one of N cases of a field, one at least")
    p.add_argument("-seed", type=int, default=1, help="which of them")
    p.add_argument("-show", type=int, default=3, help="examples of what is listed")
    p.add_argument("-log", help="file for all cases")
    args = p.parse_args()
    torch.set_num_threads(1)
    hf.logging.set_verbosity(100)
    hf.utils.logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    import logging
    logging.disable(logging.CRITICAL)
    root = tempfile.mkdtemp()
    try:
        return run(args, root)
    finally:
        shutil.rmtree(root)


def run(args, root):
    server, rng = Server(args.server), random.Random(args.seed)
    log = open(args.log, "w") if args.log else None
    ends, listed = collections.Counter(), collections.defaultdict(lambda: collections.defaultdict(list))
    for name, cls in sentence_bases.make(root):
        if args.folders and name not in args.folders.split(",") or args.classes and cls not in args.classes.split(","):
            continue
        path = os.path.join(root, name)
        end, why = compare(path, server, cls)
        if end != "equal" or why:
            raise SystemExit(f"{name} as it is: {end}: {why}")
        here = collections.Counter()
        for file, more in sentence_bases.files(name, cls, MORE).items():
            full = os.path.join(path, file)
            old = open(full, encoding="utf-8").read() if os.path.exists(full) else ""
            if not old and (file == "config.json" or not os.path.isdir(os.path.dirname(full)) and file[0] in "123456" and file != "2_Normalize/config.json"):
                continue
            todo = collections.defaultdict(list)
            for field, text, what in mutations(file, json.loads(old or "{}"), more, sentence_bases.KINDS.get(cls, KINDS)):
                todo[field].append((text, what))
            for field, list_ in todo.items():
                for text, what in rng.sample(list_, math.ceil(len(list_) / args.every)):
                    write(path, file, text)
                    end, why = compare(path, server, cls)
                    write(path, file, old)
                    here[end] += 1
                    listed[end][f"{file}: {field}"].append((name, what, why))
                    if log:
                        print(json.dumps([end, name, file, field, what, why]), file=log, flush=True)
        if (end := compare(path, server, cls)[0]) != "equal":
            raise SystemExit(f"{name} after all changes are undone: {end}")
        ends += here
        print(f"{name:16}", dict(here), flush=True)
    return report(ends, listed, args.show)


def report(ends, listed, show):
    print(f"\nsentence-transformers {__version__}, transformers {hf.__version__}: {sum(ends.values())} cases:", dict(ends))
    taken = ends["equal"] + ends["differ"] + ends["ours refuses"]
    print(f"ours alone refuses {ends['ours refuses']} of {taken} that sentence-transformers takes, {100 * ends['ours refuses'] / max(taken, 1):.1f}%")
    for end in ("differ", "said to differ", "ours refuses", "theirs refuses"):
        print(f"\n{end}:")
        for field, examples in sorted(listed[end].items()):
            print(f"  {field}: {len(examples)}")
            for name, what, why in examples[:show]:
                print(f"    {name}: {what[:140]}: {why}")
    return 1 if ends["differ"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
