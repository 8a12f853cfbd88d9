package product

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file has products that consist of dot products of rows of A and columns of B, both
// contiguous.

// dot computes a block of a product with B transposed in the caller's memory. It cuts very long k
// into parts.
func (b *block) dot() {
	g := b.g
	kc := order.Evenly(g.k, order.DotStretch, 8)
	for p := 0; p < g.k; p += kc {
		beta := g.beta
		if p > 0 {
			beta = 1
		}
		b.dotBlock(b.a.Data[p:], b.a.LD, b.b.Data[p:], b.b.LD, beta, b.c, g.ldc, b.m, b.n, min(kc, g.k-p))
	}
}

// dotBlock computes C = alpha*A*B^T + beta*C for m rows of A and n of B^T, in calls of about 4
// million multiply-adds or a million elements of B.
func (b *block) dotBlock(x []float32, ldx int, y []float32, ldy int, beta float32, c []float32, ldc, m, n, k int) {
	g := b.g
	step := max(gemvDotGroup, 1<<22/(max(m, 4)*k)/gemvDotGroup*gemvDotGroup)
	if beta == 0 {
		for q := 0; q < n; q += step {
			g.dotCall(m, min(step, n-q), k, x, ldx, y[q*ldy:], ldy, c[q:], ldc)
		}
		return
	}
	step = min(step, n, 256)
	s := scratches.Get().(*scratch) // the block's own scratch may hold x
	s.sums = mem.Grow(s.sums, m*step)
	for q := 0; q < n; q += step {
		w := min(step, n-q)
		g.dotCall(m, w, k, x, ldx, y[q*ldy:], ldy, s.sums, w)
		if beta != 1 {
			scaleMatrix(c[q:], m, w, ldc, beta)
		}
		simd.AddRows(g.isa, c[q:], s.sums, m, w, ldc, w)
	}
	scratches.Put(s)
}

// dotCall is one call of the assembly.
func (g *call) dotCall(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	if g.m == 1 && g.n*g.k >= gemvNear {
		simd.GemvDot(g.isa, g.alpha, c[:n], a[:k], b, ldb, g.fetchAhead(gemvDotGroup))
		return
	}
	simd.GemmDot(g.isa, m, n, k, g.alpha, a, lda, b, ldb, c, ldc)
}
