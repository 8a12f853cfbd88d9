"""Vision transformers, and models with a tower for images and one for texts."""

import torch
import transformers as hf

from folder import Folder, folder, hide, random_batch

SIZE = 24  # of the images, in patches of 8


def pixels(height, width):
    return torch.randn((2, 3, height, width), generator=torch.Generator().manual_seed(9))


def timm_names(w):
    """The weights of a ViT with timm's names."""
    def concat(p, kind):
        return torch.cat([w[f"{p}attention.attention.{k}.{kind}"] for k in ("query", "key", "value")])

    new = {
        "cls_token": w["vit.embeddings.cls_token"], "pos_embed": w["vit.embeddings.position_embeddings"],
        "patch_embed.proj.weight": w["vit.embeddings.patch_embeddings.projection.weight"], "patch_embed.proj.bias": w["vit.embeddings.patch_embeddings.projection.bias"],
    }
    pairs = [("vit.layernorm.", "norm."), ("classifier.", "head.")]
    for i in range(2):
        p, b = f"vit.encoder.layer.{i}.", f"blocks.{i}."
        for kind in ("weight", "bias"):
            new[f"{b}attn.qkv.{kind}"] = concat(p, kind)
        pairs += [(p + "layernorm_before.", b + "norm1."), (p + "layernorm_after.", b + "norm2."), (p + "attention.output.dense.", b + "attn.proj."),
                  (p + "intermediate.dense.", b + "mlp.fc1."), (p + "output.dense.", b + "mlp.fc2.")]
    for old, name in pairs:
        for kind in ("weight", "bias"):
            new[name + kind] = w[old + kind]
    return new


@folder("vit", "vit-interpolate", "vit-timm")
def _(out, name):
    """Of vit-interpolate the images are larger than the positions were made for."""
    c = hf.ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=SIZE, patch_size=8, num_labels=5,
                     layer_norm_eps=1e-6 if name == "vit-timm" else 1e-12)  # timm's, which no file says
    interpolate = name == "vit-interpolate"
    inputs = {"pixel_values": pixels(40, 32) if interpolate else pixels(SIZE, SIZE)}

    def run(m, dtype):
        x = inputs["pixel_values"].to(dtype)
        with torch.no_grad():
            return {"last_hidden_state": m.vit(x, interpolate_pos_encoding=interpolate).last_hidden_state, "logits": m(x, interpolate_pos_encoding=interpolate).logits}

    def timm_config(c):
        c.clear()
        c.update(architecture="vit_tiny_patch8_24", num_classes=5, num_features=32, global_pool="token", model_args={"img_size": SIZE, "patch_size": 8, "embed_dim": 32, "depth": 2, "num_heads": 4, "mlp_ratio": 1.5},
                 pretrained_cfg={"input_size": [3, SIZE, SIZE], "num_classes": 5})

    f = Folder(out, name)
    published = {"config": timm_config, "rename": timm_names} if name == "vit-timm" else None
    f.write(hf.ViTForImageClassification(c), hf.ViTForImageClassification, run, inputs=inputs, seed=700, published=published)
    if not published:
        f.json("preprocessor_config.json", {"do_normalize": True, "do_resize": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "image_processor_type": "ViTImageProcessor", "resample": 2, "size": {"height": SIZE, "width": SIZE}})


@folder("vit-pooler")
def _(out, name):
    """Without a head, by the names that transformers 5 has in memory; of images a part at the edges is left over."""
    c = hf.ViTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48, image_size=20, patch_size=8, pooler_output_size=24, pooler_act="relu", qkv_bias=False)
    inputs = {"pixel_values": pixels(20, 20)}

    def run(m, dtype):
        with torch.no_grad():
            o = m(inputs["pixel_values"].to(dtype))
        return {k: getattr(o, k) for k in ("last_hidden_state", "pooler_output")}

    def names(w):
        pairs = [("encoder.layer.", "layers."), (".attention.attention.query.", ".attention.q_proj."), (".attention.attention.key.", ".attention.k_proj."), (".attention.attention.value.", ".attention.v_proj."),
                 (".attention.output.dense.", ".attention.o_proj."), (".intermediate.dense.", ".mlp.fc1."), (".output.dense.", ".mlp.fc2.")]
        new = {}
        for k, v in w.items():
            for a, b in pairs:
                k = k.replace(a, b)
            new[k] = v
        return new

    Folder(out, name).write(hf.ViTModel(c), hf.ViTModel, run, inputs=inputs, seed=710, published={"rename": names})


