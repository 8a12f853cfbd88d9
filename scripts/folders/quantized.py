"""Folders that real libraries quantized, with the SHA-256 of what each of them makes of every weight again.

Made with bitsandbytes 0.50.2, torchao 0.18.0, compressed-tensors 0.20.0, auto-round 0.16.1, AutoAWQ 0.2.9, GPTQModel 7.7.0 and torch 2.15.0 on a CPU.
"""

import hashlib
import json
import os
import tempfile

import torch
import transformers as hf
from safetensors.torch import load, save

from decoders import decoder, llama
from folder import folder


def in_transformers(options, dtype, back):
    """How transformers quantizes while it loads, and what it saves. back(module) is the weight again."""

    def quantize(model):
        with tempfile.TemporaryDirectory() as base, tempfile.TemporaryDirectory() as saved:
            whole = hf.LlamaForCausalLM(model.config).to(dtype)
            whole.load_state_dict(model.state_dict())
            whole.save_pretrained(base)
            read = hf.LlamaForCausalLM.from_pretrained(base, quantization_config=options(), device_map="cpu", dtype=dtype)
            numbers = {n + ".weight": back(m).float() for n, m in read.named_modules() if isinstance(m, torch.nn.Linear) and n != "lm_head"}
            read.save_pretrained(saved)
            with open(os.path.join(saved, "config.json")) as f:
                config = json.load(f)["quantization_config"]
            with open(os.path.join(saved, "model.safetensors"), "rb") as f:
                return numbers, f.read(), config

    return quantize


def four_bits(kind, dtype, **more):
    def back(m):
        import bitsandbytes as bnb

        return bnb.functional.dequantize_4bit(m.weight.data, m.weight.quant_state)

    return in_transformers(lambda: hf.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=kind, **more), dtype, back)


def eight_bits():
    def back(m):
        import bitsandbytes as bnb

        return bnb.functional.int8_vectorwise_dequant(m.weight.data, m.weight.SCB)

    return in_transformers(lambda: hf.BitsAndBytesConfig(load_in_8bit=True), torch.bfloat16, back)


def torchao(name, **fields):
    def options():
        import torchao.quantization as ao

        if "group" in fields:
            return hf.TorchAoConfig(getattr(ao, name)(weight_dtype=fields["dtype"], granularity=ao.PerGroup(fields["group"]), **fields.get("more", {})))
        return hf.TorchAoConfig(getattr(ao, name)())

    return in_transformers(options, torch.float32, lambda m: m.weight.dequantize())


def compressed(form, scales, **args):
    """What compressed-tensors' compressor makes of weights with scales(weight), and its decompressor of that."""

    def quantize(model):
        from compressed_tensors.compressors import BaseCompressor
        from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

        scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**args), format=form)
        compressor = BaseCompressor.get_value_from_registry(form)
        numbers, stored = {}, {}
        for k, w in model.state_dict().items():
            if "_proj" not in k:
                stored[k] = w.clone()
                continue
            one = compressor.compress({"weight": w.clone()} | scales(w), scheme)
            stored |= {k.removesuffix("weight") + end: t.contiguous() for end, t in one.items()}
            numbers[k] = compressor.decompress(one, scheme)["weight"].float()
        config = dict(config_groups=dict(group_0=scheme.model_dump(mode="json")), format=form, ignore=["lm_head"], kv_cache_scheme=None, quant_method="compressed-tensors",
                      quantization_status="compressed", global_compression_ratio=None, version="0.20.0")
        return numbers, save(stored, metadata={"format": "pt"}), config

    return quantize


def of_awq(t, bits, group):
    """What AutoAWQ makes of its tensors in float32."""
    import awq.utils.packing_utils as packing

    return packing.dequantize_gemm(t["qweight"], t["qzeros"], t["scales"].float(), bits, group).T


def of_auto_round(t, bits, group):
    """What auto-round's layer, whose zeros are stored smaller by one, makes of its tensors in float32."""
    from auto_round_extension.torch.qlinear_torch_zp import QuantLinear

    rows, columns = t["scales"].shape[1], t["qweight"].shape[0] * 32 // bits
    layer = QuantLinear(bits, group, columns, rows, False)
    layer.qweight, layer.qzeros, layer.scales = t["qweight"], t["qzeros"], t["scales"].float()
    return layer(torch.eye(columns)).T


