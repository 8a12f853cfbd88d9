"""Encoders that are BERT with other layers or embeddings, and their heads."""

import torch
import transformers as hf

from encoders import encoder
from folder import folder

SMALL = dict(vocab_size=101, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48, max_position_embeddings=32, pad_token_id=0)


def pretraining(weights):
    """The weights of ElectraForPreTraining, whose head tells the tokens that were replaced."""
    head = {"dense.weight": (32, 32), "dense.bias": (32,), "dense_prediction.weight": (1, 32), "dense_prediction.bias": (1,)}
    return {"electra." + k: v for k, v in weights.items()} | {"discriminator_predictions." + k: torch.zeros(shape) for k, shape in head.items()}


@folder("electra", "electra-pretraining", "electra-classify", "electra-tokens", "electra-masked", "electra-masked-untied", "electra-answer")
def _(out, name):
    """Embeddings narrower than the layers, except for electra-tokens; electra-pretraining is as its authors publish it."""
    cls, more = {
        "electra": (hf.ElectraModel, {"num_hidden_layers": 2}),
        "electra-pretraining": (hf.ElectraModel, {}),
        "electra-classify": (hf.ElectraForSequenceClassification, {"num_labels": 1}),
        "electra-tokens": (hf.ElectraForTokenClassification, {"num_labels": 3, "embedding_size": 32}),
        "electra-masked": (hf.ElectraForMaskedLM, {}),
        "electra-masked-untied": (hf.ElectraForMaskedLM, {"tie_word_embeddings": False, "hidden_act": "gelu_new"}),
        "electra-answer": (hf.ElectraForQuestionAnswering, {}),
    }[name]
    options = {"sentence": ["mean"]} if name == "electra" else {}
    if name == "electra-pretraining":
        options["published"] = dict(config=lambda c: c.update(architectures=["ElectraForPreTraining"]), rename=pretraining)
    encoder(out, name, cls(hf.ElectraConfig(**(SMALL | dict(embedding_size=20) | more))), cls, types=True, seed=3000, **options)


@folder("albert", "albert-groups", "albert-pretraining", "albert-classify", "albert-tokens", "albert-masked", "albert-masked-untied", "albert-answer")
def _(out, name):
    """Layers that share weights; albert-groups has three kinds of two each for seven layers."""
    cls, more = {
        "albert": (hf.AlbertModel, {}),
        "albert-groups": (hf.AlbertModel, {"num_hidden_layers": 7, "num_hidden_groups": 3, "inner_group_num": 2}),
        "albert-pretraining": (hf.AlbertForPreTraining, {}),
        "albert-classify": (hf.AlbertForSequenceClassification, {"num_labels": 3}),
        "albert-tokens": (hf.AlbertForTokenClassification, {"num_labels": 3}),
        "albert-masked": (hf.AlbertForMaskedLM, {}),
        "albert-masked-untied": (hf.AlbertForMaskedLM, {"tie_word_embeddings": False, "hidden_act": "gelu"}),
        "albert-answer": (hf.AlbertForQuestionAnswering, {}),
    }[name]
    options = {"sentence": ["mean"]} if name == "albert" else {}
    encoder(out, name, cls(hf.AlbertConfig(**(SMALL | dict(embedding_size=20, num_hidden_layers=2) | more))), cls, types=True, seed=3100, **options)


V3 = dict(relative_attention=True, position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type=["p2c", "c2p"], position_biased_input=False, max_relative_positions=-1)


@folder("deberta-v3", "deberta-v3-hub", "deberta-v3-classify", "deberta-v3-tokens", "deberta-v3-masked", "deberta-v3-answer", "deberta-v2", "deberta-v2-absolute", "deberta-v2-masked", "deberta-v2-queries")
def _(out, name):
    """Version 3 has buckets of distances, which share the projections of the tokens; deberta-v3-hub is as its authors
    publish it. Version 2 is here with projections for distances, with one of the two products, and without any."""
    old = dict(relative_attention=True, pos_att_type=["p2c", "c2p"], max_relative_positions=6, type_vocab_size=2)
    cls, more = {
        "deberta-v3": (hf.DebertaV2Model, V3 | {"num_hidden_layers": 2}),
        "deberta-v3-hub": (hf.DebertaV2Model, V3),
        "deberta-v3-classify": (hf.DebertaV2ForSequenceClassification, V3 | {"num_labels": 1}),
        "deberta-v3-tokens": (hf.DebertaV2ForTokenClassification, V3 | {"num_labels": 3}),
        "deberta-v3-masked": (hf.DebertaV2ForMaskedLM, V3 | {"legacy": False, "type_vocab_size": 2}),
        "deberta-v3-answer": (hf.DebertaV2ForQuestionAnswering, V3),
        "deberta-v2": (hf.DebertaV2Model, old),
        "deberta-v2-absolute": (hf.DebertaV2Model, {"type_vocab_size": 1, "pos_att_type": ["c2p"]}),
        "deberta-v2-masked": (hf.DebertaV2ForMaskedLM, old),
        "deberta-v2-queries": (hf.DebertaV2Model, old | {"pos_att_type": ["p2c"], "max_relative_positions": -1, "norm_rel_ebd": "layer_norm"}),
    }[name]
    c = hf.DebertaV2Config(**(SMALL | more))

    def published(c):
        for k in ("architectures", "legacy"):
            c.pop(k)
        c.update(pos_att_type="p2c|c2p", layer_norm_eps=1e-7)

    def rename(w):
        w = {"deberta." + k: v for k, v in w.items()} | {"deberta.embeddings.position_embeddings.weight": torch.ones(32, 32)}
        return w | {"lm_predictions.lm_head.bias": torch.ones(101), "mask_predictions.dense.weight": torch.ones(32, 32)}

    options = {"published": {"config": published, "rename": rename}} if name == "deberta-v3-hub" else {"sentence": ["mean"]} if name == "deberta-v3" else {}
    encoder(out, name, cls(c), cls, types=c.type_vocab_size > 1, seed=3200, **options)


