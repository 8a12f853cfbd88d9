package simd

// roundBias is 1.5*2^23. A sum with it has no fraction bits.
const roundBias = 0x1.8p23

func roundedSumsGeneric(sums, scale, offset, x, w []float32, low, high float32) {
	w = w[:len(x)]
	for c, by := range scale {
		plus := offset[c]
		var q1, qx, qq float32
		for p, v := range x {
			q := float32(v*by) + plus
			if q < low {
				q = low
			}
			if q > high {
				q = high
			}
			q = float32(q+roundBias) - roundBias
			wq := float32(w[p] * q)
			q1 += wq
			qx += float32(wq * v)
			qq += float32(wq * q)
		}
		sums[c], sums[len(scale)+c], sums[2*len(scale)+c] = q1, qx, qq
	}
}
