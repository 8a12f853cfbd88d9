package attend

import (
	"slices"

	"github.com/avoformer/avoformer/kernels/internal/mask"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// This file cuts a call of attention into pieces, and chooses the strategy that computes them.

// Sizes has the sizes of the work. They affect only speed: package order states the order in which
// numbers are summed up.
type Sizes struct {
	// A unit has up to UnitRows query rows, which share each tile of keys. Relative terms need
	// memory for two more products of a tile.
	UnitRows, RelativeRows int
	// A unit has the queries of several heads if keys are in pages, there are at least FoldKeys of
	// them, and a head has fewer than FoldQueries queries. Separate units would widen the same keys
	// once per head, which takes the same time as the products of the few queries. With more
	// queries the widening costs little, and longer units are harder to divide among threads.
	FoldKeys, FoldQueries int
	// Up to InPlaceRows query rows read values page by page if they are in several pages. For more
	// rows, the values are copied together.
	InPlaceRows int
	// Up to AccumulateRows query rows add up the values in place.
	AccumulateRows int
	// For CrowdedRows query rows or more, queries and values are copied if they crowd the cache.
	CrowdedRows int
}

var Size = Sizes{
	UnitRows: 256, RelativeRows: 64, FoldKeys: 1024, FoldQueries: 24, InPlaceRows: 12, AccumulateRows: 1, CrowdedRows: 32,
}

const (
	// A unit has at most unitElements elements of queries, which bounds one call of the
	// micro-kernel.
	unitElements = 1 << 16
	// A call is cut into at least minUnits units, provided that each has more than minRows rows.
	// With fewer units, threads would wait for the last of them.
	minUnits, minRows = 32, 64
	// Neighbouring units that are computed as one have at most joinedRows rows.
	joinedRows = 512
	// The keys of units of up to splitRows rows are cut into splits if there are at most splitUnits
	// units.
	splitRows, splitUnits = 8, 32
	// The last strip has up to lastRows rows more than the other strips.
	lastRows = 12
	// partElements bounds the scores of the pieces that make one part of a call.
	partElements = 1 << 11
	// crowdedElements bounds a copy of queries or values.
	crowdedElements = 1 << 16
)

// plan cuts the work into units, splits and parts.
func (c *Call) plan() {
	p := &c.P
	c.isa = simd.Active()
	c.mr, c.nr = simd.GemmTile(c.isa)
	if p.Int8 { // this asks the system for tiles
		c.int8 = weights.OfHeads(c.isa)
	}
	c.groups, c.parts = c.groups[:0], 0
	if p.Sequences == nil {
		c.add(group{lenQ: p.LenQ, lenK: p.LenK, past: p.Past}, p.Batch)
	}
	for i, s := range p.Sequences {
		if s.LenQ > 0 {
			c.add(group{seq: i, lenQ: s.LenQ, lenK: s.LenK, past: s.Past}, 1)
		}
	}
	results := 0
	for i := range c.groups {
		if g := &c.groups[i]; g.splits > 1 {
			g.partial = results
			results += g.units * g.splits * g.rows * (p.ValueDim + 2)
		}
	}
	c.partial = mem.Grow(c.partial, results)
}

// add plans a group of sequences.
func (c *Call) add(g group, sequences int) {
	c.planUnits(&g, sequences)
	g.dots = order.ScoresAreDots(g.lenQ, g.lenK, c.P.HeadDim, c.inPieces())
	g.way = c.chooseStrategy(&g)
	c.planSplits(&g)
	g.ints, g.strip = c.byIntegers(&g), c.stripRows()
	g.perPart = min(g.units*g.splits, max(1, partElements/g.rows/max(g.split, 1)))
	g.joins = g.way == attendTiles && g.rows%c.stripRows() == 0 && g.splits == 1 && g.fold == 1 && c.P.Relative == nil &&
		!slices.ContainsFunc(c.P.Mask, func(t mask.Term) bool { return t.ByQuery() })
	g.part = c.parts
	c.parts = g.partsEnd()
	c.groups = append(c.groups, g)
}

// inPieces reports whether the queries of a sequence may come in several calls. They may under a
// causal mask, and with pages, which keep the keys for the next call.
func (c *Call) inPieces() bool {
	return c.P.KPages != nil || slices.ContainsFunc(c.P.Mask, func(t mask.Term) bool { return t.Kind == mask.Window && t.After <= 0 })
}

// byIntegers reports whether the units of a group are computed with integers. The result is the
// same on every tier. It is false for heads with few queries or keys, because some tiers compute
// these as a whole.
func (c *Call) byIntegers(g *group) bool {
	p := &c.P
	const queries, strip = 12, 32
	return p.Int8 && g.way == attendTiles && g.fold == 1 && g.lenQ > queries && g.lenK > simd.ShortQueries &&
		g.tile%strip == 0 && g.tile <= simd.MostWordKeys &&
		weights.IntegerHead(p.HeadDim) && weights.IntegerHead(p.ValueDim) && p.KPages == nil && p.Relative == nil && p.Sinks == nil
}

// planUnits chooses the number of rows of a unit. The keys of a tile are a block of package order.
func (c *Call) planUnits(g *group, sequences int) {
	p := &c.P
	limit := Size.UnitRows
	if p.Relative != nil {
		limit = Size.RelativeRows
	}
	dim := max(p.HeadDim, p.ValueDim, 1)
	limit = max(1, min(limit, unitElements/dim))
	window := slices.ContainsFunc(p.Mask, func(t mask.Term) bool { return t.Kind == mask.Window })
	g.tile, g.stretch = order.Attention.Of(dim, window, p.Relative != nil)
	c.cut(g, sequences, 1, limit)
	if shared := p.Heads / p.KVHeads; g.lenQ == 1 && p.Relative == nil {
		c.cut(g, sequences, shared, limit)
	} else if c.folds(g, shared) {
		folded := *g
		if c.cut(&folded, sequences, shared, limit); folded.units < g.units {
			*g = folded
		}
	}
}

// folds reports whether units with several queries should have the queries of all heads that share
// a key head. The pages of the key head are then converted to float32 once for all these heads.
func (c *Call) folds(g *group, shared int) bool {
	p := &c.P
	return p.KPages != nil && p.Relative == nil && p.Weights == nil && g.lenK >= Size.FoldKeys && g.lenQ*shared <= Size.FoldQueries*(shared-1) &&
		!slices.ContainsFunc(p.Mask, func(t mask.Term) bool { return t.Kind == mask.ALiBi }) // the ramp of ALiBi differs from head to head
}

// cut cuts the queries of fold heads at a time into units of up to limit rows, or of fewer rows if
// there would be few units.
func (c *Call) cut(g *group, sequences, fold, limit int) {
	p := &c.P
	g.fold = fold
	rows, heads := g.lenQ*fold, sequences*(p.Heads/fold)
	for limit > minRows && heads*((rows+limit-1)/limit) < minUnits {
		limit /= 2
	}
	g.chunks = (rows + limit - 1) / limit
	g.rows = (rows + g.chunks - 1) / g.chunks
	if g.interleaved() {
		g.rows = (g.rows + fold - 1) / fold * fold
		g.chunks = (rows + g.rows - 1) / g.rows
	}
	if strip := c.stripRows(); g.chunks > 1 && limit >= strip && g.fold == 1 && p.Relative == nil {
		// A unit has whole strips, so that strips are the same if units are computed as one. The
		// last strip has a few rows more, and so does the last unit.
		strips := (rows - lastRows + strip - 1) / strip
		g.rows = (strips + g.chunks - 1) / g.chunks * strip
		g.chunks = (strips*strip + g.rows - 1) / g.rows
	}
	g.units = heads * g.chunks
}

// planSplits cuts the keys of a unit into stretches if threads would be idle otherwise.
func (c *Call) planSplits(g *group) {
	g.splits, g.split = 1, g.lenK
	units := splitUnits
	switch {
	case g.way != attendTiles:
		return
	case g.interleaved():
		units = minUnits / 2
	case g.lenQ*g.fold > splitRows:
		return
	}
	if n := (g.lenK + g.stretch - 1) / g.stretch; n > 1 && g.units <= units {
		g.splits, g.split = n, g.stretch
	}
}

const (
	// attendShort computes any head with up to shortKeys queries and keys. If vectors have 16
	// elements, it computes heads with up to roomyKeys, and wide heads with up to
	// simd.ShortQueries.
	shortKeys, roomyKeys = 32, 40
	// attendFew computes heads with up to fewQueries queries and up to simd.FewKeys keys.
	fewQueries = 7
	// A head is at most WholeHeadDim wide and needs at most wholeHeadSteps steps of a product,
	// which bounds the time of the call.
	WholeHeadDim, wholeHeadSteps = 1 << 11, 1 << 21
)

// chooseStrategy decides how the units are computed: by attendShort or attendFew if a unit is a
// whole head that these can compute.
func (c *Call) chooseStrategy(g *group) strategy {
	p := &c.P
	if p.Weights != nil {
		return attendWeights
	}
	if g.lenK == 0 || p.KPages != nil || max(p.HeadDim, p.ValueDim) > min(WholeHeadDim, wholeHeadSteps/(g.lenQ*g.lenK)) || g.fold > 1 || g.chunks > 1 ||
		p.Relative != nil || p.Sinks != nil || p.Empty != EmptyZero || g.lenK > g.tile || c.biases() > 1 {
		return attendTiles
	}
	most := c.mostShortKeys()
	few := g.lenQ < c.nr/4 || g.lenK > most
	switch {
	case !few && g.lenQ <= most:
		return attendShort
	case few && g.lenQ <= fewQueries && g.lenK <= simd.FewKeys:
		return attendFew
	}
	return attendTiles
}

// biases returns the number of terms that add to scores. The strategies for whole heads first add
// up the terms, so that their result would differ if there were several.
func (c *Call) biases() (n int) {
	for i := range c.P.Mask {
		if k := c.P.Mask[i].Kind; k == mask.Bias || k == mask.ALiBi {
			n++
		}
	}
	return n
}

// mostShortKeys returns the largest number of queries and of keys of a head for attendShort. With
// vectors of 8, and with rows that crowd the cache, attendShort is slower than the micro-kernel
// from shortKeys on.
func (c *Call) mostShortKeys() int {
	if simd.KernelAttnShort.On(c.isa).Width < 16 || tune.Crowd(c.P.KStrides.Row, 16) {
		return shortKeys
	}
	return max(roomyKeys, min(c.P.HeadDim, simd.ShortQueries))
}

// stripRows returns the number of rows of floats that are scored at a time: two tiles of the
// micro-kernel.
func (c *Call) stripRows() int { return 2 * c.mr }
