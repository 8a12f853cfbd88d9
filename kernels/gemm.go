package kernels

import (
	"fmt"
	"strings"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/product"
)

// Products of two matrices as they lie in the caller's memory, one or a batch of
// them: what the functions promise, and the checks of their arguments.

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
	mem.CheckSize("Gemm", "m", m)
	mem.CheckSize("Gemm", "n", n)
	mem.CheckSize("Gemm", "k", k)
	if transA {
		mem.CheckMatrix("Gemm", "a", len(a), k, m, lda)
	} else {
		mem.CheckMatrix("Gemm", "a", len(a), m, k, lda)
	}
	if transB {
		mem.CheckMatrix("Gemm", "b", len(b), n, k, ldb)
	} else {
		mem.CheckMatrix("Gemm", "b", len(b), k, n, ldb)
	}
	mem.CheckMatrix("Gemm", "c", len(c), m, n, ldc)
	product.Gemm(int(t), bool(transA), bool(transB), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
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
	mem.CheckSize(fn, "batch", batch)
	mem.CheckSize(fn, "m", m)
	mem.CheckSize(fn, "n", n)
	mem.CheckSize(fn, "k", k)
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
	if overlap(batch, m, n, ldc, strideC) {
		panic(fmt.Sprintf("kernels.%s: strideC = %d, want one by which no element of C belongs to two products (batch = %d, m = %d, n = %d, ldc = %d)", fn, strideC, batch, m, n, ldc))
	}
	product.Batched(int(t), bool(transA), bool(transB), batch, m, n, k, alpha, a, lda, strideA, b, ldb, strideB, beta, c, ldc, strideC)
}

// checkBatch is CheckMatrix for several matrices that begin stride apart.
func checkBatch(fn, arg string, length, batch, stride, rows, cols, ld int) {
	if stride < 0 {
		mem.PanicSize(fn, "stride"+strings.ToUpper(arg), stride, "want at least 0")
	}
	mem.CheckMatrix(fn, arg, length, rows, cols, ld)
	if rows > 0 && cols > 0 && batch > 1 && stride > (length-(rows-1)*ld-cols)/(batch-1) {
		panic(fmt.Sprintf("kernels.%s: len(%s) = %d, want at least (%d-1)*%d+(%d-1)*%d+%d ((batch-1)*stride+(rows-1)*ld+columns)",
			fn, arg, length, batch, stride, rows, ld, cols))
	}
}

// overlap reports whether two of some m x n matrices that begin stride elements apart, their rows ld
// apart, have an element in common.
func overlap(batch, m, n, ld, stride int) bool {
	// Matrix i begins rows rows and past elements, fewer than ld, after the first one: then the two
	// have an element in common if its rows begin within the first one's, or end within the next ones.
	rows, past := 0, 0
	for range batch - 1 {
		rows, past = rows+stride/ld, past+stride%ld
		if past >= ld {
			rows, past = rows+1, past-ld
		}
		if rows < m && past < n || rows+1 < m && ld-past < n {
			return true
		}
		if rows >= m {
			return false
		}
	}
	return false
}
