#!/usr/bin/env python3
"""Compares the pixels that drawn preprocessor_config.json make of images, here and in transformers' classes for Pillow.

    files_images.py [-n COUNT] [-seed SEED] [-show N] [-log FILE]

Each of COUNT cases draws a class, up to four fields, null and unknown ones too, and an image: of noise, or an odd one of 44 (of one pixel, thin,
grey, with alpha, of inks, with a palette, of 16 bits, turned by Exif data). Pixels have to be equal in all bits. A case ends as in files_tokenizers.py."""

import importlib.util
import io
import json
import os
import sys

os.environ.update(HF_HUB_OFFLINE="1")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import numpy as np
from PIL import Image
from transformers.image_utils import load_image

import class_files
import drawn

CLASSES = ["ViT", "Siglip", "Siglip2", "Bit", "CLIP", "Gemma3"]
TILED = ["Idefics3", "SmolVLM"]  # whose pictures have several parts
WHOLE = "Qwen2VL"  # whose pictures have an area within limits
GRIDDED = "Lfm2Vl"  # whose tiles are those of a grid
DRAWN = CLASSES + TILED + [WHOLE] + [GRIDDED] * bool(importlib.util.find_spec("torchvision"))  # which the class needs


def odd():
    """Files of images that are unlike others: their names, and their bytes."""
    def noise(h, w, n, kind=np.uint8):
        return np.random.default_rng(h * 5 + w * 3 + n).integers(0, np.iinfo(kind).max, (h, w, n) if n > 1 else (h, w), dtype=kind)

    def file(image, kind="PNG", **how):
        b = io.BytesIO()
        image.save(b, kind, **how)
        return b.getvalue()

    files = {}
    for w, h in [(1, 1), (1, 2), (2, 1), (1, 300), (300, 1), (1, 4096), (4096, 1), (3, 700), (700, 3), (33, 32), (64, 65), (97, 61)]:
        files[f"{w}x{h}"] = file(Image.fromarray(noise(h, w, 3)))
    for mode, n in [("L", 1), ("LA", 2), ("RGBA", 4)]:
        for w, h in [(1, 1), (41, 29), (20, 90)]:
            files[f"{mode}-{w}x{h}"] = file(Image.fromarray(noise(h, w, n), mode))
    for w, h in [(1, 1), (41, 29)]:
        files[f"CMYK-{w}x{h}.jpg"] = file(Image.fromarray(noise(h, w, 4), "CMYK"), "JPEG")
        files[f"CMYK-{w}x{h}.tiff"] = file(Image.fromarray(noise(h, w, 4), "CMYK"), "TIFF")
        files[f"16-{w}x{h}"] = file(Image.fromarray(noise(h, w, 1, np.uint16)))
        files[f"1-{w}x{h}"] = file(Image.fromarray(noise(h, w, 1)).convert("1"))
        files[f"P-{w}x{h}"] = file(Image.fromarray(noise(h, w, 3)).convert("P"))
        files[f"P-{w}x{h}.gif"] = file(Image.fromarray(noise(h, w, 3)).convert("P"), "GIF")
    for turned in range(2, 9):
        exif = Image.Exif()
        exif[0x112] = turned
        files[f"turned-{turned}.jpg"] = file(Image.fromarray(noise(37, 23, 3)), "JPEG", exif=exif)
    for quality in (5, 95):
        files[f"{quality}.jpg"] = file(Image.fromarray(noise(61, 97, 3)), "JPEG", quality=quality)
    files["black"], files["white"] = (file(Image.fromarray(np.full((50, 70, 3), v, np.uint8))) for v in (0, 255))
    return files


