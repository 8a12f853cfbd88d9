package kernels

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// Attention of whole heads, one call of the assembly each: those with few queries and
// keys (attendShort), and those with very few queries (attendFew).

const (
	// Up to shortKeys queries and keys, attendShort takes any head. Where vectors have 16
	// elements it takes heads of roomyKeys, and wide heads of up to simd.ShortQueries.
	shortKeys, roomyKeys = 32, 40
	// attendFew takes fewQueries queries with up to simd.FewKeys keys, and one query with
	// oneKeys.
	fewQueries, oneKeys = 7, 1024
	// A head is at most wholeHeadDim wide, and makes at most wholeHeadSteps steps of a product,
	// which bounds the call.
	wholeHeadDim, wholeHeadSteps = 1 << 11, 1 << 21
	// headElements is the room that a head needs for scores, and for what is added to them.
	headElements = max(simd.ShortRows*simd.ShortQueries, fewQueries*simd.FewRow)
)

// chooseStrategy decides how the units are computed, by attendShort or attendFew where
// a unit is a whole head that they can take.
func (c *attentionCall) chooseStrategy() attentionStrategy {
	p := &c.p
	if p.Weights != nil {
		return attendWeights
	}
	if p.LenK == 0 || p.KRows != nil || p.VRows != nil || max(p.HeadDim, p.ValueDim) > min(wholeHeadDim, wholeHeadSteps/(p.LenQ*p.LenK)) || c.fold > 1 || c.chunks > 1 ||
		p.Relative != nil || p.Mask != nil && p.Empty != EmptyZero {
		return attendTiles
	}
	most := c.mostShortKeys()
	few := p.LenQ < c.nr/4 || p.LenK > most
	switch {
	case !few && p.LenQ <= most:
		return attendShort
	case few && (p.LenQ <= fewQueries && p.LenK <= simd.FewKeys || p.LenQ == 1 && p.LenK <= oneKeys):
		return attendFew
	}
	return attendTiles
}

// mostShortKeys is the number of queries and of keys up to which attendShort takes a
// head. The sums over lanes at the end of the dot products weigh less the wider a head
// is. Vectors of 8, and rows that crowd the cache, are no match for the micro-kernel
// from shortKeys on.
func (c *attentionCall) mostShortKeys() int {
	if simd.KernelAttnShort.On(c.isa).Width < 16 || tune.Crowd(c.p.KStrides.Row, 16) {
		return shortKeys
	}
	return max(roomyKeys, min(c.p.HeadDim, simd.ShortQueries))
}

// headMask is what a head sees: the keys [lo, lo+n), and what is added to their scores,
// or nil. For attendShort bias has a row for each key, for attendFew one for each query.
type headMask struct {
	lo, n int
	bias  []float32
	ldb   int
}

// wholeHeads computes the heads [from, to) of all sequences.
func (c *attentionCall) wholeHeads(w *attentionScratch, from, to int) {
	p := &c.p
	bySequence, byHead := false, false
	for i := range p.Mask {
		t := &p.Mask[i]
		bySequence = bySequence || t.kind == maskLengths || t.kind == maskQueryLengths || t.shape[0] > 1
		byHead = byHead || t.kind == maskALiBi || t.shape[1] > 1
	}
	w.scores = mem.Grow(w.scores, 3*headElements)
	sees := c.allKeys(w)
	for i := from; i < to; i++ {
		seq, head := i/p.Heads, i%p.Heads
		if p.Mask != nil && (i == from || byHead || bySequence && head == 0) {
			sees = c.maskedKeys(w, i)
		}
		c.wholeHead(w, seq, head, &sees)
	}
}

// wholeHead computes one head.
func (c *attentionCall) wholeHead(w *attentionScratch, seq, head int, sees *headMask) {
	p := &c.p
	o := p.Dst[seq*p.DstStrides.Batch+head*p.DstStrides.Head:]
	if sees.n <= 0 {
		for r := range p.LenQ {
			clear(o[r*p.DstStrides.Row:][:p.ValueDim])
		}
		return
	}
	weight := float32(1)
	if p.HeadMask != nil {
		weight = p.HeadMask[head]
	}
	kv := head / (p.Heads / p.KVHeads)
	q := p.Q[offset(p.QStrides, seq, head, 0):]
	k := p.K[offset(p.KStrides, seq, kv, sees.lo):]
	v := p.V[offset(p.VStrides, seq, kv, sees.lo):]
	kernel := simd.AttnShort
	if c.strategy == attendFew {
		kernel = simd.AttnFew
	}
	kernel(c.isa, p.LenQ, sees.n, p.HeadDim, p.Scale, q, p.QStrides.Row, k, p.KStrides.Row, sees.bias, sees.ldb,
		w.scores[:headElements], weight, p.ValueDim, v, p.VStrides.Row, o, p.DstStrides.Row)
}

// allKeys is what a head sees without a mask. attendFew needs a bias even so, which
// hides what its last vector has beyond the keys; all queries share its row.
func (c *attentionCall) allKeys(w *attentionScratch) headMask {
	n := c.p.LenK
	if c.strategy != attendFew {
		return headMask{n: n}
	}
	bias := w.scores[headElements:][:(n+15)&^15]
	clear(bias[:n])
	mem.Fill(bias[n:], mem.NegInf)
	return headMask{n: n, bias: bias}
}

// maskedKeys is what a head sees by the mask.
func (c *attentionCall) maskedKeys(w *attentionScratch, head int) headMask {
	p := &c.p
	u := c.unit(w, head, 1)
	u.visible(0, p.LenK)
	n, ld := u.hi-u.lo, (p.LenK+15)&^15
	bias := w.scores[2*headElements:]
	for r := range p.LenQ {
		row := bias[r*ld:][:ld]
		clear(row[:n])
		mem.Fill(row[n:], mem.NegInf)
	}
	u.mask(bias, ld, 0, p.LenQ, u.lo, n)
	if c.strategy == attendFew {
		return headMask{lo: u.lo, n: n, bias: bias, ldb: ld}
	}
	byKey := w.scores[headElements : 2*headElements]
	simd.TransposeRows(c.isa, byKey, bias, (p.LenQ+7)&^7, (n+7)&^7, simd.ShortQueries, ld)
	return headMask{lo: u.lo, n: n, bias: byKey, ldb: simd.ShortQueries}
}
