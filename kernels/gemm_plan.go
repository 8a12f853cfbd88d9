package kernels

import (
	"math"
	"math/bits"

	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Where one way of a product overtakes another, measured on Zen 4; see
// doc/performance.md.
const (
	// Dot products beat packing the transpose of B up to so many rows of A: an
	// eighth of k, since adding up the lanes at the end costs as much whatever k
	// is; within limits, and as long as A stays in the second-level cache.
	dotRowsMin, dotRowsMax, dotElements = 12, 64, 1 << 16
	// directTileRows: up to so many tiles of rows of A, B is read in place instead of packed.
	// So it is for more rows where a panel of so many elements stays in the first-level
	// cache and the matrix around it spans so many: some 32 pages, which leaves
	// translations for those of C.
	directTileRows, directPanel, directSpan = 3, 1 << 12, 1 << 15
	// wideTiles: up to so many rows, B in place is read by wide tiles, as a part of
	// a tile's rows: 8 of AVX-512's 14, two tiles of four, and 3 of the others' 6.
	wideNum, wideDen = 4, 7
	// fetchesNext: up to so many rows, as a part of a tile's, which are 5 of AVX-512's and 2
	// of AVX2's, a packed B is read as fast as memory delivers it.
	fetchNum, fetchDen = 2, 5
	// dotSum is what adding up a dot product's lanes costs, in steps of a vector, and
	// dotGather what an element of B costs that is brought into place for one.
	dotSum, dotGather = 3, 2
	// copyColumns is how many columns are worth a copy of A's rows.
	copyColumns = 64
	// A B of gemvNear elements is beyond a core's own caches, and one of gemvFar
	// comes from memory.
	gemvNear, gemvFar = 1 << 17, 1 << 23
	// gemvRows takes so many rows of B together, and gemvDot at most so many where
	// B comes from memory. Then fetching the next such rows gains a sixth to a
	// third; nearer, it costs as much.
	gemvRowsGroup, gemvDotGroup = 6, 8
	// parallelWork is the least work worth waking a second thread, readyWork the
	// least worth one that is awake, and partWork the least for a part, in units of
	// workOf.
	parallelWork = 1 << 20
	readyWork    = 1 << 18
	partWork     = 1 << 17
	// A product is cut into at most so many bands for each thread.
	bandsMax = 4
)

// plan decides how the product is computed, and in which parts.
func (g *gemmCall) plan(t Threads) {
	mr, nr := simd.GemmTile(g.isa)
	if g.b.packed != nil {
		g.dots = g.b.packed.dots
	}
	switch {
	case g.m == 1 && g.b.packed != nil && g.k <= gemmBlocking.long:
		g.path = pathGemvPanels // with more steps of k, a panel in one go would take long
	case g.m == 1 && g.b.packed == nil && !bool(g.b.trans) && (!bool(g.a.trans) || g.a.ld == 1):
		g.planGemvRows()
		return
	case bool(g.b.trans) && !bool(g.a.trans) && g.m <= g.dotRows():
		g.path = pathDot
	default:
		g.path = pathPanels
		g.direct = g.b.packed == nil && !bool(g.b.trans) &&
			(g.m <= directTileRows*mr || g.k*nr <= directPanel && g.k*g.b.ld <= directSpan)
		g.wideTiles = g.direct && g.m <= mr*wideNum/wideDen
		if g.b.packed == nil {
			gather := g.m
			if g.b.trans {
				gather = 0
			}
			g.dots = dotColumns(g.isa, g.n, g.k, gather)
		}
		g.copyA = bool(g.a.trans) || g.n >= copyColumns && crowd(g.a.ld, min(g.m, mr))
	}
	g.partition(t, mr, nr)
}

// dotRows is the number of rows of A up to which dot products are used.
func (g *gemmCall) dotRows() int {
	return max(dotRowsMin, min(g.k/8, dotRowsMax, dotElements/g.k))
}

// dotColumns is how many of the last columns of a product are dot products. A
// tile takes as long for a few columns as for a vector of them. Where the columns of
// B must be gathered, that has to pay for gather rows of A; if it is 0 they need not be.
func dotColumns(isa ISA, n, k, gather int) int {
	if isa != AVX2 && isa != AVX512 {
		return 0 // NEON's tiles are as narrow as need be, and Go needs none
	}
	_, nr := simd.GemmTile(isa)
	lanes := nr / 2
	dots := n % lanes
	gain := k - dots*(k/lanes+dotSum)
	if gain <= 0 || gather > 0 && gather*gain <= dots*k*dotGather {
		return 0
	}
	return dots
}

// crowd reports whether some rows ld elements apart crowd each other out of the
// cache: if more share a set than it has ways.
func crowd(ld, rows int) bool { return aliases(ld, rows) > 8 }

// aliases is how many lines of some rows ld elements apart share a set of the
// first-level cache, 64 sets of 64 bytes, at the most: one of each if the rows are
// about 4 KiB apart.
func aliases(ld, rows int) int {
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

// partition cuts the product for t threads: into bands, of rows or of columns, and
// these into parts along the other dimension. Runs of neighbouring parts are handed
// out as one block (see par.Run).
func (g *gemmCall) partition(t Threads, mr, nr int) {
	g.cutM, g.cutN = 1, 1
	g.tall, g.wide = g.m, g.n
	work := g.workOf()
	if !worthThreads(t, work*g.batch) || g.batch >= bandsMax*int(t) {
		return
	}
	threads := max(1, int(t)/g.batch)
	rows := dimension{size: g.m, unit: mr, copied: g.copyA}
	cols := dimension{size: max(1, g.n-g.dots), unit: nr, copied: g.path == pathPanels && g.b.packed == nil && !g.direct}
	element := max(1, work/(g.m*g.n)) // of C
	best := math.Inf(1)
	for _, byRows := range []bool{false, true} {
		across, along := rows, cols
		if byRows {
			across, along = cols, rows
		}
		most := min(across.tiles(), work/partWork+1)
		for bands := bandsMax * threads; bands >= 1; bands /= 2 {
			if bands > most {
				continue
			}
			band := across.cut(bands, byRows)
			n := (across.size + band - 1) / band
			part := max(partWork/(element*band), 1)
			if across.copied { // for every block again: not over 6% of the time, if there are enough
				part = max(part, min(100, along.size*n/threads))
			}
			part = min((part+along.unit-1)/along.unit*along.unit, along.size)
			if cost := cutCost(across, along, band, part, float64(n)/float64(threads)); cost < best {
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

// dimension is one of C's: so many rows or columns, those of a tile, and whether a
// block copies what it has of it, rows of A or columns of B.
type dimension struct {
	size, unit int
	copied     bool
}

func (d dimension) tiles() int { return (d.size + d.unit - 1) / d.unit }

// cut is the size of each of so many bands. Bands of columns are whole panels;
// those of rows may be any number of rows, where it is some tiles, since these have
// any height.
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
	price := func(d dimension) float64 { // of an element, in multiply-adds of a vector
		if d.copied {
			return 6
		}
		return 1
	}
	return width*max(length+float64(part)/2, float64(part)) + price(across)*width*blocks + price(along)*length
}

// worthThreads reports whether work is worth a second thread of t.
func worthThreads(t Threads, work int) bool {
	return t > 1 && (work >= parallelWork || work >= readyWork && par.Ready())
}

// workOf estimates the time of one product, in multiply-adds at full speed: at
// the least what reading B costs.
func (g *gemmCall) workOf() int { return max(g.m, 4) * g.n * g.k }
