package simd

// This file has attention's product of weights and values by tiles, in pure Go; see
// asm/kernel/word_tiles.go.

func wordDigitsGeneric(dst []int16, lddst int, x []int16, n int) {
	high, both, low := dst[:n], dst[lddst:][:n], dst[2*lddst:][:n]
	for i, v := range x[:n] {
		digit := int16(int8(v))
		top := (v - digit) >> 8 & 0xff
		high[i], both[i], low[i] = top<<8, digit<<8|top, digit&0xff
	}
}

func wordTilesGeneric(m, k, nr, panels int, a []int16, lda int, b []int16, ldb int, weight []float32, _ []int32, add int, c []float32, ldc int) {
	for i := range m {
		for q := range panels {
			for j := range nr {
				sum := int32(0)
				for t := range 3 {
					sum <<= 8
					for p := range k {
						x, y := uint16(a[i*lda+p]), b[(t*panels+q)*ldb+p/2*2*nr+2*j+p%2]
						sum += int32(x&0xff)*int32(int8(y)) + int32(x>>8)*int32(y>>8)
					}
				}
				y := float32(float32(sum) * weight[q*nr+j])
				if add != 0 {
					y += c[i*ldc+q*nr+j]
				}
				c[i*ldc+q*nr+j] = y
			}
		}
	}
}
