"""Decoder-only language models."""

import torch
import transformers as hf

from encoders import encoder
from folder import Folder, folder, greedy, random_batch

VOCAB, EOS = 101, 100
PROMPTS = [[11, 45, 7, 80], [60, 3, 33, 71, 9, 15, 22, 48, 5, 90, 13, 2, 37]]
BATCH = random_batch([21, 6], 3, EOS, 0)


def dynamic(m):
    """The rotary positions of a model if they depend on the length; else None."""
    r = getattr(getattr(m, "model", None), "rotary_emb", None)
    return r if getattr(r, "rope_type", "") == "dynamic" else None


def logits(m, ids):
    """All logits of one sequence. Dynamic frequencies depend on its length only: those of the
    longer sequence before are forgotten."""
    if r := dynamic(m):
        r.inv_freq, r.max_seq_len_cached = r.original_inv_freq, r.original_max_seq_len
    with torch.no_grad():
        return m(ids, use_cache=False).logits[0]


def outputs(m):
    ids, mask = BATCH
    # Each row is computed by itself, without its padding: this is on the right, where it cannot change a decoder's results.
    rows = [logits(m, ids[i:i + 1, :int(n)]) for i, n in enumerate(mask.sum(1))]
    return {"logits": torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)}


def steps(m):
    """The logits after a text, which grows by a token each time. Where frequencies depend on the length, the cache keeps what earlier
    ones have turned, as in generate."""
    if not dynamic(m):
        return lambda x: logits(m, torch.tensor([x]))[-1]
    past = hf.DynamicCache()

    def step(x):
        with torch.no_grad():
            return m(torch.tensor([x[past.get_seq_length():]]), past_key_values=past).logits[0, -1]

    logits(m, torch.tensor([[0]]))  # forgets the frequencies of an earlier text
    return step


def tokens(m, new=12):
    out, margin = {}, float("inf")
    for i, prompt in enumerate(PROMPTS + [list(range(20, 40))] * bool(dynamic(m))):
        ids, gap = greedy(steps(m), prompt, new)
        out |= {f"prompt_{i}": torch.tensor(prompt), f"greedy_{i}": torch.tensor(ids)}
        margin = min(margin, gap)
    return out, margin


def decoder(out, name, model, cls, **options):
    f = Folder(out, name)
    inputs = dict(zip(("input_ids", "attention_mask"), BATCH))
    return f.write(model, cls, lambda m, dtype: outputs(m), tokens, eos=[EOS], inputs=inputs, **options)


@folder("gpt2", "gpt2-hub")
def _(out, name):
    """gpt2-hub is without the prefix transformer. and with the buffers of the causal mask."""
    c = hf.GPT2Config(vocab_size=VOCAB, n_embd=32, n_layer=2, n_head=4, n_positions=48, n_inner=None if name == "gpt2" else 48, bos_token_id=EOS, eos_token_id=EOS)

    def rename(w):
        w = {k.removeprefix("transformer."): v for k, v in w.items()}
        return w | {f"h.{i}.attn.bias": torch.ones(48, 48).tril()[None, None] for i in range(2)}

    decoder(out, name, hf.GPT2LMHeadModel(c), hf.GPT2LMHeadModel, seed=800, rename=rename if name == "gpt2-hub" else None)


def llama(cls, **more):
    return cls(**(dict(vocab_size=VOCAB, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                       max_position_embeddings=256, bos_token_id=1, eos_token_id=EOS, pad_token_id=None) | ({"rms_norm_eps": 1e-5} if hasattr(cls, "rms_norm_eps") else {}) | more))


def old_rope(c):
    """Turns rope_parameters into the keys of transformers 4."""
    p = c.pop("rope_parameters")
    c["rope_theta"] = p.pop("rope_theta")
    c["rope_scaling"] = p if p.get("rope_type", "default") != "default" else None
    c["torch_dtype"] = c.pop("dtype", "float32")


def rope(kind, theta=10000.0, **more):
    return {"rope_type": kind, "rope_theta": theta} | more


LLAMA3 = rope("llama3", 500000.0, factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)
LLAMAS = {
    "llama": (dict(), dict(config=old_rope, dtype=None)),
    "llama-tied-rope3": (dict(tie_word_embeddings=True, max_position_embeddings=2048, rope_parameters=LLAMA3), dict(config=old_rope)),
    "llama-rope3-new": (dict(rope_parameters=LLAMA3, max_position_embeddings=2048, head_dim=12), dict(shard="15KB")),
    "llama-bias": (dict(attention_bias=True, mlp_bias=True, num_key_value_heads=4), dict()),
    "llama-linear": (dict(rope_parameters=rope("linear", factor=4.0)), dict(config=old_rope)),
    "llama-dynamic": (dict(rope_parameters=rope("dynamic", factor=2.0), max_position_embeddings=14), dict(config=old_rope)),
    "llama-yarn": (dict(rope_parameters=rope("yarn", factor=4.0, original_max_position_embeddings=16), max_position_embeddings=64), dict(config=old_rope)),
    "llama-yarn-keys": (dict(rope_parameters=rope("yarn", factor=8.0, original_max_position_embeddings=32, beta_fast=16.0, beta_slow=2.0, mscale=0.7, mscale_all_dim=1.2, truncate=False)), dict()),
}