def draw(rng, name):
    size = lambda: rng.choice([None, 32, 17, [20, 31], {"height": 24, "width": 33}, {"shortest_edge": 30}, {"shortest_edge": 30, "longest_edge": 35}, {"longest_edge": 40}, {"max_height": 20, "max_width": 41}, {"height": 20}, {}, "32", 0, 32.0])
    flag = lambda: rng.choice([None, True, False])
    three = lambda: rng.choice([None, [0.5, 0.4, 0.3], 0.4, [0.5], [1, 1, 1], []])
    options = {
        "do_resize": flag, "do_center_crop": flag, "do_rescale": flag, "do_normalize": flag, "do_convert_rgb": flag, "do_pad": flag, "size": size, "crop_size": size, "pad_size": size, "default_to_square": flag,
        "resample": lambda: rng.choice([None, 0, 1, 2, 3, 4, 5, 9]), "rescale_factor": lambda: rng.choice([None, 1 / 127.5, 1, 0.5]), "image_mean": three, "image_std": three, "use_square_size": lambda: rng.choice([None, True, False, 1]),
        "patch_size": lambda: rng.choice([None, 8, 14, 16]), "max_num_patches": lambda: rng.choice([None, 4, 9, 64, 256]), "crop_pct": lambda: rng.choice([None, 0.9]), "do_thumbnail": flag, "do_reduce_labels": flag, "do_flip_channel_order": flag,
        "data_format": lambda: rng.choice([None, "channels_first"]), "input_data_format": lambda: None, "return_tensors": lambda: None, "processor_class": lambda: "X", "a_remark": lambda: rng.choice([None, 1]), "size_divisor": lambda: rng.choice([None, 32]), "offset": flag,
    }
    if name in TILED:
        side = lambda: rng.choice([None, {"longest_edge": 24}, {"longest_edge": 40}, {"longest_edge": 24, "shortest_edge": 3}, {"height": 24, "width": 24}, {"longest_edge": 0}, 30])
        options |= {"do_image_splitting": flag, "max_image_size": side, "size": lambda: rng.choice([size(), {"longest_edge": 30}, {"longest_edge": 100}, {"longest_edge": 5000}, {"longest_edge": 1}])}
        c = {"size": {"longest_edge": rng.choice([30, 50, 64, 100])}, "max_image_size": {"longest_edge": rng.choice([16, 24, 50])}}
        for name in rng.sample(sorted(options), rng.randint(0, 3)):
            c[name] = options[name]()
        return c
    if name == WHOLE:
        some = lambda *values: lambda: rng.choice([None, *values])
        options = {k: v for k, v in options.items() if "size" not in k and "patch" not in k} | {
            "min_pixels": some(1, 600, 2000), "max_pixels": some(900, 2000, 5000), "merge_size": some(1, 2, 3), "patch_size": some(3, 4, 8), "temporal_patch_size": some(1, 2),
            "size": some({"shortest_edge": 700, "longest_edge": 3000}, {"shortest_edge": 700}, {"longest_edge": 0, "shortest_edge": 5}, {"height": 30, "width": 30}, 32)}
        c = {"patch_size": 4, "size": {"shortest_edge": rng.choice([1, 64, 1000]), "longest_edge": rng.choice([1000, 4000, 20000])}}
        for name in rng.sample(sorted(options), rng.randint(0, 3)):
            c[name] = options[name]()
        return c
    if name == GRIDDED:
        some = lambda *values: lambda: rng.choice([None, *values])
        options = {k: v for k, v in options.items() if "size" not in k and "patch" not in k and k != "resample"} | {
            "do_image_splitting": flag, "use_thumbnail": flag, "min_tiles": some(1, 2, 3), "max_tiles": some(1, 3, 5, 10), "min_image_tokens": some(1, 4, 9), "max_image_tokens": some(4, 9, 30), "downsample_factor": some(1, 2, 4),
            "encoder_patch_size": some(2, 4), "tile_size": some(16, 24, 64), "max_pixels_tolerance": some(1.0, 1.5, 4), "resample": some(2, 3)}
        c = {"encoder_patch_size": 4, "tile_size": 32, "min_image_tokens": 4, "max_image_tokens": rng.choice([9, 16, 64])}
        for name in rng.sample(sorted(options), rng.randint(0, 3)):
            c[name] = options[name]()
        return c
    if name == "Gemma3":
        options |= {"do_pan_and_scan": flag, "pan_and_scan_max_num_crops": lambda: rng.choice([None, 4]), "pan_and_scan_min_crop_size": lambda: rng.choice([None, 20])}
    c = {"size": rng.choice([{"height": 32, "width": 32}, {"shortest_edge": 32}, 32])} if rng.random() < 0.8 else {}
    for name in rng.sample(sorted(options), rng.randint(1, 4)):
        c[name] = options[name]()
    return c


