package simd

// Products of int8 by Winograd's inner product, in pure Go; see asm/kernel.

// winogradPairs runs f for the pairs of elements of a block that go together, in groups of
// 32 elements.
func winogradPairs(from, to int, f func(p, q int)) {
	for group := from; group < to; group += 32 {
		for p := group; p < group+16; p++ {
			f(p, p+16)
		}
	}
}

func int8WinogradGeneric(m, k, nr int, a []int16, lda int, scale []float32, ofRows []int32, ldscale int, b []int16, ofColumns []int32, weight, bias []float32, add int, c []float32, ldc int) {
	for i := range m {
		row := a[i*lda:]
		for j := range nr {
			y := &c[i*ldc+j]
			if add == 0 {
				*y = 0
			}
			*y = int8Sums(*y, k, Int8Block, scale[i:], ldscale, func(from, to int) int32 {
				block := from / Int8Block
				sum := ofRows[block*ldscale+i] + ofColumns[block*nr+j]
				winogradPairs(from, to, func(p, q int) {
					sum += int32(row[p]+b[q/2*2*nr+2*j+q%2]) * int32(row[q]+b[p/2*2*nr+2*j+p%2])
				})
				return sum
			})
			*y = int8Finish(*y, j, weight, bias)
		}
	}
}

func winogradRowsGeneric(ofRows []int32, ldscale int, a []int16, rows, k, lda int) {
	for i := range rows {
		row := a[i*lda:]
		for block := 0; block < k; block += Int8Block {
			var sum int32
			winogradPairs(block, min(block+Int8Block, k), func(p, q int) { sum -= int32(row[p]) * int32(row[q]) })
			ofRows[block/Int8Block*ldscale+i] = sum
		}
	}
}

func winogradColumnsGeneric(dst []int16, ofColumns []int32, b []int8, k, nr int) {
	for p, w := range b[:k*nr] {
		dst[p] = int16(w)
	}
	for j := range nr {
		at := func(p int) int32 { return int32(b[p/2*2*nr+2*j+p%2]) }
		for block := 0; block < k; block += Int8Block {
			var sum int32
			winogradPairs(block, min(block+Int8Block, k), func(p, q int) { sum -= at(p) * at(q) })
			ofColumns[block/Int8Block*nr+j] = sum
		}
	}
}
