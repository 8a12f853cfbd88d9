package simd

import "math"

// This file has attention's product of weights and values, as words, in pure Go.

func roundWordsGeneric(dst []int16, x []float32, factor float32, rows, cols, filled, lddst, ldx int) {
	for i := range rows {
		to := dst[i*lddst:][:filled]
		for j, v := range x[i*ldx:][:cols] {
			to[j] = int16(QuantizeOne(v, factor))
		}
		clear(to[cols:])
	}
}

func wordColumnsGeneric(dst []int16, scale, x []float32, rows, cols, filled, ldx, nr int) {
	for j := range cols {
		var top uint32 // as in QuantizeBlock
		for i := range rows {
			top = max(top, math.Float32bits(x[i*ldx+j])&^(1<<31))
		}
		largest := math.Float32frombits(top)
		scale[j] = float32(largest*(1.0/ValueTop)) + (largest - largest)
		inverse := ValueTop / max(largest, leastTop)
		panel := dst[j/nr*filled*nr+2*(j%nr):]
		for i := range filled {
			word := int16(0)
			if i < rows {
				word = int16(QuantizeOne(x[i*ldx+j], inverse))
			}
			panel[i/2*2*nr+i%2] = word
		}
	}
}

func wordPanelGeneric(m, k, nr int, a []int16, lda int, b []int16, weight []float32, add int, c []float32, ldc int) {
	for i := range m {
		row := a[i*lda:][:k]
		for j := range nr {
			var t int32
			for p := 0; p < k; p += 2 {
				pair := b[p*nr+2*j:][:2]
				t += int32(row[p])*int32(pair[0]) + int32(row[p+1])*int32(pair[1])
			}
			y := float32(float32(t) * weight[j])
			if add != 0 {
				y += c[i*ldc+j]
			}
			c[i*ldc+j] = y
		}
	}
}
