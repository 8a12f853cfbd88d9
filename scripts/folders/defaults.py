"""A folder for each model type whose config.json says nothing but what makes it small: every other field has
transformers' default.

A default counts only where another value would give another result. So what the first normalization of a
model takes is as small as its eps, the scores of a model that caps them are large, and texts are longer than
the distances that relative positions tell apart. Windows of thousands of tokens are not reached.
"""

import torch
import transformers as hf
from transformers.models.idefics3 import Idefics3VisionTransformer
from transformers.models.smolvlm import SmolVLMVisionTransformer

import deltanet
from encoders import encode
from folder import Folder, folder, hide, random_batch
from vision import SIZE, flexible, pixels

BATCH = [40, 6]  # the lengths of texts: beyond the distances that relative positions tell apart one by one
VOCAB = 40
SMALL = dict(vocab_size=VOCAB, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24)
LEARNED = SMALL | dict(max_position_embeddings=44)
STACKS = dict(vocab_size=VOCAB, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=44)
T5 = dict(vocab_size=VOCAB, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2)
TEXT = SMALL | dict(max_position_embeddings=40)
IMAGE = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, image_size=SIZE, patch_size=8)

GEMMA3 = SMALL | dict(num_hidden_layers=6, num_key_value_heads=1, head_dim=8)
GEMMA4 = SMALL | dict(num_hidden_layers=7, num_attention_heads=1, num_key_value_heads=1, head_dim=8, hidden_size_per_layer_input=4, vocab_size_per_layer_input=VOCAB)
GEMMA3N = SMALL | dict(num_hidden_layers=20, num_key_value_heads=1, head_dim=8, hidden_size=8, intermediate_size=8, hidden_size_per_layer_input=4, vocab_size_per_layer_input=VOCAB)
DELTA = SMALL | dict(num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=1, head_dim=8, linear_num_key_heads=2, linear_num_value_heads=2, linear_key_head_dim=4, linear_value_head_dim=4)
DELTA_SCALE = [("linear_attn.norm", 5)]
SMALL_IMAGE = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24)