def two_towers(out, name, model, cls, lengths, **options):
    f = Folder(out, name)
    c = model.config.text_config
    ids, mask = random_batch(lengths, 4, c.vocab_size - 1, 1)
    if name == "clip":  # the embedding is that of the token of highest id
        for i, n in enumerate(lengths):
            ids[i, n - 1] = c.eos_token_id
    inputs = {"pixel_values": pixels(SIZE, SIZE), "input_ids": ids, "attention_mask": mask}

    def run(m, dtype):
        with torch.no_grad():
            o = m(pixel_values=inputs["pixel_values"].to(dtype), input_ids=ids, attention_mask=mask)
        return {k: getattr(o, k) for k in ("image_embeds", "text_embeds", "logits_per_image")}

    f.write(model, cls, run, inputs=inputs, **options)
    f.json("preprocessor_config.json", {"do_normalize": True, "do_resize": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "image_processor_type": "SiglipImageProcessor", "resample": 3, "size": {"height": SIZE, "width": SIZE}})


TOWER = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4)


@folder("siglip")
def _(out, name):
    """Texts are padded to their full length, and padding is seen."""
    c = hf.SiglipConfig(text_config=TOWER | dict(vocab_size=101, max_position_embeddings=16, projection_size=32), vision_config=TOWER | dict(image_size=SIZE, patch_size=8))
    two_towers(out, name, hf.SiglipModel(c), hf.SiglipModel, [16, 16, 16], seed=720)


@folder("clip")
def _(out, name):
    c = hf.CLIPConfig(text_config=TOWER | dict(vocab_size=101, max_position_embeddings=16, projection_dim=24, eos_token_id=100, bos_token_id=0, pad_token_id=1), vision_config=TOWER | dict(image_size=SIZE, patch_size=8, projection_dim=24), projection_dim=24)
    two_towers(out, name, hf.CLIPModel(c), hf.CLIPModel, [12, 7, 9], seed=740)


@folder("clip-text", "clip-image", "siglip-text", "siglip-image")
def _(out, name):
    """Towers on their own, CLIP's with their projections."""
    more = dict(num_hidden_layers=1)
    text, image = TOWER | more | dict(vocab_size=101, max_position_embeddings=16), TOWER | more | dict(image_size=SIZE, patch_size=8)
    cls, c = {
        "clip-text": (hf.CLIPTextModelWithProjection, hf.CLIPTextConfig(**text, projection_dim=24, eos_token_id=100, bos_token_id=0, pad_token_id=1)),
        "clip-image": (hf.CLIPVisionModelWithProjection, hf.CLIPVisionConfig(**image, projection_dim=24)),
        "siglip-text": (hf.SiglipTextModel, hf.SiglipTextConfig(**text, projection_size=32)),
        "siglip-image": (hf.SiglipVisionModel, hf.SiglipVisionConfig(**image)),
    }[name]
    inputs = {"pixel_values": pixels(SIZE, SIZE)}
    if name.endswith("-text"):
        lengths = [12, 7, 9] if name == "clip-text" else [16, 16]
        ids, mask = random_batch(lengths, 4, c.vocab_size - 1, 1)
        for i, n in enumerate(lengths):
            ids[i, n - 1] = 100
        inputs = {"input_ids": ids, "attention_mask": mask}

    def run(m, dtype):
        with torch.no_grad():
            o = m(**{k: v.to(dtype) if k == "pixel_values" else v for k, v in inputs.items()})
        out = {k: getattr(o, k) for k in ("last_hidden_state", "pooler_output", "text_embeds", "image_embeds") if getattr(o, k, None) is not None}
        return out | ({"last_hidden_state": hide(o.last_hidden_state, mask)} if name.endswith("-text") else {})

    Folder(out, name).write(cls(c), cls, run, inputs=inputs, seed=760)


