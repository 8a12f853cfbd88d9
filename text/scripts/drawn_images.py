#!/usr/bin/env python3
"""Draws image files of every format, and what Pillow reads from them, for TestBesidePillow of text/internal/vision.

    drawn_images.py OUT [SEED]

OUT/files.json says of each file the width and height of the picture; NAME.rgb has its samples, as transformers' load_image returns them. The codes of
fax, LZW and PackBits are libtiff's, through Pillow; tiffcp writes further files where it is installed."""

import collections, io, json, os, random, shutil, struct, subprocess, sys, warnings, zlib

import numpy as np
from PIL import Image, ImageOps

REVERSED = bytes(int(f"{i:08b}"[::-1], 2) for i in range(256))


def loaded(data):
    """What transformers' load_image returns."""
    return ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")


def saved(image, kind, **options):
    b = io.BytesIO()
    image.save(b, kind, **options)
    return b.getvalue()


def tiff(p, bits, photometric, compression, order="<", fill=1, separate=False, predictor=1, tile=None, rows=0, options=0, tags={}):
    """A TIFF file of samples, [H, W, samples], with further tags, {number: (kind, values)}."""
    h, w, samples = p.shape
    tags = {256: (3, [w]), 257: (4, [h]), 258: (3, [bits] * samples), 259: (3, [compression]), 262: (3, [photometric]), 277: (3, [samples])} | tags
    tags |= {266: (3, [fill])} if fill == 2 else {}
    tags |= {284: (3, [2])} if separate else {}
    tags |= {317: (3, [predictor])} if predictor == 2 else {}
    tags |= {292: (4, [options])} if compression == 3 else {}
    bw, bh = tile or (w, min(rows or h, h))
    if tile:
        tags |= {322: (3, [bw]), 323: (3, [bh])}
        p = np.pad(p, ((0, -h % bh), (0, -w % bw), (0, 0)))
    else:
        tags |= {278: (3, [rows or h])}
    blocks = []
    for plane in np.split(p, samples, -1) if separate else [p]:
        for y in range(0, p.shape[0], bh):
            for x in range(0, p.shape[1], bw):
                b = plane[y : y + bh, x : x + bw]
                if predictor == 2:
                    b = np.concatenate([b[:, :1], b[:, 1:] - b[:, :-1]], 1)
                if bits < 8:
                    b = np.packbits(np.unpackbits(b[..., 0].astype(np.uint8)[..., None], axis=-1)[..., 8 - bits :].reshape(len(b), -1), axis=-1)
                else:
                    b = b.astype(np.uint8 if bits == 8 else order + "u2").reshape(len(b), -1).view(np.uint8)
                code = tiff_code(np.ascontiguousarray(b), bw, compression, options)
                blocks.append(code.translate(REVERSED) if fill == 2 else code)
    return tiff_file(order, tags, blocks)


def tiff_code(rows, width, compression, options):
    """The bytes of a strip or tile: rows of bytes; width pixels for fax codes."""
    if compression == 1:
        return rows.tobytes()
    if compression in (8, 32946):
        return zlib.compress(rows.tobytes())
    if compression in (2, 3, 4):
        ink = Image.frombytes("1", (width, len(rows)), rows.tobytes(), "raw", "1;I")  # in fax codes, 1 is black
        data = saved(ink, "TIFF", compression={2: "tiff_ccitt", 3: "group3", 4: "group4"}[compression], tiffinfo={278: len(rows)} | ({292: options} if compression == 3 else {}))
    else:
        data = saved(Image.fromarray(rows), "TIFF", compression={5: "tiff_lzw", 32773: "packbits"}[compression], tiffinfo={278: len(rows)})
    tags = Image.open(io.BytesIO(data)).tag_v2
    assert len(tags[273]) == 1 and (compression not in (2, 3, 4) or tags[262] == 1 and tags.get(266, 1) == 1), dict(tags)
    return data[tags[273][0] : tags[273][0] + tags[279][0]] + bytes(2 * (compression == 2))  # libtiff misreads a last row of rows at bytes that is one byte


