package attend

import (
	"slices"

	"github.com/avoformer/avoformer/kernels/internal/mask"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
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
	// Up to dotRows query rows, or dotKeys keys, the scores are dot products of queries
	// and keys in place, instead of transposing the keys for the micro-kernel. So are the
	// scores of the last keys of a tile, where they fill no more than one in dotTail
	// columns of the micro-kernel.
	DotRows, DotKeys, DotTail int
	// One query takes keys of wideDim elements and more, and of more than AttnDot does at a time, one
	// after the other.
	wideDim int
	// AccumulateRows query rows, or fewer, add up the values in place.
	AccumulateRows int
	// From crowdedRows query rows on, queries or values that crowd the cache are copied.
	CrowdedRows int
}

var Size = Sizes{
	UnitRows: 256, TileKeys: 256, WindowKeys: 128, RelativeRows: 64, RelativeKeys: 64, SplitKeys: 1024,
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
	c.isa = simd.Active()
	c.mr, c.nr = simd.GemmTile(c.isa)
	c.planUnits()
	c.way = c.chooseStrategy()
	c.planSplits()
	c.perPart = min(c.units*c.splits, max(1, partElements/c.rows/max(c.split, 1)))
	c.joins = c.way == attendTiles && c.rows%c.stripRows() == 0 && c.splits == 1 && c.fold == 1 && c.P.Relative == nil &&
		!slices.ContainsFunc(c.P.Mask, func(t mask.Term) bool { return t.ByQuery() })
}

// planUnits chooses the rows of a unit and the keys of a tile.
func (c *Call) planUnits() {
	p := &c.P
	c.fold = 1
	if p.LenQ == 1 && p.Relative == nil {
		c.fold = p.Heads / p.KVHeads
	}
	limit := Size.UnitRows
	c.tile = Size.TileKeys
	for i := range p.Mask {
		if p.Mask[i].Kind == mask.Window {
			c.tile = Size.WindowKeys
		}
	}
	if p.Relative != nil {
		limit, c.tile = Size.RelativeRows, Size.RelativeKeys
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
		strips := (rows - Size.DotRows + strip - 1) / strip
		c.rows = (strips + c.chunks - 1) / c.chunks * strip
		c.chunks = (strips*strip + c.rows - 1) / c.rows
	}
	c.units = heads * c.chunks
}

// evenTile is the keys of a tile where limit is what it is to have: up to a quarter more rather than one
// more tile for a few keys, each of which costs a pass of the online softmax and a short product with
// the values. Tiles that are smaller for another reason stay as they are.
func (c *Call) evenTile(limit int) int {
	keys := c.P.LenK
	if keys <= limit || limit < Size.TileKeys || limit < 2*c.nr {
		return limit
	}
	tiles := (keys - limit/4 + limit - 1) / limit
	return ((keys+tiles-1)/tiles + c.nr - 1) / c.nr * c.nr
}

// planSplits cuts the keys of a unit.
func (c *Call) planSplits() {
	p := &c.P
	c.splits, c.split = 1, p.LenK
	if c.way != attendTiles || p.LenQ*c.fold > splitRows {
		return
	}
	c.splits = max(1, min(maxSplits/c.units, p.LenK/Size.SplitKeys))
	c.split = (p.LenK + c.splits - 1) / c.splits
	c.split = (c.split + c.tile - 1) / c.tile * c.tile
	c.splits = max(1, (p.LenK+c.split-1)/max(c.split, 1))
	if c.splits > 1 {
		c.partial = mem.Grow(c.partial, c.units*c.splits*c.rows*(p.ValueDim+2))
	}
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
func (c *Call) chooseStrategy() strategy {
	p := &c.P
	if p.Weights != nil {
		return attendWeights
	}
	if p.LenK == 0 || p.KRows != nil || p.VRows != nil || max(p.HeadDim, p.ValueDim) > min(WholeHeadDim, wholeHeadSteps/(p.LenQ*p.LenK)) || c.fold > 1 || c.chunks > 1 ||
		p.Relative != nil || len(p.Mask) > 0 && p.Empty != EmptyZero {
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
func (c *Call) mostShortKeys() int {
	if simd.KernelAttnShort.On(c.isa).Width < 16 || tune.Crowd(c.P.KStrides.Row, 16) {
		return shortKeys
	}
	return max(roomyKeys, min(c.P.HeadDim, simd.ShortQueries))
}

// stripRows is how many rows are scored at a time: two tiles of the micro-kernel.
func (c *Call) stripRows() int { return 2 * c.mr }