# By name: the class, the fields of config.json, and the factor that the weights of embeddings are multiplied by.
ENCODERS = {
    "bert": (hf.BertForSequenceClassification, LEARNED, 1e-6),
    "electra": (hf.ElectraForMaskedLM, LEARNED, 1e-6),
    "albert": (hf.AlbertForMaskedLM, LEARNED, 1e-6),
    "deberta-v2": (hf.DebertaV2ForSequenceClassification, LEARNED, 1e-6),
    "roberta": (hf.RobertaForSequenceClassification, LEARNED, 1e-6),
    "xlm-roberta": (hf.XLMRobertaForMaskedLM, LEARNED, 1e-6),
    "camembert": (hf.CamembertForTokenClassification, LEARNED, 1e-6),
    "distilbert": (hf.DistilBertForSequenceClassification, dict(vocab_size=VOCAB, dim=16, n_layers=1, n_heads=2, hidden_dim=24, max_position_embeddings=44), 1e-6),
    "mpnet": (hf.MPNetForMaskedLM, LEARNED, 1e-6),
    "modernbert": (hf.ModernBertForSequenceClassification, SMALL | dict(num_hidden_layers=4, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2), 3e-3),
    "nomic_bert": (hf.NomicBertForMaskedLM, SMALL, 1e-6),
    "gte": (hf.GteForSequenceClassification, SMALL, 1e-6),
    "eurobert": (hf.EuroBertForSequenceClassification, SMALL | dict(pad_token_id=0, bos_token_id=1, eos_token_id=2, mask_token_id=3), 3e-3),
    "jina_embeddings_v3": (hf.JinaEmbeddingsV3ForSequenceClassification, SMALL | dict(pad_token_id=1, bos_token_id=0, eos_token_id=2), 1e-6),
    "embedding_gemma2_text": (hf.EmbeddingGemma2TextModel, SMALL | dict(num_hidden_layers=7, num_attention_heads=2, head_dim=8, hidden_size_per_layer_input=4, embedding_dim=12), 1e-4),
    "embedding_gemma2": (hf.EmbeddingGemma2Model, dict(text_config=SMALL | dict(num_hidden_layers=7, num_attention_heads=2, head_dim=8, hidden_size_per_layer_input=4, embedding_dim=12)), 1e-4),
    "t5-encoder": (hf.T5EncoderModel, T5, 1e-3),
}
DECODERS = {
    "gpt2": (hf.GPT2LMHeadModel, dict(vocab_size=VOCAB, n_embd=16, n_layer=1, n_head=2, n_positions=44), 3e-3, []),
    "llama": (hf.LlamaForCausalLM, SMALL, 1e-3, []),
    "mistral": (hf.MistralForCausalLM, SMALL | dict(num_attention_heads=8), 1e-3, []),
    "qwen2": (hf.Qwen2ForCausalLM, SMALL | dict(num_key_value_heads=1), 1e-3, []),
    "qwen3": (hf.Qwen3ForCausalLM, SMALL | dict(num_key_value_heads=1), 1e-3, []),
    "phi3": (hf.Phi3ForCausalLM, SMALL | dict(pad_token_id=0), 3e-3, []),
    "smollm3": (hf.SmolLM3ForCausalLM, SMALL | dict(num_hidden_layers=4, num_key_value_heads=1, pad_token_id=0), 1e-3, []),
    "olmo2": (hf.Olmo2ForCausalLM, SMALL, 1e-3, []),
    "olmo3": (hf.Olmo3ForCausalLM, SMALL | dict(num_hidden_layers=4), 1e-3, []),
    "ministral3": (hf.Ministral3ForCausalLM, SMALL | dict(num_attention_heads=8, head_dim=8), 1e-3, []),
    "mistral3": (hf.Mistral3ForConditionalGeneration, dict(text_config=SMALL | dict(num_attention_heads=8, head_dim=8), vision_config=IMAGE, vision_feature_layer=-1), 1e-3, []),
    "idefics3": (hf.Idefics3ForConditionalGeneration, dict(text_config=SMALL, vision_config=IMAGE), 1e-3, []),
    "smolvlm": (hf.SmolVLMForConditionalGeneration, dict(text_config=SMALL, vision_config=IMAGE), 1e-3, []),
    "lfm2_vl": (hf.Lfm2VlForConditionalGeneration, dict(text_config=SMALL | dict(num_hidden_layers=2, num_attention_heads=8, full_attn_idxs=[1]), vision_config=SMALL_IMAGE, projector_hidden_size=16), 1e-3, []),
    "ernie4_5": (hf.Ernie4_5ForCausalLM, SMALL | dict(num_key_value_heads=1), 1e-3, []),
    "exaone4": (hf.Exaone4ForCausalLM, SMALL | dict(num_hidden_layers=4, num_key_value_heads=1), 1e-3, []),
    "hunyuan_v1_dense": (hf.HunYuanDenseV1ForCausalLM, SMALL | dict(head_dim=8), 1e-3, []),
    "glm4": (hf.Glm4ForCausalLM, SMALL | dict(num_key_value_heads=1, pad_token_id=0), 1e-3, []),
    "granite": (hf.GraniteForCausalLM, SMALL, 1e-3, []),
    "granite_swa": (hf.GraniteSWAForCausalLM, SMALL | dict(num_hidden_layers=4, num_key_value_heads=1), 1e-3, [("sinks", 5)]),
    "starcoder2": (hf.Starcoder2ForCausalLM, SMALL | dict(num_key_value_heads=1), 3e-3, []),
    "phi": (hf.PhiForCausalLM, SMALL, 3e-3, []),
    "gpt_neox": (hf.GPTNeoXForCausalLM, SMALL, 3e-3, []),
    "cohere2": (hf.Cohere2ForCausalLM, SMALL | dict(num_hidden_layers=4), 3e-3, []),
    "mixtral": (hf.MixtralForCausalLM, SMALL | dict(num_attention_heads=8), 1e-3, []),
    "qwen2_moe": (hf.Qwen2MoeForCausalLM, SMALL | dict(num_key_value_heads=1, moe_intermediate_size=8, shared_expert_intermediate_size=8), 1e-3, []),
    "qwen3_moe": (hf.Qwen3MoeForCausalLM, SMALL | dict(num_key_value_heads=1, moe_intermediate_size=8), 1e-3, []),
    "gpt_oss": (hf.GptOssForCausalLM, SMALL | dict(num_hidden_layers=2, num_attention_heads=8, num_local_experts=5), 3e-3, []),
    "granitemoe": (hf.GraniteMoeForCausalLM, SMALL, 1e-3, []),
    "qwen3_5_text": (hf.Qwen3_5ForCausalLM, DELTA, 1e-3, DELTA_SCALE),
    "qwen3_5_moe_text": (hf.Qwen3_5MoeForCausalLM, DELTA | dict(moe_intermediate_size=8, shared_expert_intermediate_size=8, num_experts=9), 1e-3, DELTA_SCALE),
    "qwen3_next": (hf.Qwen3NextForCausalLM, DELTA | dict(moe_intermediate_size=8, shared_expert_intermediate_size=8, num_experts=12), 3e-3, DELTA_SCALE),
    "qwen3_5": (hf.Qwen3_5ForConditionalGeneration, dict(text_config=DELTA, vision_config=deltanet.IMAGE | dict(out_hidden_size=16)), 1e-3, DELTA_SCALE),
    "qwen3_5_moe": (hf.Qwen3_5MoeForConditionalGeneration, dict(text_config=DELTA | dict(moe_intermediate_size=8, shared_expert_intermediate_size=8, num_experts=9), vision_config=deltanet.IMAGE | dict(out_hidden_size=16)), 1e-3, DELTA_SCALE),
    "gemma": (hf.GemmaForCausalLM, SMALL | dict(num_key_value_heads=1), 1e-4, []),
    "gemma2": (hf.Gemma2ForCausalLM, SMALL | dict(num_key_value_heads=1), 1e-4, [("q_proj", 20), ("model.norm", 1e5)]),
    "gemma3_text": (hf.Gemma3ForCausalLM, GEMMA3, 1e-4, []),
    "gemma3": (hf.Gemma3ForConditionalGeneration, dict(text_config=GEMMA3, vision_config=IMAGE, mm_tokens_per_image=4), 1e-4, []),
    "gemma3n_text": (hf.Gemma3nForCausalLM, GEMMA3N, 1e-4, [("modality_router", 8)]),
    "gemma4_text": (hf.Gemma4ForCausalLM, GEMMA4, 1e-4, []),
    "gemma4": (hf.Gemma4ForConditionalGeneration, dict(text_config=GEMMA4), 1e-4, []),
    "bamba": (hf.BambaForCausalLM, SMALL | dict(num_hidden_layers=2, num_attention_heads=8, hidden_size=64, mamba_d_state=8, attn_layer_indices=[1]), 1e-3, []),
    "granitemoehybrid": (hf.GraniteMoeHybridForCausalLM, SMALL | dict(num_hidden_layers=2, num_attention_heads=8, hidden_size=64, mamba_d_state=8, intermediate_size=8, shared_intermediate_size=8, layer_types=["linear_attention", "full_attention"]), 1e-3, []),
    "falcon_h1": (hf.FalconH1ForCausalLM, SMALL | dict(num_attention_heads=8, mamba_d_state=8, mamba_d_ssm=128), 1e-3, []),
    "mamba2": (hf.Mamba2ForCausalLM, dict(vocab_size=VOCAB, hidden_size=16, num_hidden_layers=1, expand=8, head_dim=1, state_size=4), 1e-3, []),
    "nemotron_h": (hf.NemotronHForCausalLM, dict(vocab_size=VOCAB, hidden_size=16, num_attention_heads=2, num_key_value_heads=1, intermediate_size=24, mamba_head_dim=1, ssm_state_size=8, moe_intermediate_size=4, moe_shared_expert_intermediate_size=4, layers_block_type=["linear_attention", "moe", "full_attention", "mlp"]), 1e-3, []),
    "lfm2": (hf.Lfm2ForCausalLM, SMALL | dict(num_hidden_layers=2, num_attention_heads=8, full_attn_idxs=[1]), 1e-3, []),
    "deepseek_v3": (hf.DeepseekV3ForCausalLM, SMALL | dict(num_hidden_layers=2, first_k_dense_replace=1, num_key_value_heads=2, n_routed_experts=16, moe_intermediate_size=4, kv_lora_rank=12, q_lora_rank=12, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8), 1e-3, []),
    "lfm2_moe": (hf.Lfm2MoeForCausalLM, SMALL | dict(num_hidden_layers=3, num_attention_heads=8, num_experts=5, moe_intermediate_size=8, layer_types=["conv", "full_attention", "conv"]), 1e-3, []),
}
SEQ2SEQ = {
    "t5": (hf.T5ForConditionalGeneration, T5 | dict(decoder_start_token_id=0), 1e-3, []),
    "mt5": (hf.MT5ForConditionalGeneration, T5 | dict(decoder_start_token_id=0), 1e-3, []),
    "bart": (hf.BartForConditionalGeneration, STACKS, 3e-3, []),
    "mbart": (hf.MBartForConditionalGeneration, STACKS, 3e-3, []),
    "marian": (hf.MarianMTModel, STACKS | dict(pad_token_id=0, decoder_start_token_id=0, eos_token_id=1), 1, ["embed_positions"]),
    "m2m_100": (hf.M2M100ForConditionalGeneration, STACKS, 1, ["embed_positions"]),
}
TOWERS = {
    "vit": (hf.ViTForImageClassification, IMAGE, 1e-6),
    "dinov2": (hf.Dinov2ForImageClassification, {k: v for k, v in IMAGE.items() if k != "intermediate_size"}, 1e-6),
    "dinov3": (hf.DINOv3ViTModel, IMAGE, 1e-6),
    "clip": (hf.CLIPModel, dict(text_config=TEXT | dict(eos_token_id=39, bos_token_id=0, pad_token_id=1, projection_dim=12), vision_config=IMAGE | dict(projection_dim=12), projection_dim=12), 3e-3),
    "siglip": (hf.SiglipModel, dict(text_config=TEXT | dict(projection_size=16), vision_config=IMAGE), 1e-3),
    "siglip2": (hf.Siglip2Model, dict(text_config=TEXT | dict(projection_size=16), vision_config=SMALL_IMAGE), 1e-3),
    "siglip2-text": (hf.Siglip2TextModel, TEXT | dict(projection_size=16), 1e-3),
    "siglip2-image": (hf.Siglip2VisionModel, SMALL_IMAGE, 1e-3),
    "clip-text": (hf.CLIPTextModelWithProjection, TEXT | dict(eos_token_id=39, bos_token_id=0, pad_token_id=1, projection_dim=12), 3e-3),
    "clip-image": (hf.CLIPVisionModelWithProjection, IMAGE | dict(projection_dim=12), 3e-3),
    "siglip-text": (hf.SiglipTextModel, TEXT | dict(projection_size=16), 1e-3),
    "siglip-image": (hf.SiglipVisionModel, IMAGE, 1e-3),
    "idefics3_vision": (Idefics3VisionTransformer, SMALL_IMAGE, 1e-3),
    "smolvlm_vision": (SmolVLMVisionTransformer, SMALL_IMAGE, 1e-3),
}


