"""The folders whose files sentences.py changes, and what it changes in those of classes other than SentenceTransformer."""

import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTDATA = os.path.join(HERE, "..", "..", "text", "testdata")
sys.path.insert(0, os.path.join(HERE, "..", "..", "text", "scripts"))

import torch
from safetensors.torch import save_file

import variants
from variants import BERT, TOKENS, WHOLE

TORCH = [
    "torch.nn.modules.linear.Identity", "torch.nn.Identity", "torch.nn.modules.activation.Tanh", "torch.nn.ReLU", "torch.nn.modules.GELU", "torch.nn.SiLU", "torch.nn.modules.activation.Softplus",
    "torch.nn.LogSigmoid", "torch.nn.modules.activation.Sigmoid", "torch.nn.Sigmoid", "torch.nn.ReLU6", "torch.nn.ELU", "torch.nn.Softmax", "torch.nn.modules.activation.Identity", "torch.tanh",
    "torch.Sigmoid", "my.Sigmoid", "Sigmoid", "",
]
EXPANSIONS = [{"strategy": s, "length": n, "attend": a, "token": t} for s in ("fixed", "min") for n, t in ((8, None), (24, "[MASK]"), (40, "the")) for a in (False, True)]
SPECIAL = {
    "activation_fn": TORCH, "sbert_ce_default_activation_function": TORCH, "sentence_transformers": [{"activation_fn": a} for a in TORCH + [None]] + [{}, {"version": "5.0"}],
    "max_active_dims": [0, 1, 2, 5, 50, 605, 606, 10000, -1, -5, 5.0, "5", True], "pooling_strategy": ["sum", "max", "mean", "MAX"], "chunk_size": [0, 1, 3, -1, 1.5],
    "skiplist_words": [[".", "the", "nonsense"], ["[UNK]"], ["[CLS]", "[SEP]"], ["the"], "the", [5], ["query", ":"], ["[MASK]", "[PAD]"]],
    "skiplist_tasks": [["query"], ["document"], ["query", "document"], "query", "document", ["nonsense"], ["query", "nonsense"], ["Query"]],
    "keep_only_token_ids": [[5, 6, 7, 100, 200, 300], [0], [-1], [100000], "5", [5.5], 5], "query_expansion": EXPANSIONS + [{"strategy": "fixed", "length": 8}, {"strategy": "min"}, {"length": 12}, {"length": 12, "attend": None}, {"strategy": "fixed", "a_remark": 1}],
    "strategy": ["fixed", "min", "none", "FIXED"], "length": [1, 2, 8, 40, 44, 60, 96, 97, 200], "token": ["[MASK]", "[SEP]", "the", "nonsense", "", 5],
    "query_length": [1, 2, 4, 20, 24, 40, 96, 200], "document_length": [1, 2, 4, 20, 40, 96, 200], "do_query_expansion": [False, 0, 1],
    "query_prefix": ["[Q] ", "[PAD] ", "[MASK]", "the ", "query: ", " "], "document_prefix": ["[D] ", "[PAD] ", "[MASK]", "the ", "query: ", " "],
    "format": ["flat", "structured", "auto", "openai"], "true_token_id": [0, 5, 567, -1, -600, 100000], "false_token_id": [0, 5, 568, -1, -600, 100000], "num_labels": [1, 2, 3],
    "similarity_fn_name": ["dot", "maxsim", "meanmaxsim", "MaxSim", "MeanMaxSim", "euclidean"], "method_output_name": ["logits", ["logits"], "last_hidden_state", ["hidden_states", 0], "pooler_output"],
    "activation_function": [  # of Dense, and of SpladePooling
        "torch.nn.modules.linear.Identity", "torch.nn.Identity", "torch.nn.ReLU", "torch.nn.GELU", "torch.nn.modules.activation.SiLU", "torch.nn.modules.activation.Sigmoid", "torch.nn.modules.activation.Tanh",
        "torch.tanh", "my.ReLU", "ReLU", "torch.nn.modules.activation.Identity", "relu", "log1p_relu"],
    "keep_in_fp32_modules": [[], ["0"], ["4.linear"], "4.linear", ["0.model.classifier"]],
    "module_output_name": ["token_embeddings", "sentence_embedding", "scores", "causal_logits", None, "other"], "module_input_name": ["token_embeddings", "sentence_embedding", "scores", "causal_logits", None, ""],
}
BERTS = {k: {} for k in ("modules.json", BERT, TOKENS)}
DENSE = {"in_features": 32, "out_features": 12, "bias": True, "activation_function": "torch.nn.modules.linear.Identity", "module_input_name": "token_embeddings", "module_output_name": "token_embeddings", "use_residual": False, "init_weight": None, "a_remark": "text"}
SENTENCE = DENSE | {"module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding"}
NORM = {"module_input_name": "token_embeddings", "module_output_name": "token_embeddings", "p": 2}
# Fields in addition to those of sentences.py, by class and file.
MORE = {
    "SparseEncoder": BERTS | {
        WHOLE: {"max_active_dims": None}, "1_SpladePooling/config.json": {"pooling_strategy": "max", "activation_function": "relu", "embedding_dimension": 605, "word_embedding_dimension": 605, "chunk_size": None, "a_remark": "text"},
    },
    "MultiVectorEncoder": BERTS | {
        WHOLE: {
            "query_prefix": "[PAD] ", "document_prefix": "[D] ", "query_length": None, "document_length": None, "query_expansion": None, "do_query_expansion": True, "attend_to_expansion_tokens": False,
            "attend_to_mask_tokens": False, "skiplist_words": ["."], "a_remark": "text"},
        "1_Dense/config.json": DENSE, "2_MultiVectorMask/config.json": {"skiplist_words": ["."], "skiplist_tasks": ["document"], "keep_only_token_ids": None, "a_remark": "text"}, "3_Normalize/config.json": NORM,
    },
    "CrossEncoder": BERTS | {
        WHOLE: {"activation_fn": "torch.nn.modules.activation.Sigmoid", "keep_in_fp32_modules": None}, "1_LogitScore/config.json": {"true_token_id": 5, "false_token_id": 9, "module_input_name": "causal_logits", "a_remark": "text"},
        "1_Pooling/config.json": {}, "2_Dense/config.json": SENTENCE, "3_LayerNorm/config.json": {"dimension": 32, "a_remark": "text"}, "4_Dense/config.json": SENTENCE,
        "config.json": {"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid", "version": "6.2.0"}, "sbert_ce_default_activation_function": None, "num_labels": 1, "id2label": {"0": "LABEL_0"}, "problem_type": None},
    },
    # The fields that SentenceTransformer reads for static vectors.
    "static": {
        "modules.json": {}, BERT: {}, WHOLE: {}, TOKENS: {}, "1_Normalize/config.json": {"module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding", "p": 2},
        "1_Dense/config.json": SENTENCE, "2_Normalize/config.json": {}, "config.json": {"max_length": 8, "normalize": True},
    },
}
BASE, OWN = "sentence_transformers.base.modules.", "sentence_transformers.{}.modules."


