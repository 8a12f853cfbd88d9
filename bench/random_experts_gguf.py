"""Writes a GGUF file of random weights of four layers of a mixture of experts: qwen (Qwen3-30B-A3B's shape, all in Q4_K) or oss
(gpt-oss-20b's, with experts in MXFP4 and the rest in Q8_0): python bench/random_experts_gguf.py qwen FILE.gguf. Needs Python's gguf
and numpy."""

import sys

import gguf
import numpy

from gguf_blocks import mxfp4, q4_k, q8_0, rng

LAYERS = 4
# By name: width, heads, heads of keys and values, width of a head, experts, experts used for a row, width of an expert, tokens of the vocabulary.
SHAPES = {
    "qwen": (2048, 32, 4, 128, 128, 8, 768, 151936),
    "oss": (2880, 64, 8, 64, 32, 4, 2880, 201088),
}


def vocabulary(w, n):
    w.add_tokenizer_model("llama")
    w.add_tokenizer_pre("default")
    w.add_token_list(["<unk>", "<s>", "</s>"] + [f"▁t{i}" for i in range(3, n)])
    w.add_token_scores([float(-i) for i in range(n)])
    w.add_token_types([2, 3, 3] + [1] * (n - 3))
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)


def head(name, path):
    """The writer, with the file's fields."""
    dim, heads, kv, width, experts, top, hidden, vocab = SHAPES[name]
    w = gguf.GGUFWriter(path, "qwen3moe" if name == "qwen" else "gpt-oss")
    if name == "qwen":
        w.add_feed_forward_length(6144)
        w.add_rope_freq_base(1e6)
    else:
        w.add_feed_forward_length(hidden)
        w.add_rope_freq_base(150000.0)
        w.add_sliding_window(128)
        w.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        w.add_rope_scaling_factor(32.0)
        w.add_rope_scaling_orig_ctx_len(4096)
    w.add_context_length(32768)
    w.add_embedding_length(dim)
    w.add_block_count(LAYERS)
    w.add_head_count(heads)
    w.add_head_count_kv(kv)
    w.add_layer_norm_rms_eps(1e-6)
    w.add_key_length(width)
    w.add_value_length(width)
    w.add_vocab_size(vocab)
    w.add_expert_count(experts)
    w.add_expert_used_count(top)
    w.add_expert_feed_forward_length(hidden)
    vocabulary(w, vocab)
    return w


def main(name, path):
    dim, heads, kv, width, experts, _, hidden, vocab = SHAPES[name]
    qwen = name == "qwen"
    w = head(name, path)

    def matrix(name, rows, cols, make=q4_k if qwen else q8_0, stack=()):
        data, kind = make(rows, cols)
        w.add_tensor(name, data.reshape(*stack, -1, data.shape[1]) if stack else data, raw_dtype=kind)

    def floats(name, x):
        w.add_tensor(name, numpy.ascontiguousarray(x, numpy.float32))

    matrix("token_embd.weight", vocab, dim)
    matrix("output.weight", vocab, dim)
    floats("output_norm.weight", numpy.ones(dim))
    for i in range(LAYERS):
        b = f"blk.{i}."
        floats(b + "attn_norm.weight", numpy.ones(dim))
        floats(b + ("ffn_norm.weight" if qwen else "post_attention_norm.weight"), numpy.ones(dim))
        matrix(b + "attn_q.weight", heads * width, dim)
        matrix(b + "attn_k.weight", kv * width, dim)
        matrix(b + "attn_v.weight", kv * width, dim)
        matrix(b + "attn_output.weight", dim, heads * width)
        floats(b + "ffn_gate_inp.weight", rng.normal(size=(experts, dim)) * 0.03)
        if qwen:
            floats(b + "attn_q_norm.weight", numpy.ones(width))
            floats(b + "attn_k_norm.weight", numpy.ones(width))
        else:
            for part, n in (("attn_q", heads * width), ("attn_k", kv * width), ("attn_v", kv * width), ("attn_output", dim), ("ffn_gate_inp", experts)):
                floats(b + part + ".bias", rng.normal(size=n) * 0.01)
            floats(b + "attn_sinks.weight", rng.normal(size=heads))
            for part, n in (("ffn_gate_exps", hidden), ("ffn_up_exps", hidden), ("ffn_down_exps", dim)):
                floats(b + part + ".bias", rng.normal(size=(experts, n)) * 0.01)
        for part, rows, cols in (("ffn_gate_exps", hidden, dim), ("ffn_up_exps", hidden, dim), ("ffn_down_exps", dim, hidden)):
            matrix(b + part + ".weight", experts * rows, cols, q4_k if qwen else mxfp4, stack=(experts,))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


main(*sys.argv[1:])
