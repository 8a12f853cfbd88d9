package simd

import "github.com/avoformer/avoformer/internal/half"

func gemmNearGeneric(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	panelGeneric(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// gemmPanelGeneric is gemmPanelAVX2 in pure Go. It ignores the hints.
func gemmPanelGeneric(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb, _, _, _, _ int, beta float32, c []float32, ldc int) {
	panelGeneric(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// panelGeneric multiplies a panel. The compiler keeps the eight sums of four rows and two columns in registers.
func panelGeneric(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	put := func(i, j int, s float32) {
		p := &c[i*ldc+j]
		if beta == 0 {
			*p = alpha * s
		} else {
			*p = alpha*s + beta**p
		}
	}
	i := 0
	for ; i+4 <= m; i += 4 {
		a0, a1, a2, a3 := a[i*lda:][:k], a[(i+1)*lda:][:k], a[(i+2)*lda:][:k], a[(i+3)*lda:][:k]
		j := 0
		for ; j+2 <= n; j += 2 {
			var s00, s01, s10, s11, s20, s21, s30, s31 float32
			at := j
			for p := range k {
				b0, b1 := b[at], b[at+1]
				at += ldb
				x0, x1, x2, x3 := a0[p], a1[p], a2[p], a3[p]
				s00 += x0 * b0
				s01 += x0 * b1
				s10 += x1 * b0
				s11 += x1 * b1
				s20 += x2 * b0
				s21 += x2 * b1
				s30 += x3 * b0
				s31 += x3 * b1
			}
			put(i, j, s00)
			put(i, j+1, s01)
			put(i+1, j, s10)
			put(i+1, j+1, s11)
			put(i+2, j, s20)
			put(i+2, j+1, s21)
			put(i+3, j, s30)
			put(i+3, j+1, s31)
		}
		for ; j < n; j++ {
			var s0, s1, s2, s3 float32
			for p := range k {
				y := b[p*ldb+j]
				s0 += a0[p] * y
				s1 += a1[p] * y
				s2 += a2[p] * y
				s3 += a3[p] * y
			}
			put(i, j, s0)
			put(i+1, j, s1)
			put(i+2, j, s2)
			put(i+3, j, s3)
		}
	}
	for ; i < m; i++ {
		row := a[i*lda:][:k]
		for j := range n {
			var s float32
			for p, x := range row {
				s += x * b[p*ldb+j]
			}
			put(i, j, s)
		}
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

// gemmDotGeneric has four sums at a time, for two rows of A and two of B.
func gemmDotGeneric(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	for j := 0; j < n; j += 2 {
		second := min(j+1, n-1)
		b0, b1 := b[j*ldb:][:k], b[second*ldb:][:k]
		for i := 0; i < m; i += 2 {
			below := min(i+1, m-1)
			a0, a1 := a[i*lda:][:k], a[below*lda:][:k]
			var s00, s01, s10, s11 float32
			for p := range k {
				x0, x1, y0, y1 := a0[p], a1[p], b0[p], b1[p]
				s00 += x0 * y0
				s01 += x0 * y1
				s10 += x1 * y0
				s11 += x1 * y1
			}
			c[i*ldc+j], c[i*ldc+second] = alpha*s00, alpha*s01
			c[below*ldc+j], c[below*ldc+second] = alpha*s10, alpha*s11
		}
	}
}

// gemmHalvesGeneric is gemmPanelGeneric for a whole panel of elements of 16 bits.
func gemmHalvesGeneric(widen func(uint16) float32, m, nr, k int, alpha float32, a []float32, lda int, b []uint16, beta float32, c []float32, ldc int) {
	for i := range m {
		for j := range nr {
			var s float32
			for p, x := range a[i*lda:][:k] {
				s += x * widen(b[p*nr+j])
			}
			y := &c[i*ldc+j]
			if beta == 0 {
				*y = alpha * s
			} else {
				*y = alpha*s + beta**y
			}
		}
	}
}

func gemmPanelFloat16Generic(m, nr, k int, alpha float32, a []float32, lda int, b []uint16, beta float32, c []float32, ldc int) {
	gemmHalvesGeneric(half.Float16, m, nr, k, alpha, a, lda, b, beta, c, ldc)
}

func gemmPanelBFloat16Generic(m, nr, k int, alpha float32, a []float32, lda int, b []uint16, beta float32, c []float32, ldc int) {
	gemmHalvesGeneric(half.BFloat16, m, nr, k, alpha, a, lda, b, beta, c, ldc)
}
