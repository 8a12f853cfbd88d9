package kernels

import "sync"

// blocking holds the block sizes of the loops around the micro-kernel, in
// elements. An mc x kc block of A (256 KiB) stays in the second-level cache
// while the panels of B pass by, and a tile's rows of it (21 KiB) in the first;
// one call of the micro-kernel makes at most 2*mc*kc*NR operations (40 us),
// which bounds the time that it holds a P. kc alone decides in what order an
// element of C is summed up, so it never depends on the number of threads.
type blocking struct {
	mc, kc int
	nc     int // columns of B packed at a time, where A has several blocks of rows
	strip  int // panels of B packed at a time otherwise: a part of the second-level cache
	fold   int // rows of B that are packed panel by panel before the next ones
}

var gemmBlocking = blocking{mc: 168, kc: 384, nc: 3072, strip: 6, fold: 32}

// gemmPath is a way through a product.
type gemmPath uint8

const (
	pathPanels gemmPath = iota // panels of B: packed beforehand, packed here, or in place
	pathDot                    // dot products of rows of A and of B^T, both in place
	pathGemv                   // one row of A
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

	// The partition: partM x partN parts of tall x wide elements for each
	// product, or perPart whole products for a part.
	partM, partN int
	tall, wide   int
	perPart      int
}

var gemmCalls = sync.Pool{New: func() any { return new(gemmCall) }}

// gemmScratch holds the buffers of one running block.
type gemmScratch struct{ a, b []float32 }

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
	parts := g.partM * g.partN * ((g.batch + g.perPart - 1) / g.perPart)
	if parts == 1 || t <= 1 {
		for p := range parts {
			g.do(p)
		}
		return
	}
	p := gemmCalls.Get().(*gemmCall)
	*p = *g
	parallel(t, parts, p)
	*p = gemmCall{}
	gemmCalls.Put(p)
}

// do implements task: one part.
func (g *gemmCall) do(part int) {
	if g.perPart > 1 || g.partM*g.partN == 1 {
		for item := part * g.perPart; item < min((part+1)*g.perPart, g.batch); item++ {
			g.block(item, 0, 0, g.m, g.n)
		}
		return
	}
	item, part := part/(g.partM*g.partN), part%(g.partM*g.partN)
	i, j := part/g.partN*g.tall, part%g.partN*g.wide
	g.block(item, i, j, min(g.tall, g.m-i), min(g.wide, g.n-j))
}

// block computes m rows from row i and n columns from column j of a product.
func (g *gemmCall) block(item, i, j, m, n int) {
	if m <= 0 || n <= 0 {
		return
	}
	a, b := g.a, g.b
	a.data = a.data[item*g.strideA:]
	if b.packed == nil {
		b.data = b.data[item*g.strideB:]
	}
	c := g.c[item*g.strideC+i*g.ldc+j:]
	switch g.path {
	case pathGemv:
		g.gemv(&a, &b, c, j, n)
	case pathDot:
		g.dot(&a, &b, c, i, j, m, n)
	default:
		g.panels(&a, &b, c, i, j, m, n)
	}
}

// panels goes panel by panel of NR columns. The rows and columns are those of
// block; c begins at its first element.
func (g *gemmCall) panels(a *operandA, b *operandB, c []float32, i, j, m, n int) {
	_, nr := gemmTile(g.isa)
	blk := &gemmBlocking
	mc, kc := evenly(m, blk.mc), g.kc()
	pack := b.packed == nil && !g.direct
	nc := n
	if pack {
		nc = blk.strip * nr
		if m > mc {
			nc = blk.nc
		}
		nc = min(nc, n)
	}
	var s *gemmScratch
	if pack || g.copyA {
		s = gemmScratchPool.Get().(*gemmScratch)
		defer gemmScratchPool.Put(s)
	}
	for jc := 0; jc < n; jc += nc {
		nb := min(nc, n-jc)
		for pc := 0; pc < g.k; pc += kc {
			kb := min(kc, g.k-pc)
			beta, last := g.beta, pc+kb == g.k
			if pc > 0 {
				beta = 1
			}
			var panels []float32 // panel q of these columns at q*stride, its rows ldb apart
			stride, ldb := kb*nr, nr
			switch {
			case b.packed != nil:
				stride = g.k * nr
				panels = b.packed.data[(j+jc)/nr*stride+pc*nr:]
			case g.direct:
				stride, ldb = nr, b.ld
				panels = b.data[pc*b.ld+j+jc:]
			default:
				s.b = grow(s.b, (nb+nr-1)/nr*stride)
				panels = s.b
				b.packPanels(g.isa, panels, pc, j+jc, kb, nb, nr)
			}
			for ic := 0; ic < m; ic += mc {
				mb := min(mc, m-ic)
				rows, lda := a.data, a.ld
				switch {
				case !g.copyA:
					rows = rows[(i+ic)*lda+pc:]
				case m <= mc && jc > 0 && kb == g.k:
					rows, lda = s.a, paddedRow(kb) // still there from the last columns
				default:
					rows, lda = a.copyBlock(g.isa, s, i+ic, pc, mb, kb)
				}
				for q := 0; q < nb; q += nr {
					w := min(nr, nb-q)
					gemmPanel(g.isa, mb, w, kb, g.alpha, rows, lda,
						panels[q/nr*stride:], ldb, beta, c[ic*g.ldc+jc+q:], g.ldc)
					if last {
						g.epilogue(c[ic*g.ldc+jc+q:], i+ic, j+jc+q, mb, w)
					}
				}
			}
		}
	}
}

