// This file has the steps between projections and scores: norms and positions of queries and keys,
// and pages of keys and values.

package transformer

import (
	"sort"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

var placings = newSlot[placing]()

// placing prepares the projected rows of a self-attention for the computation of scores. It is a
// task of kernels.Threads.Run whose parts are rows: a thread does all steps of a row while the row
// is in its caches.
type placing struct {
	a     *MultiHeadAttention
	batch Batch
	p     projected
	cache *LayerCache // nil: keys and values stay where they are
	at    []Position  // of the rows; nil: they follow each other
}

// place normalizes and rotates the queries and keys of p, and copies keys and values to the pages
// of cache, which may be nil. at are the positions of the rows, or nil.
func (a *MultiHeadAttention) place(ws *Workspace, batch Batch, p projected, cache *LayerCache, at []Position) error {
	if err := a.checkPlaces(batch, cache, at); err != nil {
		return err
	}
	if cache != nil && !a.BorrowsKeys {
		if err := cache.open(a.KVHeads, a.HeadDim); err != nil {
			return err
		}
	}
	if rows := batch.Rows(); rows > 0 && (a.QueryNorm != nil || a.KeyNorm != nil || a.ValueNorm != nil || a.KeysAsValues || a.Rotary != nil || cache != nil) {
		task := placings.of(ws)
		*task = placing{a, batch, p, cache, at}
		ws.Threads.Run(rows, rows*a.placeNanoseconds(cache), task)
		*task = placing{}
	}
	return nil
}

// checkPlaces returns an error if some row cannot be placed.
func (a *MultiHeadAttention) checkPlaces(batch Batch, cache *LayerCache, at []Position) error {
	for _, n := range []struct {
		*Norm
		heads int
	}{{a.QueryNorm, a.Heads}, {a.KeyNorm, a.KVHeads}, {a.ValueNorm, a.KVHeads}} {
		if n.Norm == nil {
			continue
		}
		if err := n.checkMade(); err != nil {
			return err
		}
		if n.heads*a.HeadDim%n.size != 0 {
			return check.Errorf(fault.ErrShape, "attention: normalization of %d features, %d heads have %d", n.size, n.heads, n.heads*a.HeadDim)
		}
	}
	if a.Rotary == nil {
		return nil
	}
	if at != nil {
		return a.Rotary.checkAxes(batch.Rows(), a.HeadDim, at)
	}
	for i := range batch.Len() {
		if n := batch.Length(i); n > 0 {
			if err := a.Rotary.check(a.HeadDim, cache.Past(i)+n-1, a.HeadDim); err != nil {
				return err
			}
		}
	}
	return nil
}

// placeNanoseconds estimates the time of a row on one thread: a feature that is normalized, rotated
// or copied takes a nanosecond or less.
func (a *MultiHeadAttention) placeNanoseconds(cache *LayerCache) int {
	n := 0
	if a.Rotary != nil {
		n += (a.Heads + a.KVHeads) * a.Rotary.Dim / 2
	}
	if a.QueryNorm != nil {
		n += (a.Heads + a.KVHeads) * a.HeadDim / 4
	}
	if a.ValueNorm != nil {
		n += a.KVHeads * a.HeadDim / 4
	}
	if cache != nil {
		n += a.KVHeads * a.HeadDim / 2
	}
	return n
}

// Do places the rows [from, to).
func (c *placing) Do(from, to int) {
	// The sequence of the first row is the last sequence that begins there or before.
	i := sort.Search(c.batch.Len(), func(i int) bool { return c.batch.Start(i+1) > from })
	for ; from < to; i++ {
		start, end := c.batch.Start(i), min(c.batch.Start(i+1), to)
		c.sequence(i, from-start, end-start)
		from = end
	}
}

// sequence places the rows [from, to) of sequence i.
func (c *placing) sequence(i, from, to int) {
	a, p := c.a, &c.p
	dim, kvDim := a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
	past, prompt := c.cache.Past(i), c.cache.prompt(i, c.batch.Length(i))
	var pages []int32
	var held int // rows that the pages hold, of those that passed
	if c.cache != nil {
		pages, held = c.cache.table(i)
	}
	var turned []float32 // cosines and sines of a row
	if c.at != nil && a.Rotary != nil {
		turned = make([]float32, a.Rotary.Dim)
	}
	for j := from; j < to; j++ {
		r := c.batch.Start(i) + j
		q := p.q[r*p.qRow:][:dim]
		var k, v []float32 // none where they are an earlier layer's
		if !a.BorrowsKeys {
			k, v = p.k[r*p.kRow:][:kvDim], p.v[r*p.vRow:][:kvDim]
		}
		if a.KeysAsValues {
			copy(v, k)
		}
		if !a.NormLast {
			a.normalize(q, k)
		}
		if a.ValueNorm != nil {
			a.ValueNorm.rows(1, v, v)
		}
		if a.Rotary != nil && a.Rotary.Dim > 0 {
			var cos, sin []float32
			if turned != nil {
				cos, sin = turned[:a.Rotary.Dim/2], turned[a.Rotary.Dim/2:]
				a.Rotary.anglesOf(cos, sin, c.at[r])
			} else {
				cos, sin = a.Rotary.angles(past+j, max(prompt, past+j+1))
			}
			rotate(q, a.HeadDim, cos, sin, a.Rotary.Pairing)
			rotate(k, a.HeadDim, cos, sin, a.Rotary.Pairing)
		}
		if a.NormLast {
			a.normalize(q, k)
		}
		if a.Rotary != nil && a.Rotary.QueryScale != nil {
			kernels.Scale(q, q, a.Rotary.QueryScale(past+j))
		}
		if c.cache != nil && !a.BorrowsKeys {
			c.cache.set(pages, held+j, k, v)
		}
	}
}

// normalize normalizes the queries and keys of a row.
func (a *MultiHeadAttention) normalize(q, k []float32) {
	if a.QueryNorm != nil {
		a.QueryNorm.rows(1, q, q)
	}
	if a.KeyNorm != nil {
		a.KeyNorm.rows(1, k, k)
	}
}

// projectSelf projects rows that attend to each other and to those in the cache.
func (a *MultiHeadAttention) projectSelf(ws *Workspace, in *AttentionInput, cache *LayerCache) (p projected, err error) {
	rows, dim, kvDim := in.Batch.Rows(), a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
	in.KeyBatch = in.Batch
	if a.QKV != nil {
		qkv := ws.Alloc(rows * a.QKV.Out) // [rows, heads*hd + 2*kv heads*hd]
		if err := a.QKV.Forward(ws, qkv, in.Query); err != nil {
			return p, err
		}
		p.q, p.qRow, p.kRow, p.vRow = qkv, a.QKV.Out, a.QKV.Out, a.QKV.Out
		if rows > 0 {
			p.k, p.v = qkv[dim:], qkv[min(dim+kvDim, len(qkv)):]
		}
		if a.Gated && rows > 0 {
			p.gate, p.gateRow = qkv[dim+2*kvDim:], a.QKV.Out
		}
	} else {
		p.q, p.qRow = ws.Alloc(rows*dim), dim
		if !a.BorrowsKeys {
			p.k, p.v, p.kRow, p.vRow = ws.Alloc(rows*kvDim), ws.Alloc(rows*kvDim), kvDim, kvDim
		}
		for _, l := range []struct {
			*Linear
			dst []float32
		}{{a.Query, p.q}, {a.Key, p.k}, {a.Value, p.v}} {
			if l.Linear == nil {
				continue
			}
			if err := l.Forward(ws, l.dst, in.Query); err != nil {
				return p, err
			}
		}
		if a.Gate != nil {
			p.gate, p.gateRow = ws.Alloc(rows*dim), dim
			if err := a.Gate.Forward(ws, p.gate, in.Query); err != nil {
				return p, err
			}
		}
	}
	if a.KeysAsValues {
		p.v, p.vRow = ws.Alloc(rows*kvDim), kvDim
	}
	p.cache = cache
	if err := a.place(ws, in.Batch, p, cache, in.Positions); err != nil {
		return p, err
	}
	return p, a.share(in, &p)
}
