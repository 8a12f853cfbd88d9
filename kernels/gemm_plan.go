package kernels

import (
	"math"
	"math/bits"

	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// How a product is computed, and how it is cut for several threads.

// gemmOrder bounds the steps of k that one call sums up: kc of the micro-kernel, long
// of dot products and products of one row. It decides, with the constants below, in
// what order the products of an element of C are summed up: so all of them are the same
// for any number of threads and on every machine, and none is a matter of tuning.
//
// A long kc writes C seldom: each pass over it costs as much as 2 to 4% of a large
// product. A tile's rows of A over kc (56 KiB) then come from the second-level cache as
// a few streams.
var gemmOrder = struct{ kc, long int }{kc: 1024, long: 1 << 16}

// Where one order overtakes another, measured on Zen 4; see doc/performance.md.
const (
	// Dot products beat packing the transpose of B up to some rows of A: an
	// eighth of k, since adding up the lanes at the end costs as much whatever k
	// is; within limits, and as long as A stays in the second-level cache.
	dotRowsMin, dotRowsMax, dotElements = 12, 64, 1 << 16
	// dotSum is what adding up a dot product's lanes costs, in steps of a vector, and
	// dotGather what an element of B costs that is brought into place for one, and
	// dotGatherCall what doing so costs whatever their number.
	dotSum, dotGather, dotGatherCall = 3, 3, 512
	// Up to halfRows rows of A, up to half a vector of columns is taken to cost half a tile, as it does in
	// gemmNear, which multiplies few rows.
	halfRows = 64
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
	size, packed := &tuned.gemm, g.b.packed
	switch {
	case packed != nil && packed.format.int8 != noInt8:
		g.path, g.mr = pathInt8, packed.format.mr
	case packed != nil:
		g.source, g.tail = packed.format.source(), packed.tail
		if g.m == 1 && packed.format.hasGemv() && g.k <= gemmOrder.long {
			g.path = pathRow // with more steps of k, a panel in one go would take long
		} else {
			g.copyA = g.copiesA()
			if g.m <= size.halvesTiles*g.mr && packed.format.hasPanel() {
				g.source = inHalves
			}
		}
	case bool(g.b.trans) && !bool(g.a.trans) && g.m <= g.dotRows():
		g.path = pathDot
	default:
		g.copyA = g.copiesA()
		g.source = packedHere
		gather := 0 // columns of B^T are contiguous
		if !g.b.trans {
			gather = g.m
			g.near = isNear(g.isa, g.m, g.k, g.b.ld)
			if inPlacePays(g.m, g.k, g.b.ld, g.mr, g.nr, g.near) || g.fitsLines() {
				g.source = inPlace
				g.wideTiles = g.m*size.wideDen <= g.mr*size.wideNum && (2*g.m <= g.mr || !crowdsFar(g.k, g.b.ld))
			}
		}
		g.tail = dotColumns(g.isa, g.n, g.k, gather)
	}
	g.planLoops()
	g.oneCall = g.path == pathPanels && g.source == inPlace && g.near && g.tail == 0 && !g.copyA && g.k <= g.kc
	g.partition(t)
}

// isNear reports whether B in place stays in a core's own caches, for which the tier has a kernel. For one
// or two rows that fetches nothing, so that B may come from further away only if it is small. In pure Go
// it is the kernel for panels, on all columns: as fast, and small products are spared the plan there too.
func isNear(isa ISA, m, k, ldb int) bool {
	most := tuned.gemm.nearElements
	if m <= 2 {
		most /= 4
	}
	return k*ldb <= most && simd.KernelGemmNear.On(isa).ISA == isa
}

// nearAtOnce reports whether a product with nothing transposed is one call of simd.GemmNear, as it
// would be by plan.
func nearAtOnce(t Threads, m, n, k, lda, ldb int) bool {
	isa, work := Active(), max(m, 4)*n*k
	if m == 1 || work > nearWork || k > gemmOrder.kc || worthThreads(t, work) || !isNear(isa, m, k, ldb) {
		return false
	}
	mr, nr := simd.GemmTile(isa)
	return inPlacePays(m, k, ldb, mr, nr, true) && !(n >= tuned.gemm.copyColumns && crowd(lda, min(m, mr))) && dotColumns(isa, n, k, m) == 0
}

// inPlacePays reports whether B is read in place rather than packed, whatever its lines are.
func inPlacePays(m, k, ldb, mr, nr int, near bool) bool {
	size := &tuned.gemm
	return fitsTiles(m, k, ldb, mr, nr) || k*nr <= size.inPlacePanel && k*ldb <= size.inPlaceSpan ||
		near && nr >= 32 && m <= size.nearTiles*mr && ldb%1024 != 0
}

// fitsTiles reports whether the tiles are few enough to read B in place: several only if they find
// its rows in the second-level cache, or these are two lines each, which come soon enough from further away.
func fitsTiles(m, k, ldb, mr, nr int) bool {
	return m <= mr || m <= tuned.gemm.inPlaceTiles*mr && (nr >= 32 || !crowdsFar(k, ldb))
}

// fitsLines reports whether the rows of B are whole cache lines, so that no load takes two, and
// those of a panel, of two lines each, stay in the second-level cache side by side while the
// tiles pass. Of one line each, as on AVX2, they are slower in place.
func (g *gemmCall) fitsLines() bool {
	size := &tuned.gemm
	return g.m <= size.linesTiles*g.mr && g.nr >= 32 && g.b.ld%16 == 0 &&
		sharing(g.b.ld/16, min(g.k, gemmOrder.kc), size.linesSets) <= size.linesWays
}

// crowdsFar reports whether the rows of a B in place push each other out of the second-level cache, so
// that a second tile would find nothing there, nor a panel what was fetched during the one before.
// linesWays is half of that cache's ways.
func crowdsFar(k, ldb int) bool {
	size := &tuned.gemm
	return ldb%16 == 0 && sharing(ldb/16, min(k, gemmOrder.kc), size.linesSets) > 2*size.linesWays
}

// copiesA reports whether the rows of A are copied: if they have to be transposed, or
// would crowd each other out of the cache.
func (g *gemmCall) copiesA() bool {
	return bool(g.a.trans) || g.n >= tuned.gemm.copyColumns && crowd(g.a.ld, min(g.m, g.mr))
}

// prefetches reports whether gemmPanel is to fetch the next panel while it multiplies
// one with m rows. A packed B that few rows are multiplied with comes from memory
// fastest as one stream.
func (g *gemmCall) prefetches(m int) bool {
	size := &tuned.gemm
	return g.source == inPlace || g.source != widened && m*size.streamDen > g.mr*size.streamNum
}

// dotRows is the number of rows of A up to which dot products are used.
func (g *gemmCall) dotRows() int {
	return max(dotRowsMin, min(g.k/8, dotRowsMax, dotElements/g.k))
}

// dotColumns is how many of the last columns of a product are dot products. A
// tile takes as long for a few columns as for a strip of them, but in gemmNear on AVX-512
// (strips of 16) half as long for up to half of one. Where the columns of B must be
// gathered, that has to pay for gather rows of A; if it is 0 they need not be.
func dotColumns(isa ISA, n, k, gather int) int {
	strip := simd.KernelGemmPanel.On(isa).Strip
	dots, tile := n%strip, k
	if 0 < gather && gather <= halfRows && strip >= 16 && dots <= strip/2 {
		tile = k / 2
	}
	gain := tile - dots*(k/strip+dotSum)
	if gain <= 0 || gather > 0 && gather*gain <= dots*k*dotGather+dotGatherCall {
		return 0
	}
	return dots
}

// crowd reports whether some rows ld elements apart crowd each other out of the
// cache: if more share a set than it has ways, for which they have to span more than all ways.
func crowd(ld, rows int) bool {
	const way = 64 * 16 // elements
	return rows > tuned.ways && rows*ld > tuned.ways*way && aliases(ld, rows) > tuned.ways
}

// aliases is how many lines of some rows ld elements apart share a set of the
// first-level cache, 64 sets of 64 bytes, at the most: one of each if the rows are
// about 4 KiB apart.
func aliases(ld, rows int) int {
	if ld > 0 && ld%16 == 0 {
		return sharing(ld/16, rows, 64)
	}
	var sets [64]uint8
	most, last := uint8(0), -1
	for i := range rows {
		line := i * ld / 16
		if line == last {
			continue
		}
		last = line
		set := &sets[line%64]
		*set++
		most = max(most, *set)
	}
	return int(most)
}

// sharing is how many of some rows, which are whole lines apart, share a set of a cache with so
// many sets at the most.
func sharing(lines, rows, sets int) int {
	apart := max(sets>>bits.TrailingZeros(uint(lines)), 1)
	return (rows + apart - 1) / apart
}

// partition cuts the product for t threads: into bands, of rows or of columns, and
// these into parts along the other dimension. Runs of neighbouring parts are handed
// out as one block (see par.Run).
func (g *gemmCall) partition(t Threads) {
	size := &tuned.threads
	g.cutM, g.cutN = 1, 1
	g.tall, g.wide = g.m, g.n
	work := g.workOf()
	if !worthThreads(t, work*g.batch) || g.batch >= 4*size.bands*int(t) { // that many products are parts enough
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
		most := min(across.tiles(), work/size.partWork+1)
		for bands := size.bands * threads; bands >= 1; bands /= 2 {
			if bands > most {
				continue
			}
			band := across.cut(bands, byRows)
			n := (across.size + band - 1) / band
			part := max(size.partWork/(element*band), 1)
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
	return t > 1 && (work >= tuned.threads.wakeWork || work >= tuned.threads.readyWork && par.Ready())
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
