"""Weights in FP8 with the scales beside them, as they are published."""

import torch
import transformers as hf

from decoders import decoder, llama, old_rope, rope
from folder import folder

MOST = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0}


def grid(x, block):
    """x, [rows, columns], as blocks, [rows of blocks, rows, columns of blocks, columns], of zeros at the ends."""
    rows, columns = -(-x.shape[0] // block[0]), -(-x.shape[1] // block[1])
    padded = torch.zeros(rows * block[0], columns * block[1])
    padded[: x.shape[0], : x.shape[1]] = x
    return padded.reshape(rows, block[0], columns, block[1])


def fp8(x, block, dtype):
    """The numbers of x, [rows, columns], and their scales, one for a block, which bfloat16 holds."""
    blocks = grid(x.float(), block)
    scale = (blocks.abs().amax((1, 3)) / MOST[dtype]).bfloat16().float()
    codes = (blocks / scale[:, None, :, None]).clamp(-MOST[dtype], MOST[dtype]).to(dtype)
    back = (codes.float() * scale[:, None, :, None]).reshape(scale.shape[0] * block[0], -1)
    cut = [slice(n) for n in x.shape]
    return codes.reshape(back.shape)[cut[0], cut[1]].contiguous(), scale, back[cut[0], cut[1]].contiguous()


def block_of(name, w, kind):
    """The block of a weight, and its type."""
    if kind == "qwen3-fp8":
        return (16, 16), torch.float8_e4m3fn
    if kind == "llama-fp8-channel":
        return (1, w.shape[1]), torch.float8_e4m3fn
    return tuple(w.shape), torch.float8_e5m2 if "down_proj" in name else torch.float8_e4m3fn


def quantized(name):
    return "_proj" in name and name.endswith("weight")


def scheme(kind):
    if kind == "qwen3-fp8":
        return dict(activation_scheme="dynamic", fmt="e4m3", modules_to_not_convert=["lm_head"], quant_method="fp8", weight_block_size=[16, 16])
    args = dict(actorder=None, block_structure=None, dynamic=False, group_size=None, num_bits=8, observer="minmax", observer_kwargs={},
                strategy="channel" if kind.endswith("channel") else "tensor", symmetric=True, type="float")
    group = dict(input_activations=args | dict(strategy="tensor"), output_activations=None, targets=["Linear"], weights=args)
    return dict(config_groups=dict(group_0=group), format="float-quantized", global_compression_ratio=1.5, ignore=["lm_head"], kv_cache_scheme=None,
                quant_method="compressed-tensors", quantization_status="compressed")


@folder("qwen3-fp8", "llama-fp8", "llama-fp8-channel")
def _(out, name):
    """qwen3-fp8 has scales of blocks, which do not divide all weights, as Qwen 3 and DeepSeek publish them; llama-fp8 one for each weight, and what
    activations would be divided by, as compressed-tensors writes them; llama-fp8-channel one for each row."""

    def after(model):
        for k, p in model.named_parameters():
            if quantized(k):
                p.data = fp8(p.data, *block_of(k, p, name))[2]

    def published(weights):
        new = {}
        for k, w in weights.items():
            if not quantized(k):
                new[k] = w
                continue
            codes, scale, back = fp8(w, *block_of(k, w, name))
            assert torch.equal(back, w)
            new[k] = codes
            if name == "qwen3-fp8":
                new[k + "_scale_inv"] = scale.bfloat16()
                continue
            new[k + "_scale"] = scale.reshape(1) if name == "llama-fp8" else scale
            if name == "llama-fp8":
                new[k.removesuffix("weight") + "input_scale"] = torch.tensor([0.02])
        return new

    how = dict(after=after, published=dict(config=lambda c: c.update(quantization_config=scheme(name)), rename=published), dtype=None, config=old_rope)
    if name == "qwen3-fp8":
        c = llama(hf.Qwen3Config, head_dim=12, rms_norm_eps=1e-6, rope_parameters=rope("default", 1000000.0))
        decoder(out, name, hf.Qwen3ForCausalLM(c), hf.Qwen3ForCausalLM, seed=3800, **how)
    else:
        decoder(out, name, hf.LlamaForCausalLM(llama(hf.LlamaConfig)), hf.LlamaForCausalLM, seed=3810, **how)
