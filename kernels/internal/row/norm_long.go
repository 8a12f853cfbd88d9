package row

import (
	"math"

	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file normalises rows that are too long for one call of the assembly.

// layerNormLongRow computes LayerNorm of a row that is too long for one call of the assembly. It
// computes piece by piece, and adds the sums of the pieces in float64. The first estimate of the
// mean is the first element. The mean of the differences from the estimate improves it once, so
// that the remaining difference is small, and this difference is subtracted too. The mean is exact
// if all elements are equal, and accurate if the first one is an outlier. Improving it again gains
// nothing.
func layerNormLongRow(isa simd.ISA, dst, x, weight, bias []float32, eps float32) {
	buffer := rowBuffers.Get().(*rowBuffer)
	d := differences{isa: isa, buffer: buffer, x: x, down: 1, more: 1}
	variance := d.variance()
	sum := variance + float64(eps)
	if order.IsFar(float32(sum)) {
		d.down, d.more = order.FarFactors(float32(sum))
		f := float64(d.down) * float64(d.more)
		sum = d.variance() + float64(float64(eps)*f*f)
	}
	scale := float32(1 / math.Sqrt(max(sum, 0x1p-126)))
	for i, end := range budget(SumElements).pieces(len(x)) {
		y := d.piece(i, end, d.rest)
		simd.ScaleVec(isa, y, y, scale)
		simd.MulVec(isa, y, y, SharedOnes.piece(weight, i, end))
		simd.AddVec(isa, dst[i:end], y, SharedZeros.piece(bias, i, end))
	}
	rowBuffers.Put(buffer)
}

// differences holds the differences of a long row from its mean: (x*down - mean)*more. Finally
// their own mean, rest, is subtracted from them.
type differences struct {
	isa        simd.ISA
	buffer     *rowBuffer
	x          []float32
	down, more float32 // powers of two
	mean, rest float32
}

// piece returns elements [i, end) in the buffer.
func (d *differences) piece(i, end int, rest float32) []float32 {
	y, x := d.buffer[:end-i], d.x[i:end]
	if d.down != 1 {
		simd.ScaleVec(d.isa, y, x, d.down)
		x = y
	}
	if d.more != 1 {
		simd.SubSubVec(d.isa, y, x, d.mean, 0)
		simd.ScaleVec(d.isa, y, y, d.more)
		simd.SubSubVec(d.isa, y, y, rest, 0)
		return y
	}
	simd.SubSubVec(d.isa, y, x, d.mean, rest)
	return y
}

// variance sets the mean and the rest, and returns the variance.
func (d *differences) variance() float64 {
	ones := SharedOnes.of(SumElements)
	n := float64(len(d.x))
	rest, square := 0.0, 0.0 // of the differences from the mean, and of their squares
	d.mean = d.x[0] * d.down
	for range 2 {
		d.mean += float32(rest / n / float64(d.more))
		rest, square = 0, 0
		for i, end := range budget(SumElements).pieces(len(d.x)) {
			y := d.piece(i, end, 0)
			rest += float64(dotVec(d.isa, y, ones[:end-i]))
			square += float64(dotVec(d.isa, y, y))
		}
	}
	rest /= n
	d.rest = float32(rest)
	return max(square/n-float64(rest*rest), 0)
}

// rmsNormLongRow computes RMSNorm of a row that is too long for one call of the assembly.
func rmsNormLongRow(isa simd.ISA, dst, x, weight []float32, eps float32) {
	square := 0.0
	for i, end := range budget(SumElements).pieces(len(x)) {
		square += float64(dotVec(isa, x[i:end], x[i:end]))
	}
	sum := square/float64(len(x)) + float64(eps)
	down, more := float32(1), float32(1)
	if order.IsFar(float32(sum)) {
		down, more = order.FarFactors(float32(sum))
		f := down * more
		buffer := rowBuffers.Get().(*rowBuffer)
		square = 0
		for i, end := range budget(SumElements).pieces(len(x)) {
			y := buffer[:end-i]
			simd.ScaleVec(isa, y, x[i:end], f)
			square += float64(dotVec(isa, y, y))
		}
		rowBuffers.Put(buffer)
		sum = square/float64(len(x)) + float64(float64(eps)*float64(f)*float64(f))
		sum = max(sum, 0x1p-126) + (sum - sum) // NaN for a row with an infinity
	}
	scale := float32(1/math.Sqrt(sum)) * down // not the elements times down, which may be too small
	for i, end := range budget(SumElements).pieces(len(x)) {
		if more != 1 {
			simd.ScaleVec(isa, dst[i:end], x[i:end], more)
			simd.ScaleVec(isa, dst[i:end], dst[i:end], scale)
		} else {
			simd.ScaleVec(isa, dst[i:end], x[i:end], scale)
		}
		simd.MulVec(isa, dst[i:end], dst[i:end], SharedOnes.piece(weight, i, end))
	}
}

// dotVec returns the dot product of two vectors.
func dotVec(isa simd.ISA, x, y []float32) float32 {
	var sum [1]float32
	simd.GemmDot(isa, 1, 1, len(x), 1, x, len(x), y, len(x), sum[:], 1)
	return sum[0]
}