def homes(kinds, own, old):
    return [(kind, (BASE, own, own + snake + ".", old, "", "my.")) for kind, snake in kinds]


def files(name, cls, more):
    """The files of a folder that are changed, with the fields that they may lack; more are those of sentences.py."""
    extra = MORE.get("static" if "static" in name else cls, more)
    return {file: more.get(file, {}) | fields for file, fields in extra.items()}


KINDS = {
    "SparseEncoder": homes(
        [("SpladePooling", "splade_pooling"), ("SparseAutoEncoder", "sparse_auto_encoder"), ("CSRSparsity", "csr"), ("SparseStaticEmbedding", "sparse_static_embedding"), ("IDF", "idf"), ("MLMTransformer", "mlm_transformer"),
         ("Transformer", "transformer"), ("Pooling", "pooling"), ("Normalize", "normalize")], OWN.format("sparse_encoder"), "sentence_transformers.sparse_encoder.models."),
    "MultiVectorEncoder": homes(
        [("MultiVectorMask", "multi_vector_mask"), ("HierarchicalTokenPooling", "token_pooling"), ("Dense", "dense"), ("Normalize", "normalize"), ("Pooling", "pooling"), ("Transformer", "transformer")],
        OWN.format("multi_vector_encoder"), "pylate.models."),
    "CrossEncoder": homes(
        [("LogitScore", "logit_score"), ("Dense", "dense"), ("LayerNorm", "layer_norm"), ("Pooling", "pooling"), ("Normalize", "normalize"), ("Transformer", "transformer")], OWN.format("cross_encoder"), "sentence_transformers.models."),
}


def with_dense(root):
    """The folder embed with a dense layer."""
    folder = os.path.join(root, "embed-dense")
    shutil.copytree(os.path.join(TESTDATA, "embed"), folder)
    with open(folder + "/modules.json") as f:
        modules = json.load(f)
    modules.insert(2, {"idx": 2, "name": "dense", "path": "2_Dense", "type": "sentence_transformers.models.Dense"})
    modules[-1].update(path="3_Normalize")
    g = torch.Generator().manual_seed(1)
    files = {"modules.json": modules, "2_Dense/config.json": {"in_features": 32, "out_features": 24, "bias": True, "activation_function": "torch.nn.modules.activation.Tanh"}}
    put(folder, files)
    save_file({"linear.weight": torch.randn(24, 32, generator=g) * 0.2, "linear.bias": torch.randn(24, generator=g) * 0.2}, folder + "/2_Dense/model.safetensors")


def put(folder, files):
    for name, value in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(value if isinstance(value, bytes) else json.dumps(value).encode())


MADE = [  # name, class, folder of text/testdata, other files
    ("embed-static-dense", "SentenceTransformer", "embed-static", variants.static() | {BERT: {}}),
    ("late-bare", "MultiVectorEncoder", "embed-late-new", variants.late({"query_expansion": variants.expansion("fixed", 24, False)}, mask=False)),
    ("late-lengths", "MultiVectorEncoder", "embed-late-new", variants.late({}, {"query_length": 10, "document_length": 12, "attend_to_expansion_tokens": True})),
    ("rerank-files", "CrossEncoder", "rerank", variants.classifier(variants.PROMPTS)), ("modular", "CrossEncoder", "embed", variants.modular(variants.ETTIN, variants.PROMPTS)),
    ("judge", "CrossEncoder", "rerank-judge", variants.judge()), ("judge-bare", "CrossEncoder", "rerank-judge", variants.judge(form=None, whole=variants.PROMPTS)),
]
COPIED = {
    "SentenceTransformer": ["embed", "embed-roberta", "embed-prompt", "embed-last", "embed-static"], "SparseEncoder": ["embed-sparse"], "MultiVectorEncoder": ["embed-late", "embed-late-new"], "CrossEncoder": ["rerank"],
}


def make(root):
    """Writes the folders, and gives the name and the class of each."""
    made = [(name, cls) for cls, names in COPIED.items() for name in names]
    for name, _ in made:
        shutil.copytree(os.path.join(TESTDATA, name), os.path.join(root, name))
    with_dense(root)
    for name, cls, kind, files in MADE:
        shutil.copytree(os.path.join(TESTDATA, kind), os.path.join(root, name))
        put(os.path.join(root, name), files)
    made += [("embed-dense", "SentenceTransformer")] + [(name, cls) for name, cls, _, _ in MADE]
    return made
