"""Decoders with a mixture of experts."""

import torch
import transformers as hf

from decoders import decoder, llama, old_rope, rope
from folder import folder

EXPERTS = dict(num_experts_per_tok=2)


@folder("qwen3_moe", "qwen3_moe-dense")
def _(out, name):
    """qwen3_moe is as Qwen 3 is published; qwen3_moe-dense has windows, biases, weights that do not add up to 1, and
    experts in one layer of four, since one is excepted."""
    more = dict(num_experts=6, norm_topk_prob=True, head_dim=12)
    if name == "qwen3_moe-dense":
        more = dict(num_experts=5, num_hidden_layers=4, decoder_sparse_step=2, mlp_only_layers=[3], use_sliding_window=True, sliding_window=5, attention_bias=True, tie_word_embeddings=True)
    c = llama(hf.Qwen3MoeConfig, moe_intermediate_size=24, **EXPERTS, **more)
    decoder(out, name, hf.Qwen3MoeForCausalLM(c), hf.Qwen3MoeForCausalLM, seed=3700, config=old_rope if name == "qwen3_moe" else None)


@folder("qwen2_moe", "qwen2_moe-window")
def _(out, name):
    """An expert beside the others that every token takes; qwen2_moe-window has windows in some layers, and experts in
    every second."""
    more = dict(num_experts=6) if name == "qwen2_moe" else dict(num_experts=4, num_hidden_layers=4, decoder_sparse_step=2, use_sliding_window=True, sliding_window=5, max_window_layers=3, qkv_bias=False, norm_topk_prob=True)
    c = llama(hf.Qwen2MoeConfig, moe_intermediate_size=24, shared_expert_intermediate_size=40, **EXPERTS, **more)

    def config(c):
        old_rope(c)
        c.pop("layer_types", None)

    decoder(out, name, hf.Qwen2MoeForCausalLM(c), hf.Qwen2MoeForCausalLM, seed=3710, config=config)


@folder("mixtral", "mixtral-window")
def _(out, name):
    more = dict() if name == "mixtral" else dict(sliding_window=5, tie_word_embeddings=True, head_dim=12)
    c = llama(hf.MixtralConfig, num_local_experts=4, **EXPERTS, **more)
    decoder(out, name, hf.MixtralForCausalLM(c), hf.MixtralForCausalLM, seed=3720, config=old_rope)


@folder("granitemoe")
def _(out, name):
    c = llama(hf.GraniteMoeConfig, num_local_experts=5, embedding_multiplier=3.0, logits_scaling=2.0, residual_multiplier=0.4, attention_multiplier=0.25, **EXPERTS)
    decoder(out, name, hf.GraniteMoeForCausalLM(c), hf.GraniteMoeForCausalLM, seed=3730, config=old_rope)


@folder("lfm2_moe", "lfm2_moe-plain")
def _(out, name):
    """One dense layer, and experts with a correction; lfm2_moe-plain has none, weights that do not add up to 1, and a scale."""
    more = dict(num_experts=6, num_dense_layers=1) if name == "lfm2_moe" else dict(num_experts=5, num_dense_layers=2, use_expert_bias=False, norm_topk_prob=False, routed_scaling_factor=1.7, conv_bias=True, tie_word_embeddings=False)
    c = llama(hf.Lfm2MoeConfig, num_hidden_layers=3, moe_intermediate_size=24, layer_types=["conv", "full_attention", "conv"], **EXPERTS, **more)
    decoder(out, name, hf.Lfm2MoeForCausalLM(c), hf.Lfm2MoeForCausalLM, seed=3735, config=old_rope if name == "lfm2_moe" else None)


