"""Files in the format of llama.cpp, written by Python's gguf package from model folders: its names of
metadata and tensors, its order of Llama's query and key rows, its weights of Gemma's normalizations."""

import json
import os
import tempfile

import gguf
import numpy
import torch
import transformers as hf
from safetensors.torch import load_file

import decoders
import deltanet
import experts
from folder import BUILD, Folder, folder
from gguf_architectures import MAMBA, altup_joined, altup_parted, folded, gemma3n, gemma4, latent_parts, llama3_factors, mamba2, more, to_mamba, vocabulary

ARCHITECTURES = {"llama": gguf.MODEL_ARCH.LLAMA, "mistral": gguf.MODEL_ARCH.LLAMA, "qwen2": gguf.MODEL_ARCH.QWEN2, "qwen3": gguf.MODEL_ARCH.QWEN3, "gemma": gguf.MODEL_ARCH.GEMMA, "gemma2": gguf.MODEL_ARCH.GEMMA2, "gemma3_text": gguf.MODEL_ARCH.GEMMA3, "phi3": gguf.MODEL_ARCH.PHI3,
                 "mixtral": gguf.MODEL_ARCH.LLAMA, "smollm3": gguf.MODEL_ARCH.SMOLLM3, "olmo2": gguf.MODEL_ARCH.OLMO2, "olmo3": gguf.MODEL_ARCH.OLMO2, "glm4": gguf.MODEL_ARCH.GLM4, "ministral3": gguf.MODEL_ARCH.MISTRAL3, "ernie4_5": gguf.MODEL_ARCH.ERNIE4_5, "exaone4": gguf.MODEL_ARCH.EXAONE4, "hunyuan_v1_dense": gguf.MODEL_ARCH.HUNYUAN_DENSE, "granite": gguf.MODEL_ARCH.GRANITE, "granitemoe": gguf.MODEL_ARCH.GRANITE_MOE, "cohere2": gguf.MODEL_ARCH.COHERE2,
                 "phi": gguf.MODEL_ARCH.PHI2, "gpt_neox": gguf.MODEL_ARCH.GPTNEOX, "starcoder2": gguf.MODEL_ARCH.STARCODER2, "qwen2_moe": gguf.MODEL_ARCH.QWEN2MOE, "qwen3_moe": gguf.MODEL_ARCH.QWEN3MOE, "gpt_oss": gguf.MODEL_ARCH.GPT_OSS, "granitemoehybrid": gguf.MODEL_ARCH.GRANITE_HYBRID, "falcon_h1": gguf.MODEL_ARCH.FALCON_H1, "lfm2": gguf.MODEL_ARCH.LFM2, "qwen3_5_text": gguf.MODEL_ARCH.QWEN35, "qwen3_5_moe_text": gguf.MODEL_ARCH.QWEN35MOE, "qwen3_next": gguf.MODEL_ARCH.QWEN3NEXT, "lfm2_moe": gguf.MODEL_ARCH.LFM2MOE, "gemma3n_text": gguf.MODEL_ARCH.GEMMA3N, "gemma4_text": gguf.MODEL_ARCH.GEMMA4,
                 "deepseek_v3": gguf.MODEL_ARCH.DEEPSEEK2, "mamba2": gguf.MODEL_ARCH.MAMBA2, "nemotron_h": gguf.MODEL_ARCH.NEMOTRON_H, "granite_swa": gguf.MODEL_ARCH.GRANITE}  # which the package does not know
# Tensors that the gguf package finds no name for: their names within a layer, and the names in the file.
RENAMED = {"altup.correct_output_scale": "altup_correct_scale.weight", "layer_scalar": "layer_output_scale.weight", "router.scale": "ffn_gate_inp.scale", "router.per_expert_scale": "ffn_down_exps.scale", "experts.gate_up_proj": "ffn_gate_up_exps.weight", "experts.down_proj": "ffn_down_exps.weight"}
NEIGHBOURS = ("llama", "mistral", "ministral3", "mixtral", "smollm3", "granite", "granitemoe", "granitemoehybrid", "granite_swa")  # rotary pairs are neighbours
GEMMA = (gguf.MODEL_ARCH.GEMMA, gguf.MODEL_ARCH.GEMMA2, gguf.MODEL_ARCH.GEMMA3, gguf.MODEL_ARCH.GEMMA_EMBEDDING)  # norms of 1+w
TYPES = gguf.GGMLQuantizationType