def theirs(name, fields, image):
    """The pixels of all parts, [3, h, w] each, and the numbers of rows and columns of tiles."""
    if name == GRIDDED:
        import transformers

        p = transformers.Lfm2VlImageProcessor.from_dict(dict(fields))
        out, n = p(image, return_tensors="pt", return_row_col_info=True), p.encoder_patch_size
        parts = [x[: h * w].reshape(h, w, n, n, 3).permute(4, 0, 2, 1, 3).reshape(3, h * n, w * n).double().numpy() for x, (h, w) in zip(out["pixel_values"], out["spatial_shapes"].tolist())]
        grid = [int(out["image_rows"][0]), int(out["image_cols"][0])]
        return parts, [0, 0] if grid == [1, 1] else grid
    p = class_files.for_pillow(name).from_dict(dict(fields))
    out = p(image, return_tensors="np")
    if name == WHOLE:
        x, (_, h, w), n, m = np.asarray(out["pixel_values"], dtype=np.float64), out["image_grid_thw"][0].tolist(), p.patch_size, p.merge_size
        if p.temporal_patch_size != 2:
            raise ValueError("no other models are published")
        return [x.reshape(h // m, w // m, m, m, 3, 2, n, n)[..., 0, :, :].transpose(4, 0, 2, 5, 1, 3, 6).reshape(3, h * n, w * n)], [0, 0]
    if name in TILED:
        rows, columns = (p(image, return_row_col_info=True)[k][0][0] for k in ("rows", "cols"))
        return list(np.asarray(out["pixel_values"][0], dtype=np.float64)), [rows, columns]
    x = np.asarray(out["pixel_values"][0], dtype=np.float64)
    if name == "Siglip2":  # patches to an image
        h, w = out["spatial_shapes"][0]
        n = p.patch_size
        x = x[: h * w].reshape(h, w, n, n, 3).transpose(4, 0, 2, 1, 3).reshape(3, h * n, w * n)
    if not np.isfinite(x).all():
        raise ValueError("no numbers")
    return [x], [0, 0]


def begin(args, root):
    server, out, unlike = drawn.Server("text"), os.path.join(root, "pixels"), sorted(odd().items())

    def one(rng):
        name = rng.choice(DRAWN)
        fields = draw(rng, name)
        path, which = os.path.join(root, "image.png"), None
        if rng.random() < 0.5:
            which, data = rng.choice(unlike)
        else:
            w, h = which = rng.choice([(40, 30), (30, 47), (64, 64), (16, 80), (7, 5), (48, 32)])
            data = io.BytesIO()
            Image.fromarray(np.random.default_rng(rng.randrange(1 << 30)).integers(0, 256, (h, w, 3), dtype=np.uint8)).save(data, "PNG")
            data = data.getvalue()
        with open(path, "wb") as f:
            f.write(data)
        config = {"image_processor_type": name + rng.choice(["ImageProcessor", "ImageProcessorFast"])} | fields
        case, want, refused = [name, which, fields], None, None
        try:
            want, grid = theirs(name, fields, load_image(path))
        except Exception as e:
            refused = f"{type(e).__name__}: {str(e)[:160]}"
        ours = server.ask(json.dumps({"kind": "image", "dir": path, "texts": [json.dumps(config), out]}))
        if ours.get("crashed"):
            return "differ", case, "crashed: " + ours["crashed"]
        if ours["refused"]:
            return ("both refuse" if refused else "ours refuses"), case, ours["refused"]
        if refused:
            return "theirs refuses", case, refused
        shapes = [list(x.shape[1:]) for x in want]
        if ours["shapes"] != shapes or ours["grid"] != grid:
            return "differ", case, f"{ours['shapes']} {ours['grid']}, want {shapes} {grid}"
        off = np.abs(np.fromfile(out, dtype="<f4") - np.concatenate([x.ravel() for x in want])).max()
        return ("equal", case, "") if off == 0 else ("differ", case, f"{off:.3g} off")

    return one


if __name__ == "__main__":
    drawn.main(__doc__, 1000, begin)
