package attend

import (
	"math"
	"slices"
	"sync"

	"github.com/avoformer/avoformer/kernels/internal/mask"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// This file has a unit of attention while it is computed: its operands, the keys that its rows see,
// and the steps at its end that all strategies share.

// scratch is the scratch memory of one goroutine.
type scratch struct {
	scores               []float32 // of a strip: rows x keys of a tile
	queries              []float32 // the unit's queries, if they are copied
	output               []float32 // the unit's output, if it has memory of its own
	chains               []float32 // the products of a strip with values
	keys                 []float32 // the tile's keys as panels of NR, transposed
	values               []float32 // the tile's values, if they are copied: panels of NR
	panel                []float32 // panels of some relative embeddings, or of keys, transposed
	line                 []float32 // the products of a query with some panels
	few                  []float32 // fewer keys than a block, which are transposed
	wideKeys, wideValues []float32 // the tile's keys and values as float32, if they are narrow
	relative             [2][]float32
	ramp                 []float32 // the bias of ALiBi
	max, sum             []float32 // per row: the running maximum and sum
	factor               []float32 // per row: the factor of its output
	all                  stretches
	stretch              []float32 // the unit's output for the current stretch, if there are several
	lo, hi               []int     // per row: an interval of keys; all keys outside it are hidden
	fresh                []bool    // for the strip that begins at the row: its output has not been set
	integers             integers
	u                    unit
	next                 unit // the next unit, whose operands are fetched; without rows if there is none
	ahead                fetchQueue
}

// stretches holds the rows' maxima and sums over all stretches so far, and the factors of these and
// of the next one.
type stretches struct {
	max, sum, factor []float32
}

// begin allocates memory for rows, without any stretches so far.
func (s *stretches) begin(rows int) {
	s.max, s.sum, s.factor = mem.Grow(s.max, rows), mem.Grow(s.sum, rows), mem.Grow(s.factor, rows)
	mem.Fill(s.max[:rows], mem.NegInf)
	clear(s.sum[:rows])
}

// integers holds a unit's operands of products of integers.
type integers struct {
	queries weights.RowsOfA
	keys    weights.Keys
	values  weights.Values
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// unit is a unit while it is computed.
type unit struct {
	c        *Call
	g        *group
	w        *scratch
	number   int
	seq      int // sequence
	head     int // first query head
	query    int // first query
	rows     int
	q, o     []float32 // row r at r*ldq, r*ldo
	ldq, ldo int
	k, v     keyRows   // keys and values of the key head
	keys     keyTile   // the current keys
	weights  []float32 // rows LenK apart, or nil
	tile     valueTile // the current values
	lo, hi   int       // the hull of the rows' intervals
	alike    bool      // the intervals are the same for all rows
}

// start prepares a unit of a group, or several units from there on as one. number is the index of
// the first.
func (c *Call) start(w *scratch, g *group, number, units int) *unit {
	u := &w.u
	u.begin(c, g, w, number, units)
	if c.P.Weights != nil {
		u.weights = c.P.Weights[((u.seq*c.P.Heads+u.head)*g.lenQ+u.query)*g.lenK:]
	}
	w.max, w.sum, w.factor = mem.Grow(w.max, u.rows), mem.Grow(w.sum, u.rows), mem.Grow(w.factor, u.rows)
	w.ahead.n, w.next.rows = 0, 0
	return u
}

// begin sets the rows of the arguments that belong to the unit.
func (u *unit) begin(c *Call, g *group, w *scratch, number, units int) {
	p := &c.P
	heads := p.Heads / g.fold
	chunk, head := number%g.chunks, number/g.chunks
	*u = unit{c: c, g: g, w: w, number: number, seq: g.seq + head/heads, head: head % heads * g.fold}
	first := chunk * g.rows
	u.rows = g.lenQ*g.fold - first
	if chunk+units < g.chunks {
		u.rows = units * g.rows
	}
	u.ldq, u.ldo = p.QStrides.Row, p.DstStrides.Row
	switch {
	case g.interleaved(): // only the first row is in place; packQueries and ownOutput handle all rows
		u.query = first / g.fold
	case g.fold > 1:
		u.head += first
		u.ldq, u.ldo = p.QStrides.Head, p.DstStrides.Head
	default:
		u.query = first
	}
	u.q = p.Q[c.row(p.QStrides, u.seq, u.head, u.query):]
	u.o = p.Dst[c.row(p.DstStrides, u.seq, u.head, u.query):]
	if g.lenK > 0 {
		kv := u.head / (p.Heads / p.KVHeads)
		u.k = c.keysOf(p.K, p.KPages, p.KStrides, u.seq, kv)
		u.v = c.keysOf(p.V, p.VPages, p.VStrides, u.seq, kv)
	}
}

// headOf and queryOf return the query head and the query of a row.
func (u *unit) headOf(r int) int { return u.head + r%u.g.fold }

func (u *unit) queryOf(r int) int { return u.query + r/u.g.fold }

// visible computes the rows' intervals of keys within [from, to).
func (u *unit) visible(from, to int) {
	p, w := &u.c.P, u.w
	if cap(w.lo) < u.rows {
		w.lo, w.hi = make([]int, u.rows), make([]int, u.rows)
	}
	w.lo, w.hi = w.lo[:u.rows], w.hi[:u.rows]
	u.lo, u.hi = to, from
	u.alike = !slices.ContainsFunc(p.Mask, func(t mask.Term) bool { return t.Kind == mask.Window || t.Kind == mask.QueryLengths })
	for r := range u.rows {
		if u.alike && r > 0 {
			w.lo[r], w.hi[r] = w.lo[0], w.hi[0]
			continue
		}
		lo, hi := from, to
		for i := range p.Mask {
			lo, hi = p.Mask[i].Interval(u.seq, u.queryOf(r), u.g.lenQ, u.g.past, lo, hi)
		}
		if lo >= hi {
			lo, hi = from, from
		} else {
			u.lo, u.hi = min(u.lo, lo), max(u.hi, hi)
		}
		w.lo[r], w.hi[r] = lo, hi
	}
	u.hi = max(u.hi, u.lo)
}

// after returns the first key of the tile after the one with key j.
func (u *unit) after(j int) int { return (j/u.g.tile + 1) * u.g.tile }

// hull returns the range of the rows [ra, rb) that see any of the keys [from, to).
func (u *unit) hull(ra, rb, from, to int) (int, int) {
	for ra < rb && !u.sees(ra, from, to) {
		ra++
	}
	for rb > ra && !u.sees(rb-1, from, to) {
		rb--
	}
	return ra, rb
}

// sees reports whether row r may see one of the keys [from, to).
func (u *unit) sees(r, from, to int) bool {
	from, to = max(from, u.w.lo[r]), min(to, u.w.hi[r])
	if from >= to {
		return false
	}
	p := &u.c.P
	for i := range p.Mask {
		if t := &p.Mask[i]; (t.Kind == mask.Keep || t.Kind == mask.Blocked) && t.Hides(u.seq, u.headOf(r), u.queryOf(r), from, to) {
			return false
		}
	}
	return true
}

// clearOutput sets the rows [ra, rb) of the output to 0.
func (u *unit) clearOutput(ra, rb int) {
	for r := ra; r < rb; r++ {
		clear(u.o[r*u.ldo:][:u.c.P.ValueDim])
	}
}

// finish multiplies the output of the rows [ra, rb) by the weight of the head divided by the sums.
func (u *unit) finish(ra, rb int) {
	p, factor := &u.c.P, u.w.factor[ra:rb]
	for r, sum := range u.w.sum[ra:rb] {
		weight := float32(1)
		if p.HeadMask != nil {
			weight = p.HeadMask[u.headOf(ra+r)]
		}
		factor[r] = order.AttentionFactor(weight, u.withSink(ra+r, sum))
	}
	scaleRows(u.c.isa, u.o[ra*u.ldo:], rb-ra, p.ValueDim, u.ldo, factor)
}

// withSink returns the sum of a row plus the number that its sink adds. The sink adds nothing if
// the row sees no key.
func (u *unit) withSink(r int, sum float32) float32 {
	if u.c.P.Sinks == nil || sum == 0 {
		return sum
	}
	return order.WithSink(sum, u.c.P.Sinks[u.headOf(r)], u.w.max[r])
}

// emptyRows writes the output and the weights of the rows that see no key, unless they are 0
// already.
func (u *unit) emptyRows() {
	if u.c.P.Empty == EmptyZero && u.weights == nil {
		return
	}
	for r, sum := range u.w.sum[:u.rows] {
		if sum == 0 {
			u.emptyRow(r)
		}
	}
}

func (u *unit) emptyRow(r int) {
	p := &u.c.P
	o := u.o[r*u.ldo:][:p.ValueDim]
	weight := float32(0)
	clear(o)
	switch p.Empty {
	case EmptyNaN:
		weight = float32(math.NaN())
		mem.Fill(o, weight)
	case EmptyUniform:
		weight = 1 / float32(u.g.lenK)
		u.meanOfValues(o, weight, u.headOf(r))
	}
	if u.weights != nil {
		mem.Fill(u.weights[r*u.g.lenK:][:u.g.lenK], weight)
	}
}

// meanOfValues sets o, which is 0, to the sum of all values times weight, under the mask of a head.
func (u *unit) meanOfValues(o []float32, weight float32, head int) {
	p := &u.c.P
	if u.g.lenK == 0 {
		return
	}
	for j := range u.g.lenK {
		u.v.load(u.c.isa, &u.w.wideValues, j, 1, true, 0)
		simd.AddVec(u.c.isa, o, o, u.v.from(j)[:len(o)])
	}
	if p.HeadMask != nil {
		weight *= p.HeadMask[head]
	}
	for i := range o {
		o[i] *= weight
	}
}

// keyTile is a tile of keys as panels. Without data, the panels are transposed piece by piece.
type keyTile struct {
	data  []float32
	first int // the key of the first column
}

// valueTile is the values of some keys, ready for products.
type valueTile struct {
	first  int       // key
	data   []float32 // nil if they are in several pages
	ld     int       // elements from a key to the next
	panel  int       // elements from a panel of NR columns to the next
	copied bool
}

// stripEnd returns the end of the strip that begins at row from. The last strip has up to lastRows
// more rows, so that these are not a strip of their own.
func (u *unit) stripEnd(from int) int {
	to := from + u.g.strip
	if u.rows-to <= lastRows {
		return u.rows
	}
	return to
}
