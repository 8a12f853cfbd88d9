package simd

import (
	"math"

	"github.com/avoformer/avoformer/kernels/internal/order"
)

func attnSoftmaxGeneric(s []float32, rows, cols, ld int, max, sum, factor []float32) {
	for r := range rows {
		row := s[r*ld:][:cols]
		m := max[r]
		for _, v := range row {
			if v > m {
				m = v
			}
		}
		ref := m
		if ref < -math.MaxFloat32 {
			ref = -math.MaxFloat32
		}
		factor[r] = order.ExpDifference(max[r], ref)
		max[r] = m
		sum[r] = sum[r]*factor[r] + expSumVecGeneric(row, row, ref)
	}
}

func attnKeysGeneric(dst, x []float32, rows, cols, ldx int, alpha float32, nr int) {
	for i := range rows {
		to := dst[i/nr*nr*cols:]
		for j, v := range x[i*ldx:][:cols] {
			to[j*nr+i%nr] = alpha * v
		}
	}
}

func attnPanelsGeneric(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb, panel, next, pace, count int, beta float32, c []float32, ldc, nr int) {
	for j := 0; j < n; j += nr {
		panelGeneric(m, nr, k, alpha, a, lda, b[j/nr*panel:], ldb, beta, c[j:], ldc)
	}
}

func attnScaleRowsGeneric(x []float32, rows, cols, ld int, factor []float32) {
	for r := range rows {
		row := x[r*ld:][:cols]
		scaleVecGeneric(row, row, factor[r])
	}
}

func attnDotGeneric(rows, n, dim int, alpha float32, q []float32, ldq int, k []float32, ldk int, s []float32, lds int) {
	for i := range rows {
		query := q[i*ldq:][:dim]
		for j := range n {
			row := k[j*ldk:][:dim]
			var sum0, sum1, sum2, sum3 float32
			d := 0
			for ; d+4 <= dim; d += 4 {
				sum0 += query[d] * row[d]
				sum1 += query[d+1] * row[d+1]
				sum2 += query[d+2] * row[d+2]
				sum3 += query[d+3] * row[d+3]
			}
			for ; d < dim; d++ {
				sum0 += query[d] * row[d]
			}
			s[i*lds+j] = alpha * ((sum0 + sum1) + (sum2 + sum3))
		}
	}
}

func attnAccumulateGeneric(o, p, v []float32, ldv int) {
	for j, w := range p {
		row := v[j*ldv:][:len(o)]
		for i := range o {
			o[i] += w * row[i]
		}
	}
}

func attnShortGeneric(rows, n, dim int, alpha float32, q []float32, ldq int, k []float32, ldk int, bias []float32, ldb int, s []float32, weight float32, cols int, v []float32, ldv int, o []float32, ldo int) {
	b := s[n:][:n]
	clear(b)
	for r := range rows {
		if len(bias) > 0 {
			for j := range b {
				b[j] = bias[j*ldb+r]
			}
		}
		attnFewGeneric(1, n, dim, alpha, q[r*ldq:], 0, k, ldk, b, 0, s, weight, cols, v, ldv, o[r*ldo:], 0)
	}
}

func attnFewGeneric(rows, n, dim int, alpha float32, q []float32, ldq int, k []float32, ldk int, bias []float32, ldb int, s []float32, weight float32, cols int, v []float32, ldv int, o []float32, ldo int) {
	for r := range rows {
		row := s[:n]
		attnDotGeneric(1, n, dim, alpha, q[r*ldq:], 0, k, ldk, row, 0)
		top := float32(-math.MaxFloat32)
		for j, b := range bias[r*ldb:][:n] {
			row[j] += b
			if b < -math.MaxFloat32 {
				row[j] = b
			}
			if row[j] > top {
				top = row[j]
			}
		}
		sum := expSumVecGeneric(row, row, top)
		if sum < 0x1p-126 {
			sum = 0x1p-126
		}
		scaleVecGeneric(row, row, weight/sum)
		out := o[r*ldo:][:cols]
		clear(out)
		attnAccumulateGeneric(out, row, v, ldv)
	}
}
