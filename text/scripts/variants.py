#!/usr/bin/env python3
"""Writes what sentence-transformers makes of folders of text/testdata with other settings next to the model.

    variants.py FILE

FILE, text/testdata/variants.json, lists variants: the folder, the files that take the place of the folder's, what its
class is asked, and what it answers in float32. Needs sentence-transformers and torch."""

import base64, json, os, shutil, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "../testdata")
os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")

import torch
import transformers as hf
from safetensors.torch import save
from sentence_transformers import CrossEncoder, MultiVectorEncoder, SentenceTransformer, SparseEncoder
from sentence_transformers.sentence_transformer.modules import Pooling

torch.set_num_threads(1)
QUERY = "What is the Capital of France?"
TEXTS = ["Paris is the capital.", "x", "", "the committee translates the long letter without any help " * 3]
WHOLE, BERT, TOKENS = "config_sentence_transformers.json", "sentence_bert_config.json", "tokenizer_config.json"
TEMPLATE = """{%- set asked = messages | selectattr("role", "eq", "system") | map(attribute="content") | first -%}
<|im_start|>system
Judge whether the Document meets the requirements. Answer "yes" or "no".<|im_end|>
<|im_start|>user
<Instruct>: {{ asked if asked else "Find what answers the query" }}
<Query>: {{ messages | selectattr("role", "eq", "query") | map(attribute="content") | first }}
<Document>: {{ messages | selectattr("role", "eq", "document") | map(attribute="content") | first }}<|im_end|>
<|im_start|>assistant
"""
THOUGHTS = "<think>\n\n</think>\n\n"
PARTS = """{%- for m in messages %}<|im_start|>{{ m.role }}: {% for part in m.content %}{{ part.text }}{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}answer{{ style }}: {% endif %}"""


def list_of(*modules):
    return [{"idx": i, "name": str(i), "path": path, "type": "sentence_transformers." + kind} for i, (path, kind) in enumerate(modules)]


def weights(seed, **shapes):
    g = torch.Generator().manual_seed(seed)
    return save({name.replace("_", "."): (torch.randn(shape, generator=g) * 0.3).half().float() for name, shape in shapes.items()})


def judge(score={"true_token_id": 567, "false_token_id": 568}, whole={}, bert={}, template=TEMPLATE + THOUGHTS, form="flat"):
    """A language model as CrossEncoder saves it."""
    with open(os.path.join(DATA, "rerank-judge", TOKENS)) as f:
        tokens = json.load(f)
    logits = {"method": "forward", "method_output_name": "logits"}
    message = {"message": logits | {"format": form}} if form else {}
    return {
        "modules.json": list_of(("", "base.modules.transformer.Transformer"), ("1_LogitScore", "cross_encoder.modules.logit_score.LogitScore")), "1_LogitScore/config.json": score,
        WHOLE: {"model_type": "CrossEncoder", "prompts": {}, "default_prompt_name": None, "activation_fn": "torch.nn.modules.activation.Sigmoid"} | whole,
        BERT: {"transformer_task": "text-generation", "modality_config": {"text": logits} | message, "module_output_name": "causal_logits"} | bert,
        TOKENS: tokens | {"chat_template": template},
    }


def modular(layers, whole={}, pooling={"embedding_dimension": 32, "pooling_mode": "cls"}):
    """Modules of a cross-encoder: (kind, configuration, tensors)."""
    files = {"1_Pooling/config.json": pooling, WHOLE: {"model_type": "CrossEncoder", "prompts": {}, "default_prompt_name": None, "activation_fn": "torch.nn.modules.activation.Sigmoid"} | whole}
    names = [("", "base.modules.transformer.Transformer"), ("1_Pooling", "sentence_transformer.modules.pooling.Pooling")]
    where = {"Dense": "base.modules.dense.Dense", "LayerNorm": "sentence_transformer.modules.layer_norm.LayerNorm"}
    for i, (kind, config, tensors) in enumerate(layers, 2):
        names.append((f"{i}_{kind}", where[kind]))
        files |= {f"{i}_{kind}/config.json": config, f"{i}_{kind}/model.safetensors": weights(40 + i, **tensors)}
    return files | {"modules.json": list_of(*names)}


def dense(inputs, outputs, act, bias=True, **more):
    return "Dense", {"in_features": inputs, "out_features": outputs, "bias": bias, "activation_function": act} | more, {"linear_weight": (outputs, inputs)} | ({"linear_bias": (outputs,)} if bias else {})


IDENTITY, GELU = "torch.nn.modules.linear.Identity", "torch.nn.modules.activation.GELU"
ETTIN = [dense(32, 32, GELU), ("LayerNorm", {"dimension": 32}, {"norm_weight": (32,), "norm_bias": (32,)}), dense(32, 1, IDENTITY, module_input_name="sentence_embedding", module_output_name="scores")]
PROMPTS = {"prompts": {"code": "Find code: ", "web": "Find the answer "}, "default_prompt_name": "code"}