@folder(*LLAMAS)
def _(out, name):
    config, options = LLAMAS[name]
    decoder(out, name, hf.LlamaForCausalLM(llama(hf.LlamaConfig, **config)), hf.LlamaForCausalLM, seed=900, **options)


@folder("mistral", "mistral-full")
def _(out, name):
    """Of mistral each token sees 6; mistral-full has a sliding_window of null, and head_dim."""
    more = dict(sliding_window=6) if name == "mistral" else dict(sliding_window=None, head_dim=12)
    decoder(out, name, hf.MistralForCausalLM(llama(hf.MistralConfig, **more)), hf.MistralForCausalLM, seed=950, config=old_rope)


@folder("qwen2", "qwen2-window")
def _(out, name):
    """Biases in queries, keys and values. Of qwen2-window the last layer sees 5 tokens."""
    more = dict(use_sliding_window=True, sliding_window=5, max_window_layers=1) if name == "qwen2-window" else dict(use_sliding_window=False, tie_word_embeddings=True)

    def config(c):
        old_rope(c)
        c.pop("layer_types", None)
        if name == "qwen2":  # published so
            c.update(sliding_window=32768, max_window_layers=28)

    c = llama(hf.Qwen2Config, rms_norm_eps=1e-6, rope_parameters=rope("default", 1000000.0), **more)
    decoder(out, name, hf.Qwen2ForCausalLM(c), hf.Qwen2ForCausalLM, seed=1000, dtype=torch.float16, config=config)


@folder("qwen3", "qwen3-yarn")
def _(out, name):
    """Normalized queries and keys; heads that together are wider than the rows; biases."""
    p = rope("default", 1000000.0) if name == "qwen3" else rope("yarn", 1000000.0, factor=4.0, original_max_position_embeddings=16)
    c = llama(hf.Qwen3Config, head_dim=12, rms_norm_eps=1e-6, rope_parameters=p, tie_word_embeddings=name == "qwen3", attention_bias=name == "qwen3-yarn")
    decoder(out, name, hf.Qwen3ForCausalLM(c), hf.Qwen3ForCausalLM, seed=1010, config=old_rope)


@folder("gemma")
def _(out, name):
    c = llama(hf.GemmaConfig, head_dim=12, num_key_value_heads=1, hidden_activation="gelu_pytorch_tanh")
    decoder(out, name, hf.GemmaForCausalLM(c), hf.GemmaForCausalLM, seed=1090, norm=0.0, scale=[("embed_tokens", 0.1)], config=old_rope)


def gemma(cls, **more):
    return llama(cls, **(dict(head_dim=16, num_hidden_layers=3, query_pre_attn_scalar=20, sliding_window=6) | more))


@folder("gemma2")
def _(out, name):
    def config(c):
        old_rope(c)
        for k in ("layer_types", "rope_scaling"):
            c.pop(k, None)

    c = gemma(hf.Gemma2Config, attn_logit_softcapping=2.0, final_logit_softcapping=2.0)
    decoder(out, name, hf.Gemma2ForCausalLM(c), hf.Gemma2ForCausalLM, seed=1100, norm=0.0, scale=[("embed_tokens", 0.1)], config=config)


@folder("gemma3_text", "gemma3_text-new")
def _(out, name):
    """With the keys of the hub and with those of transformers 5."""
    types = ["sliding_attention", "sliding_attention", "full_attention"]
    c = gemma(hf.Gemma3TextConfig, layer_types=types, rope_parameters={"full_attention": rope("linear", 1000000.0, factor=8.0), "sliding_attention": rope("default")})

    def config(c):
        for k in ("layer_types", "rope_parameters", "_sliding_window_pattern"):
            c.pop(k, None)
        c.update(rope_theta=1000000.0, rope_local_base_freq=10000.0, rope_scaling={"factor": 8.0, "rope_type": "linear"}, sliding_window_pattern=3)

    decoder(out, name, hf.Gemma3ForCausalLM(c), hf.Gemma3ForCausalLM, seed=1110, norm=0.0, scale=[("embed_tokens", 0.1)], config=config if name == "gemma3_text" else None)


@folder("gemma3", "gemma3-new")
def _(out, name):
    """gemma3_text within the model that reads images too, whose other weights these folders have: with the fields and names of
    the hub, and with those that transformers 5 has."""
    types = ["sliding_attention", "sliding_attention", "full_attention"]
    text = gemma(hf.Gemma3TextConfig, layer_types=types, rope_parameters={"full_attention": rope("linear", 1000000.0, factor=8.0), "sliding_attention": rope("default")})
    image = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, image_size=32, patch_size=8)
    c = hf.Gemma3Config(text_config=text.to_dict(), vision_config=image, mm_tokens_per_image=4, image_token_index=97, boi_token_index=98, eoi_token_index=99, eos_token_id=EOS, tie_word_embeddings=name == "gemma3")

    def config(c):
        t = c["text_config"]
        for k in ("layer_types", "rope_parameters", "_sliding_window_pattern", "architectures", "dtype", "eos_token_id", "tie_word_embeddings"):
            t.pop(k, None)
        t.update(rope_theta=1000000.0, rope_local_base_freq=10000.0, rope_scaling={"factor": 8.0, "rope_type": "linear"}, sliding_window_pattern=3)
        c.pop("tie_word_embeddings")
        c["torch_dtype"] = c.pop("dtype")

    def new(w):
        return {k.removeprefix("language_model.") if "lm_head" in k else "model." + k.replace("language_model.model.", "language_model."): v for k, v in w.items()}

    how = dict(config=config) if name == "gemma3" else dict(rename=new)
    decoder(out, name, hf.Gemma3ForConditionalGeneration(c), hf.Gemma3ForConditionalGeneration, seed=1130, norm=0.0, scale=[("embed_tokens", 0.1)], **how)