ROTARY = dict(rope_parameters={"rope_type": "linear", "factor": 8.0 ** (2 / 8), "rope_theta": 160000.0}, max_position_embeddings=64)


@folder("gte", "gte-classify", "gte-tokens", "gte-masked", "gte-masked-untied", "gte-hub", "gte-hub-classify")
def _(out, name):
    """gte-hub and gte-hub-classify have the names and the configuration that Alibaba publishes, whose scaling of kind ntk is
    that of transformers' linear kind with another base."""
    cls, more = {
        "gte": (hf.GteModel, {"num_hidden_layers": 2, "rope_parameters": {"rope_type": "default", "rope_theta": 160000.0}}),
        "gte-classify": (hf.GteForSequenceClassification, {"num_labels": 1}),
        "gte-tokens": (hf.GteForTokenClassification, {"num_labels": 3, "type_vocab_size": 0}),
        "gte-masked": (hf.GteForMaskedLM, {}),
        "gte-masked-untied": (hf.GteForMaskedLM, {"tie_word_embeddings": False, "hidden_act": "silu"}),
        "gte-hub": (hf.GteModel, {}),
        "gte-hub-classify": (hf.GteForSequenceClassification, {"num_labels": 1}),
    }[name]
    c = hf.GteConfig(**(SMALL | ROTARY | {"type_vocab_size": 2} | more))

    def published(c):
        for k in ("rope_parameters", "tie_word_embeddings"):
            c.pop(k)
        c.update(model_type="new", architectures=["New" + c["architectures"][0].removeprefix("Gte")], rope_theta=20000, rope_scaling={"type": "ntk", "factor": 8.0}, position_embedding_type="rope",
                 layer_norm_type="layer_norm", logn_attention_clip1=False, logn_attention_scale=False, pack_qkv=True, unpad_inputs=False, use_memory_efficient_attention=False)

    options = {"published": {"config": published, "rename": gte_published}} if "hub" in name else {"sentence": ["cls"]} if name == "gte" else {}
    encoder(out, name, cls(c), cls, types=c.type_vocab_size > 1, seed=3300, **options)


def gte_published(w):
    """The weights with the published names: queries, keys and values in one, as the two sides of the gate."""
    new = {}
    for k, v in w.items():
        if ".k_proj." in k or ".v_proj." in k or ".gate_proj." in k:
            continue
        if ".q_proj." in k:
            v = torch.cat([w[k.replace("q_proj", p)] for p in ("q_proj", "k_proj", "v_proj")])
        if ".up_proj." in k:
            v = torch.cat([v, w[k.replace("up_proj", "gate_proj")]])
        for a, b in (("self_attn.q_proj", "attention.qkv_proj"), ("self_attn.o_proj", "attention.o_proj"), ("mlp.up_proj", "mlp.up_gate_proj"), ("post_attention_layernorm", "attn_ln"), ("post_mlp_layernorm", "mlp_ln")):
            k = k.replace(a, b)
        k = k.removeprefix("gte.")
        new[k if k.startswith("classifier") else "new." + ("encoder.layer." + k.removeprefix("layers.") if k.startswith("layers.") else k)] = v
    return new


@folder("eurobert", "eurobert-classify", "eurobert-classify-mean", "eurobert-classify-bos", "eurobert-tokens", "eurobert-masked", "eurobert-masked-tied")
def _(out, name):
    cls, more = {
        "eurobert": (hf.EuroBertModel, {"num_hidden_layers": 2}),
        "eurobert-classify": (hf.EuroBertForSequenceClassification, {"num_labels": 3}),
        "eurobert-classify-mean": (hf.EuroBertForSequenceClassification, {"num_labels": 2, "classifier_pooling": "mean"}),
        "eurobert-classify-bos": (hf.EuroBertForSequenceClassification, {"num_labels": 1, "classifier_pooling": "bos"}),
        "eurobert-tokens": (hf.EuroBertForTokenClassification, {"num_labels": 3}),
        "eurobert-masked": (hf.EuroBertForMaskedLM, {"attention_bias": True, "mlp_bias": True}),
        "eurobert-masked-tied": (hf.EuroBertForMaskedLM, {"tie_word_embeddings": True, "head_dim": 12}),
    }[name]
    c = hf.EuroBertConfig(**(SMALL | dict(num_key_value_heads=2, rope_parameters={"rope_type": "default", "rope_theta": 250000.0}, bos_token_id=1, eos_token_id=2, mask_token_id=3) | more))
    encoder(out, name, cls(c), cls, seed=3400, **({"sentence": ["mean"]} if name == "eurobert" else {}))
