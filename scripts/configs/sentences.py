#!/usr/bin/env python3
"""Compares how this library and sentence-transformers read the files of an embedder, field by field.

    sentences.py [-folders embed,...] [-every N] [-seed S] [-show N] [-log FILE] SERVER

SERVER is the test binary of package text. Each embedder of text/testdata, and some made of them, is
copied with one field changed of modules.json, sentence_bert_config.json, config_sentence_transformers.json,
1_Pooling, 2_Normalize or 2_Dense, or of the tokenizer's model_max_length; both sides then embed the same
texts, as they are, as queries and as documents. A case ends as in compare.py. Exits with 1 if any
differ, or if ours alone refuses a folder that is not changed."""

import argparse
import collections
import copy
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import warnings

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = os.path.join(HERE, "..", "..", "text")

import numpy as np
import torch
import transformers as hf
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer, __version__

from mutations import ABSENT, values

WORDS = "the committee translates the long letter without any help again and again because it has to "
TEXTS = ["The quick brown Fox jumps over the lazy dog.", "", "Où est la bibliothèque ? [MASK] İstanbul <mask> <|endoftext|> ΑΣ", "Yes.", WORDS, WORDS * 2, WORDS * 6]

# Fields that the files of a folder lack, with a value of the kind that they have.
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
    "query_length": [4], "document_length": [4], "query_expansion": [{"strategy": "fixed", "length": 8}, {"strategy": "min", "length": 8, "attend": True}],
    "pooling_mode": ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", ["cls"], ["mean", "cls"], ["mean", "mean"], [], ["mean", "nonsense"], "CLS"],
    "activation_function": ["torch.nn.modules.linear.Identity", "torch.nn.Identity", "torch.nn.ReLU", "torch.nn.GELU", "torch.nn.modules.activation.SiLU", "torch.nn.modules.activation.Sigmoid", "torch.tanh", "my.ReLU", "ReLU", "torch.nn.modules.activation.Identity"],
    "model_type": ["SparseEncoder", "CrossEncoder", "MultiVectorEncoder", "sentencetransformer"], "truncate_dim": [1, 12, 16, 31, 32, 33, 1000, 0, -1, -16, 12.0],
    "default_prompt_name": ["query", "document", "passage", "a", ""], "similarity_fn_name": ["dot", "maxsim"],
    "prompts": [{}, {"query": "the cat "}, {"document": "the cat "}, {"passage": "the cat "}, {"corpus": "the cat "}, {"query": None}, {"": "the cat "}, {"query": 5}, {"Query": "the cat "}, {"query": "A ", "document": "B ", "passage": "C ", "corpus": "D "}, []],
    "include_prompt": [False, 0, 1, None], "do_lower_case": [True, 1, None, "yes"], "module_input_name": ["token_embeddings", None, ""], "module_output_name": ["token_embeddings", "sentence_embedding", None, "other"],
    "truncation_side": ["left", "right"], "padding_side": ["left", "right"], "split_special_tokens": [True, False], "strip_accents": [True, False],
    "unk_token": ["[MASK]", "the"], "cls_token": ["[SEP]"], "sep_token": ["[CLS]"], "pad_token": ["the"], "mask_token": ["."], "tokenizer_class": ["BertTokenizerFast", "PreTrainedTokenizerFast", "RobertaTokenizer", "GPT2Tokenizer", "Qwen2Tokenizer"],
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


