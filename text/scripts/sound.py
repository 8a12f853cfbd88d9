#!/usr/bin/env python3
"""Writes sound files of many codecs, rates, channels, lengths and tags, and what ffmpeg decodes from them, for TestBesideFFmpeg of text/sound,
and frames of MP3 that mp3_frames.py draws.

    sound.py OUT [SEED]

OUT/files.json says of each file its rate and channels, and how many decibels the difference must be below the sound; NAME.f32 has its samples, the mean of
the channels. ffmpeg 5.1 decodes MP3 of 24 kHz with a border of bands at line 330, where LAME has 332: there the samples are those that were
encoded."""

import json, os, random, struct, subprocess, sys

import mp3_frames


def ffmpeg(*args, data=None):
    return subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, args)], input=data, stdout=subprocess.PIPE, check=True).stdout


def source(rng, rate, channels, seconds):
    """Speechlike sound: tones that move, and noise."""
    f = rng.uniform(90, 300)
    voice = f"(0.3*sin(2*PI*{f:.1f}*t+3*sin(2*PI*2*t))+0.15*sin(2*PI*{3.1 * f:.1f}*t+5*sin(3*t))+0.1*sin(2*PI*{rng.uniform(900, 1800):.1f}*t))*(0.6+0.4*sin(2*PI*3*t))+0.01*(random(0)-0.5)"
    exprs = "|".join([voice, f"0.5*({voice})+0.1*sin(2*PI*700*t)"][:channels])
    return ffmpeg("-f", "lavfi", "-i", f"aevalsrc={exprs}:s={rate}:d={seconds}", "-f", "f32le", "-")


def mean(raw, channels):
    x = struct.unpack(f"<{len(raw) // 4}f", raw)
    return x if channels == 1 else [sum(x[i : i + channels]) / channels for i in range(0, len(x), channels)]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    out, rng = sys.argv[1], random.Random(int(sys.argv[2]) if len(sys.argv) == 3 else 1)
    os.makedirs(out, exist_ok=True)
    files = []

    def put(name, data, rate, channels, samples, least):
        with open(os.path.join(out, name), "wb") as f:
            f.write(data)
        with open(os.path.join(out, name + ".f32"), "wb") as f:
            f.write(struct.pack(f"<{len(samples)}f", *samples))
        files.append({"file": name, "rate": rate, "channels": channels, "least": least})

    def decoded(name, data, channels, rate, *decoder):
        path = os.path.join(out, "now." + name.split(".")[-1])
        with open(path, "wb") as f:
            f.write(data)
        raw = ffmpeg(*decoder, "-i", path, "-f", "f32le", "-ac", channels, "-ar", rate, "-")
        os.remove(path)
        return mean(raw, channels)

    def encode(suffix, rate, channels, seconds, *args):
        path = os.path.join(out, "now." + suffix)
        raw = source(rng, rate, channels, seconds)
        ffmpeg("-f", "f32le", "-ar", rate, "-ac", channels, "-i", "-", *args, path, data=raw)
        with open(path, "rb") as f:
            data = f.read()
        os.remove(path)
        return raw, data

    ape = b"APETAGEX" + struct.pack("<IIII8x", 2000, 32, 0, 0)
    n = 0
    for rate in (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000):
        for channels in (1, 2):
            for how in (["-b:a", "32k"], ["-b:a", "64k", "-joint_stereo", "0"], ["-q:a", "3"], ["-b:a", "160k" if rate < 32000 else "192k", "-write_xing", "0"]):
                seconds = rng.choice([0.3, 0.7, 1.1, 2.03])
                if rate == 24000:
                    how = ["-b:a", "160k"]
                if rate < 16000 and how[1] == "160k":
                    how = ["-b:a", "64k", "-write_xing", "0"]
                raw, data = encode("mp3", rate, channels, seconds, "-c:a", "libmp3lame", *how)
                before, after = rng.choice([(b"", b""), (bytes(rng.choice([1, 100, 4096])), b""), (b"", b"TAG" + b"x" * 125), (b"", ape), (b"", bytes(1000)), (b"ID3\4\0\0\0\0\2\0" + bytes(256), b"TAG" + bytes(125))])
                samples = mean(raw, channels) if rate == 24000 else decoded("a.mp3", data, channels, rate)
                put(f"{n:03}-{rate}-{channels}.mp3", before + data + after, rate, channels, samples, 20 if rate == 24000 else 90)
                n += 1
    opus = []
    for suffix in ("ogg", "webm", "mkv"):
        for channels in (1, 2):
            for how in (["-b:a", "16k"], ["-b:a", "64k", "-frame_duration", "60"], ["-b:a", "32k", "-application", "voip"], ["-b:a", "96k", "-frame_duration", "5"]):
                seconds = rng.choice([0.3, 1.0, 1.7, 2.013])
                _, data = encode(suffix, 48000, channels, seconds, "-c:a", "libopus", *how)
                samples = decoded("a." + suffix, data, channels, 48000, "-c:a", "libopus")
                put(f"{n:03}-opus-{channels}.{suffix}", data, 48000, channels, samples, 30)
                n += 1
                if suffix == "ogg":
                    opus.append((channels, data, samples))
    for channels in (1, 2):
        of = [o for o in opus if o[0] == channels]
        put(f"{n:03}-chain-{channels}.ogg", b"".join(o[1] for o in of), 48000, channels, [x for o in of for x in o[2]], 30)
        n += 1
    for codec, args, least in (("libvorbis", [], 90), ("flac", [], 80)):
        for rate in (8000, 16000, 22050, 44100, 48000):
            for channels in (1, 2):
                kinds = []
                for q in (["-q:a", "1"], ["-q:a", "6"]) if codec == "libvorbis" else ([], ["-sample_fmt", "s32"]):
                    raw, data = encode("ogg", rate, channels, rng.choice([1.3, 1.7, 2.1]), "-c:a", codec, *q)
                    samples = decoded("a.ogg", data, channels, rate)[: len(raw) // 4 // channels]  # ffmpeg keeps padding, and loses sound of under a second
                    put(f"{n:03}-{codec}-{rate}-{channels}.ogg", data, rate, channels, samples, least)
                    kinds.append((data, samples))
                    n += 1
                put(f"{n:03}-{codec}-chain-{rate}-{channels}.ogg", b"".join(k[0] for k in kinds), rate, channels, [x for k in kinds for x in k[1]], least)
                n += 1
    for rate in (8000, 16000, 44100):
        for channels in (1, 2):
            _, data = encode("flac", rate, channels, 0.7, "-c:a", "flac")
            samples = decoded("a.flac", data, channels, rate)
            for after in (b"", b"TAG" + bytes(125)):
                put(f"{n:03}-{rate}-{channels}.flac", data + after, rate, channels, samples, 80)
                n += 1
    for _ in range(60):
        rate, channels, data = mp3_frames.some(rng)
        put(f"{n:03}-drawn-{rate}-{channels}.mp3", data, rate, channels, mp3_frames.decoded(data, channels), 90)
        n += 1
    with open(os.path.join(out, "files.json"), "w") as f:
        json.dump(files, f)
    print(len(files), "files of", subprocess.run(["ffmpeg", "-version"], stdout=subprocess.PIPE, text=True).stdout.split(" Copyright")[0])


if __name__ == "__main__":
    main()
