package attend

import (
	"github.com/avoformer/avoformer/kernels/internal/mask"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file computes attention of whole heads, whose scores are all computed before the softmax:
// heads with few queries and keys (attendShort), and heads with very few queries (attendFew).

// headElements is the number of elements that a head needs for scores, and for the numbers that are
// added to them.
const headElements = max(simd.ShortRows*simd.ShortQueries, fewQueries*simd.FewRow)

// headMask has the keys that a head sees, [lo, lo+n), and the numbers that are added to their
// scores, or nil. For attendShort bias has a row for each key, for attendFew a row for each query.
type headMask struct {
	lo, n int
	bias  []float32
	ldb   int
}

// wholeHeads computes the heads [from, to) of all sequences.
func (c *Call) wholeHeads(w *scratch, g *group, from, to int) {
	p := &c.P
	bySequence, byHead := false, false
	for i := range p.Mask {
		t := &p.Mask[i]
		bySequence = bySequence || t.Kind == mask.Lengths || t.Kind == mask.QueryLengths || t.Shape[0] > 1
		byHead = byHead || t.Kind == mask.ALiBi || t.Shape[1] > 1
	}
	w.scores = mem.Grow(w.scores, 3*headElements)
	sees := c.allKeys(w, g)
	for i := from; i < to; i++ {
		seq, head := g.seq+i/p.Heads, i%p.Heads
		if len(p.Mask) > 0 && (i == from || byHead || bySequence && head == 0) {
			sees = c.maskedKeys(w, g, i)
		}
		c.wholeHead(w, g, seq, head, &sees)
	}
}

// wholeHead computes one head.
func (c *Call) wholeHead(w *scratch, g *group, seq, head int, sees *headMask) {
	p := &c.P
	o := p.Dst[c.row(p.DstStrides, seq, head, 0):]
	if sees.n <= 0 {
		for r := range g.lenQ {
			clear(o[r*p.DstStrides.Row:][:p.ValueDim])
		}
		return
	}
	weight := float32(1)
	if p.HeadMask != nil {
		weight = p.HeadMask[head]
	}
	kv := head / (p.Heads / p.KVHeads)
	q := p.Q[c.row(p.QStrides, seq, head, 0):]
	k, v := c.keysOf(p.K, nil, p.KStrides, seq, kv), c.keysOf(p.V, nil, p.VStrides, seq, kv)
	keys, values, ldk := k.from(sees.lo), v.from(sees.lo), k.ld
	scores, ldq := w.scores[:headElements], p.QStrides.Row
	if g.way == attendShort { // the product has the same bits with its operands exchanged
		w.headScores(c, g.dots, sees.n, g.lenQ, keys, ldk, q, ldq, scores, simd.ShortQueries)
		simd.AttnShort(c.isa, g.lenQ, sees.n, sees.bias, sees.ldb, scores, weight, p.ValueDim, values, v.ld, o, p.DstStrides.Row)
		return
	}
	w.headScores(c, g.dots, g.lenQ, sees.n, q, ldq, keys, ldk, scores, simd.FewRow)
	simd.AttnFew(c.isa, g.lenQ, sees.n, sees.bias, sees.ldb, scores, weight, p.ValueDim, values, v.ld, o, p.DstStrides.Row)
}

// allKeys returns the keys that a head without a mask sees. attendFew needs a bias even then: it
// hides the lanes of its last vector that have no key. All queries share one row of it.
func (c *Call) allKeys(w *scratch, g *group) headMask {
	n := g.lenK
	if g.way != attendFew {
		return headMask{n: n}
	}
	bias := w.scores[headElements:][:(n+15)&^15]
	clear(bias[:n])
	mem.Fill(bias[n:], mem.NegInf)
	return headMask{n: n, bias: bias}
}

// maskedKeys returns the keys that a head sees under the mask.
func (c *Call) maskedKeys(w *scratch, g *group, head int) headMask {
	u := c.start(w, g, head, 1)
	u.visible(0, g.lenK)
	lo := u.lo / order.DotLanes * order.DotLanes // a multiple of the lanes of the sum of weights
	n, ld := u.hi-lo, (g.lenK+15)&^15
	if u.hi <= u.lo {
		n = 0
	}
	bias := w.scores[2*headElements:]
	for r := range g.lenQ {
		row := bias[r*ld:][:ld]
		clear(row[:n])
		mem.Fill(row[n:], mem.NegInf)
	}
	u.mask(bias, ld, 0, g.lenQ, lo, n)
	if g.way == attendFew {
		return headMask{lo: lo, n: n, bias: bias, ldb: ld}
	}
	byKey := w.scores[headElements : 2*headElements]
	simd.TransposeRows(c.isa, byKey, bias, (g.lenQ+7)&^7, (n+7)&^7, simd.ShortQueries, ld)
	return headMask{lo: lo, n: n, bias: byKey, ldb: simd.ShortQueries}
}
