package kernels

// Where one way of a product overtakes another, measured on Zen 4; see
// doc/performance.md.
const (
	// Dot products beat packing the transpose of B up to so many rows of A: an
	// eighth of k, since adding up the lanes at the end costs as much whatever k
	// is; within limits, and as long as A stays in the second-level cache.
	dotRowsMin, dotRowsMax, dotElements = 12, 64, 1 << 16
	// directTileRows: up to so many tiles of rows of A, B is read in place instead of packed.
	directTileRows = 3
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
			(g.m <= directTileRows*mr || g.k*nr*4 <= 1<<14)
		g.copyA = bool(g.a.trans) || g.n > 4*nr && g.m > 1 && aliases(g.a.ld, min(g.m, mr))
	}
	g.partition(t, mr, nr)
}

// dotRows is the number of rows of A up to which dot products are used.
func (g *gemmCall) dotRows() int {
	return max(dotRowsMin, min(g.k/8, dotRowsMax, dotElements/g.k))
}

// aliases reports whether rows ld elements apart crowd into few sets of the
// first-level cache, 64 sets of 64 bytes: rows 4 KiB apart all share one.
func aliases(ld, rows int) bool {
	if ld%16 != 0 {
		return false // the rows move on by parts of a line
	}
	sets := 64
	for step := ld / 16; sets > 1 && step%2 == 0; step /= 2 {
		sets /= 2
	}
	return sets*4 < rows
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
	rowTiles, colTiles := (g.m+mr-1)/mr, (g.n+nr-1)/nr
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
