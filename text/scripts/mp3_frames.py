#!/usr/bin/env python3
"""Draws streams of MP3 frames with what encoders seldom or never write: mixed blocks, intensity stereo, every table, scale factor and gain.

    mp3_frames.py FILE

writes streams, with samples of the mean of their channels that ffmpeg decodes, into FILE, which is text/sound/internal/mp3/testdata/drawn.json. sound.py draws
others. The codes come from tables.go of that package. There are no streams of 24 kHz, where ffmpeg has another border of bands, and no intensities of
MPEG-2 that are illegal or over 15: ffmpeg takes the former for legal and the latter for illegal."""

import base64, json, os, random, re, struct, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
KBITS = ([32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320], [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160])
RATES = (44100, 48000, 32000)
WIDTHS = ((0, 0, 0, 0, 3, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4), (0, 1, 2, 3, 0, 1, 2, 3, 1, 2, 3, 1, 2, 3, 2, 3))
ESCAPES = (1, 2, 3, 4, 6, 8, 10, 13, 4, 5, 6, 7, 8, 9, 11, 13)
COUNTS = (  # of scale factors of MPEG-2 with as many bits: of long, short and mixed blocks
    ((6, 5, 5, 5), (9, 9, 9, 9), (6, 9, 9, 9)), ((6, 5, 7, 3), (9, 9, 12, 6), (6, 9, 12, 6)), ((11, 10, 0, 0), (18, 18, 0, 0), (15, 18, 0, 0)),
    ((7, 7, 7, 0), (12, 12, 12, 0), (6, 15, 12, 0)), ((6, 6, 6, 3), (12, 9, 9, 6), (6, 12, 9, 6)), ((8, 8, 5, 0), (15, 12, 9, 0), (6, 18, 9, 0)))


def codes():
    """Of each table the bits of each byte of two values."""
    with open(os.path.join(HERE, "../sound/internal/mp3/tables.go")) as f:
        text = f.read()
    text = text[text.index("var codes") : text.index("// window is")]
    tables = {}
    for number, parts in re.findall(r'(\d+):\s*((?:"[^"]*"[\s+]*)+)', text):
        tree, table, at = "".join(re.findall(r'"([^"]*)"', parts)), {}, 0

        def read(bits):
            nonlocal at
            if tree[at] == "*":
                at += 1
                read(bits + "0")
                read(bits + "1")
            else:
                table[int(tree[at : at + 2], 16)] = bits
                at += 2

        read("")
        tables[int(number)] = table
    return tables


CODES = codes()


def number(value, width):
    return format(value, f"0{width}b") if width else ""


def pairs(rng, table, n):
    """n pairs of values in a table, in bits."""
    if table == 0:
        return ""
    code = CODES[16 if 16 <= table < 24 else 24 if table >= 24 else table]
    top = max(k >> 4 for k in code)
    out = ""
    for _ in range(n):
        two = [min(top, int(rng.expovariate(0.8))) for _ in range(2)]
        out += code[two[0] << 4 | two[1]]
        for v in two:
            if v == 15 and table >= 16:
                out += number(rng.randrange(1 << min(ESCAPES[table - 16], 4)), ESCAPES[table - 16])
            if v:
                out += rng.choice("01")
    return out


