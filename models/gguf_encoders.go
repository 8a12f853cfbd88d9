package models

import (
	"strings"

	"github.com/avoformer/avoformer/internal/check"
)

// Encoders of GGUF files, and how texts become vectors. Source: what llama.cpp does with their metadata.

// encoder reads what encoders have beside the sizes of all models.
func (r *ggufReader) encoder() {
	r.fields["model_type"], r.fields["architectures"] = strings.ReplaceAll(r.arch, "-", "_"), []string{"Model"}
	types, _ := r.file.Info("token_types.weight")
	r.fields["type_vocab_size"] = 0
	if len(types.Shape) == 2 {
		r.fields["type_vocab_size"] = types.Shape[0]
	}
	r.number("layer_norm_eps", "attention.layer_norm_epsilon", true)
	if r.flag("attention.causal", false) {
		r.note(check.Errorf(ErrConfig, "%s.attention.causal = true: not supported", r.arch))
	}
	heads := r.integerOf("attention.head_count")
	if n := r.integerOf("attention.head_count_kv"); n != 0 && n != heads {
		r.note(check.Errorf(ErrConfig, "%s.attention.head_count_kv = %d, want head_count = %d", r.arch, n, heads))
	}
	if r.arch == "bert" {
		r.fields["hidden_act"] = "gelu"
		return
	}
	r.fields["hidden_act"], r.fields["rope_theta"] = "silu", 10000
	r.number("rope_theta", "rope.freq_base", false)
	r.rope(ggufDecoder{})
}

// flag is the architecture's bool, or what holds without one.
func (r *ggufReader) flag(name string, without bool) bool {
	key := r.key(name)
	if _, ok := r.file.Value(key); !ok {
		return without
	}
	value, err := r.file.Bool(key)
	r.note(err)
	return value
}

// ggufPoolings are llama.cpp's numbers of poolings; 0 is none.
var ggufPoolings = []pooling{1: poolMean, 2: poolFirst, 3: poolLast}

// pooling is how hidden states become the vector of a text; nil if the file is not of an embedder.
func (r *ggufReader) pooling() pooling {
	n := r.integerOf("pooling_type")
	if n < 0 || n >= int64(len(ggufPoolings)) {
		r.note(check.Errorf(ErrConfig, "%s.pooling_type = %d: not supported", r.arch, n))
		return nil
	}
	return ggufPoolings[n]
}

// sentence is the embedder with a pooling. Files do not say whether vectors have length 1; everyone who
// reads them makes them so.
func sentence(encoder Encoder, pool pooling) *SentenceEmbedder {
	dim := encoder.Dim()
	return &SentenceEmbedder{IncludePrompt: true, encoder: encoder, pools: []pooling{pool}, rest: []sentenceModule{{}}, out: dim, dim: dim}
}

// encoderName gives llama.cpp's names of the tensors that Hugging Face's have. Nomic BERT's are those of its
// published form where queries, keys and values are one tensor.
func (r *ggufReader) encoderName() func(name string) string {
	whole := map[string]string{
		"embeddings.word_embeddings": "token_embd", "embeddings.token_type_embeddings": "token_types",
		"embeddings.position_embeddings": "position_embd", "embeddings.LayerNorm": "token_embd_norm",
	}
	switch {
	case r.arch == "bert":
		return ggufNames("encoder.layer.", map[string]string{
			"attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
			"attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
			"intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm",
		}, whole)
	case r.has("blk.0.attn_qkv.weight"):
		whole["emb_ln"] = "token_embd_norm"
		return ggufNames("encoder.layers.", map[string]string{
			"attn.Wqkv": "attn_qkv", "attn.out_proj": "attn_output", "norm1": "attn_output_norm", "norm2": "layer_output_norm",
			"mlp.fc11": "ffn_up", "mlp.fc12": "ffn_gate", "mlp.fc2": "ffn_down",
		}, whole)
	}
	return ggufNames("layers.", map[string]string{
		"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
		"post_attention_layernorm": "attn_output_norm", "post_mlp_layernorm": "layer_output_norm",
		"mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
	}, whole)
}