def gemma4(cls=hf.Gemma4TextConfig, **more):
    """Layers with windows have two heads of 16 for four queries; those without have one of 24, of which 10 turn."""
    types = ["sliding_attention", "full_attention"] * 2
    ropes = {"full_attention": rope("proportional", 1000000.0, partial_rotary_factor=0.45), "sliding_attention": rope("default")}
    own = dict(vocab_size_per_layer_input=VOCAB, tie_word_embeddings=True) if cls is hf.Gemma4TextConfig else {}
    return llama(cls, **(dict(head_dim=16, global_head_dim=24, num_hidden_layers=4, sliding_window=6, layer_types=types, rope_parameters=ropes, hidden_size_per_layer_input=8, pad_token_id=0) | own | more))


GEMMA4 = {
    "gemma4_text": dict(),
    "gemma4_text-shared": dict(num_kv_shared_layers=2, use_double_wide_mlp=True, final_logit_softcapping=2.0),
    "gemma4_text-moe": dict(hidden_size_per_layer_input=0, attention_k_eq_v=True, num_global_key_value_heads=1, enable_moe_block=True, num_experts=5, top_k_experts=2, moe_intermediate_size=12, attention_bias=True, tie_word_embeddings=False),
}


def scalars(model):
    """Factors of layers that are not 1."""
    for i, layer in enumerate(m for m in model.modules() if hasattr(m, "layer_scalar")):
        layer.layer_scalar.fill_(0.75 + i / 8)


@folder(*GEMMA4)
def _(out, name):
    """gemma4_text has the fields of the hub; of gemma4_text-shared the last layers attend to the keys of earlier ones, and are wider; gemma4_text-moe has
    experts, no per-layer embeddings, and no values of its own in layers without windows."""
    def config(c):
        c.update(global_head_dim=24, num_global_key_value_heads=None)
        del c["per_layer_config"]

    c = gemma4(**GEMMA4[name])
    decoder(out, name, hf.Gemma4ForCausalLM(c), hf.Gemma4ForCausalLM, seed=3600, after=scalars, scale=[("embed_tokens.", 0.1)], config=config if name == "gemma4_text" else None)


def gemma3n(**more):
    """Layers of two kinds, of several widths, some with few activations; the last two attend to the keys of earlier ones. Per-layer embeddings lack the last tokens."""
    types = ["sliding_attention", "full_attention"] * 2
    return llama(hf.Gemma3nTextConfig, **(dict(head_dim=12, num_hidden_layers=4, sliding_window=6, layer_types=types, intermediate_size=[48, 40, 56, 48], activation_sparsity_pattern=[0.6, 0.0, 0.3, 0.0],
                                              num_kv_shared_layers=2, hidden_size_per_layer_input=8, vocab_size_per_layer_input=92, laurel_rank=5, final_logit_softcapping=2.0, pad_token_id=0, tie_word_embeddings=True) | more))


@folder("gemma3n_text", "gemma3n_text-streams")
def _(out, name):
    """gemma3n_text has the fields of the hub; of gemma3n_text-streams layers compute the second of three streams, and attention has biases."""
    def config(c):
        ropes = c.pop("rope_parameters")
        c.update(rope_theta=ropes["full_attention"]["rope_theta"], rope_local_base_freq=ropes["sliding_attention"]["rope_theta"], rope_scaling=None)

    more = dict(altup_num_inputs=3, altup_active_idx=1, altup_correct_scale=False, num_kv_shared_layers=0, intermediate_size=48, activation_sparsity_pattern=None, attention_bias=True, tie_word_embeddings=False)
    c = gemma3n(rope_parameters={"full_attention": rope("default", 900.0), "sliding_attention": rope("default", 50.0)}) if name == "gemma3n_text" else gemma3n(**more)
    decoder(out, name, hf.Gemma3nForCausalLM(c), hf.Gemma3nForCausalLM, seed=3680, scale=[("embed_tokens.", 0.1), ("modality_router", 8)], config=config if name == "gemma3n_text" else None)


