package llamacpp

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// Encoders of GGUF files, and how texts become vectors. Source: what llama.cpp does with their metadata.

// ggufEncoder is what an architecture of llama.cpp's has beside what all encoders have.
type ggufEncoder struct {
	kind    string // model_type
	epsilon string // the field of the epsilon of layer normalizations; "": none
	read    func(r *Reader)
	names   func(r *Reader) func(name string) string
}

// ggufEncoders are the architectures.
var ggufEncoders = map[string]ggufEncoder{
	"bert": {kind: "bert", epsilon: "layer_norm_eps", names: (*Reader).bertNames, read: func(r *Reader) {
		r.types()
		r.fields["hidden_act"] = "gelu"
	}},
	"jina-bert-v2": {kind: "bert", epsilon: "layer_norm_eps", names: (*Reader).bertNames, read: func(r *Reader) {
		r.types()
		r.fields["hidden_act"], r.fields["position_embedding_type"], r.fields["feed_forward_type"] = "gelu", "alibi", "geglu"
	}},
	"nomic-bert": {kind: "nomic_bert", epsilon: "layer_norm_eps", names: (*Reader).nomicNames, read: func(r *Reader) {
		r.types()
		r.fields["hidden_act"], r.fields["rope_theta"] = "silu", 10000
		r.number("rope_theta", "rope.freq_base", false)
		r.rope(ggufDecoder{})
	}},
	"nomic-bert-moe": {kind: "nomic_bert", epsilon: "layer_norm_epsilon", names: (*Reader).nomicNames, read: (*Reader).nomicMixture},
	"modern-bert":    {kind: "modernbert", epsilon: "norm_eps", names: (*Reader).modernNames, read: (*Reader).modern},
	"t5":             {kind: "t5", names: (*Reader).t5Names, read: (*Reader).t5},
	"t5encoder":      {kind: "t5", names: (*Reader).t5Names, read: (*Reader).t5},
}

// ggufEncoderNames are llama.cpp's names of encoders, and of models that have an encoder and a decoder.
var ggufEncoderNames = slices.Sorted(maps.Keys(ggufEncoders))

// encoder reads what encoders have beside the sizes of all models.
func (r *Reader) encoder() {
	own := ggufEncoders[r.Architecture]
	r.fields["model_type"], r.fields["architectures"] = own.kind, []string{"Model"}
	if own.epsilon != "" {
		r.number(own.epsilon, "attention.layer_norm_epsilon", true)
	}
	if r.flag("attention.causal", false) {
		r.note(check.Errorf(check.ErrConfig, "%s.attention.causal = true: not supported", r.Architecture))
	}
	heads := r.integerOf("attention.head_count")
	if n := r.integerOf("attention.head_count_kv"); n != 0 && n != heads {
		r.note(check.Errorf(check.ErrConfig, "%s.attention.head_count_kv = %d, want head_count = %d", r.Architecture, n, heads))
	}
	own.read(r)
}

// nomicMixture reads what Nomic BERT with a mixture of experts has, in the words of the form that it is published in.
func (r *Reader) nomicMixture() {
	r.types()
	for field, of := range map[string]string{"n_embd": "hidden_size", "n_inner": "intermediate_size", "n_layer": "num_hidden_layers", "n_head": "num_attention_heads", "n_positions": "max_position_embeddings"} {
		r.rename(field, of)
	}
	r.fields["activation_function"], r.fields["rotary_emb_base"] = "gelu", 10000
	r.number("rotary_emb_base", "rope.freq_base", false)
	r.integer("num_experts", "expert_count", true)
	r.integer("moe_top_k", "expert_used_count", true)
	r.integer("moe_every_n_layers", "moe_every_n_layers", true)
	r.want("expert_weights_scale", 1)
}

// rename gives a field another name.
func (r *Reader) rename(field, of string) {
	r.fields[field] = r.fields[of]
	delete(r.fields, of)
}

// types reads how many types of tokens there are.
func (r *Reader) types() {
	types, _ := r.file.Info("token_types.weight")
	r.fields["type_vocab_size"] = 0
	if len(types.Shape) == 2 {
		r.fields["type_vocab_size"] = types.Shape[0]
	}
}

