package row

import (
	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file has softmax and its logarithm.

// softmax holds the arguments of Softmax and LogSoftmax.
type softmax struct {
	isa    simd.ISA
	dst, x []float32
	cols   int
	stream bool // results are written past the caches
}

var softmaxes tasks[softmax]

// Softmax is kernels.Softmax on up to t threads.
func Softmax(t int, dst, x []float32, rows, cols int) {
	isa, stream := simd.Active(), Streamed(dst, x)
	switch {
	case cols > SoftmaxPiece && cutsRows(t, rows, cols):
		for r := range rows {
			softmaxLongRow(t, isa, dst[r*cols:][:cols], x[r*cols:][:cols])
		}
	case alone(t, rows, len(x)):
		softmaxRows(isa, dst, x, rows, cols, SoftmaxPiece, stream)
	default:
		softmaxes.split(t, rows, cols, &softmax{isa, dst, x, cols, stream}, func(a *softmax, i, j int) {
			softmaxRows(a.isa, span(a.dst, i, j, a.cols), span(a.x, i, j, a.cols), j-i, a.cols, SoftmaxPiece, a.stream)
		})
	}
}

// SoftmaxPiece is the length of the longest row that Softmax computes in one piece, for any number
// of rows. One call of the assembly can compute at least two such rows, so that their passes
// overlap.
const SoftmaxPiece = 2 * SumElements

// softmaxRows computes Softmax of some or all rows of a call. It cuts rows that are longer than
// piece. If stream is set, results are written past the caches.
func softmaxRows(isa simd.ISA, dst, x []float32, rows, cols, piece int, stream bool) {
	if len(x) == 0 {
		return
	}
	if cols > piece {
		for r := range rows {
			softmaxLongRow(1, isa, dst[r*cols:][:cols], x[r*cols:][:cols])
		}
		return
	}
	var tmp []float32
	past := 0
	if stream {
		buffer := rowBuffers.Get().(*rowBuffer)
		defer rowBuffers.Put(buffer)
		tmp, past = buffer[:cols+TwoVectors], 1
	}
	for from, to := range BudgetOf(simd.KernelSoftmaxRows, isa).Rows(0, rows, cols) {
		simd.SoftmaxRows(isa, dst[from*cols:to*cols], x[from*cols:to*cols], tmp, to-from, cols, past)
	}
}

// LogSoftmax is kernels.LogSoftmax on up to t threads.
func LogSoftmax(t int, dst, x []float32, rows, cols int) {
	isa := simd.Active()
	switch {
	case cutsRows(t, rows, cols):
		for r := range rows {
			logSoftmaxLongRow(t, isa, dst[r*cols:][:cols], x[r*cols:][:cols])
		}
	case alone(t, rows, len(x)):
		logSoftmaxRows(isa, dst, x, rows, cols)
	default:
		softmaxes.split(t, rows, cols, &softmax{isa: isa, dst: dst, x: x, cols: cols}, func(a *softmax, i, j int) {
			logSoftmaxRows(a.isa, span(a.dst, i, j, a.cols), span(a.x, i, j, a.cols), j-i, a.cols)
		})
	}
}

// logSoftmaxRows computes LogSoftmax of some or all rows of a call.
func logSoftmaxRows(isa simd.ISA, dst, x []float32, rows, cols int) {
	if cols == 0 {
		return
	}
	for r := range rows {
		d, s := dst[r*cols:][:cols], x[r*cols:][:cols]
		if cols > SumElements {
			logSoftmaxLongRow(1, isa, d, s)
			continue
		}
		m := simd.MaxVec(isa, s) // may miss a NaN, which still reaches the result through the sum
		simd.SubSubVec(isa, d, s, m, float32(elementary.Log(float64(simd.SumExpVec(isa, s, m)))))
	}
}