def mutations(name, doc):
    """(field, the file's new contents, what changed) for one file."""
    if name == "tokenizer_config.json":
        todo = [((k,), doc.get(k, v)) for k, v in MORE[name].items()] + [((k,), doc[k]) for k in doc if k.endswith("_token")]
    else:
        todo = list(fields(doc))
        if isinstance(doc, dict):
            todo += [((k,), v) for k, v in MORE[name].items() if k not in doc]
        for text in ("", "[]", "{}", "null", "x", '[{}]'):
            yield "the file", text, text or "absent"
    for path, value in todo:
        label = ".".join("*" if isinstance(k, int) else k for k in path)
        new = [] if path[0] not in doc and isinstance(doc, dict) and not isinstance(path[0], int) else [ABSENT]
        new += values(path[-1] if isinstance(path[-1], str) else "", value) + SPECIAL.get(path[-1], [])
        for v in new:
            if v is not ABSENT and type(v) is type(value) and v == value and path[0] in doc:
                continue
            yield label, json.dumps(changed(doc, path, v), ensure_ascii=False), f"{'/'.join(map(str, path))} = {'absent' if v is ABSENT else json.dumps(v)}"
    if name == "modules.json":
        yield from lists(doc)


def lists(doc):
    """Other modules, and in another order."""
    for i in range(len(doc)):
        yield "modules", json.dumps(doc[:i] + doc[i + 1:]), f"without module {i}"
        yield "modules", json.dumps(doc[:i + 1] + doc[i:]), f"module {i} twice"
        if i:
            yield "modules", json.dumps(doc[:i - 1] + [doc[i], doc[i - 1]] + doc[i + 1:]), f"module {i} before {i - 1}"
    for kind in ("Pooling", "Normalize", "Dense", "Transformer", "LayerNorm", "Dropout", "CNN", "LSTM", "WeightedLayerPooling", "StaticEmbedding"):
        for prefix in ("sentence_transformers.models.", "sentence_transformers.base.modules.", f"sentence_transformers.base.modules.{kind.lower()}.", "sentence_transformers.sentence_transformer.modules.",
                       f"sentence_transformers.sentence_transformer.modules.{kind.lower()}.", f"sentence_transformers.models.{kind}.", "", "my.", "sentence_transformers."):
            for i in range(1, len(doc)):
                if doc[i]["type"] != prefix + kind:
                    yield "modules", json.dumps(changed(doc, (i, "type"), prefix + kind)), f"type of {i} = {prefix}{kind}"
    again = dict(doc[-1], name="again")
    yield "modules", json.dumps(doc + [again]), "the last once more"


def bases(root):
    """The folders that are changed: of text/testdata, and made of them."""
    for name in ("embed", "embed-roberta", "embed-prompt", "embed-last"):
        shutil.copytree(os.path.join(TEXT, "testdata", name), os.path.join(root, name))
    dense = os.path.join(root, "embed-dense")
    shutil.copytree(os.path.join(root, "embed"), dense)
    with open(dense + "/modules.json") as f:
        modules = json.load(f)
    modules.insert(2, {"idx": 2, "name": "dense", "path": "2_Dense", "type": "sentence_transformers.models.Dense"})
    modules[-1].update(path="3_Normalize")
    write(dense, "modules.json", json.dumps(modules))
    write(dense, "2_Dense/config.json", json.dumps({"in_features": 32, "out_features": 24, "bias": True, "activation_function": "torch.nn.modules.activation.Tanh"}))
    g = torch.Generator().manual_seed(1)
    save_file({"linear.weight": torch.randn(24, 32, generator=g) * 0.2, "linear.bias": torch.randn(24, generator=g) * 0.2}, dense + "/2_Dense/model.safetensors")
    return ["embed", "embed-roberta", "embed-prompt", "embed-last", "embed-dense"]


def write(folder, name, text):
    path = os.path.join(folder, name)
    if not text:
        if os.path.exists(path):
            os.remove(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def theirs(path):
    """Vectors, those of queries and those of documents; or an exception."""
    m = SentenceTransformer(path, device="cpu", local_files_only=True, model_kwargs={"dtype": torch.float32})
    out = [np.asarray(f(TEXTS, batch_size=1, show_progress_bar=False), dtype=np.float64) for f in (m.encode, m.encode_query, m.encode_document)]
    if not all(np.isfinite(x).all() and x.size for x in out):
        raise ValueError("not finite, or empty")
    return out


class Server:
    """This library's side."""

    def __init__(self, binary):
        self.command = [os.path.abspath(binary), "-test.run=^TestCompare$", "-test.timeout=0"]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=TEXT, env=os.environ | {"AVOFORMER_COMPARE": "1"})

    def ask(self, path):
        self.process.stdin.write(json.dumps({"dir": path, "texts": TEXTS}) + "\n")
        self.process.stdin.flush()
        said = []
        for line in self.process.stdout:
            if line.startswith("@"):
                return json.loads(line[1:])
            said.append(line)
        self.start()
        return {"refused": "", "crashed": "".join(said)[:2000]}


