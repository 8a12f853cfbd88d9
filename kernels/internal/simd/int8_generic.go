package simd

import "math"

// This file has products of int8 in pure Go. float32(x*y) + z keeps a compiler from fusing the two
// operations, which would give other bits.

// QuantizeBlock returns the scale of a block of numbers that become integers of at most 127, and
// the factor by which they must be multiplied. The scale is NaN if the block has a NaN or an
// infinity.
func QuantizeBlock(x []float32) (scale, inverse float32) {
	var top uint32 // by their bits, infinities and NaNs are above all numbers
	for _, v := range x {
		top = max(top, math.Float32bits(v)&^(1<<31))
	}
	largest := math.Float32frombits(top)
	return float32(largest*(1.0/127)) + (largest - largest), 127 / max(largest, leastTop)
}

// leastTop is the magnitude below which all numbers of a block become 0. 127 divided by it is far
// from overflow.
const leastTop = 0x1p-100

// QuantizeOne returns v*inverse, rounded once, ties to even. It reads the result from the lowest
// bits of the sum with 1.5*2^52, which has no bits for a fraction. The product is exact.
func QuantizeOne(v, inverse float32) int32 {
	return int32(math.Float64bits(float64(v)*float64(inverse) + 0x1.8p52))
}

func quantizeBlocks[T int8 | int16](dst []T, x []float32, block, rows, cols, filled, lddst, ldx int, scale []float32, start []int32, ldscale int) {
	for i := range rows {
		for p := 0; p < cols; p += block {
			from := x[i*ldx+p : i*ldx+min(p+block, cols)]
			s, inverse := QuantizeBlock(from)
			to, sum := dst[i*lddst+p:][:len(from)], int32(0)
			for j, v := range from {
				q := QuantizeOne(v, inverse)
				to[j] = T(q)
				sum += q
			}
			scale[p/block*ldscale+i] = s
			if start != nil {
				start[p/block*ldscale+i] = -128 * sum
			}
		}
		clear(dst[i*lddst+cols : i*lddst+filled])
	}
}

func quantizeInt8Generic(dst []int8, x []float32, rows, cols, filled, lddst, ldx int, scale []float32, start []int32) {
	quantizeBlocks(dst, x, cols, rows, cols, filled, lddst, ldx, scale, start, 0)
}

func quantizeInt8By32Generic(dst []int8, x []float32, rows, cols, filled, lddst, ldx int, scale []float32, start []int32, ldscale int) {
	quantizeBlocks(dst, x, WeightBlock, rows, cols, filled, lddst, ldx, scale, start, ldscale)
}

func quantizeInt8By16Generic(dst []int8, x []float32, rows, cols, filled, lddst, ldx int, scale []float32, start []int32, ldscale int) {
	quantizeBlocks(dst, x, 16, rows, cols, filled, lddst, ldx, scale, start, ldscale)
}

func quantizeInt16Generic(dst []int16, x []float32, rows, cols, filled, lddst, ldx int, scale []float32) {
	quantizeBlocks(dst, x, cols, rows, cols, filled, lddst, ldx, scale, nil, 0)
}

func quantizeInt8By64Generic(dst []int8, x []float32, rows, cols, filled, lddst, ldx int, scale []float32, start []int32, ldscale int) {
	quantizeBlocks(dst, x, 64, rows, cols, filled, lddst, ldx, scale, start, ldscale)
}

func quantizeInt16By64Generic(dst []int16, x []float32, rows, cols, filled, lddst, ldx int, scale []float32, ldscale int) {
	quantizeBlocks(dst, x, 64, rows, cols, filled, lddst, ldx, scale, nil, ldscale)
}

func quantizeInt16By32Generic(dst []int16, x []float32, rows, cols, filled, lddst, ldx int, scale []float32, ldscale int) {
	quantizeBlocks(dst, x, WeightBlock, rows, cols, filled, lddst, ldx, scale, nil, ldscale)
}

// int8Begin returns the number with which the integer sum of an element of C begins: start, plus
// the sum of the steps before, which C holds if add is not 0.
func int8Begin(start int32, add int, c float32) int32 {
	if add != 0 {
		start += int32(math.Float32bits(c))
	}
	return start
}

// int8Finish returns the element of C for the sum of column j: multiplied by the scales of row and
// column, and with the bias, if they are given.
func int8Finish(sum int32, scale float32, j int, weight, bias []float32) float32 {
	if len(weight) == 0 {
		return math.Float32frombits(uint32(sum))
	}
	y := float32(float32(float32(sum)*scale) * weight[j])
	if len(bias) > 0 {
		y += bias[j]
	}
	return y
}

