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
		sum[r] = float32(sum[r]*factor[r]) + order.ExpSum(row, row, ref)
	}
}

func attnKeysGeneric(dst, x []float32, rows, cols, ldx, nr int) {
	for i := range rows {
		to := dst[i/nr*nr*cols:]
		for j, v := range x[i*ldx:][:cols] {
			to[j*nr+i%nr] = v
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
		order.ScaleOutput(x[r*ld:][:cols], factor[r])
	}
}

func attnShortGeneric(rows, n int, bias []float32, ldb int, s []float32, weight float32, cols int, v []float32, ldv int, o []float32, ldo int) {
	var row [ShortQueries]float32
	for r := range rows {
		for j := range n {
			row[j] = s[j*ShortQueries+r]
			if len(bias) > 0 {
				row[j] = biased(row[j], bias[j*ldb+r])
			}
		}
		attendRow(row[:n], weight, v, ldv, o[r*ldo:][:cols])
	}
}

func attnFewGeneric(rows, n int, bias []float32, ldb int, s []float32, weight float32, cols int, v []float32, ldv int, o []float32, ldo int) {
	for r := range rows {
		row := s[r*FewRow:][:n]
		for j, b := range bias[r*ldb:][:n] {
			row[j] = biased(row[j], b)
		}
		attendRow(row, weight, v, ldv, o[r*ldo:][:cols])
	}
}

// biased returns score + bias, or -Inf if the bias is -Inf.
func biased(score, bias float32) float32 {
	if bias < -math.MaxFloat32 {
		return bias
	}
	return score + bias
}

func biasVecGeneric(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = biased(a[i], b[i])
	}
}

// attendRow computes the softmax of scores, which it overwrites, times weight, times the values.
func attendRow(scores []float32, weight float32, v []float32, ldv int, out []float32) {
	top := float32(-math.MaxFloat32)
	for _, x := range scores {
		if x > top {
			top = x
		}
	}
	sum := order.ExpSum(scores, scores, top)
	clear(out)
	attnValuesGeneric(1, len(scores), len(out), out, 0, scores, 0, v, ldv)
	order.ScaleOutput(out, order.AttentionFactor(weight, sum))
}