@folder("gemma3n")
def _(out, name):
    """gemma3n_text as published, within the model that reads images and hears sound too. Of the towers, which would need other packages, a tensor each is there."""
    def config(c):
        text = dict(c, model_type="gemma3n_text")
        c.clear()
        c.update(architectures=["Gemma3nForConditionalGeneration"], model_type="gemma3n", text_config=text, vision_config=dict(model_type="gemma3n_vision"), audio_config=dict(model_type="gemma3n_audio"), tie_word_embeddings=True,
                 vision_soft_tokens_per_image=4, audio_soft_tokens_per_image=3, boi_token_id=94, eoi_token_id=101, image_token_id=102, boa_token_id=95, eoa_token_id=103, audio_token_id=104, eos_token_id=[EOS])

    def rename(w):
        towers = ("vision_tower.timm_model.conv_stem.conv", "audio_tower.conformer.0.norm", "embed_vision.embedding", "embed_audio.embedding")
        return {k.replace("model.", "model.language_model.", 1): x for k, x in w.items()} | {f"model.{t}.weight": torch.ones(2) for t in towers}

    c = gemma3n(vocab_size_per_layer_input=VOCAB)
    decoder(out, name, hf.Gemma3nForCausalLM(c), hf.Gemma3nForCausalLM, seed=3690, scale=[("embed_tokens.", 0.1)], published=dict(config=config, rename=rename))


GEMMA4_IMAGES = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, head_dim=8, intermediate_size=24, patch_size=4, position_embedding_size=16)
GEMMA4_SOUND = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, subsampling_conv_channels=[4, 4], output_proj_dims=16)


@folder("gemma4")
def _(out, name):
    """gemma4_text within the model that reads images and hears sound too, whose other weights it has. Token 98, which stands for sound, enters as padding."""
    text = gemma4(**GEMMA4["gemma4_text-shared"])
    c = hf.Gemma4Config(text_config=text.to_dict(), vision_config=GEMMA4_IMAGES, audio_config=GEMMA4_SOUND, image_token_id=97, audio_token_id=98, video_token_id=99, boi_token_id=96, eoi_token_id=95, boa_token_id=94, eoa_token_index=93)
    decoder(out, name, hf.Gemma4ForConditionalGeneration(c), hf.Gemma4ForConditionalGeneration, seed=3650, after=scalars, scale=[("embed_tokens.", 0.1)])


@folder("gemma4_text-both", "embedding_gemma2_text", "embedding_gemma2")
def _(out, name):
    """Encoders: tokens see those after them, in layers with windows those nearby. embedding_gemma2 is beside a tower of images, and has the fields of the hub."""
    def config(c):
        c = c.get("text_config", c)
        c.update(global_head_dim=24, num_global_key_value_heads=1)
        del c["per_layer_config"], c["rope_parameters"]

    more = dict(low=3, seed=3700, sentence=["mean"], after=scalars, scale=[("embed_tokens.", 0.1)])
    if name == "gemma4_text-both":
        return encoder(out, name, hf.Gemma4TextModel(gemma4(use_bidirectional_attention="all", sliding_window=8)), hf.Gemma4TextModel, **more)
    ropes = {k: rope("default", theta) for k, theta in (("full_attention", 1000000.0), ("sliding_attention", 10000.0))}
    c = gemma4(hf.EmbeddingGemma2TextConfig, sliding_window=3, rope_parameters=ropes, embedding_dim=20)
    if name == "embedding_gemma2_text":
        return encoder(out, name, hf.EmbeddingGemma2TextModel(c), hf.EmbeddingGemma2TextModel, **more)
    c = hf.EmbeddingGemma2Config(text_config=c.to_dict(), vision_config=dict(model_type="gemma4_vision", **GEMMA4_IMAGES), image_token_id=97, audio_token_id=98, video_token_id=99)
    encoder(out, name, hf.EmbeddingGemma2Model(c), hf.EmbeddingGemma2Model, config=config, **more)


@folder("lfm2", "lfm2-hub", "lfm2-bias")
def _(out, name):
    """lfm2-hub has the fields of the hub, whose feed-forward network becomes wider; lfm2-bias a convolution over two rows with
    biases, and layers with a convolution at both ends."""
    more = {
        "lfm2": dict(layer_types=["conv", "full_attention", "conv", "full_attention"], block_auto_adjust_ff_dim=False),
        "lfm2-hub": dict(full_attn_idxs=[1, 2], block_multiple_of=16),
        "lfm2-bias": dict(layer_types=["conv", "full_attention", "full_attention", "conv"], conv_bias=True, conv_L_cache=2, tie_word_embeddings=False, block_ffn_dim_multiplier=1.3, block_multiple_of=8),
    }[name]
    c = llama(hf.Lfm2Config, num_hidden_layers=4, **more)

    def config(c):
        old_rope(c)
        c.pop("layer_types")
        c.update(block_ff_dim=c.pop("intermediate_size"), tie_embedding=c.pop("tie_word_embeddings"), intermediate_size=7)

    decoder(out, name, hf.Lfm2ForCausalLM(c), hf.Lfm2ForCausalLM, seed=3570, config=config if name == "lfm2-hub" else None)


@folder("gemma3_text-both")
def _(out, name):
    """As EmbeddingGemma: tokens see those after them, in layers with windows half of those nearby."""
    c = gemma(hf.Gemma3TextConfig, use_bidirectional_attention=True, sliding_window=8, pad_token_id=0, layer_types=["sliding_attention", "sliding_attention", "full_attention"],
              rope_parameters={"full_attention": rope("default", 1000000.0), "sliding_attention": rope("default")})
    encoder(out, name, hf.Gemma3TextModel(c), hf.Gemma3TextModel, low=3, seed=1120, sentence=["mean"], norm=0.0, scale=[("embed_tokens", 0.1)])


