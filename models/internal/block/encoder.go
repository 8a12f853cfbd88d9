package block

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/transformer"
)

// The parts that architectures for text share: embeddings and encoders.

// Embedder turns tokens into what enters the layers.
type Embedder struct {
	Tokens *transformer.Embedding
	Types  *transformer.Embedding // nil: none
	// Positions are added, from row first on; nil: they enter elsewhere.
	Positions *transformer.Embedding
	Waves     *Sinusoids // instead of positions; nil: none
	First     int
	Padded    bool              // tokens first-1 are padding wherever they are: see addPositions
	EmbedNorm *transformer.Norm // nil: none
	// Project leads from the width of the vectors to that of the layers; nil: they are as wide.
	Project *transformer.Linear
}

// Dim returns the width of the layers.
func (e *Embedder) Dim() int {
	if e.Project != nil {
		return e.Project.Out
	}
	return e.Tokens.Dim
}

// PositionLimit returns the number of positions that are added to tokens; 0: no positions are
// added.
func (e *Embedder) PositionLimit() int {
	switch {
	case e.Positions != nil:
		return e.Positions.Vocab - e.First
	case e.Waves != nil:
		return e.Waves.Length - e.First
	}
	return 0
}

// check returns an error unless in fits dst, [rows, D], and cache, which may be nil.
func (e *Embedder) check(dst []float32, in transformer.Tokens, cache *transformer.Cache) error {
	rows := in.Batch.Rows()
	if len(in.IDs) != rows || in.Types != nil && len(in.Types) != rows {
		return check.Errorf(fault.ErrShape, "%d tokens and %d types in a batch of %d rows", len(in.IDs), len(in.Types), rows)
	}
	if cache != nil && cache.Sequences() != in.Batch.Len() {
		return check.Errorf(fault.ErrShape, "batch of %d sequences with a cache of %d", in.Batch.Len(), cache.Sequences())
	}
	return check.Len("dst", dst, rows*e.Dim(), "rows*dim")
}

// Embed sets dst, [rows, D], to the vectors of tokens that follow those in cache, which may be nil.
func (e *Embedder) Embed(ws *transformer.Workspace, dst []float32, in transformer.Tokens, cache *transformer.Cache) error {
	if err := e.check(dst, in, cache); err != nil {
		return err
	}
	defer ws.Release(ws.Mark())
	x := dst // [rows, E]
	if e.Project != nil {
		x = ws.Alloc(in.Batch.Rows() * e.Tokens.Dim)
	}
	if err := e.Tokens.Forward(ws, x, in.IDs); err != nil { // vectors of tokens  [rows, E]
		return err
	}
	if err := e.addTypes(ws, x, in); err != nil { // x += those of types  [rows, E]
		return err
	}
	if err := e.addPositions(ws, x, in, cache); err != nil { // x += those of positions  [rows, E]
		return err
	}
	if e.EmbedNorm != nil {
		if err := e.EmbedNorm.Forward(ws, x, x); err != nil { // x = norm(x)  [rows, E]
			return err
		}
	}
	if e.Project == nil {
		return nil
	}
	return e.Project.Forward(ws, dst, x) // [rows, D]
}

// addTypes adds the vectors of token types, 0 unless given, to x.
func (e *Embedder) addTypes(ws *transformer.Workspace, x []float32, in transformer.Tokens) error {
	if e.Types == nil {
		return nil
	}
	ids := in.Types
	if ids == nil {
		ids = make([]int, in.Batch.Rows())
	}
	return e.Types.Add(ws, x, ids) // [rows, D]
}

// addPositions adds the vectors of positions, counted in each sequence, to x. Where tokens first-1
// are padding, their position is first-1 too, and the tokens after them are counted without them.
func (e *Embedder) addPositions(ws *transformer.Workspace, x []float32, in transformer.Tokens, cache *transformer.Cache) error {
	most := e.PositionLimit()
	if most == 0 {
		return nil
	}
	batch, pad := in.Batch, -1
	if e.Padded {
		pad = e.First - 1
	}
	at := make([]int, 0, batch.Rows())
	for i := range batch.Len() {
		past, end := cache.Len(i), cache.Len(i)+batch.Length(i)
		if end > most {
			return check.Errorf(fault.ErrTooLong, "sequence of %d tokens, the model has %d positions", end, most)
		}
		next := e.First + past
		for _, t := range in.IDs[batch.Start(i):batch.Start(i+1)] {
			if t == pad {
				at = append(at, pad)
				continue
			}
			at = append(at, next)
			next++
		}
	}
	if e.Positions != nil {
		return e.Positions.Add(ws, x, at) // [rows, D]
	}
	e.Waves.add(x, at, pad)
	return nil
}

