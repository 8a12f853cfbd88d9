package ref

import "math"

// Gemm is C = alpha*op(A)*op(B) + beta*C with op(X) = X, or its transpose where the flag is set;
// op(A) is m x k, op(B) is k x n, C is m x n. With beta = 0 C is not read.
func Gemm(transA, transB bool, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	gemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, func(x float64) float64 { return x })
}

// GemmAbs is |C| = |alpha|*|op(A)|*|op(B)| + |beta|*|C|: the scale, element by element, of the
// rounding errors that a computed Gemm may have.
func GemmAbs(transA, transB bool, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	gemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, math.Abs)
}

func gemm(transA, transB bool, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int, f func(float64) float64) {
	a, b = operand(transA, m, k, a, lda, f), operand(transB, k, n, b, ldb, f)
	sums := make([]float64, n)
	for i := range m {
		clear(sums)
		for p := range k {
			x := a[i*k+p]
			for j, y := range b[p*n:][:n] {
				sums[j] += x * y
			}
		}
		for j, sum := range sums {
			y := f(alpha) * sum
			if beta != 0 {
				y += f(beta) * f(c[i*ldc+j])
			}
			c[i*ldc+j] = y
		}
	}
}

// operand is f of each element of op(X), rows x cols.
func operand(trans bool, rows, cols int, x []float64, ld int, f func(float64) float64) []float64 {
	y := make([]float64, 0, rows*cols)
	for i := range rows {
		for j := range cols {
			if trans {
				y = append(y, f(x[j*ld+i]))
			} else {
				y = append(y, f(x[i*ld+j]))
			}
		}
	}
	return y
}
