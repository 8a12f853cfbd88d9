package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Mamba-2: Dao and Gu, 2024, "Transformers are SSMs: Generalized Models and Efficient Algorithms
// Through Structured State Space Duality". A layer is a block of Mamba-2 whose input is normalized.

func init() {
	Register(newMamba2, "mamba2")
	registerGGUF("mamba2", llamacpp.Architecture{
		Varying: true, Read: readMamba2GGUF, Whole: map[string]string{"norm_f": "output_norm"}, Parts: mambaParts("mixer.", map[string]string{"norm": "attn_norm"}),
	})
}

type mamba2Config struct {
	Vocab      int       `json:"vocab_size"`
	Dim        int       `json:"hidden_size"`
	Layers     int       `json:"num_hidden_layers"`
	Eps        float32   `json:"layer_norm_epsilon"`
	Tied       bool      `json:"tie_word_embeddings"`
	Activation string    `json:"hidden_act"`
	Heads      int       `json:"num_heads"`
	HeadDim    int       `json:"head_dim"`
	Groups     int       `json:"n_groups"`
	State      int       `json:"state_size"`
	Taps       int       `json:"conv_kernel"`
	Expand     int       `json:"expand"`
	ConvBias   bool      `json:"use_conv_bias"`
	Bias       bool      `json:"use_bias"`
	Limit      stepLimit `json:"time_step_limit"`
}

// mamba2Names are the names of its fields of Mamba-2.
var mamba2Names = mambaNames{
	Activation: "hidden_act", Heads: "num_heads", HeadDim: "head_dim", Groups: "n_groups", State: "state_size", Taps: "conv_kernel", ConvBias: "use_conv_bias", InBias: "use_bias",
}

// mamba2Idle are fields of training, of how transformers computes, and of attention.
var mamba2Idle = []string{"is_causal", "sliding_window", "attention_chunk_size", "time_step_rank", "time_step_min", "time_step_max", "time_step_floor", "residual_in_fp32", "rescale_prenorm_residual", "chunk_size"}

func newMamba2(c *Checkpoint) (*Model, error) {
	config := mamba2Config{Vocab: 32768, Dim: 4096, Layers: 64, Eps: 1e-5, Activation: "silu", Heads: 128, HeadDim: 64, Groups: 8, State: 128, Taps: 4, Expand: 2, ConvBias: true}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if inner := config.Expand * config.Dim; config.Heads*config.HeadDim != inner {
		return nil, c.doc.Errorf("head_dim", "want expand*hidden_size = %d channels in num_heads = %d heads", inner, config.Heads)
	}
	fields := mambaFields{MambaHeads: config.Heads, MambaHeadDim: "auto", Groups: config.Groups, State: config.State, Taps: config.Taps, ConvBias: config.ConvBias, InBias: config.Bias, Limit: config.Limit}
	mamba, err := fields.block(c, mamba2Names, config.Dim, config.Heads*config.HeadDim, config.Activation, config.Eps)
	if err != nil {
		return nil, err
	}
	for _, field := range mamba2Idle {
		c.doc.Note(field)
	}
	if !c.convention.Converted {
		c.Loader.Rename(backboneNames)
	}
	norm := transformer.NormConfig{Shape: []int{config.Dim}, Eps: config.Eps, RMS: true}
	f := llamaFields{Vocab: config.Vocab, Dim: config.Dim, Layers: config.Layers, Tied: config.Tied, Eps: config.Eps, normName: "norm_f."}
	return c.llama(f, func(l *transformer.Loader, _ int) (block.DecoderLayer, int) {
		return &block.Layer{Norm: l.At("norm.").Norm(norm), Mamba: l.At("mixer.").Mamba2(mamba)}, 0
	})
}

// readMamba2GGUF reads what Mamba-2 has. llama.cpp writes a length of contexts that nothing limits,
// and no heads of attention and no width of feed-forward networks.
func readMamba2GGUF(r *llamacpp.Reader) {
	for _, field := range []string{"num_attention_heads", "max_position_embeddings"} {
		delete(r.Fields, field)
	}
	r.Key("feed_forward_length")
	r.Rename("layer_norm_epsilon", "rms_norm_eps")
	readMambaGGUF(r, mamba2Names, 0)
	readMambaInner(r, mamba2Names.HeadDim, "ssm.time_step_rank")
	readMambaInner(r, "expand", "embedding_length")
}
