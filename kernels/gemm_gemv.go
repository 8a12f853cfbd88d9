package kernels

import "github.com/avoformer/avoformer/kernels/internal/simd"

// Products of one row of A are bound by reading B: what counts is that it comes
// in an order that the machine fetches ahead.

// gemvPanels is n columns of one row of C, from column j, of a packed B.
func (g *gemmCall) gemvPanels(a *operandA, b *operandB, c []float32, j, n int) {
	c = c[:n]
	_, nr := simd.GemmTile(g.isa)
	panels := b.packed.data[j*g.k:]
	step := max(1, 1<<19/(g.k*nr)) * nr // columns of a call, some 2 MiB of B
	if g.alpha == 1 && g.beta == 0 && !g.ep.any() && n%nr == 0 {
		for q := 0; q < n; q += step {
			simd.GemvPanels(g.isa, c[q:min(q+step, n)], a.data[:g.k], panels[q*g.k:], nr)
		}
		return
	}
	s := gemmScratchPool.Get().(*gemmScratch)
	s.tile = grow(s.tile, (n+nr-1)/nr*nr)
	dots := g.dotsOf(j, n)
	whole := (n - dots + nr - 1) / nr * nr
	for q := 0; q < whole; q += step {
		simd.GemvPanels(g.isa, s.tile[q:min(q+step, whole)], a.data[:g.k], panels[q*g.k:], nr)
	}
	if dots > 0 {
		columns, ldd := g.dotOperand(b, s, 0, g.k, false)
		simd.GemmDot(g.isa, 1, dots, g.k, 1, a.data, a.ld, columns, ldd, s.tile[n-dots:], nr)
	}
	for q := range n {
		s.tile[q] *= g.alpha
		if g.beta != 0 {
			s.tile[q] += g.beta * c[q]
		}
	}
	for q := 0; q < n; q += nr {
		g.finish(c[q:], s.tile[q:], 0, j+q, 1, min(nr, n-q))
	}
	gemmScratchPool.Put(s)
}

// planGemvRows cuts a product with B in place along k, so that each part reads
// one run of memory. The chunks depend on the shape alone, since they decide in
// what order an element of C is summed up. They are few: a part's sums are a row
// of C, and B has 24 rows for it at least.
func (g *gemmCall) planGemvRows() {
	const maxChunks, chunkElements = 8, 1 << 17
	g.path = pathGemvRows
	g.chunks = max(1, min(maxChunks, g.k/(4*gemvRowsGroup), g.n*g.k/chunkElements))
	rows := (g.k + g.chunks - 1) / g.chunks
	g.tall = (rows + gemvRowsGroup - 1) / gemvRowsGroup * gemvRowsGroup
	g.chunks = (g.k + g.tall - 1) / g.tall
}

func (g *gemmCall) runGemvRows(t Threads) {
	if !worthThreads(t, g.workOf()*g.batch) {
		t = 1
	}
	if g.chunks == 1 {
		g.runParts(t, g.batch)
		return
	}
	s := gemmScratchPool.Get().(*gemmScratch)
	s.tile = grow(s.tile, g.batch*(g.chunks-1)*g.n)
	g.partial = s.tile
	g.runParts(t, g.batch*g.chunks)
	const columns = 1 << 12
	for item := range g.batch {
		for j := 0; j < g.n; j += columns {
			simd.AddRows(g.isa, g.c[item*g.strideC+j:], g.partialOf(item, 1)[j:], g.chunks-1, min(columns, g.n-j), 0, g.n)
		}
	}
	gemmScratchPool.Put(s)
}

// partialOf is the memory for the sums of a chunk that is not the first, and of
// those after it.
func (g *gemmCall) partialOf(item, chunk int) []float32 {
	return g.partial[(item*(g.chunks-1)+chunk-1)*g.n:]
}

// gemvRows computes one chunk of one product.
func (g *gemmCall) gemvRows(item, chunk int) {
	from := chunk * g.tall
	k := min(g.tall, g.k-from)
	x, b := g.a.data[item*g.strideA+from:][:k], g.b.data[item*g.strideB+from*g.b.ld:]
	var c []float32
	if chunk == 0 {
		c = g.c[item*g.strideC:][:g.n]
		scaleMatrix(c, 1, g.n, g.n, g.beta)
	} else {
		c = g.partialOf(item, chunk)[:g.n]
		clear(c)
	}
	var s *gemmScratch
	if g.alpha != 1 {
		s = gemmScratchPool.Get().(*gemmScratch)
		s.a = grow(s.a, k)
		simd.ScaleVec(g.isa, s.a, x, g.alpha)
		x = s.a
	}
	// Columns that stay in the first-level cache, and rows of some 1 MiB.
	const columns = 4096
	ahead := g.ahead(gemvRowsGroup)
	for j := 0; j < g.n; j += columns {
		w := min(columns, g.n-j)
		step := max(1, 1<<18/(w*gemvRowsGroup)) * gemvRowsGroup
		for p := 0; p < k; p += step {
			simd.GemvRows(g.isa, c[j:j+w], x[p:min(p+step, k)], b[p*g.b.ld+j:], g.b.ld, ahead)
		}
	}
	if s != nil {
		gemmScratchPool.Put(s)
	}
}

// dotCall is one call of the assembly.
func (g *gemmCall) dotCall(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	if g.m == 1 && g.n*g.k >= gemvNear {
		simd.GemvDot(g.isa, g.alpha, c[:n], a[:k], b, ldb, g.ahead(gemvDotGroup))
		return
	}
	simd.GemmDot(g.isa, m, n, k, g.alpha, a, lda, b, ldb, c, ldc)
}

// ahead is how far ahead of its use B is to be fetched where so many of its rows
// go together: 0 if it does not come from memory.
func (g *gemmCall) ahead(rows int) int {
	if g.n*g.k < gemvFar {
		return 0
	}
	return rows * g.b.ld
}