// Sinusoids are positions up to a length whose first half is sines and whose second is cosines,
// each ratio times slower than the one before. A width that is odd ends with zeros.
type Sinusoids struct {
	Length int
	Ratio  float64
}

// add adds those of the given positions to the rows of x, and nothing where the position is pad.
func (s *Sinusoids) add(x []float32, positions []int, pad int) {
	for i, p := range positions {
		if p == pad {
			continue
		}
		row := x[i*len(x)/len(positions) : (i+1)*len(x)/len(positions)]
		half, angle := len(row)/2, float64(p)
		for d := range half {
			sin, cos := elementary.Sincos(angle)
			row[d], row[half+d] = row[d]+float32(sin), row[half+d]+float32(cos)
			angle *= s.Ratio
		}
	}
}

// TextEncoder is a stack of layers after embeddings. It implements Encoder.
type TextEncoder struct {
	Embedder
	Layers *transformer.Stack
	Bias   *RelativeBias     // of the scores; nil: none
	Mask   *transformer.Mask // nil: all tokens see all
	Added  *transformer.Mask // to the scores, which hides nothing; nil: nothing is
}

// BothWays says that no token is hidden from those in front of it.
func (e *TextEncoder) BothWays() bool { return e.Mask == nil }

// HidesRest says that Encode reads Visible.
func (e *TextEncoder) HidesRest() {}

func (e *TextEncoder) Encode(ws *transformer.Workspace, dst []float32, in transformer.Tokens) error {
	if err := e.Embed(ws, dst, in, nil); err != nil { // [rows, D]
		return err
	}
	defer ws.Release(ws.Mark())
	mask := e.Mask.And(e.Bias.mask(ws, in.Batch, nil)).And(Visible(in)).And(e.Added)                   // [1, heads, L, L]
	return e.Layers.Forward(ws, dst, transformer.LayerInput{X: dst, Batch: in.Batch, Mask: mask}, nil) // [rows, D]
}

// RelativeBias is added to the scores of a query and a key: a number for each head and bucket of
// distances, which grow with the distance (Raffel et al., 2020, section 2.1). The layers of a stack
// share it. T5 and MPNet have it.
type RelativeBias struct {
	Weight         []float32 // [buckets, heads]
	Heads, Buckets int
	MaxDistance    int  // that and more are the last bucket
	BothWays       bool // half of the buckets are for keys after the query
}

// bucket returns the bucket of a key that is a number of positions after the query. Logarithms are
// rounded to float32, which decides at the borders of buckets.
func (r *RelativeBias) bucket(behind int) int {
	buckets, first := r.Buckets, 0
	if r.BothWays {
		buckets /= 2
		if behind > 0 {
			first = buckets
		}
		behind = max(behind, -behind)
	} else {
		behind = max(-behind, 0)
	}
	exact := buckets / 2
	if behind < exact {
		return first + behind
	}
	ratio := float32(elementary.Log(float64(float32(behind) / float32(exact))))
	large := exact + int(ratio/float32(elementary.Log(float64(r.MaxDistance)/float64(exact)))*float32(buckets-exact))
	return first + min(large, buckets-1)
}

// mask returns the bias for the rows of batch, which follow those in cache; nil without bias. It
// lies in memory of ws.
func (r *RelativeBias) mask(ws *transformer.Workspace, batch transformer.Batch, cache *transformer.Cache) *transformer.Mask {
	if r == nil || batch.Len() == 0 {
		return nil
	}
	queries, keys, past, same := batch.MaxLength(), 0, 0, true
	for i := range batch.Len() {
		keys = max(keys, cache.Len(i)+batch.Length(i))
		past = max(past, cache.Len(i))
		same = same && cache.Len(i) == cache.Len(0)
	}
	sequences := 1 // where their queries have the same positions
	if !same {
		sequences = batch.Len()
	}
	first := -(past + queries - 1) // the smallest distance of a key behind a query
	buckets := make([]int, max(keys-first, 0))
	for i := range buckets {
		buckets[i] = r.bucket(first + i)
	}
	bias := ws.Alloc(sequences * r.Heads * queries * keys) // [sequences, heads, queries, keys]
	for s := range sequences {
		for h := range r.Heads {
			for q := range queries {
				row := bias[((s*r.Heads+h)*queries+q)*keys:][:keys]
				for k, b := range buckets[-(cache.Len(s)+q)-first:][:keys] {
					row[k] = r.Weight[b*r.Heads+h]
				}
			}
		}
	}
	return transformer.AdditiveMask(bias, sequences, r.Heads, queries, keys)
}

// Visible returns the mask that hides what in.Visible leaves out; nil: nothing is hidden.
func Visible(in transformer.Tokens) *transformer.Mask {
	if in.Visible == nil {
		return nil
	}
	return transformer.ValidLengths(in.Visible...)
}
