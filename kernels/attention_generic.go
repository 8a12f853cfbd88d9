package kernels

import "math"

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
		factor[r] = float32(expDifference(max[r], ref))
		max[r] = m
		sum[r] = sum[r]*factor[r] + expSumVecGeneric(row, row, ref)
	}
}

func attnScaleRowsGeneric(x []float32, rows, cols, ld int, factor []float32) {
	for r := range rows {
		row := x[r*ld:][:cols]
		scaleVecGeneric(row, row, factor[r])
	}
}

func attnDotGeneric(s, q, k []float32, ldk int, alpha float32) {
	for j := range s {
		row := k[j*ldk:][:len(q)]
		var sum0, sum1, sum2, sum3 float32
		i := 0
		for ; i+4 <= len(row); i += 4 {
			sum0 += q[i] * row[i]
			sum1 += q[i+1] * row[i+1]
			sum2 += q[i+2] * row[i+2]
			sum3 += q[i+3] * row[i+3]
		}
		for ; i < len(row); i++ {
			sum0 += q[i] * row[i]
		}
		s[j] = alpha * ((sum0 + sum1) + (sum2 + sum3))
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
