package kernels

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
)

// plan decides how the product is computed, and in which parts.
func (g *gemmCall) plan(t Threads) {
	mr, nr := gemmTile(g.isa)
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
		g.copyA = bool(g.a.trans) || g.n >= copyColumns && g.crowded(min(g.m, mr), nr)
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
	_, nr := gemmTile(isa)
	lanes := nr / 2
	dots := n % lanes
	gain := k - dots*(k/lanes+dotSum)
	if gain <= 0 || gather > 0 && gather*gain <= dots*k*dotGather {
		return 0
	}
	return dots
}

// crowded reports whether a tile's rows of A crowd each other out of the cache, so
// that a copy with other distances pays: if they all share a set, or, for
// more panels, if they take over half of its eight ways.
func (g *gemmCall) crowded(rows, nr int) bool {
	n := aliases(g.a.ld, rows)
	return n > 8 || n > 4 && g.n > 4*nr
}

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

// partition cuts the product into parts for t threads: small ones, of which
// runs of neighbours are handed out as one block (see parallel), along the
// dimension that costs the least copying.
func (g *gemmCall) partition(t Threads, mr, nr int) {
	g.cutM, g.cutN = 1, 1
	g.tall, g.wide = g.m, g.n
	work := g.workOf()
	if !worthThreads(t, work*g.batch) {
		return
	}
	blocks := 4 * int(t) // about as many are handed out
	if g.batch >= blocks {
		return
	}
	blocks = (blocks + g.batch - 1) / g.batch
	rowTiles, colTiles := (g.m+mr-1)/mr, max(1, (g.n-g.dots+nr-1)/nr)
	if g.path == pathGemvPanels {
		rowTiles = 1
	}
	// What a block copies for itself: whole rows of A for however few columns,
	// and the same of B.
	copyA, copyB := g.copyA, g.path == pathPanels && g.b.packed == nil && !g.direct
	best := -1.0
	for bm := 1; bm <= min(blocks, rowTiles); bm++ {
		bn := min((blocks+bm-1)/bm, colTiles)
		tall, wide := (rowTiles+bm-1)/bm, (colTiles+bn-1)/bn
		// An element copied counts as some 6 multiply-adds of a vector.
		cost := float64(tall*mr) * float64(wide*nr)
		copied := 0
		if copyA {
			copied += tall * mr
		}
		if copyB {
			copied += wide * nr
		}
		cost = (cost + 6*float64(copied)) * float64((bm*bn+int(t)-1)/int(t))
		if best < 0 || cost < best {
			best = cost
			g.cutM, g.cutN = bm, bn
		}
	}
	// The finer cut is made finer still, down to what is worth a part, and to
	// where copying would take over 6% of the time.
	tile := max(1, partWork/max(work/(rowTiles*colTiles), 1)) // tiles in a part
	bandM, bandN := (rowTiles+g.cutM-1)/g.cutM, (colTiles+g.cutN-1)/g.cutN
	if g.cutN >= g.cutM {
		bandN = max(1, tile/bandM)
		if copyA {
			bandN = max(bandN, (100+nr-1)/nr)
		}
	} else {
		bandM = max(1, tile/bandN)
		if copyB {
			bandM = max(bandM, (100+mr-1)/mr)
		}
	}
	g.byRows = g.cutN < g.cutM
	g.tall, g.wide = bandM*mr, bandN*nr
	g.cutM, g.cutN = (rowTiles+bandM-1)/bandM, (colTiles+bandN-1)/bandN
}

// worthThreads reports whether work is worth a second thread of t.
func worthThreads(t Threads, work int) bool {
	return t > 1 && (work >= parallelWork || work >= readyWork && workers.ready())
}

// workOf estimates the time of one product, in multiply-adds at full speed: at
// the least what reading B costs.
func (g *gemmCall) workOf() int { return max(g.m, 4) * g.n * g.k }
