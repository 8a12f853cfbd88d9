package transformer

import (
	"math"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels"
)

// Embedding is a table of vectors, one for each token. Make it with NewEmbedding or as
// part of a model. It holds the vectors as the checkpoint has them, or as it was told to: in
// float32, 16 bits, int8 or blocks; or shares them with the projection to the vocabulary.
type Embedding struct {
	Vocab, Dim int
	// Scale multiplies the vectors: sqrt(Dim) in the original transformer. 0: 1.
	Scale float32

	table  []float32 // [Vocab, Dim], or
	half   []uint16  // the same in 16 bits, as
	widen  func(uint16) float32
	packed *kernels.PackedB // or as the columns of this
}

// NewEmbedding is the table with weight, [vocab, dim], which it keeps.
func NewEmbedding(vocab, dim int, weight []float32) (*Embedding, error) {
	if err := positive("embedding", size{"vocabulary", vocab}, size{"dim", dim}); err != nil {
		return nil, err
	}
	if len(weight)/dim != vocab || len(weight)%dim != 0 {
		return nil, errorf(ErrShape, "embedding: weight has %d elements, want %d*%d (vocabulary*dim)", len(weight), vocab, dim)
	}
	return &Embedding{Vocab: vocab, Dim: dim, table: weight}, nil
}

// Embedding is the table in the tensor weight, [vocab, dim]. Its vectors are there once
// Finish has returned.
func (l *Loader) Embedding(vocab, dim int) *Embedding {
	if l.Fail(positive("embedding "+l.Name(), size{"vocabulary", vocab}, size{"dim", dim})) {
		return nil
	}
	e := &Embedding{Vocab: vocab, Dim: dim}
	if data, ok := l.find("weight", vocab, dim); ok {
		l.state.tables = append(l.state.tables, &table{from: l, e: e, data: data})
	}
	return e
}

// table is an embedding of which it is not known yet whether a projection shares its
// vectors, so that it has none of its own. data is what find gave.
type table struct {
	from  *Loader
	e     *Embedding
	data  []float32
	heads []*Linear // the projections that do
}

// fill has the vectors read.
func (t *table) fill() {
	l, e := t.from, t.e
	format := l.packed("weight", len(t.heads) == 0)
	switch {
	case len(t.heads) > 0:
	case format == kernels.FormatBF16:
		t.halves(half.ToBFloat16s, half.BFloat16)
		return
	case format == kernels.FormatF16:
		t.halves(half.ToFloat16s, half.Float16)
		return
	case format == kernels.FormatF32:
		if e.table = t.data; e.table == nil {
			e.table = make([]float32, e.Vocab*e.Dim)
			t.pieces(func(_ *jobBuffers, from, to int) { l.read(e.table[from*e.Dim:to*e.Dim], nil, "weight", from*e.Dim) })
		}
		return
	}
	l.later(e.Vocab*e.Dim, func(buf *jobBuffers) {
		e.packed = l.pack(buf, format, e.Dim, []Part{{Rows: e.Vocab}}, [][]float32{t.data})
		for _, head := range t.heads {
			head.packed = e.packed
		}
	})
}

// pieces has f called for pieces of the table: rows from up to to.
func (t *table) pieces(f func(buf *jobBuffers, from, to int)) {
	rows := max(1<<20/t.e.Dim, 1)
	for from := 0; from < t.e.Vocab; from += rows {
		to := min(from+rows, t.e.Vocab)
		t.from.later((to-from)*t.e.Dim, func(buf *jobBuffers) { f(buf, from, to) })
	}
}

// halves has the table filled with what the checkpoint has in 16 bits.
func (t *table) halves(narrow func(dst []uint16, x []float32), widen func(uint16) float32) {
	e := t.e
	e.half, e.widen = make([]uint16, e.Vocab*e.Dim), widen
	t.pieces(func(buf *jobBuffers, from, to int) {
		next := t.from.rows(buf, e.Dim, []Part{{From: from, Rows: to - from}}, [][]float32{t.data})
		row := make([]float32, e.Dim)
		for r := from; r < to; r++ {
			next(row)
			narrow(e.half[r*e.Dim:(r+1)*e.Dim], row)
		}
	})
}

// Row sets dst, [Dim], to the vector of a token, without Scale.
func (e *Embedding) Row(dst []float32, token int) {
	switch {
	case e.packed != nil:
		e.packed.Column(dst, token)
	case e.half != nil:
		for i, h := range e.half[token*e.Dim : (token+1)*e.Dim] {
			dst[i] = e.widen(h)
		}
	default:
		copy(dst, e.table[token*e.Dim:(token+1)*e.Dim])
	}
}

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
	if e != nil && e.Dim > 0 {
		switch {
		case e.packed != nil && e.packed.N() == e.Vocab && e.packed.K() == e.Dim,
			e.half != nil && len(e.half) == e.Vocab*e.Dim,
			e.table != nil && len(e.table) == e.Vocab*e.Dim:
			return nil
		}
	}
	return errorf(ErrConfig, "embedding that NewEmbedding did not make, or edited since")
}

func (e *Embedding) lookup(ws *Workspace, dst []float32, tokens []int, add bool) error {
	if err := e.check(); err != nil {
		return err
	}
	if err := ws.check(); err != nil {
		return err
	}
	if err := checkLen("embedding: dst", dst, len(tokens)*e.Dim, "tokens*dim"); err != nil {
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
			return errorf(ErrToken, "token %d at row %d, the vocabulary has %d", t, i, e.Vocab)
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
// a sine.
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
