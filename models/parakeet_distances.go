package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// The distances in a sound, as the attention of the layers sees them. They are the same for all
// sounds of a length, and those of a shorter sound are among them.

// distances has the projections that the layers compute of the distances in sounds of up to rows
// hidden states: [2*rows-1, D] of each layer.
type distances struct {
	rows   int
	layers [][]float32
}

// keptDistances is the most bytes of distances that an encoder keeps.
const keptDistances = 64 << 20

// near returns the distances of layer i in sounds of fewer rows, [2*rows-1, D].
func (d *distances) near(i, rows, dim int) []float32 {
	return d.layers[i][(d.rows-rows)*dim : (d.rows+rows-1)*dim]
}

// distances returns those of sounds of rows hidden states, and keeps them for later sounds. It
// returns nil where they are too large to be kept.
func (a *spectrogramEncoder) distances(ws *Workspace, rows int) (*distances, error) {
	known, size := a.known.Load(), (2*rows-1)*a.Dim()
	switch {
	case known != nil && known.rows >= rows:
		return known, nil
	case size*len(a.layers) > a.keep/4:
		return nil, nil
	}
	defer ws.Release(ws.Mark())
	vectors := ws.Alloc(size) // [2*rows-1, D]
	block.DistanceVectors(vectors, rows, a.Dim())
	d := &distances{rows, make([][]float32, len(a.layers))}
	for i, l := range a.layers {
		d.layers[i] = make([]float32, size)
		if err := l.Distances(ws, d.layers[i], vectors); err != nil {
			return nil, err
		}
	}
	for !a.known.CompareAndSwap(known, d) { // in place of those of shorter sounds
		if known = a.known.Load(); known.rows >= rows {
			break
		}
	}
	return d, nil
}

// forward sends x, [sounds, rows, D], through the layers.
func (a *spectrogramEncoder) forward(ws *Workspace, x []float32, batch transformer.Batch, rows int) error {
	defer ws.Release(ws.Mark())
	known, err := a.distances(ws, rows)
	if err != nil {
		return err
	}
	var vectors, own []float32 // [2*rows-1, D]
	if known == nil {
		vectors, own = ws.Alloc((2*rows-1)*a.Dim()), ws.Alloc((2*rows-1)*a.Dim())
		block.DistanceVectors(vectors, rows, a.Dim())
	}
	for i, l := range a.layers {
		near := own
		if known != nil {
			near = known.near(i, rows, a.Dim())
		} else if err := l.Distances(ws, near, vectors); err != nil {
			return err
		}
		if err := l.Forward(ws, x, batch, near); err != nil { // [sounds, rows, D]
			return err
		}
	}
	return nil
}
