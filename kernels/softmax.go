package kernels

// Softmax and its logarithm; softmax_long.go has their long rows, softmax_masked.go
// what goes with a mask.

import (
	"math"

	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Softmax sets each row of dst to the softmax of the row of x:
//
//	dst[r,c] = exp(x[r,c] - max_r) / sum_c exp(x[r,c] - max_r)
//
// x and dst are contiguous rows x cols matrices; dst may be x, but may not
// overlap it otherwise. A row with a NaN, with +Inf, or with nothing but -Inf
// becomes NaN; -Inf beside finite elements becomes 0. Results below 2^-126 may
// come out as 0. The relative error is at most
// (16 + |x[r,c]-max_r| + min(cols, 8192)/8)*2^-24.
func Softmax(dst, x []float32, rows, cols int) { Threads(1).Softmax(dst, x, rows, cols) }

// Softmax is the function [Softmax] on up to t threads.
func (t Threads) Softmax(dst, x []float32, rows, cols int) {
	checkRows("Softmax", dst, x, rows, cols)
	isa, stream := Active(), streamed(dst, x)
	piece := softmaxPiece(isa, rows)
	switch {
	case cols > piece && t.cutsRows(rows, cols):
		for r := range rows {
			t.softmaxLongRow(isa, dst[r*cols:][:cols], x[r*cols:][:cols])
		}
	case t.alone(rows, len(x)):
		softmaxRows(isa, dst, x, rows, cols, piece, stream)
	default:
		t.split(rows, cols, &rowCall{isa: isa, dst: dst, x: x, stream: stream, do: func(c *rowCall, i, j int) {
			softmaxRows(c.isa, c.at(c.dst, i, j), c.at(c.x, i, j), j-i, c.cols, softmaxPiece(c.isa, c.n), c.stream)
		}})
	}
}

// softmaxPiece is the longest row that Softmax takes in one piece in a call with a number of rows. With AVX-512 it is
// longer if there are several, whose passes overlap for as long as one call of the assembly takes two. Four times as
// many sums share a row there as on the narrowest tier, so that the bound of the error is the same.
func softmaxPiece(isa ISA, rows int) int {
	if rows > 1 && isa == AVX512 {
		return 2 * sumElements
	}
	return sumElements
}

// softmaxRows is Softmax of some or all rows of a call, of which longer ones than piece are cut, and whose
// results go past the caches if stream is set.
func softmaxRows(isa ISA, dst, x []float32, rows, cols, piece int, stream bool) {
	if len(x) == 0 {
		return
	}
	if cols > piece {
		for r := range rows {
			Threads(1).softmaxLongRow(isa, dst[r*cols:][:cols], x[r*cols:][:cols])
		}
		return
	}
	if !stream {
		for from, to := range budgetOf(simd.KernelSoftmaxRows, isa).rows(rows, cols) {
			simd.SoftmaxRows(isa, dst[from*cols:to*cols], x[from*cols:to*cols], to-from, cols)
		}
		return
	}
	tmp := rowBuffers.Get().(*rowBuffer)
	for from, to := range budgetOf(simd.KernelSoftmaxRowsStream, isa).rows(rows, cols) {
		simd.SoftmaxRowsStream(isa, dst[from*cols:to*cols], x[from*cols:to*cols], tmp[:cols+twoVectors], to-from, cols)
	}
	rowBuffers.Put(tmp)
}

// LogSoftmax sets each row of dst to the logarithm of the softmax of the row of
// x, as (x - max) - log(sum exp(x - max)). Shapes, aliasing and special values
// are as for Softmax, except that -Inf beside finite elements stays -Inf.
// The error is at most 2^-22*(1 + |dst[r,c]| + min(cols, 8192)/64).
func LogSoftmax(dst, x []float32, rows, cols int) { Threads(1).LogSoftmax(dst, x, rows, cols) }

// LogSoftmax is the function [LogSoftmax] on up to t threads.
func (t Threads) LogSoftmax(dst, x []float32, rows, cols int) {
	checkRows("LogSoftmax", dst, x, rows, cols)
	isa := Active()
	switch {
	case t.cutsRows(rows, cols):
		for r := range rows {
			t.logSoftmaxLongRow(isa, dst[r*cols:][:cols], x[r*cols:][:cols])
		}
	case t.alone(rows, len(x)):
		logSoftmaxRows(isa, dst, x, rows, cols)
	default:
		t.split(rows, cols, &rowCall{isa: isa, dst: dst, x: x, do: func(c *rowCall, i, j int) {
			logSoftmaxRows(c.isa, c.at(c.dst, i, j), c.at(c.x, i, j), j-i, c.cols)
		}})
	}
}

// logSoftmaxRows is LogSoftmax of some or all rows of a call.
func logSoftmaxRows(isa ISA, dst, x []float32, rows, cols int) {
	if cols == 0 {
		return
	}
	for r := range rows {
		d, s := dst[r*cols:][:cols], x[r*cols:][:cols]
		if cols > sumElements {
			Threads(1).logSoftmaxLongRow(isa, d, s)
			continue
		}
		m := simd.MaxVec(isa, s) // may miss a NaN, which then reaches the result by the sum
		simd.SubSubVec(isa, d, s, m, float32(math.Log(float64(simd.SumExpVec(isa, s, m)))))
	}
}

// rowMax is the maximum of x, in pieces. It may miss a NaN.
func rowMax(isa ISA, x []float32) float32 {
	m := float32(math.Inf(-1))
	for i, end := range budgetOf(simd.KernelMaxVec, isa).pieces(len(x)) {
		if v := simd.MaxVec(isa, x[i:end]); v > m {
			m = v
		}
	}
	return m
}
