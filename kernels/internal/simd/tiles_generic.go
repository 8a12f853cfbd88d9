package simd

// Products of int8 by tiles, in pure Go; see asm/kernel/int8_tiles.go.

func int8TilesGeneric(m, k, nr, panels int, a []int8, lda int, b []uint8, ldb int, sums []int32, ldsums int) {
	for i := range m {
		for q := range panels {
			for j := range nr {
				sum := int32(0)
				for p := range k {
					sum += int32(a[i*lda+p]) * int32(b[q*ldb+p/4*4*nr+4*j+p%4])
				}
				sums[i*ldsums+q*nr+j] = sum
			}
		}
	}
}

func int8EndsGeneric(m, n int, sums []int32, ldsums int, scale []float32, start []int32, weight, bias, c []float32, ldc int) {
	for i := range m {
		for j, sum := range sums[i*ldsums:][:n] {
			y := float32(float32(float32(sum+start[i])*scale[i]) * weight[j])
			if len(bias) > 0 {
				y += bias[j]
			}
			c[i*ldc+j] = y
		}
	}
}