// modern reads what ModernBERT has: layers that see all tokens, the first and then every so many, and layers with a
// window, whose positions have a base of their own.
func (r *Reader) modern() {
	r.integer("local_attention", "attention.sliding_window", true)
	r.number("global_rope_theta", "rope.freq_base", true)
	r.number("local_rope_theta", "rope.freq_base_swa", false)
	const every = "attention.sliding_window_pattern"
	value, _ := r.file.Value(r.key(every))
	if kinds, ok := value.([]bool); ok { // whether each layer has a window
		r.fields["layer_types"] = windowed(kinds)
	} else {
		r.integer("global_attn_every_n_layers", every, false)
	}
	if act, err := r.file.Text(r.key("hidden_activation")); err == nil {
		r.fields["hidden_activation"] = act
	} else if !errors.Is(err, gguf.ErrAbsent) {
		r.note(err)
	}
	if kind, err := r.file.Text(r.key("rope.scaling.type")); err == nil && kind != "none" {
		r.note(configuration.KeyError(r.key("rope.scaling.type"), kind, "not supported"))
	}
}

// windowed is the types of layers of which some have a window.
func windowed(kinds []bool) []string {
	types := make([]string, len(kinds))
	for i, window := range kinds {
		if types[i] = configuration.FullAttention; window {
			types[i] = configuration.SlidingAttention
		}
	}
	return types
}

// t5 reads what T5 has. The largest distance of the buckets is not among the metadata: it is 128 in all published sizes,
// and where a gate tells the feed-forward networks of version 1.1, the activation is GELU's approximation.
func (r *Reader) t5() {
	for field, of := range map[string]string{"d_model": "hidden_size", "d_ff": "intermediate_size", "num_layers": "num_hidden_layers", "num_heads": "num_attention_heads"} {
		r.rename(field, of)
	}
	delete(r.fields, "max_position_embeddings") // of the texts that it was trained with: its positions have no end
	r.integer("d_kv", "attention.key_length", true)
	if v, k := r.integerOf("attention.value_length"), r.integerOf("attention.key_length"); v != 0 && v != k {
		r.note(configuration.KeyError(r.key("attention.value_length"), v, "want key_length = %d", k))
	}
	r.number("layer_norm_epsilon", "attention.layer_norm_rms_epsilon", true)
	r.integer("relative_attention_num_buckets", "attention.relative_buckets_count", true)
	r.fields["relative_attention_max_distance"], r.fields["feed_forward_proj"] = 128, "relu"
	if r.has("enc.blk.0.ffn_gate.weight") {
		r.fields["feed_forward_proj"] = "gated-gelu"
	}
	if r.Architecture == "t5encoder" {
		return
	}
	r.fields["architectures"], r.fields["is_encoder_decoder"] = []string{"T5ForConditionalGeneration"}, true
	r.fields["tie_word_embeddings"] = !r.has("output.weight")
	r.fields["decoder_start_token_id"] = r.integerOf("decoder_start_token_id")
	r.integer("num_decoder_layers", "decoder_block_count", false)
}

// flag is the architecture's bool, or what holds without one.
func (r *Reader) flag(name string, without bool) bool {
	key := r.key(name)
	if _, ok := r.file.Value(key); !ok {
		return without
	}
	value, err := r.file.Bool(key)
	r.note(err)
	return value
}

// ggufPoolings are llama.cpp's numbers of poolings; 0 is none.
var ggufPoolings = []block.Pooling{1: block.PoolMean, 2: block.PoolFirst, 3: block.PoolLast}

// pooling is how hidden states become the vector of a text; nil if the file is not of an embedder.
func (r *Reader) pooling() block.Pooling {
	n := r.integerOf("pooling_type")
	if n < 0 || n >= int64(len(ggufPoolings)) {
		r.note(check.Errorf(check.ErrConfig, "%s.pooling_type = %d: not supported", r.Architecture, n))
		return nil
	}
	return ggufPoolings[n]
}

// ggufEmbeddings are llama.cpp's names of BERT's embeddings.
var ggufEmbeddings = map[string]string{
	"embeddings.word_embeddings": "token_embd", "embeddings.token_type_embeddings": "token_types",
	"embeddings.position_embeddings": "position_embd", "embeddings.LayerNorm": "token_embd_norm",
}