@folder("gemma3_text-dense")
def _(out, name):
    """As EmbeddingGemma with its modules: two dense layers after the pooling."""
    c = gemma(hf.Gemma3TextConfig, use_bidirectional_attention=True, query_pre_attn_scalar=16, sliding_window=8, pad_token_id=0, num_hidden_layers=6, num_attention_heads=2, num_key_value_heads=1)
    encoder(out, name, hf.Gemma3TextModel(c), hf.Gemma3TextModel, low=3, seed=1125, sentence=["mean"], modules=("Transformer", "Pooling", "Dense", "Dense", "Normalize"), plain=(48, 32), norm=0.0, scale=[("embed_tokens", 0.1)])


@folder("phi3", "phi3-long")
def _(out, name):
    """Fused weights. phi3-long has longrope, and rotates three quarters of each head."""
    p = rope("default")
    if name == "phi3-long":
        p = rope("longrope", short_factor=[1.0, 1.1, 1.3], long_factor=[1.2, 2.0, 4.0], partial_rotary_factor=0.75, original_max_position_embeddings=16)
    more = dict(original_max_position_embeddings=16, max_position_embeddings=64, partial_rotary_factor=0.75) if name == "phi3-long" else dict(sliding_window=7)
    c = llama(hf.Phi3Config, rope_parameters=p, pad_token_id=0, **more)
    decoder(out, name, hf.Phi3ForCausalLM(c), hf.Phi3ForCausalLM, seed=1150, config=old_rope if name == "phi3" else None)


@folder("llama-classify", "gpt2-classify", "qwen2-tokens", "qwen3-embed", "mistral-embed")
def _(out, name):
    """Decoders that classify texts or tokens, or embed texts by their last token; one with its head, as
    embedding models of Qwen 3 are published."""
    pad = dict(pad_token_id=0, num_labels=3)
    cls, config, more = {
        "llama-classify": (hf.LlamaForSequenceClassification, llama(hf.LlamaConfig, **pad), {}),
        "gpt2-classify": (hf.GPT2ForSequenceClassification, hf.GPT2Config(vocab_size=VOCAB, n_embd=32, n_layer=1, n_head=4, n_positions=48, **pad), {}),
        "qwen2-tokens": (hf.Qwen2ForTokenClassification, llama(hf.Qwen2Config, **pad), {}),
        "qwen3-embed": (hf.Qwen3Model, llama(hf.Qwen3Config, head_dim=12, tie_word_embeddings=True, **pad), {"sentence": ["last"]}),
        "mistral-embed": (hf.MistralModel, llama(hf.MistralConfig, sliding_window=None, **pad), {"sentence": ["last"]}),
    }[name]

    def causal(c):
        c["architectures"] = ["Qwen3ForCausalLM"]

    published = {"config": causal} if name == "qwen3-embed" else None
    encoder(out, name, cls(config), cls, low=3, seed=1900, published=published, **more)


@folder("smollm3", "smollm3-window")
def _(out, name):
    """Layers without positions: every second one; of smollm3-window the second and the third, which see 5 tokens."""
    more = dict(no_rope_layer_interval=2, tie_word_embeddings=True) if name == "smollm3" else dict(num_hidden_layers=3, no_rope_layers=[1, 0, 0], use_sliding_window=True, sliding_window=5, attention_bias=True, mlp_bias=True)
    c = llama(hf.SmolLM3Config, **more)

    def config(c):
        old_rope(c)
        if name == "smollm3":
            c.pop("layer_types")

    decoder(out, name, hf.SmolLM3ForCausalLM(c), hf.SmolLM3ForCausalLM, seed=3500, config=config)


@folder("olmo2", "olmo2-groups")
def _(out, name):
    more = dict(num_key_value_heads=4) if name == "olmo2" else dict(attention_bias=True)
    decoder(out, name, hf.Olmo2ForCausalLM(llama(hf.Olmo2Config, **more)), hf.Olmo2ForCausalLM, seed=3510, config=old_rope)


@folder("olmo3", "olmo3-yarn")
def _(out, name):
    """Two layers with windows of 6 and one without, whose positions alone olmo3-yarn scales, with the keys of the hub."""
    types = ["sliding_attention", "full_attention", "sliding_attention"]
    c = llama(hf.Olmo3Config, num_hidden_layers=3, sliding_window=6, layer_types=types, attention_bias=name == "olmo3")
    if name == "olmo3-yarn":
        c = llama(hf.Olmo3Config, num_hidden_layers=4, sliding_window=6, rope_scaling=rope("yarn", 500000.0, factor=4.0, original_max_position_embeddings=16, attention_factor=1.2))

    def config(c):
        p = c.pop("rope_parameters")["full_attention"]
        c.pop("layer_types")
        c.update(rope_theta=p.pop("rope_theta"), rope_scaling=p)

    decoder(out, name, hf.Olmo3ForCausalLM(c), hf.Olmo3ForCausalLM, seed=3511, config=config if name == "olmo3-yarn" else None)


MINISTRAL3 = rope("yarn", 1000000.0, factor=4.0, original_max_position_embeddings=8, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.4)


