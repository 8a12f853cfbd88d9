"""Decoders with gated DeltaNets in most layers: Qwen3.5 and Qwen3-Next."""

import numpy
import torch
import transformers as hf

from decoders import EOS, decoder, llama, rope
from folder import folder

LINEAR = dict(num_hidden_layers=4, head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=6)
EXPERTS = dict(num_experts=5, num_experts_per_tok=2, moe_intermediate_size=12, shared_expert_intermediate_size=20)
IMAGE = dict(depth=1, hidden_size=16, intermediate_size=24, num_heads=2, out_hidden_size=32, patch_size=4, num_position_embeddings=16)
GGUF_EXPERTS = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=64)
AXES = dict(head_dim=32, rope_parameters=rope("default", 1000000.0, partial_rotary_factor=0.5, mrope_section=[3, 3, 2], mrope_interleaved=True))  # pairs that turn by all axes
HOW = dict(norm=0.0, scale=[("linear_attn.norm", 5)])
GGUF_HOW = dict(norm=0.0, scale=[("linear_attn.norm", 2)])


def text(cls, **more):
    return llama(cls, **(LINEAR | dict(rope_parameters=rope("default", 1000000.0, partial_rotary_factor=0.25, mrope_section=[1, 1, 0], mrope_interleaved=True)) | more))


def gguf_config(cls, **more):
    """Key and value heads of one width, of which rows fill blocks."""
    return text(cls, **(dict(linear_key_head_dim=16, linear_value_head_dim=16) | more))


@folder("qwen3_5_text", "qwen3_5_text-first", "qwen3_5_moe_text")
def _(out, name):
    """qwen3_5_text-first begins and ends with attention, which has biases, and turns half of each head; its convolutions mix two rows, and each key head has
    one value head."""
    if name == "qwen3_5_text-first":
        c = text(hf.Qwen3_5TextConfig, num_hidden_layers=3, layer_types=["full_attention", "linear_attention", "full_attention"], attention_bias=True, linear_conv_kernel_dim=2, linear_num_value_heads=2,
                 rope_parameters=rope("default", partial_rotary_factor=0.5), tie_word_embeddings=True)
        return decoder(out, name, hf.Qwen3_5ForCausalLM(c), hf.Qwen3_5ForCausalLM, seed=4100, **HOW)
    if name == "qwen3_5_moe_text":
        c = text(hf.Qwen3_5MoeTextConfig, **EXPERTS)
        return decoder(out, name, hf.Qwen3_5MoeForCausalLM(c), hf.Qwen3_5MoeForCausalLM, seed=4110, **HOW)
    decoder(out, name, hf.Qwen3_5ForCausalLM(text(hf.Qwen3_5TextConfig)), hf.Qwen3_5ForCausalLM, seed=4120, **HOW)


@folder("qwen3_5", "qwen3_5_moe")
def _(out, name):
    """As published: within the model that reads images too."""
    moe = name == "qwen3_5_moe"
    one, whole, cls = (hf.Qwen3_5MoeTextConfig, hf.Qwen3_5MoeConfig, hf.Qwen3_5MoeForConditionalGeneration) if moe else (hf.Qwen3_5TextConfig, hf.Qwen3_5Config, hf.Qwen3_5ForConditionalGeneration)
    inner = text(one, num_hidden_layers=2, full_attention_interval=2, tie_word_embeddings=not moe, **(EXPERTS if moe else {})).to_dict()
    c = whole(text_config=inner, vision_config=IMAGE, image_token_id=96, video_token_id=97, vision_start_token_id=98, vision_end_token_id=99, eos_token_id=EOS, tie_word_embeddings=not moe)
    decoder(out, name, cls(c), cls, seed=4130, **HOW)


@folder("qwen3_next", "qwen3_next-dense")
def _(out, name):
    """qwen3_next-dense has experts in one layer of four, since one is excepted, whose weights do not add up to 1."""
    more = dict(decoder_sparse_step=2, mlp_only_layers=[1], norm_topk_prob=False) if name == "qwen3_next-dense" else {}
    c = text(hf.Qwen3NextConfig, rope_parameters=rope("default", 1000000.0, partial_rotary_factor=0.25), **EXPERTS, **more)
    decoder(out, name, hf.Qwen3NextForCausalLM(c), hf.Qwen3NextForCausalLM, seed=4140, **HOW)


# llama.cpp's converter changes the tensors of gated DeltaNets; the functions below do the same.