// bertNames gives llama.cpp's names of BERT's tensors, and of those that Jina's version 2 has instead.
func (r *Reader) bertNames() func(name string) string {
	return ggufNames("encoder.layer.", map[string]string{
		"attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
		"attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
		"intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm",
		"mlp.gated_layers": "ffn_up", "mlp.gate": "ffn_gate", "mlp.wo": "ffn_down", "mlp.layernorm": "layer_output_norm",
	}, ggufEmbeddings)
}

// nomicNames gives llama.cpp's names of Nomic BERT's tensors: of its published form where queries, keys and values are
// one tensor.
func (r *Reader) nomicNames() func(name string) string {
	if r.has("blk.0.attn_qkv.weight") {
		return ggufNames("encoder.layers.", map[string]string{
			"attn.Wqkv": "attn_qkv", "attn.out_proj": "attn_output", "norm1": "attn_output_norm", "norm2": "layer_output_norm",
			"mlp.fc11": "ffn_up", "mlp.fc12": "ffn_gate", "mlp.fc2": "ffn_down", "mlp.fc1": "ffn_up",
			"mlp.router.layer": "ffn_gate_inp", "mlp.experts.up": "ffn_up_exps", "mlp.experts.down": "ffn_down_exps",
		}, merged(ggufEmbeddings, map[string]string{"emb_ln": "token_embd_norm"}))
	}
	return ggufNames("layers.", map[string]string{
		"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
		"post_attention_layernorm": "attn_output_norm", "post_mlp_layernorm": "layer_output_norm",
		"mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
	}, ggufEmbeddings)
}

// modernNames gives llama.cpp's names of ModernBERT's tensors.
func (r *Reader) modernNames() func(name string) string {
	return ggufNames("layers.", map[string]string{
		"attn.Wqkv": "attn_qkv", "attn.Wo": "attn_output", "attn_norm": "attn_norm", "mlp.Wi": "ffn_up", "mlp.Wo": "ffn_down", "mlp_norm": "ffn_norm",
	}, map[string]string{"embeddings.tok_embeddings": "token_embd", "embeddings.norm": "token_embd_norm", "final_norm": "output_norm"})
}

// t5Names gives llama.cpp's names of T5's tensors.
func (r *Reader) t5Names() func(name string) string {
	self := map[string]string{
		"layer.0.SelfAttention.q": "attn_q", "layer.0.SelfAttention.k": "attn_k", "layer.0.SelfAttention.v": "attn_v", "layer.0.SelfAttention.o": "attn_o",
		"layer.0.SelfAttention.relative_attention_bias": "attn_rel_b", "layer.0.layer_norm": "attn_norm",
		"layer.1.EncDecAttention.q": "cross_attn_q", "layer.1.EncDecAttention.k": "cross_attn_k", "layer.1.EncDecAttention.v": "cross_attn_v", "layer.1.EncDecAttention.o": "cross_attn_o",
	}
	feed := func(layer string) map[string]string {
		return map[string]string{
			layer + ".DenseReluDense.wi": "ffn_up", layer + ".DenseReluDense.wi_0": "ffn_gate", layer + ".DenseReluDense.wi_1": "ffn_up",
			layer + ".DenseReluDense.wo": "ffn_down", layer + ".layer_norm": "ffn_norm",
		}
	}
	whole := map[string]string{"shared": "token_embd", "lm_head": "output", "encoder.final_layer_norm": "enc.output_norm", "decoder.final_layer_norm": "dec.output_norm"}
	encoder := ggufNames("encoder.block.", merged(self, feed("layer.1")), whole)
	decoder := ggufNames("decoder.block.", merged(merged(self, feed("layer.2")), map[string]string{"layer.1.layer_norm": "cross_attn_norm"}), whole)
	return func(name string) string {
		switch own := encoder(name); {
		case strings.HasPrefix(own, "blk."):
			return "enc." + own
		case own != name:
			return own
		}
		if own := decoder(name); own != name {
			return "dec." + own
		}
		return name
	}
}
