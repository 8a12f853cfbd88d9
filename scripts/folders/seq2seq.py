"""Encoder-decoders from text to text."""

import torch
import transformers as hf

from encoders import encoder
from folder import Folder, folder, greedy, hide, random_batch

VOCAB = 101


def seq2seq(out, name, model, cls, pad, eos, new=12, **options):
    f = Folder(out, name)
    ids, mask = random_batch([11, 7, 1, 4], 5, VOCAB - 1, pad)
    start = model.config.decoder_start_token_id
    target = torch.randint(5, VOCAB - 1, (4, 7), generator=torch.Generator().manual_seed(5))
    target[:, 0] = start
    inputs = {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": target}

    def run(m, dtype):
        with torch.no_grad():
            o = m(**inputs, use_cache=False)
        return {"encoder_last_hidden_state": hide(o.encoder_last_hidden_state, mask), "logits": o.logits}

    def decode(m):
        tokens, margin = {}, float("inf")
        for i in range(2):
            source = ids[i:i + 1, :int(mask[i].sum())]
            with torch.no_grad():
                new_ids, gap = greedy(lambda x: m(input_ids=source, decoder_input_ids=torch.tensor([x]), use_cache=False).logits[0, -1], [start], new)
            tokens[f"greedy_{i}"] = torch.tensor(new_ids)
            margin = min(margin, gap)
        return tokens, margin

    f.write(model, cls, run, decode, eos=[eos], inputs=inputs, **options)


@folder("t5-encoder")
def _(out, name):
    c = hf.T5Config(vocab_size=VOCAB, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, relative_attention_num_buckets=8, relative_attention_max_distance=10, pad_token_id=0)
    encoder(out, name, hf.T5EncoderModel(c), hf.T5EncoderModel, seed=1250, scale=[(".q.", 8 ** -0.5)])


@folder("mt5")
def _(out, name):
    c = hf.MT5Config(vocab_size=VOCAB, d_model=32, d_kv=12, d_ff=48, num_layers=2, num_decoder_layers=2, num_heads=3, relative_attention_num_buckets=8, relative_attention_max_distance=10,
                     decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, tie_word_embeddings=False)
    seq2seq(out, name, hf.MT5ForConditionalGeneration(c), hf.MT5ForConditionalGeneration, 0, 1, seed=1200, scale=[(".q.", 12 ** -0.5), ("lm_head", 3)])


@folder("t5", "t5-gated", "t5-buckets")
def _(out, name):
    """t5-gated is as T5 1.1 and Flan-T5, and t5-buckets has their buckets of distances too; t5 has the copies and the unused table of the first checkpoints."""

    def copies(w):
        e = w["shared.weight"]
        return w | {"encoder.embed_tokens.weight": e.clone(), "decoder.embed_tokens.weight": e.clone(), "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight": torch.ones(8, 3)}

    more = dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False, num_decoder_layers=2) if name != "t5" else {}
    if name == "t5-buckets":
        more |= dict(relative_attention_num_buckets=32, relative_attention_max_distance=128)
    c = hf.T5Config(**(dict(vocab_size=VOCAB, d_model=32, d_kv=12, d_ff=48, num_layers=2, num_decoder_layers=1, num_heads=3, relative_attention_num_buckets=8, relative_attention_max_distance=10,
                            decoder_start_token_id=0, pad_token_id=0, eos_token_id=1) | more))
    scale = [(".q.", 12 ** -0.5)] + ([("lm_head", 3)] if name != "t5" else [(".o.", 4), (".wo.", 4)])
    seq2seq(out, name, hf.T5ForConditionalGeneration(c), hf.T5ForConditionalGeneration, 0, 1, seed=1200, scale=scale, rename=copies if name == "t5" else None)


def two_stacks(cls, **more):
    return cls(**(dict(vocab_size=VOCAB, max_position_embeddings=48, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                       encoder_ffn_dim=48, decoder_ffn_dim=48, forced_eos_token_id=None, forced_bos_token_id=None) | more))


@folder("bart")
def _(out, name):
    c = two_stacks(hf.BartConfig, decoder_layers=1, decoder_attention_heads=8, decoder_ffn_dim=40, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2)
    seq2seq(out, name, hf.BartForConditionalGeneration(c), hf.BartForConditionalGeneration, 1, 2, seed=1300, scale=[("shared", 0.2)])


@folder("mbart")
def _(out, name):
    """Normalization first, and last of all."""
    c = two_stacks(hf.MBartConfig, encoder_layers=1, decoder_layers=1, scale_embedding=True, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2)
    seq2seq(out, name, hf.MBartForConditionalGeneration(c), hf.MBartForConditionalGeneration, 1, 2, seed=1340, scale=[("shared", 0.03)])


@folder("bart-classify")
def _(out, name):
    c = two_stacks(hf.BartConfig, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2, num_labels=3)
    encoder(out, name, hf.BartForSequenceClassification(c), hf.BartForSequenceClassification, pad=1, last=2, seed=1350)


@folder("marian", "marian-separate")
def _(out, name):
    """marian-separate has two vocabularies."""
    more = dict(share_encoder_decoder_embeddings=False, tie_word_embeddings=False, decoder_vocab_size=VOCAB) if name == "marian-separate" else {}
    c = two_stacks(hf.MarianConfig, **more, activation_function="swish", scale_embedding=True, pad_token_id=100, decoder_start_token_id=100, eos_token_id=0)
    seq2seq(out, name, hf.MarianMTModel(c), hf.MarianMTModel, 100, 0, seed=1400, dtype=None, keep=["embed_positions"], scale=[("shared", 0.5), ("encoder_attn.out_proj", 0.6), ("fc2", 5)])


@folder("m2m_100")
def _(out, name):
    """Normalization first, ReLU, sinusoids in halves counted from pad+1 over what is no padding."""
    c = two_stacks(hf.M2M100Config, activation_function="relu", scale_embedding=True, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2)
    seq2seq(out, name, hf.M2M100ForConditionalGeneration(c), hf.M2M100ForConditionalGeneration, 1, 2, seed=1450, dtype=None, keep=["embed_positions"], scale=[("shared", 0.3), ("self_attn.out_proj", 3), ("fc2", 3)])
