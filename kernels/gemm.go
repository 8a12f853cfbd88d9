package kernels

import (
	"fmt"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/product"
)

// This file has products of two matrices in the caller's memory, or of a batch of them: contracts,
// and checks of arguments.

// Transpose says whether a matrix enters a product as stored or transposed.
type Transpose bool

// The two values of Transpose.
const (
	NoTrans Transpose = false
	Trans   Transpose = true
)

// Gemm computes C = alpha*op(A)*op(B) + beta*C for row-major matrices.
//
// op(A) is m x k, op(B) is k x n and C is m x n. A is stored m x k with rows lda apart, or k x m
// with transA = Trans; B is stored k x n with rows ldb apart, or n x k with transB = Trans (the
// layout of torch.nn.Linear weights). C must not overlap A or B.
//
// If beta is 0, C is not read, and may hold any values. If alpha or k is 0, A and B are not read.
// The error of an element is at most k*eps*sum|a||b|*|alpha| plus the rounding of the final sum;
// see doc/numerics.md.
//
// Gemm panics if a size is negative or a slice too short.
func Gemm(transA, transB Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	Threads(1).Gemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Gemm is the function Gemm on up to t threads.
func (t Threads) Gemm(transA, transB Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	rowsA, colsA, rowsB, colsB := m, k, k, n
	if transA {
		rowsA, colsA = k, m
	}
	if transB {
		rowsB, colsB = n, k
	}
	if !mem.Holds(len(a), rowsA, colsA, lda) || !mem.Holds(len(b), rowsB, colsB, ldb) || !mem.Holds(len(c), m, n, ldc) { // something is wrong or empty
		const fn = "Gemm"
		mem.CheckSize(fn, "m", m)
		mem.CheckSize(fn, "n", n)
		mem.CheckSize(fn, "k", k)
		mem.CheckMatrix(fn, "a", len(a), rowsA, colsA, lda)
		mem.CheckMatrix(fn, "b", len(b), rowsB, colsB, ldb)
		mem.CheckMatrix(fn, "c", len(c), m, n, ldc)
	}
	product.Gemm(int(t), bool(transA), bool(transB), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// GemmBatchedParams are the arguments of GemmBatched. Sizes and distances are in elements.
type GemmBatchedParams struct {
	TransA, TransB Transpose
	Batch, M, N, K int

	Alpha        float32 // as in Gemm: 0 is 0
	A            []float32
	LdA, StrideA int // between rows, and between matrices; so below
	B            []float32
	LdB, StrideB int
	Beta         float32
	C            []float32
	LdC, StrideC int
}

// GemmBatched computes Batch products of one shape, C_i = Alpha*op(A_i)*op(B_i) + Beta*C_i. Their
// matrices begin StrideA, StrideB and StrideC elements apart. It is meant for the heads of
// attention, which together are enough work for several threads. A stride may be smaller than a
// matrix: heads can be columns of one matrix. StrideA or StrideB may be 0: all products then share
// an operand. No element of C may belong to two products. The rest is as in Gemm.
func GemmBatched(p GemmBatchedParams) { Threads(1).GemmBatched(p) }

// GemmBatched is the function GemmBatched on up to t threads.
func (t Threads) GemmBatched(p GemmBatchedParams) {
	const fn = "GemmBatched"
	mem.CheckSize(fn, "Batch", p.Batch)
	mem.CheckSize(fn, "M", p.M)
	mem.CheckSize(fn, "N", p.N)
	mem.CheckSize(fn, "K", p.K)
	if p.Batch == 0 {
		return
	}
	rowsA, colsA, rowsB, colsB := p.M, p.K, p.K, p.N
	if p.TransA {
		rowsA, colsA = p.K, p.M
	}
	if p.TransB {
		rowsB, colsB = p.N, p.K
	}
	checkBatch(fn, "A", len(p.A), p.Batch, p.StrideA, rowsA, colsA, p.LdA)
	checkBatch(fn, "B", len(p.B), p.Batch, p.StrideB, rowsB, colsB, p.LdB)
	checkBatch(fn, "C", len(p.C), p.Batch, p.StrideC, p.M, p.N, p.LdC)
	if p.M == 0 || p.N == 0 {
		return
	}
	if overlap(p.Batch, p.M, p.N, p.LdC, p.StrideC) {
		panic(fmt.Sprintf("kernels.%s: StrideC = %d, want one by which no element of C belongs to two products (Batch = %d, M = %d, N = %d, LdC = %d)", fn, p.StrideC, p.Batch, p.M, p.N, p.LdC))
	}
	product.Batched(int(t), bool(p.TransA), bool(p.TransB), p.Batch, p.M, p.N, p.K, p.Alpha, p.A, p.LdA, p.StrideA, p.B, p.LdB, p.StrideB, p.Beta, p.C, p.LdC, p.StrideC)
}

// checkBatch is CheckMatrix for matrices that begin stride elements apart.
func checkBatch(fn, arg string, length, batch, stride, rows, cols, ld int) {
	if stride < 0 {
		mem.PanicSize(fn, "Stride"+arg, stride, "want at least 0")
	}
	mem.CheckMatrix(fn, arg, length, rows, cols, ld)
	if rows > 0 && cols > 0 && batch > 1 && stride > (length-(rows-1)*ld-cols)/(batch-1) {
		panic(fmt.Sprintf("kernels.%s: len(%s) = %d, want at least (%d-1)*%d+(%d-1)*%d+%d ((batch-1)*stride+(rows-1)*ld+columns)",
			fn, arg, length, batch, stride, rows, ld, cols))
	}
}

// overlap reports whether any two of a batch of m x n matrices share an element. The matrices begin
// stride elements apart, their rows are ld apart.
func overlap(batch, m, n, ld, stride int) bool {
	// Matrix i begins "rows" rows and "past" elements, fewer than ld, after the first one. The two
	// share an element if a row of matrix i begins within a row of the first one, or ends within
	// the next row.
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
