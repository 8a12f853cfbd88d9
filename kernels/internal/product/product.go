// Package product computes matrix products.
//
// product.go has the functions that package kernels calls. ways.go has the table of ways to compute
// a product, plan.go plans a product after the choice of its way, and partition.go cuts it into
// parts. run.go distributes the parts to threads and combines them into blocks. loops.go, source.go
// and epilogue.go have the loops around the micro-kernel; dot.go, gemv.go and integers.go compute
// blocks in other ways. call.go has the types that all of them share.
package product

import (
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// Gemm is kernels.Gemm with checked arguments, on up to t threads.
func Gemm(t int, transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	if m == 0 || n == 0 {
		return
	}
	if k == 0 || alpha == 0 {
		scaleMatrix(c, m, n, ldc, beta)
		return
	}
	ofA, ofB := left{m, k, lda, transA}, right{n, ldb, transB, nil}
	w := wayOf(ofA, ofB)
	if w.atOnce(ofA, ofB, alpha, beta) && !worthThreads(t, workOf(ofA, ofB)) {
		switch w {
		case rowByRows:
			clear(c[:n])
			simd.GemvRows(simd.Active(), c[:n], a[:k], b, ldb, 0)
		case dots:
			simd.GemmDot(simd.Active(), m, n, k, alpha, a, lda, b, ldb, c, ldc)
		case near:
			simd.GemmNear(simd.Active(), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		}
		return
	}
	var g call
	g.isa, g.batch = simd.Active(), 1
	g.set(m, n, k, alpha, a, lda, beta, c, ldc)
	g.a.Trans = transA
	g.b.Data, g.b.LD, g.b.Trans = b, ldb, transB
	g.runWay(t, w, ofA, ofB)
}

// Batched is kernels.GemmBatched with checked arguments and a C that is not empty, on up to t
// threads.
func Batched(t int, transA, transB bool, batch, m, n, k int, alpha float32, a []float32, lda, strideA int, b []float32, ldb, strideB int, beta float32, c []float32, ldc, strideC int) {
	if k == 0 || alpha == 0 {
		for i := range batch {
			scaleMatrix(c[i*strideC:], m, n, ldc, beta)
		}
		return
	}
	var g call
	g.isa, g.batch = simd.Active(), batch
	g.strideA, g.strideB, g.strideC = strideA, strideB, strideC
	g.set(m, n, k, alpha, a, lda, beta, c, ldc)
	g.a.Trans = transA
	g.b.Data, g.b.LD, g.b.Trans = b, ldb, transB
	g.run(t)
}

// PackedCall is a call of kernels.GemmPacked, which sets its fields in place: copying arguments
// from function to function takes a tenth of the time of a small product.
type PackedCall struct{ g call }

// Set sets the checked arguments, except the epilogue.
func (p *PackedCall) Set(m int, alpha float32, a []float32, lda int, b *weights.Matrix, beta float32, c []float32, ldc int) {
	p.g.set(m, b.N, b.K, alpha, a, lda, beta, c, ldc)
	p.g.b.packed = b
}

// Finish sets the epilogue.
func (p *PackedCall) Finish(bias []float32, activation Activation, residual []float32, ldResidual int) {
	ep := &p.g.ep
	ep.Bias, ep.Activation, ep.Residual, ep.LdResidual = bias, activation, residual, ldResidual
}

// Run computes the product on up to t threads.
func (p *PackedCall) Run(t int) {
	g := &p.g
	f := g.b.packed.Record
	if g.alpha == 0 {
		g.k = 0 // neither A nor B is read
	}
	if g.m == 0 || g.n == 0 {
		return
	}
	g.isa, g.batch = f.ISA, 1
	switch {
	case g.k > 0:
		g.run(t)
	case g.ep.any():
		g.mr, g.nr, g.way = f.MR, f.NR, packedBefore // no elements, in any format
		g.planLoops()
		g.block(0, 0, 0, g.m, g.n)
	default:
		scaleMatrix(g.c, g.m, g.n, g.ldc, g.beta)
	}
}