@folder("dinov2", "dinov2-classify", "dinov2-gated")
def _(out, name):
    """dinov2 takes images larger than its positions were made for; dinov2-gated has the feed-forward networks of the largest size."""
    more = {"dinov2": {}, "dinov2-classify": dict(id2label={i: str(i) for i in range(3)}, num_hidden_layers=1), "dinov2-gated": dict(use_swiglu_ffn=True, qkv_bias=False, num_hidden_layers=1)}[name]
    cls = hf.Dinov2ForImageClassification if name == "dinov2-classify" else hf.Dinov2Model
    c = hf.Dinov2Config(**(dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, mlp_ratio=2, image_size=SIZE, patch_size=8) | more))
    inputs = {"pixel_values": pixels(40, 32) if name == "dinov2" else pixels(SIZE, SIZE)}

    def run(m, dtype):
        x = inputs["pixel_values"].to(dtype)
        with torch.no_grad():
            o = getattr(m, "dinov2", m)(x)
            result = {k: getattr(o, k) for k in ("last_hidden_state", "pooler_output")}
            return result | ({"logits": m(x).logits} if name == "dinov2-classify" else {})

    f = Folder(out, name)
    f.write(cls(c), cls, run, inputs=inputs, seed=780)
    f.json("preprocessor_config.json", {"do_center_crop": True, "do_normalize": True, "do_resize": True, "do_convert_rgb": True, "do_rescale": True, "rescale_factor": 1 / 255, "crop_size": {"height": SIZE, "width": SIZE},
                                        "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225], "image_processor_type": "BitImageProcessor", "resample": 3, "size": {"shortest_edge": SIZE + 3}})


@folder("dinov3", "dinov3-gated")
def _(out, name):
    """dinov3 takes images that are not square, of which a part at the edges is left over. dinov3-gated has no registers, and the names of transformers 5."""
    more = {"dinov3": dict(num_register_tokens=3), "dinov3-gated": dict(use_gated_mlp=True, mlp_bias=False, query_bias=False, key_bias=True, value_bias=False, proj_bias=False, rope_theta=30.0, hidden_act="silu", num_hidden_layers=1)}[name]
    c = hf.DINOv3ViTConfig(**(dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, image_size=SIZE, patch_size=8) | more))
    inputs = {"pixel_values": pixels(44, 29) if name == "dinov3" else pixels(SIZE, SIZE)}

    def run(m, dtype):
        with torch.no_grad():
            o = m(inputs["pixel_values"].to(dtype))
        return {k: getattr(o, k) for k in ("last_hidden_state", "pooler_output")}

    def names(w):
        return {("model." + k if k.startswith("layer.") else k): v for k, v in w.items()}

    f = Folder(out, name)
    f.write(hf.DINOv3ViTModel(c), hf.DINOv3ViTModel, run, inputs=inputs, seed=785, **({"rename": names} if name == "dinov3-gated" else {}))
    f.json("preprocessor_config.json", {"do_normalize": True, "do_resize": True, "do_rescale": True, "rescale_factor": 1 / 255, "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225],
                                        "image_processor_type": "DINOv3ViTImageProcessorFast", "resample": 2, "size": {"height": SIZE, "width": SIZE}})


@folder("gemma4_vision", "gemma4_vision-clipped")
def _(out, name):
    """gemma4_vision takes images that are wide, and those of gemma4_vision-clipped are high. The latter has limits around its linear layers, and standardizes."""
    more = {"gemma4_vision": {}, "gemma4_vision-clipped": dict(use_clipped_linears=True, standardize=True, num_key_value_heads=1, num_hidden_layers=1, pooling_kernel_size=3, rope_parameters={"rope_type": "axial", "rope_theta": 30.0})}[name]
    c = hf.Gemma4VisionConfig(**(dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2, head_dim=16, intermediate_size=48, patch_size=4, pooling_kernel_size=2, position_embedding_size=12) | more))
    inputs = {"pixel_values": pixels(*((16, 24) if name == "gemma4_vision" else (36, 12))).sigmoid()}

    def run(m, dtype):
        x = inputs["pixel_values"].to(dtype)
        down, across = (n // c.patch_size for n in x.shape[2:])
        patches = flexible(x, c.patch_size, down * across)["pixel_values"]
        at = torch.stack(torch.meshgrid(torch.arange(across), torch.arange(down), indexing="xy"), -1).reshape(1, -1, 2).repeat(len(x), 1, 1)
        with torch.no_grad():
            y = m(patches, at).last_hidden_state
        return {"last_hidden_state": y.reshape(len(x), -1, y.shape[-1])}

    def limits(model):
        """Limits that half of the layers reach."""
        g = torch.Generator().manual_seed(7)
        for key, b in model.named_buffers():
            if key.endswith(("_min", "_max")):
                b.fill_((-1 if key.endswith("_min") else 1) * (0.3 + 1.5 * torch.rand((), generator=g)).bfloat16())
            elif "std_" in key:
                b.copy_((torch.rand(b.shape, generator=g) + 0.5).bfloat16())

    f = Folder(out, name)
    f.write(hf.Gemma4VisionModel(c), hf.Gemma4VisionModel, run, inputs=inputs, seed=795, after=limits)
    f.json("preprocessor_config.json", {"image_processor_type": "Gemma4ImageProcessor", "do_convert_rgb": True, "do_normalize": False, "do_rescale": True, "do_resize": True, "image_mean": [0.0, 0.0, 0.0], "image_std": [1.0, 1.0, 1.0],
                                        "max_soft_tokens": 70, "patch_size": c.patch_size, "pooling_kernel_size": c.pooling_kernel_size, "resample": 3, "rescale_factor": 1 / 255})


def flexible(x, patch, most):
    """pixel_values as SigLIP 2 takes them: patches, [images, most, patch*patch*channels], how many of them count, and their shape."""
    n, c, h, w = x.shape
    cut = x.reshape(n, c, h // patch, patch, w // patch, patch).permute(0, 2, 4, 3, 5, 1).reshape(n, -1, patch * patch * c)
    count = cut.shape[1]
    mask = (torch.arange(most)[None] < count).int().repeat(n, 1)
    return dict(pixel_values=torch.cat([cut, torch.full((n, most - count, cut.shape[2]), 5.0, dtype=cut.dtype)], 1), pixel_attention_mask=mask, spatial_shapes=torch.tensor([[h // patch, w // patch]] * n))


@folder("siglip2", "siglip2-image", "siglip2-text")
def _(out, name):
    """Images of other shapes than the table of positions, smaller and larger, among patches that do not count."""
    text = TOWER | dict(vocab_size=101, max_position_embeddings=16, projection_size=32, pad_token_id=1, bos_token_id=2, eos_token_id=3)
    image = TOWER | dict(num_patches=16, patch_size=4, num_hidden_layers=1)
    cls, c, shape = {
        "siglip2": (hf.Siglip2Model, hf.Siglip2Config(text_config=text, vision_config=image), (8, 24)),
        "siglip2-image": (hf.Siglip2VisionModel, hf.Siglip2VisionConfig(**image), (28, 12)),
        "siglip2-text": (hf.Siglip2TextModel, hf.Siglip2TextConfig(**text | dict(num_hidden_layers=1)), None),
    }[name]
    inputs = {}
    if shape:
        inputs["pixel_values"] = pixels(*shape)
    if name != "siglip2-image":
        ids, mask = random_batch([16, 16, 16], 4, 100, 1)
        inputs |= {"input_ids": ids, "attention_mask": mask}

    def run(m, dtype):
        given = {k: v for k, v in inputs.items() if k != "pixel_values"} | (flexible(inputs["pixel_values"].to(dtype), 4, 25) if shape else {})
        with torch.no_grad():
            o = m(**given)
        result = {k: getattr(o, k) for k in ("image_embeds", "text_embeds", "logits_per_image", "last_hidden_state", "pooler_output") if getattr(o, k, None) is not None}
        if name == "siglip2-image":
            result["last_hidden_state"] = result["last_hidden_state"][:, : shape[0] * shape[1] // 16]
        return result

    f = Folder(out, name)
    f.write(cls(c), cls, run, inputs=inputs, seed=790)
    if shape:
        f.json("preprocessor_config.json", {"do_convert_rgb": None, "do_normalize": True, "do_rescale": True, "do_resize": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "image_processor_type": "Siglip2ImageProcessor",
                                            "max_num_patches": 24, "patch_size": 4, "resample": 2, "rescale_factor": 1 / 255})