@folder("deepseek_v3", "deepseek_v3-plain")
def _(out, name):
    """One dense layer, and experts in groups; deepseek_v3-plain has queries that are not narrowed, biases, rotary pairs half a head apart, and scaled positions."""
    more = dict(num_hidden_layers=2, first_k_dense_replace=1, q_lora_rank=20, n_routed_experts=8, n_group=4, topk_group=2)
    if name == "deepseek_v3-plain":
        p = rope("yarn", factor=4.0, original_max_position_embeddings=16, mscale=1.0, mscale_all_dim=0.8)
        more = dict(num_hidden_layers=2, first_k_dense_replace=0, q_lora_rank=None, n_routed_experts=5, n_group=1, topk_group=1, norm_topk_prob=False, attention_bias=True, rope_interleave=False, rope_parameters=p, n_shared_experts=2, tie_word_embeddings=True)
    c = llama(hf.DeepseekV3Config, num_key_value_heads=4, moe_intermediate_size=16, kv_lora_rank=12, qk_rope_head_dim=8, qk_nope_head_dim=10, v_head_dim=14, **EXPERTS, **more)
    decoder(out, name, hf.DeepseekV3ForCausalLM(c), hf.DeepseekV3ForCausalLM, seed=3737)


MXFP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def mxfp4(w):
    """The codes, [..., n], and the exponents, [..., n/32], of w, [..., n]: 4 bits each, with a power of two for 32."""
    b = w.float().reshape(*w.shape[:-1], -1, 32)
    exponent = torch.floor(torch.log2(b.abs().amax(-1, keepdim=True).clamp(min=2.0**-100))) - 2
    scaled = b / 2**exponent
    codes = (scaled.abs()[..., None] - MXFP4).abs().argmin(-1) + 8 * (scaled < 0)
    return codes.reshape(w.shape), exponent[..., 0]


def rounded(codes, exponent):
    x = MXFP4[codes & 7] * torch.where(codes > 7, -1.0, 1.0)
    return (x.reshape(*exponent.shape, 32) * 2 ** exponent[..., None]).reshape(codes.shape)


def blocks(weights):
    """The weights with the experts' as gpt-oss is published: the codes of two neighbours in a byte."""
    new = {}
    for k, w in weights.items():
        if not k.endswith(("gate_up_proj", "down_proj")):
            new[k] = w
            continue
        codes, exponent = mxfp4(w.transpose(1, 2))  # [experts, out, in]
        assert torch.equal(rounded(codes, exponent), w.transpose(1, 2).float())
        bytes_ = (codes[..., 0::2] | codes[..., 1::2] << 4).to(torch.uint8)
        new[k + "_blocks"] = bytes_.reshape(*exponent.shape, 16).contiguous()
        new[k + "_scales"] = (exponent + 127).to(torch.uint8)
    return new


def gpt_oss(**more):
    return llama(hf.GptOssConfig, hidden_size=64, intermediate_size=32, num_local_experts=5, head_dim=16, sliding_window=5, **more,
                 rope_parameters=rope("yarn", 150000.0, factor=4.0, beta_fast=32.0, beta_slow=1.0, truncate=False, original_max_position_embeddings=16), **EXPERTS)


def round_mxfp4(model):
    """Makes the experts' weights what MXFP4 holds."""
    for k, p in model.named_parameters():
        if k.endswith(("gate_up_proj", "down_proj")):
            p.data = rounded(*mxfp4(p.data.transpose(1, 2))).transpose(1, 2).contiguous()


@folder("gpt_oss", "gpt_oss-mxfp4")
def _(out, name):
    """gpt_oss-mxfp4 has the experts in blocks of 4 bits, and the rotary positions of the hub. The limit of the experts' values
    is so low that it counts."""

    def published(c):
        old_rope(c)
        c.update(quantization_config=dict(quant_method="mxfp4", modules_to_not_convert=["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]))

    how = {"after": round_mxfp4, "published": {"config": published, "rename": blocks}} if name == "gpt_oss-mxfp4" else {}
    decoder(out, name, hf.GptOssForCausalLM(gpt_oss(swiglu_limit=1.5)), hf.GptOssForCausalLM, seed=3740, scale=[("sinks", 5)], **how)
