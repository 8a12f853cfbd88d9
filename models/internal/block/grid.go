package block

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/transformer"
)

// Attention between the patches of an image, whose rotary positions have two axes.

// Axial makes rotary positions with two axes. Half of the pairs of features turn by each.
type Axial struct {
	Frequencies []float64 // [pairs/2], angles in radians for a step along an axis
	// Centered is set where an axis goes from -1 to 1, with the centres of patches as positions:
	// DINOv3. Else positions are the numbers of rows and columns.
	Centered bool
	// AcrossFirst is set where the first half of the pairs turns by the column, else by the row.
	AcrossFirst bool
}

// Turns returns the positions of an image's rows for [GridAttention], [first+down*across, 2*pairs]:
// the cosines of a row's pairs, then their sines. The first rows stand for no patch and do not
// turn.
func (a *Axial) Turns(first, down, across int) []float32 {
	n := len(a.Frequencies)
	dst := make([]float32, (first+down*across)*4*n)
	for i := range dst[:first*4*n] {
		if i%(4*n) < 2*n {
			dst[i] = 1
		}
	}
	for r := range down * across {
		row := dst[(first+r)*4*n:][:4*n]
		at := [2]float64{a.position(r/across, down), a.position(r%across, across)}
		if a.AcrossFirst {
			at[0], at[1] = at[1], at[0]
		}
		for i, f := range a.Frequencies {
			for axis, p := range at {
				s, c := elementary.Sincos(p * f)
				row[axis*n+i], row[(2+axis)*n+i] = float32(c), float32(s)
			}
		}
	}
	return dst
}

// position returns where patch i of n lies on its axis.
func (a *Axial) position(i, n int) float64 {
	if a.Centered {
		return 2*(float64(i)+0.5)/float64(n) - 1
	}
	return float64(i)
}

// A Projection is a linear layer, or a value that takes the place of one.
type Projection interface {
	// Forward sets dst, [rows, out], to the product of x, [rows, in].
	Forward(ws *transformer.Workspace, dst, x []float32) error
}

// GridAttention is self-attention whose queries and keys turn by tables of positions.
type GridAttention struct {
	Query, Key, Value, Out        Projection
	QueryNorm, KeyNorm, ValueNorm *transformer.Norm // of heads; nil: none
	Heads, KVHeads, HeadDim       int
	Scale                         float32 // of the scores; 0: 1/sqrt(HeadDim)
	// Split is set where the pairs of each axis lie in a half of the head of their own: Gemma 4.
	// Else the first features of all pairs lie in front of the second ones.
	Split bool
}

// Forward sets dst, [rows, D], to the attention of x, [rows, D]. turns, [rows, HeadDim], is what
// [Axial.Turns] returns for the rows of batch.
func (a *GridAttention) Forward(ws *transformer.Workspace, dst, x []float32, batch transformer.Batch, turns []float32) error {
	rows, dim, kvDim := batch.Rows(), a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
	if len(turns) != rows*a.HeadDim {
		return check.Errorf(fault.ErrShape, "positions of %d elements for %d rows of heads of %d", len(turns), rows, a.HeadDim)
	}
	defer ws.Release(ws.Mark())
	q, k, v := ws.Alloc(rows*dim), ws.Alloc(rows*kvDim), ws.Alloc(rows*kvDim) // [rows, heads*hd], twice [rows, kv heads*hd]
	for _, p := range []struct {
		Projection
		norm *transformer.Norm
		y    []float32
	}{{a.Query, a.QueryNorm, q}, {a.Key, a.KeyNorm, k}, {a.Value, a.ValueNorm, v}} {
		if err := p.Forward(ws, p.y, x); err != nil {
			return err
		}
		if p.norm != nil {
			if err := p.norm.Forward(ws, p.y, p.y); err != nil { // [rows*heads, hd]
				return err
			}
		}
	}
	ws.Threads.Run(rows, rows*(dim+kvDim), &gridTurn{a, q, k, turns})
	context := ws.Alloc(rows * dim) // [rows, heads*hd]
	core := transformer.Attention{Heads: a.Heads, KVHeads: a.KVHeads, HeadDim: a.HeadDim, ValueDim: a.HeadDim, Scale: a.Scale}
	if err := core.Forward(ws, context, transformer.AttentionInput{Query: q, Key: k, Value: v, Batch: batch, KeyBatch: batch}); err != nil {
		return err
	}
	return a.Out.Forward(ws, dst, context) // [rows, D]
}

// gridTurn turns rows of queries and keys on several threads.
type gridTurn struct {
	a           *GridAttention
	q, k, turns []float32
}

// Do turns the rows [from, to).
func (t *gridTurn) Do(from, to int) {
	hd := t.a.HeadDim
	parts := 1
	if t.a.Split {
		parts = 2
	}
	for r := from; r < to; r++ {
		cos, sin := t.turns[r*hd:][:hd/2], t.turns[r*hd+hd/2:][:hd/2]
		for _, x := range [][]float32{t.q[r*t.a.Heads*hd:][:t.a.Heads*hd], t.k[r*t.a.KVHeads*hd:][:t.a.KVHeads*hd]} {
			for ; len(x) > 0; x = x[hd:] {
				for p, n := 0, hd/2/parts; p < parts; p++ {
					turnPairs(x[2*p*n:][:2*n], cos[p*n:][:n], sin[p*n:][:n])
				}
			}
		}
	}
}

// turnPairs turns the pairs of x. The features of a pair are one in each half. The conversions keep
// a processor from fusing a product with the sum.
func turnPairs(x, cos, sin []float32) {
	first, second := x[:len(cos)], x[len(cos):]
	for i, c := range cos {
		s, a, b := sin[i], first[i], second[i]
		first[i], second[i] = float32(a*c)-float32(b*s), float32(b*c)+float32(a*s)
	}
}
