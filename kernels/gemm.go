package kernels

// Products of two matrices as they lie in the caller's memory, one or a batch of
// them: what the functions promise, and the checks of their arguments.

import (
	"fmt"
	"strings"

	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Transpose says whether a matrix enters a product as stored or transposed.
type Transpose bool

// The two values of Transpose.
const (
	NoTrans Transpose = false
	Trans   Transpose = true
)

// Gemm computes C = alpha*op(A)*op(B) + beta*C for row-major matrices.
//
// op(A) is m x k, op(B) is k x n and C is m x n. A is stored m x k with rows lda
// apart, or k x m with transA = Trans; B is stored k x n with rows ldb apart, or
// n x k with transB = Trans (the layout of torch.nn.Linear weights). C must not
// overlap A or B.
//
// When beta is 0, C is not read: it may hold anything. When alpha or k is 0, A
// and B are not read. Each element's error is at most k*eps*sum|a||b|*|alpha|
// plus the rounding of the final sum; see doc/numerics.md.
//
// Gemm panics if a size is negative or a slice too short.
func Gemm(transA, transB Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	Threads(1).Gemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Gemm is the function Gemm on up to t threads.
func (t Threads) Gemm(transA, transB Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	checkSize("Gemm", "m", m)
	checkSize("Gemm", "n", n)
	checkSize("Gemm", "k", k)
	if transA {
		checkMatrix("Gemm", "a", len(a), k, m, lda)
	} else {
		checkMatrix("Gemm", "a", len(a), m, k, lda)
	}
	if transB {
		checkMatrix("Gemm", "b", len(b), n, k, ldb)
	} else {
		checkMatrix("Gemm", "b", len(b), k, n, ldb)
	}
	checkMatrix("Gemm", "c", len(c), m, n, ldc)
	if m == 0 || n == 0 {
		return
	}
	if k == 0 || alpha == 0 {
		scaleMatrix(c, m, n, ldc, beta)
		return
	}
	if n*k <= directElements && beta == 0 && !bool(transA) {
		switch {
		case bool(transB) && m <= dotRowsMin:
			simd.GemmDot(Active(), m, n, k, alpha, a, lda, b, ldb, c, ldc)
			return
		case !bool(transB) && m == 1 && alpha == 1:
			clear(c[:n])
			simd.GemvRows(Active(), c[:n], a[:k], b, ldb, 0)
			return
		}
	}
	if !bool(transA) && !bool(transB) && nearAtOnce(t, m, n, k, lda, ldb) {
		simd.GemmNear(Active(), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	var g gemmCall
	g.isa, g.batch = Active(), 1
	g.set(m, n, k, alpha, a, lda, beta, c, ldc)
	g.a.trans = transA
	g.b.data, g.b.ld, g.b.trans = b, ldb, transB
	g.run(t)
}

// GemmBatched computes batch products of one shape, C_i = alpha*op(A_i)*op(B_i)
// + beta*C_i, whose matrices begin strideA, strideB and strideC elements apart:
// for the heads of attention, where one call has work enough for several
// threads. A stride may be smaller than a matrix, so that heads may lie side by
// side in the rows of one matrix, and strideA or strideB may be 0, so that the
// products share an operand; no element of C may belong to two products. All
// else is as in Gemm.
func GemmBatched(transA, transB Transpose, batch, m, n, k int, alpha float32, a []float32, lda, strideA int, b []float32, ldb, strideB int, beta float32, c []float32, ldc, strideC int) {
	Threads(1).GemmBatched(transA, transB, batch, m, n, k, alpha, a, lda, strideA, b, ldb, strideB, beta, c, ldc, strideC)
}

// GemmBatched is the function GemmBatched on up to t threads.
func (t Threads) GemmBatched(transA, transB Transpose, batch, m, n, k int, alpha float32, a []float32, lda, strideA int, b []float32, ldb, strideB int, beta float32, c []float32, ldc, strideC int) {
	const fn = "GemmBatched"
	checkSize(fn, "batch", batch)
	checkSize(fn, "m", m)
	checkSize(fn, "n", n)
	checkSize(fn, "k", k)
	if batch == 0 {
		return
	}
	rowsA, colsA, rowsB, colsB := m, k, k, n
	if transA {
		rowsA, colsA = k, m
	}
	if transB {
		rowsB, colsB = n, k
	}
	checkBatch(fn, "a", len(a), batch, strideA, rowsA, colsA, lda)
	checkBatch(fn, "b", len(b), batch, strideB, rowsB, colsB, ldb)
	checkBatch(fn, "c", len(c), batch, strideC, m, n, ldc)
	if m == 0 || n == 0 {
		return
	}
	if k == 0 || alpha == 0 {
		for i := range batch {
			scaleMatrix(c[i*strideC:], m, n, ldc, beta)
		}
		return
	}
	var g gemmCall
	g.isa, g.batch = Active(), batch
	g.strideA, g.strideB, g.strideC = strideA, strideB, strideC
	g.set(m, n, k, alpha, a, lda, beta, c, ldc)
	g.a.trans = transA
	g.b.data, g.b.ld, g.b.trans = b, ldb, transB
	g.run(t)
}

// checkBatch is checkMatrix for several matrices that begin stride apart.
func checkBatch(fn, arg string, length, batch, stride, rows, cols, ld int) {
	if stride < 0 {
		panicSize(fn, "stride"+strings.ToUpper(arg), stride, "want at least 0")
	}
	checkMatrix(fn, arg, length, rows, cols, ld)
	if rows > 0 && cols > 0 && batch > 1 && stride > (length-(rows-1)*ld-cols)/(batch-1) {
		panic(fmt.Sprintf("kernels.%s: len(%s) = %d, want at least (%d-1)*%d+(%d-1)*%d+%d ((batch-1)*stride+(rows-1)*ld+columns)",
			fn, arg, length, batch, stride, rows, ld, cols))
	}
}

// scaleMatrix is C = beta*C, without reading C when beta is 0.
func scaleMatrix(c []float32, m, n, ldc int, beta float32) {
	for i := range m {
		row := c[i*ldc:][:n]
		if beta == 0 {
			clear(row)
			continue
		}
		for j := range row {
			row[j] *= beta
		}
	}
}