def classifier(whole, bert={}):
    return {
        "modules.json": list_of(("", "base.modules.transformer.Transformer")), BERT: {"transformer_task": "sequence-classification"} | bert,
        WHOLE: {"model_type": "CrossEncoder", "prompts": {}, "default_prompt_name": None} | whole,
    }


def late(bert, whole={}, mask=True):
    """The folder embed-late-new with other lengths."""
    files = {BERT: bert, WHOLE: {"model_type": "MultiVectorEncoder", "prompts": {"query": "query: ", "document": ""}} | whole}
    if not mask:
        files["modules.json"] = list_of(("", "base.modules.transformer.Transformer"), ("1_Dense", "base.modules.dense.Dense"), ("3_Normalize", "base.modules.normalize.Normalize"))
    return files


def static():
    kinds = [("", "sentence_transformer.modules.static_embedding.StaticEmbedding"), ("1_Dense", "base.modules.dense.Dense"), ("2_Normalize", "base.modules.normalize.Normalize")]
    with open(os.path.join(DATA, "embed-static/model.safetensors"), "rb") as f:
        n = int.from_bytes(f.read(8), "little")
        width = next(iter(json.loads(f.read(n)).values()))["shape"][1]
    _, config, tensors = dense(width, 6, "torch.nn.modules.activation.Tanh")
    return {"modules.json": list_of(*kinds), "1_Dense/config.json": config, "1_Dense/model.safetensors": weights(39, **tensors), "2_Normalize/config.json": {}, BERT: {"max_seq_length": 3, "do_lower_case": True}}


def tokens(**changes):
    """The reranker's tokenizer by other fields."""
    with open(os.path.join(DATA, "rerank", TOKENS)) as f:
        return {TOKENS: json.load(f) | changes}


def plain():
    """A language model without a chat template."""
    with open(os.path.join(DATA, "generate", TOKENS)) as f:
        return {TOKENS: {k: v for k, v in json.load(f).items() if k != "chat_template"}}


def expansion(strategy, length, attend):
    return {"strategy": strategy, "length": length, "attend": attend, "token": None}


def act(name):
    return {"activation_fn": "torch.nn.modules." + name}


VARIANTS = [
    ("a judge", "rerank-judge", judge(), {}), ("a judge whose scores are logits", "rerank-judge", judge(whole=act("linear.Identity")), {}), ("a judge with another activation", "rerank-judge", judge(whole=act("activation.Softplus")), {}),
    ("a judge by other tokens", "rerank-judge", judge({"true_token_id": 5, "false_token_id": 9}), {}), ("the tokens exchanged", "rerank-judge", judge({"true_token_id": 9, "false_token_id": 5}), {}),
    ("a judge by one token", "rerank-judge", judge({"true_token_id": 5}, act("linear.Identity")), {}), ("a judge by tokens from the end", "rerank-judge", judge({"true_token_id": -2, "false_token_id": -1}), {}),
    ("a judge's default prompt", "rerank-judge", judge(whole=PROMPTS), {}), ("a judge's prompt by its name", "rerank-judge", judge(whole=PROMPTS), {"prompt": "web"}),
    ("a judge in lower case", "rerank-judge", judge(bert={"do_lower_case": True}), {}), ("a judge without thoughts", "rerank-judge", judge(template=TEMPLATE), {}),
    ("a judge's texts cut", "rerank-judge", judge(bert={"processor_kwargs": {"model_max_length": 110}}), {}),
    ("a judge's prompts cut with their end", "rerank-judge", judge(bert={"processor_kwargs": {"model_max_length": 110}, "processing_kwargs": {"chat_template": {"restore_suffix": False}}}), {}),
    ("a judge of parts", "rerank-judge", judge(template=PARTS, form="structured", bert={"processing_kwargs": {"chat_template": {"add_generation_prompt": True, "style": " now"}}}), {}),
    ("a judge without a chat", "rerank-judge", judge(form=None, whole=PROMPTS), {}),
    ("modules", "embed", modular(ETTIN), {}), ("modules whose scores are logits", "embed", modular(ETTIN, act("linear.Identity")), {}),
    ("two modules and a prompt", "embed", modular([dense(32, 1, IDENTITY, bias=False, module_output_name="scores")], PROMPTS | act("activation.Tanh"), {"embedding_dimension": 32, "pooling_mode": "mean"}), {}),
    ("a classifier's default prompt", "rerank", classifier(PROMPTS), {}), ("a classifier's prompt by its name", "rerank", classifier(PROMPTS | act("activation.SiLU")), {"prompt": "web"}),
    ("a classifier with Tanh", "rerank", classifier(act("activation.Tanh"), {"max_seq_length": 20}), {}), ("a classifier with LogSigmoid", "rerank", classifier(act("activation.LogSigmoid")), {}),
    ("a tokenizer without segments", "rerank", tokens(tokenizer_class="PreTrainedTokenizerFast"), {}), ("another one", "rerank", tokens(tokenizer_class="TokenizersBackend"), {}),
    ("names without segments", "rerank", tokens(model_input_names=["input_ids", "attention_mask"]), {}),
    ("names with segments", "rerank", tokens(tokenizer_class="PreTrainedTokenizerFast", model_input_names=["input_ids", "token_type_ids", "attention_mask"]), {}),
    ("few elements", "embed-sparse", {WHOLE: {"model_type": "SparseEncoder", "prompts": {}, "max_active_dims": 5, "truncate_dim": 7}}, {}),
    ("sparse vectors of ends", "embed-sparse", {WHOLE: {"model_type": "SparseEncoder", "prompts": {}, "max_active_dims": 9}, BERT: {"transformer_task": "fill-mask", "max_seq_length": 10, "processor_kwargs": {"truncation_side": "left"}}}, {}),
    ("queries cut beyond an expansion", "embed-late-new", late({"max_seq_length": 64, "query_length": 12, "query_expansion": expansion("min", 8, True)}), {}),
    ("queries longer than texts", "embed-late-new", late({"max_seq_length": 10, "query_length": 20, "query_expansion": expansion("min", 16, True)}), {}),
    ("an expansion that is scored", "embed-late-new", late({"query_expansion": expansion("fixed", 24, False)}), {}), ("an expansion that nobody sees", "embed-late-new", late({"query_expansion": expansion("fixed", 24, False)}, mask=False), {}),
    ("an expansion that is seen", "embed-late-new", late({"query_expansion": expansion("min", 24, True)}, mask=False), {}),
    ("lengths of PyLate", "embed-late-new", late({}, {"query_length": 10, "document_length": 12, "attend_to_expansion_tokens": True}), {}), ("no expansion of PyLate", "embed-late-new", late({}, {"query_length": 10, "do_query_expansion": False, "query_prefix": "[Q] "}), {}),
    ("last states of a language model", "generate", plain(), {}), ("means of a language model's states", "generate", plain(), {"pooling": "mean"}),
    ("static vectors of no tokens", "embed-static", static(), {}),
]