@folder("ministral3", "ministral3-window")
def _(out, name):
    """Texts are longer than the length trained on, so that queries grow."""
    p = MINISTRAL3 if name == "ministral3" else MINISTRAL3 | dict(mscale_all_dim=0.5, llama_4_scaling_beta=0.2)
    c = llama(hf.Ministral3Config, head_dim=12, rope_parameters=p, **(dict(tie_word_embeddings=True) if name == "ministral3" else dict(sliding_window=7)))
    decoder(out, name, hf.Ministral3ForCausalLM(c), hf.Ministral3ForCausalLM, seed=3512)


@folder("mistral3", "mistral3-new")
def _(out, name):
    """Mistral as it was published with images, and Ministral 3, under the names that transformers 5 has."""
    text = llama(hf.MistralConfig, sliding_window=None, head_dim=12) if name == "mistral3" else llama(hf.Ministral3Config, head_dim=12, rope_parameters=MINISTRAL3)
    image = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, image_size=32, patch_size=8, head_dim=8, model_type="pixtral")
    c = hf.Mistral3Config(text_config=text.to_dict(), vision_config=image, tie_word_embeddings=name != "mistral3", eos_token_id=EOS)

    def new(w):
        return {k.removeprefix("language_model.") if "lm_head" in k else "model." + k.replace("language_model.model.", "language_model."): v for k, v in w.items()}

    decoder(out, name, hf.Mistral3ForConditionalGeneration(c), hf.Mistral3ForConditionalGeneration, seed=3513, rename=new if name == "mistral3-new" else None)


@folder("ernie4_5", "ernie4_5-bias")
def _(out, name):
    more = dict(tie_word_embeddings=True, head_dim=12) if name == "ernie4_5" else dict(use_bias=True, tie_word_embeddings=False, head_dim=None)
    decoder(out, name, hf.Ernie4_5ForCausalLM(llama(hf.Ernie4_5Config, **more)), hf.Ernie4_5ForCausalLM, seed=3516)


@folder("exaone4", "exaone4-full")
def _(out, name):
    """Two layers with windows and positions, and one that sees all and has none; of exaone4-full all see all, and have positions."""
    more = dict(num_hidden_layers=3, sliding_window=6, sliding_window_pattern=3) if name == "exaone4" else dict(sliding_window=None, tie_word_embeddings=True, layer_types=["full_attention"] * 2)
    c = llama(hf.Exaone4Config, **more)
    decoder(out, name, hf.Exaone4ForCausalLM(c), hf.Exaone4ForCausalLM, seed=3517, config=lambda c: c.pop("layer_types") if name == "exaone4" else c.update(layer_types=["full_attention"] * 2))


@folder("hunyuan_v1_dense", "hunyuan_v1_dense-bias")
def _(out, name):
    """hunyuan_v1_dense is as published, with a fixed stretching of positions that is called dynamic."""
    p = rope("dynamic", alpha=50.0, factor=1.0, beta_fast=32, beta_slow=1, mscale=1.0, mscale_all_dim=0.0)
    more = dict(rope_parameters=p, head_dim=8, tie_word_embeddings=True) if name == "hunyuan_v1_dense" else dict(attention_bias=True, head_dim=12)
    c = llama(hf.HunYuanDenseV1Config, **more)
    decoder(out, name, hf.HunYuanDenseV1ForCausalLM(c), hf.HunYuanDenseV1ForCausalLM, seed=3518, config=old_rope if name == "hunyuan_v1_dense" else None)


@folder("glm4", "glm4-whole")
def _(out, name):
    """Of glm4-whole all of a head turns."""
    more = dict() if name == "glm4" else dict(attention_bias=False, tie_word_embeddings=True, rope_parameters=rope("default") | {"partial_rotary_factor": 1.0})
    c = llama(hf.Glm4Config, head_dim=16, **more)
    decoder(out, name, hf.Glm4ForCausalLM(c), hf.Glm4ForCausalLM, seed=3515)


@folder("granite", "granite-bias")
def _(out, name):
    more = dict() if name == "granite" else dict(attention_bias=True, mlp_bias=True)
    c = llama(hf.GraniteConfig, embedding_multiplier=3.0, logits_scaling=2.0, residual_multiplier=0.4, attention_multiplier=0.25, **more)
    decoder(out, name, hf.GraniteForCausalLM(c), hf.GraniteForCausalLM, seed=3520, config=old_rope)


@folder("granite_swa", "granite_swa-thetas")
def _(out, name):
    """Sinks, and windows of 6; granite_swa-thetas has positions with a base by layer, one of them without, and biases."""
    more = dict(layer_types=["sliding_attention", "full_attention"], tie_word_embeddings=False) if name == "granite_swa" else dict(num_hidden_layers=5, layer_rope_theta=[0, 500.0, 10000.0, 0, 500.0], attention_bias=True, mlp_bias=True, tie_word_embeddings=False)
    c = llama(hf.GraniteSWAConfig, sliding_window=6, embedding_multiplier=3.0, logits_scaling=2.0, residual_multiplier=0.4, attention_multiplier=0.25, **more)
    decoder(out, name, hf.GraniteSWAForCausalLM(c), hf.GraniteSWAForCausalLM, seed=3525, scale=[("sinks", 5)])


