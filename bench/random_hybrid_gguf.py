"""Writes a GGUF file of random weights of a model with recurrent layers or per-layer embeddings: qwen35 (Qwen3.5-0.8B's shape), gemma4 (eight
layers of Gemma 4 E2B's) or granitehybrid (Granite 4 H 350M's), in q8_0, q4_0 or q4_k; the embedding, which is the head too, is in Q6_K beside the
formats of 4 bits: python bench/random_hybrid_gguf.py qwen35 q8_0 FILE.gguf. Needs Python's gguf and numpy."""

import sys

import gguf
import numpy

import gguf_blocks
from gguf_blocks import rng


class File:
    def __init__(self, arch, format, path, width, layers, heads, vocab, hidden):
        self.w = gguf.GGUFWriter(path, arch)
        self.matrices = getattr(gguf_blocks, format)
        self.head = gguf_blocks.q8_0 if format == "q8_0" else gguf_blocks.q6_k
        self.width, self.prefix = width, ""
        self.w.add_context_length(32768)
        self.w.add_embedding_length(width)
        self.w.add_block_count(layers)
        self.w.add_head_count(heads)
        self.w.add_feed_forward_length(hidden)
        self.w.add_layer_norm_rms_eps(1e-6)
        self.w.add_vocab_size(vocab)
        self.w.add_tokenizer_model("no_vocab")
        self.matrix("token_embd", vocab, width, self.head)
        self.floats("output_norm.weight", numpy.ones(width))

    def matrix(self, name, rows, cols, make=None):
        data, kind = (make or self.matrices)(rows, cols)
        self.w.add_tensor(self.prefix + name + ".weight", data, raw_dtype=kind)

    def floats(self, name, x):
        self.w.add_tensor(self.prefix + name, numpy.ascontiguousarray(x, numpy.float32))

    def ones(self, **sizes):
        for name, n in sizes.items():
            self.floats(name + ".weight", numpy.ones(n))

    def attention(self, heads, kv, head, gate=1, keys=True):
        self.matrix("attn_q", gate * heads * head, self.width)
        if keys:
            self.matrix("attn_k", kv * head, self.width)
            self.matrix("attn_v", kv * head, self.width)
        self.matrix("attn_output", self.width, heads * head)

    def feed_forward(self, hidden):
        self.matrix("ffn_gate", hidden, self.width)
        self.matrix("ffn_up", hidden, self.width)
        self.matrix("ffn_down", self.width, hidden)

    def recurrent(self, taps, state, groups, heads, inner):
        self.w.add_ssm_conv_kernel(taps)
        self.w.add_ssm_state_size(state)
        self.w.add_ssm_group_count(groups)
        self.w.add_ssm_time_step_rank(heads)
        self.w.add_ssm_inner_size(inner)

    def close(self):
        self.w.write_header_to_file()
        self.w.write_kv_data_to_file()
        self.w.write_tensors_to_file()
        self.w.close()


