"""Models with the sizes of published configurations, and random weights. They are written only where they are named, somewhere
outside of the tree:

    generate.py /tmp/full full-bge-base full-modernbert-base full-qwen3-0.6b full-gemma3-270m
    AVOFORMER_HF=/tmp/full go test -run TestFolders ./models
"""

import transformers as hf

import decoders
import encoders
from encoders import encoder
from folder import folder, random_batch


@folder("full-bge-base", "full-modernbert-base")
def _(out, name):
    """bge-base-en-v1.5 and ModernBERT-base. Weights are drawn as small as training leaves them: with those of the small folders, which make attention
    far from uniform, twelve layers and more would be chaotic, and float32 would be far from float64."""
    encoders.LENGTHS[:] = [200, 37, 1, 512]
    if name == "full-bge-base":
        cls, model = encoders.NoPooler, encoders.NoPooler(hf.BertConfig())
        encoder(out, name, model, cls, types=True, low=1000, sentence=["cls"], seed=6000, scale=[("weight", 0.5)])
    else:
        c = hf.ModernBertConfig()
        encoder(out, name, hf.ModernBertModel(c), hf.ModernBertModel, pad=c.pad_token_id, low=1000, sentence=["mean"], seed=6010, scale=[("weight", 0.5)])


DECODERS = {
    "full-qwen3-0.6b": (hf.Qwen3ForCausalLM, lambda: hf.Qwen3Config(
        vocab_size=151936, hidden_size=1024, intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16, num_key_value_heads=8, head_dim=128, max_position_embeddings=40960,
        rms_norm_eps=1e-6, rope_parameters=decoders.rope("default", 1000000.0), tie_word_embeddings=True, bos_token_id=151643, eos_token_id=151645),
        [150, 37], dict(seed=6020, scale=[("proj", 0.5), ("embed_tokens", 0.05), ("model.norm", 3)])),
    "full-gemma3-270m": (hf.Gemma3ForCausalLM, lambda: hf.Gemma3TextConfig(
        vocab_size=262144, hidden_size=640, intermediate_size=2048, num_hidden_layers=18, num_attention_heads=4, num_key_value_heads=1, head_dim=256, max_position_embeddings=32768,
        query_pre_attn_scalar=256, sliding_window=512, layer_types=(["sliding_attention"] * 5 + ["full_attention"]) * 3, rms_norm_eps=1e-6, eos_token_id=1,
        rope_parameters={"full_attention": decoders.rope("default", 1000000.0), "sliding_attention": decoders.rope("default")}),
        [600], dict(seed=6030, norm=0.0, scale=[("proj", 0.5), ("embed_tokens", 0.02), ("model.norm", 20)])),
}


@folder(*DECODERS)
def _(out, name):
    """Qwen3-0.6B, and Gemma 3's 270M with a text longer than its windows. Embeddings are small beside what the layers add, since the head is the same
    matrix: otherwise each token would be followed by itself. The last norm is large, to keep the logits apart."""
    cls, config, lengths, options = DECODERS[name]
    c = config()
    decoders.BATCH, decoders.EOS = random_batch(lengths, 1000, c.vocab_size, 0), c.eos_token_id
    prompts = random_batch([4, 13], 1000, c.vocab_size, 0, seed=4)[0]
    decoders.PROMPTS = [prompts[0, :4].tolist(), prompts[1].tolist()]
    decoders.decoder(out, name, cls(c), cls, **options)
