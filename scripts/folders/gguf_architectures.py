"""What single architectures have in files of llama.cpp: metadata, and tensors in another form than the folder's."""

import gguf
import numpy
import torch

import deltanet


def gemma3n(w, c):
    """What Gemma 3n has beside Gemma 3."""
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count_kv(c["num_key_value_heads"])
    w.add_altup_active_idx(c["altup_active_idx"])
    w.add_altup_num_inputs(c["altup_num_inputs"])
    w.add_embedding_length_per_layer_input(c["hidden_size_per_layer_input"])
    w.add_shared_kv_layers(c["num_kv_shared_layers"])
    w.add_activation_sparsity_scale([torch.distributions.normal.Normal(0, 1).icdf(torch.tensor(s)).item() for s in c["activation_sparsity_pattern"]])
    w.add_sliding_window_pattern([t == "sliding_attention" for t in c["layer_types"]])
    w.add_final_logit_softcapping(c["final_logit_softcapping"])
    layers, kv = c["num_hidden_layers"], c["num_key_value_heads"] * c["head_dim"]
    for i in range(layers - c["num_kv_shared_layers"], layers):  # published files have these, which nothing reads
        w.add_tensor(f"blk.{i}.attn_k.weight", numpy.zeros((kv, c["hidden_size"]), numpy.float32))
        w.add_tensor(f"blk.{i}.attn_v.weight", numpy.zeros((kv, c["hidden_size"]), numpy.float32))
        w.add_tensor(f"blk.{i}.attn_k_norm.weight", numpy.zeros(c["head_dim"], numpy.float32))


ALTUP = ("altup_projections", "altup_unembed_projections")


def altup_joined(weights):
    """The projections of Gemma 3n's streams in one tensor at each end."""
    new = {k: x for k, x in weights.items() if not any(name in k for name in ALTUP)}
    for name in ALTUP:
        parts = [weights[k] for k in sorted(weights) if f".{name}." in k]
        if parts:
            new[f"model.{name}.weight"] = torch.stack(parts)
    return new


def altup_parted(back):
    """Takes them apart again."""
    for name in ALTUP:
        for i, x in enumerate(back.pop(f"model.{name}.weight", [])):
            back[f"model.{name}.{i}.weight"] = x


