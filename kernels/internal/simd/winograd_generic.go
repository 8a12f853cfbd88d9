package simd

// This file has products of int8 by Winograd's inner product, in pure Go; see asm/kernel.

// winogradPairs runs f for the pairs of the k elements that belong together, in groups of 32
// elements.
func winogradPairs(k int, f func(p, q int)) {
	for group := 0; group < k; group += 32 {
		for p := group; p < group+16; p++ {
			f(p, p+16)
		}
	}
}

func int8WinogradGeneric(m, k, nr int, a []int16, lda int, scale []float32, ofRows []int32, b []int16, ofColumns []int32, weight, bias []float32, add int, c []float32, ldc int) {
	for i := range m {
		row := a[i*lda:]
		for j := range nr {
			y := &c[i*ldc+j]
			sum := int8Begin(ofRows[i]+ofColumns[j], add, *y)
			winogradPairs(k, func(p, q int) {
				sum += int32(row[p]+b[q/2*2*nr+2*j+q%2]) * int32(row[q]+b[p/2*2*nr+2*j+p%2])
			})
			*y = int8Finish(sum, scale[i], j, weight, bias)
		}
	}
}

func winogradRowsGeneric(ofRows []int32, a []int16, rows, k, lda int) {
	for i := range rows {
		row, sum := a[i*lda:], int32(0)
		winogradPairs(k, func(p, q int) { sum -= int32(row[p]) * int32(row[q]) })
		ofRows[i] = sum
	}
}

func winogradColumnsGeneric(dst []int16, ofColumns []int32, b []int8, k, nr int) {
	for p, w := range b[:k*nr] {
		dst[p] = int16(w)
	}
	for j := range nr {
		at, sum := func(p int) int32 { return int32(b[p/2*2*nr+2*j+p%2]) }, int32(0)
		winogradPairs(k, func(p, q int) { sum -= at(p) * at(q) })
		ofColumns[j] = sum
	}
}