@folder("starcoder2", "starcoder2-plain")
def _(out, name):
    more = dict(sliding_window=6) if name == "starcoder2" else dict(use_bias=False, tie_word_embeddings=False, norm_epsilon=1e-3)
    c = llama(hf.Starcoder2Config, **more)
    decoder(out, name, hf.Starcoder2ForCausalLM(c), hf.Starcoder2ForCausalLM, seed=3530, config=old_rope)


@folder("phi", "phi-normed")
def _(out, name):
    """phi rotates half of each head; phi-normed a quarter, and normalizes queries and keys."""
    more = dict(num_key_value_heads=4) if name == "phi" else dict(qk_layernorm=True, rope_parameters=rope("default", partial_rotary_factor=0.25))
    decoder(out, name, hf.PhiForCausalLM(llama(hf.PhiConfig, **more)), hf.PhiForCausalLM, seed=3540)


@folder("gpt_neox", "gpt_neox-hub", "gpt_neox-serial")
def _(out, name):
    """gpt_neox-hub is as Pythia is published; in gpt_neox-serial the feed-forward network takes what attention gives."""
    more = dict(use_parallel_residual=False, attention_bias=False, hidden_act="gelu_new") if name == "gpt_neox-serial" else {}
    c = hf.GPTNeoXConfig(**(dict(vocab_size=VOCAB, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=256, bos_token_id=1, eos_token_id=EOS, pad_token_id=None) | more))

    def published(c):
        for k in ("rope_parameters", "attention_bias"):
            c.pop(k)
        c.update(rotary_emb_base=10000, rotary_pct=0.25)

    def rename(w):
        w = {k.replace("lm_head.", "embed_out."): v for k, v in w.items()}
        return w | {f"gpt_neox.layers.{i}.attention.bias": torch.ones(1, 1, 256, 256).tril().bool() for i in range(2)} | {f"gpt_neox.layers.{i}.attention.masked_bias": torch.tensor(-1e9) for i in range(2)}

    decoder(out, name, hf.GPTNeoXForCausalLM(c), hf.GPTNeoXForCausalLM, seed=3550, published={"config": published, "rename": rename} if name == "gpt_neox-hub" else None)


@folder("cohere2", "cohere2-pattern")
def _(out, name):
    """Two layers with windows and positions, and one that sees all and has none; with the keys of transformers and those
    of the hub."""
    c = llama(hf.Cohere2Config, num_hidden_layers=3, sliding_window=6, layer_types=["sliding_attention", "sliding_attention", "full_attention"], logit_scale=0.5, attention_bias=name == "cohere2-pattern")

    def config(c):
        old_rope(c)
        for k in ("layer_types", "_sliding_window_pattern"):
            c.pop(k, None)
        c.update(sliding_window_pattern=3)

    decoder(out, name, hf.Cohere2ForCausalLM(c), hf.Cohere2ForCausalLM, seed=3560, config=config if name == "cohere2-pattern" else None)


def mamba(cls, **more):
    """A hybrid model in small sizes: heads of 8 channels in two groups, a state of 16 elements for each channel."""
    return llama(cls, **(dict(num_hidden_layers=2, mamba_n_heads=8, mamba_n_groups=2, mamba_d_state=16, mamba_d_head=8) | more))


@folder("bamba", "bamba-bias")
def _(out, name):
    """bamba-bias has biases everywhere but in the convolution, which mixes three rows, and bounds of the time steps that many reach."""
    more = {
        "bamba": dict(attn_layer_indices=[1]),
        "bamba-bias": dict(attn_layer_indices=[0], mamba_proj_bias=True, mamba_conv_bias=False, mamba_d_conv=3, attention_bias=True, mlp_bias=True, mamba_n_groups=1, mamba_d_head="auto",
                           tie_word_embeddings=True, time_step_limit=[0.5, 0.9], rope_parameters=rope("default", 500.0, partial_rotary_factor=0.5)),
    }[name]
    decoder(out, name, hf.BambaForCausalLM(mamba(hf.BambaConfig, **more)), hf.BambaForCausalLM, seed=5100)


@folder("granitemoehybrid", "granitemoehybrid-experts", "granitemoehybrid-attention")
def _(out, name):
    """Granite 4 in its three forms: with layers of both kinds, with a mixture of experts beside the network that every row takes,
    and with attention only, which has positions then. The first has the names of layers that transformers 4 wrote."""
    more = {
        "granitemoehybrid": dict(layer_types=["linear_attention", "full_attention"], num_local_experts=0, mamba_n_groups=1, tie_word_embeddings=True, embedding_multiplier=0.3),
        "granitemoehybrid-experts": dict(layer_types=["full_attention", "linear_attention"], num_local_experts=5, num_experts_per_tok=2, intermediate_size=12, mamba_proj_bias=True, mamba_conv_bias=False),
        "granitemoehybrid-attention": dict(layer_types=["full_attention"] * 2, num_local_experts=0, position_embedding_type="rope", attention_bias=True, hidden_act="gelu"),
    }[name]
    c = mamba(hf.GraniteMoeHybridConfig, **(dict(shared_intermediate_size=40, embedding_multiplier=1.7, attention_multiplier=0.4, residual_multiplier=0.6, logits_scaling=0.5) | more))

    def config(c):
        c["layer_types"] = [{"linear_attention": "mamba", "full_attention": "attention"}[kind] for kind in c["layer_types"]]

    decoder(out, name, hf.GraniteMoeHybridForCausalLM(c), hf.GraniteMoeHybridForCausalLM, seed=5200, config=config if name == "granitemoehybrid" else None)


