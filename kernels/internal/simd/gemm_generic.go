package simd

import "github.com/avoformer/avoformer/kernels/internal/order"

func gemmNearGeneric(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	panelGeneric(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// gemmPanelGeneric computes the same as gemmPanelAVX2, in pure Go. It ignores the hints.
func gemmPanelGeneric(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb, _, _, _, _ int, beta float32, c []float32, ldc int) {
	panelGeneric(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// panelGeneric multiplies a panel. A few rows share each row of B, and their sums stay in the
// first-level cache.
func panelGeneric(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	const height, width = 4, 64
	var sums [height][width]float32
	for i := 0; i < m; i += height {
		rows := min(height, m-i)
		for j := 0; j < n; j += width {
			w := min(width, n-j)
			for r := range rows {
				clear(sums[r][:w])
			}
			for p := range k {
				row := b[p*ldb+j:][:w]
				for r := range rows {
					order.AddProducts(sums[r][:w], a[(i+r)*lda+p], row)
				}
			}
			for r := range rows {
				accumulate(c[(i+r)*ldc+j:][:w], sums[r][:w], alpha, beta)
			}
		}
	}
}

// accumulate computes elements of C from the sums of a stretch of k.
func accumulate(c, sums []float32, alpha, beta float32) {
	for j, s := range sums {
		c[j] = order.Accumulate(s, alpha, beta, c[j])
	}
}

func gemmPairGeneric(m, nr, k int, alpha float32, a []float32, lda int, b []float32, ldb, panel int, beta float32, c []float32, ldc, second int) {
	if m == 0 { // there may be no second part of C
		return
	}
	panelGeneric(m, nr, k, alpha, a, lda, b, ldb, beta, c, ldc)
	panelGeneric(m, nr, k, alpha, a, lda, b[panel:], ldb, beta, c[second:], ldc)
}

func gemmPackGeneric(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, dst []float32, beta float32, c []float32, ldc int) {
	copyRowsGeneric(dst, b, k, n, n, ldb)
	panelGeneric(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

func gemmDotGeneric(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	for j := range n {
		column := b[j*ldb:][:k]
		for i := range m {
			c[i*ldc+j] = order.FMA(alpha, order.DotOf(a[i*lda:][:k], column), 0)
		}
	}
}

// gemmHalvesGeneric does the same as gemmPanelGeneric for a whole panel of elements of 16 bits.
func gemmHalvesGeneric(widen func(dst []float32, x []uint16, ahead int), m, nr, k int, alpha float32, a []float32, lda int, b []uint16, beta float32, c []float32, ldc int) {
	var row, sums [64]float32
	for i := range m {
		clear(sums[:nr])
		for p, x := range a[i*lda:][:k] {
			widen(row[:nr], b[p*nr:], 0)
			order.AddProducts(sums[:nr], x, row[:nr])
		}
		accumulate(c[i*ldc:][:nr], sums[:nr], alpha, beta)
	}
}

func gemmPanelFloat16Generic(m, nr, k int, alpha float32, a []float32, lda int, b []uint16, beta float32, c []float32, ldc int) {
	gemmHalvesGeneric(float16VecGeneric, m, nr, k, alpha, a, lda, b, beta, c, ldc)
}

func gemmPanelBFloat16Generic(m, nr, k int, alpha float32, a []float32, lda int, b []uint16, beta float32, c []float32, ldc int) {
	gemmHalvesGeneric(bfloat16VecGeneric, m, nr, k, alpha, a, lda, b, beta, c, ldc)
}
