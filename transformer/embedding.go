package transformer

import "math"

// Embedding is a table of vectors, one for each token.
type Embedding struct {
	Vocab, Dim int
	Weight     []float32 // [Vocab, Dim]
	// Scale multiplies the vectors: sqrt(Dim) in the original transformer. 0: 1.
	Scale float32
}

// NewEmbedding is the table with weight, [vocab, dim], which it keeps.
func NewEmbedding(vocab, dim int, weight []float32) (*Embedding, error) {
	if err := positive("embedding", size{"vocabulary", vocab}, size{"dim", dim}); err != nil {
		return nil, err
	}
	if len(weight)/dim != vocab || len(weight)%dim != 0 {
		return nil, errorf(ErrShape, "embedding: weight has %d elements, want %d*%d (vocabulary*dim)", len(weight), vocab, dim)
	}
	return &Embedding{Vocab: vocab, Dim: dim, Weight: weight}, nil
}

// Embedding is the table in the tensor weight, [vocab, dim].
func (l *Loader) Embedding(vocab, dim int) *Embedding {
	if l.Fail(positive("embedding "+l.Name(), size{"vocabulary", vocab}, size{"dim", dim})) {
		return nil
	}
	return &Embedding{Vocab: vocab, Dim: dim, Weight: l.Tensor("weight", vocab, dim)}
}

// Forward sets dst, [len(tokens), Dim], to the vectors of the tokens.
func (e *Embedding) Forward(ws *Workspace, dst []float32, tokens []int) error {
	return e.lookup(ws, dst, tokens, false)
}

// Add adds the vectors of the tokens to dst, [len(tokens), Dim].
func (e *Embedding) Add(ws *Workspace, dst []float32, tokens []int) error {
	return e.lookup(ws, dst, tokens, true)
}

func (e *Embedding) lookup(ws *Workspace, dst []float32, tokens []int, add bool) error {
	if e == nil || e.Dim < 1 || len(e.Weight) != e.Vocab*e.Dim {
		return errorf(ErrConfig, "embedding that NewEmbedding did not make, or edited since")
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
	for i, t := range tokens {
		if t < 0 || t >= e.Vocab {
			return errorf(ErrToken, "token %d at row %d, the vocabulary has %d", t, i, e.Vocab)
		}
		d, row := dst[i*e.Dim:(i+1)*e.Dim], e.Weight[t*e.Dim:(t+1)*e.Dim]
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