def factors(rng, low, kind, mixed, compress, same, intense):
    """The scale factors in bits."""
    if not low:
        w = [WIDTHS[0][compress], WIDTHS[1][compress]]
        if kind == 2:
            counts = [(17 if mixed else 18, w[0]), (18, w[1])]
        else:
            counts = [(n, w[i // 2]) for i, n in enumerate((6, 5, 5, 5)) if not same[i]]
    else:
        row, c = 0, compress
        if intense:
            c >>= 1
            if c < 180:
                w, row = (c // 36, c % 36 // 6, c % 6, 0), 3
            elif c < 244:
                c -= 180
                w, row = ((c & 63) >> 4, (c & 15) >> 2, c & 3, 0), 4
            else:
                c -= 244
                w, row = (c // 3, c % 3, 0, 0), 5
        elif c < 400:
            w = ((c >> 4) // 5, (c >> 4) % 5, (c & 15) >> 2, c & 3)
        elif c < 500:
            c -= 400
            w, row = ((c >> 2) // 5, (c >> 2) % 5, c & 3, 0), 1
        else:
            c -= 500
            w, row = (c // 3, c % 3, 0, 0), 2
        counts = list(zip(COUNTS[row][0 if kind != 2 else 2 if mixed else 1], w))
    most = 16 if intense and low else 32
    return "".join(number(rng.randrange(min(most, max(1, (1 << w) - (most == 16)))), w) for n, w in counts for _ in range(n))


def granule(rng, low, index, kind, mixed, right, same, intense):
    """Side information and main data of a channel of a granule, in bits."""
    compress = rng.randrange(512 if low else 16)
    gain = rng.randrange(168, 184)
    big = rng.choice([rng.randrange(30), rng.randrange(18, 26)]) if right and intense else rng.choice([rng.randrange(10, 130), rng.randrange(100, 288)])
    kinds = [t for t in range(32) if t not in (4, 14) and t < 24 + 6]
    if kind == 0:
        tables, first, second = [rng.choice(kinds) for _ in range(3)], rng.randrange(16), rng.randrange(8)
        long = LONG[index]
        ends = [min(long[min(first + 1, 22)], 2 * big), min(long[min(first + second + 2, 22)], 2 * big), 2 * big]
        how = "0" + "".join(number(t, 5) for t in tables) + number(first, 4) + number(second, 3)
    else:
        tables = [rng.choice(kinds) for _ in range(2)]
        end = 3 * SHORT[index][3] if kind == 2 else LONG[index][8]
        ends = [min(end, 2 * big), 2 * big]
        how = "1" + number(kind, 2) + number(mixed, 1) + "".join(number(t, 5) for t in tables) + "".join(number(rng.choice([0, 0, 1, 3]), 3) for _ in range(3))
    main, at = factors(rng, low, kind, mixed, compress, same, intense and right), 0
    for table, end in zip(tables, ends):
        main += pairs(rng, table, (end - at) // 2)
        at = max(at, end)
    quads = rng.randrange(2)
    for _ in range(0 if right and intense and rng.random() < 0.7 else rng.randrange(20)):
        v = rng.randrange(16)
        main += CODES[32 + quads][v] + "".join(rng.choice("01") for _ in range(bin(v).count("1")))
    side = number(len(main), 12) + number(big, 9) + number(gain, 8) + number(compress, 9 if low else 4) + how
    return side + ("" if low else rng.choice("01")) + rng.choice("01") + str(quads), main


def tables_of_bands():
    with open(os.path.join(HERE, "../sound/internal/mp3/tables.go")) as f:
        text = f.read()
    rows = [[int(x) for x in row.split(",")] for row in re.findall(r"\{((?:\d+, )+\d+)\}", text[text.index("var longBands") :])]
    return rows[:9], rows[9:18]


LONG, SHORT = tables_of_bands()


def following(rng, kind, mixed):
    """The kind of window, and whether blocks are mixed, that may come after others."""
    if kind in (1, 2):
        return (2 if kind == 1 else rng.choice([2, 2, 3])), mixed
    return rng.choice([(0, 0), (1, 0), (1, 1)])


def draw(rng, low, index, mode, extension, frames):
    """A stream of frames: low 0 is MPEG-1, 1 MPEG-2, 2 MPEG-2.5; mode 0 stereo, 1 joint with an extension, 3 mono."""
    rate, channels = RATES[index] >> low, 1 if mode == 3 else 2
    bands, intense = 3 * low + index, mode == 1 and bool(extension & 1)
    sides, mains, after = [], [], [(0, 0), (0, 0)]
    for _ in range(frames):
        granules, main, shares = [], "", ["0000"] * channels
        before = [0] * channels
        for g in range(1 if low else 2):
            for c in range(channels):
                if c == 0 or mode != 1:
                    kind, mixed = after[c] = following(rng, *after[c])
                else:
                    after[c] = kind, mixed
                same = [False] * 4
                if g and kind != 2 and before[c] != 2:
                    same = [rng.random() < 0.4 for _ in range(4)]
                    shares[c] = "".join("01"[s] for s in same)
                before[c] = kind
                side, part = granule(rng, low, bands, kind, mixed, c == 1, same, intense)
                granules.append(side)
                main += part
        sides.append(("" if low else "".join(shares), "".join(granules)))
        mains.append(bytes(int((main + "0" * 7)[i : i + 8], 2) for i in range(0, len(main), 8)))
    head, width = (9 if channels == 1 else 17, 8) if low else (17 if channels == 1 else 32, 9)
    heads, area, filled = [], bytearray(), 0
    for (shares, granules), main in zip(sides, mains):
        slot = len(area)  # where the frame's own part of the main data begins
        start = max(filled, slot - (1 << width) + 1)
        for k, kbits in enumerate(KBITS[min(low, 1)]):
            size = (72000 if low else 144000) * kbits // rate
            room = size - 4 - head
            if room >= 0 and slot + room >= start + len(main):
                break
        else:
            raise ValueError("more than a frame has place for")
        area += bytes(room)
        area[start : start + len(main)] = main
        filled = start + len(main)
        first = (0xFFF if low < 2 else 0xFFE) << 20 | {0: 3, 1: 2, 2: 0}[low] << 19 | 1 << 17 | 1 << 16 | (k + 1) << 12 | index << 10 | mode << 6 | extension << 4
        if low == 2:
            first &= ~(1 << 20)
        bits = number(slot - start, width) + "0" * (channels if low else 5 if channels == 1 else 3) + shares + granules
        assert len(bits) <= 8 * head, (len(bits), head)
        bits += "0" * (8 * head - len(bits))
        heads.append((struct.pack(">I", first) + bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8)), slot, room))
    return rate, channels, b"".join(h + bytes(area[slot : slot + room]) for h, slot, room in heads)


def some(rng):
    """A stream of any kind."""
    while True:
        low, index = rng.randrange(3), rng.randrange(3)
        mode = rng.choice([0, 1, 1, 1, 1, 3])
        if (low, index) == (1, 1):
            continue
        try:
            return draw(rng, low, index, mode, rng.randrange(4) if mode == 1 else 0, 6)
        except ValueError:
            continue


def decoded(data, channels):
    """The mean of the channels that ffmpeg decodes."""
    with tempfile.NamedTemporaryFile(suffix=".mp3") as f:
        f.write(data)
        f.flush()
        raw = subprocess.run(["ffmpeg", "-v", "error", "-f", "mp3", "-i", f.name, "-f", "f32le", "-"], stdout=subprocess.PIPE, check=True).stdout
    x = struct.unpack(f"<{len(raw) // 4}f", raw)
    return [sum(x[i : i + channels]) / channels for i in range(0, len(x), channels)]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rng, out = random.Random(1), []
    for low in range(3):
        for index in range(3):
            for mode, extension in ((0, 0), (1, 1), (1, 1), (1, 3), (1, 3), (3, 0)):
                if (low, index) == (1, 1) or low == 2 and index < 2 or index == 1 and mode != 1:
                    continue
                while True:
                    try:
                        rate, channels, data = draw(rng, low, index, mode, extension, 8 if low else 4)
                        break
                    except ValueError:
                        continue
                samples = decoded(data, channels)
                out.append({"rate": rate, "channels": channels, "extension": extension, "data": base64.b64encode(data).decode(), "count": len(samples), "samples": [float("%.6g" % x) for x in samples[7::67]]})
    with open(sys.argv[1], "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(s) for s in out) + "\n]\n")


if __name__ == "__main__":
    main()
