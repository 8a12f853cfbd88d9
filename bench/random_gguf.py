"""Writes a GGUF file of random weights in BF16, of a language model's shape, for bench/cmd/streams and others that
measure speed: python bench/random_gguf.py llama-0.35b FILE.gguf. Needs Python's gguf and numpy."""

import sys

import gguf
import numpy

# By name: architecture, layers, width, heads, heads of keys and values, width of a head and of the feed-forward part, tokens of the vocabulary.
SHAPES = {
    "llama-0.35b": ("llama", 24, 1024, 16, 8, 64, 2816, 32000),
    "qwen3-0.6b": ("qwen3", 28, 1024, 16, 8, 128, 3072, 151936),  # whose head is the embedding
}


def main(shape, path):
    arch, layers, dim, heads, kv, head, hidden, vocab = SHAPES[shape]
    w = gguf.GGUFWriter(path, arch)
    w.add_block_count(layers)
    w.add_context_length(32768)
    w.add_embedding_length(dim)
    w.add_feed_forward_length(hidden)
    w.add_head_count(heads)
    w.add_head_count_kv(kv)
    w.add_key_length(head)
    w.add_value_length(head)
    if arch == "llama":
        w.add_rope_dimension_count(head)
    w.add_rope_freq_base(1e4 if arch == "llama" else 1e6)
    w.add_layer_norm_rms_eps(1e-6)
    w.add_vocab_size(vocab)
    w.add_tokenizer_model("no_vocab")
    w.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
    rng = numpy.random.default_rng(1)

    def matrix(name, rows, cols):
        x = rng.standard_normal((rows, cols), dtype=numpy.float32) * 0.02
        w.add_tensor(name, gguf.quants.quantize(x, gguf.GGMLQuantizationType.BF16), raw_dtype=gguf.GGMLQuantizationType.BF16)

    def ones(name, n):
        w.add_tensor(name, numpy.ones(n, numpy.float32))

    matrix("token_embd.weight", vocab, dim)
    if arch == "llama":
        matrix("output.weight", vocab, dim)
    ones("output_norm.weight", dim)
    for i in range(layers):
        b = f"blk.{i}."
        ones(b + "attn_norm.weight", dim)
        ones(b + "ffn_norm.weight", dim)
        if arch == "qwen3":
            ones(b + "attn_q_norm.weight", head)
            ones(b + "attn_k_norm.weight", head)
        matrix(b + "attn_q.weight", heads * head, dim)
        matrix(b + "attn_k.weight", kv * head, dim)
        matrix(b + "attn_v.weight", kv * head, dim)
        matrix(b + "attn_output.weight", dim, heads * head)
        matrix(b + "ffn_gate.weight", hidden, dim)
        matrix(b + "ffn_up.weight", hidden, dim)
        matrix(b + "ffn_down.weight", dim, hidden)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


main(*sys.argv[1:])
