package ref

import "math"

// The int8 product, from its definition. Unlike the rest of this package it defines results to the
// bit: integers are exact, and float32 results are rounded in the order given here, which every
// implementation follows.

// QuantizeInt8 is x as q*scale for integers of at most 127: scale is the largest magnitude times
// 1/127, and q is x times the rounded quotient of 127 and that magnitude, rounded once, ties to
// even. A magnitude below 2^-100 counts as 2^-100 in the quotient: q is smaller then, down to 0.
// Where x has a NaN or an infinity, scale is NaN, and q anything, here 0.
func QuantizeInt8(x []float32) (q []int, scale float32) {
	q = make([]int, len(x))
	var largest float32
	for _, v := range x {
		if v != v || math.IsInf(float64(v), 0) {
			return q, float32(math.NaN())
		}
		largest = max(largest, float32(math.Abs(float64(v))))
	}
	inverse := float32(127) / max(largest, 0x1p-100)
	for i, v := range x {
		q[i] = int(math.RoundToEven(float64(v) * float64(inverse))) // the product is exact
	}
	const oneBy127 float32 = 1.0 / 127
	return q, largest * oneBy127
}

// rotateSigns are the signs of Rotate: the first bits of pi after the point.
var rotateSigns = [2]uint64{0x243f6a8885a308d3, 0x13198a2e03707344}

// BalanceInt8 returns the factors of the elements of rows of A, and of columns of B, before these
// are rotated: for A the fourth root of the ratio of a channel's sum of squares to the mean of
// these sums, which is limited to 2^16 and 2^-16, or 1 if it is not a number; for B one divided by
// that. The sums are those of columns 0, step, 2*step and so on of B, step being n/256 or 1. B is k
// x n.
func BalanceInt8(n, k int, b []float32, ldb int) (ofA, ofB []float32) {
	squares, mean := make([]float64, k), 0.0
	for j := 0; j < n; j += max(1, n/256) {
		for p := range squares {
			v := float64(b[p*ldb+j])
			squares[p] += float64(v * v)
		}
	}
	for _, s := range squares {
		mean += s
	}
	mean /= float64(k)
	for _, s := range squares {
		ratio := min(max(s/mean, 0x1p-16), 0x1p16)
		if s/mean != s/mean || math.IsInf(mean, 0) {
			ratio = 1
		}
		root := float32(math.Sqrt(math.Sqrt(ratio)))
		ofA, ofB = append(ofA, root), append(ofB, 1/root)
	}
	return ofA, ofB
}

// Rotate is x, times balance if that is given, in blocks of 128 elements, what is left in blocks of
// 32, filled up with zeros. Each block has the signs of some elements changed, the j-th where bit j
// of rotateSigns is set, is divided by 128, or by 64 in blocks of 32, and multiplied by Walsh and
// Hadamard's matrix of signs: 1 where two places have an even number of bits in common, else -1.
// The sums of two are rounded: first those of elements that are neighbours, then 2, 4 and so on
// from each other.
func Rotate(x, balance []float32) (rotated []float32) {
	for from := 0; from < len(x); {
		n, by := 128, float32(1.0/128)
		if len(x)-from < n {
			n, by = 32, 1.0/64
		}
		block := make([]float32, n)
		for j, v := range x[from:min(from+n, len(x))] {
			f := by
			if balance != nil {
				f *= balance[from+j] // by a power of two
			}
			block[j] = float32(v * f)
			if rotateSigns[j/64]>>(j%64)&1 == 1 {
				block[j] = -block[j]
			}
		}
		for distance := 1; distance < n; distance *= 2 {
			next := make([]float32, n)
			for j := range next {
				if j&distance == 0 {
					next[j] = block[j] + block[j+distance]
				} else {
					next[j] = block[j-distance] - block[j]
				}
			}
			block = next
		}
		rotated = append(rotated, block...)
		from += n
	}
	return rotated
}

// GemmInt8 is C = act(alpha*A*B + beta*C + bias) + residual where rows of A and columns of B are
// balanced and rotated, each block of a row is quantized by itself, and each column as a whole. A
// is m x k, B k x n. The blocks are added up one after the other; bias and residual may be nil.
func GemmInt8(m, n, k, block int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int, bias []float32, relu bool, residual []float32, ldr int) {
	weights, scales := make([][]int, n), make([]float32, n)
	ofA, ofB := BalanceInt8(n, k, b, ldb)
	for j := range n {
		column := make([]float32, k)
		for p := range column {
			column[p] = b[p*ldb+j]
		}
		weights[j], scales[j] = QuantizeInt8(Rotate(column, ofB))
		scales[j] *= 128
	}
	for i := range m {
		sums, row := make([]float32, n), Rotate(a[i*lda:i*lda+k], ofA)
		for p := 0; p < len(row); p += block {
			x, scale := QuantizeInt8(row[p:min(p+block, len(row))])
			for j := range n {
				sum := 0
				for t, v := range x {
					sum += v * weights[j][p+t]
				}
				sums[j] += float32(float32(sum) * scale)
			}
		}
		for j, y := range sums {
			c[i*ldc+j] = finishInt8(float32(y*scales[j]), alpha, beta, c[i*ldc+j], at(bias, j), relu, at(residual, i*ldr+j), bias != nil || relu || residual != nil)
		}
	}
}

// finishInt8 is act(alpha*y + beta*c + bias) + residual, where the last three are only there with
// an epilogue.
func finishInt8(y, alpha, beta, c, bias float32, relu bool, residual float32, epilogue bool) float32 {
	if alpha != 1 {
		y = float32(y * alpha)
	}
	if beta != 0 {
		y += float32(beta * c)
	}
	if !epilogue {
		return y
	}
	y += bias
	if relu && y < 0 {
		y = 0
	}
	return y + residual
}

// at is x[i], or -0 where there is no x: adding that changes no number, not even a zero.
func at(x []float32, i int) float32 {
	if x == nil {
		return float32(math.Copysign(0, -1))
	}
	return x[i]
}
