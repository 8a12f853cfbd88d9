"""Low-rank adapters as Python's peft writes them, for folders made by the other scripts: what the model
computes with them."""

import json
import os

import peft
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

from folder import BUILD, Folder

# By name: the model's folder, the class that computes, and peft's configuration.
ADAPTERS = {
    "llama-linear": ("llama", hf.LlamaForCausalLM, dict(r=3, target_modules="all-linear", lora_alpha=5, use_rslora=True, task_type="CAUSAL_LM")),
    "llama-patterns": ("llama", hf.LlamaForCausalLM, dict(
        r=3, target_modules=r"model\.layers\.\d+\.(self_attn\.[qv]_proj|mlp\.(up|down)_proj)", exclude_modules=["1.mlp.up_proj"],
        rank_pattern={"1.self_attn.q_proj": 2, r"^model.layers.\d.mlp.[ud].*": 5, "q_proj": 4}, alpha_pattern={r"layers\.0\..*v_proj": 13, "v_proj": 3})),
    "llama-vectors": ("llama", hf.LlamaForCausalLM, dict(r=2, target_modules=["embed_tokens", "lm_head", "k_proj"], layers_pattern=None)),
    "phi3-layers": ("phi3", hf.Phi3ForCausalLM, dict(r=3, target_modules=["qkv_proj", "gate_up_proj", "down_proj"], layers_to_transform=1, layers_pattern="layers")),
    "gpt2-conv": ("gpt2", hf.GPT2LMHeadModel, dict(r=3, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True, lora_alpha=4)),
    "gpt2-hub-conv": ("gpt2-hub", hf.GPT2LMHeadModel, dict(r=2, target_modules=["attn.c_proj"], fan_in_fan_out=True, init_lora_weights="gaussian")),
    "bert-classify-saved": ("bert-classify", hf.BertForSequenceClassification, dict(r=2, target_modules=["query", "value", "word_embeddings", "pooler.dense"], task_type="SEQ_CLS", lora_dropout=0.1)),
    "llama-tied-saved": ("llama-tied-rope3", hf.LlamaForCausalLM, dict(r=1, target_modules=["q_proj"], modules_to_save=["embed_tokens"], task_type="CAUSAL_LM")),
    "llama-tied-tokens": ("llama-tied-rope3", hf.LlamaForCausalLM, dict(r=1, target_modules=["q_proj"], trainable_token_indices=[3, 96, 17], task_type="CAUSAL_LM")),
    "llama-tied-vectors": ("llama-tied-rope3", hf.LlamaForCausalLM, dict(r=2, target_modules=["embed_tokens", "v_proj"], task_type="CAUSAL_LM")),
    "llama-tied-head": ("llama-tied-rope3", hf.LlamaForCausalLM, dict(r=2, target_modules=["lm_head"], task_type="CAUSAL_LM")),
    "llama-tied-ensured": ("llama-tied-rope3", hf.LlamaForCausalLM, dict(r=2, target_modules=["embed_tokens"], ensure_weight_tying=True, task_type="CAUSAL_LM")),
    "llama-tied-ensured-head": ("llama-tied-rope3", hf.LlamaForCausalLM, dict(r=2, target_modules=["lm_head"], ensure_weight_tying=True, rank_pattern={"lm_head": 3}, alpha_pattern={"lm_head": 5}, use_rslora=True, task_type="CAUSAL_LM")),
    "qwen2-magnitudes": ("qwen2", hf.Qwen2ForCausalLM, dict(r=3, target_modules=["q_proj", "o_proj", "up_proj"], use_dora=True, task_type="CAUSAL_LM")),
    "gpt2-magnitudes": ("gpt2", hf.GPT2LMHeadModel, dict(r=3, target_modules=["c_attn", "mlp.c_proj"], use_dora=True, fan_in_fan_out=True)),
    "qwen2-biases": ("qwen2", hf.Qwen2ForCausalLM, dict(r=1, target_modules=["q_proj", "model.layers.1.self_attn.v_proj"], layers_to_transform=[0], lora_bias=True, bias="all", lora_alpha=3)),
    "t5-attention": ("t5", hf.T5ForConditionalGeneration, dict(r=2, target_modules=["q", "v", "wo"], lora_alpha=3.5, task_type="SEQ_2_SEQ_LM")),
}


def outputs(name, folders):
    """What a model computes, as its own folder's expected values, and the inputs."""
    base, cls, _ = ADAPTERS[name]
    given = load_file(os.path.join(folders, base, "expected.safetensors"))
    inputs = {k: given[k] for k in ("input_ids", "attention_mask", "token_type_ids", "decoder_input_ids") if k in given}

    def run(m, dtype):
        with torch.no_grad():
            if cls in (hf.BertForSequenceClassification,):
                return {"logits": m(**inputs).logits}
            if "decoder_input_ids" in inputs:
                o = m(**inputs, use_cache=False)
                return {"logits": o.logits, "encoder_last_hidden_state": o.encoder_last_hidden_state.masked_fill(inputs["attention_mask"][..., None] == 0, 0)}
            return {"logits": m(**inputs).logits.masked_fill(inputs["attention_mask"][..., None] == 0, 0)}

    return inputs, run


def draw(model, seed, config):
    """Fills the adapter, so that it changes what the model computes as much as the model's own weights."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "magnitude" in name:
                p.mul_(0.5 + torch.rand(p.shape, generator=g))
            elif "lora_" in name and p.dim() > 1:
                p.copy_(torch.randn(p.shape, generator=g) * (0.5 if "embedding" in name else 1.2 * p.shape[1] ** -0.5))
            elif any(part in name for part in ("modules_to_save", "trainable_tokens", "lora_")) or config.bias == "all" and name.endswith("bias"):
                p.copy_(torch.randn(p.shape, generator=g) * 0.5)


def adapter(out, name):
    base, cls, config = ADAPTERS[name]
    folders, (inputs, run) = out, outputs(name, out)
    f = Folder(os.path.join(out, "..", "adapters"), name)
    model = lambda: cls.from_pretrained(os.path.join(folders, base), dtype=torch.float32, attn_implementation="eager").eval()
    plain = run(model(), None)
    m = peft.get_peft_model(model(), peft.LoraConfig(**config)).eval()
    draw(m, 3000 + len(name), peft.LoraConfig(**config))
    m.save_pretrained(f.path)
    os.remove(os.path.join(f.path, "README.md"))
    path = os.path.join(f.path, "adapter_config.json")
    with open(path) as file:
        saved = json.load(file)
    saved["base_model_name_or_path"] = "org/" + base
    for field in ("target_modules", "modules_to_save"):  # sets, in any order
        if isinstance(saved[field], list):
            saved[field].sort()
    f.json("adapter_config.json", saved)
    weights = os.path.join(f.path, "adapter_model.safetensors")
    narrow = {k: v.half() if config.get("r") == 2 and "lora" in k else v for k, v in load_file(weights).items()}  # as many are published
    save_file(narrow, weights, metadata={"format": "pt"})
    read = peft.PeftModel.from_pretrained(model(), f.path).eval()
    result = run(read, None)
    for k in result:
        assert float((result[k] - plain[k]).abs().max()) > 0.1, f"{name}: the adapter does not matter for {k}"
    f.record(read, cls, run, None, result, inputs, {"base": base, "peft": peft.__version__})


BUILD.update({"adapter-" + name: lambda out, name: adapter(out, name.removeprefix("adapter-")) for name in ADAPTERS})