def gemma4(w, c):
    """What layers of Gemma 4 have, which differ from each other."""
    types, shared, full = c["layer_types"], c["num_kv_shared_layers"], next(iter(c["per_layer_config"].values()))
    n, layers, head_dim = c["intermediate_size"], len(types), full["head_dim"]
    w.add_feed_forward_length([n if i < layers - shared else 2 * n for i in range(layers)] if c["use_double_wide_mlp"] else n)
    kv = c["num_key_value_heads"]
    w.add_head_count_kv([kv if t == "sliding_attention" else full["num_key_value_heads"] for t in types] if "num_key_value_heads" in full else kv)
    w.add_shared_kv_layers(shared)
    w.add_embedding_length_per_layer_input(c["hidden_size_per_layer_input"])
    w.add_sliding_window_pattern([t == "sliding_attention" for t in types])
    w.add_key_length(head_dim)
    w.add_value_length(head_dim)
    w.add_key_length_swa(c["head_dim"])
    w.add_value_length_swa(c["head_dim"])
    w.add_rope_dimension_count(head_dim)
    w.add_rope_dimension_count_swa(c["head_dim"])
    if c["final_logit_softcapping"]:
        w.add_final_logit_softcapping(c["final_logit_softcapping"])
    turned = int(head_dim * c["rope_parameters"]["full_attention"]["partial_rotary_factor"] / 2)
    w.add_tensor("rope_freqs.weight", numpy.array([1] * turned + [1e30] * (head_dim // 2 - turned), numpy.float32))


def more(w, c):
    """What only some architectures have."""
    kind = c["model_type"]
    count = c.get("num_experts") or c.get("num_local_experts")
    if count:
        w.add_expert_count(count)
        w.add_expert_used_count(c.get("top_k_experts") or c["num_experts_per_tok"])
    if count and kind in ("gemma4_text", "qwen2_moe", "qwen3_moe", "gpt_oss", "lfm2_moe"):
        w.add_expert_feed_forward_length(c.get("moe_intermediate_size") or c["intermediate_size"])
    if kind in ("qwen2_moe", "qwen3_5_moe_text", "qwen3_next"):
        w.add_expert_shared_feed_forward_length(c["shared_expert_intermediate_size"])
    if kind.startswith("granite"):
        w.add_embedding_scale(c["embedding_multiplier"])
        w.add_residual_scale(c["residual_multiplier"])
        w.add_attention_scale(c["attention_multiplier"])
        w.add_logit_scale(c["logits_scaling"])
    if kind == "granitemoehybrid":
        w.add_expert_shared_feed_forward_length(c["shared_intermediate_size"])
    if "mamba_d_conv" in c:
        mamba(w, c)
    if "linear_conv_kernel_dim" in c:
        deltanet.metadata(w, c)
    if "kv_lora_rank" in c:
        latent(w, c)
    if kind == "lfm2_moe":
        w.add_leading_dense_block_count(c["num_dense_layers"])
        w.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    if kind == "granite_swa":
        w.add_array("granite_swa.attention.rope_pattern", [theta != 0 for theta in c["layer_rope_theta"]])
    if kind == "nemotron_h":
        w.add_layer_norm_eps(c["layer_norm_epsilon"])
        if "moe" in c["layers_block_type"]:
            nemotron_experts(w, c)
    if kind == "cohere2":
        w.add_logit_scale(c["logit_scale"])
    if kind == "gpt_neox":
        w.add_parallel_residual(c["use_parallel_residual"])


def latent(w, c):
    """The sizes of DeepSeek's latent attention, whose keys and values count as those of one head, and its mixture."""
    w.add_q_lora_rank(c["q_lora_rank"])
    w.add_kv_lora_rank(c["kv_lora_rank"])
    w.add_key_length(c["kv_lora_rank"] + c["qk_rope_head_dim"])
    w.add_value_length(c["kv_lora_rank"])
    w.add_key_length_mla(c["qk_nope_head_dim"] + c["qk_rope_head_dim"])
    w.add_value_length_mla(c["v_head_dim"])
    w.add_leading_dense_block_count(c["first_k_dense_replace"])
    w.add_expert_count(c["n_routed_experts"])
    w.add_expert_used_count(c["num_experts_per_tok"])
    w.add_expert_feed_forward_length(c["moe_intermediate_size"])
    w.add_expert_shared_count(c["n_shared_experts"])
    w.add_expert_weights_scale(c["routed_scaling_factor"])
    w.add_expert_weights_norm(c["norm_topk_prob"])
    w.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    w.add_expert_group_count(c["n_group"])
    w.add_expert_group_used_count(c["topk_group"])


def nemotron_experts(w, c):
    """The sizes of Nemotron-H's mixture. That experts are weighed by sigmoids is not in files."""
    w.add_expert_count(c["n_routed_experts"])
    w.add_expert_used_count(c["num_experts_per_tok"])
    w.add_expert_feed_forward_length(c["moe_intermediate_size"])
    w.add_expert_shared_feed_forward_length(c["moe_shared_expert_intermediate_size"])
    w.add_expert_shared_count(c["n_shared_experts"])
    w.add_expert_weights_norm(c["norm_topk_prob"])
    w.add_expert_weights_scale(c["routed_scaling_factor"])
    w.add_expert_group_count(c["n_group"])
    if c["moe_latent_size"]:
        w.add_moe_latent_size(c["moe_latent_size"])


def latent_parts(weights, c):
    """The weights with the projections from latent vectors apart, those to keys transposed by head."""
    new, plain = {}, c["qk_nope_head_dim"]
    for k, x in weights.items():
        layer = k.split(".")[2:3]
        if k.endswith("kv_b_proj.weight"):
            x = x.reshape(c["num_attention_heads"], -1, x.shape[-1])
            new[f"blk.{layer[0]}.attn_k_b.weight"], new[f"blk.{layer[0]}.attn_v_b.weight"] = x[:, :plain].transpose(1, 2).contiguous(), x[:, plain:].contiguous()
        else:
            new[k] = x
    return new


def mamba2(c):
    """The configuration of Mamba-2 or Nemotron-H with the names that hybrid models have. llama.cpp writes a length of contexts that nothing limits."""
    if c["model_type"] == "mamba2":
        c = c | dict(ssm_state_size=c["state_size"], mamba_num_heads=c["num_heads"], mamba_head_dim=c.pop("head_dim"), layers_block_type=["linear_attention"] * c["num_hidden_layers"],
                     num_attention_heads=0, intermediate_size=0, max_position_embeddings=1 << 20)
    return c | dict(num_hidden_layers=len(c["layers_block_type"]), rms_norm_eps=c["layer_norm_epsilon"], rope_theta=10000.0, mamba_d_conv=c["conv_kernel"], mamba_d_state=c["ssm_state_size"],
                    mamba_n_groups=c["n_groups"], mamba_d_ssm=c["mamba_num_heads"] * c["mamba_head_dim"], mamba_n_heads=c["mamba_num_heads"])


def mamba(w, c):
    """The sizes of Mamba-2."""
    w.add_ssm_conv_kernel(c["mamba_d_conv"])
    w.add_ssm_state_size(c["mamba_d_state"])
    w.add_ssm_group_count(c["mamba_n_groups"])
    w.add_ssm_inner_size(c.get("mamba_d_ssm") or c["mamba_expand"] * c["hidden_size"])
    w.add_ssm_time_step_rank(c["mamba_n_heads"])


# llama.cpp's names of tensors, by the ends of transformers' names.
MAMBA = {"mamba.dt_bias": "ssm_dt.bias", "mamba.A_log": "ssm_a", "mamba.D": "ssm_d"}


def to_mamba(own, x, c):
    """A tensor of Mamba-2 as llama.cpp has it."""
    if own.endswith("ssm_a"):
        return -numpy.exp(x)[:, None]
    if own.endswith("ssm_d"):
        return x[:, None]
    if "ssm_conv1d.weight" in own:
        return x[:, 0]
    if "ssm_norm" in own:
        return x.reshape(c["mamba_n_groups"], -1)
    return x


def folded(weights, c):
    """The weights of Falcon-H1 times its multipliers, as llama.cpp has them."""
    inner, bc = c["mamba_d_ssm"], c["mamba_n_groups"] * c["mamba_d_state"]
    parts = torch.cat([torch.full((n,), m) for n, m in zip((inner, inner, bc, bc, c["mamba_n_heads"]), c["ssm_multipliers"])])
    a = c["attention_in_multiplier"]
    by = {"feed_forward.down_proj": c["mlp_multipliers"][1], "feed_forward.gate_proj": c["mlp_multipliers"][0], "k_proj": a * c["key_multiplier"], "q_proj": a, "v_proj": a,
          "o_proj": c["attention_out_multiplier"], "mamba.out_proj": c["ssm_out_multiplier"], "mamba.in_proj": c["ssm_in_multiplier"] * parts[:, None],
          "lm_head": c["lm_head_multiplier"], "embed_tokens": c["embedding_multiplier"]}
    return {k: x.float() * next((m for part, m in by.items() if k.endswith(part + ".weight")), 1.0) for k, x in weights.items()}


def llama3_factors(rope, head_dim):
    """What Llama 3's frequencies are divided by."""
    f = rope["rope_theta"] ** (-numpy.arange(0, head_dim, 2) / head_dim)
    turns = rope["original_max_position_embeddings"] * f / (2 * numpy.pi)
    fast = numpy.clip((turns - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"]), 0, 1)
    return (1 / ((1 - fast) / rope["factor"] + fast)).astype(numpy.float32)


def vocabulary(w, c):
    """A vocabulary of made-up tokens."""
    n = c["vocab_size"]
    w.add_tokenizer_model("llama")
    w.add_tokenizer_pre("default")
    w.add_token_list(["<unk>", "<s>", "</s>"] + [f"▁t{i}" for i in range(3, n)])
    w.add_token_scores([float(-i) for i in range(n)])
    w.add_token_types([gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL] + [gguf.TokenType.NORMAL] * (n - 3))
    w.add_bos_token_id(1)
    w.add_eos_token_id(c["eos_token_id"])
    w.add_add_bos_token(True)