def alternate(x, c, axis, width):
    """x with the value heads, width wide along an axis, in turns of the key heads that they belong to, in the place of key head by key head."""
    keys, each = c["linear_num_key_heads"], c["linear_num_value_heads"] // c["linear_num_key_heads"]
    x = x.swapaxes(0, axis)
    return x.reshape(keys, each, width, *x.shape[1:]).swapaxes(0, 1).reshape(x.shape).swapaxes(0, axis)


def grouped(x, c, axis, width):
    """The inverse of alternate."""
    keys, each = c["linear_num_key_heads"], c["linear_num_value_heads"] // c["linear_num_key_heads"]
    x = x.swapaxes(0, axis)
    return x.reshape(each, keys, width, *x.shape[1:]).swapaxes(0, 1).reshape(x.shape).swapaxes(0, axis)


def heads(hub, x, c, order):
    """x with its value heads in another order: that of alternate or grouped."""
    width, keys = c["linear_value_head_dim"], 2 * c["linear_num_key_heads"] * c["linear_key_head_dim"]
    if "linear_attn." not in hub or c["model_type"] == "qwen3_next":
        return x
    if "in_proj_qkv." in hub or "conv1d" in hub:
        return numpy.concatenate([x[:keys], order(x[keys:], c, 0, width)])
    if "in_proj_z." in hub:
        return order(x, c, 0, width)
    if "out_proj" in hub:
        return order(x, c, 1, width)
    return x if "linear_attn.norm" in hub else order(x, c, 0, 1)


def to_file(hub, x, c):
    """x as the file has it."""
    if hub.endswith("norm.weight") and "linear_attn.norm" not in hub:
        x = x + 1
    if hub.endswith("A_log"):
        x = -numpy.exp(x)
    return numpy.ascontiguousarray(heads(hub, x[:, 0] if "conv1d" in hub else x, c, alternate))


def from_file(hub, x, c):
    """The inverse of to_file."""
    x = heads(hub, x, c, grouped)
    if hub.endswith("norm.weight") and "linear_attn.norm" not in hub:
        x = x - 1
    if hub.endswith("A_log"):
        x = numpy.log(-x)
    return numpy.ascontiguousarray(x[:, None] if "conv1d" in hub else x)


def split(k, x, c):
    """The projections of Qwen3-Next, by key head, as the two that the file has: or nothing."""
    if not k.endswith("in_proj_qkvz.weight"):
        return {}
    n, width, each = c["linear_num_key_heads"], c["linear_key_head_dim"], c["linear_num_value_heads"] // c["linear_num_key_heads"] * c["linear_value_head_dim"]
    q, k_, v, z = x.reshape(n, -1, x.shape[1]).split([width, width, each, each], 1)
    layer = k.split(".")[2]
    flat = [p.reshape(-1, x.shape[1]) for p in (q, k_, v)]
    return {f"blk.{layer}.attn_qkv.weight": torch.cat(flat), f"blk.{layer}.attn_gate.weight": z.reshape(-1, x.shape[1])}


def join(back, c):
    """The inverse of split, for all layers."""
    n, width, each = c["linear_num_key_heads"], c["linear_key_head_dim"], c["linear_num_value_heads"] // c["linear_num_key_heads"] * c["linear_value_head_dim"]
    for i in range(c["num_hidden_layers"]):
        qkv, z = back.pop(f"blk.{i}.attn_qkv.weight", None), back.pop(f"blk.{i}.attn_gate.weight", None)
        if qkv is not None:
            q, k, v = qkv.split([n * width, n * width, n * each])
            back[f"model.layers.{i}.linear_attn.in_proj_qkvz.weight"] = torch.cat([p.reshape(n, -1, z.shape[1]) for p in (q, k, v, z)], 1).reshape(-1, z.shape[1])


def metadata(w, c):
    w.add_ssm_conv_kernel(c["linear_conv_kernel_dim"])
    w.add_ssm_state_size(c["linear_key_head_dim"])
    w.add_ssm_group_count(c["linear_num_key_heads"])
    w.add_ssm_time_step_rank(c["linear_num_value_heads"])
    w.add_ssm_inner_size(c["linear_value_head_dim"] * c["linear_num_value_heads"])
    w.add_full_attention_interval(4)
    if c["model_type"] != "qwen3_next":
        w.add_rope_dimension_sections(c["rope_parameters"].get("mrope_section", [1, 1, 0]) + [0])
