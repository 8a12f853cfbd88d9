"""Texts that have the padding token inside, as a text has where somebody writes it: classifiers of whole
texts, and positions that are counted without padding.

Every text of a batch is as long as the others, and all its tokens count."""

import torch
import transformers as hf

from encoders import encode
from folder import Folder, folder, hide

VOCAB = 40
SMALL = dict(vocab_size=VOCAB, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24)
STACKS = dict(vocab_size=VOCAB, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=20)


def texts(pad, end=None, rows=None):
    """Padding at the end, in front, inside, everywhere and almost; end is a token that ends texts, which another may follow."""
    p = pad
    ids = torch.tensor([[11, 12, 13, 14, 15, 16], [11, 12, 13, p, p, p], [p, p, 13, 14, 15, 16], [11, p, 13, 14, p, p], [p, p, p, p, p, p], [11, p, p, p, p, p]])
    if end is not None:  # two of them in each text, as BART wants them
        ids[:, 2] = ids[torch.arange(6), torch.tensor([5, 1, 4, 5, 5, 5])] = end
    return ids[:rows]


# By name of a folder: the class, its configuration, the padding token, and the fields of config.json that are changed.
CLASSIFIERS = {
    "llama-classify-pads": (hf.LlamaForSequenceClassification, dict(SMALL, pad_token_id=7), 7, {}),
    "gpt2-classify-pads": (hf.GPT2ForSequenceClassification, dict(vocab_size=VOCAB, n_embd=16, n_layer=1, n_head=2, n_positions=20, pad_token_id=7), 7, {}),
    "gemma-classify-pads": (hf.GemmaForSequenceClassification, dict(SMALL, num_key_value_heads=1, head_dim=8), 0, {"pad_token_id": "absent"}),
    "mistral-classify-none": (hf.MistralForSequenceClassification, dict(SMALL, num_key_value_heads=1, pad_token_id=None), 7, {"pad_token_id": None}),
    "bart-classify-ends": (hf.BartForSequenceClassification, dict(STACKS, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2), 1, {}),
}


@folder(*CLASSIFIERS)
def _(out, name):
    """mistral-classify-none has no padding token, so that the last token counts."""
    cls, given, pad, change = CLASSIFIERS[name]
    ids = texts(pad, end=2 if name.startswith("bart") else None, rows=4 if name.startswith("bart") else 1 if change.get("pad_token_id", 0) is None else None)
    if len(ids) == 1:
        ids[0, -2:] = pad
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def config(c):
        for k, v in change.items():
            c.pop(k, None)
            if v != "absent":
                c[k] = v

    def run(m, dtype):
        with torch.no_grad():
            return {"logits": m(**inputs).logits}

    c = cls.config_class(**given, num_labels=3)
    Folder(out, name).write(cls(c), cls, run, inputs=inputs, seed=2500, config=config, norm=0.0 if name.startswith("gemma") else 1.0)


ENCODERS = {
    "roberta-pads": (hf.RobertaModel, dict(SMALL, max_position_embeddings=20, pad_token_id=3), 3),
    "xlm-roberta-pads": (hf.XLMRobertaModel, dict(SMALL, max_position_embeddings=20), 1),
    "camembert-pads": (hf.CamembertModel, dict(SMALL, max_position_embeddings=20), 1),
    "mpnet-pads": (hf.MPNetModel, dict(SMALL, max_position_embeddings=20, pad_token_id=5), 1),  # whose positions have 1 for padding always
}


@folder(*ENCODERS)
def _(out, name):
    cls, given, pad = ENCODERS[name]
    ids = texts(pad)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def run(m, dtype):
        with torch.no_grad():
            return encode(m, inputs)

    c = cls.config_class(**given)
    Folder(out, name).write(cls(c), cls, run, inputs=inputs, seed=2600)


@folder("clip-text-ends")
def _(out, name):
    """Texts continue after the token that ends them."""
    c = hf.CLIPTextConfig(**SMALL, max_position_embeddings=20, projection_dim=12, bos_token_id=0, eos_token_id=17, pad_token_id=1)
    ids = texts(1, end=17)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def run(m, dtype):
        with torch.no_grad():
            return {"text_embeds": m(**inputs).text_embeds}

    cls = hf.CLIPTextModelWithProjection
    Folder(out, name).write(cls(c), cls, run, inputs=inputs, seed=2800)


@folder("m2m_100-pads")
def _(out, name):
    """Decoding too: after a prompt that has padding."""
    cls = hf.M2M100ForConditionalGeneration
    ids, target = texts(1), texts(1).flip(1)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "decoder_input_ids": target}

    def run(m, dtype):
        with torch.no_grad():
            o = m(**inputs, use_cache=False)
        return {"encoder_last_hidden_state": hide(o.encoder_last_hidden_state, inputs["attention_mask"]), "logits": o.logits}

    c = hf.M2M100Config(**STACKS, pad_token_id=1, decoder_start_token_id=2)
    Folder(out, name).write(cls(c), cls, run, inputs=inputs, seed=2700)
