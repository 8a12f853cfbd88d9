"""Weights of integers with scales and zeros, as AWQ, GPTQ and compressed-tensors publish them."""

import torch
import transformers as hf

from decoders import decoder, llama, old_rope
from folder import folder

# By name of a folder: the bits of an integer, the columns of a group (0: all), and True if each group has its own zero point.
KINDS = {
    "llama-ints-awq": (4, 16, True), "llama-ints-gptq": (4, 32, False), "llama-ints-gptq-order": (8, 16, True), "llama-ints-gptq-two": (2, 0, True),
    "llama-ints-awq-blocks": (4, 32, True), "llama-ints-gptq-minima": (4, 32, True),
    "llama-ints-packed": (4, 32, False), "llama-ints-packed-zeros": (4, 16, True), "llama-ints-bytes": (8, 0, False),
}
AWQ = [0, 2, 4, 6, 1, 3, 5, 7]  # of eight neighbours, which one the bits hold, from the lowest on


def quantized(name):
    return "_proj" in name and name.endswith("weight")


def order_of(kind, columns, group):
    """The group of each column."""
    groups = torch.arange(columns) // (group or columns)
    if kind == "llama-ints-gptq-order":
        return groups[torch.randperm(columns, generator=torch.Generator().manual_seed(columns))]
    return groups


def integers(w, kind):
    """Integers from 0 on, scales and zeros of [rows, groups], the groups of columns, and the numbers that these are."""
    bits, group, free = KINDS[kind]
    order, most = order_of(kind, w.shape[1], group), 2**bits - 1
    scales, zeros = [], []
    for g in range(int(order.max()) + 1):
        x = w[:, order == g].float()
        if free:
            low, high = x.amin(1).clamp(max=0), x.amax(1).clamp(min=0)
            scale = (high - low) / most
        else:
            scale = x.abs().amax(1) / (most // 2)
        if kind == "llama-ints-gptq-minima":  # six bits are few enough for binary16 to have each multiple by a zero
            scale = (scale.view(torch.int32) + (1 << 17) & -(1 << 18)).view(torch.float32)
        scale = scale.bfloat16().float() if "packed" in kind or "bytes" in kind else scale.half().float()
        scales.append(scale)
        # GPTQ stores one less than the zero point, so that it cannot store 0.
        zeros.append((-low / scale).round().clamp(1, most) if free else torch.full_like(scale, (most + 1) // 2))
    scales, zeros = torch.stack(scales, 1), torch.stack(zeros, 1)
    q = (w / scales[:, order] + zeros[:, order]).round().clamp(0, most)
    return q.int(), scales, zeros.int(), order.int(), (q - zeros[:, order]) * scales[:, order]


def words(x, bits, dim, order=None):
    """Neighbours along a dimension in words of 32 bits, of which the last one may not be full."""
    x = x.long().movedim(dim, -1)
    per = 32 // bits
    x = torch.nn.functional.pad(x, (0, -x.shape[-1] % per)).reshape(*x.shape[:-1], -1, per)
    if order is not None:
        x = x[..., order]
    x = (x << (torch.arange(per) * bits)).sum(-1)
    return torch.where(x >= 2**31, x - 2**32, x).int().movedim(-1, dim).contiguous()


def stored(kind, q, scales, zeros, order, back):
    """The tensors of a matrix."""
    bits, _, free = KINDS[kind]
    if "awq" in kind:
        return {"qweight": words(q.T, 4, 1, AWQ), "qzeros": words(zeros.T, 4, 1, AWQ), "scales": scales.T.half().contiguous()}
    if "gptq" in kind:
        less = 0 if kind == "llama-ints-gptq-order" else 1
        return {"qweight": words(q.T, bits, 0), "qzeros": words(zeros.T - less, bits, 1), "scales": scales.T.half().contiguous(), "g_idx": order}
    if kind == "llama-ints-bytes":
        return {"weight": (q - 128).to(torch.int8), "weight_scale": scales.bfloat16()}
    out = {"weight_packed": words(q, bits, 1), "weight_scale": scales.bfloat16(), "weight_shape": torch.tensor(q.shape)}
    return out | ({"weight_zero_point": words(zeros, bits, 0)} if free else {})


def scheme(kind):
    bits, group, free = KINDS[kind]
    if "awq" in kind:
        return dict(quant_method="awq", bits=4, group_size=group, zero_point=True, version="gemm", modules_to_not_convert=None)
    if "gptq" in kind:
        how = dict(checkpoint_format="gptq_v2", desc_act=True) if kind == "llama-ints-gptq-order" else dict(desc_act=False)
        return dict(quant_method="gptq", bits=bits, group_size=group or -1, sym=not free, damp_percent=0.01, true_sequential=True, lm_head=False) | how
    args = dict(actorder=None, block_structure=None, dynamic=False, group_size=group or None, num_bits=bits, observer="minmax", observer_kwargs={},
                strategy="group" if group else "channel", symmetric=not free, type="int")
    rows = args | dict(dynamic=True, strategy="token", observer=None) if kind == "llama-ints-bytes" else None
    form = "int-quantized" if kind == "llama-ints-bytes" else "pack-quantized"
    return dict(config_groups=dict(group_0=dict(input_activations=rows, output_activations=None, targets=["Linear"], weights=args)), format=form,
                global_compression_ratio=None, ignore=["lm_head"], kv_cache_scheme=None, quant_method="compressed-tensors", quantization_status="compressed")


@folder(*KINDS)
def _(out, name):
    """Matrices that a format of blocks holds (gptq, packed, bytes, and with zeros awq-blocks and gptq-minima), and others; gptq-order has groups of columns in no order, and zeros as they are."""

    parts = {}

    def after(model):
        for k, p in model.named_parameters():
            if quantized(k):
                parts[k] = integers(p.data, name)
                p.data = parts[k][4]

    def published(weights):
        new = {}
        for k, w in weights.items():
            stem = k.removesuffix("weight")
            new |= {stem + end: t for end, t in stored(name, *parts[k]).items()} if quantized(k) else {k: w}
        return new

    how = dict(after=after, published=dict(config=lambda c: c.update(quantization_config=scheme(name)), rename=published), dtype=None, config=old_rope)
    decoder(out, name, hf.LlamaForCausalLM(llama(hf.LlamaConfig, intermediate_size=64)), hf.LlamaForCausalLM, seed=3820, **how)
