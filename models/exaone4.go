package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// EXAONE 4: LG AI Research, 2025, "EXAONE 4.0: Unified Large Language Models Integrating
// Non-reasoning and Reasoning Modes": Llama that normalizes what leaves each part, and the queries
// and keys of each head. Where some layers have windows, the others have no positions.

func init() {
	Register(newExaone4, "exaone4")
	registerGGUF("exaone4", llamacpp.Architecture{Parts: llamacpp.PostNorms, Read: func(r *llamacpp.Reader) {
		if r.Fields["sliding_window"] = nil; r.IntegerOf("attention.sliding_window") > 0 {
			r.Windows(4)
		}
	}})
}

type exaone4Config struct {
	llamaFields
	configuration.WindowFields
	Pattern int `json:"sliding_window_pattern" min:"0"` // the last layer of each group of this size sees all
}

func newExaone4(c *Checkpoint) (*Model, error) {
	config := exaone4Config{llamaFields: llamaDefaults, WindowFields: configuration.WindowFields{Window: 4096}, Pattern: 4}
	config.Vocab, config.Hidden, config.Eps = 102400, 16384, 1e-5
	config.Kinds = true
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	hybrid := !c.doc.IsNull("sliding_window") // else all layers have positions, and none a window
	if !hybrid {
		config.Window = 0
	}
	if hybrid && config.LayerTypes == nil && config.Pattern == 0 {
		return nil, c.doc.Errorf("sliding_window_pattern", "want the size of a group of layers")
	}
	windows, err := c.doc.Windows(config.WindowFields, config.Layers, func(i int) bool { return (i+1)%max(config.Pattern, 1) != 0 })
	if err != nil {
		return nil, err
	}
	sliding, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	sliding.Self.QKNorm = &transformer.NormConfig{Eps: config.Eps, RMS: true}
	full := sliding
	if hybrid {
		full.Self.Rotary = nil
	}
	return c.llama(config.llamaFields, func(l *transformer.Loader, i int) (block.DecoderLayer, int) {
		if w := windows(i); w > 0 {
			return block.LoadLayer(l, sliding, postNormed), w
		}
		return block.LoadLayer(l, full, postNormed), 0
	})
}
