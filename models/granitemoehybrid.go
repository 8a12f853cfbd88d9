package models

import (
	"slices"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Granite 4: IBM, 2025. Granite with Mamba-2 in place of attention in most layers, or in none, and
// with a network that every row takes, beside a mixture of experts or without one. Attention has no
// positions unless the configuration says so.

func init() {
	Register(newGraniteHybrid, "granitemoehybrid")
	registerGGUF("granitehybrid", llamacpp.Architecture{ModelType: "granitemoehybrid", Neighbours: true, Experts: true, ByLayer: true, Read: readGraniteHybridGGUF, Parts: mambaParts("mamba.", llamacpp.Merged(
		llamacpp.Experts("block_sparse_moe.router.layer", "block_sparse_moe.gate_linear", "block_sparse_moe.up_linear", "block_sparse_moe.output_linear"),
		map[string]string{"shared_mlp.gate_linear": "ffn_gate_shexp", "shared_mlp.up_linear": "ffn_up_shexp", "shared_mlp.output_linear": "ffn_down_shexp"},
	))})
}

type graniteHybridConfig struct {
	graniteMoEConfig
	mambaFields
	SharedHidden int      `json:"shared_intermediate_size"`
	Experts      int      `json:"num_local_experts" min:"0"`
	LayerTypes   []string `json:"layer_types"` // null: Mamba-2 everywhere
	Positions    *string  `json:"position_embedding_type"`
}

// shared returns the names of the network that every row takes.
func (config *graniteHybridConfig) shared(llamaCpp bool) transformer.FeedForwardNames {
	switch {
	case !llamaCpp:
		return transformer.FeedForwardNames{Packed: "shared_mlp.input_linear.", Down: "shared_mlp.output_linear."}
	case config.Experts == 0:
		return llamaLayer.Feed
	}
	return transformer.FeedForwardNames{Gate: "shared_mlp.gate_linear.", Up: "shared_mlp.up_linear.", Down: "shared_mlp.output_linear."}
}

func newGraniteHybrid(c *Checkpoint) (*Model, error) {
	config := graniteHybridConfig{graniteMoEConfig: graniteMoEConfig{graniteConfig: graniteDefaults(), TopK: 2}, mambaFields: mambaDefaults(c), Experts: 8, SharedHidden: 1024}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	if p := config.Positions; p == nil || *p != "rope" {
		if p != nil && *p != "nope" {
			return nil, c.doc.Errorf("position_embedding_type", `want "rope", or null`)
		}
		layer.Self.Rotary, config.frequencies = nil, nil
	}
	recurrent, err := recurrentLayers(c.doc, "layer_types", config.LayerTypes, config.Layers)
	if err != nil {
		return nil, err
	}
	var mamba transformer.Mamba2Config
	if config.LayerTypes == nil || slices.ContainsFunc(config.LayerTypes, func(kind string) bool { return kind != configuration.FullAttention }) {
		if mamba, err = config.block(c, hybridNames, config.Dim, config.Expand*config.Dim, config.Activation, config.Eps); err != nil {
			return nil, err
		}
	}
	config.feed(&layer, config.shared(c.convention.Converted))
	layer.Self.Bias, layer.Self.OutBias, layer.Self.Scale = config.Bias, config.Bias, config.scores(c)
	names := block.LayerNames{LayerNames: llamaLayer}
	d := c.llamaDecoder(config.llamaFields, func(l *transformer.Loader, i int) (block.DecoderLayer, int) {
		var g *block.Layer
		if recurrent(i) {
			g = block.LoadMambaLayer(l, layer, names, mamba, "mamba.")
		} else {
			g = block.LoadLayer(l, layer, names)
		}
		g.Scale = config.Residual
		return g, 0
	})
	d.Tokens.Scale, d.Scale = config.Embedding, 1/config.Logits
	return c.decoderModel(d, config.Tied)
}

// feed has the layers load the shared network, and the mixture of experts if there are any.
func (config *graniteHybridConfig) feed(layer *transformer.LayerConfig, names transformer.FeedForwardNames) {
	shared := layer.FeedForward
	shared.Dim, shared.Hidden = config.Dim, config.SharedHidden
	experts := transformer.MixtureConfig{
		Dim: config.Dim, Hidden: config.Hidden, Experts: config.Experts, TopK: config.TopK, Normalize: true, Activation: shared.Activation, Sharpness: shared.Sharpness,
	}
	layer.Feed = func(l *transformer.Loader) transformer.Feed {
		s := l.FeedForward(shared, names)
		if config.Experts == 0 {
			return s
		}
		return feeds{l.Mixture(experts, graniteExperts), s}
	}
}

// feeds is the sum of two networks.
type feeds [2]transformer.Feed

// Forward sets dst, [rows, D], to the sum at x, [rows, D], plus residual, nil or [rows, D].
func (f feeds) Forward(ws *Workspace, dst, x, residual []float32) error {
	if err := f[0].Forward(ws, dst, x, residual); err != nil { // dst = f0(x) + residual  [rows, D]
		return err
	}
	return f[1].Forward(ws, dst, x, dst) // dst += f1(x)  [rows, D]
}

// recurrentLayers says which layers have Mamba-2 in place of attention: all of them where no kinds
// are given. The older names of kinds are those of transformers 4.
func recurrentLayers(d configuration.Document, field string, kinds []string, layers int) (func(layer int) bool, error) {
	if kinds == nil {
		return func(int) bool { return true }, nil
	}
	if len(kinds) != layers {
		return nil, d.Errorf(field, "want %d values, as many as layers", layers)
	}
	recurrent := make([]bool, layers)
	for i, kind := range kinds {
		switch kind {
		case "linear_attention", "mamba":
			recurrent[i] = true
		case configuration.FullAttention, "attention":
		default:
			return nil, d.Errorf(field, "want %q and %q", "linear_attention", configuration.FullAttention)
		}
	}
	return func(i int) bool { return recurrent[i] }, nil
}
