package kernels

import (
	"math"
	"slices"
	"sync"

	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// attentionBlocks are the sizes of the work: q query rows share each tile of k
// packed keys. Strip by strip, two tiles of the micro-kernel high, the rows are
// scored, exponentiated and multiplied with the values, while a strip's scores
// are in the first-level cache and the tile's keys and values in the second.
// Calls with a window, whose hidden tiles are skipped, have smaller tiles,
// windowK keys, and those with a relative term, which need two more tiles, the
// smallest.
//
// A block of few query rows, or few keys, takes the scores as dot products of
// queries and keys in place instead of transposing the keys for the GEMM's
// kernel, and so do the last keys of a tile where they fill no more than one in
// dotTail columns of the kernel; one of very few query rows takes the values so
// as well. Keys are cut into splits of split keys at least.
type attentionBlocks struct {
	q, k, windowK, relQ, relK                           int
	dotRows, dotKeys, dotTail, accumulateRows, copyRows int
	split                                               int
}

var attentionBlocking = attentionBlocks{q: 256, k: 256, windowK: 128, relQ: 64, relK: 64, dotRows: 12, dotKeys: 32, dotTail: 4, accumulateRows: 1, copyRows: 32, split: 1024}

const (
	// maxSplits bounds the parts into which the keys of all heads together are
	// cut, and so the memory for their results.
	maxSplits = 64
	// partElements bounds the scores of the blocks that make one part of a call.
	partElements = 1 << 11
	// minUnits is how many units a call is cut into at least, as long as that
	// leaves each more than minRows rows.
	minUnits, minRows = 32, 64
	// shortKeys is the number of queries and of keys up to which attnShort takes any head, someKeys the one
	// on AVX-512, and mostKeys the one up to which it takes some; fewQueries and fewKeys are those of attnFew,
	// which takes oneKeys of one query. A head is at most shortDim wide, and makes at most shortSteps steps of a product.
	shortKeys, someKeys, mostKeys = 32, 40, simd.ShortQueries
	fewQueries, fewKeys, oneKeys  = 7, simd.FewKeys, 1024
	shortDim, shortSteps          = 1 << 11, 1 << 21
	// copyElements bounds a copy of queries or values.
	copyElements = 1 << 16
)

var negInf = float32(math.Inf(-1))

// attentionCall is one call: checked, and with something to do.
//
// The work is cut into units: the queries [i, i+rows) of one head, or, where
// each head has but one query, those of all heads that share a key head. Where
// there are few queries and few heads, the keys of each unit are cut into
// splits, whose results are merged at the end. How the work is cut depends on
// the arguments only, never on the number of threads.
type attentionCall struct {
	p         AttentionParams
	isa       ISA
	nr        int
	fold      int // query heads in a unit
	rows      int // query rows of a unit, except the last of a head
	strip     int // rows of a unit that are scored at a time
	tile      int // keys of a tile
	chunks    int // units of a head
	units     int
	splits    int // per unit
	splitKeys int
	perPart   int  // pieces (unit and split) in one part of the parallel loop
	short     bool // attnShort or attnFew takes whole heads
	few       bool // then, attnFew: the queries are few, and vectors are of keys
	partial   []float32
}

func (c *attentionCall) run(t Threads) {
	c.plan()
	pieces := c.units * c.splits
	par.Run(int(t), (pieces+c.perPart-1)/c.perPart, c)
	if c.splits > 1 {
		w := attentionScratches.Get().(*attentionScratch)
		for u := range c.units {
			c.merge(w, u)
		}
		attentionScratches.Put(w)
	}
}

// plan cuts the work into units, splits and parts.
func (c *attentionCall) plan() {
	p := &c.p
	c.isa = Active()
	mr, nr := simd.GemmTile(c.isa)
	c.nr = nr
	c.fold = 1
	if p.LenQ == 1 && p.Relative == nil {
		c.fold = p.Heads / p.KVHeads
	}
	rows := p.LenQ * c.fold
	limit := attentionBlocking.q
	c.tile = attentionBlocking.k
	for i := range p.Mask {
		if p.Mask[i].kind == maskWindow {
			c.tile = attentionBlocking.windowK
		}
	}
	if p.Relative != nil {
		limit, c.tile = attentionBlocking.relQ, attentionBlocking.relK
	}
	c.strip = 2 * mr
	// One call of the micro-kernel takes rows*dim*NR steps, and others take
	// dim*keys elements: bound them.
	dim := max(p.HeadDim, p.ValueDim)
	limit = max(1, min(limit, 1<<16/max(dim, 1)))
	c.tile = max(1, min(c.tile, 1<<18/max(dim, 1)))
	// Few units would leave threads waiting for the last of them.
	for heads := p.Batch * (p.Heads / c.fold); limit > minRows && heads*((rows+limit-1)/limit) < minUnits; {
		limit /= 2
	}
	c.chunks = (rows + limit - 1) / limit
	c.rows = (rows + c.chunks - 1) / c.chunks
	c.units = p.Batch * (p.Heads / c.fold) * c.chunks
	c.short = c.isShort()
	c.splits, c.splitKeys = 1, p.LenK
	if !c.short && rows <= 8 && p.Weights == nil {
		c.splits = max(1, min(maxSplits/c.units, p.LenK/attentionBlocking.split))
		c.splitKeys = (p.LenK + c.splits - 1) / c.splits
		c.splitKeys = (c.splitKeys + c.tile - 1) / c.tile * c.tile
		c.splits = max(1, (p.LenK+c.splitKeys-1)/max(c.splitKeys, 1))
	}
	if c.splits > 1 {
		c.partial = grow(c.partial, c.units*c.splits*c.rows*(p.ValueDim+2))
	}
	pieces := c.units * c.splits
	c.perPart = min(pieces, max(1, partElements/c.rows/max(c.splitKeys, 1)))
}

// Do implements par.Task.
func (c *attentionCall) Do(from, to int) {
	w := attentionScratches.Get().(*attentionScratch)
	if from, to = from*c.perPart, min(to*c.perPart, c.units*c.splits); c.short {
		c.shortHeads(w, from, to)
	} else {
		for i := from; i < to; i++ {
			c.piece(w, i)
		}
	}
	attentionScratches.Put(w)
}

// piece computes one split of one unit.
func (c *attentionCall) piece(w *attentionScratch, i int) {
	unit, split := i/c.splits, i%c.splits
	b := c.block(w, unit)
	b.packQueries()
	from := split * c.splitKeys
	b.visible(from, min(from+c.splitKeys, c.p.LenK))
	switch {
	case c.splits > 1:
		o, state := c.partialOf(i, b.rows)
		b.o, b.ldo = o, c.p.ValueDim
		b.online()
		copy(state[:b.rows], w.max)
		copy(state[b.rows:], w.sum)
	case c.p.Weights != nil:
		b.whole()
	default:
		b.online()
		b.finish()
	}
}

// partialOf is the memory for the result of a piece: the output before the
// division by the sum, and the rows' maxima and sums.
func (c *attentionCall) partialOf(piece, rows int) (o, state []float32) {
	size := c.rows * (c.p.ValueDim + 2)
	part := c.partial[piece*size:][:size]
	return part[:rows*c.p.ValueDim], part[rows*c.p.ValueDim:][:2*rows]
}

// merge brings the splits of a unit to a common maximum and adds them up, in
// order.
func (c *attentionCall) merge(w *attentionScratch, unit int) {
	b := c.block(w, unit)
	b.visible(0, c.p.LenK)
	fill(w.max[:b.rows], negInf)
	clear(w.sum[:b.rows])
	dim := c.p.ValueDim
	for r := range b.rows {
		clear(b.o[r*b.ldo:][:dim])
	}
	for split := range c.splits {
		o, state := c.partialOf(unit*c.splits+split, b.rows)
		for r := range b.rows {
			m, sum := state[r], state[b.rows+r]
			if sum == 0 {
				continue // this split shows the row nothing
			}
			top := max(w.max[r], m)
			old, add := expFactor(w.max[r], top), expFactor(m, top)
			w.max[r], w.sum[r] = top, w.sum[r]*old+sum*add
			dst, src := b.o[r*b.ldo:][:dim], o[r*dim:][:dim]
			for i := range dst {
				dst[i] = dst[i]*old + src[i]*add
			}
		}
	}
	b.finish()
}

// expFactor is exp(m-top), 0 where m is -Inf.
func expFactor(m, top float32) float32 {
	if m == negInf {
		return 0
	}
	return float32(math.Exp(float64(m) - float64(top)))
}

// attentionScratch is the memory of one goroutine.
type attentionScratch struct {
	scores   []float32 // strip: rows x tile keys
	keys     []float32 // the tile's keys: panels of NR, transposed
	values   []float32 // the tile's values, if they are copied: panels of NR
	last     []float32 // its last columns, one by one, where they are dot products
	products []float32 // and these
	queries  []float32 // the unit's queries, if they are copied
	panel    []float32 // NR relative embeddings, transposed
	relative [2][]float32
	ramp     []float32
	max, sum []float32 // per row: the running maximum and sum
	factor   []float32
	fresh    []bool
	lo, hi   []int // per row: the interval of keys outside of which all are hidden
	b        attentionBlock
}

var attentionScratches = sync.Pool{New: func() any { return new(attentionScratch) }}

// attentionBlock is a unit at work.
type attentionBlock struct {
	c        *attentionCall
	w        *attentionScratch
	seq      int // sequence
	head     int // first query head
	query    int // first query
	rows     int
	q, o     []float32 // row r at r*ldq, r*ldo
	ldq, ldo int
	k, v     []float32 // the key head
	weights  []float32 // rows LenK apart, or nil
	// The values at hand: rows ldv apart, panels of NR columns panel apart, which is NR in place.
	tile       []float32
	panel, ldv int
	dots, keys int  // so many of the last columns are dot products, over so many keys
	lo, hi     int  // the hull of the rows' intervals
	empty      bool // some row's interval is empty
}

// block prepares the unit.
func (c *attentionCall) block(w *attentionScratch, unit int) *attentionBlock {
	p := &c.p
	heads := p.Heads / c.fold
	chunk, unit := unit%c.chunks, unit/c.chunks
	b := &w.b
	*b = attentionBlock{c: c, w: w, seq: unit / heads, head: unit % heads * c.fold}
	first := chunk * c.rows
	b.rows = min(c.rows, p.LenQ*c.fold-first)
	b.ldq, b.ldo = p.QStrides.Row, p.DstStrides.Row
	if c.fold > 1 {
		b.head += first
		b.ldq, b.ldo = p.QStrides.Head, p.DstStrides.Head
	} else {
		b.query = first
	}
	kv := b.head / (p.Heads / p.KVHeads)
	b.q = p.Q[offset(p.QStrides, b.seq, b.head, b.query, p.HeadDim):]
	b.o = p.Dst[offset(p.DstStrides, b.seq, b.head, b.query, p.ValueDim):]
	if p.LenK > 0 {
		b.k = p.K[offset(p.KStrides, b.seq, kv, 0, p.HeadDim):]
		b.v = p.V[offset(p.VStrides, b.seq, kv, 0, p.ValueDim):]
	}
	if p.Weights != nil {
		b.weights = p.Weights[((b.seq*p.Heads+b.head)*p.LenQ+b.query)*p.LenK:]
	}
	w.max, w.sum, w.factor = grow(w.max, c.rows), grow(w.sum, c.rows), grow(w.factor, c.rows)
	return b
}

// offset is where a row starts. A tensor without elements has no rows.
func offset(s Strides, b, h, i, dim int) int {
	if dim == 0 {
		return 0
	}
	return b*s.Batch + h*s.Head + i*s.Row
}

// headOf and queryOf are the query head and the query of a row.
func (b *attentionBlock) headOf(r int) int {
	if b.c.fold > 1 {
		return b.head + r
	}
	return b.head
}

func (b *attentionBlock) queryOf(r int) int {
	if b.c.fold > 1 {
		return b.query
	}
	return b.query + r
}

// visible computes the rows' intervals of keys within [from, to).
func (b *attentionBlock) visible(from, to int) {
	p, w := &b.c.p, b.w
	if cap(w.lo) < b.c.rows {
		w.lo, w.hi = make([]int, b.c.rows), make([]int, b.c.rows)
	}
	w.lo, w.hi = w.lo[:b.rows], w.hi[:b.rows]
	b.lo, b.hi, b.empty = to, from, false
	for r := range b.rows {
		lo, hi := from, to
		for i := range p.Mask {
			lo, hi = p.Mask[i].interval(b.seq, b.queryOf(r), p.LenQ, p.Past, lo, hi)
		}
		if lo >= hi {
			lo, hi = from, from
			b.empty = true
		} else {
			b.lo, b.hi = min(b.lo, lo), max(b.hi, hi)
		}
		w.lo[r], w.hi[r] = lo, hi
	}
	b.hi = max(b.hi, b.lo)
}

// hull is the range of the rows [ra, rb) that see any of the keys [from, to).
func (b *attentionBlock) hull(ra, rb, from, to int) (int, int) {
	for ra < rb && !b.sees(ra, from, to) {
		ra++
	}
	for rb > ra && !b.sees(rb-1, from, to) {
		rb--
	}
	return ra, rb
}

// sees reports whether row r may see one of the keys [from, to).
func (b *attentionBlock) sees(r, from, to int) bool {
	if max(from, b.w.lo[r]) >= min(to, b.w.hi[r]) {
		return false
	}
	p := &b.c.p
	for i := range p.Mask {
		if t := &p.Mask[i]; (t.kind == maskKeep || t.kind == maskBlock) &&
			t.hides(b.seq, b.headOf(r), b.queryOf(r), max(from, b.w.lo[r]), min(to, b.w.hi[r])) {
			return false
		}
	}
	return true
}

// isShort reports whether attnShort or attnFew takes whole heads. The sums over lanes
// at the end of the dot products weigh less the wider a head is; vectors of 8, and
// rows that crowd, are no match for the GEMM's kernel from shortKeys on.
func (c *attentionCall) isShort() bool {
	p := &c.p
	most := shortKeys
	if c.isa == AVX512 && !crowd(p.KStrides.Row, 16) {
		most = max(someKeys, min(p.HeadDim, mostKeys))
	}
	c.few = p.LenQ < c.nr/4 || p.LenK > most
	fits := p.LenQ <= most
	if c.few {
		fits = p.LenQ <= fewQueries && p.LenK <= fewKeys || p.LenQ == 1 && p.LenK <= oneKeys
	}
	return fits && p.LenK > 0 && max(p.HeadDim, p.ValueDim) <= min(shortDim, shortSteps/(p.LenQ*p.LenK)) && c.fold == 1 && c.chunks == 1 &&
		p.Weights == nil && p.Relative == nil && (p.Mask == nil || p.Empty == EmptyZero)
}

// shortHeads computes the heads [from, to) of all, a call each. The mask is made
// of what is added to the scores, once for all heads where it is the same.
func (c *attentionCall) shortHeads(w *attentionScratch, from, to int) {
	p := &c.p
	bySequence, byHead := false, false
	for i := range p.Mask {
		t := &p.Mask[i]
		bySequence = bySequence || t.kind == maskLengths || t.kind == maskQueryLengths || t.shape[0] > 1
		byHead = byHead || t.kind == maskALiBi || t.shape[1] > 1
	}
	kernel := simd.AttnShort
	if c.few {
		kernel = simd.AttnFew
	}
	const most = max(simd.ShortRows*mostKeys, fewQueries*simd.FewRow)
	w.scores = grow(w.scores, 3*most)
	s, bias, mask := w.scores[:most], w.scores[most:2*most], w.scores[2*most:]
	lo, n, ldb, ldm := 0, p.LenK, 0, (p.LenK+15)&^15
	switch {
	case c.few:
		clear(bias[:n])
		fill(bias[n:ldm], negInf)
	case p.Mask == nil:
		bias = nil
	}
	group := p.Heads / p.KVHeads
	for i := from; i < to; i++ {
		seq, head := i/p.Heads, i%p.Heads
		if p.Mask != nil && (i == from || byHead || bySequence && head == 0) {
			b := c.block(w, i)
			b.visible(0, p.LenK)
			lo, n = b.lo, b.hi-b.lo
			for r := range p.LenQ {
				row := mask[r*ldm:][:ldm]
				clear(row[:n])
				fill(row[n:], negInf)
			}
			b.mask(mask, ldm, 0, p.LenQ, lo, n)
			if bias, ldb = mask, ldm; !c.few {
				bias, ldb = w.scores[most:2*most], mostKeys
				simd.TransposeRows(c.isa, bias, mask, (p.LenQ+7)&^7, (n+7)&^7, ldb, ldm)
			}
		}
		o := p.Dst[seq*p.DstStrides.Batch+head*p.DstStrides.Head:]
		if n <= 0 {
			for r := range p.LenQ {
				clear(o[r*p.DstStrides.Row:][:p.ValueDim])
			}
			continue
		}
		weight := float32(1)
		if p.HeadMask != nil {
			weight = p.HeadMask[head]
		}
		kv := head / group
		kernel(c.isa, p.LenQ, n, p.HeadDim, p.Scale, p.Q[offset(p.QStrides, seq, head, 0, p.HeadDim):], p.QStrides.Row,
			p.K[offset(p.KStrides, seq, kv, lo, p.HeadDim):], p.KStrides.Row, bias, ldb, s, weight,
			p.ValueDim, p.V[offset(p.VStrides, seq, kv, lo, p.ValueDim):], p.VStrides.Row, o, p.DstStrides.Row)
	}
}

// online leaves in o the sum of exp(score - max)*value for each row, and in
// w.max and w.sum the maximum and the sum of the exponentials. The rows take
// their turn strip by strip, so that a strip's scores stay in the first-level
// cache from the product to the values.
func (b *attentionBlock) online() {
	c, w, dim := b.c, b.w, b.c.p.ValueDim
	fill(w.max[:b.rows], negInf)
	clear(w.sum[:b.rows])
	w.scores = grow(w.scores, min(c.rows, c.strip+attentionBlocking.dotRows)*c.tile)
	if cap(w.fresh) < b.rows {
		w.fresh = make([]bool, c.rows)
	}
	w.fresh = w.fresh[:b.rows] // o holds nothing yet: for the strip that begins at the row
	for r := range w.fresh {
		w.fresh[r] = true
	}
	for j := b.lo; j < b.hi; j += c.tile {
		n, packed := min(c.tile, b.hi-j), -1
		for from, to := 0, 0; from < b.rows; from = to {
			to = b.stripEnd(from)
			ra, rb := b.hull(from, to, j, j+n)
			if ra == rb {
				continue
			}
			if packed < 0 {
				packed = b.packKeys(j, n)
				b.packValues(j, n)
			}
			m := min(n, slices.Max(w.hi[ra:rb])-j)
			if w.fresh[from] && rb-ra < to-from {
				b.clearOutput(from, to)
				w.fresh[from] = false
			}
			b.scores(w.scores, c.tile, ra, rb, j, m, packed)
			simd.AttnSoftmax(c.isa, w.scores, rb-ra, m, c.tile, w.max[ra:rb], w.sum[ra:rb], w.factor[ra:rb])
			beta := float32(1)
			if w.fresh[from] {
				beta = 0
			} else {
				simd.AttnScaleRows(c.isa, b.o[ra*b.ldo:], rb-ra, dim, b.ldo, w.factor[ra:rb])
			}
			b.values(w.scores, c.tile, ra, rb, m, beta)
			w.fresh[from] = false
		}
	}
	for from, to := 0, 0; from < b.rows; from = to {
		if to = b.stripEnd(from); w.fresh[from] {
			b.clearOutput(from, to)
		}
	}
}

// stripEnd is where the strip that begins at row from ends. The last one takes
// a few rows more rather than leave them by themselves.
func (b *attentionBlock) stripEnd(from int) int {
	to := from + b.c.strip
	if b.rows-to <= attentionBlocking.dotRows {
		return b.rows
	}
	return to
}

func (b *attentionBlock) clearOutput(from, to int) {
	for r := from; r < to; r++ {
		clear(b.o[r*b.ldo:][:b.c.p.ValueDim])
	}
}

// finish divides o by the sums and applies the head mask.
func (b *attentionBlock) finish() {
	p, w := &b.c.p, b.w
	hidden := false
	for r, sum := range w.sum[:b.rows] {
		f := 1 / sum
		if sum == 0 {
			f, hidden = 0, true
		}
		if p.HeadMask != nil {
			f *= p.HeadMask[b.headOf(r)]
		}
		w.factor[r] = f
	}
	simd.AttnScaleRows(b.c.isa, b.o, b.rows, p.ValueDim, b.ldo, w.factor[:b.rows])
	if hidden && p.Empty != EmptyZero {
		for r, sum := range w.sum[:b.rows] {
			if sum == 0 {
				b.emptyRow(r)
			}
		}
	}
}

// emptyRow is the output, and the weights, of a row that sees nothing.
func (b *attentionBlock) emptyRow(r int) {
	p := &b.c.p
	o := b.o[r*b.ldo:][:p.ValueDim]
	weight := float32(0)
	switch p.Empty {
	case EmptyNaN:
		weight = float32(math.NaN())
	case EmptyUniform:
		weight = 1 / float32(p.LenK)
	}
	clear(o)
	if p.Empty == EmptyNaN {
		fill(o, weight)
	}
	if p.Empty == EmptyUniform && p.LenK > 0 {
		for j := range p.LenK {
			simd.AddVec(b.c.isa, o, o, b.v[j*p.VStrides.Row:][:len(o)])
		}
		if p.HeadMask != nil {
			weight *= p.HeadMask[b.headOf(r)]
		}
		for i := range o {
			o[i] *= weight
		}
		weight = 1 / float32(p.LenK)
	}
	if b.weights != nil {
		fill(b.weights[r*p.LenK:][:p.LenK], weight)
	}
}

// whole is attention with the weights in the caller's memory: all scores of the
// rows, then their softmax, then the values.
func (b *attentionBlock) whole() {
	c, p, w := b.c, &b.c.p, b.w
	n := b.hi - b.lo
	fill(w.max[:b.rows], negInf)
	clear(w.sum[:b.rows])
	for r := range b.rows {
		row := b.weights[r*p.LenK:][:p.LenK]
		clear(row[:b.lo])
		clear(row[b.hi:])
	}
	if n > 0 {
		for j := b.lo; j < b.hi; j += c.tile {
			m := min(c.tile, b.hi-j)
			b.scores(b.weights[j:], p.LenK, 0, b.rows, j, m, b.packKeys(j, m))
		}
		for from, to := range computingBudget.rows(b.rows, n) {
			simd.AttnSoftmax(c.isa, b.weights[from*p.LenK+b.lo:], to-from, n, p.LenK, w.max[from:to], w.sum[from:to], w.factor[from:to])
			for r := from; r < to; r++ {
				w.factor[r] = 1 / w.sum[r]
				if w.sum[r] == 0 {
					w.factor[r] = 0
				}
			}
			simd.AttnScaleRows(c.isa, b.weights[from*p.LenK+b.lo:], to-from, n, p.LenK, w.factor[from:to])
		}
	}
	beta := float32(0)
	for j := b.lo; j < b.hi; j += c.tile {
		n := min(c.tile, b.hi-j)
		b.packValues(j, n)
		b.values(b.weights[j:], p.LenK, 0, b.rows, n, beta)
		beta = 1
	}
	if n <= 0 {
		b.clearOutput(0, b.rows)
	}
	if p.HeadMask != nil {
		for r := range b.rows {
			w.factor[r] = p.HeadMask[b.headOf(r)]
		}
		simd.AttnScaleRows(c.isa, b.o, b.rows, p.ValueDim, b.ldo, w.factor[:b.rows])
	}
	for r, sum := range w.sum[:b.rows] {
		if sum == 0 {
			b.emptyRow(r)
		}
	}
}

// packKeys transposes the keys [j, j+n), panel by panel of NR, into w.keys, and
// returns how many. The others are taken in place, as dot products with the
// queries: all where there are few rows or keys, or the last ones of a panel.
func (b *attentionBlock) packKeys(j, n int) (packed int) {
	c, p, w := b.c, &b.c.p, b.w
	if b.rows <= attentionBlocking.dotRows || n <= attentionBlocking.dotKeys {
		return 0
	}
	if tail := n % c.nr; tail*attentionBlocking.dotTail <= c.nr {
		n -= tail
	}
	w.keys = grow(w.keys, (c.tile+c.nr-1)/c.nr*c.nr*p.HeadDim)
	for at := 0; at < n; at += c.nr {
		transpose(c.isa, w.keys[at*p.HeadDim:], b.k[(j+at)*p.KStrides.Row:], min(c.nr, n-at), p.HeadDim, c.nr, p.KStrides.Row)
	}
	return n
}

// scores computes the tile of rows [ra, rb) and keys [j, j+n) into s, whose
// element 0 is its first: scaled, with the biases, -Inf where hidden. So many of
// the keys, or more, are packed.
func (b *attentionBlock) scores(s []float32, lds, ra, rb, j, n, packed int) {
	c, p, w := b.c, &b.c.p, b.w
	q := b.q[ra*b.ldq:]
	packed = min(packed, n)
	for at := 0; at < packed; at += c.nr {
		simd.GemmPanel(c.isa, rb-ra, min(c.nr, packed-at), p.HeadDim, p.Scale, q, b.ldq, w.keys[at*p.HeadDim:], c.nr, 0, 0, 0, s[at:], lds)
	}
	if packed < n {
		simd.AttnDot(c.isa, rb-ra, n-packed, p.HeadDim, p.Scale, q, b.ldq, b.k[(j+packed)*p.KStrides.Row:], p.KStrides.Row, s[packed:], lds)
	}
	if p.Relative != nil {
		b.addRelative(s, lds, ra, rb, j, n)
	}
	b.mask(s, lds, ra, rb, j, n)
}

// mask applies the mask to a tile of scores.
func (b *attentionBlock) mask(s []float32, lds, ra, rb, j, n int) {
	p, w := &b.c.p, b.w
	for i := range p.Mask {
		switch t := &p.Mask[i]; t.kind {
		case maskBias:
			b.addBias(t, s, lds, ra, rb, j, n)
		case maskALiBi:
			b.addALiBi(t, s, lds, ra, rb, j, n)
		case maskKeep, maskBlock:
			for r := ra; r < rb; r++ {
				t.hide(s[(r-ra)*lds:][:n], b.seq, b.headOf(r), b.queryOf(r), j)
			}
		}
	}
	for r := ra; r < rb; r++ {
		row := s[(r-ra)*lds:][:n]
		fill(row[:min(max(w.lo[r]-j, 0), n)], negInf)
		fill(row[min(max(w.hi[r]-j, 0), n):], negInf)
	}
}

// addBias adds a bias term.
func (b *attentionBlock) addBias(t *MaskTerm, s []float32, lds, ra, rb, j, n int) {
	for r := ra; r < rb; r++ {
		at, step := t.row(b.seq, b.headOf(r), b.queryOf(r))
		row := s[(r-ra)*lds:][:n]
		if step == 1 {
			simd.AddVec(b.c.isa, row, row, t.bias[at+j:][:n])
			continue
		}
		bias := t.bias[at]
		for i := range row {
			row[i] += bias
		}
	}
}

// addALiBi adds the linear bias. The rows of a tile are windows into one ramp,
// each one element further to the left.
func (b *attentionBlock) addALiBi(t *MaskTerm, s []float32, lds, ra, rb, j, n int) {
	w := b.w
	w.ramp = grow(w.ramp, b.c.rows+n)
	last := -1
	for r := ra; r < rb; r++ {
		shift := b.queryOf(rb-1) - b.queryOf(r)
		if h := b.headOf(r); h != last {
			last = h
			far := b.queryOf(rb-1) + b.c.p.Past - j
			for i := range n + shift {
				d := far - i
				w.ramp[i] = -t.bias[h] * float32(max(d, -d))
			}
		}
		row := s[(r-ra)*lds:][:n]
		simd.AddVec(b.c.isa, row, row, w.ramp[shift:][:n])
	}
}

// addRelative adds the relative terms. The products of the rows with the
// embeddings of all distances that occur in the tile are made by the GEMM
// kernel; those of a row are then shifted by its position.
func (b *attentionBlock) addRelative(s []float32, lds, ra, rb, j, n int) {
	c, p, w := b.c, &b.c.p, b.w
	m, dim := rb-ra, p.HeadDim
	if dim == 0 {
		return
	}
	zero := (len(p.Relative)/dim - 1) / 2 // distance 0
	first := b.queryOf(ra) + p.Past - (j + n - 1) + zero
	count := m + n - 1 // embedding first+e is that of row r and key c where e = r-c+n-1
	ld := (count + c.nr - 1) / c.nr * c.nr
	product := func(which, rows int, a []float32, lda int) []float32 {
		w.relative[which] = grow(w.relative[which], max(attentionBlocking.relQ, attentionBlocking.relK)*
			(attentionBlocking.relQ+attentionBlocking.relK+c.nr))
		out := w.relative[which]
		for at := 0; at < count; at += c.nr {
			e := min(c.nr, count-at)
			transpose(c.isa, w.panel, p.Relative[(first+at)*dim:], e, dim, c.nr, dim)
			simd.GemmPanel(c.isa, rows, e, dim, p.Scale, a, lda, w.panel, c.nr, 0, 0, 0, out[at:], ld)
		}
		return out
	}
	w.panel = grow(w.panel, c.nr*dim)
	byQuery := product(0, m, b.q[ra*b.ldq:], b.ldq)
	for r := range m {
		row := s[r*lds:][:n]
		for i := range row {
			row[i] += byQuery[r*ld+r-i+n-1]
		}
	}
	if !p.RelativeKeys {
		return
	}
	byKey := product(1, n, b.k[j*p.KStrides.Row:], p.KStrides.Row)
	for r := range m {
		row := s[r*lds:][:n]
		for i := range row {
			row[i] += byKey[i*ld+r-i+n-1]
		}
	}
}

// crowded reports whether so many rows of dim elements, which are ld apart, are
// better copied: for many queries, if they share a set of the cache, as those of a
// fused projection of 1024 features do, which are 12 KiB apart.
func (b *attentionBlock) crowded(ld, rows, dim int) bool {
	return b.rows >= attentionBlocking.copyRows && rows*dim <= copyElements && crowd(ld, 16)
}

// packQueries copies the queries of a block.
func (b *attentionBlock) packQueries() {
	p, w := &b.c.p, b.w
	if !b.crowded(b.ldq, b.rows, p.HeadDim) {
		return
	}
	ld := paddedRow(p.HeadDim)
	w.queries = grow(w.queries, b.c.rows*ld)
	simd.CopyRows(b.c.isa, w.queries, b.q, b.rows, p.HeadDim, ld, b.ldq)
	b.q, b.ldq = w.queries, ld
}

// packValues prepares the values [j, j+n) for values: in place, or in panels of NR columns.
func (b *attentionBlock) packValues(j, n int) {
	c, p, w := b.c, &b.c.p, b.w
	b.tile, b.panel, b.ldv = b.v[j*p.VStrides.Row:], c.nr, p.VStrides.Row
	b.dots, b.keys = 0, n
	v := operandB{data: b.v, ld: p.VStrides.Row}
	if b.rows > attentionBlocking.accumulateRows {
		b.dots = dotColumns(c.isa, p.ValueDim, n, b.rows)
		w.last = grow(w.last, b.dots*c.tile)
		v.packDots(c.isa, w.last, j, p.ValueDim-b.dots, n, b.dots)
	}
	if !b.crowded(b.ldv, n, p.ValueDim) {
		return
	}
	w.values = grow(w.values, (p.ValueDim+c.nr-1)/c.nr*c.nr*c.tile)
	v.packPanels(c.isa, w.values, j, 0, n, p.ValueDim, c.nr)
	b.tile, b.panel, b.ldv = w.values, n*c.nr, c.nr
}

// values is o = beta*o + the tile s times the first n of the prepared values.
func (b *attentionBlock) values(s []float32, lds, ra, rb, n int, beta float32) {
	c, p := b.c, &b.c.p
	o := b.o[ra*b.ldo:]
	if rb-ra <= attentionBlocking.accumulateRows && b.panel == c.nr { // rows in place
		for r := range rb - ra {
			row := o[r*b.ldo:][:p.ValueDim]
			if beta == 0 {
				clear(row)
			}
			simd.AttnAccumulate(c.isa, row, s[r*lds:][:n], b.tile, b.ldv)
		}
		return
	}
	dim := p.ValueDim - b.dots
	for at := 0; at < dim; at += c.nr {
		simd.GemmPanel(c.isa, rb-ra, min(c.nr, dim-at), n, 1, s, lds, b.tile[at/c.nr*b.panel:], b.ldv, 0, 0, beta, o[at:], b.ldo)
	}
	if b.dots == 0 {
		return
	}
	w := b.w
	w.products = grow(w.products, (rb-ra)*b.dots)
	simd.GemmDot(c.isa, rb-ra, b.dots, n, 1, s, lds, w.last, b.keys, w.products, b.dots)
	if beta == 0 {
		simd.CopyRows(c.isa, o[dim:], w.products, rb-ra, b.dots, b.ldo, b.dots)
	} else {
		simd.AddRows(c.isa, o[dim:], w.products, rb-ra, b.dots, b.ldo, b.dots)
	}
}

func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}
