package ref

import "math"

// Gemm is C = alpha*op(A)*op(B) + beta*C with op(X) = X, or its transpose
// where the flag is set; op(A) is m x k, op(B) is k x n, C is m x n. With
// beta = 0 C is not read.
func Gemm(transA, transB bool, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	gemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, func(x float64) float64 { return x })
}

// GemmAbs is |C| = |alpha|*|op(A)|*|op(B)| + |beta|*|C|: the scale, element by
// element, of the rounding errors that a computed Gemm may have.
func GemmAbs(transA, transB bool, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	gemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, math.Abs)
}

func gemm(transA, transB bool, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int, f func(float64) float64) {
	at := func(x []float64, ld int, trans bool, i, j int) float64 {
		if trans {
			i, j = j, i
		}
		return f(x[i*ld+j])
	}
	for i := range m {
		for j := range n {
			sum := 0.0
			for p := range k {
				sum += at(a, lda, transA, i, p) * at(b, ldb, transB, p, j)
			}
			y := f(alpha) * sum
			if beta != 0 {
				y += f(beta) * f(c[i*ldc+j])
			}
			c[i*ldc+j] = y
		}
	}
}
