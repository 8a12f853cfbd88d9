"""GGUF files of language models that read images: one of the text, and one with the encoder of images, as llama.cpp's converter writes them."""

import json
import os
import tempfile

import gguf
import numpy
from safetensors.torch import load_file, save_file

import gguf_files
from folder import Folder, folder

TOKEN_TYPES = gguf.TokenType
TOWER = {"embeddings.patch_embedding": "v.patch_embd", "embeddings.position_embedding": "v.position_embd", "post_layernorm": "v.post_ln"}
QWEN = {"patch_embed.proj": "v.patch_embd", "pos_embed": "v.position_embd", "merger.norm": "v.post_ln", "merger.linear_fc1": "mm.0", "merger.linear_fc2": "mm.2"}
LAYER = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.out_proj": "attn_out", "layer_norm1": "ln1", "layer_norm2": "ln2", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down",
         "attn.qkv": "attn_qkv", "attn.proj": "attn_out", "norm1": "ln1", "norm2": "ln2", "mlp.linear_fc1": "ffn_up", "mlp.linear_fc2": "ffn_down"}
PROJECTION = {"mm_input_projection_weight": "mm.input_projection.weight", "mm_soft_emb_norm.weight": "mm.soft_emb_norm.weight", "modality_projection.proj.weight": "mm.model.fc.weight",
              "linear_1": "mm.1", "linear_2": "mm.2", "layer_norm": "mm.input_norm"}


def named(name):
    """llama.cpp's name of a tensor under an encoder of images or under the projection."""
    for prefix in ("vision_model.", "encoder.layers.", "blocks."):
        name = name.removeprefix(prefix)
    if name in PROJECTION:
        return PROJECTION[name]
    stem, kind = name.rsplit(".", 1)
    if stem in PROJECTION | TOWER | QWEN:
        return (PROJECTION | TOWER | QWEN)[stem] + "." + kind
    layer, part = stem.split(".", 1)
    return f"v.blk.{layer}.{LAYER[part]}.{kind}"


def words(source):
    """What adds the vocabulary of a folder with a byte-level tokenizer."""
    def add(w, c):
        with open(os.path.join(source, "tokenizer.json")) as f:
            t = json.load(f)
        with open(os.path.join(source, "tokenizer_config.json")) as f:
            template = json.load(f)["chat_template"]
        ids = t["model"]["vocab"] | {a["content"]: a["id"] for a in t["added_tokens"]}
        special = {a["id"] for a in t["added_tokens"] if a["special"]}
        tokens = sorted(ids, key=ids.get)
        assert [ids[x] for x in tokens] == list(range(len(tokens)))
        w.add_tokenizer_model("gpt2")
        w.add_tokenizer_pre("qwen2")
        w.add_token_list(tokens)
        w.add_token_types([TOKEN_TYPES.CONTROL if i in special else TOKEN_TYPES.NORMAL for i in range(len(tokens))])
        w.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in t["model"]["merges"]])
        w.add_eos_token_id(ids["<|im_end|>"])
        w.add_pad_token_id(ids["<|endoftext|>"])
        w.add_add_bos_token(False)
        w.add_chat_template(template)

    return add


def text_of(source, weights, c):
    """The folder of the text alone, in a temporary one."""
    temporary = tempfile.mkdtemp()
    own = {}
    for name, x in weights.items():
        for prefix in ("language_model.model.", "model.language_model.", "model.text_model."):
            if name.startswith(prefix):
                own["model." + name.removeprefix(prefix)] = x.clone()
        if name.endswith("lm_head.weight"):
            own["lm_head.weight"] = x.clone()
    save_file(own, os.path.join(temporary, "model.safetensors"))
    with open(os.path.join(temporary, "config.json"), "w") as f:
        json.dump(c["text_config"] | {"eos_token_id": c["eos_token_id"], "head_dim": c["text_config"].get("head_dim")}, f)
    return temporary


@folder("gguf-images-gemma3", "gguf-images-idefics3", "gguf-images-lfm2_vl", "gguf-images-qwen3_5")
def _(out, name):
    """The converter writes the epsilon of Qwen's text as that of its tower, which is the same in published models; this one has that of the tower."""
    name = name.removeprefix("gguf-images-")
    source = os.path.join(out, "..", "images", name)
    f = Folder(os.path.join(out, "..", "gguf-images"), name)
    weights = load_file(os.path.join(source, "model.safetensors"))
    with open(os.path.join(source, "config.json")) as r:
        c = json.load(r)
    with open(os.path.join(source, "preprocessor_config.json")) as r:
        p = json.load(r)
    gguf_files.convert(text_of(source, weights, c), os.path.join(f.path, "model.gguf"), [gguf_files.TYPES.F32], words=words(source))
    v = c["vision_config"]
    w = gguf.GGUFWriter(os.path.join(f.path, "mmproj-model.gguf"), "clip")
    w.add_type(gguf.GGUFType.MMPROJ)
    w.add_clip_has_vision_encoder(True)
    w.add_vision_projection_dim(c["text_config"]["hidden_size"])
    w.add_vision_image_size(v.get("image_size", 256) if name != "qwen3_5" else int(v["num_position_embeddings"] ** 0.5 * v["patch_size"]))
    w.add_vision_patch_size(v["patch_size"])
    w.add_vision_embedding_length(v["hidden_size"])
    w.add_vision_feed_forward_length(v["intermediate_size"])
    w.add_vision_block_count(v.get("num_hidden_layers") or v["depth"])
    w.add_vision_head_count(v.get("num_attention_heads") or v["num_heads"])
    w.add_vision_image_mean(p["image_mean"])
    w.add_vision_image_std(p["image_std"])
    w.add_vision_attention_layernorm_eps(v.get("layer_norm_eps", 1e-6))
    w.add_vision_use_gelu(True)
    if name == "gemma3":
        w.add_clip_projector_type(gguf.VisionProjectorType.GEMMA3)
        w.add_vision_projector_scale_factor(v["image_size"] // v["patch_size"] // int(c["mm_tokens_per_image"] ** 0.5))
    elif name == "idefics3":
        w.add_clip_projector_type(gguf.VisionProjectorType.IDEFICS3)
        w.add_vision_projector_scale_factor(c["scale_factor"])
        w.add_vision_preproc_image_size(p["size"]["longest_edge"])
    elif name == "qwen3_5":
        w.add_clip_projector_type(gguf.VisionProjectorType.QWEN3VL)
        w.add_vision_spatial_merge_size(v["spatial_merge_size"])
        w.add_vision_is_deepstack_layers([False] * v["depth"])
    else:
        w.add_clip_projector_type(gguf.VisionProjectorType.LFM2)
        w.add_vision_projector_scale_factor(c["downsample_factor"])
    for full, x in sorted(weights.items()):
        part = next((part for part in ("vision_tower.", "vision_model.", "multi_modal_projector.", "connector.", "visual.") if part in full), None)
        if part is None:
            continue
        to, x = named(full.split(part, 1)[1]), x.float().numpy()
        if to == "mm.soft_emb_norm.weight":
            x = x + 1
        if to == "v.patch_embd.weight" and x.ndim == 2:
            n = v["patch_size"]
            x = x.reshape(x.shape[0], n, n, 3).transpose(0, 3, 1, 2)
        if x.ndim == 5:  # frames apart
            w.add_tensor(to + ".1", numpy.ascontiguousarray(x[:, :, 1]))
            x = x[:, :, 0]
        if to.endswith("input_projection.weight"):
            x = x.astype(numpy.float16)
        w.add_tensor(to, numpy.ascontiguousarray(x))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
