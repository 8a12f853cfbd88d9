package product

import (
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// This file has the table of ways to compute a product. A product is computed in the first way that
// fits.

// way is a way to compute a product: an index into the table.
type way uint8

// These are the ways. Up to packedHere, B is in the caller's memory; from integers on, it is packed.
const (
	rowByRows way = iota
	dots
	near
	inPlace
	packedHere

	integers
	pairsOf16
	rowByPanels
	halves
	widened
	packedBefore
)

// ways is the table. wayOf decides in the same order which way fits: functions in the table would
// move a call to the heap, or cost a small product a tenth of its time.
var ways = [...]struct {
	name  string
	reads string // figures of package tune on which it depends whether the way fits
	why   string // it comes before the ways after it
	runs  loops  // computes a block
	makes bool   // panels are made in scratch memory
}{
	rowByRows: {
		name: "row by rows", runs: partsOfRow,
		why: "one row reads each element of B once: row by row, in the order of memory",
	},
	dots: {
		name: "dot products", runs: dotsOfRows,
		why: "rows of A and of B^T lie as dot products want them; packing B^T would not pay for few rows",
	},
	near: {
		name: "near in place", runs: panelsOfB,
		reads: "NearElements NearTiles InPlaceTiles InPlacePanel InPlaceSpan LinesTiles LinesSets LinesWays",
		why:   "B is in a core's own caches: many columns are one call, and nothing is fetched",
	},
	inPlace: {
		name: "in place", runs: panelsOfB,
		reads: "InPlaceTiles InPlacePanel InPlaceSpan LinesTiles LinesSets LinesWays",
		why:   "few tiles of rows, or rows of B that are whole lines, do not pay for packing",
	},
	packedHere: {
		name: "packed on the way", runs: panelsOfB, makes: true,
		why: "many rows read each panel: it is packed while the first of them are multiplied",
	},
	integers: {
		name: "integers", runs: integersOfA,
		why: "the format's products are of integers, which rows of A become too",
	},
	pairsOf16: {
		name: "pairs of bfloat16", runs: bfloat16OfA,
		why: "panels have pairs of steps, which one instruction multiplies and adds up, and rows of A become bfloat16 too",
	},
	rowByPanels: {
		name: "row by panels", runs: rowOfPanels,
		why: "one row reads each element of B once, and the kernel for it makes elements float32 itself",
	},
	halves: {
		name: "panels of 16 bits", runs: panelsOfB,
		reads: "HalvesTiles",
		why:   "few tiles of rows: elements are widened on the way into the multiply-adds",
	},
	widened: {
		name: "widened panels", runs: panelsOfB, makes: true,
		why: "many tiles of rows read each panel: it is made float32 once for a block",
	},
	packedBefore: {
		name: "packed panels", runs: panelsOfB,
		why: "panels are as the micro-kernel reads them",
	},
}

// wayOf returns the first way that fits, in the order of the table.
func wayOf(a left, b right) way {
	if b.format != nil {
		return wayOfPacked(a, b)
	}
	switch {
	case a.m == 1 && !b.trans && (!a.trans || a.ld == 1):
		return rowByRows
	case b.trans && !a.trans && order.IsDots(a.m, a.k):
		return dots
	case !b.trans && isNear(a, b) && (inPlacePays(a, b) || readsNear(a, b)):
		return near
	case !b.trans && inPlacePays(a, b):
		return inPlace
	}
	return packedHere
}

func wayOfPacked(a left, b right) way {
	format := b.format
	switch {
	case format.Kind != weights.NoInt8:
		return integers
	case format.PairsOf16:
		return pairsOf16
	case a.m == 1 && format.HasGemv():
		return rowByPanels
	case a.m <= tune.Used.Gemm.HalvesTiles*format.MR && format.HasPanel():
		return halves
	case format.Widen != nil:
		return widened
	}
	return packedBefore
}

// atOnce reports whether the whole product is a single call of a kernel, without a plan.
func (w way) atOnce(a left, b right, alpha, beta float32) bool {
	switch w {
	case rowByRows:
		return isSmall(a, b) && alpha == 1 && beta == 0 && !a.trans && a.k <= order.Stretch
	case dots:
		return isSmall(a, b) && beta == 0 && a.m <= order.FewRows && a.k <= order.DotStretch
	case near: // nothing is copied
		return !a.trans && workOf(a, b) <= nearWork && a.k <= order.Stretch && !copiesA(a, b)
	}
	return false
}

// loops computes a block of a product. A switch on it is a direct call; a function in the table
// would move blocks to the heap.
type loops uint8

const (
	panelsOfB   loops = iota // loops.go: rows of A and panels of B
	dotsOfRows               // dot.go: dot products of rows of A and of B^T, both in place
	partsOfRow               // gemv.go: one row of A and rows of B in place, in parts of k
	rowOfPanels              // gemv.go: one row of A and panels of a packed B
	integersOfA              // integers.go: rows of A as integers, and panels of B packed as integers
	bfloat16OfA              // tiles.go: rows of A as bfloat16, and panels of B with pairs of steps
)

// inPlace reports whether panels are read from the caller's B.
func (w way) inPlace() bool { return w == near || w == inPlace }

// left has the properties of A on which the choice of a way depends: op(A) is m x k, and its rows
// are ld apart. A struct of at most four fields is passed in registers, and so is right: stores are
// a large part of the time of a small product.
type left struct {
	m, k, ld int
	trans    bool
}

// right has the properties of B on which the choice of a way depends: op(B) is k x n, and its rows
// are ld apart, unless B is packed in a format.
type right struct {
	n, ld  int
	trans  bool
	format *weights.Record
}

// Small products are computed without a plan, which would take a tenth to half of their time: one
// or a few rows with a B of at most directElements, and at most nearWork multiply-adds with a B
// that is in the cache.
const (
	directElements = 1 << 14
	nearWork       = 1 << 20
)

// isSmall reports whether B is so small that a plan would take long compared to one call.
func isSmall(a left, b right) bool { return b.n*a.k <= directElements }

// workOf estimates the time of a product in multiply-adds at full speed. It is at least the cost of
// reading B.
func workOf(a left, b right) int { return max(a.m, 4) * b.n * a.k }

// isNear reports whether B in place stays in a core's own caches, if the tier has a kernel for this
// case. For one or two rows the kernel fetches nothing ahead, so B may be further away only if it
// is small. In pure Go the kernel for panels multiplies all columns: that is as fast, and small
// products need no plan there either.
func isNear(a left, b right) bool {
	most := tune.Used.Gemm.NearElements
	if a.m <= 2 {
		most /= 4
	}
	return a.k*b.ld <= most && simd.KernelGemmNear.On(simd.Active()).ISA == simd.Active()
}

// readsNear reports whether B is read in place for more rows because it is near. It is if rows of a
// panel are two lines each, and the rows of B do not all share a set.
func readsNear(a left, b right) bool {
	mr, nr := simd.GemmTile(simd.Active())
	return tune.TwoLines(nr) && a.m <= tune.Used.Gemm.NearTiles*mr && b.ld%1024 != 0
}

// inPlacePays reports whether B is read in place rather than packed, at any place: for few tiles of
// rows, a small B, or a B of whole lines.
func inPlacePays(a left, b right) bool {
	size := &tune.Used.Gemm
	mr, nr := simd.GemmTile(simd.Active())
	return a.m <= mr || fitsTiles(a, b, mr, nr) || a.k*nr <= size.InPlacePanel && a.k*b.ld <= size.InPlaceSpan || fitsLines(a, b, mr, nr)
}

// fitsTiles reports whether several tiles are few enough for B in place. They are if they find its
// rows in the second-level cache, or if each row is two lines, which arrive fast enough from
// further away.
func fitsTiles(a left, b right, mr, nr int) bool {
	return a.m <= tune.Used.Gemm.InPlaceTiles*mr && (tune.TwoLines(nr) || !tune.CrowdsFar(a.k, b.ld))
}

// fitsLines reports whether the rows of B are whole cache lines, so that no load crosses lines, and
// whether those of a panel, of two lines each, stay together in the second-level cache for all
// tiles. Rows of one line each, as on AVX2, are slower in place.
func fitsLines(a left, b right, mr, nr int) bool {
	size := &tune.Used.Gemm
	return a.m <= size.LinesTiles*mr && tune.TwoLines(nr) && b.ld%16 == 0 &&
		tune.Sharing(b.ld/16, min(a.k, order.Stretch), size.LinesSets) <= size.LinesWays
}

// copiesA reports whether the rows of A are copied: if they must be transposed, or would evict each
// other from the cache.
func copiesA(a left, b right) bool {
	return a.trans || b.n >= tune.Used.Gemm.CopyColumns && rowsCrowd(a)
}

func rowsCrowd(a left) bool {
	mr, _ := simd.GemmTile(simd.Active())
	return tune.Crowd(a.ld, min(a.m, mr))
}
