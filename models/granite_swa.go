package models

import (
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Granite with windows: IBM, 2026, "Granite Swash": a sink in every head, windows in three of four
// layers, and rotary positions with a base by layer, or none.

func init() {
	Register(newGraniteSWA, "granite_swa")
	registerGGUF("granite_swa", llamacpp.Architecture{Neighbours: true, Read: readGraniteSWAGGUF, Parts: map[string]string{"self_attn.sinks": "attn_sinks.weight"}})
}

type graniteSWAConfig struct {
	graniteConfig
	configuration.WindowFields
	Thetas []float64 `json:"layer_rope_theta"` // the base of each layer; 0: it has no positions
}

func newGraniteSWA(c *Checkpoint) (*Model, error) {
	config := graniteSWAConfig{graniteConfig: graniteDefaults(), WindowFields: configuration.WindowFields{Window: 128}}
	config.Vocab, config.Dim, config.Hidden, config.Layers, config.Heads, config.KVHeads = 100352, 2560, 8192, 24, 20, 4
	config.MaxPositions, config.Eps, config.Tied, config.Kinds = 8192, 1e-5, true, true
	if c.doc.IsNull("sliding_window") {
		config.Window = 0
	}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	windows, err := c.doc.Windows(config.WindowFields, config.Layers, func(i int) bool { return i%4 != 0 })
	if err != nil {
		return nil, err
	}
	if config.Thetas != nil && len(config.Thetas) != config.Layers {
		return nil, c.doc.Errorf("layer_rope_theta", "want %d numbers, as many as layers", config.Layers)
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	layer.Self.Sink, layer.FeedForward.Bias = true, config.MLPBias
	rotaries := map[float64]*transformer.RotaryConfig{0: nil}
	for _, theta := range config.Thetas {
		if _, ok := rotaries[theta]; ok {
			continue
		}
		fields := config.RopeFields
		fields.Only = theta
		rotary, err := c.doc.Rotary(fields, config.HeadDim, config.MaxPositions)
		if err != nil {
			return nil, err
		}
		rotary.Pairing = layer.Self.Rotary.Pairing
		rotaries[theta] = rotary
	}
	return c.granite(config.graniteConfig, func(i int) (transformer.LayerConfig, int) {
		own := layer
		if config.Thetas != nil {
			own.Self.Rotary = rotaries[config.Thetas[i]]
		}
		return own, windows(i)
	})
}

// readGraniteSWAGGUF reads which layers have windows and positions.
func readGraniteSWAGGUF(r *llamacpp.Reader) {
	readGraniteGGUF(r)
	r.Windows(-1) // there is a list
	pattern, ok := r.File.Value(r.Key("attention.rope_pattern"))
	if !ok {
		return
	}
	turns, ok := pattern.([]bool)
	if !ok {
		r.Refuse("attention.rope_pattern", pattern, "want a list")
		return
	}
	thetas := make([]any, len(turns))
	for i, turns := range turns {
		if thetas[i] = 0; turns {
			thetas[i] = r.Fields["rope_theta"]
		}
	}
	r.Fields["layer_rope_theta"] = thetas
}
