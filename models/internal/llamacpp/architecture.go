package llamacpp

import (
	"maps"
	"strings"
)

// An Architecture says how one of llama.cpp's architectures differs from the usual.
type Architecture struct {
	ModelType string // "": the same name
	// Encoder is whether it has an encoder, with or without a decoder; else it is only a decoder.
	Encoder bool
	// BothWays is whether tokens of the decoder see those after them too.
	BothWays bool
	Decodes  bool // the encoder has a decoder beside it
	// Parts are llama.cpp's names of the tensors of a layer, where they are not those of Llama, and
	// Whole those of other tensors, by the names that Hugging Face's have.
	Parts, Whole map[string]string
	// Names gives llama.cpp's names of the tensors where Parts and Whole do not suffice; or is nil.
	Names func(r *Reader) func(name string) string
	// Epsilon is the field of the epsilon of layer normalizations; "": a decoder has RMS
	// normalizations.
	Epsilon    string
	Neighbours bool   // rotary pairs of queries and keys are neighbours
	Partial    string // the field for the part of a head that turns, where that may be a part; "": all of it does
	Fractional bool   // yarn does not round the pairs that it blends between, as llama.cpp does
	YarnKeys   bool   // llama.cpp reads how fast pairs turn that yarn blends, and yarn_log_multiplier
	Unscaled   bool   // layers with windows have other positions, which no factor of attention is for
	Experts    bool   // there may be experts
	Varying    bool   // widths, heads and rotary positions differ between layers; Read reads them all
	Groups     bool   // several queries of an encoder have the same keys; Read reads how many
	Latent     bool   // keys and values are made of a latent vector; Read reads their sizes
	ByLayer    bool   // the number of heads of keys and values differs from layer to layer; Read reads it
	// Read, unless nil, reads further metadata.
	Read func(r *Reader)
}

// Experts returns the names of a mixture's tensors after those of its router, gate, up and down.
func Experts(router, gate, up, down string) map[string]string {
	return map[string]string{router: "ffn_gate_inp", gate: "ffn_gate_exps", up: "ffn_up_exps", down: "ffn_down_exps"}
}

// PostNorms are the names of normalizations of what leaves attention and feed-forward network.
var PostNorms = map[string]string{"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm"}

// Embeddings are the names of BERT's embeddings.
var Embeddings = map[string]string{
	"embeddings.word_embeddings": "token_embd", "embeddings.token_type_embeddings": "token_types",
	"embeddings.position_embeddings": "position_embd", "embeddings.LayerNorm": "token_embd_norm",
}

// Merged is one map of two.
func Merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// names returns llama.cpp's names of the tensors that Hugging Face's have.
func (a Architecture) names() func(name string) string {
	parts := map[string]string{
		"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
		"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.qkv_proj": "attn_qkv",
		"self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
		"mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.gate_up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
	}
	maps.Copy(parts, a.Parts)
	whole := map[string]string{"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output", "dense.0": "dense_2", "dense.1": "dense_3"}
	maps.Copy(whole, a.Whole)
	return Names("layers.", parts, whole)
}

// Names returns the names of tensors of which parts are those of a layer, after the given prefix
// and its number, and whole are others.
func Names(layers string, parts, whole map[string]string) func(name string) string {
	return func(name string) string {
		stem, kind, _ := cutLast(strings.TrimPrefix(name, "model."))
		if rest, ok := strings.CutPrefix(stem, layers); ok {
			layer, part, _ := strings.Cut(rest, ".")
			if own, ok := parts[part+"."+kind]; ok { // with its end
				return "blk." + layer + "." + own
			}
			if own, ok := parts[part]; ok {
				return "blk." + layer + "." + own + "." + kind
			}
		}
		if own, ok := whole[stem]; ok {
			return own + "." + kind
		}
		return name
	}
}

// cutLast cuts around the last dot.
func cutLast(name string) (before, after string, found bool) {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i], name[i+1:], true
	}
	return name, "", false
}
