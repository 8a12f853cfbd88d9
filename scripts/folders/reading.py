"""Language models that read images, from a chat to its answer: folders with a tokenizer, a template and pictures."""

import os

import numpy as np
import tokenizers
import torch
import transformers as hf
from PIL import Image
from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil
from transformers.models.gemma4.image_processing_pil_gemma4 import Gemma4ImageProcessorPil
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

import deltanet
from decoders import BATCH, EOS, gemma, gemma4, llama, outputs, scalars, tokens
from defaults import bare
from folder import Folder, folder, greedy
from vision import flexible, pixels as noise

TEMPLATE = """{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- if message.content is string %}
        {{- message.content }}
    {%- else %}
        {%- for part in message.content %}
            {%- if part.type == 'image' %}
                {{- '<|image|>' }}
            {%- elif part.type == 'text' %}
                {{- part.text }}
            {%- endif %}
        {%- endfor %}
    {%- endif %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
BEGIN, TOKEN, END = "<|image>", "<|image|>", "<image|>"


def pictures():
    """Two pictures of the same size, and one of another."""
    y, x = np.mgrid[0:61, 0:97]
    a = np.stack([255 * x / 97, 255 * y / 61, 128 + 100 * np.sin(x / 3.0) * np.cos(y / 5.0)], -1)
    a[(x - 48) ** 2 + (y - 30) ** 2 < 400] = (230, 20, 60)
    a = np.clip(a, 0, 255).astype(np.uint8)
    return {"a.png": a, "b.png": a[::-1, ::-1, ::-1], "c.png": a[10:50, 20:40]}


def with_images(f, model, cls, token, pixels, groups, **how):
    """Writes a folder with the logits of texts, and of a text that has images: pixels, [tiles, 3, h, w], each of which becomes a number of tokens. given and also say how the model
    takes them."""
    g = torch.Generator().manual_seed(11)
    ids = []
    for n in groups:
        ids += torch.randint(3, 90, (3,), generator=g).tolist() + [token] * n
    ids = torch.tensor([ids + [7, 8, 9]])

    def run(m, dtype):
        x = pixels.to(dtype)
        with torch.no_grad():
            seen = m(input_ids=ids, pixel_values=how["given"](x), use_cache=False, **how.get("also", lambda x, ids: {})(x, ids)).logits[0]
        return outputs(m) | {"image_logits": seen}

    inputs = dict(zip(("input_ids", "attention_mask"), BATCH)) | {"image_input_ids": ids, "pixels": pixels}
    f.write(model, cls, run, tokens, eos=[EOS], inputs=inputs, **{k: v for k, v in how.items() if k not in ("given", "also")})


@folder("idefics3", "smolvlm")
def _(out, name):
    """A model that reads two tiles: idefics3 with the size that the positions were made for, smolvlm with a larger one, and tied heads."""
    kind, cls = (hf.Idefics3Config, hf.Idefics3ForConditionalGeneration) if name == "idefics3" else (hf.SmolVLMConfig, hf.SmolVLMForConditionalGeneration)
    size = 24 if name == "idefics3" else 32
    vision = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=24, patch_size=4)
    c = kind(text_config=llama(hf.LlamaConfig).to_dict(), vision_config=vision, image_token_id=97, scale_factor=2, tie_word_embeddings=name == "smolvlm", pad_token_id=0)

    def config(c):
        c["pad_token_id"] = c.pop("_pad_token_id")

    with_images(Folder(out, name), cls(c), cls, 97, noise(size, size), [(size // 8) ** 2] * 2, given=lambda x: x[None], seed=3690, config=config)


def grouped(groups):
    """token_type_ids of with_images."""
    return torch.tensor([sum(([0] * 3 + [1] * n for n in groups), []) + [0] * 3])


@folder("gemma3-edges", "gemma3-windows")
def _(out, name):
    """Of gemma3-edges, patches at the edges of an image fill no square, and the encoder has a head that pools; of gemma3-windows, which has the names of transformers 5, images have
    more tokens than windows."""
    side, rows = (40, 4) if name == "gemma3-edges" else (32, 16)
    text = gemma(hf.Gemma3TextConfig, layer_types=["sliding_attention", "sliding_attention", "full_attention"])
    vision = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, image_size=side, patch_size=8, vision_use_head=name == "gemma3-edges")
    c = hf.Gemma3Config(text_config=text.to_dict(), vision_config=vision, mm_tokens_per_image=rows, image_token_index=97, boi_token_index=98, eoi_token_index=99, eos_token_id=EOS)

    def new(w):
        return {k.removeprefix("language_model.") if "lm_head" in k else "model." + k.replace("language_model.model.", "language_model."): v for k, v in w.items()}

    with_images(Folder(out, name), hf.Gemma3ForConditionalGeneration(c), hf.Gemma3ForConditionalGeneration, 97, noise(side, side), [rows] * 2, given=lambda x: x, also=lambda x, ids: {"token_type_ids": grouped([rows] * 2)},
                seed=3706, norm=0.0, scale=[("embed_tokens", 0.1)], rename=new if name == "gemma3-windows" else None)


@folder("gemma4-vision")
def _(out, name):
    """The tokens of an image see each other, in layers with windows; images have more tokens than windows."""
    vision = dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, head_dim=16, intermediate_size=48, patch_size=4, position_embedding_size=20, pooling_kernel_size=2)
    c = hf.Gemma4Config(text_config=gemma4(use_bidirectional_attention="vision").to_dict(), vision_config=vision, audio_config=None, image_token_id=97, boi_token_id=98, eoi_token_id=99, audio_token_id=None, video_token_id=None, boa_token_id=None, eoa_token_index=None, eos_token_id=EOS)
    down, across, side = 4, 8, 4
    at = torch.tensor([[[x, y] for y in range(down) for x in range(across)]] * 2)
    patches = lambda x: x.reshape(2, 3, down, side, across, side).permute(0, 2, 4, 3, 5, 1).reshape(2, down * across, -1)
    with_images(Folder(out, name), hf.Gemma4ForConditionalGeneration(c), hf.Gemma4ForConditionalGeneration, 97, noise(down * side, across * side), [8] * 2, given=patches, also=lambda x, ids: {"image_position_ids": at, "mm_token_type_ids": grouped([8] * 2)},
                seed=3710, after=scalars, scale=[("embed_tokens.", 0.1)])


@folder("lfm2_vl")
def _(out, name):
    """Images are wider than high, and than the positions were made for; the encoder has no head."""
    text = llama(hf.Lfm2Config, layer_types=["conv", "full_attention"], block_auto_adjust_ff_dim=False, pad_token_id=0)
    vision = dict(model_type="siglip2_vision_model", hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, num_patches=16, patch_size=4, vision_use_head=False)
    c = hf.Lfm2VlConfig(text_config=text.to_dict(), vision_config=vision, image_token_id=97, projector_hidden_size=40, downsample_factor=2, tie_word_embeddings=True, eos_token_id=EOS)
    patches = lambda x: flexible(x, 4, 24)
    with_images(Folder(out, name), hf.Lfm2VlForConditionalGeneration(c), hf.Lfm2VlForConditionalGeneration, 97, noise(16, 24), [6] * 2, given=lambda x: patches(x)["pixel_values"],
                also=lambda x, ids: {k: v for k, v in patches(x).items() if k != "pixel_values"}, seed=3700)


@folder("idefics3_vision", "smolvlm_vision")
def _(out, name):
    """smolvlm_vision takes images that are wide, some of whose patches share a place."""
    kind = hf.Idefics3VisionConfig if name == "idefics3_vision" else hf.SmolVLMVisionConfig
    cls = getattr(__import__(f"transformers.models.{name.split('_')[0]}", fromlist=["x"]), name[:-7].replace("idefics", "Idefics").replace("smolvlm", "SmolVLM") + "VisionTransformer")
    inputs = {"pixel_values": noise(24, 24) if name == "idefics3_vision" else noise(20, 56)}

    def run(m, dtype):
        with torch.no_grad():
            return {"last_hidden_state": m(inputs["pixel_values"].to(dtype)).last_hidden_state}

    c = kind(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=24, patch_size=4)
    Folder(out, name).write(cls(c), cls, run, inputs=inputs, seed=3695)


def messages(*names):
    return [{"role": "system", "content": "Look."}, {"role": "user", "content": [*({"type": "image"} for _ in names), {"type": "text", "text": "What is this?"}]}]


@folder("images-gemma4")
def _(out, name):
    """A model with per-layer embeddings and a tower of images."""
    f = Folder(os.path.join(out, "..", "images"), "gemma4")
    raw = tokenizers.Tokenizer.from_file(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../text/testdata/generate/tokenizer.json"))
    raw.add_special_tokens([BEGIN, TOKEN, END])
    raw.save(os.path.join(f.path, "tokenizer.json"))
    f.json("tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512, "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "chat_template": TEMPLATE})
    t = hf.AutoTokenizer.from_pretrained(f.path)
    begin, token, end = t.convert_tokens_to_ids([BEGIN, TOKEN, END])
    processor = {"image_processor_type": "Gemma4ImageProcessor", "do_convert_rgb": True, "do_normalize": False, "do_rescale": True, "do_resize": True, "image_mean": [0.0, 0.0, 0.0], "image_std": [1.0, 1.0, 1.0],
                 "max_soft_tokens": 70, "patch_size": 4, "pooling_kernel_size": 3, "resample": 3, "rescale_factor": 1 / 255}
    f.json("processor_config.json", {"image_processor": processor, "image_seq_length": 70, "processor_class": "Gemma4Processor"})
    reader = Gemma4ImageProcessorPil(**processor)
    files = pictures()
    for file, p in files.items():
        Image.fromarray(p).save(os.path.join(f.path, file))

    cases, inputs = [["a.png"], ["b.png"], ["a.png", "c.png"]], []
    for names in cases:
        made = reader([Image.fromarray(files[n]) for n in names], return_tensors="pt")
        text = t.apply_chat_template(messages(*names), tokenize=False, add_generation_prompt=True)
        for n in made["num_soft_tokens_per_image"]:
            text = text.replace(TOKEN, BEGIN + "\0" * n + END, 1)
        ids = t(text.replace("\0", TOKEN), return_tensors="pt", add_special_tokens=False)["input_ids"]
        inputs.append({"input_ids": ids, "pixel_values": made["pixel_values"], "image_position_ids": made["image_position_ids"]})

    pixels = {}  # of each picture
    for case, names in enumerate(cases):
        for i, n in enumerate(names):
            at = inputs[case]["image_position_ids"][i]
            across, down = (int(v) + 1 for v in at.max(0).values)
            pixels["pixels_" + n] = inputs[case]["pixel_values"][i, : down * across].reshape(down, across, 4, 4, 3).permute(4, 0, 2, 1, 3).reshape(1, 3, down * 4, across * 4)

    vision = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2, head_dim=16, intermediate_size=48, patch_size=4, position_embedding_size=300, use_clipped_linears=True)
    config = gemma4(vocab_size=len(t), vocab_size_per_layer_input=len(t), num_kv_shared_layers=2, use_double_wide_mlp=True, eos_token_id=t.eos_token_id, pad_token_id=t.pad_token_id, bos_token_id=None, max_position_embeddings=512, sliding_window=40)
    c = hf.Gemma4Config(text_config=config.to_dict(), vision_config=vision, audio_config=None, image_token_id=token, boi_token_id=begin, eoi_token_id=end, audio_token_id=None, video_token_id=None, boa_token_id=None, eoa_token_index=None, eos_token_id=t.eos_token_id)

    def logits(m, case, ids, dtype=torch.float32):
        given = inputs[case]
        if token in ids[0, given["input_ids"].shape[1]:]:
            return torch.zeros((1, len(t)))  # these weights are drawn again
        with torch.no_grad():
            return m(input_ids=ids, pixel_values=given["pixel_values"].to(dtype), image_position_ids=given["image_position_ids"], use_cache=False).logits[0]

    def run(m, dtype):
        return {f"logits_{i}": logits(m, i, x["input_ids"], dtype)[-20:] for i, x in enumerate(inputs)}

    def decode(m):
        tokens, margin = {}, float("inf")
        for i, x in enumerate(inputs):
            ids, gap = greedy(lambda ids: logits(m, i, torch.tensor([ids]))[-1], x["input_ids"][0].tolist(), 10)
            tokens[f"greedy_{i}"] = torch.tensor(ids)
            margin = min(margin, gap)
        return tokens, margin

    def after(m):
        scalars(m)
        for key, b in m.named_buffers():
            if key.endswith(("_min", "_max")):
                b.fill_(-2.5 if key.endswith("_min") else 2.5)

    f.write(hf.Gemma4ForConditionalGeneration(c), hf.Gemma4ForConditionalGeneration, run, decode, eos=[t.eos_token_id, token], inputs={f"input_ids_{i}": x["input_ids"] for i, x in enumerate(inputs)} | pixels, seed=3680, after=after, scale=[("embed_tokens.", 0.1)])
    from safetensors.torch import load_file
    read = load_file(os.path.join(f.path, "expected.safetensors"))
    f.json("expected.json", [{"images": names, "messages": messages(*names), "tokens": x["input_ids"].shape[1], "text": t.decode(read[f"greedy_{i}"], skip_special_tokens=True)} for i, (names, x) in enumerate(zip(cases, inputs))])


def chats(name, tokens, processor, images, config, cls, seed, place="<image>", token="<image>", turns=False, beside={}, how={}, **more):
    """Writes a folder with a tokenizer that has further tokens, a template and pictures, and answers to chats about these, the last of which has images in two turns if
    turns is set. images is preprocessor_config.json, processor(images, tokenizer) the processor, config(tokenizer, token) the configuration, and more further files. The
    template writes place for an image, of which the processor makes tokens; beside is more of tokenizer_config.json, how of Folder.write."""
    f = Folder(os.path.join(more.pop("out"), "..", "images"), name)
    raw = tokenizers.Tokenizer.from_file(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../text/testdata/generate/tokenizer.json"))
    raw.add_special_tokens(tokens)
    raw.save(os.path.join(f.path, "tokenizer.json"))
    f.json("tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512, "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "chat_template": TEMPLATE.replace("<|image|>", place)} | beside)
    t = hf.AutoTokenizer.from_pretrained(f.path)
    token = t.convert_tokens_to_ids(token)
    f.json("preprocessor_config.json", images)
    for file, value in more.items():
        f.json(file + ".json", value)
    reader = processor(images, t)
    files = pictures()
    for file, p in files.items():
        Image.fromarray(p).save(os.path.join(f.path, file))

    cases, inputs = [(names, messages(*names)) for names in (["a.png"], ["b.png"], ["a.png", "c.png"])], []
    if turns:
        cases.append((["a.png", "c.png"], messages("a.png") + [{"role": "assistant", "content": "A disc."}] + messages("c.png")[1:]))
    for names, said in cases:
        text = t.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
        inputs.append(reader(text=[text], images=[[Image.fromarray(files[n]) for n in names]], return_tensors="pt", add_special_tokens=False))
    c = config(t, token)
    seen = lambda case, dtype: {k: v.to(dtype) if k == "pixel_values" else v for k, v in inputs[case].items() if k in ("pixel_values", "spatial_shapes", "pixel_attention_mask", "image_grid_thw")}

    def logits(m, case, ids, dtype=torch.float32):
        if token in ids[0, inputs[case]["input_ids"].shape[1]:]:
            return torch.zeros((1, len(t)))  # these weights are drawn again
        kinds = {k: (ids == token).long() for k in ("token_type_ids", "mm_token_type_ids") if k in inputs[case]}
        with torch.no_grad():
            return m(input_ids=ids, use_cache=False, **seen(case, dtype), **kinds).logits[0]

    def run(m, dtype):
        return {f"logits_{i}": logits(m, i, x["input_ids"], dtype)[-20:] for i, x in enumerate(inputs)}

    def decode(m):
        tokens, margin = {}, float("inf")
        for i, x in enumerate(inputs):
            ids, gap = greedy(lambda ids: logits(m, i, torch.tensor([ids]))[-1], x["input_ids"][0].tolist(), 10)
            tokens[f"greedy_{i}"] = torch.tensor(ids)
            margin = min(margin, gap)
        return tokens, margin

    f.write(cls(c), cls, run, decode, eos=[t.eos_token_id, token], inputs={f"input_ids_{i}": x["input_ids"] for i, x in enumerate(inputs)}, seed=seed, **how)
    from safetensors.torch import load_file
    read = load_file(os.path.join(f.path, "expected.safetensors"))
    f.json("expected.json", [{"images": names, "messages": said, "tokens": x["input_ids"].shape[1], "text": t.decode(read[f"greedy_{i}"], skip_special_tokens=True)} for i, ((names, said), x) in enumerate(zip(cases, inputs))])


def text_of(t, cls, **more):
    return llama(cls, **(dict(vocab_size=len(t), eos_token_id=t.eos_token_id, pad_token_id=t.pad_token_id, bos_token_id=None, max_position_embeddings=512) | more)).to_dict()


@folder("images-idefics3")
def _(out, name):
    """A model that reads the tiles of an image and the whole."""
    images = {"image_processor_type": "Idefics3ImageProcessor", "do_convert_rgb": True, "do_image_splitting": True, "do_normalize": True, "do_pad": True, "do_rescale": True, "do_resize": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5],
              "max_image_size": {"longest_edge": 24}, "resample": 1, "rescale_factor": 1 / 255, "size": {"longest_edge": 48}}
    vision = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, image_size=24, patch_size=4)
    config = lambda t, token: hf.Idefics3Config(text_config=text_of(t, hf.LlamaConfig), vision_config=vision, image_token_id=token, scale_factor=2, eos_token_id=t.eos_token_id, pad_token_id=t.pad_token_id)
    chats("idefics3", ["<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>", *(f"<row_{i}_col_{j}>" for i in (1, 2) for j in (1, 2))], lambda c, t: hf.Idefics3Processor(Idefics3ImageProcessorPil(**c), t, image_seq_len=9),
          images, config, hf.Idefics3ForConditionalGeneration, 3698, out=out, processor_config={"image_seq_len": 9, "processor_class": "Idefics3Processor"})


@folder("images-lfm2_vl")
def _(out, name):
    """A model that reads tiles of images in a grid, and the whole in its own shape. The class of images needs torchvision."""
    images = {"image_processor_type": "Lfm2VlImageProcessorFast", "do_image_splitting": True, "use_thumbnail": True, "min_tiles": 2, "max_tiles": 4, "min_image_tokens": 4, "max_image_tokens": 20, "encoder_patch_size": 4, "downsample_factor": 2, "tile_size": 24,
              "max_pixels_tolerance": 2.0, "resample": 2, "do_resize": True, "do_rescale": True, "do_normalize": True, "do_pad": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "rescale_factor": 1 / 255}
    vision = dict(model_type="siglip2_vision_model", hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, num_patches=36, patch_size=4, vision_use_head=False)
    config = lambda t, token: hf.Lfm2VlConfig(text_config=text_of(t, hf.Lfm2Config, layer_types=["conv", "full_attention", "conv", "full_attention"], num_hidden_layers=4, block_auto_adjust_ff_dim=False), vision_config=vision, image_token_id=token,
                                              projector_hidden_size=40, downsample_factor=2, tie_word_embeddings=True, eos_token_id=t.eos_token_id)
    chats("lfm2_vl", ["<image>", "<|image_start|>", "<|image_end|>", "<|img_thumbnail|>", *(f"<|img_row_{i}_col_{j}|>" for i in range(1, 5) for j in range(1, 5))], lambda c, t: hf.Lfm2VlProcessor(hf.Lfm2VlImageProcessor(**{k: v for k, v in c.items() if k != "image_processor_type"}), t),
          images, config, hf.Lfm2VlForConditionalGeneration, 3702, out=out)


@folder("images-gemma3")
def _(out, name):
    """A model that reads images of one size, whose tokens see each other. The text around an image is tokenized with that of the prompt."""
    images = {"image_processor_type": "Gemma3ImageProcessor", "do_convert_rgb": None, "do_normalize": True, "do_pan_and_scan": None, "do_rescale": True, "do_resize": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "image_seq_length": 9,
              "pan_and_scan_max_num_crops": None, "pan_and_scan_min_crop_size": None, "pan_and_scan_min_ratio_to_activate": None, "processor_class": "Gemma3Processor", "resample": 2, "rescale_factor": 1 / 255, "size": {"height": 24, "width": 24}}
    vision = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, image_size=24, patch_size=4, vision_use_head=False)
    begin, token, end = "<start_of_image>", "<image_soft_token>", "<end_of_image>"

    def config(t, token):
        text = gemma(hf.Gemma3TextConfig, vocab_size=len(t), eos_token_id=t.eos_token_id, pad_token_id=t.pad_token_id, bos_token_id=None, max_position_embeddings=512, sliding_window=12, num_hidden_layers=6, query_pre_attn_scalar=16)
        ids = t.convert_tokens_to_ids([begin, end])
        return hf.Gemma3Config(text_config=text.to_dict(), vision_config=vision, mm_tokens_per_image=9, image_token_index=token, boi_token_index=ids[0], eoi_token_index=ids[1], eos_token_id=t.eos_token_id)

    chats("gemma3", [begin, token, end], lambda c, t: hf.Gemma3Processor(Gemma3ImageProcessorPil(**c), t, image_seq_length=9), images, config, hf.Gemma3ForConditionalGeneration, 3704, place=begin, token=token,
          beside={"boi_token": begin, "eoi_token": end, "image_token": token}, how=dict(norm=0.0, scale=[("embed_tokens", 0.1)]), out=out, processor_config={"image_seq_length": 9, "processor_class": "Gemma3Processor"})


def qwen_patches(x, patch=4, square=2):
    """pixel_values of images, [images, 3, h, w], as Qwen 2 VL takes them, twice in time and square by square, and the shape of each."""
    n, c, h, w = x.shape
    down, across = h // patch, w // patch
    cut = x.reshape(n, c, down // square, square, patch, across // square, square, patch).permute(0, 2, 5, 3, 6, 1, 4, 7)
    cut = cut[..., None, :, :].expand(*cut.shape[:6], 2, patch, patch)
    return dict(pixel_values=cut.reshape(n * down * across, -1), image_grid_thw=torch.tensor([[1, down, across]] * n))


@folder("qwen3_5-images", "qwen3_5_moe-images")
def _(out, name):
    """Images that are wider than high or higher than wide, and larger than the table of positions; that of qwen3_5_moe-images is not a square."""
    moe = "moe" in name
    one, whole, cls = (hf.Qwen3_5MoeTextConfig, hf.Qwen3_5MoeConfig, hf.Qwen3_5MoeForConditionalGeneration) if moe else (hf.Qwen3_5TextConfig, hf.Qwen3_5Config, hf.Qwen3_5ForConditionalGeneration)
    inner = deltanet.text(one, num_hidden_layers=2, full_attention_interval=2, tie_word_embeddings=not moe, **deltanet.AXES, **(deltanet.EXPERTS if moe else {})).to_dict()
    c = whole(text_config=inner, vision_config=QWEN | dict(num_position_embeddings=18 if moe else 9), image_token_id=96, video_token_id=97, vision_start_token_id=98, vision_end_token_id=99, eos_token_id=EOS, tie_word_embeddings=not moe)
    size = (24, 16) if moe else (16, 24)
    also = lambda x, ids: dict(image_grid_thw=qwen_patches(x)["image_grid_thw"], mm_token_type_ids=(ids == 96).long())
    with_images(Folder(out, name), cls(c), cls, 96, noise(*size), [6] * 2, given=lambda x: qwen_patches(x)["pixel_values"], also=also, seed=4131, **deltanet.HOW)


QWEN = dict(depth=2, hidden_size=32, intermediate_size=48, num_heads=4, out_hidden_size=32, patch_size=4)


@folder("qwen3_5_vision", "qwen3_5_moe_vision", "qwen3_5_vision-defaults", "qwen3_5_moe_vision-defaults")
def _(out, name):
    kind, cls = (hf.Qwen3_5MoeVisionConfig, hf.Qwen3_5MoeVisionModel) if "moe" in name else (hf.Qwen3_5VisionConfig, hf.Qwen3_5VisionModel)
    given = dict(depth=1, hidden_size=16, intermediate_size=24, num_heads=2, out_hidden_size=8, num_position_embeddings=9) if name.endswith("-defaults") else QWEN | dict(num_position_embeddings=16)
    c = kind(**given)
    inputs = {"pixel_values": noise(*(n * c.patch_size for n in ((8, 4) if "moe" in name else (4, 10))))}
    down, across = (n // c.patch_size for n in inputs["pixel_values"].shape[2:])

    def run(m, dtype):
        x = inputs["pixel_values"].to(dtype)
        given = qwen_patches(x, c.patch_size)
        with torch.no_grad():
            y = m(given["pixel_values"], grid_thw=given["image_grid_thw"]).last_hidden_state
        return {"last_hidden_state": y.reshape(len(x), down // 2, across // 2, 2, 2, -1).permute(0, 1, 3, 2, 4, 5).reshape(len(x), down * across, -1)}

    Folder(out, name).write(cls(c), cls, run, inputs=inputs, seed=4135, **(dict(config=bare(given)) if name.endswith("-defaults") else {}))


class WithoutVideos(hf.Qwen3VLProcessor):
    """The processor without that of videos, which needs torchvision."""

    def check_argument_for_proper_class(self, name, value):
        return type(value)


@folder("images-qwen3_5")
def _(out, name):
    """A model whose positions have axes, in chats with images in two turns too."""
    images = {"image_processor_type": "Qwen2VLImageProcessorFast", "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "merge_size": 2, "patch_size": 4, "temporal_patch_size": 2, "size": {"longest_edge": 4096, "shortest_edge": 256}, "processor_class": "Qwen3VLProcessor"}
    processor = lambda c, t: WithoutVideos(Qwen2VLImageProcessorPil(**{k: v for k, v in c.items() if k not in ("image_processor_type", "processor_class")}), t, chat_template="")

    def config(t, token):
        text = deltanet.text(hf.Qwen3_5TextConfig, vocab_size=len(t), eos_token_id=t.eos_token_id, pad_token_id=t.pad_token_id, bos_token_id=None, max_position_embeddings=512, **deltanet.AXES)
        begin, end, video = t.convert_tokens_to_ids(["<|vision_start|>", "<|vision_end|>", "<|video_pad|>"])
        return hf.Qwen3_5Config(text_config=text.to_dict(), vision_config=QWEN | dict(num_position_embeddings=25), image_token_id=token, video_token_id=video, vision_start_token_id=begin, vision_end_token_id=end, eos_token_id=t.eos_token_id)

    chats("qwen3_5", ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"], processor, images, config, hf.Qwen3_5ForConditionalGeneration, 4150, token="<|image_pad|>",
          place="<|vision_start|><|image_pad|><|vision_end|>", turns=True, how=deltanet.HOW, out=out)
