package models

import (
	"math"

	"github.com/avoformer/avoformer/transformer"
)

// What the architectures that read text have in common: embeddings and encoders.

// embedder turns tokens into what enters the layers.
type embedder struct {
	tokens *transformer.Embedding
	types  *transformer.Embedding // nil: none
	// positions are added, from row first on; nil: they enter elsewhere.
	positions *transformer.Embedding
	waves     *sinusoids // instead of positions; nil: none
	first     int
	embedNorm *transformer.Norm // nil: none
}

func (e *embedder) Dim() int { return e.tokens.Dim }

// embed sets dst, [rows, D], to the vectors of tokens that follow those in cache, which
// may be nil.
func (e *embedder) embed(ws *Workspace, dst []float32, in Tokens, cache *Cache) error {
	rows := in.Batch.Rows()
	if len(in.IDs) != rows || in.Types != nil && len(in.Types) != rows {
		return errorf(transformer.ErrShape, "%d tokens and %d types in a batch of %d rows", len(in.IDs), len(in.Types), rows)
	}
	if len(dst) != rows*e.tokens.Dim {
		return errorf(transformer.ErrShape, "dst has %d elements, want %d*%d (rows*dim)", len(dst), rows, e.tokens.Dim)
	}
	if cache != nil && cache.Sequences() != in.Batch.Len() {
		return errorf(transformer.ErrShape, "batch of %d sequences with a cache of %d", in.Batch.Len(), cache.Sequences())
	}
	err := inOrder(
		e.tokens.Forward(ws, dst, in.IDs),        // vectors of tokens    [rows, D]
		e.addTypes(ws, dst, in),                  // + those of types     [rows, D]
		e.addPositions(ws, dst, in.Batch, cache), // + those of positions [rows, D]
	)
	if err != nil || e.embedNorm == nil {
		return err
	}
	return e.embedNorm.Forward(ws, dst, dst) // [rows, D]
}

// addTypes adds the vectors of token types, 0 unless given, to x.
func (e *embedder) addTypes(ws *Workspace, x []float32, in Tokens) error {
	if e.types == nil {
		return nil
	}
	ids := in.Types
	if ids == nil {
		ids = make([]int, in.Batch.Rows())
	}
	return e.types.Add(ws, x, ids)
}

// addPositions adds the vectors of positions, counted in each sequence, to x.
func (e *embedder) addPositions(ws *Workspace, x []float32, batch Batch, cache *Cache) error {
	most := -e.first
	switch {
	case e.positions != nil:
		most += e.positions.Vocab
	case e.waves != nil:
		most += e.waves.length
	default:
		return nil
	}
	at := make([]int, 0, batch.Rows())
	for i := range batch.Len() {
		past, end := cache.Len(i), cache.Len(i)+batch.Length(i)
		if end > most {
			return errorf(transformer.ErrTooLong, "sequence of %d tokens, the model has %d positions", end, most)
		}
		for p := past; p < end; p++ {
			at = append(at, e.first+p)
		}
	}
	if e.positions != nil {
		return e.positions.Add(ws, x, at)
	}
	e.waves.add(x, at)
	return nil
}

// sinusoids are positions up to a length whose first half is sines and whose second is
// cosines, each ratio times slower than the one before. A width that is odd ends with
// zeros.
type sinusoids struct {
	length int
	ratio  float64
}

// add adds those of the given positions to the rows of x.
func (s *sinusoids) add(x []float32, positions []int) {
	for i, p := range positions {
		row := x[i*len(x)/len(positions) : (i+1)*len(x)/len(positions)]
		half, angle := len(row)/2, float64(p)
		for d := range half {
			sin, cos := math.Sincos(angle)
			row[d], row[half+d] = row[d]+float32(sin), row[half+d]+float32(cos)
			angle *= s.ratio
		}
	}
}

// textEncoder is a stack of layers behind embeddings. It implements Encoder.
type textEncoder struct {
	embedder
	layers *transformer.Stack
	bias   *relativeBias     // of the scores; nil: none
	mask   *transformer.Mask // nil: all tokens see all
}

func (e *textEncoder) Encode(ws *Workspace, dst []float32, in Tokens) error {
	if err := e.embed(ws, dst, in, nil); err != nil { // [rows, D]
		return err
	}
	defer ws.Release(ws.Mark())
	mask := e.mask.And(e.bias.mask(ws, in.Batch, nil))                                                 // [1, heads, L, L]
	return e.layers.Forward(ws, dst, transformer.LayerInput{X: dst, Batch: in.Batch, Mask: mask}, nil) // [rows, D]
}
