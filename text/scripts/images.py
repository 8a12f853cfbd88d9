#!/usr/bin/env python3
"""Writes images, and what Pillow and transformers make of them.

    images.py OUT

OUT/NAME.png and NAME.jpg are the images. OUT/resized.json lists {image, width, height,
resample, file}: file is a PNG of what Pillow resizes. OUT/processed.safetensors has
pixel_values that transformers' processors compute, IMAGE|CASE; the configurations of the
cases are its metadata. OUT/oriented-N has an orientation noted, and OUT/oriented-N.want.png
is what transformers' load_image makes of it. Needs torch."""

import json, os, sys

import numpy as np
import torch
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from safetensors.numpy import save_file
from transformers import AutoImageProcessor
from transformers.image_utils import load_image

CASES = {
    "vit": {"image_processor_type": "ViTImageProcessor", "do_normalize": True, "do_resize": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "resample": 2, "size": {"height": 32, "width": 32}},
    "vit-old": {"feature_extractor_type": "ViTFeatureExtractor", "image_processor_type": "ViTImageProcessor", "do_normalize": True, "do_resize": True, "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225], "resample": 2, "size": 24},
    "siglip": {"image_processor_type": "SiglipImageProcessor", "do_normalize": True, "do_rescale": True, "do_resize": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "resample": 3, "rescale_factor": 0.00392156862745098, "size": {"height": 28, "width": 36}},
    "clip": {"image_processor_type": "CLIPImageProcessor", "crop_size": {"height": 30, "width": 30}, "do_center_crop": True, "do_convert_rgb": True, "do_normalize": True, "do_rescale": True, "do_resize": True, "resample": 3, "size": {"shortest_edge": 33},
             "image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711]},
    "clip-old": {"feature_extractor_type": "CLIPFeatureExtractor", "image_processor_type": "CLIPImageProcessor", "crop_size": 40, "do_center_crop": True, "do_normalize": True, "do_resize": True, "resample": 3, "size": 36,
                 "image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711]},
    "crop-alone": {"image_processor_type": "CLIPImageProcessor", "crop_size": {"height": 70, "width": 50}, "do_center_crop": True, "do_resize": False, "do_normalize": False, "do_rescale": False},
}


def pictures():
    """A photograph of sorts: gradients, edges, noise and a disc."""
    rng = np.random.default_rng(1)
    for name, (h, w) in {"landscape": (61, 97), "portrait": (83, 40), "tiny": (5, 3)}.items():
        y, x = np.mgrid[0:h, 0:w]
        p = np.stack([255 * x / w, 255 * y / h, 128 + 100 * np.sin(x / 3.0) * np.cos(y / 5.0)], -1)
        p[(x - w / 2) ** 2 + (y - h / 2) ** 2 < (min(h, w) / 3) ** 2] = (230, 20, 60)
        p[h // 2:, : w // 4] = rng.integers(0, 256, (h - h // 2, w // 4, 3))
        yield name, np.clip(p, 0, 255).astype(np.uint8)


def oriented(out):
    """Every orientation as Exif data of a JPEG; some in other places."""
    image = Image.fromarray(next(pictures())[1][10:23, 20:47])
    xmp = b'<x:xmpmeta><rdf:Description tiff:Orientation="6"/></x:xmpmeta>'
    def exif(order, kind, value):
        return b"Exif\0\0" + (b"MM\0*" if order == "big" else b"II*\0") + (8).to_bytes(4, order) + (2).to_bytes(2, order) + b"".join(
            tag.to_bytes(2, order) + kind.to_bytes(2, order) + (1).to_bytes(4, order) + v.to_bytes({1: 1, 3: 2, 4: 4}[kind], order).ljust(4, b"\0") for tag, v in ((0x10F, 3), (0x112, value))) + bytes(4)
    cases = {f"oriented-{o}.jpg": dict(exif=exif("little", 3, o)) for o in range(10)}
    cases |= {"oriented-big.jpg": dict(exif=exif("big", 3, 8)), "oriented-long.jpg": dict(exif=exif("little", 4, 5)), "oriented-byte.jpg": dict(exif=exif("big", 1, 7)), "oriented-xmp.jpg": dict(xmp=xmp),
              "oriented-both.jpg": dict(xmp=xmp, exif=exif("big", 3, 3)), "oriented-exif.png": dict(exif=exif("little", 3, 6))}
    note = PngInfo()
    note.add_itxt("XML:com.adobe.xmp", xmp.decode())
    cases["oriented-xmp.png"] = dict(pnginfo=note)
    for name, options in cases.items():
        image.save(os.path.join(out, name), **options)
        load_image(os.path.join(out, name)).save(os.path.join(out, name + ".want.png"), exif=b"")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    files = []
    def save(image, name, **options):
        image.save(os.path.join(out, name), **options)
        files.append(name)
    for name, p in pictures():
        image = Image.fromarray(p)
        save(image, f"{name}.png")
        if name == "tiny":
            save(image, "tiny-420.jpg", quality=95)
            continue
        alpha = np.concatenate([p, p[..., :1]], -1)
        save(Image.fromarray(alpha), f"{name}-rgba.png")
        save(image.quantize(40), f"{name}-palette.png")
        save(image.convert("L"), f"{name}-grey.png")
        for sampling in ("4:4:4", "4:2:2", "4:2:0"):
            save(image, f"{name}-{sampling.replace(':', '')}.jpg", quality=90, subsampling=sampling)
        save(image, f"{name}-progressive.jpg", quality=75, progressive=True)
        save(image, f"{name}-restart.jpg", quality=60, restart_marker_blocks=2, optimize=True)
        save(image.convert("L"), f"{name}-grey.jpg", quality=85)
    oriented(out)
    resized = []
    for name in files:
        image = Image.open(os.path.join(out, name)).convert("RGB")
        for w, h, resample in [(image.width, image.height, 0)] + ([(w, h, r) for w, h in ((32, 32), (150, 40), (20, 90)) for r in range(6)] if name in ("landscape.png", "portrait.png", "tiny.png") else [(48, 48, 2)]):
            file = f"resized-{len(resized):02}.png"
            image.resize((w, h), resample).save(os.path.join(out, file))
            resized.append({"image": name, "width": w, "height": h, "resample": resample, "file": file})
    with open(os.path.join(out, "resized.json"), "w") as f:
        json.dump(resized, f, indent=1)
    values = {}
    for case, config in CASES.items():
        folder = os.path.join(out, "processor")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "preprocessor_config.json"), "w") as f:
            json.dump(config, f)
        processor = AutoImageProcessor.from_pretrained(folder, backend="pil")
        print(case, type(processor).__name__)
        for name in ("landscape.png", "portrait-rgba.png", "landscape-grey.png", "portrait-420.jpg"):
            values[f"{name}|{case}"] = processor(Image.open(os.path.join(out, name)).convert("RGB"), return_tensors="np")["pixel_values"][0].astype(np.float32)
        os.remove(os.path.join(folder, "preprocessor_config.json"))
        os.rmdir(folder)
    save_file(values, os.path.join(out, "processed.safetensors"), metadata={k: json.dumps(v) for k, v in CASES.items()})


if __name__ == "__main__":
    main()
