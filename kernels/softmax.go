package kernels

import (
	"iter"
	"math"
	"sync"

	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// callElements bounds the elements that one assembly call works on: goroutines
// cannot be preempted inside it, so a call should end within some tens of
// microseconds even where memory is slow. Rows longer than this are worked on
// in pieces; the pieces do not depend on anything but the length, so neither
// does the result.
const callElements = 1 << 16

// sumElements is the longest row that is summed in one piece. The sums of the
// pieces of longer rows are added in float64, which bounds the error.
const sumElements = 1 << 13

// pieces yields the bounds of the pieces, of at most callElements, of n elements.
func pieces(n int) iter.Seq2[int, int] { return piecesOf(callElements, n) }

func piecesOf(size, n int) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for i := 0; i < n; i += size {
			if !yield(i, min(i+size, n)) {
				return
			}
		}
	}
}

// rowPieces yields the bounds of runs of rows of at most callElements elements.
func rowPieces(rows, cols int) iter.Seq2[int, int] {
	step := max(1, callElements/max(cols, 1))
	return func(yield func(from, to int) bool) {
		for r := 0; r < rows; r += step {
			if !yield(r, min(r+step, rows)) {
				return
			}
		}
	}
}

// Softmax sets each row of dst to the softmax of the row of x:
//
//	dst[r,c] = exp(x[r,c] - max_r) / sum_c exp(x[r,c] - max_r)
//
// x and dst are contiguous rows x cols matrices; dst may be x, but may not
// overlap it otherwise. A row with a NaN, with +Inf, or with nothing but -Inf
// becomes NaN; -Inf beside finite elements becomes 0. Results below 2^-126 may
// come out as 0. The relative error is at most
// (16 + |x[r,c]-max_r| + min(cols, 8192)/8)*2^-24.
func Softmax(dst, x []float32, rows, cols int) {
	checkRows("Softmax", dst, x, rows, cols)
	softmax(dst, x, rows, cols, streamed(dst, x))
}

// softmax is Softmax of some or all rows of a call, whose results go past the
// caches if stream is set.
func softmax(dst, x []float32, rows, cols int, stream bool) {
	if len(x) == 0 {
		return
	}
	if cols > sumElements {
		for r := range rows {
			Threads(1).softmaxLongRow(dst[r*cols:][:cols], x[r*cols:][:cols])
		}
		return
	}
	if !stream {
		for from, to := range rowPieces(rows, cols) {
			simd.SoftmaxRows(Active(), dst[from*cols:to*cols], x[from*cols:to*cols], to-from, cols)
		}
		return
	}
	tmp := rowBuffers.Get().(*[sumElements]float32)
	for from, to := range rowPieces(rows, cols) {
		simd.SoftmaxRowsStream(Active(), dst[from*cols:to*cols], x[from*cols:to*cols], tmp[:cols], to-from, cols)
	}
	rowBuffers.Put(tmp)
}

// rowBuffers are places for a row's exponentials or differences.
var rowBuffers = sync.Pool{New: func() any { return new([sumElements]float32) }}

// streamElements is from how many elements on the result of a call is written past
// the caches: 16 MiB, of which much would be gone from a shared cache before its
// next use, and which would have to be read before it is written.
const streamElements = 1 << 22

// streamed reports whether a call on whole matrices writes past the caches.
// In place that does not pay, since what is written has just been read.
func streamed(dst, x []float32) bool { return len(dst) >= streamElements && &dst[0] != &x[0] }

// rowMax is the maximum of x, in pieces. It may miss a NaN.
func rowMax(x []float32) float32 {
	if len(x) <= callElements {
		return simd.MaxVec(Active(), x)
	}
	m := float32(math.Inf(-1))
	for i, end := range pieces(len(x)) {
		if v := simd.MaxVec(Active(), x[i:end]); v > m {
			m = v
		}
	}
	return m
}

// LogSoftmax sets each row of dst to the logarithm of the softmax of the row of
// x, as (x - max) - log(sum exp(x - max)). Shapes, aliasing and special values
// are those of Softmax, but for -Inf beside finite elements, which stays -Inf.
// The error is at most 2^-22*(1 + |dst[r,c]| + min(cols, 8192)/64).
func LogSoftmax(dst, x []float32, rows, cols int) {
	checkRows("LogSoftmax", dst, x, rows, cols)
	if len(x) == 0 {
		return
	}
	for r := range rows {
		d, s := dst[r*cols:][:cols], x[r*cols:][:cols]
		if cols > sumElements {
			Threads(1).logSoftmaxLongRow(d, s)
			continue
		}
		m := simd.MaxVec(Active(), s) // what it misses if there is a NaN, the sum does not
		simd.SubSubVec(Active(), d, s, m, float32(math.Log(float64(simd.SumExpVec(Active(), s, m)))))
	}
}
