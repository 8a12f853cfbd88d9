#!/usr/bin/env python3
"""Trains the tiny models of text/examples/models, whose answers make sense within the little that they know.

    train.py OUT [NAME...]

All text is made here or was written for this purpose; nothing is downloaded. Each training takes a few
minutes on one processor, runs on one thread and has a fixed seed, so that the same versions
(requirements.txt) on the same CPU give the same files; `make tiny` runs all."""

import os
import sys

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")

import chat
import labels
import numbers_french
import pages
import senses
import sentences
import tools

MODELS = {"embed": sentences.embed, "rerank": sentences.rerank, "chat": chat.chat, "tools": tools.tools, "spam": labels.spam, "names": labels.names,
          "numbers": numbers_french.numbers, "dial": senses.dial, "shapes": senses.shapes, "page": pages.pages}

if __name__ == "__main__":
    out, names = sys.argv[1], sys.argv[2:] or list(MODELS)
    for name in names:
        print(name, flush=True)
        MODELS[name](out)
