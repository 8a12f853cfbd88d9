package row

import (
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Softmax and its logarithm.

// Softmax is kernels.Softmax, of checked arguments, on up to t threads.
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
		split(t, rows, cols, &task{isa: isa, dst: dst, x: x, stream: stream, do: func(c *task, i, j int) {
			softmaxRows(c.isa, c.at(c.dst, i, j), c.at(c.x, i, j), j-i, c.cols, SoftmaxPiece, c.stream)
		}})
	}
}

// SoftmaxPiece is the longest row that Softmax takes in one piece, whatever the number of rows: the passes of several
// overlap for as long as one call of the assembly takes two.
const SoftmaxPiece = 2 * SumElements

// softmaxRows is Softmax of some or all rows of a call, of which longer ones than piece are cut, and whose
// results go past the caches if stream is set.
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
	if !stream {
		for from, to := range BudgetOf(simd.KernelSoftmaxRows, isa).Rows(rows, cols) {
			simd.SoftmaxRows(isa, dst[from*cols:to*cols], x[from*cols:to*cols], to-from, cols)
		}
		return
	}
	tmp := rowBuffers.Get().(*rowBuffer)
	for from, to := range BudgetOf(simd.KernelSoftmaxRowsStream, isa).Rows(rows, cols) {
		simd.SoftmaxRowsStream(isa, dst[from*cols:to*cols], x[from*cols:to*cols], tmp[:cols+TwoVectors], to-from, cols)
	}
	rowBuffers.Put(tmp)
}

// LogSoftmax is kernels.LogSoftmax, of checked arguments, on up to t threads.
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
		split(t, rows, cols, &task{isa: isa, dst: dst, x: x, do: func(c *task, i, j int) {
			logSoftmaxRows(c.isa, c.at(c.dst, i, j), c.at(c.x, i, j), j-i, c.cols)
		}})
	}
}

// logSoftmaxRows is LogSoftmax of some or all rows of a call.
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
		m := simd.MaxVec(isa, s) // may miss a NaN, which then reaches the result by the sum
		simd.SubSubVec(isa, d, s, m, float32(order.Log(float64(simd.SumExpVec(isa, s, m)))))
	}
}
