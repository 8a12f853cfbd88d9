package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// GPT-NeoX: Black et al., 2022, "GPT-NeoX-20B: An Open-Source Autoregressive Language Model";
// Pythia has its architecture too. Parallel layers, unless the configuration says otherwise, which
// rotate a part of each head.

func init() {
	Register(newGPTNeoX, "gpt_neox")
	registerGGUF("gptneox", llamacpp.Architecture{
		ModelType: "gpt_neox", Epsilon: "layer_norm_eps", Partial: "rotary_pct", Read: readGPTNeoXGGUF,
		Parts: map[string]string{"attention.query_key_value": "attn_qkv", "attention.dense": "attn_output", "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down"},
		Whole: map[string]string{"embed_in": "token_embd", "final_layer_norm": "output_norm"},
	})
}

type neoxConfig struct {
	Vocab        int     `json:"vocab_size"`
	Dim          int     `json:"hidden_size"`
	Layers       int     `json:"num_hidden_layers"`
	Heads        int     `json:"num_attention_heads"`
	Hidden       int     `json:"intermediate_size"`
	Activation   string  `json:"hidden_act"`
	MaxPositions int     `json:"max_position_embeddings"`
	Eps          float32 `json:"layer_norm_eps"`
	Tied         bool    `json:"tie_word_embeddings"`
	Parallel     bool    `json:"use_parallel_residual"`
	Bias         bool    `json:"attention_bias"`

	RopeScaling    any     `json:"rope_scaling"`
	RopeParameters any     `json:"rope_parameters"`
	RopeTheta      any     `json:"rope_theta"`                       // read in the objects alone
	RopeOriginal   any     `json:"original_max_position_embeddings"` // read where it counts
	Theta          float64 `json:"rotary_emb_base" min:"1"`
	Part           float64 `json:"rotary_pct"`
}

var neoxLayer = transformer.LayerNames{
	Self: "attention.", SelfNorm: "input_layernorm.", FeedNorm: "post_attention_layernorm.",
	Attention: transformer.AttentionNames{Packed: "query_key_value.", ByHead: true, Out: "dense."},
	Feed:      transformer.FeedForwardNames{Up: "mlp.dense_h_to_4h.", Down: "mlp.dense_4h_to_h."},
}

func newGPTNeoX(c *Checkpoint) (*Model, error) {
	config := neoxConfig{
		Vocab: 50432, Dim: 6144, Layers: 44, Heads: 64, Hidden: 24576, Activation: "gelu", MaxPositions: 2048, Eps: 1e-5,
		Parallel: true, Bias: true, Theta: 10000, Part: 0.25,
	}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	activation, sharpness, err := c.doc.FeedActivation("hidden_act", config.Activation)
	if err != nil {
		return nil, err
	}
	if config.Dim%config.Heads != 0 {
		return nil, c.doc.Errorf("num_attention_heads", "does not divide hidden_size = %d", config.Dim)
	}
	if c.doc.SaysPart(config.Part) { // which transformers reads beside some forms of rope_scaling alone
		return nil, c.doc.Errorf("partial_rotary_factor", "want %g, as rotary_pct says", config.Part)
	}
	rotary, err := c.doc.Rotary(configuration.RopeFields{RopeTheta: config.Theta, Base: !c.convention.Converted, Part: config.Part, Partial: true}, config.Dim/config.Heads, config.MaxPositions)
	if err != nil {
		return nil, err
	}
	norm := transformer.NormConfig{Shape: []int{config.Dim}, Eps: config.Eps}
	layer := transformer.LayerConfig{
		Self:        transformer.AttentionConfig{Dim: config.Dim, Heads: config.Heads, Bias: config.Bias, OutBias: config.Bias, Rotary: rotary},
		FeedForward: transformer.FeedForwardConfig{Dim: config.Dim, Hidden: config.Hidden, Activation: activation, Sharpness: sharpness, Bias: true},
		Norm:        norm,
		NormFirst:   true,
	}
	names := neoxLayer
	names.Attention.ByHead = !c.convention.Converted // which has all queries, all keys and all values together
	body := c.Loader.Under("embed_in.weight", "gpt_neox.", "")
	d := &block.Decoder{
		Embedder: block.Embedder{Tokens: body.At("embed_in.").Embedding(config.Vocab, config.Dim)},
		ByLength: rotary.FrequenciesAt != nil,
		Norm:     body.At("final_layer_norm.").Norm(norm),
	}
	for i := 0; i < config.Layers && !c.Loader.Stopped(); i++ {
		l := body.At("layers.%d.", i)
		l.Ignore("attention.bias", "attention.masked_bias") // masks, as older checkpoints have them
		if !config.Parallel {
			d.Add(l.Layer(layer, names), 0)
			continue
		}
		d.Add(&block.ParallelLayer{
			Norm:      l.At(neoxLayer.SelfNorm).Norm(norm),
			FeedNorm:  l.At(neoxLayer.FeedNorm).Norm(norm),
			Attention: l.At(neoxLayer.Self).Attention(layer.Self, names.Attention),
			Feed:      l.FeedForward(layer.FeedForward, neoxLayer.Feed),
		}, 0)
	}
	c.Config.Vocab, c.Config.Dim, c.Config.Layers, c.Config.MaxLength = config.Vocab, config.Dim, config.Layers, c.doc.Reach("", config.MaxPositions)
	return c.decoderModel(d, config.Tied)
}

// readGPTNeoXGGUF reads what GPT-NeoX has.
func readGPTNeoXGGUF(r *llamacpp.Reader) {
	r.Fields["use_parallel_residual"] = r.Flag("use_parallel_residual", true)
	for _, field := range []string{"num_key_value_heads", "head_dim"} {
		delete(r.Fields, field)
	}
	r.Fields["rotary_emb_base"] = r.NumberOf("rope.freq_base", 10000)
	delete(r.Fields, "rope_theta")
}
