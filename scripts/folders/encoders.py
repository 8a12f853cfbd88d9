"""Encoders of text, with their heads and with the pooling of sentence-transformers."""

import json
import os

import torch
import transformers as hf

from safetensors.torch import save_file

from folder import Folder, folder, hide, random_batch

LENGTHS = [13, 9, 1, 6]
POOLINGS = {"cls": "cls_token", "mean": "mean_tokens", "max": "max_tokens", "sqrt": "mean_sqrt_len_tokens", "weighted": "weightedmean_tokens", "last": "lasttoken"}


def encode(model, inputs):
    """The outputs of an encoder."""
    base = getattr(model, model.base_model_prefix, model) if model.base_model_prefix else model
    mask = inputs["attention_mask"]
    out = {"last_hidden_state": hide(base(**inputs).last_hidden_state, mask)}
    full = model(**inputs)
    for k in ("pooler_output", "logits", "prediction_logits", "seq_relationship_logits", "start_logits", "end_logits"):
        if getattr(full, k, None) is not None:
            out[k] = getattr(full, k)
    for k in ("logits", "prediction_logits"):
        if k in out and out[k].dim() == 3:
            out[k] = hide(out[k], mask)
    for k in ("start_logits", "end_logits"):
        if k in out:
            out[k] = out[k].masked_fill(mask == 0, 0)
    return out


def pool(kind, h, mask):
    """What sentence-transformers' pooling makes of h, [batch, length, width]."""
    m = mask[..., None].to(h.dtype)
    if kind == "cls":
        return h[:, 0]
    if kind == "max":
        return h.masked_fill(m == 0, -1e9).max(1).values
    if kind == "last":
        return torch.stack([row[int(n) - 1] for row, n in zip(h, mask.sum(1))])
    if kind == "weighted":
        m = m * torch.arange(1, h.shape[1] + 1)[None, :, None]
    total = (h * m).sum(1)
    return total / m.sum(1).sqrt() if kind == "sqrt" else total / m.sum(1)


