package row

import (
	"math"

	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Normalisation of rows that are too long for one call of the assembly.

// layerNormLongRow is LayerNorm of a row that is too long for one call of the assembly. It goes piece by piece, and adds the
// sums of the pieces in float64. The first estimate of the mean is the first element. The mean of the differences from the
// estimate improves it once, so that the remaining difference is small, and what is left of it is subtracted too. The mean is
// exact if all elements are equal, and accurate if the first one is an outlier. Improving it again gains nothing.
func layerNormLongRow(isa simd.ISA, dst, x, weight, bias []float32, eps float32) {
	buffer := rowBuffers.Get().(*rowBuffer)
	ones := SharedOnes.of(SumElements)
	n := float64(len(x))
	mean, rest, square := x[0], 0.0, 0.0 // of the differences from mean, and of their squares
	for range 2 {
		mean += float32(rest / n)
		rest, square = 0, 0
		for i, end := range budget(SumElements).pieces(len(x)) {
			d := buffer[:end-i]
			simd.SubSubVec(isa, d, x[i:end], mean, 0)
			rest += float64(dotVec(isa, d, ones[:end-i]))
			square += float64(dotVec(isa, d, d))
		}
	}
	rest /= n
	scale := float32(1 / math.Sqrt(max(square/n-float64(rest*rest), 0)+float64(eps)))
	for i, end := range budget(SumElements).pieces(len(x)) {
		d := buffer[:end-i]
		simd.SubSubVec(isa, d, x[i:end], mean, float32(rest))
		simd.ScaleVec(isa, d, d, scale)
		simd.MulVec(isa, d, d, SharedOnes.piece(weight, i, end))
		simd.AddVec(isa, dst[i:end], d, SharedZeros.piece(bias, i, end))
	}
	rowBuffers.Put(buffer)
}

// rmsNormLongRow is RMSNorm of a row that is too long for one call of the assembly.
func rmsNormLongRow(isa simd.ISA, dst, x, weight []float32, eps float32) {
	square := 0.0
	for i, end := range budget(SumElements).pieces(len(x)) {
		square += float64(dotVec(isa, x[i:end], x[i:end]))
	}
	scale := float32(1 / math.Sqrt(square/float64(len(x))+float64(eps)))
	for i, end := range budget(SumElements).pieces(len(x)) {
		simd.ScaleVec(isa, dst[i:end], x[i:end], scale)
		simd.MulVec(isa, dst[i:end], dst[i:end], SharedOnes.piece(weight, i, end))
	}
}

// dotVec returns the dot product of two vectors.
func dotVec(isa simd.ISA, x, y []float32) float32 {
	var sum [1]float32
	simd.GemmDot(isa, 1, 1, len(x), 1, x, len(x), y, len(x), sum[:], 1)
	return sum[0]
}