// kc is the number of steps of k in one block: that of blocking, but all blocks
// alike, and more where A has few rows.
func (g *gemmCall) kc() int {
	mr, _ := gemmTile(g.isa)
	limit := gemmBlocking.kc
	if g.m <= mr {
		limit *= 4
	}
	return evenly(g.k, limit)
}

// evenly is a block size of at most limit that cuts n into blocks of about the
// same size, a multiple of 8 where there are several.
func evenly(n, limit int) int {
	if n <= limit {
		return max(n, 1)
	}
	blocks := (n + limit - 1) / limit
	return min(limit, ((n+blocks-1)/blocks+7)&^7)
}

// gemv is one row of C, n columns from column j.
func (g *gemmCall) gemv(a *operandA, b *operandB, c []float32, j, n int) {
	c = c[:n]
	_, nr := gemmTile(g.isa)
	switch {
	case b.packed != nil:
		whole := n / nr * nr
		panels := b.packed.data[j*g.k:]
		// A call is bounded to some 2 MiB of B.
		step := max(1, 1<<19/(g.k*nr)) * nr
		if g.alpha == 1 && g.beta == 0 {
			for q := 0; q < whole; q += step {
				gemvPanels(g.isa, c[q:min(q+step, whole)], a.data[:g.k], panels[q*g.k:], nr)
			}
		} else {
			whole = 0
		}
		var sums [64]float32
		for q := whole; q < n; q += nr {
			gemvPanels(g.isa, sums[:nr], a.data[:g.k], panels[q*g.k:], nr)
			for x, s := range sums[:min(nr, n-q)] {
				if g.beta == 0 {
					c[q+x] = g.alpha * s
				} else {
					c[q+x] = g.alpha*s + g.beta*c[q+x]
				}
			}
		}
		g.epilogue(c, 0, j, 1, n)
	default:
		scaleMatrix(c, 1, n, n, g.beta)
		x := a.data[:g.k]
		var s *gemmScratch
		if g.alpha != 1 {
			s = gemmScratchPool.Get().(*gemmScratch)
			s.a = grow(s.a, g.k)
			for p, v := range x {
				s.a[p] = g.alpha * v
			}
			x = s.a
		}
		// Columns that stay in the first-level cache, and rows of some 1 MiB.
		const columns = 4096
		for q := 0; q < n; q += columns {
			w := min(columns, n-q)
			step := max(4, 1<<18/w&^3)
			for p := 0; p < g.k; p += step {
				gemvRows(g.isa, c[q:q+w], x[p:min(p+step, g.k)], b.data[p*b.ld+j+q:], b.ld)
			}
		}
		if s != nil {
			gemmScratchPool.Put(s)
		}
	}
}

// epilogue finishes the m x n elements at c, which are rows from i and columns
// from j of C.
func (g *gemmCall) epilogue(c []float32, i, j, m, n int) {
	ep := &g.ep
	if ep.Bias != nil {
		addRows(g.isa, c, ep.Bias[j:], m, n, g.ldc, 0)
	}
	switch ep.Activation {
	case ActReLU:
		reluRows(g.isa, c, m, n, g.ldc)
	case ActGELU:
		geluRows(g.isa, c, m, n, g.ldc)
	case ActGELUTanh:
		geluTanhRows(g.isa, c, m, n, g.ldc)
	case ActSiLU:
		siluRows(g.isa, c, m, n, g.ldc)
	}
	if ep.Residual != nil {
		addRows(g.isa, c, ep.Residual[i*ep.LdResidual+j:], m, n, g.ldc, ep.LdResidual)
	}
}

// dot is not there yet.
func (g *gemmCall) dot(a *operandA, b *operandB, c []float32, i, j, m, n int) { panic("dot") }
