#!/usr/bin/env python3
"""Writes images, and what Pillow and transformers make of them.

    images.py OUT

OUT/NAME.png and NAME.jpg are the images. OUT/resized.json lists {image, width, height,
resample, file}: file is a PNG of what Pillow resizes. OUT/processed.safetensors has
pixel_values that transformers' processors compute, IMAGE|CASE; the configurations of the
cases are its metadata. OUT/tiled.safetensors has those of images in tiles. OUT/oriented-N has an orientation noted, OUT/format-N is of another kind of
files, and OUT/oriented-N.want.png and so on are what transformers' load_image makes of them. Needs torch."""

import json, os, struct, sys, zlib

import numpy as np
import torch
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from safetensors.numpy import save_file
from transformers import AutoImageProcessor
from transformers.image_utils import load_image

from drawn_images import JFIF, adobe, exif as exif_of, gif_coloured, gif_placed, jpeg_cut, jpeg_named, jpeg_segments, png_note, saved, tiff, xmp as xmp_of

CASES = {
    "vit": {"image_processor_type": "ViTImageProcessor", "do_normalize": True, "do_resize": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "resample": 2, "size": {"height": 32, "width": 32}},
    "vit-old": {"feature_extractor_type": "ViTFeatureExtractor", "image_processor_type": "ViTImageProcessor", "do_normalize": True, "do_resize": True, "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225], "resample": 2, "size": 24},
    "siglip": {"image_processor_type": "SiglipImageProcessor", "do_normalize": True, "do_rescale": True, "do_resize": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "resample": 3, "rescale_factor": 0.00392156862745098, "size": {"height": 28, "width": 36}},
    "clip": {"image_processor_type": "CLIPImageProcessor", "crop_size": {"height": 30, "width": 30}, "do_center_crop": True, "do_convert_rgb": True, "do_normalize": True, "do_rescale": True, "do_resize": True, "resample": 3, "size": {"shortest_edge": 33},
             "image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711]},
    "clip-old": {"feature_extractor_type": "CLIPFeatureExtractor", "image_processor_type": "CLIPImageProcessor", "crop_size": 40, "do_center_crop": True, "do_normalize": True, "do_resize": True, "resample": 3, "size": 36,
                 "image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711]},
    "bit": {"image_processor_type": "BitImageProcessor", "crop_size": {"height": 18, "width": 18}, "size": {"shortest_edge": 21}},
    "siglip2": {"image_processor_type": "Siglip2ImageProcessor", "max_num_patches": 30, "patch_size": 6, "do_resize": True, "do_rescale": True, "do_normalize": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "resample": 2},
    "dinov3": {"image_processor_type": "DINOv3ViTImageProcessorFast", "size": {"height": 20, "width": 28}, "do_center_crop": True, "crop_size": {"height": 18, "width": 30}},
    "dinov3-bicubic": {"image_processor_type": "DINOv3ViTImageProcessor", "size": {"height": 70, "width": 50}, "resample": 3, "image_mean": [0.5, 0.4, 0.3], "rescale_factor": 0.004},
    "gemma4": {"image_processor_type": "Gemma4ImageProcessor", "max_soft_tokens": 70, "patch_size": 4, "pooling_kernel_size": 3},
    "gemma4-normal": {"image_processor_type": "Gemma4ImageProcessorFast", "max_soft_tokens": 140, "patch_size": 3, "pooling_kernel_size": 2, "do_normalize": True, "image_mean": [0.5, 0.4, 0.3], "image_std": [0.5, 0.6, 0.7], "resample": 2},
    "qwen2_vl": {"image_processor_type": "Qwen2VLImageProcessorFast", "merge_size": 2, "patch_size": 4, "size": {"longest_edge": 2000, "shortest_edge": 1000}, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]},
    "qwen2_vl-larger": {"image_processor_type": "Qwen2VLImageProcessor", "merge_size": 3, "patch_size": 3, "min_pixels": 7000, "max_pixels": 8000},
    "crop-alone": {"image_processor_type": "CLIPImageProcessor", "crop_size": {"height": 70, "width": 50}, "do_center_crop": True, "do_resize": False, "do_normalize": False, "do_rescale": False},
}

TILED = {
    "idefics3": {"image_processor_type": "Idefics3ImageProcessor", "max_image_size": {"longest_edge": 8}, "size": {"longest_edge": 20}},
    "smolvlm": {"image_processor_type": "SmolVLMImageProcessor", "do_image_splitting": False, "max_image_size": {"longest_edge": 9}, "size": {"longest_edge": 30}, "resample": 3, "image_mean": [0.5, 0.4, 0.3]},
    "as-it-is": {"image_processor_type": "Idefics3ImageProcessor", "max_image_size": {"longest_edge": 50}, "do_resize": False, "resample": 0},
}
GRIDDED = {
    "lfm2": {"image_processor_type": "Lfm2VlImageProcessor", "encoder_patch_size": 4, "downsample_factor": 2, "tile_size": 16, "min_image_tokens": 4, "max_image_tokens": 16, "max_tiles": 6},
    "bicubic": {"image_processor_type": "Lfm2VlImageProcessorFast", "encoder_patch_size": 2, "downsample_factor": 4, "tile_size": 16, "min_image_tokens": 2, "max_image_tokens": 8, "resample": 3, "do_normalize": False, "use_thumbnail": False},
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
    files, plain = {}, saved(image, "PNG")
    for i, carrier in enumerate(("raw", "raw-named", "raw-z", "raw-i", "raw-app1", "xmp-z", "xmp-text", "xmp-ztext")):
        note = png_note(carrier, exif_of(2 + i % 7), xmp_of(8 - i % 7))
        files[f"{carrier}.png"] = plain[:33] + note + plain[33:]
    files["late.png"] = plain[:-12] + png_note("exif", exif_of(7), b"") + plain[-12:]
    files["after.png"] = plain + png_note("exif", exif_of(7), b"")
    p = np.asarray(image)
    files["xmp.tiff"] = tiff(p, 8, 2, 5, tags={700: (1, list(xmp_of(8)))})
    files["both.tiff"] = tiff(p, 8, 2, 1, ">", tags={274: (3, [1]), 700: (7, list(xmp_of(8)))})
    for kind in (1, 3, 4, 8, 9):
        files[f"kind{kind}.tiff"] = tiff(p, 8, 2, 32773, tags={274: (kind, [6])})
    files["two.tiff"] = tiff(p, 8, 2, 8, tags={274: (3, [5, 7])})
    for name, data in files.items():
        put(out, "oriented-" + name, data)


def put(out, name, data):
    """Writes a file, and what transformers loads from it."""
    path = os.path.join(out, name)
    with open(path, "wb") as f:
        f.write(data)
    Image.fromarray(np.array(load_image(path))).save(path + ".want.png")


def png(depth, kind, rows, *chunks):
    """A PNG file of rows of samples, [H, W, samples of kind], which Pillow does not write."""
    chunk = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    data = b"".join(b"\0" + r.astype(">u2" if depth == 16 else "u1").tobytes() for r in rows)
    return b"\x89PNG\r\n\x1a\n" + b"".join([chunk(b"IHDR", struct.pack(">IIBBBBB", rows.shape[1], rows.shape[0], depth, kind, 0, 0, 0)), *(chunk(*c) for c in chunks), chunk(b"IDAT", zlib.compress(data)), chunk(b"IEND", b"")])


def formats(out):
    """Kinds of files, and forms of them, besides those of pictures()."""
    rng = np.random.default_rng(2)
    p = next(pictures())[1][4:25, 20:51]
    image, alpha = Image.fromarray(p), Image.fromarray(np.concatenate([p, p[..., ::-1][..., :1]], -1))
    deep = rng.integers(0, 1024, (9, 11, 4)).astype(np.uint16) * rng.choice([1, 64], (9, 11, 1)).astype(np.uint16)

    files = {
        "grey16.png": png(16, 0, deep[..., :1]), "grey16-clear.png": png(16, 0, deep[..., :1], (b"tRNS", struct.pack(">H", int(deep[0, 0, 0])))), "grey16-alpha.png": png(16, 4, deep[..., :2]),
        "rgb16.png": png(16, 2, deep[..., :3]), "rgba16.png": png(16, 6, deep), "rgb-clear.png": png(8, 2, p[:5, :5], (b"tRNS", struct.pack(">HHH", *map(int, p[0, 0])))),
        "bits1.png": saved(image.convert("1"), "PNG"), "bits2.png": saved(image.quantize(4), "PNG", bits=2), "bits4.png": saved(image.quantize(16), "PNG", bits=4),
        "rgb.bmp": saved(image, "BMP"), "palette.bmp": saved(image.quantize(40), "BMP"), "rgba.bmp": saved(alpha, "BMP"), "grey.bmp": saved(image.convert("L"), "BMP"),
    }
    for kind in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits"):
        files[f"rgb-{kind}.tiff"] = saved(image, "TIFF", compression=kind)
    for mode in ("1", "L", "P", "RGBA"):
        files[f"{mode}.tiff"] = saved(image.quantize(40) if mode == "P" else alpha.convert(mode), "TIFF")
    files["grey16.tiff"] = saved(Image.fromarray(deep[..., 0]), "TIFF")
    files["turned.tiff"] = saved(image, "TIFF", tiffinfo={0x112: 6})
    for quality in (30, 95):
        files[f"lossy-{quality}.webp"] = saved(image, "WEBP", quality=quality)
    for w, h in ((1, 1), (1, 4), (5, 1), (2, 2), (3, 3), (30, 20), (17, 18)):
        files[f"lossy-{w}x{h}.webp"] = saved(image.crop((0, 0, w, h)), "WEBP", quality=90)
    files |= {"alpha.webp": saved(alpha, "WEBP", quality=80), "lossless.webp": saved(image, "WEBP", lossless=True), "lossless-alpha.webp": saved(alpha, "WEBP", lossless=True, exact=True)}
    turned = Image.Exif()
    turned[0x112] = 8
    files["exif.webp"] = saved(image, "WEBP", exif=turned)
    files["xmp.webp"] = saved(image, "WEBP", xmp=b'<x:xmpmeta><rdf:Description tiff:Orientation="3"/></x:xmpmeta>')
    few = image.quantize(30)
    files |= {"plain.gif": saved(few, "GIF", interlace=0), "interlaced.gif": saved(few, "GIF", interlace=1), "clear.gif": saved(few, "GIF", transparency=7), "grey.gif": saved(image.convert("L"), "GIF"),
              "moving.gif": saved(few, "GIF", save_all=True, append_images=[few.rotate(90)], duration=50, optimize=False)}
    for name in ("plain", "clear"):  # on a larger canvas
        g = bytearray(files[name + ".gif"])
        g[6:10] = struct.pack("<HH", image.width + 6, image.height + 4)
        at = g.index(b",", 13 + (3 << (g[10] & 7) + 1) if g[10] & 128 else 13)
        g[at + 1:at + 5] = struct.pack("<HH", 5, 2)
        files[name + "-part.gif"] = bytes(g)
    ink = Image.fromarray(np.concatenate([p, p[..., ::-1][..., 1:2] // 2], -1), "CMYK")
    files["cmyk.jpg"] = saved(ink, "JPEG", quality=90)
    for name, options in (("ycck", {}), ("ycck-420", {"subsampling": "4:2:0"}), ("ycck-progressive", {"progressive": True})):
        j = bytearray(saved(ink, "JPEG", quality=80, **options))
        j[j.index(b"Adobe") + 11] = 2
        files[name + ".jpg"] = bytes(j)
    j = files["cmyk.jpg"]
    at = j.index(b"Adobe") - 4
    files["cmyk-unmarked.jpg"] = j[:at] + j[at + 16:]
    files |= tiffs(p) | jpegs(image) | {
        "beyond.gif": gif_placed(files["clear.gif"], (20, 0), (4, 9)), "beyond-canvas.gif": gif_placed(files["interlaced.gif"], (40, 24), (0, 7)),
        "local.gif": gif_coloured(files["plain.gif"], "local"), "colourless.gif": gif_coloured(files["plain.gif"], "grey"), "few.gif": gif_coloured(files["plain.gif"], "few"),
    }
    for name, data in files.items():
        put(out, "format-" + name, data)


def tiffs(p):
    """TIFF files of the page that a fax machine would send, and of a picture."""
    h, w, files = 21, 37, {}
    y, x = np.mgrid[0:h, 0:w]
    page = ((x - 18) ** 2 + 3 * (y - 10) ** 2 < 170).astype(np.uint16)[..., None] ^ (x % 7 * y % 5 == 1)[..., None]
    for name, compression, options in (("rows", 2, 0), ("group3", 3, 0), ("group3-filled", 3, 4), ("group3-mixed", 3, 5), ("group4", 4, 0)):
        for white in (0, 1):
            files[f"fax-{name}-{white}.tiff"] = tiff(page, 1, 1 - white, compression, "<>"[white], 1 + (compression == 4) * white, rows=9, options=options)
    files["fax-group3-reversed.tiff"], files["fax-group4-tiles.tiff"] = tiff(page, 1, 1, 3, fill=2, options=1), tiff(page, 1, 0, 4, tile=(16, 16))
    for width in (1, 8, 9, 64):
        files[f"fax-width-{width}.tiff"] = tiff(np.tile(page, (1, 2, 1))[:, 2 : 2 + width], 1, 1, 4)
    grey, alpha = p[..., :1].astype(np.uint16), np.concatenate([p, p.max(-1, keepdims=True)], -1).astype(np.uint16)
    alpha[..., 3:] -= alpha[..., 3:] // 5 * (alpha[..., :1] % 3)
    alpha[..., :3] = np.minimum(alpha[..., :3], alpha[..., 3:] + 1)
    for compression in (1, 5, 8, 32773):
        files[f"reversed-{compression}.tiff"] = tiff(p.astype(np.uint16), 8, 2, compression, fill=2, rows=5)
    for bits in (1, 2, 4):
        files[f"white-{bits}.tiff"] = tiff(grey >> (8 - bits), bits, 0, 5)
        files[f"index-{bits}.tiff"] = tiff(grey >> (8 - bits), bits, 3, 1, ">", tags={320: (3, [(i * 7919 + 99) % 65536 for i in range(3 << bits)])})
    files["white-16.tiff"] = tiff(grey * 3, 16, 0, 8, predictor=2)
    files["associated.tiff"], files["associated-16.tiff"] = tiff(alpha, 8, 2, 1, tags={338: (3, [1])}), tiff(alpha * 257, 16, 2, 5, ">", predictor=2, tags={338: (3, [1])})
    files["associated-planes.tiff"], files["unnamed-planes.tiff"] = tiff(alpha, 8, 2, 8, separate=True, tags={338: (3, [1])}), tiff(alpha, 8, 2, 8, separate=True)
    files["unnamed.tiff"], files["grey-alpha.tiff"] = tiff(alpha, 8, 2, 32946), tiff(alpha[..., :2], 8, 1, 5, tags={338: (3, [2])})
    files["planes.tiff"], files["planes-tiles.tiff"] = tiff(p.astype(np.uint16), 8, 2, 1, separate=True, rows=4), tiff(p.astype(np.uint16), 8, 2, 5, separate=True, tile=(16, 16), predictor=2)
    files["cmyk.tiff"], files["cmyk-16.tiff"] = tiff(alpha, 8, 5, 5), tiff(alpha * 257, 16, 5, 1, ">")
    return files


def jpegs(image):
    """JPEG files whose markers disagree, and progressive ones that end early."""
    begin, end, files = b"\xff\xd8", b"\xff\xd9", {}
    bare = lambda data: [s for s in jpeg_segments(data) if s[1] not in (0xE0, 0xEE)]
    parts = bare(saved(image, "JPEG", quality=80))
    for name, marks, segments in (("jfif-adobe0", [JFIF, adobe(0)], parts), ("adobe0-jfif", [adobe(0), JFIF], parts), ("adobe0", [adobe(0)], parts), ("adobe2", [adobe(2)], parts), ("jfif-rgb", [JFIF], jpeg_named(parts, b"RGB")),
                                  ("rgb", [], jpeg_named(parts, b"RGB")), ("adobe1-rgb", [adobe(1)], jpeg_named(parts, b"RGB")), ("jfif-late", [adobe(0)], parts + [JFIF])):
        files[f"mark-{name}.jpg"] = begin + b"".join(marks + segments) + end
    for name, options in (("420", {}), ("444", dict(subsampling="4:4:4", quality=40)), ("grey", {})):
        parts = bare(saved(image.convert("L") if name == "grey" else image, "JPEG", progressive=True, **options))
        scans = [i for i, s in enumerate(parts) if s[1] == 0xDA]
        for n, last in enumerate(scans if name == "420" else scans[:3]):
            files[f"early-{name}-{n + 1}.jpg"] = begin + b"".join(parts[: last + 1]) + end
        for n in (0, 1, len(scans) - 1):
            cut = parts[: scans[n] + 1]
            cut[-1] = jpeg_cut(cut[-1], (len(cut[-1]) + 12) // 2)
            files[f"cut-{name}-{n + 1}.jpg"] = begin + b"".join(cut) + end
    parts = [s[:11] + b"\x22" + s[12:] if s[1] == 0xC2 else s for s in parts]
    files["early-grey-sampled.jpg"] = begin + b"".join(parts[: scans[0] + 1]) + end
    return files


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
    formats(out)
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
            image = Image.open(os.path.join(out, name)).convert("RGB")
            if "Pil" not in type(processor).__name__:  # a class that resizes floating-point numbers: those of float64, which are then rounded once
                image = torch.from_numpy(np.array(image)).permute(2, 0, 1).double()
            made = processor(image, return_tensors="np")
            x = made["pixel_values"][0].astype(np.float32)
            if "image_grid_thw" in made:  # patches, [patches, channels*2*side*side], square by square
                x, (_, down, across), side, n = made["pixel_values"].astype(np.float32), made["image_grid_thw"][0], config["patch_size"], config["merge_size"]
                x = x.reshape(down // n, across // n, n, n, 3, 2, side, side)[..., 0, :, :].transpose(4, 0, 2, 5, 1, 3, 6).reshape(3, down * side, across * side)
            if "spatial_shapes" in made or "image_position_ids" in made:  # patches, [patches, side*side*channels], followed by patches that do not count
                (down, across), side = made["spatial_shapes"][0] if "spatial_shapes" in made else made["image_position_ids"][0].max(0)[::-1] + 1, config["patch_size"]
                x = x[: down * across].reshape(down, across, side, side, 3).transpose(4, 0, 2, 1, 3).reshape(3, down * side, across * side)
            values[f"{name}|{case}"] = np.ascontiguousarray(x)
        os.remove(os.path.join(folder, "preprocessor_config.json"))
        os.rmdir(folder)
    save_file(values, os.path.join(out, "processed.safetensors"), metadata={k: json.dumps(v) for k, v in CASES.items()})
    tiled(out)


def tiled(out):
    """OUT/tiled.safetensors has the parts of images, [parts, 3, h, w], and the numbers of rows and columns of tiles."""
    values = {}
    for case, config in TILED.items():
        name = config["image_processor_type"].removesuffix("ImageProcessor")
        cls = getattr(__import__(f"transformers.models.{name.lower()}.image_processing_pil_{name.lower()}", fromlist=["x"]), name + "ImageProcessorPil")
        for file in ("landscape.png", "portrait-rgba.png", "tiny.png", "oriented-6.jpg", "format-cmyk.jpg")[2 * (case == "as-it-is") :]:
            made = cls.from_dict(dict(config))(load_image(os.path.join(out, file)), return_tensors="np", return_row_col_info=True)
            values[f"{file}|{case}"] = np.ascontiguousarray(made["pixel_values"][0].astype(np.float32))
            values[f"{file}|{case}|grid"] = np.array([made["rows"][0][0], made["cols"][0][0]])
    save_file(values, os.path.join(out, "tiled.safetensors"), metadata={k: json.dumps(v) for k, v in TILED.items()})
    gridded(out)


def gridded(out):
    """OUT/gridded.safetensors has the parts of images as LFM2-VL's class makes them, which needs torchvision: [3, h, w] each."""
    from transformers import Lfm2VlImageProcessor

    values = {}
    for case, config in GRIDDED.items():
        reader = Lfm2VlImageProcessor.from_dict(dict(config))
        for file in ("landscape.png", "portrait-rgba.png", "tiny.png", "oriented-6.jpg"):
            made, n = reader(load_image(os.path.join(out, file)), return_tensors="np", return_row_col_info=True), config["encoder_patch_size"]
            for i, (x, (h, w)) in enumerate(zip(made["pixel_values"], made["spatial_shapes"])):
                values[f"{file}|{case}|{i}"] = np.ascontiguousarray(x[: h * w].reshape(h, w, n, n, 3).transpose(4, 0, 2, 1, 3).reshape(3, h * n, w * n))
            values[f"{file}|{case}|grid"] = np.array([made["image_rows"][0], made["image_cols"][0]])
    save_file(values, os.path.join(out, "gridded.safetensors"), metadata={k: json.dumps(v) for k, v in GRIDDED.items()})


if __name__ == "__main__":
    main()
