package transformer

import (
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/transformer/internal/checkpoint"
)

// Embedding is a table of vectors, one for each token. Make it with NewEmbedding or as
// part of a model. It holds the vectors as the checkpoint has them, or as it was told to: in
// float32, 16 bits, int8 or blocks; or shares them with the projection to the vocabulary.
type Embedding struct {
	Vocab, Dim int
	// Scale multiplies the vectors: sqrt(Dim) in the original transformer. 0: 1.
	Scale float32

	table *checkpoint.Table
}

// NewEmbedding is the table with weight, [vocab, dim], which it keeps.
func NewEmbedding(vocab, dim int, weight []float32) (*Embedding, error) {
	if err := check.Positive("embedding", check.Size("vocabulary", vocab), check.Size("dim", dim)); err != nil {
		return nil, err
	}
	if len(weight)/dim != vocab || len(weight)%dim != 0 {
		return nil, check.Errorf(fault.ErrShape, "embedding: weight has %d elements, want %d*%d (vocabulary*dim)", len(weight), vocab, dim)
	}
	return &Embedding{Vocab: vocab, Dim: dim, table: checkpoint.NewTable(vocab, dim, weight)}, nil
}

// Row sets dst, [Dim], to the vector of a token, without Scale.
func (e *Embedding) Row(dst []float32, token int) { e.table.Row(dst, token) }

// Forward sets dst, [len(tokens), Dim], to the vectors of the tokens.
func (e *Embedding) Forward(ws *Workspace, dst []float32, tokens []int) error {
	return e.lookup(ws, dst, tokens, false)
}

// Add adds the vectors of the tokens to dst, [len(tokens), Dim].
func (e *Embedding) Add(ws *Workspace, dst []float32, tokens []int) error {
	return e.lookup(ws, dst, tokens, true)
}

// check returns an error unless the table is what the sizes say.
func (e *Embedding) check() error {
	if e != nil && e.Dim > 0 && e.table.Is(e.Vocab, e.Dim) {
		return nil
	}
	return check.Errorf(fault.ErrConfig, "embedding that NewEmbedding did not make, or edited since")
}

func (e *Embedding) lookup(ws *Workspace, dst []float32, tokens []int, add bool) error {
	if err := e.check(); err != nil {
		return err
	}
	if err := ws.check(); err != nil {
		return err
	}
	if err := check.Len("embedding: dst", dst, len(tokens)*e.Dim, "tokens*dim"); err != nil {
		return err
	}
	scale := e.Scale
	if scale == 0 {
		scale = 1
	}
	defer ws.Release(ws.Mark())
	row := ws.Alloc(e.Dim)
	for i, t := range tokens {
		if t < 0 || t >= e.Vocab {
			return check.Errorf(fault.ErrToken, "token %d at row %d, the vocabulary has %d", t, i, e.Vocab)
		}
		e.Row(row, t)
		d := dst[i*e.Dim : (i+1)*e.Dim]
		if add {
			for j, v := range row {
				d[j] += scale * v
			}
		} else {
			for j, v := range row {
				d[j] = scale * v
			}
		}
	}
	return nil
}

// Sinusoidal is the table of positions of the original transformer, [length,
// dim]: row p has sin(p/10000^(2i/dim)) in column 2i and the cosine in column
// 2i+1. It is computed in float64 and rounded once. A dim that is odd ends with
// a sine. Of this module only models/classic uses it.
func Sinusoidal(length, dim int) []float32 {
	table := make([]float32, max(length, 0)*max(dim, 0))
	for i := 0; i < dim; i += 2 {
		frequency := math.Pow(10000, -float64(i)/float64(dim))
		for p := range length {
			sin, cos := math.Sincos(float64(p) * frequency)
			table[p*dim+i] = float32(sin)
			if i+1 < dim {
				table[p*dim+i+1] = float32(cos)
			}
		}
	}
	return table
}