def compare(path, server):
    """(how the case ends, what is to be said about it)."""
    try:
        want, refused = theirs(path), None
    except Exception as e:
        want, refused = None, f"{type(e).__name__}: {str(e).strip().splitlines()[0][:160] if str(e).strip() else ''}"
    ours = server.ask(path)
    if ours.get("crashed"):
        return "differ", "crashed: " + ours["crashed"]
    if ours["refused"]:
        if not ours["named"]:
            return "differ", "an error of no kind: " + ours["refused"]
        return ("both refuse", refused) if refused else ("ours refuses", ours["refused"])
    if refused:
        return "theirs refuses", refused
    for what, w in zip(("Vectors", "Queries", "Documents"), want):
        g = np.asarray(ours[what], dtype=np.float64)
        if g.shape != w.shape:
            return "differ", f"{what}: {g.shape}, want {w.shape}"
        d = np.abs(g - w).max(axis=1) / max(1.0, np.abs(w).max())
        if not (d <= 2e-5).all():
            return "differ", f"{what}: texts {np.flatnonzero(~(d <= 2e-5)).tolist()} up to {d.max():.3g} off"
    return "equal", ours["warnings"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("server")
    p.add_argument("-folders", help="with commas between; all without")
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
    for name in bases(root):
        if args.folders and name not in args.folders.split(","):
            continue
        path = os.path.join(root, name)
        end, why = compare(path, server)
        if end != "equal" or why:
            raise SystemExit(f"{name} as it is: {end}: {why}")
        here = collections.Counter()
        for file in MORE:
            full = os.path.join(path, file)
            old = open(full, encoding="utf-8").read() if os.path.exists(full) else ""
            if not old and not os.path.isdir(os.path.dirname(full)) and file[0] in "12" and file != "2_Normalize/config.json":
                continue
            todo = collections.defaultdict(list)
            for field, text, what in mutations(file, json.loads(old or "{}")):
                todo[field].append((text, what))
            for field, list_ in todo.items():
                for text, what in rng.sample(list_, math.ceil(len(list_) / args.every)):
                    write(path, file, text)
                    end, why = compare(path, server)
                    write(path, file, old)
                    here[end] += 1
                    listed[end][f"{file}: {field}"].append((name, what, why))
                    if log:
                        print(json.dumps([end, name, file, field, what, why]), file=log, flush=True)
        if (end := compare(path, server)[0]) != "equal":
            raise SystemExit(f"{name} after all changes are undone: {end}")
        ends += here
        print(f"{name:16}", dict(here), flush=True)
    return report(ends, listed, args.show)


def report(ends, listed, show):
    print(f"\nsentence-transformers {__version__}, transformers {hf.__version__}: {sum(ends.values())} cases:", dict(ends))
    taken = ends["equal"] + ends["differ"] + ends["ours refuses"]
    print(f"ours alone refuses {ends['ours refuses']} of {taken} that sentence-transformers takes, {100 * ends['ours refuses'] / max(taken, 1):.1f}%")
    for end in ("differ", "ours refuses", "theirs refuses"):
        print(f"\n{end}:")
        for field, examples in sorted(listed[end].items()):
            print(f"  {field}: {len(examples)}")
            for name, what, why in examples[:show]:
                print(f"    {name}: {what[:140]}: {why}")
    return 1 if ends["differ"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
