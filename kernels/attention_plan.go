package kernels

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// How a call of attention is cut into pieces, and which strategy computes them.

// attentionSizes is the sizes of the work. They decide in what order numbers are summed
// up, so none depends on the number of threads or is a matter of tuning.
type attentionSizes struct {
	// A unit has up to unitRows query rows, which share each tile of tileKeys keys.
	// Windows hide whole tiles, so their tiles are smaller; relative terms need room for
	// two more products of a tile.
	unitRows, tileKeys         int
	windowKeys                 int
	relativeRows, relativeKeys int
	// Keys are cut into splits of splitKeys at least.
	splitKeys int
	// Up to dotRows query rows, or dotKeys keys, the scores are dot products of queries
	// and keys in place, instead of transposing the keys for the micro-kernel. So are the
	// scores of the last keys of a tile, where they fill no more than one in dotTail
	// columns of the micro-kernel.
	dotRows, dotKeys, dotTail int
	// One query takes keys of wideDim elements and more, and of more than AttnDot does at a time, one
	// after the other.
	wideDim int
	// accumulateRows query rows, or fewer, add up the values in place.
	accumulateRows int
	// From crowdedRows query rows on, queries or values that crowd the cache are copied.
	crowdedRows int
}

var attentionSize = attentionSizes{
	unitRows: 256, tileKeys: 256, windowKeys: 128, relativeRows: 64, relativeKeys: 64, splitKeys: 1024,
	dotRows: 12, dotKeys: 32, dotTail: 4, wideDim: 64, accumulateRows: 1, crowdedRows: 32,
}

const (
	// A unit has at most unitElements elements of queries and a tile tileElements of
	// keys, which bounds one call of the micro-kernel.
	unitElements, tileElements = 1 << 16, 1 << 18
	// A call is cut into minUnits units at least, as long as that leaves each more than
	// minRows rows: few units would leave threads waiting for the last of them.
	minUnits, minRows = 32, 64
	// Neighbouring units that are computed as one have joinedRows rows at most.
	joinedRows = 512
	// Units of up to splitRows rows have their keys cut into splits. maxSplits bounds the
	// splits of all units together, and so the memory for their results.
	splitRows, maxSplits = 8, 64
	// partElements bounds the scores of the pieces that make one part of a call.
	partElements = 1 << 11
	// crowdedElements bounds a copy of queries or values.
	crowdedElements = 1 << 16
)

// attentionStrategy is a way to compute a unit.
type attentionStrategy uint8

const (
	attendTiles   attentionStrategy = iota // tile by tile of keys, with a running maximum and sum
	attendWeights                          // the same in three passes, since the caller wants the weights
	attendShort                            // a whole head in one call of the assembly, with vectors of queries
	attendFew                              // a whole head in one call of the assembly, with vectors of keys
)

// attentionCall is one call: checked, and with something to do.
//
// The work is cut into units: the queries [i, i+rows) of one head. Where each head has
// but one query, a unit is the queries of all heads that share a key head. Where there
// are few queries and few heads, the keys of each unit are cut into splits, whose results
// are merged at the end. One split of one unit is a piece. How the work is cut depends
// on the arguments only, never on the number of threads.
type attentionCall struct {
	p        AttentionParams
	isa      ISA
	mr, nr   int // the tile of the micro-kernel
	strategy attentionStrategy

	fold    int // query heads in a unit
	rows    int // query rows of a unit, except the last of a head
	chunks  int // units of a head
	units   int
	tile    int  // keys of a tile
	splits  int  // of a unit
	split   int  // keys of a split
	perPart int  // pieces in one part of the parallel loop
	joins   bool // neighbouring units are computed as one if the same thread has them

	partial []float32 // the results of the pieces, where there are several splits
}

func (c *attentionCall) run(t Threads) {
	c.plan()
	pieces := c.units * c.splits
	par.Run(int(t), (pieces+c.perPart-1)/c.perPart, c)
	if c.splits > 1 {
		w := attentionScratches.Get().(*attentionScratch)
		for u := range c.units {
			c.unit(w, u, 1).merge()
		}
		attentionScratches.Put(w)
	}
}

// Do implements par.Task.
func (c *attentionCall) Do(from, to int) {
	w := attentionScratches.Get().(*attentionScratch)
	from, to = from*c.perPart, min(to*c.perPart, c.units*c.splits)
	if c.strategy == attendShort || c.strategy == attendFew {
		c.wholeHeads(w, from, to)
	} else {
		for i := from; i < to; {
			n := c.together(i, to)
			c.piece(w, i, n)
			i += n
		}
	}
	attentionScratches.Put(w)
}

// together is how many of the pieces [i, to) are computed as one unit, for which the keys are
// transposed once: neighbours in a head whose queries all see the same keys.
func (c *attentionCall) together(i, to int) int {
	if !c.joins {
		return 1
	}
	return min(to-i, c.chunks-i%c.chunks, max(1, joinedRows/c.rows))
}

// piece computes one split of one unit, or all of several units that are neighbours.
func (c *attentionCall) piece(w *attentionScratch, i, units int) {
	u := c.unit(w, i/c.splits, units)
	if next := i + units; c.splits == 1 && next < c.units {
		w.next.begin(c, w, next, 1)
	}
	u.packQueries()
	from := i % c.splits * c.split
	u.visible(from, min(from+c.split, c.p.LenK))
	switch {
	case c.strategy == attendWeights:
		u.withWeights()
	case c.splits > 1:
		u.tilesOfSplit(i)
	default:
		u.tiles()
	}
}

