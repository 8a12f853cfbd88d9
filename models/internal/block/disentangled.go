package block

import (
	"math"

	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// DeBERTa's attention, and the distances that it knows.

// Distances are vectors for how far a query is from a key, some distances having the same.
type Distances struct {
	Weight  []float32         // [2*span, D], of distances from -span on
	Norm    *transformer.Norm // of the vectors; nil: none
	Span    int
	Buckets int // of distances in both directions; below 1: one for each
	Reach   int // the distance beyond which all distances are in one bucket
}

// row is that of weight for a distance.
func (t *Distances) row(distance int) int {
	if t.Buckets > 0 {
		distance = t.bucket(distance)
	}
	return min(max(distance+t.Span, 0), 2*t.Span-1)
}

// bucket returns the distance itself up to half of the buckets, and grows with its logarithm from
// there, in float32, which decides at the borders.
func (t *Distances) bucket(distance int) int {
	half, far := t.Buckets/2, max(distance, -distance)
	if far <= half {
		return distance
	}
	ratio := float32(elementary.Log(float64(float32(far)/float32(half)))) / float32(elementary.Log(float64(float32(float64(t.Reach-1)/float64(half)))))
	b := int(math.Ceil(float64(ratio*float32(half-1)))) + half
	if distance < 0 {
		return -b
	}
	return b
}

// Nearby are the vectors that texts of up to a length need.
type Nearby struct {
	x  []float32 // [n, D]
	n  int
	at []int // row of x for a distance, at index distance + length - 1
}

// Nearby takes them from t; they lie in memory of ws.
func (t *Distances) Nearby(ws *transformer.Workspace, length, dim int) (*Nearby, error) {
	if t == nil || length == 0 {
		return nil, nil
	}
	first, last := t.row(1-length), t.row(length-1)
	near := &Nearby{x: t.Weight[first*dim : (last+1)*dim], n: last + 1 - first, at: make([]int, 2*length-1)}
	for i := range near.at {
		near.at[i] = t.row(i+1-length) - first
	}
	if t.Norm == nil {
		return near, nil
	}
	x := ws.Alloc(len(near.x)) // [n, D]
	err := t.Norm.Forward(ws, x, near.x)
	near.x = x
	return near, err
}

// Disentangled is attention whose scores are (q·k + q·keyDistance + k·queryDistance) * scale, the
// two vectors being those of the distance between the two positions.
type Disentangled struct {
	Query, Key, Value *transformer.Linear
	// queryDistance and keyDistance project the vectors of distances; nil: their products are left
	// out.
	QueryDistance, KeyDistance *transformer.Linear
	Out                        *transformer.Linear
	Core                       transformer.Attention
}

// Forward sets dst, [rows, D], to x plus the attention of x, [rows, D].
func (a *Disentangled) Forward(ws *transformer.Workspace, dst, x []float32, batch transformer.Batch, near *Nearby) error {
	defer ws.Release(ws.Mark())
	dim := a.Core.Heads * a.Core.HeadDim
	q, k, v, context := ws.Alloc(len(x)), ws.Alloc(len(x)), ws.Alloc(len(x)), ws.Alloc(len(x)) // [rows, D]
	if err := a.Query.Forward(ws, q, x); err != nil {                                          // [rows, D]
		return err
	}
	if err := a.Key.Forward(ws, k, x); err != nil { // [rows, D]
		return err
	}
	if err := a.Value.Forward(ws, v, x); err != nil { // [rows, D]
		return err
	}
	var keys, queries []float32 // [n, D]
	var err error
	if keys, err = near.project(ws, a.KeyDistance); err == nil {
		queries, err = near.project(ws, a.QueryDistance)
	}
	for i := 0; i < batch.Len() && err == nil; i++ { // the bias of all sequences at once could be large
		rows := func(x []float32) []float32 { return x[batch.Start(i)*dim : batch.Start(i+1)*dim] }
		err = a.attend(ws, rows(context), rows(q), rows(k), rows(v), keys, queries, near) // [L, D]
	}
	if err != nil {
		return err
	}
	return a.Out.ForwardAdd(ws, dst, context, x) // [rows, D]
}

// project returns the projection of the vectors by l, [n, D]; nil where l is.
func (near *Nearby) project(ws *transformer.Workspace, l *transformer.Linear) ([]float32, error) {
	if l == nil || near == nil {
		return nil, nil
	}
	y := ws.Alloc(near.n * l.Out)
	return y, l.Forward(ws, y, near.x)
}

// attend sets dst, [L, D], to the attention of one sequence. keys and queries are the projections
// of near.x, [n, D], or nil.
func (a *Disentangled) attend(ws *transformer.Workspace, dst, q, k, v, keys, queries []float32, near *Nearby) error {
	defer ws.Release(ws.Mark())
	heads, length := a.Core.Heads, len(q)/(a.Core.Heads*a.Core.HeadDim)
	one := transformer.Uniform(1, length)
	in := transformer.AttentionInput{Query: q, Batch: one, Key: k, Value: v, KeyBatch: one}
	if keys == nil && queries == nil {
		return a.Core.Forward(ws, dst, in)
	}
	bias := ws.Alloc(heads * length * length)                                             // [heads, L, L]
	byQuery, byKey := a.products(ws, q, keys, near.n), a.products(ws, k, queries, near.n) // [heads, L, n]
	middle := len(near.at) / 2                                                            // of distance 0
	for h := range heads {
		for i := range length {
			row := bias[(h*length+i)*length:][:length]
			clear(row)
			if byQuery != nil {
				of := byQuery[(h*length+i)*near.n:][:near.n]
				for j := range row {
					row[j] = of[near.at[middle+i-j]]
				}
			}
			if byKey != nil {
				of := byKey[h*length*near.n:]
				for j := range row {
					row[j] += of[j*near.n+near.at[middle+i-j]]
				}
			}
		}
	}
	in.Mask = transformer.AdditiveMask(bias, 1, heads, length, length)
	return a.Core.Forward(ws, dst, in) // [L, D]
}

// products are those of x, [L, D], and the vectors y, [n, D], in each head, scaled: [heads, L, n].
// Of y nil they are nil.
func (a *Disentangled) products(ws *transformer.Workspace, x, y []float32, n int) []float32 {
	if y == nil {
		return nil
	}
	heads, headDim := a.Core.Heads, a.Core.HeadDim
	dim := heads * headDim
	length := len(x) / dim
	z := ws.Alloc(heads * length * n)
	ws.Threads.GemmBatched(kernels.GemmBatchedParams{
		TransB: kernels.Trans, Batch: heads, M: length, N: n, K: headDim, Alpha: a.Core.Scale,
		A: x, LdA: dim, StrideA: headDim, // [L, head dim]
		B: y, LdB: dim, StrideB: headDim, // [n, head dim]
		C: z, LdC: n, StrideC: length * n, // [L, n]
	})
	return z
}