@folder("falcon_h1", "falcon_h1-norm", "falcon_h1-gate")
def _(out, name):
    """falcon_h1-norm normalizes before the gate, in groups, and falcon_h1-gate after it, with biases."""
    more = {
        "falcon_h1": dict(mamba_d_ssm=64, mamba_chunk_size=16, ssm_multipliers=[0.8, 1.3, 1.6, 0.7, 1.2], mlp_multipliers=[0.8, 1.4], ssm_in_multiplier=1.3, ssm_out_multiplier=0.6, attention_in_multiplier=1.2,
                          attention_out_multiplier=0.7, key_multiplier=1.5, embedding_multiplier=1.6, lm_head_multiplier=1.9),
        "falcon_h1-norm": dict(mamba_d_ssm=None, mamba_rms_norm=True, mamba_n_heads=16, mamba_d_head=4),
        "falcon_h1-gate": dict(mamba_d_ssm=48, mamba_d_head=6, mamba_rms_norm=True, mamba_norm_before_gate=False, attention_bias=True, mlp_bias=True, projectors_bias=True, mamba_proj_bias=True,
                               mamba_conv_bias=False, tie_word_embeddings=True, num_key_value_heads=4, time_step_limit=[0.5, 0.9], ssm_in_multiplier=1.3, mlp_multipliers=[0.8, 1.0]),
    }[name]
    decoder(out, name, hf.FalconH1ForCausalLM(mamba(hf.FalconH1Config, **more)), hf.FalconH1ForCausalLM, seed=5300)


def mamba2(**more):
    return hf.Mamba2Config(**(dict(vocab_size=VOCAB, hidden_size=32, num_hidden_layers=2, num_heads=8, head_dim=8, state_size=16, n_groups=2, bos_token_id=1, eos_token_id=EOS, pad_token_id=None) | more))


@folder("mamba2", "mamba2-bias")
def _(out, name):
    """mamba2-bias has biases everywhere but in the convolution, which mixes three rows, and bounds of the time steps that many reach."""
    more = dict(use_bias=True, use_conv_bias=False, conv_kernel=3, n_groups=1, expand=1, head_dim=4, tie_word_embeddings=True, time_step_limit=[0.5, 0.9])
    decoder(out, name, hf.Mamba2ForCausalLM(mamba2(**more if name == "mamba2-bias" else {})), hf.Mamba2ForCausalLM, seed=5500)


def nemotron(**more):
    return hf.NemotronHConfig(**(dict(vocab_size=VOCAB, hidden_size=32, intermediate_size=48, num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=256, bos_token_id=1, eos_token_id=EOS,
                                      pad_token_id=None, mamba_num_heads=8, mamba_head_dim=6, ssm_state_size=16, n_groups=2) | more))


@folder("nemotron_h", "nemotron_h-hub", "nemotron_h-bias", "nemotron_h-experts", "nemotron_h-latent")
def _(out, name):
    """nemotron_h-hub has the fields of the hub, which write the kinds of layers as letters; nemotron_h-bias biases, and a least time step that many
    would be below; nemotron_h-experts a mixture of experts in groups; nemotron_h-latent one of another width than the rows, and its other networks have biases."""
    experts = dict(moe_intermediate_size=12, moe_shared_expert_intermediate_size=20)
    more = {
        "nemotron_h": dict(layers_block_type=["linear_attention", "mlp", "full_attention"]),
        "nemotron_h-hub": dict(layers_block_type=["full_attention", "mlp", "linear_attention", "mlp"]),
        "nemotron_h-bias": dict(layers_block_type=["linear_attention", "full_attention", "mlp", "linear_attention"], use_bias=True, mlp_bias=True, use_conv_bias=False, conv_kernel=3, n_groups=1, time_step_min=0.7, mlp_hidden_act="silu"),
        "nemotron_h-experts": dict(layers_block_type=["linear_attention", "moe"], n_routed_experts=6, n_group=2, topk_group=1, routed_scaling_factor=2.5, **experts),
        "nemotron_h-latent": dict(layers_block_type=["full_attention", "moe"], n_routed_experts=5, moe_latent_size=16, num_experts_per_tok=3, norm_topk_prob=False, mlp_bias=True, mlp_hidden_act="gelu", **experts),
    }[name]

    def config(c):
        letters = {"linear_attention": "M", "mlp": "-", "full_attention": "*", "moe": "E"}
        c["hybrid_override_pattern"] = "".join(letters[kind] for kind in c.pop("layers_block_type"))
        c["num_hidden_layers"] = len(c["hybrid_override_pattern"])

    decoder(out, name, hf.NemotronHForCausalLM(nemotron(**more)), hf.NemotronHForCausalLM, seed=5400, config=config if name in ("nemotron_h-hub", "nemotron_h-experts") else None)
