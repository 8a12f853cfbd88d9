"""Layers that predict further tokens, for folders made by the other scripts. transformers ignores their weights, so Further computes the layers in
PyTorch, from the report of DeepSeek V3 (section 2.2), with a layer of transformers' model: [norm of the next token's embedding, norm of the hidden state] is
projected and passes a layer with attention of the model's own kind, a norm, and the model's head. The hidden state is taken after the model's last norm, as in
vLLM and llama.cpp."""

import os

import torch
import transformers as hf
from safetensors.torch import save_file

from folder import BUILD, redraw

# For the name of each model's folder: its class, the layer whose kind the new layer has, and the names under which the parts are published.
QWEN = dict(tokens="mtp.pre_fc_norm_embedding.", hidden="mtp.pre_fc_norm_hidden.", project="mtp.fc.", layer="mtp.layers.0.", norm="mtp.norm.")
DEEPSEEK = dict(tokens="model.layers.2.enorm.", hidden="model.layers.2.hnorm.", project="model.layers.2.eh_proj.", layer="model.layers.2.", norm="model.layers.2.shared_head.norm.")
MODELS = {
    "qwen3_5_text": (hf.Qwen3_5ForCausalLM, 3, QWEN, 0.0),
    "qwen3_5_moe_text": (hf.Qwen3_5MoeForCausalLM, 3, QWEN, 0.0),
    "qwen3_next": (hf.Qwen3NextForCausalLM, 3, QWEN, 0.0),
    "deepseek_v3": (hf.DeepseekV3ForCausalLM, 1, DEEPSEEK, 1.0),
}


class Further(torch.nn.Module):
    """The layer, with parts of the model for what it shares."""

    def __init__(self, model, index):
        super().__init__()
        c, like = model.config, model.model
        norm = type(like.norm)
        self.tokens, self.hidden, self.norm = (norm(c.hidden_size, eps=c.rms_norm_eps) for _ in range(3))
        self.project = torch.nn.Linear(2 * c.hidden_size, c.hidden_size, bias=False)
        self.layer = type(like.layers[index])(c, index)

    def forward(self, model, ids):
        x = model.model(ids, use_cache=False).last_hidden_state[:, :-1]
        x = self.project(torch.cat([self.tokens(model.model.embed_tokens(ids[:, 1:])), self.hidden(x)], -1))
        n = x.shape[1]
        positions = torch.arange(n)[None]
        mask = torch.full((n, n), torch.finfo(x.dtype).min, dtype=x.dtype).triu(1)[None, None]
        turned = model.model.rotary_emb(x, positions)
        x = self.layer(x, position_embeddings=turned, attention_mask=mask, position_ids=positions, past_key_values=None)
        return model.lm_head(self.norm(x[0] if isinstance(x, tuple) else x))


def published(name, x, names):
    """Returns a weight by its name in the checkpoint. Each of DeepSeek's experts has a tensor of its own."""
    stem, _, part = name.partition(".experts.")
    if names is not DEEPSEEK or part not in ("gate_up_proj", "down_proj"):
        return {name: x.contiguous()}
    one = {}
    for i, w in enumerate(x):
        for p, rows in zip(part.replace("gate_up_proj", "gate_proj up_proj").split(), w.chunk(2) if part == "gate_up_proj" else [w]):
            one[f"{stem}.experts.{i}.{p}.weight"] = rows.contiguous()
    return one


def write(out, name):
    name = name.removeprefix("mtp-")
    cls, index, names, norm = MODELS[name]
    model = cls.from_pretrained(os.path.join(out, name), dtype=torch.float32, attn_implementation="eager").eval()
    model.set_experts_implementation("eager")
    own = Further(model, index).eval()
    redraw(own, 4900, norm=norm)
    with torch.no_grad():
        for p in own.parameters():
            p.copy_(p.bfloat16())
        ids = torch.randint(2, 95, (1, 23), generator=torch.Generator().manual_seed(3))
        logits = own(model, ids)
        noise = float((own.double()(model.double(), ids) - logits.double()).abs().max())
    weights = {}
    for k, v in own.float().state_dict().items():
        part, rest = k.split(".", 1)
        weights |= published(names[part] + rest, v.bfloat16(), names)
    folder = os.path.join(out, "..", "mtp")
    os.makedirs(folder, exist_ok=True)
    save_file(weights | {"input_ids": ids, "logits": logits}, os.path.join(folder, name + ".safetensors"), metadata={"noise": "%.2g" % noise})
    print(f"mtp-{name:20} noise {noise:.2g}", flush=True)


BUILD.update({"mtp-" + name: write for name in MODELS})