def bare(given):
    """Leaves in config.json nothing but the fields given."""

    def config(c):
        kind = {k: c[k] for k in ("architectures", "model_type")}
        c.clear()
        c.update(kind | given)

    return config


def write(out, name, cls, given, run, inputs, scale, seed, keep=(), more=(), **how):
    """Writes a folder; scale is that of embeddings."""
    c = cls.config_class(**given)
    f = Folder(out, name)
    f.write(cls(c), cls, run, inputs=inputs, seed=seed, config=bare(given), keep=keep, scale=[("embed", scale), ("shared", scale), ("wte", scale), ("wpe", scale), *more], **how)


def names(kinds):
    return [n + "-defaults" for n in kinds]


@folder(*names(ENCODERS))
def _(out, name):
    cls, given, scale = ENCODERS[name.removesuffix("-defaults")]
    pad = cls.config_class(**given).get_text_config().pad_token_id or 0
    ids, mask = random_batch([90, 6] if name.startswith("modernbert") else BATCH, 4, VOCAB, pad)
    inputs = {"input_ids": ids, "attention_mask": mask}

    def run(m, dtype):
        with torch.no_grad():
            return encode(m, inputs)

    # The normalization of small embeddings is not small itself: attention would be uniform.
    write(out, name, cls, given, run, inputs, scale, 2000, more=[("embeddings.LayerNorm", 1 / scale)])


