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
	// parallelWork is the least work worth a second thread, and the least for
	// each part, in units of workOf.
	parallelWork = 1 << 20
	partWork     = 1 << 19
)

// plan decides how the product is computed, and in which parts.
func (g *gemmCall) plan(t Threads) {
	mr, nr := gemmTile(g.isa)
	switch {
	case g.m == 1 && (g.b.packed != nil || !bool(g.b.trans)) && (!bool(g.a.trans) || g.a.ld == 1):
		g.path = pathGemv
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

// partition cuts the product into parts for t threads: several for each thread,
// so that one that is held up does not hold up the rest, but none too small,
// and along the dimension that costs the least copying.
func (g *gemmCall) partition(t Threads, mr, nr int) {
	g.partM, g.partN, g.perPart = 1, 1, 1
	g.tall, g.wide = g.m, g.n
	if t <= 1 {
		g.perPart = g.batch
		return
	}
	work := g.workOf()
	total := work * g.batch
	if total < parallelWork {
		g.perPart = g.batch
		return
	}
	parts := max(1, min(4*int(t), total/partWork))
	if g.batch >= parts {
		g.perPart = max(1, g.batch/parts)
		return
	}
	parts = (parts + g.batch - 1) / g.batch
	rowTiles, colTiles := (g.m+mr-1)/mr, (g.n+nr-1)/nr
	if g.path == pathGemv {
		rowTiles = 1
	}
	best := -1.0
	for pm := 1; pm <= min(parts, rowTiles); pm++ {
		pn := min((parts+pm-1)/pm, colTiles)
		tall, wide := (rowTiles+pm-1)/pm, (colTiles+pn-1)/pn
		// The cost of a part's tiles, and of what each part copies for itself;
		// an element copied counts as some 4 multiply-adds of a vector.
		cost := float64(tall*mr) * float64(wide*nr)
		copied := 0
		if g.copyA {
			copied += tall * mr
		}
		if g.path == pathPanels && g.b.packed == nil && !g.direct {
			copied += wide * nr
		}
		cost = (cost + 6*float64(copied)) * float64((pm*pn+int(t)-1)/int(t))
		if best < 0 || cost < best {
			best = cost
			g.partM, g.partN = (rowTiles+tall-1)/tall, (colTiles+wide-1)/wide
			g.tall, g.wide = tall*mr, wide*nr
		}
	}
}

// workOf estimates the time of one product, in multiply-adds at full speed: at
// the least what reading B costs.
func (g *gemmCall) workOf() int { return max(g.m, 4) * g.n * g.k }