def auto_round(packing, back, **fields):
    """What auto-round exports without tuning, and back(tensors) of each layer."""

    def quantize(model):
        import auto_round as ar
        from tokenizers import Tokenizer, models

        with tempfile.TemporaryDirectory() as base, tempfile.TemporaryDirectory() as saved:
            model.save_pretrained(base)
            hf.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")), unk_token="a").save_pretrained(base)
            how = dict(bits=4, group_size=32, iters=0, disable_opt_rtn=True, device_map="cpu") | fields
            ar.AutoRound(hf.LlamaForCausalLM.from_pretrained(base), hf.AutoTokenizer.from_pretrained(base), **how).quantize_and_save(saved, format=packing)
            (folder,) = [d for d, _, files in os.walk(saved) if "config.json" in files]
            with open(os.path.join(folder, "config.json")) as f:
                config = json.load(f)["quantization_config"]
            with open(os.path.join(folder, "model.safetensors"), "rb") as f:
                file = f.read()
            return dequantized(load(file), lambda t: back(t, how["bits"], 32)), file, config

    return quantize


def dequantized(tensors, back):
    """back(tensors of a layer), by the weight's name."""
    stems = sorted(k.removesuffix("qweight") for k in tensors if k.endswith("qweight"))
    return {s + "weight": back({k.removeprefix(s): t for k, t in tensors.items() if k.startswith(s)}).contiguous() for s in stems}


def layers(config, pack, back):
    """What pack(linear, scales, zeros) makes of each layer with a scale and a zero from 0 to 15 for 32 columns."""

    def quantize(model):
        stored = {}
        for k, w in model.state_dict().items():
            if "_proj" not in k:
                stored[k] = w.clone()
                continue
            x = w.reshape(w.shape[0], -1, 32)
            low, high = x.amin(2).clamp(max=0), x.amax(2).clamp(min=0)
            scales = ((high - low) / 15).half().float()
            linear = torch.nn.Linear(w.shape[1], w.shape[0], bias=False)
            zeros = (-low / scales).round().clamp(1, 15)
            steps = (w / scales.repeat_interleave(32, 1)).round() + zeros.repeat_interleave(32, 1)
            linear.weight.data = (steps.clamp(0, 15) - zeros.repeat_interleave(32, 1)) * scales.repeat_interleave(32, 1)
            stored |= {k.removesuffix("weight") + end: t.contiguous() for end, t in pack(linear, scales, zeros).items()}
        file = save(stored, metadata={"format": "pt"})
        return dequantized(stored, back), file, config

    return quantize


def pack_awq(linear, scales, zeros):
    from awq.modules.linear.gemm import WQLinear_GEMM

    layer = WQLinear_GEMM.from_linear(linear, 4, 32, scales=scales.T.contiguous(), zeros=zeros.T.contiguous())
    return {k: getattr(layer, k) for k in ("qweight", "qzeros", "scales")}


def gptq_layer(columns, rows):
    from gptqmodel.nn_modules.qlinear.torch import TorchLinear

    return TorchLinear(bits=4, group_size=32, sym=False, desc_act=False, in_features=columns, out_features=rows, bias=False, pack_dtype=torch.int32, register_buffers=True)