def encoder(out, name, model, cls, pad=0, low=5, types=False, last=None, sentence=None, modules=("Transformer", "Pooling", "Normalize"), dense=None, plain=(), new=False, **options):
    """last is the token that ends each text; sentence are poolings, whose results are joined; dense is
    the width after a dense layer, plain are those after layers without bias and activation; new is the form of the files since sentence-transformers 6."""
    f = Folder(out, name)
    c = model.config.get_text_config()
    ids, mask = random_batch(LENGTHS, low, c.vocab_size, pad)
    if last is not None:
        for row, n in zip(ids, mask.sum(1)):
            row[n - 1] = last
    inputs = {"input_ids": ids, "attention_mask": mask}
    if types:
        inputs["token_type_ids"] = (torch.arange(ids.shape[1])[None] >= mask.sum(1, keepdim=True) // 2).long() * mask
    layer = None
    if dense:
        g = torch.Generator().manual_seed(8)
        layer = torch.nn.Linear(c.hidden_size * len(sentence), dense)
        with torch.no_grad():
            layer.weight.copy_(torch.randn(layer.weight.shape, generator=g) * 0.2)
            layer.bias.copy_(torch.randn(layer.bias.shape, generator=g) * 0.2)

    g = torch.Generator().manual_seed(9)
    matrices = [torch.randn((wide, before), generator=g) * before**-0.5 for before, wide in zip((c.hidden_size, *plain), plain)]

    def run(m, dtype):
        with torch.no_grad():
            o = encode(m, inputs)
            if sentence:
                x = torch.cat([pool(k, o["last_hidden_state"], mask) for k in sentence], 1)
                if layer:
                    x = torch.tanh(torch.nn.functional.linear(x, layer.weight.to(dtype), layer.bias.to(dtype)))
                for w in matrices:
                    x = x @ w.T.to(dtype)
                o["sentence_embedding"] = torch.nn.functional.normalize(x, dim=1) if "Normalize" in modules else x
        return o

    f.write(model, cls, run, inputs=inputs, **options)
    if sentence:
        f.json("modules.json", [{"idx": i, "name": str(i), "path": f"{i}_{k}" if i else "", "type": f"sentence_transformers.models.{k}"} for i, k in enumerate(modules)])
        f.json("sentence_bert_config.json", {"max_seq_length": 64, "do_lower_case": False})
        f.json("1_Pooling/config.json", {"word_embedding_dimension": c.hidden_size} | {f"pooling_mode_{v}": k in sentence for k, v in POOLINGS.items()})
    if new:
        f.json("modules.json", [{"idx": i, "name": str(i), "path": f"{i}_{k}" if i else "", "type": f"sentence_transformers.{'sentence_transformer' if k == 'Pooling' else 'base'}.modules.{k.lower()}.{k}"} for i, k in enumerate(modules)])
        modes = [POOLINGS[k].removesuffix("_tokens" if k != "sqrt" else "").removesuffix("_token") for k in sentence]
        f.json("1_Pooling/config.json", {"embedding_dimension": c.hidden_size, "pooling_mode": modes if len(modes) > 1 else modes[0], "include_prompt": True})
        f.json("sentence_bert_config.json", {"transformer_task": "feature-extraction", "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}, "module_output_name": "token_embeddings"})
    for i, w in enumerate(matrices, 2):
        f.json(f"{i}_Dense/config.json", {"in_features": w.shape[1], "out_features": w.shape[0], "bias": False, "activation_function": "torch.nn.modules.linear.Identity"})
        os.makedirs(f"{f.path}/{i}_Dense", exist_ok=True)  # which a folder that is not written lacks
        save_file({"linear.weight": w.contiguous()}, f.path + f"/{i}_Dense/model.safetensors")
    if layer:
        f.json("2_Dense/config.json", {"in_features": layer.in_features, "out_features": dense, "bias": True, "activation_function": "torch.nn.modules.activation.Tanh"} | ({"module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding"} if new else {}))
        save_file({"linear.weight": layer.weight.detach(), "linear.bias": layer.bias.detach()}, f.path + "/2_Dense/model.safetensors")


def bert(**more):
    return hf.BertConfig(**(dict(vocab_size=101, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, max_position_embeddings=32, pad_token_id=0) | more))


class NoPooler(hf.BertModel):
    def __init__(self, c):
        super().__init__(c, add_pooling_layer=False)


@folder("bert")
def _(out, name):
    encoder(out, name, NoPooler(bert()), NoPooler, types=True, sentence=["mean"], seed=100)


@folder("bert-pool-max", "bert-pool-last", "bert-pool-dense", "bert-pool-joined")
def _(out, name):
    """Every pooling of sentence-transformers; a dense layer; several poolings side by side."""
    how = {
        "bert-pool-max": dict(sentence=["max"], modules=("Transformer", "Pooling")),
        "bert-pool-last": dict(sentence=["last"], new=True),
        "bert-pool-dense": dict(sentence=["mean", "sqrt", "cls"], new=True, modules=("Transformer", "Pooling", "Dense", "Normalize"), dense=24),
        "bert-pool-joined": dict(sentence=["cls", "max", "mean", "sqrt", "weighted"]),
    }[name]
    encoder(out, name, NoPooler(bert(num_hidden_layers=1, vocab_size=64)), NoPooler, types=True, seed=105, **how)


@folder("bert-pooler")
def _(out, name):
    encoder(out, name, hf.BertModel(bert(hidden_act="gelu_new", layer_norm_eps=1e-6)), hf.BertModel, types=True, seed=110)


@folder("bert-classify", "bert-regress", "bert-tokens", "bert-masked", "bert-masked-untied", "bert-answer", "bert-next")
def _(out, name):
    cls, more = {
        "bert-classify": (hf.BertForSequenceClassification, {"id2label": {0: "contradiction", 1: "entailment", 2: "neutral"}}),
        "bert-regress": (hf.BertForSequenceClassification, {"num_labels": 1}),
        "bert-tokens": (hf.BertForTokenClassification, {"id2label": {i: l for i, l in enumerate(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])}}),
        "bert-masked": (hf.BertForMaskedLM, {}),
        "bert-masked-untied": (hf.BertForMaskedLM, {"tie_word_embeddings": False}),
        "bert-answer": (hf.BertForQuestionAnswering, {}),
        "bert-next": (hf.BertForNextSentencePrediction, {}),
    }[name]
    encoder(out, name, cls(bert(num_hidden_layers=1, **more)), cls, types=True, seed=120, dtype=torch.float16)
    if name == "bert-regress":  # a cross-encoder, as sentence-transformers saves it
        with open(os.path.join(out, name, "modules.json"), "w") as f:
            json.dump([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}], f, indent=2)


@folder("bert-pretraining-gamma")
def _(out, name):
    """As bert-base-uncased is on the hub: the prefix bert., heads that nobody asks for, and
    gamma and beta for the weights of layer normalization."""

    def rename(w):
        w = {k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): v for k, v in w.items()}
        return w | {"bert.embeddings.position_ids": torch.arange(32)[None]}

    encoder(out, name, hf.BertForPreTraining(bert(num_hidden_layers=1)), hf.BertForPreTraining, types=True, seed=130, rename=rename)


