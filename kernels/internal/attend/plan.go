package attend

import (
	"slices"

	"github.com/avoformer/avoformer/kernels/internal/mask"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// How a call of attention is cut into pieces, and which strategy computes them.

// Sizes is the sizes of the work. They decide in what order numbers are summed
// up, so none depends on the number of threads or is a matter of tuning.
type Sizes struct {
	// A unit has up to unitRows query rows, which share each tile of tileKeys keys.
	// Windows hide whole tiles, so their tiles are smaller; relative terms need room for
	// two more products of a tile.
	UnitRows, TileKeys         int
	WindowKeys                 int
	RelativeRows, RelativeKeys int
	// Keys are cut into splits of splitKeys at least.
	SplitKeys int
	// A unit takes the queries of several heads if keys lie in pages, at least FoldKeys of them, and a head has fewer than
	// FoldQueries queries. Separate units would widen the same keys once per head, which takes as long as so few queries do.
	// With more queries the widening costs little, and longer units are harder to share among threads.
	FoldKeys, FoldQueries int
	// Up to DotRows query rows, or DotKeys keys, scores are dot products of queries and keys in place, and keys are not transposed
	// for the micro-kernel. The last keys of a tile are computed in the same way if they fill at most one in DotTail columns of
	// the micro-kernel.
	DotRows, DotKeys, DotTail int
	// One query takes keys one after the other if they have at least wideDim elements, and more than AttnDot takes at a time.
	wideDim int
	// Up to AccumulateRows query rows add up the values in place.
	AccumulateRows int
	// From CrowdedRows query rows on, queries and values are copied if they crowd the cache.
	CrowdedRows int
}

var Size = Sizes{
	UnitRows: 256, TileKeys: 256, WindowKeys: 128, RelativeRows: 64, RelativeKeys: 64, SplitKeys: 1024, FoldKeys: 1024, FoldQueries: 24,
	DotRows: 12, DotKeys: 32, DotTail: 4, wideDim: 64, AccumulateRows: 1, CrowdedRows: 32,
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

// plan cuts the work into units, splits and parts.
func (c *Call) plan() {
	p := &c.P
	c.isa = simd.Active()
	c.mr, c.nr = simd.GemmTile(c.isa)
	c.int8 = weights.OfHeads(c.isa)
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
	g.way = c.chooseStrategy(&g)
	c.planSplits(&g)
	g.ints = c.byIntegers(&g)
	g.perPart = min(g.units*g.splits, max(1, partElements/g.rows/max(g.split, 1)))
	g.joins = g.way == attendTiles && g.rows%c.stripRows() == 0 && g.splits == 1 && g.fold == 1 && c.P.Relative == nil &&
		!slices.ContainsFunc(c.P.Mask, func(t mask.Term) bool { return t.ByQuery() })
	g.part = c.parts
	c.parts = g.partsEnd()
	c.groups = append(c.groups, g)
}

// byIntegers reports whether the units of a group are computed with integers. The answer is the same on every tier.
// Shorter heads are not, since attendShort takes them on some tiers.
func (c *Call) byIntegers(g *group) bool {
	p := &c.P
	return p.Int8 && g.way == attendTiles && g.splits == 1 && g.fold == 1 && g.rows > Size.DotRows && g.lenK > simd.ShortQueries &&
		g.tile%c.nr == 0 && g.tile <= simd.MostWordKeys &&
		weights.IntegerHead(p.HeadDim) && weights.IntegerHead(p.ValueDim) && p.KPages == nil && p.Relative == nil && p.Sinks == nil
}

// planUnits chooses the rows of a unit and the keys of a tile.
func (c *Call) planUnits(g *group, sequences int) {
	p := &c.P
	limit := Size.UnitRows
	g.tile = Size.TileKeys
	for i := range p.Mask {
		if p.Mask[i].Kind == mask.Window {
			g.tile = Size.WindowKeys
		}
	}
	if p.Relative != nil {
		limit, g.tile = Size.RelativeRows, Size.RelativeKeys
	}
	dim := max(p.HeadDim, p.ValueDim, 1)
	limit = max(1, min(limit, unitElements/dim))
	g.tile = c.evenTile(max(1, min(g.tile, tileElements/dim)), g.lenK)
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

// folds reports whether units of several queries are to have those of all heads that share a key head, whose pages
// are then made float32 once for these heads.
func (c *Call) folds(g *group, shared int) bool {
	p := &c.P
	return p.KPages != nil && p.Relative == nil && p.Weights == nil && g.lenK >= Size.FoldKeys && g.lenQ*shared <= Size.FoldQueries*(shared-1) &&
		!slices.ContainsFunc(p.Mask, func(t mask.Term) bool { return t.Kind == mask.ALiBi }) // whose ramp is a head's
}

// cut cuts the queries of fold heads at a time into units of up to limit rows, or less where units would be few.
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
		// Whole strips, so that these are the same where units are computed as one. The last one
		// takes a few rows more, and so does the last unit.
		strips := (rows - Size.DotRows + strip - 1) / strip
		g.rows = (strips + g.chunks - 1) / g.chunks * strip
		g.chunks = (strips*strip + g.rows - 1) / g.rows
	}
	g.units = heads * g.chunks
}

// evenTile is the keys of a tile where limit is what it is to have: up to a quarter more rather than one
// more tile for a few keys, each of which costs a pass of the online softmax and a short product with
// the values. Tiles that are smaller for another reason stay as they are.
func (c *Call) evenTile(limit, keys int) int {
	if keys <= limit || limit < Size.TileKeys || limit < 2*c.nr {
		return limit
	}
	tiles := (keys - limit/4 + limit - 1) / limit
	return ((keys+tiles-1)/tiles + c.nr - 1) / c.nr * c.nr
}

// planSplits cuts the keys of a unit.
func (c *Call) planSplits(g *group) {
	g.splits, g.split = 1, g.lenK
	most := maxSplits / g.units
	switch {
	case g.way != attendTiles:
		return
	case g.interleaved():
		most = min(most, minUnits/g.units)
	case g.lenQ*g.fold > splitRows:
		return
	}
	g.splits = max(1, min(most, g.lenK/Size.SplitKeys))
	g.split = (g.lenK + g.splits - 1) / g.splits
	g.split = (g.split + g.tile - 1) / g.tile * g.tile
	g.splits = max(1, (g.lenK+g.split-1)/max(g.split, 1))
}

const (
	// Up to shortKeys queries and keys, attendShort takes any head. Where vectors have 16
	// elements it takes heads of roomyKeys, and wide heads of up to simd.ShortQueries.
	shortKeys, roomyKeys = 32, 40
	// attendFew takes fewQueries queries with up to simd.FewKeys keys, and one query with
	// oneKeys.
	fewQueries, oneKeys = 7, 1024
	// A head is at most WholeHeadDim wide, and makes at most wholeHeadSteps steps of a product,
	// which bounds the call.
	WholeHeadDim, wholeHeadSteps = 1 << 11, 1 << 21
)

// chooseStrategy decides how the units are computed, by attendShort or attendFew where
// a unit is a whole head that they can take.
func (c *Call) chooseStrategy(g *group) strategy {
	p := &c.P
	if p.Weights != nil {
		return attendWeights
	}
	if g.lenK == 0 || p.KPages != nil || max(p.HeadDim, p.ValueDim) > min(WholeHeadDim, wholeHeadSteps/(g.lenQ*g.lenK)) || g.fold > 1 || g.chunks > 1 ||
		p.Relative != nil || p.Sinks != nil || len(p.Mask) > 0 && p.Empty != EmptyZero {
		return attendTiles
	}
	most := c.mostShortKeys()
	few := g.lenQ < c.nr/4 || g.lenK > most
	switch {
	case !few && g.lenQ <= most:
		return attendShort
	case few && (g.lenQ <= fewQueries && g.lenK <= simd.FewKeys || g.lenQ == 1 && g.lenK <= oneKeys):
		return attendFew
	}
	return attendTiles
}

// mostShortKeys is the number of queries and of keys up to which attendShort takes a
// head. The sums over lanes at the end of the dot products weigh less the wider a head
// is. Vectors of 8, and rows that crowd the cache, are no match for the micro-kernel
// from shortKeys on.
func (c *Call) mostShortKeys() int {
	if simd.KernelAttnShort.On(c.isa).Width < 16 || tune.Crowd(c.P.KStrides.Row, 16) {
		return shortKeys
	}
	return max(roomyKeys, min(c.P.HeadDim, simd.ShortQueries))
}

// stripRows is how many rows are scored at a time: two tiles of the micro-kernel.
func (c *Call) stripRows() int { return 2 * c.mr }
