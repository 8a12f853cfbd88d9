package transformer

import (
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/transformer/internal/checkpoint"
)

// Embedding is a table of vectors, one for each token. Make it with NewEmbedding or as part of a
// model. It holds the vectors in the checkpoint's format or in a chosen one (float32, 16 bits, int8
// or blocks), or shares them with the projection to the vocabulary.
type Embedding struct {
	Vocab, Dim int
	// Scale multiplies the vectors: sqrt(Dim) in the original transformer. 0: 1.
	Scale float32

	table *checkpoint.Table
}

// NewEmbedding returns the table with weight, [vocab, dim], which it keeps.
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
	return e.look(ws, dst, tokens, false)
}

// Add adds the vectors of the tokens to dst, [len(tokens), Dim].
func (e *Embedding) Add(ws *Workspace, dst []float32, tokens []int) error {
	return e.look(ws, dst, tokens, true)
}

// check returns an error unless the table has the size of the configuration.
func (e *Embedding) check() error {
	if e != nil && e.Dim > 0 && e.table.Is(e.Vocab, e.Dim) {
		return nil
	}
	return check.Errorf(fault.ErrConfig, "embedding that NewEmbedding did not make, or edited since")
}

// look copies or adds the vectors of the tokens.
func (e *Embedding) look(ws *Workspace, dst []float32, tokens []int, add bool) error {
	if err := e.check(); err != nil {
		return err
	}
	if err := ws.check(); err != nil {
		return err
	}
	if err := check.Len("embedding: dst", dst, len(tokens)*e.Dim, "tokens*dim"); err != nil {
		return err
	}
	for i, t := range tokens {
		if t < 0 || t >= e.Vocab {
			return check.Errorf(fault.ErrToken, "token %d at row %d, the vocabulary has %d", t, i, e.Vocab)
		}
	}
	task := lookups.of(ws)
	*task = lookup{e, dst, tokens, add}
	ws.Threads.Run(len(tokens), len(tokens)*e.Dim/2, task)
	*task = lookup{}
	return nil
}

var lookups = newSlot[lookup]()

// lookup copies or adds vectors of a table: a task of kernels.Threads.Run whose parts are rows.
type lookup struct {
	*Embedding
	dst    []float32
	tokens []int
	add    bool
}

// lookupRows are places for a vector that is to be added.
var lookupRows = sync.Pool{New: func() any { return new([]float32) }}

// Do does the rows [from, to).
func (l *lookup) Do(from, to int) {
	scale := l.Scale
	if scale == 0 {
		scale = 1
	}
	own := lookupRows.Get().(*[]float32)
	defer lookupRows.Put(own)
	*own = room(*own, l.Dim)
	for i := from; i < to; i++ {
		d := l.dst[i*l.Dim : (i+1)*l.Dim]
		row := d
		if l.add {
			row = *own
		}
		l.Row(row, l.tokens[i])
		switch {
		case l.add:
			for j, v := range row {
				d[j] += float32(scale * v)
			}
		case scale != 1:
			for j, v := range row {
				d[j] = scale * v
			}
		}
	}
}

// Sinusoidal returns the table of positions of the original transformer, [length, dim]: row p has
// sin(p/10000^(2i/dim)) in column 2i and the cosine in column 2i+1. It is computed in float64 and
// rounded once. If dim is odd, the last column is a sine. In this module only models/classic uses
// it.
func Sinusoidal(length, dim int) []float32 {
	table := make([]float32, max(length, 0)*max(dim, 0))
	for i := 0; i < dim; i += 2 {
		frequency := elementary.Pow(10000, -float64(i)/float64(dim))
		for p := range length {
			sin, cos := elementary.Sincos(float64(p) * frequency)
			table[p*dim+i] = float32(sin)
			if i+1 < dim {
				table[p*dim+i+1] = float32(cos)
			}
		}
	}
	return table
}
