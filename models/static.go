package models

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/transformer"
)

// Static embeddings: Tulkens and van Dongen, 2024, "Model2Vec: Fast State-of-the-Art Static
// Embeddings", and StaticEmbedding of sentence-transformers, which computes the same. Each token
// has a vector, and that of a text is their mean: there are no layers.

func init() { Register(newStatic, "model2vec") }

// staticFields say how the vectors were made, and change nothing about them.
var staticFields = []string{
	"tokenizer_name", "apply_pca", "apply_zipf", "sif_coefficient", "hidden_dim", "seq_length", "max_length", "embedding_dtype",
	"vocabulary_quantization", "pooling", "cache_dir", "normalize",
}

// staticEncoder gives each token its vector. Tokens may share vectors, and weigh differently.
type staticEncoder struct {
	vectors *transformer.Embedding
	rows    []int     // of tokens in vectors; nil: their own numbers
	weights []float32 // of tokens; nil: 1
}

func newStatic(c *Checkpoint) (*Model, error) {
	l, name := c.Loader.Integers(), "embeddings"
	for _, field := range staticFields {
		c.doc.Note(field)
	}
	if l.Has("embedding.weight") { // sentence-transformers' own
		name = "embedding.weight"
	} else {
		l.Rename(func(n string) string {
			if n == "embeddings.weight" {
				return "embeddings"
			}
			return n
		})
	}
	e := &staticEncoder{vectors: &transformer.Embedding{}}
	shape, ok := l.Shape(name)
	if err := staticShape(name, shape, ok); l.Fail(err) {
		return &Model{Encoder: e}, nil
	}
	tokens := shape[0]
	if mapping, ok := l.Shape("mapping"); ok && len(mapping) == 1 {
		tokens = mapping[0]
		for _, v := range l.Tensor("mapping", tokens) {
			if !(v >= 0 && v < float32(shape[0])) {
				l.Fail(check.Errorf(fault.ErrShape, "mapping to row %v, %s has %d", v, name, shape[0]))
				break
			}
			e.rows = append(e.rows, int(v))
		}
	}
	e.weights = c.Loader.Optional(l.Has("weights"), "weights", tokens) // never integers, unlike rows and vectors
	if name == "embeddings" {
		e.vectors = l.At("embeddings.").Embedding(shape[0], shape[1])
	} else {
		e.vectors = l.At("embedding.").Embedding(shape[0], shape[1])
	}
	c.Config.Vocab, c.Config.Dim = tokens, shape[1]
	return &Model{Encoder: e}, nil
}

// staticShape returns the error of vectors that are not there, or of another shape than a matrix.
func staticShape(name string, shape []int, ok bool) error {
	switch {
	case !ok:
		return check.Errorf(fault.ErrMissing, "%s", name)
	case len(shape) != 2 || shape[0] < 1 || shape[1] < 1:
		return check.Errorf(fault.ErrMisshapen, "%s has shape %v, want a matrix", name, shape)
	}
	return nil
}

// Dim implements Encoder.
func (e *staticEncoder) Dim() int { return e.vectors.Dim }

// Encode implements Encoder.
func (e *staticEncoder) Encode(ws *Workspace, dst []float32, in Tokens) error {
	dim, ids := e.vectors.Dim, in.IDs
	if e.rows != nil {
		ids = make([]int, len(in.IDs))
		for i, t := range in.IDs {
			if t < 0 || t >= len(e.rows) {
				return check.Errorf(fault.ErrToken, "token %d at row %d, the vocabulary has %d", t, i, len(e.rows))
			}
			ids[i] = e.rows[t]
		}
	}
	if err := e.vectors.Forward(ws, dst, ids); err != nil { // [rows, D]
		return err
	}
	if e.weights == nil {
		return nil
	}
	for i, t := range in.IDs {
		row := dst[i*dim : (i+1)*dim]
		for j := range row {
			row[j] *= e.weights[t]
		}
	}
	return nil
}

// BothWays implements textEncoder.
func (e *staticEncoder) BothWays() bool { return true }
