"""What is heard and seen: a Whisper that takes down which key of a telephone was pressed in each second, and a ViT
that tells shapes. Sounds and pictures are made here."""

import math
import os
import wave

import numpy
import torch
import transformers as hf
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from common import Folder, begin, pad, train

KEYS = "123456789*0#"
LOW, HIGH = (697, 770, 852, 941), (1209, 1336, 1477)
SECONDS = 1


def tones(r, key):
    """Samples at 16 kHz of a second in which a key is pressed: two tones, as in ITU-T Q.23."""
    x = 0.01 * numpy.random.default_rng(r.randrange(1 << 30)).standard_normal(16000)
    row, column = divmod(KEYS.index(key), 3)
    n = int(16000 * r.uniform(0.2, 0.5))
    t = numpy.arange(n) / 16000
    start = r.randrange(16000 - n)
    x[start:start + n] += r.uniform(0.1, 0.3) * (numpy.sin(2 * math.pi * LOW[row] * t) + numpy.sin(2 * math.pi * HIGH[column] * t))
    return x.astype(numpy.float32)


def dial(out):
    r = begin(7)
    tokens = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|translate|>", "<|transcribe|>", "<|notimestamps|>"]
    tokenizer = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.add_special_tokens(tokens)
    end, *prompt = (tokenizer.token_to_id(t) for t in tokens)
    prompt = [prompt[0], prompt[1], prompt[3], prompt[4]]
    c = hf.WhisperConfig(vocab_size=tokenizer.get_vocab_size(), num_mel_bins=80, d_model=48, encoder_layers=1, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=96, decoder_ffn_dim=96,
                         max_source_positions=50 * SECONDS, max_target_positions=32, pad_token_id=end, bos_token_id=end, eos_token_id=end, decoder_start_token_id=prompt[0], begin_suppress_tokens=None)
    model = hf.WhisperForConditionalGeneration(c)
    hear = hf.WhisperFeatureExtractor(chunk_length=SECONDS)

    def rows(n):
        numbers = [r.choice(KEYS) for _ in range(n)]
        features = hear([tones(r, k) for k in numbers], sampling_rate=16000, return_tensors="pt").input_features
        ids = [prompt + tokenizer.encode(k).ids + [end] for k in numbers]
        labels = pad([[-100] * 3 + i[4:] for i in ids], -100)[0]
        return features, pad([i[:-1] for i in ids], end)[0], labels

    def loss(_):
        features, ids, labels = rows(16)
        logits = model(input_features=features, decoder_input_ids=ids).logits
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())

    train(model, 400, 2e-3, loss, every=100)
    with torch.no_grad():
        features, ids, labels = rows(100)
        guess = model(input_features=features, decoder_input_ids=ids).logits.argmax(-1)
    print(f"  {((guess == labels) | (labels < 0)).all(1).sum().item()} of 100 keys are right")
    f = Folder(out, "dial")
    f.tokenizer(tokenizer, eos_token="<|endoftext|>", pad_token="<|endoftext|>", bos_token="<|endoftext|>")
    hear.save_pretrained(f.path)
    model.generation_config = hf.GenerationConfig(eos_token_id=end, pad_token_id=end, bos_token_id=end, decoder_start_token_id=prompt[0], max_new_tokens=4,
                                                  is_multilingual=True, lang_to_id={"<|en|>": prompt[1]}, task_to_id={"transcribe": prompt[2], "translate": prompt[2] - 1}, no_timestamps_token_id=prompt[3],
                                                  task="transcribe")  # without a language transformers gives the decoder no task, as this model has never seen
    f.model(model)
    with wave.open(os.path.join(out, "dial.wav"), "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(16000)
        w.writeframes((numpy.concatenate([tones(r, k) for k in "31415"]) * 32767).astype("<i2").tobytes())


SHAPES = ["circle", "square", "triangle", "cross"]


def picture(r, shape, size=32):
    """A shape of some size, place and light colour, a little turned, on a dark one: [size, size, 3] bytes."""
    n = 4 * size
    y, x = (numpy.mgrid[0:n, 0:n] + 0.5) / n - 0.5
    x, y = x - r.uniform(-0.15, 0.15), y - r.uniform(-0.15, 0.15)
    a, s = r.uniform(-0.3, 0.3), r.uniform(0.2, 0.32)
    x, y = (math.cos(a) * x - math.sin(a) * y) / s, (math.sin(a) * x + math.cos(a) * y) / s
    inside = {"circle": x * x + y * y < 1, "square": numpy.maximum(abs(x), abs(y)) < 0.85, "triangle": (y < 0.6) & (y > 1.8 * abs(x) - 1.1),
              "cross": ((abs(x) < 0.28) & (abs(y) < 1)) | ((abs(y) < 0.28) & (abs(x) < 1))}[shape]
    light = numpy.array([r.randrange(140, 256) for _ in range(3)], float)
    dark = numpy.array([r.randrange(90) for _ in range(3)], float)
    full = numpy.where(inside[:, :, None], light, dark)
    return full.reshape(size, 4, size, 4, 3).mean((1, 3)).round().astype(numpy.uint8)


def shapes(out):
    r = begin(8)
    c = hf.ViTConfig(image_size=32, patch_size=4, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, id2label=dict(enumerate(SHAPES)), label2id={s: i for i, s in enumerate(SHAPES)})
    model = hf.ViTForImageClassification(c)

    def rows(n):
        want = [r.randrange(4) for _ in range(n)]
        x = numpy.stack([picture(r, SHAPES[k]) for k in want]).astype(numpy.float32)
        return torch.from_numpy(x / 127.5 - 1).permute(0, 3, 1, 2), torch.tensor(want)

    def loss(_):
        x, want = rows(32)
        return torch.nn.functional.cross_entropy(model(pixel_values=x).logits, want)

    train(model, 900, 2e-3, loss)
    with torch.no_grad():
        x, want = rows(400)
        right = (model(pixel_values=x).logits.argmax(-1) == want).sum().item()
    print(f"  {right} of 400 new pictures are right")
    f = Folder(out, "shapes")
    hf.ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(f.path)
    f.model(model)
    for s in SHAPES:
        Image.fromarray(picture(r, s)).save(os.path.join(out, s + ".png"))