@folder("distilbert", "distilbert-classify", "distilbert-tokens", "distilbert-masked")
def _(out, name):
    cls, more = {
        "distilbert": (hf.DistilBertModel, {}),
        "distilbert-classify": (hf.DistilBertForSequenceClassification, {"id2label": {0: "NEGATIVE", 1: "POSITIVE"}}),
        "distilbert-tokens": (hf.DistilBertForTokenClassification, {"num_labels": 3}),
        "distilbert-masked": (hf.DistilBertForMaskedLM, {}),
    }[name]
    c = hf.DistilBertConfig(**(dict(vocab_size=101, dim=32, n_layers=2 if name == "distilbert" else 1, n_heads=4, hidden_dim=48, max_position_embeddings=32) | more))
    encoder(out, name, cls(c), cls, seed=200, dtype=torch.float16)


def roberta(cls, **more):
    return cls(**(dict(vocab_size=101, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, max_position_embeddings=34, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1, bos_token_id=0, eos_token_id=2) | more))


@folder("roberta", "roberta-classify", "roberta-tokens", "roberta-masked", "xlm-roberta")
def _(out, name):
    cls, config, more, extra = {
        "roberta": (hf.RobertaModel, hf.RobertaConfig, {}, {}),
        "roberta-classify": (hf.RobertaForSequenceClassification, hf.RobertaConfig, {"num_labels": 3, "num_hidden_layers": 1}, {}),
        "roberta-tokens": (hf.RobertaForTokenClassification, hf.RobertaConfig, {"num_labels": 4, "num_hidden_layers": 1}, {}),
        "roberta-masked": (hf.RobertaForMaskedLM, hf.RobertaConfig, {"num_hidden_layers": 1}, {}),
        "xlm-roberta": (hf.XLMRobertaModel, hf.XLMRobertaConfig, {}, {"sentence": ["cls"]}),
    }[name]
    encoder(out, name, cls(roberta(config, **more)), cls, pad=1, seed=300, **extra)


@folder("mpnet", "mpnet-masked")
def _(out, name):
    """mpnet says that it has a head, as sentence-transformers' models do that were made from one with."""
    cls = hf.MPNetForMaskedLM if name == "mpnet-masked" else hf.MPNetModel
    c = hf.MPNetConfig(vocab_size=101, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, max_position_embeddings=34, layer_norm_eps=1e-5, relative_attention_num_buckets=32)
    encoder(out, name, cls(c), cls, pad=1, seed=400, **({"sentence": ["mean"], "config": lambda c: c.update(architectures=["MPNetForMaskedLM"])} if name == "mpnet" else {}))


