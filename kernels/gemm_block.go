package kernels

import (
	"sync"

	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// blocking holds the block sizes of the loops around the micro-kernel, in
// elements. A long kc writes C seldom: each pass over it costs as much as 2 to 4%
// of a large product. A tile's rows of A over kc (56 KiB) then come from the
// second-level cache as a few streams, and an mc x kc block of A (560 KiB) stays
// there, or at worst in the third level, while the panels of B pass by. One call
// of the micro-kernel makes at most 2*mc*kc*NR operations (80 us), which bounds
// the time that it holds a P. kc alone decides in what order an element of C is
// summed up, so it never depends on the number of threads, nor on the machine.
type blocking struct {
	mc, kc int
	nc     int // columns of B packed at a time, where A has several blocks of rows
	fold   int // rows of B that are packed panel by panel before the next ones
	long   int // steps of k in one call of a kernel that otherwise takes all of k
}

var gemmBlocking = blocking{mc: 140, kc: 1024, nc: 1024, fold: 32, long: 1 << 16}

// gemmPath is a way through a product.
type gemmPath uint8

const (
	pathPanels     gemmPath = iota // panels of B: packed beforehand, packed here, or in place
	pathDot                        // dot products of rows of A and of B^T, both in place
	pathGemvPanels                 // one row of A and panels of B packed beforehand
	pathGemvRows                   // one row of A and B in place
)

// gemmCall is one product or a batch of them, checked and with something to do.
type gemmCall struct {
	isa         ISA
	m, n, k     int
	alpha, beta float32
	a           operandA
	b           operandB
	c           []float32
	ldc         int
	ep          Epilogue

	batch                     int
	strideA, strideB, strideC int

	path   gemmPath
	direct bool // B is read in place
	copyA  bool // A's blocks are copied

	wideTiles bool // of half the height and twice the width
	dots      int  // the last columns, which are dot products

	// The partition of each product: cutM x cutN parts of tall x wide elements,
	// numbered along rows of C, or byRows along its columns.
	cutM, cutN int
	tall, wide int
	byRows     bool

	// pathGemvRows has chunks parts instead, each of tall steps of k. All but the
	// first have their sums in partial.
	chunks  int
	partial []float32
}

// set fills in what all products have. A composite literal would be built aside
// and copied, which waits for the stores: as long as a small product's plan.
func (g *gemmCall) set(m, n, k int, alpha float32, a []float32, lda int, beta float32, c []float32, ldc int) {
	g.m, g.n, g.k = m, n, k
	g.alpha, g.beta = alpha, beta
	g.a.data, g.a.ld = a, lda
	g.c, g.ldc = c, ldc
}

var gemmCalls = sync.Pool{New: func() any { return new(gemmCall) }}

// gemmScratch holds the buffers of one running block.
type gemmScratch struct{ a, b, dots, tile []float32 }

var gemmScratchPool = sync.Pool{New: func() any { return new(gemmScratch) }}

// grow is a slice of n elements, buf itself if it is large enough. Slices of
// this size begin on a page, so vectors in them are aligned.
func grow(buf []float32, n int) []float32 {
	if cap(buf) < n {
		return make([]float32, n, max(n, 1<<13))
	}
	return buf[:n]
}

// run computes the product on up to t threads.
func (g *gemmCall) run(t Threads) {
	g.plan(t)
	if g.path == pathGemvRows {
		g.runGemvRows(t)
		return
	}
	g.runParts(t, g.cutM*g.cutN*g.batch)
}

func (g *gemmCall) runParts(t Threads, parts int) {
	switch {
	case parts == 1 && g.path != pathGemvRows:
		g.block(0, 0, 0, g.m, g.n)
		return
	case t <= 1:
		g.Do(0, parts)
		return
	}
	p := gemmCalls.Get().(*gemmCall)
	*p = *g
	par.Run(int(t), parts, p)
	*p = gemmCall{}
	gemmCalls.Put(p)
}

// Do implements par.Task: runs of neighbouring parts are one block.
func (g *gemmCall) Do(from, to int) {
	if g.path == pathGemvRows {
		for i := from; i < to; i++ {
			g.gemvRows(i/g.chunks, i%g.chunks)
		}
		return
	}
	bands, run := g.cutM, g.cutN // a run of parts does not go beyond a band
	if g.byRows {
		bands, run = g.cutN, g.cutM
	}
	for from < to {
		item, band, first := from/(bands*run), from/run%bands, from%run
		last := min(first+to-from, run)
		i0, i1, j0, j1 := band, band+1, first, last
		if g.byRows {
			i0, i1, j0, j1 = j0, j1, i0, i1
		}
		i, j := i0*g.tall, j0*g.wide
		m, n := min(i1*g.tall, g.m)-i, min(j1*g.wide, g.n)-j
		if j1 == g.cutN {
			n = g.n - j
		}
		g.block(item, i, j, m, n)
		from += last - first
	}
}

// block computes m rows from row i and n columns from column j of a product.
func (g *gemmCall) block(item, i, j, m, n int) {
	if m <= 0 || n <= 0 {
		return
	}
	a, b := &g.a, &g.b
	if item > 0 {
		ai, bi := g.a, g.b
		a, b = &ai, &bi
		a.data = a.data[item*g.strideA:]
		if b.packed == nil {
			b.data = b.data[item*g.strideB:]
		}
	}
	c := g.c[item*g.strideC+i*g.ldc+j:]
	switch g.path {
	case pathGemvPanels:
		g.gemvPanels(a, b, c, j, n)
	case pathDot:
		g.dot(a, b, c, i, j, m, n)
	default:
		if g.ep.any() {
			g.panelsWithEpilogue(a, b, c, i, j, m, n)
			return
		}
		g.panels(a, b, c, i, j, m, n)
	}
}

// panels goes panel by panel of NR columns. The rows and columns are those of
// block; c begins at its first element.
func (g *gemmCall) panels(a *operandA, b *operandB, c []float32, i, j, m, n int) {
	mr, nr := simd.GemmTile(g.isa)
	blk := &gemmBlocking
	mc, kc := evenly(m, blk.mc, mr), g.kc()
	pack := b.packed == nil && !g.direct
	fetch := g.fetchesNext(m)
	dots := g.dotsOf(j, n)
	n -= dots
	nc := max(n, 1)
	if pack && m > mc {
		nc = min(blk.nc, nc)
	}
	var s *gemmScratch
	if pack || g.copyA || dots > 0 {
		s = gemmScratchPool.Get().(*gemmScratch)
		defer gemmScratchPool.Put(s)
	}
	for jc := 0; jc < max(n, 1); jc += nc {
		nb := min(nc, n-jc)
		for pc := 0; pc < g.k; pc += kc {
			kb := min(kc, g.k-pc)
			beta := g.beta
			if pc > 0 {
				beta = 1
			}
			var panels []float32 // panel q of these columns at q*stride, its rows ldb apart
			stride, ldb := kb*nr, nr
			switch {
			case nb == 0:
			case b.packed != nil:
				stride = g.k * nr
				panels = b.packed.data[(j+jc)/nr*stride+pc*nr:]
			case g.direct:
				stride, ldb = nr, b.ld
				panels = b.data[pc*b.ld+j+jc:]
			default:
				if m <= mc {
					stride = 0 // each panel is used as soon as it is packed
				}
				s.b = grow(s.b, (nb-1)/nr*stride+kb*nr)
				panels = s.b
			}
			for ic := 0; ic < m; ic += mc {
				mb := min(mc, m-ic)
				pace := 0
				if !g.direct {
					pace = fetchPace(mb, mr, nr)
				}
				rows, lda := a.data, a.ld
				if g.copyA {
					rows, lda = a.copyBlock(g.isa, s, i+ic, pc, mb, kb)
				} else {
					rows = rows[(i+ic)*lda+pc:]
				}
				to := c[ic*g.ldc+jc:]
				for q, w := 0, 0; q < nb; q += w {
					w = min(nr, nb-q)
					if g.wideTiles && nb-q >= 2*nr {
						w = 2 * nr
					}
					panel, done := panels[q/nr*stride:], 0
					if pack && ic == 0 {
						done = g.pack(b, panel, pc, j+jc+q, mb, w, kb, rows, lda, beta, to[q:])
					}
					next := 0
					switch {
					case !fetch || pack && ic == 0: // the next panel is not there yet
					case q+w < nb:
						next = w / nr * stride
					case ic+mb < m:
						next = -q / nr * stride
					}
					simd.GemmPanel(g.isa, mb-done, w, kb, g.alpha, rows[done*lda:], lda, panel, ldb, next, pace, beta, to[q+done*g.ldc:], g.ldc)
				}
				if dots > 0 && jc+nb == n {
					columns, ldd := g.dotOperand(b, s, pc, kb, ic == 0)
					g.dotBlock(rows, lda, columns, ldd, beta, to[nb:], g.ldc, mb, dots, kb)
				}
			}
		}
	}
}

// fetchesNext reports whether gemmPanel is to fetch the next panel while it multiplies
// one with m rows. A packed B that few rows are multiplied with comes from memory
// fastest as one stream.
func (g *gemmCall) fetchesNext(m int) bool {
	mr, _ := simd.GemmTile(g.isa)
	return g.direct || m > mr*fetchNum/fetchDen
}

// fetchPace is the pace at which gemmPanel fetches a panel of NR columns in the time
// of m rows.
func fetchPace(m, mr, nr int) int {
	tiles := (m + mr - 1) / mr
	return (4*nr + tiles - 1) / tiles
}

// dotsOf is how many of n columns from column j are dot products: the last ones.
func (g *gemmCall) dotsOf(j, n int) int {
	if j+n == g.n {
		return g.dots
	}
	return 0
}

// dotOperand is rows [p, p+k) of the columns of B that are dot products, column
// by column, ld apart. Where they have to be brought together, that is done in s if they are new.
func (g *gemmCall) dotOperand(b *operandB, s *gemmScratch, p, k int, isNew bool) (columns []float32, ld int) {
	j := g.n - g.dots
	switch {
	case b.packed != nil:
		return b.packed.data[b.packed.wide()*g.k+p:], g.k
	case bool(b.trans):
		return b.data[j*b.ld+p:], b.ld
	}
	if isNew {
		s.dots = grow(s.dots, g.dots*k)
		b.packDots(g.isa, s.dots, p, j, k, g.dots)
	}
	return s.dots, k
}

// pack packs rows [p, p+k) and columns [j, j+n) of B, at most NR, into a panel.
// If it can, it multiplies them with the first of the m rows of A on the way,
// and tells how many.
func (g *gemmCall) pack(b *operandB, panel []float32, p, j, m, n, k int, a []float32, lda int, beta float32, c []float32) (rows int) {
	mr, nr := simd.GemmTile(g.isa)
	if bool(b.trans) || n < nr || m <= mr {
		b.packPanels(g.isa, panel, p, j, k, n, nr)
		return 0
	}
	simd.GemmPack(g.isa, mr, nr, k, g.alpha, a, lda, b.data[p*b.ld+j:], b.ld, panel, beta, c, g.ldc)
	return mr
}

// kc is the number of steps of k in one block: that of blocking, but all blocks
// alike, and more where A has few rows.
func (g *gemmCall) kc() int {
	mr, _ := simd.GemmTile(g.isa)
	limit := gemmBlocking.kc
	if g.m <= mr {
		limit *= 4
	}
	return evenly(g.k, limit, 8)
}

// evenly is a block size of at most limit that cuts n into blocks of about the
// same size, a multiple of unit where there are several.
func evenly(n, limit, unit int) int {
	if n <= limit {
		return max(n, 1)
	}
	units, most := (n+unit-1)/unit, max(limit/unit, 1)
	blocks := (units + most - 1) / most
	return (units + blocks - 1) / blocks * unit
}

// any reports whether there is anything to do.
func (ep *Epilogue) any() bool {
	return ep.Bias != nil || ep.Activation != Identity || ep.Residual != nil
}

// zeroRow stands for a bias or a row of a residual that is not there.
var zeroRow [64]float32

// finish applies the epilogue to the m x n sums in tile, which are rows from i
// and columns from j of C, n at most NR and the rows NR apart, and writes them to
// c. The tile may lose its contents.
func (g *gemmCall) finish(c, tile []float32, i, j, m, n int) {
	_, nr := simd.GemmTile(g.isa)
	bias, residual, ldr := zeroRow[:nr], zeroRow[:nr], 0
	if g.ep.Bias != nil {
		bias = g.ep.Bias[j : j+n]
	}
	if g.ep.Residual != nil {
		residual, ldr = g.ep.Residual[i*g.ep.LdResidual+j:], g.ep.LdResidual
	}
	if n == nr {
		finishPanel(g.isa, g.ep.Activation, c, tile, bias, residual, m, nr, g.ldc, ldr)
		return
	}
	// A panel that is not full: the same in the tile, whose other columns hold
	// anything, and a row of the bias as wide as the panel.
	var wide [len(zeroRow)]float32
	copy(wide[:], bias[:n])
	finishPanel(g.isa, g.ep.Activation, tile, tile, wide[:nr], zeroRow[:nr], m, nr, nr, 0)
	if g.ep.Residual != nil {
		simd.AddRows(g.isa, tile, residual, m, n, nr, ldr)
	}
	simd.CopyRows(g.isa, c, tile, m, n, g.ldc, nr)
}

func finishPanel(isa ISA, act Activation, c, x, bias, residual []float32, rows, nr, ldc, ldr int) {
	switch act {
	case Identity:
		simd.FinishIdentity(isa, c, x, bias, residual, rows, nr, ldc, ldr)
	case ActReLU:
		simd.FinishReLU(isa, c, x, bias, residual, rows, nr, ldc, ldr)
	case ActGELU:
		simd.FinishGELU(isa, c, x, bias, residual, rows, nr, ldc, ldr)
	case ActGELUTanh:
		simd.FinishGELUTanh(isa, c, x, bias, residual, rows, nr, ldc, ldr)
	case ActSiLU:
		simd.FinishSiLU(isa, c, x, bias, residual, rows, nr, ldc, ldr)
	}
}

// panelsWithEpilogue is panels for a packed B with an epilogue. The sums of a
// panel stay in a tile of their own, in the first-level cache, until all of k is
// through: C is written once, and never where the residual has still to be read.
func (g *gemmCall) panelsWithEpilogue(a *operandA, b *operandB, c []float32, i, j, m, n int) {
	mr, nr := simd.GemmTile(g.isa)
	kc, dots, fetch := g.kc(), g.dotsOf(j, n), g.fetchesNext(m)
	// All of k is in turn for a block of rows, so they are fewer where k is long.
	mc := gemmBlocking.mc * gemmBlocking.kc / max(g.k, 1) / mr * mr
	mc = evenly(m, min(max(mc, 2*mr), gemmBlocking.mc), mr)
	s := gemmScratchPool.Get().(*gemmScratch)
	s.tile = grow(s.tile, mc*nr)
	tile := s.tile
	for ic := 0; ic < m; ic += mc {
		mb := min(mc, m-ic)
		rows, lda := a.data, a.ld
		switch {
		case g.k == 0: // there is no A
		case g.copyA:
			rows, lda = a.copyBlock(g.isa, s, i+ic, 0, mb, g.k)
		default:
			rows = rows[(i+ic)*a.ld:]
		}
		for q := 0; q < n; q += nr {
			w := min(nr, n-q)
			tiles := max(0, min(w, n-dots-q)) // of the columns; the others are dot products
			panel := b.packed.data[min(j+q, b.packed.wide())*g.k:]
			to := c[ic*g.ldc+q:]
			beta := g.beta
			if beta != 0 {
				simd.CopyRows(g.isa, tile, to, mb, w, nr, g.ldc)
			}
			for pc := 0; pc == 0 || pc < g.k; pc += kc { // once for k = 0
				kb := min(kc, g.k-pc)
				if tiles > 0 {
					next := 0
					switch {
					case !fetch:
					case pc+kb < g.k || q+nr < n:
						next = kb * nr
					case ic+mb < m:
						next = -(q*g.k + pc*nr)
					}
					simd.GemmPanel(g.isa, mb, tiles, kb, g.alpha, rows[pc:], lda, panel[pc*nr:], nr, next, fetchPace(mb, mr, nr), beta, tile, nr)
				}
				if tiles < w {
					columns, ldd := g.dotOperand(b, s, pc, kb, false)
					g.dotBlock(rows[pc:], lda, columns, ldd, beta, tile[tiles:], nr, mb, w-tiles, kb)
				}
				beta = 1
			}
			g.finish(to, tile, i+ic, j+q, mb, w)
		}
	}
	gemmScratchPool.Put(s)
}

// dot multiplies rows of A and of B^T. It goes by columns, in calls of some 4
// million multiply-adds or a million elements of B, and where k is very long by parts of k too.
func (g *gemmCall) dot(a *operandA, b *operandB, c []float32, i, j, m, n int) {
	kc := evenly(g.k, gemmBlocking.long, 8)
	for pc := 0; pc < g.k; pc += kc {
		beta := g.beta
		if pc > 0 {
			beta = 1
		}
		g.dotBlock(a.data[i*a.ld+pc:], a.ld, b.data[j*b.ld+pc:], b.ld, beta, c, g.ldc, m, n, min(kc, g.k-pc))
	}
}

// dotBlock is dot for k steps of k, from the first element of a and b.
func (g *gemmCall) dotBlock(a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc, m, n, k int) {
	step := max(gemvDotGroup, 1<<22/(max(m, 4)*k)/gemvDotGroup*gemvDotGroup)
	if beta == 0 {
		for q := 0; q < n; q += step {
			g.dotCall(m, min(step, n-q), k, a, lda, b[q*ldb:], ldb, c[q:], ldc)
		}
		return
	}
	s := gemmScratchPool.Get().(*gemmScratch)
	step = min(step, n, 256)
	s.a = grow(s.a, m*step)
	for q := 0; q < n; q += step {
		w := min(step, n-q)
		g.dotCall(m, w, k, a, lda, b[q*ldb:], ldb, s.a, w)
		if beta != 1 {
			scaleMatrix(c[q:], m, w, ldc, beta)
		}
		simd.AddRows(g.isa, c[q:], s.a, m, w, ldc, w)
	}
	gemmScratchPool.Put(s)
}