def floats(x):
    return [float("%.6g" % v) for v in x]


def answer(folder, kind, how):
    cls = {"rerank-judge": CrossEncoder, "embed": CrossEncoder, "rerank": CrossEncoder, "embed-sparse": SparseEncoder, "embed-late-new": MultiVectorEncoder, "embed-static": SentenceTransformer, "generate": SentenceTransformer}[kind]
    m = cls(folder, device="cpu", local_files_only=True, model_kwargs={"dtype": torch.float32}).float()
    if "pooling" in how:
        m[1] = Pooling(m[0].get_embedding_dimension(), how["pooling"])
    if cls is CrossEncoder:
        return {"scores": floats(m.predict([(QUERY, t) for t in TEXTS], prompt_name=how.get("prompt"), batch_size=1))}
    if cls is SparseEncoder:
        return {"sparse": [{int(i): float("%.8g" % v) for i, v in zip(t.coalesce().indices()[0], t.coalesce().values())} for t in m.encode(TEXTS, batch_size=1)]}
    if cls is MultiVectorEncoder:
        return {"queries": [[floats(v[:4]) for v in x] for x in m.encode_query([QUERY, TEXTS[3]], batch_size=1)], "documents": [[floats(v[:4]) for v in x] for x in m.encode_document(TEXTS[:1], batch_size=1)]}
    return {"vectors": [floats(v) for v in m.encode(TEXTS[:2] + TEXTS[3:] if kind == "generate" else TEXTS, batch_size=1)]}


def main():
    hf.logging.set_verbosity_error()
    out = []
    for name, kind, files, how in VARIANTS:
        path = tempfile.mkdtemp()
        shutil.copytree(os.path.join(DATA, kind), path, dirs_exist_ok=True)
        texts = {}
        for file, value in files.items():
            os.makedirs(os.path.dirname(os.path.join(path, file)), exist_ok=True)
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            with open(os.path.join(path, file), "wb") as f:
                f.write(data)
            texts[file] = {"base64": base64.b64encode(data).decode()} if isinstance(value, bytes) else value
        out.append({"name": name, "folder": kind, "files": texts} | how | answer(path, kind, how))
        shutil.rmtree(path)
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        f.write(json.dumps({"query": QUERY, "texts": TEXTS, "variants": "@"}).replace('"@"', "[\n" + ",\n".join(json.dumps(v) for v in out) + "\n]") + "\n")


if __name__ == "__main__":
    main()