@folder("modernbert", "modernbert-classify", "modernbert-masked", "modernbert-answer")
def _(out, name):
    special = {k: i for i, k in enumerate(["pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"])}
    cls, more = {
        "modernbert": (hf.ModernBertModel, {}),
        "modernbert-classify": (hf.ModernBertForSequenceClassification, {"num_labels": 2, "classifier_pooling": "mean"}),
        "modernbert-masked": (hf.ModernBertForMaskedLM, {}),
        "modernbert-answer": (hf.ModernBertForQuestionAnswering, {"num_hidden_layers": 2}),
    }[name]
    c = hf.ModernBertConfig(**(dict(vocab_size=101, hidden_size=32, intermediate_size=48, num_hidden_layers=4, num_attention_heads=4, max_position_embeddings=64, local_attention=8) | special | more))

    def old_keys(c):
        """As the hub has it."""
        for k in ("layer_types", "rope_parameters"):
            c.pop(k, None)
        c.update(global_attn_every_n_layers=3, global_rope_theta=160000.0, local_rope_theta=10000.0)

    encoder(out, name, cls(c), cls, seed=500, config=old_keys if name == "modernbert-classify" else None)


@folder("nomic_bert-masked")
def _(out, name):
    c = hf.NomicBertConfig(vocab_size=101, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48, max_position_embeddings=64)
    encoder(out, name, hf.NomicBertForMaskedLM(c), hf.NomicBertForMaskedLM, types=True, seed=610)


@folder("nomic_bert", "nomic_bert-hub")
def _(out, name):
    """With transformers' keys and with those of the published checkpoints."""
    c = hf.NomicBertConfig(vocab_size=101, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, max_position_embeddings=64, rope_parameters={"rope_type": "default", "rope_theta": 1000.0})

    def published(c):
        c.clear()
        c.update(activation_function="swiglu", architectures=["NomicBertModel"], attn_pdrop=0.0, causal=False, layer_norm_epsilon=1e-12, mlp_fc1_bias=False, mlp_fc2_bias=False,
                 model_type="nomic_bert", n_embd=32, n_head=4, n_inner=48, n_layer=2, n_positions=64, pad_vocab_size_multiple=64, parallel_block=False, prenorm=False, qkv_proj_bias=False,
                 rotary_emb_base=1000, rotary_emb_fraction=1.0, rotary_emb_interleaved=False, rotary_emb_scale_base=None, rotary_scaling_factor=None, scale_attn_weights=True,
                 summary_type="cls_index", torch_dtype="float32", type_vocab_size=2, use_cache=True, use_rms_norm=False, vocab_size=101)

    def names(w):
        """The weights with the published names: queries, keys and values in one."""
        return nomic_names(w, [("mlp.up_proj", "mlp.fc11"), ("mlp.gate_proj", "mlp.fc12"), ("mlp.down_proj", "mlp.fc2")])

    encoder(out, name, NomicNoPooler(c), NomicNoPooler, types=True, seed=600, published={"config": published, "rename": names} if name == "nomic_bert-hub" else None)


def nomic_names(w, feed):
    """Weights by the published names: queries, keys and values in one."""
    new = {}
    for k, v in w.items():
        if ".k_proj." in k or ".v_proj." in k:
            continue
        if ".q_proj." in k:
            v = torch.cat([w[k.replace("q_proj", p)] for p in ("q_proj", "k_proj", "v_proj")])
        for a, b in (("self_attn.q_proj", "attn.Wqkv"), ("self_attn.o_proj", "attn.out_proj"), ("post_attention_layernorm", "norm1"), ("post_mlp_layernorm", "norm2"), ("embeddings.LayerNorm", "emb_ln"), *feed):
            k = k.replace(a, b)
        new["encoder." + k if k.startswith("layers.") else k] = v
    return new


class PlainFeed(torch.nn.Module):
    """fc2(gelu(fc1(x)))"""

    def __init__(self, dim, hidden):
        super().__init__()
        self.fc1, self.fc2 = torch.nn.Linear(dim, hidden), torch.nn.Linear(hidden, dim)

    def forward(self, x):
        return self.fc2(torch.nn.functional.gelu(self.fc1(x)))