def permute(w, heads):
    """Rows of rotary heads whose pairs are neighbours, from rows whose pairs are half a head apart."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def quantize(w, kind):
    """w, [rows, columns], in blocks of the given type."""
    if kind not in (TYPES.Q4_K, TYPES.Q6_K):
        return gguf.quants.quantize(w, kind)
    blocks = w.reshape(-1, 256).astype(numpy.float64)
    bytes_ = quantize_q4_k(blocks) if kind == TYPES.Q4_K else quantize_q6_k(blocks)
    return bytes_.reshape(w.shape[0], -1)


def half(x):
    """x as float16, and its bytes."""
    h = x.astype(numpy.float16)
    return h.astype(numpy.float64), h.reshape(-1, 1).view(numpy.uint8)


def quantize_q4_k(x):
    """Blocks of 256: 8 groups with a scale and a minimum of 6 bits each; 4 bits an element."""
    g = x.reshape(-1, 8, 32)
    low = numpy.minimum(g.min(2), 0)
    scale = (g.max(2) - low) / 15
    d, d_bytes = half(numpy.maximum(scale.max(1), 1e-9) / 63)
    m, m_bytes = half(numpy.maximum((-low).max(1), 1e-9) / 63)
    s6 = numpy.clip(numpy.round(scale / d[:, None]), 0, 63).astype(numpy.uint8)
    m6 = numpy.clip(numpy.round(-low / m[:, None]), 0, 63).astype(numpy.uint8)
    step = (d[:, None] * s6)[:, :, None]
    q = numpy.round((g + (m[:, None] * m6)[:, :, None]) / numpy.where(step == 0, 1, step))
    q = numpy.clip(q, 0, 15).astype(numpy.uint8)
    packed = numpy.zeros((len(x), 12), numpy.uint8)
    packed[:, 0:4] = s6[:, 0:4] & 63 | (s6[:, 4:8] >> 4) << 6
    packed[:, 4:8] = m6[:, 0:4] & 63 | (m6[:, 4:8] >> 4) << 6
    packed[:, 8:12] = s6[:, 4:8] & 15 | (m6[:, 4:8] & 15) << 4
    pairs = q.reshape(-1, 4, 2, 32)
    return numpy.concatenate([d_bytes, m_bytes, packed, (pairs[:, :, 0] | pairs[:, :, 1] << 4).reshape(-1, 128)], 1)


def quantize_q6_k(x):
    """Blocks of 256: 16 groups with a scale of 8 bits each; 6 bits an element."""
    g = x.reshape(-1, 16, 16)
    scale = abs(g).max(2) / 31
    d, d_bytes = half(numpy.maximum(scale.max(1), 1e-9) / 127)
    s8 = numpy.clip(numpy.round(scale / d[:, None]), 0, 127).astype(numpy.int8)
    step = (d[:, None] * s8)[:, :, None]
    q = numpy.clip(numpy.round(g / numpy.where(step == 0, 1, step)) + 32, 0, 63).astype(numpy.uint8).reshape(-1, 2, 4, 32)
    low = numpy.stack([q[:, :, 0] & 15 | (q[:, :, 2] & 15) << 4, q[:, :, 1] & 15 | (q[:, :, 3] & 15) << 4], 2)
    high = q[:, :, 0] >> 4 | (q[:, :, 1] >> 4) << 2 | (q[:, :, 2] >> 4) << 4 | (q[:, :, 3] >> 4) << 6
    return numpy.concatenate([low.reshape(-1, 128), high.reshape(-1, 64), s8.view(numpy.uint8), d_bytes], 1)


def kind_of(name, w, types):
    """The type of a tensor: matrices get the first of types, the embedding, the head and the way
    down the last."""
    if w.ndim < 2:
        return TYPES.F32
    if w.shape[-1] % 32 or "ffn_gate_inp" in name or "shortconv.conv" in name or "ssm_conv1d" in name or "altup" in name or "laurel" in name or types[-1] == TYPES.MXFP4:
        return TYPES.F32
    return types[-1] if name.startswith(("token_embd", "output.")) or "ffn_down" in name else types[0]


def convert(source, path, types, pooling=None, arch=None, words=vocabulary):
    """Writes the folder source as a file. Returns the matrices as they are read back, by their names
    in the folder."""
    with open(os.path.join(source, "config.json")) as f:
        c = json.load(f)
    if c["model_type"] in ("mamba2", "nemotron_h"):
        c = mamba2(c)
    arch = arch or ARCHITECTURES[c["model_type"]]
    if c.get("use_bidirectional_attention"):
        arch = gguf.MODEL_ARCH.GEMMA_EMBEDDING
    name = "granite_swa" if c["model_type"] == "granite_swa" else gguf.MODEL_ARCH_NAMES[arch]
    heads = c["num_attention_heads"]
    kv = 1 if "kv_lora_rank" in c else c.get("num_key_value_heads") or heads
    head_dim = c.get("head_dim") or c["hidden_size"] // (heads or 1)
    w = gguf.GGUFWriter(path, name)
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_block_count(c["num_hidden_layers"])
    own_metadata = {"gemma3n_text": gemma3n, "gemma4_text": gemma4}.get(c["model_type"])
    if own_metadata:
        own_metadata(w, c)
    elif c["model_type"] == "nemotron_h":
        w.add_feed_forward_length([{"mlp": c["intermediate_size"], "moe": c["moe_intermediate_size"]}.get(kind, 0) for kind in c["layers_block_type"]])
        w.add_head_count_kv([kv if kind == "full_attention" else 0 for kind in c["layers_block_type"]])
    else:
        w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(heads)
    if not own_metadata and c["model_type"] not in ("mamba2", "nemotron_h"):
        w.add_head_count_kv([0 if kind in ("conv", "linear_attention") else kv for kind in c["layer_types"]] if c["model_type"].startswith("lfm2") or c["model_type"] == "granitemoehybrid" else kv)
    if c["model_type"].startswith("lfm2"):
        w.add_layer_norm_rms_eps(c["norm_eps"])
        w.add_shortconv_l_cache(c["conv_L_cache"])
    elif "rms_norm_eps" in c:
        w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    else:
        w.add_layer_norm_eps(c.get("layer_norm_eps") or c["norm_epsilon"])
    more(w, c)
    w.add_vocab_size(c["vocab_size"])
    rope = c.get("rope_parameters") or {"rope_theta": c["rope_theta"]} | (c.get("rope_scaling") or {})
    if "full_attention" in rope:  # a base of its own for layers with windows, and no scaling
        if c["model_type"] == "gemma3_text":
            w.add_rope_freq_base_swa(rope["sliding_attention"]["rope_theta"])
        rope = rope["full_attention"]
    if heads:
        w.add_rope_freq_base(rope["rope_theta"])
    if c["model_type"] == "granitemoehybrid":
        w.add_rope_scaling_finetuned(c["position_embedding_type"] == "rope")
    if heads and c["model_type"] != "gemma4_text":
        w.add_rope_dimension_count(int(head_dim * rope.get("partial_rotary_factor", 1)))
    if c.get("head_dim") and c["model_type"] not in ("gemma4_text", "deepseek_v3"):
        w.add_key_length(head_dim)
        w.add_value_length(head_dim)
    if c["model_type"] in ("gemma2", "gemma3_text", "phi3", "cohere2", "gpt_oss", "gemma3n_text", "gemma4_text"):
        w.add_sliding_window(c.get("sliding_window") or 0)
    if c["model_type"] in ("olmo3", "exaone4", "granite_swa") and c.get("sliding_window"):
        w.add_sliding_window(c["sliding_window"])
        w.add_sliding_window_pattern([t == "sliding_attention" for t in c["layer_types"]])
    if arch == gguf.MODEL_ARCH.GEMMA2:
        w.add_attn_logit_softcapping(c["attn_logit_softcapping"])
        w.add_final_logit_softcapping(c["final_logit_softcapping"])
    kind = rope.get("rope_type", "default")
    if kind in ("linear", "yarn"):
        w.add_rope_scaling_type(gguf.RopeScalingType.LINEAR if kind == "linear" else gguf.RopeScalingType.YARN)
        w.add_rope_scaling_factor(rope["factor"])
        if kind == "yarn":
            w.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
            for key, add in {"attention_factor": w.add_rope_scaling_yarn_attn_factor, "beta_fast": w.add_rope_scaling_yarn_beta_fast, "beta_slow": w.add_rope_scaling_yarn_beta_slow}.items():
                if rope.get(key) is not None:
                    add(rope[key])
        if c["model_type"] == "deepseek_v3":
            w.add_rope_scaling_yarn_log_mul(0.1 * rope["mscale_all_dim"])
        if c["model_type"] == "ministral3":
            w.add_rope_scaling_yarn_log_mul(rope["mscale_all_dim"])
            w.add_attn_temperature_scale(rope["llama_4_scaling_beta"])
    elif kind == "llama3":
        w.add_tensor("rope_freqs.weight", llama3_factors(rope, head_dim))
    elif kind == "longrope":
        w.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        ratio = c["max_position_embeddings"] / rope["original_max_position_embeddings"]
        w.add_rope_scaling_attn_factors(float(numpy.sqrt(1 + numpy.log(ratio) / numpy.log(rope["original_max_position_embeddings"]))))
        for length in ("long", "short"):
            w.add_tensor(f"rope_factors_{length}.weight", numpy.array(rope[length + "_factor"], numpy.float32))
    if pooling:
        w.add_pooling_type(pooling)
    words(w, c)
    for i in (2, 3):
        dense = os.path.join(source, f"{i}_Dense", "model.safetensors")
        if os.path.exists(dense):
            x = load_file(dense)["linear.weight"].numpy()
            w.add_dense_features_dims(f"dense_{i}", x.shape[1], x.shape[0])
            w.add_tensor(f"dense_{i}.weight", x)
    names = gguf.get_tensor_name_map(arch, c["num_hidden_layers"])
    read = {}
    weights = altup_joined(load_file(os.path.join(source, "model.safetensors")))
    if "kv_lora_rank" in c:
        weights = latent_parts(weights, c)
    for hub, x in stacked(folded(weights, c) if c["model_type"] == "falcon_h1" else weights, c).items():
        x = x.float().numpy()
        if not hub.startswith(("model.", "lm_head.", "gpt_neox.", "embed_out.", "backbone.", "blk.")):
            hub = "model." + hub
        _, _, layer, part = (hub.split(".", 3) + [""] * 3)[:4]
        own = hub if hub.startswith("blk.") else f"blk.{layer}.{RENAMED[part]}" if part in RENAMED else names.get_name(hub.replace("dt_bias", "dt_proj.bias"), try_suffixes=(".weight", ".bias"))
        assert own, hub
        if c["model_type"] in NEIGHBOURS and hub.endswith(("q_proj.weight", "q_proj.bias", "k_proj.weight", "k_proj.bias")):
            x = permute(x, heads if "q_proj" in hub else kv)
        if arch in GEMMA and hub.endswith("norm.weight"):
            x = x + 1
        if "shortconv.conv" in own:
            x = x[:, 0]
        if ".ssm_" in own and "mamba_d_conv" in c:
            x = to_mamba(own, x, c)
        if "linear_num_key_heads" in c:
            x = deltanet.to_file(hub, x, c)
        kind = types[-1] if "_exps.weight" in own and types[-1] == TYPES.MXFP4 else kind_of(own, x, types)
        data = x if kind == TYPES.F32 else quantize(x, kind)
        w.add_tensor(own, data, raw_dtype=kind)
        read[own] = (hub, data if kind == TYPES.F32 else gguf.quants.dequantize(data, kind))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    if "mamba_d_conv" in c or "kv_lora_rank" in c:  # written in float32 only, in other terms than transformers'
        assert types == [TYPES.F32]
        return {}
    back = {}
    for own, (hub, x) in read.items():
        if c["model_type"] in NEIGHBOURS and ("attn_q." in own or "attn_k." in own):
            n = heads if "attn_q." in own else kv
            x = x.reshape(n, x.shape[0] // n // 2, 2, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)
        if arch in GEMMA and hub.endswith("norm.weight"):
            x = x - 1
        if "linear_num_key_heads" in c:
            x = deltanet.from_file(hub, x, c)
        if "query_key_value" in hub:
            x = x.reshape(3, heads, -1, *x.shape[1:]).swapaxes(0, 1).reshape(x.shape)
        back[hub] = torch.from_numpy(numpy.ascontiguousarray(x[None] if hub.endswith("shared_expert_gate.weight") else x[:, None] if "conv.conv" in hub else x))
    altup_parted(back)
    if "linear_num_key_heads" in c:
        deltanet.join(back, c)
    for i in range(c["num_hidden_layers"]):  # as transformers has the experts in memory
        gate, up = back.pop(f"blk.{i}.ffn_gate_exps.weight", None), back.pop(f"blk.{i}.ffn_up_exps.weight", None)
        if gate is not None and c["model_type"] != "gpt_oss":
            mlp = f"model.layers.{i}." + {"granitemoe": "block_sparse_moe", "lfm2_moe": "feed_forward"}.get(c["model_type"], "mlp")
            back[mlp + ".experts.gate_up_proj"] = torch.cat([gate, up], 1)
            back[mlp + ".experts.down_proj"] = back.pop(f"blk.{i}.ffn_down_exps.weight")
    return back


def stacked(weights, c):
    """The weights with the matrices of all experts in one tensor, under llama.cpp's name, and those of GPT-NeoX's heads side by side."""
    parts = {"gate_proj": "gate", "up_proj": "up", "down_proj": "down", "w1": "gate", "w3": "up", "w2": "down"}
    new, experts = {}, {}
    for k, x in weights.items():
        p = k.split(".")
        if "shared_experts" in p:
            new[f"blk.{p[2]}.ffn_{parts[p[-2]]}_shexp.weight"] = x
        elif "experts" in p and p[-1] in ("weight", "bias") and c["model_type"] != "gpt_oss":
            experts.setdefault(f"blk.{p[2]}.ffn_{parts[p[-2]]}_exps.weight", {})[int(p[-3])] = x
        elif c["model_type"] == "gemma4_text":
            new[k] = x
        elif k.endswith(("gate_up_proj", "gate_up_proj_bias")):
            end = "bias" if k.endswith("bias") else "weight"
            if end == "weight":
                x = x.transpose(1, 2)
            new[f"blk.{p[2]}.ffn_gate_exps.{end}"], new[f"blk.{p[2]}.ffn_up_exps.{end}"] = x[:, 0::2].contiguous(), x[:, 1::2].contiguous()
        elif "experts.down_proj" in k:
            new[f"blk.{p[2]}.ffn_down_exps." + ("bias" if k.endswith("bias") else "weight")] = x if k.endswith("bias") else x.transpose(1, 2).contiguous()
        elif k.endswith("sinks"):
            new[f"blk.{p[2]}.attn_sinks.weight"] = x
        elif k.endswith("shared_mlp.input_linear.weight"):
            end = "_shexp" if c["num_local_experts"] else ""
            new[f"blk.{p[2]}.ffn_gate{end}.weight"], new[f"blk.{p[2]}.ffn_up{end}.weight"] = x.chunk(2, 0)
        elif k.endswith("shared_mlp.output_linear.weight"):
            new[f"blk.{p[2]}.ffn_down{'_shexp' if c['num_local_experts'] else ''}.weight"] = x
        elif p[-2] == "mamba":
            new[f"blk.{p[2]}." + MAMBA["mamba." + p[-1]]] = x
        elif k.endswith("input_linear.weight"):
            new[f"blk.{p[2]}.ffn_gate_exps.weight"], new[f"blk.{p[2]}.ffn_up_exps.weight"] = x.chunk(2, 1)
        elif k.endswith("output_linear.weight"):
            new[f"blk.{p[2]}.ffn_down_exps.weight"] = x
        elif k.endswith((".expert_bias", ".e_score_correction_bias")):
            new[f"blk.{p[2]}.exp_probs_b.bias"] = x
        elif k.endswith("in_proj_qkvz.weight"):
            new |= deltanet.split(k, x, c)
        elif k.endswith("shared_expert_gate.weight"):
            new[k] = x[0]
        elif "query_key_value" in k:
            heads = c["num_attention_heads"]
            new[k] = x.reshape(heads, 3, -1, *x.shape[1:]).transpose(0, 1).reshape(x.shape)
        else:
            new[k] = x
    return new | {k: torch.stack([of[i] for i in sorted(of)]) for k, of in experts.items()}


def gguf_folder(out, name, config, cls, quantized, arch=None, **options):
    """Files of several types of one model: f32.gguf and those in quantized, {name: types}. In
    expected.safetensors are the logits of each, those of x.gguf being logits_x: of the weights as they
    are read back from it. Tokens and logits_folder are those of the folder, before it was quantized."""
    f = Folder(out, name)
    with tempfile.TemporaryDirectory() as temporary:
        decoders.decoder(temporary, "model", cls(config), cls, **options)
        source = os.path.join(temporary, "model")
        tensors, noise = dict(load_file(os.path.join(source, "expected.safetensors"))), {}
        folder_logits = tensors["logits_folder"] = tensors.pop("logits")
        if name not in ("k", "gpt-oss"):  # of larger rows, whose file would be too; rounded already
            quantized = {"f32": [TYPES.F32]} | quantized
        for file, types in quantized.items():
            back = convert(source, os.path.join(f.path, file + ".gguf"), types, arch=arch)
            model = cls.from_pretrained(source, dtype=torch.float32, attn_implementation="eager").eval()
            model.set_experts_implementation("eager")
            model.load_state_dict(back, strict=False)
            result = decoders.outputs(model)["logits"]
            tensors["logits_" + file] = result
            noise["logits_" + file] = "%.2g" % float((decoders.outputs(model.double())["logits"] - result.double()).abs().max())
            print(f"{name:24} {file} noise {noise['logits_' + file]}, relative error {float((result - folder_logits).norm() / folder_logits.norm()):.3g}", flush=True)
        f.expected(tensors, {"class": cls.__name__, "transformers": hf.__version__, "noise": noise})


POOLINGS = {"pooling_mode_mean_tokens": gguf.PoolingType.MEAN, "pooling_mode_cls_token": gguf.PoolingType.CLS, "pooling_mode_lasttoken": gguf.PoolingType.LAST, "lasttoken": gguf.PoolingType.LAST}


def pooling_of(source):
    """llama.cpp's name of a folder's pooling, the mean where it has none."""
    path = os.path.join(source, "1_Pooling", "config.json")
    if not os.path.exists(path):
        return gguf.PoolingType.MEAN
    with open(path) as f:
        c = json.load(f)
    return next(kind for mode, kind in POOLINGS.items() if c.get(mode) or c.get("pooling_mode") == mode)


ENCODERS = {"bert": gguf.MODEL_ARCH.BERT, "nomic_bert": gguf.MODEL_ARCH.NOMIC_BERT, "modernbert": gguf.MODEL_ARCH.MODERN_BERT, "eurobert": gguf.MODEL_ARCH.EUROBERT, "jina_embeddings_v3": gguf.MODEL_ARCH.JINA_BERT_V3, "t5": gguf.MODEL_ARCH.T5}


def convert_encoder(source, path, kind, older=False):
    """Writes the folder source of BERT, Jina's version 2, Nomic BERT, ModernBERT or T5 as a file, its matrices in a type. Older files
    of Jina's version 2 have gate and up as tensors of their own."""
    with open(os.path.join(source, "config.json")) as f:
        c = json.load(f)
    arch = ENCODERS[c["model_type"]]
    if c.get("position_embedding_type") == "alibi":
        arch = gguf.MODEL_ARCH.JINA_BERT_V2
    if c.get("moe_every_n_layers"):
        arch = gguf.MODEL_ARCH.NOMIC_BERT_MOE
    if arch == gguf.MODEL_ARCH.T5 and c["architectures"] == ["T5EncoderModel"]:
        arch = gguf.MODEL_ARCH.T5ENCODER
    w = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[arch])
    layers = c.get("num_hidden_layers") or c.get("num_layers") or c["n_layer"]
    w.add_block_count(layers)
    if c["model_type"] == "t5":
        t5_metadata(w, arch, c)
    else:
        w.add_context_length(c.get("max_position_embeddings") or c["n_positions"])
        w.add_embedding_length(c.get("hidden_size") or c["n_embd"])
        w.add_feed_forward_length(c.get("intermediate_size") or c["n_inner"])
        w.add_head_count(c.get("num_attention_heads") or c["n_head"])
        if arch == gguf.MODEL_ARCH.EUROBERT:
            w.add_layer_norm_rms_eps(c["rms_norm_eps"])
            w.add_head_count_kv(c["num_key_value_heads"])
            w.add_rope_freq_base(c["rope_parameters"]["rope_theta"])
            w.add_rope_dimension_count(c["hidden_size"] // c["num_attention_heads"])
            w.add_rope_scaling_type(gguf.RopeScalingType.NONE)
        else:
            w.add_layer_norm_eps(c.get("layer_norm_eps") or c.get("norm_eps") or c["layer_norm_epsilon"])
        if c["model_type"] == "jina_embeddings_v3":
            w.add_rope_freq_base(c["rope_parameters"]["rope_theta"])
        if c["model_type"] == "nomic_bert":
            w.add_rope_freq_base(c["rope_parameters"]["rope_theta"] if "rope_parameters" in c else c["rotary_emb_base"])
        w.add_causal_attention(False)
        w.add_pooling_type(pooling_of(source))
        w.add_vocab_size(c["vocab_size"])
        if "type_vocab_size" in c:
            w.add_token_type_count(c["type_vocab_size"])
        w.add_tokenizer_model("bert")
        w.add_token_list(["[PAD]", "[UNK]", "[CLS]", "[SEP]"] + [f"\u2581t{i}" for i in range(4, c["vocab_size"])])
        w.add_token_types([gguf.TokenType.CONTROL] * 4 + [gguf.TokenType.NORMAL] * (c["vocab_size"] - 4))
        w.add_unk_token_id(1)
        w.add_bos_token_id(2)
        w.add_sep_token_id(3)
    if arch == gguf.MODEL_ARCH.MODERN_BERT:
        modern_metadata(w, c)
    if arch == gguf.MODEL_ARCH.NOMIC_BERT_MOE:
        w.add_expert_count(c["num_experts"])
        w.add_expert_used_count(c["moe_top_k"])
        w.add_moe_every_n_layers(c["moe_every_n_layers"])
    names = gguf.get_tensor_name_map(arch, max(layers, c.get("num_decoder_layers") or 0))
    weights = load_file(os.path.join(source, "model.safetensors"))
    if c.get("scale_decoder_outputs") is False and "lm_head.weight" not in weights:  # without a scale, as models with a head of their own
        weights["lm_head.weight"] = weights["shared.weight"].clone()
    for hub in [k for k in weights if arch == gguf.MODEL_ARCH.JINA_BERT_V3 and "q_proj" in k]:
        weights[hub.replace("q_proj", "qkv_proj")] = torch.cat([weights.pop(hub.replace("q_proj", p)) for p in ("q_proj", "k_proj", "v_proj")])
    if arch == gguf.MODEL_ARCH.JINA_BERT_V3:  # which has no pooler there
        weights = {k: x for k, x in weights.items() if "pooler" not in k}
    for hub in [k for k in weights if ".experts." in k]:
        x = weights.pop(hub)
        if not hub.endswith("bias"):  # which is 0
            x = x.reshape(c["num_experts"], c["n_inner"], -1)
            weights[hub + ".weight"] = x.transpose(1, 2).contiguous() if hub.endswith("w2") else x
    for hub in [k for k in weights if "mlp.gated_layers" in k and older]:
        weights[hub.replace("gated_layers", "gated_layers_w")], weights[hub.replace("gated_layers", "gated_layers_v")] = weights.pop(hub).chunk(2)
    for hub, x in weights.items():
        name = names.get_name(hub.removeprefix("model."), try_suffixes=(".weight", ".bias")) or plain_name(hub)
        matrix = x.dim() == 2 and kind != TYPES.F32
        x = x.float().numpy()
        w.add_tensor(name, gguf.quants.quantize(x, kind) if matrix else x, raw_dtype=kind if matrix else TYPES.F32)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def modern_metadata(w, c):
    """What ModernBERT has beside what all encoders have."""
    types = c["layer_types"]
    assert types == ["sliding_attention" if i % 3 else "full_attention" for i in range(len(types))]
    w.add_sliding_window(c["local_attention"])
    w.add_sliding_window_pattern(3)
    w.add_rope_scaling_type(gguf.RopeScalingType.NONE)
    w.add_rope_freq_base(c["rope_parameters"]["full_attention"]["rope_theta"])
    w.add_rope_freq_base_swa(c["rope_parameters"]["sliding_attention"]["rope_theta"])
    w.add_string("modern-bert.hidden_activation", c["hidden_activation"])


def t5_metadata(w, arch, c):
    """T5's sizes and a vocabulary. llama.cpp's buckets have distances up to 128."""
    c = hf.T5Config(**c).to_dict()
    assert c["relative_attention_max_distance"] == 128
    w.add_context_length(512)
    w.add_embedding_length(c["d_model"])
    w.add_feed_forward_length(c["d_ff"])
    w.add_head_count(c["num_heads"])
    w.add_key_length(c["d_kv"])
    w.add_value_length(c["d_kv"])
    w.add_layer_norm_eps(c["layer_norm_epsilon"])
    w.add_layer_norm_rms_eps(c["layer_norm_epsilon"])
    w.add_relative_attn_buckets_count(c["relative_attention_num_buckets"])
    if arch == gguf.MODEL_ARCH.T5:
        w.add_decoder_block_count(c["num_decoder_layers"])
        w.add_decoder_start_token_id(c["decoder_start_token_id"])
    n = c["vocab_size"]
    w.add_tokenizer_model("t5")
    w.add_tokenizer_pre("default")
    w.add_token_list(["<pad>", "</s>", "<unk>"] + [f"\u2581t{i}" for i in range(3, n)])
    w.add_token_scores([0.0] * 3 + [float(-i) for i in range(3, n)])
    w.add_token_types([gguf.TokenType.CONTROL] * 2 + [gguf.TokenType.UNKNOWN] + [gguf.TokenType.NORMAL] * (n - 3))
    w.add_add_space_prefix(True)
    w.add_remove_extra_whitespaces(True)
    w.add_pad_token_id(0)
    w.add_eos_token_id(1)
    w.add_unk_token_id(2)


def plain_name(hub):
    """The name of a tensor of Nomic BERT and Jina's version 3 in transformers 5, which the gguf package does not know."""
    parts = {"self_attn.qkv_proj": "attn_qkv", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "attn_output_norm",
             "post_mlp_layernorm": "layer_output_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
    _, layer, part = hub.split(".", 2)
    part, kind = part.rsplit(".", 1)
    return f"blk.{layer}.{parts[part]}.{kind}"


@folder("gguf-encoders")
def _(out, name):
    """The folders of these names, which are there already, as files of these types."""
    path = os.path.join(os.path.dirname(out.rstrip("/")), name)
    os.makedirs(path, exist_ok=True)
    for source, kind in {"bert": TYPES.F32, "bert-pool-last": TYPES.BF16, "bert-alibi": TYPES.F32, "nomic_bert": TYPES.F32, "nomic_bert-hub": TYPES.BF16, "nomic_bert-moe": TYPES.F32, "modernbert": TYPES.F32, "eurobert": TYPES.F32, "jina_embeddings_v3": TYPES.F32,
                         "t5-encoder-defaults": TYPES.F32, "t5-defaults": TYPES.F32, "t5-buckets": TYPES.F32}.items():
        convert_encoder(os.path.join(out, source), os.path.join(path, source + ".gguf"), kind)
    convert_encoder(os.path.join(out, "bert-alibi"), os.path.join(path, "bert-alibi-older.gguf"), TYPES.F32, older=True)
    for source in ("qwen3-embed", "gemma3_text-dense"):
        convert(os.path.join(out, source), os.path.join(path, source + ".gguf"), [TYPES.F32], pooling_of(os.path.join(out, source)))


SMALL = {"q8_0": [TYPES.Q8_0], "q4_0": [TYPES.Q4_0]}
SIZES = dict(hidden_size=32, intermediate_size=64)
GRANITE4 = dict(shared_intermediate_size=40, embedding_multiplier=1.7, attention_multiplier=0.4, residual_multiplier=0.6, logits_scaling=0.5)
GGUF = {
    "gguf-llama": lambda: (decoders.llama(hf.LlamaConfig, rope_parameters=decoders.LLAMA3, max_position_embeddings=2048, **SIZES), hf.LlamaForCausalLM, SMALL, {}),
    "gguf-qwen2": lambda: (decoders.llama(hf.Qwen2Config, rope_parameters=decoders.rope("yarn", 1000000.0, factor=4.0, original_max_position_embeddings=16), tie_word_embeddings=True, **SIZES), hf.Qwen2ForCausalLM, SMALL, {}),
    "gguf-qwen3": lambda: (decoders.llama(hf.Qwen3Config, head_dim=16, tie_word_embeddings=True, **SIZES), hf.Qwen3ForCausalLM, SMALL, {}),
    "gguf-gemma2": lambda: (decoders.gemma(hf.Gemma2Config, query_pre_attn_scalar=16, attn_logit_softcapping=2.0, final_logit_softcapping=2.0, intermediate_size=64), hf.Gemma2ForCausalLM, SMALL, dict(norm=0.0, scale=[("embed_tokens", 0.1)])),
    "gguf-gemma": lambda: (decoders.llama(hf.GemmaConfig, num_key_value_heads=1, head_dim=16, hidden_activation="gelu_pytorch_tanh", **SIZES), hf.GemmaForCausalLM, {"q5_0": [TYPES.Q5_0]}, dict(norm=0.0, scale=[("embed_tokens", 0.1)])),
    # Seven layers, so that there is a sixth: every sixth layer attends to all tokens.
    "gguf-gemma3": lambda: (decoders.gemma(hf.Gemma3TextConfig, query_pre_attn_scalar=16, intermediate_size=64, num_hidden_layers=7, layer_types=["sliding_attention"] * 5 + ["full_attention", "sliding_attention"],
                                           rope_parameters={"full_attention": decoders.rope("linear", 1000000.0, factor=8.0), "sliding_attention": decoders.rope("default")}), hf.Gemma3ForCausalLM, {"q8_0": [TYPES.Q8_0]}, dict(norm=0.0, scale=[("embed_tokens", 0.1)])),
    "gguf-phi3": lambda: (decoders.llama(hf.Phi3Config, pad_token_id=0, original_max_position_embeddings=16, max_position_embeddings=64, partial_rotary_factor=0.75,
                                         rope_parameters=decoders.rope("longrope", short_factor=[1.0, 1.1, 1.3], long_factor=[1.2, 2.0, 4.0], partial_rotary_factor=0.75, original_max_position_embeddings=16), **SIZES), hf.Phi3ForCausalLM, SMALL, {}),
    "gguf-smollm3": lambda: (decoders.llama(hf.SmolLM3Config, num_hidden_layers=4, tie_word_embeddings=True, no_rope_layers=[1, 1, 1, 0], **SIZES), hf.SmolLM3ForCausalLM, {}, {}),
    "gguf-olmo2": lambda: (decoders.llama(hf.Olmo2Config, **SIZES), hf.Olmo2ForCausalLM, {}, {}),
    "gguf-olmo3": lambda: (decoders.llama(hf.Olmo3Config, num_hidden_layers=5, sliding_window=6, layer_types=["sliding_attention", "full_attention", "sliding_attention", "full_attention", "sliding_attention"],
                                          rope_scaling=decoders.rope("yarn", 500000.0, factor=8.0, original_max_position_embeddings=16, attention_factor=1.2079441541679836, beta_fast=16.0, beta_slow=1.0), **SIZES), hf.Olmo3ForCausalLM, {}, {}),
    "gguf-mistral3": lambda: (decoders.llama(hf.Ministral3Config, head_dim=16, rope_parameters=decoders.MINISTRAL3, **SIZES), hf.Ministral3ForCausalLM, {"q8_0": [TYPES.Q8_0]}, {}),
    "gguf-mistral3-plain": lambda: (decoders.llama(hf.MistralConfig, sliding_window=None, **SIZES), hf.MistralForCausalLM, {}, dict(arch=gguf.MODEL_ARCH.MISTRAL3)),
    "gguf-ernie4_5": lambda: (decoders.llama(hf.Ernie4_5Config, head_dim=16, tie_word_embeddings=True, **SIZES), hf.Ernie4_5ForCausalLM, {}, {}),
    "gguf-exaone4": lambda: (decoders.llama(hf.Exaone4Config, num_hidden_layers=4, sliding_window=6, rope_parameters=decoders.LLAMA3, max_position_embeddings=2048, **SIZES), hf.Exaone4ForCausalLM, {}, {}),
    "gguf-hunyuan-dense": lambda: (decoders.llama(hf.HunYuanDenseV1Config, head_dim=16, tie_word_embeddings=True, **SIZES), hf.HunYuanDenseV1ForCausalLM, {}, {}),
    "gguf-glm4": lambda: (decoders.llama(hf.Glm4Config, head_dim=16, **SIZES), hf.Glm4ForCausalLM, SMALL, {}),
    "gguf-granite": lambda: (decoders.llama(hf.GraniteConfig, embedding_multiplier=3.0, logits_scaling=2.0, residual_multiplier=0.4, attention_multiplier=0.25, **SIZES), hf.GraniteForCausalLM, {}, {}),
    "gguf-granitemoe": lambda: (decoders.llama(hf.GraniteMoeConfig, num_local_experts=5, num_experts_per_tok=2, embedding_multiplier=3.0, logits_scaling=2.0, residual_multiplier=0.4, attention_multiplier=0.25, **SIZES), hf.GraniteMoeForCausalLM, {}, {}),
    "gguf-cohere2": lambda: (decoders.llama(hf.Cohere2Config, num_hidden_layers=4, sliding_window=6, logit_scale=0.5, **SIZES), hf.Cohere2ForCausalLM, {}, {}),
    "gguf-phi2": lambda: (decoders.llama(hf.PhiConfig, num_key_value_heads=4, **SIZES), hf.PhiForCausalLM, {}, {}),
    "gguf-gptneox": lambda: (hf.GPTNeoXConfig(vocab_size=101, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=256, bos_token_id=1, eos_token_id=100, pad_token_id=None, **SIZES), hf.GPTNeoXForCausalLM, {}, {}),
    "gguf-starcoder2": lambda: (decoders.llama(hf.Starcoder2Config, sliding_window=None, tie_word_embeddings=False, **SIZES), hf.Starcoder2ForCausalLM, {}, {}),
    "gguf-lfm2": lambda: (decoders.llama(hf.Lfm2Config, num_hidden_layers=4, layer_types=["conv", "full_attention", "conv", "full_attention"], block_auto_adjust_ff_dim=False, **SIZES), hf.Lfm2ForCausalLM, {"q8_0": [TYPES.Q8_0]}, {}),
    "gguf-lfm2moe": lambda: (decoders.llama(hf.Lfm2MoeConfig, num_hidden_layers=3, num_dense_layers=1, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=32, layer_types=["conv", "full_attention", "conv"], **SIZES), hf.Lfm2MoeForCausalLM, {}, {}),
    "gguf-deepseek2": lambda: (decoders.llama(hf.DeepseekV3Config, num_hidden_layers=2, num_key_value_heads=4, first_k_dense_replace=1, q_lora_rank=20, kv_lora_rank=12, qk_rope_head_dim=8, qk_nope_head_dim=10, v_head_dim=14, n_routed_experts=8, n_group=4, topk_group=2, moe_intermediate_size=16, num_experts_per_tok=2, tie_word_embeddings=False, max_position_embeddings=64, rms_norm_eps=1e-6,
                                              rope_parameters=decoders.rope("yarn", factor=4.0, original_max_position_embeddings=16, mscale=1.0, mscale_all_dim=1.0)), hf.DeepseekV3ForCausalLM, {}, {}),
    "gguf-mamba2": lambda: (decoders.mamba2(num_hidden_layers=1), hf.Mamba2ForCausalLM, {}, {}),
    "gguf-nemotron_h": lambda: (decoders.nemotron(mamba_head_dim=8, pad_token_id=0, time_step_min=1e-30, layers_block_type=["linear_attention", "mlp", "full_attention", "linear_attention"]), hf.NemotronHForCausalLM, {}, {}),
    "gguf-nemotron_h_moe": lambda: (decoders.nemotron(mamba_head_dim=4, time_step_min=1e-30, layers_block_type=["moe", "linear_attention", "full_attention"], n_routed_experts=5, moe_intermediate_size=12, moe_shared_expert_intermediate_size=20, moe_latent_size=16, routed_scaling_factor=2.5),
                                    hf.NemotronHForCausalLM, {}, dict(arch=gguf.MODEL_ARCH.NEMOTRON_H_MOE)),
    "gguf-granite_swa": lambda: (decoders.llama(hf.GraniteSWAConfig, num_hidden_layers=5, sliding_window=6, layer_rope_theta=[10000.0, 10000.0, 0, 10000.0, 0], embedding_multiplier=3.0, logits_scaling=2.0, residual_multiplier=0.4, attention_multiplier=0.25, tie_word_embeddings=False, **SIZES), hf.GraniteSWAForCausalLM, {}, dict(scale=[("sinks", 5)])),
    "gguf-gemma3n": lambda: (decoders.gemma3n(head_dim=32, num_attention_heads=2, num_key_value_heads=1, intermediate_size=[64, 32, 64, 96], hidden_size_per_layer_input=32, vocab_size_per_layer_input=decoders.VOCAB, laurel_rank=8), hf.Gemma3nForCausalLM, {"q8_0": [TYPES.Q8_0]}, dict(scale=[("embed_tokens.", 0.1), ("q_norm", 0.2)])),
    "gguf-gemma4": lambda: (decoders.gemma4(hidden_size_per_layer_input=32, head_dim=32, global_head_dim=64, num_attention_heads=2, num_key_value_heads=1, intermediate_size=64, num_kv_shared_layers=2, use_double_wide_mlp=True, final_logit_softcapping=2.0), hf.Gemma4ForCausalLM, {"q8_0": [TYPES.Q8_0]}, dict(after=decoders.scalars, scale=[("embed_tokens.", 0.1), ("q_norm", 0.2)])),
    "gguf-gemma4-moe": lambda: (decoders.gemma4(hidden_size_per_layer_input=0, num_hidden_layers=2, layer_types=["sliding_attention", "full_attention"], global_head_dim=32, intermediate_size=64, attention_k_eq_v=True, num_global_key_value_heads=1, enable_moe_block=True, num_experts=4, top_k_experts=2, moe_intermediate_size=32), hf.Gemma4ForCausalLM, {"q8_0": [TYPES.Q8_0]}, dict(after=decoders.scalars, scale=[("embed_tokens.", 0.1), ("q_norm", 0.2)])),
    "gguf-granitehybrid": lambda: (decoders.mamba(hf.GraniteMoeHybridConfig, **GRANITE4, layer_types=["linear_attention", "full_attention"], num_local_experts=0, intermediate_size=40, mamba_n_groups=1), hf.GraniteMoeHybridForCausalLM, {}, {}),
    "gguf-granitehybrid-experts": lambda: (decoders.mamba(hf.GraniteMoeHybridConfig, **GRANITE4, layer_types=["full_attention", "linear_attention"], num_local_experts=5, num_experts_per_tok=2, intermediate_size=12, position_embedding_type="rope"), hf.GraniteMoeHybridForCausalLM, {}, {}),
    "gguf-falcon-h1": lambda: (decoders.mamba(hf.FalconH1Config, mamba_d_ssm=64, ssm_multipliers=[0.8, 1.3, 1.6, 0.7, 1.2], mlp_multipliers=[0.8, 1.4], ssm_in_multiplier=1.3, ssm_out_multiplier=0.6, attention_in_multiplier=1.2,
                                              attention_out_multiplier=0.7, key_multiplier=1.5, embedding_multiplier=1.6, lm_head_multiplier=1.9, mamba_rms_norm=True, mamba_norm_before_gate=False), hf.FalconH1ForCausalLM, {}, {}),
    "gguf-mixtral": lambda: (decoders.llama(hf.MixtralConfig, num_local_experts=4, num_experts_per_tok=2, **SIZES), hf.MixtralForCausalLM, {}, {}),
    "gguf-qwen2moe": lambda: (decoders.llama(hf.Qwen2MoeConfig, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=64, **SIZES), hf.Qwen2MoeForCausalLM, {}, {}),
    "gguf-qwen3moe": lambda: (decoders.llama(hf.Qwen3MoeConfig, num_experts=4, num_experts_per_tok=2, norm_topk_prob=True, moe_intermediate_size=32, head_dim=16, **SIZES), hf.Qwen3MoeForCausalLM, {"q8_0": [TYPES.Q8_0]}, {}),
    "gguf-gpt-oss": lambda: (experts.gpt_oss(), hf.GptOssForCausalLM, {"mxfp4": [TYPES.F32, TYPES.MXFP4]}, dict(after=experts.round_mxfp4, scale=[("sinks", 5)])),
    # Rows of 256, as the formats with groups need them; types mixed as llama.cpp's default download mixes them.
    "gguf-k": lambda: (decoders.llama(hf.LlamaConfig, vocab_size=101, hidden_size=256, intermediate_size=256, num_hidden_layers=1, num_key_value_heads=1), hf.LlamaForCausalLM,
                       {"q4_k": [TYPES.Q4_K, TYPES.Q6_K], "q6_k": [TYPES.Q6_K]}, {}),
}


@folder(*GGUF)
def _(out, name):
    config, cls, quantized, options = GGUF[name]()
    gguf_folder(os.path.join(os.path.dirname(out.rstrip("/")), "gguf"), name.removeprefix("gguf-"), config, cls, quantized, seed=2000, **options)


@folder("full-gguf-gemma3n")
def _(out, name):
    """A file that llama.cpp reads too: it has Gemma 3n's number of layers, of activations that pass, and of per-layer embeddings built in."""
    layers, shared = 30, 10
    c = decoders.gemma3n(head_dim=32, num_attention_heads=2, num_key_value_heads=1, hidden_size=64, intermediate_size=1024, num_hidden_layers=layers, num_kv_shared_layers=shared, hidden_size_per_layer_input=256,
                         vocab_size_per_layer_input=decoders.VOCAB, laurel_rank=64, layer_types=(["sliding_attention"] * 4 + ["full_attention"]) * (layers // 5),
                         activation_sparsity_pattern=[0.95] * 10 + [0.0] * (layers - 10), final_logit_softcapping=30.0)
    gguf_folder(out, name.removeprefix("full-gguf-"), c, hf.Gemma3nForCausalLM, {}, seed=2000, scale=[("embed_tokens.", 0.1), ("q_norm", 0.2)])