// plan cuts the work into units, splits and parts.
func (c *attentionCall) plan() {
	c.isa = Active()
	c.mr, c.nr = simd.GemmTile(c.isa)
	c.planUnits()
	c.strategy = c.chooseStrategy()
	c.planSplits()
	c.perPart = min(c.units*c.splits, max(1, partElements/c.rows/max(c.split, 1)))
	c.joins = c.strategy == attendTiles && c.rows%c.stripRows() == 0 && c.splits == 1 && c.fold == 1 && c.p.Relative == nil &&
		!slices.ContainsFunc(c.p.Mask, func(t MaskTerm) bool { return t.byQuery() })
}

// planUnits chooses the rows of a unit and the keys of a tile.
func (c *attentionCall) planUnits() {
	p := &c.p
	c.fold = 1
	if p.LenQ == 1 && p.Relative == nil {
		c.fold = p.Heads / p.KVHeads
	}
	limit := attentionSize.unitRows
	c.tile = attentionSize.tileKeys
	for i := range p.Mask {
		if p.Mask[i].kind == maskWindow {
			c.tile = attentionSize.windowKeys
		}
	}
	if p.Relative != nil {
		limit, c.tile = attentionSize.relativeRows, attentionSize.relativeKeys
	}
	dim := max(p.HeadDim, p.ValueDim, 1)
	limit = max(1, min(limit, unitElements/dim))
	c.tile = c.evenTile(max(1, min(c.tile, tileElements/dim)))
	rows, heads := p.LenQ*c.fold, p.Batch*(p.Heads/c.fold)
	for limit > minRows && heads*((rows+limit-1)/limit) < minUnits {
		limit /= 2
	}
	c.chunks = (rows + limit - 1) / limit
	c.rows = (rows + c.chunks - 1) / c.chunks
	if strip := c.stripRows(); c.chunks > 1 && limit >= strip && c.fold == 1 && p.Relative == nil {
		// Whole strips, so that these are the same where units are computed as one. The last one
		// takes a few rows more, and so does the last unit.
		strips := (rows - attentionSize.dotRows + strip - 1) / strip
		c.rows = (strips + c.chunks - 1) / c.chunks * strip
		c.chunks = (strips*strip + c.rows - 1) / c.rows
	}
	c.units = heads * c.chunks
}

// evenTile is the keys of a tile where limit is what it is to have: up to a quarter more rather than one
// more tile for a few keys, each of which costs a pass of the online softmax and a short product with
// the values. Tiles that are smaller for another reason stay as they are.
func (c *attentionCall) evenTile(limit int) int {
	keys := c.p.LenK
	if keys <= limit || limit < attentionSize.tileKeys || limit < 2*c.nr {
		return limit
	}
	tiles := (keys - limit/4 + limit - 1) / limit
	return ((keys+tiles-1)/tiles + c.nr - 1) / c.nr * c.nr
}

// planSplits cuts the keys of a unit.
func (c *attentionCall) planSplits() {
	p := &c.p
	c.splits, c.split = 1, p.LenK
	if c.strategy != attendTiles || p.LenQ*c.fold > splitRows {
		return
	}
	c.splits = max(1, min(maxSplits/c.units, p.LenK/attentionSize.splitKeys))
	c.split = (p.LenK + c.splits - 1) / c.splits
	c.split = (c.split + c.tile - 1) / c.tile * c.tile
	c.splits = max(1, (p.LenK+c.split-1)/max(c.split, 1))
	if c.splits > 1 {
		c.partial = mem.Grow(c.partial, c.units*c.splits*c.rows*(p.ValueDim+2))
	}
}

// partialOf is the memory for the result of a piece: the output before the
// division by the sum, and the rows' maxima and sums.
func (c *attentionCall) partialOf(piece, rows int) (o, state []float32) {
	size := c.rows * (c.p.ValueDim + 2)
	part := c.partial[piece*size:][:size]
	return part[:rows*c.p.ValueDim], part[rows*c.p.ValueDim:][:2*rows]
}

// tilesOfSplit computes a piece that is one of several splits of the unit.
func (u *attentionUnit) tilesOfSplit(piece int) {
	o, state := u.c.partialOf(piece, u.rows)
	u.o, u.ldo = o, u.c.p.ValueDim
	u.tiles()
	copy(state[:u.rows], u.w.max)
	copy(state[u.rows:], u.w.sum)
}

// merge brings the splits of the unit to a common maximum and adds them up, in
// order.
func (u *attentionUnit) merge() {
	c, w, dim := u.c, u.w, u.c.p.ValueDim
	u.visible(0, c.p.LenK)
	mem.Fill(w.max[:u.rows], mem.NegInf)
	clear(w.sum[:u.rows])
	u.clearOutput(0, u.rows)
	for split := range c.splits {
		o, state := c.partialOf(u.number*c.splits+split, u.rows)
		for r := range u.rows {
			m, sum := state[r], state[u.rows+r]
			if sum == 0 {
				continue // this split shows the row nothing
			}
			top := max(w.max[r], m)
			old, add := expFactor(w.max[r], top), expFactor(m, top)
			w.max[r], w.sum[r] = top, w.sum[r]*old+sum*add
			dst, src := u.o[r*u.ldo:][:dim], o[r*dim:][:dim]
			for i := range dst {
				dst[i] = dst[i]*old + src[i]*add
			}
		}
	}
	u.finish(0, u.rows)
	u.emptyRows()
}

// expFactor is exp(m-top), 0 where m is -Inf.
func expFactor(m, top float32) float32 {
	if m == mem.NegInf {
		return 0
	}
	return float32(math.Exp(float64(m) - float64(top)))
}