def tiff_file(order, tags, blocks):
    """A file with tags, and strips or tiles."""
    where, sizes = (324, 325) if 322 in tags else (273, 279)
    length = {1: 1, 3: 2, 4: 4, 7: 1, 8: 2, 9: 4}
    tags = tags | {where: (4, [0] * len(blocks)), sizes: (4, [len(b) for b in blocks])}
    start = 8 + 2 + 12 * len(tags) + 4
    at = start + sum((len(v) * length[k] + 1) // 2 * 2 for k, v in tags.values() if len(v) * length[k] > 4)
    for i, b in enumerate(blocks):
        tags[where][1][i] = at
        at += len(b)
    directory, rest = struct.pack(order + "H", len(tags)), b""
    for tag, (kind, values) in sorted(tags.items()):
        b = struct.pack(f"{order}{len(values)}{ {1: 'B', 3: 'H', 4: 'I', 7: 'B', 8: 'h', 9: 'i'}[kind]}", *values)
        if len(b) > 4:
            b, rest = struct.pack(order + "I", start + len(rest)), rest + b + bytes(len(b) % 2)
        directory += struct.pack(order + "HHI", tag, kind, len(values)) + b.ljust(4, b"\0")
    return (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8) + directory + bytes(4) + rest + b"".join(blocks)


def jpeg_segments(data):
    """The segments of a JPEG file, each with its marker, and the data of scans after theirs."""
    at, out = 2, []
    while at < len(data) - 2:
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if data[at + 1] == 0xDA:
            while not (data[end] == 0xFF and data[end + 1] != 0 and not 0xD0 <= data[end + 1] <= 0xD7):
                end += 1
        out.append(data[at:end])
        at = end
    return out


def jpeg_named(parts, ids):
    """The segments with other names of the three components."""
    out = []
    for s in map(bytearray, parts):
        if s[1] in (0xC0, 0xC1, 0xC2):
            s[10:19:3] = ids
        if s[1] == 0xDA:
            for k in range(s[4]):
                s[5 + 2 * k] = ids[s[5 + 2 * k] - 1]
        out.append(bytes(s))
    return out


def jpeg_cut(part, at):
    """The segment of a scan whose data end there."""
    return part[: at - 1 if part[at - 1] == 0xFF else at]


JFIF = b"\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0"


def adobe(transform):
    return b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0" + bytes([transform])


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def hexadecimal(exif, form="\nexif\n%8d\n"):
    """Exif data as programs write them into a text of PNG."""
    digits = (b"Exif\0\0" + exif).hex()
    return (form % (len(exif) + 6) + "\n".join(digits[i : i + 72] for i in range(0, len(digits), 72)) + "\n").encode()


def png_note(carrier, exif, xmp):
    """A chunk of PNG with an orientation."""
    raw, key = b"Raw profile type exif", b"XML:com.adobe.xmp"
    return chunk(*{
        "exif": (b"eXIf", exif), "raw": (b"tEXt", raw + b"\0" + hexadecimal(exif)), "raw-named": (b"tEXt", raw + b"\0" + hexadecimal(exif, "\ngeneric profile\n%d\n")),
        "raw-z": (b"zTXt", raw + b"\0\0" + zlib.compress(hexadecimal(exif))), "raw-i": (b"iTXt", raw + b"\0\0\0\0\0" + hexadecimal(exif)),
        "raw-app1": (b"tEXt", b"Raw profile type APP1\0" + hexadecimal(exif)),
        "xmp": (b"iTXt", key + b"\0\0\0\0\0" + xmp), "xmp-z": (b"iTXt", key + b"\0\1\0en\0key\0" + zlib.compress(xmp)),
        "xmp-text": (b"tEXt", key + b"\0" + xmp), "xmp-ztext": (b"zTXt", key + b"\0\0" + zlib.compress(xmp)),
    }[carrier])


def exif(orientation, order="little", kind=3):
    value = orientation.to_bytes(2 if kind in (3, 8) else 4, order).ljust(4, b"\0")
    entries = b"".join(tag.to_bytes(2, order) + k.to_bytes(2, order) + (1).to_bytes(4, order) + v for tag, k, v in ((0x10F, 3, bytes(4)), (0x112, kind, value)))
    return (b"MM\0*" if order == "big" else b"II*\0") + (8).to_bytes(4, order) + (2).to_bytes(2, order) + entries + bytes(4)


def xmp(orientation, form='<x:xmpmeta><rdf:Description tiff:Orientation="%d"/></x:xmpmeta>'):
    return form.encode() % orientation


def gif_image(g):
    """Where the first image of a GIF file begins, and the bytes of the colours of all images."""
    colours = 3 << (g[10] & 7) + 1 if g[10] & 128 else 0
    at = 13 + colours
    while g[at] == 0x21:
        at += 2
        while g[at]:
            at += 1 + g[at]
        at += 1
    return at, colours


def gif_placed(g, canvas, place):
    g, (at, _) = bytearray(g), gif_image(g)
    g[6:10], g[at + 1 : at + 5] = struct.pack("<HH", *canvas), struct.pack("<HH", *place)
    return g


def gif_coloured(g, how):
    """The file with its colours at the image alone ("local"), without colours ("grey") or with two ("few")."""
    g, (at, colours) = bytearray(g), gif_image(g)
    if how == "few":
        g[10] &= 0xF8
        del g[13 + 6 : 13 + colours]
        return g
    kept = g[13 : 13 + colours] if how == "local" else b""
    if kept:
        g[at + 9] |= 128 | g[10] & 7
    g[at + 10 : at + 10] = kept
    g[10] &= 127
    del g[13 : 13 + colours]
    return g


class Drawer:
    def __init__(self, out, seed):
        self.out, self.rng, self.pixels, self.files = out, random.Random(seed), np.random.default_rng(seed), []

    def put(self, name, data):
        name = f"{len(self.files):03}-{name}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                image = loaded(data)
            except Exception as e:
                raise ValueError(f"{name}: Pillow does not read it") from e
        with open(os.path.join(self.out, name), "wb") as f:
            f.write(data)
        with open(os.path.join(self.out, name + ".rgb"), "wb") as f:
            f.write(image.tobytes())
        self.files.append({"file": name, "width": image.width, "height": image.height})

    def size(self):
        return self.rng.choice([1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 40, 63, 64, 65, 90]), self.rng.choice([1, 2, 3, 7, 8, 9, 16, 17, 33, 50])

    def picture(self, w, h, samples=3):
        """A photograph of sorts: gradients, edges and noise."""
        y, x = np.mgrid[0:h, 0:w]
        f = self.pixels.uniform(0.05, 0.6, (samples, 2))
        p = np.stack([128 + 120 * np.sin(f[i, 0] * x + i) * np.cos(f[i, 1] * y) for i in range(samples)], -1)
        p[(x - w / 2) ** 2 + (y - h / 2) ** 2 < (min(h, w) / 3) ** 2] = self.pixels.integers(0, 256, samples)
        p[h // 2 :, : w // 4] = self.pixels.integers(0, 256, (h - h // 2, w // 4, samples))
        return np.clip(p, 0, 255).astype(np.uint8)

    def page(self, w, h):
        """Black and white: letters of sorts, lines and noise."""
        p = np.zeros((h, w), bool)
        for _ in range(self.rng.randint(0, 12)):
            x, y = self.rng.randrange(w), self.rng.randrange(h)
            p[y : y + self.rng.randint(1, 5), x : x + self.rng.randint(1, 30)] ^= True
        if self.rng.random() < 0.3:
            p ^= self.pixels.random((h, w)) < 0.2
        return p

    def xmp(self):
        return xmp(self.turned(), self.rng.choice(['<x:xmpmeta><rdf:Description tiff:Orientation="%d"/></x:xmpmeta>', "<x:xmpmeta><tiff:Orientation>%d</tiff:Orientation></x:xmpmeta>"]))

    def exif(self):
        return exif(self.turned(), self.rng.choice(["little", "big"]), self.rng.choice([3, 3, 4, 8, 9]))

    def turned(self):
        return self.rng.randint(1, 8)

    def tiffs(self, n):
        for _ in range(n):
            w, h = self.size()
            order, fill = self.rng.choice("<>"), self.rng.choice([1, 1, 2])
            kind = self.rng.choice(["fax", "fax", "fax", "bits", "grey", "grey16", "index", "grey+", "rgb", "rgb", "rgb+", "rgb+", "rgb16", "rgb16+", "cmyk", "cmyk16"])
            compression = self.rng.choice([2, 3, 3, 4, 4] if kind == "fax" else [1, 5, 8, 32946, 32773])
            photometric, bits, extra, samples = self.rng.choice([0, 1]), 8, (), 1
            if kind in ("fax", "bits"):
                bits = 1 if kind == "fax" else self.rng.choice([1, 2, 4])
            elif kind == "grey16":
                bits, photometric = 16, 1 if order == ">" else photometric
            elif kind == "index":
                photometric, bits = 3, self.rng.choice([1, 2, 4, 8])
            elif kind == "grey+":
                photometric, samples, extra = 1, 2, (self.rng.choice([0, 2]),)
            elif kind.startswith("rgb"):
                photometric, samples = 2, 3
                if kind.endswith("+"):
                    extra = self.rng.choice([(), (0,), (1,), (1,), (2,)] + ([] if "16" in kind else [(0, 0), (1, 0), (2, 0)]))
                    samples += max(len(extra), 1)
            elif kind.startswith("cmyk"):
                photometric, samples = 5, 4
            if kind.endswith(("16", "16+")):
                bits = 16
            # Pillow knows FillOrder 2 for some kinds alone, and fewer without compression.
            plain = compression == 1 and (kind == "index" and bits < 8 or kind == "grey" and photometric == 0)
            if plain or kind in ("grey+", "cmyk", "cmyk16", "rgb+", "rgb16", "rgb16+") or bits == 16 and (order == ">" or photometric == 0):
                fill = 1
            # Pillow reads plain planes of 16 bits, FillOrder 2 or unnamed samples wrongly, and does not read some with further samples.
            separate = samples in (3, 4) and not (compression == 1 and (bits == 16 or fill == 2 or extra in ((1,), ()) and kind == "rgb+")) and 0 not in extra and self.rng.random() < 0.4
            predictor = 2 if compression in (5, 8, 32946) and bits >= 8 and self.rng.random() < 0.5 else 1
            tags = {t: (3, [1]) for t in (266, 284, 317) if self.rng.random() < 0.3}
            if extra:
                tags[338] = (3, list(extra))
            if photometric == 3:
                tags[320] = (3, [self.rng.randrange(65536) for _ in range(3 << bits)])
            if self.rng.random() < 0.2:
                tags[274] = (self.rng.choice([3, 4, 8, 9]), [self.turned()])
            if self.rng.random() < 0.2:
                tags[700] = (self.rng.choice([1, 7]), list(self.xmp()))
            if kind == "fax":
                p = self.page(w, h)[..., None].astype(np.uint16)
            else:
                p = self.picture(w, h, samples).astype(np.uint16)
                p = p * self.rng.choice([1, 256]) + self.pixels.integers(0, 200, p.shape).astype(np.uint16) if bits == 16 else p >> (8 - bits)
                if extra[:1] == (1,):  # colours are at most alpha, or nearly
                    p[..., :3] = np.minimum(p[..., :3], p[..., 3:4] + self.pixels.integers(0, 3, (h, w, 1)).astype(np.uint16) * (bits == 8))
                    p = np.minimum(p, (1 << bits) - 1)
            tile = (self.rng.choice([16, 32, 48]), self.rng.choice([16, 32])) if self.rng.random() < 0.3 else None
            data = tiff(p, bits, photometric, compression, order, fill, separate, predictor, tile, self.rng.choice([1, 2, 5, 8, 16, h, h, h + 3]), self.rng.choice([0, 1, 4, 5]), tags)
            name = f"{kind}-{compression}" + "-reversed" * (fill == 2) + "-planes" * separate + "-tiles" * bool(tile) + "-sums" * (predictor == 2)
            self.put(name + ".tiff", data)

    def tiffcp(self, n):
        if not shutil.which("tiffcp"):
            print("tiffcp is not installed: its files are left out")
            return
        paths = [os.path.join(self.out, "now" + i) for i in ("0.tif", "1.tif")]
        for _ in range(n):
            w, h = self.size()
            fax = self.rng.random() < 0.6
            Image.fromarray(self.page(w, h) if fax else self.picture(w, h)).save(paths[0], tiffinfo={262: self.rng.choice([0, 1])} if fax else {})
            how = ["-c", self.rng.choice(["g3:1d", "g3:2d", "g3:2d:fill", "g3:1d:fill", "g4"] if fax else ["none", "lzw:1", "lzw:2", "zip:1", "zip:2", "packbits"]), "-f", self.rng.choice(["lsb2msb", "msb2lsb"])]
            how += self.rng.choice([["-t", "-w", "32", "-l", "16"], ["-s", "-r", str(self.rng.randint(1, 9))], []]) + self.rng.choice([["-B"], ["-L"]])
            if not fax and (how[3] == "msb2lsb" or how[1] != "none"):
                how += self.rng.choice([["-p", "separate"], []])
            subprocess.run(["tiffcp", *how, *paths], check=True, stderr=subprocess.PIPE)
            with open(paths[1], "rb") as f:
                self.put("tiffcp" + "".join(how).replace(":", "-") + ".tif", f.read())
        for p in paths:
            if os.path.exists(p):
                os.remove(p)

    # JPEG

    def jpeg(self):
        """A JPEG file, and whether it is progressive."""
        w, h = self.size()
        if self.rng.random() < 0.5:
            w, h = w + 50, h + 60
        mode, progressive = self.rng.choice(["RGB", "RGB", "RGB", "L", "CMYK"]), self.rng.random() < 0.5
        image = Image.fromarray(self.picture(w, h, 4), "CMYK") if mode == "CMYK" else Image.fromarray(self.picture(w, h)).convert(mode)
        options = dict(quality=self.rng.choice([10, 50, 75, 90, 100]), progressive=progressive, optimize=self.rng.random() < 0.5)
        if mode != "L":
            options["subsampling"] = self.rng.choice(["4:4:4", "4:2:2", "4:2:0"])
        if self.rng.random() < 0.2:
            options["restart_marker_blocks"] = self.rng.randint(1, 9)
        return mode, progressive, saved(image, "JPEG", **options)

    def jpegs(self, n):
        for _ in range(n):
            mode, progressive, data = self.jpeg()
            parts, name, marks = [s for s in jpeg_segments(data) if s[1] not in (0xE0, 0xEE)], mode.lower(), []
            if self.rng.random() < 0.5 and mode != "CMYK":
                marks, name = [JFIF], name + "-jfif"
            if self.rng.random() < 0.6 or mode == "CMYK":
                transform = self.rng.choice([0, 1, 2])
                marks, name = marks + [adobe(transform)], name + f"-adobe{transform}"
            self.rng.shuffle(marks)
            if mode == "RGB" and self.rng.random() < 0.4:
                parts, name = jpeg_named(parts, self.rng.choice([b"RGB", b"\0\1\2", b"YUV", b"rgb"])), name + "-ids"
            if mode == "L" and self.rng.random() < 0.5:
                factors = self.rng.choice([0x21, 0x12, 0x22, 0x14])
                parts = [s[:11] + bytes([factors]) + s[12:] if s[1] in (0xC0, 0xC1, 0xC2) else s for s in parts]
                name += f"-{factors:x}"
            scans = [i for i, s in enumerate(parts) if s[1] == 0xDA]
            if progressive and self.rng.random() < 0.8:  # an early end: between scans, or within one
                last = self.rng.choice(scans)
                parts, name = parts[: last + 1], name + f"-{scans.index(last) + 1}-scans"
                if self.rng.random() < 0.4:
                    parts[last], name = jpeg_cut(parts[last], self.rng.randint(2 + int.from_bytes(parts[last][2:4], "big"), len(parts[last]))), name + "-cut"
            if self.rng.random() < 0.2:
                body = b"Exif\0\0" * self.rng.choice([1, 1, 2]) + self.exif()
                marks.append(b"\xff\xe1" + struct.pack(">H", 2 + len(body)) + body)
            if self.rng.random() < 0.2:
                body = b"http://ns.adobe.com/xap/1.0/\0" + self.xmp()
                marks.append(b"\xff\xe1" + struct.pack(">H", 2 + len(body)) + body)
            self.put(name + ".jpg", b"\xff\xd8" + b"".join(marks + parts) + b"\xff\xd9")

    # PNG

    def pngs(self, n):
        for _ in range(n):
            w, h = self.size()
            mode = self.rng.choice(["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
            image = Image.fromarray(self.picture(w, h, 4))
            if mode == "P":
                colours = self.rng.choice([2, 4, 16, 200])
                data = saved(image.convert("RGB").quantize(colours), "PNG", bits=max(1, (colours - 1).bit_length()) if colours < 200 else 8)
            elif mode == "I;16":
                data = saved(Image.fromarray(self.pixels.integers(0, 600, (h, w)).astype(np.uint16)), "PNG")
            else:
                data = saved(image.convert(mode), "PNG")
            notes, after, name = [], [], mode.lower().replace(";", "")
            for carrier in self.rng.sample(["exif", "raw", "raw-named", "raw-z", "raw-i", "raw-app1", "xmp", "xmp-z", "xmp-text", "xmp-ztext"], self.rng.choice([0, 1, 1, 2])):
                name += "-" + carrier
                (notes if self.rng.random() < 0.7 else after).append(png_note(carrier, self.exif(), self.xmp()))
            end = len(data) - 12
            self.put(name + ".png", data[:33] + b"".join(notes) + data[33:end] + b"".join(after) + data[end:])

    # WebP, BMP

    def webps(self, n):
        for _ in range(n):
            w, h = self.size()
            image = Image.fromarray(self.picture(w, h, self.rng.choice([3, 4])))
            options = dict(lossless=self.rng.random() < 0.4, quality=self.rng.choice([20, 80, 95]), exact=True)
            if self.rng.random() < 0.4:
                options["exif"] = b"Exif\0\0" * self.rng.choice([0, 1, 2]) + self.exif()
            if self.rng.random() < 0.4:
                options["xmp"] = self.xmp()
            self.put(image.mode.lower() + "".join("-" + k for k in ("exif", "xmp") if k in options) + ".webp", saved(image, "WEBP", **options))

    def bmps(self, n):
        for _ in range(n):
            w, h = self.size()
            mode = self.rng.choice(["L", "P", "RGB", "RGBA"])
            image = Image.fromarray(self.picture(w, h, 4))
            self.put(mode.lower() + ".bmp", saved(image.convert("RGB").quantize(self.rng.choice([2, 16, 200])) if mode == "P" else image.convert(mode), "BMP"))

    # GIF

    def gifs(self, n):
        for _ in range(n):
            w, h = self.size()
            few = Image.fromarray(self.picture(w, h)).quantize(self.rng.choice([2, 5, 30, 256]))
            options = dict(interlace=self.rng.choice([0, 1]), optimize=False)
            if self.rng.random() < 0.3:
                options["transparency"] = self.rng.randrange(4)
            if self.rng.random() < 0.3:
                options |= dict(save_all=True, append_images=[few.rotate(90), few.rotate(180)], duration=50, disposal=self.rng.choice([0, 1, 2, 3]))
            if self.rng.random() < 0.3:
                options["comment"] = b"x" * 300
            g, name = saved(few, "GIF", **options), "plain"
            if self.rng.random() < 0.7:  # another canvas, another place
                g, name = gif_placed(g, (self.rng.choice([0, 1, w, w + 9]), self.rng.choice([0, 1, h, h + 9])), (self.rng.choice([0, 0, 3, 20]), self.rng.choice([0, 0, 2, 20]))), "placed"
            at, colours = gif_image(g)
            if self.rng.random() < 0.4 and not g[at + 9] & 128 and colours > 6:
                how = self.rng.choice(["local", "grey", "few"])
                g, name = gif_coloured(g, how), name + "-" + how
            self.put(name + ".gif", bytes(g))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    d = Drawer(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 1)
    d.tiffs(300)
    d.tiffcp(60)
    d.jpegs(200)
    d.pngs(80)
    d.webps(40)
    d.bmps(20)
    d.gifs(80)
    with open(os.path.join(d.out, "files.json"), "w") as f:
        json.dump(d.files, f)
    print(f"{len(d.files)} files of Pillow {Image.__version__}:", ", ".join(f"{n} {k}" for k, n in sorted(collections.Counter(f["file"].rsplit(".")[-1] for f in d.files).items())))


if __name__ == "__main__":
    main()
