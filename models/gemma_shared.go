package models

import (
	"fmt"
	"slices"

	"github.com/avoformer/avoformer/models/internal/configuration"
)

// Layers at the end of Gemma 3n and 4 attend to the keys and values of earlier layers.

// keySources returns, for each kind of layer, the layer whose keys and values the last layers of
// the kind take. shared is the number of layers that take them.
func keySources(d configuration.Document, kinds []string, shared int) (map[string]int, error) {
	const field = "num_kv_shared_layers"
	own := len(kinds) - shared
	if own < 1 {
		return nil, d.Errorf(field, "want at most %d", len(kinds)-1)
	}
	sources := map[string]int{}
	for i, kind := range kinds[:own] {
		sources[kind] = i
	}
	for _, kind := range kinds {
		if _, ok := sources[kind]; !ok {
			return nil, d.Errorf(field, "no layer of %s has keys and values of its own", kind)
		}
	}
	return sources, nil
}

// keptOf returns which of LayerInput.Kept layer i leaves its keys and values in or takes them from,
// counted from 1; 0: none.
func keptOf(kinds []string, i, shared int, sources map[string]int) int {
	if shared == 0 || i < len(kinds)-shared && sources[kinds[i]] != i {
		return 0
	}
	return 1 + slices.Index([]string{configuration.FullAttention, configuration.SlidingAttention}, kinds[i])
}

// ignoreKeys skips the tensors of keys and values that some checkpoints have for a layer that takes
// those of an earlier layer.
func (c *Checkpoint) ignoreKeys(layer int) {
	for _, part := range []string{"k_proj", "v_proj", "k_norm", "v_norm"} {
		c.Loader.Ignore(fmt.Sprintf("*layers.%d.self_attn.%s.*", layer, part))
	}
	for _, part := range []string{"attn_k", "attn_v", "attn_k_norm"} {
		c.Loader.Ignore(fmt.Sprintf("blk.%d.%s.*", layer, part))
	}
}