def qwen35(format, path, layers=24, width=1024, heads=8, kv=2, head=256, hidden=3584, vocab=248320, keys=16, state=128, taps=4):
    f = File("qwen35", format, path, width, layers, heads, vocab, hidden)
    f.w.add_head_count_kv(kv)
    f.w.add_key_length(head)
    f.w.add_value_length(head)
    f.w.add_rope_dimension_count(head // 4)
    f.w.add_rope_dimension_sections([11, 11, 10, 0])
    f.w.add_rope_freq_base(1e7)
    f.w.add_full_attention_interval(4)
    f.recurrent(taps, state, keys, keys, keys * state)
    mixed = 3 * keys * state
    for i in range(layers):
        f.prefix = f"blk.{i}."
        f.ones(attn_norm=width, post_attention_norm=width)
        if i % 4 == 3:
            f.attention(heads, kv, head, gate=2)
            f.ones(attn_q_norm=head, attn_k_norm=head)
        else:
            f.matrix("attn_qkv", mixed, width)
            f.matrix("attn_gate", keys * state, width)
            f.matrix("ssm_beta", keys, width)
            f.matrix("ssm_alpha", keys, width)
            f.matrix("ssm_conv1d", mixed, taps, gguf_blocks.f32)
            f.floats("ssm_dt.bias", rng.normal(size=keys))
            f.floats("ssm_a", -rng.uniform(0.1, 8, keys))
            f.ones(ssm_norm=state)
            f.matrix("ssm_out", width, keys * state)
        f.feed_forward(hidden)
    f.close()


def gemma4(format, path, layers=8, width=1536, heads=8, kv=1, head=256, full=512, hidden=6144, vocab=262144, per_layer=256, shared=3):
    """A window in four layers of five, and in none of the last, which must see everything; the last three attend to keys and values of earlier ones."""
    windows = [i % 5 != 4 and i != layers - 1 for i in range(layers)]
    f = File("gemma4", format, path, width, layers, heads, vocab, [hidden if i < layers - shared else 2 * hidden for i in range(layers)])
    f.w.add_head_count_kv(kv)
    f.w.add_shared_kv_layers(shared)
    f.w.add_embedding_length_per_layer_input(per_layer)
    f.w.add_sliding_window(512)
    f.w.add_sliding_window_pattern(windows)
    f.w.add_key_length(full)
    f.w.add_value_length(full)
    f.w.add_key_length_swa(head)
    f.w.add_value_length_swa(head)
    f.w.add_rope_dimension_count(full)
    f.w.add_rope_dimension_count_swa(head)
    f.w.add_rope_freq_base(1e6)
    f.w.add_rope_freq_base_swa(1e4)
    f.w.add_final_logit_softcapping(30.0)
    f.floats("rope_freqs.weight", [1] * (full // 8) + [1e30] * (full // 2 - full // 8))
    f.matrix("per_layer_token_embd", vocab, per_layer * layers, f.head)
    f.matrix("per_layer_model_proj", per_layer * layers, width)
    f.ones(per_layer_proj_norm=per_layer)
    for i, window in enumerate(windows):
        f.prefix, own, n = f"blk.{i}.", i < layers - shared, head if window else full
        f.ones(attn_norm=width, post_attention_norm=width, ffn_norm=width, post_ffw_norm=width, post_norm=width, attn_q_norm=n)
        if own:
            f.ones(attn_k_norm=n)
        f.attention(heads, kv, n, keys=own)
        f.feed_forward(hidden if own else 2 * hidden)
        f.matrix("inp_gate", per_layer, width)
        f.matrix("proj", width, per_layer)
        f.floats("layer_output_scale.weight", numpy.ones(1))
    f.close()


def granitehybrid(format, path, layers=32, width=768, heads=12, kv=4, head=64, hidden=2048, vocab=100352, inner=1536, channels=32, state=128, taps=4):
    attend = (10, 13, 17, 27)
    f = File("granitehybrid", format, path, width, layers, heads, vocab, hidden)
    f.w.add_head_count_kv([kv if i in attend else 0 for i in range(layers)])
    f.w.add_rope_dimension_count(head)
    f.w.add_rope_freq_base(1e4)
    f.w.add_rope_scaling_finetuned(False)
    f.w.add_embedding_scale(12.0)
    f.w.add_residual_scale(0.246)
    f.w.add_attention_scale(1 / head)
    f.w.add_logit_scale(3.0)
    f.recurrent(taps, state, 1, inner // channels, inner)
    mixed, n = inner + 2 * state, inner // channels
    for i in range(layers):
        f.prefix = f"blk.{i}."
        f.ones(attn_norm=width, ffn_norm=width)
        if i in attend:
            f.attention(heads, kv, head)
        else:
            f.matrix("ssm_in", inner + mixed + n, width)
            f.matrix("ssm_conv1d", mixed, taps, gguf_blocks.f32)
            f.floats("ssm_conv1d.bias", rng.normal(size=mixed) * 0.01)
            f.floats("ssm_dt.bias", rng.normal(size=n))
            f.floats("ssm_a", -rng.uniform(0.1, 8, (n, 1)))
            f.floats("ssm_d", numpy.ones((n, 1)))
            f.floats("ssm_norm.weight", numpy.ones((1, inner)))
            f.matrix("ssm_out", width, inner)
        f.feed_forward(hidden)
    f.close()


if __name__ == "__main__":
    shape, format, path = sys.argv[1:]
    {"qwen35": qwen35, "gemma4": gemma4, "granitehybrid": granitehybrid}[shape](format, path)
