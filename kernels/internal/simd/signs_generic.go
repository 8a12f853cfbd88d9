package simd

import "math/bits"

// This file has vectors by their signs, in pure Go.

func signDotsGeneric(dst []float32, lddst int, a []int32, lda int, b []int32, m, n, words int, dim float32) {
	for i := range m {
		row, a := dst[i*lddst:][:n], a[i:]
		for j := 0; j < n; j += SignPanel {
			var differ [SignPanel]int32
			for w := range words {
				word := uint32(a[w*lda])
				for l, x := range b[(j/SignPanel*words+w)*SignPanel:][:SignPanel] {
					differ[l] += int32(bits.OnesCount32(word ^ uint32(x)))
				}
			}
			for l, d := range differ {
				row[j+l] = dim - float32(d) - float32(d)
			}
		}
	}
}