@folder(*names(DECODERS))
def _(out, name):
    cls, given, scale, more = DECODERS[name.removesuffix("-defaults")]
    ids, mask = random_batch([20, 6], 3, VOCAB, 0)
    inputs = {"input_ids": ids, "attention_mask": mask}

    def run(m, dtype):
        with torch.no_grad():
            return {"logits": hide(m(**inputs).logits, mask)}

    write(out, name, cls, given, run, inputs, scale, 2100, more=more, norm=0.0 if name.startswith(("gemma", "qwen3_5", "qwen3_next")) else 1.0)


@folder(*names(SEQ2SEQ))
def _(out, name):
    cls, given, scale, keep = SEQ2SEQ[name.removesuffix("-defaults")]
    ids, mask = random_batch(BATCH, 4, VOCAB, cls.config_class(**given).pad_token_id)
    target = torch.randint(4, VOCAB, (2, 7), generator=torch.Generator().manual_seed(5))
    inputs = {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": target}

    def run(m, dtype):
        with torch.no_grad():
            o = m(**inputs, use_cache=False)
        return {"encoder_last_hidden_state": hide(o.encoder_last_hidden_state, mask), "logits": o.logits}

    write(out, name, cls, given, run, inputs, scale, 2200, keep=keep, dtype=None)


@folder("whisper-defaults")
def _(out, name):
    given = {k: v for k, v in STACKS.items() if k != "max_position_embeddings"} | dict(num_mel_bins=8, max_source_positions=10, max_target_positions=20, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3)
    features = torch.randn((1, 8, 20), generator=torch.Generator().manual_seed(6))
    target = torch.randint(4, VOCAB, (1, 7), generator=torch.Generator().manual_seed(5))

    def run(m, dtype):
        with torch.no_grad():
            o = m(input_features=features.to(dtype), decoder_input_ids=target, use_cache=False)
        return {"encoder_last_hidden_state": o.encoder_last_hidden_state, "logits": o.logits}

    write(out, name, hf.WhisperForConditionalGeneration, given, run, {"input_features": features, "decoder_input_ids": target}, 1, 2300, keep=["encoder.embed_positions"])


@folder("moonshine-defaults")
def _(out, name):
    """Heads of three features, of which two turn."""
    given = dict(vocab_size=VOCAB, hidden_size=24, intermediate_size=16, encoder_num_hidden_layers=1, decoder_num_hidden_layers=1)
    values = 0.1 * torch.randn((1, 2900), generator=torch.Generator().manual_seed(6))
    target = torch.randint(4, VOCAB, (1, 7), generator=torch.Generator().manual_seed(5))

    def run(m, dtype):
        with torch.no_grad():
            o = m(values.to(dtype), decoder_input_ids=target, use_cache=False)
        return {"encoder_last_hidden_state": o.encoder_last_hidden_state, "logits": o.logits}

    write(out, name, hf.MoonshineForConditionalGeneration, given, run, {"input_values": values, "decoder_input_ids": target}, 1, 2350)


@folder("wav2vec2-defaults")
def _(out, name):
    given = dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, conv_dim=[8] * 7)
    values = torch.randn((1, 1300), generator=torch.Generator().manual_seed(6)) * 1e-2

    def run(m, dtype):
        with torch.no_grad():
            return {"logits": m(values.to(dtype)).logits}

    write(out, name, hf.Wav2Vec2ForCTC, given, run, {"input_values": values}, 1, 2500)