def pack_gptq(linear, scales, zeros):
    layer = gptq_layer(linear.in_features, linear.out_features)
    layer.pack_block(linear, scales, zeros.int(), (torch.arange(linear.in_features) // 32).int())
    return {k: getattr(layer, k) for k in ("qweight", "qzeros", "scales", "g_idx")}


def of_gptq(t):
    layer = gptq_layer(t["qweight"].shape[0] * 8, t["qweight"].shape[1])
    for k, x in t.items():
        setattr(layer, k, x.float() if k == "scales" else x)
    layer.post_init()
    layer.dequant_dtype = torch.int8
    return layer.dequantize_weight().T.float()


def groups(w, n):
    return w.reshape(w.shape[0], -1, n).abs().amax(2)


def nvfp4(w):
    every = 448 * 6 / w.abs().max()
    return {"weight_scale": (groups(w, 16) / 6 * every).to(torch.float8_e4m3fn).float(), "weight_global_scale": every.reshape(1)}


def mxfp4(w):
    return {"weight_scale": torch.exp2(torch.floor(torch.log2(groups(w, 32))) - 2)}


def blocks(w):
    return {"weight_scale": w.reshape(w.shape[0] // 32, 32, -1, 32).abs().amax((1, 3)) / 448}


def zeros(w):
    x = w.reshape(w.shape[0], -1, 32)
    low, high = x.amin(2).clamp(max=0), x.amax(2).clamp(min=0)
    scale = ((high - low) / 15).half().float()
    return {"weight_scale": scale, "weight_zero_point": (-8 - (low / scale).round()).clamp(-8, 7).to(torch.int8)}


QUANTIZERS = {
    "llama-bnb-nf4": four_bits("nf4", torch.bfloat16, bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=torch.bfloat16),
    "llama-bnb-nf4-plain": four_bits("nf4", torch.float32),
    "llama-bnb-fp4": four_bits("fp4", torch.float16, bnb_4bit_use_double_quant=True),
    "llama-bnb-int8": eight_bits(),
    "llama-torchao-int8": torchao("Int8WeightOnlyConfig"),
    "llama-torchao-int4": torchao("IntxWeightOnlyConfig", dtype=torch.int4, group=32),
    "llama-autoround": auto_round("auto_round:auto_gptq", of_auto_round, sym=True),
    "llama-autoround-eight": auto_round("auto_round:auto_gptq", of_auto_round, sym=True, bits=8),
    "llama-autoround-zeros": auto_round("auto_round:auto_awq", of_awq, sym=False),
    "llama-awq": layers(dict(quant_method="awq", bits=4, group_size=32, zero_point=True, version="gemm"), pack_awq, lambda t: of_awq(t, 4, 32)),
    "llama-gptq": layers(dict(quant_method="gptq", bits=4, group_size=32, sym=False, desc_act=False, checkpoint_format="gptq_v2"), pack_gptq, of_gptq),
    "llama-compressed-nvfp4": compressed("nvfp4-pack-quantized", nvfp4, num_bits=4, type="float", strategy="tensor_group", group_size=16),
    "llama-compressed-mxfp4": compressed("mxfp4-pack-quantized", mxfp4, num_bits=4, type="float", strategy="group", group_size=32),
    "llama-compressed-blocks": compressed("float-quantized", blocks, num_bits=8, type="float", strategy="block", block_structure=[32, 32]),
    "llama-compressed-zeros": compressed("pack-quantized", zeros, num_bits=4, type="int", strategy="group", group_size=32, symmetric=False),
}


@folder(*QUANTIZERS)
def _(out, name):
    """dequantized.json has the SHA-256 of each weight as little-endian float32, in which no zero is negative."""
    made = {}

    def after(model):
        numbers, made["file"], made["config"] = QUANTIZERS[name](model)
        for k, p in model.named_parameters():
            if k in numbers:
                p.data = numbers[k].clone()
        made["sums"] = {k: hashlib.sha256((x + 0.0).contiguous().numpy().tobytes()).hexdigest() for k, x in sorted(numbers.items())}
        stored = load(made["file"])
        for k, p in model.named_parameters():
            if k not in numbers:
                p.data = stored[k].float()  # in the type that it is saved in

    how = dict(after=after, published=dict(config=lambda c: c.update(quantization_config=made["config"])), dtype=None)
    config = llama(hf.LlamaConfig, hidden_size=64, intermediate_size=96, num_hidden_layers=1)
    decoder(out, name, hf.LlamaForCausalLM(config), hf.LlamaForCausalLM, seed=3900, **how)
    with open(os.path.join(out, name, "model.safetensors"), "wb") as f:
        f.write(made["file"])
    with open(os.path.join(out, name, "dequantized.json"), "w") as f:
        json.dump(made["sums"], f, indent=1)
        f.write("\n")
