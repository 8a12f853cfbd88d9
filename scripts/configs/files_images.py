#!/usr/bin/env python3
"""Compares the pixels that drawn preprocessor_config.json make of images, here and in transformers' classes for Pillow.

    files_images.py [-n COUNT] [-seed SEED] [-show N] [-log FILE]

Each of COUNT cases draws a class, one to four fields, null and unknown ones too, and an image. A case ends as in
files_tokenizers.py."""

import json
import os
import sys

os.environ.update(HF_HUB_OFFLINE="1")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import numpy as np
from PIL import Image

import drawn

CLASSES = ["ViT", "Siglip", "Siglip2", "Bit", "CLIP"]


def draw(rng):
    size = lambda: rng.choice([None, 32, 17, [20, 31], {"height": 24, "width": 33}, {"shortest_edge": 30}, {"shortest_edge": 30, "longest_edge": 35}, {"longest_edge": 40}, {"max_height": 20, "max_width": 41}, {"height": 20}, {}, "32", 0, 32.0])
    flag = lambda: rng.choice([None, True, False])
    three = lambda: rng.choice([None, [0.5, 0.4, 0.3], 0.4, [0.5], [1, 1, 1], []])
    options = {
        "do_resize": flag, "do_center_crop": flag, "do_rescale": flag, "do_normalize": flag, "do_convert_rgb": flag, "do_pad": flag, "size": size, "crop_size": size, "pad_size": size, "default_to_square": flag,
        "resample": lambda: rng.choice([None, 0, 1, 2, 3, 4, 5, 9]), "rescale_factor": lambda: rng.choice([None, 1 / 127.5, 1, 0.5]), "image_mean": three, "image_std": three, "use_square_size": lambda: rng.choice([None, True, False, 1]),
        "patch_size": lambda: rng.choice([None, 8, 14, 16]), "max_num_patches": lambda: rng.choice([None, 4, 9, 64, 256]), "crop_pct": lambda: rng.choice([None, 0.9]), "do_thumbnail": flag, "do_reduce_labels": flag, "do_flip_channel_order": flag,
        "data_format": lambda: rng.choice([None, "channels_first"]), "input_data_format": lambda: None, "return_tensors": lambda: None, "processor_class": lambda: "X", "a_remark": lambda: rng.choice([None, 1]), "size_divisor": lambda: rng.choice([None, 32]), "offset": flag,
    }
    c = {"size": rng.choice([{"height": 32, "width": 32}, {"shortest_edge": 32}, 32])} if rng.random() < 0.8 else {}
    for name in rng.sample(sorted(options), rng.randint(1, 4)):
        c[name] = options[name]()
    return c


def theirs(name, fields, image):
    module = __import__(f"transformers.models.{name.lower()}.image_processing_pil_{name.lower()}", fromlist=["x"])
    p = getattr(module, name + "ImageProcessorPil").from_dict(dict(fields))
    out = p(image, return_tensors="np")
    x = np.asarray(out["pixel_values"][0], dtype=np.float64)
    if name == "Siglip2":  # patches to an image
        h, w = out["spatial_shapes"][0]
        n = p.patch_size
        x = x[: h * w].reshape(h, w, n, n, 3).transpose(4, 0, 2, 1, 3).reshape(3, h * n, w * n)
    if not np.isfinite(x).all():
        raise ValueError("no numbers")
    return x


def begin(args, root):
    server, out = drawn.Server("text"), os.path.join(root, "pixels")

    def one(rng):
        name, fields = rng.choice(CLASSES), draw(rng)
        w, h = rng.choice([(40, 30), (30, 47), (64, 64), (16, 80), (7, 5), (48, 32)])
        image = Image.fromarray(np.random.default_rng(rng.randrange(1 << 30)).integers(0, 256, (h, w, 3), dtype=np.uint8))
        image.save(os.path.join(root, "image.png"))
        config = {"image_processor_type": name + rng.choice(["ImageProcessor", "ImageProcessorFast"])} | fields
        case, want, refused = [name, (w, h), fields], None, None
        try:
            want = theirs(name, fields, image)
        except Exception as e:
            refused = f"{type(e).__name__}: {str(e)[:160]}"
        ours = server.ask(json.dumps({"kind": "image", "dir": os.path.join(root, "image.png"), "texts": [json.dumps(config), out]}))
        if ours.get("crashed"):
            return "differ", case, "crashed: " + ours["crashed"]
        if ours["refused"]:
            return ("both refuse" if refused else "ours refuses"), case, ours["refused"]
        if refused:
            return "theirs refuses", case, refused
        got = np.fromfile(out, dtype="<f4").reshape(3, *ours["shape"])
        if got.shape != want.shape:
            return "differ", case, f"{got.shape}, want {want.shape}"
        off = np.abs(got - want).max() / max(1, np.abs(want).max())
        return ("equal", case, "") if off < 1e-5 else ("differ", case, f"{off:.3g} off")

    return one


if __name__ == "__main__":
    drawn.main(__doc__, 1000, begin)