class PlainExperts(torch.nn.Module):
    """The sum of the top two of five experts w2[e]^T gelu(w1[e] x), weighted by the softmax of all scores; the bias is 0, as it is published."""

    def __init__(self, dim, hidden, experts=5, top=2):
        super().__init__()
        self.top, self.hidden = top, hidden
        self.router, self.experts = torch.nn.Module(), torch.nn.Module()
        self.router.layer = torch.nn.Linear(dim, experts, bias=False)
        self.experts.mlp = torch.nn.Module()
        self.experts.mlp.w1, self.experts.mlp.w2 = (torch.nn.Parameter(torch.randn(experts * hidden, dim)) for _ in range(2))
        self.experts.bias = torch.nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        weight, chosen = self.router.layer(x).softmax(-1).topk(self.top, -1)
        w1, w2 = (w.reshape(-1, self.hidden, w.shape[-1]) for w in (self.experts.mlp.w1, self.experts.mlp.w2))
        each = torch.einsum("blek,ekd->bled", torch.nn.functional.gelu(torch.einsum("bld,ekd->blek", x, w1)), w2)
        return (each.gather(2, chosen[..., None].expand(*chosen.shape, x.shape[-1])) * weight[..., None]).sum(2)


class NomicMixture(hf.NomicBertModel):
    """Nomic's second version, which is published with code of its own: written from its description and from its published names."""

    def __init__(self, c):
        super().__init__(c, add_pooling_layer=False)
        for i, layer in enumerate(self.layers):
            layer.mlp = (PlainExperts if i % 2 == 1 else PlainFeed)(c.hidden_size, c.intermediate_size)
            for p in ("q_proj", "k_proj", "v_proj", "o_proj"):
                setattr(layer.self_attn, p, torch.nn.Linear(c.hidden_size, c.hidden_size))


@folder("nomic_bert-moe")
def _(out, name):
    """A mixture of experts in every second layer."""
    c = hf.NomicBertConfig(vocab_size=101, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=40, max_position_embeddings=64, type_vocab_size=1, layer_norm_eps=1e-5, rope_parameters={"rope_type": "default", "rope_theta": 10000.0})

    def published(c):
        c.clear()
        c.update(activation_function="gelu", add_pooling_layer=False, architectures=["NomicBertModel"], attn_pdrop=0.0, causal=False, expert_choice_router=False, ffn_div=1, layer_norm_epsilon=1e-5, max_trained_positions=2048,
                 mlp_fc1_bias=True, mlp_fc2_bias=True, model_type="nomic_bert", moe_every_n_layers=2, moe_impl="megablocks", moe_normalize_expert_weights=False, moe_resid_pdrop=0.0, moe_top_k=2, n_embd=32, n_head=4, n_inner=40, n_layer=3,
                 n_positions=64, num_experts=5, num_shared_experts=0, pad_token_id=1, pad_vocab_size_multiple=64, parallel_block=False, prenorm=False, qkv_proj_bias=True, rotary_emb_base=10000, rotary_emb_fraction=1.0,
                 rotary_emb_interleaved=False, rotary_emb_scale_base=None, rotary_scaling_factor=None, router_aux_loss_coef=0.1, scale_attn_weights=True, torch_dtype="float32", type_vocab_size=1, use_cache=True, use_rms_norm=False, vocab_size=101)

    def after(model):
        for layer in model.layers[1::2]:
            torch.nn.init.zeros_(layer.mlp.experts.bias)
            layer.mlp.router.layer.weight.data *= 2

    encoder(out, name, NomicMixture(c), NomicMixture, pad=1, seed=620, sentence=["mean"], after=after, published={"config": published, "rename": lambda w: nomic_names(w, [])})


class NomicNoPooler(hf.NomicBertModel):
    def __init__(self, c):
        super().__init__(c, add_pooling_layer=False)
