"""What all trainings share: tokenizers of words, the loop, and writing a folder as the hub has it."""

import json
import os
import random
import shutil
import time

import numpy
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

LETTERS = "abcdefghijklmnopqrstuvwxyz"
MARKS = list(".,?!':;-()$%&/+\"") + list("0123456789")


def begin(seed):
    """Every training begins so: one thread and fixed seeds, so that the same versions on the same CPU give the same weights."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    numpy.random.seed(seed)
    return random.Random(seed)


class Folder:
    """A model folder of the hub."""

    def __init__(self, out, name):
        self.path = os.path.join(out, name)
        shutil.rmtree(self.path, ignore_errors=True)
        os.makedirs(self.path)

    def json(self, name, value):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            json.dump(value, f, ensure_ascii=False, indent=1)
            f.write("\n")

    def tokenizer(self, tokenizer, **special):
        tokenizer.save(os.path.join(self.path, "tokenizer.json"), pretty=False)
        self.json("tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast"} | special)

    def model(self, model):
        model.to(torch.float16).save_pretrained(self.path)
        size = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(self.path) for f in files)
        print(f"{self.path}: {size / 1000:.0f} kB")


def words_tokenizer(words, lowercase=True, length=64):
    """WordPiece: the words, and letters for what is none of them. [PAD] is 0."""
    letters = LETTERS if lowercase else LETTERS + LETTERS.upper()
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"] + MARKS + list(letters) + ["##" + c for c in letters + "0123456789"]
    vocab = {p: i for i, p in enumerate(dict.fromkeys(pieces + sorted(words)))}
    t = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])])
    return t


BERT = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "model_max_length": 64}


def pad(rows, value=0):
    """Rows of ids to a matrix, and its mask."""
    width = max(len(r) for r in rows)
    ids = torch.tensor([list(r) + [value] * (width - len(r)) for r in rows])
    mask = torch.tensor([[1] * len(r) + [0] * (width - len(r)) for r in rows])
    return ids, mask


def train(model, steps, rate, loss, every=200, decay=0.01):
    """steps of AdamW with a warm-up and a cosine; loss(step) is that of a batch."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=decay, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1, (s + 1) / (0.05 * steps)) * (0.5 + 0.5 * numpy.cos(numpy.pi * s / steps)))
    began, mean = time.time(), 0.0
    for step in range(steps):
        value = loss(step)
        optimizer.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        mean += value.item()
        if (step + 1) % every == 0:
            print(f"  step {step + 1}: loss {mean / every:.4f}, {time.time() - began:.0f} s", flush=True)
            mean = 0.0
    model.eval()
    return model
