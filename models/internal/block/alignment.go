package block

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/transformer"
)

// This file has the weights of cross-attention, which say where in a memory a decoder reads.

// CrossWeights returns the weights with which heads attend to the memory of one sequence, at each
// of the tokens that are its text: [heads, tokens, rows of memory].
func (d *Decoder) CrossWeights(ws *transformer.Workspace, heads []CrossHead, tokens []int, memory *transformer.Memory) ([]float32, error) {
	if memory == nil || memory.Batch.Len() != 1 {
		return nil, check.Errorf(fault.ErrShape, "cross-attention: want a memory of one sequence")
	}
	w := crossWeights{heads: heads, size: len(tokens) * memory.Batch.Rows()}
	most := 0 // heads of a layer
	for _, h := range heads {
		if h.Layer < 0 || h.Layer >= len(d.layers) {
			return nil, check.Errorf(fault.ErrConfig, "cross-attention: layer %d of %d", h.Layer, len(d.layers))
		}
		l, ok := d.layers[h.Layer].(*transformer.Layer)
		if !ok || l.Cross == nil || h.Head < 0 || h.Head >= l.Cross.Heads {
			return nil, check.Errorf(fault.ErrConfig, "cross-attention: layer %d has no head %d", h.Layer, h.Head)
		}
		most = max(most, l.Cross.Heads)
	}
	defer ws.Release(ws.Mark())
	w.weights, w.layer = make([]float32, len(heads)*w.size), ws.Alloc(most*w.size)
	x := ws.Alloc(len(tokens) * d.Dim()) // [tokens, D]
	return w.weights, d.pass(ws, x, tokens, transformer.Uniform(1, len(tokens)), nil, memory, nil, &w)
}