// int8Panel multiplies rows by a panel that has side elements of each column side by side. start
// holds the numbers with which the sums of rows begin, or is nil for zeros.
func int8Panel[A int8 | int16, B int8 | uint8](side, m, k, nr int, a []A, lda int, scale []float32, start []int32, b []B, weight, bias []float32, add int, c []float32, ldc int) {
	for i := range m {
		row, begin := a[i*lda:], int32(0)
		if start != nil {
			begin = start[i]
		}
		for j := range nr {
			y := &c[i*ldc+j]
			sum := int8Begin(begin, add, *y)
			for p := range k {
				sum += int32(row[p]) * int32(b[p/side*side*nr+side*j+p%side])
			}
			*y = int8Finish(sum, scale[i], j, weight, bias)
		}
	}
}

func int8QuadsGeneric(m, k, nr int, a []int8, lda int, scale []float32, start []int32, b []uint8, weight, bias []float32, ahead, add int, c []float32, ldc int) {
	int8Panel(4, m, k, nr, a, lda, scale, start, b, weight, bias, add, c, ldc)
}

func int8PairsGeneric(m, k, nr int, a []int16, lda int, scale []float32, b []int8, weight, bias []float32, add int, c []float32, ldc int) {
	int8Panel(2, m, k, nr, a, lda, scale, nil, b, weight, bias, add, c, ldc)
}

func int8OctetsGeneric(m, k, nr int, a []int8, lda int, scale []float32, b []int8, weight, bias []float32, add int, c []float32, ldc int) {
	int8Panel(8, m, k, nr, a, lda, scale, nil, b, weight, bias, add, c, ldc)
}

// int8DotsGeneric runs if there is no assembly. It computes two columns at a time, so that an
// element of A is loaded once for both.
func int8DotsGeneric(m, k, nr int, a []int8, lda int, scale []float32, b []int8, weight, bias []float32, add int, c []float32, ldc int) {
	for i := range m {
		row := a[i*lda:][:k]
		for j := 0; j < nr; j += 2 {
			y := c[i*ldc+j:][:2]
			s0, s1 := int8Begin(0, add, y[0]), int8Begin(0, add, y[1])
			for p := 0; p < k; p += 4 {
				x, w := row[p:][:4], b[p*nr+4*j:][:8]
				x0, x1, x2, x3 := int32(x[0]), int32(x[1]), int32(x[2]), int32(x[3])
				s0 += x0*int32(w[0]) + x1*int32(w[1]) + x2*int32(w[2]) + x3*int32(w[3])
				s1 += x0*int32(w[4]) + x1*int32(w[5]) + x2*int32(w[6]) + x3*int32(w[7])
			}
			y[0], y[1] = int8Finish(s0, scale[i], j, weight, bias), int8Finish(s1, scale[i], j+1, weight, bias)
		}
	}
}

// rotateBlocks computes the Walsh-Hadamard transform of blocks. Products are rounded before
// additions.
func rotateBlocks(block int, dst, x, by []float32, rows, cols, lddst, ldx int) {
	for i := range rows {
		for p := 0; p < cols; p += block {
			to, from := dst[i*lddst+p:][:block], x[i*ldx+p:][:block]
			for j, v := range from {
				to[j] = float32(v * by[p+j])
			}
			Hadamard(to)
		}
	}
}

// Hadamard computes the Walsh-Hadamard transform of x, whose length is a power of two. For
// distances 1, 2, 4 and so on, it replaces two elements at this distance by their sum and their
// difference.
func Hadamard(x []float32) {
	for distance := 1; distance < len(x); distance *= 2 {
		for from := 0; from < len(x); from += 2 * distance {
			low, high := x[from:][:distance], x[from+distance:][:distance]
			for j, a := range low {
				b := high[j]
				low[j], high[j] = a+b, a-b
			}
		}
	}
}

func rotate128Generic(dst, x, by []float32, rows, cols, lddst, ldx int) {
	rotateBlocks(RotateBlock, dst, x, by, rows, cols, lddst, ldx)
}

func rotate32Generic(dst, x, by []float32, rows, cols, lddst, ldx int) {
	rotateBlocks(RotateGroup, dst, x, by, rows, cols, lddst, ldx)
}
