package models

import (
	"math"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// DeBERTa's attention, and the distances that it knows.

// distances are vectors for how far a query is from a key, some distances having the same.
type distances struct {
	weight  []float32         // [2*span, D], of distances from -span on
	norm    *transformer.Norm // of the vectors; nil: none
	span    int
	buckets int // of distances in both directions; below 1: one for each
	reach   int // distances up to which buckets tell apart
}

// row is that of weight for a distance.
func (t *distances) row(distance int) int {
	if t.buckets > 0 {
		distance = t.bucket(distance)
	}
	return min(max(distance+t.span, 0), 2*t.span-1)
}

// bucket is the distance itself up to half of the buckets, and grows with its logarithm from there, in
// float32, which decides at the borders.
func (t *distances) bucket(distance int) int {
	half, far := t.buckets/2, max(distance, -distance)
	if far <= half {
		return distance
	}
	ratio := float32(math.Log(float64(float32(far)/float32(half)))) / float32(math.Log(float64(float32(float64(t.reach-1)/float64(half)))))
	b := int(math.Ceil(float64(ratio*float32(half-1)))) + half
	if distance < 0 {
		return -b
	}
	return b
}

// nearby are the vectors that texts of up to a length need.
type nearby struct {
	x  []float32 // [n, D]
	n  int
	at []int // row of x for a distance, at index distance + length - 1
}

// nearby takes them from t; they lie in memory of ws.
func (t *distances) nearby(ws *Workspace, length, dim int) (*nearby, error) {
	if t == nil || length == 0 {
		return nil, nil
	}
	first, last := t.row(1-length), t.row(length-1)
	near := &nearby{x: t.weight[first*dim : (last+1)*dim], n: last + 1 - first, at: make([]int, 2*length-1)}
	for i := range near.at {
		near.at[i] = t.row(i+1-length) - first
	}
	if t.norm == nil {
		return near, nil
	}
	x := ws.Alloc(len(near.x)) // [n, D]
	err := t.norm.Forward(ws, x, near.x)
	near.x = x
	return near, err
}

// disentangled is attention whose scores are (q·k + q·keyDistance + k·queryDistance) * scale, the two vectors
// being those of the distance between the two positions.
type disentangled struct {
	query, key, value *transformer.Linear
	// queryDistance and keyDistance project the vectors of distances; nil: their products are left out.
	queryDistance, keyDistance *transformer.Linear
	out                        *transformer.Linear
	core                       transformer.Attention
}

// forward sets dst, [rows, D], to x plus the attention of x, [rows, D].
func (a *disentangled) forward(ws *Workspace, dst, x []float32, batch Batch, near *nearby) error {
	defer ws.Release(ws.Mark())
	dim := a.core.Heads * a.core.HeadDim
	q, k, v, context := ws.Alloc(len(x)), ws.Alloc(len(x)), ws.Alloc(len(x)), ws.Alloc(len(x)) // [rows, D]
	if err := a.query.Forward(ws, q, x); err != nil {                                          // [rows, D]
		return err
	}
	if err := a.key.Forward(ws, k, x); err != nil { // [rows, D]
		return err
	}
	if err := a.value.Forward(ws, v, x); err != nil { // [rows, D]
		return err
	}
	var keys, queries []float32 // [n, D]
	var err error
	if keys, err = near.project(ws, a.keyDistance); err == nil {
		queries, err = near.project(ws, a.queryDistance)
	}
	for i := 0; i < batch.Len() && err == nil; i++ { // the bias of all sequences at once could be large
		rows := func(x []float32) []float32 { return x[batch.Start(i)*dim : batch.Start(i+1)*dim] }
		err = a.attend(ws, rows(context), rows(q), rows(k), rows(v), keys, queries, near) // [L, D]
	}
	if err != nil {
		return err
	}
	return a.out.ForwardAdd(ws, dst, context, x) // [rows, D]
}

// project is the projection of the vectors by l, [n, D]; nil where l is.
func (near *nearby) project(ws *Workspace, l *transformer.Linear) ([]float32, error) {
	if l == nil || near == nil {
		return nil, nil
	}
	y := ws.Alloc(near.n * l.Out)
	return y, l.Forward(ws, y, near.x)
}

// attend sets dst, [L, D], to the attention of one sequence. keys and queries are the projections of near.x,
// [n, D], or nil.
func (a *disentangled) attend(ws *Workspace, dst, q, k, v, keys, queries []float32, near *nearby) error {
	defer ws.Release(ws.Mark())
	heads, length := a.core.Heads, len(q)/(a.core.Heads*a.core.HeadDim)
	one := transformer.Uniform(1, length)
	in := transformer.AttentionInput{Query: q, Batch: one, Key: k, Value: v, KeyBatch: one}
	if keys == nil && queries == nil {
		return a.core.Forward(ws, dst, in)
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
	return a.core.Forward(ws, dst, in) // [L, D]
}

// products are those of x, [L, D], and the vectors y, [n, D], in each head, scaled: [heads, L, n]. Of y nil they
// are nil.
func (a *disentangled) products(ws *Workspace, x, y []float32, n int) []float32 {
	if y == nil {
		return nil
	}
	heads, headDim := a.core.Heads, a.core.HeadDim
	dim := heads * headDim
	length := len(x) / dim
	z := ws.Alloc(heads * length * n)
	ws.Threads.GemmBatched(kernels.GemmBatchedParams{
		TransB: kernels.Trans, Batch: heads, M: length, N: n, K: headDim, Alpha: a.core.Scale,
		A: x, LdA: dim, StrideA: headDim, // [L, head dim]
		B: y, LdB: dim, StrideB: headDim, // [n, head dim]
		C: z, LdC: n, StrideC: length * n, // [L, n]
	})
	return z
}
