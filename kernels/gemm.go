package kernels

import (
	"fmt"
	"strings"
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

// Activation is the function that an Epilogue applies.
type Activation uint8

// The activations of an Epilogue.
const (
	Identity    Activation = iota
	ActReLU                // max(x, 0)
	ActGELU                // x*Phi(x), with erf
	ActGELUTanh            // GELU's tanh approximation
	ActSiLU                // x*sigmoid(x)
)

// Epilogue is what GemmPacked does to a finished part of C while it is still in
// cache: C = Activation(C + Bias) + Residual. The zero Epilogue does nothing.
type Epilogue struct {
	Bias       []float32 // [n], added to every row; or nil
	Activation Activation
	Residual   []float32 // [m x n], rows LdResidual apart, added last; or nil. May be C itself.
	LdResidual int
}

// GemmPacked computes C = act(alpha*A*B + beta*C + bias) + residual with B
// packed beforehand by PackB: the form for weights, which are used many times.
//
// A is m x K and C is m x N, row-major with rows lda and ldc apart. C must not
// overlap A. When beta is 0, C is not read, unless it is also the residual; when
// alpha or K is 0, A and B are not.
// It runs on the tier that B was packed for.
func GemmPacked(m int, alpha float32, a []float32, lda int, b *PackedB, beta float32, c []float32, ldc int, ep Epilogue) {
	Threads(1).GemmPacked(m, alpha, a, lda, b, beta, c, ldc, ep)
}

// GemmPacked is the function GemmPacked on up to t threads.
func (t Threads) GemmPacked(m int, alpha float32, a []float32, lda int, b *PackedB, beta float32, c []float32, ldc int, ep Epilogue) {
	const fn = "GemmPacked"
	if b == nil {
		panic("kernels.GemmPacked: b is nil, want a matrix from PackB")
	}
	n, k := b.n, b.k
	if alpha == 0 {
		k = 0 // neither A nor B is read
	}
	checkSize(fn, "m", m)
	checkMatrix(fn, "a", len(a), m, b.k, lda)
	checkMatrix(fn, "c", len(c), m, n, ldc)
	if ep.Bias != nil {
		checkLen(fn, "ep.Bias", len(ep.Bias), n, "n")
	}
	if ep.Residual != nil {
		checkMatrix(fn, "ep.Residual", len(ep.Residual), m, n, ep.LdResidual)
	}
	if ep.Activation > ActSiLU {
		panicSize(fn, "ep.Activation", int(ep.Activation), "want Identity to ActSiLU")
	}
	if m == 0 || n == 0 {
		return
	}
	var g gemmCall
	g.isa, g.batch = b.isa, 1
	g.set(m, n, k, alpha, a, lda, beta, c, ldc)
	g.b.packed, g.ep = b, ep
	if k == 0 {
		if ep.any() {
			g.panelsWithEpilogue(&g.a, &g.b, c, 0, 0, m, n)
		} else {
			scaleMatrix(c, m, n, ldc, beta)
		}
		return
	}
	g.run(t)
}
