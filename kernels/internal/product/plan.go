package product

import (
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// How a product is computed.

// Where one order overtakes another, measured on Zen 4; see doc/measurements/products.md.
const (
	// Dot products beat packing the transpose of B up to some rows of A: an
	// eighth of k, since adding up the lanes at the end costs as much whatever k
	// is; within limits, and as long as A stays in the second-level cache.
	dotRowsMin, dotRowsMax, dotElements = 12, 64, 1 << 16
	// One row: gemvDot takes over from gemmDot where B has gemvNear elements and is beyond
	// a core's own caches. Where it has gemvFar, it comes from memory. Then gemvDot takes 8
	// rows together, as gemvRows takes 6 always, and fetching the next ones gains a sixth
	// to a third; nearer, it costs as much.
	gemvRowsGroup, gemvDotGroup = 6, 8
	gemvNear, gemvFar           = 1 << 17, 1 << 23
	// A few rows and a B of up to directElements are multiplied in one call of a kernel, the one
	// that plan would choose: a plan would take a tenth to half of the time.
	directElements = 1 << 14
	// So are products of up to nearWork multiply-adds with a B that is near.
	nearWork = 1 << 20
)

// decide says how the product is computed, and in which parts.
func (g *call) decide(t int) {
	size, packed := &tune.Used.Gemm, g.b.packed
	switch {
	case packed != nil && packed.Record.Kind != weights.NoInt8:
		g.way, g.mr = pathInt8, packed.Record.MR
	case packed != nil:
		g.source, g.tail = sourceOf(packed.Record), packed.Tail
		if g.m == 1 && packed.Record.HasGemv() && g.k <= tune.Order.Long {
			g.way = pathRow // with more steps of k, a panel in one go would take long
		} else {
			g.copyA = g.copiesA()
			if g.m <= size.HalvesTiles*g.mr && packed.Record.HasPanel() {
				g.source = inHalves
			}
		}
	case g.b.Trans && !g.a.Trans && g.m <= g.dotRows():
		g.way = pathDot
	default:
		g.copyA = g.copiesA()
		g.source = packedHere
		gather := 0 // columns of B^T are contiguous
		if !g.b.Trans {
			gather = g.m
			g.near = isNear(g.isa, g.m, g.k, g.b.LD)
			if inPlacePays(g.m, g.k, g.b.LD, g.mr, g.nr, g.near) || g.fitsLines() {
				g.source = inPlace
				g.wideTiles = g.m*size.WideDen <= g.mr*size.WideNum && (2*g.m <= g.mr || !tune.CrowdsFar(g.k, g.b.LD))
			}
		}
		g.tail = tune.DotColumns(g.isa, g.n, g.k, gather)
	}
	g.planLoops()
	g.oneCall = g.way == pathPanels && g.source == inPlace && g.near && g.tail == 0 && !g.copyA && g.k <= g.kc
	g.partition(t)
}

// isNear reports whether B in place stays in a core's own caches, for which the tier has a kernel. For one
// or two rows that fetches nothing, so that B may come from further away only if it is small. In pure Go
// it is the kernel for panels, on all columns: as fast, and small products are spared the plan there too.
func isNear(isa simd.ISA, m, k, ldb int) bool {
	most := tune.Used.Gemm.NearElements
	if m <= 2 {
		most /= 4
	}
	return k*ldb <= most && simd.KernelGemmNear.On(isa).ISA == isa
}

// nearAtOnce reports whether a product with nothing transposed is one call of simd.GemmNear, as it
// would be by plan.
func nearAtOnce(t, m, n, k, lda, ldb int) bool {
	isa, work := simd.Active(), max(m, 4)*n*k
	if m == 1 || work > nearWork || k > tune.Order.KC || worthThreads(t, work) || !isNear(isa, m, k, ldb) {
		return false
	}
	mr, nr := simd.GemmTile(isa)
	return inPlacePays(m, k, ldb, mr, nr, true) && !(n >= tune.Used.Gemm.CopyColumns && tune.Crowd(lda, min(m, mr))) && tune.DotColumns(isa, n, k, m) == 0
}

// inPlacePays reports whether B is read in place rather than packed, whatever its lines are.
func inPlacePays(m, k, ldb, mr, nr int, near bool) bool {
	size := &tune.Used.Gemm
	return fitsTiles(m, k, ldb, mr, nr) || k*nr <= size.InPlacePanel && k*ldb <= size.InPlaceSpan ||
		near && nr >= 32 && m <= size.NearTiles*mr && ldb%1024 != 0
}

// fitsTiles reports whether the tiles are few enough to read B in place: several only if they find
// its rows in the second-level cache, or these are two lines each, which come soon enough from further away.
func fitsTiles(m, k, ldb, mr, nr int) bool {
	return m <= mr || m <= tune.Used.Gemm.InPlaceTiles*mr && (nr >= 32 || !tune.CrowdsFar(k, ldb))
}

// fitsLines reports whether the rows of B are whole cache lines, so that no load takes two, and
// those of a panel, of two lines each, stay in the second-level cache side by side while the
// tiles pass. Of one line each, as on AVX2, they are slower in place.
func (g *call) fitsLines() bool {
	size := &tune.Used.Gemm
	return g.m <= size.LinesTiles*g.mr && g.nr >= 32 && g.b.LD%16 == 0 &&
		tune.Sharing(g.b.LD/16, min(g.k, tune.Order.KC), size.LinesSets) <= size.LinesWays
}

// copiesA reports whether the rows of A are copied: if they have to be transposed, or
// would crowd each other out of the cache.
func (g *call) copiesA() bool {
	return g.a.Trans || g.n >= tune.Used.Gemm.CopyColumns && tune.Crowd(g.a.LD, min(g.m, g.mr))
}

// prefetches reports whether gemmPanel is to fetch the next panel while it multiplies
// one with m rows. A packed B that few rows are multiplied with comes from memory
// fastest as one stream.
func (g *call) prefetches(m int) bool {
	size := &tune.Used.Gemm
	return g.source == inPlace || g.source != widened && m*size.StreamDen > g.mr*size.StreamNum
}

// dotRows is the number of rows of A up to which dot products are used.
func (g *call) dotRows() int {
	return max(dotRowsMin, min(g.k/8, dotRowsMax, dotElements/g.k))
}

// sourceOf is what is done about the panels of a matrix of this format.
func sourceOf(f *weights.Record) sourceKind {
	if f.Widen != nil {
		return widened
	}
	return packedBefore
}

// planLoops chooses the steps of the loops.
func (g *call) planLoops() {
	// As Order says, but all calls alike, and more where A has few rows.
	limit, unit := tune.Order.KC, 8
	if g.m <= g.mr {
		limit *= 4
	}
	if g.b.packed != nil {
		unit = max(unit, g.b.packed.Record.Steps)
	}
	g.kc = tune.Evenly(g.k, limit, unit)
	g.finish = g.ep.any() || g.source == inHalves && g.n%g.nr != 0 // that multiplies by whole panels
	g.slice, g.mc = g.kc, tune.Used.Gemm.MC
	if g.finish {
		g.slice = max(g.k, 1)
	}
	if g.slice > tune.Order.KC { // fewer rows
		g.mc = min(max(g.mc*tune.Order.KC/g.slice/g.mr, 2)*g.mr, g.mc)
	}
}
