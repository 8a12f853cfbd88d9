package kernels

import (
	"math"
	"math/bits"

	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// How a product is computed, and how it is cut for several threads.

// Where one order overtakes another, measured on Zen 4; see doc/performance.md.
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

// gemmPath is a way through a product.
type gemmPath uint8

const (
	pathPanels gemmPath = iota // rows of A and panels of B
	pathDot                    // dot products of rows of A and of B^T, both in place
	pathRow                    // one row of A and panels of B packed by PackB
	pathInt8                   // rows of A as integers, and panels of B packed so
)

// gemmPlan is how a product is computed.
type gemmPlan struct {
	path      gemmPath
	source    sourceKind // of the panels
	wideTiles bool       // the micro-kernel's tiles have half the height and twice the width
	near      bool       // B in the caller's memory is in a core's own caches: read in place, many columns are one call
	oneCall   bool       // a block of nearWork is one call of simd.GemmNear
	copyA     bool       // A's blocks are copied
	tail      int        // the last columns, which are dot products

	// The loops around the micro-kernel; see planLoops.
	finish bool // there is an epilogue: sums are finished aside, and then C is written
	kc     int  // steps of k in one call of the micro-kernel
	slice  int  // steps of k that are in turn at a time: kc, or all with an epilogue
	mc     int  // rows that are in turn at a time, at most

	// The partition of each product: cutM x cutN parts of tall x wide elements,
	// numbered along rows of C, or byRows along its columns. The tail belongs to the
	// last parts.
	cutM, cutN int
	tall, wide int
	byRows     bool

	// The parts of each product of a gemvCall, in steps of k, and their sums.
	parts, steps int
	partial      []float32
}

// plan decides how the product is computed, and in which parts.
func (g *gemmCall) plan(t Threads) {
	size, packed := &tune.Used.Gemm, g.b.packed
	switch {
	case packed != nil && packed.Record.Kind != weights.NoInt8:
		g.path, g.mr = pathInt8, packed.Record.MR
	case packed != nil:
		g.source, g.tail = sourceOf(packed.Record), packed.Tail
		if g.m == 1 && packed.Record.HasGemv() && g.k <= tune.Order.Long {
			g.path = pathRow // with more steps of k, a panel in one go would take long
		} else {
			g.copyA = g.copiesA()
			if g.m <= size.HalvesTiles*g.mr && packed.Record.HasPanel() {
				g.source = inHalves
			}
		}
	case g.b.Trans && !g.a.Trans && g.m <= g.dotRows():
		g.path = pathDot
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
	g.oneCall = g.path == pathPanels && g.source == inPlace && g.near && g.tail == 0 && !g.copyA && g.k <= g.kc
	g.partition(t)
}

// isNear reports whether B in place stays in a core's own caches, for which the tier has a kernel. For one
// or two rows that fetches nothing, so that B may come from further away only if it is small. In pure Go
// it is the kernel for panels, on all columns: as fast, and small products are spared the plan there too.
func isNear(isa ISA, m, k, ldb int) bool {
	most := tune.Used.Gemm.NearElements
	if m <= 2 {
		most /= 4
	}
	return k*ldb <= most && simd.KernelGemmNear.On(isa).ISA == isa
}

// nearAtOnce reports whether a product with nothing transposed is one call of simd.GemmNear, as it
// would be by plan.
func nearAtOnce(t Threads, m, n, k, lda, ldb int) bool {
	isa, work := Active(), max(m, 4)*n*k
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
func (g *gemmCall) fitsLines() bool {
	size := &tune.Used.Gemm
	return g.m <= size.LinesTiles*g.mr && g.nr >= 32 && g.b.LD%16 == 0 &&
		tune.Sharing(g.b.LD/16, min(g.k, tune.Order.KC), size.LinesSets) <= size.LinesWays
}

// copiesA reports whether the rows of A are copied: if they have to be transposed, or
// would crowd each other out of the cache.
func (g *gemmCall) copiesA() bool {
	return g.a.Trans || g.n >= tune.Used.Gemm.CopyColumns && tune.Crowd(g.a.LD, min(g.m, g.mr))
}

// prefetches reports whether gemmPanel is to fetch the next panel while it multiplies
// one with m rows. A packed B that few rows are multiplied with comes from memory
// fastest as one stream.
func (g *gemmCall) prefetches(m int) bool {
	size := &tune.Used.Gemm
	return g.source == inPlace || g.source != widened && m*size.StreamDen > g.mr*size.StreamNum
}

// dotRows is the number of rows of A up to which dot products are used.
func (g *gemmCall) dotRows() int {
	return max(dotRowsMin, min(g.k/8, dotRowsMax, dotElements/g.k))
}

// partition cuts the product for t threads: into bands, of rows or of columns, and
// these into parts along the other dimension. Runs of neighbouring parts are handed
// out as one block (see par.Run).
func (g *gemmCall) partition(t Threads) {
	size := &tune.Used.Threads
	g.cutM, g.cutN = 1, 1
	g.tall, g.wide = g.m, g.n
	work := g.workOf()
	if !worthThreads(t, work*g.batch) || g.batch >= 4*size.Bands*int(t) { // that many products are parts enough
		return
	}
	threads := max(1, int(t)/g.batch)
	rows := dimension{size: g.m, unit: g.mr, price: priceRead}
	cols := dimension{size: max(1, g.n-g.tail), unit: g.nr, price: priceRead}
	if g.copyA {
		rows.price = priceCopied
	}
	if g.path == pathInt8 {
		rows.price = priceInt8
	}
	if g.path == pathPanels && g.source.made() {
		cols.price = priceCopied
	}
	element := max(1, work/(g.m*g.n)) // of C
	best := math.Inf(1)
	for _, byRows := range []bool{false, true} {
		across, along := rows, cols
		if byRows {
			across, along = cols, rows
		}
		most := min(across.tiles(), work/size.PartWork+1)
		for bands := size.Bands * threads; bands >= 1; bands /= 2 {
			if bands > most {
				continue
			}
			band := across.cut(bands, byRows)
			n := (across.size + band - 1) / band
			part := max(size.PartWork/(element*band), 1)
			if across.price > priceRead { // for every block again: not over 6% of the time, if there are enough
				part = max(part, min(100, along.size*n/threads))
			}
			part = min((part+along.unit-1)/along.unit*along.unit, along.size)
			cost := cutCost(across, along, band, part, float64(n*g.batch)/float64(t))
			if !byRows && bands%threads == 0 && band >= 4*rows.unit && cols.price == priceRead {
				cost *= ownRows
			}
			if cost < best {
				best = cost
				g.byRows = byRows
				g.tall, g.wide = band, part
				if byRows {
					g.tall, g.wide = part, band
				}
			}
		}
	}
	g.cutM, g.cutN = (g.m+g.tall-1)/g.tall, (cols.size+g.wide-1)/g.wide
}

// dimension is one of C's two: its rows or its columns.
type dimension struct {
	size, unit int     // rows or columns, of C and of a tile
	price      float64 // of an element of A or B, for every block that has its row or column
}

// What a block pays for an element: reading it, copying it, and making it an integer, in
// multiply-adds, which take a quarter of the time with integers.
const (
	priceRead   = 1
	priceCopied = 6
	priceInt8   = 40
)

// ownRows is the factor on the cost of a cut into bands of rows for each thread: the next product of a
// layer then finds the rows in the caches of the thread that wrote them. Where threads run beside
// different last-level caches, the other thread's rows come as slowly as from memory.
const ownRows = 0.97

func (d dimension) tiles() int { return (d.size + d.unit - 1) / d.unit }

// cut is the size of a band, where there are to be some bands. Bands of columns are
// whole panels. Bands of rows that are several tiles high may have any number of rows,
// since a tile may be lower.
func (d dimension) cut(bands int, columns bool) int {
	if n := (d.size + bands - 1) / bands; !columns && n >= 4*d.unit {
		return n
	}
	return min((d.tiles()+bands-1)/bands*d.unit, d.size)
}

// cutCost estimates the time of a thread that has share bands of C, band wide
// across, and is handed runs of parts along them, in multiply-adds for each step of
// k: the products, half a part for which it waits at the end, and what its blocks
// read or copy. Of its last band, halves of what is left are handed out.
func cutCost(across, along dimension, band, part int, share float64) float64 {
	width, length := float64(band), float64(along.size)*share
	blocks := max(share, 1) + float64(bits.Len(uint(min(length, float64(along.size)))/uint(part)))
	return width*max(length+float64(part)/2, float64(part)) + across.price*width*blocks + along.price*length
}

// worthThreads reports whether work is worth a second thread of t.
func worthThreads(t Threads, work int) bool {
	return t > 1 && (work >= tune.Used.Threads.WakeWork || work >= tune.Used.Threads.ReadyWork && par.Ready())
}

// workOf estimates the time of one product, in multiply-adds at full speed: at
// the least what reading B costs.
func (g *gemmCall) workOf() int {
	work := max(g.m, 4) * g.n * g.k
	if g.path == pathInt8 {
		work /= 4 // an instruction makes four times the multiply-adds
	}
	return work
}
