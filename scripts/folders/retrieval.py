"""Folders for retrieval whose outputs are not one vector from layers alone: static embeddings, sparse vectors and
vectors of each token. Where the code that computes them is not transformers', it is written here again, in PyTorch."""

import os

import torch
import transformers as hf
from safetensors.torch import save_file

from encoders import LENGTHS, encoder
from folder import Folder, folder, hide, random_batch, redraw


def about(f, run, inputs, cls):
    """Writes expected.safetensors of what run gives in float32, with its distance from float64."""
    x, y = run(torch.float32), run(torch.float64)
    f.expected({k: v.float() for k, v in x.items()} | inputs, {"class": cls, "transformers": hf.__version__, "noise": {k: "%.2g" % float((x[k].double() - y[k]).abs().max()) for k in x}})
    print(f"{f.name:24} {cls}", flush=True)


@folder("model2vec", "model2vec-quantized", "static")
def _(out, name):
    """As model2vec saves its models, in model2vec-quantized with tokens that share vectors of int8; and as
    sentence-transformers saves a StaticEmbedding, without config.json."""
    f = Folder(out, name)
    g = torch.Generator().manual_seed(4000)
    ids, mask = random_batch(LENGTHS, 0, 101, 0)
    table, weights, rows = torch.randn(101, 24, generator=g), None, torch.arange(101)
    if name == "model2vec":
        tensors = {"embeddings": table}
    elif name == "static":
        tensors = {"embedding.weight": table.half()}
        table = table.half()
    else:
        table = torch.randint(-127, 128, (20, 24), generator=g).to(torch.int8)
        rows, weights = torch.randint(0, 20, (101,), generator=g), torch.rand(101, generator=g) + 0.1
        tensors = {"embeddings": table, "mapping": rows, "weights": weights}
    dir = "0_StaticEmbedding" if name == "static" else "."
    os.makedirs(os.path.join(f.path, dir), exist_ok=True)
    save_file(tensors, os.path.join(f.path, dir, "model.safetensors"))
    f.json("modules.json", [{"idx": 0, "name": "0", "path": dir, "type": "sentence_transformers.models.StaticEmbedding"}, {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"}][:1 if name == "static" else 2])
    if name != "static":
        f.json("config.json", {"model_type": "model2vec", "architectures": ["StaticModel"], "tokenizer_name": "none", "apply_pca": 24, "apply_zipf": True, "sif_coefficient": 0.0001, "hidden_dim": 24, "seq_length": 1000000, "normalize": True, "embedding_dtype": "float32"})

    def run(dtype):
        x = table.to(dtype)[rows]
        if weights is not None:
            x = x * weights.to(dtype)[:, None]
        y = torch.stack([x[row[:n]].mean(0) for row, n in zip(ids, mask.sum(1))])
        return {"sentence_embedding": y if name == "static" else torch.nn.functional.normalize(y, dim=1)}

    about(f, run, {"input_ids": ids, "attention_mask": mask}, "StaticEmbedding")


def encode(inputs, more):
    """A run of a model whose outputs more(hidden states, logits or None, type) adds to."""

    def run(m, dtype):
        with torch.no_grad():
            base = getattr(m, m.base_model_prefix, m)
            hidden = base(**inputs).last_hidden_state
            logits = m(**inputs).logits if base is not m else None
            return {k: v for k, v in more(hidden, logits, dtype).items()}

    return run


SMALL = dict(vocab_size=101, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48, max_position_embeddings=32)


@folder("bge-m3")
def _(out, name):
    """An encoder with the two layers beside it that weigh tokens and make vectors of them."""
    f = Folder(out, name)
    g = torch.Generator().manual_seed(4100)
    ids, mask = random_batch(LENGTHS, 4, 24, 1)
    ids[:, 0] = 0
    for row, n in zip(ids, mask.sum(1)):
        row[n - 1] = 2
        row[n // 2] = 3
    layers = {"sparse_linear": torch.nn.Linear(32, 1), "colbert_linear": torch.nn.Linear(32, 16)}
    with torch.no_grad():
        for l in layers.values():
            for p in l.parameters():
                p.copy_((torch.randn(p.shape, generator=g) * 0.3).half())

    def more(hidden, _, dtype):
        weight, vectors = (torch.nn.functional.linear(hidden, l.weight.to(dtype), l.bias.to(dtype)) for l in layers.values())
        sparse = torch.zeros(len(ids), 101, dtype=dtype)
        for i, n in enumerate(mask.sum(1)):
            for t, w in zip(ids[i, :n], weight[i, :n, 0].relu()):
                if t > 3:
                    sparse[i, t] = max(sparse[i, t], w)
        return {"sparse_embedding": sparse, "token_vectors": torch.nn.functional.normalize(vectors, dim=-1) * mask[..., None], "sentence_embedding": torch.nn.functional.normalize(hidden[:, 0], dim=1)}

    inputs = {"input_ids": ids, "attention_mask": mask}
    c = hf.XLMRobertaConfig(**SMALL | dict(pad_token_id=1, bos_token_id=0, eos_token_id=2, type_vocab_size=1, max_position_embeddings=34))
    cls = hf.XLMRobertaModel
    f.write(cls(c, add_pooling_layer=False), cls, encode(inputs, more), inputs=inputs, seed=4100)
    for k, l in layers.items():
        torch.save({n: p.detach().half() for n, p in l.state_dict().items()}, os.path.join(f.path, k + ".pt"))
    f.json("modules.json", [{"idx": i, "name": str(i), "path": f"{i}_{k}" if i else "", "type": f"sentence_transformers.models.{k}"} for i, k in enumerate(("Transformer", "Pooling", "Normalize"))])
    f.json("1_Pooling/config.json", {"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False})
    f.json("sentence_bert_config.json", {"max_seq_length": 32, "do_lower_case": False})


@folder("splade", "splade-sum")
def _(out, name):
    """A masked language model whose logits become weights of the vocabulary."""
    f = Folder(out, name)
    ids, mask = random_batch(LENGTHS, 5, 101, 0)

    def more(hidden, logits, _):
        w = torch.log1p(logits.relu()) * mask[..., None]
        return {"sparse_embedding": torch.log1p(w).sum(1) if name == "splade-sum" else w.max(1).values}

    inputs = {"input_ids": ids, "attention_mask": mask}
    cls = hf.BertForMaskedLM if name == "splade" else hf.DistilBertForMaskedLM
    c = cls.config_class(**SMALL) if name == "splade" else cls.config_class(vocab_size=101, dim=32, n_layers=1, n_heads=4, hidden_dim=48, max_position_embeddings=32)
    f.write(cls(c), cls, encode(inputs, more), inputs=inputs, seed=4200)
    old = name == "splade"
    first = "sparse_encoder.models.MLMTransformer" if old else "base.modules.transformer.Transformer"
    last = "sparse_encoder.models.SpladePooling" if old else "sparse_encoder.modules.splade_pooling.SpladePooling"
    f.json("modules.json", [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers." + first}, {"idx": 1, "name": "1", "path": "1_SpladePooling", "type": "sentence_transformers." + last}])
    f.json("1_SpladePooling/config.json", {"pooling_strategy": "max" if old else "sum", "activation_function": "relu" if old else "log1p_relu"} | {"word_embedding_dimension" if old else "embedding_dimension": 101})
    f.json("sentence_bert_config.json", {"max_seq_length": 32, "do_lower_case": False} if old else {"transformer_task": "fill-mask", "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}}, "module_output_name": "token_embeddings"})
    f.json("config_sentence_transformers.json", {"model_type": "SparseEncoder", "prompts": {"query": "", "document": ""}, "default_prompt_name": None, "similarity_fn_name": "dot"})


@folder("colbert", "colbert-pylate")
def _(out, name):
    """A vector for each token, by a dense layer that has no bias: as sentence-transformers and as PyLate publish it."""
    f = Folder(out, name)
    ids, mask = random_batch(LENGTHS, 5, 101, 0)
    dense = (torch.randn(16, 32, generator=torch.Generator().manual_seed(4300)) * 0.2).half().float()

    def more(hidden, _, dtype):
        return {"token_vectors": torch.nn.functional.normalize(hidden @ dense.to(dtype).T, dim=-1) * mask[..., None]}

    inputs = {"input_ids": ids, "attention_mask": mask}
    if name == "colbert":
        cls, c = hf.BertModel, hf.BertConfig(**SMALL)
        model = cls(c, add_pooling_layer=False)
    else:
        cls, c = hf.ModernBertModel, hf.ModernBertConfig(**SMALL | dict(num_hidden_layers=2, pad_token_id=0, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2, local_attention=6, global_attn_every_n_layers=2))
        model = cls(c)
    f.write(model, cls, encode(inputs, more), inputs=inputs, seed=4300)
    os.makedirs(f.path + "/1_Dense")
    save_file({"linear.weight": dense}, f.path + "/1_Dense/model.safetensors")
    linear = {"in_features": 32, "out_features": 16, "bias": False, "activation_function": "torch.nn.modules.linear.Identity"}
    if name == "colbert":
        kinds = ["base.modules.transformer.Transformer", "base.modules.dense.Dense", "multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask", "base.modules.normalize.Normalize"]
        f.json("modules.json", [{"idx": i, "name": str(i), "path": f"{i}_{k.rpartition('.')[2]}" if i else "", "type": "sentence_transformers." + k} for i, k in enumerate(kinds)])
        f.json("1_Dense/config.json", linear | {"module_input_name": "token_embeddings"})
        f.json("2_MultiVectorMask/config.json", {"skiplist_words": ["."], "skiplist_tasks": ["document"], "keep_only_token_ids": None})
        f.json("3_Normalize/config.json", {"module_input_name": "token_embeddings", "module_output_name": "token_embeddings"})
        f.json("sentence_bert_config.json", {"query_length": None, "document_length": 28, "query_expansion": {"strategy": "fixed", "attend": False, "token": None, "length": 12}})
        f.json("config_sentence_transformers.json", {"model_type": "MultiVectorEncoder", "prompts": {"query": "[Q] ", "document": "[D] "}, "default_prompt_name": None, "similarity_fn_name": "maxsim"})
    else:
        f.json("modules.json", [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}, {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"}])
        f.json("1_Dense/config.json", linear)
        f.json("sentence_bert_config.json", {"max_seq_length": 31, "do_lower_case": False})
        f.json("config_sentence_transformers.json", {"model_type": "ColBERT", "prompts": {}, "default_prompt_name": None, "similarity_fn_name": "MaxSim", "query_prefix": "[Q] ", "document_prefix": "[D] ", "query_length": 32, "document_length": 30,
                                                     "attend_to_expansion_tokens": False, "skiplist_words": ["!", "."]})


@folder("jina_embeddings_v3", "jina_embeddings_v3-masked", "jina_embeddings_v3-classify")
def _(out, name):
    cls, more = {
        "jina_embeddings_v3": (hf.JinaEmbeddingsV3Model, {"num_hidden_layers": 2}),
        "jina_embeddings_v3-masked": (hf.JinaEmbeddingsV3ForMaskedLM, {"hidden_act": "gelu_new"}),
        "jina_embeddings_v3-classify": (hf.JinaEmbeddingsV3ForSequenceClassification, {"num_labels": 3}),
    }[name]
    c = cls.config_class(**SMALL | dict(pad_token_id=1, bos_token_id=0, eos_token_id=2) | more)
    encoder(out, name, cls(c), cls, pad=1, seed=4400, **({"sentence": ["mean"]} if name == "jina_embeddings_v3" else {}))


class JinaLayer(torch.nn.Module):
    """A layer of version 2 of Jina's BERT as its paper describes it, with the names of the published weights."""

    def __init__(self, dim, heads, hidden, eps):
        super().__init__()
        self.heads, self.hidden = heads, hidden
        module = torch.nn.Module
        self.attention, self.mlp = module(), module()
        self.attention.self, self.attention.output = module(), module()
        for k in ("query", "key", "value"):
            setattr(self.attention.self, k, torch.nn.Linear(dim, dim))
        self.attention.output.dense, self.attention.output.LayerNorm = torch.nn.Linear(dim, dim), torch.nn.LayerNorm(dim, eps=eps)
        self.mlp.gated_layers, self.mlp.wo, self.mlp.layernorm = torch.nn.Linear(dim, 2 * hidden, bias=False), torch.nn.Linear(hidden, dim), torch.nn.LayerNorm(dim, eps=eps)

    def slopes(self, n):
        power = 2 ** (n.bit_length() - 1)
        geometric = lambda n: [2 ** (-8 * (i + 1) / n) for i in range(n)]
        return geometric(power) + geometric(2 * power)[::2][: n - power]

    def forward(self, x, mask):
        split = lambda y: y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        q, k, v = (split(getattr(self.attention.self, n)(x)) for n in ("query", "key", "value"))
        at = torch.arange(x.shape[1])
        bias = -torch.tensor(self.slopes(self.heads), dtype=x.dtype)[:, None, None] * (at[:, None] - at).abs()
        scores = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + bias).masked_fill(mask[:, None, None] == 0, -1e30)
        y = (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
        x = self.attention.output.LayerNorm(x + self.attention.output.dense(y))
        gate, up = self.mlp.gated_layers(x).split(self.hidden, -1)
        return self.mlp.layernorm(x + self.mlp.wo(torch.nn.functional.gelu(gate) * up))


@folder("bert-alibi")
def _(out, name):
    """Version 2 of Jina's BERT, whose published code is beside the weights: written from its description, and compared with two public ports of it in
    slopes, gate, activation, biases and norms. Six heads, which are not a power of 2."""
    f = Folder(out, name)
    ids, mask = random_batch(LENGTHS, 5, 101, 0)
    m = torch.nn.Module()
    m.embeddings, m.encoder = torch.nn.Module(), torch.nn.Module()
    m.embeddings.word_embeddings, m.embeddings.token_type_embeddings, m.embeddings.LayerNorm = torch.nn.Embedding(101, 36), torch.nn.Embedding(2, 36), torch.nn.LayerNorm(36, eps=1e-12)
    m.encoder.layer = torch.nn.ModuleList([JinaLayer(36, 6, 48, 1e-12) for _ in range(2)])
    redraw(m, 4500)

    def run(dtype):
        m.to(dtype)
        with torch.no_grad():
            x = m.embeddings.LayerNorm(m.embeddings.word_embeddings(ids) + m.embeddings.token_type_embeddings.weight[0])
            for l in m.encoder.layer:
                x = l(x, mask)
        x = hide(x, mask)
        return {"last_hidden_state": x, "sentence_embedding": x.sum(1) / mask.sum(1, keepdim=True)}

    save_file(m.state_dict(), f.path + "/model.safetensors")
    f.json("config.json", {"model_type": "bert", "architectures": ["JinaBertForMaskedLM"], "auto_map": {"AutoModel": "jinaai/jina-bert-implementation--modeling_bert.JinaBertModel"}, "position_embedding_type": "alibi", "feed_forward_type": "geglu", "emb_pooler": "mean",
                          "attention_probs_dropout_prob": 0.0, "classifier_dropout": None, "gradient_checkpointing": False, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 36, "initializer_range": 0.02, "intermediate_size": 48, "layer_norm_eps": 1e-12,
                          "max_position_embeddings": 8192, "num_attention_heads": 6, "num_hidden_layers": 2, "pad_token_id": 0, "torch_dtype": "float32", "type_vocab_size": 2, "use_cache": True, "vocab_size": 101, "attn_implementation": "torch"})
    f.json("modules.json", [{"idx": i, "name": str(i), "path": f"{i}_{k}" if i else "", "type": f"sentence_transformers.models.{k}"} for i, k in enumerate(("Transformer", "Pooling"))])
    f.json("1_Pooling/config.json", {"word_embedding_dimension": 36, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False})
    about(f, run, {"input_ids": ids, "attention_mask": mask}, "JinaBertModel")
