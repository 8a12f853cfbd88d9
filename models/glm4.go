package models

import (
	"slices"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// GLM-4: Team GLM, 2024, "ChatGLM: A Family of Large Language Models from GLM-130B to GLM-4 All
// Tools", in its version 0414: Llama that normalizes what enters each part and what leaves it, with
// rotary positions in a half of each head.

func init() {
	Register(newGLM4, "glm4")
	registerGGUF("glm4", llamacpp.Architecture{
		Partial: "partial_rotary_factor", Read: readGLM4GGUF,
		Parts: map[string]string{"post_self_attn_layernorm": "post_attention_norm", "post_mlp_layernorm": "post_ffw_norm"},
	})
}

type glm4Config struct {
	llamaFields
	Bias bool `json:"attention_bias"` // of queries, keys and values
}

func newGLM4(c *Checkpoint) (*Model, error) {
	config := glm4Config{llamaFields: llamaDefaults, Bias: true}
	config.Vocab, config.Dim, config.Hidden, config.Layers, config.Heads, config.KVHeads, config.HeadDim = 151552, 4096, 13696, 40, 32, 2, 128
	config.MaxPositions, config.Eps, config.Part, config.Partial = 131072, 1.5625e-7, 0.5, true
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	layer.Self.Bias = config.Bias
	layer.Self.Rotary.Pairing = transformer.PairNeighbours
	names := block.LayerNames{LayerNames: llamaLayer, PostNorm: "post_self_attn_layernorm.", FeedPostNorm: "post_mlp_layernorm."}
	names.Feed = transformer.FeedForwardNames{Packed: "mlp.gate_up_proj.", Down: "mlp.down_proj."}
	return c.llama(config.llamaFields, func(l *transformer.Loader, _ int) (block.DecoderLayer, int) {
		return block.LoadLayer(l, layer, names), 0
	})
}

// readGLM4GGUF tells by the tensors whether attention has biases. Sections of a head for the axes
// of images change the pairs that turn.
func readGLM4GGUF(r *llamacpp.Reader) {
	readBiasGGUF(r)
	const key = "rope.dimension_sections"
	sections, _ := r.File.Ints(r.Key(key))
	if slices.ContainsFunc(sections, func(n int64) bool { return n != 0 }) {
		r.Refuse(key, sections, "not supported")
	}
}