@folder(*names(TOWERS))
def _(out, name):
    cls, given, scale = TOWERS[name.removesuffix("-defaults")]
    sizes = {"siglip2": (32, 48), "idefics3": (64, 96), "smolvlm": (64, 96)}  # in patches of the class's own size
    inputs = {"pixel_values": pixels(*next((v for k, v in sizes.items() if name.startswith(k)), (SIZE, SIZE)))[:1]}
    if "text_config" in given or "text" in name:
        ids, mask = random_batch([40, 40], 4, 39, 1)
        if name.startswith("clip"):
            ids[:, 39] = 39
        inputs = {"input_ids": ids, "attention_mask": mask} | (inputs if "text_config" in given else {})

    def run(m, dtype):
        with torch.no_grad():
            batch = {k: v.to(dtype) if k == "pixel_values" else v for k, v in inputs.items()}
            o = m(**batch | (flexible(batch["pixel_values"], 16, 8) if name.startswith("siglip2") and "pixel_values" in batch else {}))
        keys = ("logits", "pooler_output", "text_embeds", "image_embeds", "logits_per_image") if "text_config" in given or name.startswith(("vit", "dinov2")) else ("last_hidden_state", "pooler_output", "text_embeds", "image_embeds")
        result = {k: getattr(o, k) for k in keys if getattr(o, k, None) is not None}
        if name.startswith("siglip2-image"):
            result["last_hidden_state"] = result["last_hidden_state"][:, :6]
        return result

    write(out, name, cls, given, run, inputs, scale, 2400, more=[("position_embedding", scale), ("projection", 1)] if name.startswith(("vit", "dinov2")) else ())


@folder("parakeet_ctc-defaults", "parakeet_encoder-defaults")
def _(out, name):
    small = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, subsampling_conv_channels=4)
    ctc = name.startswith("parakeet_ctc")
    given, cls = (dict(encoder_config=small), hf.ParakeetForCTC) if ctc else (small, hf.ParakeetEncoder)
    features = torch.randn((1, 120, 80), generator=torch.Generator().manual_seed(6))

    def run(m, dtype):
        with torch.no_grad():
            return {"logits": m(features.to(dtype)).logits, "last_hidden_state": m.encoder(features.to(dtype)).last_hidden_state} if ctc else {"last_hidden_state": m(features.to(dtype)).last_hidden_state}

    write(out, name, cls, given, run, {"input_features": features}, 1, 2510)
